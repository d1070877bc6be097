//! The geometry of sliding windows: up to three spatial axes, always handled as three.

use super::Call;

/// A window sliding over the spatial axes; missing axes come first, with size 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Window {
    /// Sizes of the input.
    pub(super) input: [usize; 3],
    /// Sizes of the output.
    pub(super) output: [usize; 3],
    /// Sizes of the window.
    pub(super) kernel: [usize; 3],
    /// Distance between windows.
    pub(super) stride: [usize; 3],
    /// Distance between the elements of a window.
    pub(super) dilation: [usize; 3],
    /// Padding at the beginning.
    pub(super) pad: [usize; 3],
    /// Padding at the end.
    pub(super) pad_end: [usize; 3],
}

impl Window {
    /// The window of a call with attributes `strides`, `dilations` and `pads`, between spatial shapes; `None` if there
    /// are more than three axes or padding is not given as numbers.
    pub(super) fn of(call: &Call<'_>, input: &[usize], output: &[usize], kernel: &[usize]) -> Option<Window> {
        let rank = input.len();
        if !(1..=3).contains(&rank) || output.len() != rank || kernel.len() != rank {
            return None;
        }
        if !matches!(call.text("auto_pad"), "" | "NOTSET" | "VALID" | "notset" | "valid") {
            return None;
        }
        let pads = call.sizes("pads", 2 * rank, 0)?;
        let three = |list: &[usize], fill: usize| {
            let mut out = [fill; 3];
            out[3 - rank..].copy_from_slice(list);
            out
        };
        Some(Window {
            input: three(input, 1),
            output: three(output, 1),
            kernel: three(kernel, 1),
            stride: three(&call.sizes("strides", rank, 1)?, 1),
            dilation: three(&call.sizes("dilations", rank, 1)?, 1),
            pad: three(&pads[..rank], 0),
            pad_end: three(&pads[rank..], 0),
        })
    }

    /// True if the windows of all rows of all channels are those of one long row: each covers elements of one row, all
    /// rows begin with a window, and the last one ends before the next row.
    pub(super) fn is_one_row(&self) -> bool {
        let is_slid = |axis: usize| self.kernel[axis] > 1 || self.stride[axis] > 1 || self.pad[axis] > 0;
        let covered = (self.kernel[2] - 1) * self.dilation[2] + 1;
        !is_slid(0)
            && !is_slid(1)
            && self.input[..2] == self.output[..2]
            && self.pad[2] == 0
            && covered <= self.stride[2]
            && self.input[2] == self.output[2] * self.stride[2]
    }

    /// The same windows over fewer axes: an axis along which nothing slides is joined with the one before it, so that
    /// neighbouring windows are as long a run of elements as possible.
    pub(super) fn joined(mut self) -> Window {
        for axis in [1, 0, 1] {
            let inner = axis + 1;
            let whole = self.kernel[inner] == 1
                && self.stride[inner] == 1
                && self.pad[inner] == 0
                && self.input[inner] == self.output[inner];
            let length = self.input[inner];
            if !whole || (self.stride[axis] != 1 && length != 1) {
                continue;
            }
            self.input[inner] *= self.input[axis];
            self.output[inner] *= self.output[axis];
            self.pad_end[inner] = self.pad_end[axis] * length;
            self.pad[inner] = self.pad[axis] * length;
            (self.kernel[inner], self.stride[inner]) = (self.kernel[axis], self.stride[axis]);
            self.dilation[inner] = if self.kernel[axis] == 1 {
                1
            } else {
                self.dilation[axis] * length
            };
            // The axes before move up, and one of size 1 comes first.
            let all = [
                (&mut self.input, 1),
                (&mut self.output, 1),
                (&mut self.kernel, 1),
                (&mut self.stride, 1),
                (&mut self.dilation, 1),
                (&mut self.pad, 0),
                (&mut self.pad_end, 0),
            ];
            for (list, none) in all {
                list.copy_within(0..axis, 1);
                list[0] = none;
            }
        }
        self
    }

    /// Number of positions of the input.
    pub(super) fn input_size(&self) -> usize {
        self.input.iter().product()
    }

    /// Number of positions of the output.
    pub(super) fn output_size(&self) -> usize {
        self.output.iter().product()
    }

    /// Number of elements of the window.
    pub(super) fn kernel_size(&self) -> usize {
        self.kernel.iter().product()
    }

    /// True if every window is a single element and the windows are adjacent.
    pub(super) fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3] && self.stride == [1; 3] && self.pad == [0; 3] && self.input == self.output
    }

    /// The input position along `axis` that element `k` of window `o` covers; `None` in the padding.
    #[inline(always)]
    pub(super) fn position(&self, axis: usize, o: usize, k: usize) -> Option<usize> {
        let p = (o * self.stride[axis] + k * self.dilation[axis]).wrapping_sub(self.pad[axis]);
        (p < self.input[axis]).then_some(p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_along_which_nothing_slides_are_joined() {
        let window = |input, output, kernel, stride, dilation, pad| Window {
            input,
            output,
            kernel,
            stride,
            dilation,
            pad,
            pad_end: pad,
        };
        let ones = [1; 3];
        // Windows of 5 by 1 over rows of 4, one above the other.
        let joined = window([1, 12, 4], [1, 8, 4], [1, 5, 1], ones, ones, [0; 3]).joined();
        assert_eq!(
            joined,
            window([1, 1, 48], [1, 1, 32], [1, 1, 5], ones, [1, 1, 4], [0; 3])
        );
        // An axis of one element, with a distance along the other.
        let joined = window([1, 9, 1], [1, 4, 1], [1, 3, 1], [1, 2, 1], ones, [0; 3]).joined();
        assert_eq!(joined, window([1, 1, 9], [1, 1, 4], [1, 1, 3], [1, 1, 2], ones, [0; 3]));
        // Single elements: everything is one run.
        let joined = window([2, 3, 4], [2, 3, 4], ones, ones, ones, [0; 3]).joined();
        assert_eq!(joined, window([1, 1, 24], [1, 1, 24], ones, ones, ones, [0; 3]));
        // Three axes, of which the last two are joined, with padding.
        let joined = window([2, 3, 4], [1, 5, 4], [2, 3, 1], ones, [1, 2, 1], [0, 3, 0]).joined();
        assert_eq!(
            joined,
            window([1, 2, 12], [1, 1, 20], [1, 2, 3], ones, [1, 1, 8], [0, 0, 12])
        );
        // Padding, or a distance between rows of several elements, separates them.
        for other in [
            window([1, 3, 4], [1, 3, 6], ones, ones, ones, [0, 0, 1]),
            window([1, 9, 4], [1, 4, 4], [1, 3, 1], [1, 2, 1], ones, [0; 3]),
        ] {
            assert_eq!(other.joined(), other);
        }
    }
}
