//! Pooling: the maximum or the mean of every window.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use smallvec::SmallVec;

use super::call::{Scratch, done, or_decline};
use super::geometry::copy_short;
use super::lanes::halve;
#[cfg(target_arch = "x86_64")]
use super::pool_rows::{self, Along, Lines};
use super::reduce::{max_of, sum_of};
use super::threads::{in_parts, worth};
use super::window::Window;
use super::{Call, Done, Kernel};
use tautomer_tensor::{DType, Element};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("max_pool", max_pool),
    Kernel {
        dtype: Some(DType::U8),
        ..Kernel::any("max_pool", |c| max_pool_of_bytes(c, |x: u8| x.into(), |x| x as u8))
    },
    Kernel {
        dtype: Some(DType::I8),
        ..Kernel::any("max_pool", |c| max_pool_of_bytes(c, |x: i8| x.into(), |x| x as i8))
    },
    Kernel::f32("average_pool", average_pool),
    Kernel::f32("global_max_pool", |c| global(c, max_of)),
    Kernel::f32("global_average_pool", |c| global(c, |x| sum_of(x) / x.len() as f32)),
];

pub(super) fn window(call: &Call<'_>, shape: &[usize]) -> Option<Window> {
    let input = call.shape(0).get(2..)?;
    let kernel = call.sizes("kernel_shape", input.len(), 1)?;
    Window::of(call, input, shape.get(2..)?, &kernel)
}

fn max_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    let mut out = call.result_room(shape.iter().product());
    let rows = call.once(|| Rows::of(&w));
    slide(call, (&w, &rows), &x, &mut out, Largest, None);
    done(&shape, out)
}

/// The same for bytes, each of which is a number of 32 bits.
fn max_pool_of_bytes<T: Element + Copy>(call: &Call<'_>, wide: fn(T) -> f32, narrow: fn(f32) -> T) -> Done {
    let x = or_decline!(call.slice::<T>(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    let count = shape.iter().product();
    let (mut numbers, mut largest): (Vec<f32>, Vec<f32>) = (call.room(x.len()), call.room(count));
    numbers.iter_mut().zip(&*x).for_each(|(to, &from)| *to = wide(from));
    let rows = call.once(|| Rows::of(&w));
    slide(call, (&w, &rows), &numbers, &mut largest, Largest, None);
    let mut out = call.result_room::<T>(count);
    out.iter_mut().zip(&largest).for_each(|(to, &from)| *to = narrow(from));
    call.give(numbers);
    call.give(largest);
    done(&shape, out)
}

fn average_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    let padded = call.flag("count_include_pad");
    let made = call.once(|| {
        let [depths, heights, widths] = counts(&w, padded);
        let lines = depths.iter().flat_map(|z| heights.iter().map(move |y| z * y));
        let lines: Vec<f32> = lines.collect();
        (Rows::of(&w), lines, widths)
    });
    let (rows, lines, widths) = &*made;
    let mut out = call.result_room(shape.iter().product());
    slide(call, (&w, rows), &x, &mut out, Sum, Some((lines, widths)));
    done(&shape, out)
}

/// The number of elements of each window that count, along each axis.
fn counts(w: &Window, padded: bool) -> [Vec<f32>; 3] {
    let along = |axis: usize| {
        let count = |o: usize| {
            let counted = (0..w.kernel[axis]).filter(|&k| {
                let place = o * w.stride[axis] + k * w.dilation[axis];
                match padded {
                    true => place < w.pad[axis] + w.input[axis] + w.pad_end[axis],
                    false => w.position(axis, o, k).is_some(),
                }
            });
            counted.count() as f32
        };
        (0..w.output[axis]).map(count).collect()
    };
    std::array::from_fn(along)
}

/// How the elements of a window are folded.
trait Fold: Copy + Sync {
    /// The result for no elements.
    const EMPTY: f32;

    /// True for sums, and false for the largest element.
    const IS_SUM: bool;

    fn of<S: Simd>(self, simd: S, all: S::f32s, x: S::f32s) -> S::f32s;
}

/// The largest number; NaN if there is one.
#[derive(Clone, Copy)]
struct Largest;

impl Fold for Largest {
    const EMPTY: f32 = f32::NEG_INFINITY;
    const IS_SUM: bool = false;

    #[inline(always)]
    fn of<S: Simd>(self, simd: S, all: S::f32s, x: S::f32s) -> S::f32s {
        // Comparisons with NaN are false.
        let larger = simd.select_f32s(simd.less_than_or_equal_f32s(all, x), x, all);
        simd.select_f32s(simd.equal_f32s(x, x), larger, x)
    }
}

#[derive(Clone, Copy)]
struct Sum;

impl Fold for Sum {
    const EMPTY: f32 = 0.0;
    const IS_SUM: bool = true;

    #[inline(always)]
    fn of<S: Simd>(self, simd: S, all: S::f32s, x: S::f32s) -> S::f32s {
        simd.add_f32s(all, x)
    }
}

/// Folds the elements that each window covers into its element of `out`, and divides it by the product of a number for
/// each row and one for each column.
fn slide<F: Fold>(
    call: &Call<'_>,
    (w, rows): (&Window, &Rows),
    x: &[f32],
    out: &mut [f32],
    fold: F,
    divisors: Option<(&[f32], &[f32])>,
) {
    let (size_in, size_out) = (w.input_size(), w.output_size());
    if size_out == 0 {
        return;
    }
    let (threads, scratch) = (worth(call.threads, x.len()), call.scratch());
    in_parts(threads, out, size_out, |first, out| {
        let x = &x[first * size_in..][..out.len() / size_out * size_in];
        channels(scratch, (w, rows), x, out, fold, divisors);
    });
}

/// The same for some channels, on one thread.
fn channels<F: Fold>(
    scratch: Scratch<'_>,
    (w, rows): (&Window, &Rows),
    x: &[f32],
    out: &mut [f32],
    fold: F,
    divisors: Option<(&[f32], &[f32])>,
) {
    let (size_in, size_out) = (w.input_size(), w.output_size());
    if in_registers::<F>(w, rows, x, out, divisors) {
        return;
    }
    // What the rows of windows are folded into, with padding; these lines, grouped by remainders modulo the stride; and
    // what the windows of one are folded into.
    let covered = (w.output[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
    let length = covered.max(w.pad[2] + w.input[2]).next_multiple_of(LANES * w.stride[2]) + LANES * w.stride[2];
    let mut lines = [0; 3].map(|_| {
        let mut line = scratch.room(TOGETHER * length);
        line.fill(F::EMPTY);
        line
    });
    for (i, out) in out.chunks_exact_mut(size_out).enumerate() {
        let (channel, lines) = (&x[i * size_in..][..size_in], &mut lines);
        Arch::new().dispatch(Channel {
            w,
            rows,
            channel,
            out,
            fold,
            length,
            lines,
        });
        if let Some((lines, widths)) = divisors {
            for (row, line) in out.chunks_exact_mut(w.output[2]).zip(lines) {
                row.iter_mut().zip(widths).for_each(|(x, count)| *x /= line * count);
            }
        }
    }
    lines.into_iter().for_each(|line| scratch.give(line));
}

/// Folds windows in registers, if there is a function for them.
fn in_registers<F: Fold>(
    w: &Window,
    rows: &Rows,
    x: &[f32],
    out: &mut [f32],
    divisors: Option<(&[f32], &[f32])>,
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if w.dilation[2] == 1 && w.input_size() > 0 {
        let fold = match F::IS_SUM {
            true => pool_rows::fold::<true>,
            false => pool_rows::fold::<false>,
        };
        let along = Along {
            width: w.input[2],
            pad: w.pad[2],
            kernel: w.kernel[2],
            stride: w.stride[2],
        };
        if divisors.is_none() && w.is_one_row() {
            let along = Along {
                width: x.len(),
                ..along
            };
            let lines = Lines {
                starts: &[0],
                ranges: std::slice::from_ref(&(0..1)),
                divisors,
            };
            return fold(along, x, lines, out);
        }
        let lines = Lines {
            starts: &rows.starts,
            ranges: &rows.ranges,
            divisors,
        };
        let mut channels = x
            .chunks_exact(w.input_size())
            .zip(out.chunks_exact_mut(w.output_size()));
        return channels.all(|(channel, out)| fold(along, channel, lines, out));
    }
    let _ = (w, rows, x, out, divisors);
    false
}

/// Lanes of the widest vectors.
const LANES: usize = 16;

/// Rows of windows that are folded together. A vector that was just written cannot be read at another place before it
/// is in the cache, and meanwhile the other rows are folded.
const TOGETHER: usize = 8;

/// For each row of windows, where in a channel the rows that it covers begin.
struct Rows {
    starts: Vec<usize>,
    /// The first and the last of them for each row of windows.
    ranges: Vec<Range<usize>>,
}

impl Rows {
    fn of(w: &Window) -> Rows {
        let [_, height, width] = w.input;
        let [depth, oh, _] = w.output;
        let (mut starts, mut ranges) = (Vec::new(), Vec::with_capacity(depth * oh));
        for (z, y) in (0..depth).flat_map(|z| (0..oh).map(move |y| (z, y))) {
            let first = starts.len();
            for (kz, ky) in (0..w.kernel[0]).flat_map(|kz| (0..w.kernel[1]).map(move |ky| (kz, ky))) {
                if let Some((z, y)) = w.position(0, z, kz).zip(w.position(1, y, ky)) {
                    starts.push((z * height + y) * width);
                }
            }
            ranges.push(first..starts.len());
        }
        Rows { starts, ranges }
    }
}

/// Folds the windows of a channel: first the rows that each covers into one, then along that row.
struct Channel<'a, F> {
    w: &'a Window,
    rows: &'a Rows,
    channel: &'a [f32],
    out: &'a mut [f32],
    fold: F,
    /// The elements of a line.
    length: usize,
    /// [`TOGETHER`] of each.
    lines: &'a mut [Vec<f32>; 3],
}

impl<F: Fold> WithSimd for Channel<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Channel {
            w,
            rows: Rows { starts, ranges },
            channel,
            out,
            fold,
            length,
            lines: [line, phases, folded],
        } = self;
        let (width, ow) = (w.input[2], w.output[2]);
        let vectors = width.div_ceil(S::F32_LANES) * S::F32_LANES;
        // The elements of each window along a row, by the remainder modulo the stride.
        let each = length / w.stride[2];
        let elements = (0..w.kernel[2]).map(|k| k * w.dilation[2]);
        let elements: SmallVec<[usize; 8]> = elements.map(|at| at % w.stride[2] * each + at / w.stride[2]).collect();
        let windows = ow.div_ceil(S::F32_LANES) * S::F32_LANES;
        // Few windows have more rows.
        let mut rows: SmallVec<[&[f32]; 16]> = SmallVec::new();
        for (ranges, out) in ranges.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER * ow)) {
            for (range, line) in ranges.iter().zip(line.chunks_exact_mut(length)) {
                rows.clear();
                // Whole vectors are read where there are enough elements.
                rows.extend(starts[range.clone()].iter().map(|&start| &channel[start..]));
                let inside = &mut line[w.pad[2]..];
                fold_rows(simd, &rows, &mut inside[..vectors], width, fold);
                inside[width..vectors].fill(F::EMPTY);
            }
            let lines = line.chunks_exact(length).zip(phases.chunks_exact_mut(length));
            for (line, phases) in lines.take(ranges.len()) {
                group(line, phases, folded, w.stride[2]);
            }
            let grouped: &[f32] = if w.stride[2] == 1 { line } else { phases };
            for (row, grouped) in out.chunks_exact_mut(ow).zip(grouped.chunks_exact(length)) {
                let (to, _) = S::as_mut_simd_f32s(&mut folded[..windows]);
                for (i, to) in to.iter_mut().enumerate() {
                    let mut all = simd.splat_f32s(F::EMPTY);
                    for element in &elements {
                        let from = &grouped[element + i * S::F32_LANES..][..S::F32_LANES];
                        all = fold.of(simd, all, S::as_simd_f32s(from).0[0]);
                    }
                    *to = all;
                }
                copy_short(&folded[..ow], row);
            }
        }
    }
}

/// Folds rows, element by element. A row with too few elements for the last vector has `width` of them.
#[inline(always)]
fn fold_rows<S: Simd, F: Fold>(simd: S, rows: &[&[f32]], out: &mut [f32], width: usize, fold: F) {
    let (vectors, _) = S::as_mut_simd_f32s(out);
    for (i, to) in vectors.iter_mut().enumerate() {
        let first = i * S::F32_LANES;
        let mut all = simd.splat_f32s(F::EMPTY);
        for row in rows {
            let vector = match row.get(first..first + S::F32_LANES) {
                Some(from) => S::as_simd_f32s(from).0[0],
                None => simd.partial_load_f32s(&row[first..width]),
            };
            all = fold.of(simd, all, vector);
        }
        *to = all;
    }
}

/// The elements of a line grouped by their remainders modulo the stride, in `out`; nothing if it is 1.
#[inline(always)]
fn group(line: &[f32], out: &mut [f32], scratch: &mut [f32], stride: usize) {
    let each = line.len() / stride;
    match stride {
        1 => {}
        2 => {
            let (even, odd) = out.split_at_mut(each);
            halve(line, even, odd);
        }
        4 => {
            let (even, odd) = scratch[..line.len()].split_at_mut(2 * each);
            halve(line, even, odd);
            let (first, second) = out.split_at_mut(2 * each);
            let ((a, b), (c, d)) = (first.split_at_mut(each), second.split_at_mut(each));
            halve(even, a, c);
            halve(odd, b, d);
        }
        _ => {
            for (phase, out) in out.chunks_exact_mut(each).take(stride).enumerate() {
                let from = line[phase..].iter().step_by(stride);
                out.iter_mut().zip(from).for_each(|(out, x)| *out = *x);
            }
        }
    }
}

fn global(call: &Call<'_>, f: impl Fn(&[f32]) -> f32 + Sync) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let size: usize = call.shape(0).iter().skip(2).product();
    if size == 0 {
        return Ok(None);
    }
    let mut out = call.result_room(shape.iter().product());
    in_parts(worth(call.threads, x.len()), &mut out, 1, |first, out| {
        let channels = x[first * size..].chunks_exact(size);
        out.iter_mut()
            .zip(channels)
            .for_each(|(out, channel)| *out = f(channel));
    });
    done(&shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::integer::tests::bytes;
    use super::super::testing::{Case, f32s};
    use tautomer_tensor::DType;

    #[test]
    fn pools() {
        type Row = (
            &'static [usize],
            &'static [i64],
            &'static [i64],
            &'static [i64],
            &'static [i64],
        );
        let rows: &[Row] = &[
            (&[1, 2, 7], &[3], &[1], &[1], &[0, 0]),
            (&[1, 2, 7], &[2], &[2], &[1], &[1, 0]),
            (&[2, 3, 8, 9], &[2, 2], &[2, 2], &[1, 1], &[0, 0, 0, 0]),
            (&[1, 3, 9, 8], &[3, 3], &[2, 1], &[1, 1], &[1, 1, 1, 1]),
            (&[1, 1, 9, 9], &[3, 2], &[1, 2], &[2, 3], &[1, 0, 2, 1]),
            (
                &[1, 2, 5, 6, 7],
                &[2, 3, 2],
                &[1, 2, 1],
                &[1, 1, 2],
                &[0, 1, 0, 1, 1, 1],
            ),
            (&[2, 2, 1, 1], &[1, 1], &[1, 1], &[1, 1], &[0, 0, 0, 0]),
            (&[1, 2, 67, 65], &[3, 3], &[2, 2], &[1, 1], &[1, 1, 1, 1]),
            (&[1, 2, 5, 100], &[2, 3], &[1, 1], &[1, 2], &[0, 2, 1, 2]),
            (&[1, 3, 7, 7], &[7, 7], &[7, 7], &[1, 1], &[0, 0, 0, 0]),
            (&[2, 2, 3, 257], &[1, 4], &[1, 4], &[1, 1], &[0, 0, 0, 0]),
            (&[1, 3, 9, 70], &[4, 4], &[4, 4], &[1, 1], &[2, 3, 1, 2]),
            (&[1, 2, 11, 33], &[5, 1], &[2, 1], &[1, 1], &[2, 0, 2, 0]),
            (&[2, 3, 5, 36], &[1, 4], &[1, 4], &[1, 1], &[0, 0, 0, 0]),
            (&[2, 3, 5, 14], &[1, 2], &[1, 2], &[1, 1], &[0, 0, 0, 0]),
            (&[2, 3, 35], &[1], &[1], &[1], &[0, 0]),
            (&[1, 2, 0], &[2], &[1], &[1], &[1, 1]),
        ];
        for (i, &(x, kernel, strides, dilations, pads)) in rows.iter().enumerate() {
            for ceil in [0, 1] {
                let case = |op| {
                    Case::new(op, &[f32s(x, i as u64)])
                        .ints("kernel_shape", kernel)
                        .ints("strides", strides)
                        .ints("dilations", dilations)
                        .ints("pads", pads)
                        .int("ceil_mode", ceil)
                };
                case("max_pool").check();
                for dtype in [DType::U8, DType::I8] {
                    Case::new("max_pool", &[bytes(dtype, x, i as u64)])
                        .ints("kernel_shape", kernel)
                        .ints("strides", strides)
                        .ints("dilations", dilations)
                        .ints("pads", pads)
                        .int("ceil_mode", ceil)
                        .check();
                }
                case("average_pool").check();
                case("average_pool").int("count_include_pad", 1).check();
            }
        }
        let special = |i: usize| match i % 7 {
            0 => f32::NAN,
            3 => f32::INFINITY,
            5 => f32::NEG_INFINITY,
            _ => i as f32 - 40.0,
        };
        let special =
            tautomer_tensor::Tensor::new(&[1, 1, 4, 50], (0..200).map(special).collect::<Vec<f32>>()).unwrap();
        let case = |op| Case::new(op, std::slice::from_ref(&special)).ints("kernel_shape", &[2, 2]);
        case("max_pool").check();
        case("average_pool").ints("pads", &[1, 0, 0, 1]).check();
        for (kernel, strides) in [
            ([3, 3], [2, 2]),
            ([3, 1], [1, 1]),
            ([1, 3], [1, 3]),
            ([4, 3], [1, 1]),
            ([2, 4], [1, 4]),
        ] {
            let case = |op| case(op).ints("kernel_shape", &kernel).ints("strides", &strides);
            case("max_pool").check();
            case("average_pool").check();
        }
        // A single number that is not finite, anywhere in a channel.
        for at in [0, 63, 64, 99, 130, 143] {
            for number in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut elements: Vec<f32> = (0..288).map(|i| (i * 7 % 31) as f32 - 40.0).collect();
                elements[144 + at] = number;
                let x = tautomer_tensor::Tensor::new(&[1, 2, 4, 36], elements).unwrap();
                Case::new("max_pool", &[x])
                    .ints("kernel_shape", &[3, 3])
                    .ints("strides", &[1, 2])
                    .ints("pads", &[1, 1, 1, 1])
                    .check();
            }
        }
        for shape in [&[1, 1, 1][..], &[2, 3, 7, 9], &[1, 2, 3, 4, 5]] {
            Case::new("global_max_pool", &[f32s(shape, 1)]).check();
            Case::new("global_average_pool", &[f32s(shape, 1)]).check();
        }
    }
}
