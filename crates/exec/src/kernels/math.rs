//! Functions of one `f32` without branches or calls, so that loops that use them can be vectorized.
//!
//! The bounds in ULP are tested against double precision over the whole range of `f32`. All functions use plain
//! multiplication and addition, so the results are the same on every machine.

/// `e` to the power of `x`, within 2 ULP; below the smallest normal number, within one unit of the subnormals.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    // Beyond these, the result is infinite or zero. Written this way, the comparisons preserve NaN.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    // x = n ln 2 + r; adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
    let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
    let n = (shifted.to_bits() as i32).wrapping_sub(0x4b40_0000);
    let count = shifted - 12_582_912.0;
    // ln 2 in two parts; the first has so few bits that its product with `count` is exact.
    let r = x - count * 0.693_359_4;
    let r = r - count * -2.121_944_4e-4;
    let mut p = 1.987_569_2e-4;
    p = p * r + 1.398_2e-3;
    p = p * r + 8.333_452e-3;
    p = p * r + 4.166_579_6e-2;
    p = p * r + 1.666_666_5e-1;
    p = p * r + 0.5;
    p = p * (r * r) + r + 1.0;
    // 2^n as two factors: one alone would overflow or flush a subnormal result.
    let half = n >> 1;
    p * power_of_two(half) * power_of_two(n.wrapping_sub(half))
}

/// 2 to the power of `n`, for `n` from -126 to 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// `1 / (1 + e^-x)`, within 4 ULP.
#[inline(always)]
pub(super) fn sigmoid(x: f32) -> f32 {
    // The exponential of a negative number does not overflow.
    let e = exp(-x.abs());
    let part = if x < 0.0 { e } else { 1.0 };
    part / (1.0 + e)
}

/// Hyperbolic tangent, within 4 ULP.
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let z = x * x;
    let mut p = -5.704_988_7e-3;
    p = p * z + 2.063_909e-2;
    p = p * z - 5.373_971_6e-2;
    p = p * z + 1.333_144_2e-1;
    p = p * z - 3.333_328e-1;
    let small = p * z * x + x;
    let large = (1.0 - 2.0 / (exp(2.0 * x.abs()) + 1.0)).copysign(x);
    if x.abs() < 0.625 { small } else { large }
}

/// The error function, within 4 ULP.
#[inline(always)]
pub(super) fn erf(x: f32) -> f32 {
    let t = x.abs();
    // From here on the nearest number is 1.
    let t = if t > 4.0 { 4.0 } else { t };
    let s = t * t;
    let mut r = -1.728_534_7e-5 * t + 3.831_971_3e-4;
    let u = -3.883_964_4e-3 * t + 2.425_462_2e-2;
    r = r * s + u;
    r = r * t - 1.067_778_8e-1;
    r = r * t - 6.348_467e-1;
    r = r * t - 1.287_175_1e-1;
    r = r * t - t;
    let large = (1.0 - exp(r)).copysign(x);
    let mut p = -5.967_617e-4;
    p = p * s + 4.991_194_2e-3;
    p = p * s - 2.676_813_5e-2;
    p = p * s + 1.128_199_25e-1;
    p = p * s - 3.761_253_4e-1;
    p = p * s + 1.283_791_7e-1;
    let small = p * x + x;
    if t > 0.927_734_4 { large } else { small }
}

/// The natural logarithm, within 2 ULP.
#[inline(always)]
pub(super) fn ln(x: f32) -> f32 {
    // Subnormal numbers are scaled.
    let is_small = x < f32::MIN_POSITIVE;
    let scaled = if is_small { x * 8_388_608.0 } else { x };
    // x = 2^n m, with m between sqrt(1/2) and sqrt(2).
    let bits = scaled.to_bits().wrapping_sub(0x3f35_04f3);
    let n = (bits as i32 >> 23) as f32 - if is_small { 23.0 } else { 0.0 };
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3)) - 1.0;
    let z = m * m;
    let mut p = 7.037_683_6e-2;
    p = p * m - 1.151_461e-1;
    p = p * m + 1.167_699_9e-1;
    p = p * m - 1.242_014_1e-1;
    p = p * m + 1.424_932_3e-1;
    p = p * m - 1.666_805_7e-1;
    p = p * m + 2.000_071_5e-1;
    p = p * m - 2.499_999_4e-1;
    p = p * m + 3.333_333e-1;
    let log = m + (p * m * z + n * -2.121_944_4e-4 - 0.5 * z) + n * 0.693_359_4;
    // Zero, negative numbers, infinity and NaN.
    let log = if x == 0.0 { f32::NEG_INFINITY } else { log };
    let log = if x < 0.0 { f32::NAN } else { log };
    if x < f32::INFINITY { log } else { x }
}

/// From here on, [`sin`] and [`cos`] are less exact.
pub(super) const TURNED: f32 = 1_048_576.0;

/// The sine, or the cosine if `quarters` is 1, of numbers below [`TURNED`] within 1 ULP.
#[inline(always)]
fn turned(x: f32, quarters: i64) -> f32 {
    // x = n pi / 2 + r, in double precision; adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits.
    let wide = f64::from(x);
    let shifted = wide * std::f64::consts::FRAC_2_PI + 6_755_399_441_055_744.0;
    let n = shifted - 6_755_399_441_055_744.0;
    let quarter = (shifted.to_bits() as i64).wrapping_add(quarters);
    // pi / 2 in two parts; the first has so few bits that its product with `n` is exact.
    let r = wide - n * 1.570_796_326_734_125_6 - n * 6.077_100_506_506_192e-11;
    let z = r * r;
    let sine = r
        * (1.0
            + z * (-0.166_666_666_416_265_24
                + z * (8.333_329_385_889_463e-3 + z * (-1.983_933_483_609_663_2e-4 + z * 2.718_311_493_989_822e-6))));
    let cosine = 1.0
        + z * (-0.499_999_997_251_031
            + z * (4.166_662_332_373_906e-2 + z * (-1.388_676_377_460_993e-3 + z * 2.439_044_879_627_741e-5)));
    let value = if quarter & 1 == 0 { sine } else { cosine };
    (if quarter & 2 == 0 { value } else { -value }) as f32
}

/// The sine.
#[inline(always)]
pub(super) fn sin(x: f32) -> f32 {
    turned(x, 0)
}

/// The cosine.
#[inline(always)]
pub(super) fn cos(x: f32) -> f32 {
    turned(x, 1)
}

/// The inverse tangent, within 3 ULP.
#[inline(always)]
pub(super) fn atan(x: f32) -> f32 {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};
    let t = x.abs();
    // Of t, (t - 1) / (t + 1) or -1 / t, the one that is between -tan(pi / 8) and tan(pi / 8).
    let (is_middle, is_large) = (t > 0.414_213_56, t > 2.414_213_6);
    let above = if is_large { -1.0 } else { t - 1.0 };
    let below = if is_large { t } else { t + 1.0 };
    let above = if is_middle { above } else { t };
    let below = if is_middle { below } else { 1.0 };
    let shift = if is_large { FRAC_PI_2 } else { FRAC_PI_4 };
    let shift = if is_middle { shift } else { 0.0 };
    let z = above / below;
    let s = z * z;
    let mut p = 8.053_745e-2;
    p = p * s - 1.387_768_6e-1;
    p = p * s + 1.997_771_1e-1;
    p = p * s - 3.333_295e-1;
    (shift + (p * s * z + z)).copysign(x)
}

/// The inverse sine of a number between 0 and 1/2, of which `z` is the square.
#[inline(always)]
fn asin_below_half(x: f32, z: f32) -> f32 {
    let mut p = 4.216_32e-2;
    p = p * z + 2.418_131e-2;
    p = p * z + 4.547_002_6e-2;
    p = p * z + 7.495_300_3e-2;
    p = p * z + 1.666_675_2e-1;
    p * z * x + x
}

/// The inverse sine, within 3 ULP.
#[inline(always)]
pub(super) fn asin(x: f32) -> f32 {
    let t = x.abs();
    let is_large = t > 0.5;
    let z = if is_large { 0.5 * (1.0 - t) } else { t * t };
    let s = asin_below_half(if is_large { z.sqrt() } else { t }, z);
    (if is_large {
        std::f32::consts::FRAC_PI_2 - 2.0 * s
    } else {
        s
    })
    .copysign(x)
}

/// The inverse cosine, within 3 ULP.
#[inline(always)]
pub(super) fn acos(x: f32) -> f32 {
    use std::f32::consts::{FRAC_PI_2, PI};
    let t = x.abs();
    let is_large = t > 0.5;
    let z = if is_large { 0.5 * (1.0 - t) } else { t * t };
    let s = asin_below_half(if is_large { z.sqrt() } else { t }, z);
    let far = if x < 0.0 { PI - 2.0 * s } else { 2.0 * s };
    if is_large { far } else { FRAC_PI_2 - s.copysign(x) }
}

/// `ln(1 + x)` for `x` from 0 to 1.
#[inline(always)]
fn ln_1p(x: f32) -> f32 {
    // What was lost in the sum is put right in the logarithm, whose derivative is the reciprocal.
    let sum = 1.0 + x;
    ln(sum) + (x - (sum - 1.0)) / sum
}

/// `ln(1 + e^x)`, within 4 ULP.
#[inline(always)]
pub(super) fn softplus(x: f32) -> f32 {
    let larger = if x > 0.0 || x.is_nan() { x } else { 0.0 };
    larger + ln_1p(exp(-x.abs()))
}

/// `x` times its sigmoid.
#[inline(always)]
pub(super) fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

/// `x tanh(softplus(x))`
#[inline(always)]
pub(super) fn mish(x: f32) -> f32 {
    x * tanh(softplus(x))
}

/// `x` times the normal distribution function.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// An approximation of [`gelu`] by the hyperbolic tangent.
#[inline(always)]
pub(super) fn gelu_by_tanh(x: f32) -> f32 {
    const SCALE: f32 = 0.797_884_6; // sqrt(2 / pi)
    0.5 * x * (1.0 + tanh(SCALE * (x + 0.044_715 * x * x * x)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest distance from `exact` in ULP of the exact result, over every 509th bit pattern; below the smallest
    /// normal number, distances are measured in its ULP.
    fn worst(f: fn(f32) -> f32, exact: fn(f64) -> f64) -> (f64, f32) {
        let mut worst = (0.0, 0.0);
        for bits in (0..=u32::MAX).step_by(509) {
            let x = f32::from_bits(bits);
            let (y, want) = (f(x), exact(f64::from(x)));
            if want.is_nan() {
                assert!(y.is_nan(), "{x:?} gives {y:?}");
                continue;
            }
            if !(want as f32).is_finite() || !y.is_finite() {
                assert_eq!(y, want as f32, "at {x:?}");
                continue;
            }
            let unit = (want.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() - 23.0).exp2();
            let distance = (f64::from(y) - want).abs() / unit;
            if distance > worst.0 {
                worst = (distance, x);
            }
        }
        worst
    }

    #[test]
    fn sines_are_exact_below_their_limit() {
        for (f, exact) in [(sin as fn(f32) -> f32, f64::sin as fn(f64) -> f64), (cos, f64::cos)] {
            for bits in (0..TURNED.to_bits()).step_by(509) {
                for x in [f32::from_bits(bits), -f32::from_bits(bits)] {
                    let (y, want) = (f64::from(f(x)), exact(f64::from(x)));
                    let unit = (want.abs().max(f64::from(f32::MIN_POSITIVE)).log2().floor() - 23.0).exp2();
                    assert!((y - want).abs() <= unit, "at {x:?}: {y} instead of {want}");
                }
            }
            assert!(f(f32::NAN).is_nan());
        }
        assert!(sin(-0.0).is_sign_negative());
    }

    #[test]
    fn bounds_hold_over_the_whole_range() {
        #[expect(clippy::type_complexity, reason = "a table: name, function, reference, error")]
        let rows: [(&str, fn(f32) -> f32, fn(f64) -> f64, f64); 9] = [
            ("exp", exp, f64::exp, 2.0),
            ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 4.0),
            ("tanh", tanh, f64::tanh, 4.0),
            ("erf", erf, libm::erf, 4.0),
            ("ln", ln, f64::ln, 2.0),
            ("atan", atan, f64::atan, 3.0),
            ("asin", asin, f64::asin, 3.0),
            ("acos", acos, f64::acos, 3.0),
            (
                "softplus",
                softplus,
                |x| x.max(0.0) + (-x.abs()).exp().ln_1p() + 0.0 * x,
                4.0,
            ),
        ];
        for (name, f, exact, bound) in rows {
            let (ulp, at) = worst(f, exact);
            assert!(ulp <= bound, "{name} is {ulp} ULP off at {at:?}");
        }
    }
}
