//! Micro-kernels: one tile of a matrix product in registers, for each instruction set.
//!
//! There is one for each height of a tile, so that the last rows of a matrix cost no more than they compute, and for
//! one and for several vectors of columns. Columns after the last one are computed and not written.
//!
//! There are two kinds: of products of `f32`, and of products of pairs of bfloat16 ([`pairs`](super::pairs)), which are
//! added to sums in `f32`. An element of a panel is then the 32 bits of a pair, so everything but the multiplication is
//! the same.
#![allow(unsafe_code, reason = "micro-kernels use vector instructions on raw pointers")]

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use super::few;

/// One tile of a result, and the panels whose product it is.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// Rows of the tile, at most those of the micro-kernel.
    pub(super) rows: usize,
    /// Columns of the tile, at most those of the micro-kernel.
    pub(super) columns: usize,
    /// The number of products of each element.
    pub(super) depth: usize,
    /// The left panel: `depth` columns of `rows` elements.
    pub(super) left: *const f32,
    /// The right panel: `depth` rows, each of as many elements as the micro-kernel has columns.
    pub(super) right: *const f32,
    /// The offset of each row of the right panel; null if they are contiguous.
    pub(super) places: *const usize,
    /// The first element of the result.
    pub(super) out: *mut f32,
    /// The distance of its rows.
    pub(super) stride: usize,
    /// The initial values of the sums, one for each row; null if they start with the elements at `from`.
    pub(super) start: *const f32,
    /// What the sums start with, unless `start` has it: an element for each column, in rows that are `between` elements
    /// apart.
    pub(super) from: *const f32,
    pub(super) between: usize,
    /// Added to the sums, with rows at the same distance as those of the result; may be null.
    pub(super) add: *const f32,
    /// Smaller results become this; a NaN stays.
    pub(super) low: f32,
    /// Larger results become this; a NaN stays.
    pub(super) high: f32,
}

/// The kernel for one height of a tile.
#[derive(Clone, Copy)]
struct Height {
    /// For a tile whose columns fit one vector.
    narrow: unsafe fn(&Tile),
    /// For any number of columns.
    wide: unsafe fn(&Tile),
    /// The same, with the rows of the right panel at places.
    narrow_at_places: unsafe fn(&Tile),
    wide_at_places: unsafe fn(&Tile),
}

/// The micro-kernels of an instruction set.
#[derive(Clone, Copy)]
pub(super) struct Micro {
    /// The instruction set.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the kernel that failed"))]
    pub(super) name: &'static str,
    /// True if elements are pairs of bfloat16.
    pub(super) of_pairs: bool,
    /// Rows of the highest tile.
    pub(super) rows: usize,
    /// Columns of a tile.
    pub(super) columns: usize,
    /// Columns of a narrow tile.
    lanes: usize,
    /// One for each height from 1 on.
    heights: &'static [Height],
}

/// The kernels of function `$run` for these heights.
macro_rules! heights {
    ($run:ident: $($rows:literal)*) => {
        &[$(Height {
            narrow: $run::<$rows, 1, false>,
            wide: $run::<$rows, 2, false>,
            narrow_at_places: $run::<$rows, 1, true>,
            wide_at_places: $run::<$rows, 2, true>,
        }),*]
    };
}

impl Micro {
    /// All that this machine can run, the fastest first.
    pub(super) fn all() -> &'static [Micro] {
        static ALL: OnceLock<Vec<Micro>> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut all = Vec::new();
            #[cfg(target_arch = "x86_64")]
            {
                if std::arch::is_x86_feature_detected!("avx512f") {
                    all.push(Micro {
                        name: "avx512",
                        of_pairs: false,
                        rows: 12,
                        columns: 32,
                        lanes: 16,
                        heights: heights!(avx512: 1 2 3 4 5 6 7 8 9 10 11 12),
                    });
                }
                if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
                    all.push(Micro {
                        name: "avx2",
                        of_pairs: false,
                        rows: 6,
                        columns: 16,
                        lanes: 8,
                        heights: heights!(avx2: 1 2 3 4 5 6),
                    });
                }
            }
            all.push(Micro {
                name: "portable",
                of_pairs: false,
                rows: 4,
                columns: 8,
                lanes: 4,
                heights: heights!(portable: 1 2 3 4),
            });
            all
        })
    }

    /// The fastest that this machine can run.
    pub(super) fn best() -> Micro {
        Micro::all()[0]
    }

    /// The kernels of pairs of bfloat16 that this machine can run, the fastest first. The last one emulates the
    /// instruction, and is slow.
    pub(super) fn all_of_pairs() -> &'static [Micro] {
        static ALL: OnceLock<Vec<Micro>> = OnceLock::new();
        ALL.get_or_init(|| {
            let mut all = Vec::new();
            #[cfg(target_arch = "x86_64")]
            if super::pairs::is_in_hardware() {
                all.push(Micro {
                    name: "avx512bf16",
                    of_pairs: true,
                    rows: 12,
                    columns: 32,
                    lanes: 16,
                    heights: heights!(avx512bf16: 1 2 3 4 5 6 7 8 9 10 11 12),
                });
            }
            all.push(Micro {
                name: "portable bf16",
                of_pairs: true,
                rows: 4,
                columns: 8,
                lanes: 4,
                heights: heights!(portable_pairs: 1 2 3 4),
            });
            all
        })
    }

    /// The kernels of pairs of bfloat16, if this machine has the instruction.
    pub(super) fn of_bf16() -> Option<Micro> {
        let best = Micro::all_of_pairs()[0];
        super::pairs::is_in_hardware().then_some(best)
    }

    /// True if these are the kernels for AVX-512, which the machine then has.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn has_avx512(&self) -> bool {
        self.lanes == 16
    }

    /// The last columns of a tile that are better computed by [`Micro::run_few`]: they would fill little of a vector.
    pub(super) fn few(&self, columns: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        if self.lanes == 16 && columns % 16 <= few::COLUMNS {
            return columns % 16;
        }
        let _ = columns;
        0
    }

    /// The most tiles of so many columns that [`Micro::run_few`] computes at once.
    pub(super) fn at_once(&self, columns: usize) -> usize {
        #[cfg(target_arch = "x86_64")]
        return few::panels(columns);
        #[cfg(not(target_arch = "x86_64"))]
        return columns;
    }

    /// Computes tiles of a few columns, as many as [`Micro::few`] says, with the same right panel.
    ///
    /// # Safety
    /// As for [`Micro::run`], but that the right panel need only have the elements of the columns. `few` has said so for
    /// the columns, and there are at most as many tiles as `at_once` says, all of the same depth.
    #[inline]
    pub(super) unsafe fn run_few(&self, tiles: &[Tile]) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: upheld by the caller; these micro-kernels exist where the machine has the instructions.
        unsafe {
            match self.of_pairs {
                true => few::avx512bf16(tiles),
                false => few::avx512(tiles),
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = tiles;
    }

    /// Computes a tile.
    ///
    /// # Panics
    /// If the tile has no rows, or more than the micro-kernel, or more columns.
    ///
    /// # Safety
    /// The left panel has `depth` times `rows` elements. Each row of the right one, at its place if it has places, has
    /// as many elements as the micro-kernel has columns. The tile can be read and written, and `rows` elements of
    /// `start`, and a tile of `add`, can be read unless they are null. If `start` is null, `rows` rows at `from` can be
    /// read.
    #[inline]
    pub(super) unsafe fn run(&self, tile: &Tile) {
        assert!(tile.columns <= self.columns, "a tile has too many columns");
        let height = &self.heights[tile.rows - 1];
        let run = match (tile.columns <= self.lanes, tile.places.is_null()) {
            (true, true) => height.narrow,
            (true, false) => height.narrow_at_places,
            (false, true) => height.wide,
            (false, false) => height.wide_at_places,
        };
        // SAFETY: upheld by the caller; `all` has checked that the machine has the instructions.
        unsafe { run(tile) }
    }
}

/// Prefetches an address into the caches, if it is somewhere in memory.
#[inline(always)]
pub(super) fn fetch(place: *const f32) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on caches.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}

/// How far ahead the left panel is fetched into the cache, in elements. The hardware stops at the end of a page.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 768;

/// Defines the micro-kernel of an instruction set, whose tile is `ROWS` rows of `VECTORS` vectors.
#[cfg(target_arch = "x86_64")]
macro_rules! vectors {
    ($name:ident, $features:literal, $lanes:literal, $load:ident, $store:ident, $fill:ident, $multiply_add:ident,
     $plus:ident, $max:ident, $min:ident, $some:ident, $load_some:ident, $store_some:ident) => {
        /// # Safety
        /// As for [`Micro::run`]; the machine has the instructions, and the tile has `ROWS` rows and no columns beyond
        /// `VECTORS` vectors.
        #[target_feature(enable = $features)]
        unsafe fn $name<const ROWS: usize, const VECTORS: usize, const AT_PLACES: bool>(tile: &Tile) {
            use std::arch::x86_64::*;
            let whole = tile.columns == VECTORS * $lanes;
            // The lanes of each vector that are in the tile.
            let some: [_; VECTORS] = std::array::from_fn(|v| $some(tile.columns.saturating_sub(v * $lanes)));
            // SAFETY: all offsets are within what the caller guarantees.
            unsafe {
                let mut sums = [[$fill(0.0); VECTORS]; ROWS];
                for (i, sums) in sums.iter_mut().enumerate() {
                    let row = tile.from.wrapping_add(i * tile.between);
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = match tile.start.is_null() {
                            false => $fill(*tile.start.add(i)),
                            true => $load_some(row.wrapping_add(v * $lanes), some[v]),
                        };
                    }
                }
                let (mut left, mut right) = (tile.left, tile.right);
                for l in 0..tile.depth {
                    if AT_PLACES {
                        right = tile.right.add(*tile.places.add(l));
                    }
                    fetch(left.wrapping_add(AHEAD));
                    if AT_PLACES {
                        // What the next tile reads.
                        fetch(right.wrapping_add(3 * VECTORS * $lanes));
                    }
                    let mut row = [$fill(0.0); VECTORS];
                    for (v, vector) in row.iter_mut().enumerate() {
                        *vector = $load(right.add(v * $lanes));
                    }
                    for (i, sums) in sums.iter_mut().enumerate() {
                        let factor = $fill(*left.add(i));
                        for (sum, vector) in sums.iter_mut().zip(row) {
                            *sum = $multiply_add(factor, vector, *sum);
                        }
                    }
                    left = left.add(ROWS);
                    if !AT_PLACES {
                        right = right.add(2 * $lanes);
                    }
                }
                if !tile.add.is_null() {
                    for (i, sums) in sums.iter_mut().enumerate() {
                        let row = tile.add.add(i * tile.stride);
                        for (v, sum) in sums.iter_mut().enumerate() {
                            *sum = $plus(*sum, $load_some(row.wrapping_add(v * $lanes), some[v]));
                        }
                    }
                }
                // If one operand is NaN, or both are zero, these instructions return the second. A limit of zero makes
                // negative zero positive; adding negative zero changes nothing.
                let (low, high) = ($fill(tile.low), $fill(tile.high));
                let zero = $fill(if tile.low == 0.0 { 0.0 } else { -0.0 });
                for (i, sums) in sums.iter().enumerate() {
                    let row = tile.out.add(i * tile.stride);
                    for (v, &sum) in sums.iter().enumerate() {
                        let sum = $plus($min(high, $max(low, sum)), zero);
                        match whole {
                            true => $store(row.add(v * $lanes), sum),
                            false => $store_some(row.wrapping_add(v * $lanes), some[v], sum),
                        }
                    }
                }
            }
        }
    };
}

/// The first lanes of vectors of an instruction set.
#[cfg(target_arch = "x86_64")]
pub(super) mod some {
    use std::arch::x86_64::*;

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn first_16(n: usize) -> __mmask16 {
        if n >= 16 { 0xffff } else { (1 << n) - 1 }
    }

    /// # Safety
    /// The lanes can be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn load_16(from: *const f32, lanes: __mmask16) -> __m512 {
        // SAFETY: by the caller.
        unsafe { _mm512_maskz_loadu_ps(lanes, from) }
    }

    /// # Safety
    /// The lanes can be written.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn store_16(to: *mut f32, lanes: __mmask16, x: __m512) {
        // SAFETY: by the caller.
        unsafe { _mm512_mask_storeu_ps(to, lanes, x) }
    }

    /// The products of pairs of bfloat16, added to sums.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bf16")]
    pub(in super::super) fn add_pairs(a: __m512, b: __m512, sums: __m512) -> __m512 {
        // SAFETY: the types have the same size, and all bits are valid in both.
        let [a, b] = unsafe {
            [
                std::mem::transmute::<__m512, __m512bh>(a),
                std::mem::transmute::<__m512, __m512bh>(b),
            ]
        };
        _mm512_dpbf16_ps(sums, a, b)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn first_8(n: usize) -> __m256i {
        let n = _mm256_set1_epi32(n.min(8) as i32);
        _mm256_cmpgt_epi32(n, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
    }

    /// # Safety
    /// The lanes can be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn load_8(from: *const f32, lanes: __m256i) -> __m256 {
        // SAFETY: by the caller.
        unsafe { _mm256_maskload_ps(from, lanes) }
    }

    /// # Safety
    /// The lanes can be written.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn store_8(to: *mut f32, lanes: __m256i, x: __m256) {
        // SAFETY: by the caller.
        unsafe { _mm256_maskstore_ps(to, lanes, x) }
    }
}

#[cfg(target_arch = "x86_64")]
use some::{add_pairs, first_8, first_16, load_8, load_16, store_8, store_16};

#[cfg(target_arch = "x86_64")]
vectors!(
    avx512,
    "avx512f",
    16,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    _mm512_fmadd_ps,
    _mm512_add_ps,
    _mm512_max_ps,
    _mm512_min_ps,
    first_16,
    load_16,
    store_16
);

#[cfg(target_arch = "x86_64")]
vectors!(
    avx512bf16,
    "avx512f,avx512bf16",
    16,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_set1_ps,
    add_pairs,
    _mm512_add_ps,
    _mm512_max_ps,
    _mm512_min_ps,
    first_16,
    load_16,
    store_16
);

#[cfg(target_arch = "x86_64")]
vectors!(
    avx2,
    "avx2,fma",
    8,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_set1_ps,
    _mm256_fmadd_ps,
    _mm256_add_ps,
    _mm256_max_ps,
    _mm256_min_ps,
    first_8,
    load_8,
    store_8
);

/// # Safety
/// As for [`Micro::run`]; the tile has `ROWS` rows and no columns beyond `VECTORS` times 4.
unsafe fn portable<const ROWS: usize, const VECTORS: usize, const AT_PLACES: bool>(tile: &Tile) {
    // SAFETY: by the caller.
    unsafe { by_numbers::<ROWS, VECTORS, AT_PLACES>(tile, |factor, x, sum| sum + factor * x) }
}

/// # Safety
/// As for [`portable`].
unsafe fn portable_pairs<const ROWS: usize, const VECTORS: usize, const AT_PLACES: bool>(tile: &Tile) {
    // SAFETY: by the caller.
    unsafe { by_numbers::<ROWS, VECTORS, AT_PLACES>(tile, super::pairs::add_products) }
}

/// Computes a tile number by number, with a function that adds the product of two elements to a sum.
///
/// # Safety
/// As for [`portable`].
#[inline(always)]
unsafe fn by_numbers<const ROWS: usize, const VECTORS: usize, const AT_PLACES: bool>(
    tile: &Tile,
    multiply_add: impl Fn(f32, f32, f32) -> f32,
) {
    const LANES: usize = 4;
    let columns = tile.columns;
    let mut sums = [[[0.0f32; LANES]; VECTORS]; ROWS];
    // SAFETY: all offsets are within what the caller guarantees.
    unsafe {
        for (i, sums) in sums.iter_mut().enumerate() {
            for (j, sum) in sums.as_flattened_mut()[..columns].iter_mut().enumerate() {
                *sum = match tile.start.is_null() {
                    true => *tile.from.add(i * tile.between + j),
                    false => *tile.start.add(i),
                };
            }
        }
        for l in 0..tile.depth {
            let place = if AT_PLACES { *tile.places.add(l) } else { l * 2 * LANES };
            let right = std::slice::from_raw_parts(tile.right.add(place), VECTORS * LANES);
            for (i, sums) in sums.iter_mut().enumerate() {
                let factor = *tile.left.add(l * ROWS + i);
                let sums = sums.as_flattened_mut().iter_mut();
                sums.zip(right)
                    .for_each(|(sum, x)| *sum = multiply_add(factor, *x, *sum));
            }
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, &sum) in sums.as_flattened()[..columns].iter().enumerate() {
                let sum = match tile.add.is_null() {
                    true => sum,
                    false => sum + *tile.add.add(i * tile.stride + j),
                };
                // Comparisons with NaN are false, so a NaN stays; of two zeros, the limit counts.
                let sum = if sum <= tile.low { tile.low } else { sum };
                *tile.out.add(i * tile.stride + j) = if sum > tile.high { tile.high } else { sum };
            }
        }
    }
}
