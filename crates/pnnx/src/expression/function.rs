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
    /// Every function except casts, in declaration order, with its name and the operators that compute it, separated by
    /// blanks: of two, the first computes it for booleans; none if it takes several calls.
    const TABLE: [(Function, &'static str, &'static str); 50] = [
        (Function::Abs, "abs", "abs"),
        (Function::Acos, "acos", "acos"),
        (Function::Acosh, "acosh", "acosh"),
        (Function::Asin, "asin", "asin"),
        (Function::Asinh, "asinh", "asinh"),
        (Function::Atan, "atan", "atan"),
        (Function::Atanh, "atanh", "atanh"),
        (Function::Ceil, "ceil", "ceil"),
        (Function::Cos, "cos", "cos"),
        (Function::Cosh, "cosh", "cosh"),
        (Function::Erf, "erf", "erf"),
        (Function::Exp, "exp", "exp"),
        (Function::Expm1, "expm1", "expm1"),
        (Function::Floor, "floor", "floor"),
        (Function::Log, "log", "log"),
        (Function::Log10, "log10", "log10"),
        (Function::Log1p, "log1p", "log1p"),
        (Function::Neg, "neg", "neg"),
        (Function::Reciprocal, "reciprocal", "reciprocal"),
        (Function::Round, "round", "round"),
        (Function::Rsqrt, "rsqrt", ""),
        (Function::Sign, "sign", "sign"),
        (Function::Sin, "sin", "sin"),
        (Function::Sinh, "sinh", "sinh"),
        (Function::Sqrt, "sqrt", "sqrt"),
        (Function::Square, "square", ""),
        (Function::Tan, "tan", "tan"),
        (Function::Tanh, "tanh", "tanh"),
        (Function::Trunc, "trunc", "trunc"),
        (Function::Int, "int", ""),
        (Function::Add, "add", "add"),
        (Function::And, "and", "and bitwise_and"),
        (Function::Atan2, "atan2", "atan2"),
        (Function::Div, "div", "div"),
        (Function::FloorDivide, "floor_divide", "floor_divide"),
        (Function::Fmod, "fmod", ""),
        (Function::Logaddexp, "logaddexp", "logaddexp"),
        (Function::Lshift, "lshift", ""),
        (Function::Max, "max", "max"),
        (Function::Maximum, "maximum", "max"),
        (Function::Min, "min", "min"),
        (Function::Minimum, "minimum", "min"),
        (Function::Mul, "mul", "mul"),
        (Function::Or, "or", "or bitwise_or"),
        (Function::Pow, "pow", "pow"),
        (Function::Remainder, "remainder", "mod"),
        (Function::Rshift, "rshift", ""),
        (Function::Sub, "sub", "sub"),
        (Function::Xor, "xor", "xor bitwise_xor"),
        (Function::Size, "size", ""),
    ];

    /// Every function except casts, with its name, in declaration order.
    pub fn all() -> impl Iterator<Item = (Function, &'static str)> {
        Function::TABLE.into_iter().map(|(function, name, _)| (function, name))
    }

    /// The operator that computes the function for booleans or for other elements, if one call does.
    pub(crate) fn operator(self, booleans: bool) -> Option<&'static str> {
        let (.., operators) = Function::TABLE.into_iter().find(|(known, ..)| *known == self)?;
        let mut operators = operators.split_whitespace();
        let first = operators.next()?;
        match operators.next() {
            Some(second) if !booleans => Some(second),
            _ => Some(first),
        }
    }

    /// The first function that an operator computes.
    pub(crate) fn of_operator(name: &str) -> Option<Function> {
        let computes = |operators: &str| operators.split_whitespace().any(|known| known == name);
        let row = Function::TABLE.into_iter().find(|(.., operators)| computes(operators));
        row.map(|(function, ..)| function)
    }

    /// The function with that name.
    pub fn by_name(name: &str) -> Option<Function> {
        if name.starts_with("torch.") {
            return ElementType::of_torch(name).map(Function::Cast);
        }
        Function::all().find(|(_, known)| *known == name).map(|(f, _)| f)
    }

    /// The minimum and maximum number of operands.
    pub fn arity(self) -> (usize, usize) {
        let place = |f| Function::TABLE.iter().position(|(known, ..)| *known == f);
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
        let name = Function::all().find(|(known, _)| known == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}
