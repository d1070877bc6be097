//! Running sums and products along an axis.

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
    real: fn(f64, f64) -> f64,
    long: fn(i64, i64) -> i64,
    short: fn(i32, i32) -> i32,
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
        let mut sums = vec![first; inner];
        let blocks = x[at * block..].chunks_exact(block.max(1));
        for (x, out) in blocks.zip(out.chunks_exact_mut(block.max(1))) {
            sums.fill(first);
            for i in 0..n {
                let i = if reverse { n - 1 - i } else { i } * inner;
                let row = out[i..][..inner].iter_mut().zip(&x[i..][..inner]);
                for (sum, (to, x)) in sums.iter_mut().zip(row) {
                    let next = add(*sum, x);
                    *to = finish(if exclusive { *sum } else { next });
                    *sum = next;
                }
            }
        }
    });
    done(shape, out)
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
