//! Element types, symbolic dimensions and shapes, types, and tensors with values.
//!
//! Defines what a tensor *is*; independent of operators, graphs and formats.

#[doc(hidden)] // for the other crates of this workspace
pub mod assume;
mod dim;
mod dtype;
mod narrow;
mod serial;
mod shape;
#[doc(hidden)] // for the other crates of this workspace
pub mod strided;
mod value;

pub use dim::{Atom, Dim, Numbered};
pub use dtype::{DType, DTypeClass};
pub use narrow::{F4E2M1, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, I2, I4, U2, U4};
pub use shape::{MAX_RANK, Shape, TensorType, Type};
pub use value::{Element, Nd, Tensor};

// For the other crates of this workspace: no part of the interface, so it may change in any version.
#[doc(hidden)]
pub use dim::{MAX_DIM_PARTS, Poly};
#[doc(hidden)]
pub use narrow::largest_narrow;
