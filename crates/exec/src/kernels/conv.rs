//! Convolution over one to three axes: as a matrix product, or channel by channel.

use std::sync::OnceLock;

use super::call::{done, or_decline};
use super::depthwise::depthwise;
use super::finish::{After, Finished};
use super::image::{Image, Pairing};
use super::micro::Micro;
use super::pairs;
use super::panels::Left;
use super::product::{Finish, Start, product};
use super::window::Window;
use super::winograd::{Winograd, tile_size};
use super::{Call, Done, Kernel};
use crate::Precision;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::products("conv", conv, in_bf16),
    Kernel::products("fused_conv", conv, in_bf16),
];

/// The sizes of a convolution.
struct Sizes {
    window: Window,
    /// The number of images.
    images: usize,
    channels: usize,
    filters: usize,
    groups: usize,
    /// Channels of a group.
    depth: usize,
}

/// How a convolution is computed.
enum Method {
    /// Channel by channel.
    Depthwise,
    /// With transformed tiles of this size; directly if a result is not finite.
    Tiled(usize),
    /// As matrix products.
    Direct,
    /// As matrix products of bfloat16.
    Bf16(Micro),
}

impl Sizes {
    fn of(call: &Call<'_>, shape: &[usize]) -> Option<Sizes> {
        let ([n, channels, input @ ..], [filters, depth, kernel @ ..]) = (call.shape(0), call.shape(1)) else {
            return None;
        };
        let window = Window::of(call, input, shape.get(2..).unwrap_or(&[]), kernel)?.joined();
        let groups = call.int("group").and_then(|g| usize::try_from(g).ok())?.max(1);
        let fits = depth * groups == *channels && filters % groups == 0 && shape[..2] == [*n, *filters];
        fits.then_some(Sizes {
            window,
            images: *n,
            channels: *channels,
            filters: *filters,
            groups,
            depth: *depth,
        })
    }

    fn method(&self, call: &Call<'_>) -> Method {
        if self.depth == 1 && self.groups > 1 {
            return Method::Depthwise;
        }
        let (rows, depth) = (self.filters / self.groups, self.depth);
        let least = match Pairing::of(&self.window, depth) {
            Pairing::Neighbours => LEAST_PACKED,
            Pairing::Channels => LEAST_ROWS,
        };
        let pays = depth * self.window.kernel_size() >= LEAST_INNER && rows >= least;
        let bf16 = call.bf16(1).filter(|_| pays);
        if self.groups == 1
            && call.is_fixed(1)
            && let Some(size) = tile_size(&self.window, self.channels, self.filters, bf16.is_some())
        {
            return Method::Tiled(size);
        }
        bf16.map_or(Method::Direct, Method::Bf16)
    }
}

/// With fewer products for each result, most of the time is not spent on them.
const LEAST_INNER: usize = 8;

/// For fewer filters it does not pay to round an image.
const LEAST_ROWS: usize = 6;

/// For fewer filters it does not pay to pack elements, which `f32` can read in place.
const LEAST_PACKED: usize = 17;

fn in_bf16(call: &Call<'_>) -> bool {
    let sizes = call.out_shape().and_then(|shape| Sizes::of(call, &shape));
    sizes.is_some_and(|sizes| matches!(sizes.method(call), Method::Bf16(_)))
}

/// A convolution, and the steps after it if the operator is fused.
fn conv(call: &Call<'_>) -> Done {
    let (x, w) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let bias = call.f32s(2);
    if bias.is_none() && call.has(2) {
        return Ok(None);
    }
    let shape = or_decline!(call.out_shape());
    let sizes = or_decline!(Sizes::of(call, &shape));
    let Sizes {
        window,
        images: n,
        channels,
        filters,
        groups,
        depth,
    } = sizes;
    let after = or_decline!(After::of(call, &shape));
    let (size_in, size_out) = (window.input_size(), window.output_size());
    let mut out = call.result_room(n * filters * size_out);
    if out.is_empty() {
        return done(&shape, out);
    }
    let (rows, bias) = (filters / groups, bias.as_deref());
    let finished = after.finished();
    let method = sizes.method(call);
    if let Method::Depthwise = method {
        depthwise(&window, &x, &w, bias, rows, &mut out, finished, call.threads);
        return done(&shape, out);
    }
    let weights = call.prepared(1, Weights::default);
    if let Method::Tiled(size) = method {
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
    let micro = match method {
        Method::Bf16(micro) => micro,
        _ => Micro::best(),
    };
    let pairing = micro.of_pairs.then(|| Pairing::of(&window, depth));
    call.set_precision(if micro.of_pairs {
        Precision::Bf16
    } else {
        Precision::F32
    });
    let weights = weights.direct[usize::from(micro.of_pairs)].get_or_init(|| {
        let group = |g: usize| {
            let w = &w[g * rows * inner..][..rows * inner];
            let left = match pairing {
                None => Left::of_rows(micro, w, rows),
                Some(Pairing::Neighbours) => Left::of_rows(micro, &pairs::of_rows(w, inner), rows),
                Some(Pairing::Channels) => {
                    Left::of_rows(micro, &pairs::of_windows(w, depth, window.kernel_size()), rows)
                }
            };
            if call.is_fixed(1) { left.kept() } else { left }
        };
        (0..groups).map(group).collect()
    });
    let task = Direct {
        window: &window,
        weights,
        bias,
        pairs: pairing,
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
    /// Which elements are pairs, if weights are pairs of bfloat16.
    pairs: Option<Pairing>,
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
        let mut image = Image::new(self.window, (together, depth), between, self.pairs, |n| call.room(n));
        let mut sums = match together {
            1 => Vec::new(),
            _ => call.room(rows * together * size_out),
        };
        for (i, g) in (0..n).step_by(together).flat_map(|i| (0..groups).map(move |g| (i, g))) {
            let images = x.get(i * between + g * depth * size_in..).unwrap_or_default();
            image.set(images, between, call.threads);
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
    /// For each group: of `f32`, and of bfloat16.
    direct: [OnceLock<Vec<Left>>; 2],
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
