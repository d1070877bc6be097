//! Matrix products of numbers other than `f32`: in tiles of the result that stay in registers.

use std::array;

use pulp::{Arch, NullaryFnOnce};

use super::call::{Call, done, or_decline};
use super::matmul::{Sizes, batch_starts};
use super::threads::in_parts;
use super::typed::{Number, numbers};
use super::{Done, Kernel};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::any(
    "matmul",
    |c| numbers!(c, T => product::<T>(c), F64 f64, I64 i64, I32 i32, U64 u64, U32 u32),
)];

/// The columns of a tile.
const COLUMNS: usize = 8;

/// The rows of a tile.
const ROWS: usize = 4;

/// Some columns of a right matrix, one row after the other, and the columns of the result that they give.
struct Panel<'a, T> {
    a: &'a [T],
    panel: &'a [[T; COLUMNS]],
    out: &'a mut [T],
    /// The width of the result, the first of the columns, and how many there are.
    columns: (usize, usize, usize),
}

impl<T: Number> Panel<'_, T> {
    /// The sums of `R` rows.
    #[inline(always)]
    fn tile<const R: usize>(&mut self, row: usize) {
        let (n, first, count) = self.columns;
        let k = self.panel.len();
        let rows: [&[T]; R] = array::from_fn(|i| &self.a[(row + i) * k..][..k]);
        let mut sums = [[T::default(); COLUMNS]; R];
        // Sums stay in registers only if their indices are constants once the loops are unrolled, and the row is copied.
        for (l, &b) in self.panel.iter().enumerate() {
            for r in 0..R {
                let a = rows[r][l];
                for c in 0..COLUMNS {
                    sums[r][c] = sums[r][c].plus(a.times(b[c]));
                }
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            self.out[(row + i) * n + first..][..count].copy_from_slice(&sums[..count]);
        }
    }
}

impl<T: Number> NullaryFnOnce for Panel<'_, T> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let m = self.out.len() / self.columns.0;
        let whole = m / ROWS * ROWS;
        for row in (0..whole).step_by(ROWS) {
            self.tile::<ROWS>(row);
        }
        for row in whole..m {
            self.tile::<1>(row);
        }
    }
}

/// `out = a b`, where `a` has `k` columns, and the other two have `n`.
fn multiply<T: Number>(a: &[T], b: &[T], out: &mut [T], k: usize, n: usize) {
    let mut panel = vec![[T::default(); COLUMNS]; k];
    for first in (0..n).step_by(COLUMNS) {
        let count = COLUMNS.min(n - first);
        for (to, from) in panel.iter_mut().zip(b.chunks_exact(n)) {
            to[..count].copy_from_slice(&from[first..][..count]);
        }
        let (panel, columns) = (&panel[..], (n, first, count));
        Arch::new().dispatch(Panel { a, panel, out, columns });
    }
}

/// Fewer multiplications are not worth another thread.
const PARALLEL: usize = 1 << 18;

fn product<T: Number>(call: &Call<'_>) -> Done {
    let (a, b) = (or_decline!(call.slice::<T>(0)), or_decline!(call.slice::<T>(1)));
    let shape = or_decline!(call.out_shape());
    let sizes = or_decline!(Sizes::of(call, false, &shape));
    let (m, k, n) = (sizes.m, sizes.k, sizes.n);
    let starts_a = batch_starts(&sizes.batch, sizes.batch_a, m * k);
    let starts_b = batch_starts(&sizes.batch, sizes.batch_b, k * n);
    let mut out = call.result_room::<T>(sizes.count() * m * n);
    if out.is_empty() {
        return done(&shape, out);
    }
    let threads = call.threads.min(out.len().saturating_mul(k) / PARALLEL).max(1);
    let each = |at_a: usize, at_b: usize, out: &mut [T], threads: usize| {
        let b = &b[at_b..][..k * n];
        in_parts(threads, out, n, |first, out| {
            multiply(&a[at_a + first * k..][..out.len() / n * k], b, out, k, n);
        });
    };
    let across = if sizes.count() < threads { 1 } else { threads };
    in_parts(across, &mut out, m * n, |first, out| {
        let starts = starts_a.iter().zip(&starts_b).skip(first);
        let within = if across == 1 { threads } else { 1 };
        for ((&at_a, &at_b), out) in starts.zip(out.chunks_exact_mut(m * n)) {
            each(at_a, at_b, out, within);
        }
    });
    done(&shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_tensor::{DType, Tensor};

    #[test]
    fn products_of_other_numbers() {
        for dtype in [DType::F64, DType::I64, DType::I32, DType::U64, DType::U32] {
            for (a, b) in [
                (&[1usize, 1][..], &[1usize, 1][..]),
                (&[3, 4], &[4, 5]),
                (&[5, 17], &[17, 33]),
                (&[9, 2], &[2, 16]),
                (&[4], &[4, 5]),
                (&[3, 4], &[4]),
                (&[4], &[4]),
                (&[2, 1, 3, 4], &[5, 4, 6]),
                (&[0, 4], &[4, 5]),
                (&[3, 0], &[0, 5]),
                (&[2, 0, 4], &[4, 5]),
            ] {
                let of = |shape: &[usize], seed: u64| {
                    let x = f32s(shape, seed).to_f64s().unwrap();
                    match dtype {
                        DType::F64 => Tensor::from_f64s(dtype, shape, &x).unwrap(),
                        _ => {
                            let (_, most) = dtype.int_range().unwrap();
                            let whole = x.iter().map(|x| (x.abs() / 2.1 * most as f64) as i128);
                            Tensor::from_ints(dtype, shape, &whole.collect::<Vec<_>>()).unwrap()
                        }
                    }
                };
                assert!(Case::new("matmul", &[of(a, 1), of(b, 2)]).check());
            }
        }
    }
}
