//! Convolution over one to three axes: as a matrix product, or channel by channel.

use pulp::{Arch, NullaryFnOnce};

use super::call::{done, or_decline};
use super::gemm::{Dst, Layout, gemm};
use super::window::Window;
use super::{Call, Kernel};
use tautomer_op::OpError;
use tautomer_tensor::Tensor;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("conv", conv), Kernel::f32("conv_transpose", conv_transpose)];

type Done = Result<Option<Vec<Tensor>>, OpError>;

/// How many elements of the column matrix are made at a time: half a megabyte stays in a second-level cache.
const TILE: usize = 1 << 17;

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
    let window = or_decline!(Window::of(call, input, shape.get(2..).unwrap_or(&[]), kernel));
    let groups = or_decline!(call.int("group").and_then(|g| usize::try_from(g).ok())).max(1);
    let (n, channels, filters, depth) = (*n, *channels, *filters, *depth);
    if depth * groups != channels || filters % groups != 0 || shape[..2] != [n, filters] {
        return Ok(None);
    }
    let (size_in, size_out) = (window.input_size(), window.output_size());
    let mut out = vec![0.0f32; n * filters * size_out];
    if out.is_empty() {
        return done(&shape, out);
    }
    let dst = match &bias {
        None => Dst::Overwrite,
        Some(bias) => {
            for (i, channel) in out.chunks_exact_mut(size_out).enumerate() {
                channel.fill(bias[i % filters]);
            }
            Dst::Scale(1.0)
        }
    };
    if depth == 1 && filters == groups && window.kernel[0] == 1 {
        depthwise(&window, &x, &w, &mut out, filters);
        return done(&shape, out);
    }
    let rows = filters / groups;
    let inner = depth * window.kernel_size();
    let width = (TILE / inner.max(1)).clamp(256, size_out.max(256));
    let mut columns = vec![
        0.0f32;
        if window.is_pointwise() {
            0
        } else {
            inner * width.min(size_out)
        }
    ];
    for i in 0..n {
        for g in 0..groups {
            let image = &x[(i * channels + g * depth) * size_in..][..depth * size_in];
            let a = &w[g * rows * inner..][..rows * inner];
            let c = &mut out[(i * filters + g * rows) * size_out..][..rows * size_out];
            let al = Layout::rows(0, inner);
            if window.is_pointwise() {
                let bl = Layout::rows(0, size_out);
                gemm((rows, size_out, inner), c, bl, dst, a, al, image, bl, 1.0, call.threads);
                continue;
            }
            let mut first = 0;
            while first < size_out {
                let count = width.min(size_out - first);
                image_to_columns(&window, image, depth, first, count, &mut columns);
                let cl = Layout::rows(first, size_out);
                let bl = Layout::rows(0, count);
                gemm((rows, count, inner), c, cl, dst, a, al, &columns, bl, 1.0, call.threads);
                first += count;
            }
        }
    }
    done(&shape, out)
}

/// For each window element over each channel, writes a row of the values it covers in windows `first..first + count`;
/// zero in the padding.
fn image_to_columns(w: &Window, image: &[f32], depth: usize, first: usize, count: usize, columns: &mut [f32]) {
    let [_, oh, ow] = w.output;
    let [kd, kh, kw] = w.kernel;
    let mut rows = columns.chunks_exact_mut(count);
    for channel in image.chunks_exact(w.input_size().max(1)).take(depth) {
        for k in 0..kd * kh * kw {
            let (z, y, x) = (k / (kh * kw), k / kw % kh, k % kw);
            let inside = w.inside(2, x);
            let Some(row) = rows.next() else { return };
            let mut done = 0;
            // Handles the windows of one output row at a time.
            while done < count {
                let o = first + done;
                let (line, start) = (o / ow, o % ow);
                let length = (ow - start).min(count - done);
                let to = &mut row[done..done + length];
                done += length;
                let source = w
                    .position(0, line / oh, z)
                    .zip(w.position(1, line % oh, y))
                    .map(|(d, h)| (d * w.input[1] + h) * w.input[2]);
                let begin = inside.start.clamp(start, start + length);
                let end = inside.end.clamp(begin, start + length);
                let Some(source) = source.filter(|_| begin < end) else {
                    to.fill(0.0);
                    continue;
                };
                to[..begin - start].fill(0.0);
                to[end - start..].fill(0.0);
                let to = &mut to[begin - start..end - start];
                let from = source + begin * w.stride[2] + x * w.dilation[2] - w.pad[2];
                match w.stride[2] {
                    1 => to.copy_from_slice(&channel[from..][..end - begin]),
                    step => to
                        .iter_mut()
                        .zip(channel[from..].iter().step_by(step))
                        .for_each(|(t, &v)| *t = v),
                }
            }
        }
    }
}

struct Depthwise<'a> {
    w: &'a Window,
    image: &'a [f32],
    kernel: &'a [f32],
    out: &'a mut [f32],
}

impl NullaryFnOnce for Depthwise<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Depthwise { w, image, kernel, out } = self;
        let [_, kh, kw] = w.kernel;
        let (ow, iw, step) = (w.output[2], w.input[2], w.stride[2]);
        for (line, row) in out.chunks_exact_mut(ow).enumerate() {
            for y in 0..kh {
                let Some(h) = w.position(1, line, y) else { continue };
                for x in 0..kw {
                    let weight = kernel[y * kw + x];
                    let inside = w.inside(2, x);
                    if inside.is_empty() {
                        continue;
                    }
                    let from = h * iw + inside.start * step + x * w.dilation[2] - w.pad[2];
                    let to = &mut row[inside];
                    if step == 1 {
                        let n = to.len();
                        to.iter_mut()
                            .zip(&image[from..][..n])
                            .for_each(|(o, &v)| *o += weight * v);
                    } else {
                        to.iter_mut()
                            .zip(image[from..].iter().step_by(step))
                            .for_each(|(o, &v)| *o += weight * v);
                    }
                }
            }
        }
    }
}

/// Adds to each channel of `out` the convolution of the same channel of `x` with its own window, over two spatial axes.
fn depthwise(w: &Window, x: &[f32], weights: &[f32], out: &mut [f32], channels: usize) {
    let (size_in, size_out, size_k) = (w.input_size(), w.output_size(), w.kernel_size());
    for (i, out) in out.chunks_exact_mut(size_out).enumerate() {
        Arch::new().dispatch(Depthwise {
            w,
            image: &x[i * size_in..][..size_in],
            kernel: &weights[i % channels * size_k..][..size_k],
            out,
        });
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
