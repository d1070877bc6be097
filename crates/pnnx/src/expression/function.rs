//! The functions of expressions.

use std::fmt;

use crate::ElementType;

/// A function of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of torch")]
pub enum Function {
    Abs,
    Acos,
    Acosh,
    Asin,
    Asinh,
    Atan,
    Atanh,
    Ceil,
    Cos,
    Cosh,
    Erf,
    Exp,
    Expm1,
    Floor,
    Log,
    Log10,
    Log1p,
    Neg,
    Reciprocal,
    Round,
    Rsqrt,
    Sign,
    Sin,
    Sinh,
    Sqrt,
    Square,
    Tan,
    Tanh,
    Trunc,
    /// The integer part of a host number.
    Int,
    /// A host number converted to another type: `torch.long`.
    Cast(ElementType),
    Add,
    And,
    Atan2,
    Div,
    FloorDivide,
    Fmod,
    Logaddexp,
    Lshift,
    Max,
    Maximum,
    Min,
    Minimum,
    Mul,
    Or,
    Pow,
    Remainder,
    Rshift,
    Sub,
    Xor,
    /// The shape of a tensor, or one of its dimensions.
    Size,
}

impl Function {
    /// Every function except casts, in declaration order.
    pub const ALL: [(Function, &'static str); 50] = [
        (Function::Abs, "abs"),
        (Function::Acos, "acos"),
        (Function::Acosh, "acosh"),
        (Function::Asin, "asin"),
        (Function::Asinh, "asinh"),
        (Function::Atan, "atan"),
        (Function::Atanh, "atanh"),
        (Function::Ceil, "ceil"),
        (Function::Cos, "cos"),
        (Function::Cosh, "cosh"),
        (Function::Erf, "erf"),
        (Function::Exp, "exp"),
        (Function::Expm1, "expm1"),
        (Function::Floor, "floor"),
        (Function::Log, "log"),
        (Function::Log10, "log10"),
        (Function::Log1p, "log1p"),
        (Function::Neg, "neg"),
        (Function::Reciprocal, "reciprocal"),
        (Function::Round, "round"),
        (Function::Rsqrt, "rsqrt"),
        (Function::Sign, "sign"),
        (Function::Sin, "sin"),
        (Function::Sinh, "sinh"),
        (Function::Sqrt, "sqrt"),
        (Function::Square, "square"),
        (Function::Tan, "tan"),
        (Function::Tanh, "tanh"),
        (Function::Trunc, "trunc"),
        (Function::Int, "int"),
        (Function::Add, "add"),
        (Function::And, "and"),
        (Function::Atan2, "atan2"),
        (Function::Div, "div"),
        (Function::FloorDivide, "floor_divide"),
        (Function::Fmod, "fmod"),
        (Function::Logaddexp, "logaddexp"),
        (Function::Lshift, "lshift"),
        (Function::Max, "max"),
        (Function::Maximum, "maximum"),
        (Function::Min, "min"),
        (Function::Minimum, "minimum"),
        (Function::Mul, "mul"),
        (Function::Or, "or"),
        (Function::Pow, "pow"),
        (Function::Remainder, "remainder"),
        (Function::Rshift, "rshift"),
        (Function::Sub, "sub"),
        (Function::Xor, "xor"),
        (Function::Size, "size"),
    ];

    /// The function with that name.
    pub fn by_name(name: &str) -> Option<Function> {
        if name.starts_with("torch.") {
            return ElementType::of_torch(name).map(Function::Cast);
        }
        Function::ALL.iter().find(|(_, known)| *known == name).map(|(f, _)| *f)
    }

    /// The minimum and maximum number of operands.
    pub fn arity(self) -> (usize, usize) {
        let place = |f| Function::ALL.iter().position(|(known, _)| *known == f);
        match self {
            Function::Size => (1, 2),
            Function::Cast(_) => (1, 1),
            _ if place(self) > place(Function::Int) => (2, 2),
            _ => (1, 1),
        }
    }

    /// True for functions of two operands.
    pub fn is_binary(self) -> bool {
        self.arity() == (2, 2)
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Function::Cast(to) = self {
            return write!(f, "torch.{}", to.torch_name());
        }
        let name = Function::ALL.iter().find(|(known, _)| known == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}
