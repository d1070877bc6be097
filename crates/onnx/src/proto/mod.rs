//! The messages of `onnx.proto` (ONNX 1.22, IR version 13), field for field.
//!
//! Every field of the format is included, so that reading and writing a model loses nothing. Optional fields
//! distinguish absent from default. Repeated numbers are encoded as the schema declares them: packed in the storage
//! fields of tensors, individually elsewhere.

mod tensor;
mod types;
mod value;

use prost::Message;

pub use tensor::{DataLocation, DataType, Segment, SparseTensorProto, TensorAnnotation, TensorProto};
pub use types::{
    Dimension, DimensionValue, MapType, NestedType, OpaqueType, TensorShapeProto, TensorTypeProto, TypeProto, TypeValue,
};
pub use value::{OptionalProto, SequenceProto};

/// A key with its value.
#[derive(Clone, PartialEq, Message)]
pub struct StringStringEntryProto {
    /// Key.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// Value.
    #[prost(string, optional, tag = "2")]
    pub value: Option<String>,
}

/// A set of operators that a model uses.
#[derive(Clone, PartialEq, Message)]
pub struct OperatorSetIdProto {
    /// Domain; empty for the operators of ONNX itself.
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    /// Version of the set.
    #[prost(int64, optional, tag = "2")]
    pub version: Option<i64>,
}

/// A whole file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    /// Version of the file format.
    #[prost(int64, optional, tag = "1")]
    pub ir_version: Option<i64>,
    /// Operator sets in use.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// The tool that wrote the file.
    #[prost(string, optional, tag = "2")]
    pub producer_name: Option<String>,
    /// The version of that tool.
    #[prost(string, optional, tag = "3")]
    pub producer_version: Option<String>,
    /// Reverse domain name of the model.
    #[prost(string, optional, tag = "4")]
    pub domain: Option<String>,
    /// Version of the model.
    #[prost(int64, optional, tag = "5")]
    pub model_version: Option<i64>,
    /// Documentation.
    #[prost(string, optional, tag = "6")]
    pub doc_string: Option<String>,
    /// The computation.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Named metadata.
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
    /// Training steps.
    #[prost(message, repeated, tag = "20")]
    pub training_info: Vec<TrainingInfoProto>,
    /// Functions local to the model.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
    /// Configurations for several devices.
    #[prost(message, repeated, tag = "26")]
    pub configuration: Vec<DeviceConfigurationProto>,
}

/// Initialization and training step of a model.
#[derive(Clone, PartialEq, Message)]
pub struct TrainingInfoProto {
    /// Computes initial values.
    #[prost(message, optional, tag = "1")]
    pub initialization: Option<GraphProto>,
    /// One training step.
    #[prost(message, optional, tag = "2")]
    pub algorithm: Option<GraphProto>,
    /// Maps initializers to the outputs of `initialization` that they take.
    #[prost(message, repeated, tag = "3")]
    pub initialization_binding: Vec<StringStringEntryProto>,
    /// Maps initializers to the outputs of `algorithm` that they take.
    #[prost(message, repeated, tag = "4")]
    pub update_binding: Vec<StringStringEntryProto>,
}

/// A computation: nodes in topological order between inputs and outputs.
#[derive(Clone, PartialEq, Message)]
pub struct GraphProto {
    /// Nodes in topological order.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    /// Named constant tensors.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// Named constant tensors in sparse form.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
    /// Documentation.
    #[prost(string, optional, tag = "10")]
    pub doc_string: Option<String>,
    /// Inputs.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Outputs.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Declared types of other values.
    #[prost(message, repeated, tag = "13")]
    pub value_info: Vec<ValueInfoProto>,
    /// Quantization parameters of values.
    #[prost(message, repeated, tag = "14")]
    pub quantization_annotation: Vec<TensorAnnotation>,
    /// Named metadata.
    #[prost(message, repeated, tag = "16")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// Name and type of a value.
#[derive(Clone, PartialEq, Message)]
pub struct ValueInfoProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
    /// Documentation.
    #[prost(string, optional, tag = "3")]
    pub doc_string: Option<String>,
    /// Named metadata.
    #[prost(message, repeated, tag = "4")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// One application of an operator.
#[derive(Clone, PartialEq, Message)]
pub struct NodeProto {
    /// Names of the operands; empty for a missing operand.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// Names of the results; empty for an unused result.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Name of the node.
    #[prost(string, optional, tag = "3")]
    pub name: Option<String>,
    /// Operator.
    #[prost(string, optional, tag = "4")]
    pub op_type: Option<String>,
    /// Domain of the operator.
    #[prost(string, optional, tag = "7")]
    pub domain: Option<String>,
    /// The overload, if several functions share a name.
    #[prost(string, optional, tag = "8")]
    pub overload: Option<String>,
    /// Attributes.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// Documentation.
    #[prost(string, optional, tag = "6")]
    pub doc_string: Option<String>,
    /// Named metadata.
    #[prost(message, repeated, tag = "9")]
    pub metadata_props: Vec<StringStringEntryProto>,
    /// Placement on devices.
    #[prost(message, repeated, tag = "10")]
    pub device_configurations: Vec<NodeDeviceConfigurationProto>,
}

/// The field of an [`AttributeProto`] that holds the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum AttributeType {
    /// Unspecified, as in files of IR version 1.
    Undefined = 0,
    /// One `f`.
    Float = 1,
    /// One `i`.
    Int = 2,
    /// One `s`.
    String = 3,
    /// One `t`.
    Tensor = 4,
    /// One `g`.
    Graph = 5,
    /// All of `floats`.
    Floats = 6,
    /// All of `ints`.
    Ints = 7,
    /// All of `strings`.
    Strings = 8,
    /// All of `tensors`.
    Tensors = 9,
    /// All of `graphs`.
    Graphs = 10,
    /// One `sparse_tensor`.
    SparseTensor = 11,
    /// All of `sparse_tensors`.
    SparseTensors = 12,
    /// One `tp`.
    TypeProto = 13,
    /// All of `type_protos`.
    TypeProtos = 14,
}

/// A named attribute of a node.
#[derive(Clone, PartialEq, Message)]
pub struct AttributeProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Inside a function: the attribute of the function from which this one takes its value.
    #[prost(string, optional, tag = "21")]
    pub ref_attr_name: Option<String>,
    /// Documentation.
    #[prost(string, optional, tag = "13")]
    pub doc_string: Option<String>,
    /// The field below that is in use.
    #[prost(enumeration = "AttributeType", optional, tag = "20")]
    pub r#type: Option<i32>,
    /// A number.
    #[prost(float, optional, tag = "2")]
    pub f: Option<f32>,
    /// An integer.
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    /// A string.
    #[prost(bytes = "vec", optional, tag = "4")]
    pub s: Option<Vec<u8>>,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    /// A graph.
    #[prost(message, optional, tag = "6")]
    pub g: Option<GraphProto>,
    /// A sparse tensor.
    #[prost(message, optional, tag = "22")]
    pub sparse_tensor: Option<SparseTensorProto>,
    /// A type.
    #[prost(message, optional, tag = "14")]
    pub tp: Option<TypeProto>,
    /// Numbers.
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    /// Strings.
    #[prost(bytes = "vec", repeated, tag = "9")]
    pub strings: Vec<Vec<u8>>,
    /// Tensors.
    #[prost(message, repeated, tag = "10")]
    pub tensors: Vec<TensorProto>,
    /// Graphs.
    #[prost(message, repeated, tag = "11")]
    pub graphs: Vec<GraphProto>,
    /// Sparse tensors.
    #[prost(message, repeated, tag = "23")]
    pub sparse_tensors: Vec<SparseTensorProto>,
    /// Types.
    #[prost(message, repeated, tag = "15")]
    pub type_protos: Vec<TypeProto>,
}

/// An operator defined by a graph.
#[derive(Clone, PartialEq, Message)]
pub struct FunctionProto {
    /// Name of the operator.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Names of the operands.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// Names of the results.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// Attributes without a default.
    #[prost(string, repeated, tag = "6")]
    pub attribute: Vec<String>,
    /// Attributes with a default.
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<AttributeProto>,
    /// The body.
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<NodeProto>,
    /// Documentation.
    #[prost(string, optional, tag = "8")]
    pub doc_string: Option<String>,
    /// Operator sets that the body uses.
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Domain of the operator.
    #[prost(string, optional, tag = "10")]
    pub domain: Option<String>,
    /// The overload, if several functions share a name.
    #[prost(string, optional, tag = "13")]
    pub overload: Option<String>,
    /// Declared types of values in the body.
    #[prost(message, repeated, tag = "12")]
    pub value_info: Vec<ValueInfoProto>,
    /// Named metadata.
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// A group of devices.
#[derive(Clone, PartialEq, Message)]
pub struct DeviceConfigurationProto {
    /// Name.
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    /// Number of devices.
    #[prost(int32, optional, tag = "2")]
    pub num_devices: Option<i32>,
    /// Names of the devices.
    #[prost(string, repeated, tag = "3")]
    pub device: Vec<String>,
}

/// Placement of one node under a [`DeviceConfigurationProto`].
#[derive(Clone, PartialEq, Message)]
pub struct NodeDeviceConfigurationProto {
    /// The configuration.
    #[prost(string, optional, tag = "1")]
    pub configuration_id: Option<String>,
    /// How the tensors are split, one encoded `ShardingSpecProto` each.
    #[prost(bytes = "vec", repeated, tag = "2")]
    pub sharding_spec: Vec<Vec<u8>>,
    /// Stage of the pipeline.
    #[prost(int32, optional, tag = "3")]
    pub pipeline_stage: Option<i32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use proptest::prelude::*;

    fn nested(levels: usize) -> GraphProto {
        (0..levels).fold(GraphProto::default(), |inner, _| GraphProto {
            node: vec![NodeProto {
                attribute: vec![AttributeProto {
                    g: Some(inner),
                    ..AttributeProto::default()
                }],
                ..NodeProto::default()
            }],
            ..GraphProto::default()
        })
    }

    #[test]
    fn deep_nesting_is_refused_by_name() {
        let shallow = nested(20).encode_to_vec();
        assert_eq!(decode::<GraphProto>(shallow.into()), Ok(nested(20)));
        let deep = nested(40).encode_to_vec();
        let message = decode::<GraphProto>(deep.into()).unwrap_err().to_string();
        assert!(message.contains("nest"), "{message}");
    }

    #[test]
    fn absent_and_default_differ() {
        let present = AttributeProto {
            i: Some(0),
            f: None,
            ..AttributeProto::default()
        };
        let bytes = present.encode_to_vec();
        assert_eq!(bytes, [0x18, 0]);
        assert_eq!(decode::<AttributeProto>(bytes.into()), Ok(present));
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(model) = decode::<ModelProto>(bytes.into()) {
                prop_assert_eq!(decode::<ModelProto>(model.encode_to_vec().into()).map(|m| m.encode_to_vec()),
                    Ok(model.encode_to_vec()));
            }
        }
    }
}
