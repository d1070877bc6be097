//! Convolution over one to three axes: as a matrix product, or channel by channel.

use std::sync::OnceLock;

use super::call::{Finished, done, or_decline};
use super::depthwise::depthwise;
use super::gemm::{Dst, Layout, gemm};
use super::image::Image;
use super::micro::Micro;
use super::product::{Finish, Left, Start, product};
use super::window::Window;
use super::winograd::{Winograd, tile_size};
use super::{Call, Kernel};
use tautomer_op::OpError;
use tautomer_tensor::Tensor;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("conv", conv), Kernel::f32("conv_transpose", conv_transpose)];

type Done = Result<Option<Vec<Tensor>>, OpError>;

fn conv(call: &Call<'_>) -> Done {
    let (x, w) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let bias = call.f32s(2);
    if bias.is_none() && call.optional(2).is_some() {
        return Ok(None);
    }
    let shape = or_decline!(call.out_shape());
    let ([n, channels, input @ ..], [filters, depth, kernel @ ..]) = (call.shape(0), call.shape(1)) else {
        return Ok(None);
    };
    let window = or_decline!(Window::of(call, input, shape.get(2..).unwrap_or(&[]), kernel)).joined();
    let groups = or_decline!(call.int("group").and_then(|g| usize::try_from(g).ok())).max(1);
    let (n, channels, filters, depth) = (*n, *channels, *filters, *depth);
    if depth * groups != channels || filters % groups != 0 || shape[..2] != [n, filters] {
        return Ok(None);
    }
    let (size_in, size_out) = (window.input_size(), window.output_size());
    let mut out = call.room(n * filters * size_out);
    if out.is_empty() {
        return done(&shape, out);
    }
    let (rows, bias) = (filters / groups, bias.as_deref());
    let finished = call.finish(&shape);
    if depth == 1 && groups > 1 {
        depthwise(&window, &x, &w, bias, rows, &mut out, finished, call.threads);
        return done(&shape, out);
    }
    let weights = call.prepared(1, Weights::default);
    let size = (groups == 1 && call.is_fixed(1)).then(|| tile_size(&window, channels, filters));
    if let Some(size) = size.flatten() {
        let tiled = weights.tiled(size, &w, filters);
        let images = x.chunks_exact(channels * size_in);
        let mut finite = true;
        for (i, (x, out)) in images.zip(out.chunks_exact_mut(filters * size_out)).enumerate() {
            let finish = Finish::from(bias.map_or(Start::Zero, Start::Rows));
            let finish = finish.with(finished, i * out.len()..(i + 1) * out.len());
            finite = finite && tiled.run(&window, x, finish, out, call.threads);
        }
        if finite {
            return done(&shape, out);
        }
    }
    let inner = depth * window.kernel_size();
    let weights = weights.direct.get_or_init(|| {
        let group = |g: usize| Left::of_rows(Micro::best(), &w[g * rows * inner..][..rows * inner], rows);
        (0..groups).map(group).collect()
    });
    let task = Direct {
        window: &window,
        weights,
        bias,
        images: (n, channels),
        finished,
    };
    task.run(call, &x, &mut out);
    done(&shape, out)
}

/// Images with fewer windows are multiplied together: one of them fills few vectors.
const SMALL: usize = 96;

/// A convolution as a product for each group.
struct Direct<'a> {
    window: &'a Window,
    /// For each group.
    weights: &'a [Left],
    bias: Option<&'a [f32]>,
    /// The number of images, and of their channels.
    images: (usize, usize),
    finished: Finished<'a>,
}

impl Direct<'_> {
    fn run(&self, call: &Call<'_>, x: &[f32], out: &mut [f32]) {
        let (size_in, size_out) = (self.window.input_size(), self.window.output_size());
        let (n, channels) = self.images;
        let groups = self.weights.len();
        let (depth, rows) = (channels / groups, out.len() / (n * groups * size_out));
        let together = if size_out < SMALL { n } else { 1 };
        let between = channels * size_in;
        let mut image = Image::new(self.window, (together, depth), between, |n| call.room(n));
        let mut sums = match together {
            1 => Vec::new(),
            _ => call.room(rows * together * size_out),
        };
        for (i, g) in (0..n).step_by(together).flat_map(|i| (0..groups).map(move |g| (i, g))) {
            image.set(x.get(i * between + g * depth * size_in..).unwrap_or_default(), between);
            let start = self
                .bias
                .map_or(Start::Zero, |bias| Start::Rows(&bias[g * rows..][..rows]));
            let (weights, finish) = (&self.weights[g], Finish::from(start));
            let first = (i * groups + g) * rows * size_out;
            if together == 1 {
                let elements = first..first + rows * size_out;
                let out = &mut out[elements.clone()];
                let finish = finish.with(self.finished, elements);
                product(weights, &image, size_out, out, finish, call.threads);
                continue;
            }
            product(weights, &image, together * size_out, &mut sums, finish, call.threads);
            for (row, sums) in sums.chunks_exact(together * size_out).enumerate() {
                for (i, sums) in sums.chunks_exact(size_out).enumerate() {
                    let at = ((i * groups + g) * rows + row) * size_out;
                    let out = &mut out[at..][..size_out];
                    out.copy_from_slice(sums);
                    self.finished.apply(at, out);
                }
            }
        }
        call.give(sums);
        call.give(image.into_room());
    }
}

/// Weights in the forms in which they are multiplied, each made when it is needed.
#[derive(Default)]
struct Weights {
    /// For each group.
    direct: OnceLock<Vec<Left>>,
    /// Transformed for tiles of 2 by 2 and 4 by 4 results.
    tiled: [OnceLock<Winograd>; 2],
}

impl Weights {
    fn tiled(&self, size: usize, windows: &[f32], filters: usize) -> &Winograd {
        self.tiled[usize::from(size == 4)].get_or_init(|| Winograd::new(size, windows, filters, Micro::best()))
    }
}

fn conv_transpose(call: &Call<'_>) -> Done {
    let (x, w) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let bias = call.f32s(2);
    if bias.is_none() && call.optional(2).is_some() {
        return Ok(None);
    }
    let shape = or_decline!(call.out_shape());
    let ([n, channels, input @ ..], [_, rows, kernel @ ..]) = (call.shape(0), call.shape(1)) else {
        return Ok(None);
    };
    // The window of the convolution of which this is the transpose: it slides over the result.
    let window = or_decline!(Window::of(call, shape.get(2..).unwrap_or(&[]), input, kernel));
    let groups = or_decline!(call.int("group").and_then(|g| usize::try_from(g).ok())).max(1);
    let (n, channels, rows) = (*n, *channels, *rows);
    let filters = rows * groups;
    if channels % groups != 0 || call.shape(1)[0] != channels || shape[..2] != [n, filters] {
        return Ok(None);
    }
    // Padding derived from a requested output shape is not in the attributes.
    let explicit = (0..3).all(|a| {
        let covered =
            (window.output[a].max(1) - 1) * window.stride[a] + (window.kernel[a].max(1) - 1) * window.dilation[a] + 1;
        covered + window.stride[a] > window.input[a] + window.pad[a] + window.pad_end[a]
    });
    if !explicit || !call.attr("output_shape").is_none() {
        return Ok(None);
    }
    let depth = channels / groups;
    let (size_in, size_out) = (window.output_size(), window.input_size());
    let inner = rows * window.kernel_size();
    let mut out = vec![0.0f32; n * filters * size_out];
    if out.is_empty() {
        return done(&shape, out);
    }
    if let Some(bias) = &bias {
        for (i, channel) in out.chunks_exact_mut(size_out).enumerate() {
            channel.fill(bias[i % filters]);
        }
    }
    let mut columns = vec![0.0f32; inner * size_in];
    if columns.is_empty() {
        return done(&shape, out);
    }
    for i in 0..n {
        for g in 0..groups {
            let a = &w[g * depth * inner..][..depth * inner];
            let b = &x[(i * channels + g * depth) * size_in..][..depth * size_in];
            let layout = Layout::rows(0, size_in);
            let al = Layout::rows(0, inner).transposed();
            gemm(
                (inner, size_in, depth),
                &mut columns,
                layout,
                Dst::Overwrite,
                a,
                al,
                b,
                layout,
                1.0,
                call.threads,
            );
            let c = &mut out[(i * filters + g * rows) * size_out..][..rows * size_out];
            columns_to_image(&window, &columns, c);
        }
    }
    done(&shape, out)
}

/// Adds every row of `columns` to the positions its window element covers.
fn columns_to_image(w: &Window, columns: &[f32], image: &mut [f32]) {
    let [od, oh, ow] = w.output;
    let [kd, kh, kw] = w.kernel;
    let mut rows = columns.chunks_exact(w.output_size());
    for channel in image.chunks_exact_mut(w.input_size()) {
        for k in 0..kd * kh * kw {
            let (z, y, x) = (k / (kh * kw), k / kw % kh, k % kw);
            let inside = w.inside(2, x);
            let Some(row) = rows.next() else { return };
            for line in 0..od * oh {
                let Some((d, h)) = w.position(0, line / oh, z).zip(w.position(1, line % oh, y)) else {
                    continue;
                };
                if inside.is_empty() {
                    continue;
                }
                let from = &row[line * ow..][inside.clone()];
                let start =
                    (d * w.input[1] + h) * w.input[2] + inside.start * w.stride[2] + x * w.dilation[2] - w.pad[2];
                channel[start..]
                    .iter_mut()
                    .step_by(w.stride[2])
                    .zip(from)
                    .for_each(|(o, &v)| *o += v);
            }
        }
    }
}

#[cfg(test)]
#[path = "conv_tests.rs"]
mod tests;
