//! `exp`, `ln`, `sin`, `cos` and `tanh` without branches, so that loops over them are vectorized.
//!
//! Every function is within two units in the last place of the exact result, `tanh` within four
//! (`close_to_the_standard_library` measures it on samples). They are written with `mul_add`, which rounds once on every machine, so results do not
//! depend on the instructions that a machine has. Those of `f32` are computed as `f64` and rounded.

use pulp::{Arch, Simd, WithSimd};

/// Runs a loop compiled for the instructions of this machine. Called as `FnMut`, a closure is inlined where they are
/// known; as `FnOnce` it would be called through a function that does not know them.
pub(crate) fn run(arch: Arch, f: impl FnMut()) {
    struct Body<F>(F);

    impl<F: FnMut()> WithSimd for Body<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, _: S) {
            (self.0)();
        }
    }

    arch.dispatch(Body(f));
}

/// Adding it rounds a number below 2⁵¹ to an integer, which is then in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
const LN_2: [f64; 2] = [
    f64::from_bits(0x3fe6_2e42_fefa_39ef),
    f64::from_bits(0x3c7a_bc9e_3b39_803f),
];
/// A quarter turn in three parts.
const QUARTER: [f64; 3] = [
    f64::from_bits(0x3ff9_21fb_5444_2d18),
    f64::from_bits(0x3c91_a626_3314_5c07),
    f64::from_bits(0xb91f_1976_b7ed_8fbc),
];
/// Angles up to here are reduced by the three parts; larger ones need more.
pub(crate) const LARGEST_ANGLE: f64 = 1e6;

/// `coefficients[0] + x * (coefficients[1] + x * …)`.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for at in (0..N - 1).rev() {
        sum = sum.mul_add(x, coefficients[at]);
    }
    sum
}

/// `eˣ`.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    // Outside, the result is infinite or zero; NaN passes both comparisons.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let count = x.mul_add(std::f64::consts::LOG2_E, ROUND) - ROUND;
    let rest = count.mul_add(-LN_2[0], x);
    let rest = count.mul_add(-LN_2[1], rest);
    let power = polynomial(
        rest,
        [
            1.0,
            1.0,
            1.0 / 2.0,
            1.0 / 6.0,
            1.0 / 24.0,
            1.0 / 120.0,
            1.0 / 720.0,
            1.0 / 5_040.0,
            1.0 / 40_320.0,
            1.0 / 362_880.0,
            1.0 / 3_628_800.0,
            1.0 / 39_916_800.0,
            1.0 / 479_001_600.0,
            1.0 / 6_227_020_800.0,
        ],
    );
    // In two factors, since 2^count may not be a normal number though the result is one.
    let half = count.mul_add(0.5, ROUND);
    let other = (count - (half - ROUND)) + ROUND;
    power * power_of_two(half) * power_of_two(other)
}

/// Two to the power of the integer in the low bits.
#[inline(always)]
fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits((rounded.to_bits() << 52).wrapping_add(1.0f64.to_bits()))
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn ln(x: f64) -> f64 {
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny { x * 18_014_398_509_481_984.0 } else { x };
    // The mantissa between √½ and √2, and the exponent.
    let shifted = scaled
        .to_bits()
        .wrapping_add(0x3ff0_0000_0000_0000 - 0x3fe6_a09e_0000_0000);
    let exponent = f64::from_bits((shifted >> 52) | 0x4330_0000_0000_0000) - 4_503_599_627_370_496.0;
    let exponent = exponent - if tiny { 1077.0 } else { 1023.0 };
    let mantissa = f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + 0x3fe6_a09e_0000_0000);
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let rest = z * polynomial(
        z,
        [
            6.666_666_666_666_735e-1,
            3.999_999_999_940_942e-1,
            2.857_142_874_366_239e-1,
            2.222_219_843_214_978_4e-1,
            1.818_357_216_161_805e-1,
            1.531_383_769_920_937_3e-1,
            1.479_819_860_511_658_6e-1,
        ],
    );
    let half = 0.5 * f * f;
    let low = s.mul_add(half + rest, exponent * 1.908_214_929_270_587_7e-10);
    let out = exponent.mul_add(6.931_471_803_691_238e-1, (low - half) + f);
    let out = if x == f64::INFINITY { x } else { out };
    let out = if x == 0.0 { f64::NEG_INFINITY } else { out };
    // Negative numbers and NaN.
    if x >= 0.0 { out } else { f64::NAN }
}

/// The sine and the cosine of what remains of an angle after quarter turns, and their number in the low bits.
#[inline(always)]
fn reduced(x: f64) -> (f64, f64, u64) {
    let turns = x.mul_add(std::f64::consts::FRAC_2_PI, ROUND);
    let count = turns - ROUND;
    let rest = count.mul_add(-QUARTER[0], x);
    let rest = count.mul_add(-QUARTER[1], rest);
    let rest = count.mul_add(-QUARTER[2], rest);
    let z = rest * rest;
    let sine = polynomial(
        z,
        [
            -1.666_666_666_666_663_2e-1,
            8.333_333_333_322_49e-3,
            -1.984_126_982_985_795e-4,
            2.755_731_370_707_006_8e-6,
            -2.505_076_025_340_686_3e-8,
            1.589_690_995_211_55e-10,
        ],
    );
    let cosine = polynomial(
        z,
        [
            4.166_666_666_666_66e-2,
            -1.388_888_888_887_411e-3,
            2.480_158_728_947_673e-5,
            -2.755_731_435_139_066_3e-7,
            2.087_572_321_298_175e-9,
            -1.135_964_755_778_819_5e-11,
        ],
    );
    let sine = (rest * z).mul_add(sine, rest);
    let half = 0.5 * z;
    let near_one = 1.0 - half;
    let cosine = near_one + (z * z).mul_add(cosine, (1.0 - near_one) - half);
    (sine, cosine, turns.to_bits())
}

/// The sine of an angle up to [`LARGEST_ANGLE`].
#[inline(always)]
pub(crate) fn sin_near(x: f64) -> f64 {
    let (sine, cosine, turns) = reduced(x);
    let value = if turns & 1 == 0 { sine } else { cosine };
    let value = f64::from_bits(value.to_bits() ^ ((turns & 2) << 62));
    // A negative zero stays one.
    if x == 0.0 { x } else { value }
}

/// The cosine of an angle up to [`LARGEST_ANGLE`].
#[inline(always)]
pub(crate) fn cos_near(x: f64) -> f64 {
    let (sine, cosine, turns) = reduced(x);
    let value = if turns & 1 == 0 { cosine } else { sine };
    f64::from_bits(value.to_bits() ^ ((turns.wrapping_add(1) & 2) << 62))
}

/// The sine.
#[inline(always)]
pub(crate) fn sin(x: f64) -> f64 {
    if x.abs() > LARGEST_ANGLE { x.sin() } else { sin_near(x) }
}

/// The cosine.
#[inline(always)]
pub(crate) fn cos(x: f64) -> f64 {
    if x.abs() > LARGEST_ANGLE { x.cos() } else { cos_near(x) }
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    let z = x * x;
    let over = polynomial(
        z,
        [
            -1.614_687_684_417_084_5e3,
            -9.928_772_310_019_186e1,
            -9.643_991_794_250_522e-1,
        ],
    );
    let under = polynomial(
        z,
        [
            4.844_063_053_251_255e3,
            2.235_488_390_601_004_5e3,
            1.128_116_784_916_329_3e2,
            1.0,
        ],
    );
    let small = (x * z).mul_add(over / under, x);
    let large = 1.0 - 2.0 / (exp(2.0 * x.abs()) + 1.0);
    (if x.abs() < 0.625 { small } else { large }).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The distance in units in the last place.
    fn units(a: f64, b: f64) -> u64 {
        if a == b || (a.is_nan() && b.is_nan()) {
            return u64::from(a == 0.0 && a.is_sign_negative() != b.is_sign_negative());
        }
        let ordered = |x: f64| {
            let bits = x.to_bits() as i64;
            if bits < 0 { i64::MIN - bits } else { bits }
        };
        ordered(a).abs_diff(ordered(b))
    }

    type Case = (&'static str, fn(f64) -> f64, fn(f64) -> f64, f64, u64);

    /// The standard library's functions are within one unit, its `tanh` within two; the distance from them adds to
    /// that.
    #[test]
    fn close_to_the_standard_library() {
        let cases: [Case; 5] = [
            ("exp", exp, f64::exp, 750.0, 1),
            ("ln", ln, f64::ln, 1e300, 1),
            ("sin", sin, f64::sin, 2e6, 1),
            ("cos", cos, f64::cos, 2e6, 1),
            ("tanh", tanh, f64::tanh, 25.0, 2),
        ];
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
        ];
        for (name, f, exact, range, bound) in cases {
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
                    2 => f64::from_bits(state),
                    _ => ((unit * 200.0).floor() * std::f64::consts::FRAC_PI_2) * (1.0 + unit * 1e-15),
                }
            });
            for x in random.chain(special) {
                let distance = units(f(x), exact(x));
                if distance > worst.0 {
                    worst = (distance, x);
                }
            }
            assert!(worst.0 <= bound, "{name}({:e}) is {} units away", worst.1, worst.0);
        }
    }
}
