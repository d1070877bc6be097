//! Programs: instructions over typed values, each a value of its own.

use crate::scalar::{Bits, Function};

macro_rules! types {
    ($($ty:ident $native:ident $size:literal,)*) => {
        /// The type of a value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Type {
            $(#[doc = concat!("`", stringify!($native), "`.")] $ty,)*
            /// True or false. In memory, a bit of a word; the first row is the lowest one.
            Bool,
        }

        impl Type {
            /// Every type of numbers.
            pub const NUMBERS: &'static [Type] = &[$(Type::$ty),*];

            /// The bytes of a number; a `Bool` takes none.
            pub const fn size(self) -> usize {
                match self {
                    $(Type::$ty => $size,)*
                    Type::Bool => 0,
                }
            }
        }
    };
}
types!(F32 f32 4, F64 f64 8, I8 i8 1, I16 i16 2, I32 i32 4, I64 i64 8, U8 u8 1, U16 u16 2, U32 u32 4, U64 u64 8,);

impl Type {
    /// `F32` or `F64`.
    pub const fn is_float(self) -> bool {
        matches!(self, Type::F32 | Type::F64)
    }

    /// A signed integer.
    pub const fn is_signed(self) -> bool {
        matches!(self, Type::I8 | Type::I16 | Type::I32 | Type::I64)
    }

    /// An integer.
    pub const fn is_integer(self) -> bool {
        self.is_signed() || matches!(self, Type::U8 | Type::U16 | Type::U32 | Type::U64)
    }
}

/// The number of an instruction, and of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The index in [`Program::instructions`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A function of one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unary {
    /// The square root of a float.
    Sqrt,
    /// The nearest integral float, the even one of two.
    Round,
    /// The greatest integral float that is not greater.
    Floor,
    /// The least integral float that is not less.
    Ceil,
    /// The integral float that is nearest on the side of zero.
    Trunc,
    /// The absolute value of a signed integer; that of the least one is itself.
    Abs,
}

/// An operation on two values of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The sum; integers wrap.
    Add,
    /// The difference; integers wrap.
    Sub,
    /// The product; integers wrap. Not of integers of eight bits.
    Mul,
    /// The quotient of floats.
    Div,
    /// `a` if it is less than `b`, else `b`: also if either is NaN, or both are zeros.
    Min,
    /// `a` if it is greater than `b`, else `b`: also if either is NaN, or both are zeros.
    Max,
    /// The bits, or truth values, that both have. Floats are taken as bits.
    And,
    /// The bits that either has.
    Or,
    /// The bits that one of both has.
    Xor,
    /// A float times two to the power of another one, which is integral and between -2100 and 2100. The first one is
    /// NaN, or its magnitude between 2⁻⁶⁰ and 2⁶⁰. Rounded once.
    Scale,
}

/// How two numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// Equal; NaN equals nothing.
    Equal,
    /// Not equal; NaN is unequal to everything.
    NotEqual,
    /// Less; false for NaN.
    Less,
    /// Less or equal; false for NaN.
    LessOrEqual,
}

/// A shift of integers of 16 bits or more by a constant number of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shift {
    /// To higher bits.
    Left,
    /// To lower bits; zeros follow.
    Right,
    /// To lower bits; copies of the sign follow.
    Arithmetic,
}

/// What an instruction computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// The input of this number, row by row.
    Input(u32),
    /// The input of this number, which has one value for all rows.
    Uniform(u32),
    /// A constant: its bits, or one for true.
    Const(Bits),
    /// A function of one number.
    Unary(Unary, Value),
    /// An operation on two values.
    Binary(Binary, Value, Value),
    /// The product of the first two floats plus the third, rounded once.
    Fma(Value, Value, Value),
    /// A truth value.
    Compare(Comparison, Value, Value),
    /// The opposite of a truth value.
    Not(Value),
    /// The second value where the first is true, else the third.
    Select(Value, Value, Value),
    /// A shift by a number of bits.
    Shift(Shift, Value, u8),
    /// The number of the type that is the same or, among floats, nearest. Integers lose their high bits. A float becomes
    /// the integer on the side of zero; if the type has none, the least one if it is signed, else the greatest.
    Convert(Value),
    /// The number of the type, of the same size, that has the same bits.
    Cast(Value),
    /// The `f32` that the 16 bits mean as IEEE's half precision.
    FromHalf(Value),
    /// The 16 bits of the nearest number of half precision.
    ToHalf(Value),
    /// Where the first value is true, which is seldom, the function of the operands after it; else the last value.
    Patch(Value, Function, [Value; 2], Value),
}

impl Op {
    /// The values that it reads.
    pub fn operands(&self) -> Operands {
        let (list, len) = match *self {
            Op::Input(_) | Op::Uniform(_) | Op::Const(_) => ([Value(0); 4], 0),
            Op::Unary(_, a)
            | Op::Not(a)
            | Op::Shift(_, a, _)
            | Op::Convert(a)
            | Op::Cast(a)
            | Op::FromHalf(a)
            | Op::ToHalf(a) => ([a; 4], 1),
            Op::Binary(_, a, b) | Op::Compare(_, a, b) => ([a, b, a, a], 2),
            Op::Fma(a, b, c) | Op::Select(a, b, c) => ([a, b, c, a], 3),
            Op::Patch(mask, _, [a, b], or) => ([mask, a, b, or], 4),
        };
        Operands { list, len }
    }
}

/// The values that an instruction reads; at most four.
#[derive(Debug, Clone, Copy)]
pub struct Operands {
    list: [Value; 4],
    len: usize,
}

impl std::ops::Deref for Operands {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.list[..self.len]
    }
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// What it computes.
    pub op: Op,
    /// The type of its value.
    pub ty: Type,
}

/// Instructions, each after those whose values it reads. Plain data, made by a [`Builder`](crate::Builder).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Program {
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) inputs: Vec<Type>,
    /// For each input, whether it has one value for all rows.
    pub(crate) uniform: Vec<bool>,
    pub(crate) outputs: Vec<Value>,
}

impl Program {
    /// The instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The types of the inputs.
    pub fn inputs(&self) -> &[Type] {
        &self.inputs
    }

    /// True if an input has one value for all rows.
    pub fn is_uniform(&self, input: usize) -> bool {
        self.uniform[input]
    }

    /// The values that are results.
    pub fn outputs(&self) -> &[Value] {
        &self.outputs
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.instructions[value.index()].ty
    }

    /// For each instruction, the last one that reads it; a result is read at the end.
    pub(crate) fn last_uses(&self) -> Vec<usize> {
        let mut last: Vec<usize> = (0..self.instructions.len()).collect();
        for (at, instruction) in self.instructions.iter().enumerate() {
            for of in instruction.op.operands().iter() {
                last[of.index()] = at;
            }
        }
        for output in &self.outputs {
            last[output.index()] = self.instructions.len();
        }
        last
    }
}
