//! Interpolated values at computed positions. The elements that each sample takes, with their weights, are found once
//! for all channels.

use super::call::{Call, done, or_decline};
use super::elementwise::larger;
use super::indexed::integers;
use super::threads::{in_parts, worth};
use super::{Done, Kernel};
use smallvec::SmallVec;
use tautomer_op::{GridAxis, bin_samples};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("grid_sample", grid_sample),
    Kernel::f32("roi_align", roi_align),
];

/// Elements along one axis with their weights.
type Taps = SmallVec<[(usize, f64); 4]>;

/// The elements of a channel that each of many samples takes, and their weights.
struct Samples {
    taps: Vec<(u32, f32)>,
    /// The number of elements of the samples before each, and of all.
    ends: Vec<usize>,
}

impl Samples {
    fn new() -> Samples {
        Samples {
            taps: Vec::new(),
            ends: vec![0],
        }
    }

    /// Adds to the last sample all pairs of elements of two axes.
    fn add(&mut self, rows: impl Iterator<Item = (usize, f64)>, columns: &[(usize, f64)], width: usize) {
        for (i, v) in rows {
            let taps = columns.iter().map(|(j, w)| ((i * width + j) as u32, (v * w) as f32));
            self.taps.extend(taps);
        }
    }

    fn end(&mut self) {
        self.ends.push(self.taps.len());
    }

    /// The sum of the products of each sample.
    fn sums(&self, channel: &[f32], out: &mut [f32]) {
        for (out, pair) in out.iter_mut().zip(self.ends.windows(2)) {
            let taps = &self.taps[pair[0]..pair[1]];
            *out = taps.iter().map(|&(at, weight)| channel[at as usize] * weight).sum();
        }
    }

    /// Adds a zero to the last sample.
    fn add_zero(&mut self) {
        self.taps.push((u32::MAX, 0.0));
    }

    /// The largest of the products of each sample, among which zeros may be; zero if there are none.
    fn largest(&self, channel: &[f32], out: &mut [f32]) {
        for (out, pair) in out.iter_mut().zip(self.ends.windows(2)) {
            let taps = &self.taps[pair[0]..pair[1]];
            let product = |&(at, weight): &(u32, f32)| channel.get(at as usize).map_or(0.0, |x| x * weight);
            *out = taps.iter().map(product).reduce(larger).unwrap_or(0.0);
        }
    }
}

/// Samples of images; those of other ranks are left to the reference semantics.
fn grid_sample(call: &Call<'_>) -> Done {
    let (x, grid) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let (&[_, channels, height, width], shape) = (call.shape(0), or_decline!(call.out_shape())) else {
        return Ok(None);
    };
    if x.is_empty() || u32::try_from(height * width).is_err() {
        return Ok(None);
    }
    let corners = call.flag("align_corners");
    let (padding, mode) = (call.text("padding_mode"), call.text("mode"));
    let axis = |extent: usize| GridAxis::new(extent, corners, padding, mode);
    // As in ONNX Runtime, positions are numbers of the type of the grid.
    let place = |coordinate: f32, extent: usize| {
        let (shifted, length) = (coordinate + 1.0, extent as f32);
        f64::from(match corners {
            true => shifted / 2.0 * (length - 1.0),
            false => (shifted * length - 1.0) / 2.0,
        })
    };
    let (rows, columns) = (axis(height), axis(width));
    let size = shape[2] * shape[3];
    let mut out = call.result_room::<f32>(shape.iter().product());
    let images = out
        .chunks_exact_mut((channels * size).max(1))
        .zip(grid.chunks_exact((size * 2).max(1)));
    for (image, (out, grid)) in images.enumerate() {
        let mut samples = Samples::new();
        for point in grid.as_chunks::<2>().0 {
            let (row, column) = (place(point[1], height), place(point[0], width));
            let columns: Taps = columns.taps(column).collect();
            samples.add(rows.taps(row), &columns, width);
            samples.end();
        }
        in_parts(worth(call.threads, out.len()), out, size, |first, out| {
            for (i, out) in out.chunks_exact_mut(size).enumerate() {
                let channel = &x[(image * channels + first + i) * height * width..][..height * width];
                samples.sums(channel, out);
            }
        });
    }
    done(&shape, out)
}

/// More samples of a region than this are left to the reference semantics, which limit them.
const MOST: usize = 1 << 20;

fn roi_align(call: &Call<'_>) -> Done {
    let (x, regions, images) = (
        or_decline!(call.f32s(0)),
        or_decline!(call.f32s(1)),
        or_decline!(integers(call, 2)),
    );
    let (&[batch, channels, height, width], shape) = (call.shape(0), or_decline!(call.out_shape())) else {
        return Ok(None);
    };
    let inside = |&image: &i64| usize::try_from(image).is_ok_and(|image| image < batch);
    if x.is_empty() || regions.len() != images.len() * 4 || !images.iter().all(inside) {
        return Ok(None);
    }
    let scale = call.float("spatial_scale").unwrap_or(1.0);
    let half = call.text("coordinate_transformation_mode") == "half_pixel";
    let ratio = usize::try_from(call.int("sampling_ratio").unwrap_or(0)).unwrap_or(0);
    let mean = call.text("mode") != "max";
    let mut out = call.result_room::<f32>(shape.iter().product());
    let size = shape[2] * shape[3];
    let all = regions.as_chunks::<4>().0.iter().zip(images.iter());
    for ((corners, &image), out) in all.zip(out.chunks_exact_mut((channels * size).max(1))) {
        let corner = |i: usize| f64::from(corners[i]) * scale - if half { 0.5 } else { 0.0 };
        // The start and size of a bin along an axis, and the number of its samples.
        let axis = |axis: usize, bins: usize| {
            let (from, to) = (corner(axis), corner(axis + 2));
            let extent = if half { to - from } else { (to - from).max(1.0) };
            let bin = extent / bins as f64;
            let number = if ratio > 0 {
                ratio
            } else {
                bin.ceil().clamp(0.0, 1e6) as usize
            };
            (from, bin, number)
        };
        let (rows, columns) = (axis(1, shape[2]), axis(0, shape[3]));
        let count = rows.2.saturating_mul(columns.2);
        if count.saturating_mul(size) > MOST {
            return Ok(None);
        }
        let mut samples = Samples::new();
        for i in 0..shape[2] {
            let rows = bin_samples(rows.0 + i as f64 * rows.1, rows.1, rows.2, height);
            for j in 0..shape[3] {
                let columns = bin_samples(columns.0 + j as f64 * columns.1, columns.1, columns.2, width);
                for row in rows.clone() {
                    for column in columns.clone() {
                        match (row, column) {
                            (Some(row), Some(column)) => samples.add(row.into_iter(), &column, width),
                            _ if mean => {}
                            _ => samples.add_zero(),
                        }
                    }
                }
                samples.end();
            }
        }
        let first = image as usize * channels;
        in_parts(worth(call.threads, out.len()), out, size, |skipped, out| {
            for (i, out) in out.chunks_exact_mut(size).enumerate() {
                let channel = &x[(first + skipped + i) * height * width..][..height * width];
                if mean {
                    samples.sums(channel, out);
                    out.iter_mut().for_each(|sum| *sum /= count.max(1) as f32);
                } else {
                    samples.largest(channel, out);
                }
            }
        });
    }
    done(&shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;
    use tautomer_tensor::Tensor;

    #[test]
    fn samples_of_images() {
        let special = [0.0, -0.0, 1.0, -1.0, 0.5, 1e9, -1e9, f32::NAN, 1.25, -1.25, 3.0, -7.5];
        let special = Tensor::new::<f32>(&[2, 1, 3, 2], special.to_vec()).unwrap();
        for shape in [[2usize, 3, 5, 7], [2, 1, 1, 4], [2, 2, 3, 1]] {
            for mode in ["linear", "nearest", "cubic"] {
                for padding in ["zeros", "border", "reflection"] {
                    for corners in [false, true] {
                        for grid in [f32s(&[2, 4, 5, 2], 2), special.clone(), f32s(&[2, 0, 3, 2], 1)] {
                            Case::new("grid_sample", &[f32s(&shape, 1), grid])
                                .attr("mode", AttrValue::str(mode))
                                .attr("padding_mode", AttrValue::str(padding))
                                .attr("align_corners", AttrValue::Bool(corners))
                                .check();
                        }
                    }
                }
            }
        }
        let declined = Case::new("grid_sample", &[f32s(&[1, 2, 3, 4, 5], 1), f32s(&[1, 2, 2, 2, 3], 2)]);
        assert!(!declined.may_decline().check());
    }

    #[test]
    fn regions_of_images() {
        let regions = vec![
            0.0, 0.0, 3.0, 4.0, 1.5, 2.5, 6.0, 5.0, -4.0, -3.0, 2.0, 9.0, 5.0, 5.0, 4.0, 4.0,
        ];
        let regions = Tensor::new::<f32>(&[4, 4], regions).unwrap();
        let images = Tensor::vector(vec![0i64, 1, 1, 0]);
        for mode in ["avg", "max"] {
            for transformation in ["half_pixel", "output_half_pixel"] {
                for ratio in [0, 1, 3] {
                    Case::new("roi_align", &[f32s(&[2, 3, 6, 8], 1), regions.clone(), images.clone()])
                        .attr("mode", AttrValue::str(mode))
                        .attr("coordinate_transformation_mode", AttrValue::str(transformation))
                        .attr("spatial_scale", AttrValue::float(0.75))
                        .int("output_height", 2)
                        .int("output_width", 3)
                        .int("sampling_ratio", ratio)
                        .check();
                }
            }
        }
    }
}
