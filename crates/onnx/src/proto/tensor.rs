//! Tensors with values.

use prost::Message;
use prost::bytes::Bytes;

use super::StringStringEntryProto;

/// Element type of a [`TensorProto`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DataType {
    /// Unspecified.
    Undefined = 0,
    /// IEEE 754 single precision.
    Float = 1,
    /// 8-bit unsigned integer.
    Uint8 = 2,
    /// 8-bit signed integer.
    Int8 = 3,
    /// 16-bit unsigned integer.
    Uint16 = 4,
    /// 16-bit signed integer.
    Int16 = 5,
    /// 32-bit signed integer.
    Int32 = 6,
    /// 64-bit signed integer.
    Int64 = 7,
    /// String.
    String = 8,
    /// Boolean.
    Bool = 9,
    /// IEEE 754 half precision.
    Float16 = 10,
    /// IEEE 754 double precision.
    Double = 11,
    /// 32-bit unsigned integer.
    Uint32 = 12,
    /// 64-bit unsigned integer.
    Uint64 = 13,
    /// Complex number of two single precision parts.
    Complex64 = 14,
    /// Complex number of two double precision parts.
    Complex128 = 15,
    /// The upper half of a single precision number.
    Bfloat16 = 16,
    /// 8-bit float, 4 exponent bits, no infinities.
    Float8e4m3fn = 17,
    /// 8-bit float, 4 exponent bits, no infinities, no negative zero.
    Float8e4m3fnuz = 18,
    /// 8-bit float, 5 exponent bits.
    Float8e5m2 = 19,
    /// 8-bit float, 5 exponent bits, no infinities, no negative zero.
    Float8e5m2fnuz = 20,
    /// 4-bit unsigned integer, two per byte.
    Uint4 = 21,
    /// 4-bit signed integer, two per byte.
    Int4 = 22,
    /// 4-bit float, two per byte.
    Float4e2m1 = 23,
    /// 8-bit power of two.
    Float8e8m0 = 24,
    /// 2-bit unsigned integer, four per byte.
    Uint2 = 25,
    /// 2-bit signed integer, four per byte.
    Int2 = 26,
}

/// The location of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum DataLocation {
    /// In the message.
    Default = 0,
    /// In another file.
    External = 1,
}

/// A segment of a tensor that is stored in pieces.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Segment {
    /// First element.
    #[prost(int64, optional, tag = "1")]
    pub begin: Option<i64>,
    /// One past the last element.
    #[prost(int64, optional, tag = "2")]
    pub end: Option<i64>,
}

/// A tensor with its elements, in one of several storage fields.
#[derive(Clone, PartialEq, Message)]
pub struct TensorProto {
    /// Dimensions.
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    /// Element type, a [`DataType`].
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    /// The part stored here.
    #[prost(message, optional, tag = "3")]
    pub segment: Option<Segment>,
    /// Elements of `FLOAT` and `COMPLEX64`.
    #[prost(float, repeated, packed = "true", tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of the integers up to 32 bits, of `BOOL`, and bit patterns of the narrow floats.
    #[prost(int32, repeated, packed = "true", tag = "5")]
    pub int32_data: Vec<i32>,
    /// Elements of `STRING`.
    #[prost(bytes = "vec", repeated, tag = "6")]
    pub string_data: Vec<Vec<u8>>,
    /// Elements of `INT64`.
    #[prost(int64, repeated, packed = "true", tag = "7")]
    pub int64_data: Vec<i64>,
    /// Name.
    #[prost(string, optional, tag = "8")]
    pub name: Option<String>,
    /// Documentation.
    #[prost(string, optional, tag = "12")]
    pub doc_string: Option<String>,
    /// Elements of any type but `STRING`, little endian.
    #[prost(bytes = "bytes", optional, tag = "9")]
    pub raw_data: Option<Bytes>,
    /// File, offset and length of elements stored elsewhere.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// The location of the elements.
    #[prost(enumeration = "DataLocation", optional, tag = "14")]
    pub data_location: Option<i32>,
    /// Elements of `DOUBLE` and `COMPLEX128`.
    #[prost(double, repeated, packed = "true", tag = "10")]
    pub double_data: Vec<f64>,
    /// Elements of `UINT32` and `UINT64`.
    #[prost(uint64, repeated, packed = "true", tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Named metadata.
    #[prost(message, repeated, tag = "16")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// A tensor stored as its nonzero elements.
#[derive(Clone, PartialEq, Message)]
pub struct SparseTensorProto {
    /// The elements, a vector; its name is the name of the sparse tensor.
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
    /// Their positions: linear indices, or one row of coordinates for each.
    #[prost(message, optional, tag = "2")]
    pub indices: Option<TensorProto>,
    /// Dimensions of the dense tensor.
    #[prost(int64, repeated, packed = "false", tag = "3")]
    pub dims: Vec<i64>,
}

/// Quantization parameters of a value.
#[derive(Clone, PartialEq, Message)]
pub struct TensorAnnotation {
    /// The value.
    #[prost(string, optional, tag = "1")]
    pub tensor_name: Option<String>,
    /// Which tensor holds which parameter.
    #[prost(message, repeated, tag = "2")]
    pub quant_parameter_tensor_names: Vec<StringStringEntryProto>,
}
