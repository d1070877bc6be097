//! Convolutions of quantized numbers, as products of bytes.
//!
//! Each four channels of an image are interleaved, with the padding around them. Then the elements that neighbouring
//! windows multiply with one quad of weights are contiguous, and the product reads them in place. If windows are
//! several elements apart, there is an image for each remainder of the positions. The columns of the product are all
//! positions of the padded image; those between the rows of the result are dropped.
#![allow(unsafe_code, reason = "threads write disjoint columns of a result")]

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use super::bytes::{Bytes, Shared, SignedRows, Sink, Sums, UnsignedColumns, Zeros, product};
use super::call::{done, or_decline};
use super::dot::{Dot, QUAD};
use super::integer::{Byte, Requantize, bytes, factors, scale, scales, zeros};
use super::window::Window;
use super::{Call, Done, Extents, Kernel};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("conv_integer", conv_integer),
    Kernel::any("qlinear_conv", qlinear_conv),
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
struct Plan {
    window: Window,
    axes: [Axis; 3],
    /// Channels of a group.
    depth: usize,
    /// The offsets of the quads of windows, for each quad of channels and each element of the window.
    places: Vec<usize>,
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
    fn group_size(&self) -> usize {
        self.depth.div_ceil(QUAD) * self.remainders() * self.plane() * QUAD
    }

    /// Columns of the product: from the first to the last position of the result.
    fn columns(&self) -> usize {
        let [_, height, width] = [0, 1, 2].map(|axis| self.axes[axis].length);
        let [d, h, w] = self.window.output.map(|n| n - 1);
        (d * height + h) * width + w + 1
    }

    /// Lays out the channels of a group, whose bytes are combined with `flip`; `zero` is around them.
    fn fill(&self, channels: &[u8], flip: u8, zero: u8, out: &mut [u8]) {
        let window = &self.window;
        let size_in = window.input_size();
        let [depth, height, width] = [0, 1, 2].map(|axis| &self.axes[axis]);
        // They are combined with `flip` as they are laid out.
        let around = zero ^ flip;
        let mut lines = vec![around; QUAD * width.length];
        let mut rows = out.chunks_exact_mut(width.length * QUAD);
        for quad in 0..self.depth.div_ceil(QUAD) {
            let channels = &channels[quad * QUAD * size_in..];
            let count = QUAD.min(self.depth - quad * QUAD);
            for (rd, rh, rw) in each_of([depth, height, width].map(|axis| axis.remainders.len())) {
                let (planes, first_plane) = depth.inside(window, 0, rd);
                let (inner_rows, first_row) = height.inside(window, 1, rh);
                let (inner, first) = width.inside(window, 2, rw);
                for (d, h) in (0..depth.length).flat_map(|d| (0..height.length).map(move |h| (d, h))) {
                    let Some(out) = rows.next() else { return };
                    if !planes.contains(&d) || !inner_rows.contains(&h) {
                        out.fill(zero);
                        continue;
                    }
                    let plane = first_plane + (d - planes.start) * window.stride[0];
                    let row = first_row + (h - inner_rows.start) * window.stride[1];
                    let start = (plane * window.input[1] + row) * window.input[2] + first;
                    let from = channels.chunks(size_in).take(count);
                    for (line, channel) in lines.chunks_exact_mut(width.length).zip(from) {
                        let (line, from) = (&mut line[inner.clone()], &channel[start.min(channel.len())..]);
                        match window.stride[2] {
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
                }
                // The next remainder has other positions in the padding.
                lines.fill(around);
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

/// Writes the sums of positions of the padded image to those of the result, by way of `write`, which has the channel.
struct Positions<'a, T, F> {
    out: Shared<'a, T>,
    plan: &'a Plan,
    write: F,
}

impl<T: Copy + Send, F: Fn(usize, &mut [i32], &mut [T]) + Sync> Sink for Positions<'_, T, F> {
    fn fits(&self, rows: usize, columns: usize) -> bool {
        columns == self.plan.columns() && self.out.len() >= rows * self.plan.window.output_size()
    }

    unsafe fn take(&self, i: usize, first: usize, mut sums: &mut [i32]) {
        let [_, height, width] = [0, 1, 2].map(|axis| self.plan.axes[axis].length);
        let [_, rows, columns] = self.plan.window.output;
        let mut at = first;
        while !sums.is_empty() {
            let (line, column) = (at / width, at % width);
            let (some, rest) = sums.split_at_mut(sums.len().min(width - column));
            at += some.len();
            sums = rest;
            let (plane, row) = (line / height, line % height);
            if row < rows && column < columns {
                let count = some.len().min(columns - column);
                let place = i * self.plan.window.output_size() + (plane * rows + row) * columns + column;
                // SAFETY: other threads have other positions of the padded image, and so other elements.
                let out = unsafe { self.out.part(place, count) };
                (self.write)(i, &mut some[..count], out);
            }
        }
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
    groups: std::sync::Arc<Vec<Group>>,
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
        let plan = call.once(|| Plan::new(window, depth));
        let rows = filters / groups;
        let groups = call.prepared(w_at, || {
            let size = depth * window.kernel_size();
            (0..groups)
                .map(|g| group(&w, g * rows * size..(g + 1) * rows * size, depth, window.kernel_size()))
                .collect()
        });
        Some(Conv {
            x,
            zero_x,
            zeros_w,
            filters,
            images,
            plan,
            groups,
            shape,
        })
    }

    /// Computes the convolution; `write` makes the sums of a filter results.
    fn run<T, F>(&self, call: &Call<'_>, write: F) -> Done
    where
        T: Element + Copy + Send,
        F: Fn(usize, &mut [i32], &mut [T]) + Sync,
    {
        let mut out = call.result_room::<T>(self.shape.iter().product());
        let plan = &*self.plan;
        let columns = plan.columns();
        let channel_size = plan.depth * plan.window.input_size();
        let rows = self.filters / self.groups.len();
        // What is read after the last position is there.
        let slack = Dot::best().columns * QUAD;
        let mut image: Vec<u8> = call.room(plan.group_size() + slack);
        let needs_sums = self.zeros_w.iter().any(|z| *z != 0);
        let mut sums: Vec<i32> = call.room(if needs_sums { columns } else { 0 });
        let sink = Positions {
            out: Shared::new(&mut out),
            plan,
            write: |row, sums: &mut [i32], out: &mut [T]| write(row % self.filters, sums, out),
        };
        for n in 0..self.images {
            for (g, group) in self.groups.iter().enumerate() {
                let first = (n * self.groups.len() + g) * channel_size;
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
    conv.run(call, |_, sums, out: &mut [i32]| out.copy_from_slice(sums))
}

fn qlinear_conv(call: &Call<'_>) -> Done {
    match call.result_type().map(|ty| ty.dtype) {
        Some(DType::U8) => qlinear::<u8>(call),
        Some(DType::I8) => qlinear::<i8>(call),
        _ => Ok(None),
    }
}

fn qlinear<T: Byte>(call: &Call<'_>) -> Done {
    let conv = or_decline!(Conv::of(call, [0, 2, 3, 5]));
    let (x, w, y) = (scale(call, 1), scales(call, 4), scale(call, 6));
    let factors = or_decline!(factors(or_decline!(x), &or_decline!(w), or_decline!(y)));
    let [zero] = or_decline!(zeros(call, 7, 1, 0))[..] else {
        return Ok(None);
    };
    let bias = call.slice::<i32>(8);
    let has_all = bias.as_ref().map_or(!call.has(8), |bias| bias.len() == conv.filters);
    if !has_all || (factors.len() != 1 && factors.len() != conv.filters) {
        return Ok(None);
    }
    conv.run(call, |filter, sums, out: &mut [T]| {
        let factor = factors[if factors.len() == 1 { 0 } else { filter }];
        if let Some(bias) = &bias {
            sums.iter_mut().for_each(|sum| *sum = sum.wrapping_add(bias[filter]));
        }
        Arch::new().dispatch(Requantize {
            sums,
            factors: &[factor],
            zero: zero as f32,
            out,
        });
    })
}

#[cfg(test)]
#[path = "integer_conv_tests.rs"]
mod tests;
