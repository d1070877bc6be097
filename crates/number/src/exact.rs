//! Rational numbers: exact arithmetic with an order.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::gcd::{gcd, gcd_of_large_integers, is_unit};
use super::lawful::is_odd;
use super::laws::{assume, hash, may_be_narrowed, may_be_rounded, note, note_rounded, parts};
use super::number::apply_f64;
use super::{Func, Law, Number, Refused};
use tautomer_tensor::DType;

/// An exact rational number, an infinity, or undefined.
///
/// Operations that need an order are decided here: `max`, `relu`, `clip`, comparisons, `argmax`, rounding to integers.
/// A function whose value is not rational gets an unknown value instead, the same for equal arguments; with
/// [`Law::Growing`] it is close to the true value, slightly above or below.
#[derive(Debug, Clone, PartialEq)]
pub struct Exact(Form);

#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// In lowest terms; every fraction that fits is stored in this form.
    Small(Ratio<i64>),
    Large(Box<BigRational>),
    /// The sign: true for minus infinity.
    Infinite(bool),
    Undefined,
}

use Form::{Infinite, Large, Small, Undefined};

/// The maximum number of binary digits of a numerator or denominator; a number with more is undefined.
const MOST_DIGITS: u64 = 1 << 14;

/// The base whose integer powers are the values of `exp`: close to e, and not a simple fraction.
const BASE: (i64, i64) = (2721, 1001);

/// Unknown values are within `1 / CLOSE` of the true ones.
const CLOSE: f64 = 4096.0;

impl Exact {
    /// What is not a number, as the result of `0 / 0`.
    pub(crate) const UNDEFINED: Exact = Exact(Undefined);

    /// The fraction `numerator / denominator`; undefined if the denominator is 0.
    pub fn fraction(numerator: i64, denominator: i64) -> Exact {
        if denominator == 0 {
            return Exact(Undefined);
        }
        reduced(i128::from(numerator), i128::from(denominator))
    }

    /// True if it is a rational number.
    pub const fn is_finite(&self) -> bool {
        matches!(self.0, Small(_) | Large(_))
    }

    /// True if it is neither a rational number nor an infinity.
    pub const fn is_undefined(&self) -> bool {
        matches!(self.0, Undefined)
    }

    fn big(&self) -> Option<BigRational> {
        match &self.0 {
            Small(r) => Some(BigRational::new_raw((*r.numer()).into(), (*r.denom()).into())),
            Large(r) => Some((**r).clone()),
            _ => None,
        }
    }

    fn from_big(value: BigRational) -> Exact {
        match (value.numer().to_i64(), value.denom().to_i64()) {
            (Some(n), Some(d)) => Exact(Small(Ratio::new_raw(n, d))),
            _ if value.numer().bits().max(value.denom().bits()) > MOST_DIGITS => Exact(Undefined),
            _ => Exact(Large(Box::new(value))),
        }
    }

    fn sign(&self) -> Ordering {
        match &self.0 {
            Small(r) => r.numer().cmp(&0),
            Large(r) if r.is_negative() => Ordering::Less,
            Infinite(true) => Ordering::Less,
            Large(_) | Infinite(false) => Ordering::Greater,
            Undefined => Ordering::Equal,
        }
    }

    fn integer(&self) -> Option<i64> {
        match &self.0 {
            Small(r) if r.is_integer() => Some(*r.numer()),
            _ => None,
        }
    }

    fn nearest(&self) -> f64 {
        match &self.0 {
            Small(r) => *r.numer() as f64 / *r.denom() as f64,
            Large(r) => r.to_f64().unwrap_or(f64::NAN),
            Infinite(true) => f64::NEG_INFINITY,
            Infinite(false) => f64::INFINITY,
            Undefined => f64::NAN,
        }
    }

    /// The number that these bits stand for.
    fn binary(value: f64) -> Exact {
        let Some((mantissa, exponent)) = parts(value) else {
            return Exact(if value.is_nan() {
                Undefined
            } else {
                Infinite(value < 0.0)
            });
        };
        // The mantissa is odd, or zero with an exponent of zero, and has at most 53 digits.
        match exponent {
            0..=70 => return in_lowest_terms(i128::from(mantissa) << exponent, 1),
            -120..0 => return in_lowest_terms(mantissa.into(), 1 << -exponent),
            _ => {}
        }
        let power = BigInt::one() << exponent.unsigned_abs();
        let mantissa = BigInt::from(mantissa);
        Exact::from_big(if exponent < 0 {
            BigRational::new_raw(mantissa, power)
        } else {
            BigRational::from_integer(mantissa * power)
        })
    }

    /// This number to an integer power.
    fn power(&self, n: i64) -> Exact {
        let Ok(exponent) = i32::try_from(n) else {
            return Exact(Undefined);
        };
        if n == 0 {
            return Exact::one();
        }
        match &self.0 {
            Small(r) if r.is_zero() && n < 0 => Exact(Undefined),
            Infinite(_) | Undefined => Exact(Undefined),
            _ => {
                let base = self.big().unwrap_or_else(BigRational::zero);
                let digits = base.numer().bits().max(base.denom().bits());
                if digits.saturating_mul(n.unsigned_abs()) > MOST_DIGITS {
                    return Exact(Undefined);
                }
                Exact::from_big(base.pow(exponent))
            }
        }
    }

    fn rounded(&self, func: Func) -> Option<Exact> {
        let x = self.big()?;
        Some(Exact::from_big(match func {
            Func::Floor => x.floor(),
            Func::Ceil => x.ceil(),
            Func::Trunc => x.trunc(),
            Func::Round => {
                let below = x.floor();
                let half = Ratio::new_raw(BigInt::one(), 2.into());
                match (&x - &below).cmp(&half) {
                    Ordering::Equal if below.numer().bit(0) => x.ceil(),
                    Ordering::Greater => x.ceil(),
                    _ => below,
                }
            }
            _ => return None,
        }))
    }

    /// True for a power of two, positive or negative, by which a stored number is multiplied without rounding.
    fn is_power_of_two(&self) -> bool {
        match &self.0 {
            Small(r) => r.numer().unsigned_abs().is_power_of_two() && r.denom().unsigned_abs().is_power_of_two(),
            _ => false,
        }
    }

    /// The square root, if numerator and denominator are squares.
    fn root(&self) -> Option<Exact> {
        let x = self.big()?;
        let (n, d) = (x.numer().sqrt(), x.denom().sqrt());
        (&n * &n == *x.numer() && &d * &d == *x.denom()).then(|| Exact::from_big(BigRational::new(n, d)))
    }

    fn unknown(func: Func, x: &Exact, y: Option<&Exact>) -> Exact {
        let (a, b) = (x.nearest(), y.map(Exact::nearest));
        let value = apply_f64(func, a, b);
        if value.is_nan() {
            return Exact(Undefined);
        }
        note(|trace| trace.unknown = trace.unknown.saturating_add(1));
        let mixed = hash(&[func as u64, x.digest(), y.map_or(u64::MAX, Exact::digest)]);
        if value.is_infinite() {
            return Exact(Infinite(value < 0.0));
        }
        // Simple values that are known, and otherwise a value close to the true one.
        let grows = assume(Law::Growing);
        let value = if grows { value } else { (mixed % 64) as f64 - 32.0 };
        if grows && value.fract() == 0.0 && value.abs() <= 1.0 && x.integer().is_some_and(|n| n.unsigned_abs() <= 1) {
            return Exact::from_int(value as i128);
        }
        let scaled = (value * CLOSE).floor();
        if scaled.is_nan() || scaled.abs() >= 1e12 {
            return Exact(Infinite(value < 0.0));
        }
        // The digits beyond the precision of the true value are random.
        let (steps, random) = (scaled as i128, i128::from(mixed >> 44));
        reduced((steps << 20) + random, (CLOSE as i128) << 20)
    }

    fn digest(&self) -> u64 {
        match &self.0 {
            Small(r) => hash(&[*r.numer() as u64, *r.denom() as u64]),
            Large(r) => {
                let digits = |n: &BigInt| hash(&n.iter_u64_digits().collect::<Vec<_>>());
                hash(&[digits(r.numer()), digits(r.denom()), u64::from(r.is_negative())])
            }
            Infinite(minus) => u64::from(*minus),
            Undefined => 2,
        }
    }

    fn exp(x: &Exact) -> Exact {
        match &x.0 {
            Infinite(true) => return Exact::zero(),
            Infinite(false) | Undefined => return x.clone(),
            _ => {}
        }
        match x.integer() {
            Some(n) if n.unsigned_abs() <= 200 && assume(Law::ExpSum) => Exact::fraction(BASE.0, BASE.1).power(n),
            _ => Exact::unknown(Func::Exp, x, None),
        }
    }

    fn log(x: &Exact) -> Exact {
        if x.sign() != Ordering::Greater {
            return Exact(Undefined);
        }
        let base = Exact::fraction(BASE.0, BASE.1);
        let n = (x.nearest().ln() / base.nearest().ln()).round();
        if n.abs() <= 200.0 && base.power(n as i64) == *x && assume(Law::LogExp) {
            return Exact::from_int(n as i128);
        }
        Exact::unknown(Func::Log, x, None)
    }

    fn pow(x: &Exact, y: &Exact) -> Exact {
        if let Some(n) = y.integer() {
            return x.power(n);
        }
        if *y == Exact::fraction(1, 2) && assume(Law::PowExp) {
            return Exact::sqrt(x);
        }
        Exact::unknown(Func::Pow, x, Some(y))
    }

    fn sqrt(x: &Exact) -> Exact {
        if x.sign() == Ordering::Less {
            return Exact(Undefined);
        }
        match x.root() {
            Some(root) if assume(Law::SqrtSquare) => root,
            _ => Exact::unknown(Func::Sqrt, x, None),
        }
    }

    fn hyperbolic(func: Func, x: &Exact) -> Result<Exact, Refused> {
        let (up, down) = (Exact::exp(x), Exact::exp(&x.neg()));
        let (sum, difference) = (up.add(&down), up.sub(&down));
        let half = Exact::fraction(1, 2);
        Ok(match func {
            Func::Sinh => difference.mul(&half),
            Func::Cosh => sum.mul(&half),
            _ => difference.div(&sum)?,
        })
    }
}

/// The fraction in lowest terms.
fn reduced(numerator: i128, denominator: i128) -> Exact {
    // Floating-point numbers have powers of two as denominators.
    if denominator > 0 && denominator & (denominator - 1) == 0 {
        let zeros = denominator.trailing_zeros();
        let common = if numerator == 0 {
            zeros
        } else {
            numerator.trailing_zeros().min(zeros)
        };
        return in_lowest_terms(numerator >> common, denominator >> common);
    }
    let ratio = Ratio::new(numerator, denominator);
    in_lowest_terms(*ratio.numer(), *ratio.denom())
}

/// The fraction, whose denominator is positive and has no common divisor with the numerator.
#[inline]
fn in_lowest_terms(numerator: i128, denominator: i128) -> Exact {
    match (i64::try_from(numerator), i64::try_from(denominator)) {
        (Ok(n), Ok(d)) => Exact(Small(Ratio::new_raw(n, d))),
        _ => Exact(Large(Box::new(BigRational::new_raw(
            numerator.into(),
            denominator.into(),
        )))),
    }
}

/// The sum of fractions in lowest terms. Only what the denominators have in common can be common to the sum and its
/// denominator (Knuth, The Art of Computer Programming, 4.5.1).
#[inline]
fn sum_of_small(a: &Ratio<i64>, b: &Ratio<i64>) -> Exact {
    let (n, d) = (i128::from(*a.numer()), a.denom().unsigned_abs());
    let (m, e) = (i128::from(*b.numer()), b.denom().unsigned_abs());
    let common = if d == e { d } else { gcd(d, e) };
    let (d, e) = (i128::from(d / common), i128::from(e / common));
    // Each product is less than 2^126.
    let sum = n * e + m * d;
    if common == 1 {
        return in_lowest_terms(sum, d * e);
    }
    let rest = match u64::try_from(sum.unsigned_abs()) {
        Ok(sum) => sum % common,
        Err(_) => (sum.unsigned_abs() % u128::from(common)) as u64,
    };
    let also = gcd(rest, common);
    let sum = match i64::try_from(sum) {
        Ok(sum) if also <= i64::MAX as u64 => i128::from(sum / also as i64),
        _ => sum / i128::from(also),
    };
    in_lowest_terms(sum, d * e * i128::from(common / also))
}

/// The product of fractions in lowest terms. Only a numerator and the other denominator have common divisors.
#[inline]
fn product_of_small(a: &Ratio<i64>, b: &Ratio<i64>) -> Exact {
    let (n, d, m, e) = (*a.numer(), *a.denom(), *b.numer(), *b.denom());
    if d == 1 && e == 1 {
        return in_lowest_terms(i128::from(n) * i128::from(m), 1);
    }
    let (left, right) = (
        i128::from(gcd(n.unsigned_abs(), e.unsigned_abs())),
        i128::from(gcd(m.unsigned_abs(), d.unsigned_abs())),
    );
    let [n, d, m, e] = [i128::from(n), i128::from(d), i128::from(m), i128::from(e)];
    if left == 1 && right == 1 {
        return in_lowest_terms(n * m, d * e);
    }
    in_lowest_terms((n / left) * (m / right), (d / right) * (e / left))
}

/// The sum, as [`sum_of_small`]. Unknown values and floating-point numbers have powers of two as denominators, which
/// need no common divisor.
fn sum(a: BigRational, b: BigRational) -> BigRational {
    let ((n, d), (m, e)) = (a.into_raw(), b.into_raw());
    if let (Some(p), Some(q)) = (binary_digits(&d), binary_digits(&e)) {
        let digits = p.max(q);
        return over_power_of_two((n << (digits - p)) + (m << (digits - q)), digits);
    }
    let common = gcd_of_large_integers(&d, &e);
    if is_unit(&common) {
        return BigRational::new_raw(n * &e + m * &d, d * e);
    }
    let (d, e) = (d / &common, e / &common);
    let sum = n * &e + m * &d;
    let also = gcd_of_large_integers(&sum, &common);
    BigRational::new_raw(sum / &also, d * e * (common / also))
}

/// The product, as [`product_of_small`].
fn product(a: BigRational, b: BigRational) -> BigRational {
    let ((n, d), (m, e)) = (a.into_raw(), b.into_raw());
    if let (Some(p), Some(q)) = (binary_digits(&d), binary_digits(&e)) {
        return over_power_of_two(n * m, p + q);
    }
    let (left, right) = (gcd_of_large_integers(&n, &e), gcd_of_large_integers(&m, &d));
    BigRational::new_raw((n / &left) * (m / &right), (d / right) * (e / left))
}

/// The exponent of a power of two.
fn binary_digits(n: &BigInt) -> Option<u64> {
    n.trailing_zeros().filter(|&zeros| zeros + 1 == n.bits())
}

/// `n / 2^digits` in lowest terms.
fn over_power_of_two(n: BigInt, digits: u64) -> BigRational {
    let common = n.trailing_zeros().map_or(digits, |zeros| zeros.min(digits));
    BigRational::new_raw(n >> common, BigInt::one() << (digits - common))
}

impl Number for Exact {
    const NAME: &'static str = "the rational numbers";

    #[inline]
    fn zero() -> Self {
        Exact(Small(Ratio::new_raw(0, 1)))
    }

    #[inline]
    fn one() -> Self {
        Exact(Small(Ratio::new_raw(1, 1)))
    }

    fn from_f64(value: f64) -> Result<Self, Refused> {
        // Attributes and constants of operators are not rounded to the element types of tensors.
        if may_be_rounded(value) {
            note_rounded(DType::F64);
            note(|trace| trace.combined = true);
        }
        Ok(Exact::binary(value))
    }

    fn from_stored(value: f64, dtype: DType) -> Result<Self, Refused> {
        if may_be_rounded(value) || may_be_narrowed(value, dtype).is_some() {
            note_rounded(dtype);
        }
        Ok(Exact::binary(value))
    }

    fn from_int(value: i128) -> Self {
        in_lowest_terms(value, 1)
    }

    fn to_f64(&self) -> Result<f64, Refused> {
        Ok(self.nearest())
    }

    fn add(&self, other: &Self) -> Self {
        note(|trace| trace.combined = true);
        match (&self.0, &other.0) {
            (Small(a), Small(b)) => sum_of_small(a, b),
            (Undefined, _) | (_, Undefined) => Exact(Undefined),
            (Infinite(a), Infinite(b)) => Exact(if a == b { Infinite(*a) } else { Undefined }),
            (Infinite(a), _) | (_, Infinite(a)) => Exact(Infinite(*a)),
            _ => match (self.big(), other.big()) {
                (Some(a), Some(b)) => Exact::from_big(sum(a, b)),
                _ => Exact(Undefined),
            },
        }
    }

    fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    fn mul(&self, other: &Self) -> Self {
        if !self.is_power_of_two() && !other.is_power_of_two() {
            note(|trace| trace.combined = true);
        }
        match (&self.0, &other.0) {
            (Small(a), Small(b)) => product_of_small(a, b),
            (Undefined, _) | (_, Undefined) => Exact(Undefined),
            (Infinite(_), _) | (_, Infinite(_)) => match (self.sign(), other.sign()) {
                (Ordering::Equal, _) | (_, Ordering::Equal) => Exact(Undefined),
                (a, b) => Exact(Infinite(a != b)),
            },
            _ => match (self.big(), other.big()) {
                (Some(a), Some(b)) => Exact::from_big(product(a, b)),
                _ => Exact(Undefined),
            },
        }
    }

    fn div(&self, other: &Self) -> Result<Self, Refused> {
        if !other.is_power_of_two() {
            note(|trace| trace.combined = true);
        }
        Ok(match &other.0 {
            Infinite(_) if self.is_finite() => Exact::zero(),
            Infinite(_) | Undefined => Exact(Undefined),
            Small(r) => {
                let (n, d) = (i128::from(*r.numer()), i128::from(*r.denom()));
                match n.signum() {
                    0 => Exact(Undefined),
                    sign => self.mul(&in_lowest_terms(d * sign, n * sign)),
                }
            }
            Large(_) => self.mul(&other.power(-1)),
        })
    }

    fn neg(&self) -> Self {
        match &self.0 {
            Small(r) if *r.numer() != i64::MIN => Exact(Small(Ratio::new_raw(-r.numer(), *r.denom()))),
            Infinite(minus) => Exact(Infinite(!minus)),
            Undefined => Exact(Undefined),
            _ => self.big().map_or(Exact(Undefined), |r| Exact::from_big(-r)),
        }
    }

    fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused> {
        if x.is_undefined() {
            return Ok(Exact(Undefined));
        }
        note(|trace| trace.combined = true);
        Ok(match (func, y) {
            (Func::Exp, _) => Exact::exp(x),
            (Func::Log, _) => Exact::log(x),
            (Func::Sqrt, _) => Exact::sqrt(x),
            (Func::Pow, Some(y)) => Exact::pow(x, y),
            (Func::Floor | Func::Ceil | Func::Round | Func::Trunc, _) => x.rounded(func).unwrap_or_else(|| x.clone()),
            (Func::Sinh | Func::Cosh | Func::Tanh, _)
                if x.integer().is_some_and(|n| n.unsigned_abs() <= 100)
                    && assume(Law::ExpSum)
                    && assume(Law::HyperbolicExp) =>
            {
                Exact::hyperbolic(func, x)?
            }
            _ if x.sign() == Ordering::Less && is_odd(func) && assume(Law::Odd) => {
                Exact::unknown(func, &x.neg(), None).neg()
            }
            (Func::Cos | Func::Cosh, _) if x.sign() == Ordering::Less && assume(Law::Even) => {
                Exact::unknown(func, &x.neg(), None)
            }
            _ => Exact::unknown(func, x, y),
        })
    }

    fn order(&self, other: &Self) -> Result<Option<Ordering>, Refused> {
        note(|trace| trace.ordered = true);
        Ok(match (&self.0, &other.0) {
            (Undefined, _) | (_, Undefined) => None,
            (Infinite(a), Infinite(b)) => Some(b.cmp(a)),
            (Infinite(minus), _) => Some(if *minus { Ordering::Less } else { Ordering::Greater }),
            (_, Infinite(minus)) => Some(if *minus { Ordering::Greater } else { Ordering::Less }),
            (Small(a), Small(b)) => {
                let (n, d) = (i128::from(*a.numer()), i128::from(*a.denom()));
                let (m, e) = (i128::from(*b.numer()), i128::from(*b.denom()));
                Some((n * e).cmp(&(m * d)))
            }
            _ => self.big().zip(other.big()).map(|(a, b)| a.cmp(&b)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Laws, under};
    use super::*;
    use proptest::prelude::*;

    fn f(func: Func, x: &Exact) -> Exact {
        Exact::func(func, x, None).unwrap()
    }

    #[test]
    fn functions_of_the_least_integer_are_unknown() {
        let least = Exact::from_int(i128::from(i64::MIN));
        let unknown = |func: Func| f(func, &least) == Exact::unknown(func, &least, None);
        assert!(unknown(Func::Exp) && unknown(Func::Cosh));
    }

    fn number() -> impl Strategy<Value = Exact> {
        prop_oneof![
            (-50i64..50, 1i64..9).prop_map(|(n, d)| Exact::fraction(n, d)),
            (any::<i64>(), 1..i64::MAX).prop_map(|(n, d)| Exact::fraction(n, d)),
            (any::<i64>(), any::<i64>()).prop_map(|(n, m)| Exact::from_int(i128::from(n) * i128::from(m))),
            (any::<i64>(), 0u32..63).prop_map(|(n, digits)| Exact::fraction(n, 1 << digits)),
            (any::<f64>().prop_filter("finite", |v| v.is_finite())).prop_map(|v| Exact::from_f64(v).unwrap()),
        ]
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(256))]

        #[test]
        fn arithmetic_is_that_of_big_fractions(a in number(), b in number()) {
            let (x, y) = (a.big().unwrap(), b.big().unwrap());
            prop_assert_eq!(a.add(&b), Exact::from_big(&x + &y));
            prop_assert_eq!(a.sub(&b), Exact::from_big(&x - &y));
            prop_assert_eq!(a.mul(&b), Exact::from_big(&x * &y));
            prop_assert_eq!(a.order(&b).unwrap(), Some(x.cmp(&y)));
            if y.is_zero() {
                prop_assert!(a.div(&b).unwrap().is_undefined());
            } else {
                prop_assert_eq!(a.div(&b).unwrap(), Exact::from_big(&x / &y));
            }
        }

        #[test]
        fn order_goes_along_with_arithmetic(a in number(), b in number(), c in number()) {
            let ab = a.order(&b).unwrap();
            prop_assert_eq!(a.add(&c).order(&b.add(&c)).unwrap(), ab);
            prop_assert_eq!(a.sub(&b).order(&Exact::zero()).unwrap(), ab);
        }

        #[test]
        fn binary_fractions_are_exact(value in -1e6f64..1e6) {
            prop_assert_eq!(Exact::from_f64(value).unwrap().nearest(), value);
        }

        #[test]
        fn laws_hold_where_they_are_assumed(a in -9i64..9, b in -9i64..9, c in 0i64..40, d in 1i64..40) {
            let (x, y) = (Exact::from_int(a.into()), Exact::from_int(b.into()));
            let (square, quarter) = (Exact::fraction(c * c, d * d), Exact::fraction(a, 4));
            under(Laws::ALL, || {
                assert_eq!(f(Func::Exp, &x.add(&y)), f(Func::Exp, &x).mul(&f(Func::Exp, &y)));
                assert_eq!(f(Func::Log, &f(Func::Exp, &x)), x);
                assert_eq!(f(Func::Sqrt, &square), Exact::fraction(c, d));
                assert_eq!(f(Func::Erf, &quarter.neg()), f(Func::Erf, &quarter).neg());
                assert_eq!(f(Func::Tanh, &quarter.neg()), f(Func::Tanh, &quarter).neg());
                assert_eq!(f(Func::Cos, &quarter.neg()), f(Func::Cos, &quarter));
            });
        }
    }

    #[test]
    fn functions_round_to_integers_exactly() {
        let table = [(-3, 2), (-1, 2), (1, 2), (3, 2), (5, 2), (5, 4), (-5, 4), (7, 4)];
        for (n, d) in table {
            let (x, machine) = (Exact::fraction(n, d), n as f64 / d as f64);
            for func in [Func::Floor, Func::Ceil, Func::Round, Func::Trunc] {
                assert_eq!(
                    f(func, &x).nearest(),
                    apply_f64(func, machine, None),
                    "{func:?} of {machine}"
                );
            }
        }
    }

    #[test]
    fn unknown_functions_are_close_and_not_exact() {
        let x = Exact::fraction(1, 3);
        let (value, trace) = under(Laws::ALL, || f(Func::Exp, &x));
        assert!((value.nearest() - (1.0f64 / 3.0).exp()).abs() < 1e-3);
        assert_eq!(trace.unknown, 1);
        let double = under(Laws::ALL, || f(Func::Exp, &x.add(&x))).0;
        assert_ne!(value.mul(&value), double);
        assert_eq!(under(Laws::ALL, || f(Func::Exp, &Exact::zero())).0, Exact::one());
    }

    #[test]
    fn infinities_are_beyond_all_numbers() {
        let plus = Exact::from_f64(f64::INFINITY).unwrap();
        let most = Exact::from_f64(f64::MAX).unwrap();
        assert_eq!(most.order(&plus).unwrap(), Some(Ordering::Less));
        assert_eq!(plus.neg().order(&most.neg()).unwrap(), Some(Ordering::Less));
        assert!(plus.sub(&plus).is_undefined() && plus.mul(&Exact::zero()).is_undefined());
        assert_eq!(plus.mul(&Exact::from_int(-2)), plus.neg());
        assert_eq!(Exact::one().div(&plus).unwrap(), Exact::zero());
    }

    #[test]
    fn numbers_do_not_grow_without_end() {
        let mut x = Exact::fraction(3, 7);
        for _ in 0..20 {
            x = x.mul(&x);
        }
        assert!(x.is_undefined());
    }

    #[test]
    fn stored_numbers_are_certain_until_they_are_combined() {
        let stored = |dtype| Exact::from_stored(0.1, dtype).unwrap();
        let depends = |evaluation: &dyn Fn()| under(Laws::NONE, evaluation).1.depends_on_rounding();
        let tenth = || stored(DType::F32);
        assert!(!depends(&|| assert_eq!(
            tenth().order(&tenth()),
            Ok(Some(Ordering::Equal))
        )));
        assert!(!depends(&|| drop(tenth().neg().mul(&Exact::from_int(2)))));
        assert!(depends(&|| drop(tenth().add(&tenth()))));
        assert!(depends(&|| drop(tenth().mul(&Exact::from_int(3)))));
        assert!(depends(&|| drop(Exact::one().div(&tenth()))));
        // The same number has other digits in another type, and attributes are not stored in one.
        assert!(depends(&|| drop((tenth(), stored(DType::F64)))));
        assert!(depends(&|| drop(Exact::from_f64(0.1))));
        assert!(!depends(&|| drop(Exact::from_f64(0.5).unwrap().add(&Exact::one()))));
    }
}
