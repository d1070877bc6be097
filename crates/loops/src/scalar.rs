//! Constants, and functions of one row.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::program::Type;

/// The bits of a number, in the low ones of a word.
pub type Bits = u64;

/// Numbers that values have.
pub trait Number: Copy + Default + Send + Sync + fmt::Debug + 'static {
    /// Their type.
    const TYPE: Type;
    /// The bits of a number.
    fn bits(self) -> Bits;
    /// The number with these bits.
    fn from_bits(bits: Bits) -> Self;
}

macro_rules! numbers {
    ($($native:ident $ty:ident |$x:ident| $bits:expr, |$y:ident| $back:expr;)*) => {
        $(impl Number for $native {
            const TYPE: Type = Type::$ty;

            fn bits(self) -> Bits {
                let $x = self;
                $bits
            }

            fn from_bits($y: Bits) -> Self {
                $back
            }
        })*
    };
}
numbers!(
    f32 F32 |x| x.to_bits().into(), |bits| f32::from_bits(bits as u32);
    f64 F64 |x| x.to_bits(), |bits| f64::from_bits(bits);
    i8 I8 |x| x.cast_unsigned().into(), |bits| bits as i8;
    i16 I16 |x| x.cast_unsigned().into(), |bits| bits as i16;
    i32 I32 |x| x.cast_unsigned().into(), |bits| bits as i32;
    i64 I64 |x| x.cast_unsigned(), |bits| bits as i64;
    u8 U8 |x| x.into(), |bits| bits as u8;
    u16 U16 |x| x.into(), |bits| bits as u16;
    u32 U32 |x| x.into(), |bits| bits as u32;
    u64 U64 |x| x, |bits| bits;
);

/// A function that is called for single rows. It must not panic.
#[derive(Clone, Copy)]
pub enum Function {
    /// Of one `f64`.
    One(fn(f64) -> f64),
    /// Of two.
    Two(fn(f64, f64) -> f64),
}

impl Function {
    /// The value for a row; the second operand is ignored by a function of one.
    pub(crate) fn call(self, a: f64, b: f64) -> f64 {
        match self {
            Function::One(f) => f(a),
            Function::Two(f) => f(a, b),
        }
    }

    fn address(self) -> (bool, usize) {
        match self {
            Function::One(f) => (false, f as usize),
            Function::Two(f) => (true, f as usize),
        }
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function")
    }
}
