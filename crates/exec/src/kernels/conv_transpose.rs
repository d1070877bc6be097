//! Transposed convolution: a product for each group of filters, whose rows are added to the result.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;
use smallvec::SmallVec;

use super::call::{done, or_decline};
use super::geometry::copy_short;
use super::image::Image;
use super::micro::Micro;
use super::panels::Left;
use super::product::{Finish, Start, product};
use super::threads::worth;
use super::window::Window;
use super::{Call, Done, Kernel};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("conv_transpose", conv_transpose)];

fn conv_transpose(call: &Call<'_>) -> Done {
    let (x, w) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let bias = call.f32s(2);
    if bias.is_none() && call.has(2) {
        return Ok(None);
    }
    let shape = or_decline!(call.out_shape());
    let ([n, channels, input @ ..], [_, rows, kernel @ ..]) = (call.shape(0), call.shape(1)) else {
        return Ok(None);
    };
    // The window of the convolution of which this is the transpose: it slides over the result.
    let window = or_decline!(Window::of(call, shape.get(2..).unwrap_or(&[]), input, kernel));
    let groups = or_decline!(call.int("group").and_then(|g| usize::try_from(g).ok())).max(1);
    let (n, channels, rows) = (*n, *channels, *rows);
    let filters = rows * groups;
    if channels % groups != 0 || call.shape(1)[0] != channels || shape[..2] != [n, filters] {
        return Ok(None);
    }
    // Padding derived from a requested output shape is not in the attributes.
    let explicit = (0..3).all(|a| {
        let covered =
            (window.output[a].max(1) - 1) * window.stride[a] + (window.kernel[a].max(1) - 1) * window.dilation[a] + 1;
        covered + window.stride[a] > window.input[a] + window.pad[a] + window.pad_end[a]
    });
    if !explicit || !call.attr("output_shape").is_none() {
        return Ok(None);
    }
    let depth = channels / groups;
    let (size_in, size_out) = (window.output_size(), window.input_size());
    let mut out = call.result_room::<f32>(n * filters * size_out);
    if out.is_empty() {
        return done(&shape, out);
    }
    if size_in * depth == 0 {
        for (i, channel) in out.chunks_exact_mut(size_out).enumerate() {
            channel.fill(bias.as_ref().map_or(0.0, |bias| bias[i % filters]));
        }
        return done(&shape, out);
    }
    let size = window.kernel_size();
    let weights = call.prepared(1, || weights(&w, depth, rows, size));
    let whole = Window {
        input: [1, 1, size_in],
        output: [1, 1, size_in],
        kernel: [1; 3],
        stride: [1; 3],
        dilation: [1; 3],
        pad: [0; 3],
        pad_end: [0; 3],
    };
    let most = weights.iter().map(|(part, _)| part.len()).max().unwrap_or(0);
    let scratch = call.scratch();
    // The filters of a part of the weights in one image after the other.
    let run = |work: &mut [Work<'_>], threads: usize| {
        let mut image = Image::new(&whole, (1, depth), 0, None, |n| scratch.room(n));
        let mut columns: Vec<f32> = scratch.room(most * size * size_in);
        let mut rows_of = Phases::new(&window, |n| scratch.room(n));
        for Work {
            image: i,
            part,
            left,
            out,
        } in work
        {
            let group = part.start / rows;
            let channels = &x[(*i * channels + group * depth) * size_in..][..depth * size_in];
            image.set(channels, 0, 1);
            let columns = &mut columns[..part.len() * size * size_in];
            product(left, &image, size_in, columns, Finish::from(Start::Zero), threads);
            let filters = part.clone().zip(columns.chunks_exact(size * size_in));
            for ((filter, columns), out) in filters.zip(out.chunks_exact_mut(size_out)) {
                rows_of.start = bias.as_ref().map_or(0.0, |bias| bias[filter]);
                Arch::new().dispatch(Rows {
                    phases: &mut rows_of,
                    columns,
                    out,
                });
            }
        }
        scratch.give(columns);
        scratch.give(rows_of.elements);
        scratch.give(image.into_room());
    };
    let mut rest = &mut *out;
    let mut work: SmallVec<[Work<'_>; 8]> = SmallVec::new();
    for (image, (part, left)) in (0..n).flat_map(|i| weights.iter().map(move |weights| (i, weights))) {
        let (out, after) = rest.split_at_mut(part.len() * size_out);
        work.push(Work { image, part, left, out });
        rest = after;
    }
    let threads = worth(call.threads, n * filters * size_out);
    match work.len().div_ceil(threads) {
        share if threads > 1 && work.len() >= threads => work.par_chunks_mut(share).for_each(|work| run(work, 1)),
        _ => run(&mut work, call.threads),
    }
    drop(work);
    done(&shape, out)
}

/// What a thread computes at a time: the results of a part of the filters in one image.
struct Work<'a> {
    image: usize,
    part: &'a Range<usize>,
    left: &'a Left,
    out: &'a mut [f32],
}

/// The left matrix for each part of the filters: a row for each element of each window, and a column for each channel.
/// The products of a part fill a tile; those of all filters would not stay in a cache.
fn weights(w: &[f32], depth: usize, rows: usize, size: usize) -> Vec<(Range<usize>, Left)> {
    let micro = Micro::best();
    let groups = w.len() / (depth * rows * size).max(1);
    let at_once = micro.rows.div_ceil(size.max(1));
    let mut all = Vec::new();
    for (group, first) in (0..groups).flat_map(|g| (0..rows).step_by(at_once).map(move |first| (g, first))) {
        let part = first..rows.min(first + at_once);
        let mut matrix = Vec::with_capacity(part.len() * size * depth);
        for element in part.start * size..part.end * size {
            matrix.extend((0..depth).map(|channel| w[(group * depth + channel) * rows * size + element]));
        }
        let left = Left::of_rows(micro, &matrix, part.len() * size);
        all.push((group * rows + part.start..group * rows + part.end, left));
    }
    all
}

/// One row of a result, grouped by the remainders of its elements modulo the stride.
struct Phases<'a> {
    window: &'a Window,
    /// The initial value of the sums.
    start: f32,
    /// Elements of each group.
    each: usize,
    elements: Vec<f32>,
}

impl Phases<'_> {
    fn new(window: &Window, room: impl FnOnce(usize) -> Vec<f32>) -> Phases<'_> {
        let each = window.input[2].div_ceil(window.stride[2]);
        Phases {
            window,
            start: 0.0,
            each,
            // Every row begins by filling them.
            elements: room(each * window.stride[2]),
        }
    }
}

/// Adds every row of `columns` to the positions that its window element covers.
struct Rows<'a, 'w> {
    phases: &'a mut Phases<'w>,
    columns: &'a [f32],
    out: &'a mut [f32],
}

impl NullaryFnOnce for Rows<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Rows { phases, columns, out } = self;
        let w = phases.window;
        let [_, height, width] = w.input;
        let (size_in, [_, oh, ow]) = (w.output_size(), w.output);
        // The window whose element `k` is at position `at`.
        let window = |axis: usize, at: usize, k: usize| {
            let from = (at + w.pad[axis]).checked_sub(k * w.dilation[axis])?;
            let whole = from.is_multiple_of(w.stride[axis]) && from / w.stride[axis] < w.output[axis];
            whole.then(|| from / w.stride[axis])
        };
        for (at, row) in out.chunks_exact_mut(width).enumerate() {
            phases.elements.fill(phases.start);
            for k in 0..w.kernel[0] * w.kernel[1] {
                let z = window(0, at / height, k / w.kernel[1]);
                let Some((z, y)) = z.zip(window(1, at % height, k % w.kernel[1])) else {
                    continue;
                };
                for x in 0..w.kernel[2] {
                    let from = &columns[(k * w.kernel[2] + x) * size_in + (z * oh + y) * ow..][..ow];
                    // Window `i` covers position `i * stride + offset`, which is element `i + shift` of its group.
                    let (offset, stride) = ((x * w.dilation[2]) as isize - w.pad[2] as isize, w.stride[2] as isize);
                    let (shift, phase) = (offset.div_euclid(stride), offset.rem_euclid(stride) as usize);
                    let group = &mut phases.elements[phase * phases.each..][..phases.each];
                    let (skip, first) = ((-shift).max(0) as usize, shift.max(0) as usize);
                    let to = group.iter_mut().skip(first);
                    to.zip(from.iter().skip(skip)).for_each(|(to, x)| *to += x);
                }
            }
            match w.stride[2] {
                1 => copy_short(&phases.elements[..width], row),
                // A constant distance is an exchange of elements between vectors.
                2 => {
                    let (even, odd) = phases.elements.split_at(phases.each);
                    let (pairs, last) = row.as_chunks_mut::<2>();
                    let both = even.iter().zip(odd);
                    pairs.iter_mut().zip(both).for_each(|(pair, (a, b))| *pair = [*a, *b]);
                    last.iter_mut().for_each(|last| *last = even[width / 2]);
                }
                stride => {
                    for (x, to) in row.iter_mut().enumerate() {
                        *to = phases.elements[x % stride * phases.each + x / stride];
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};

    #[test]
    fn windows_are_added_to_the_result() {
        type Row = (&'static [usize], &'static [usize], i64, [&'static [i64]; 3]);
        let rows: &[Row] = &[
            (&[1, 3, 5], &[3, 2, 2], 1, [&[2], &[1], &[0, 0]]),
            (&[2, 4, 17], &[4, 3, 3], 2, [&[1], &[2], &[1, 0]]),
            (&[1, 1, 1, 1], &[1, 1, 1, 1], 1, [&[1, 1], &[1, 1], &[0, 0, 0, 0]]),
            (&[1, 5, 16, 33], &[5, 7, 2, 2], 1, [&[2, 2], &[1, 1], &[0, 0, 0, 0]]),
            (&[1, 2, 7, 20], &[2, 25, 3, 3], 1, [&[2, 2], &[1, 1], &[1, 1, 1, 1]]),
            (&[1, 2, 4, 6], &[2, 3, 4, 3], 1, [&[3, 3], &[2, 1], &[2, 1, 0, 2]]),
            (
                &[2, 2, 3, 4, 5],
                &[2, 1, 2, 2, 3],
                2,
                [&[1, 2, 4], &[1, 1, 1], &[0, 0, 1, 0, 1, 0]],
            ),
            (&[0, 2, 3, 3], &[2, 1, 2, 2], 1, [&[2, 2], &[1, 1], &[0, 0, 0, 0]]),
        ];
        for (i, &(x, w, group, [strides, dilations, pads])) in rows.iter().enumerate() {
            let case = || {
                Case::new("conv_transpose", &[f32s(x, i as u64), f32s(w, 2)])
                    .ints("strides", strides)
                    .ints("dilations", dilations)
                    .ints("pads", pads)
                    .int("group", group)
            };
            case().check();
            let filters = w[1] * usize::try_from(group).unwrap();
            let bias = f32s(&[filters], 3);
            let with_bias = Case::new("conv_transpose", &[f32s(x, i as u64), f32s(w, 2), bias]);
            with_bias
                .ints("strides", strides)
                .ints("dilations", dilations)
                .ints("pads", pads)
                .int("group", group)
                .check();
        }
    }
}
