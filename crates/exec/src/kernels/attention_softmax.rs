//! The softmax of attention, computed for one block of keys after the other.

use pulp::NullaryFnOnce;

use super::elementwise::larger;
use super::math;
use super::reduce::{row_max, row_sum};

/// Turns the scores of a block of keys into weights relative to the largest score so far. Each row has the scores of
/// one key for all queries of the tile.
pub(super) struct Block<'a> {
    /// The scores, which become weights; of 32, 16 or 8 queries.
    pub(super) scores: &'a mut [f32],
    /// The largest score of each query.
    pub(super) most: &'a mut [f32],
    /// The sums of the weights.
    pub(super) total: &'a mut [f32],
    /// Rows of results, which become relative to the largest score too.
    pub(super) out: &'a mut [f32],
}

/// The number to subtract from scores whose maximum is `most`; for a query that has seen no key, `most` is minus
/// infinity.
#[inline(always)]
fn shift(most: f32) -> f32 {
    if most == f32::NEG_INFINITY { 0.0 } else { most }
}

impl NullaryFnOnce for Block<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        // The columns of tiles of the instruction sets.
        match self.most.len() {
            32 => self.run::<32>(),
            16 => self.run::<16>(),
            _ => self.run::<8>(),
        }
    }
}

impl Block<'_> {
    /// With `N` queries, whose numbers stay in registers.
    #[inline(always)]
    fn run<const N: usize>(self) {
        let Ok(before): Result<[f32; N], _> = self.most.as_ref().try_into() else {
            return;
        };
        let mut most = before;
        for row in self.scores.as_chunks::<N>().0 {
            for (m, &x) in most.iter_mut().zip(row) {
                *m = larger(*m, x);
            }
        }
        let shifts = most.map(shift);
        let mut factors = [0.0; N];
        for ((factor, before), now) in factors.iter_mut().zip(before).zip(shifts) {
            *factor = math::exp(before - now);
        }
        self.most.copy_from_slice(&most);
        let mut total = [0.0; N];
        for row in self.scores.as_chunks_mut::<N>().0 {
            for ((x, now), total) in row.iter_mut().zip(shifts).zip(&mut total) {
                *x = math::exp(*x - now);
                *total += *x;
            }
        }
        for ((sum, factor), total) in self.total.iter_mut().zip(factors).zip(total) {
            *sum = *sum * factor + total;
        }
        for row in self.out.as_chunks_mut::<N>().0 {
            row.iter_mut().zip(factors).for_each(|(x, factor)| *x *= factor);
        }
    }
}

/// Turns the scores of one query into weights. False if the weights are NaN, as when no key is seen.
pub(super) struct One<'a>(pub(super) &'a mut [f32]);

impl NullaryFnOnce for One<'_> {
    type Output = bool;
    #[inline(always)]
    fn call(self) -> bool {
        let most = row_max(self.0).call();
        if most == f32::NEG_INFINITY {
            return false;
        }
        self.0.iter_mut().for_each(|x| *x = math::exp(*x - most));
        let total = row_sum(self.0).call();
        self.0.iter_mut().for_each(|x| *x /= total);
        total > 0.0
    }
}
