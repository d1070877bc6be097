//! Values other than tensors (`onnx-data.proto`).

use prost::Message;

use super::TensorProto;

/// A sequence of values of one kind.
#[derive(Clone, PartialEq, Message)]
pub struct SequenceProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Kind of the elements: 1 for tensors, 3 for sequences, 5 for optional values.
    #[prost(int32, optional, tag = "2")]
    pub elem_type: Option<i32>,
    /// Elements that are tensors.
    #[prost(message, repeated, tag = "3")]
    pub tensor_values: Vec<TensorProto>,
    /// Elements that are sequences.
    #[prost(message, repeated, tag = "5")]
    pub sequence_values: Vec<SequenceProto>,
    /// Elements that are optional values.
    #[prost(message, repeated, tag = "7")]
    pub optional_values: Vec<OptionalProto>,
}

/// A value that may be missing.
#[derive(Clone, PartialEq, Message)]
pub struct OptionalProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Kind of the value: 0 if it is missing, else as in [`SequenceProto`].
    #[prost(int32, optional, tag = "2")]
    pub elem_type: Option<i32>,
    /// The value, if it is a tensor.
    #[prost(message, optional, tag = "3")]
    pub tensor_value: Option<TensorProto>,
    /// The value, if it is a sequence.
    #[prost(message, optional, tag = "5")]
    pub sequence_value: Option<SequenceProto>,
    /// The value, if it is an optional one.
    #[prost(message, optional, boxed, tag = "7")]
    pub optional_value: Option<Box<OptionalProto>>,
}
