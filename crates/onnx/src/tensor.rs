//! Converts `TensorProto` to [`Tensor`] and back.

use std::collections::HashMap;
use std::path::Path;

use half::{bf16, f16};
use prost::bytes::Bytes;

use super::external;
use super::proto::{DataLocation, DataType, SparseTensorProto, TensorProto};
pub(crate) use tautomer_files::bytes::{Endian, decode, element_count, elements, encode};
use tautomer_tensor::{DType, DTypeClass, Element, MAX_RANK, Tensor};

/// A sparse tensor is rejected if its dense form takes more bytes.
const MAX_DENSE: usize = 1 << 28;

/// The reason why a stored tensor was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TensorError {
    /// The number does not stand for an element type.
    #[error("element type {0} is unknown")]
    UnknownType(i32),
    /// Tensors do not support the element type.
    #[error("elements of type {0} are not supported")]
    UnsupportedType(&'static str),
    /// A dimension is negative, or there are too many dimensions, or they are too large.
    #[error("the shape {0:?} is invalid")]
    Shape(Vec<i64>),
    /// The number of elements does not match the shape.
    #[error("{found}, but the shape {shape:?} needs {needed}")]
    Size {
        /// The dimensions.
        shape: Vec<i64>,
        /// The size that the shape needs.
        needed: String,
        /// The size found.
        found: String,
    },
    /// A string is not UTF-8.
    #[error("a string is not valid UTF-8")]
    Text,
    /// The tensor is stored in segments.
    #[error("tensors stored in segments are not supported")]
    Segments,
    /// The file with the elements cannot be used.
    #[error("external data: {0}")]
    External(String),
    /// The indices of a sparse tensor are outside its shape, or do not match its elements.
    #[error("sparse tensor: {0}")]
    Sparse(&'static str),
}

/// The element type for an ONNX data type number.
///
/// # Errors
/// The number is unknown, or tensors do not support the type.
pub fn dtype_of(data_type: i32) -> Result<DType, TensorError> {
    let known = DataType::try_from(data_type).map_err(|_| TensorError::UnknownType(data_type))?;
    Err(TensorError::UnsupportedType(match known {
        DataType::Undefined => return Err(TensorError::UnknownType(0)),
        DataType::Float => return Ok(DType::F32),
        DataType::Uint8 => return Ok(DType::U8),
        DataType::Int8 => return Ok(DType::I8),
        DataType::Uint16 => return Ok(DType::U16),
        DataType::Int16 => return Ok(DType::I16),
        DataType::Int32 => return Ok(DType::I32),
        DataType::Int64 => return Ok(DType::I64),
        DataType::String => return Ok(DType::Utf8),
        DataType::Bool => return Ok(DType::Bool),
        DataType::Float16 => return Ok(DType::F16),
        DataType::Double => return Ok(DType::F64),
        DataType::Uint32 => return Ok(DType::U32),
        DataType::Uint64 => return Ok(DType::U64),
        DataType::Bfloat16 => return Ok(DType::BF16),
        DataType::Complex64 => "complex64",
        DataType::Complex128 => "complex128",
        DataType::Float8e4m3fn => return Ok(DType::F8E4M3FN),
        DataType::Float8e4m3fnuz => return Ok(DType::F8E4M3FNUZ),
        DataType::Float8e5m2 => return Ok(DType::F8E5M2),
        DataType::Float8e5m2fnuz => return Ok(DType::F8E5M2FNUZ),
        DataType::Uint4 => return Ok(DType::U4),
        DataType::Int4 => return Ok(DType::I4),
        DataType::Float4e2m1 => return Ok(DType::F4E2M1),
        DataType::Float8e8m0 => return Ok(DType::F8E8M0),
        DataType::Uint2 => return Ok(DType::U2),
        DataType::Int2 => return Ok(DType::I2),
    }))
}

/// The ONNX data type, if there is one.
pub const fn data_type(dtype: DType) -> Option<DataType> {
    Some(match dtype {
        DType::Bool => DataType::Bool,
        DType::I8 => DataType::Int8,
        DType::I16 => DataType::Int16,
        DType::I32 => DataType::Int32,
        DType::I64 => DataType::Int64,
        DType::U8 => DataType::Uint8,
        DType::U16 => DataType::Uint16,
        DType::U32 => DataType::Uint32,
        DType::U64 => DataType::Uint64,
        DType::F16 => DataType::Float16,
        DType::BF16 => DataType::Bfloat16,
        DType::F32 => DataType::Float,
        DType::F64 => DataType::Double,
        DType::Utf8 => DataType::String,
        DType::I2 => DataType::Int2,
        DType::I4 => DataType::Int4,
        DType::U2 => DataType::Uint2,
        DType::U4 => DataType::Uint4,
        DType::F4E2M1 => DataType::Float4e2m1,
        DType::F8E4M3FN => DataType::Float8e4m3fn,
        DType::F8E4M3FNUZ => DataType::Float8e4m3fnuz,
        DType::F8E5M2 => DataType::Float8e5m2,
        DType::F8E5M2FNUZ => DataType::Float8e5m2fnuz,
        DType::F8E8M0 => DataType::Float8e8m0,
        DType::Binary | DType::Date32 | DType::Timestamp => return None,
    })
}

fn extents(dims: &[i64], element_size: usize) -> Result<(Vec<usize>, usize), TensorError> {
    let refused = || TensorError::Shape(dims.iter().copied().take(MAX_RANK).collect());
    let shape: Option<Vec<usize>> = dims.iter().map(|&d| usize::try_from(d).ok()).collect();
    let shape = shape.ok_or_else(refused)?;
    let count = element_count(&shape, element_size).ok_or_else(refused)?;
    Ok((shape, count))
}

/// How many elements share a byte.
const fn packed(dtype: DType) -> usize {
    match dtype {
        DType::I4 | DType::U4 | DType::F4E2M1 => 2,
        DType::I2 | DType::U2 => 4,
        _ => 1,
    }
}

/// Unpacks the first `count` elements into one byte each; within a byte, the first element is in the lowest bits.
fn unpack(bytes: &[u8], packed: usize, count: usize) -> Vec<u8> {
    let width = 8 / packed;
    let places = |byte: u8| (0..packed).map(move |i| byte >> (i * width) & ((1 << width) - 1));
    bytes.iter().flat_map(|&byte| places(byte)).take(count).collect()
}

fn pack(bytes: Vec<u8>, packed: usize) -> Vec<u8> {
    let width = 8 / packed;
    let join = |all: &[u8]| all.iter().enumerate().fold(0, |byte, (i, x)| byte | x << (i * width));
    match packed {
        1 => bytes,
        _ => bytes.chunks(packed).map(join).collect(),
    }
}

/// The tensor stored in a message, in any of its fields; external data is looked up in `folder`.
///
/// # Errors
/// An unsupported element type, a size that does not match the shape, or external data that is missing or outside the
/// directory.
pub fn to_tensor(proto: &TensorProto, folder: Option<&Path>) -> Result<Tensor, TensorError> {
    let dtype = dtype_of(proto.data_type.unwrap_or(0))?;
    if proto.segment.is_some() {
        return Err(TensorError::Segments);
    }
    let (shape, count) = extents(&proto.dims, dtype.size())?;
    let packed = packed(dtype);
    let size = |count: usize| count.saturating_mul(dtype.size()).div_ceil(packed);
    let wrong_size = |needed: String, found: String| TensorError::Size {
        shape: proto.dims.clone(),
        needed,
        found,
    };
    let from_bytes = |bytes: &[u8]| {
        let unpacked: Option<Vec<u8>> =
            (packed > 1 && bytes.len() == size(count)).then(|| unpack(bytes, packed, count));
        decode(dtype, &shape, unpacked.as_deref().unwrap_or(bytes), Endian::Little).ok_or_else(|| {
            let needed = format!("{} bytes", size(count));
            wrong_size(needed, format!("{} bytes", bytes.len()))
        })
    };
    if proto.data_location == Some(DataLocation::External as i32) {
        return from_bytes(&external::read(proto, folder, size(count))?);
    }
    if let Some(raw) = proto.raw_data.as_ref().filter(|raw| !raw.is_empty()) {
        return from_bytes(raw);
    }
    if dtype.class() == DTypeClass::Narrow {
        let bytes: Vec<u8> = proto.int32_data.iter().map(|&x| x as u8).collect();
        return from_bytes(&bytes);
    }
    let stored = match dtype {
        DType::F32 => proto.float_data.len(),
        DType::F64 => proto.double_data.len(),
        DType::I64 => proto.int64_data.len(),
        DType::U32 | DType::U64 => proto.uint64_data.len(),
        DType::Utf8 => proto.string_data.len(),
        _ => proto.int32_data.len(),
    };
    if stored != count {
        return Err(wrong_size(format!("{count} elements"), format!("{stored} elements")));
    }
    fn cast<S: Copy, T: Element>(shape: &[usize], from: &[S], f: impl Fn(S) -> T) -> Option<Tensor> {
        Tensor::new(shape, from.iter().map(|&x| f(x)).collect())
    }
    let ints = &proto.int32_data;
    let tensor = match dtype {
        DType::F32 => Tensor::new(&shape, proto.float_data.clone()),
        DType::F64 => Tensor::new(&shape, proto.double_data.clone()),
        DType::I64 => Tensor::new(&shape, proto.int64_data.clone()),
        DType::U64 => Tensor::new(&shape, proto.uint64_data.clone()),
        DType::U32 => cast(&shape, &proto.uint64_data, |x| x as u32),
        DType::I32 => Tensor::new(&shape, ints.clone()),
        DType::I16 => cast(&shape, ints, |x| x as i16),
        DType::I8 => cast(&shape, ints, |x| x as i8),
        DType::U16 => cast(&shape, ints, |x| x as u16),
        DType::U8 => cast(&shape, ints, |x| x as u8),
        DType::Bool => cast(&shape, ints, |x| x != 0),
        DType::F16 => cast(&shape, ints, |x| f16::from_bits(x as u16)),
        DType::BF16 => cast(&shape, ints, |x| bf16::from_bits(x as u16)),
        DType::Utf8 => {
            let texts = proto.string_data.iter().map(|s| String::from_utf8(s.clone()));
            let texts = texts.collect::<Result<Vec<_>, _>>().map_err(|_| TensorError::Text)?;
            Tensor::new(&shape, texts)
        }
        _ => None,
    };
    tensor.ok_or_else(|| TensorError::Shape(proto.dims.clone()))
}

/// The dense form of a sparse tensor, and its name.
///
/// # Errors
/// As for [`to_tensor`]; also indices outside the shape, or a dense form that is too large.
pub fn dense(proto: &SparseTensorProto, folder: Option<&Path>) -> Result<(String, Tensor), TensorError> {
    let values = proto
        .values
        .as_ref()
        .ok_or(TensorError::Sparse("there are no elements"))?;
    let indices = proto
        .indices
        .as_ref()
        .ok_or(TensorError::Sparse("there are no indices"))?;
    let elements = to_tensor(values, folder)?;
    let Tensor::I64(indices) = to_tensor(indices, folder)? else {
        return Err(TensorError::Sparse("the indices are not int64"));
    };
    let (shape, count) = extents(&proto.dims, elements.dtype().size())?;
    if count.saturating_mul(elements.dtype().size()) > MAX_DENSE {
        return Err(TensorError::Sparse("the dense form is too large"));
    }
    let places: Vec<i64> = indices.iter().copied().collect();
    let row = match *indices.shape() {
        [n] if n == elements.len() => 1,
        [n, rank] if n == elements.len() && rank == shape.len() && rank > 0 => rank,
        _ => {
            return Err(TensorError::Sparse(
                "the number of indices differs from the number of elements",
            ));
        }
    };
    let linear = |place: &[i64]| -> Option<usize> {
        if indices.ndim() == 1 {
            return usize::try_from(place[0]).ok().filter(|&i| i < count);
        }
        place.iter().zip(&shape).try_fold(0usize, |at, (&i, &extent)| {
            let i = usize::try_from(i).ok().filter(|&i| i < extent)?;
            Some(at * extent + i)
        })
    };
    let places: Option<Vec<usize>> = places.chunks_exact(row).map(linear).collect();
    let places = places.ok_or(TensorError::Sparse("an index is outside the shape"))?;
    fn scatter<T: Element>(
        array: &tautomer_tensor::Nd<T>,
        places: &[usize],
        shape: &[usize],
        n: usize,
    ) -> Option<Tensor> {
        let mut out = vec![T::default(); n];
        for (&at, value) in places.iter().zip(array.iter()) {
            out[at] = value.clone();
        }
        Tensor::new(shape, out)
    }
    let tensor = tautomer_tensor::with_array!(&elements, array => scatter(array, &places, &shape, count));
    let tensor = tensor.ok_or_else(|| TensorError::Shape(proto.dims.clone()))?;
    Ok((values.name.clone().unwrap_or_default(), tensor))
}

/// Tensors of at least this many bytes are not copied into messages.
const SHARED: usize = 4096;

/// A tensor whose elements are bytes of a message.
struct Elements(Tensor);

impl AsRef<[u8]> for Elements {
    fn as_ref(&self) -> &[u8] {
        elements(&self.0).unwrap_or(&[])
    }
}

/// Tensors by the address of their elements in memory: messages that share elements with these tensors need not be
/// decoded.
#[derive(Debug, Default)]
pub(super) struct Shared(HashMap<usize, Tensor>);

impl Shared {
    pub(super) fn of<'a>(tensors: impl Iterator<Item = &'a Tensor>) -> Shared {
        let large = tensors.filter_map(|tensor| {
            let bytes = elements(tensor).filter(|bytes| bytes.len() >= SHARED)?;
            Some((bytes.as_ptr().addr(), tensor.clone()))
        });
        Shared(large.collect())
    }

    /// The tensor that a message has the elements of.
    pub(super) fn find(&self, proto: &TensorProto) -> Option<Tensor> {
        let raw = proto.raw_data.as_ref()?;
        let tensor = self.0.get(&raw.as_ptr().addr())?;
        let shape = tensor.shape().iter().map(|&d| d as i64);
        let same = elements(tensor)?.len() == raw.len()
            && shape.eq(proto.dims.iter().copied())
            && data_type(tensor.dtype()).map(|d| d as i32) == proto.data_type;
        same.then(|| tensor.clone())
    }
}

/// The message for a tensor.
pub fn from_tensor(name: &str, tensor: &Tensor) -> TensorProto {
    let mut proto = TensorProto {
        name: Some(name.to_string()),
        dims: tensor.shape().iter().map(|&d| d as i64).collect(),
        data_type: data_type(tensor.dtype()).map(|d| d as i32),
        ..TensorProto::default()
    };
    match tensor {
        Tensor::Utf8(array) => proto.string_data = array.iter().map(|s| s.as_bytes().to_vec()).collect(),
        other => {
            proto.raw_data = match elements(other) {
                Some(bytes) if bytes.len() >= SHARED => Some(Bytes::from_owner(Elements(other.clone()))),
                _ => encode(other).map(|bytes| Bytes::from(pack(bytes, packed(tensor.dtype())))),
            };
        }
    }
    proto
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use prost::Message;

    fn stored(data_type: DataType, dims: &[i64]) -> TensorProto {
        TensorProto {
            data_type: Some(data_type as i32),
            dims: dims.to_vec(),
            ..TensorProto::default()
        }
    }

    #[test]
    fn raw_data_round_trips_for_every_type() {
        let ints: Vec<i128> = (0..6).collect();
        for dtype in DType::ALL {
            let Some(tensor) = Tensor::from_ints(dtype, &[2, 3], &ints) else {
                continue;
            };
            let proto = from_tensor("x", &tensor);
            assert_eq!(to_tensor(&proto, None), Ok(tensor), "{dtype}");
        }
        let text = Tensor::vector(vec!["a".to_string(), "ß".to_string()]);
        assert_eq!(to_tensor(&from_tensor("", &text), None), Ok(text));
    }

    #[test]
    fn typed_fields() {
        let int32 = |data_type, values: &[i32]| TensorProto {
            int32_data: values.to_vec(),
            ..stored(data_type, &[2])
        };
        let read = |proto: TensorProto| to_tensor(&proto, None).unwrap();
        let half = |x| f16::from_f32(x);
        assert_eq!(read(int32(DataType::Bool, &[0, 1])), Tensor::vector(vec![false, true]));
        assert_eq!(read(int32(DataType::Int8, &[-1, 5])), Tensor::vector(vec![-1i8, 5]));
        assert_eq!(
            read(int32(DataType::Uint16, &[65535, 5])),
            Tensor::vector(vec![65535u16, 5])
        );
        assert_eq!(
            read(int32(DataType::Float16, &[0x3c00, 0xc000])),
            Tensor::vector(vec![half(1.0), half(-2.0)])
        );
        assert_eq!(
            read(int32(DataType::Bfloat16, &[0x3f80, 0xc000])),
            Tensor::vector(vec![bf16::from_f32(1.0), bf16::from_f32(-2.0)])
        );
        let unsigned = TensorProto {
            uint64_data: vec![7, u64::from(u32::MAX)],
            ..stored(DataType::Uint32, &[2])
        };
        assert_eq!(read(unsigned), Tensor::vector(vec![7u32, u32::MAX]));
    }

    #[test]
    fn refusals_are_typed() {
        let error = |proto: TensorProto| to_tensor(&proto, None).unwrap_err();
        assert_eq!(
            error(stored(DataType::Complex64, &[2])),
            TensorError::UnsupportedType("complex64")
        );
        assert_eq!(error(stored(DataType::Undefined, &[2])), TensorError::UnknownType(0));
        assert_eq!(error(stored(DataType::Float, &[-1])), TensorError::Shape(vec![-1]));
        let huge = stored(DataType::Float, &[i64::MAX, i64::MAX]);
        assert_eq!(error(huge), TensorError::Shape(vec![i64::MAX, i64::MAX]));
        assert!(matches!(
            error(stored(DataType::Float, &[1 << 40])),
            TensorError::Size { .. }
        ));
        let raw = TensorProto {
            raw_data: Some(Bytes::from_static(&[1, 2, 3])),
            ..stored(DataType::Float, &[1])
        };
        assert!(error(raw).to_string().contains("3 bytes"));
    }

    fn sparse(indices: Tensor, values: Vec<f32>, dims: &[i64]) -> SparseTensorProto {
        SparseTensorProto {
            values: Some(from_tensor("s", &Tensor::vector(values))),
            indices: Some(from_tensor("", &indices)),
            dims: dims.to_vec(),
        }
    }

    #[test]
    fn sparse_tensors_become_dense() {
        let expected = Tensor::new(&[2, 2], vec![0.0f32, 5.0, 0.0, 6.0]).unwrap();
        let linear = sparse(Tensor::vector(vec![1i64, 3]), vec![5.0, 6.0], &[2, 2]);
        assert_eq!(dense(&linear, None), Ok(("s".to_string(), expected.clone())));
        let rows = Tensor::new(&[2, 2], vec![0i64, 1, 1, 1]).unwrap();
        assert_eq!(
            dense(&sparse(rows, vec![5.0, 6.0], &[2, 2]), None).map(|d| d.1),
            Ok(expected)
        );
        let outside = sparse(Tensor::vector(vec![4i64]), vec![5.0], &[2, 2]);
        assert!(dense(&outside, None).is_err());
        let large = sparse(Tensor::vector(vec![0i64]), vec![5.0], &[1 << 20, 1 << 20]);
        assert!(dense(&large, None).is_err());
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn random_messages_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
            if let Ok(proto) = TensorProto::decode(bytes.as_slice()) {
                let _ = to_tensor(&proto, None);
            }
            if let Ok(proto) = SparseTensorProto::decode(bytes.as_slice()) {
                let _ = dense(&proto, None);
            }
        }

        #[test]
        fn random_shapes_never_panic(
            dims in proptest::collection::vec(-2i64..5, 0..5),
            data_type in -1i32..30,
            raw in proptest::collection::vec(any::<u8>(), 0..40),
            ints in proptest::collection::vec(any::<i32>(), 0..10),
        ) {
            let proto = TensorProto {
                dims: dims.clone(),
                data_type: Some(data_type),
                raw_data: Some(raw.into()),
                int32_data: ints,
                ..TensorProto::default()
            };
            let _ = to_tensor(&proto, None);
            let indices = TensorProto { data_type: Some(DataType::Int64 as i32), ..proto.clone() };
            let _ = dense(&SparseTensorProto { values: Some(proto), indices: Some(indices), dims }, None);
        }
    }
}
