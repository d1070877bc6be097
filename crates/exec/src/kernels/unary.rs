//! Functions of one number, including activations.

use super::broadcast::{Function, map, map_of, map_over, map_over_of, zip, zip_over};
use super::call::{done, or_decline};
use super::elementwise::{larger, smaller};
use super::layout::are_below;
use super::{Call, Done, Kernel, math};
use tautomer_op::AttrValue;
use tautomer_tensor::Tensor;

/// The kernels of this family.
pub(super) const KERNELS: &[Kernel] = &[
    Kernel::over("abs", |c| apply(c, f32::abs)),
    Kernel::over("neg", |c| apply(c, |x| -x)),
    Kernel::over("sqrt", |c| apply(c, f32::sqrt)),
    Kernel::over("reciprocal", |c| apply(c, |x| 1.0 / x)),
    Kernel::over("exp", |c| compute(c, Exp)),
    Kernel::over("log", |c| compute(c, Ln)),
    Kernel::over("tanh", |c| compute(c, Tanh)),
    Kernel::over("erf", |c| compute(c, Erf)),
    Kernel::over("floor", |c| apply(c, f32::floor)),
    Kernel::over("ceil", |c| apply(c, f32::ceil)),
    Kernel::over("round", |c| apply(c, f32::round_ties_even)),
    Kernel::over("sin", |c| {
        compute_below(c, math::TURNED, Sin, |x| f64::from(x).sin() as f32)
    }),
    Kernel::over("cos", |c| {
        compute_below(c, math::TURNED, Cos, |x| f64::from(x).cos() as f32)
    }),
    Kernel::over("tan", |c| apply(c, |x| f64::from(x).tan() as f32)),
    Kernel::over("asin", |c| compute(c, Asin)),
    Kernel::over("acos", |c| compute(c, Acos)),
    Kernel::over("atan", |c| compute(c, Atan)),
    Kernel::over("sinh", |c| apply(c, |x| f64::from(x).sinh() as f32)),
    Kernel::over("cosh", |c| apply(c, |x| f64::from(x).cosh() as f32)),
    Kernel::over("asinh", |c| apply(c, |x| f64::from(x).asinh() as f32)),
    Kernel::over("acosh", |c| apply(c, |x| f64::from(x).acosh() as f32)),
    Kernel::over("atanh", |c| apply(c, |x| f64::from(x).atanh() as f32)),
    Kernel::over("sign", |c| apply(c, sign)),
    Kernel::f32("is_inf", |c| {
        let (negative, positive) = (c.flag("detect_negative"), c.flag("detect_positive"));
        let x = or_decline!(c.f32s(0));
        let is_inf = IsInf { negative, positive };
        done(c.shape(0), map_of(c.threads, &x, is_inf, c.result_room(x.len())))
    }),
    Kernel::f32("is_nan", |c| {
        let x = or_decline!(c.f32s(0));
        done(c.shape(0), map(c.threads, &x, f32::is_nan, c.result_room(x.len())))
    }),
    Kernel::over("relu", |c| apply(c, |x| larger(x, 0.0))),
    Kernel::over("sigmoid", |c| compute(c, Sigmoid)),
    Kernel::over("softplus", |c| compute(c, Softplus)),
    Kernel::over("softsign", |c| apply(c, |x| x / (1.0 + x.abs()))),
    Kernel::over("silu", |c| compute(c, Silu)),
    Kernel::over("mish", |c| compute(c, Mish)),
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
    Kernel::over("elu", |c| compute(c, Elu(c.float("alpha").unwrap_or(1.0) as f32))),
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

/// Implements types of functions of one number.
macro_rules! functions {
    ($($name:ident: $f:expr;)*) => {$(
        #[derive(Clone, Copy)]
        struct $name;

        impl Function<f32, f32> for $name {
            #[inline(always)]
            fn of(self, x: f32) -> f32 {
                $f(x)
            }
        }
    )*};
}

functions! {
    Exp: math::exp;
    Ln: math::ln;
    Tanh: math::tanh;
    Erf: math::erf;
    Sin: math::sin;
    Cos: math::cos;
    Asin: math::asin;
    Acos: math::acos;
    Atan: math::atan;
    Sigmoid: math::sigmoid;
    Softplus: math::softplus;
    Silu: math::silu;
    Mish: math::mish;
    Gelu: math::gelu;
    GeluByTanh: math::gelu_by_tanh;
}

/// `e^x - 1` below zero, times a number.
#[derive(Clone, Copy)]
struct Elu(f32);

impl Function<f32, f32> for Elu {
    #[inline(always)]
    fn of(self, x: f32) -> f32 {
        if x < 0.0 { self.0 * (math::exp(x) - 1.0) } else { x }
    }
}

#[derive(Clone, Copy)]
struct IsInf {
    negative: bool,
    positive: bool,
}

impl Function<f32, bool> for IsInf {
    #[inline(always)]
    fn of(self, x: f32) -> bool {
        (x == f32::INFINITY) & self.positive | (x == f32::NEG_INFINITY) & self.negative
    }
}

/// A function with two parameters.
#[derive(Clone, Copy)]
struct WithTwo<F> {
    f: F,
    a: f32,
    b: f32,
}

impl<F: Fn(f32, f32, f32) -> f32 + Copy + Sync> Function<f32, f32> for WithTwo<F> {
    #[inline(always)]
    fn of(self, x: f32) -> f32 {
        (self.f)(x, self.a, self.b)
    }
}

#[derive(Clone, Copy)]
struct Between {
    low: f32,
    high: f32,
}

impl Function<f32, f32> for Between {
    #[inline(always)]
    fn of(self, x: f32) -> f32 {
        between(x, self.low, self.high)
    }
}

fn compute(call: &Call<'_>, f: impl Function<f32, f32>) -> Done {
    if let Some(x) = call.in_place(0) {
        return done(call.shape(0), map_over_of(call.threads, f, x));
    }
    let x = or_decline!(call.f32s(0));
    done(call.shape(0), map_of(call.threads, &x, f, call.result_room(x.len())))
}

/// `f` of every element, if all have a magnitude below `most`, and otherwise `of_large`.
fn compute_below(call: &Call<'_>, most: f32, f: impl Function<f32, f32>, of_large: impl Fn(f32) -> f32 + Sync) -> Done {
    if let Some(x) = call.in_place(0) {
        let out = match are_below(&x, most) {
            true => map_over_of(call.threads, f, x),
            false => map_over(call.threads, of_large, x),
        };
        return done(call.shape(0), out);
    }
    let (x, room) = (
        or_decline!(call.f32s(0)),
        call.result_room(call.shape(0).iter().product()),
    );
    let out = match are_below(&x, most) {
        true => map_of(call.threads, &x, f, room),
        false => map(call.threads, &x, of_large, room),
    };
    done(call.shape(0), out)
}

fn with_two(call: &Call<'_>, a: (&str, f64), b: (&str, f64), f: impl Fn(f32, f32, f32) -> f32 + Copy + Sync) -> Done {
    let a = call.float(a.0).unwrap_or(a.1) as f32;
    let b = call.float(b.0).unwrap_or(b.1) as f32;
    compute(call, WithTwo { f, a, b })
}

fn gelu(call: &Call<'_>) -> Done {
    match call.text("approximate") {
        "" | "none" => compute(call, Gelu),
        "tanh" => compute(call, GeluByTanh),
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
    compute(call, Between { low, high })
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
