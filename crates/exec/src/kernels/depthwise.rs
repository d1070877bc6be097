//! Convolution of each channel by itself.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::call::Finished;
use super::image::Geometry;
use super::window::Window;

/// Fewer multiplications than this are not worth a second thread.
const PARALLEL: usize = 1 << 18;

/// Writes to channel `i` of `out` the convolution of channel `i / multiplier` of `x` with window `i` of `weights`, with
/// a bias for each window.
#[expect(clippy::too_many_arguments, reason = "the operands of a convolution")]
pub(super) fn depthwise(
    window: &Window,
    x: &[f32],
    weights: &[f32],
    bias: Option<&[f32]>,
    multiplier: usize,
    out: &mut [f32],
    finished: Finished<'_>,
    threads: usize,
) {
    let (size_in, size_out) = (window.input_size(), window.output_size());
    let filters = weights.len() / window.kernel_size().max(1);
    let geometry = Geometry::new(window);
    let offsets = geometry.offsets();
    let channel = |buffers: &mut Buffers, i: usize, out: &mut [f32]| {
        if buffers.channel != Some(i / multiplier) {
            geometry.write(&x[i / multiplier * size_in..][..size_in], &mut buffers.image);
            buffers.channel = Some(i / multiplier);
        }
        let filter = i % filters;
        let sums = Sums {
            image: &buffers.image,
            offsets: &offsets,
            weights: &weights[filter * offsets.len()..][..offsets.len()],
            start: bias.map_or(0.0, |bias| bias[filter]),
        };
        rows(window, &geometry, sums, &mut buffers.line, out);
        finished.apply(i * size_out, out);
    };
    let buffers = || Buffers {
        image: vec![0.0; geometry.size()],
        channel: None,
        line: Vec::new(),
    };
    let work = out.len() * offsets.len();
    if threads == 1 || work < PARALLEL {
        let mut buffers = buffers();
        let channels = out.chunks_exact_mut(size_out).enumerate();
        channels.for_each(|(i, out)| channel(&mut buffers, i, out));
    } else {
        let share = (out.len() / size_out).div_ceil(threads).max(1);
        let shares = out.par_chunks_mut(share * size_out).enumerate();
        shares.for_each_init(buffers, |buffers, (j, out)| {
            let channels = out.chunks_exact_mut(size_out).enumerate();
            channels.for_each(|(i, out)| channel(buffers, j * share + i, out));
        });
    }
}

/// Memory that is used for one channel after the other.
struct Buffers {
    /// A channel, laid out.
    image: Vec<f32>,
    /// Its index.
    channel: Option<usize>,
    /// Sums at all positions, those between the rows of the output included.
    line: Vec<f32>,
}

/// Narrower rows are computed together, with the sums between them thrown away.
const WIDE: usize = 48;

fn rows(window: &Window, geometry: &Geometry, sums: Sums<'_>, line: &mut Vec<f32>, out: &mut [f32]) {
    let [od, oh, ow] = window.output;
    let steps = geometry.steps();
    let mut rows = out.chunks_exact_mut(ow);
    for z in 0..od {
        if ow >= WIDE {
            for (y, row) in rows.by_ref().take(oh).enumerate() {
                let first = z * steps[0] + y * steps[1];
                Arch::new().dispatch(Add { sums, first, out: row });
            }
            continue;
        }
        line.resize((oh - 1) * steps[1] + ow, 0.0);
        let first = z * steps[0];
        Arch::new().dispatch(Add { sums, first, out: line });
        for (row, line) in rows.by_ref().take(oh).zip(line.chunks(steps[1])) {
            row.copy_from_slice(&line[..ow]);
        }
    }
}

/// A sum of products for each window.
#[derive(Clone, Copy)]
struct Sums<'a> {
    image: &'a [f32],
    offsets: &'a [usize],
    weights: &'a [f32],
    start: f32,
}

/// The sums of as many windows as `out` has elements, from `first` on.
struct Add<'a> {
    sums: Sums<'a>,
    first: usize,
    out: &'a mut [f32],
}

/// Vectors that are summed at a time, to hide the latency of additions.
const AT_ONCE: usize = 6;

impl WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Add { sums, first, out } = self;
        let n = out.len();
        let block = AT_ONCE * S::F32_LANES;
        let mut done = 0;
        while n >= block && done < n {
            // The last block begins where it fits, and computes some sums again.
            done = done.min(n - block);
            let mut total = [simd.splat_f32s(sums.start); AT_ONCE];
            for (offset, weight) in sums.offsets.iter().zip(sums.weights) {
                let (vectors, _) = S::as_simd_f32s(&sums.image[first + offset + done..][..block]);
                let weight = simd.splat_f32s(*weight);
                for (total, vector) in total.iter_mut().zip(vectors) {
                    *total = simd.mul_add_e_f32s(weight, *vector, *total);
                }
            }
            let (vectors, _) = S::as_mut_simd_f32s(&mut out[done..][..block]);
            vectors.copy_from_slice(&total);
            done += block;
        }
        for (j, out) in out.iter_mut().enumerate().skip(done) {
            let products = sums.offsets.iter().zip(sums.weights);
            *out = products.fold(sums.start, |sum, (offset, weight)| {
                sum + weight * sums.image[first + offset + j]
            });
        }
    }
}
