//! Pooling: the maximum or the mean of every window.

use pulp::{Arch, NullaryFnOnce};

use super::call::{done, or_decline};
use super::elementwise::larger;
use super::image::copy_short;
use super::reduce::{max_of, sum_of};
use super::window::Window;
use super::{Call, Kernel};
use tautomer_op::OpError;
use tautomer_tensor::Tensor;

type Done = Result<Option<Vec<Tensor>>, OpError>;

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
    let mut out = call.room(shape.iter().product());
    slide(&w, &x, &mut out, f32::NEG_INFINITY, larger, |_| {});
    done(&shape, out)
}

fn average_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    // The number of elements of each window that count, along each axis.
    let padded = call.flag("count_include_pad");
    let counts: [Vec<f32>; 3] = std::array::from_fn(|axis| {
        (0..w.output[axis])
            .map(|o| {
                let counted = (0..w.kernel[axis]).filter(|&k| {
                    let place = o * w.stride[axis] + k * w.dilation[axis];
                    match padded {
                        true => place < w.pad[axis] + w.input[axis] + w.pad_end[axis],
                        false => w.position(axis, o, k).is_some(),
                    }
                });
                counted.count() as f32
            })
            .collect()
    });
    let divide = |channel: &mut [f32]| {
        let lines = counts[0].iter().flat_map(|z| counts[1].iter().map(move |y| z * y));
        for (row, line) in channel.chunks_exact_mut(w.output[2].max(1)).zip(lines) {
            row.iter_mut().zip(&counts[2]).for_each(|(x, count)| *x /= line * count);
        }
    };
    let mut out = call.room(shape.iter().product());
    slide(&w, &x, &mut out, 0.0, |a, b| a + b, divide);
    done(&shape, out)
}

/// Folds the elements that each window covers into its element of `out`, and finishes each channel.
fn slide(
    w: &Window,
    x: &[f32],
    out: &mut [f32],
    empty: f32,
    fold: impl Fn(f32, f32) -> f32 + Copy,
    finish: impl Fn(&mut [f32]),
) {
    let (size_in, size_out) = (w.input_size(), w.output_size());
    if size_out == 0 {
        return;
    }
    // What the rows of a window are folded into, with padding; and that line, grouped by remainders modulo the stride.
    let covered = (w.output[2] - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
    let length = covered.max(w.pad[2] + w.input[2]).next_multiple_of(LANES) + LANES * w.stride[2];
    let mut lines = [vec![empty; length], vec![empty; length]];
    for (i, out) in out.chunks_exact_mut(size_out).enumerate() {
        let channel = &x[i * size_in..][..size_in];
        Arch::new().dispatch(Channel {
            w,
            channel,
            out,
            empty,
            fold,
            lines: &mut lines,
        });
        finish(out);
    }
}

/// Lanes of the widest vectors.
const LANES: usize = 16;

/// Folds the windows of a channel: first the rows that each covers into one, then along that row.
struct Channel<'a, F> {
    w: &'a Window,
    channel: &'a [f32],
    out: &'a mut [f32],
    empty: f32,
    fold: F,
    lines: &'a mut [Vec<f32>; 2],
}

impl<F: Fn(f32, f32) -> f32 + Copy> NullaryFnOnce for Channel<'_, F> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Channel {
            w,
            channel,
            out,
            empty,
            fold,
            lines: [line, phases],
        } = self;
        let [_, height, width] = w.input;
        let [_, oh, ow] = w.output;
        for (at, row) in out.chunks_exact_mut(ow).enumerate() {
            let inside = &mut line[w.pad[2]..][..width];
            let mut is_first = true;
            for k in 0..w.kernel[0] * w.kernel[1] {
                let z = w.position(0, at / oh, k / w.kernel[1]);
                let Some((z, y)) = z.zip(w.position(1, at % oh, k % w.kernel[1])) else {
                    continue;
                };
                let from = &channel[(z * height + y) * width..][..width];
                if is_first {
                    inside
                        .iter_mut()
                        .zip(from)
                        .for_each(|(line, &x)| *line = fold(empty, x));
                } else {
                    inside
                        .iter_mut()
                        .zip(from)
                        .for_each(|(line, &x)| *line = fold(*line, x));
                }
                is_first = false;
            }
            if is_first {
                inside.fill(empty);
            }
            match w.stride[2] {
                1 => along(w, line, 1, row, empty, fold),
                // Constant distances are exchanges of elements between vectors.
                2 => along(w, grouped::<2>(line, phases), 2, row, empty, fold),
                3 => along(w, grouped::<3>(line, phases), 3, row, empty, fold),
                4 => along(w, grouped::<4>(line, phases), 4, row, empty, fold),
                stride => {
                    for (x, out) in row.iter_mut().enumerate() {
                        let covered = line[x * stride..].iter().step_by(w.dilation[2]).take(w.kernel[2]);
                        *out = covered.fold(empty, |all, &x| fold(all, x));
                    }
                }
            }
        }
    }
}

/// The elements of a line grouped by their remainders modulo `STRIDE`.
#[inline(always)]
fn grouped<'a, const STRIDE: usize>(line: &[f32], out: &'a mut [f32]) -> &'a [f32] {
    let each = line.len() / STRIDE;
    let (groups, _) = line.as_chunks::<STRIDE>();
    for (phase, out) in out.chunks_exact_mut(each).take(STRIDE).enumerate() {
        out.iter_mut().zip(groups).for_each(|(out, group)| *out = group[phase]);
    }
    out
}

/// Folds the windows of a line whose elements are grouped by their remainders modulo `stride`.
#[inline(always)]
fn along(w: &Window, line: &[f32], stride: usize, row: &mut [f32], empty: f32, fold: impl Fn(f32, f32) -> f32 + Copy) {
    let each = line.len() / stride;
    for (i, out) in row.chunks_mut(LANES).enumerate() {
        let mut all = [empty; LANES];
        for k in 0..w.kernel[2] {
            let offset = k * w.dilation[2];
            let from = &line[offset % stride * each + offset / stride + i * LANES..][..LANES];
            all.iter_mut().zip(from).for_each(|(all, &x)| *all = fold(*all, x));
        }
        copy_short(&all[..out.len()], out);
    }
}

fn global(call: &Call<'_>, f: impl Fn(&[f32]) -> f32) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let size: usize = call.shape(0).iter().skip(2).product();
    if size == 0 {
        return Ok(None);
    }
    done(&shape, x.chunks_exact(size).map(f).collect())
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
