//! The transformations of Winograd convolutions, of windows, tiles and sums.
#![allow(unsafe_code, reason = "rows are written where another thread writes others")]

use pulp::{Simd, WithSimd};

use super::lanes::{PITCH, interleave_four};

/// Tiles of 4 by 4 evaluate polynomials at 0, these numbers and their negatives, and infinity. Of the numbers that have few
/// bits, so that transformations by them are exact, these make the smallest errors: a sixth of those with 1 and 2.
const NEAR: f32 = 0.625;
const FAR: f32 = 1.5;

/// The transformed column of a window.
pub(super) fn of_window(size: usize, [a, b, c]: [f64; 3]) -> [f64; 6] {
    if size == 2 {
        let (even, odd) = (a + c, b);
        return [a, (even + odd) / 2.0, (even - odd) / 2.0, c, 0.0, 0.0];
    }
    let (near, far) = (f64::from(NEAR), f64::from(FAR));
    let at = |point: f64, other: f64| {
        let scale = 2.0 * point * point * (point * point - other * other);
        let (even, odd) = (a + c * point * point, b * point);
        ((even + odd) / scale, (even - odd) / scale)
    };
    let ((first, second), (third, fourth)) = (at(near, far), at(far, near));
    [a / (near * near * far * far), first, second, third, fourth, c]
}

/// Transforms tiles in lanes: each of `SIDE` by `SIDE` elements is a row of `width`, at a distance of [`PITCH`].
pub(super) struct Transform<'a, const SIDE: usize> {
    pub(super) rows: &'a [f32],
    pub(super) width: usize,
    /// The address of the first row; this thread may write all rows.
    pub(super) out: *mut f32,
    /// The distance of the rows that are written.
    pub(super) step: usize,
}

impl<const SIDE: usize> WithSimd for Transform<'_, SIDE> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for first in (0..self.width).step_by(S::F32_LANES) {
            let mut half = [[simd.splat_f32s(0.0); SIDE]; SIDE];
            for column in 0..SIDE {
                let one = |row: usize| {
                    let at = (row * SIDE + column) * PITCH + first;
                    S::as_simd_f32s(&self.rows[at..][..S::F32_LANES]).0[0]
                };
                let all = of_tile::<S, SIDE>(simd, std::array::from_fn(one));
                for (half, one) in half.iter_mut().zip(all) {
                    half[column] = one;
                }
            }
            for (row, half) in half.into_iter().enumerate() {
                for (i, one) in of_tile(simd, half).into_iter().enumerate() {
                    // SAFETY: `gather` has checked that all rows are inside the block, and its caller that they are
                    // this thread's; vectors need no alignment here.
                    unsafe {
                        let place = self.out.add((row * SIDE + i) * self.step + first);
                        place.cast::<S::f32s>().write_unaligned(one);
                    }
                }
            }
        }
    }
}

/// The transformed column of a tile.
#[inline(always)]
fn of_tile<S: Simd, const SIDE: usize>(simd: S, d: [S::f32s; SIDE]) -> [S::f32s; SIDE] {
    let times = |factor: f32, x: S::f32s, y: S::f32s| simd.mul_add_e_f32s(simd.splat_f32s(factor), x, y);
    let (plus, minus) = (|a, b| simd.add_f32s(a, b), |a, b| simd.sub_f32s(a, b));
    let mut out = d;
    if SIDE == 4 {
        out[0] = minus(d[0], d[2]);
        out[1] = plus(d[1], d[2]);
        out[2] = minus(d[2], d[1]);
        out[3] = minus(d[1], d[3]);
    } else {
        const NEAR_SQUARE: f32 = NEAR * NEAR;
        const FAR_SQUARE: f32 = FAR * FAR;
        const PRODUCT: f32 = NEAR_SQUARE * FAR_SQUARE;
        let (even, odd) = (times(-FAR_SQUARE, d[2], d[4]), times(-FAR_SQUARE, d[1], d[3]));
        let (wide, twice) = (times(-NEAR_SQUARE, d[2], d[4]), times(-NEAR_SQUARE, d[1], d[3]));
        let ends = |x, y, z| times(PRODUCT, x, times(-(NEAR_SQUARE + FAR_SQUARE), y, z));
        out[0] = ends(d[0], d[2], d[4]);
        out[1] = times(NEAR, odd, even);
        out[2] = times(-NEAR, odd, even);
        out[3] = times(FAR, twice, wide);
        out[4] = times(-FAR, twice, wide);
        out[SIDE - 1] = ends(d[1], d[3], d[SIDE - 1]);
    }
    out
}

/// Transforms sums back into `SIZE` by `SIZE` results, in `lines` with the tiles next to each other; false if one is
/// not finite.
pub(super) struct Back<'a, const SIDE: usize, const SIZE: usize> {
    pub(super) sums: &'a [f32],
    pub(super) step: usize,
    pub(super) width: usize,
    /// The values to add.
    pub(super) start: f32,
    pub(super) lines: &'a mut [f32],
}

impl<const SIDE: usize, const SIZE: usize> WithSimd for Back<'_, SIDE, SIZE> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> bool {
        let start = simd.splat_f32s(self.start);
        let zero = simd.splat_f32s(0.0);
        // A sum of products with zero, which is NaN if a factor is not finite.
        let mut check = zero;
        for first in (0..self.width).step_by(S::F32_LANES) {
            let mut half = [[zero; SIDE]; SIZE];
            for column in 0..SIDE {
                let sum = |row: usize| {
                    let at = (row * SIDE + column) * self.step + first;
                    S::as_simd_f32s(&self.sums[at..][..S::F32_LANES]).0[0]
                };
                let results: [S::f32s; SIZE] = of_sums::<S, SIDE, SIZE>(simd, std::array::from_fn(sum));
                for (half, result) in half.iter_mut().zip(results) {
                    half[column] = result;
                }
            }
            for (line, half) in self.lines.chunks_exact_mut(self.width * SIZE).zip(half) {
                let mut all: [S::f32s; SIZE] = of_sums::<S, SIDE, SIZE>(simd, half);
                for one in &mut all {
                    *one = simd.add_f32s(*one, start);
                    check = simd.mul_add_e_f32s(*one, zero, check);
                }
                interleave::<S, SIZE>(&all, &mut line[first * SIZE..][..S::F32_LANES * SIZE]);
            }
        }
        simd.reduce_sum_f32s(check) == 0.0
    }
}

/// Writes the first lanes of all vectors, then the second ones, and so on.
#[inline(always)]
fn interleave<S: Simd, const SIZE: usize>(all: &[S::f32s; SIZE], out: &mut [f32]) {
    let mut lanes = [[0.0f32; 16]; SIZE];
    for (one, lanes) in all.iter().zip(&mut lanes) {
        S::as_mut_simd_f32s(&mut lanes[..S::F32_LANES]).0[0] = *one;
    }
    if let (Some(lanes), Some(out)) = (lanes.first_chunk::<4>(), out.first_chunk_mut::<64>()) {
        return interleave_four(lanes, out);
    }
    for (lane, out) in out.chunks_exact_mut(SIZE).enumerate() {
        for (out, one) in out.iter_mut().zip(&lanes) {
            *out = one[lane];
        }
    }
}

/// The results along a column of sums.
#[inline(always)]
fn of_sums<S: Simd, const SIDE: usize, const SIZE: usize>(simd: S, m: [S::f32s; SIDE]) -> [S::f32s; SIZE] {
    let times = |factor: f32, x: S::f32s, y: S::f32s| simd.mul_add_e_f32s(simd.splat_f32s(factor), x, y);
    let (plus, minus) = (|a, b| simd.add_f32s(a, b), |a, b| simd.sub_f32s(a, b));
    let mut out = [m[0]; SIZE];
    let (even, odd) = (plus(m[1], m[2]), minus(m[1], m[2]));
    if SIDE == 4 {
        out[0] = plus(m[0], even);
        out[1] = minus(odd, m[3]);
    } else {
        let (wide, twice) = (plus(m[3], m[SIDE - 2]), minus(m[3], m[SIDE - 2]));
        out[0] = plus(m[0], plus(even, wide));
        let scaled = |factor: f32, x: S::f32s| simd.mul_f32s(simd.splat_f32s(factor), x);
        out[1] = times(FAR, twice, scaled(NEAR, odd));
        out[SIZE - 2] = times(FAR * FAR, wide, scaled(NEAR * NEAR, even));
        out[SIZE - 1] = times(FAR * FAR * FAR, twice, times(NEAR * NEAR * NEAR, odd, m[SIDE - 1]));
    }
    out
}
