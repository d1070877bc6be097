//! Making programs.

use rustc_hash::FxHashMap;

use crate::program::{Binary, Comparison, Instruction, Op, Program, Shift, Type, Unary, Value};
use crate::scalar::{Function, Number};

/// Makes a program instruction by instruction. Equal instructions are made once.
///
/// ```
/// use tautomer_loops::{Builder, Kernel, Sink, Source, Type};
///
/// let mut b = Builder::new();
/// let (x, y) = (b.input(Type::F64), b.input(Type::F64));
/// let product = b.mul(x, y);
/// let two = b.constant(2.0);
/// let sum = b.add(product, two);
/// b.output(sum);
///
/// let kernel = Kernel::new(b.finish());
/// let mut out = [0.0; 3];
/// let inputs = [Source::F64(&[1.0, 2.0, 3.0]), Source::F64(&[4.0, 5.0, 6.0])];
/// kernel.run(3, &inputs, &mut [Sink::F64(&mut out)]);
/// assert_eq!(out, [6.0, 12.0, 20.0]);
/// ```
///
/// # Panics
///
/// Every method panics if the types of its operands are not those that it is for; programs are made by code, which
/// knows them.
#[derive(Debug, Default)]
pub struct Builder {
    program: Program,
    known: FxHashMap<Instruction, Value>,
}

impl Builder {
    /// A program without instructions.
    pub fn new() -> Self {
        Builder::default()
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.program.ty(value)
    }

    /// A new input.
    pub fn input(&mut self, ty: Type) -> Value {
        self.program.inputs.push(ty);
        self.program.uniform.push(false);
        self.push(Op::Input(self.program.inputs.len() as u32 - 1), ty)
    }

    /// A new input of numbers, of which the first one is that of all rows.
    pub fn uniform(&mut self, ty: Type) -> Value {
        assert!(ty != Type::Bool, "a uniform input is a number");
        self.program.inputs.push(ty);
        self.program.uniform.push(true);
        self.push(Op::Uniform(self.program.inputs.len() as u32 - 1), ty)
    }

    /// The next result.
    pub fn output(&mut self, value: Value) {
        self.program.outputs.push(value);
    }

    /// The program.
    pub fn finish(self) -> Program {
        self.program
    }

    fn push(&mut self, op: Op, ty: Type) -> Value {
        let instruction = Instruction { op, ty };
        let next = Value(self.program.instructions.len() as u32);
        let value = *self.known.entry(instruction).or_insert(next);
        if value == next {
            self.program.instructions.push(instruction);
        }
        value
    }

    /// A constant.
    pub fn constant<N: Number>(&mut self, value: N) -> Value {
        self.push(Op::Const(value.bits()), N::TYPE)
    }

    /// A constant of a type, with these bits.
    pub fn bits(&mut self, ty: Type, bits: u64) -> Value {
        assert!(
            ty == Type::Bool || ty.size() == 8 || bits >> (8 * ty.size()) == 0,
            "bits that {ty:?} has"
        );
        self.push(Op::Const(bits), ty)
    }

    /// The bits of a value, if it is a constant.
    pub fn constant_bits(&self, value: Value) -> Option<u64> {
        match self.program.instructions[value.index()].op {
            Op::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// A float constant of a type.
    pub fn float(&mut self, ty: Type, value: f64) -> Value {
        match ty {
            Type::F32 => self.constant(value as f32),
            Type::F64 => self.constant(value),
            _ => panic!("{ty:?} is no float"),
        }
    }

    /// True or false.
    pub fn truth(&mut self, value: bool) -> Value {
        self.push(Op::Const(value.into()), Type::Bool)
    }

    /// A function of one number.
    pub fn unary(&mut self, op: Unary, a: Value) -> Value {
        let ty = self.ty(a);
        let fits = ty.is_float() || (op == Unary::Abs && ty.is_integer());
        assert!(fits, "{op:?} of {ty:?}");
        if op == Unary::Abs && ty.is_float() {
            let rest = self.bits(ty, u64::MAX >> (65 - 8 * ty.size()));
            return self.binary(Binary::And, a, rest);
        }
        match ty.is_integer() && !ty.is_signed() {
            true => a,
            false => self.push(Op::Unary(op, a), ty),
        }
    }

    /// An operation on two values of one type.
    pub fn binary(&mut self, op: Binary, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        let fits = match op {
            Binary::Add | Binary::Sub | Binary::Min | Binary::Max => ty != Type::Bool,
            Binary::Mul => ty.size() > 1,
            Binary::Div | Binary::Scale => ty.is_float(),
            Binary::And | Binary::Or | Binary::Xor => true,
        };
        assert!(fits && ty == self.ty(b), "{op:?} of {ty:?} and {:?}", self.ty(b));
        self.push(Op::Binary(op, a, b), ty)
    }

    /// The sum.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Add, a, b)
    }

    /// The difference.
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Sub, a, b)
    }

    /// The product; of integers of eight bits too.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        if ty.size() != 1 {
            return self.binary(Binary::Mul, a, b);
        }
        let wide = if ty.is_signed() { Type::I16 } else { Type::U16 };
        let (a, b) = (self.convert(wide, a), self.convert(wide, b));
        let product = self.mul(a, b);
        self.convert(ty, product)
    }

    /// The quotient of floats.
    pub fn div(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Div, a, b)
    }

    /// The opposite number; integers wrap. The sign of a NaN is inverted.
    pub fn neg(&mut self, a: Value) -> Value {
        let ty = self.ty(a);
        if ty.is_float() {
            let sign = self.bits(ty, 1 << (8 * ty.size() - 1));
            return self.binary(Binary::Xor, a, sign);
        }
        let zero = self.bits(ty, 0);
        self.sub(zero, a)
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let ty = self.ty(a);
        assert!(
            ty.is_float() && ty == self.ty(b) && ty == self.ty(c),
            "products of floats of one type"
        );
        self.push(Op::Fma(a, b, c), ty)
    }

    /// Whether the comparison holds.
    pub fn compare(&mut self, how: Comparison, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        assert!(
            ty != Type::Bool && ty == self.ty(b),
            "comparison of {ty:?} and {:?}",
            self.ty(b)
        );
        self.push(Op::Compare(how, a, b), Type::Bool)
    }

    /// Whether `a` is less than `b`.
    pub fn less(&mut self, a: Value, b: Value) -> Value {
        self.compare(Comparison::Less, a, b)
    }

    /// Whether a float is NaN.
    pub fn is_nan(&mut self, a: Value) -> Value {
        assert!(self.ty(a).is_float(), "a float");
        self.compare(Comparison::NotEqual, a, a)
    }

    /// The opposite of a truth value.
    pub fn not(&mut self, a: Value) -> Value {
        assert!(self.ty(a) == Type::Bool, "a truth value");
        self.push(Op::Not(a), Type::Bool)
    }

    /// `a` where `condition` is true, else `b`.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        assert!(
            self.ty(condition) == Type::Bool && ty == self.ty(b),
            "a choice between {ty:?} and {:?}",
            self.ty(b)
        );
        if a == b {
            return a;
        }
        if ty == Type::Bool {
            // b ^ (condition & (a ^ b))
            let differ = self.binary(Binary::Xor, a, b);
            let change = self.binary(Binary::And, condition, differ);
            return self.binary(Binary::Xor, b, change);
        }
        self.push(Op::Select(condition, a, b), ty)
    }

    /// A shift of integers by fewer bits than they have.
    pub fn shift(&mut self, how: Shift, a: Value, by: u8) -> Value {
        let ty = self.ty(a);
        assert!(
            ty.is_integer() && ty.size() > 1 && usize::from(by) < 8 * ty.size(),
            "a shift of {ty:?} by {by}"
        );
        self.push(Op::Shift(how, a, by), ty)
    }

    /// The number of another type that is the same, or nearest.
    pub fn convert(&mut self, to: Type, a: Value) -> Value {
        let from = self.ty(a);
        assert!(
            from != Type::Bool && to != Type::Bool,
            "conversion of {from:?} to {to:?}"
        );
        if from == to {
            return a;
        }
        if from.is_integer() && to.is_integer() && from.size() == to.size() {
            return self.cast(to, a);
        }
        // Integers below 32 bits become floats, and floats become them, by way of `i32`.
        let direct = |ty: Type| ty.is_float() || ty.size() >= 4;
        if (from.is_float() && !direct(to)) || (to.is_float() && !direct(from)) {
            let middle = self.convert(Type::I32, a);
            return self.convert(to, middle);
        }
        self.push(Op::Convert(a), to)
    }

    /// The number of a type of the same size with the same bits.
    pub fn cast(&mut self, to: Type, a: Value) -> Value {
        let from = self.ty(a);
        assert!(
            from != Type::Bool && from.size() == to.size(),
            "the bits of {from:?} as {to:?}"
        );
        match from == to {
            true => a,
            false => self.push(Op::Cast(a), to),
        }
    }

    /// The `f32` that 16 bits mean in half precision.
    pub fn from_half(&mut self, a: Value) -> Value {
        assert!(self.ty(a) == Type::U16, "16 bits");
        self.push(Op::FromHalf(a), Type::F32)
    }

    /// The 16 bits of the nearest number of half precision.
    pub fn to_half(&mut self, a: Value) -> Value {
        assert!(self.ty(a) == Type::F32, "a number of single precision");
        self.push(Op::ToHalf(a), Type::U16)
    }

    /// Where `mask` is true, the function of `f64` operands; else `otherwise`. Meant for rows that are rare.
    pub fn patch(&mut self, mask: Value, function: Function, operands: [Value; 2], otherwise: Value) -> Value {
        let doubles = [operands[0], operands[1], otherwise];
        let fits = self.ty(mask) == Type::Bool && doubles.iter().all(|&value| self.ty(value) == Type::F64);
        assert!(fits, "functions are of doubles");
        self.push(Op::Patch(mask, function, operands, otherwise), Type::F64)
    }
}
