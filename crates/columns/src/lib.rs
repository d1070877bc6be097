//! Expressions over the columns of Arrow tables: text, types, functions, evaluation.
//!
//! [`schema`] reads the text of a schema, [`Expressions::parse`] infers the types of expressions over it, and
//! [`Projector`] and [`Filter`] evaluate them over record batches. The language is described in this crate's
//! `README.md`.

mod eval;
mod expression;
#[cfg(feature = "ffi")]
pub mod ffi;
#[cfg(feature = "files")]
mod files;
mod function;
mod infer;
mod kernels;
mod options;
mod program;
mod refused;
#[cfg(feature = "rewrite")]
mod rewrite;
mod scalar;
mod schema;
mod simplify;
#[cfg(feature = "rewrite")]
mod text;
mod types;

pub use arrow_array::RecordBatch;
pub use eval::{Compiled, Filter, Projector, Selection, Target, TargetValues, one_row};
pub use expression::Expressions;
#[cfg(feature = "files")]
pub use files::{TableFormat, TableReader, TableWriter, describe_schema};
pub use function::{FunctionInfo, function_names, functions, return_type};
pub use options::{FloatOrder, OnFailure, Options, Overflow};
pub use refused::refused;
#[cfg(feature = "rewrite")]
pub use rewrite::{Rewriter, Rewritten};
pub use scalar::Scalar;
pub use schema::schema;
pub use types::{Type, TypeSet};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
