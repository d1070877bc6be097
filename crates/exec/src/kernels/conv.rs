//! Convolution over one to three axes: as a matrix product, or channel by channel.

use std::sync::OnceLock;

use super::call::{done, or_decline};
use super::depthwise::depthwise;
use super::finish::{After, Finished};
use super::image::Image;
use super::micro::Micro;
use super::product::{Finish, Left, Start, product};
use super::window::Window;
use super::winograd::{Winograd, tile_size};
use super::{Call, Done, Kernel};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("conv", conv), Kernel::f32("fused_conv", conv)];

/// A convolution, and the steps after it if the operator is fused.
fn conv(call: &Call<'_>) -> Done {
    let (x, w) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let bias = call.f32s(2);
    if bias.is_none() && call.has(2) {
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
    let after = or_decline!(After::of(call, &shape));
    let (size_in, size_out) = (window.input_size(), window.output_size());
    let mut out = call.result_room(n * filters * size_out);
    if out.is_empty() {
        return done(&shape, out);
    }
    let (rows, bias) = (filters / groups, bias.as_deref());
    let finished = after.finished();
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

#[cfg(test)]
#[path = "conv_tests.rs"]
mod tests;
