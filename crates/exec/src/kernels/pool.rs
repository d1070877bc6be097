//! Pooling: the maximum or the mean of every window.

use super::call::{done, or_decline};
use super::elementwise::larger;
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
    let mut out = vec![f32::NEG_INFINITY; shape.iter().product()];
    slide(&w, &x, &mut out, |acc, x| *acc = larger(*acc, x));
    done(&shape, out)
}

fn average_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    let mut out = vec![0.0f32; shape.iter().product()];
    slide(&w, &x, &mut out, |acc, x| *acc += x);
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
    let size = w.output_size().max(1);
    for channel in out.chunks_exact_mut(size) {
        for (i, x) in channel.iter_mut().enumerate() {
            let [_, oh, ow] = w.output;
            *x /= counts[0][i / (oh * ow)] * counts[1][i / ow % oh] * counts[2][i % ow];
        }
    }
    done(&shape, out)
}

/// Folds the elements that each window covers into its element of `out`.
fn slide(w: &Window, x: &[f32], out: &mut [f32], fold: impl Fn(&mut f32, f32)) {
    let [_, oh, ow] = w.output;
    let [kd, kh, kw] = w.kernel;
    let (size_in, size_out) = (w.input_size(), w.output_size());
    if size_in == 0 || size_out == 0 {
        return;
    }
    for (channel, out) in x.chunks_exact(size_in).zip(out.chunks_exact_mut(size_out)) {
        for (line, row) in out.chunks_exact_mut(ow).enumerate() {
            for k in 0..kd * kh {
                let Some((d, h)) = w.position(0, line / oh, k / kh).zip(w.position(1, line % oh, k % kh)) else {
                    continue;
                };
                let from = &channel[(d * w.input[1] + h) * w.input[2]..][..w.input[2]];
                for k in 0..kw {
                    let inside = w.inside(2, k);
                    if inside.is_empty() {
                        continue;
                    }
                    let first = inside.start * w.stride[2] + k * w.dilation[2] - w.pad[2];
                    let values = from[first..].iter().step_by(w.stride[2]);
                    row[inside].iter_mut().zip(values).for_each(|(acc, &v)| fold(acc, v));
                }
            }
        }
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
        for shape in [&[1, 1, 1][..], &[2, 3, 7, 9], &[1, 2, 3, 4, 5]] {
            Case::new("global_max_pool", &[f32s(shape, 1)]).check();
            Case::new("global_average_pool", &[f32s(shape, 1)]).check();
        }
    }
}
