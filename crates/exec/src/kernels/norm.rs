//! Normalizations and softmax.

use pulp::{Arch, NullaryFnOnce, Simd, WithSimd};

use super::call::{done, or_decline};
use super::elementwise::larger;
use super::reduce::row_sum;
use super::threads::{in_parts, worth};
use super::{Call, Done, Kernel, math};

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("softmax", softmax::<false>),
    Kernel::f32("log_softmax", softmax::<true>),
    Kernel::f32("batch_normalization", batch_normalization),
    Kernel::f32("layer_normalization", layer_normalization),
];

struct Affine<'a> {
    from: &'a [f32],
    to: &'a mut [f32],
    shift: f32,
    scale: f32,
    bias: f32,
}

impl NullaryFnOnce for Affine<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        for (y, &x) in self.to.iter_mut().zip(self.from) {
            *y = (x - self.shift) * self.scale + self.bias;
        }
    }
}

/// Softmax of rows of `n` elements, or its logarithm if `IN_LOG`.
struct Rows<'a, const IN_LOG: bool> {
    x: &'a [f32],
    out: &'a mut [f32],
    n: usize,
    /// As many elements as are handled together, if `IN_LOG`.
    exponentials: &'a mut [f32],
}

/// Elements of rows that are handled together: they stay in a first-level cache.
const TOGETHER: usize = 2048;

/// The elements of as many whole rows of `n` as are handled together.
fn together(n: usize) -> usize {
    (TOGETHER / n).max(1) * n
}

impl<const IN_LOG: bool> WithSimd for Rows<'_, IN_LOG> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let n = self.n;
        let block = together(n);
        for (x, out) in self.x.chunks(block).zip(self.out.chunks_mut(block)) {
            for (x, out) in x.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
                let shift = largest(simd, x);
                out.iter_mut().zip(x).for_each(|(y, x)| *y = x - shift);
            }
            if IN_LOG {
                let exponentials = &mut self.exponentials[..out.len()];
                exponentials.iter_mut().zip(&*out).for_each(|(e, &x)| *e = math::exp(x));
                for (row, exponentials) in out.chunks_exact_mut(n).zip(exponentials.chunks_exact(n)) {
                    let log = f64::from(total(simd, exponentials)).ln() as f32;
                    row.iter_mut().for_each(|x| *x -= log);
                }
            } else {
                out.iter_mut().for_each(|x| *x = math::exp(*x));
                for row in out.chunks_exact_mut(n) {
                    let factor = 1.0 / total(simd, row);
                    row.iter_mut().for_each(|x| *x *= factor);
                }
            }
        }
    }
}

/// Softmax of the columns of a block of `n` rows, or its logarithm if `IN_LOG`.
struct Columns<'a, const IN_LOG: bool> {
    x: &'a [f32],
    out: &'a mut [f32],
    n: usize,
}

/// Columns that are handled together.
const WIDE: usize = 128;

impl<const IN_LOG: bool> NullaryFnOnce for Columns<'_, IN_LOG> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let inner = self.x.len() / self.n;
        for first in (0..inner).step_by(WIDE) {
            let width = WIDE.min(inner - first);
            let (mut shift, mut sum) = ([f32::NEG_INFINITY; WIDE], [0.0f32; WIDE]);
            let (shift, sum) = (&mut shift[..width], &mut sum[..width]);
            for x in self.x.chunks_exact(inner) {
                shift
                    .iter_mut()
                    .zip(&x[first..][..width])
                    .for_each(|(m, &x)| *m = larger(*m, x));
            }
            for (x, out) in self.x.chunks_exact(inner).zip(self.out.chunks_exact_mut(inner)) {
                let (x, out) = (&x[first..][..width], &mut out[first..][..width]);
                for (((x, y), shift), sum) in x.iter().zip(out).zip(&*shift).zip(&mut *sum) {
                    let e = math::exp(x - shift);
                    *sum += e;
                    *y = if IN_LOG { x - shift } else { e };
                }
            }
            if IN_LOG {
                sum.iter_mut().for_each(|sum| *sum = f64::from(*sum).ln() as f32);
            }
            for out in self.out.chunks_exact_mut(inner) {
                for (y, sum) in out[first..][..width].iter_mut().zip(&*sum) {
                    *y = if IN_LOG { *y - sum } else { *y / sum };
                }
            }
        }
    }
}

/// The largest element of a row; NaN if there is one.
#[inline(always)]
fn largest<S: Simd>(simd: S, row: &[f32]) -> f32 {
    let (vectors, rest) = S::as_simd_f32s(row);
    let largest = |all: &[f32]| all.iter().fold(f32::NEG_INFINITY, |m, &x| larger(m, x));
    if vectors.is_empty() {
        return largest(rest);
    }
    let mut all = simd.splat_f32s(f32::NEG_INFINITY);
    for &x in vectors {
        // Comparisons with NaN are false.
        let more = simd.select_f32s(simd.less_than_or_equal_f32s(all, x), x, all);
        all = simd.select_f32s(simd.equal_f32s(x, x), more, x);
    }
    let mut lanes = [0.0; 16];
    S::as_mut_simd_f32s(&mut lanes[..S::F32_LANES]).0[0] = all;
    larger(largest(&lanes[..S::F32_LANES]), largest(rest))
}

/// The sum of a row.
#[inline(always)]
fn total<S: Simd>(simd: S, row: &[f32]) -> f32 {
    let (vectors, rest) = S::as_simd_f32s(row);
    let sum = vectors
        .iter()
        .fold(simd.splat_f32s(0.0), |sum, &x| simd.add_f32s(sum, x));
    simd.reduce_sum_f32s(sum) + rest.iter().sum::<f32>()
}

fn softmax<const IN_LOG: bool>(call: &Call<'_>) -> Done {
    let shape = call.shape(0);
    let x = or_decline!(call.f32s(0));
    let axis = or_decline!(call.axis("axis", shape.len()));
    let mut out = call.result_room(x.len());
    if out.is_empty() {
        return done(shape, out);
    }
    let n = shape[axis];
    let inner: usize = shape[axis + 1..].iter().product();
    let threads = worth(call.threads, x.len());
    if inner == 1 {
        let scratch = call.scratch();
        in_parts(threads, &mut out, n, |first, out| {
            let mut exponentials = scratch.room(if IN_LOG { together(n) } else { 0 });
            Arch::new().dispatch(Rows::<IN_LOG> {
                x: &x[first * n..][..out.len()],
                out,
                n,
                exponentials: &mut exponentials,
            });
            scratch.give(exponentials);
        });
        return done(shape, out);
    }
    let block = n * inner;
    in_parts(threads, &mut out, block, |first, out| {
        for (x, out) in x[first * block..].chunks_exact(block).zip(out.chunks_exact_mut(block)) {
            Arch::new().dispatch(Columns::<IN_LOG> { x, out, n });
        }
    });
    done(shape, out)
}

fn batch_normalization(call: &Call<'_>) -> Done {
    if call.operands.len() != 5 || call.result_type().is_none() || call.flag("training_mode") {
        return Ok(None);
    }
    let shape = call.shape(0);
    let [x, scale, bias, mean, variance] = [0, 1, 2, 3, 4].map(|i| call.f32s(i));
    let x = or_decline!(x);
    let (scale, bias) = (or_decline!(scale), or_decline!(bias));
    let (mean, variance) = (or_decline!(mean), or_decline!(variance));
    let epsilon = call.float("epsilon").unwrap_or(1e-5) as f32;
    let channels = shape.get(1).copied().unwrap_or(1);
    let inner: usize = shape.iter().skip(2).product();
    if [&scale, &bias, &mean, &variance].iter().any(|p| p.len() != channels) {
        return Ok(None);
    }
    let mut out = call.result_room(x.len());
    if inner > 0 {
        let factors: Vec<f32> = scale
            .iter()
            .zip(&*variance)
            .map(|(s, v)| s / (v + epsilon).sqrt())
            .collect();
        in_parts(worth(call.threads, x.len()), &mut out, inner, |first, out| {
            let images = out.chunks_exact_mut(inner).zip(x[first * inner..].chunks_exact(inner));
            for (i, (to, from)) in images.enumerate() {
                let c = (first + i) % channels;
                Arch::new().dispatch(Affine {
                    from,
                    to,
                    shift: mean[c],
                    scale: factors[c],
                    bias: bias[c],
                });
            }
        });
    }
    done(shape, out)
}

struct LayerRow<'a> {
    from: &'a [f32],
    to: &'a mut [f32],
    scale: &'a [f32],
    bias: Option<&'a [f32]>,
    epsilon: f32,
}

impl NullaryFnOnce for LayerRow<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let n = self.from.len() as f32;
        let mean = row_sum(self.from).call() / n;
        for (y, &x) in self.to.iter_mut().zip(self.from) {
            *y = (x - mean) * (x - mean);
        }
        let factor = 1.0 / (row_sum(self.to).call() / n + self.epsilon).sqrt();
        let scaled = self.to.iter_mut().zip(self.from).zip(self.scale);
        match self.bias {
            Some(bias) => scaled
                .zip(bias)
                .for_each(|(((y, &x), &s), &b)| *y = (x - mean) * factor * s + b),
            None => scaled.for_each(|((y, &x), &s)| *y = (x - mean) * factor * s),
        }
    }
}

fn layer_normalization(call: &Call<'_>) -> Done {
    if call.result_type().is_none() {
        return Ok(None);
    }
    let shape = call.shape(0);
    let (x, scale) = (or_decline!(call.f32s(0)), or_decline!(call.f32s(1)));
    let bias = call.f32s(2);
    let axis = or_decline!(call.axis("axis", shape.len()));
    let own = &shape[axis..];
    if call.shape(1) != own || (call.has(2) && (bias.is_none() || call.shape(2) != own)) {
        return Ok(None);
    }
    let epsilon = call.float("epsilon").unwrap_or(1e-5) as f32;
    let mut out = call.result_room(x.len());
    if !out.is_empty() {
        let n = scale.len();
        in_parts(worth(call.threads, x.len()), &mut out, n, |first, out| {
            for (to, from) in out.chunks_exact_mut(n).zip(x[first * n..].chunks_exact(n)) {
                Arch::new().dispatch(LayerRow {
                    from,
                    to,
                    scale: &scale,
                    bias: bias.as_deref(),
                    epsilon,
                });
            }
        });
    }
    done(shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_tensor::Tensor;

    const SHAPES: &[&[usize]] = &[&[1], &[65], &[3, 63], &[2, 3, 5], &[2, 3, 4, 17], &[0, 3], &[3, 1]];

    #[test]
    fn softmax_along_each_axis() {
        for op in ["softmax", "log_softmax"] {
            for &shape in SHAPES {
                for axis in 0..shape.len() as i64 {
                    Case::new(op, &[f32s(shape, 3)]).int("axis", axis).check();
                    Case::new(op, &[f32s(shape, 3)])
                        .int("axis", axis - shape.len() as i64)
                        .check();
                }
            }
            let far = Tensor::vector(vec![1000.0f32, -1000.0, 999.0, 1000.0]);
            Case::new(op, &[far]).check();
            for shape in [[2500usize, 2], [2, 2500], [40, 129]] {
                for axis in 0..2 {
                    Case::new(op, &[f32s(&shape, 4)]).int("axis", axis).check();
                }
            }
            let special = vec![
                f32::NAN,
                1.0,
                2.0,
                f32::NEG_INFINITY,
                0.0,
                3.0,
                f32::INFINITY,
                0.0,
                -0.0,
                1.0,
                1.0,
                1.0,
            ];
            let special = Tensor::new(&[4, 3], special).unwrap();
            for axis in 0..2 {
                Case::new(op, std::slice::from_ref(&special)).int("axis", axis).check();
            }
        }
    }

    #[test]
    fn batches() {
        for shape in [&[2usize, 3][..], &[1, 1, 7], &[2, 3, 5, 4], &[0, 3, 2]] {
            let c = &shape[1..2];
            let variance = Tensor::vector((0..c[0]).map(|i| 0.5 + i as f32).collect::<Vec<f32>>());
            let operands = [f32s(shape, 1), f32s(c, 2), f32s(c, 3), f32s(c, 4), variance];
            Case::new("batch_normalization", &operands).check();
        }
    }

    #[test]
    fn layers() {
        for &shape in SHAPES {
            for axis in 0..shape.len() {
                let own = &shape[axis..];
                let case =
                    || Case::new("layer_normalization", &[f32s(shape, 1), f32s(own, 2)]).int("axis", axis as i64);
                case().check();
                case().operand(Some(f32s(own, 3))).check();
            }
        }
    }
}
