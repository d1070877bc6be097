//! Functions of `f32`.

use super::double::finish_ln;
use super::{Arithmetic, magnitude, polynomial, signed};

/// Adding it rounds a number below 2²² to an integer.
const ROUND: f64 = 12_582_912.0;
/// ln 2 in two parts, the first of so few bits that a product with a small integer is exact.
const LN_2: [f64; 2] = [0.693_359_375, -2.121_944_400_546_905_8e-4];
const SIGN: u64 = 1 << 31;

/// `(eˣ - 1 - x) / x²` up to half of ln 2: least squares with weights that make the error of `eˣ` even, 2⁻²⁸.
const EXP: [f64; 5] = [
    0.499_999_934_242_251_7,
    0.166_665_203_821_549_6,
    0.041_668_393_160_530_23,
    0.008_368_741_716_190_786,
    0.001_381_436_632_559_407_4,
];

/// A number as a multiple of ln 2, and `e` to the power of the rest, less one.
#[inline(always)]
fn split<A: Arithmetic>(by: &mut A, x: A::Float) -> (A::Float, A::Float) {
    let (log, round) = (by.float(std::f64::consts::LOG2_E), by.float(ROUND));
    let shifted = by.fma(x, log, round);
    let count = by.sub(shifted, round);
    let [high, low] = LN_2.map(|part| by.float(-part));
    let rest = by.fma(count, high, x);
    let rest = by.fma(count, low, rest);
    let square = by.mul(rest, rest);
    let sum = polynomial(by, rest, EXP);
    (count, by.fma(square, sum, rest))
}

/// `eˣ`.
#[inline(always)]
pub fn exp<A: Arithmetic>(by: &mut A, x: A::Float) -> A::Float {
    let (high, low, one) = (by.float(89.0), by.float(-104.0), by.float(1.0));
    let x = by.min(high, x);
    let x = by.max(low, x);
    let (count, less_one) = split(by, x);
    let power = by.add(less_one, one);
    by.scale(power, count)
}

/// `1 / (1 + e⁻ˣ)`.
#[inline(always)]
pub fn sigmoid<A: Arithmetic>(by: &mut A, x: A::Float) -> A::Float {
    // The exponential of a negative number does not overflow.
    let (zero, one) = (by.float(0.0), by.float(1.0));
    let opposite = by.sub(zero, x);
    let least = by.min(x, opposite);
    let power = exp(by, least);
    let negative = by.less(x, zero);
    let part = by.pick(negative, power, one);
    let sum = by.add(power, one);
    by.div(part, sum)
}

/// The hyperbolic tangent.
#[inline(always)]
pub fn tanh<A: Arithmetic>(by: &mut A, x: A::Float) -> A::Float {
    let size = magnitude(by, x, !SIGN & 0xffff_ffff);
    let square = by.mul(size, size);
    // `(tanh(x) / x - 1) / x²`: least squares with weights that make the error of the tangent even, 2⁻²⁹.
    let sum = polynomial(
        by,
        square,
        [
            -0.333_333_138_335_534_5,
            0.133_324_507_857_434_88,
            -0.053_837_298_330_654_47,
            0.021_006_986_818_063_91,
            -0.006_179_219_453_916_511,
        ],
    );
    let cube = by.mul(square, size);
    let small = by.fma(cube, sum, size);
    // `1 - 2 / (e²ˣ + 1)`; from 10 on, the nearest number is 1.
    let (most, one, two, border) = (by.float(10.0), by.float(1.0), by.float(2.0), by.float(0.5625));
    let end = by.min(most, size);
    let twice = by.add(end, end);
    let (count, less_one) = split(by, twice);
    let power = by.add(less_one, one);
    let power = by.scale(power, count);
    let sum = by.add(power, one);
    let rest = by.div(two, sum);
    let large = by.sub(one, rest);
    let is_small = by.less(size, border);
    let value = by.pick(is_small, small, large);
    signed(by, value, x, SIGN)
}

/// The natural logarithm.
#[inline(always)]
pub fn ln<A: Arithmetic>(by: &mut A, x: A::Float) -> A::Float {
    let (least, large) = (by.float(f32::MIN_POSITIVE.into()), by.float(33_554_432.0));
    let (zero, one) = (by.float(0.0), by.float(1.0));
    let tiny = by.less(x, least);
    let scaled = by.mul(x, large);
    let scaled = by.pick(tiny, scaled, x);
    // The mantissa between √½ and √2, and the exponent.
    let bits = by.bits_of(scaled);
    let root = 0x3f35_04f3u64;
    let offset = by.int(0x3f80_0000 - root);
    let shifted = by.add_int(bits, offset);
    let (top, low, root) = (by.int(0x4b00_0000), by.int(0x007f_ffff), by.int(root));
    let exponent = by.right(shifted, 23);
    let exponent = by.or(exponent, top);
    let exponent = by.float_of(exponent);
    let (bias, bias_tiny) = (by.float(8_388_608.0 + 127.0), by.float(8_388_608.0 + 152.0));
    let bias = by.pick(tiny, bias_tiny, bias);
    let exponent = by.sub(exponent, bias);
    let mantissa = by.and(shifted, low);
    let mantissa = by.add_int(mantissa, root);
    let mantissa = by.float_of(mantissa);
    let f = by.sub(mantissa, one);
    // `(ln(1 + f) - f + f²/2) / f³`: least squares with weights that make the error of the logarithm even, 2⁻²⁷.
    let sum = polynomial(
        by,
        f,
        [
            0.333_333_317_448_166_6,
            -0.250_008_240_489_713_93,
            0.200_012_225_032_752_1,
            -0.166_232_517_039_278_05,
            0.142_017_838_455_093_36,
            -0.131_612_081_154_064_56,
            0.127_619_925_506_500_75,
            -0.076_325_239_955_138_57,
        ],
    );
    let square = by.mul(f, f);
    let cube = by.mul(square, f);
    let (half, high, low) = (by.float(-0.5), by.float(LN_2[0]), by.float(LN_2[1]));
    let rest = by.mul(exponent, low);
    let rest = by.fma(cube, sum, rest);
    let rest = by.fma(square, half, rest);
    let rest = by.add(rest, f);
    let out = by.fma(exponent, high, rest);
    finish_ln(by, x, zero, out)
}

/// The error function.
#[inline(always)]
pub fn erf<A: Arithmetic>(by: &mut A, x: A::Float) -> A::Float {
    let size = magnitude(by, x, !SIGN & 0xffff_ffff);
    // From here on the nearest number is 1.
    let (most, border, one) = (by.float(4.0), by.float(0.921_875), by.float(1.0));
    let size = by.min(most, size);
    let square = by.mul(size, size);
    // Both polynomials are Norbert Juffa's (Stack Overflow, question 35148198).
    let high = polynomial(by, size, [3.831_971_26e-4, -1.728_534_7e-5]);
    let middle = polynomial(by, size, [2.425_462_19e-2, -3.883_964_38e-3]);
    let sum = by.fma(high, square, middle);
    let mut sum = sum;
    for coefficient in [-1.067_778_77e-1, -6.348_468_47e-1, -1.287_175_12e-1] {
        let coefficient = by.float(coefficient);
        sum = by.fma(sum, size, coefficient);
    }
    let zero = by.float(-0.0);
    let opposite = by.sub(zero, size);
    let sum = by.fma(sum, size, opposite);
    let power = exp(by, sum);
    let large = by.sub(one, power);
    let small = polynomial(
        by,
        square,
        [
            1.283_791_66e-1,
            -3.761_253_36e-1,
            1.128_199_25e-1,
            -2.676_813_49e-2,
            4.991_194_23e-3,
            -5.967_617_03e-4,
        ],
    );
    let small = by.fma(small, size, size);
    let is_large = by.less(border, size);
    let value = by.pick(is_large, large, small);
    signed(by, value, x, SIGN)
}
