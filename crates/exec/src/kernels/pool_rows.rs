//! The largest elements and the sums of short windows of rows, in vectors of 16: the rows that a window covers are
//! folded in registers, and then the elements along them, without a line in memory between.
#![allow(unsafe_code, reason = "vectors reach beyond rows, in lanes that are not read")]

use std::arch::x86_64::*;
use std::ops::Range;

use super::lanes::wide::halves;

/// Windows along a row.
#[derive(Clone, Copy)]
pub(super) struct Along {
    /// Elements of the row.
    pub(super) width: usize,
    /// Padding before it.
    pub(super) pad: usize,
    /// Elements of a window, which are next to each other.
    pub(super) kernel: usize,
    /// The distance of windows.
    pub(super) stride: usize,
}

/// What the windows of a channel cover.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    /// Where rows of the channel begin.
    pub(super) starts: &'a [usize],
    /// Those that each row of windows covers.
    pub(super) ranges: &'a [Range<usize>],
    /// What results are divided by: the product of a number for each row, and one for each column.
    pub(super) divisors: Option<(&'a [f32], &'a [f32])>,
}

/// Writes the largest element of each window of a channel, or, with `SUM`, the sum of its elements. The largest is NaN
/// if there is one, and minus infinity if there is none. False if windows have another form, or the machine lacks the
/// instructions.
///
/// # Panics
/// If a row is outside the channel, or there are too few divisors.
pub(super) fn fold<const SUM: bool>(along: Along, channel: &[f32], lines: Lines<'_>, out: &mut [f32]) -> bool {
    if !std::arch::is_x86_feature_detected!("avx512f") {
        return false;
    }
    let is_inside = |start: &usize| {
        let end = start.checked_add(along.width);
        end.is_some_and(|end| end <= channel.len())
    };
    assert!(lines.starts.iter().all(is_inside), "a row is outside its channel");
    let run = match (along.stride, along.kernel) {
        (1, 1) => rows::<SUM, 1, 1>,
        (1, 2) => rows::<SUM, 1, 2>,
        (1, 3) => rows::<SUM, 1, 3>,
        (2, 2) => rows::<SUM, 2, 2>,
        (2, 3) => rows::<SUM, 2, 3>,
        (4, 4) => rows::<SUM, 4, 4>,
        _ => return false,
    };
    // SAFETY: the machine has the instructions, and rows are inside the channel.
    unsafe { run(along, channel, lines, out) };
    true
}

/// The lanes before lane `n`.
fn before(n: usize) -> __mmask16 {
    ((1u32 << n.min(16)) - 1) as __mmask16
}

/// The sum, or the larger one.
#[inline]
#[target_feature(enable = "avx512f")]
fn both<const SUM: bool>(a: __m512, b: __m512) -> __m512 {
    if SUM { _mm512_add_ps(a, b) } else { _mm512_max_ps(a, b) }
}

/// Folds neighbours in two vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn neighbours<const SUM: bool>(a: __m512, b: __m512) -> __m512 {
    let (even, odd) = halves(a, b);
    both::<SUM>(even, odd)
}

/// # Safety
/// The machine has the instructions, and each row has `along.width` elements of the channel.
#[target_feature(enable = "avx512f")]
unsafe fn rows<const SUM: bool, const STRIDE: usize, const KERNEL: usize>(
    along: Along,
    channel: &[f32],
    lines: Lines<'_>,
    out: &mut [f32],
) {
    let none = _mm512_set1_ps(if SUM { 0.0 } else { f32::NEG_INFINITY });
    // Windows at distance 1 are in a vector for each of their elements, others in vectors one after the other.
    let step = if STRIDE == 1 { 1 } else { 16 };
    let count = out.len() / lines.ranges.len().max(1);
    for first in (0..count).step_by(16) {
        // Places in the padded row.
        let places: [usize; KERNEL] = std::array::from_fn(|n| first * STRIDE + n * step);
        let inside = places.map(|place| {
            let end = (along.pad + along.width).saturating_sub(place);
            before(end) & !before(along.pad.saturating_sub(place))
        });
        let from = places.map(|place| channel.as_ptr().wrapping_add(place).wrapping_sub(along.pad));
        let written = before(count - first);
        for (at, (range, to)) in lines.ranges.iter().zip(out.chunks_exact_mut(count)).enumerate() {
            let mut all = [none; KERNEL];
            let mut nan: __mmask16 = 0;
            for &start in &lines.starts[range.clone()] {
                for n in 0..KERNEL {
                    // SAFETY: the lanes that are read are elements of the row.
                    let x = unsafe { _mm512_mask_loadu_ps(none, inside[n], from[n].wrapping_add(start)) };
                    if !SUM {
                        nan |= _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
                    }
                    all[n] = both::<SUM>(all[n], x);
                }
            }
            let to = &mut to[first..];
            if nan != 0 {
                // One of the elements, or one behind them that does not count.
                for (i, to) in to.iter_mut().take(16).enumerate() {
                    *to = window(along, channel, &lines.starts[range.clone()], first + i);
                }
                continue;
            }
            let mut result = all[0];
            if STRIDE == 1 {
                for next in &all[1..] {
                    result = both::<SUM>(result, *next);
                }
            } else {
                result = neighbours::<SUM>(all[0], all[1]);
                if STRIDE == 4 {
                    result = neighbours::<SUM>(result, neighbours::<SUM>(all[2], all[3]));
                } else if KERNEL == 3 {
                    let (even, _) = halves(all[0], all[1]);
                    let (even, third) = (_mm512_castps_si512(even), _mm512_castps_si512(all[2]));
                    result = both::<SUM>(result, _mm512_castsi512_ps(_mm512_alignr_epi32::<1>(third, even)));
                }
            }
            if let Some((rows, columns)) = lines.divisors {
                let columns = &columns[first..count][..to.len().min(16)];
                // SAFETY: `columns` has as many elements as the mask has lanes.
                let columns = unsafe { _mm512_maskz_loadu_ps(written, columns.as_ptr()) };
                result = _mm512_div_ps(result, _mm512_mul_ps(_mm512_set1_ps(rows[at]), columns));
            }
            // SAFETY: `to` has as many elements as the mask has lanes.
            unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), written, result) };
        }
    }
}

/// The largest element of one window.
fn window(along: Along, channel: &[f32], starts: &[usize], at: usize) -> f32 {
    let places = (0..along.kernel).filter_map(|k| (at * along.stride + k).checked_sub(along.pad));
    let elements = places
        .filter(|place| *place < along.width)
        .flat_map(|place| starts.iter().map(move |start| channel[start + place]));
    elements.fold(
        f32::NEG_INFINITY,
        |all, x| if all > x || all.is_nan() { all } else { x },
    )
}
