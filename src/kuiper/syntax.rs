//! From tokens to reverse Polish order.

use std::fmt;

use super::token::{Token, TokenKind};
use crate::diag::{Diagnostic, Span};

/// One item of a statement in reverse Polish order: operands before their operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rpn {
    /// `@N`.
    Operand(u32),
    /// The sum of two.
    Add,
    /// The product of two, elementwise.
    Mul,
    /// The sine of one.
    Sin,
}

impl Rpn {
    /// The number that the layer gives it: that of an operand itself, that of its token for an operator.
    pub const fn num_index(self) -> i64 {
        match self {
            Rpn::Operand(n) => n as i64,
            Rpn::Add => TokenKind::Add.code() as i64,
            Rpn::Mul => TokenKind::Mul.code() as i64,
            Rpn::Sin => TokenKind::Sin.code() as i64,
        }
    }
}

impl fmt::Display for Rpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rpn::Operand(n) => write!(f, "{n}"),
            Rpn::Add => f.write_str("add"),
            Rpn::Mul => f.write_str("mul"),
            Rpn::Sin => f.write_str("sin"),
        }
    }
}

/// What is still expected.
enum Wanted {
    Value(&'static str),
    Token(TokenKind),
    Emit(Rpn),
}

/// The order in which a statement is computed. A call is an operator, `(`, its operands with `,` between them, and `)`.
///
/// # Errors
/// The first token that is missing or does not belong there; tokens after the statement.
pub(super) fn reverse_polish(tokens: &[Token]) -> Result<Vec<Rpn>, Diagnostic> {
    let mut out = Vec::new();
    let mut wanted = vec![Wanted::Value("an operator or an operand")];
    let mut at = 0;
    while let Some(next) = wanted.pop() {
        let token = tokens.get(at);
        match next {
            Wanted::Emit(item) => out.push(item),
            Wanted::Token(kind) => {
                if token.is_none_or(|t| t.kind != kind) {
                    return Err(missing(tokens, at, sign(kind)));
                }
                at += 1;
            }
            Wanted::Value(what) => {
                let Some(token) = token else {
                    return Err(missing(tokens, at, what));
                };
                at += 1;
                let (item, operands): (Rpn, &[&str]) = match token.kind {
                    TokenKind::InputNumber => {
                        let number = token.text[1..].parse();
                        out.push(Rpn::Operand(number.map_err(|_| {
                            Diagnostic::error("T0004", "number out of range").label(token.span, "does not fit 32 bits")
                        })?));
                        continue;
                    }
                    TokenKind::Add => (Rpn::Add, &["the left operand", "the right operand"]),
                    TokenKind::Mul => (Rpn::Mul, &["the left operand", "the right operand"]),
                    TokenKind::Sin => (Rpn::Sin, &["the operand"]),
                    _ => return Err(missing(tokens, at - 1, what)),
                };
                wanted.push(Wanted::Emit(item));
                wanted.push(Wanted::Token(TokenKind::RightBracket));
                for (i, what) in operands.iter().enumerate().rev() {
                    wanted.push(Wanted::Value(what));
                    if i > 0 {
                        wanted.push(Wanted::Token(TokenKind::Comma));
                    }
                }
                wanted.push(Wanted::Token(TokenKind::LeftBracket));
            }
        }
    }
    match tokens.get(at) {
        None => Ok(out),
        Some(token) => {
            let problem = Diagnostic::error(
                "T0001",
                format!("`{}` at position {} after the statement", token.text, token.start),
            );
            Err(problem.label(token.span, "the statement ends before this"))
        }
    }
}

fn sign(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::LeftBracket => "`(`",
        TokenKind::RightBracket => "`)`",
        _ => "`,`",
    }
}

fn missing(tokens: &[Token], at: usize, what: &str) -> Diagnostic {
    let end = tokens
        .last()
        .map_or((0, Span::default()), |t| (t.end, Span::new(t.span.end, t.span.end)));
    let (position, span, found) = match tokens.get(at) {
        Some(token) => (token.start, token.span, format!("`{}`", token.text)),
        None => (end.0, end.1, "the end".to_owned()),
    };
    let problem = Diagnostic::error(
        "T0001",
        format!("{what} is missing at position {position}, where {found} stands"),
    );
    problem.label(span, format!("{what} expected here"))
}
