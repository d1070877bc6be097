//! Tiles of a transposition: words adjacent along the rows of the source become adjacent along the columns of the
//! result.
#![allow(
    unsafe_code,
    reason = "vector instructions over locations that the caller guarantees"
)]

use smallvec::SmallVec;

use super::copy::Axis;

/// A word of 1, 2, 4 or 8 bytes.
pub(super) trait Word: Copy + 'static {
    /// `out[i * rows.to + j] = source[i * rows.from + columns[j]]` for all rows `i` and columns `j`.
    ///
    /// # Safety
    /// All these locations can be read and written, and the two sides do not overlap.
    unsafe fn tile(source: *const Self, out: *mut Self, rows: Axis, columns: &[isize]) {
        // SAFETY: upheld by the caller.
        unsafe { plain(source, out, rows, columns) }
    }

    /// The same, bypassing the caches, where [`Word::streams`] is true; must be followed by [`fence`].
    ///
    /// # Safety
    /// As for [`Word::tile`]; `out` starts at a cache line, and `rows.to` and the columns fill whole lines.
    unsafe fn stream(source: *const Self, out: *mut Self, rows: Axis, columns: &[isize]) {
        // SAFETY: upheld by the caller.
        unsafe { Self::tile(source, out, rows, columns) }
    }

    /// True if the machine writes whole cache lines for rows that are this far apart in the source.
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
            // SAFETY: upheld by the caller; the machine has the instructions.
            return unsafe { wide::tile(source, out, rows, columns) };
        }
        #[cfg(target_arch = "x86_64")]
        if rows.from == 1 && std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: upheld by the caller; the machine has the instructions.
            return unsafe { vectors::tile_32(source, out, rows, columns) };
        }
        // SAFETY: upheld by the caller.
        unsafe { plain(source, out, rows, columns) }
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn stream(source: *const u32, out: *mut u32, rows: Axis, columns: &[isize]) {
        // SAFETY: upheld by the caller; `streams` has checked that the machine has the instructions.
        unsafe { wide::stream(source, out, rows, columns) }
    }

    #[cfg(target_arch = "x86_64")]
    fn streams(from: isize) -> bool {
        from == 1 && std::arch::is_x86_feature_detected!("avx512f")
    }
}

/// Transposes a matrix of `rows` rows that are `distance` elements apart:
/// `out[j * width + i] = matrix[i * distance + j]` for each of the `columns` columns.
///
/// # Panics
/// If either side is too short, or rows of the result overlap.
pub(super) fn transpose(matrix: &[f32], [rows, columns]: [usize; 2], distance: usize, out: &mut [f32], width: usize) {
    if rows == 0 || columns == 0 {
        return;
    }
    assert!(
        (rows - 1) * distance + columns <= matrix.len(),
        "the matrix is too short"
    );
    assert!(
        rows <= width && (columns - 1) * width + rows <= out.len(),
        "the result is too short"
    );
    let places: SmallVec<[isize; 64]> = (0..rows).map(|i| (i * distance) as isize).collect();
    let axis = Axis {
        n: columns,
        from: 1,
        to: width as isize,
    };
    // SAFETY: all elements are within both sides by the assertions, and `out` is borrowed exclusively. Numbers of both
    // types have 32 bits, all of which are valid.
    unsafe { Word::tile(matrix.as_ptr().cast::<u32>(), out.as_mut_ptr().cast(), axis, &places) };
}

/// Orders the writes that bypassed the caches before all later writes.
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
            // SAFETY: upheld by the caller; the machine has the instructions.
            return unsafe { vectors::tile_64(source, out, rows, columns) };
        }
        // SAFETY: upheld by the caller.
        unsafe { plain(source, out, rows, columns) }
    }
}

/// Copies a tile word by word.
///
/// # Safety
/// Same as for [`Word::tile`].
unsafe fn plain<W: Word>(source: *const W, out: *mut W, rows: Axis, columns: &[isize]) {
    for i in 0..rows.n as isize {
        for (j, column) in columns.iter().enumerate() {
            // SAFETY: row `i` and column `j` are in the tile.
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

    /// Copies a tile with vectors, and the remaining bottom rows and right columns word by word.
    macro_rules! tiled {
        ($name:ident, $word:ty, $lanes:literal, $square:ident) => {
            /// # Safety
            /// As for `Word::tile` with rows that are contiguous; the machine has AVX2.
            #[target_feature(enable = "avx2")]
            pub(super) unsafe fn $name(source: *const $word, out: *mut $word, rows: Axis, columns: &[isize]) {
                const LANES: usize = $lanes;
                // A block of two by two vectors is a cache line on both sides.
                const BLOCK: usize = 2 * LANES;
                let (height, width) = (rows.n / LANES * LANES, columns.len() / LANES * LANES);
                for i0 in (0..height).step_by(BLOCK) {
                    for j0 in (0..width).step_by(BLOCK) {
                        for i in (i0..height.min(i0 + BLOCK)).step_by(LANES) {
                            for j in (j0..width.min(j0 + BLOCK)).step_by(LANES) {
                                // SAFETY: the square is inside the tile.
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
                // SAFETY: both are inside the tile.
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

    /// Turns eight words of each of eight columns into eight rows.
    ///
    /// # Safety
    /// They can be read and written; the machine has AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn square_32(source: *const u32, out: *mut u32, to: isize, columns: &[isize]) {
        // SAFETY: upheld by the caller; neither side has to be aligned.
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

    /// Turns four words of each of four columns into four rows.
    ///
    /// # Safety
    /// They can be read and written; the machine has AVX2.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn square_64(source: *const u64, out: *mut u64, to: isize, columns: &[isize]) {
        // SAFETY: upheld by the caller; neither side has to be aligned.
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

    /// Copies squares of sixteen words, and the remainder in smaller ones.
    ///
    /// # Safety
    /// As for `Word::tile` with rows that are contiguous; the machine has AVX-512.
    #[target_feature(enable = "avx512f,avx2")]
    pub(super) unsafe fn tile(source: *const u32, out: *mut u32, rows: Axis, columns: &[isize]) {
        let (height, width) = (rows.n / LANES * LANES, columns.len() / LANES * LANES);
        for i in (0..height).step_by(LANES) {
            // SAFETY: the row of squares is inside the tile.
            unsafe {
                let line = out.offset(i as isize * rows.to);
                for (j, part) in columns.chunks_exact(LANES).enumerate() {
                    square::<false>(source.add(i), line.add(j * LANES), rows.to, part);
                }
            }
        }
        // SAFETY: both are inside the tile.
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

    /// Copies squares of sixteen words, bypassing the caches.
    ///
    /// The hardware prefetcher follows a few streams, fewer than there are columns, so upcoming lines are prefetched
    /// explicitly.
    ///
    /// # Safety
    /// As for `Word::stream`; the machine has AVX-512.
    #[target_feature(enable = "avx512f,avx2")]
    pub(super) unsafe fn stream(source: *const u32, out: *mut u32, rows: Axis, columns: &[isize]) {
        /// Rows of a block.
        const DOWN: usize = 512;
        /// Its columns.
        const ACROSS: usize = 128;
        /// A line is prefetched this many squares before it is used.
        const AHEAD: usize = 2;
        if rows.n < LANES {
            // SAFETY: upheld by the caller.
            return unsafe { tile(source, out, rows, columns) };
        }
        if columns.len() <= ACROSS {
            // With few columns: all rows, sixteen columns at a time.
            for top in (0..rows.n).step_by(ACROSS) {
                for (j, part) in columns.chunks_exact(LANES).enumerate() {
                    for i in (top..rows.n.min(top + ACROSS)).step_by(LANES) {
                        let i = i.min(rows.n - LANES);
                        let place = out.wrapping_offset(i as isize * rows.to).wrapping_add(j * LANES);
                        ask(source.wrapping_add(i + 2 * AHEAD * LANES), part);
                        // SAFETY: the square is inside the tile, and its rows start at cache lines.
                        unsafe { square::<true>(source.add(i), place, rows.to, part) };
                    }
                }
            }
            return;
        }
        for top in (0..rows.n).step_by(DOWN) {
            for (left, block) in columns.chunks(ACROSS).enumerate() {
                for i in (top..rows.n.min(top + DOWN)).step_by(LANES) {
                    // The last rows are written twice rather than as less than a square.
                    let i = i.min(rows.n - LANES);
                    let line = out.wrapping_offset(i as isize * rows.to).wrapping_add(left * ACROSS);
                    for (j, part) in block.chunks_exact(LANES).enumerate() {
                        ask(source.wrapping_add(i + AHEAD * LANES), part);
                        // SAFETY: the square is inside the tile, and its rows start at cache lines.
                        unsafe { square::<true>(source.add(i), line.wrapping_add(j * LANES), rows.to, part) };
                    }
                }
            }
        }
    }

    /// Prefetches the cache line of one word of each of these columns.
    #[inline(always)]
    fn ask(source: *const u32, columns: &[isize]) {
        for column in columns {
            // SAFETY: a prefetch hint reads nothing.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(source.wrapping_offset(*column).cast()) };
        }
    }

    /// Turns sixteen words of each of sixteen columns into sixteen rows.
    ///
    /// # Safety
    /// They can be read and written; the machine has AVX-512. If the write goes `PAST` the caches, each row starts at a
    /// cache line.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn square<const PAST: bool>(source: *const u32, out: *mut u32, to: isize, columns: &[isize]) {
        // Each quarter of a vector holds four rows of four columns.
        let mut quads = [_mm512_setzero_ps(); LANES];
        for i in 0..4 {
            // SAFETY: upheld by the caller; the source need not be aligned.
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
                // SAFETY: upheld by the caller; the result need not be aligned if the write does not bypass the caches.
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
