//! Functions of `f64`.

use super::{Arithmetic, magnitude, polynomial, signed};
use crate::scalar::Function;

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
const LARGEST_ANGLE: f64 = 1e6;
const SIGN: u64 = 1 << 63;

/// `(eˣ - 1 - x) / x²` up to half of ln 2: least squares with weights that make the error of `eˣ` even, 2⁻⁵⁸.
const EXP: [f64; 10] = [
    0.500_000_000_000_001_1,
    0.166_666_666_666_664_24,
    0.041_666_666_666_528_164,
    0.008_333_333_333_486_686,
    0.001_388_888_894_408_138_7,
    0.000_198_412_695_230_398_9,
    2.480_149_268_095_34e-5,
    2.755_757_191_120_297e-6,
    2.763_038_479_211_965_4e-7,
    2.500_458_296_086_011e-8,
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
    // Outside, the result is infinite or zero; NaN passes both comparisons.
    let (high, low, one) = (by.float(710.0), by.float(-746.0), by.float(1.0));
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
    let size = magnitude(by, x, !SIGN);
    let square = by.mul(size, size);
    // `(tanh(x) / x - 1) / x²`: least squares with weights that make the error of the tangent even, 2⁻⁶⁰.
    let sum = polynomial(
        by,
        square,
        [
            -0.333_333_333_333_333,
            0.133_333_333_333_266_02,
            -0.053_968_253_963_752_06,
            0.021_869_488_385_637_494,
            -0.008_863_232_598_175_622,
            0.003_592_091_999_845_786_4,
            -0.001_455_542_661_002_384_3,
            0.000_588_443_767_132_406_8,
            -0.000_233_379_822_895_274_2,
            8.331_405_644_227_938e-5,
            -1.949_326_820_961_016_6e-5,
        ],
    );
    let cube = by.mul(square, size);
    let small = by.fma(cube, sum, size);
    // `1 - 2 / (e²ˣ + 1)`; from 20 on, the nearest number is 1.
    let (most, one, two, border) = (by.float(20.0), by.float(1.0), by.float(2.0), by.float(0.55));
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
    let (least, large, zero, one, two) = (
        by.float(f64::MIN_POSITIVE),
        by.float(18_014_398_509_481_984.0),
        by.float(0.0),
        by.float(1.0),
        by.float(2.0),
    );
    let tiny = by.less(x, least);
    let scaled = by.mul(x, large);
    let scaled = by.pick(tiny, scaled, x);
    // The mantissa between √½ and √2, and the exponent.
    let bits = by.bits_of(scaled);
    let root = 0x3fe6_a09e_0000_0000u64;
    let offset = by.int(0x3ff0_0000_0000_0000 - root);
    let shifted = by.add_int(bits, offset);
    let (top, low, root) = (
        by.int(0x4330_0000_0000_0000),
        by.int(0x000f_ffff_ffff_ffff),
        by.int(root),
    );
    let exponent = by.right(shifted, 52);
    let exponent = by.or(exponent, top);
    let exponent = by.float_of(exponent);
    let (bias, bias_tiny) = (
        by.float(4_503_599_627_370_496.0 + 1023.0),
        by.float(4_503_599_627_370_496.0 + 1077.0),
    );
    let bias = by.pick(tiny, bias_tiny, bias);
    let exponent = by.sub(exponent, bias);
    let mantissa = by.and(shifted, low);
    let mantissa = by.add_int(mantissa, root);
    let mantissa = by.float_of(mantissa);
    let f = by.sub(mantissa, one);
    let sum = by.add(f, two);
    let s = by.div(f, sum);
    let z = by.mul(s, s);
    // The coefficients of FreeBSD's `e_log.c`.
    let rest = polynomial(
        by,
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
    let rest = by.mul(z, rest);
    let half = by.float(0.5);
    let half = by.mul(half, f);
    let half = by.mul(half, f);
    let (low, high) = (
        by.float(1.908_214_929_270_587_7e-10),
        by.float(6.931_471_803_691_238e-1),
    );
    let low = by.mul(exponent, low);
    let sum = by.add(half, rest);
    let low = by.fma(s, sum, low);
    let low = by.sub(low, half);
    let low = by.add(low, f);
    let out = by.fma(exponent, high, low);
    finish_ln(by, x, zero, out)
}

/// The logarithm of infinity, zero, and what has none.
#[inline(always)]
pub(super) fn finish_ln<A: Arithmetic>(by: &mut A, x: A::Float, zero: A::Float, out: A::Float) -> A::Float {
    let (infinity, least, nan) = (by.float(f64::INFINITY), by.float(f64::NEG_INFINITY), by.float(f64::NAN));
    let is_infinite = by.equal(x, infinity);
    let out = by.pick(is_infinite, x, out);
    let is_zero = by.equal(x, zero);
    let out = by.pick(is_zero, least, out);
    let negative = by.less(x, zero);
    let out = by.pick(negative, nan, out);
    // NaN gives itself.
    let is_number = by.equal(x, x);
    by.pick(is_number, out, x)
}

/// The sine and the cosine of what remains of an angle after quarter turns, and their number in the low bits.
#[inline(always)]
fn reduced<A: Arithmetic>(by: &mut A, x: A::Float) -> (A::Float, A::Float, A::Int) {
    let (turn, round) = (by.float(std::f64::consts::FRAC_2_PI), by.float(ROUND));
    let turns = by.fma(x, turn, round);
    let count = by.sub(turns, round);
    let mut rest = x;
    for part in QUARTER {
        let part = by.float(-part);
        rest = by.fma(count, part, rest);
    }
    let z = by.mul(rest, rest);
    // The coefficients of FreeBSD's `k_sin.c` and `k_cos.c`.
    let sine = polynomial(
        by,
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
        by,
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
    let cube = by.mul(rest, z);
    let sine = by.fma(cube, sine, rest);
    let (half, one) = (by.float(0.5), by.float(1.0));
    let half = by.mul(half, z);
    let near_one = by.sub(one, half);
    let lost = by.sub(one, near_one);
    let lost = by.sub(lost, half);
    let fourth = by.mul(z, z);
    let rest = by.fma(fourth, cosine, lost);
    let cosine = by.add(near_one, rest);
    (sine, cosine, by.bits_of(turns))
}

/// The sine.
#[inline(always)]
pub fn sin<A: Arithmetic>(by: &mut A, x: A::Float) -> A::Float {
    let (sine, cosine, turns) = reduced(by, x);
    let (one, two, none) = (by.int(1), by.int(2), by.int(0));
    let odd = by.and(turns, one);
    let even = by.equal_int(odd, none);
    let value = by.pick(even, sine, cosine);
    let sign = by.and(turns, two);
    let sign = by.left(sign, 62);
    let value = by.bits_of(value);
    let value = by.xor(value, sign);
    let value = by.float_of(value);
    // A negative zero stays one.
    let zero = by.float(0.0);
    let is_zero = by.equal(x, zero);
    let value = by.pick(is_zero, x, value);
    far(by, x, Function::One(f64::sin), value)
}

/// The cosine.
#[inline(always)]
pub fn cos<A: Arithmetic>(by: &mut A, x: A::Float) -> A::Float {
    let (sine, cosine, turns) = reduced(by, x);
    let (one, two, none) = (by.int(1), by.int(2), by.int(0));
    let odd = by.and(turns, one);
    let even = by.equal_int(odd, none);
    let value = by.pick(even, cosine, sine);
    let sign = by.add_int(turns, one);
    let sign = by.and(sign, two);
    let sign = by.left(sign, 62);
    let value = by.bits_of(value);
    let value = by.xor(value, sign);
    let value = by.float_of(value);
    far(by, x, Function::One(f64::cos), value)
}

/// Leaves large angles to a function.
#[inline(always)]
fn far<A: Arithmetic>(by: &mut A, x: A::Float, function: Function, value: A::Float) -> A::Float {
    let (size, largest) = (magnitude(by, x, !SIGN), by.float(LARGEST_ANGLE));
    let far = by.less(largest, size);
    by.patch(far, function, x, value)
}
