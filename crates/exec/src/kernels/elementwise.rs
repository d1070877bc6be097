//! Elementwise operators, with broadcasting.

use std::borrow::Cow;

use super::broadcast::{map, map_over, select, zip, zip_over};
use super::call::{done, or_decline};
use super::indexed::integers;
use super::room::Room;
use super::words::each_word;
use super::{Call, Done, Kernel};
use tautomer_op::OpError;
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::over("add", |c| binary(c, |a, b| a + b)),
    Kernel::over("sub", |c| binary(c, |a, b| a - b)),
    Kernel::over("mul", |c| binary(c, |a, b| a * b)),
    Kernel::over("div", |c| binary(c, |a, b| a / b)),
    Kernel::over("pow", pow),
    Kernel::over("mod", |c| match c.flag("fmod") {
        true => binary(c, |a, b| a % b),
        false => binary(c, remainder),
    }),
    Kernel::over("max", |c| many(c, larger, |x, _| x)),
    Kernel::over("min", |c| many(c, smaller, |x, _| x)),
    Kernel::over("sum", |c| many(c, |a, b| a + b, |x, _| x)),
    Kernel::over("mean", |c| many(c, |a, b| a + b, |x, n| x / n)),
    Kernel::f32("equal", |c| compare(c, |a, b| a == b)),
    Kernel::f32("less", |c| compare(c, |a, b| a < b)),
    Kernel::f32("less_or_equal", |c| compare(c, |a, b| a <= b)),
    Kernel::f32("greater", |c| compare(c, |a, b| a > b)),
    Kernel::f32("greater_or_equal", |c| compare(c, |a, b| a >= b)),
    Kernel::any("where", choose),
];

/// The larger of two numbers, NaN if either is NaN.
#[inline(always)]
pub(super) fn larger(a: f32, b: f32) -> f32 {
    if a > b || a.is_nan() { a } else { b }
}

/// The smaller of two numbers, NaN if either is NaN.
#[inline(always)]
pub(super) fn smaller(a: f32, b: f32) -> f32 {
    if a < b || a.is_nan() { a } else { b }
}

/// The remainder with the sign of the divisor.
fn remainder(a: f32, b: f32) -> f32 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) {
        rest + b
    } else {
        rest
    }
}

fn binary(call: &Call<'_>, f: impl Fn(f32, f32) -> f32 + Sync) -> Done {
    let shape = or_decline!(call.out_shape());
    if let Some(done) = over(call, &shape, &f)? {
        return self::done(&shape, done);
    }
    let (a, b) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let out = or_decline!(zip(
        call.threads,
        &shape,
        (&a, call.shape(0)),
        (&b, call.shape(1)),
        f,
        room(call, &shape)
    ));
    done(&shape, out)
}

/// Applies `f` to the first two operands, writing over one of them.
fn over<'a>(
    call: &Call<'a>,
    shape: &[usize],
    f: impl Fn(f32, f32) -> f32 + Sync,
) -> Result<Option<Room<'a, f32>>, OpError> {
    for (own, other) in [(0, 1), (1, 0)] {
        if call.shape(own) == shape
            && call.dtype(other) == Some(DType::F32)
            && let Some(out) = call.in_place(own)
        {
            let y = or_decline!(call.f32s(other));
            let y = (&y[..], call.shape(other));
            return Ok(match own {
                0 => zip_over(call.threads, shape, y, f, out),
                _ => zip_over(call.threads, shape, y, |b, a| f(a, b), out),
            });
        }
    }
    Ok(None)
}

/// Room for a result.
fn room<'a, T: Element>(call: &Call<'a>, shape: &[usize]) -> Room<'a, T> {
    call.result_room(shape.iter().product())
}

fn compare(call: &Call<'_>, f: impl Fn(f32, f32) -> bool + Sync) -> Done {
    let (a, b) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let shape = or_decline!(call.out_shape());
    let out = or_decline!(zip(
        call.threads,
        &shape,
        (&a, call.shape(0)),
        (&b, call.shape(1)),
        f,
        room(call, &shape)
    ));
    done(&shape, out)
}

/// `finish(operand 0 f operand 1 f …, number of operands)`
fn many(call: &Call<'_>, f: impl Fn(f32, f32) -> f32 + Copy + Sync, finish: impl Fn(f32, f32) -> f32 + Sync) -> Done {
    let shape = or_decline!(call.out_shape());
    let count = call.operands.len();
    let n = count as f32;
    if count == 1 {
        let first = or_decline!(call.f32s(0));
        return done(&shape, map(call.threads, &first, |x| finish(x, n), room(call, &shape)));
    }
    if count == 2 {
        return binary(call, |a, b| finish(f(a, b), n));
    }
    let mut acc = match over(call, &shape, f)? {
        Some(acc) => acc,
        None => {
            let (first, second) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
            let (first, second) = ((&first[..], call.shape(0)), (&second[..], call.shape(1)));
            or_decline!(zip(call.threads, &shape, first, second, f, room(call, &shape)))
        }
    };
    for i in 2..count {
        let next = or_decline!(call.f32s(i));
        acc = or_decline!(zip_over(call.threads, &shape, (&next, call.shape(i)), f, acc));
    }
    done(&shape, map_over(call.threads, |x| finish(x, n), acc))
}

/// The operands of `pow`, whose exponents may be integers that are numbers of type `f32` as well.
fn exponents<'a>(call: &Call<'a>) -> Option<Cow<'a, [f32]>> {
    const MOST: u64 = 1 << 24;
    if call.dtype(1)? == DType::F32 {
        return call.f32s(1);
    }
    let exponent = |&n: &i64| (n.unsigned_abs() <= MOST).then_some(n as f32);
    integers(call, 1)?.iter().map(exponent).collect()
}

/// Powers; frequent exponents avoid the general function.
fn pow(call: &Call<'_>) -> Done {
    let exponents = or_decline!(exponents(call));
    match &exponents[..] {
        [1.0] => raised(call, &exponents, |a, _| a),
        [2.0] => raised(call, &exponents, |a, _| a * a),
        [3.0] => raised(call, &exponents, |a, _| {
            (f64::from(a) * f64::from(a) * f64::from(a)) as f32
        }),
        [-1.0] => raised(call, &exponents, |a, _| 1.0 / a),
        // Unlike the square root: +0 for -0, and infinity for -infinity.
        [0.5] => raised(call, &exponents, |a, _| {
            if a == f32::NEG_INFINITY {
                f32::INFINITY
            } else {
                (a + 0.0).sqrt()
            }
        }),
        _ => raised(call, &exponents, |a, b| f64::from(a).powf(f64::from(b)) as f32),
    }
}

/// `f` of elements and exponents, with broadcasting.
fn raised(call: &Call<'_>, exponents: &[f32], f: impl Fn(f32, f32) -> f32 + Sync) -> Done {
    if call.dtype(1) == Some(DType::F32) {
        return binary(call, f);
    }
    let (x, shape) = (or_decline!(call.f32s(0)), or_decline!(call.out_shape()));
    let (x, exponents) = ((&x[..], call.shape(0)), (exponents, call.shape(1)));
    let out = or_decline!(zip(call.threads, &shape, x, exponents, f, room(call, &shape)));
    done(&shape, out)
}

fn choose(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>) -> Done {
        let condition = or_decline!(call.slice::<bool>(0));
        let shape = or_decline!(call.out_shape());
        let (a, b) = (or_decline!(call.slice::<T>(1)), or_decline!(call.slice::<T>(2)));
        let out = or_decline!(select(
            call.threads,
            &shape,
            (&condition, call.shape(0)),
            (&a, call.shape(1)),
            (&b, call.shape(2)),
            call.result_room(shape.iter().product())
        ));
        done(&shape, out)
    }
    each_word!(call, 1, T => typed::<T>(call))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};

    const PAIRS: &[(&[usize], &[usize])] = &[
        (&[], &[]),
        (&[0], &[1]),
        (&[0, 3], &[3]),
        (&[65], &[65]),
        (&[65], &[]),
        (&[], &[63]),
        (&[1], &[16]),
        (&[3, 1, 5], &[1, 7, 1]),
        (&[2, 3, 4, 5], &[3, 1, 1]),
        (&[2, 3, 4, 5], &[5]),
        (&[2, 3, 4, 5], &[2, 3, 4, 1]),
        (&[2, 1, 4, 1], &[3, 1, 5]),
        (&[16, 63], &[16, 63]),
        (&[1, 1], &[16, 63]),
    ];

    #[test]
    fn binary_kernels_broadcast() {
        for op in [
            "add",
            "sub",
            "mul",
            "div",
            "max",
            "min",
            "sum",
            "mean",
            "equal",
            "less",
            "less_or_equal",
            "greater",
            "greater_or_equal",
        ] {
            for &(a, b) in PAIRS {
                Case::new(op, &[f32s(a, 1), f32s(b, 2)]).ulp(0.0).check();
            }
        }
    }

    #[test]
    fn variadic_kernels_fold() {
        for op in ["max", "min", "sum", "mean"] {
            Case::new(op, &[f32s(&[3, 1], 1)]).check();
            Case::new(
                op,
                &[f32s(&[3, 1], 1), f32s(&[65], 2), f32s(&[2, 1, 1], 3), f32s(&[], 4)],
            )
            .check();
        }
    }

    #[test]
    fn not_a_number_wins() {
        let a = tautomer_tensor::Tensor::vector(vec![f32::NAN, 1.0, f32::NAN, 0.0, -0.0, f32::INFINITY]);
        let b = tautomer_tensor::Tensor::vector(vec![1.0f32, f32::NAN, f32::NAN, -0.0, 0.0, f32::NEG_INFINITY]);
        for op in ["max", "min", "add", "equal", "less", "greater_or_equal"] {
            Case::new(op, &[a.clone(), b.clone()]).check();
        }
        for exponent in [0.5f32, 2.0, 3.0, -1.0, 1.0, 1.7] {
            Case::new("pow", &[a.clone(), tautomer_tensor::Tensor::scalar(exponent)]).check();
            Case::new("pow", &[f32s(&[3, 5], 1), tautomer_tensor::Tensor::scalar(exponent)]).check();
        }
        Case::new("pow", &[f32s(&[3, 5], 1), f32s(&[5], 2)]).check();
    }

    #[test]
    fn choice_broadcasts() {
        for (c, a, b) in [
            (&[2usize, 3][..], &[3usize][..], &[][..]),
            (&[1], &[16, 3], &[16, 1]),
            (&[4, 1], &[1, 5], &[4, 5]),
            (&[0], &[0], &[1]),
        ] {
            let size: usize = c.iter().product();
            let condition =
                tautomer_tensor::Tensor::new(c, (0..size).map(|i| i % 3 == 1).collect::<Vec<bool>>()).unwrap();
            Case::new("where", &[condition, f32s(a, 1), f32s(b, 2)])
                .ulp(0.0)
                .check();
        }
    }
}
