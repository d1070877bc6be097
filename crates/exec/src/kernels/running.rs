//! Running sums and products along an axis.

use pulp::{Arch, NullaryFnOnce};

use super::call::{Call, done, or_decline};
use super::threads::{in_parts, worth};
use super::{Done, Kernel};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("cumsum", |c| {
        running(c, |a, b| a + b, i64::wrapping_add, i32::wrapping_add, 0)
    }),
    Kernel::any("cumprod", |c| {
        running(c, |a, b| a * b, i64::wrapping_mul, i32::wrapping_mul, 1)
    }),
];

fn running(
    call: &Call<'_>,
    real: impl Fn(f64, f64) -> f64 + Sync,
    long: impl Fn(i64, i64) -> i64 + Sync,
    short: impl Fn(i32, i32) -> i32 + Sync,
    first: i32,
) -> Done {
    match or_decline!(call.dtype(0)) {
        // Sums of many numbers are more exact in double precision.
        DType::F32 => along::<f32, f64>(call, first.into(), |sum, &x| real(sum, x.into()), |sum| sum as f32),
        DType::F64 => along::<f64, f64>(call, first.into(), |sum, &x| real(sum, x), |sum| sum),
        DType::I64 => along::<i64, i64>(call, first.into(), |sum, &x| long(sum, x), |sum| sum),
        DType::I32 => along::<i32, i32>(call, first, |sum, &x| short(sum, x), |sum| sum),
        _ => Ok(None),
    }
}

fn along<T: Element, A: Copy + Sync>(
    call: &Call<'_>,
    first: A,
    add: impl Fn(A, &T) -> A + Sync,
    finish: impl Fn(A) -> T + Sync,
) -> Done {
    let (x, shape) = (or_decline!(call.slice::<T>(0)), call.shape(0));
    let axis = or_decline!(call.axis("axis", shape.len()));
    let (exclusive, reverse) = (call.flag("exclusive"), call.flag("reverse"));
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let mut out = call.result_room::<T>(x.len());
    let block = n * inner;
    in_parts(worth(call.threads, x.len()), &mut out, block, |at, out| {
        if inner == 1 {
            let rows = x[at * n..].chunks_exact(n.max(1));
            for (x, out) in rows.zip(out.chunks_exact_mut(n.max(1))) {
                let mut sum = first;
                let mut one = |(to, x): (&mut T, &T)| {
                    let before = sum;
                    sum = add(sum, x);
                    *to = finish(if exclusive { before } else { sum });
                };
                match reverse {
                    true => out.iter_mut().zip(x).rev().for_each(&mut one),
                    false => out.iter_mut().zip(x).for_each(&mut one),
                }
            }
            return;
        }
        let mut sums = vec![first; inner];
        let blocks = x[at * block..].chunks_exact(block.max(1));
        for (x, out) in blocks.zip(out.chunks_exact_mut(block.max(1))) {
            sums.fill(first);
            for i in 0..n {
                let i = if reverse { n - 1 - i } else { i } * inner;
                let (add, finish, sums) = (&add, &finish, &mut sums[..]);
                let (x, out) = (&x[i..][..inner], &mut out[i..][..inner]);
                Arch::new().dispatch(Step {
                    x,
                    out,
                    sums,
                    exclusive,
                    add,
                    finish,
                });
            }
        }
    });
    done(shape, out)
}

/// One step of many sums.
struct Step<'a, T, A, F, G> {
    x: &'a [T],
    out: &'a mut [T],
    sums: &'a mut [A],
    exclusive: bool,
    add: F,
    finish: G,
}

impl<T, A: Copy, F: Fn(A, &T) -> A, G: Fn(A) -> T> NullaryFnOnce for Step<'_, T, A, F, G> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let (add, finish) = (self.add, self.finish);
        let all = self.sums.iter_mut().zip(self.out.iter_mut().zip(self.x));
        match self.exclusive {
            true => all.for_each(|(sum, (to, x))| {
                *to = finish(*sum);
                *sum = add(*sum, x);
            }),
            false => all.for_each(|(sum, (to, x))| {
                *sum = add(*sum, x);
                *to = finish(*sum);
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    #[test]
    fn totals_run_along_each_axis() {
        let whole = Tensor::new::<i64>(&[3, 2, 4], (0..24).map(|i| i * i - 90).collect()).unwrap();
        for op in ["cumsum", "cumprod"] {
            for x in [f32s(&[3, 2, 4], 1), f32s(&[5, 0, 2], 1), whole.clone()] {
                for (axis, exclusive, reverse) in (0..12).map(|i| (i / 4, i & 1 == 1, i & 2 == 2)) {
                    Case::new(op, std::slice::from_ref(&x))
                        .int("axis", axis)
                        .attr("exclusive", AttrValue::Bool(exclusive))
                        .attr("reverse", AttrValue::Bool(reverse))
                        .check();
                }
            }
        }
    }
}
