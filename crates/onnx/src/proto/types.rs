//! Types of values.

use prost::{Message, Oneof};

/// A dimension of a shape.
#[derive(Clone, PartialEq, Message)]
pub struct Dimension {
    /// A number or a name; absent if unknown.
    #[prost(oneof = "DimensionValue", tags = "1, 2")]
    pub value: Option<DimensionValue>,
    /// The denotation of the axis.
    #[prost(string, optional, tag = "3")]
    pub denotation: Option<String>,
}

/// A known or named dimension.
#[derive(Clone, PartialEq, Oneof)]
pub enum DimensionValue {
    /// A number.
    #[prost(int64, tag = "1")]
    DimValue(i64),
    /// A name.
    #[prost(string, tag = "2")]
    DimParam(String),
}

/// The dimensions of a tensor.
#[derive(Clone, PartialEq, Message)]
pub struct TensorShapeProto {
    /// Outermost axis first.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// A tensor type, dense or sparse.
#[derive(Clone, PartialEq, Message)]
pub struct TensorTypeProto {
    /// Element type, a [`DataType`](super::DataType).
    #[prost(int32, optional, tag = "1")]
    pub elem_type: Option<i32>,
    /// Shape; absent if not even the rank is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A sequence of values, or an optional value, of one type.
#[derive(Clone, PartialEq, Message)]
pub struct NestedType {
    /// The type inside.
    #[prost(message, optional, boxed, tag = "1")]
    pub elem_type: Option<Box<TypeProto>>,
}

/// A map.
#[derive(Clone, PartialEq, Message)]
pub struct MapType {
    /// Type of the keys, a [`DataType`](super::DataType).
    #[prost(int32, optional, tag = "1")]
    pub key_type: Option<i32>,
    /// Type of the values.
    #[prost(message, optional, boxed, tag = "2")]
    pub value_type: Option<Box<TypeProto>>,
}

/// A type known by name.
#[derive(Clone, PartialEq, Message)]
pub struct OpaqueType {
    /// Domain of the name.
    #[prost(string, optional, tag = "1")]
    pub domain: Option<String>,
    /// Name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}

/// The type of a value.
#[derive(Clone, PartialEq, Message)]
pub struct TypeProto {
    /// The type itself.
    #[prost(oneof = "TypeValue", tags = "1, 4, 5, 7, 8, 9")]
    pub value: Option<TypeValue>,
    /// The denotation of the value.
    #[prost(string, optional, tag = "6")]
    pub denotation: Option<String>,
}

/// The kinds of types.
#[derive(Clone, PartialEq, Oneof)]
pub enum TypeValue {
    /// A tensor.
    #[prost(message, tag = "1")]
    TensorType(TensorTypeProto),
    /// A sequence.
    #[prost(message, tag = "4")]
    SequenceType(NestedType),
    /// A map.
    #[prost(message, tag = "5")]
    MapType(MapType),
    /// A type known by name.
    #[prost(message, tag = "7")]
    OpaqueType(OpaqueType),
    /// A sparse tensor.
    #[prost(message, tag = "8")]
    SparseTensorType(TensorTypeProto),
    /// A value that may be absent.
    #[prost(message, tag = "9")]
    OptionalType(NestedType),
}
