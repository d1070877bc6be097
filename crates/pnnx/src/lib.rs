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

pub use archive::Archive;
pub use export::{Exported, export};
pub use expression::Expression;
pub use file::{read_model, weights_beside, write_model};
pub use import::{Imported, import};
pub use param::ParamFile;

// For the other crates of this workspace: no part of the interface, so it may change in any version.
#[doc(hidden)]
pub use archive::{write_archive, write_archive_for};
#[doc(hidden)]
pub use element::{Category, ElementType, Weight, common_type, result_type};
#[doc(hidden)]
pub use export::has_form;
#[doc(hidden)]
pub use expression::{ExprNode, Function, Literal, LiteralValue, Reading, kuiper};
#[doc(hidden)]
pub use param::{Extent, MAGIC, Operator, ValueType};
#[doc(hidden)]
pub use value::{NO_END, Value, float_text, single_text};
