//! Products of few rows with a matrix that changes from run to run: it is read once, where it is.

use pulp::{Arch, NullaryFnOnce};

/// Left matrices of at most this many rows are multiplied without packing: each element of the right matrix is read
/// once.
pub(super) const FEW: usize = 3;

/// Rows of the right matrix that are added together.
const TOGETHER: usize = 8;

/// Fewer elements of a right matrix are not worth a second thread.
const PARALLEL: usize = 1 << 18;

/// The product of few rows of `inner` elements with a matrix of contiguous rows.
pub(super) fn few_rows(a: &[f32], b: &[f32], inner: usize, out: &mut [f32], threads: usize) {
    let n = b.len() / inner;
    let threads = if b.len() < PARALLEL { 1 } else { threads.max(1) };
    // Whole cache lines for each thread; sums do not depend on how columns are divided.
    let share = n.div_ceil(threads).next_multiple_of(16);
    for (a, out) in a.chunks_exact(inner).zip(out.chunks_exact_mut(n)) {
        let run = |first: usize, out: &mut [f32]| {
            Arch::new().dispatch(OneRow {
                a,
                b: &b[first..],
                distance: n,
                out,
            });
        };
        if threads == 1 {
            run(0, out);
            continue;
        }
        rayon::scope(|scope| {
            let run = &run;
            for (i, out) in out.chunks_mut(share).enumerate() {
                scope.spawn(move |_| run(i * share, out));
            }
        });
    }
}

/// The product of a row with columns of a matrix whose rows are `distance` elements apart.
struct OneRow<'a> {
    a: &'a [f32],
    b: &'a [f32],
    distance: usize,
    out: &'a mut [f32],
}

impl NullaryFnOnce for OneRow<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let OneRow { a, b, distance, out } = self;
        let n = out.len();
        out.fill(0.0);
        let (whole, rest) = a.as_chunks::<TOGETHER>();
        for (i, factors) in whole.iter().enumerate() {
            let rows: [&[f32]; TOGETHER] = std::array::from_fn(|l| &b[(i * TOGETHER + l) * distance..][..n]);
            for (j, sum) in out.iter_mut().enumerate() {
                let mut more = [0.0; TOGETHER];
                for l in 0..TOGETHER {
                    more[l] = factors[l] * rows[l][j];
                }
                *sum += ((more[0] + more[1]) + (more[2] + more[3])) + ((more[4] + more[5]) + (more[6] + more[7]));
            }
        }
        for (l, factor) in rest.iter().enumerate() {
            let row = &b[(whole.len() * TOGETHER + l) * distance..][..n];
            out.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
        }
    }
}
