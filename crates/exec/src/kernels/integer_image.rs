//! The layout of images that convolutions of quantized numbers read.
//!
//! Each four channels of an image are interleaved, with the padding around them. Then the elements that neighbouring
//! windows multiply with one quad of weights are contiguous. If windows are several elements apart, there is an image
//! for each remainder of the positions. A channel that is convolved alone is laid out in the same way, but as single
//! bytes.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use super::dot::QUAD;
use super::window::Window;

/// The positions in a padded image along one axis.
struct Axis {
    /// The remainders of positions modulo the distance of windows, of those that windows cover.
    remainders: Vec<usize>,
    /// Positions of each remainder.
    length: usize,
}

impl Axis {
    fn of(window: &Window, axis: usize) -> Axis {
        let (stride, dilation) = (window.stride[axis], window.dilation[axis]);
        let mut remainders: Vec<usize> = (0..window.kernel[axis]).map(|k| k * dilation % stride).collect();
        remainders.sort_unstable();
        remainders.dedup();
        let reach = window.kernel[axis].saturating_sub(1) * dilation;
        Axis {
            remainders,
            length: window.output[axis] + reach / stride,
        }
    }

    /// The remainder of element `k` of a window, and its distance from the first element of the window in that
    /// remainder's image.
    fn place(&self, window: &Window, axis: usize, k: usize) -> (usize, usize) {
        let at = k * window.dilation[axis];
        let remainder = at % window.stride[axis];
        (
            self.remainders.partition_point(|r| *r < remainder),
            at / window.stride[axis],
        )
    }

    /// The positions of remainder `r` that are in the image, and where the first of those is in it.
    fn inside(&self, window: &Window, axis: usize, r: usize) -> (Range<usize>, usize) {
        let (stride, pad, r) = (window.stride[axis], window.pad[axis], self.remainders[r]);
        let first = pad.saturating_sub(r).div_ceil(stride).min(self.length);
        let end = (window.input[axis] + pad).saturating_sub(r).div_ceil(stride);
        let end = end.clamp(first, self.length);
        (first..end, (first * stride + r).saturating_sub(pad))
    }
}

/// The layout of an image for a product.
pub(super) struct Plan {
    pub(super) window: Window,
    axes: [Axis; 3],
    /// Channels of a group.
    pub(super) depth: usize,
    /// The offsets of the quads of windows, for each quad of channels and each element of the window.
    pub(super) places: Vec<usize>,
    /// The lines of a channel that is convolved alone, in the order of its image, without those that are all padding.
    lines: Vec<Line>,
    /// The most elements of one of them.
    longest: usize,
}

/// Elements of a row of a channel in the image of it.
struct Line {
    /// The place of the first one in the channel, and in the image.
    from: usize,
    to: usize,
    length: usize,
}

impl Plan {
    pub(super) fn new(window: Window, depth: usize) -> Plan {
        let axes = [0, 1, 2].map(|axis| Axis::of(&window, axis));
        let mut plan = Plan {
            window,
            axes,
            depth,
            places: Vec::new(),
            lines: Vec::new(),
            longest: 0,
        };
        let mut places = Vec::new();
        for quad in 0..depth.div_ceil(QUAD) {
            for k in 0..window.kernel_size() {
                let [_, height, width] = window.kernel;
                let at = [k / (height * width), k / width % height, k % width];
                let (mut remainder, mut offset) = (0, 0);
                for (axis, own) in plan.axes.iter().enumerate() {
                    let (r, after) = own.place(&window, axis, at[axis]);
                    remainder = remainder * own.remainders.len() + r;
                    offset = offset * own.length + after;
                }
                places.push(((quad * plan.remainders() + remainder) * plan.plane() + offset) * QUAD);
            }
        }
        plan.places = places;
        if depth == 1 {
            let (mut lines, mut begin) = (Vec::new(), 0);
            plan.each_line(|_, inner, start| {
                if let Some(from) = start.filter(|_| !inner.is_empty()) {
                    let (to, length) = (begin + inner.start, inner.len());
                    lines.push(Line { from, to, length });
                }
                begin += plan.axes[2].length;
            });
            plan.longest = lines.iter().map(|line| line.length).max().unwrap_or(0);
            plan.lines = lines;
        }
        plan
    }

    /// Images of remainders.
    fn remainders(&self) -> usize {
        self.axes.iter().map(|axis| axis.remainders.len()).product()
    }

    /// Positions of one of them.
    fn plane(&self) -> usize {
        self.axes.iter().map(|axis| axis.length).product()
    }

    /// Bytes of the image of a group.
    pub(super) fn group_size(&self) -> usize {
        self.depth.div_ceil(QUAD) * self.remainders() * self.plane() * QUAD
    }

    /// Columns of the product: from the first to the last position of the result.
    pub(super) fn columns(&self) -> usize {
        let [_, height, width] = [0, 1, 2].map(|axis| self.axes[axis].length);
        let [d, h, w] = self.window.output.map(|n| n - 1);
        (d * height + h) * width + w + 1
    }

    /// Calls `run` for each run of positions of the result among `count` positions of the padded image from `first` on:
    /// with the distance of its first position from `first`, its place in the result, and its length.
    pub(super) fn runs(&self, first: usize, count: usize, mut run: impl FnMut(usize, usize, usize)) {
        let [_, height, width] = [0, 1, 2].map(|axis| self.axes[axis].length);
        let [_, rows, columns] = self.window.output;
        let mut done = 0;
        while done < count {
            let (line, column) = ((first + done) / width, (first + done) % width);
            let length = (count - done).min(width - column);
            let (plane, row) = (line / height, line % height);
            if row < rows && column < columns {
                let place = (plane * rows + row) * columns + column;
                run(done, place, length.min(columns - column));
            }
            done += length;
        }
    }

    /// Lays out the channels of a group, whose bytes are combined with `flip`; `zero` is around them.
    pub(super) fn fill(&self, channels: &[u8], flip: u8, zero: u8, out: &mut [u8]) {
        let size_in = self.window.input_size();
        let width = &self.axes[2];
        // They are combined with `flip` as they are laid out.
        let around = zero ^ flip;
        let mut lines = vec![around; QUAD * width.length];
        let mut rows = out.chunks_exact_mut(width.length * QUAD);
        for quad in 0..self.depth.div_ceil(QUAD) {
            let channels = &channels[quad * QUAD * size_in..];
            let count = QUAD.min(self.depth - quad * QUAD);
            let mut last = usize::MAX;
            self.each_line(|remainder, inner, start| {
                let Some(out) = rows.next() else { return };
                let Some(start) = start else {
                    out.fill(zero);
                    return;
                };
                if inner.len() == width.length && self.window.stride[2] == 1 && count == QUAD {
                    // Whole lines are read where they are.
                    let lines = std::array::from_fn(|i| &channels[i * size_in + start..][..width.length]);
                    return Arch::new().dispatch(Interleave { lines, flip, out });
                }
                if last != remainder {
                    // Another remainder has other positions in the padding.
                    lines.fill(around);
                    last = remainder;
                }
                let from = channels.chunks(size_in).take(count);
                for (line, channel) in lines.chunks_exact_mut(width.length).zip(from) {
                    let (line, from) = (&mut line[inner.clone()], &channel[start.min(channel.len())..]);
                    match self.window.stride[2] {
                        1 => line.copy_from_slice(&from[..line.len()]),
                        stride => line
                            .iter_mut()
                            .zip(from.iter().step_by(stride))
                            .for_each(|(o, x)| *o = *x),
                    }
                }
                let lines = std::array::from_fn(|i| &lines[i * width.length..][..width.length]);
                Arch::new().dispatch(Interleave { lines, flip, out });
            });
        }
    }

    /// Bytes of the image of a channel that is convolved alone, as [`Plan::fill_plane`] lays it out.
    pub(super) fn channel_size(&self) -> usize {
        self.remainders() * self.plane()
    }

    /// Lays out the channel that `bytes` begins with; they are combined with `flip`. All that is around them in `out`
    /// is `zero`, and [`SLACK`] bytes more than [`Plan::channel_size`] are there.
    pub(super) fn fill_plane(&self, bytes: &[u8], flip: u8, zero: u8, out: &mut [u8]) {
        Arch::new().dispatch(Lines {
            plan: self,
            bytes,
            flip,
            zero,
            out,
        });
    }

    /// The place in the image of a channel of the first position of each row of results, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        let [_, height, width] = [0, 1, 2].map(|axis| self.axes[axis].length);
        let [planes, rows, _] = self.window.output;
        (0..planes).flat_map(move |d| (0..rows).map(move |h| (d * height + h) * width))
    }

    /// Calls `run` for each line of the image of a channel, or of a quad of channels, in order: with the number of its
    /// remainder, the positions that are not padding, and the place of the first of these in a channel; none if the
    /// line is padding.
    #[inline(always)]
    fn each_line(&self, mut run: impl FnMut(usize, &Range<usize>, Option<usize>)) {
        let window = &self.window;
        let [depth, height, width] = [0, 1, 2].map(|axis| &self.axes[axis]);
        let remainders = each_of([depth, height, width].map(|axis| axis.remainders.len()));
        for (remainder, (rd, rh, rw)) in remainders.enumerate() {
            let (planes, first_plane) = depth.inside(window, 0, rd);
            let (inner_rows, first_row) = height.inside(window, 1, rh);
            let (inner, first) = width.inside(window, 2, rw);
            for (d, h) in (0..depth.length).flat_map(|d| (0..height.length).map(move |h| (d, h))) {
                let is_inside = planes.contains(&d) && inner_rows.contains(&h);
                let start = is_inside.then(|| {
                    let plane = first_plane + (d - planes.start) * window.stride[0];
                    let row = first_row + (h - inner_rows.start) * window.stride[1];
                    (plane * window.input[1] + row) * window.input[2] + first
                });
                run(remainder, &inner, start);
            }
        }
    }
}

/// All indices below `n`.
fn each_of([a, b, c]: [usize; 3]) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a * b * c).map(move |i| (i / (b * c), i / c % b, i % c))
}

/// Four lines as quads of bytes combined with `flip`.
struct Interleave<'a> {
    lines: [&'a [u8]; QUAD],
    flip: u8,
    out: &'a mut [u8],
}

impl NullaryFnOnce for Interleave<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let [a, b, c, d] = self.lines;
        let quads = self.out.as_chunks_mut::<QUAD>().0.iter_mut();
        for ((((quad, a), b), c), d) in quads.zip(a).zip(b).zip(c).zip(d) {
            let all = [*a, *b, *c, *d].map(|x| x ^ self.flip);
            *quad = u32::from_le_bytes(all).to_le_bytes();
        }
    }
}

/// Bytes after the image of a channel that [`Plan::fill_plane`] may write: it writes lines of up to so many bytes as
/// one block.
pub(super) const SLACK: usize = 32;

/// The lines of a channel.
struct Lines<'a> {
    plan: &'a Plan,
    bytes: &'a [u8],
    flip: u8,
    zero: u8,
    out: &'a mut [u8],
}

impl NullaryFnOnce for Lines<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let even = |pair| u16::from_le_bytes(pair) as u8;
        match (self.plan.window.stride[2], self.plan.longest) {
            (1, 0..=8) => self.blocks::<8, 1>(|[x]| x),
            (1, 9..=16) => self.blocks::<16, 1>(|[x]| x),
            (1, 17..=SLACK) => self.blocks::<SLACK, 1>(|[x]| x),
            (2, 0..=8) => self.blocks::<8, 2>(even),
            (2, 9..=16) => self.blocks::<16, 2>(even),
            (2, 17..=SLACK) => self.blocks::<SLACK, 2>(even),
            _ => self.lines(),
        }
    }
}

impl Lines<'_> {
    /// Writes lines of at most `N` elements, which are `STEP` bytes apart, as blocks. A block ends with padding, which
    /// is either where the image has padding, or where a later block is written.
    #[inline(always)]
    fn blocks<const N: usize, const STEP: usize>(self, first: impl Fn([u8; STEP]) -> u8) {
        for line in &self.plan.lines {
            let from = &self.bytes[line.from..];
            let block = from.as_chunks::<STEP>().0.first_chunk::<N>();
            let block = block.copied().unwrap_or_else(|| {
                // The bytes end before the block does.
                let mut block = [[0; STEP]; N];
                let bytes = block.as_flattened_mut().iter_mut();
                bytes.zip(from).for_each(|(to, x)| *to = *x);
                block
            });
            let elements = block.map(|x| first(x) ^ self.flip);
            let padded: [u8; N] = std::array::from_fn(|i| if i < line.length { elements[i] } else { self.zero });
            self.out[line.to..][..N].copy_from_slice(&padded);
        }
    }

    #[inline(always)]
    fn lines(self) {
        let flip = self.flip;
        for line in &self.plan.lines {
            let (out, from) = (&mut self.out[line.to..][..line.length], &self.bytes[line.from..]);
            match self.plan.window.stride[2] {
                1 => flipped(&from[..out.len()], flip, out),
                2 => {
                    // Every second byte, as a part of whole pairs as long as there are any.
                    let pairs = from.as_chunks::<2>().0;
                    let (whole, rest) = out.split_at_mut(out.len().min(pairs.len()));
                    let even = pairs.iter().map(|pair| u16::from_le_bytes(*pair) as u8);
                    whole.iter_mut().zip(even).for_each(|(o, x)| *o = x ^ flip);
                    let from = from[whole.len() * 2..].iter().step_by(2);
                    rest.iter_mut().zip(from).for_each(|(o, x)| *o = x ^ flip);
                }
                stride => {
                    let from = from.iter().step_by(stride);
                    out.iter_mut().zip(from).for_each(|(o, x)| *o = x ^ flip);
                }
            }
        }
    }
}

/// Writes as many bytes as there are, combined with `flip`; short lines by a few vectors rather than a call.
#[inline(always)]
fn flipped(from: &[u8], flip: u8, to: &mut [u8]) {
    #[inline(always)]
    fn by<const N: usize>(from: &[u8], flip: u8, to: &mut [u8]) -> bool {
        let (Some(first), Some(last)) = (from.len().checked_sub(N), from.last_chunk::<N>()) else {
            return false;
        };
        for (to, from) in to.as_chunks_mut::<N>().0.iter_mut().zip(from.as_chunks::<N>().0) {
            *to = from.map(|x| x ^ flip);
        }
        // The last part begins where it fits, and writes some bytes again.
        if let Some(to) = to[first..].first_chunk_mut::<N>() {
            *to = last.map(|x| x ^ flip);
        }
        true
    }
    if !by::<32>(from, flip, to) && !by::<8>(from, flip, to) {
        to.iter_mut().zip(from).for_each(|(to, x)| *to = x ^ flip);
    }
}
