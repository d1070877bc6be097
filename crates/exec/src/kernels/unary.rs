//! Functions of one number, including activations.

use super::broadcast::{map, map_over, zip, zip_over};
use super::call::{done, or_decline};
use super::elementwise::{larger, smaller};
use super::{Call, Done, Kernel, math};
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::over("abs", |c| apply(c, f32::abs)),
    Kernel::over("neg", |c| apply(c, |x| -x)),
    Kernel::over("sqrt", |c| apply(c, f32::sqrt)),
    Kernel::over("reciprocal", |c| apply(c, |x| 1.0 / x)),
    Kernel::over("exp", |c| apply(c, math::exp)),
    Kernel::over("log", |c| apply(c, |x| f64::from(x).ln() as f32)),
    Kernel::over("tanh", |c| apply(c, math::tanh)),
    Kernel::over("erf", |c| apply(c, math::erf)),
    Kernel::over("floor", |c| apply(c, f32::floor)),
    Kernel::over("ceil", |c| apply(c, f32::ceil)),
    Kernel::over("round", |c| apply(c, f32::round_ties_even)),
    Kernel::over("sin", |c| apply(c, |x| f64::from(x).sin() as f32)),
    Kernel::over("cos", |c| apply(c, |x| f64::from(x).cos() as f32)),
    Kernel::over("tan", |c| apply(c, |x| f64::from(x).tan() as f32)),
    Kernel::over("asin", |c| apply(c, |x| f64::from(x).asin() as f32)),
    Kernel::over("acos", |c| apply(c, |x| f64::from(x).acos() as f32)),
    Kernel::over("atan", |c| apply(c, |x| f64::from(x).atan() as f32)),
    Kernel::over("sinh", |c| apply(c, |x| f64::from(x).sinh() as f32)),
    Kernel::over("cosh", |c| apply(c, |x| f64::from(x).cosh() as f32)),
    Kernel::over("asinh", |c| apply(c, |x| f64::from(x).asinh() as f32)),
    Kernel::over("acosh", |c| apply(c, |x| f64::from(x).acosh() as f32)),
    Kernel::over("atanh", |c| apply(c, |x| f64::from(x).atanh() as f32)),
    Kernel::over("sign", |c| apply(c, sign)),
    Kernel::f32("is_nan", |c| {
        let x = or_decline!(c.f32s(0));
        done(c.shape(0), map(c.threads, &x, f32::is_nan, c.result_room(x.len())))
    }),
    Kernel::over("relu", |c| apply(c, |x| larger(x, 0.0))),
    Kernel::over("sigmoid", |c| apply(c, math::sigmoid)),
    Kernel::over("softplus", |c| apply(c, math::softplus)),
    Kernel::over("softsign", |c| apply(c, |x| x / (1.0 + x.abs()))),
    Kernel::over("silu", |c| apply(c, |x| x * math::sigmoid(x))),
    Kernel::over("mish", |c| apply(c, |x| x * math::tanh(math::softplus(x)))),
    Kernel::over("hard_swish", |c| apply(c, |x| x * between(x / 6.0 + 0.5, 0.0, 1.0))),
    Kernel::over("hard_sigmoid", |c| {
        with_two(c, ("alpha", 0.2), ("beta", 0.5), |x, a, b| between(a * x + b, 0.0, 1.0))
    }),
    Kernel::over("leaky_relu", |c| {
        with_two(
            c,
            ("alpha", 0.01),
            ("alpha", 0.01),
            |x, a, _| if x < 0.0 { a * x } else { x },
        )
    }),
    Kernel::over("elu", |c| {
        with_two(c, ("alpha", 1.0), ("alpha", 1.0), |x, a, _| {
            if x < 0.0 { a * (math::exp(x) - 1.0) } else { x }
        })
    }),
    Kernel::over("gelu", gelu),
    Kernel::over("clip", clip),
    Kernel::over("prelu", prelu),
];

#[inline(always)]
fn between(x: f32, low: f32, high: f32) -> f32 {
    smaller(larger(x, low), high)
}

/// -1, 0 or 1; NaN for NaN.
#[inline(always)]
fn sign(x: f32) -> f32 {
    let signed = if x > 0.0 { 1.0 } else { -1.0 };
    if x == 0.0 {
        0.0
    } else if x.is_nan() {
        x
    } else {
        signed
    }
}

fn apply(call: &Call<'_>, f: impl Fn(f32) -> f32 + Sync) -> Done {
    if let Some(x) = call.in_place(0) {
        return done(call.shape(0), map_over(call.threads, f, x));
    }
    let x = or_decline!(call.f32s(0));
    done(call.shape(0), map(call.threads, &x, f, call.result_room(x.len())))
}

fn with_two(call: &Call<'_>, a: (&str, f64), b: (&str, f64), f: impl Fn(f32, f32, f32) -> f32 + Sync) -> Done {
    let a = call.float(a.0).unwrap_or(a.1) as f32;
    let b = call.float(b.0).unwrap_or(b.1) as f32;
    apply(call, |x| f(x, a, b))
}

fn gelu(call: &Call<'_>) -> Done {
    const ROOT: f32 = std::f32::consts::FRAC_1_SQRT_2;
    const SCALE: f32 = 0.797_884_6; // sqrt(2 / pi)
    match call.text("approximate") {
        "" | "none" => apply(call, |x| 0.5 * x * (1.0 + math::erf(x * ROOT))),
        "tanh" => apply(call, |x| {
            0.5 * x * (1.0 + math::tanh(SCALE * (x + 0.044_715 * x * x * x)))
        }),
        _ => Ok(None),
    }
}

/// A bound of `clip`: a number, a tensor, or omitted.
fn bound(call: &Call<'_>, name: &str, place: usize, none: f32) -> Option<f32> {
    let one = |t: &Tensor| t.to_f64s().filter(|v| v.len() == 1).map(|v| v[0] as f32);
    if let Some(value) = call.optional(place) {
        return one(value);
    }
    match call.attr(name) {
        AttrValue::None => Some(none),
        AttrValue::Float(v) => Some(v.0 as f32),
        AttrValue::Tensor(t) => one(t),
        _ => None,
    }
}

fn clip(call: &Call<'_>) -> Done {
    let low = or_decline!(bound(call, "min", 1, f32::NEG_INFINITY));
    let high = or_decline!(bound(call, "max", 2, f32::INFINITY));
    apply(call, |x| between(x, low, high))
}

fn prelu(call: &Call<'_>) -> Done {
    let slope = or_decline!(call.f32s(1));
    let shape = or_decline!(call.out_shape());
    let bend = |x: f32, s: f32| if x < 0.0 { s * x } else { x };
    if call.shape(0) == &shape[..]
        && let Some(x) = call.in_place(0)
    {
        return done(
            &shape,
            or_decline!(zip_over(call.threads, &shape, (&slope, call.shape(1)), bend, x)),
        );
    }
    let x = or_decline!(call.f32s(0));
    let out = call.result_room(shape.iter().product());
    let out = or_decline!(zip(
        call.threads,
        &shape,
        (&x, call.shape(0)),
        (&slope, call.shape(1)),
        bend,
        out
    ));
    done(&shape, out)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Case, f32s};
    use super::KERNELS;
    use tautomer_tensor::Tensor;

    #[test]
    fn unary_kernels_agree() {
        let special = Tensor::vector(vec![
            0.0f32,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -2.5,
            3.5,
            1e-30,
            80.0,
            -80.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
        ]);
        for kernel in KERNELS.iter().filter(|k| k.op != "prelu") {
            for shape in [&[][..], &[0], &[1], &[3], &[2, 65]] {
                Case::new(kernel.op, &[f32s(shape, 1)]).check();
            }
            Case::new(kernel.op, std::slice::from_ref(&special)).check();
        }
        for slope in [&[][..], &[1], &[3], &[2, 1], &[2, 3]] {
            Case::new("prelu", &[f32s(&[2, 3], 1), f32s(slope, 2)]).check();
        }
    }
}
