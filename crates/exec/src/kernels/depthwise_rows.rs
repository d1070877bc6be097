//! Windows of 3 by 3 and 5 by 5 on one channel, in vectors: rows are read from the image as they are, with masks where
//! they begin and end, and results are written where they belong.
//!
//! At distance 1, each row of the image is read once for each column of the window, and added to all rows of results
//! that it belongs to, whose sums stay in registers, unless there are so few rows that most of this would be for rows
//! outside the result. At distance 2, even and odd elements are parted in registers.
//! Padding beside a row counts as zeros, which are multiplied like other elements; rows of padding are left out.
#![allow(unsafe_code, reason = "vectors are read with masks at the edges of an image")]

use smallvec::SmallVec;

use super::masked::{Narrow, Vector, Wide};
use super::window::Window;

/// Elements of an image that stays in a first-level cache. A few columns of all rows are computed at a time, and what
/// is beside them in the rows of a larger image would be read again from farther away.
const NEAR: usize = 8 << 10;

/// The windows of a channel.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    /// Rows and columns of the image.
    input: [usize; 2],
    /// Those of the result.
    output: [usize; 2],
    pad: [usize; 2],
    /// The distance of rows of windows.
    down: usize,
    run: Run,
}

/// A function for the channels of an image.
///
/// # Safety
/// The machine has the instructions, and the image and the result have the sizes of the windows.
type Run = unsafe fn(&Rows, &Channel<'_>, &mut [f32]);

/// What is computed for a channel.
#[derive(Clone, Copy)]
pub(super) struct Channel<'a> {
    pub(super) image: &'a [f32],
    pub(super) weights: &'a [f32],
    /// The initial value of sums.
    pub(super) start: f32,
    /// Smaller sums become the first, larger ones the second.
    pub(super) limits: (f32, f32),
}

/// The functions of an instruction set, for windows at distance 1 and 2.
macro_rules! instructions {
    ($name:ident, $features:literal, $vector:ty) => {
        #[target_feature(enable = $features)]
        unsafe fn $name<const K: usize, const DISTANCE: usize>(rows: &Rows, channel: &Channel<'_>, out: &mut [f32]) {
            // SAFETY: by the caller.
            unsafe {
                match DISTANCE {
                    1 => at_distance_1::<$vector, K>(rows, channel, out),
                    _ => at_distance_2::<$vector, K>(rows, channel, out),
                }
            }
        }
    };
}
instructions!(avx512, "avx512f", Wide);
instructions!(avx2, "avx2,fma", Narrow);

/// The functions for every instruction set of this machine, for windows of this size at this distance, the fastest
/// first.
fn all<const K: usize, const DISTANCE: usize>() -> impl Iterator<Item = Run> {
    let wide = std::arch::is_x86_feature_detected!("avx512f").then_some(avx512::<K, DISTANCE> as Run);
    let has = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    let narrow = has.then_some(avx2::<K, DISTANCE> as Run);
    wide.into_iter().chain(narrow)
}

impl Rows {
    /// `None` if windows have another form, the image is large, or the machine lacks the instructions.
    pub(super) fn of(window: &Window) -> Option<Rows> {
        Rows::all(window).first().copied()
    }

    /// The same for every instruction set of this machine, the fastest first.
    fn all(window: &Window) -> SmallVec<[Rows; 2]> {
        let one = |list: [usize; 3]| list[0] == 1;
        let is_plane = one(window.input) && one(window.output) && one(window.kernel) && window.pad[0] == 0;
        if !is_plane || window.input_size() > NEAR {
            return SmallVec::new();
        }
        let two = |list: [usize; 3]| [list[1], list[2]];
        let runs: SmallVec<[Run; 2]> = match (two(window.kernel), two(window.stride), two(window.dilation)) {
            ([3, 3], [_, 1], [1, 1]) => all::<3, 1>().collect(),
            ([5, 5], [_, 1], [1, 1]) => all::<5, 1>().collect(),
            ([3, 3], [_, 2], [1, 1]) => all::<3, 2>().collect(),
            ([5, 5], [_, 2], [1, 1]) => all::<5, 2>().collect(),
            _ => SmallVec::new(),
        };
        let rows = |run| Rows {
            input: two(window.input),
            output: two(window.output),
            pad: two(window.pad),
            down: window.stride[1],
            run,
        };
        runs.into_iter().map(rows).collect()
    }

    /// Writes the sums of all windows.
    ///
    /// # Panics
    /// If the image, the weights or the result have another size.
    pub(super) fn convolve(&self, channel: &Channel<'_>, out: &mut [f32]) {
        let size = |[rows, columns]: [usize; 2]| rows * columns;
        assert_eq!(channel.image.len(), size(self.input), "the image has another size");
        assert_eq!(out.len(), size(self.output), "the result has another size");
        // SAFETY: `all` has checked that the machine has the instructions, and the sizes are those of the windows.
        unsafe { (self.run)(self, channel, out) };
    }

    /// The lanes of a vector that are inside a row, for a vector that begins at `place` of the padded row.
    ///
    /// # Safety
    /// As for [`Vector`].
    #[inline(always)]
    unsafe fn inside<V: Vector>(&self, place: usize) -> V::Some {
        let end = (self.pad[1] + self.input[1]).saturating_sub(place);
        // SAFETY: by the caller.
        unsafe { V::lanes(self.pad[1].saturating_sub(place), end) }
    }

    /// Where element 0 of a row of the padded image is, if the row is inside the image.
    fn row(&self, image: &[f32], y: usize) -> Option<*const f32> {
        let y = y.checked_sub(self.pad[0]).filter(|y| *y < self.input[0])?;
        let first = image.as_ptr().wrapping_add(y * self.input[1]);
        Some(first.wrapping_sub(self.pad[1]))
    }
}

/// # Safety
/// As for [`Run`].
#[inline(always)]
unsafe fn at_distance_1<V: Vector, const K: usize>(rows: &Rows, channel: &Channel<'_>, out: &mut [f32]) {
    let vectors = rows.output[1].div_ceil(V::LANES);
    let mut done = 0;
    while done < vectors {
        // With more sums, none waits for the one before, as long as they stay in registers.
        let most = match (V::REGISTERS, K) {
            (32, 3) => 4,
            (32, _) | (_, 3) => 2,
            _ => 1,
        };
        let count = match vectors - done {
            5 if most == 4 => 3,
            left => left.min(most),
        };
        let first = done * V::LANES;
        // SAFETY: by the caller; the vectors begin inside the rows of the result.
        unsafe {
            match count {
                1 => columns::<V, K, 1>(rows, channel, first, out),
                2 => columns::<V, K, 2>(rows, channel, first, out),
                3 => columns::<V, K, 3>(rows, channel, first, out),
                _ => columns::<V, K, 4>(rows, channel, first, out),
            }
        }
        done += count;
    }
}

/// `N` vectors of each row of results.
struct Columns<V: Vector, const K: usize, const N: usize> {
    /// The column of the first lane.
    first: usize,
    /// The lanes inside the image, for each column of the window.
    inside: [[V::Some; N]; K],
    /// The lanes inside the result.
    written: [V::Some; N],
    limits: [V; 2],
}

// Closures would not have the instructions of their caller, so that functions for them were called.
impl<V: Vector, const K: usize, const N: usize> Columns<V, K, N> {
    /// # Safety
    /// As for [`Run`], and the last vector begins inside the rows.
    #[inline(always)]
    unsafe fn new(rows: &Rows, channel: &Channel<'_>, first: usize) -> Self {
        // SAFETY: by the caller.
        unsafe {
            let mut inside = [[V::lanes(0, 0); N]; K];
            let mut written = [V::lanes(0, 0); N];
            for v in 0..N {
                let place = first + v * V::LANES;
                written[v] = V::lanes(0, rows.output[1] - place);
                for (x, inside) in inside.iter_mut().enumerate() {
                    inside[v] = rows.inside::<V>(place + x);
                }
            }
            Columns {
                first,
                inside,
                written,
                limits: [V::splat(channel.limits.0), V::splat(channel.limits.1)],
            }
        }
    }

    /// The elements for a column of the window, from a row of the padded image.
    ///
    /// # Safety
    /// As for [`Run`].
    #[inline(always)]
    unsafe fn elements(&self, row: *const f32, x: usize) -> [V; N] {
        // SAFETY: by the caller; the lanes that are read are elements of the row.
        unsafe {
            let mut all = [V::splat(0.0); N];
            for (v, element) in all.iter_mut().enumerate() {
                *element = V::load(row.wrapping_add(self.first + v * V::LANES + x), self.inside[x][v]);
            }
            all
        }
    }

    /// Writes a row of results.
    ///
    /// # Safety
    /// As for [`Run`].
    #[inline(always)]
    unsafe fn write(&self, row: &mut [f32], sums: &[V; N]) {
        let to = row[self.first..].as_mut_ptr();
        let [low, high] = self.limits;
        for (v, sum) in sums.iter().enumerate() {
            // SAFETY: by the caller; the lanes that are written are elements of the row.
            unsafe {
                sum.limited(low, high)
                    .store(to.wrapping_add(v * V::LANES), self.written[v])
            };
        }
    }
}

/// Computes `N` vectors of each row of results from column `first` on.
///
/// # Safety
/// As for [`Run`], and the last vector begins inside the rows.
#[inline(always)]
unsafe fn columns<V: Vector, const K: usize, const N: usize>(
    rows: &Rows,
    channel: &Channel<'_>,
    first: usize,
    out: &mut [f32],
) {
    let [height, width] = rows.output;
    // SAFETY: by the caller.
    unsafe {
        let columns = Columns::<V, K, N>::new(rows, channel, first);
        let start = V::splat(channel.start);
        let mut weights = [[start; K]; K];
        for (weight, &number) in weights.as_flattened_mut().iter_mut().zip(channel.weights) {
            *weight = V::splat(number);
        }
        if rows.down > 1 || height <= K {
            for (at, out) in out.chunks_exact_mut(width).enumerate() {
                let mut sums = [start; N];
                for (y, weights) in weights.iter().enumerate() {
                    let Some(row) = rows.row(channel.image, at * rows.down + y) else {
                        continue;
                    };
                    for (x, weight) in weights.iter().enumerate() {
                        for (sum, element) in sums.iter_mut().zip(columns.elements(row, x)) {
                            *sum = weight.fused(element, *sum);
                        }
                    }
                }
                columns.write(out, &sums);
            }
            return;
        }
        // The sums of the row of results in which this row of the image is row `y` of the window.
        let mut sums = [[start; N]; K];
        for y in 0..height + K - 1 {
            if let Some(row) = rows.row(channel.image, y) {
                for x in 0..K {
                    let elements = columns.elements(row, x);
                    for (sums, weights) in sums.iter_mut().zip(&weights) {
                        for (sum, element) in sums.iter_mut().zip(elements) {
                            *sum = weights[x].fused(element, *sum);
                        }
                    }
                }
            }
            if let Some(at) = y.checked_sub(K - 1) {
                columns.write(&mut out[at * width..][..width], &sums[K - 1]);
            }
            sums.copy_within(0..K - 1, 1);
            sums[0] = [start; N];
        }
    }
}

/// # Safety
/// As for [`Run`].
#[inline(always)]
unsafe fn at_distance_2<V: Vector, const K: usize>(rows: &Rows, channel: &Channel<'_>, out: &mut [f32]) {
    let [height, width] = rows.output;
    // SAFETY: the machine has the instructions. The lanes that are read are elements of a row of the image, and those
    // that are written of a row of the result.
    unsafe {
        let start = V::splat(channel.start);
        let (low, high) = (V::splat(channel.limits.0), V::splat(channel.limits.1));
        for first in (0..width).step_by(V::LANES) {
            let written = V::lanes(0, width - first);
            // Two vectors have the elements for two columns of the window.
            let mut inside = [[written; 2]; K];
            for (x, inside) in inside.iter_mut().enumerate() {
                *inside = [
                    rows.inside::<V>(2 * first + x),
                    rows.inside::<V>(2 * first + x + V::LANES),
                ];
            }
            for at in 0..height {
                let mut sums = start;
                for y in 0..K {
                    let Some(row) = rows.row(channel.image, rows.down * at + y) else {
                        continue;
                    };
                    for x in (0..K).step_by(2) {
                        let from = row.wrapping_add(2 * first + x);
                        let next = V::load(from.wrapping_add(V::LANES), inside[x][1]);
                        let (even, odd) = V::load(from, inside[x][0]).halves(next);
                        sums = V::splat(channel.weights[y * K + x]).fused(even, sums);
                        if x + 1 < K {
                            sums = V::splat(channel.weights[y * K + x + 1]).fused(odd, sums);
                        }
                    }
                }
                let to = out[at * width + first..].as_mut_ptr();
                sums.limited(low, high).store(to, written);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same, number by number.
    fn one_by_one(window: &Window, channel: &Channel<'_>) -> Vec<f32> {
        let [_, height, width] = window.output;
        let [_, k, _] = window.kernel;
        let at = |i: usize| {
            let (y, x) = (i / width, i % width);
            let sum = (0..k * k).fold(channel.start, |sum, n| {
                let Some(y) = window.position(1, y, n / k) else {
                    return sum;
                };
                let place = window.position(2, x, n % k);
                let element = place.map_or(0.0, |x| channel.image[y * window.input[2] + x]);
                channel.weights[n].mul_add(element, sum)
            });
            let sum = if sum <= channel.limits.0 { channel.limits.0 } else { sum };
            if sum > channel.limits.1 { channel.limits.1 } else { sum }
        };
        (0..height * width).map(at).collect()
    }

    #[test]
    fn rows_are_convolved_as_numbers_are() {
        let sizes = [1, 2, 3, 5, 7, 8, 15, 16, 17, 20, 33, 50, 64, 65, 81, 97, 131];
        let numbers = |n: usize, seed: usize| -> Vec<f32> {
            (0..n)
                .map(|i| ((i * 7919 + seed * 104_729) % 1009) as f32 / 300.0 - 1.5)
                .collect()
        };
        let mut checked = 0;
        for (i, &width) in sizes.iter().enumerate() {
            for (kernel, strides, pads) in [
                (3, [1, 1], [1, 1]),
                (3, [1, 1], [0, 2]),
                (3, [2, 1], [1, 1]),
                (3, [2, 2], [1, 1]),
                (3, [2, 2], [0, 1]),
                (3, [1, 2], [2, 0]),
                (5, [1, 1], [2, 2]),
                (5, [1, 1], [4, 0]),
                (5, [2, 1], [2, 2]),
                (5, [2, 2], [2, 2]),
                (5, [3, 2], [1, 3]),
            ] {
                let height = sizes[(i * 5 + kernel) % 9];
                let output = |n: usize, stride: usize| {
                    let windows = (n + pads[0] + pads[1]).checked_sub(kernel);
                    windows.map_or(0, |n| n / stride + 1)
                };
                let window = Window {
                    input: [1, height, width],
                    output: [1, output(height, strides[0]), output(width, strides[1])],
                    kernel: [1, kernel, kernel],
                    stride: [1, strides[0], strides[1]],
                    dilation: [1; 3],
                    pad: [0, pads[0], pads[0]],
                    pad_end: [0, pads[1], pads[1]],
                };
                let mut image = numbers(height * width, i);
                let mut weights = numbers(kernel * kernel, i + 1);
                let mut limits = (f32::NEG_INFINITY, f32::INFINITY);
                match i % 4 {
                    0 => limits = (0.0, 2.0),
                    1 => image[height * width / 2] = f32::NAN,
                    2 => image[height * width / 2] = f32::INFINITY,
                    _ => weights[1] = f32::NEG_INFINITY,
                }
                let channel = Channel {
                    image: &image,
                    weights: &weights,
                    start: -0.0,
                    limits,
                };
                let mut out = vec![7.0; window.output_size()];
                if out.is_empty() {
                    continue;
                }
                for rows in Rows::all(&window) {
                    out.fill(7.0);
                    rows.convolve(&channel, &mut out);
                    for (at, (out, expected)) in out.iter().zip(one_by_one(&window, &channel)).enumerate() {
                        let same = out.to_bits() == expected.to_bits() || (out.is_nan() && expected.is_nan());
                        assert!(same, "{window:?} {at}: {out} instead of {expected}");
                    }
                    checked += 1;
                }
            }
        }
        assert!(
            checked > 100 || !std::arch::is_x86_feature_detected!("avx2"),
            "{checked}"
        );
    }
}
