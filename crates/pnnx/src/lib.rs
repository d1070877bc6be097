//! PNNX models: networks written by torch's exporter of that name, a text of operators with an archive of weights.
//!
//! [`ParamFile`] reads the text and [`Archive`] the archive without interpreting them; [`import`] makes a graph from
//! both, and [`export`] makes both from a graph.

mod archive;
mod element;
#[warn(clippy::indexing_slicing)]
mod export;
#[warn(clippy::indexing_slicing)]
mod expression;
mod file;
#[warn(clippy::indexing_slicing)]
mod import;
#[warn(clippy::indexing_slicing)]
mod layers;
mod param;
mod value;

pub use archive::{Archive, write_archive, write_archive_for};
pub use element::{Category, ElementType, Weight, common_type, result_type};
pub use export::{Exported, export, has_form};
pub use expression::{ExprNode, Expression, Function, Literal, LiteralValue, Reading, kuiper};
pub use file::{read_model, weights_beside, write_model};
pub use import::{Imported, import};
pub use param::{Extent, MAGIC, Operator, ParamFile, ValueType};
pub use value::{NO_END, Value, float_text, single_text};
