//! Operands of calls: tensors, and values in the memory of a run.

use std::ops::Range;

use smallvec::SmallVec;

use tautomer_tensor::{DType, Shape, Tensor, TensorType};

/// Evaluates `$body` with `$ty` standing for the Rust type of a plain element type; `None` for other types.
macro_rules! of_plain {
    ($dtype:expr, $ty:ident => $body:expr) => {
        of_plain!(@ $dtype, $ty => $body,
            Bool bool, I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64,
            F16 half::f16, BF16 half::bf16)
    };
    (@ $dtype:expr, $ty:ident => $body:expr, $($variant:ident $own:ty),*) => {
        match $dtype {
            $(tautomer_tensor::DType::$variant => {
                type $ty = $own;
                $body
            })*
            _ => None,
        }
    };
}

pub(super) use of_plain;

/// The dimensions of a value, outermost first.
pub type Extents = SmallVec<[usize; 6]>;

/// The bytes at which the elements of a value are, in row-major order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The element type; one of those that [`is_plain`] names.
    pub dtype: DType,
    /// The shape.
    pub shape: Extents,
    /// 0 is the arena, 1 the elements of the first output, and so on.
    pub region: usize,
    /// The first byte.
    pub start: usize,
    /// The number of bytes.
    pub bytes: usize,
}

impl Place {
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.bytes
    }

    /// True if both have bytes in common.
    pub fn overlaps(&self, other: &Place) -> bool {
        let (a, b) = (self.range(), other.range());
        self.region == other.region && a.start < b.end && b.start < a.end
    }

    /// Its number of elements.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// All of a region.
    pub fn whole(dtype: DType, shape: Extents, region: usize) -> Place {
        Place {
            bytes: shape.iter().product::<usize>() * dtype.size(),
            dtype,
            shape,
            region,
            start: 0,
        }
    }

    /// A place for the same type at another position.
    pub fn at(&self, region: usize, start: usize) -> Place {
        Place {
            region,
            start,
            ..self.clone()
        }
    }

    /// The type of its value.
    pub fn ty(&self) -> TensorType {
        TensorType {
            dtype: self.dtype,
            shape: Some(Shape::from(&self.shape[..])),
        }
    }
}

/// A tensor of zeros of a plain type.
pub fn zeros(dtype: DType, shape: &[usize]) -> Option<Tensor> {
    let n = shape.iter().product();
    of_plain!(dtype, T => Tensor::new(shape, vec![T::default(); n]))
}

/// True for element types whose elements are bytes of the memory: all but strings and those of less than a byte.
pub fn is_plain(dtype: DType) -> bool {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(
        dtype,
        Bool | I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 | F16 | BF16 | F32 | F64
    )
}

/// An operand of a call.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// It is left out.
    Absent,
    /// A tensor.
    Tensor(&'a Tensor),
    /// A value in the memory of the run.
    Placed(&'a Place),
}

impl<'a> Operand<'a> {
    /// The element type.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Operand::Absent => None,
            Operand::Tensor(tensor) => Some(tensor.dtype()),
            Operand::Placed(place) => Some(place.dtype),
        }
    }

    /// The shape; empty if it is left out.
    pub fn shape(&self) -> &'a [usize] {
        match self {
            Operand::Absent => &[],
            Operand::Tensor(tensor) => tensor.shape(),
            Operand::Placed(place) => &place.shape,
        }
    }

    /// The type, if it is given.
    pub fn ty(&self) -> Option<TensorType> {
        match self {
            Operand::Absent => None,
            Operand::Tensor(tensor) => Some(tensor.ty()),
            Operand::Placed(place) => Some(place.ty()),
        }
    }

    /// The tensor, if it is one.
    pub fn tensor(&self) -> Option<&'a Tensor> {
        match *self {
            Operand::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The place, if it has one.
    pub fn place(&self) -> Option<&'a Place> {
        match *self {
            Operand::Placed(place) => Some(place),
            _ => None,
        }
    }

    /// True if it is given.
    pub fn is_given(&self) -> bool {
        !matches!(self, Operand::Absent)
    }
}

impl<'a> From<&'a Option<Tensor>> for Operand<'a> {
    fn from(value: &'a Option<Tensor>) -> Operand<'a> {
        value.as_ref().map_or(Operand::Absent, Operand::Tensor)
    }
}
