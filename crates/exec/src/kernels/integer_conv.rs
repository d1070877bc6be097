//! Convolutions of quantized numbers, as products of bytes.
//!
//! Each four channels of an image are interleaved, with the padding around them. Then the elements that neighbouring
//! windows multiply with one quad of weights are contiguous, and the product reads them in place. If windows are
//! several elements apart, there is an image for each remainder of the positions. The columns of the product are all
//! positions of the padded image; those between the rows of the result are dropped.
#![allow(unsafe_code, reason = "threads write disjoint columns of a result")]

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use super::bytes::{Bytes, Shared, SignedRows, Sink, Sums, Tile, UnsignedColumns, Zeros, product};
use super::call::{done, or_decline};
use super::dot::{Dot, MOST_COLUMNS, MOST_ROWS, QUAD};
use super::integer::{bytes, zeros};
use super::integer_depthwise::Depthwise;
use super::rescale::{Rescale, Rounded, rounded_type};
use super::window::Window;
use super::{Call, Done, Extents, Kernel};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("conv_integer", conv_integer),
    Kernel::any("qlinear_conv", qlinear_conv),
    Kernel::any("quantized_conv", quantized_conv),
];

/// The weights of a group as rows, and a row whose products are the sums of windows.
struct Group {
    weights: SignedRows,
    ones: SignedRows,
}

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
    depth: usize,
    /// The offsets of the quads of windows, for each quad of channels and each element of the window.
    pub(super) places: Vec<usize>,
}

impl Plan {
    fn new(window: Window, depth: usize) -> Plan {
        let axes = [0, 1, 2].map(|axis| Axis::of(&window, axis));
        let mut plan = Plan {
            window,
            axes,
            depth,
            places: Vec::new(),
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
    fn fill(&self, channels: &[u8], flip: u8, zero: u8, out: &mut [u8]) {
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
                Arch::new().dispatch(Interleave {
                    lines: &lines,
                    flip,
                    out,
                });
            });
        }
    }

    /// Lays out a single channel, whose bytes are combined with `flip`, as differences from `zero`; zeros are around them.
    pub(super) fn fill_plane(&self, channel: &[u8], flip: u8, zero: u8, out: &mut [i16]) {
        let stride = self.window.stride[2];
        let mut rows = out.chunks_exact_mut(self.axes[2].length);
        self.each_line(|_, inner, start| {
            let Some(out) = rows.next() else { return };
            out.fill(0);
            if let Some(start) = start {
                Arch::new().dispatch(Widen {
                    from: &channel[start.min(channel.len())..],
                    stride,
                    flip,
                    zero,
                    out: &mut out[inner.clone()],
                });
            }
        });
    }

    /// Calls `run` for each line of the image of a quad of channels, in order: with the number of its remainder, the
    /// positions that are not padding, and the place of the first of these in a channel; none if the line is padding.
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

/// Four lines, one after the other, as quads of bytes combined with `flip`.
struct Interleave<'a> {
    lines: &'a [u8],
    flip: u8,
    out: &'a mut [u8],
}

impl NullaryFnOnce for Interleave<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let n = self.lines.len() / QUAD;
        let (a, rest) = self.lines.split_at(n);
        let (b, rest) = rest.split_at(n);
        let (c, d) = rest.split_at(n);
        let quads = self.out.as_chunks_mut::<QUAD>().0.iter_mut();
        for ((((quad, a), b), c), d) in quads.zip(a).zip(b).zip(c).zip(d) {
            let all = [*a, *b, *c, *d].map(|x| x ^ self.flip);
            *quad = u32::from_le_bytes(all).to_le_bytes();
        }
    }
}

/// Bytes at a distance of `stride`, combined with `flip`, as differences from `zero`.
struct Widen<'a> {
    from: &'a [u8],
    stride: usize,
    flip: u8,
    zero: u8,
    out: &'a mut [i16],
}

impl NullaryFnOnce for Widen<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let widened = |x: &u8| i16::from(x ^ self.flip) - i16::from(self.zero);
        match self.stride {
            1 => {
                let from = &self.from[..self.out.len()];
                self.out.iter_mut().zip(from).for_each(|(out, x)| *out = widened(x));
            }
            stride => {
                let from = self.from.iter().step_by(stride);
                self.out.iter_mut().zip(from).for_each(|(out, x)| *out = widened(x));
            }
        }
    }
}

/// The image of a group.
struct Image<'a> {
    bytes: &'a [u8],
    places: &'a [usize],
}

impl UnsignedColumns for Image<'_> {
    fn panel(&self, column: usize, _: usize) -> (&[u8], Option<&[usize]>) {
        (&self.bytes[column * QUAD..], Some(self.places))
    }
}

/// Writes tiles of positions of the padded image to those of the result, by way of `finish`, which has the filter of the
/// first row.
struct Positions<'a, T, F> {
    out: Shared<'a, T>,
    plan: &'a Plan,
    finish: F,
}

impl<T: Copy + Default + Send, F: Fn(usize, &Tile<'_>, &Zeros<'_>, &mut [T]) + Sync> Sink for Positions<'_, T, F> {
    fn fits(&self, rows: usize, columns: usize) -> bool {
        columns == self.plan.columns() && self.out.len() >= rows * self.plan.window.output_size()
    }

    unsafe fn take(&self, above: usize, tile: &Tile<'_>, zeros: &Zeros<'_>) {
        let mut finished = [T::default(); MOST_ROWS * MOST_COLUMNS];
        (self.finish)(above + tile.row, tile, zeros, &mut finished);
        let size = self.plan.window.output_size();
        self.plan.runs(tile.first, tile.count, |at, place, count| {
            for (i, row) in finished.chunks_exact(MOST_COLUMNS).take(tile.rows).enumerate() {
                let place = (above + tile.row + i) * size + place;
                // SAFETY: other threads have other positions of the padded image, and so other elements.
                let out = unsafe { self.out.part(place, count) };
                out.copy_from_slice(&row[at..at + count]);
            }
        });
    }
}

/// A convolution of bytes.
struct Conv<'a> {
    x: Bytes<'a>,
    zero_x: i32,
    /// One, or one for each filter.
    zeros_w: Vec<i32>,
    filters: usize,
    images: usize,
    plan: std::sync::Arc<Plan>,
    w: Bytes<'a>,
    /// The operand that the weights are.
    w_at: usize,
    groups: usize,
    shape: Extents,
}

impl<'a> Conv<'a> {
    /// `None` if the kernel does not compute it; `[x, zero point of x, w, zero point of w]` are operands.
    fn of(call: &Call<'a>, [x_at, x_zero, w_at, w_zero]: [usize; 4]) -> Option<Conv<'a>> {
        let (x, w) = (bytes(call, x_at)?, bytes(call, w_at)?);
        let ([images, channels, input @ ..], [filters, depth, kernel @ ..]) = (call.shape(x_at), call.shape(w_at))
        else {
            return None;
        };
        let (images, channels, filters, depth) = (*images, *channels, *filters, *depth);
        let shape = call.out_shape()?;
        let window = Window::of(call, input, shape.get(2..)?, kernel)?;
        let groups = usize::try_from(call.int("group")?).ok()?;
        let is_empty = shape.contains(&0) || depth == 0 || window.kernel_size() == 0 || window.input_size() == 0;
        if is_empty || groups == 0 || depth * groups != channels || filters % groups != 0 {
            return None;
        }
        let [zero_x] = zeros(call, x_zero, 1, x.unsigned_shift())?[..] else {
            return None;
        };
        let zeros_w = zeros(call, w_zero, filters, w.signed_shift())?;
        let plan = call.once(|| Plan::new(window.joined(), depth));
        Some(Conv {
            x,
            w,
            w_at,
            zero_x,
            zeros_w,
            filters,
            images,
            plan,
            groups,
            shape,
        })
    }

    /// Computes the convolution; `finish` makes a tile of sums results, and has the filter of its first row.
    fn run<T, F>(&self, call: &Call<'_>, finish: F) -> Done
    where
        T: Element + Copy + Default + Send,
        F: Fn(usize, &Tile<'_>, &Zeros<'_>, &mut [T]) + Sync,
    {
        let mut out = call.result_room::<T>(self.shape.iter().product());
        let plan = &*self.plan;
        let columns = plan.columns();
        let channel_size = plan.depth * plan.window.input_size();
        let rows = self.filters / self.groups;
        let groups = call.prepared(self.w_at, || -> Vec<Group> {
            let (kernel, size) = (plan.window.kernel_size(), plan.depth * plan.window.kernel_size());
            let of = |g| group(&self.w, g * rows * size..(g + 1) * rows * size, plan.depth, kernel);
            (0..self.groups).map(of).collect()
        });
        // What is read after the last position is there.
        let slack = Dot::best().columns * QUAD;
        let mut image: Vec<u8> = call.room(plan.group_size() + slack);
        let needs_sums = self.zeros_w.iter().any(|z| *z != 0);
        let mut sums: Vec<i32> = call.room(if needs_sums { columns } else { 0 });
        let sink = Positions {
            out: Shared::new(&mut out),
            plan,
            finish: |row, tile: &Tile<'_>, zeros: &Zeros<'_>, out: &mut [T]| {
                finish(row % self.filters, tile, zeros, out)
            },
        };
        for n in 0..self.images {
            for (g, group) in groups.iter().enumerate() {
                let first = (n * self.groups + g) * channel_size;
                let (channels, flip) = self.x.to_unsigned(first..first + channel_size);
                plan.fill(channels, flip, self.zero_x as u8, &mut image[..plan.group_size()]);
                let right = Image {
                    bytes: &image,
                    places: &plan.places,
                };
                if needs_sums {
                    let zeros = Zeros {
                        inner: 0,
                        left: &[0],
                        right: &[0],
                        rows: &[0],
                        columns: &[],
                    };
                    let sink = Sums {
                        out: Shared::new(&mut sums),
                        columns,
                    };
                    product(&group.ones, &right, columns, &zeros, (&sink, 0), call.threads);
                }
                let own = match self.zeros_w.len() {
                    1 => &self.zeros_w[..],
                    _ => &self.zeros_w[g * rows..(g + 1) * rows],
                };
                let zeros = Zeros {
                    inner: plan.depth * plan.window.kernel_size(),
                    left: own,
                    right: &[self.zero_x],
                    rows: &group.weights.sums,
                    columns: &sums,
                };
                let above = n * self.filters + g * rows;
                product(&group.weights, &right, columns, &zeros, (&sink, above), call.threads);
            }
        }
        call.give(image);
        call.give(sums);
        done(&self.shape, out)
    }
}

impl<'a> Conv<'a> {
    /// The same as a convolution of each channel separately, if it is one.
    fn depthwise(&self) -> Option<Depthwise<'_>> {
        if self.plan.depth != 1 {
            return None;
        }
        let kernel = self.plan.window.kernel_size();
        let weights = self.w.numbers();
        let shift = self.w.signed_shift();
        let zero = |filter: usize| self.zeros_w[if self.zeros_w.len() == 1 { 0 } else { filter }];
        Some(Depthwise {
            plan: &self.plan,
            x: &self.x,
            zero: self.zero_x as u8,
            weights: weights
                .iter()
                .enumerate()
                .map(|(i, w)| w + shift - zero(i / kernel))
                .collect(),
            filters: self.filters,
            multiplier: self.filters / self.groups,
            images: self.images,
        })
    }

    /// Computes the convolution, and what becomes of its sums.
    fn rescaled<T: Rounded>(&self, call: &Call<'_>, rescale: &Rescale) -> Done {
        if let Some(depthwise) = self.depthwise() {
            return depthwise.run(call, &self.shape, |filter, sums, out: &mut [T; MOST_COLUMNS]| {
                rescale.row(filter, sums, out);
            });
        }
        self.run(call, |filter, tile, zeros, out: &mut [T]| {
            rescale.tile(filter, tile, zeros, out)
        })
    }
}

/// The weights in `range`, as rows of quads of channels for each element of the window.
fn group(w: &Bytes<'_>, range: Range<usize>, depth: usize, kernel: usize) -> Group {
    let (bytes, flip) = w.to_signed(range);
    let filters = bytes.len() / (depth * kernel);
    let inner = depth.div_ceil(QUAD) * kernel * QUAD;
    let (mut rows, mut ones) = (vec![0; filters * inner], vec![0; inner]);
    for (i, x) in bytes.iter().enumerate() {
        let (filter, c, k) = (i / (depth * kernel), i / kernel % depth, i % kernel);
        let at = (c / QUAD * kernel + k) * QUAD + c % QUAD;
        rows[filter * inner + at] = x ^ flip;
        ones[at] = 1;
    }
    let of = |rows: &[u8]| SignedRows::of(Dot::best(), rows, inner, 0, Vec::new());
    Group {
        weights: of(&rows),
        ones: of(&ones),
    }
}

fn conv_integer(call: &Call<'_>) -> Done {
    let conv = or_decline!(Conv::of(call, [0, 2, 1, 3]));
    if let Some(depthwise) = conv.depthwise() {
        return depthwise.run(call, &conv.shape, |_, sums, out: &mut [i32; MOST_COLUMNS]| *out = *sums);
    }
    conv.run(call, |_, tile, zeros, out: &mut [i32]| {
        let rows = tile
            .sums
            .chunks_exact(MOST_COLUMNS)
            .zip(out.chunks_exact_mut(MOST_COLUMNS));
        for (i, (sums, out)) in rows.take(tile.rows).enumerate() {
            out.copy_from_slice(sums);
            zeros.apply(tile.row + i, tile.first, &mut out[..tile.count]);
        }
    })
}

fn qlinear_conv(call: &Call<'_>) -> Done {
    match call.result_type().map(|ty| ty.dtype) {
        Some(DType::U8 | DType::I8) => rounded_type!(call, qlinear),
        _ => Ok(None),
    }
}

fn qlinear<T: Rounded>(call: &Call<'_>) -> Done {
    let conv = or_decline!(Conv::of(call, [0, 2, 3, 5]));
    let rescale = or_decline!(Rescale::qlinear(call, true, conv.filters));
    if call.has(8) && call.shape(8) != [conv.filters] {
        return Ok(None);
    }
    conv.rescaled::<T>(call, &rescale)
}

fn quantized_conv(call: &Call<'_>) -> Done {
    rounded_type!(call, quantized)
}

fn quantized<T: Rounded>(call: &Call<'_>) -> Done {
    let conv = or_decline!(Conv::of(call, [0, 2, 3, 5]));
    let rescale = or_decline!(Rescale::quantized(call, true, conv.filters));
    conv.rescaled::<T>(call, &rescale)
}

#[cfg(test)]
#[path = "integer_conv_tests.rs"]
mod tests;
