//! The product of one row with a packed matrix, as recurrent layers compute in every step: nothing is packed or
//! allocated for it, and so many sums are in registers that none waits for the one before.
#![allow(unsafe_code, reason = "vectors are read from panels at places that are checked once")]

use pulp::{Arch, Simd, WithSimd};

/// More elements of panels do not stay in a second-level cache. They are read in the order in which they are in memory,
/// which the hardware foresees: one panel after the other, although there are fewer sums than would hide their latency.
const LARGE: usize = 128 << 10;

/// True if whole vectors of this machine fit panels of this width.
pub(super) fn can_add_row(width: usize) -> bool {
    struct Lanes;
    impl WithSimd for Lanes {
        type Output = usize;
        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }
    width.is_multiple_of(Arch::new().dispatch(Lanes))
}

/// Adds the product of a row with panels to `out`. A panel is `row.len()` rows of `width` elements; the panels follow
/// each other, and cover at least as many columns as `out` has.
///
/// # Panics
/// If there are fewer panels, or [`can_add_row`] is false.
pub(super) fn add_row(row: &[f32], panels: &[f32], width: usize, out: &mut [f32]) {
    let needed = out.len().div_ceil(width) * width * row.len();
    assert!(panels.len() >= needed, "there are too few panels");
    Arch::new().dispatch(AddRow {
        row,
        panels,
        width,
        out,
    });
}

struct AddRow<'a> {
    row: &'a [f32],
    panels: &'a [f32],
    width: usize,
    out: &'a mut [f32],
}

impl WithSimd for AddRow<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = S::F32_LANES;
        assert!(self.width.is_multiple_of(lanes), "vectors are wider than panels");
        let vectors = self.out.len().div_ceil(lanes);
        let mut done = 0;
        let mut rest = self.out;
        while done < vectors {
            let most = match self.panels.len() > LARGE {
                true => self.width / lanes,
                false => 8,
            };
            let count = match most.min(vectors - done) {
                1 => 1,
                2 | 3 => 2,
                4 | 5 => 4,
                6 | 7 => 6,
                _ => 8,
            };
            let (now, later) = rest.split_at_mut(rest.len().min(count * lanes));
            // SAFETY: the columns of `out` are in the panels, as `add_row` asserts, and vectors do not cross panels.
            unsafe {
                match count {
                    1 => sums::<S, 1>(simd, self.row, self.panels, self.width, done, now),
                    2 => sums::<S, 2>(simd, self.row, self.panels, self.width, done, now),
                    4 => sums::<S, 4>(simd, self.row, self.panels, self.width, done, now),
                    6 => sums::<S, 6>(simd, self.row, self.panels, self.width, done, now),
                    _ => sums::<S, 8>(simd, self.row, self.panels, self.width, done, now),
                }
            }
            (done, rest) = (done + count, later);
        }
    }
}

/// Adds to `out` the products with `N` vectors of columns, counted from vector `first` of all columns on.
///
/// # Safety
/// `width` is a multiple of the lanes, the columns of these vectors are in the panels, and `out` has more elements than
/// `N - 1` vectors, and at most those of `N`.
#[inline(always)]
unsafe fn sums<S: Simd, const N: usize>(
    simd: S,
    row: &[f32],
    panels: &[f32],
    width: usize,
    first: usize,
    out: &mut [f32],
) {
    let lanes = S::F32_LANES;
    let each = width / lanes;
    let mut places: [*const f32; N] = std::array::from_fn(|n| {
        let (panel, within) = ((first + n) / each, (first + n) % each);
        panels.as_ptr().wrapping_add(panel * width * row.len() + within * lanes)
    });
    let mut totals: [S::f32s; N] = std::array::from_fn(|n| {
        let from = &out[n * lanes..];
        simd.partial_load_f32s(&from[..from.len().min(lanes)])
    });
    for x in row {
        let x = simd.splat_f32s(*x);
        for (total, place) in totals.iter_mut().zip(&mut places) {
            // SAFETY: each place goes through the rows of its panel, which has whole vectors.
            let vector = unsafe { place.cast::<S::f32s>().read_unaligned() };
            *total = simd.mul_add_e_f32s(x, vector, *total);
            *place = place.wrapping_add(width);
        }
    }
    for (n, total) in totals.into_iter().enumerate() {
        let to = &mut out[n * lanes..];
        let end = to.len().min(lanes);
        simd.partial_store_f32s(&mut to[..end], total);
    }
}

#[cfg(test)]
mod tests {
    use super::super::micro::Micro;
    use super::super::panels::{Left, Panels};
    use super::super::product::{Finish, Start, product};

    #[test]
    fn a_row_is_multiplied_as_a_matrix_is() {
        for micro in Micro::all() {
            for (inner, columns) in [
                (1, 1),
                (3, 15),
                (32, 96),
                (7, 130),
                (257, 33),
                (600, 161),
                (5, 256),
                (1100, 1000),
            ] {
                // Small numbers with few bits, whose sums are exact.
                let number = |i: usize| ((i * 37 % 101) as f32 - 50.0) / 16.0;
                let row: Vec<f32> = (0..inner).map(number).collect();
                let matrix: Vec<f32> = (0..inner * columns).map(|i| number(i + 13)).collect();
                let panels = Panels::of(*micro, &matrix, inner, true);
                let begin: Vec<f32> = (0..columns).map(|i| number(i + 5)).collect();
                let mut expected = begin.clone();
                let left = Left::of_rows(*micro, &row, 1);
                product(&left, &panels, columns, &mut expected, Finish::from(Start::Result), 1);
                for threads in [1, 3] {
                    let mut out = begin.clone();
                    panels.add_row(&row, &mut out, threads);
                    assert_eq!(out, expected, "{} {inner} {columns} {threads}", micro.name);
                }
            }
        }
    }

    #[test]
    fn what_is_not_finite_stays_so() {
        let micro = Micro::best();
        for (x, w) in [
            (f32::NAN, 1.0),
            (f32::INFINITY, 0.0),
            (1.0, f32::NAN),
            (f32::INFINITY, -1.0),
        ] {
            let panels = Panels::of(micro, &[w, w, 2.0], 1, true);
            let mut out = [1.0; 3];
            panels.add_row(&[x], &mut out, 1);
            for (out, w) in out.into_iter().zip([w, w, 2.0]) {
                let expected = x * w + 1.0;
                assert!(out == expected || (out.is_nan() && expected.is_nan()), "{x} {w} {out}");
            }
        }
    }
}
