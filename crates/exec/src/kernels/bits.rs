//! Elementwise operators on integers that those on other numbers do not have: bits, quotients, powers and bounds.

use super::broadcast::{Function, combine, map_of};
use super::call::{Call, done, or_decline};
use super::typed::{each, numbers, pair};
use super::words::each_integer_word;
use super::{Done, Kernel};
use tautomer_tensor::Element;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any(
        "bitwise_and",
        |c| each_integer_word!(c, T => pair(c, |a: T, b: T| a & b)),
    ),
    Kernel::any(
        "bitwise_or",
        |c| each_integer_word!(c, T => pair(c, |a: T, b: T| a | b)),
    ),
    Kernel::any(
        "bitwise_xor",
        |c| each_integer_word!(c, T => pair(c, |a: T, b: T| a ^ b)),
    ),
    Kernel::any("bitwise_not", |c| each_integer_word!(c, T => each(c, |a: T| !a))),
    Kernel::any(
        "bit_shift",
        |c| numbers!(c, T => shift::<T>(c), U8 u8, U16 u16, U32 u32, U64 u64),
    ),
    Kernel::any("div", |c| whole!(c, T => quotient::<T>(c))),
    Kernel::any("pow", |c| whole!(c, T => power::<T>(c))),
    Kernel::any("clip", |c| whole!(c, T => clip::<T>(c))),
];

/// Evaluates `$body` with `$ty` standing for the type of the first operand, if that is an integer.
macro_rules! whole {
    ($call:ident, $ty:ident => $body:expr) => {
        numbers!($call, $ty => $body,
            I64 i64, I32 i32, I16 i16, I8 i8, U64 u64, U32 u32, U16 u16, U8 u8)
    };
}
use whole;

/// An integer.
trait Whole: Element + Copy + Ord {
    /// The number that is equal to `n`, or the closest one.
    fn closest(n: i128) -> Self;
    fn is_zero(self) -> bool;
    /// The quotient, rounded towards zero, of a divisor other than zero. It wraps around.
    fn over(self, divisor: Self) -> Self;
    /// A power, which wraps around.
    fn to_the(self, exponent: u32) -> Self;
    /// `None` if it is negative or far too large.
    fn exponent(self) -> Option<u32>;
    fn shifted(self, places: u32, left: bool) -> Self;
}

macro_rules! wholes {
    ($($ty:ty),*) => {$(
        impl Whole for $ty {
            fn closest(n: i128) -> Self {
                n.clamp(<$ty>::MIN.into(), <$ty>::MAX.into()) as $ty
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0
            }
            #[inline(always)]
            fn over(self, divisor: Self) -> Self {
                self.wrapping_div(divisor)
            }
            #[inline(always)]
            fn to_the(self, exponent: u32) -> Self {
                self.wrapping_pow(exponent)
            }
            #[inline(always)]
            fn exponent(self) -> Option<u32> {
                u32::try_from(self).ok()
            }
            #[inline(always)]
            fn shifted(self, places: u32, left: bool) -> Self {
                let shifted = if left { self.checked_shl(places) } else { self.checked_shr(places) };
                shifted.unwrap_or(0)
            }
        }
    )*};
}

wholes!(i64, i32, i16, i8, u64, u32, u16, u8);

fn shift<T: Whole>(call: &Call<'_>) -> Done {
    let left = call.text("direction") == "LEFT";
    let places = |b: T| b.exponent().unwrap_or(u32::MAX);
    match call.slice::<T>(1).as_deref() {
        Some(&[b]) if call.shape(1).len() <= call.shape(0).len() => {
            let (x, places) = (or_decline!(call.slice::<T>(0)), places(b));
            let room = call.result_room(x.len());
            done(call.shape(0), map_of(call.threads, &x, Shift { places, left }, room))
        }
        _ => pair(call, |a: T, b: T| a.shifted(places(b), left)),
    }
}

/// Quotients. A divisor of zero is left to the reference semantics to report.
fn quotient<T: Whole>(call: &Call<'_>) -> Done {
    if or_decline!(call.slice::<T>(1)).iter().any(|b| b.is_zero()) {
        return Ok(None);
    }
    pair(call, |a: T, b: T| a.over(b))
}

/// Powers whose exponents are integers of the same type, and neither negative nor large.
fn power<T: Whole>(call: &Call<'_>) -> Done {
    let exponents = or_decline!(call.slice::<T>(1));
    let exponents: Option<Vec<u32>> = exponents.iter().map(|n| n.exponent()).collect();
    let (x, exponents, shape) = (
        or_decline!(call.slice::<T>(0)),
        or_decline!(exponents),
        or_decline!(call.out_shape()),
    );
    let (x, exponents) = ((&x[..], call.shape(0)), (&exponents[..], call.shape(1)));
    let room = call.result_room::<T>(shape.iter().product());
    done(&shape, or_decline!(combine(&shape, x, exponents, T::to_the, room)))
}

/// A bound of `clip` that is given as an operand or an attribute; `none` if there is none.
fn bound<T: Whole>(call: &Call<'_>, i: usize, name: &str, none: i128) -> Option<T> {
    match call.has(i) {
        true => call.slice::<T>(i)?.first().copied(),
        false => Some(T::closest(call.float(name).map_or(none, |bound| bound as i128))),
    }
}

#[derive(Clone, Copy)]
struct Between<T> {
    low: T,
    high: T,
}

impl<T: Whole> Function<T, T> for Between<T> {
    #[inline(always)]
    fn of(self, x: T) -> T {
        x.max(self.low).min(self.high)
    }
}

/// Shifts by the same number of places.
#[derive(Clone, Copy)]
struct Shift {
    places: u32,
    left: bool,
}

impl<T: Whole> Function<T, T> for Shift {
    #[inline(always)]
    fn of(self, x: T) -> T {
        x.shifted(self.places, self.left)
    }
}

fn clip<T: Whole>(call: &Call<'_>) -> Done {
    let low: T = or_decline!(bound(call, 1, "min", i128::MIN));
    let high: T = or_decline!(bound(call, 2, "max", i128::MAX));
    let (x, between) = (or_decline!(call.slice::<T>(0)), Between { low, high });
    done(
        call.shape(0),
        map_of(call.threads, &x, between, call.result_room(x.len())),
    )
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::{DType, Tensor};

    const TYPES: [DType; 8] = [
        DType::I64,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::U64,
        DType::U32,
        DType::U16,
        DType::U8,
    ];

    /// Numbers of all sizes, with the ends of the range among them.
    fn numbers(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
        let (least, most) = dtype.int_range().unwrap();
        let wide = f32s(shape, seed).to_f64s().unwrap();
        let number = |(i, x): (usize, &f64)| match i % 5 {
            0 => least,
            1 => most,
            2 => (x * most as f64 / 2.0) as i128,
            _ => (x * 20.0) as i128,
        };
        let all: Vec<i128> = wide
            .iter()
            .enumerate()
            .map(number)
            .map(|n| n.clamp(least, most))
            .collect();
        Tensor::from_ints(dtype, shape, &all).unwrap()
    }

    const SHAPES: [(&[usize], &[usize]); 6] = [
        (&[], &[]),
        (&[0, 3], &[3]),
        (&[65], &[65]),
        (&[3, 1, 33], &[2, 1]),
        (&[1, 7, 1], &[1, 1, 5]),
        (&[4, 129], &[]),
    ];

    #[test]
    fn bits_and_quotients() {
        for dtype in TYPES {
            for (a, b) in SHAPES {
                let (x, y) = (numbers(dtype, a, 1), numbers(dtype, b, 2));
                for op in ["bitwise_and", "bitwise_or", "bitwise_xor"] {
                    assert!(Case::new(op, &[x.clone(), y.clone()]).check());
                }
                assert!(Case::new("bitwise_not", std::slice::from_ref(&x)).check());
                let not_zero: Vec<i128> = y
                    .to_ints()
                    .unwrap()
                    .iter()
                    .map(|&n| if n == 0 { 3 } else { n })
                    .collect();
                let divisors = Tensor::from_ints(dtype, b, &not_zero).unwrap();
                assert!(Case::new("div", &[x, divisors]).check());
            }
        }
        let least = Tensor::vector(vec![i64::MIN, 7, -7]);
        assert!(Case::new("div", &[least, Tensor::scalar(-1i64)]).check());
    }

    #[test]
    fn shifts() {
        for dtype in TYPES.into_iter().skip(4) {
            let x = numbers(dtype, &[2, 66], 1);
            for direction in ["LEFT", "RIGHT"] {
                let case = |places: Tensor| {
                    let case = Case::new("bit_shift", &[x.clone(), places]);
                    assert!(case.attr("direction", AttrValue::str(direction)).check());
                };
                case(Tensor::from_ints(dtype, &[66], &(0..66).collect::<Vec<_>>()).unwrap());
                case(Tensor::from_ints(dtype, &[1, 1], &[3]).unwrap());
                case(Tensor::from_ints(dtype, &[1, 1, 1], &[200]).unwrap());
            }
        }
    }

    #[test]
    fn powers() {
        for dtype in TYPES {
            let exponents = Tensor::from_ints(dtype, &[5, 1], &[0, 1, 2, 3, 77]).unwrap();
            assert!(Case::new("pow", &[numbers(dtype, &[33], 1), exponents]).check());
        }
        let negative = Tensor::vector(vec![-1i64, 2]);
        let declined = Case::new("pow", &[Tensor::vector(vec![-1i64, 2]), negative]).may_decline();
        assert!(!declined.check());
    }

    #[test]
    fn bounds() {
        for dtype in TYPES {
            for shape in [&[][..], &[0], &[3, 50]] {
                let x = numbers(dtype, shape, 1);
                let one = |n: i128| Some(Tensor::from_ints(dtype, &[], &[n]).unwrap());
                let case = |low: Option<Tensor>, high: Option<Tensor>| {
                    let case = Case::new("clip", std::slice::from_ref(&x));
                    assert!(case.operand(low).operand(high).check());
                };
                case(one(3), one(50));
                case(None, one(9));
                case(one(9), None);
                case(one(50), one(3));
            }
        }
        let x = numbers(DType::I8, &[40], 1);
        let case = Case::new("clip", &[x]);
        assert!(
            case.attr("min", AttrValue::float(-3.0))
                .attr("max", AttrValue::float(300.0))
                .check()
        );
    }
}
