//! Element types.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The type of one element of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DType {
    /// Boolean.
    Bool,
    /// 8-bit signed integer.
    I8,
    /// 16-bit signed integer.
    I16,
    /// 32-bit signed integer.
    I32,
    /// 64-bit signed integer.
    I64,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit unsigned integer.
    U64,
    /// IEEE 754 half precision.
    F16,
    /// bfloat16: the upper half of an `f32`.
    BF16,
    /// IEEE 754 single precision.
    F32,
    /// IEEE 754 double precision.
    F64,
    /// 2-bit signed integer; only stored and converted, not computed with.
    I2,
    /// 4-bit signed integer; only stored and converted, not computed with.
    I4,
    /// 2-bit unsigned integer; only stored and converted, not computed with.
    U2,
    /// 4-bit unsigned integer; only stored and converted, not computed with.
    U4,
    /// 4-bit float with 2 exponent bits; only stored and converted, not computed with.
    F4E2M1,
    /// 8-bit float with 4 exponent bits; only stored and converted, not computed with.
    F8E4M3FN,
    /// 8-bit float with 4 exponent bits and a single zero; only stored and converted, not computed with.
    F8E4M3FNUZ,
    /// 8-bit float with 5 exponent bits; only stored and converted, not computed with.
    F8E5M2,
    /// 8-bit float with 5 exponent bits and a single zero; only stored and converted, not computed with.
    F8E5M2FNUZ,
    /// 8-bit power of two; only stored and converted, not computed with.
    F8E8M0,
    /// UTF-8 string.
    Utf8,
    /// Bytes.
    Binary,
    /// Days since 1970-01-01.
    Date32,
    /// Microseconds since 1970-01-01T00:00:00Z.
    Timestamp,
}

/// The kind of arithmetic of an element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DTypeClass {
    /// Booleans.
    Bool,
    /// Integers of fixed width; arithmetic wraps.
    Int,
    /// Floating-point numbers.
    Float,
    /// Numbers of few bits, without arithmetic.
    Narrow,
    /// Strings, bytes, dates: no arithmetic.
    Other,
}

impl DType {
    /// Every element type, in declaration order.
    pub const ALL: [DType; 27] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::I2,
        DType::I4,
        DType::U2,
        DType::U4,
        DType::F4E2M1,
        DType::F8E4M3FN,
        DType::F8E4M3FNUZ,
        DType::F8E5M2,
        DType::F8E5M2FNUZ,
        DType::F8E8M0,
        DType::Utf8,
        DType::Binary,
        DType::Date32,
        DType::Timestamp,
    ];

    /// The spelling used in programs and rules.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I2 => "i2",
            DType::I4 => "i4",
            DType::U2 => "u2",
            DType::U4 => "u4",
            DType::F4E2M1 => "f4e2m1",
            DType::F8E4M3FN => "f8e4m3fn",
            DType::F8E4M3FNUZ => "f8e4m3fnuz",
            DType::F8E5M2 => "f8e5m2",
            DType::F8E5M2FNUZ => "f8e5m2fnuz",
            DType::F8E8M0 => "f8e8m0",
            DType::Utf8 => "utf8",
            DType::Binary => "binary",
            DType::Date32 => "date32",
            DType::Timestamp => "timestamp",
        }
    }

    /// The kind of arithmetic.
    pub const fn class(self) -> DTypeClass {
        match self {
            DType::Bool => DTypeClass::Bool,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => {
                DTypeClass::Int
            }
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => DTypeClass::Float,
            DType::I2
            | DType::I4
            | DType::U2
            | DType::U4
            | DType::F4E2M1
            | DType::F8E4M3FN
            | DType::F8E4M3FNUZ
            | DType::F8E5M2
            | DType::F8E5M2FNUZ
            | DType::F8E8M0 => DTypeClass::Narrow,
            DType::Utf8 | DType::Binary | DType::Date32 | DType::Timestamp => DTypeClass::Other,
        }
    }

    /// True for the floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), DTypeClass::Float)
    }

    /// True for the integer types.
    pub const fn is_int(self) -> bool {
        matches!(self.class(), DTypeClass::Int)
    }

    /// True for integers and floating-point numbers.
    pub const fn is_number(self) -> bool {
        self.is_float() || self.is_int()
    }

    /// True for the signed integers and the floating-point types.
    pub const fn is_signed(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64) || self.is_float()
    }

    /// True for the integer types, including the narrow ones.
    pub const fn holds_ints(self) -> bool {
        self.is_int() || matches!(self, DType::I2 | DType::I4 | DType::U2 | DType::U4)
    }

    /// True for the floating-point types, including the narrow ones.
    pub const fn holds_floats(self) -> bool {
        self.is_float() || (matches!(self.class(), DTypeClass::Narrow) && !self.holds_ints())
    }

    /// Bytes of one element; strings and bytes count as a 16-byte view.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I2
            | DType::I4
            | DType::U2
            | DType::U4
            | DType::F4E2M1
            | DType::F8E4M3FN
            | DType::F8E4M3FNUZ
            | DType::F8E5M2
            | DType::F8E5M2FNUZ
            | DType::F8E8M0 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 | DType::Date32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::Timestamp => 8,
            DType::Utf8 | DType::Binary => 16,
        }
    }

    /// Smallest and largest value of an integer type.
    ///
    /// ```
    /// use tautomer_tensor::DType;
    /// assert_eq!(DType::I8.int_range(), Some((-128, 127)));
    /// assert_eq!(DType::F32.int_range(), None);
    /// ```
    pub const fn int_range(self) -> Option<(i128, i128)> {
        Some(match self {
            DType::I8 => (i8::MIN as i128, i8::MAX as i128),
            DType::I16 => (i16::MIN as i128, i16::MAX as i128),
            DType::I32 => (i32::MIN as i128, i32::MAX as i128),
            DType::I64 => (i64::MIN as i128, i64::MAX as i128),
            DType::U8 => (0, u8::MAX as i128),
            DType::U16 => (0, u16::MAX as i128),
            DType::U32 => (0, u32::MAX as i128),
            DType::U64 => (0, u64::MAX as i128),
            DType::I2 => (-2, 1),
            DType::I4 => (-8, 7),
            DType::U2 => (0, 3),
            DType::U4 => (0, 15),
            _ => return None,
        })
    }

    /// `value` wrapped to the width of an integer type in two's complement; unchanged for other types.
    ///
    /// ```
    /// use tautomer_tensor::DType;
    /// assert_eq!(DType::U8.wrap(256), 0);
    /// assert_eq!(DType::I8.wrap(200), -56);
    /// ```
    pub const fn wrap(self, value: i128) -> i128 {
        match self {
            DType::I8 => value as i8 as i128,
            DType::I16 => value as i16 as i128,
            DType::I32 => value as i32 as i128,
            DType::I64 => value as i64 as i128,
            DType::U8 => value as u8 as i128,
            DType::U16 => value as u16 as i128,
            DType::U32 => value as u32 as i128,
            DType::U64 => value as u64 as i128,
            DType::I2 => ((value as i8) << 6 >> 6) as i128,
            DType::I4 => ((value as i8) << 4 >> 4) as i128,
            DType::U2 => value & 3,
            DType::U4 => value & 15,
            _ => value,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Ok(match name {
            "float32" => DType::F32,
            "float64" => DType::F64,
            "float16" => DType::F16,
            "bfloat16" => DType::BF16,
            "int8" => DType::I8,
            "int16" => DType::I16,
            "int32" => DType::I32,
            "int64" => DType::I64,
            "uint8" => DType::U8,
            "uint16" => DType::U16,
            "uint32" => DType::U32,
            "uint64" => DType::U64,
            _ => return DType::ALL.into_iter().find(|d| d.name() == name).ok_or(()),
        })
    }
}
