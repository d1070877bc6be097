//! Number systems: what the elements of a floating-point tensor are while an expression is evaluated.
//!
//! Reference semantics are written once over [`Number`]. `f32` and `f64` run programs; [`Field`] decides whether two
//! expressions are one polynomial. A system says of every function outside field arithmetic what it becomes there.

use std::cmp::Ordering;
use std::fmt;

/// A function of one or two numbers that is not field arithmetic.
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
    /// The integer next to zero.
    Trunc,
    /// `x` to the power of `y`.
    Pow,
}

/// A number system cannot say what this function is.
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
    /// 0.
    fn zero() -> Self;
    /// 1.
    fn one() -> Self;
    /// A constant of a program.
    fn from_f64(value: f64) -> Result<Self, Refused>;
    /// An integer.
    fn from_int(value: i128) -> Self;
    /// Nearest `f64`, where that makes sense.
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
    /// The order of two numbers; `None` if one of them is not a number.
    fn order(&self, other: &Self) -> Result<Option<Ordering>, Refused>;
}

macro_rules! float_number {
    ($ty:ty, $name:literal) => {
        impl Number for $ty {
            const NAME: &'static str = $name;
            fn zero() -> Self {
                0.0
            }
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
            fn add(&self, other: &Self) -> Self {
                self + other
            }
            fn sub(&self, other: &Self) -> Self {
                self - other
            }
            fn mul(&self, other: &Self) -> Self {
                self * other
            }
            fn div(&self, other: &Self) -> Result<Self, Refused> {
                Ok(self / other)
            }
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

/// A function evaluated in double precision; single precision rounds the result, which is exact to half an ULP but
/// for double rounding.
fn apply_f64(func: Func, x: f64, y: Option<f64>) -> f64 {
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

/// The integers modulo the prime 2^61 − 1.
///
/// Two polynomials of degree `d` that differ agree at a random point with probability at most `d / (2^61 − 1)`
/// (Schwartz–Zippel), so evaluation here decides polynomial identities. Other functions are unknown here: all that is
/// known of them is that equal arguments have equal values. What holds so, holds whatever they are; what does not, may
/// still hold for the functions that are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Field(u64);

impl Field {
    /// The prime.
    pub const MODULUS: u64 = (1 << 61) - 1;

    /// The residue of `value`.
    pub const fn new(value: i128) -> Field {
        Field(value.rem_euclid(Self::MODULUS as i128) as u64)
    }

    /// The residue, 0 to the prime less one.
    pub const fn residue(self) -> u64 {
        self.0
    }

    fn power(self, mut exponent: u64) -> Field {
        let (mut base, mut out) = (self, Field(1));
        while exponent > 0 {
            if exponent & 1 == 1 {
                out = out.mul(&base);
            }
            base = base.mul(&base);
            exponent >>= 1;
        }
        out
    }

    /// A number that is different for each function and argument, but for accidents.
    fn unknown(func: Func, x: &Field, y: Option<&Field>) -> Field {
        let parts = [func as u64, x.0, y.map_or(u64::MAX, |y| y.0)];
        let mixed = parts.into_iter().fold(0u64, |hash, part| {
            // SplitMix64
            let mut z = (hash ^ part).wrapping_add(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Field::new(i128::from(mixed))
    }

    fn refuse(what: impl Into<String>) -> Refused {
        Refused {
            what: what.into(),
            system: Self::NAME,
        }
    }
}

impl Number for Field {
    const NAME: &'static str = "the field of integers modulo 2^61 - 1";

    fn zero() -> Self {
        Field(0)
    }

    fn one() -> Self {
        Field(1)
    }

    /// A binary fraction is exact: its denominator is a power of two, which has an inverse.
    fn from_f64(value: f64) -> Result<Self, Refused> {
        if !value.is_finite() {
            return Err(Field::refuse(format!("{value}")));
        }
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i32;
        let mantissa = if exponent == 0 {
            (bits & ((1 << 52) - 1)) << 1
        } else {
            (bits & ((1 << 52) - 1)) | (1 << 52)
        };
        let shift = exponent - 1075;
        let two = Field(2).power(u64::from(shift.unsigned_abs()));
        let magnitude = Field::new(i128::from(mantissa));
        let value = if shift >= 0 {
            magnitude.mul(&two)
        } else {
            magnitude.div(&two)?
        };
        Ok(if bits >> 63 == 1 { value.neg() } else { value })
    }

    fn from_int(value: i128) -> Self {
        Field::new(value)
    }

    fn to_f64(&self) -> Result<f64, Refused> {
        Err(Field::refuse("conversion to a floating-point number"))
    }

    fn add(&self, other: &Self) -> Self {
        Field((self.0 + other.0) % Self::MODULUS)
    }

    fn sub(&self, other: &Self) -> Self {
        Field((self.0 + Self::MODULUS - other.0) % Self::MODULUS)
    }

    fn mul(&self, other: &Self) -> Self {
        // 2^61 is 1, so the upper bits are added to the lower ones.
        let product = u128::from(self.0) * u128::from(other.0);
        let sum = (product as u64 & Self::MODULUS) + (product >> 61) as u64;
        Field(if sum >= Self::MODULUS { sum - Self::MODULUS } else { sum })
    }

    fn div(&self, other: &Self) -> Result<Self, Refused> {
        if other.0 == 0 {
            return Err(Field::refuse("division by zero"));
        }
        Ok(self.mul(&other.power(Self::MODULUS - 2)))
    }

    fn neg(&self) -> Self {
        Field((Self::MODULUS - self.0) % Self::MODULUS)
    }

    fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused> {
        match (func, y) {
            (Func::Pow, Some(y)) if y.0 <= 64 => Ok(x.power(y.0)),
            _ => Ok(Field::unknown(func, x, y)),
        }
    }

    fn order(&self, _: &Self) -> Result<Option<Ordering>, Refused> {
        Err(Field::refuse("order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn field_arithmetic_is_that_of_fractions(a in -1000i32..1000, b in -1000i32..1000, c in 1i32..1000) {
            let f = |x: i32| Field::new(i128::from(x));
            prop_assert_eq!(f(a).add(&f(b)), f(a + b));
            prop_assert_eq!(f(a).mul(&f(b)), f(a * b));
            prop_assert_eq!(f(a).sub(&f(b)), f(a - b));
            prop_assert_eq!(f(a).div(&f(c)).unwrap().mul(&f(c)), f(a));
        }
    }

    #[test]
    fn binary_fractions_enter_the_field_exactly() {
        let quarter = Field::from_f64(0.25).unwrap();
        assert_eq!(quarter.mul(&Field::new(4)), Field::one());
        assert_eq!(Field::from_f64(-3.0).unwrap(), Field::new(-3));
        assert!(Field::from_f64(f64::NAN).is_err());
    }

    #[test]
    fn functions_that_are_unknown_take_equals_to_equals() {
        let (one, two) = (Field::one(), Field::new(2));
        let exp = |x: &Field| Field::func(Func::Exp, x, None).unwrap();
        assert_eq!(exp(&one.add(&one)), exp(&two));
        assert_ne!(exp(&one), exp(&two));
        assert_ne!(exp(&one), Field::func(Func::Tanh, &one, None).unwrap());
        assert_eq!(
            Field::func(Func::Pow, &Field::new(3), Some(&two)).unwrap(),
            Field::new(9)
        );
    }
}
