//! Distances from exact results.

use super::*;
use crate::{Builder, Kernel, Sink, Source, Type, Value};

/// The largest distance found, in units in the last place of the exact result, and where.
#[derive(Debug, Default)]
struct Worst {
    units: f64,
    at: f64,
}

impl Worst {
    fn see(&mut self, units: f64, at: f64) {
        if units > self.units || units.is_nan() {
            *self = Worst { units, at };
        }
    }
}

/// The distance of `y` from what is exact but for the rounding of a double.
fn units_f32(y: f32, exact: f64) -> f64 {
    if exact.is_nan() || y.is_nan() {
        return if exact.is_nan() && y.is_nan() {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let nearest = exact as f32;
    if !nearest.is_finite() || !y.is_finite() || nearest == 0.0 && y == 0.0 {
        let same = nearest == y && nearest.is_sign_negative() == y.is_sign_negative();
        // An overflow by less than a unit.
        return if same { 0.0 } else { f64::INFINITY };
    }
    let unit = (exact.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() - 23.0).exp2();
    (f64::from(y) - exact).abs() / unit
}

type Single = (&'static str, fn(&mut Builder, Value) -> Value, fn(f64) -> f64, f64);

const SINGLES: [Single; 5] = [
    ("exp", exp, f64::exp, 1.1),
    ("ln", ln, f64::ln, 1.1),
    ("tanh", tanh, f64::tanh, 2.0),
    ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 2.6),
    ("erf", |b, x| erf(b, x, libm::erf), libm::erf, 2.0),
];

/// Numbers that are computed at once.
const BATCH: usize = 1 << 16;

fn check_f32(step: usize) {
    for (name, f, exact, bound) in SINGLES {
        let mut b = Builder::new();
        let x = b.input(Type::F32);
        let y = f(&mut b, x);
        b.output(y);
        let kernel = Kernel::new(b.finish());
        let mut worst = Worst::default();
        let mut all = (0..=u32::MAX).step_by(step).map(f32::from_bits);
        let mut results = vec![0.0; BATCH];
        loop {
            let batch: Vec<f32> = all.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                break;
            }
            kernel.run(batch.len(), &[Source::F32(&batch)], &mut [Sink::F32(&mut results)]);
            for (&x, &y) in batch.iter().zip(&results) {
                worst.see(units_f32(y, exact(x.into())), x.into());
            }
        }
        assert!(
            worst.units <= bound,
            "{name}({:e}) is {} units away",
            worst.at,
            worst.units
        );
    }
}

/// The scalar functions have the bits of the programs.
#[test]
fn numbers_and_programs_have_the_same_bits() {
    let xs: Vec<f32> = (0..=u32::MAX)
        .step_by(99_991)
        .map(f32::from_bits)
        .filter(|x| !x.is_nan())
        .collect();
    let scalars: [fn(f32) -> f32; 5] = [
        |x| exp_f32(&mut super::Single, x),
        |x| ln_f32(&mut super::Single, x),
        |x| tanh_f32(&mut super::Single, x),
        |x| sigmoid_f32(&mut super::Single, x),
        |x| erf_f32(&mut super::Single, x),
    ];
    for ((name, f, ..), scalar) in SINGLES.into_iter().zip(scalars) {
        let mut b = Builder::new();
        let x = b.input(Type::F32);
        let y = f(&mut b, x);
        b.output(y);
        let mut results = vec![0.0; xs.len()];
        Kernel::new(b.finish()).run(xs.len(), &[Source::F32(&xs)], &mut [Sink::F32(&mut results)]);
        for (&x, y) in xs.iter().zip(results) {
            let wanted = scalar(x);
            assert!(
                wanted.to_bits() == y.to_bits() || (wanted.is_nan() && y.is_nan()),
                "{name}({x:e})"
            );
        }
    }
}

#[test]
fn accuracy() {
    check_f32(997);
}

#[test]
#[ignore = "all numbers of `f32`: minutes, in a release build"]
fn accuracy_of_every_f32() {
    check_f32(1);
}

/// The distance in units in the last place.
fn units_f64(a: f64, b: f64) -> u64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return u64::from(a == 0.0 && a.is_sign_negative() != b.is_sign_negative());
    }
    let ordered = |x: f64| {
        let bits = x.to_bits().cast_signed();
        if bits < 0 { i64::MIN - bits } else { bits }
    };
    ordered(a).abs_diff(ordered(b))
}

type Double = (&'static str, fn(f64) -> f64, fn(f64) -> f64, f64, u64);

/// The standard library's functions are within one unit, its `tanh` within two; the distance from them adds to that.
const DOUBLES: [Double; 6] = [
    ("exp", |x| exp_f64(&mut super::Double, x), f64::exp, 750.0, 1),
    ("ln", |x| ln_f64(&mut super::Double, x), f64::ln, 1e300, 1),
    ("sin", |x| sin_f64(&mut super::Double, x), f64::sin, 2e6, 1),
    ("cos", |x| cos_f64(&mut super::Double, x), f64::cos, 2e6, 1),
    ("tanh", |x| tanh_f64(&mut super::Double, x), f64::tanh, 25.0, 2),
    (
        "sigmoid",
        |x| sigmoid_f64(&mut super::Double, x),
        |x| 1.0 / (1.0 + (-x).exp()),
        700.0,
        3,
    ),
];

#[test]
fn accuracy_of_doubles() {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MAX,
        f64::MIN,
        f64::MIN_POSITIVE,
        5e-324,
    ];
    for (name, f, exact, range, bound) in DOUBLES {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut worst = (0, 0.0);
        let random = (0..400_000).map(|at| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let unit = (state >> 11) as f64 / (1u64 << 53) as f64;
            match at % 4 {
                0 => (unit * 2.0 - 1.0) * range,
                1 => (unit * 2.0 - 1.0) * 4.0,
                // The library's sigmoid here loses what is far below zero.
                2 if name == "sigmoid" => (unit * 2.0 - 1.0) * 1e-3,
                2 => f64::from_bits(state),
                _ => ((unit * 200.0).floor() * std::f64::consts::FRAC_PI_2) * (1.0 + unit * 1e-15),
            }
        });
        for x in random.chain(special) {
            let distance = units_f64(f(x), exact(x));
            if distance > worst.0 {
                worst = (distance, x);
            }
        }
        assert!(worst.0 <= bound, "{name}({:e}) is {} units away", worst.1, worst.0);
    }
}
