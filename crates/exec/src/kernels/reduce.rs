//! Reductions along axes.

use std::borrow::Cow;

use pulp::{Arch, NullaryFnOnce};

use super::call::{done, or_decline};
use super::copy::gather;
use super::elementwise::{larger, smaller};
use super::threads::{in_parts, worth};
use super::typed::{Number, numbers};
use super::{Call, Done, Extents, Kernel, math};
use tautomer_tensor::strided::View;
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("reduce_sum", |c| reduce(c, 0.0f32, |x| x, |a, b| a + b, |x, _| x)),
    Kernel::f32("reduce_mean", |c| {
        reduce(c, 0.0f32, |x| x, |a, b| a + b, |x, n| x / n as f32)
    }),
    Kernel::f32("reduce_max", |c| reduce(c, f32::NEG_INFINITY, |x| x, larger, |x, _| x)),
    Kernel::f32("reduce_min", |c| reduce(c, f32::INFINITY, |x| x, smaller, |x, _| x)),
    Kernel::f32("reduce_prod", |c| reduce(c, 1.0f32, |x| x, |a, b| a * b, |x, _| x)),
    Kernel::f32("reduce_l1", |c| reduce(c, 0.0f32, f32::abs, |a, b| a + b, |x, _| x)),
    Kernel::f32("reduce_l2", |c| {
        reduce(c, 0.0f32, |x| x * x, |a, b| a + b, |x, _| x.sqrt())
    }),
    Kernel::f32("reduce_sum_square", |c| {
        reduce(c, 0.0f32, |x| x * x, |a, b| a + b, |x, _| x)
    }),
    Kernel::f32("reduce_log_sum", |c| {
        reduce(c, 0.0f32, |x| x, |a, b| a + b, |x, _| f64::from(x).ln() as f32)
    }),
    Kernel::f32("reduce_log_sum_exp", log_sum_exp),
    Kernel::any("reduce_sum", |c| match or_decline!(c.dtype(0)) {
        DType::F64 => reduce(c, 0.0f64, |x| x, |a, b| a + b, |x, _| x),
        _ => numbers!(c, T => reduce(c, 0, |x: T| x, T::wrapping_add, |x, _| x), I64 i64, I32 i32),
    }),
    Kernel::any("reduce_mean", |c| match or_decline!(c.dtype(0)) {
        DType::F64 => reduce(c, 0.0f64, |x| x, |a, b| a + b, |x, n| x / n as f64),
        _ => Ok(None),
    }),
    Kernel::any("reduce_max", |c| match or_decline!(c.dtype(0)) {
        DType::F64 => reduce(c, f64::NEG_INFINITY, |x| x, f64::larger, |x, _| x),
        DType::Bool => reduce(c, false, |x| x, |a, b| a | b, |x, _| x),
        _ => numbers!(c, T => reduce(c, T::MIN, |x| x, T::max, |x, _| x), I64 i64, I32 i32, I8 i8, U8 u8),
    }),
    Kernel::any("reduce_min", |c| match or_decline!(c.dtype(0)) {
        DType::F64 => reduce(c, f64::INFINITY, |x| x, f64::smaller, |x, _| x),
        DType::Bool => reduce(c, true, |x| x, |a, b| a & b, |x, _| x),
        _ => numbers!(c, T => reduce(c, T::MAX, |x| x, T::min, |x, _| x), I64 i64, I32 i32, I8 i8, U8 u8),
    }),
    Kernel::any(
        "reduce_prod",
        |c| numbers!(c, T => reduce(c, 1, |x: T| x, T::wrapping_mul, |x, _| x), I64 i64, I32 i32),
    ),
    Kernel::any("reduce_l2", |c| match or_decline!(c.dtype(0)) {
        DType::F64 => reduce(c, 0.0f64, |x| x * x, |a, b| a + b, |x, _| x.sqrt()),
        _ => Ok(None),
    }),
];

/// Number of partial results of a row.
const LANES: usize = 32;

/// Folds a row of `f32` in vectors.
struct Row<'a, M, F> {
    x: &'a [f32],
    empty: f32,
    map: M,
    fold: F,
}

impl<M: Fn(f32) -> f32, F: Fn(f32, f32) -> f32> NullaryFnOnce for Row<'_, M, F> {
    type Output = f32;
    #[inline(always)]
    fn call(self) -> f32 {
        let mut lanes = [self.empty; LANES];
        let (chunks, rest) = self.x.as_chunks::<LANES>();
        for chunk in chunks {
            // Lanes stay in registers only if their indices are constants once the loop is unrolled.
            for i in 0..LANES {
                lanes[i] = (self.fold)(lanes[i], (self.map)(chunk[i]));
            }
        }
        for (lane, &x) in lanes.iter_mut().zip(rest) {
            *lane = (self.fold)(*lane, (self.map)(x));
        }
        let mut width = LANES / 2;
        while width > 0 {
            for i in 0..width {
                lanes[i] = (self.fold)(lanes[i], lanes[i + width]);
            }
            width /= 2;
        }
        lanes[0]
    }
}

/// An element of which rows are folded.
trait Folded: Element + Copy {
    /// The fold of a row.
    fn fold_row(
        x: &[Self],
        empty: Self,
        map: impl Fn(Self) -> Self + Copy,
        fold: impl Fn(Self, Self) -> Self + Copy,
    ) -> Self {
        Arch::new().dispatch(Wrapped { x, empty, map, fold })
    }
}

impl Folded for f32 {
    fn fold_row(x: &[f32], empty: f32, map: impl Fn(f32) -> f32 + Copy, fold: impl Fn(f32, f32) -> f32 + Copy) -> f32 {
        Arch::new().dispatch(Row { x, empty, map, fold })
    }
}

impl Folded for f64 {}
impl Folded for i64 {}
impl Folded for i32 {}
impl Folded for i8 {}
impl Folded for u8 {}
impl Folded for bool {}

/// The sum of a row, for a caller that is compiled for an instruction set.
#[inline(always)]
pub(super) fn row_sum(x: &[f32]) -> impl NullaryFnOnce<Output = f32> {
    Row {
        x,
        empty: 0.0,
        map: |x| x,
        fold: |a, b| a + b,
    }
}

/// The largest element of a row, NaN if one is, likewise.
#[inline(always)]
pub(super) fn row_max(x: &[f32]) -> impl NullaryFnOnce<Output = f32> {
    Row {
        x,
        empty: f32::NEG_INFINITY,
        map: |x| x,
        fold: larger,
    }
}

/// The sum of a row.
pub(super) fn sum_of(x: &[f32]) -> f32 {
    Arch::new().dispatch(row_sum(x))
}

/// The largest element of a row; NaN if one is.
pub(super) fn max_of(x: &[f32]) -> f32 {
    Arch::new().dispatch(row_max(x))
}

/// Folds a row of any type like columns of many shorter rows: the vectors of [`Row`] take long to compile.
struct Wrapped<'a, T, M, F> {
    x: &'a [T],
    empty: T,
    map: M,
    fold: F,
}

impl<T: Copy, M: Fn(T) -> T, F: Fn(T, T) -> T> NullaryFnOnce for Wrapped<'_, T, M, F> {
    type Output = T;
    #[inline(always)]
    fn call(self) -> T {
        // With many columns, each partial result has been stored long before it is read again.
        let mut columns = [self.empty; 4 * LANES];
        for row in self.x.chunks(columns.len()) {
            for (acc, &x) in columns.iter_mut().zip(row) {
                *acc = (self.fold)(*acc, (self.map)(x));
            }
        }
        let mut rest = &mut columns[..];
        while rest.len() > 1 {
            let (half, other) = rest.split_at_mut(rest.len() / 2);
            half.iter_mut()
                .zip(other)
                .for_each(|(acc, x)| *acc = (self.fold)(*acc, *x));
            rest = half;
        }
        rest[0]
    }
}

struct Columns<'a, T, M, F> {
    x: &'a [T],
    out: &'a mut [T],
    map: M,
    fold: F,
}

impl<T: Copy, M: Fn(T) -> T, F: Fn(T, T) -> T> NullaryFnOnce for Columns<'_, T, M, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        for row in self.x.chunks_exact(self.out.len()) {
            for (acc, &x) in self.out.iter_mut().zip(row) {
                *acc = (self.fold)(*acc, (self.map)(x));
            }
        }
    }
}

/// How a call groups the axes of its operand.
struct Grouped {
    /// The elements that become one.
    count: usize,
    /// The elements of the result.
    kept: usize,
    /// The elements after the reduced axes, if these are neighbours.
    inner: Option<usize>,
    /// The reduced axes.
    axes: Extents,
}

impl Grouped {
    fn of(call: &Call<'_>) -> Option<Grouped> {
        let shape = call.shape(0);
        let mut axes = call.axes("axes", shape.len())?;
        if axes.is_empty() && !call.flag("noop_with_empty_axes") {
            axes = (0..shape.len()).collect();
        }
        let reduced = |axis: usize| axes.contains(&axis);
        // Groups the axes as kept · reduced · kept.
        let first = (0..shape.len()).find(|&a| reduced(a) && shape[a] != 1).unwrap_or(0);
        let run = (first..shape.len()).take_while(|&a| reduced(a) || shape[a] == 1);
        let end = run.last().map_or(first, |a| a + 1);
        let together = (end..shape.len()).all(|a| !reduced(a) || shape[a] == 1);
        let size = |reduces: bool| {
            (0..shape.len())
                .filter(|&a| reduced(a) == reduces)
                .map(|a| shape[a])
                .product()
        };
        Some(Grouped {
            count: size(true),
            kept: size(false),
            inner: together.then(|| shape[end..].iter().product()),
            axes,
        })
    }

    /// The elements with those that become one next to each other.
    fn rows<'x, T: Element>(&self, x: &'x [T], shape: &[usize]) -> Option<Cow<'x, [T]>> {
        if self.inner == Some(1) {
            return Some(Cow::Borrowed(x));
        }
        let mut order: Vec<i64> = (0..shape.len() as i64).collect();
        order.sort_by_key(|&axis| self.axes.contains(&(axis as usize)));
        let view = View::row_major(x, shape).ok()?;
        Some(Cow::Owned(gather(&view.map(|l| l.permute(&order)).ok()?)))
    }
}

/// `finish(fold of map of every element, number of elements)` along the axes of the call.
fn reduce<T: Folded>(
    call: &Call<'_>,
    empty: T,
    map: impl Fn(T) -> T + Copy + Sync,
    fold: impl Fn(T, T) -> T + Copy + Sync,
    finish: impl Fn(T, usize) -> T,
) -> Done {
    let x = or_decline!(call.slice::<T>(0));
    let out_shape = or_decline!(call.out_shape());
    let grouped = or_decline!(Grouped::of(call));
    let Grouped { count, kept, inner, .. } = grouped;
    let threads = worth(call.threads, x.len());
    let mut out = call.result_room(kept);
    match inner {
        _ if count == 0 => out.fill(empty),
        Some(inner) if inner != 1 => in_parts(threads, &mut out, inner, |first, out| {
            out.fill(empty);
            let blocks = x[first * count * inner..].chunks_exact((count * inner).max(1));
            for (x, out) in blocks.zip(out.chunks_exact_mut(inner.max(1))) {
                Arch::new().dispatch(Columns { x, out, map, fold });
            }
        }),
        _ => {
            let x = or_decline!(grouped.rows(&x, call.shape(0)));
            in_parts(threads, &mut out, 1, |first, out| {
                let rows = out.iter_mut().zip(x[first * count..].chunks_exact(count));
                rows.for_each(|(out, x)| *out = T::fold_row(x, empty, map, fold));
            });
        }
    }
    out.iter_mut().for_each(|x| *x = finish(*x, count));
    done(&out_shape, out)
}

/// The logarithm of the sum of exponentials of a row, each divided by that of the largest element.
struct LogSumExp<'a>(&'a [f32]);

impl NullaryFnOnce for LogSumExp<'_> {
    type Output = f32;
    #[inline(always)]
    fn call(self) -> f32 {
        let most = row_max(self.0).call();
        let shift = if most.is_finite() { most } else { 0.0 };
        let mut lanes = [0.0f32; LANES];
        for chunk in self.0.chunks(LANES) {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane += math::exp(x - shift);
            }
        }
        (f64::from(row_sum(&lanes).call()).ln() + f64::from(shift)) as f32
    }
}

fn log_sum_exp(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let out_shape = or_decline!(call.out_shape());
    let grouped = or_decline!(Grouped::of(call));
    let rows = or_decline!(grouped.rows(&x, call.shape(0)));
    let mut out = call.result_room(grouped.kept);
    in_parts(worth(call.threads, x.len()), &mut out, 1, |first, out| {
        for (i, out) in out.iter_mut().enumerate() {
            let row = &rows[(first + i) * grouped.count..][..grouped.count];
            *out = Arch::new().dispatch(LogSumExp(row));
        }
    });
    done(&out_shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use super::KERNELS;
    use tautomer_tensor::{DType, Tensor};

    #[test]
    fn reductions() {
        let rows: &[(&[usize], &[i64])] = &[
            (&[65], &[0]),
            (&[1], &[0]),
            (&[3, 63], &[1]),
            (&[3, 63], &[0]),
            (&[3, 63], &[-1, 0]),
            (&[2, 3, 4, 5], &[2, 3]),
            (&[2, 3, 4, 5], &[1]),
            (&[2, 3, 4, 5], &[0, 2]),
            (&[2, 3, 4, 5], &[3, 1]),
            (&[2, 1, 4, 1], &[1, 2]),
            (&[2, 1, 4, 1], &[3]),
            (&[0, 3], &[0]),
            (&[3, 0], &[0]),
            (&[2, 33, 17], &[1]),
        ];
        for kernel in KERNELS.iter().filter(|kernel| kernel.dtype.is_some()) {
            for &(shape, axes) in rows {
                for keep in [0, 1] {
                    let case = Case::new(kernel.op, &[f32s(shape, 5)]);
                    case.ints("axes", axes).int("keepdims", keep).check();
                }
            }
            Case::new(kernel.op, &[f32s(&[2, 3], 5)]).check();
            Case::new(kernel.op, &[f32s(&[], 5)]).check();
        }
        for kernel in KERNELS.iter().filter(|kernel| kernel.dtype.is_none()) {
            for &(shape, axes) in rows {
                for dtype in [DType::F64, DType::I64, DType::I32, DType::I8, DType::U8, DType::Bool] {
                    let takes = match kernel.op {
                        "reduce_max" | "reduce_min" => true,
                        // The mean of no integers is an error.
                        "reduce_mean" => dtype == DType::F64,
                        _ => dtype != DType::Bool,
                    };
                    if !takes {
                        continue;
                    }
                    let numbers = f32s(shape, 5).to_f64s().unwrap();
                    let numbers: Vec<f64> = numbers.iter().map(|x| x.abs() * 9.0).collect();
                    let whole: Vec<i128> = numbers.iter().map(|&x| x as i128).collect();
                    let x = match dtype {
                        DType::F64 => Tensor::from_f64s(dtype, shape, &numbers).unwrap(),
                        DType::Bool => Tensor::new(shape, whole.iter().map(|&x| x > 2).collect::<Vec<_>>()).unwrap(),
                        _ => Tensor::from_ints(dtype, shape, &whole).unwrap(),
                    };
                    Case::new(kernel.op, &[x]).ints("axes", axes).may_decline().check();
                }
            }
        }
    }

    #[test]
    fn special_numbers() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let rows = vec![1.0, inf, -inf, -inf, nan, 2.0, -0.0, 0.0, 100.0, 100.0, -200.0, -inf];
        let x = Tensor::new::<f32>(&[6, 2], rows).unwrap();
        for kernel in KERNELS.iter().filter(|kernel| kernel.dtype.is_some()) {
            Case::new(kernel.op, std::slice::from_ref(&x))
                .ints("axes", &[1])
                .check();
        }
        let whole = Tensor::vector(vec![i32::MAX, 1, i32::MIN, 7]);
        for op in ["reduce_sum", "reduce_prod", "reduce_max"] {
            assert!(Case::new(op, std::slice::from_ref(&whole)).ints("axes", &[0]).check());
        }
    }
}
