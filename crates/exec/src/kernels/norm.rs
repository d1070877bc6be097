//! Normalizations and softmax.

use pulp::{Arch, NullaryFnOnce};

use super::call::{done, or_decline};
use super::reduce::{max_of, sum_of};
use super::{Call, Kernel, math};
use tautomer_op::OpError;
use tautomer_tensor::Tensor;

type Done = Result<Option<Vec<Tensor>>, OpError>;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::f32("softmax", |c| along(c, softmax)),
    Kernel::f32("log_softmax", |c| along(c, log_softmax)),
    Kernel::f32("batch_normalization", batch_normalization),
    Kernel::f32("layer_normalization", layer_normalization),
];

struct Exponentials<'a> {
    row: &'a mut [f32],
    shift: f32,
}

impl NullaryFnOnce for Exponentials<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        self.row.iter_mut().for_each(|x| *x = math::exp(*x - self.shift));
    }
}

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

fn softmax(row: &mut [f32]) {
    let shift = max_of(row);
    Arch::new().dispatch(Exponentials { row, shift });
    let total = sum_of(row);
    row.iter_mut().for_each(|x| *x /= total);
}

fn log_softmax(row: &mut [f32]) {
    let shift = max_of(row);
    let mut exponentials = row.to_vec();
    Arch::new().dispatch(Exponentials {
        row: &mut exponentials,
        shift,
    });
    let log = f64::from(sum_of(&exponentials)).ln() as f32;
    row.iter_mut().for_each(|x| *x = (*x - shift) - log);
}

/// Applies `f` to every row along the axis of the call.
fn along(call: &Call<'_>, f: impl Fn(&mut [f32])) -> Done {
    let shape = call.shape(0);
    let mut out = or_decline!(call.f32s(0)).into_owned();
    if shape.is_empty() || out.is_empty() {
        return if shape.is_empty() { Ok(None) } else { done(shape, out) };
    }
    let axis = or_decline!(call.axis("axis", shape.len()));
    let n = shape[axis];
    let inner: usize = shape[axis + 1..].iter().product();
    if inner == 1 {
        out.chunks_exact_mut(n).for_each(f);
        return done(shape, out);
    }
    let mut row = vec![0.0; n];
    for block in out.chunks_exact_mut(n * inner) {
        for i in 0..inner {
            row.iter_mut()
                .zip(block[i..].iter().step_by(inner))
                .for_each(|(r, &x)| *r = x);
            f(&mut row);
            block[i..]
                .iter_mut()
                .step_by(inner)
                .zip(&row)
                .for_each(|(x, &r)| *x = r);
        }
    }
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
    let mut out = vec![0.0f32; x.len()];
    if inner > 0 {
        let factors: Vec<f32> = scale
            .iter()
            .zip(&*variance)
            .map(|(s, v)| s / (v + epsilon).sqrt())
            .collect();
        for (i, (to, from)) in out.chunks_exact_mut(inner).zip(x.chunks_exact(inner)).enumerate() {
            let c = i % channels;
            Arch::new().dispatch(Affine {
                from,
                to,
                shift: mean[c],
                scale: factors[c],
                bias: bias[c],
            });
        }
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
        let mean = sum_of(self.from) / n;
        for (y, &x) in self.to.iter_mut().zip(self.from) {
            *y = (x - mean) * (x - mean);
        }
        let factor = 1.0 / (sum_of(self.to) / n + self.epsilon).sqrt();
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
    if call.shape(1) != own || (call.optional(2).is_some() && (bias.is_none() || call.shape(2) != own)) {
        return Ok(None);
    }
    let epsilon = call.float("epsilon").unwrap_or(1e-5) as f32;
    let mut out = vec![0.0f32; x.len()];
    if !out.is_empty() {
        for (to, from) in out.chunks_exact_mut(scale.len()).zip(x.chunks_exact(scale.len())) {
            Arch::new().dispatch(LayerRow {
                from,
                to,
                scale: &scale,
                bias: bias.as_deref(),
                epsilon,
            });
        }
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
