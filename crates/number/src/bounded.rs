//! Double precision with error bounds, which enclose the result over the real numbers.

use std::cmp::Ordering;

use super::laws::{may_be_narrowed, may_be_rounded, note};
use super::number::apply_f64;
use super::{Func, Number, Refused};
use tautomer_tensor::DType;

/// A number with a bound on its distance from the real number it stands for.
///
/// Errors are tracked through the computation (running error analysis). Exact sums and products add none, so on small
/// data only functions, quotients and rounded constants have errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The number.
    pub value: f64,
    /// Upper bound on the distance to the real number.
    pub error: f64,
}

/// Half a unit in the last place, relative to a number.
const HALF_UNIT: f64 = f64::EPSILON / 2.0;

/// The maximum relative error of machine functions.
const FUNCTION: f64 = 4.0 * f64::EPSILON;

/// The maximum relative error of a constant with many digits.
const CONSTANT: f64 = 1.0 / (1 << 21) as f64;

impl Bounded {
    /// A number without error.
    pub const fn exact(value: f64) -> Bounded {
        Bounded { value, error: 0.0 }
    }

    /// A number with an error bound; a bound that is NaN becomes infinite.
    fn new(value: f64, error: f64) -> Bounded {
        let error = if error.is_nan() { f64::INFINITY } else { error };
        Bounded { value, error }
    }

    /// The least and the largest number that it may stand for. An error of less than half a unit in the last place would
    /// be lost without the step outwards.
    fn interval(self) -> (f64, f64) {
        match self.error {
            0.0 => (self.value, self.value),
            error => ((self.value - error).next_down(), (self.value + error).next_up()),
        }
    }

    /// A function that is monotone on the interval, except possibly for an extremum at zero.
    fn monotone(func: Func, x: Bounded, y: Option<f64>) -> Bounded {
        let of = |x: f64| apply_f64(func, x, y);
        let value = of(x.value);
        let clamped = |end: f64| match func {
            Func::Sqrt => end.max(0.0),
            Func::Asin | Func::Acos => end.clamp(-1.0, 1.0),
            Func::Acosh => end.max(1.0),
            _ => end,
        };
        // Integers are not rounded.
        let exact = matches!(func, Func::Floor | Func::Ceil | Func::Round | Func::Trunc);
        if x.error == 0.0 {
            // At zero, a function that is zero is not rounded.
            let exact = exact || x.value == 0.0 && value == 0.0;
            return Bounded::new(value, if exact { 0.0 } else { rounding(value) });
        }
        let (low, high) = x.interval();
        let mut ends = vec![of(clamped(low)), of(clamped(high))];
        if low < 0.0 && high > 0.0 {
            ends.push(of(0.0));
        }
        if value.is_nan() {
            if ends.iter().any(|end| !end.is_nan()) {
                note(|trace| trace.unsure = true);
            }
            return Bounded::new(value, f64::INFINITY);
        }
        let apart = ends.into_iter().map(|end| {
            let apart = (end - value).abs();
            if apart.is_nan() { f64::INFINITY } else { apart }
        });
        let largest = apart.fold(0.0, f64::max);
        Bounded::new(
            value,
            if exact {
                largest
            } else {
                largest + 2.0 * rounding(value)
            },
        )
    }

    fn pow(x: Bounded, y: Bounded) -> Bounded {
        let value = x.value.powf(y.value);
        if y.error == 0.0 {
            let small = y.value.fract() == 0.0 && y.value.abs() <= 64.0;
            if small && y.value >= 0.0 {
                // Powers of short numbers are exact.
                let product = (0..y.value as u32).fold(Bounded::exact(1.0), |p, _| p.mul(&x));
                return Bounded::new(value, product.error + (value - product.value).abs());
            }
            return Bounded::monotone(Func::Pow, x, Some(y.value));
        }
        let (a, b) = y.interval();
        let of = |y: f64| Bounded::monotone(Func::Pow, x, Some(y));
        let (low, high) = (of(a), of(b));
        let apart = |end: Bounded| (end.value - value).abs() + end.error;
        Bounded::new(value, apart(low).max(apart(high)) + rounding(value))
    }
}

fn rounding(value: f64) -> f64 {
    FUNCTION * value.abs() + f64::MIN_POSITIVE * f64::EPSILON
}

/// True if products of such numbers are exact, because half of their digits are zeros.
fn is_short(value: f64) -> bool {
    f64::from(value as f32) == value
}

impl Number for Bounded {
    const NAME: &'static str = "double precision with bounds";

    #[inline]
    fn zero() -> Self {
        Bounded::exact(0.0)
    }

    #[inline]
    fn one() -> Self {
        Bounded::exact(1.0)
    }

    /// A constant with many digits may be a rounded number.
    fn from_f64(value: f64) -> Result<Self, Refused> {
        let error = if may_be_rounded(value) {
            CONSTANT * value.abs()
        } else {
            0.0
        };
        Ok(Bounded::new(value, error))
    }

    fn from_stored(value: f64, dtype: DType) -> Result<Self, Refused> {
        match may_be_narrowed(value, dtype) {
            Some(unit) => Ok(Bounded::new(value, unit * value.abs())),
            None => Self::from_f64(value),
        }
    }

    fn from_int(value: i128) -> Self {
        let near = value as f64;
        let exact = value.unsigned_abs() < 1 << 53;
        Bounded::new(near, if exact { 0.0 } else { near.abs() * HALF_UNIT })
    }

    fn to_f64(&self) -> Result<f64, Refused> {
        let (low, high) = (self.value - self.error, self.value + self.error);
        if self.error > 0.0 && (low.floor() != high.floor() || low == low.floor()) {
            note(|trace| trace.unsure = true);
        }
        Ok(self.value)
    }

    #[inline]
    fn add(&self, other: &Self) -> Self {
        let (a, b) = (self.value, other.value);
        let value = a + b;
        // The exact rounding error.
        let part = value - a;
        let lost = (a - (value - part)) + (b - part);
        let lost = if value.is_finite() { lost.abs() } else { 0.0 };
        Bounded::new(value, (self.error + other.error) * (1.0 + 2.0 * f64::EPSILON) + lost)
    }

    #[inline]
    fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    #[inline]
    fn mul(&self, other: &Self) -> Self {
        let (a, b) = (self.value, other.value);
        let value = a * b;
        let lost = if is_short(a) && is_short(b) && (value == 0.0 || value.abs() > 1e-280) {
            0.0
        } else {
            HALF_UNIT * value.abs() + f64::MIN_POSITIVE * f64::EPSILON
        };
        if self.error == 0.0 && other.error == 0.0 {
            return Bounded::new(value, lost);
        }
        let spread = a.abs() * other.error + b.abs() * self.error + self.error * other.error;
        Bounded::new(value, spread * (1.0 + 4.0 * f64::EPSILON) + lost)
    }

    fn div(&self, other: &Self) -> Result<Self, Refused> {
        let value = self.value / other.value;
        let least = other.value.abs() - other.error;
        if least <= 0.0 {
            if other.error > 0.0 {
                note(|trace| trace.unsure = true);
            }
            return Ok(Bounded::new(value, if other.error > 0.0 { f64::INFINITY } else { 0.0 }));
        }
        if self.error == 0.0 && other.error == 0.0 && is_short(value) && value * other.value == self.value {
            // Both have few digits, so the product is exact and shows that the quotient is.
            let exact = is_short(other.value);
            return Ok(Bounded::new(value, if exact { 0.0 } else { HALF_UNIT * value.abs() }));
        }
        let spread = (self.error + value.abs() * other.error) / least;
        Ok(Bounded::new(
            value,
            spread * (1.0 + 4.0 * f64::EPSILON) + rounding(value),
        ))
    }

    #[inline]
    fn neg(&self) -> Self {
        Bounded::new(-self.value, self.error)
    }

    fn func(func: Func, x: &Self, y: Option<&Self>) -> Result<Self, Refused> {
        let value = || apply_f64(func, x.value, None);
        Ok(match (func, y) {
            (Func::Pow, Some(y)) => Bounded::pow(*x, *y),
            (Func::Sin | Func::Cos, _) => Bounded::new(value(), x.error.min(2.0) + rounding(1.0)),
            (Func::Tan, _) => {
                let least = x.value.cos().abs() - x.error;
                let spread = if least > 0.0 {
                    x.error / (least * least)
                } else {
                    f64::INFINITY
                };
                Bounded::new(value(), spread + rounding(value()))
            }
            (Func::Cosh, _) => {
                let slope = (x.value.abs() + x.error).sinh();
                Bounded::new(value(), slope * x.error + rounding(value()))
            }
            _ => Bounded::monotone(func, *x, None),
        })
    }

    fn order(&self, other: &Self) -> Result<Option<Ordering>, Refused> {
        let bound = self.error + other.error;
        // Of two numbers that overflow, the order is not known.
        let overflow = self.value.is_infinite() && self.value == other.value;
        if overflow || bound > 0.0 && (self.value - other.value).abs() <= bound {
            note(|trace| trace.unsure = true);
        }
        Ok(self.value.partial_cmp(&other.value))
    }

    fn is_not_a_number(&self) -> Result<bool, Refused> {
        // Where rounding decides whether there is a value, the function that has it says so.
        Ok(self.value.is_nan())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exact, Laws, under};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rounding_to_integers_is_exact_between_steps() {
        let near = Bounded {
            value: 12.3,
            error: 1e-6,
        };
        for func in [Func::Floor, Func::Ceil, Func::Round, Func::Trunc] {
            assert_eq!(Bounded::func(func, &near, None).unwrap().error, 0.0);
        }
        let step = Bounded {
            value: 12.5,
            error: 1e-6,
        };
        assert_eq!(Bounded::func(Func::Round, &step, None).unwrap().error, 1.0);
    }

    #[test]
    fn errors_below_a_unit_in_the_last_place_are_carried_on() {
        let (x, y) = (Bounded::exact(434.828369140625), Bounded::exact(2.0331025751829657e-9));
        let exp = |x: &Bounded| Bounded::func(Func::Exp, x, None).unwrap();
        let (sum, product) = (exp(&x.add(&y)), exp(&x).mul(&exp(&y)));
        assert!((sum.value - product.value).abs() <= sum.error + product.error);
        assert!(sum.error < 1e-13 * sum.value);
    }

    /// Expressions of a few numbers, evaluated over any number system.
    #[derive(Debug, Clone)]
    enum Term {
        Leaf(f64),
        Op(u8, Box<Term>, Box<Term>),
    }

    fn term() -> impl Strategy<Value = Term> {
        let leaf = prop_oneof![
            (-100i32..100).prop_map(|n| Term::Leaf(f64::from(n) / 8.0)),
            (-1e3f64..1e3).prop_map(Term::Leaf),
        ];
        leaf.prop_recursive(5, 24, 2, |inner| {
            (0u8..5, inner.clone(), inner).prop_map(|(op, a, b)| Term::Op(op, Box::new(a), Box::new(b)))
        })
    }

    fn value<S: Number>(term: &Term, leaf: &dyn Fn(f64) -> S) -> S {
        match term {
            Term::Leaf(x) => leaf(*x),
            Term::Op(op, a, b) => {
                let (a, b) = (value(a, leaf), value(b, leaf));
                match op {
                    0 | 4 => a.add(&b),
                    1 => a.sub(&b),
                    2 => a.mul(&b),
                    _ => a.div(&b).unwrap(),
                }
            }
        }
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(500))]

        #[test]
        fn the_exact_value_lies_within_the_bounds(term in term()) {
            let (exact, _) = under(Laws::NONE, || value(&term, &|x| Exact::from_f64(x).unwrap()));
            let bounded = value(&term, &Bounded::exact);
            if exact.is_finite() && bounded.value.is_finite() && bounded.error.is_finite() {
                let apart = Exact::from_f64(bounded.value).unwrap().sub(&exact);
                let error = Exact::from_f64(bounded.error).unwrap();
                prop_assert!(apart.order(&error).unwrap() != Some(Ordering::Greater), "{bounded:?}");
                prop_assert!(apart.neg().order(&error).unwrap() != Some(Ordering::Greater), "{bounded:?}");
                prop_assert!(bounded.error <= 1e-6 * (1.0 + bounded.value.abs()) || bounded.error > 0.0);
            }
        }

        #[test]
        fn functions_of_numbers_within_the_bounds_are_within_the_bounds(
            x in -5.0f64..5.0, error in 0.0f64..0.5, place in -1.0f64..1.0
        ) {
            use Func::*;
            let bounded = Bounded { value: x, error };
            let inside = x + place * error;
            for func in [Exp, Log, Sqrt, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Floor,
                Ceil, Round, Trunc]
            {
                let (result, trace) = under(Laws::NONE, || Bounded::func(func, &bounded, None).unwrap());
                let other = apply_f64(func, inside, None);
                if result.value.is_nan() {
                    prop_assert!(other.is_nan() || trace.unsure, "{func:?}");
                } else if !other.is_nan() {
                    prop_assert!((result.value - other).abs() <= result.error * 1.000_001, "{func:?} {result:?} {other}");
                }
            }
            for exponent in [2.0, 3.0, 0.5, -1.0, 1.5] {
                let y = Bounded::exact(exponent);
                let result = Bounded::func(Pow, &bounded, Some(&y)).unwrap();
                let other = inside.powf(exponent);
                let near = (result.value - other).abs() <= result.error * 1.000_001;
                prop_assert!(result.value.is_nan() || other.is_nan() || near, "{exponent} {result:?} {other}");
            }
        }
    }

    #[test]
    fn short_numbers_have_no_error() {
        let n = |x: f64| Bounded::exact(x);
        let sum = n(0.125).mul(&n(2.5)).add(&n(3.0));
        assert_eq!(sum, n(3.3125));
        assert_eq!(n(1.5).div(&n(0.5)).unwrap(), n(3.0));
        assert!(n(1.0).div(&n(3.0)).unwrap().error > 0.0);
    }

    #[test]
    fn choices_within_the_bounds_are_noted() {
        let third = Bounded::one().div(&Bounded::from_int(3)).unwrap();
        let sum = third.add(&third).add(&third);
        assert!(under(Laws::NONE, || sum.order(&Bounded::one())).1.unsure);
        assert!(!under(Laws::NONE, || third.order(&Bounded::one())).1.unsure);
        assert!(under(Laws::NONE, || sum.to_f64()).1.unsure);
    }
}
