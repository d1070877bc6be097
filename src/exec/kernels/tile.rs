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

    /// The same past the caches, where [`Word::streams`] is true; [`fence`] ends it.
    ///
    /// # Safety
    /// As of [`Word::tile`]; `out` begins a line of the cache, `rows.to` and the columns fill lines.
    unsafe fn stream(source: *const Self, out: *mut Self, rows: Axis, columns: &[isize]) {
        // SAFETY: as of this function.
        unsafe { Self::tile(source, out, rows, columns) }
    }

    /// True if the machine writes whole lines of the cache for rows that lie so far apart in the source.
    fn streams(_from: isize) -> bool {
        false
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

    #[cfg(target_arch = "x86_64")]
    unsafe fn stream(source: *const u32, out: *mut u32, rows: Axis, columns: &[isize]) {
        // SAFETY: as of this function; `streams` says that the machine has the instructions.
        unsafe { wide::stream(source, out, rows, columns) }
    }

    #[cfg(target_arch = "x86_64")]
    fn streams(from: isize) -> bool {
        from == 1 && std::arch::is_x86_feature_detected!("avx512f")
    }
}

/// Orders what was written past the caches before all that is written later.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every machine of this architecture has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
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
                    square::<false>(source.add(i), line.add(j * LANES), rows.to, part);
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

    /// Squares of sixteen words, written past the caches.
    ///
    /// The machine reads ahead along a few streams, not along as many as there are columns: it is told what comes next.
    ///
    /// # Safety
    /// As of `Word::stream`; the machine has AVX-512.
    #[target_feature(enable = "avx512f,avx2")]
    pub(super) unsafe fn stream(source: *const u32, out: *mut u32, rows: Axis, columns: &[isize]) {
        /// Rows of a block.
        const DOWN: usize = 512;
        /// Its columns.
        const ACROSS: usize = 128;
        /// So many squares before it is used, a line is asked for.
        const AHEAD: usize = 2;
        if rows.n < LANES {
            // SAFETY: as of this function.
            return unsafe { tile(source, out, rows, columns) };
        }
        if columns.len() <= ACROSS {
            // Few columns: down all rows, sixteen columns at a time.
            for top in (0..rows.n).step_by(ACROSS) {
                for (j, part) in columns.chunks_exact(LANES).enumerate() {
                    for i in (top..rows.n.min(top + ACROSS)).step_by(LANES) {
                        let i = i.min(rows.n - LANES);
                        let place = out.wrapping_offset(i as isize * rows.to).wrapping_add(j * LANES);
                        ask(source.wrapping_add(i + 2 * AHEAD * LANES), part);
                        // SAFETY: the square lies in the tile, and its rows begin lines.
                        unsafe { square::<true>(source.add(i), place, rows.to, part) };
                    }
                }
            }
            return;
        }
        for top in (0..rows.n).step_by(DOWN) {
            for (left, block) in columns.chunks(ACROSS).enumerate() {
                for i in (top..rows.n.min(top + DOWN)).step_by(LANES) {
                    // The last rows are written twice rather than by less than a square.
                    let i = i.min(rows.n - LANES);
                    let line = out.wrapping_offset(i as isize * rows.to).wrapping_add(left * ACROSS);
                    for (j, part) in block.chunks_exact(LANES).enumerate() {
                        ask(source.wrapping_add(i + AHEAD * LANES), part);
                        // SAFETY: the square lies in the tile, and its rows begin lines.
                        unsafe { square::<true>(source.add(i), line.wrapping_add(j * LANES), rows.to, part) };
                    }
                }
            }
        }
    }

    /// Says that one word of each of these columns will be read soon, and what stands in its line.
    #[inline(always)]
    fn ask(source: *const u32, columns: &[isize]) {
        for column in columns {
            // SAFETY: a hint reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(source.wrapping_offset(*column).cast()) };
        }
    }

    /// Sixteen words of each of sixteen columns, as sixteen rows.
    ///
    /// # Safety
    /// They can be read and written; the machine has AVX-512. If `PAST` the caches, each row begins a line.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn square<const PAST: bool>(source: *const u32, out: *mut u32, to: isize, columns: &[isize]) {
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
                // SAFETY: as of this function; the result need not be aligned if it does not go past the caches.
                unsafe {
                    let place = out.offset((4 * i + k) as isize * to).cast();
                    if PAST {
                        _mm512_stream_ps(place, row);
                    } else {
                        _mm512_storeu_ps(place, row);
                    }
                }
            }
        }
    }
}
