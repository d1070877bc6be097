//! Element types of less than 16 bits. They are stored, moved and converted, but not computed with.

use super::DType;

/// How to decode the bits of a narrow floating-point number.
#[derive(Debug, Clone, Copy)]
struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    /// Bits of the largest number.
    largest: u8,
    /// Bits of positive infinity.
    infinity: Option<u8>,
    /// Bits of NaN.
    nan: Option<u8>,
    signed: bool,
}

const fn format(dtype: DType) -> Option<Format> {
    // Exponent and mantissa bits, bias, largest number, infinity, NaN.
    let (exponent, mantissa, bias, largest, infinity, nan) = match dtype {
        DType::F4E2M1 => (2, 1, 1, 0x7, None, None),
        DType::F8E4M3FN => (4, 3, 7, 0x7e, None, Some(0x7f)),
        DType::F8E4M3FNUZ => (4, 3, 8, 0x7f, None, Some(0x80)),
        DType::F8E5M2 => (5, 2, 15, 0x7b, Some(0x7c), Some(0x7e)),
        DType::F8E5M2FNUZ => (5, 2, 16, 0x7f, None, Some(0x80)),
        DType::F8E8M0 => (8, 0, 127, 0xfe, None, Some(0xff)),
        _ => return None,
    };
    Some(Format {
        exponent,
        mantissa,
        bias,
        largest,
        infinity,
        nan,
        signed: !matches!(dtype, DType::F8E8M0),
    })
}

impl Format {
    const fn sign(self) -> u8 {
        if self.signed {
            1 << (self.exponent + self.mantissa)
        } else {
            0
        }
    }

    /// The number with these bits.
    fn decode(self, bits: u8) -> f64 {
        let magnitude = bits & !self.sign();
        let negative = bits & self.sign() != 0;
        let value = if Some(bits) == self.nan || self.nan == Some(magnitude) {
            return f64::NAN;
        } else if self.infinity == Some(magnitude) {
            f64::INFINITY
        } else if self.infinity.is_some_and(|infinity| magnitude > infinity) {
            return f64::NAN;
        } else {
            let (power, digits) = (
                i32::from(magnitude >> self.mantissa),
                magnitude & ((1 << self.mantissa) - 1),
            );
            let fraction = f64::from(digits) / f64::from(1u32 << self.mantissa);
            match power {
                // Powers of two have no zero.
                0 if self.signed => fraction * 2f64.powi(1 - self.bias),
                _ => (1.0 + fraction) * 2f64.powi(power - self.bias),
            }
        };
        if negative { -value } else { value }
    }

    /// The bits of the nearest number, ties to even. Numbers beyond the largest become infinity, else NaN, else the
    /// largest. NaN becomes negative zero in formats without NaN.
    fn encode(self, value: f64) -> u8 {
        let unzero = self.nan == Some(0x80);
        let sign = if value.is_sign_negative() { self.sign() } else { 0 };
        if value.is_nan() {
            return self.nan.unwrap_or(self.sign());
        }
        let magnitude = value.abs();
        let last = self.decode(self.largest);
        let step = last - self.decode(self.largest - 1);
        if magnitude >= last + step / 2.0 && (self.infinity.is_some() || self.nan.is_some()) {
            return self
                .infinity
                .map_or(self.nan.unwrap_or(self.largest), |infinity| infinity | sign);
        }
        // Finds the largest number not greater than the magnitude; the order of bits is that of numbers.
        let (mut low, mut high) = (0, self.largest);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.decode(middle) <= magnitude {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let nearest = if low == self.largest {
            low
        } else {
            let (below, above) = (magnitude - self.decode(low), self.decode(low + 1) - magnitude);
            if below < above || (below == above && low % 2 == 0) {
                low
            } else {
                low + 1
            }
        };
        // In some formats the bits of negative zero mean NaN.
        if unzero && nearest == 0 { 0 } else { nearest | sign }
    }
}

/// The largest number of a narrow floating-point type.
///
/// ```
/// use tautomer_tensor::{DType, largest_narrow};
/// assert_eq!(largest_narrow(DType::F8E4M3FN), Some(448.0));
/// assert_eq!(largest_narrow(DType::F32), None);
/// ```
pub fn largest_narrow(dtype: DType) -> Option<f64> {
    format(dtype).map(|format| format.decode(format.largest))
}

macro_rules! floats {
    ($($name:ident: $doc:literal),* $(,)?) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            const FORMAT: Format = match format(DType::$name) {
                Some(format) => format,
                None => panic!("no narrow format"),
            };

            /// The number with these bits.
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits)
            }

            /// Its bits, in the low positions.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number, ties to even.
            pub fn from_f64(value: f64) -> $name {
                $name(Self::FORMAT.encode(value))
            }

            /// The same number.
            pub fn to_f64(self) -> f64 {
                Self::FORMAT.decode(self.0)
            }
        }
    )*};
}

floats! {
    F4E2M1: "A 4-bit float: 2 exponent bits and 1 mantissa bit, without infinities.",
    F8E4M3FN: "An 8-bit float: 4 exponent bits and 3 mantissa bits, without infinities.",
    F8E4M3FNUZ: "An 8-bit float: 4 exponent bits and 3 mantissa bits, without infinities and negative zero.",
    F8E5M2: "An 8-bit float: 5 exponent bits and 2 mantissa bits.",
    F8E5M2FNUZ: "An 8-bit float: 5 exponent bits and 2 mantissa bits, without infinities and negative zero.",
    F8E8M0: "A power of two: 8 exponent bits.",
}

macro_rules! integers {
    ($($name:ident $bits:literal $signed:literal: $doc:literal),* $(,)?) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The integer with these bits; higher ones are dropped.
            pub const fn from_bits(bits: u8) -> $name {
                $name(bits & ((1 << $bits) - 1))
            }

            /// Its bits, in the low positions.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The integer with the lowest bits of `value`.
            pub const fn wrap(value: i128) -> $name {
                $name::from_bits(value as u8)
            }
        }

        impl From<$name> for i128 {
            fn from(x: $name) -> i128 {
                match $signed && x.0 >> ($bits - 1) != 0 {
                    true => i128::from(x.0) - (1 << $bits),
                    false => i128::from(x.0),
                }
            }
        }
    )*};
}

integers! {
    I2 2 true: "A 2-bit signed integer.",
    I4 4 true: "A 4-bit signed integer.",
    U2 2 false: "A 2-bit unsigned integer.",
    U4 4 false: "A 4-bit unsigned integer.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_bits() {
        macro_rules! all {
            ($($name:ident $codes:literal),*) => {$(
                for bits in 0..=($codes - 1) as u8 {
                    let x = $name::from_bits(bits);
                    if !x.to_f64().is_nan() {
                        assert_eq!($name::from_f64(x.to_f64()), x, "{} {bits:#x}", stringify!($name));
                    }
                }
            )*};
        }
        all!(F4E2M1 16, F8E4M3FN 256, F8E4M3FNUZ 256, F8E5M2 256, F8E5M2FNUZ 256, F8E8M0 256);
    }

    #[test]
    fn numbers_are_rounded() {
        let four = |x| F4E2M1::from_f64(x).to_f64();
        assert_eq!(
            [0.2, 0.25, 0.75, 2.5, 5.1, 100.0].map(four),
            [0.0, 0.0, 1.0, 2.0, 6.0, 6.0]
        );
        assert_eq!(F8E4M3FN::from_f64(0.05).to_f64(), 0.05078125);
        assert!(F8E4M3FN::from_f64(1e6).to_f64().is_nan());
        assert_eq!(F8E5M2::from_f64(-1e6).to_f64(), f64::NEG_INFINITY);
        assert_eq!(F8E5M2FNUZ::from_f64(-0.0).to_bits(), 0);
        assert_eq!(F8E8M0::from_f64(1.0).to_bits(), 127);
        let largest = [
            DType::F8E4M3FN,
            DType::F8E4M3FNUZ,
            DType::F8E5M2,
            DType::F8E5M2FNUZ,
            DType::F4E2M1,
        ];
        assert_eq!(
            largest.map(largest_narrow),
            [448.0, 240.0, 57344.0, 57344.0, 6.0].map(Some)
        );
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(i128::from(I4::wrap(9)), -7);
        assert_eq!(i128::from(U4::wrap(-1)), 15);
        assert_eq!(i128::from(I2::wrap(2)), -2);
        assert_eq!(i128::from(U2::wrap(5)), 1);
    }
}
