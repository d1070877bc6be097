//! File formats: reading and writing the files of other programs, and drawings.

pub mod arrays;

#[doc(inline)]
pub use tautomer_files::*;
#[doc(inline)]
pub use {tautomer_onnx as onnx, tautomer_pnnx as pnnx, tautomer_taso as taso};
