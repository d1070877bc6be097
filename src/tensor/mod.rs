//! Element types, symbolic dimensions and shapes, types, and tensors with values.
//!
//! Owns what a tensor *is*; knows nothing of operators, graphs or formats.

pub(crate) mod assume;
mod dim;
mod dtype;
mod serial;
mod shape;
mod value;

pub use dim::{Atom, Dim, Poly};
pub use dtype::{DType, DTypeClass};
pub use shape::{Shape, TensorType, Type};
pub use value::{Element, Nd, Tensor};
