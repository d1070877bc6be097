//! Results whose elements are those of an operand at other places.

use super::call::{Call, done, or_decline};
use super::extremes::in_row;
use super::indexed::{integers, strides};
use super::threads::{in_parts, worth};
use super::window::Window;
use super::words::each_word;
use super::{Done, Kernel};
use smallvec::SmallVec;
use tautomer_tensor::Element;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::any("reverse_sequence", reverse_sequence),
    Kernel::any("center_crop_pad", center_crop_pad),
    Kernel::f32("max_unpool", max_unpool),
    Kernel::f32("col2im", columns_to_images),
    Kernel::f32("affine_grid", affine_grid),
    Kernel::f32("hardmax", hardmax),
];

fn reverse_sequence(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, lengths: &[usize], batch: usize, time: usize) -> Done {
        let (x, shape) = (or_decline!(call.slice::<T>(0)), call.shape(0));
        let (strides, inner) = (strides(shape), shape[batch.max(time) + 1..].iter().product::<usize>());
        let mut out = call.result_room::<T>(x.len());
        in_parts(worth(call.threads, x.len()), &mut out, inner, |first, out| {
            for (i, out) in out.chunks_exact_mut(inner.max(1)).enumerate() {
                let at = (first + i) * inner;
                let index = |axis: usize| at / strides[axis] % shape[axis];
                let (step, length) = (index(time), lengths[index(batch)]);
                let from = match step < length {
                    true => at - step * strides[time] + (length - 1 - step) * strides[time],
                    false => at,
                };
                out.clone_from_slice(&x[from..][..inner]);
            }
        });
        done(shape, out)
    }
    let rank = call.shape(0).len();
    let (batch, time) = (
        or_decline!(call.axis("batch_axis", rank)),
        or_decline!(call.axis("time_axis", rank)),
    );
    let (items, steps) = (call.shape(0)[batch], call.shape(0)[time]);
    let length = |&n: &i64| usize::try_from(n).ok().filter(|n| *n <= steps);
    let lengths: Option<Vec<usize>> = or_decline!(integers(call, 1)).iter().map(length).collect();
    // Lengths that do not fit are left to the reference semantics to report.
    let lengths = or_decline!(lengths.filter(|lengths| lengths.len() == items && batch != time));
    each_word!(call, 0, T => typed::<T>(call, &lengths, batch, time))
}

/// Where the elements that two axes with one centre have in common begin in each, and how many there are.
fn centred(from: usize, to: usize) -> (usize, usize, usize) {
    (from.saturating_sub(to) / 2, to.saturating_sub(from) / 2, from.min(to))
}

fn center_crop_pad(call: &Call<'_>) -> Done {
    fn typed<T: Element>(call: &Call<'_>, shape: &[usize]) -> Done {
        let (x, own) = (or_decline!(call.slice::<T>(0)), call.shape(0));
        let common: SmallVec<[_; 6]> = own.iter().zip(shape).map(|(&from, &to)| centred(from, to)).collect();
        let mut out = call.result_room::<T>(shape.iter().product());
        out.fill(T::default());
        let (from, to) = (strides(own), strides(shape));
        let Some((&(cut, before, n), outer)) = common.split_last() else {
            out.clone_from_slice(&x);
            return done(shape, out);
        };
        for row in 0..outer.iter().map(|(.., n)| n).product() {
            let (mut rest, mut at, mut place) = (row, cut, before);
            for (axis, (cut, before, n)) in outer.iter().enumerate().rev() {
                at += (cut + rest % n) * from[axis];
                place += (before + rest % n) * to[axis];
                rest /= n;
            }
            out[place..][..n].clone_from_slice(&x[at..][..n]);
        }
        done(shape, out)
    }
    let shape = or_decline!(call.out_shape());
    each_word!(call, 0, T => typed::<T>(call, &shape))
}

/// Puts elements where pooling found them, if the windows cover the whole result.
fn max_unpool(call: &Call<'_>) -> Done {
    let (x, places) = (or_decline!(call.f32s(0)), or_decline!(integers(call, 1)));
    let (own, shape) = (call.shape(0), or_decline!(call.out_shape()));
    let spatial = or_decline!(own.get(2..));
    let kernel = or_decline!(call.sizes("kernel_shape", spatial.len(), 1));
    let w = or_decline!(Window::of(call, &shape[2..], spatial, &kernel));
    let covered = |axis: usize| {
        let whole = (w.output[axis].checked_sub(1)?) * w.stride[axis] + w.kernel[axis];
        whole.checked_sub(w.pad[axis] + w.pad_end[axis])
    };
    let is_whole = (0..3).all(|axis| covered(axis) == Some(w.input[axis]));
    let mut out = call.filled(0, shape.iter().product(), 0.0f32);
    let fits = |&place: &i64| usize::try_from(place).is_ok_and(|place| place < out.len());
    if !is_whole || places.len() != x.len() || !places.iter().all(fits) {
        return Ok(None);
    }
    places
        .iter()
        .zip(x.iter())
        .for_each(|(&place, &x)| out[place as usize] = x);
    done(&shape, out)
}

/// Adds the columns of windows where the windows are in images.
fn columns_to_images(call: &Call<'_>) -> Done {
    let (x, shape) = (or_decline!(call.f32s(0)), or_decline!(call.out_shape()));
    let image = or_decline!(shape.get(2..));
    let block = or_decline!(call.sizes("block_shape", image.len(), 1));
    let extent = |axis: usize| -> Option<usize> {
        let of = |name: &str, i: usize, none: usize| Some(*call.sizes(name, image.len(), none)?.get(i)?);
        let pads = call.sizes("pads", 2 * image.len(), 0)?;
        let covered = (block[axis].checked_sub(1)?) * of("dilations", axis, 1)? + 1;
        let room = (image[axis] + pads[axis] + pads[axis + image.len()]).checked_sub(covered)?;
        Some(room / of("strides", axis, 1)? + 1)
    };
    let places: Vec<usize> = or_decline!((0..image.len()).map(extent).collect());
    let w = or_decline!(Window::of(call, image, &places, &block));
    let (size, points, elements) = (w.input_size(), w.output_size(), w.kernel_size());
    let mut out = call.filled(0, shape.iter().product(), 0.0f32);
    if x.len() != shape[0] * shape[1] * elements * points || size == 0 || points == 0 {
        return Ok(None);
    }
    in_parts(worth(call.threads, x.len()), &mut out, size, |first, out| {
        let columns = x[first * elements * points..].chunks_exact(elements * points);
        for (out, columns) in out.chunks_exact_mut(size).zip(columns) {
            for (element, column) in columns.chunks_exact(points).enumerate() {
                let [_, height, width] = w.kernel;
                let at = [element / (height * width), element / width % height, element % width];
                for (row, column) in column.chunks_exact(w.output[2]).enumerate() {
                    let (z, y) = (row / w.output[1], row % w.output[1]);
                    let lines = (w.position(0, z, at[0]), w.position(1, y, at[1]));
                    let (Some(z), Some(y)) = lines else { continue };
                    let line = &mut out[(z * w.input[1] + y) * w.input[2]..][..w.input[2]];
                    for (i, x) in column.iter().enumerate() {
                        if let Some(at) = w.position(2, i, at[2]) {
                            line[at] += x;
                        }
                    }
                }
            }
        }
    });
    done(&shape, out)
}

/// The positions that maps of two or three coordinates assign to those of images.
fn affine_grid(call: &Call<'_>) -> Done {
    let (theta, shape) = (or_decline!(call.f32s(0)), or_decline!(call.out_shape()));
    let aligned = call.flag("align_corners");
    let Some((&axes, [_, spatial @ ..])) = shape.split_last().filter(|(n, _)| [2, 3].contains(*n)) else {
        return Ok(None);
    };
    let place = |i: usize, n: usize| match (aligned, n) {
        (true, 0 | 1) => 0.0,
        (true, _) => (2.0 * i as f64 - (n as f64 - 1.0)) / (n as f64 - 1.0),
        (false, _) => (2.0 * i as f64 + 1.0 - n as f64) / n as f64,
    };
    // The coordinates along the axes of images, the last of which is the first coordinate.
    let coordinates: Vec<Vec<f64>> = spatial.iter().map(|&n| (0..n).map(|i| place(i, n)).collect()).collect();
    let (Some(last), size) = (coordinates.last(), spatial.iter().product::<usize>() * axes) else {
        return Ok(None);
    };
    let mut out = call.result_room::<f32>(shape.iter().product());
    if out.is_empty() {
        return done(&shape, out);
    }
    let row = last.len() * axes;
    in_parts(worth(call.threads, out.len()), &mut out, row, |first, out| {
        for (i, out) in out.chunks_exact_mut(row).enumerate() {
            let at = first + i;
            let map = &theta[at * row / size * axes * (axes + 1)..][..axes * (axes + 1)];
            // What is the same in the whole row: all but the first coordinate.
            let mut sums: SmallVec<[(f64, f64); 3]> = SmallVec::new();
            for map in map.chunks_exact(axes + 1) {
                let (mut rest, mut sum) = (at, f64::from(map[axes]));
                for (k, coordinates) in coordinates.iter().rev().enumerate().skip(1) {
                    sum += f64::from(map[k]) * coordinates[rest % coordinates.len()];
                    rest /= coordinates.len();
                }
                sums.push((f64::from(map[0]), sum));
            }
            for (out, x) in out.chunks_exact_mut(axes).zip(last) {
                out.iter_mut()
                    .zip(&sums)
                    .for_each(|(out, (factor, sum))| *out = (factor * x + sum) as f32);
            }
        }
    });
    done(&shape, out)
}

/// 1 at the first of the largest elements along an axis, which a NaN at its beginning is, else 0.
fn hardmax(call: &Call<'_>) -> Done {
    let (x, shape) = (or_decline!(call.f32s(0)), call.shape(0));
    let axis = or_decline!(call.axis("axis", shape.len()));
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let mut out = call.filled(0, x.len(), 0.0f32);
    if x.is_empty() {
        return done(shape, out);
    }
    in_parts(worth(call.threads, x.len()), &mut out, n * inner, |first, out| {
        let blocks = x[first * n * inner..].chunks_exact(n * inner);
        for (x, out) in blocks.zip(out.chunks_exact_mut(n * inner)) {
            if inner == 1 {
                out[in_row(x, &|a, b| a > b, false)] = 1.0;
                continue;
            }
            for i in 0..inner {
                let best = (1..n).fold(0, |best, k| {
                    if x[k * inner + i] > x[best * inner + i] {
                        k
                    } else {
                        best
                    }
                });
                out[best * inner + i] = 1.0;
            }
        }
    });
    done(shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    #[test]
    fn beginnings_of_sequences_are_reversed() {
        for (shape, batch, time) in [
            (&[5usize, 3][..], 1, 0),
            (&[3, 5], 0, 1),
            (&[5, 3, 4], 1, 0),
            (&[2, 3, 4, 5, 2], 1, 3),
            (&[2, 5, 4, 3], -1, 1),
            (&[5, 3, 0], 1, 0),
        ] {
            let lengths = Tensor::vector(vec![5i64, 0, 2]);
            assert!(
                Case::new("reverse_sequence", &[f32s(shape, 1), lengths])
                    .int("batch_axis", batch)
                    .int("time_axis", time)
                    .check()
            );
        }
    }

    #[test]
    fn centres() {
        for (shape, to) in [
            (&[5usize, 6][..], &[3i64, 9][..]),
            (&[5, 6], &[8, 3]),
            (&[4], &[0]),
            (&[0, 2], &[3, 1]),
            (&[2, 3, 4], &[5, 3, 1]),
        ] {
            assert!(
                Case::new("center_crop_pad", &[f32s(shape, 1)])
                    .ints("shape", to)
                    .check()
            );
        }
    }

    #[test]
    fn elements_return_to_where_they_were_found() {
        let places = Tensor::new::<i64>(&[1, 2, 2, 2], vec![5, 2, 15, 8, 21, 16, 31, 31]).unwrap();
        let case = || {
            let case = Case::new("max_unpool", &[f32s(&[1, 2, 2, 2], 1), places.clone()]);
            case.ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2])
        };
        assert!(case().check());
        assert!(!case().ints("output_shape", &[1, 2, 5, 5]).may_decline().check());
    }

    #[test]
    fn columns_become_images() {
        for (pads, strides, dilations, places) in [
            ([0, 0, 0, 0], [1, 1], [1, 1], 4 * 5),
            ([1, 1, 0, 2], [1, 1], [1, 1], 5 * 8),
            ([0, 1, 0, 0], [2, 3], [1, 1], 2 * 2),
            ([0, 0, 0, 0], [1, 1], [2, 2], 3 * 3),
        ] {
            let x = f32s(&[2, 3 * 2 * 3, places], 1);
            assert!(
                Case::new("col2im", &[x])
                    .ints("image_shape", &[5, 7])
                    .ints("block_shape", &[2, 3])
                    .ints("pads", &pads)
                    .ints("strides", &strides)
                    .ints("dilations", &dilations)
                    .check()
            );
        }
    }

    #[test]
    fn positions_of_maps() {
        for (theta, size) in [
            (&[2usize, 2, 3][..], &[2i64, 1, 3, 5][..]),
            (&[1, 2, 3], &[1, 4, 1, 2]),
            (&[2, 3, 4], &[2, 1, 3, 2, 4]),
            (&[1, 2, 3], &[1, 4, 0, 2]),
        ] {
            for aligned in [false, true] {
                let case = Case::new("affine_grid", &[f32s(theta, 1)]).ints("size", size);
                assert!(case.attr("align_corners", AttrValue::Bool(aligned)).check());
            }
        }
    }

    #[test]
    fn largest_elements_are_marked() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let special = vec![1.0, nan, 2.0, nan, 1.0, 2.0, 0.0, -0.0, 0.0, inf, inf, -inf];
        let special = Tensor::new::<f32>(&[4, 3], special).unwrap();
        for x in [f32s(&[3, 4, 5], 1), special, f32s(&[2, 0], 1), f32s(&[3, 1], 1)] {
            for axis in [0, 1, -1] {
                assert!(Case::new("hardmax", std::slice::from_ref(&x)).int("axis", axis).check());
            }
        }
    }
}
