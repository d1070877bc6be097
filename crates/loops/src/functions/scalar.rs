//! Functions of single numbers. Loops over calls of them are vectorized.

use super::Arithmetic;
use crate::scalar::Function;

/// Computes with `f64`.
///
/// ```
/// use tautomer_loops::functions::{Double, exp_f64};
///
/// assert_eq!(exp_f64(&mut Double, 0.0), 1.0);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Double;

/// Computes with `f32`.
///
/// ```
/// use tautomer_loops::functions::{Single, tanh_f32};
///
/// assert_eq!(tanh_f32(&mut Single, -100.0), -1.0);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Single;

/// Two to the power of a number from -1022 to 1023.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits((i64::from(n + 1023) as u64) << 52)
}

/// `a` times two to the power of `n`, as `Binary::Scale`. All products but the last are exact.
#[inline(always)]
pub(crate) fn scaled_f64(a: f64, n: f64) -> f64 {
    let n = (if n > 1900.0 { 1900.0 } else { n }) as i32;
    let half = n >> 1;
    a * power(half.clamp(-1000, 1000)) * power((n - half).clamp(-1000, 1000))
}

/// `a` times two to the power of `n`, as `Binary::Scale`.
#[inline(always)]
pub(crate) fn scaled_f32(a: f32, n: f32) -> f32 {
    (f64::from(a) * power((n as i32).clamp(-300, 300))) as f32
}

macro_rules! arithmetic {
    ($name:ident $F:ident $I:ident $scaled:ident) => {
        impl Arithmetic for $name {
            type Float = $F;
            type Int = $I;
            type Truth = bool;

            #[inline(always)]
            fn float(&mut self, value: f64) -> $F {
                value as $F
            }

            #[inline(always)]
            fn int(&mut self, bits: u64) -> $I {
                bits as $I
            }

            #[inline(always)]
            fn add(&mut self, a: $F, b: $F) -> $F {
                a + b
            }

            #[inline(always)]
            fn sub(&mut self, a: $F, b: $F) -> $F {
                a - b
            }

            #[inline(always)]
            fn mul(&mut self, a: $F, b: $F) -> $F {
                a * b
            }

            #[inline(always)]
            fn div(&mut self, a: $F, b: $F) -> $F {
                a / b
            }

            #[inline(always)]
            fn fma(&mut self, a: $F, b: $F, c: $F) -> $F {
                a.mul_add(b, c)
            }

            #[inline(always)]
            fn min(&mut self, a: $F, b: $F) -> $F {
                if a < b { a } else { b }
            }

            #[inline(always)]
            fn max(&mut self, a: $F, b: $F) -> $F {
                if a > b { a } else { b }
            }

            #[inline(always)]
            fn scale(&mut self, a: $F, n: $F) -> $F {
                $scaled(a, n)
            }

            #[inline(always)]
            fn less(&mut self, a: $F, b: $F) -> bool {
                a < b
            }

            #[inline(always)]
            fn equal(&mut self, a: $F, b: $F) -> bool {
                a == b
            }

            #[inline(always)]
            fn pick(&mut self, condition: bool, a: $F, b: $F) -> $F {
                if condition { a } else { b }
            }

            #[inline(always)]
            fn bits_of(&mut self, a: $F) -> $I {
                a.to_bits()
            }

            #[inline(always)]
            fn float_of(&mut self, a: $I) -> $F {
                $F::from_bits(a)
            }

            #[inline(always)]
            fn add_int(&mut self, a: $I, b: $I) -> $I {
                a.wrapping_add(b)
            }

            #[inline(always)]
            fn and(&mut self, a: $I, b: $I) -> $I {
                a & b
            }

            #[inline(always)]
            fn or(&mut self, a: $I, b: $I) -> $I {
                a | b
            }

            #[inline(always)]
            fn xor(&mut self, a: $I, b: $I) -> $I {
                a ^ b
            }

            #[inline(always)]
            fn left(&mut self, a: $I, by: u8) -> $I {
                a << by
            }

            #[inline(always)]
            fn right(&mut self, a: $I, by: u8) -> $I {
                a >> by
            }

            #[inline(always)]
            fn equal_int(&mut self, a: $I, b: $I) -> bool {
                a == b
            }

            #[inline(always)]
            fn patch(&mut self, condition: bool, f: Function, a: $F, otherwise: $F) -> $F {
                if condition {
                    f.call(a.into(), 0.0) as $F
                } else {
                    otherwise
                }
            }
        }
    };
}
arithmetic!(Double f64 u64 scaled_f64);
arithmetic!(Single f32 u32 scaled_f32);
