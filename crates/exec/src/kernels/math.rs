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

/// `ln(1 + e^x)`.
#[inline(always)]
pub(super) fn softplus(x: f32) -> f32 {
    let wide = f64::from(x);
    (wide.max(0.0) + (-wide.abs()).exp().ln_1p()) as f32 + if x.is_nan() { x } else { 0.0 }
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
    fn bounds_hold_over_the_whole_range() {
        #[expect(clippy::type_complexity, reason = "a table: name, function, reference, error")]
        let rows: [(&str, fn(f32) -> f32, fn(f64) -> f64, f64); 4] = [
            ("exp", exp, f64::exp, 2.0),
            ("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 4.0),
            ("tanh", tanh, f64::tanh, 4.0),
            ("erf", erf, libm::erf, 4.0),
        ];
        for (name, f, exact, bound) in rows {
            let (ulp, at) = worst(f, exact);
            assert!(ulp <= bound, "{name} is {ulp} ULP off at {at:?}");
        }
    }
}
