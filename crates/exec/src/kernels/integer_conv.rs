//! Convolutions of quantized numbers, as products of bytes.
//!
//! The image is laid out by [`integer_image`](super::integer_image), and the product reads windows in place. The columns
//! of the product are all positions of the padded image; those between the rows of the result are dropped.
#![allow(unsafe_code, reason = "threads write disjoint columns of a result")]

use std::ops::Range;

use super::bytes::{Bytes, Shared, SignedRows, Sink, Sums, Tile, UnsignedColumns, Zeros, product};
use super::call::{done, or_decline};
use super::dot::{Dot, MOST_COLUMNS, MOST_ROWS, QUAD, STRIP};
use super::geometry::copy_short;
use super::integer::{bytes, zeros};
use super::integer_depthwise::{Depthwise, Filters};
use super::integer_image::Plan;
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
                // SAFETY: other threads have other filters or positions of the padded image, and so other elements.
                let out = unsafe { self.out.part(place, count) };
                copy_short(&row[at..at + count], out);
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
    fn depthwise(&self, call: &Call<'_>) -> Option<Depthwise<'_>> {
        if self.plan.depth != 1 {
            return None;
        }
        let shift = self.w.signed_shift();
        let zeros: Vec<i32> = self.zeros_w.iter().map(|zero| zero - shift).collect();
        let make = || Filters::of(&self.w.numbers(), zeros.clone(), &self.plan);
        let kept = call.prepared(self.w_at, make);
        // Zero points may change while weights do not.
        let filters = if kept.zeros == zeros {
            kept
        } else {
            std::sync::Arc::new(make())
        };
        Some(Depthwise {
            plan: &self.plan,
            x: &self.x,
            zero: self.zero_x as u8,
            filters,
            multiplier: self.filters / self.groups,
            images: self.images,
        })
    }

    /// Computes the convolution, and what becomes of its sums.
    fn rescaled<T: Rounded>(&self, call: &Call<'_>, rescale: &Rescale) -> Done {
        if let Some(depthwise) = self.depthwise(call) {
            return depthwise.run(call, &self.shape, |filter, more, sums, out: &mut [[T; STRIP]]| {
                rescale.strips(filter, more, sums, out);
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
    if let Some(depthwise) = conv.depthwise(call) {
        return depthwise.run(call, &conv.shape, |_, more, sums, out: &mut [[i32; STRIP]]| {
            for ([a, b, c, d], out) in sums.iter().zip(out) {
                let quads = out.as_chunks_mut::<QUAD>().0.iter_mut();
                for ((((quad, a), b), c), d) in quads.zip(a).zip(b).zip(c).zip(d) {
                    *quad = [*a, *b, *c, *d].map(|sum| sum.wrapping_add(more));
                }
            }
        });
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
