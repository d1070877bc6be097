//! Pools of largest elements that also say where they are.

use super::call::{Call, or_decline, value};
use super::pool::window;
use super::threads::worth;
use super::{Done, Kernel, Results};
use rayon::prelude::*;
use smallvec::SmallVec;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("max_pool_with_indices", max_pool)];

fn max_pool(call: &Call<'_>) -> Done {
    let x = or_decline!(call.f32s(0));
    let shapes = or_decline!(call.out_shapes());
    let shape = &shapes[0];
    let w = or_decline!(window(call, shape));
    if call.flag("column_major") {
        return Ok(None);
    }
    let count: usize = shape.iter().product();
    let (mut out, mut places) = (
        call.result_room_of::<f32>(0, count),
        call.result_room_of::<i64>(1, count),
    );
    let (size_in, size_out) = (w.input_size(), w.output_size().max(1));
    // The positions that the windows at each place cover along an axis.
    let covered = |axis: usize| -> Vec<SmallVec<[usize; 8]>> {
        let at = |o: usize| (0..w.kernel[axis]).filter_map(|k| w.position(axis, o, k)).collect();
        (0..w.output[axis]).map(at).collect()
    };
    let [depths, heights, widths] = [0, 1, 2].map(covered);
    let one = |channel: usize, out: &mut [f32], places: &mut [i64]| {
        let first = channel * size_in;
        let x = &x[first..][..size_in];
        let mut results = out.iter_mut().zip(places);
        for (zs, ys) in depths.iter().flat_map(|zs| heights.iter().map(move |ys| (zs, ys))) {
            for xs in &widths {
                let (mut best, mut at) = (f32::NEG_INFINITY, None);
                for line in zs
                    .iter()
                    .flat_map(|&z| ys.iter().map(move |y| (z * w.input[1] + y) * w.input[2]))
                {
                    for place in xs.iter().map(|x| line + x) {
                        // The first NaN counts as the largest.
                        if at.is_none() || x[place] > best || x[place].is_nan() && !best.is_nan() {
                            (best, at) = (x[place], Some(first + place));
                        }
                    }
                }
                if let Some((value, place)) = results.next() {
                    (*value, *place) = (best, at.map_or(-1, |at| at as i64));
                }
            }
        }
    };
    let threads = worth(call.threads, x.len());
    let share = (count / size_out).div_ceil(threads).max(1);
    let some = |(i, (out, places)): (usize, (&mut [f32], &mut [i64]))| {
        let channels = out.chunks_exact_mut(size_out).zip(places.chunks_exact_mut(size_out));
        channels
            .enumerate()
            .for_each(|(k, (out, places))| one(i * share + k, out, places));
    };
    let shares = (out.par_chunks_mut(share * size_out)).zip(places.par_chunks_mut(share * size_out));
    match threads {
        1 => some((0, (&mut out, &mut places))),
        _ => shares.enumerate().for_each(some),
    }
    Ok(Some(Results::from_iter([value(shape, out)?, value(shape, places)?])))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_tensor::Tensor;

    #[test]
    fn largest_elements_and_their_places() {
        for (x, kernel, strides, dilations, pads) in [
            (
                &[1usize, 2, 7][..],
                &[3i64][..],
                &[1i64][..],
                &[1i64][..],
                &[1i64, 0][..],
            ),
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
            (&[0, 3, 8, 9], &[2, 2], &[2, 2], &[1, 1], &[0, 0, 0, 0]),
        ] {
            for ceil in [0, 1] {
                let case = Case::new("max_pool_with_indices", &[f32s(x, 1)])
                    .ints("kernel_shape", kernel)
                    .ints("strides", strides)
                    .ints("dilations", dilations)
                    .ints("pads", pads);
                assert!(case.int("ceil_mode", ceil).check());
            }
        }
        let special = |i: usize| match i % 7 {
            0 => f32::NAN,
            3 => f32::INFINITY,
            5 => f32::NEG_INFINITY,
            _ => (i % 3) as f32,
        };
        let x = Tensor::new(&[1, 1, 6, 10], (0..60).map(special).collect::<Vec<f32>>()).unwrap();
        for kernel in [[1, 2], [2, 2], [3, 3], [1, 1]] {
            assert!(
                Case::new("max_pool_with_indices", std::slice::from_ref(&x))
                    .ints("kernel_shape", &kernel)
                    .check()
            );
        }
    }
}
