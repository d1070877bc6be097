//! `.safetensors` files.

use std::borrow::Cow;

use indexmap::IndexMap;
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, View};

use super::Problem;
use super::bytes::{Endian, decode, encode};
use tautomer_tensor::{DType, Tensor};

const fn dtype_of(dtype: Dtype) -> Option<DType> {
    Some(match dtype {
        Dtype::BOOL => DType::Bool,
        Dtype::I8 => DType::I8,
        Dtype::I16 => DType::I16,
        Dtype::I32 => DType::I32,
        Dtype::I64 => DType::I64,
        Dtype::U8 => DType::U8,
        Dtype::U16 => DType::U16,
        Dtype::U32 => DType::U32,
        Dtype::U64 => DType::U64,
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        Dtype::F64 => DType::F64,
        _ => return None,
    })
}

const fn file_dtype(dtype: DType) -> Option<Dtype> {
    Some(match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I8 => Dtype::I8,
        DType::I16 => Dtype::I16,
        DType::I32 => Dtype::I32,
        DType::I64 => Dtype::I64,
        DType::U8 => Dtype::U8,
        DType::U16 => Dtype::U16,
        DType::U32 => Dtype::U32,
        DType::U64 => Dtype::U64,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        _ => return None,
    })
}

/// Reads a file; the tensors are in file order.
///
/// # Errors
/// The file is damaged or has an element type that tensors do not support.
pub fn read(bytes: &[u8]) -> Result<IndexMap<String, Tensor>, Problem> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| match e {
        SafeTensorError::InvalidHeaderLength | SafeTensorError::HeaderTooSmall => {
            Problem::malformed("the header is truncated")
        }
        SafeTensorError::MetadataIncompleteBuffer => Problem::malformed("the file is truncated or has trailing bytes"),
        other => Problem::malformed(other.to_string()),
    })?;
    // The library iterates in hash map order.
    let mut views: Vec<_> = file.iter().collect();
    views.sort_by_key(|(name, view)| (view.data().as_ptr().addr(), *name));
    let mut out = IndexMap::with_capacity(views.len());
    for (name, view) in views {
        let Some(dtype) = dtype_of(view.dtype()) else {
            let reason = format!(
                "tensor {name:?} has elements of type {:?}, which are not supported",
                view.dtype()
            );
            return Err(Problem::Unsupported(reason));
        };
        let tensor = decode(dtype, view.shape(), view.data(), Endian::Little).ok_or_else(|| {
            let shape = view.shape();
            Problem::malformed(format!(
                "tensor {name:?}: {} bytes do not fill {shape:?}",
                view.data().len()
            ))
        })?;
        out.insert(name.to_string(), tensor);
    }
    Ok(out)
}

struct Stored {
    dtype: Dtype,
    shape: Vec<usize>,
    data: Vec<u8>,
}

impl View for Stored {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.data)
    }
    fn data_len(&self) -> usize {
        self.data.len()
    }
}

/// Writes a file.
///
/// # Errors
/// One of the tensors holds strings.
pub fn write(tensors: &IndexMap<String, Tensor>) -> Result<Vec<u8>, Problem> {
    let mut stored = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let (Some(dtype), Some(data)) = (file_dtype(tensor.dtype()), encode(tensor)) else {
            let reason = format!("tensor {name:?}: safetensors files cannot hold {}", tensor.dtype());
            return Err(Problem::Unsupported(reason));
        };
        let shape = tensor.shape().to_vec();
        stored.push((name.as_str(), Stored { dtype, shape, data }));
    }
    safetensors::serialize(stored, None).map_err(|e| Problem::unsupported(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use proptest::prelude::*;

    fn examples() -> IndexMap<String, Tensor> {
        IndexMap::from([
            (
                "w".to_string(),
                Tensor::new(&[2, 2], vec![1.0f32, f32::NAN, -0.0, 2.0]).unwrap(),
            ),
            ("h".to_string(), Tensor::vector(vec![f16::from_f32(0.5)])),
            ("b".to_string(), Tensor::vector(vec![bf16::from_f32(0.1), bf16::MIN])),
            ("s".to_string(), Tensor::scalar(3i64)),
            ("e".to_string(), Tensor::new(&[0, 4], Vec::<u8>::new()).unwrap()),
        ])
    }

    #[test]
    fn round_trip() {
        let bytes = write(&examples()).unwrap();
        let back = read(&bytes).unwrap();
        assert_eq!(back.len(), 5);
        for (name, tensor) in examples() {
            assert!(back[&name].same_bits(&tensor), "{name}");
        }
        for cut in [0, 4, 20, bytes.len() - 1] {
            assert!(read(&bytes[..cut]).is_err(), "cut to {cut} bytes");
        }
    }

    #[test]
    fn text_is_refused() {
        let tensors = IndexMap::from([("t".to_string(), Tensor::scalar("x".to_string()))]);
        assert!(write(&tensors).unwrap_err().to_string().contains("utf8"));
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn damaged_files_never_panic(changes in proptest::collection::vec((0usize..1000, any::<u8>()), 1..4)) {
            let mut bytes = write(&examples()).unwrap();
            for (at, byte) in changes {
                let at = at % bytes.len();
                bytes[at] = byte;
            }
            let _ = read(&bytes);
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
