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

    /// The windows whose element `k` lies inside the input along `axis`.
    pub(super) fn inside(&self, axis: usize, k: usize) -> std::ops::Range<usize> {
        let offset = k * self.dilation[axis];
        let stride = self.stride[axis].max(1);
        let first = self.pad[axis].saturating_sub(offset).div_ceil(stride);
        // o * stride + offset - pad < input
        let end = (self.input[axis] + self.pad[axis])
            .saturating_sub(offset)
            .div_ceil(stride);
        let end = end.min(self.output[axis]);
        first.min(end)..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_agrees_with_position() {
        for input in 1..7 {
            for (stride, dilation, pad, k) in [
                (1, 1, 0, 0),
                (1, 1, 1, 2),
                (2, 1, 1, 0),
                (2, 2, 3, 1),
                (3, 1, 2, 2),
                (1, 3, 4, 0),
            ] {
                let mut w = Window {
                    input: [1, 1, input],
                    output: [1, 1, 6],
                    kernel: [1, 1, 3],
                    stride: [1; 3],
                    dilation: [1; 3],
                    pad: [0; 3],
                    pad_end: [0; 3],
                };
                (w.stride[2], w.dilation[2], w.pad[2]) = (stride, dilation, pad);
                let inside: Vec<usize> = (0..6).filter(|&o| w.position(2, o, k).is_some()).collect();
                assert_eq!(w.inside(2, k).collect::<Vec<_>>(), inside, "{w:?} {k}");
            }
        }
    }
}
