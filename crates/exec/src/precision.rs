//! The numbers that products are computed with.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The numbers that matrix products and convolutions of `f32` may be computed with.
///
/// ```
/// # use tautomer_exec::Precision;
/// assert_eq!(Precision::within(1e-2), Precision::Bf16);
/// assert_eq!(Precision::within(1e-3), Precision::F32);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// `f32`.
    #[default]
    F32,
    /// Operands may be rounded to bfloat16; sums are `f32`. Steps do so only where the machine has an instruction for
    /// it and it is estimated to be faster.
    Bf16,
}

impl Precision {
    /// The largest relative error of a product of two numbers that are rounded to bfloat16. The error of a sum of
    /// products is at most this part of the sum of their magnitudes, beside the rounding of `f32`.
    pub const BF16_ERROR: f64 = 1.0 / 128.0 + 1.0 / 65536.0;

    /// The fastest in which the relative error of each product is at most `error`.
    pub fn within(error: f64) -> Precision {
        if error >= Precision::BF16_ERROR {
            Precision::Bf16
        } else {
            Precision::F32
        }
    }

    /// True for `f32`.
    pub(super) fn is_full(&self) -> bool {
        *self == Precision::F32
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
        })
    }
}

#[cfg(test)]
#[path = "precision_tests.rs"]
mod tests;
