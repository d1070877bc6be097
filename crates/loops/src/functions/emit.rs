//! Functions as instructions of a program.

use super::{Arithmetic, double, single};
use crate::builder::Builder;
use crate::program::{Binary, Comparison, Shift, Type, Unary, Value};
use crate::scalar::Function;

/// Writes instructions for floats of a type.
struct Emit<'b> {
    to: &'b mut Builder,
    ty: Type,
}

impl Emit<'_> {
    fn int_type(&self) -> Type {
        if self.ty == Type::F32 { Type::U32 } else { Type::U64 }
    }
}

impl Arithmetic for Emit<'_> {
    type Float = Value;
    type Int = Value;
    type Truth = Value;

    fn float(&mut self, value: f64) -> Value {
        self.to.float(self.ty, value)
    }

    fn int(&mut self, bits: u64) -> Value {
        self.to.bits(self.int_type(), bits)
    }

    fn add(&mut self, a: Value, b: Value) -> Value {
        self.to.add(a, b)
    }

    fn sub(&mut self, a: Value, b: Value) -> Value {
        self.to.sub(a, b)
    }

    fn mul(&mut self, a: Value, b: Value) -> Value {
        self.to.mul(a, b)
    }

    fn div(&mut self, a: Value, b: Value) -> Value {
        self.to.div(a, b)
    }

    fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        self.to.fma(a, b, c)
    }

    fn min(&mut self, a: Value, b: Value) -> Value {
        self.to.binary(Binary::Min, a, b)
    }

    fn max(&mut self, a: Value, b: Value) -> Value {
        self.to.binary(Binary::Max, a, b)
    }

    fn scale(&mut self, a: Value, n: Value) -> Value {
        self.to.binary(Binary::Scale, a, n)
    }

    fn less(&mut self, a: Value, b: Value) -> Value {
        self.to.less(a, b)
    }

    fn equal(&mut self, a: Value, b: Value) -> Value {
        self.to.compare(Comparison::Equal, a, b)
    }

    fn pick(&mut self, condition: Value, a: Value, b: Value) -> Value {
        self.to.select(condition, a, b)
    }

    fn bits_of(&mut self, a: Value) -> Value {
        self.to.cast(self.int_type(), a)
    }

    fn float_of(&mut self, a: Value) -> Value {
        self.to.cast(self.ty, a)
    }

    fn add_int(&mut self, a: Value, b: Value) -> Value {
        self.to.add(a, b)
    }

    fn and(&mut self, a: Value, b: Value) -> Value {
        self.to.binary(Binary::And, a, b)
    }

    fn or(&mut self, a: Value, b: Value) -> Value {
        self.to.binary(Binary::Or, a, b)
    }

    fn xor(&mut self, a: Value, b: Value) -> Value {
        self.to.binary(Binary::Xor, a, b)
    }

    fn left(&mut self, a: Value, by: u8) -> Value {
        self.to.shift(Shift::Left, a, by)
    }

    fn right(&mut self, a: Value, by: u8) -> Value {
        self.to.shift(Shift::Right, a, by)
    }

    fn equal_int(&mut self, a: Value, b: Value) -> Value {
        self.to.compare(Comparison::Equal, a, b)
    }

    fn patch(&mut self, condition: Value, f: Function, a: Value, otherwise: Value) -> Value {
        self.to.patch(condition, f, [a, a], otherwise)
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        ///
        /// # Panics
        ///
        /// If it is no float.
        pub fn $name(b: &mut Builder, x: Value) -> Value {
            let ty = b.ty(x);
            let mut by = Emit { to: b, ty };
            match ty {
                Type::F32 => single::$name(&mut by, x),
                _ => double::$name(&mut by, x),
            }
        })*
    };
}
functions! {
    /// `eˣ`.
    exp;
    /// The natural logarithm.
    ln;
    /// The hyperbolic tangent.
    tanh;
    /// `1 / (1 + e⁻ˣ)`.
    sigmoid;
}

macro_rules! wide {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        /// That of `f32` is computed by way of `f64`.
        ///
        /// # Panics
        ///
        /// If it is no float.
        pub fn $name(b: &mut Builder, x: Value) -> Value {
            let ty = b.ty(x);
            let x = b.convert(Type::F64, x);
            let value = double::$name(&mut Emit { to: b, ty: Type::F64 }, x);
            b.convert(ty, value)
        }
        )*
    };
}
wide! {
    /// The sine.
    sin;
    /// The cosine.
    cos;
}

/// The error function; of doubles row by row, by the function given.
///
/// # Panics
///
/// If it is no float.
pub fn erf(b: &mut Builder, x: Value, double: fn(f64) -> f64) -> Value {
    match b.ty(x) {
        Type::F32 => single::erf(&mut Emit { to: b, ty: Type::F32 }, x),
        _ => {
            let every = b.truth(true);
            b.patch(every, Function::One(double), [x, x], x)
        }
    }
}

/// `a` with the sign of `b`.
///
/// # Panics
///
/// If they are not floats of one type.
pub fn copysign(b: &mut Builder, size: Value, sign: Value) -> Value {
    let ty = b.ty(size);
    let bit = b.bits(ty, 1 << (8 * ty.size() - 1));
    let sign = b.binary(Binary::And, sign, bit);
    let size = b.unary(Unary::Abs, size);
    b.binary(Binary::Or, size, sign)
}

/// `x` to the power of `y`: of `f32` by way of doubles, of doubles row by row.
///
/// # Panics
///
/// If they are not floats of one type.
pub fn pow(b: &mut Builder, x: Value, y: Value) -> Value {
    if b.ty(x) == Type::F64 {
        let every = b.truth(true);
        return b.patch(every, Function::Two(f64::powf), [x, y], x);
    }
    let (x, y) = (b.convert(Type::F64, x), b.convert(Type::F64, y));
    let size = b.unary(Unary::Abs, x);
    let log = ln(b, size);
    let product = b.mul(y, log);
    let power = exp(b, product);
    let (zero, one, half) = (b.constant(0.0), b.constant(1.0), b.constant(0.5));
    // A negative number: an integral power has a sign, others have none unless it is zero or infinite.
    let whole = b.unary(Unary::Trunc, y);
    let halved = b.mul(y, half);
    let floor = b.unary(Unary::Floor, halved);
    let is_whole = b.compare(Comparison::Equal, whole, y);
    let is_uneven = b.compare(Comparison::NotEqual, floor, halved);
    let is_odd = b.binary(Binary::And, is_whole, is_uneven);
    let negative = b.neg(power);
    let bits = b.cast(Type::I64, x);
    let nothing = b.constant(0i64);
    let below = b.less(bits, nothing);
    let flips = b.binary(Binary::And, below, is_odd);
    let signed = b.select(flips, negative, power);
    let (infinity, nan) = (b.constant(f64::INFINITY), b.constant(f64::NAN));
    let is_finite = b.less(size, infinity);
    let is_below = b.less(x, zero);
    let broken = b.not(is_whole);
    let broken = b.binary(Binary::And, broken, is_below);
    let broken = b.binary(Binary::And, broken, is_finite);
    let value = b.select(broken, nan, signed);
    // Whatever the other is, NaN included; minus one has an infinite power too.
    let is_zero = b.compare(Comparison::Equal, y, zero);
    let is_one = b.compare(Comparison::Equal, x, one);
    let units = b.compare(Comparison::Equal, size, one);
    let endless = b.unary(Unary::Abs, y);
    let endless = b.compare(Comparison::Equal, endless, infinity);
    let units = b.binary(Binary::And, units, endless);
    let is_one = b.binary(Binary::Or, is_one, units);
    let is_one = b.binary(Binary::Or, is_one, is_zero);
    let value = b.select(is_one, one, value);
    b.convert(Type::F32, value)
}

/// A float as an integer as Rust's `as` converts: on the side of zero, the nearest one if the type has none, zero for
/// NaN.
///
/// # Panics
///
/// If it is no float, or the type no integer.
pub fn saturating(b: &mut Builder, to: Type, x: Value) -> Value {
    let from = b.ty(x);
    let bits = 8 * to.size() as i32;
    let (least, beyond) = match to.is_signed() {
        true => (-2f64.powi(bits - 1), 2f64.powi(bits - 1)),
        false => (0.0, 2f64.powi(bits)),
    };
    let (low, high) = (b.float(from, least), b.float(from, beyond));
    let last = if to.is_signed() {
        u64::MAX >> (65 - bits)
    } else {
        u64::MAX >> (64 - bits)
    };
    let (last, zero) = (b.bits(to, last), b.bits(to, 0));
    // Above all, below all, or NaN; numbers that are not are in reach.
    let above = b.compare(Comparison::LessOrEqual, high, x);
    let clamped = b.binary(Binary::Max, x, low);
    let value = b.convert(to, clamped);
    let value = b.select(above, last, value);
    let is_nan = b.is_nan(x);
    b.select(is_nan, zero, value)
}

/// The `f32` that 16 bits mean as a bfloat16.
///
/// # Panics
///
/// If it is no `U16`.
pub fn from_bfloat(b: &mut Builder, bits: Value) -> Value {
    assert!(b.ty(bits) == Type::U16, "16 bits");
    let wide = b.convert(Type::U32, bits);
    let wide = b.shift(Shift::Left, wide, 16);
    b.cast(Type::F32, wide)
}

/// The bits of the bfloat16 nearest to an `f32`, the even one of two; a NaN stays one.
///
/// # Panics
///
/// If it is no `f32`.
pub fn to_bfloat(b: &mut Builder, x: Value) -> Value {
    let bits = b.cast(Type::U32, x);
    let (one, most, quiet) = (b.constant(1u32), b.constant(0x7fffu32), b.constant(0x40u32));
    let high = b.shift(Shift::Right, bits, 16);
    let odd = b.binary(Binary::And, high, one);
    let sum = b.add(bits, most);
    let sum = b.add(sum, odd);
    let rounded = b.shift(Shift::Right, sum, 16);
    let nan = b.binary(Binary::Or, high, quiet);
    let is_nan = b.is_nan(x);
    let value = b.select(is_nan, nan, rounded);
    b.convert(Type::U16, value)
}
