//! Tiles of at most four columns: the lanes of a vector are the rows of a left panel, which are contiguous, so that no
//! lanes are wasted on columns that do not exist. Several panels are computed at once, since a sum waits for the one
//! before it.
//!
//! Sums have the same order as those of [`micro`](super::micro), and the same bits.
#![allow(unsafe_code, reason = "micro-kernels use vector instructions on raw pointers")]

use std::arch::x86_64::*;

use super::micro::Tile;
use super::micro_kernels::some::add_pairs;

/// The most columns.
pub(super) const COLUMNS: usize = 4;

/// The most panels that are computed at once.
pub(super) const PANELS: usize = 4;

/// The panels that are computed at once for so many columns: registers have enough sums to hide their latency.
pub(super) fn panels(columns: usize) -> usize {
    if columns <= 2 { PANELS } else { 2 }
}

/// Defines a function for an instruction that multiplies and adds.
macro_rules! few {
    ($name:ident, $features:literal, $multiply_add:expr) => {
        /// Computes tiles of the same columns.
        ///
        /// # Safety
        /// As for [`Micro::run`](super::micro::Micro::run) for each tile, but that a row of the right panel
        /// need only have the elements of its columns; the machine has the instructions, all tiles have the same depth,
        /// columns and right panel, at most 16 rows and at most [`COLUMNS`] columns, and there are at most [`panels`]
        /// of them.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name(tiles: &[Tile]) {
            // SAFETY: by the caller.
            unsafe {
                match (tiles.first().map_or(0, |tile| tile.columns), tiles) {
                    (1, [a, b, c, d]) => run::<4, 1>([a, b, c, d], $multiply_add),
                    (2, [a, b, c, d]) => run::<4, 2>([a, b, c, d], $multiply_add),
                    (1, [a, b, ..]) => {
                        run::<2, 1>([a, b], $multiply_add);
                        tiles[2..]
                            .iter()
                            .for_each(|tile| run::<1, 1>([tile], $multiply_add));
                    }
                    (2, [a, b, ..]) => {
                        run::<2, 2>([a, b], $multiply_add);
                        tiles[2..]
                            .iter()
                            .for_each(|tile| run::<1, 2>([tile], $multiply_add));
                    }
                    (3, [a, b]) => run::<2, 3>([a, b], $multiply_add),
                    (4, [a, b]) => run::<2, 4>([a, b], $multiply_add),
                    (1, _) => tiles.iter().for_each(|tile| run::<1, 1>([tile], $multiply_add)),
                    (2, _) => tiles.iter().for_each(|tile| run::<1, 2>([tile], $multiply_add)),
                    (3, _) => tiles.iter().for_each(|tile| run::<1, 3>([tile], $multiply_add)),
                    (_, _) => tiles.iter().for_each(|tile| run::<1, 4>([tile], $multiply_add)),
                }
            }

            /// # Safety
            /// As for the function around it.
            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn run<const P: usize, const C: usize>(
                tiles: [&Tile; P],
                multiply_add: impl Fn(__m512, __m512, __m512) -> __m512,
            ) {
                let first = tiles[0];
                let lanes = tiles.map(|tile| ((1u32 << tile.rows) - 1) as __mmask16);
                // SAFETY: all offsets are within what the caller guarantees.
                unsafe {
                    let mut sums: [[__m512; C]; P] = std::array::from_fn(|p| {
                        std::array::from_fn(|column| match tiles[p].start.is_null() {
                            false => _mm512_maskz_loadu_ps(lanes[p], tiles[p].start),
                            true => column_of(
                                tiles[p].from.wrapping_add(column),
                                tiles[p].between,
                                tiles[p].rows,
                            ),
                        })
                    });
                    let mut lefts = tiles.map(|tile| tile.left);
                    let mut right = first.right;
                    for l in 0..first.depth {
                        if !first.places.is_null() {
                            right = first.right.add(*first.places.add(l));
                        }
                        let factors: [__m512; C] = std::array::from_fn(|column| _mm512_set1_ps(*right.add(column)));
                        for (p, sums) in sums.iter_mut().enumerate() {
                            let left = _mm512_maskz_loadu_ps(lanes[p], lefts[p]);
                            for (sum, factor) in sums.iter_mut().zip(factors) {
                                *sum = multiply_add(left, factor, *sum);
                            }
                            lefts[p] = lefts[p].add(tiles[p].rows);
                        }
                        right = right.wrapping_add(WIDTH);
                    }
                    for (tile, sums) in tiles.into_iter().zip(sums) {
                        for (column, sum) in sums.into_iter().enumerate() {
                            finish(tile, column, sum);
                        }
                    }
                }
            }
        }
    };
}

/// The elements of a row of a packed right panel.
pub(super) const WIDTH: usize = 32;

few!(avx512, "avx512f", |a, b, sum| _mm512_fmadd_ps(a, b, sum));
few!(avx512bf16, "avx512f,avx512bf16", |a, b, sum| add_pairs(a, b, sum));

/// Elements that are `between` elements apart.
///
/// # Safety
/// `rows` elements can be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn column_of(from: *const f32, between: usize, rows: usize) -> __m512 {
    let mut column = [0.0f32; 16];
    for (i, element) in column.iter_mut().enumerate().take(rows) {
        // SAFETY: by the caller.
        *element = unsafe { *from.add(i * between) };
    }
    // SAFETY: the array has 16 elements.
    unsafe { _mm512_loadu_ps(column.as_ptr()) }
}

/// Writes a column of a tile.
///
/// # Safety
/// As for [`Micro::run`](super::micro::Micro::run).
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn finish(tile: &Tile, column: usize, mut sums: __m512) {
    // SAFETY: all offsets are within what the caller guarantees.
    unsafe {
        if !tile.add.is_null() {
            sums = _mm512_add_ps(sums, column_of(tile.add.wrapping_add(column), tile.stride, tile.rows));
        }
        // As in `micro`: a NaN stays, and of two zeros the limit counts.
        let (low, high) = (_mm512_set1_ps(tile.low), _mm512_set1_ps(tile.high));
        let zero = _mm512_set1_ps(if tile.low == 0.0 { 0.0 } else { -0.0 });
        sums = _mm512_add_ps(_mm512_min_ps(high, _mm512_max_ps(low, sums)), zero);
        let mut elements = [0.0f32; 16];
        _mm512_storeu_ps(elements.as_mut_ptr(), sums);
        for (i, element) in elements.iter().enumerate().take(tile.rows) {
            *tile.out.add(i * tile.stride + column) = *element;
        }
    }
}
