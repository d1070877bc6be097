//! Elementwise operators on numbers other than `f32`, and on truth values.

use super::broadcast::{combine, combine_over, map, zip};
use super::call::{done, or_decline};
use super::{Call, Done, Kernel};
use tautomer_tensor::{DType, Element};

/// Evaluates `$body` with `$ty` standing for the type of the first operand, if that is a [`Number`]; other types are rare,
/// and each takes its time to compile.
macro_rules! numbers {
    ($call:ident, $ty:ident => $body:expr) => {
        numbers!($call, $ty => $body, F64 f64, I64 i64, I32 i32, I8 i8, U8 u8)
    };
    ($call:ident, $ty:ident => $body:expr, $($variant:ident $own:ty),*) => {
        match or_decline!($call.dtype(0)) {
            $(tautomer_tensor::DType::$variant => {
                type $ty = $own;
                $body
            })*
            _ => Ok(None),
        }
    };
}
pub(super) use numbers;

/// The kernels of this family; those for `f32` come first.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("add", |c| numbers!(c, T => pair(c, T::plus))),
    Kernel::any("sub", |c| numbers!(c, T => pair(c, T::minus))),
    Kernel::any("mul", |c| numbers!(c, T => pair(c, T::times))),
    Kernel {
        dtype: Some(DType::F64),
        ..Kernel::any("div", |c| pair(c, |a: f64, b: f64| a / b))
    },
    Kernel::any("max", |c| numbers!(c, T => many(c, T::larger))),
    Kernel::any("min", |c| numbers!(c, T => many(c, T::smaller))),
    Kernel::any("sum", |c| numbers!(c, T => many(c, T::plus))),
    Kernel::any("mod", |c| match or_decline!(c.dtype(0)) {
        DType::I64 => remainder(c, 0, i64::wrapping_rem, i64::wrapping_add),
        DType::I32 => remainder(c, 0, i32::wrapping_rem, i32::wrapping_add),
        _ => Ok(None),
    }),
    Kernel::any("equal", |c| match or_decline!(c.dtype(0)) {
        DType::Bool => pair(c, |a: bool, b: bool| a == b),
        _ => numbers!(c, T => pair(c, |a: T, b: T| a == b)),
    }),
    Kernel::any("less", |c| numbers!(c, T => pair(c, |a: T, b: T| a < b))),
    Kernel::any("less_or_equal", |c| numbers!(c, T => pair(c, |a: T, b: T| a <= b))),
    Kernel::any("greater", |c| numbers!(c, T => pair(c, |a: T, b: T| a > b))),
    Kernel::any("greater_or_equal", |c| numbers!(c, T => pair(c, |a: T, b: T| a >= b))),
    Kernel::any("and", |c| truths(c, |a, b| a & b)),
    Kernel::any("or", |c| truths(c, |a, b| a | b)),
    Kernel::any("xor", |c| truths(c, |a, b| a ^ b)),
    Kernel::any("not", |c| each(c, |a: bool| !a)),
    Kernel::any("neg", |c| numbers!(c, T => each(c, T::negative))),
    Kernel::any("abs", |c| each(c, f64::abs)),
    Kernel::any("sqrt", |c| each(c, f64::sqrt)),
    Kernel::any("reciprocal", |c| each(c, |x: f64| 1.0 / x)),
];

/// A number; integers wrap around.
pub(super) trait Number: Element + Copy + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn negative(self) -> Self;

    /// The larger of two numbers, NaN if either is NaN.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if self > other || self.partial_cmp(&self).is_none() {
            self
        } else {
            other
        }
    }

    /// The smaller of two numbers, NaN if either is NaN.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if self < other || self.partial_cmp(&self).is_none() {
            self
        } else {
            other
        }
    }
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
        }
    )*};
}

integers!(i8, i32, i64, u8, u32, u64);

impl Number for f64 {
    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }
    #[inline(always)]
    fn minus(self, other: Self) -> Self {
        self - other
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self * other
    }
    #[inline(always)]
    fn negative(self) -> Self {
        -self
    }
}

/// `f` of two operands of type `T`.
pub(super) fn pair<T: Element + Copy, R: Element + Copy>(call: &Call<'_>, f: impl Fn(T, T) -> R) -> Done {
    let (a, b) = (or_decline!(call.slice::<T>(0)), or_decline!(call.slice::<T>(1)));
    let shape = or_decline!(call.out_shape());
    let room = call.result_room(shape.iter().product());
    let out = combine(&shape, (&a, call.shape(0)), (&b, call.shape(1)), f, room);
    done(&shape, or_decline!(out))
}

/// `f` of two operands that are truth values.
fn truths(call: &Call<'_>, f: impl Fn(bool, bool) -> bool + Sync) -> Done {
    let (a, b) = (or_decline!(call.slice::<bool>(0)), or_decline!(call.slice::<bool>(1)));
    let shape = or_decline!(call.out_shape());
    let room = call.result_room(shape.iter().product());
    let (a, b) = ((&a[..], call.shape(0)), (&b[..], call.shape(1)));
    done(&shape, or_decline!(zip(call.threads, &shape, a, b, f, room)))
}

/// Remainders with the sign of the divisor, or of the dividend if `fmod` is set. A divisor of zero is left to the
/// reference semantics to report.
fn remainder<T: Element + Copy + PartialOrd>(call: &Call<'_>, zero: T, of: fn(T, T) -> T, add: fn(T, T) -> T) -> Done {
    if or_decline!(call.slice::<T>(1)).contains(&zero) {
        return Ok(None);
    }
    let keeps_sign = call.flag("fmod");
    pair(call, |a: T, b: T| {
        let rest = of(a, b);
        let is_other = rest != zero && (rest < zero) != (b < zero);
        if is_other && !keeps_sign { add(rest, b) } else { rest }
    })
}

/// `f` of all operands, from left to right.
fn many<T: Number>(call: &Call<'_>, f: impl Fn(T, T) -> T + Copy + Sync) -> Done {
    if call.operands.len() == 1 {
        return each(call, |x: T| x);
    }
    let shape = or_decline!(call.out_shape());
    let (a, b) = (or_decline!(call.slice::<T>(0)), or_decline!(call.slice::<T>(1)));
    let room = call.result_room(shape.iter().product());
    let mut all = or_decline!(combine(&shape, (&a, call.shape(0)), (&b, call.shape(1)), f, room));
    for i in 2..call.operands.len() {
        let next = or_decline!(call.slice::<T>(i));
        all = or_decline!(combine_over(&shape, (&next, call.shape(i)), f, all));
    }
    done(&shape, all)
}

/// `f` of every element of an operand of type `T`.
pub(super) fn each<T: Element + Copy, R: Element + Copy>(call: &Call<'_>, f: impl Fn(T) -> R + Sync) -> Done {
    let x = or_decline!(call.slice::<T>(0));
    done(call.shape(0), map(call.threads, &x, f, call.result_room(x.len())))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_tensor::{DType, Tensor};

    const TYPES: [DType; 5] = [DType::F64, DType::I64, DType::I32, DType::I8, DType::U8];

    /// Numbers between -20 and 20, or 0 and 20, with equal ones among them.
    fn numbers(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
        let wide = f32s(shape, seed).to_f64s().unwrap();
        if dtype == DType::F64 {
            let quarters = wide.iter().map(|x| (x * 10.0).round() / 4.0);
            return Tensor::from_f64s(dtype, shape, &quarters.collect::<Vec<_>>()).unwrap();
        }
        let is_signed = dtype != DType::U8;
        let of = |x: &f64| (if is_signed { x * 10.0 } else { (x * 10.0).abs() }) as i128;
        Tensor::from_ints(dtype, shape, &wide.iter().map(of).collect::<Vec<_>>()).unwrap()
    }

    const SHAPES: [(&[usize], &[usize]); 7] = [
        (&[], &[]),
        (&[0, 3], &[3]),
        (&[1], &[17]),
        (&[65], &[65]),
        (&[3, 1, 33], &[2, 1]),
        (&[1, 7, 1], &[1, 1, 5]),
        (&[4, 129], &[]),
    ];

    #[test]
    fn remainders_have_a_sign() {
        let a = Tensor::vector(vec![7i64, -7, 7, -7, 6, 0, i64::MIN, i64::MIN]);
        let b = Tensor::vector(vec![3i64, 3, -3, -3, -3, 5, -1, 7]);
        for keeps in [false, true] {
            let case = |a: &Tensor, b: &Tensor| {
                Case::new("mod", &[a.clone(), b.clone()]).attr("fmod", tautomer_op::AttrValue::Bool(keeps))
            };
            case(&a, &b).check();
            case(&numbers(DType::I32, &[40], 1), &Tensor::scalar(-6i32)).check();
        }
    }

    #[test]
    fn numbers_of_every_type() {
        let pairs = [
            "add",
            "sub",
            "mul",
            "equal",
            "less",
            "less_or_equal",
            "greater",
            "greater_or_equal",
            "max",
            "min",
            "sum",
        ];
        for dtype in TYPES {
            for (a, b) in SHAPES {
                let (x, y) = (numbers(dtype, a, 1), numbers(dtype, b, 2));
                for op in pairs {
                    Case::new(op, &[x.clone(), y.clone()]).ulp(0.0).check();
                }
                for op in ["max", "min", "sum"] {
                    Case::new(op, &[x.clone(), y.clone(), x.clone()]).ulp(0.0).check();
                    Case::new(op, std::slice::from_ref(&x)).ulp(0.0).check();
                }
            }
        }
    }

    #[test]
    fn integers_wrap_around() {
        let x = Tensor::vector(vec![i32::MAX, i32::MIN, -1, 0, 1]);
        let bytes = Tensor::vector(vec![u8::MAX, 0, 1, 128, 200]);
        for op in ["add", "sub", "mul", "max", "less"] {
            Case::new(op, &[x.clone(), Tensor::scalar(i32::MIN)]).ulp(0.0).check();
            Case::new(op, &[bytes.clone(), Tensor::scalar(129u8)]).ulp(0.0).check();
        }
        Case::new("neg", &[x]).ulp(0.0).check();
    }

    #[test]
    fn special_numbers() {
        let special = vec![0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-310, -2.5];
        let n = special.len();
        let x = Tensor::new(&[n, 1], special.clone()).unwrap();
        let y = Tensor::vector(special.clone());
        for op in [
            "add",
            "sub",
            "mul",
            "div",
            "max",
            "min",
            "equal",
            "less",
            "greater_or_equal",
        ] {
            Case::new(op, &[x.clone(), y.clone()]).ulp(0.0).check();
        }
        for op in ["abs", "neg", "sqrt", "reciprocal"] {
            Case::new(op, std::slice::from_ref(&y)).ulp(0.0).check();
        }
    }

    #[test]
    fn truth_values() {
        let of = |shape: &[usize], step: usize| {
            let n: usize = shape.iter().product();
            Tensor::new(shape, (0..n).map(|i| i % step == 0).collect::<Vec<bool>>()).unwrap()
        };
        for (a, b) in SHAPES {
            for op in ["and", "or", "xor", "equal"] {
                Case::new(op, &[of(a, 2), of(b, 3)]).ulp(0.0).check();
            }
            Case::new("not", &[of(a, 2)]).ulp(0.0).check();
        }
    }
}
