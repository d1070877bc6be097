//! Number systems: the elements of a floating-point tensor during an evaluation.
//!
//! Reference semantics are written once over [`Number`]. `f32` and `f64` run programs; the others compare them:
//! [`Field`](super::Field) decides whether two expressions are the same polynomial, [`Lawful`](super::Lawful) also has
//! laws of functions, [`Exact`](super::Exact) has an order, and [`Bounded`](super::Bounded) tracks rounding errors.
//! Each system defines what every function outside field arithmetic becomes.

use std::cmp::Ordering;
use std::fmt;

use tautomer_tensor::DType;

/// A function of one or two numbers outside field arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the mathematical ones")]
pub enum Func {
    Exp,
    Log,
    Sqrt,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Floor,
    Ceil,
    /// To the nearest integer, ties to even.
    Round,
    /// Towards zero.
    Trunc,
    /// `x` to the power of `y`.
    Pow,
}

/// A number system does not define this function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} has no meaning over {system}")]
pub struct Refused {
    /// The function or relation.
    pub what: String,
    /// The number system.
    pub system: &'static str,
}

/// The elements of floating-point tensors during an evaluation.
pub trait Number: Clone + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// Its name, for messages.
    const NAME: &'static str;
    /// True if [`to_f64`](Number::to_f64) is exact.
    const MACHINE: bool = false;
    /// 0.
    fn zero() -> Self;
    /// 1.
    fn one() -> Self;
    /// A constant of a program.
    fn from_f64(value: f64) -> Result<Self, Refused>;
    /// A constant that is stored in an element type. Where the type has few digits and the constant uses nearly all of
    /// them, it may stand for a number close by, which systems that know rounding take into account.
    fn from_stored(value: f64, _: DType) -> Result<Self, Refused> {
        Self::from_f64(value)
    }
    /// An integer.
    fn from_int(value: i128) -> Self;
    /// The nearest `f64`, where that makes sense.
    fn to_f64(&self) -> Result<f64, Refused>;
    /// `a + b`
    fn add(&self, other: &Self) -> Self;
    /// `a - b`
    fn sub(&self, other: &Self) -> Self;
    /// `a * b`
    fn mul(&self, other: &Self) -> Self;
    /// `a / b`
    fn div(&self, other: &Self) -> Result<Self, Refused>;
    /// `-a`
    fn neg(&self) -> Self;
    /// A function of one number, or of two for [`Func::Pow`].
    fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused>;
    /// The order of two numbers; `None` if one of them is NaN.
    fn order(&self, other: &Self) -> Result<Option<Ordering>, Refused>;
    /// True for what is not a number.
    fn is_not_a_number(&self) -> Result<bool, Refused> {
        Ok(self.order(self)?.is_none())
    }
}

macro_rules! float_number {
    ($ty:ty, $name:literal) => {
        impl Number for $ty {
            const NAME: &'static str = $name;
            const MACHINE: bool = true;
            #[inline]
            fn zero() -> Self {
                0.0
            }
            #[inline]
            fn one() -> Self {
                1.0
            }
            fn from_f64(value: f64) -> Result<Self, Refused> {
                Ok(value as $ty)
            }
            fn from_int(value: i128) -> Self {
                value as $ty
            }
            fn to_f64(&self) -> Result<f64, Refused> {
                Ok(f64::from(*self))
            }
            #[inline]
            fn add(&self, other: &Self) -> Self {
                self + other
            }
            #[inline]
            fn sub(&self, other: &Self) -> Self {
                self - other
            }
            #[inline]
            fn mul(&self, other: &Self) -> Self {
                self * other
            }
            #[inline]
            fn div(&self, other: &Self) -> Result<Self, Refused> {
                Ok(self / other)
            }
            #[inline]
            fn neg(&self) -> Self {
                -self
            }
            fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused> {
                Ok(apply_f64(func, f64::from(*x), y.map(|y| f64::from(*y))) as $ty)
            }
            fn order(&self, other: &Self) -> Result<Option<Ordering>, Refused> {
                Ok(self.partial_cmp(other))
            }
        }
    };
}

float_number!(f32, "f32");
float_number!(f64, "f64");

/// A function evaluated in double precision. Single precision rounds its result, which is correct to half an ULP except
/// for double rounding.
pub(crate) fn apply_f64(func: Func, x: f64, y: Option<f64>) -> f64 {
    match func {
        Func::Exp => x.exp(),
        Func::Log => x.ln(),
        Func::Sqrt => x.sqrt(),
        Func::Sin => x.sin(),
        Func::Cos => x.cos(),
        Func::Tan => x.tan(),
        Func::Asin => x.asin(),
        Func::Acos => x.acos(),
        Func::Atan => x.atan(),
        Func::Sinh => x.sinh(),
        Func::Cosh => x.cosh(),
        Func::Tanh => x.tanh(),
        Func::Asinh => x.asinh(),
        Func::Acosh => x.acosh(),
        Func::Atanh => x.atanh(),
        Func::Erf => libm::erf(x),
        Func::Floor => x.floor(),
        Func::Ceil => x.ceil(),
        Func::Round => x.round_ties_even(),
        Func::Trunc => x.trunc(),
        Func::Pow => x.powf(y.unwrap_or(1.0)),
    }
}
