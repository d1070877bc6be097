//! Reductions along axes.

use pulp::{Arch, NullaryFnOnce};

use super::call::{done, or_decline};
use super::copy::gather;
use super::elementwise::{larger, smaller};
use super::threads::{in_parts, worth};
use super::{Call, Done, Kernel};
use tautomer_tensor::strided::View;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("reduce_sum", |c| reduce(c, 0.0, |x| x, |a, b| a + b, |x, _| x)),
    Kernel::f32("reduce_mean", |c| reduce(c, 0.0, |x| x, |a, b| a + b, |x, n| x / n)),
    Kernel::f32("reduce_max", |c| reduce(c, f32::NEG_INFINITY, |x| x, larger, |x, _| x)),
    Kernel::f32("reduce_min", |c| reduce(c, f32::INFINITY, |x| x, smaller, |x, _| x)),
    Kernel::f32("reduce_prod", |c| reduce(c, 1.0, |x| x, |a, b| a * b, |x, _| x)),
    Kernel::f32("reduce_l1", |c| reduce(c, 0.0, f32::abs, |a, b| a + b, |x, _| x)),
    Kernel::f32("reduce_l2", |c| {
        reduce(c, 0.0, |x| x * x, |a, b| a + b, |x, _| x.sqrt())
    }),
    Kernel::f32("reduce_sum_square", |c| {
        reduce(c, 0.0, |x| x * x, |a, b| a + b, |x, _| x)
    }),
];

/// Number of partial results, so that a row is folded in vectors.
const LANES: usize = 32;

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
        let chunks = self.x.chunks_exact(LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                *lane = (self.fold)(*lane, (self.map)(x));
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

struct Columns<'a, M, F> {
    x: &'a [f32],
    out: &'a mut [f32],
    map: M,
    fold: F,
}

impl<M: Fn(f32) -> f32, F: Fn(f32, f32) -> f32> NullaryFnOnce for Columns<'_, M, F> {
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

/// `finish(fold of map of every element, number of elements)` along the axes of the call.
fn reduce(
    call: &Call<'_>,
    empty: f32,
    map: impl Fn(f32) -> f32 + Copy + Sync,
    fold: impl Fn(f32, f32) -> f32 + Copy + Sync,
    finish: impl Fn(f32, f32) -> f32,
) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = call.shape(0);
    let out_shape = or_decline!(call.out_shape());
    let mut axes = or_decline!(call.axes("axes", shape.len()));
    if axes.is_empty() && !call.flag("noop_with_empty_axes") {
        axes = (0..shape.len()).collect();
    }
    let reduced = |axis: usize| axes.contains(&axis);
    let count: usize = axes.iter().map(|&a| shape[a]).product();
    let kept: usize = (0..shape.len()).filter(|&a| !reduced(a)).map(|a| shape[a]).product();
    // Groups the axes as kept · reduced · kept; if they are in another order, the reduced ones are moved to the end.
    let first = (0..shape.len()).find(|&a| reduced(a) && shape[a] != 1).unwrap_or(0);
    let run = (first..shape.len()).take_while(|&a| reduced(a) || shape[a] == 1);
    let end = run.last().map_or(first, |a| a + 1);
    let together = (end..shape.len()).all(|a| !reduced(a) || shape[a] == 1);
    let threads = worth(call.threads, x.len());
    let of_rows = |x: &[f32], out: &mut [f32]| {
        in_parts(threads, out, 1, |first, out| {
            let rows = out.iter_mut().zip(x[first * count..].chunks_exact(count));
            rows.for_each(|(out, x)| *out = Arch::new().dispatch(Row { x, empty, map, fold }));
        });
    };
    let mut out = call.result_room(kept);
    if count == 0 {
        out.fill(empty);
    } else if together {
        let inner: usize = shape[end..].iter().product();
        if inner == 1 {
            of_rows(&x, &mut out);
        } else if inner > 1 {
            in_parts(threads, &mut out, inner, |first, out| {
                out.fill(empty);
                let blocks = x[first * count * inner..].chunks_exact(count * inner);
                for (x, out) in blocks.zip(out.chunks_exact_mut(inner)) {
                    Arch::new().dispatch(Columns { x, out, map, fold });
                }
            });
        }
    } else {
        let order: Vec<i64> = (0..shape.len())
            .filter(|&a| !reduced(a))
            .chain((0..shape.len()).filter(|&a| reduced(a)))
            .map(|a| a as i64)
            .collect();
        let view = or_decline!(View::row_major(&x, shape).ok());
        let moved = gather(&or_decline!(view.map(|l| l.permute(&order)).ok()));
        of_rows(&moved, &mut out);
    }
    let n = count as f32;
    out.iter_mut().for_each(|x| *x = finish(*x, n));
    done(&out_shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use super::KERNELS;

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
        for kernel in KERNELS {
            for &(shape, axes) in rows {
                for keep in [0, 1] {
                    Case::new(kernel.op, &[f32s(shape, 5)])
                        .ints("axes", axes)
                        .int("keepdims", keep)
                        .check();
                }
            }
            Case::new(kernel.op, &[f32s(&[2, 3], 5)]).check();
            Case::new(kernel.op, &[f32s(&[], 5)]).check();
        }
    }
}
