//! Convolution of each channel separately.

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

#[cfg(target_arch = "x86_64")]
use super::depthwise_rows;
use super::finish::Finished;
use super::geometry::{Geometry, copy_short};
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
    let size = window.kernel_size();
    let filters = weights.len() / size.max(1);
    let limits = match finished.add {
        None => (finished.low, finished.high),
        Some(_) => (f32::NEG_INFINITY, f32::INFINITY),
    };
    let image = |i: usize| &x[i / multiplier * size_in..][..size_in];
    let filter = |i: usize| &weights[i % filters * size..][..size];
    let start = |i: usize| bias.map_or(0.0, |bias| bias[i % filters]);
    let finish = |i: usize, out: &mut [f32]| {
        if finished.add.is_some() {
            finished.apply(i * size_out, out);
        }
    };
    let threads = if out.len() * size < PARALLEL { 1 } else { threads };
    #[cfg(target_arch = "x86_64")]
    if let Some(rows) = depthwise_rows::Rows::of(window) {
        let channel = |(): &mut (), i: usize, out: &mut [f32]| {
            let channel = depthwise_rows::Channel {
                image: image(i),
                weights: filter(i),
                start: start(i),
                limits,
            };
            rows.convolve(&channel, out);
            finish(i, out);
        };
        return each(out, size_out, threads, || (), channel);
    }
    let geometry = Geometry::new(window);
    let offsets = geometry.offsets();
    let channel = |buffers: &mut Buffers, i: usize, out: &mut [f32]| {
        if buffers.channel != Some(i / multiplier) {
            geometry.write(image(i), &mut buffers.image[..geometry.size()]);
            buffers.channel = Some(i / multiplier);
        }
        let sums = Sums {
            image: &buffers.image,
            offsets: &offsets,
            weights: filter(i),
            start: start(i),
            limits,
        };
        rows(window, &geometry, sums, &mut buffers.line, out);
        finish(i, out);
    };
    let buffers = || Buffers {
        image: vec![0.0; geometry.size() + LANES],
        channel: None,
        line: Vec::new(),
    };
    each(out, size_out, threads, buffers, channel);
}

/// Computes each channel of a result, with buffers for each thread.
fn each<B>(
    out: &mut [f32],
    size: usize,
    threads: usize,
    buffers: impl Fn() -> B + Sync + Send,
    channel: impl Fn(&mut B, usize, &mut [f32]) + Sync + Send,
) {
    if threads == 1 {
        let mut buffers = buffers();
        let channels = out.chunks_exact_mut(size).enumerate();
        channels.for_each(|(i, out)| channel(&mut buffers, i, out));
    } else {
        let share = (out.len() / size).div_ceil(threads).max(1);
        let shares = out.par_chunks_mut(share * size).enumerate();
        shares.for_each_init(buffers, |buffers, (j, out)| {
            let channels = out.chunks_exact_mut(size).enumerate();
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

/// Narrower rows are computed together, and the sums between them are discarded.
const WIDE: usize = 128;

/// The most sums that are computed together, if they are of several rows: they stay in the nearest cache.
const TOGETHER: usize = 4096;

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
        let most = (TOGETHER / steps[1]).max(1);
        for y in (0..oh).step_by(most) {
            let count = most.min(oh - y);
            // Whole vectors, of which the last one may reach behind the image.
            let length = ((count - 1) * steps[1] + ow).next_multiple_of(LANES);
            line.resize(length.max(line.len()), 0.0);
            let first = z * steps[0] + y * steps[1];
            Arch::new().dispatch(Add {
                sums,
                first,
                out: &mut line[..length],
            });
            for (row, line) in rows.by_ref().take(count).zip(line.chunks(steps[1])) {
                copy_short(line, row);
            }
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
    /// Smaller sums become the first, larger ones the second.
    limits: (f32, f32),
}

/// The sums of as many windows as `out` has elements, at least [`LANES`], from `first` on.
struct Add<'a> {
    sums: Sums<'a>,
    first: usize,
    out: &'a mut [f32],
}

/// The lanes of the widest vectors.
const LANES: usize = 16;

impl WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Add { sums, first, out } = self;
        let mut done = 0;
        while out.len() - done >= S::F32_LANES {
            let image = &sums.image[first + done..];
            // Several vectors are summed at a time, to hide the latency of additions.
            done += match (out.len() - done) / S::F32_LANES {
                1 => add::<S, 1>(simd, &sums, image, &mut out[done..]),
                2 | 3 => add::<S, 2>(simd, &sums, image, &mut out[done..]),
                4 | 5 => add::<S, 4>(simd, &sums, image, &mut out[done..]),
                6 | 7 => add::<S, 6>(simd, &sums, image, &mut out[done..]),
                _ => add::<S, 8>(simd, &sums, image, &mut out[done..]),
            };
        }
        // The last vector begins where it fits, and some sums are computed again.
        if done < out.len() {
            let at = out.len() - S::F32_LANES;
            add::<S, 1>(simd, &sums, &sums.image[first + at..], &mut out[at..]);
        }
    }
}

/// Writes the sums of the first `N` vectors of windows; the number of sums.
#[inline(always)]
fn add<S: Simd, const N: usize>(simd: S, sums: &Sums<'_>, image: &[f32], out: &mut [f32]) -> usize {
    let block = N * S::F32_LANES;
    let mut total = [simd.splat_f32s(sums.start); N];
    for (offset, weight) in sums.offsets.iter().zip(sums.weights) {
        let (vectors, _) = S::as_simd_f32s(&image[*offset..][..block]);
        let weight = simd.splat_f32s(*weight);
        for (total, vector) in total.iter_mut().zip(vectors) {
            *total = simd.mul_add_e_f32s(weight, *vector, *total);
        }
    }
    // Comparisons with NaN are false, so a NaN stays; of two zeros, the limit counts.
    let (low, high) = (simd.splat_f32s(sums.limits.0), simd.splat_f32s(sums.limits.1));
    for sum in &mut total {
        *sum = simd.select_f32s(simd.less_than_or_equal_f32s(*sum, low), low, *sum);
        *sum = simd.select_f32s(simd.less_than_f32s(high, *sum), high, *sum);
    }
    let (vectors, _) = S::as_mut_simd_f32s(&mut out[..block]);
    vectors.copy_from_slice(&total);
    block
}
