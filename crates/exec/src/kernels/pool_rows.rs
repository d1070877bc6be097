//! The largest elements of short windows of rows, in vectors of 16: the rows that a window covers are folded in registers,
//! and then the elements along them, without a line in memory between.
#![allow(unsafe_code, reason = "vectors reach beyond rows, in lanes that are not read")]

use std::arch::x86_64::*;

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

/// Writes the largest element of each window, in the rows of a channel that begin at `starts`; NaN if there is one, and
/// minus infinity if there is none. False if windows have another form, or the machine lacks the instructions.
pub(super) fn largest(along: Along, channel: &[f32], starts: &[usize], out: &mut [f32]) -> bool {
    if !std::arch::is_x86_feature_detected!("avx512f") {
        return false;
    }
    let is_inside = |start: &usize| {
        let end = start.checked_add(along.width);
        end.is_some_and(|end| end <= channel.len())
    };
    assert!(starts.iter().all(is_inside), "a row is outside its channel");
    let run = match (along.stride, along.kernel) {
        (1, 1) => row::<1, 1>,
        (1, 2) => row::<1, 2>,
        (1, 3) => row::<1, 3>,
        (2, 2) => row::<2, 2>,
        (2, 3) => row::<2, 3>,
        (4, 4) => row::<4, 4>,
        _ => return false,
    };
    // SAFETY: the machine has the instructions, and rows are inside the channel.
    unsafe { run(along, channel, starts, out) };
    true
}

/// The lanes before lane `n`.
fn before(n: usize) -> __mmask16 {
    ((1u32 << n.min(16)) - 1) as __mmask16
}

/// # Safety
/// The machine has the instructions, and each row has `along.width` elements of the channel.
#[target_feature(enable = "avx512f")]
unsafe fn row<const STRIDE: usize, const KERNEL: usize>(
    along: Along,
    channel: &[f32],
    starts: &[usize],
    out: &mut [f32],
) {
    let least = _mm512_set1_ps(f32::NEG_INFINITY);
    // Windows at distance 1 are in a vector for each of their elements, others in vectors one after the other.
    let step = if STRIDE == 1 { 1 } else { 16 };
    let count = out.len();
    for first in (0..count).step_by(16) {
        // Places in the padded row.
        let places: [usize; KERNEL] = std::array::from_fn(|n| first * STRIDE + n * step);
        let inside = places.map(|place| {
            let end = (along.pad + along.width).saturating_sub(place);
            before(end) & !before(along.pad.saturating_sub(place))
        });
        let mut all = [least; KERNEL];
        let mut nan: __mmask16 = 0;
        for &start in starts {
            for n in 0..KERNEL {
                let from = channel.as_ptr().wrapping_add(start + places[n]).wrapping_sub(along.pad);
                // SAFETY: the lanes that are read are elements of the row.
                let x = unsafe { _mm512_mask_loadu_ps(least, inside[n], from) };
                nan |= _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(x, x);
                all[n] = _mm512_max_ps(all[n], x);
            }
        }
        let to = &mut out[first..];
        if nan != 0 {
            // One of the elements, or one behind them that does not count.
            for (i, to) in to.iter_mut().take(16).enumerate() {
                *to = window(along, channel, starts, first + i);
            }
            continue;
        }
        let result = match (STRIDE, KERNEL) {
            (1, _) => all[1..].iter().fold(all[0], |a, b| _mm512_max_ps(a, *b)),
            _ => {
                let largest_of_two = |a, b| {
                    let (even, odd) = halves(a, b);
                    _mm512_max_ps(even, odd)
                };
                let (even, _) = halves(all[0], all[1]);
                let two = largest_of_two(all[0], all[1]);
                match all.get(2) {
                    None => two,
                    Some(third) if STRIDE == 4 => largest_of_two(two, largest_of_two(*third, all[3])),
                    Some(third) => {
                        let (even, third) = (_mm512_castps_si512(even), _mm512_castps_si512(*third));
                        _mm512_max_ps(two, _mm512_castsi512_ps(_mm512_alignr_epi32::<1>(third, even)))
                    }
                }
            }
        };
        // SAFETY: `to` has as many elements as the mask has lanes.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), before(to.len()), result) };
    }
}

/// The same for one window.
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
