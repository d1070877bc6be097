//! Pooling: the maximum or the mean of every window.

use pulp::{Arch, Simd, WithSimd};
use smallvec::SmallVec;

use super::call::{done, or_decline};
use super::image::copy_short;
use super::lanes::halve;
use super::reduce::{max_of, sum_of};
use super::window::Window;
use super::{Call, Done, Kernel};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("max_pool", max_pool),
    Kernel::f32("average_pool", average_pool),
    Kernel::f32("global_max_pool", |c| global(c, max_of)),
    Kernel::f32("global_average_pool", |c| global(c, |x| sum_of(x) / x.len() as f32)),
];

fn window(call: &Call<'_>, shape: &[usize]) -> Option<Window> {
    let input = call.shape(0).get(2..)?;
    let kernel = call.sizes("kernel_shape", input.len(), 1)?;
    Window::of(call, input, shape.get(2..)?, &kernel)
}

fn max_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    let mut out = call.result_room(shape.iter().product());
    slide(call, &w, &x, &mut out, Largest, |_| {});
    done(&shape, out)
}

fn average_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    let padded = call.flag("count_include_pad");
    let counts = call.once(|| counts(&w, padded));
    let [depths, heights, widths] = &*counts;
    let divide = |channel: &mut [f32]| {
        let lines = depths.iter().flat_map(|z| heights.iter().map(move |y| z * y));
        for (row, line) in channel.chunks_exact_mut(w.output[2].max(1)).zip(lines) {
            row.iter_mut().zip(widths).for_each(|(x, count)| *x /= line * count);
        }
    };
    let mut out = call.result_room(shape.iter().product());
    slide(call, &w, &x, &mut out, Sum, divide);
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
trait Fold: Copy {
    /// The result for no elements.
    const EMPTY: f32;

    fn of<S: Simd>(self, simd: S, all: S::f32s, x: S::f32s) -> S::f32s;
}

/// The largest number; NaN if there is one.
#[derive(Clone, Copy)]
struct Largest;

impl Fold for Largest {
    const EMPTY: f32 = f32::NEG_INFINITY;

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

    #[inline(always)]
    fn of<S: Simd>(self, simd: S, all: S::f32s, x: S::f32s) -> S::f32s {
        simd.add_f32s(all, x)
    }
}

/// Folds the elements that each window covers into its element of `out`, and finishes each channel.
fn slide<F: Fold>(call: &Call<'_>, w: &Window, x: &[f32], out: &mut [f32], fold: F, finish: impl Fn(&mut [f32])) {
    let (size_in, size_out) = (w.input_size(), w.output_size());
    if size_out == 0 {
        return;
    }
    // What the rows of a window are folded into, with padding; that line, grouped by remainders modulo the stride; and
    // what its windows are folded into.
    let covered = (w.output[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
    let length = covered.max(w.pad[2] + w.input[2]).next_multiple_of(LANES * w.stride[2]) + LANES * w.stride[2];
    let mut lines = [0; 3].map(|_| {
        let mut line = call.room(length);
        line.fill(F::EMPTY);
        line
    });
    for (i, out) in out.chunks_exact_mut(size_out).enumerate() {
        let (channel, lines) = (&x[i * size_in..][..size_in], &mut lines);
        Arch::new().dispatch(Channel {
            w,
            channel,
            out,
            fold,
            lines,
        });
        finish(out);
    }
    lines.into_iter().for_each(|line| call.give(line));
}

/// Lanes of the widest vectors.
const LANES: usize = 16;

/// Folds the windows of a channel: first the rows that each covers into one, then along that row.
struct Channel<'a, F> {
    w: &'a Window,
    channel: &'a [f32],
    out: &'a mut [f32],
    fold: F,
    lines: &'a mut [Vec<f32>; 3],
}

impl<F: Fold> WithSimd for Channel<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Channel {
            w,
            channel,
            out,
            fold,
            lines: [line, phases, folded],
        } = self;
        let [_, height, width] = w.input;
        let [_, oh, ow] = w.output;
        let row_of = |z: usize, y: usize| (z * height + y) * width;
        let vectors = width.div_ceil(S::F32_LANES) * S::F32_LANES;
        // Few windows have more rows.
        let mut rows: SmallVec<[&[f32]; 16]> = SmallVec::new();
        for (at, row) in out.chunks_exact_mut(ow).enumerate() {
            rows.clear();
            for k in 0..w.kernel[0] * w.kernel[1] {
                let z = w.position(0, at / oh, k / w.kernel[1]);
                if let Some((z, y)) = z.zip(w.position(1, at % oh, k % w.kernel[1])) {
                    // Whole vectors are read where there are enough elements.
                    rows.push(&channel[row_of(z, y)..]);
                }
            }
            let inside = &mut line[w.pad[2]..];
            fold_rows(simd, &rows, &mut inside[..vectors], width, fold);
            inside[width..vectors].fill(F::EMPTY);
            let each = line.len() / w.stride[2];
            let grouped = group(line, phases, folded, w.stride[2]);
            let windows = ow.div_ceil(S::F32_LANES) * S::F32_LANES;
            let (to, _) = S::as_mut_simd_f32s(&mut folded[..windows]);
            for (i, to) in to.iter_mut().enumerate() {
                let mut all = simd.splat_f32s(F::EMPTY);
                for k in 0..w.kernel[2] {
                    let (phase, place) = (k * w.dilation[2] % w.stride[2], k * w.dilation[2] / w.stride[2]);
                    let from = &grouped[phase * each + place + i * S::F32_LANES..][..S::F32_LANES];
                    all = fold.of(simd, all, S::as_simd_f32s(from).0[0]);
                }
                *to = all;
            }
            copy_short(&folded[..ow], row);
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

/// The elements of a line grouped by their remainders modulo the stride, in `out` unless it is 1.
#[inline(always)]
fn group<'a>(line: &'a [f32], out: &'a mut [f32], scratch: &mut [f32], stride: usize) -> &'a [f32] {
    let each = line.len() / stride;
    match stride {
        1 => return line,
        2 => {
            let (even, odd) = out.split_at_mut(each);
            halve(line, even, odd);
        }
        4 => {
            let (even, odd) = scratch.split_at_mut(2 * each);
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
    out
}

fn global(call: &Call<'_>, f: impl Fn(&[f32]) -> f32) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let size: usize = call.shape(0).iter().skip(2).product();
    if size == 0 {
        return Ok(None);
    }
    let mut out = call.result_empty(shape.iter().product());
    out.extend(x.chunks_exact(size).map(f));
    done(&shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};

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
        for shape in [&[1, 1, 1][..], &[2, 3, 7, 9], &[1, 2, 3, 4, 5]] {
            Case::new("global_max_pool", &[f32s(shape, 1)]).check();
            Case::new("global_average_pool", &[f32s(shape, 1)]).check();
        }
    }
}
