//! The largest elements and the sums of short windows of rows, in vectors: the rows that a window covers are
//! folded in registers, and then the elements along them, without a line in memory between.
#![allow(unsafe_code, reason = "vectors reach beyond rows, in lanes that are not read")]

use std::ops::Range;

use smallvec::SmallVec;

use super::masked::{Narrow, Vector, Wide};

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
    let is_inside = |start: &usize| {
        let end = start.checked_add(along.width);
        end.is_some_and(|end| end <= channel.len())
    };
    assert!(lines.starts.iter().all(is_inside), "a row is outside its channel");
    let Some(&run) = runs::<SUM>(along).first() else {
        return false;
    };
    // SAFETY: the machine has the instructions, and rows are inside the channel.
    unsafe { run(along, channel, lines, out) };
    true
}

/// A function for the rows of a channel.
///
/// # Safety
/// The machine has the instructions, and each row has `along.width` elements of the channel.
type Run = unsafe fn(Along, &[f32], Lines<'_>, &mut [f32]);

/// The functions for such windows, one for each instruction set of this machine, the fastest first.
fn runs<const SUM: bool>(along: Along) -> SmallVec<[Run; 2]> {
    match (along.stride, along.kernel) {
        (1, 1) => all::<SUM, 1, 1>(),
        (1, 2) => all::<SUM, 1, 2>(),
        (1, 3) => all::<SUM, 1, 3>(),
        (2, 2) => all::<SUM, 2, 2>(),
        (2, 3) => all::<SUM, 2, 3>(),
        (4, 4) => all::<SUM, 4, 4>(),
        _ => SmallVec::new(),
    }
}

fn all<const SUM: bool, const STRIDE: usize, const KERNEL: usize>() -> SmallVec<[Run; 2]> {
    let wide = std::arch::is_x86_feature_detected!("avx512f").then_some(avx512::<SUM, STRIDE, KERNEL> as Run);
    let has = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    let narrow = has.then_some(avx2::<SUM, STRIDE, KERNEL> as Run);
    wide.into_iter().chain(narrow).collect()
}

/// The function of an instruction set.
macro_rules! instructions {
    ($name:ident, $features:literal, $vector:ty) => {
        #[target_feature(enable = $features)]
        unsafe fn $name<const SUM: bool, const STRIDE: usize, const KERNEL: usize>(
            along: Along,
            channel: &[f32],
            lines: Lines<'_>,
            out: &mut [f32],
        ) {
            // SAFETY: by the caller.
            unsafe { rows::<$vector, SUM, STRIDE, KERNEL>(along, channel, lines, out) }
        }
    };
}
instructions!(avx512, "avx512f", Wide);
instructions!(avx2, "avx2,fma", Narrow);

/// The sum, or the larger one.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn both<V: Vector, const SUM: bool>(a: V, b: V) -> V {
    // SAFETY: by the caller.
    unsafe { if SUM { a.plus(b) } else { a.max(b) } }
}

/// Folds neighbours in two vectors.
///
/// # Safety
/// As for [`Vector`].
#[inline(always)]
unsafe fn neighbours<V: Vector, const SUM: bool>(a: V, b: V) -> V {
    // SAFETY: by the caller.
    unsafe {
        let (even, odd) = a.halves(b);
        both::<V, SUM>(even, odd)
    }
}

/// # Safety
/// As for [`Run`].
#[inline(always)]
unsafe fn rows<V: Vector, const SUM: bool, const STRIDE: usize, const KERNEL: usize>(
    along: Along,
    channel: &[f32],
    lines: Lines<'_>,
    out: &mut [f32],
) {
    // Windows at distance 1 are in a vector for each of their elements, others in vectors one after the other.
    let step = if STRIDE == 1 { 1 } else { V::LANES };
    let count = out.len() / lines.ranges.len().max(1);
    // SAFETY: the machine has the instructions. The lanes that are read are elements of a row, or of the divisors, and
    // those that are written are elements of `to`.
    unsafe {
        let none = V::splat(if SUM { 0.0 } else { f32::NEG_INFINITY });
        for first in (0..count).step_by(V::LANES) {
            // Places in the padded row.
            let places: [usize; KERNEL] = std::array::from_fn(|n| first * STRIDE + n * step);
            let mut inside = [V::lanes(0, 0); KERNEL];
            for (inside, &place) in inside.iter_mut().zip(&places) {
                let end = (along.pad + along.width).saturating_sub(place);
                *inside = V::lanes(along.pad.saturating_sub(place), end);
            }
            let from = places.map(|place| channel.as_ptr().wrapping_add(place).wrapping_sub(along.pad));
            let written = V::lanes(0, count - first);
            for (at, (range, to)) in lines.ranges.iter().zip(out.chunks_exact_mut(count)).enumerate() {
                let mut all = [none; KERNEL];
                let mut nan = V::lanes(0, 0);
                for &start in &lines.starts[range.clone()] {
                    for n in 0..KERNEL {
                        let x = none.load_or(from[n].wrapping_add(start), inside[n]);
                        if !SUM {
                            nan = V::either(nan, x.nan());
                        }
                        all[n] = both::<V, SUM>(all[n], x);
                    }
                }
                let to = &mut to[first..];
                if !SUM && V::any(nan) {
                    // One of the elements, or one behind them that does not count.
                    for (i, to) in to.iter_mut().take(V::LANES).enumerate() {
                        *to = window(along, channel, &lines.starts[range.clone()], first + i);
                    }
                    continue;
                }
                let mut result = all[0];
                if STRIDE == 1 {
                    for next in &all[1..] {
                        result = both::<V, SUM>(result, *next);
                    }
                } else {
                    result = neighbours::<V, SUM>(all[0], all[1]);
                    if STRIDE == 4 {
                        result = neighbours::<V, SUM>(result, neighbours::<V, SUM>(all[2], all[3]));
                    } else if KERNEL == 3 {
                        let (even, _) = all[0].halves(all[1]);
                        result = both::<V, SUM>(result, even.shifted(all[2]));
                    }
                }
                if let Some((rows, columns)) = lines.divisors {
                    let columns = &columns[first..count][..to.len().min(V::LANES)];
                    let columns = V::load(columns.as_ptr(), written);
                    result = result.over(V::splat(rows[at]).times(columns));
                }
                result.store(to.as_mut_ptr(), written);
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_folded_with_each_instruction_set() {
        let mut checked = 0;
        for (stride, kernel) in [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (4, 4)] {
            for width in [1, 2, 5, 7, 8, 9, 16, 17, 33, 70] {
                for pad in 0..kernel {
                    let along = Along {
                        width,
                        pad,
                        kernel,
                        stride,
                    };
                    // The last window may end after the row.
                    let count = (width + pad).div_ceil(stride);
                    let mut channel: Vec<f32> = (0..3 * width).map(|i| (i * 7919 % 101) as f32 - 50.0).collect();
                    if width % 2 == 1 {
                        channel[width / 2] = f32::NAN;
                    }
                    let (starts, ranges) = ([0, width, 2 * width], [0..1, 0..2, 1..3]);
                    let lines = Lines {
                        starts: &starts,
                        ranges: &ranges,
                        divisors: None,
                    };
                    for (sum, runs) in [(false, runs::<false>(along)), (true, runs::<true>(along))] {
                        for run in runs {
                            let mut out = vec![7.0; 3 * count];
                            // SAFETY: `all` has checked that the machine has the instructions, and the channel has
                            // three rows.
                            unsafe { run(along, &channel, lines, &mut out) };
                            for (i, &found) in out.iter().enumerate() {
                                let rows = &starts[ranges[i / count].clone()];
                                let expected = match sum {
                                    true => total(along, &channel, rows, i % count),
                                    false => window(along, &channel, rows, i % count),
                                };
                                // Sums are of small integers, and exact in any order.
                                let same = found == expected || (found.is_nan() && expected.is_nan());
                                assert!(
                                    same,
                                    "{stride} {kernel} {width} {pad} {sum} {i}: {found}, not {expected}"
                                );
                                checked += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(
            checked > 1000 || !std::arch::is_x86_feature_detected!("avx2"),
            "{checked}"
        );
    }

    fn total(along: Along, channel: &[f32], starts: &[usize], at: usize) -> f32 {
        let places = (0..along.kernel).filter_map(|k| (at * along.stride + k).checked_sub(along.pad));
        let inside = places.filter(|place| *place < along.width);
        inside
            .flat_map(|place| starts.iter().map(move |start| channel[start + place]))
            .sum()
    }
}
