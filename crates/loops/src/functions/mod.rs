//! Functions, written once for whoever computes them: instructions of a program, or single numbers.
//!
//! Each is straight-line arithmetic of polynomials. Where it rounds is fixed (`fma` rounds once on every machine), so
//! results are the same bits everywhere. Distances from the exact result, in units in its last place, and in units of
//! the subnormal numbers where it is one (`accuracy_of_every_f32` and `accuracy_of_doubles` measure them; the latter
//! compares samples with the standard library, whose own distance is added here):
//!
//! | | `f32` | `f64` |
//! | --- | --: | --: |
//! | `exp` | 1.1 | 2 |
//! | `ln` | 1.1 | 2 |
//! | `sin`, `cos` | 1 | 2 |
//! | `tanh` | 2 | 3 |
//! | `sigmoid` | 2.6 | 4 |
//! | `erf` | 2 | |
//! | `pow` | 1 | 1 |
//!
//! A sine of an angle of more than a million, and a power of doubles, are left to the standard library, row by row.

mod double;
mod emit;
mod scalar;
mod single;
#[cfg(test)]
mod tests;

pub use double::{
    cos as cos_f64, exp as exp_f64, ln as ln_f64, sigmoid as sigmoid_f64, sin as sin_f64, tanh as tanh_f64,
};
pub use emit::{copysign, cos, erf, exp, from_bfloat, ln, pow, saturating, sigmoid, sin, tanh, to_bfloat};
pub use scalar::{Double, Single};
pub(crate) use scalar::{scaled_f32, scaled_f64};
pub use single::{erf as erf_f32, exp as exp_f32, ln as ln_f32, sigmoid as sigmoid_f32, tanh as tanh_f32};

use crate::scalar::Function;

/// Who computes: with numbers, or with the values of a program.
pub trait Arithmetic {
    /// A float of the width of the function.
    type Float: Copy;
    /// An integer of that width.
    type Int: Copy;
    /// A truth value.
    type Truth: Copy;

    /// A constant.
    fn float(&mut self, value: f64) -> Self::Float;
    /// A constant of bits.
    fn int(&mut self, bits: u64) -> Self::Int;
    /// The sum.
    fn add(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The difference.
    fn sub(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The product.
    fn mul(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The quotient.
    fn div(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a * b + c`, rounded once.
    fn fma(&mut self, a: Self::Float, b: Self::Float, c: Self::Float) -> Self::Float;
    /// `a` if it is less than `b`, else `b`.
    fn min(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a` if it is greater than `b`, else `b`.
    fn max(&mut self, a: Self::Float, b: Self::Float) -> Self::Float;
    /// `a` times two to the power of `n`, as [`Binary::Scale`](crate::Binary::Scale).
    fn scale(&mut self, a: Self::Float, n: Self::Float) -> Self::Float;
    /// Whether `a` is less than `b`.
    fn less(&mut self, a: Self::Float, b: Self::Float) -> Self::Truth;
    /// Whether `a` equals `b`.
    fn equal(&mut self, a: Self::Float, b: Self::Float) -> Self::Truth;
    /// `a` if the condition is true, else `b`.
    fn pick(&mut self, condition: Self::Truth, a: Self::Float, b: Self::Float) -> Self::Float;
    /// The bits.
    fn bits_of(&mut self, a: Self::Float) -> Self::Int;
    /// The float with these bits.
    fn float_of(&mut self, a: Self::Int) -> Self::Float;
    /// The sum; it wraps.
    fn add_int(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The bits of both.
    fn and(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The bits of either.
    fn or(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// The bits of one of both.
    fn xor(&mut self, a: Self::Int, b: Self::Int) -> Self::Int;
    /// Bits moved up.
    fn left(&mut self, a: Self::Int, by: u8) -> Self::Int;
    /// Bits moved down.
    fn right(&mut self, a: Self::Int, by: u8) -> Self::Int;
    /// Whether two integers are equal.
    fn equal_int(&mut self, a: Self::Int, b: Self::Int) -> Self::Truth;
    /// The function of `a` where the condition is true, which is seldom, else `otherwise`.
    fn patch(&mut self, condition: Self::Truth, f: Function, a: Self::Float, otherwise: Self::Float) -> Self::Float;
}

/// `coefficients[0] + x * (coefficients[1] + x * …)`.
#[inline(always)]
fn polynomial<A: Arithmetic, const N: usize>(by: &mut A, x: A::Float, coefficients: [f64; N]) -> A::Float {
    let mut sum = by.float(coefficients[N - 1]);
    for at in (0..N - 1).rev() {
        let next = by.float(coefficients[at]);
        sum = by.fma(sum, x, next);
    }
    sum
}

/// `a` with the sign of `b`; `a` is not negative.
#[inline(always)]
fn signed<A: Arithmetic>(by: &mut A, a: A::Float, b: A::Float, sign: u64) -> A::Float {
    let (a, b, sign) = (by.bits_of(a), by.bits_of(b), by.int(sign));
    let sign = by.and(b, sign);
    let bits = by.or(a, sign);
    by.float_of(bits)
}

/// The magnitude.
#[inline(always)]
fn magnitude<A: Arithmetic>(by: &mut A, a: A::Float, rest: u64) -> A::Float {
    let (a, rest) = (by.bits_of(a), by.int(rest));
    let bits = by.and(a, rest);
    by.float_of(bits)
}
