//! ONNX models and tensors.

mod attr;
mod count;
mod export;
mod external;
mod file;
mod import;
mod info;
mod kernels;
#[doc(hidden)] // for the other crates of this workspace
pub mod proto;
mod schema;
mod tensor;
mod types;

use std::path::Path;

use prost::Message;

use tautomer_files::Problem;
use tautomer_graph::Datum;
use tautomer_tensor::Tensor;

pub use export::{Exported, OLDEST as OLDEST_OPSET, Target, export, raise_opset, set_opset};
#[doc(no_inline)]
pub use prost::bytes::Bytes;

pub use file::{
    Encodable, decode_model, encodable, encode_model, join_elements, read_model, read_model_in, write_model,
};
pub use import::{Imported, import, import_in};
pub use info::OnnxInfo;
pub use schema::NEWEST as NEWEST_OPSET;
pub use tensor::{TensorError, from_tensor, to_tensor};

// For the other crates of this workspace: no part of the interface, so it may change in any version.
#[doc(hidden)]
pub use count::count_nodes;
#[doc(hidden)]
pub use export::{Refusal, declared_in};
#[doc(hidden)]
pub use info::NodeInfo;
#[doc(hidden)]
pub use tensor::{data_type, dense, dtype_of};

/// Decodes a message, sharing the storage of `bytes` where possible.
///
/// # Errors
/// The bytes are not such a message, or are nested too deeply.
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

/// Reads a file of one tensor with its name, which may be empty; `folder` is the directory of the file.
///
/// # Errors
/// The file is damaged or has an element type that tensors do not support.
pub fn read_tensor_file(bytes: &[u8], folder: Option<&Path>) -> Result<(String, Tensor), Problem> {
    let proto: proto::TensorProto = decode(Bytes::copy_from_slice(bytes))?;
    let tensor = to_tensor(&proto, folder).map_err(|e| match e {
        TensorError::UnsupportedType(_) => Problem::unsupported(e.to_string()),
        other => Problem::malformed(other.to_string()),
    })?;
    Ok((proto.name.unwrap_or_default(), tensor))
}

/// Reads a file of one value of the given type: a tensor, a sequence or an optional value.
///
/// # Errors
/// Same as for [`read_tensor_file`].
pub fn read_value_file(bytes: &[u8], ty: &proto::TypeProto, folder: Option<&Path>) -> Result<Datum<Tensor>, Problem> {
    let bytes_of = || Bytes::copy_from_slice(bytes);
    match &ty.value {
        Some(proto::TypeValue::SequenceType(_)) => sequence(&decode(bytes_of())?, folder),
        Some(proto::TypeValue::OptionalType(_)) => optional(&decode(bytes_of())?, folder),
        _ => read_tensor_file(bytes, folder).map(|(_, tensor)| Datum::One(tensor)),
    }
}

fn element(tensor: &proto::TensorProto, folder: Option<&Path>) -> Result<Datum<Tensor>, Problem> {
    let tensor = to_tensor(tensor, folder).map_err(|e| Problem::malformed(e.to_string()))?;
    Ok(Datum::One(tensor))
}

// Decoding limits the nesting depth of both.
fn sequence(value: &proto::SequenceProto, folder: Option<&Path>) -> Result<Datum<Tensor>, Problem> {
    let tensors = value.tensor_values.iter().map(|t| element(t, folder));
    let sequences = value.sequence_values.iter().map(|s| sequence(s, folder));
    let optionals = value.optional_values.iter().map(|o| optional(o, folder));
    tensors
        .chain(sequences)
        .chain(optionals)
        .collect::<Result<_, _>>()
        .map(Datum::List)
}

fn optional(value: &proto::OptionalProto, folder: Option<&Path>) -> Result<Datum<Tensor>, Problem> {
    let tensor = value.tensor_value.iter().map(|t| element(t, folder));
    let list = value.sequence_value.iter().map(|s| sequence(s, folder));
    let inner = value.optional_value.iter().map(|o| optional(o, folder));
    tensor
        .chain(list)
        .chain(inner)
        .collect::<Result<_, _>>()
        .map(Datum::List)
}

/// Writes a file of one tensor.
pub fn write_tensor_file(name: &str, tensor: &Tensor) -> Vec<u8> {
    from_tensor(name, tensor).encode_to_vec()
}

#[cfg(test)]
mod tests;
