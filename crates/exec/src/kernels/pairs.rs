//! Pairs of bfloat16, of which a vector instruction adds two products at once to a sum in `f32`.
//!
//! A pair is kept as the 32 bits of an `f32`: the first number in the lower half, the second in the upper half. So pairs
//! are packed, copied and read by the code for `f32`, which moves elements without computing anything. A matrix of pairs
//! has half as many rows or columns, plus a zero at the end of an odd number.
//!
//! Numbers are rounded to the nearest bfloat16, ties to even; a NaN stays a NaN, an infinity an infinity, and a number
//! beyond the range becomes an infinity. As in the instruction, subnormal numbers count as zero, and so do subnormal
//! sums. Products of two bfloat16 are exact in `f32`, so beside the rounding of operands, sums have the same errors as
//! those of `f32`. The relative error of a number is at most 2⁻⁸ and that of a product at most 2⁻⁷ + 2⁻¹⁶
//! ([`Precision`](crate::Precision)).
#![allow(unsafe_code, reason = "vector instructions on checked slices")]

use super::micro::fetch;

/// True if the machine has instructions for pairs of bfloat16.
pub(super) fn is_in_hardware() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512bf16")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512f");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// The bits of the nearest bfloat16.
#[inline(always)]
fn rounded(x: f32) -> u32 {
    let bits = x.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    if magnitude > 0x7f80_0000 {
        // A quiet NaN.
        return bits >> 16 | 0x40;
    }
    if magnitude < 0x0080_0000 {
        return (bits ^ magnitude) >> 16;
    }
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

/// Two numbers as a pair.
#[inline(always)]
fn pair(first: f32, second: f32) -> f32 {
    f32::from_bits(rounded(second) << 16 | rounded(first))
}

/// Zero instead of a subnormal number.
#[inline(always)]
fn normal(x: f32) -> f32 {
    if x.is_subnormal() { 0.0f32.copysign(x) } else { x }
}

/// `sum` plus the products of two pairs, as the instruction computes it: first that of the second numbers.
#[inline(always)]
pub(super) fn add_products(a: f32, b: f32, sum: f32) -> f32 {
    let upper = |x: f32| normal(f32::from_bits(x.to_bits() & 0xffff_0000));
    let lower = |x: f32| normal(f32::from_bits(x.to_bits() << 16));
    let sum = normal(upper(a).mul_add(upper(b), normal(sum)));
    normal(lower(a).mul_add(lower(b), sum))
}

/// Writes the pairs of two rows of the same length; a missing second one has zeros.
pub(super) fn interleave(first: &[f32], second: Option<&[f32]>, out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_in_hardware() {
        // SAFETY: the machine has the instructions.
        return unsafe { wide::interleave(first, second, out) };
    }
    interleave_portable(first, second, out);
}

fn interleave_portable(first: &[f32], second: Option<&[f32]>, out: &mut [f32]) {
    match second {
        Some(second) => {
            let numbers = first.iter().zip(second);
            out.iter_mut().zip(numbers).for_each(|(o, (a, b))| *o = pair(*a, *b));
        }
        None => out.iter_mut().zip(first).for_each(|(o, a)| *o = pair(*a, 0.0)),
    }
}

/// Writes the pairs of rows that begin at these places, two after two, into rows of `out` that are `width` elements
/// apart: each of some runs, given by where they begin in a row of `out` and after the place, and their lengths.
pub(super) fn pack(elements: &[f32], places: &[usize], runs: &[(usize, usize, usize)], width: usize, out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_in_hardware() {
        // SAFETY: the machine has the instructions.
        return unsafe { wide::pack(elements, places, runs, width, out) };
    }
    pack_by(elements, places, runs, width, out, interleave_portable);
}

#[inline(always)]
fn pack_by(
    elements: &[f32],
    places: &[usize],
    runs: &[(usize, usize, usize)],
    width: usize,
    out: &mut [f32],
    write: impl Fn(&[f32], Option<&[f32]>, &mut [f32]),
) {
    // The next panel begins where the last run ends.
    let next = runs.last().map_or(0, |(_, place, length)| place + length);
    for (two, out) in places.chunks(2).zip(out.chunks_mut(width)) {
        two.iter().for_each(|place| {
            fetch(elements.as_ptr().wrapping_add(place + next));
            fetch(elements.as_ptr().wrapping_add(place + next + 16));
        });
        for &(at, begin, length) in runs {
            let row = |place: &usize| &elements[place + begin..][..length];
            write(row(&two[0]), two.get(1).map(row), &mut out[at..][..length]);
        }
    }
}

/// Writes the pairs of neighbours in a row; the last number of an odd row has a zero beside it.
pub(super) fn join(row: &[f32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if is_in_hardware() {
        // SAFETY: the machine has the instructions.
        return unsafe { wide::join(row, out) };
    }
    join_portable(row, out);
}

fn join_portable(row: &[f32], out: &mut [f32]) {
    let (pairs, rest) = row.as_chunks::<2>();
    out.iter_mut().zip(pairs).for_each(|(o, [a, b])| *o = pair(*a, *b));
    if let ([last], Some(o)) = (rest, out.get_mut(pairs.len())) {
        *o = pair(*last, 0.0);
    }
}

/// A matrix of contiguous rows of `length` numbers, with pairs of neighbours in a row.
pub(super) fn of_rows(matrix: &[f32], length: usize) -> Vec<f32> {
    let half = length.div_ceil(2);
    let mut out = vec![0.0; matrix.len() / length.max(1) * half];
    if length.is_multiple_of(2) {
        join(matrix, &mut out);
        return out;
    }
    let rows = matrix.chunks_exact(length.max(1));
    rows.zip(out.chunks_exact_mut(half.max(1)))
        .for_each(|(row, out)| join(row, out));
    out
}

/// A matrix of contiguous rows of `length` numbers, with pairs of numbers above each other.
pub(super) fn of_columns(matrix: &[f32], length: usize) -> Vec<f32> {
    let rows = matrix.len() / length.max(1);
    let mut out = vec![0.0; rows.div_ceil(2) * length];
    let pairs = matrix.chunks(2 * length.max(1));
    for (pair, out) in pairs.zip(out.chunks_exact_mut(length.max(1))) {
        let (first, second) = pair.split_at(length);
        interleave(first, (!second.is_empty()).then_some(second), out);
    }
    out
}

/// Windows of `size` elements of `depth` channels each, with pairs of channels.
pub(super) fn of_windows(windows: &[f32], depth: usize, size: usize) -> Vec<f32> {
    let own = (depth * size).max(1);
    windows.chunks_exact(own).flat_map(|w| of_columns(w, size)).collect()
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// The first `n` of 16 lanes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn lanes(n: usize) -> __mmask16 {
        if n >= 16 { 0xffff } else { (1 << n) - 1 }
    }

    /// The lanes of `a` and `b` as pairs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    fn pairs(a: __m512, b: __m512) -> __m512i {
        // The bfloat16 of `a` are in the lower half: lanes 0 and 16, 1 and 17, and so on.
        let order = _mm512_setr_epi32(
            0x100000, 0x110001, 0x120002, 0x130003, 0x140004, 0x150005, 0x160006, 0x170007, 0x180008, 0x190009,
            0x1a000a, 0x1b000b, 0x1c000c, 0x1d000d, 0x1e000e, 0x1f000f,
        );
        // SAFETY: the types have the same size, and all bits are valid in both.
        let both = unsafe { std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(b, a)) };
        _mm512_permutexvar_epi16(order, both)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) fn interleave(first: &[f32], second: Option<&[f32]>, out: &mut [f32]) {
        let n = out.len().min(first.len());
        let n = second.map_or(n, |second| n.min(second.len()));
        for at in (0..n).step_by(16) {
            let some = lanes(n - at);
            // SAFETY: these lanes are inside the slices.
            unsafe {
                let a = _mm512_maskz_loadu_ps(some, first.as_ptr().add(at));
                let b = match second {
                    Some(second) => _mm512_maskz_loadu_ps(some, second.as_ptr().add(at)),
                    None => _mm512_setzero_ps(),
                };
                _mm512_mask_storeu_epi32(out.as_mut_ptr().add(at).cast(), some, pairs(a, b));
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) fn pack(
        elements: &[f32],
        places: &[usize],
        runs: &[(usize, usize, usize)],
        width: usize,
        out: &mut [f32],
    ) {
        super::pack_by(elements, places, runs, width, out, |a, b, out| interleave(a, b, out));
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    pub(super) fn join(row: &[f32], out: &mut [f32]) {
        let n = row.len().min(2 * out.len());
        for at in (0..n).step_by(32) {
            let left = n - at;
            // SAFETY: these lanes are inside the slices.
            unsafe {
                let from = row.as_ptr().add(at);
                let a = _mm512_maskz_loadu_ps(lanes(left), from);
                let b = _mm512_maskz_loadu_ps(lanes(left.saturating_sub(16)), from.wrapping_add(16));
                let both = std::mem::transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(b, a));
                _mm512_mask_storeu_epi32(out.as_mut_ptr().add(at / 2).cast(), lanes(left.div_ceil(2)), both);
            }
        }
    }
}

#[cfg(test)]
#[path = "pairs_tests.rs"]
mod tests;
