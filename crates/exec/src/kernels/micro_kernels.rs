//! The micro-kernels themselves: one function for each instruction set, generic over the height and width of a tile.
#![allow(unsafe_code, reason = "micro-kernels use vector instructions on raw pointers")]

use super::micro::Tile;
#[cfg(target_arch = "x86_64")]
use super::micro::fetch;

/// How far ahead the left panel is fetched into the cache, in elements. The hardware stops at the end of a page.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 768;

/// How far ahead the right panel is fetched, which comes from a second-level cache.
#[cfg(target_arch = "x86_64")]
const AHEAD_RIGHT: usize = 512;

/// Defines the micro-kernel of an instruction set, whose tile is `ROWS` rows of `VECTORS` vectors.
#[cfg(target_arch = "x86_64")]
macro_rules! vectors {
    ($name:ident, $features:literal, $lanes:literal, $load:ident, $store:ident, $fill:ident, $multiply_add:ident,
     $plus:ident, $max:ident, $min:ident, $some:ident, $load_some:ident, $store_some:ident) => {
        /// # Safety
        /// As for [`Micro::run`](super::micro::Micro::run); the machine has the instructions, and the tile has
        /// `ROWS` rows and no columns beyond `VECTORS` vectors.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const ROWS: usize, const VECTORS: usize, const AT_PLACES: bool>(tile: &Tile) {
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
                    } else {
                        for v in 0..VECTORS {
                            fetch(right.wrapping_add(AHEAD_RIGHT + v * $lanes));
                        }
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
/// As for [`Micro::run`](super::micro::Micro::run); the tile has `ROWS` rows and no columns beyond `VECTORS` times 4.
pub(super) unsafe fn portable<const ROWS: usize, const VECTORS: usize, const AT_PLACES: bool>(tile: &Tile) {
    // SAFETY: by the caller.
    unsafe { by_numbers::<ROWS, VECTORS, AT_PLACES>(tile, |factor, x, sum| sum + factor * x) }
}

/// # Safety
/// As for [`portable`].
pub(super) unsafe fn portable_pairs<const ROWS: usize, const VECTORS: usize, const AT_PLACES: bool>(tile: &Tile) {
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
