//! Operators and their precedence.

use serde::{Deserialize, Serialize};

/// A prefix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!` or `not`
    Not,
    /// `~`
    BitNot,
}

impl UnaryOp {
    /// Every prefix operator.
    pub const ALL: [UnaryOp; 3] = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::BitNot];

    /// The name of the operator that the symbol stands for.
    pub const fn operator(self) -> &'static str {
        match self {
            UnaryOp::Neg => "neg",
            UnaryOp::Not => "not",
            UnaryOp::BitNot => "bitwise_not",
        }
    }

    /// The canonical spelling.
    pub const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Neg => "-",
            UnaryOp::Not => "!",
            UnaryOp::BitNot => "~",
        }
    }
}

/// An infix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "`symbol` is the documentation")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Pow,
    /// `@`: the matrix product.
    MatMul,
    /// `++`: list concatenation.
    Concat,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    And,
    Or,
    BitAnd,
    /// `|`: bitwise; in the source of a rule, alternatives.
    BitOr,
    BitXor,
}

impl BinaryOp {
    /// The name of the operator that the symbol stands for; `&`, `^`, `and` and `or` stand for the boolean operators.
    /// `None` for symbols that stand for several operators or for none.
    pub const fn operator(self) -> Option<&'static str> {
        Some(match self {
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
            BinaryOp::Div => "div",
            BinaryOp::Rem => "mod",
            BinaryOp::Pow => "pow",
            BinaryOp::MatMul => "matmul",
            BinaryOp::Eq => "equal",
            BinaryOp::Lt => "less",
            BinaryOp::Le => "less_or_equal",
            BinaryOp::Gt => "greater",
            BinaryOp::Ge => "greater_or_equal",
            BinaryOp::And | BinaryOp::BitAnd => "and",
            BinaryOp::Or => "or",
            BinaryOp::BitXor => "xor",
            BinaryOp::BitOr | BinaryOp::Ne | BinaryOp::In | BinaryOp::Concat => return None,
        })
    }

    /// The name of the operator that the symbol stands for between integers, if that is a different one.
    pub const fn bitwise_operator(self) -> Option<&'static str> {
        Some(match self {
            BinaryOp::BitAnd => "bitwise_and",
            BinaryOp::BitOr => "bitwise_or",
            BinaryOp::BitXor => "bitwise_xor",
            _ => return None,
        })
    }

    /// Every infix operator.
    pub const ALL: [BinaryOp; 20] = {
        use BinaryOp::*;
        [
            Add, Sub, Mul, Div, Rem, Pow, MatMul, Concat, Eq, Ne, Lt, Le, Gt, Ge, In, And, Or, BitAnd, BitOr, BitXor,
        ]
    };

    /// The canonical spelling.
    pub const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Pow => "**",
            BinaryOp::MatMul => "@",
            BinaryOp::Concat => "++",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::In => "in",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
        }
    }

    /// Its precedence; see [`prec`].
    pub const fn prec(self) -> u8 {
        match self {
            BinaryOp::Or => prec::OR,
            BinaryOp::And => prec::AND,
            BinaryOp::BitOr => prec::BIT_OR,
            BinaryOp::BitXor => prec::BIT_XOR,
            BinaryOp::BitAnd => prec::BIT_AND,
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Concat => prec::ADD,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem | BinaryOp::MatMul => prec::MUL,
            BinaryOp::Pow => prec::POW,
            _ => prec::COMPARE,
        }
    }

    /// True for `== != < <= > >= in`, which do not chain.
    pub const fn is_comparison(self) -> bool {
        self.prec() == prec::COMPARE
    }
}

/// Precedence levels, loosest first: as in Rust, with `**` above the prefix operators.
pub mod prec {
    /// `e for i in r`
    pub const COMPREHENSION: u8 = 0;
    /// `a..b`
    pub const RANGE: u8 = 1;
    /// `||`
    pub const OR: u8 = 2;
    /// `&&`
    pub const AND: u8 = 3;
    /// The word `not`, looser than comparisons.
    pub const WORD_NOT: u8 = 4;
    /// `== != < <= > >= in`
    pub const COMPARE: u8 = 5;
    /// `|`
    pub const BIT_OR: u8 = 6;
    /// `^`
    pub const BIT_XOR: u8 = 7;
    /// `&`
    pub const BIT_AND: u8 = 8;
    /// `+ - ++`
    pub const ADD: u8 = 9;
    /// `* / %`
    pub const MUL: u8 = 10;
    /// `- ! ~` before an operand
    pub const UNARY: u8 = 11;
    /// `**`, right-associative
    pub const POW: u8 = 12;
    /// Literals, names, calls, brackets, projections.
    pub const ATOM: u8 = 13;
}
