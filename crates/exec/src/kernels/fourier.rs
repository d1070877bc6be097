//! Discrete Fourier transforms: by the factors of their length, in double precision.

use super::call::{Call, done, or_decline};
use super::threads::{in_parts, worth};
use super::{Done, Kernel};
use smallvec::SmallVec;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[Kernel::f32("dft", dft)];

/// A complex number: its real and its imaginary part.
type Complex = [f64; 2];

#[inline(always)]
fn plus(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

#[inline(always)]
fn minus(a: Complex, b: Complex) -> Complex {
    [a[0] - b[0], a[1] - b[1]]
}

#[inline(always)]
fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// Transforms of one length.
struct Transform {
    /// The factors of the length.
    factors: Vec<usize>,
    /// The powers of the root of unity.
    turns: Vec<Complex>,
    inverse: bool,
}

impl Transform {
    fn new(n: usize, inverse: bool) -> Transform {
        let (mut rest, mut factors, mut factor) = (n, Vec::new(), 4);
        while rest > 1 {
            while rest.is_multiple_of(factor) {
                factors.push(factor);
                rest /= factor;
            }
            factor = match factor {
                4 => 2,
                2 => 3,
                _ if factor * factor > rest => rest,
                _ => factor + 2,
            };
        }
        let turn = |k: usize| {
            let angle = std::f64::consts::TAU * k as f64 / n as f64;
            let quarters = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
            let [re, im] = match 4 * k % n {
                0 => quarters[4 * k / n],
                _ => [angle.cos(), angle.sin()],
            };
            [re, if inverse { im } else { -im }]
        };
        Transform {
            factors,
            turns: (0..n).map(turn).collect(),
            inverse,
        }
    }

    /// The transform of every `stride`-th number of `x`, as many as `out` has, by the factors from `level` on.
    fn run(&self, x: &[Complex], stride: usize, out: &mut [Complex], level: usize) {
        let Some(&p) = self.factors.get(level) else {
            out[0] = x[0];
            return;
        };
        let m = out.len() / p;
        for (r, out) in out.chunks_exact_mut(m).enumerate() {
            self.run(&x[r * stride..], stride * p, out, level + 1);
        }
        let mut terms: SmallVec<[Complex; 16]> = SmallVec::from_elem([0.0; 2], p);
        for k in 0..m {
            for (r, term) in terms.iter_mut().enumerate() {
                *term = times(out[r * m + k], self.turns[r * k * stride]);
            }
            match terms[..] {
                [a, b] => (out[k], out[m + k]) = (plus(a, b), minus(a, b)),
                [a, b, c, d] => {
                    let (even, odd) = (plus(a, c), plus(b, d));
                    let (first, [re, im]) = (minus(a, c), minus(b, d));
                    let second = if self.inverse { [-im, re] } else { [im, -re] };
                    (out[k], out[2 * m + k]) = (plus(even, odd), minus(even, odd));
                    (out[m + k], out[3 * m + k]) = (plus(first, second), minus(first, second));
                }
                _ => {
                    for q in 0..p {
                        let turned = |(r, &term): (usize, &Complex)| times(term, self.turns[r * q % p * (m * stride)]);
                        out[q * m + k] = terms.iter().enumerate().map(turned).fold([0.0; 2], plus);
                    }
                }
            }
        }
    }
}

/// The transforms of real or complex numbers. Those that omit frequencies on their way back are left to the reference
/// semantics.
fn dft(call: &Call<'_>) -> Done {
    let (x, own, shape) = (or_decline!(call.f32s(0)), call.shape(0), or_decline!(call.out_shape()));
    let axis = or_decline!(call.axis("axis", own.len()));
    let inverse = call.flag("inverse");
    let length = match call.attr("dft_length").is_none() {
        true => own[axis],
        false => or_decline!(call.int("dft_length").and_then(|n| usize::try_from(n).ok())),
    };
    let Some((&parts, _)) = own.split_last().filter(|_| axis + 1 < own.len()) else {
        return Ok(None);
    };
    if x.is_empty() || length == 0 || shape.last() != Some(&2) || inverse && call.flag("onesided") {
        return Ok(None);
    }
    let transform = call.once(|| Transform::new(length, inverse));
    let scale = if inverse { 1.0 / length as f64 } else { 1.0 };
    let (n, kept, inner) = (
        own[axis],
        shape[axis],
        own[axis + 1..own.len() - 1].iter().product::<usize>(),
    );
    let mut out = call.result_room::<f32>(shape.iter().product());
    let block = kept * inner * 2;
    in_parts(worth(call.threads, out.len()), &mut out, block, |first, out| {
        let (mut signal, mut found) = (vec![[0.0; 2]; length], vec![[0.0; 2]; length]);
        let blocks = x[first * n * inner * parts..].chunks_exact(n * inner * parts);
        for (x, out) in blocks.zip(out.chunks_exact_mut(block.max(1))) {
            for line in 0..inner {
                for (i, to) in signal.iter_mut().enumerate().take(n) {
                    let number = &x[(i * inner + line) * parts..][..parts];
                    *to = [number[0].into(), number.get(1).copied().unwrap_or(0.0).into()];
                }
                transform.run(&signal, 1, &mut found, 0);
                for (k, found) in found.iter().enumerate().take(kept) {
                    let to = &mut out[(k * inner + line) * 2..][..2];
                    to.iter_mut()
                        .zip(found)
                        .for_each(|(to, part)| *to = (part * scale) as f32);
                }
            }
        }
    });
    done(&shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use tautomer_op::AttrValue;

    #[test]
    fn transforms_of_every_length() {
        for n in (1..40).chain([64, 97, 100, 120, 256]) {
            for (inverse, onesided) in [(false, false), (false, true), (true, false)] {
                for parts in [1, 2] {
                    if onesided && parts == 2 {
                        continue;
                    }
                    let case = Case::new("dft", &[f32s(&[2, n, parts], n as u64)]).int("axis", 1);
                    let case = case.attr("inverse", AttrValue::Bool(inverse));
                    assert!(case.attr("onesided", AttrValue::Bool(onesided)).check(), "{n}");
                }
            }
        }
    }

    #[test]
    fn signals_are_cut_and_padded() {
        for (shape, axis) in [(&[2usize, 6, 3, 2][..], 1), (&[6, 2, 3, 1], 0), (&[2, 3, 6, 2], 2)] {
            for length in [1, 4, 6, 15] {
                let case = Case::new("dft", &[f32s(shape, 1)]).int("axis", axis);
                assert!(case.int("dft_length", length).check());
            }
        }
    }
}
