//! Windows of 3 by 3 and 5 by 5 on one channel, in vectors of 16: rows are read from the image as they are, with masks
//! where they begin and end, and results are written where they belong.
//!
//! At distance 1, each row of the image is read once for each column of the window, and added to all rows of results
//! that it belongs to, whose sums stay in registers, unless there are so few rows that most of this would be for rows
//! outside the result. At distance 2, even and odd elements are parted in registers.
//! Padding beside a row counts as zeros, which are multiplied like other elements; rows of padding are left out.
#![allow(unsafe_code, reason = "vectors are read with masks at the edges of an image")]

use std::arch::x86_64::*;

use super::lanes::wide::halves;
use super::window::Window;

/// Elements of an image that stays in a first-level cache. A few columns of all rows are computed at a time, and what
/// is beside them in the rows of a larger image would be read again from farther away.
const NEAR: usize = 8 << 10;

/// The lanes of a vector.
const LANES: usize = 16;

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
    run: unsafe fn(&Rows, &Channel<'_>, &mut [f32]),
}

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

impl Rows {
    /// `None` if windows have another form, the image is large, or the machine lacks the instructions.
    pub(super) fn of(window: &Window) -> Option<Rows> {
        if !std::arch::is_x86_feature_detected!("avx512f") || window.input_size() > NEAR {
            return None;
        }
        let one = |list: [usize; 3]| list[0] == 1;
        if !one(window.input) || !one(window.output) || !one(window.kernel) || window.pad[0] > 0 {
            return None;
        }
        let two = |list: [usize; 3]| [list[1], list[2]];
        let run = match (two(window.kernel), two(window.stride), two(window.dilation)) {
            ([3, 3], [_, 1], [1, 1]) => at_distance_1::<3>,
            ([5, 5], [_, 1], [1, 1]) => at_distance_1::<5>,
            ([3, 3], [_, 2], [1, 1]) => at_distance_2::<3>,
            ([5, 5], [_, 2], [1, 1]) => at_distance_2::<5>,
            _ => return None,
        };
        Some(Rows {
            input: two(window.input),
            output: two(window.output),
            pad: two(window.pad),
            down: window.stride[1],
            run,
        })
    }

    /// Writes the sums of all windows.
    ///
    /// # Panics
    /// If the image, the weights or the result have another size.
    pub(super) fn convolve(&self, channel: &Channel<'_>, out: &mut [f32]) {
        let size = |[rows, columns]: [usize; 2]| rows * columns;
        assert_eq!(channel.image.len(), size(self.input), "the image has another size");
        assert_eq!(out.len(), size(self.output), "the result has another size");
        // SAFETY: `of` has checked that the machine has the instructions, and the sizes are those of the windows.
        unsafe { (self.run)(self, channel, out) };
    }

    /// The lanes of a vector that are inside a row, for a vector that begins at `place` of the padded row.
    fn inside(&self, place: usize) -> __mmask16 {
        let end = (self.pad[1] + self.input[1]).saturating_sub(place);
        before(end) & !before(self.pad[1].saturating_sub(place))
    }

    /// Where element 0 of a row of the padded image is, if the row is inside the image.
    fn row(&self, image: &[f32], y: usize) -> Option<*const f32> {
        let y = y.checked_sub(self.pad[0]).filter(|y| *y < self.input[0])?;
        let first = image.as_ptr().wrapping_add(y * self.input[1]);
        Some(first.wrapping_sub(self.pad[1]))
    }
}

/// The lanes before lane `n`.
fn before(n: usize) -> __mmask16 {
    ((1u32 << n.min(LANES)) - 1) as __mmask16
}

/// The sums within the limits; a NaN stays, and of two zeros, the limit counts.
#[inline]
#[target_feature(enable = "avx512f")]
fn limited(sums: __m512, (low, high): (__m512, __m512)) -> __m512 {
    let is_low = _mm512_cmp_ps_mask::<_CMP_LE_OQ>(sums, low);
    let sums = _mm512_mask_mov_ps(sums, is_low, low);
    let is_high = _mm512_cmp_ps_mask::<_CMP_GT_OQ>(sums, high);
    _mm512_mask_mov_ps(sums, is_high, high)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn limits(channel: &Channel<'_>) -> (__m512, __m512) {
    (_mm512_set1_ps(channel.limits.0), _mm512_set1_ps(channel.limits.1))
}

/// # Safety
/// The machine has the instructions, and the image and `out` have the sizes of the windows.
#[target_feature(enable = "avx512f")]
unsafe fn at_distance_1<const K: usize>(rows: &Rows, channel: &Channel<'_>, out: &mut [f32]) {
    let vectors = rows.output[1].div_ceil(LANES);
    let mut done = 0;
    while done < vectors {
        // With more sums, none waits for the one before, as long as they stay in registers.
        let most = if K == 3 { 4 } else { 2 };
        let count = match vectors - done {
            5 if K == 3 => 3,
            left => left.min(most),
        };
        let first = done * LANES;
        // SAFETY: by the caller; the vectors begin inside the rows of the result.
        unsafe {
            match count {
                1 => columns::<K, 1>(rows, channel, first, out),
                2 => columns::<K, 2>(rows, channel, first, out),
                3 => columns::<K, 3>(rows, channel, first, out),
                _ => columns::<K, 4>(rows, channel, first, out),
            }
        }
        done += count;
    }
}

/// Computes `V` vectors of each row of results from column `first` on.
///
/// # Safety
/// As for [`at_distance_1`], and the last vector begins inside the rows.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn columns<const K: usize, const V: usize>(rows: &Rows, channel: &Channel<'_>, first: usize, out: &mut [f32]) {
    let [height, width] = rows.output;
    let start = _mm512_set1_ps(channel.start);
    let limits = limits(channel);
    let weights: [[__m512; K]; K] =
        std::array::from_fn(|y| std::array::from_fn(|x| _mm512_set1_ps(channel.weights[y * K + x])));
    let inside: [[__mmask16; V]; K] =
        std::array::from_fn(|x| std::array::from_fn(|v| rows.inside(first + v * LANES + x)));
    let written: [__mmask16; V] = std::array::from_fn(|v| before(width - first - v * LANES));
    let elements = |row: *const f32, x: usize| -> [__m512; V] {
        // SAFETY: the lanes that are read are elements of the row.
        let load = |v| unsafe { _mm512_maskz_loadu_ps(inside[x][v], row.wrapping_add(first + v * LANES + x)) };
        std::array::from_fn(load)
    };
    let mut write = |at: usize, sums: &[__m512; V]| {
        let to = out[at * width + first..].as_mut_ptr();
        for (v, &sum) in sums.iter().enumerate() {
            // SAFETY: the lanes that are written are elements of the row.
            unsafe { _mm512_mask_storeu_ps(to.wrapping_add(v * LANES), written[v], limited(sum, limits)) };
        }
    };
    if rows.down > 1 || height <= K {
        for at in 0..height {
            let mut sums = [start; V];
            for (y, weights) in weights.iter().enumerate() {
                let Some(row) = rows.row(channel.image, at * rows.down + y) else {
                    continue;
                };
                for (x, &weight) in weights.iter().enumerate() {
                    for (sum, element) in sums.iter_mut().zip(elements(row, x)) {
                        *sum = _mm512_fmadd_ps(weight, element, *sum);
                    }
                }
            }
            write(at, &sums);
        }
        return;
    }
    // The sums of the row of results in which this row of the image is row `y` of the window.
    let mut sums = [[start; V]; K];
    for y in 0..height + K - 1 {
        if let Some(row) = rows.row(channel.image, y) {
            for x in 0..K {
                let elements = elements(row, x);
                for (sums, weights) in sums.iter_mut().zip(&weights) {
                    for (sum, element) in sums.iter_mut().zip(elements) {
                        *sum = _mm512_fmadd_ps(weights[x], element, *sum);
                    }
                }
            }
        }
        if let Some(at) = y.checked_sub(K - 1) {
            write(at, &sums[K - 1]);
        }
        sums.copy_within(0..K - 1, 1);
        sums[0] = [start; V];
    }
}

/// # Safety
/// As for [`at_distance_1`].
#[target_feature(enable = "avx512f")]
unsafe fn at_distance_2<const K: usize>(rows: &Rows, channel: &Channel<'_>, out: &mut [f32]) {
    let [height, width] = rows.output;
    let start = _mm512_set1_ps(channel.start);
    let limits = limits(channel);
    for first in (0..width).step_by(LANES) {
        let written = before(width - first);
        // Two vectors have the elements for two columns of the window.
        let inside: [[__mmask16; 2]; K] =
            std::array::from_fn(|x| [0, LANES].map(|more| rows.inside(2 * first + x + more)));
        for at in 0..height {
            let mut sums = start;
            for y in 0..K {
                let Some(row) = rows.row(channel.image, rows.down * at + y) else {
                    continue;
                };
                for x in (0..K).step_by(2) {
                    let from = row.wrapping_add(2 * first + x);
                    // SAFETY: the lanes that are read are elements of the row.
                    let (low, high) = unsafe {
                        (
                            _mm512_maskz_loadu_ps(inside[x][0], from),
                            _mm512_maskz_loadu_ps(inside[x][1], from.wrapping_add(LANES)),
                        )
                    };
                    let (even, odd) = halves(low, high);
                    sums = _mm512_fmadd_ps(_mm512_set1_ps(channel.weights[y * K + x]), even, sums);
                    if x + 1 < K {
                        sums = _mm512_fmadd_ps(_mm512_set1_ps(channel.weights[y * K + x + 1]), odd, sums);
                    }
                }
            }
            let to = out[at * width + first..].as_mut_ptr();
            // SAFETY: the lanes that are written are elements of the row.
            unsafe { _mm512_mask_storeu_ps(to, written, limited(sums, limits)) };
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
                let Some(rows) = Rows::of(&window) else {
                    continue;
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
                rows.convolve(&channel, &mut out);
                for (at, (out, expected)) in out.iter().zip(one_by_one(&window, &channel)).enumerate() {
                    let same = out.to_bits() == expected.to_bits() || (out.is_nan() && expected.is_nan());
                    assert!(same, "{window:?} {at}: {out} instead of {expected}");
                }
                checked += 1;
            }
        }
        assert!(
            checked > 100 || !std::arch::is_x86_feature_detected!("avx512f"),
            "{checked}"
        );
    }
}
