//! Prime fields: evaluation over them decides whether two expressions are the same polynomial.

use std::cmp::Ordering;

use super::laws::{hash, note, parts};
use super::{Func, Number, Refused};

/// The integers modulo the prime `P`, which is slightly less than 2^61.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Residue<const P: u64>(u64);

impl<const P: u64> Residue<P> {
    /// The residue of an integer.
    pub const fn new(value: i128) -> Residue<P> {
        Residue(value.rem_euclid(P as i128) as u64)
    }

    /// The residue, from 0 to `P - 1`.
    pub const fn residue(self) -> u64 {
        self.0
    }

    #[inline]
    const fn add(self, other: Residue<P>) -> Residue<P> {
        let sum = self.0 + other.0;
        Residue(if sum >= P { sum - P } else { sum })
    }

    #[inline]
    const fn neg(self) -> Residue<P> {
        Residue(if self.0 == 0 { 0 } else { P - self.0 })
    }

    /// Since 2^61 is small modulo `P`, higher bits are folded into the low ones.
    #[inline]
    const fn mul(self, other: Residue<P>) -> Residue<P> {
        let gap = (1 << 61) - P;
        let product = self.0 as u128 * other.0 as u128;
        let low = (product as u64) & ((1 << 61) - 1);
        let high = (product >> 61) * gap as u128;
        let folded = low as u128 + high;
        let low = (folded as u64) & ((1 << 61) - 1);
        let rest = low + (folded >> 61) as u64 * gap;
        Residue(if rest >= P { rest - P } else { rest })
    }

    const fn power(self, mut exponent: u64) -> Residue<P> {
        let (mut base, mut out) = (self, Residue(1));
        while exponent > 0 {
            if exponent & 1 == 1 {
                out = out.mul(base);
            }
            base = base.mul(base);
            exponent >>= 1;
        }
        out
    }

    const fn inverse(self) -> Residue<P> {
        self.power(P - 2)
    }
}

/// A number in two prime fields at once, with the degrees of the rational function it is a value of.
///
/// Two different polynomials of degree `d` agree at a random point of a field of `p` elements with probability at most
/// `d / p` (Schwartz–Zippel), so evaluation here decides polynomial identities; [`Field::error`] gives the confidence.
/// Other functions are uninterpreted: all that is known about them is that equal arguments have equal values. An
/// equality that holds so holds for any interpretation; one that does not may still hold for the actual functions.
/// Numbers without a value, such as a quotient by zero, are equal to each other and to nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    first: Residue<{ Field::MODULI[0] }>,
    second: Residue<{ Field::MODULI[1] }>,
    /// Upper bounds on the degrees of numerator and denominator.
    degrees: (u32, u32),
    defined: bool,
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        match (self.defined, other.defined) {
            (true, true) => self.first == other.first && self.second == other.second,
            (a, b) => a == b,
        }
    }
}

impl Field {
    /// The primes.
    pub const MODULI: [u64; 2] = [(1 << 61) - 1, (1 << 61) - 31];

    const UNDEFINED: Field = Field {
        first: Residue(0),
        second: Residue(0),
        degrees: (0, 0),
        defined: false,
    };

    /// The constant `value`.
    pub const fn new(value: i128) -> Field {
        Field {
            first: Residue::new(value),
            second: Residue::new(value),
            degrees: (0, 0),
            defined: true,
        }
    }

    /// A variable at a random point: an independent random number for each of the two fields.
    pub const fn variable(first: u64, second: u64) -> Field {
        Field {
            first: Residue::new(first as i128),
            second: Residue::new(second as i128),
            degrees: (1, 0),
            defined: true,
        }
    }

    /// The residues.
    pub const fn residues(&self) -> [u64; 2] {
        [self.first.0, self.second.0]
    }

    /// True if it has a value.
    pub const fn is_defined(&self) -> bool {
        self.defined
    }

    /// An upper bound on the degree of the polynomial that is zero where `self` and `other` are equal.
    pub fn degree(&self, other: &Field) -> u32 {
        let ((a, b), (c, d)) = (self.degrees, other.degrees);
        a.saturating_add(d).max(c.saturating_add(b))
    }

    /// The largest `n` such that unequal expressions agree at `points` random points with a probability below `2^-n`,
    /// where no compared polynomial has a degree above `degree`, and unknown functions are applied `unknown` times in
    /// total.
    ///
    /// Any pair of arguments of unknown functions may be equal by accident, and each of the fields must err at each of
    /// the points.
    ///
    /// ```
    /// # use tautomer_number::Field;
    /// assert_eq!(Field::error(4, 0, 2), 235);
    /// assert!(Field::error(4, 1000, 2) > 150);
    /// ```
    pub fn error(degree: u32, unknown: u32, points: u32) -> u32 {
        let applied = f64::from(unknown);
        // Slightly less than 61, because the primes are less than 2^61.
        let bits = 60.999 - f64::from(degree.max(1)).log2() - (1.0 + applied * applied / 2.0).log2();
        let all = bits.max(0.0) * 2.0 * f64::from(points);
        (all.ceil() as u32).saturating_sub(1).min(999)
    }

    fn unknown(func: Func, x: &Field, y: Option<&Field>) -> Field {
        note(|trace| trace.unknown = trace.unknown.saturating_add(1));
        let of = |a: u64, b: u64| i128::from(hash(&[func as u64, a, b]));
        let second = y.map_or([u64::MAX; 2], Field::residues);
        Field {
            first: Residue::new(of(x.first.0, second[0])),
            second: Residue::new(of(x.second.0, second[1])),
            degrees: (1, 0),
            defined: x.defined && y.is_none_or(|y| y.defined),
        }
    }

    fn power(&self, n: u64) -> Field {
        let times = |degree: u32| degree.saturating_mul(n as u32);
        Field {
            first: self.first.power(n),
            second: self.second.power(n),
            degrees: (times(self.degrees.0), times(self.degrees.1)),
            defined: self.defined,
        }
    }

    /// The natural number it equals, if it is a small constant.
    fn natural(&self) -> Option<u64> {
        (self.first.0 == self.second.0 && self.first.0 <= 64).then_some(self.first.0)
    }

    fn refuse(what: impl Into<String>) -> Refused {
        Refused {
            what: what.into(),
            system: Self::NAME,
        }
    }
}

impl Number for Field {
    const NAME: &'static str = "the fields of integers modulo 2^61 - 1 and 2^61 - 31";

    #[inline]
    fn zero() -> Self {
        Field::new(0)
    }

    #[inline]
    fn one() -> Self {
        Field::new(1)
    }

    /// Binary fractions are exact: the denominator is a power of two, which has an inverse.
    fn from_f64(value: f64) -> Result<Self, Refused> {
        let (mantissa, exponent) = parts(value).ok_or_else(|| Field::refuse(format!("{value}")))?;
        let scale = Field::new(2).power(u64::from(exponent.unsigned_abs()));
        let mantissa = Field::new(i128::from(mantissa));
        if exponent < 0 {
            mantissa.div(&scale)
        } else {
            Ok(mantissa.mul(&scale))
        }
    }

    fn from_int(value: i128) -> Self {
        Field::new(value)
    }

    fn to_f64(&self) -> Result<f64, Refused> {
        Err(Field::refuse("conversion to a floating-point number"))
    }

    #[inline]
    fn add(&self, other: &Self) -> Self {
        let ((a, b), (c, d)) = (self.degrees, other.degrees);
        Field {
            first: self.first.add(other.first),
            second: self.second.add(other.second),
            degrees: (a.saturating_add(d).max(c.saturating_add(b)), b.saturating_add(d)),
            defined: self.defined && other.defined,
        }
    }

    #[inline]
    fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    #[inline]
    fn mul(&self, other: &Self) -> Self {
        let ((a, b), (c, d)) = (self.degrees, other.degrees);
        Field {
            first: self.first.mul(other.first),
            second: self.second.mul(other.second),
            degrees: (a.saturating_add(c), b.saturating_add(d)),
            defined: self.defined && other.defined,
        }
    }

    fn div(&self, other: &Self) -> Result<Self, Refused> {
        if other.first.0 == 0 || other.second.0 == 0 {
            return Ok(Field::UNDEFINED);
        }
        let inverse = Field {
            first: other.first.inverse(),
            second: other.second.inverse(),
            degrees: (other.degrees.1, other.degrees.0),
            defined: other.defined,
        };
        Ok(self.mul(&inverse))
    }

    #[inline]
    fn neg(&self) -> Self {
        Field {
            first: self.first.neg(),
            second: self.second.neg(),
            ..*self
        }
    }

    fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused> {
        match (func, y.and_then(Field::natural)) {
            (Func::Pow, Some(n)) => Ok(x.power(n)),
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

    fn is_prime(n: u64) -> bool {
        let power = |base: u64, mut e: u64| {
            let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(n)) as u64;
            let (mut base, mut out) = (base, 1);
            while e > 0 {
                if e & 1 == 1 {
                    out = times(out, base);
                }
                base = times(base, base);
                e >>= 1;
            }
            out
        };
        // Miller–Rabin; these bases are sufficient below 2^64.
        let (odd, twos) = ((n - 1) >> (n - 1).trailing_zeros(), (n - 1).trailing_zeros());
        [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37].into_iter().all(|a| {
            let first = power(a, odd);
            first == 1 || (0..twos).any(|k| power(first, 1 << k) == n - 1)
        })
    }

    #[test]
    fn moduli_are_prime() {
        assert!(!is_prime((1 << 61) - 3));
        assert!(Field::MODULI.into_iter().all(is_prime));
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn field_arithmetic_is_that_of_fractions(a in -1000i32..1000, b in -1000i32..1000, c in 1i32..1000) {
            let f = |x: i32| Field::new(i128::from(x));
            prop_assert_eq!(f(a).add(&f(b)), f(a + b));
            prop_assert_eq!(f(a).mul(&f(b)), f(a * b));
            prop_assert_eq!(f(a).sub(&f(b)), f(a - b));
            prop_assert_eq!(f(a).div(&f(c)).unwrap().mul(&f(c)), f(a));
        }

        #[test]
        fn large_products_are_those_of_integers(a: u64, b: u64) {
            let (x, y) = (Field::new(i128::from(a)), Field::new(i128::from(b)));
            for (residue, p) in x.mul(&y).residues().into_iter().zip(Field::MODULI) {
                let p = u128::from(p);
                prop_assert_eq!(u128::from(residue), u128::from(a) % p * (u128::from(b) % p) % p);
            }
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

    #[test]
    fn degrees_follow_the_computation() {
        let (x, y) = (Field::variable(5, 6), Field::variable(7, 8));
        let square = x.mul(&x);
        assert_eq!(square.add(&y).degree(&Field::zero()), 2);
        // x / y = c: the polynomial x - c y.
        assert_eq!(x.div(&y).unwrap().degree(&Field::one()), 1);
        assert_eq!(x.div(&y).unwrap().add(&y).degree(&Field::one()), 2);
        assert_eq!(Field::func(Func::Exp, &square, None).unwrap().degree(&Field::one()), 1);
    }

    #[test]
    fn a_quotient_by_zero_has_no_value() {
        let nothing = Field::one().div(&Field::zero()).unwrap();
        assert!(!nothing.is_defined());
        assert_eq!(nothing, nothing.add(&Field::one()));
        assert_ne!(nothing, Field::zero());
    }
}
