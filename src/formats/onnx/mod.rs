//! ONNX models and tensors.

mod attr;
mod export;
mod external;
mod file;
mod import;
mod info;
pub mod proto;
mod schema;
mod tensor;
mod types;

use std::path::Path;

use prost::Message;
use prost::bytes::Bytes;

use super::Problem;
use crate::tensor::Tensor;

pub use export::{Exported, export, raise_opset};
pub use file::{decode_model, read_model, write_model};
pub use import::{Imported, import};
pub use info::{NodeInfo, OnnxInfo};
pub use tensor::{TensorError, data_type, dense, dtype_of, from_tensor, to_tensor};

/// Decodes a message, sharing the storage of `bytes` where it can.
///
/// # Errors
/// The bytes are not such a message, or nest too deep.
pub fn decode<M: Message + Default>(bytes: Bytes) -> Result<M, Problem> {
    M::decode(bytes).map_err(|e| {
        let reason = e.to_string();
        if reason.contains("recursion limit") {
            return Problem::unsupported("graphs nest more than 32 levels deep");
        }
        let detail = reason
            .strip_prefix("failed to decode Protobuf message: ")
            .unwrap_or(&reason);
        Problem::malformed(detail)
    })
}

/// Reads a file of one tensor with its name, which may be empty; `folder` is where it was found.
///
/// # Errors
/// The file is damaged or holds elements of a type that tensors do not have.
pub fn read_tensor_file(bytes: &[u8], folder: Option<&Path>) -> Result<(String, Tensor), Problem> {
    let proto: proto::TensorProto = decode(Bytes::copy_from_slice(bytes))?;
    let tensor = to_tensor(&proto, folder).map_err(|e| match e {
        TensorError::UnsupportedType(_) => Problem::unsupported(e.to_string()),
        other => Problem::malformed(other.to_string()),
    })?;
    Ok((proto.name.unwrap_or_default(), tensor))
}

/// Writes a file of one tensor.
pub fn write_tensor_file(name: &str, tensor: &Tensor) -> Vec<u8> {
    from_tensor(name, tensor).encode_to_vec()
}

#[cfg(test)]
mod tests;
