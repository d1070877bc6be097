//! Elements of tensors as bytes, shared by all binary formats.

use half::{bf16, f16};
use ndarray::IxDyn;
use zerocopy::{Immutable, IntoBytes};

use tautomer_tensor::{DType, Element, MAX_RANK, Nd, Tensor};
use tautomer_tensor::{F4E2M1, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, I2, I4, U2, U4};

/// The byte order of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// The number of elements of a shape read from a file, if that number and the size in bytes are representable.
pub fn element_count(shape: &[usize], element_size: usize) -> Option<usize> {
    if shape.len() > MAX_RANK {
        return None;
    }
    // Even an array of size zero must have strides that do not overflow.
    let strides = shape
        .iter()
        .filter(|&&d| d != 0)
        .try_fold(element_size.max(1), |a, &d| a.checked_mul(d))?;
    isize::try_from(strides).ok()?;
    Some(shape.iter().product())
}

trait Fixed: Element {
    fn read(bytes: &[u8], endian: Endian) -> Vec<Self>;
    fn write(array: &Nd<Self>, out: &mut Vec<u8>);
}

macro_rules! fixed {
    ($($ty:ty),*) => {$(
        impl Fixed for $ty {
            fn read(bytes: &[u8], endian: Endian) -> Vec<Self> {
                let (chunks, _) = bytes.as_chunks();
                match endian {
                    Endian::Little => chunks.iter().map(|&c| <$ty>::from_le_bytes(c)).collect(),
                    Endian::Big => chunks.iter().map(|&c| <$ty>::from_be_bytes(c)).collect(),
                }
            }
            fn write(array: &Nd<Self>, out: &mut Vec<u8>) {
                out.extend(array.iter().flat_map(|x| x.to_le_bytes()));
            }
        }
    )*};
}

fixed!(i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);

macro_rules! narrow {
    ($($ty:ty),*) => {$(
        impl Fixed for $ty {
            fn read(bytes: &[u8], _: Endian) -> Vec<Self> {
                bytes.iter().map(|&b| <$ty>::from_bits(b)).collect()
            }
            fn write(array: &Nd<Self>, out: &mut Vec<u8>) {
                out.extend(array.iter().map(|x| x.to_bits()));
            }
        }
    )*};
}

narrow!(I2, I4, U2, U4, F4E2M1, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0);

impl Fixed for bool {
    fn read(bytes: &[u8], _: Endian) -> Vec<bool> {
        bytes.iter().map(|&b| b != 0).collect()
    }
    fn write(array: &Nd<bool>, out: &mut Vec<u8>) {
        out.extend(array.iter().map(|&b| u8::from(b)));
    }
}

/// A tensor from its elements in row-major order, with sub-byte elements in one byte each; `None` if their number does
/// not fit the shape or the elements have no fixed width.
pub fn decode(dtype: DType, shape: &[usize], bytes: &[u8], endian: Endian) -> Option<Tensor> {
    fn go<T: Fixed>(shape: &[usize], bytes: &[u8], endian: Endian) -> Option<Tensor> {
        let count = element_count(shape, T::DTYPE.size())?;
        if bytes.len() != count.checked_mul(T::DTYPE.size())? {
            return None;
        }
        Tensor::new(shape, T::read(bytes, endian))
    }
    let decode = match dtype {
        DType::Bool => go::<bool>,
        DType::I8 => go::<i8>,
        DType::I16 => go::<i16>,
        DType::I32 => go::<i32>,
        DType::I64 => go::<i64>,
        DType::U8 => go::<u8>,
        DType::U16 => go::<u16>,
        DType::U32 => go::<u32>,
        DType::U64 => go::<u64>,
        DType::F16 => go::<f16>,
        DType::BF16 => go::<bf16>,
        DType::F32 => go::<f32>,
        DType::F64 => go::<f64>,
        DType::I2 => go::<I2>,
        DType::I4 => go::<I4>,
        DType::U2 => go::<U2>,
        DType::U4 => go::<U4>,
        DType::F4E2M1 => go::<F4E2M1>,
        DType::F8E4M3FN => go::<F8E4M3FN>,
        DType::F8E4M3FNUZ => go::<F8E4M3FNUZ>,
        DType::F8E5M2 => go::<F8E5M2>,
        DType::F8E5M2FNUZ => go::<F8E5M2FNUZ>,
        DType::F8E8M0 => go::<F8E8M0>,
        DType::Utf8 | DType::Binary | DType::Date32 | DType::Timestamp => return None,
    };
    decode(shape, bytes, endian)
}

/// The elements in row-major order, little endian; `None` for strings.
pub fn encode(tensor: &Tensor) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(tensor.bytes());
    match tensor {
        Tensor::Bool(a) => Fixed::write(a, &mut out),
        Tensor::I8(a) => Fixed::write(a, &mut out),
        Tensor::I16(a) => Fixed::write(a, &mut out),
        Tensor::I32(a) => Fixed::write(a, &mut out),
        Tensor::I64(a) => Fixed::write(a, &mut out),
        Tensor::U8(a) => Fixed::write(a, &mut out),
        Tensor::U16(a) => Fixed::write(a, &mut out),
        Tensor::U32(a) => Fixed::write(a, &mut out),
        Tensor::U64(a) => Fixed::write(a, &mut out),
        Tensor::F16(a) => Fixed::write(a, &mut out),
        Tensor::BF16(a) => Fixed::write(a, &mut out),
        Tensor::F32(a) => Fixed::write(a, &mut out),
        Tensor::F64(a) => Fixed::write(a, &mut out),
        Tensor::I2(a) => Fixed::write(a, &mut out),
        Tensor::I4(a) => Fixed::write(a, &mut out),
        Tensor::U2(a) => Fixed::write(a, &mut out),
        Tensor::U4(a) => Fixed::write(a, &mut out),
        Tensor::F4E2M1(a) => Fixed::write(a, &mut out),
        Tensor::F8E4M3FN(a) => Fixed::write(a, &mut out),
        Tensor::F8E4M3FNUZ(a) => Fixed::write(a, &mut out),
        Tensor::F8E5M2(a) => Fixed::write(a, &mut out),
        Tensor::F8E5M2FNUZ(a) => Fixed::write(a, &mut out),
        Tensor::F8E8M0(a) => Fixed::write(a, &mut out),
        Tensor::Utf8(_) => return None,
    }
    Some(out)
}

/// The elements as [`encode`] writes them, without a copy; `None` where they are stored in another way.
///
/// ```
/// use tautomer_files::bytes::elements;
/// use tautomer_tensor::Tensor;
/// let numbers = Tensor::vector(vec![1.0f32, 2.0]);
/// assert_eq!(elements(&numbers).map(<[u8]>::len), cfg!(target_endian = "little").then_some(8));
/// ```
pub fn elements(tensor: &Tensor) -> Option<&[u8]> {
    fn of<T: Element + IntoBytes + Immutable>(array: &Nd<T>) -> Option<&[u8]> {
        array.as_slice().map(IntoBytes::as_bytes)
    }
    if cfg!(target_endian = "big") {
        return None;
    }
    match tensor {
        Tensor::I8(a) => of(a),
        Tensor::I16(a) => of(a),
        Tensor::I32(a) => of(a),
        Tensor::I64(a) => of(a),
        Tensor::U8(a) => of(a),
        Tensor::U16(a) => of(a),
        Tensor::U32(a) => of(a),
        Tensor::U64(a) => of(a),
        Tensor::F16(a) => of(a),
        Tensor::BF16(a) => of(a),
        Tensor::F32(a) => of(a),
        Tensor::F64(a) => of(a),
        _ => None,
    }
}

/// The tensor with its axes reversed except for the last `kept`, elements in row-major order of the result.
pub(super) fn reversed_axes(tensor: Tensor, kept: usize) -> Tensor {
    fn go<T: Element>(array: Nd<T>, kept: usize) -> Tensor {
        let rank = array.ndim();
        let moved = rank.saturating_sub(kept);
        let order: Vec<usize> = (0..moved).rev().chain(moved..rank).collect();
        let reversed = array.permuted_axes(order);
        let shape = reversed.shape().to_vec();
        let elements: Vec<T> = reversed.iter().cloned().collect();
        match ndarray::ArrayD::from_shape_vec(IxDyn(&shape), elements) {
            Ok(array) => T::wrap(array.into_shared()),
            Err(_) => T::wrap(reversed),
        }
    }
    tautomer_tensor::with_array!(tensor, array => go(array, kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_byte_orders() {
        let little = decode(DType::I16, &[2], &[1, 0, 0, 1], Endian::Little);
        let big = decode(DType::I16, &[2], &[0, 1, 1, 0], Endian::Big);
        assert_eq!(little, Some(Tensor::vector(vec![1i16, 256])));
        assert_eq!(little, big);
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        assert_eq!(element_count(&[usize::MAX, 2], 4), None);
        assert_eq!(element_count(&[usize::MAX, 0, usize::MAX], 4), None);
        assert_eq!(element_count(&[3, 0], 4), Some(0));
        assert_eq!(decode(DType::F32, &[2], &[0; 7], Endian::Little), None);
    }

    #[test]
    fn reversing_axes_moves_elements() {
        let t = Tensor::new(&[2, 3], vec![1i64, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(
            reversed_axes(t, 0),
            Tensor::new(&[3, 2], vec![1i64, 4, 2, 5, 3, 6]).unwrap()
        );
    }
}
