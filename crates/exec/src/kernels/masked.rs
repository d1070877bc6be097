//! Vectors of numbers of which some lanes are left out, for each instruction set: rows of an image are read and written
//! where they are, although vectors begin before them or end behind them.
#![allow(unsafe_code, reason = "vectors are read and written through pointers")]

use std::arch::x86_64::*;

/// A vector of `f32`.
///
/// # Safety
/// Every function needs a machine with the instructions of the set. Pointers need only be valid for the lanes that are
/// read or written.
pub(super) trait Vector: Copy {
    /// The number of lanes.
    const LANES: usize;
    /// The number of registers.
    const REGISTERS: usize;
    /// Some of the lanes.
    type Some: Copy;

    /// The lanes before lane `end`, except those before lane `start`.
    unsafe fn lanes(start: usize, end: usize) -> Self::Some;
    /// The lanes that are in either.
    unsafe fn either(a: Self::Some, b: Self::Some) -> Self::Some;
    /// Whether there is a lane.
    unsafe fn any(lanes: Self::Some) -> bool;
    /// A number in each lane.
    unsafe fn splat(x: f32) -> Self;
    /// Some lanes from memory, and zero in the others.
    unsafe fn load(from: *const f32, lanes: Self::Some) -> Self;
    /// Some lanes from memory, and those of a vector in the others.
    unsafe fn load_or(self, from: *const f32, lanes: Self::Some) -> Self;
    /// Writes some lanes.
    unsafe fn store(self, to: *mut f32, lanes: Self::Some);
    /// The sum.
    unsafe fn plus(self, other: Self) -> Self;
    /// The product.
    unsafe fn times(self, other: Self) -> Self;
    /// The quotient.
    unsafe fn over(self, other: Self) -> Self;
    /// The larger numbers; those of `other` if either is NaN.
    unsafe fn max(self, other: Self) -> Self;
    /// `self * factor + sum`, rounded once.
    unsafe fn fused(self, factor: Self, sum: Self) -> Self;
    /// The lanes that are NaN.
    unsafe fn nan(self) -> Self::Some;
    /// The numbers within limits; a NaN stays, and of two zeros, the limit counts.
    unsafe fn limited(self, low: Self, high: Self) -> Self;
    /// The elements at even places of two vectors, and those at odd places.
    unsafe fn halves(self, next: Self) -> (Self, Self);
    /// The lanes from the second on, and then the first one of `next`.
    unsafe fn shifted(self, next: Self) -> Self;
}

/// A vector of AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Wide(__m512);

impl Vector for Wide {
    const LANES: usize = 16;
    const REGISTERS: usize = 32;
    type Some = __mmask16;

    #[inline(always)]
    unsafe fn lanes(start: usize, end: usize) -> __mmask16 {
        let before = |n: usize| ((1u32 << n.min(16)) - 1) as __mmask16;
        before(end) & !before(start)
    }

    #[inline(always)]
    unsafe fn either(a: __mmask16, b: __mmask16) -> __mmask16 {
        a | b
    }

    #[inline(always)]
    unsafe fn any(lanes: __mmask16) -> bool {
        lanes != 0
    }

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_set1_ps(x)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32, lanes: __mmask16) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_maskz_loadu_ps(lanes, from)) }
    }

    #[inline(always)]
    unsafe fn load_or(self, from: *const f32, lanes: __mmask16) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_mask_loadu_ps(self.0, lanes, from)) }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, lanes: __mmask16) {
        // SAFETY: by the caller.
        unsafe { _mm512_mask_storeu_ps(to, lanes, self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_add_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_mul_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn over(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_div_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_max_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn fused(self, factor: Self, sum: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Wide(_mm512_fmadd_ps(self.0, factor.0, sum.0)) }
    }

    #[inline(always)]
    unsafe fn nan(self) -> __mmask16 {
        // SAFETY: by the caller.
        unsafe { _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(self.0, self.0) }
    }

    #[inline(always)]
    unsafe fn limited(self, low: Self, high: Self) -> Self {
        // SAFETY: by the caller.
        unsafe {
            let is_low = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self.0, low.0);
            let x = _mm512_mask_mov_ps(self.0, is_low, low.0);
            let is_high = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(x, high.0);
            Wide(_mm512_mask_mov_ps(x, is_high, high.0))
        }
    }

    #[inline(always)]
    unsafe fn halves(self, next: Self) -> (Self, Self) {
        // SAFETY: by the caller.
        let (even, odd) = unsafe { super::lanes::wide::halves(self.0, next.0) };
        (Wide(even), Wide(odd))
    }

    #[inline(always)]
    unsafe fn shifted(self, next: Self) -> Self {
        // SAFETY: by the caller.
        unsafe {
            let (x, next) = (_mm512_castps_si512(self.0), _mm512_castps_si512(next.0));
            Wide(_mm512_castsi512_ps(_mm512_alignr_epi32::<1>(next, x)))
        }
    }
}

/// A vector of AVX2, with the products of FMA.
#[derive(Clone, Copy)]
pub(super) struct Narrow(__m256);

impl Vector for Narrow {
    const LANES: usize = 8;
    const REGISTERS: usize = 16;
    type Some = __m256i;

    #[inline(always)]
    unsafe fn lanes(start: usize, end: usize) -> __m256i {
        // SAFETY: by the caller.
        unsafe {
            let [start, end] = [start, end].map(|n| _mm256_set1_epi32(n.min(8) as i32));
            let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            _mm256_andnot_si256(_mm256_cmpgt_epi32(start, lane), _mm256_cmpgt_epi32(end, lane))
        }
    }

    #[inline(always)]
    unsafe fn either(a: __m256i, b: __m256i) -> __m256i {
        // SAFETY: by the caller.
        unsafe { _mm256_or_si256(a, b) }
    }

    #[inline(always)]
    unsafe fn any(lanes: __m256i) -> bool {
        // SAFETY: by the caller.
        unsafe { _mm256_testz_si256(lanes, lanes) == 0 }
    }

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(_mm256_set1_ps(x)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const f32, lanes: __m256i) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(_mm256_maskload_ps(from, lanes)) }
    }

    #[inline(always)]
    unsafe fn load_or(self, from: *const f32, lanes: __m256i) -> Self {
        // SAFETY: by the caller.
        unsafe {
            let x = _mm256_maskload_ps(from, lanes);
            Narrow(_mm256_blendv_ps(self.0, x, _mm256_castsi256_ps(lanes)))
        }
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut f32, lanes: __m256i) {
        // SAFETY: by the caller. Stores with a mask are slow.
        unsafe {
            match _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) {
                0xff => _mm256_storeu_ps(to, self.0),
                _ => _mm256_maskstore_ps(to, lanes, self.0),
            }
        }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(_mm256_add_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn times(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(_mm256_mul_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn over(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(_mm256_div_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(_mm256_max_ps(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn fused(self, factor: Self, sum: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(_mm256_fmadd_ps(self.0, factor.0, sum.0)) }
    }

    #[inline(always)]
    unsafe fn nan(self) -> __m256i {
        // SAFETY: by the caller.
        unsafe { _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(self.0, self.0)) }
    }

    #[inline(always)]
    unsafe fn limited(self, low: Self, high: Self) -> Self {
        // SAFETY: by the caller.
        unsafe {
            let x = _mm256_blendv_ps(self.0, low.0, _mm256_cmp_ps::<_CMP_LE_OQ>(self.0, low.0));
            Narrow(_mm256_blendv_ps(x, high.0, _mm256_cmp_ps::<_CMP_GT_OQ>(x, high.0)))
        }
    }

    #[inline(always)]
    unsafe fn halves(self, next: Self) -> (Self, Self) {
        // SAFETY: by the caller.
        let (even, odd) = unsafe { super::lanes::narrow::halves(self.0, next.0) };
        (Narrow(even), Narrow(odd))
    }

    #[inline(always)]
    unsafe fn shifted(self, next: Self) -> Self {
        // SAFETY: by the caller.
        unsafe { Narrow(super::lanes::narrow::shifted(self.0, _mm256_cvtss_f32(next.0))) }
    }
}
