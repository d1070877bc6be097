//! Expressions over columns in DataFusion.
//!
//! * [`ExpressionFunction`] is the SQL function `tautomer('x * 2 + y', x, y)`: types are checked when the query is
//!   planned.
//! * [`FuseExpressions`] is an optimizer rule that replaces runs of scalar expressions in filters, projections and
//!   arguments of aggregates with one [`FusedExpr`] each, so that SQL uses fused loops unchanged.
//! * [`PhysicalCodec`] and [`LogicalCodec`] send both as text and types; they are compiled where they arrive.
//!
//! The crate's `README.md` has examples.

#[cfg(feature = "proto")]
mod codec;
mod expression;
mod function;
mod fused;
mod rule;
mod translate;

#[cfg(feature = "proto")]
pub use codec::{LogicalCodec, PhysicalCodec};
pub use function::ExpressionFunction;
pub use fused::FusedExpr;
pub use rule::{FuseExpressions, optimizer_rules};
pub use tautomer_columns::Options;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
