//! Element types, symbolic dimensions and shapes, types, and tensors with values.
//!
//! Owns what a tensor *is*; knows nothing of operators, graphs or formats.

mod dtype;

pub use dtype::{DType, DTypeClass};
