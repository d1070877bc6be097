//! Pooling: the maximum or the mean of every window.

use pulp::{Arch, NullaryFnOnce};

use super::call::{done, or_decline};
use super::elementwise::larger;
use super::image::Geometry;
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
    let offsets = call.once(|| Geometry::new(&w).offsets());
    slide(call, (&w, &offsets), &x, &mut out, (f32::NEG_INFINITY, larger), |_| {});
    done(&shape, out)
}

fn average_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shape = or_decline!(call.out_shape());
    let w = or_decline!(window(call, &shape));
    let padded = call.flag("count_include_pad");
    let counts = call.once(|| Counts::new(&w, padded));
    let divide = |channel: &mut [f32]| {
        let [z, y, x] = &counts.along;
        let lines = z.iter().flat_map(|z| y.iter().map(move |y| z * y));
        for (row, line) in channel.chunks_exact_mut(w.output[2].max(1)).zip(lines) {
            row.iter_mut().zip(x).for_each(|(x, count)| *x /= line * count);
        }
    };
    let mut out = call.result_room(shape.iter().product());
    slide(call, (&w, &counts.offsets), &x, &mut out, (0.0, |a, b| a + b), divide);
    done(&shape, out)
}

/// What the mean of windows needs to know of them.
struct Counts {
    /// Where the elements of a window are.
    offsets: Vec<usize>,
    /// The number of elements of each window that count, along each axis.
    along: [Vec<f32>; 3],
}

impl Counts {
    fn new(w: &Window, padded: bool) -> Counts {
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
        Counts {
            offsets: Geometry::new(w).offsets(),
            along: std::array::from_fn(along),
        }
    }
}

/// Folds the elements that each window covers, at these offsets, into its element of `out`, and finishes each channel.
fn slide(
    call: &Call<'_>,
    (w, offsets): (&Window, &[usize]),
    x: &[f32],
    out: &mut [f32],
    (empty, fold): (f32, impl Fn(f32, f32) -> f32 + Copy),
    finish: impl Fn(&mut [f32]),
) {
    let (size_in, size_out) = (w.input_size(), w.output_size());
    if size_out == 0 {
        return;
    }
    let geometry = Geometry::new(w);
    let steps = geometry.steps();
    // Windows between the rows of the output are computed, and thrown away, if rows are short.
    let [od, oh, ow] = w.output;
    let is_wide = ow >= LANES;
    let scratch = |n: usize| {
        let mut room = call.room(n);
        room.fill(empty);
        room
    };
    let mut line = scratch(if is_wide { 0 } else { (oh - 1) * steps[1] + ow });
    let mut image = scratch(geometry.size());
    for (i, out) in out.chunks_exact_mut(size_out).enumerate() {
        geometry.write(&x[i * size_in..][..size_in], &mut image);
        let mut rows = out.chunks_exact_mut(ow);
        for z in 0..od {
            let windows = |first: usize, out: &mut [f32]| {
                Arch::new().dispatch(Windows {
                    image: &image[first..],
                    offsets,
                    empty,
                    fold,
                    out,
                });
            };
            if is_wide {
                for (y, row) in rows.by_ref().take(oh).enumerate() {
                    windows(z * steps[0] + y * steps[1], row);
                }
                continue;
            }
            windows(z * steps[0], &mut line);
            for (row, line) in rows.by_ref().take(oh).zip(line.chunks(steps[1])) {
                row.copy_from_slice(&line[..ow]);
            }
        }
        finish(out);
    }
    call.give(line);
    call.give(image);
}

/// Windows that are folded at a time.
const LANES: usize = 32;

/// Folds as many neighbouring windows as `out` has elements.
struct Windows<'a, F> {
    image: &'a [f32],
    offsets: &'a [usize],
    empty: f32,
    fold: F,
    out: &'a mut [f32],
}

impl<F: Fn(f32, f32) -> f32> NullaryFnOnce for Windows<'_, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let n = self.out.len();
        let mut done = 0;
        while n >= LANES && done < n {
            // The last part begins where it fits, and folds some windows again.
            done = done.min(n - LANES);
            let mut all = [self.empty; LANES];
            for &offset in self.offsets {
                let from = &self.image[offset + done..][..LANES];
                for (all, &x) in all.iter_mut().zip(from) {
                    *all = (self.fold)(*all, x);
                }
            }
            self.out[done..][..LANES].copy_from_slice(&all);
            done += LANES;
        }
        let rest = &mut self.out[done..];
        rest.fill(self.empty);
        for &offset in self.offsets {
            let from = &self.image[offset + done..][..rest.len()];
            for (all, &x) in rest.iter_mut().zip(from) {
                *all = (self.fold)(*all, x);
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
