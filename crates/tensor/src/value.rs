//! Tensors with values.

use std::fmt;

use half::{bf16, f16};
use ndarray::{ArcArray, ArrayD, IxDyn, s};

use super::narrow::{F4E2M1, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, I2, I4, U2, U4};
use super::{DType, Shape, TensorType};

/// A shared n-dimensional array of one element type.
pub type Nd<T> = ArcArray<T, IxDyn>;

/// A tensor with its values. Cloning shares the elements.
#[derive(Debug, Clone)]
pub enum Tensor {
    /// Booleans.
    Bool(Nd<bool>),
    /// 8-bit signed integers.
    I8(Nd<i8>),
    /// 16-bit signed integers.
    I16(Nd<i16>),
    /// 32-bit signed integers.
    I32(Nd<i32>),
    /// 64-bit signed integers.
    I64(Nd<i64>),
    /// 8-bit unsigned integers.
    U8(Nd<u8>),
    /// 16-bit unsigned integers.
    U16(Nd<u16>),
    /// 32-bit unsigned integers.
    U32(Nd<u32>),
    /// 64-bit unsigned integers.
    U64(Nd<u64>),
    /// Half precision numbers.
    F16(Nd<f16>),
    /// bfloat16 numbers.
    BF16(Nd<bf16>),
    /// Single precision numbers.
    F32(Nd<f32>),
    /// Double precision numbers.
    F64(Nd<f64>),
    /// 2-bit signed integers.
    I2(Nd<I2>),
    /// 4-bit signed integers.
    I4(Nd<I4>),
    /// 2-bit unsigned integers.
    U2(Nd<U2>),
    /// 4-bit unsigned integers.
    U4(Nd<U4>),
    /// 4-bit floats with 2 exponent bits.
    F4E2M1(Nd<F4E2M1>),
    /// 8-bit floats with 4 exponent bits.
    F8E4M3FN(Nd<F8E4M3FN>),
    /// 8-bit floats with 4 exponent bits and a single zero.
    F8E4M3FNUZ(Nd<F8E4M3FNUZ>),
    /// 8-bit floats with 5 exponent bits.
    F8E5M2(Nd<F8E5M2>),
    /// 8-bit floats with 5 exponent bits and a single zero.
    F8E5M2FNUZ(Nd<F8E5M2FNUZ>),
    /// 8-bit powers of two.
    F8E8M0(Nd<F8E8M0>),
    /// Strings.
    Utf8(Nd<String>),
}

/// Evaluates `$body` with `$array` bound to the typed array inside a [`Tensor`] of any element type.
#[macro_export]
macro_rules! with_array {
    ($tensor:expr, $array:ident => $body:expr) => {
        match $tensor {
            $crate::Tensor::Bool($array) => $body,
            $crate::Tensor::I8($array) => $body,
            $crate::Tensor::I16($array) => $body,
            $crate::Tensor::I32($array) => $body,
            $crate::Tensor::I64($array) => $body,
            $crate::Tensor::U8($array) => $body,
            $crate::Tensor::U16($array) => $body,
            $crate::Tensor::U32($array) => $body,
            $crate::Tensor::U64($array) => $body,
            $crate::Tensor::F16($array) => $body,
            $crate::Tensor::BF16($array) => $body,
            $crate::Tensor::F32($array) => $body,
            $crate::Tensor::F64($array) => $body,
            $crate::Tensor::I2($array) => $body,
            $crate::Tensor::I4($array) => $body,
            $crate::Tensor::U2($array) => $body,
            $crate::Tensor::U4($array) => $body,
            $crate::Tensor::F4E2M1($array) => $body,
            $crate::Tensor::F8E4M3FN($array) => $body,
            $crate::Tensor::F8E4M3FNUZ($array) => $body,
            $crate::Tensor::F8E5M2($array) => $body,
            $crate::Tensor::F8E5M2FNUZ($array) => $body,
            $crate::Tensor::F8E8M0($array) => $body,
            $crate::Tensor::Utf8($array) => $body,
        }
    };
}

/// A Rust type that can be the element type of a [`Tensor`].
pub trait Element: Clone + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The element type.
    const DTYPE: DType;
    /// Wraps an array.
    fn wrap(array: Nd<Self>) -> Tensor;
    /// The array inside, if the element type is this one.
    fn array(tensor: &Tensor) -> Option<&Nd<Self>>;
    /// Moves the array out, if the element type is this one.
    fn into_array(tensor: Tensor) -> Option<Nd<Self>>;
}

macro_rules! elements {
    ($($ty:ty => $variant:ident),* $(,)?) => {$(
        impl Element for $ty {
            const DTYPE: DType = DType::$variant;
            fn wrap(array: Nd<Self>) -> Tensor {
                Tensor::$variant(array)
            }
            fn array(tensor: &Tensor) -> Option<&Nd<Self>> {
                match tensor {
                    Tensor::$variant(array) => Some(array),
                    _ => None,
                }
            }
            fn into_array(tensor: Tensor) -> Option<Nd<Self>> {
                match tensor {
                    Tensor::$variant(array) => Some(array),
                    _ => None,
                }
            }
        }
    )*};
}

elements! {
    bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64, String => Utf8,
    I2 => I2, I4 => I4, U2 => U2, U4 => U4, F4E2M1 => F4E2M1, F8E4M3FN => F8E4M3FN, F8E4M3FNUZ => F8E4M3FNUZ, F8E5M2 => F8E5M2, F8E5M2FNUZ => F8E5M2FNUZ, F8E8M0 => F8E8M0,
}

/// Written out because derived comparisons are compiled again in every crate that uses them.
impl PartialEq for Tensor {
    fn eq(&self, other: &Tensor) -> bool {
        fn same<T: Element>(a: &Nd<T>, other: &Tensor) -> bool {
            T::array(other).is_some_and(|b| a == b)
        }
        with_array!(self, a => same(a, other))
    }
}

impl Tensor {
    /// A tensor from its elements in row-major order.
    ///
    /// Returns `None` if the number of elements is not the product of the dimensions.
    ///
    /// ```
    /// use tautomer_tensor::Tensor;
    /// let t = Tensor::new(&[2, 2], vec![1.0f32, 2.0, 3.0, 4.0]).unwrap();
    /// assert_eq!(t.ty().to_string(), "f32[2, 2]");
    /// assert!(Tensor::new(&[3], vec![1i64]).is_none());
    /// ```
    pub fn new<T: Element>(shape: &[usize], elements: Vec<T>) -> Option<Tensor> {
        Some(T::wrap(
            ArrayD::from_shape_vec(IxDyn(shape), elements).ok()?.into_shared(),
        ))
    }

    /// A scalar tensor.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        T::wrap(ArrayD::from_elem(IxDyn(&[]), value).into_shared())
    }

    /// A tensor with one axis.
    pub fn vector<T: Element>(elements: Vec<T>) -> Tensor {
        T::wrap(ndarray::Array1::from(elements).into_dyn().into_shared())
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        match self {
            Tensor::Bool(_) => DType::Bool,
            Tensor::I8(_) => DType::I8,
            Tensor::I16(_) => DType::I16,
            Tensor::I32(_) => DType::I32,
            Tensor::I64(_) => DType::I64,
            Tensor::U8(_) => DType::U8,
            Tensor::U16(_) => DType::U16,
            Tensor::U32(_) => DType::U32,
            Tensor::U64(_) => DType::U64,
            Tensor::F16(_) => DType::F16,
            Tensor::BF16(_) => DType::BF16,
            Tensor::F32(_) => DType::F32,
            Tensor::F64(_) => DType::F64,
            Tensor::I2(_) => DType::I2,
            Tensor::I4(_) => DType::I4,
            Tensor::U2(_) => DType::U2,
            Tensor::U4(_) => DType::U4,
            Tensor::F4E2M1(_) => DType::F4E2M1,
            Tensor::F8E4M3FN(_) => DType::F8E4M3FN,
            Tensor::F8E4M3FNUZ(_) => DType::F8E4M3FNUZ,
            Tensor::F8E5M2(_) => DType::F8E5M2,
            Tensor::F8E5M2FNUZ(_) => DType::F8E5M2FNUZ,
            Tensor::F8E8M0(_) => DType::F8E8M0,
            Tensor::Utf8(_) => DType::Utf8,
        }
    }

    /// The shape, outermost axis first.
    pub fn shape(&self) -> &[usize] {
        with_array!(self, a => a.shape())
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        with_array!(self, a => a.len())
    }

    /// True if a dimension is zero.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the elements; of strings, only the views are counted.
    pub fn bytes(&self) -> usize {
        self.len() * self.dtype().size()
    }

    /// Element type and shape.
    pub fn ty(&self) -> TensorType {
        TensorType {
            dtype: self.dtype(),
            shape: Some(Shape::from(self.shape())),
        }
    }

    /// The elements at these positions, as a tensor with one axis; positions outside the tensor are skipped.
    ///
    /// ```
    /// use tautomer_tensor::Tensor;
    /// let t = Tensor::new(&[2, 2], vec![1i64, 2, 3, 4]).unwrap();
    /// assert_eq!(t.picked(&[vec![0, 1], vec![1, 0]]), Tensor::vector(vec![2i64, 3]));
    /// ```
    pub fn picked(&self, positions: &[Vec<usize>]) -> Tensor {
        with_array!(self, a => {
            Tensor::vector(positions.iter().filter_map(|at| a.get(&at[..]).cloned()).collect())
        })
    }

    /// The elements as integers in row-major order, if the element type is an integer or `bool`.
    pub fn to_ints(&self) -> Option<Vec<i128>> {
        macro_rules! ints {
            ($($variant:ident),*) => {
                match self {
                    $(Tensor::$variant(a) => Some(a.iter().map(|&x| i128::from(x)).collect()),)*
                    _ => None,
                }
            };
        }
        ints!(Bool, I8, I16, I32, I64, U8, U16, U32, U64, I2, I4, U2, U4)
    }

    /// The elements as `f64` in row-major order, if they are numbers; 64-bit integers may round.
    pub fn to_f64s(&self) -> Option<Vec<f64>> {
        match self {
            Tensor::F16(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::BF16(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::F32(a) => Some(a.iter().map(|&x| f64::from(x)).collect()),
            Tensor::F64(a) => Some(a.iter().copied().collect()),
            Tensor::F4E2M1(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::F8E4M3FN(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::F8E4M3FNUZ(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::F8E5M2(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::F8E5M2FNUZ(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::F8E8M0(a) => Some(a.iter().map(|x| x.to_f64()).collect()),
            Tensor::Utf8(_) => None,
            _ => Some(self.to_ints()?.into_iter().map(|x| x as f64).collect()),
        }
    }

    /// A tensor of `dtype` from integers, wrapped to its width (`bool`: non-zero is true; floats: nearest).
    pub fn from_ints(dtype: DType, shape: &[usize], values: &[i128]) -> Option<Tensor> {
        macro_rules! cast {
            ($ty:ty) => {
                Tensor::new::<$ty>(shape, values.iter().map(|&x| x as $ty).collect())
            };
        }
        match dtype {
            DType::Bool => Tensor::new::<bool>(shape, values.iter().map(|&x| x != 0).collect()),
            DType::I8 => cast!(i8),
            DType::I16 => cast!(i16),
            DType::I32 => cast!(i32),
            DType::I64 => cast!(i64),
            DType::U8 => cast!(u8),
            DType::U16 => cast!(u16),
            DType::U32 => cast!(u32),
            DType::U64 => cast!(u64),
            DType::I2 => Tensor::new(shape, values.iter().map(|&x| I2::wrap(x)).collect()),
            DType::I4 => Tensor::new(shape, values.iter().map(|&x| I4::wrap(x)).collect()),
            DType::U2 => Tensor::new(shape, values.iter().map(|&x| U2::wrap(x)).collect()),
            DType::U4 => Tensor::new(shape, values.iter().map(|&x| U4::wrap(x)).collect()),
            _ => Tensor::from_f64s(dtype, shape, &values.iter().map(|&x| x as f64).collect::<Vec<_>>()),
        }
    }

    /// A tensor of a floating-point `dtype` from `f64` values, rounded to nearest; `None` for other types.
    pub fn from_f64s(dtype: DType, shape: &[usize], values: &[f64]) -> Option<Tensor> {
        match dtype {
            DType::F16 => Tensor::new::<f16>(shape, values.iter().map(|&x| f16::from_f64(x)).collect()),
            DType::BF16 => Tensor::new::<bf16>(shape, values.iter().map(|&x| bf16::from_f64(x)).collect()),
            DType::F32 => Tensor::new::<f32>(shape, values.iter().map(|&x| x as f32).collect()),
            DType::F64 => Tensor::new::<f64>(shape, values.to_vec()),
            DType::F4E2M1 => Tensor::new(shape, values.iter().map(|&x| F4E2M1::from_f64(x)).collect()),
            DType::F8E4M3FN => Tensor::new(shape, values.iter().map(|&x| F8E4M3FN::from_f64(x)).collect()),
            DType::F8E4M3FNUZ => Tensor::new(shape, values.iter().map(|&x| F8E4M3FNUZ::from_f64(x)).collect()),
            DType::F8E5M2 => Tensor::new(shape, values.iter().map(|&x| F8E5M2::from_f64(x)).collect()),
            DType::F8E5M2FNUZ => Tensor::new(shape, values.iter().map(|&x| F8E5M2FNUZ::from_f64(x)).collect()),
            DType::F8E8M0 => Tensor::new(shape, values.iter().map(|&x| F8E8M0::from_f64(x)).collect()),
            _ => None,
        }
    }

    /// True if all elements have the same bits (NaN equals the same NaN), including tensors with at most one element.
    pub fn is_uniform(&self) -> bool {
        macro_rules! bits {
            ($a:expr) => {{
                let mut it = $a.iter().map(|x| x.to_bits());
                let first = it.next();
                it.all(|x| Some(x) == first)
            }};
        }
        match self {
            Tensor::F16(a) => bits!(a),
            Tensor::BF16(a) => bits!(a),
            Tensor::F32(a) => bits!(a),
            Tensor::F64(a) => bits!(a),
            other => with_array!(other, a => {
                let mut it = a.iter();
                let first = it.next();
                it.all(|x| Some(x) == first)
            }),
        }
    }

    /// True if both show the same elements in memory, in the same shape and order: a quick test that they are equal,
    /// which most equal tensors do not pass.
    ///
    /// ```
    /// use tautomer_tensor::Tensor;
    /// let t = Tensor::vector(vec![1.0f32]);
    /// assert!(t.shares_elements(&t.clone()));
    /// assert!(!t.shares_elements(&Tensor::vector(vec![1.0f32])));
    /// ```
    pub fn shares_elements(&self, other: &Tensor) -> bool {
        fn same<T: Element>(a: &Nd<T>, other: &Tensor) -> bool {
            T::array(other)
                .is_some_and(|b| a.as_ptr() == b.as_ptr() && a.shape() == b.shape() && a.strides() == b.strides())
        }
        with_array!(self, a => same(a, other))
    }

    /// The first element as a scalar tensor; `None` if the tensor is empty.
    pub fn first(&self) -> Option<Tensor> {
        fn one<T: Element>(a: &Nd<T>) -> Option<Tensor> {
            a.iter().next().map(|x| Tensor::scalar(x.clone()))
        }
        with_array!(self, a => one(a))
    }

    /// The same elements in row-major order in another shape of equal size. They are shared, or copied if they are
    /// stored in another order.
    pub fn reshaped(&self, shape: &[usize]) -> Option<Tensor> {
        fn go<T: Element>(a: &Nd<T>, shape: &[usize]) -> Option<Tensor> {
            if shape.iter().product::<usize>() != a.len() {
                return None;
            }
            match a.clone().into_shape_with_order(IxDyn(shape)) {
                Ok(array) => Some(T::wrap(array)),
                Err(_) => Tensor::new(shape, a.iter().cloned().collect()),
            }
        }
        with_array!(self, a => go(a, shape))
    }

    /// Neighbouring elements from `first` on in row-major order, in that shape. They are shared; `None` if there are
    /// fewer, or if they are stored in another order.
    ///
    /// ```
    /// use tautomer_tensor::Tensor;
    /// let matrix = Tensor::new(&[3, 2], vec![1i64, 2, 3, 4, 5, 6]).unwrap();
    /// assert_eq!(matrix.part(2, &[2, 2]), Tensor::new(&[2, 2], vec![3i64, 4, 5, 6]));
    /// assert_eq!(matrix.part(4, &[3]), None);
    /// ```
    pub fn part(&self, first: usize, shape: &[usize]) -> Option<Tensor> {
        fn go<T: Element>(a: &Nd<T>, first: usize, shape: &[usize]) -> Option<Tensor> {
            let n = shape.iter().product::<usize>();
            a.as_slice()
                .filter(|all| first.checked_add(n).is_some_and(|end| end <= all.len()))?;
            let mut part = a.clone().into_shape_with_order(IxDyn(&[a.len()])).ok()?;
            part.slice_collapse(s![first..first + n]);
            Some(T::wrap(part.into_shape_with_order(IxDyn(shape)).ok()?))
        }
        with_array!(self, a => go(a, first, shape))
    }

    /// Orders tensors by type, shape, and the bits of all elements; those with [the same bits](Tensor::same_bits) are
    /// equal.
    pub fn cmp_bits(&self, other: &Tensor) -> std::cmp::Ordering {
        macro_rules! each {
            ($($kind:ident($x:ident => $bits:expr)),* $(,)?) => {
                match (self, other) {
                    $((Tensor::$kind(a), Tensor::$kind(b)) => a.iter().map(|$x| $bits).cmp(b.iter().map(|$x| $bits)),)*
                    _ => std::cmp::Ordering::Equal,
                }
            };
        }
        let elements = || {
            each!(
                Bool(x => *x),
                I8(x => *x), I16(x => *x), I32(x => *x), I64(x => *x),
                U8(x => *x), U16(x => *x), U32(x => *x), U64(x => *x),
                F16(x => x.to_bits()), BF16(x => x.to_bits()), F32(x => x.to_bits()), F64(x => x.to_bits()),
                I2(x => *x), I4(x => *x), U2(x => *x), U4(x => *x),
                F4E2M1(x => *x), F8E4M3FN(x => *x), F8E4M3FNUZ(x => *x), F8E5M2(x => *x), F8E5M2FNUZ(x => *x),
                F8E8M0(x => *x), Utf8(x => x.clone()),
            )
        };
        let before = self
            .dtype()
            .cmp(&other.dtype())
            .then_with(|| self.shape().cmp(other.shape()));
        before.then_with(elements)
    }

    /// Hashes type, shape and the bits of the first elements into `state`; agrees with [`Tensor::same_bits`].
    pub fn hash_start(&self, mut state: &mut dyn std::hash::Hasher) {
        use std::hash::Hash;
        // Enough to distinguish most tensors without reading large ones completely.
        const ELEMENTS: usize = 16;
        macro_rules! each {
            ($a:expr, $x:ident => $bits:expr) => {
                $a.iter().take(ELEMENTS).for_each(|$x| $bits.hash(&mut state))
            };
        }
        self.dtype().hash(&mut state);
        self.shape().hash(&mut state);
        match self {
            Tensor::Bool(a) => each!(a, x => x),
            Tensor::I8(a) => each!(a, x => x),
            Tensor::I16(a) => each!(a, x => x),
            Tensor::I32(a) => each!(a, x => x),
            Tensor::I64(a) => each!(a, x => x),
            Tensor::U8(a) => each!(a, x => x),
            Tensor::U16(a) => each!(a, x => x),
            Tensor::U32(a) => each!(a, x => x),
            Tensor::U64(a) => each!(a, x => x),
            Tensor::F16(a) => each!(a, x => x.to_bits()),
            Tensor::BF16(a) => each!(a, x => x.to_bits()),
            Tensor::F32(a) => each!(a, x => x.to_bits()),
            Tensor::F64(a) => each!(a, x => x.to_bits()),
            Tensor::I2(a) => each!(a, x => x),
            Tensor::I4(a) => each!(a, x => x),
            Tensor::U2(a) => each!(a, x => x),
            Tensor::U4(a) => each!(a, x => x),
            Tensor::F4E2M1(a) => each!(a, x => x),
            Tensor::F8E4M3FN(a) => each!(a, x => x),
            Tensor::F8E4M3FNUZ(a) => each!(a, x => x),
            Tensor::F8E5M2(a) => each!(a, x => x),
            Tensor::F8E5M2FNUZ(a) => each!(a, x => x),
            Tensor::F8E8M0(a) => each!(a, x => x),
            Tensor::Utf8(a) => each!(a, x => x),
        }
    }

    /// True if type, shape and every bit agree; unlike `==`, NaN equals NaN and 0.0 differs from -0.0.
    pub fn same_bits(&self, other: &Tensor) -> bool {
        macro_rules! bits {
            ($a:expr, $b:expr) => {
                $a.shape() == $b.shape() && $a.iter().zip($b.iter()).all(|(x, y)| x.to_bits() == y.to_bits())
            };
        }
        match (self, other) {
            (Tensor::F16(a), Tensor::F16(b)) => bits!(a, b),
            (Tensor::BF16(a), Tensor::BF16(b)) => bits!(a, b),
            (Tensor::F32(a), Tensor::F32(b)) => bits!(a, b),
            (Tensor::F64(a), Tensor::F64(b)) => bits!(a, b),
            _ => self == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uniformity_looks_at_bits() {
        assert!(Tensor::vector(vec![f32::NAN, f32::NAN]).is_uniform());
        assert!(!Tensor::vector(vec![0.0f32, -0.0]).is_uniform());
        assert!(Tensor::vector(Vec::<i64>::new()).is_uniform());
    }

    #[test]
    fn integers_wrap_into_their_type() {
        assert_eq!(
            Tensor::from_ints(DType::U8, &[1], &[257]),
            Some(Tensor::vector(vec![1u8]))
        );
        assert_eq!(
            Tensor::from_ints(DType::F32, &[1], &[3]),
            Some(Tensor::vector(vec![3.0f32]))
        );
    }
}
