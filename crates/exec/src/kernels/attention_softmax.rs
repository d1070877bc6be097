//! The softmax of attention, of one block of keys after the other.

use pulp::NullaryFnOnce;

use super::elementwise::larger;
use super::math;
use super::reduce::{row_max, row_sum};

/// Makes the scores of a block of keys weights relative to the largest so far. Each row has those of one key, for all
/// queries of the tile.
pub(super) struct Block<'a> {
    /// The scores, which become weights.
    pub(super) scores: &'a mut [f32],
    /// The largest score of each query.
    pub(super) most: &'a mut [f32],
    /// The sums of the weights.
    pub(super) total: &'a mut [f32],
    /// Rows of results, which become relative to the largest score too.
    pub(super) out: &'a mut [f32],
}

/// The most queries of a tile.
const WIDE: usize = 32;

/// What is subtracted from scores of which this is the largest: a query that has seen no key has minus infinity.
#[inline(always)]
fn shift(most: f32) -> f32 {
    if most == f32::NEG_INFINITY { 0.0 } else { most }
}

impl NullaryFnOnce for Block<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let width = self.most.len();
        let (mut most, mut shifts, mut factors, mut total) = ([0.0; WIDE], [0.0; WIDE], [0.0; WIDE], [0.0; WIDE]);
        let (most, shifts) = (&mut most[..width], &mut shifts[..width]);
        let (factors, total) = (&mut factors[..width], &mut total[..width]);
        most.copy_from_slice(self.most);
        for row in self.scores.chunks_exact(width) {
            most.iter_mut().zip(row).for_each(|(m, &x)| *m = larger(*m, x));
        }
        shifts.iter_mut().zip(&*most).for_each(|(s, &m)| *s = shift(m));
        for ((factor, before), now) in factors.iter_mut().zip(&*self.most).zip(&*shifts) {
            *factor = math::exp(before - now);
        }
        self.most.copy_from_slice(most);
        for row in self.scores.chunks_exact_mut(width) {
            for ((x, now), total) in row.iter_mut().zip(&*shifts).zip(&mut *total) {
                *x = math::exp(*x - now);
                *total += *x;
            }
        }
        for ((sum, factor), total) in self.total.iter_mut().zip(&*factors).zip(&*total) {
            *sum = *sum * factor + total;
        }
        for row in self.out.chunks_exact_mut(width) {
            row.iter_mut().zip(&*factors).for_each(|(x, factor)| *x *= factor);
        }
    }
}

/// Makes the scores of one query weights. False if these are no numbers, as without a key that is seen.
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
