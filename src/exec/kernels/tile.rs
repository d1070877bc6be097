//! Tiles of a transposition: words that are neighbours along the rows of the source become neighbours along the
//! columns of the result.
#![allow(unsafe_code, reason = "vector instructions over places that the caller vouches for")]

use super::copy::Axis;

/// A word of 1, 2, 4 or 8 bytes.
pub(super) trait Word: Copy + 'static {
    /// `out[i * rows.to + j] = source[i * rows.from + columns[j]]` for all rows `i` and columns `j`.
    ///
    /// # Safety
    /// All these places can be read and written, and both sides are apart.
    unsafe fn tile(source: *const Self, out: *mut Self, rows: Axis, columns: &[isize]) {
        // SAFETY: as of this function.
        unsafe { plain(source, out, rows, columns) }
    }
}

impl Word for u8 {}
impl Word for u16 {}

impl Word for u32 {
    unsafe fn tile(source: *const u32, out: *mut u32, rows: Axis, columns: &[isize]) {
        #[cfg(target_arch = "x86_64")]
        if rows.from == 1 && columns.len() >= 16 && std::arch::is_x86_feature_detected!("avx512f") {
            // SAFETY: as of this function; the machine has the instructions.
            return unsafe { wide::tile(source, out, rows, columns) };
        }
        #[cfg(target_arch = "x86_64")]
        if rows.from == 1 && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as of this function; the machine has the instructions.
            return unsafe { vectors::tile_32(source, out, rows, columns) };
        }
        // SAFETY: as of this function.
        unsafe { plain(source, out, rows, columns) }
    }
}

impl Word for u64 {
    unsafe fn tile(source: *const u64, out: *mut u64, rows: Axis, columns: &[isize]) {
        #[cfg(target_arch = "x86_64")]
        if rows.from == 1 && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: as of this function; the machine has the instructions.
            return unsafe { vectors::tile_64(source, out, rows, columns) };
        }
        // SAFETY: as of this function.
        unsafe { plain(source, out, rows, columns) }
    }
}

/// A tile word by word.
///
/// # Safety
/// As of [`Word::tile`].
unsafe fn plain<W: Word>(source: *const W, out: *mut W, rows: Axis, columns: &[isize]) {
    for i in 0..rows.n as isize {
        for (j, column) in columns.iter().enumerate() {
            // SAFETY: row `i` and column `j` of the tile.
            unsafe {
                out.offset(i * rows.to)
                    .add(j)
                    .write(*source.offset(i * rows.from + column));
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::*;

    use super::{Axis, plain};

    /// Tiles of vectors, and what is left over word by word: the rows at the bottom, the columns on the right.
    macro_rules! tiled {
        ($name:ident, $word:ty, $lanes:literal, $square:ident) => {
            /// # Safety
            /// As of `Word::tile` with rows that are contiguous; the machine has AVX2.
            #[target_feature(enable = "avx2")]
            pub(super) unsafe fn $name(source: *const $word, out: *mut $word, rows: Axis, columns: &[isize]) {
                const LANES: usize = $lanes;
                // Two by two, which is a line of the cache on both sides.
                const BLOCK: usize = 2 * LANES;
                let (height, width) = (rows.n / LANES * LANES, columns.len() / LANES * LANES);
                for i0 in (0..height).step_by(BLOCK) {
                    for j0 in (0..width).step_by(BLOCK) {
                        for i in (i0..height.min(i0 + BLOCK)).step_by(LANES) {
                            for j in (j0..width.min(j0 + BLOCK)).step_by(LANES) {
                                // SAFETY: the square lies in the tile.
                                unsafe {
                                    $square(
                                        source.add(i),
                                        out.offset(i as isize * rows.to).add(j),
                                        rows.to,
                                        &columns[j..][..LANES],
                                    );
                                }
                            }
                        }
                    }
                }
                // SAFETY: both lie in the tile.
                unsafe {
                    if width < columns.len() {
                        plain(
                            source,
                            out.add(width),
                            Axis { n: height, ..rows },
                            &columns[width..],
                        );
                    }
                    if height < rows.n {
                        let rest = Axis {
                            n: rows.n - height,
                            ..rows
                        };
                        plain(
                            source.add(height),
                            out.offset(height as isize * rows.to),
                            rest,
                            columns,
                        );
                    }
                }
            }
        };
    }

    tiled!(tile_32, u32, 8, square_32);
    tiled!(tile_64, u64, 4, square_64);

    /// Eight words of each of eight columns, as eight rows.
    ///
    /// # Safety
    /// They can be read and written; the machine has AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn square_32(source: *const u32, out: *mut u32, to: isize, columns: &[isize]) {
        // SAFETY: as of this function; neither side has to be aligned.
        unsafe {
            let column = |j: usize| _mm256_loadu_ps(source.offset(columns[j]).cast());
            let pair = |j: usize| {
                let (a, b) = (column(j), column(j + 1));
                (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b))
            };
            let four = |j: usize| {
                let ((a, b), (c, d)) = (pair(j), pair(j + 2));
                [
                    _mm256_shuffle_ps::<0x44>(a, c),
                    _mm256_shuffle_ps::<0xee>(a, c),
                    _mm256_shuffle_ps::<0x44>(b, d),
                    _mm256_shuffle_ps::<0xee>(b, d),
                ]
            };
            let (left, right) = (four(0), four(4));
            for i in 0..4 {
                let (low, high) = (
                    _mm256_permute2f128_ps::<0x20>(left[i], right[i]),
                    _mm256_permute2f128_ps::<0x31>(left[i], right[i]),
                );
                _mm256_storeu_ps(out.offset(i as isize * to).cast(), low);
                _mm256_storeu_ps(out.offset((i as isize + 4) * to).cast(), high);
            }
        }
    }

    /// Four words of each of four columns, as four rows.
    ///
    /// # Safety
    /// They can be read and written; the machine has AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn square_64(source: *const u64, out: *mut u64, to: isize, columns: &[isize]) {
        // SAFETY: as of this function; neither side has to be aligned.
        unsafe {
            let column = |j: usize| _mm256_loadu_pd(source.offset(columns[j]).cast());
            let pair = |j: usize| {
                let (a, b) = (column(j), column(j + 1));
                [_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)]
            };
            let (left, right) = (pair(0), pair(2));
            for i in 0..2 {
                let (low, high) = (
                    _mm256_permute2f128_pd::<0x20>(left[i], right[i]),
                    _mm256_permute2f128_pd::<0x31>(left[i], right[i]),
                );
                _mm256_storeu_pd(out.offset(i as isize * to).cast(), low);
                _mm256_storeu_pd(out.offset((i as isize + 2) * to).cast(), high);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use super::{Axis, vectors};

    const LANES: usize = 16;

    /// Squares of sixteen words, and what is left over in smaller ones.
    ///
    /// # Safety
    /// As of `Word::tile` with rows that are contiguous; the machine has AVX-512.
    #[target_feature(enable = "avx512f,avx2")]
    pub(super) unsafe fn tile(source: *const u32, out: *mut u32, rows: Axis, columns: &[isize]) {
        let (height, width) = (rows.n / LANES * LANES, columns.len() / LANES * LANES);
        for i in (0..height).step_by(LANES) {
            // SAFETY: the row of squares lies in the tile.
            unsafe {
                let line = out.offset(i as isize * rows.to);
                for (j, part) in columns.chunks_exact(LANES).enumerate() {
                    square(source.add(i), line.add(j * LANES), rows.to, part);
                }
            }
        }
        // SAFETY: both lie in the tile.
        unsafe {
            if width < columns.len() {
                vectors::tile_32(source, out.add(width), Axis { n: height, ..rows }, &columns[width..]);
            }
            if height < rows.n {
                let rest = Axis {
                    n: rows.n - height,
                    ..rows
                };
                vectors::tile_32(source.add(height), out.offset(height as isize * rows.to), rest, columns);
            }
        }
    }

    /// Sixteen words of each of sixteen columns, as sixteen rows.
    ///
    /// # Safety
    /// They can be read and written; the machine has AVX-512.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn square(source: *const u32, out: *mut u32, to: isize, columns: &[isize]) {
        // Four rows of each of four columns in each quarter of a vector.
        let mut quads = [_mm512_setzero_ps(); LANES];
        for i in 0..4 {
            // SAFETY: as of this function; the source need not be aligned.
            let column = |j: usize| unsafe { _mm512_loadu_ps(source.offset(columns[4 * i + j]).cast()) };
            let (a, b, c, d) = (column(0), column(1), column(2), column(3));
            let (low, high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let (other_low, other_high) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            let pairs = |x, y| {
                let (x, y) = (_mm512_castps_pd(x), _mm512_castps_pd(y));
                (
                    _mm512_castpd_ps(_mm512_unpacklo_pd(x, y)),
                    _mm512_castpd_ps(_mm512_unpackhi_pd(x, y)),
                )
            };
            (quads[4 * i], quads[4 * i + 1]) = pairs(low, other_low);
            (quads[4 * i + 2], quads[4 * i + 3]) = pairs(high, other_high);
        }
        for k in 0..4 {
            let (a, b, c, d) = (quads[k], quads[4 + k], quads[8 + k], quads[12 + k]);
            let (even, odd) = (_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b));
            let (more_even, more_odd) = (_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d));
            let rows = [
                _mm512_shuffle_f32x4::<0x88>(even, more_even),
                _mm512_shuffle_f32x4::<0x88>(odd, more_odd),
                _mm512_shuffle_f32x4::<0xdd>(even, more_even),
                _mm512_shuffle_f32x4::<0xdd>(odd, more_odd),
            ];
            for (i, row) in rows.into_iter().enumerate() {
                // SAFETY: as of this function; the result need not be aligned.
                unsafe { _mm512_storeu_ps(out.offset((4 * i + k) as isize * to).cast(), row) };
            }
        }
    }
}
