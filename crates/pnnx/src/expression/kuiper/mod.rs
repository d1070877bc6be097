//! Statements of KuiperInfer: expressions of `add`, `mul` and `sin` of operands `@0`, `@1`, …, as its layer
//! `pnnx.Expression` computes them; see its course on expressions for tokens and reverse Polish order.
//!
//! Only the tokens, which may have blanks inside, and the messages differ from those of other expressions.

mod token;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use super::parse::{Expected, Grammar, Inside, Piece, Problem, parse};
use super::{ExprNode, Function};
use tautomer_diag::{Diagnostic, Diagnostics, Source, Span};
use tautomer_graph::{Graph, VertexId};
use tautomer_op::{Op, lookup};
use tautomer_tensor::{TensorType, Type};

pub use token::{Token, TokenKind};

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

    fn function(self) -> Option<Function> {
        match self {
            Rpn::Operand(_) => None,
            Rpn::Add => Some(Function::Add),
            Rpn::Mul => Some(Function::Mul),
            Rpn::Sin => Some(Function::Sin),
        }
    }

    fn of(node: &ExprNode) -> Option<Rpn> {
        match node {
            ExprNode::Operand(n) => Some(Rpn::Operand(u32::try_from(*n).ok()?)),
            ExprNode::Call(function, _) => [Rpn::Add, Rpn::Mul, Rpn::Sin]
                .into_iter()
                .find(|item| item.function() == Some(*function)),
            _ => None,
        }
    }
}

impl fmt::Display for Rpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.function()) {
            (Rpn::Operand(n), _) => write!(f, "{n}"),
            (_, Some(function)) => write!(f, "{function}"),
            (_, None) => Ok(()),
        }
    }
}

/// A parsed statement.
#[derive(Clone, PartialEq, Eq)]
pub struct Statement {
    tokens: Vec<Token>,
    rpn: Vec<Rpn>,
}

impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Statement").field(&self.rpn_text()).finish()
    }
}

impl Statement {
    /// Parses a statement; blanks do not count.
    ///
    /// ```
    /// use tautomer_pnnx::kuiper::Statement;
    /// assert_eq!(Statement::parse("mul(@2, add(@0, @1))").unwrap().rpn_text(), "2 0 1 add mul");
    /// ```
    ///
    /// # Errors
    /// The first problem, with its position.
    pub fn parse(statement: &str) -> Result<Statement, Diagnostics> {
        let source = Arc::new(Source::new("expression", statement));
        let parsed = token::tokens(statement).and_then(|tokens| {
            let pieces: Vec<Piece<'_>> = tokens.iter().map(piece).collect();
            let expression = parse(&pieces, Grammar::Exact).map_err(|problem| message(&tokens, &pieces, problem))?;
            // Nodes come after their operands, which is the order of the notation.
            let rpn = expression.nodes().iter().filter_map(Rpn::of).collect();
            Ok(Statement { tokens, rpn })
        });
        parsed.map_err(|problem: Diagnostic| problem.in_source(&source).into())
    }

    /// Its tokens.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// Its items in reverse Polish order.
    pub fn rpn(&self) -> &[Rpn] {
        &self.rpn
    }

    /// The same as a line of text.
    pub fn rpn_text(&self) -> String {
        let items: Vec<String> = self.rpn.iter().map(Rpn::to_string).collect();
        items.join(" ")
    }

    /// One more than the largest number of an operand.
    pub fn operands(&self) -> usize {
        let operands = self.rpn.iter().filter_map(|item| match item {
            Rpn::Operand(n) => Some(*n as usize + 1),
            _ => None,
        });
        operands.max().unwrap_or(0)
    }

    /// The graph of the statement for operands of these types.
    ///
    /// # Errors
    /// If types do not fit each other.
    pub fn graph(&self, types: &[TensorType]) -> Result<Graph, String> {
        let mut graph = Graph::new();
        let named = types.iter().enumerate();
        let inputs: Vec<VertexId> = named
            .map(|(i, ty)| graph.input(&format!("@{i}"), Type::from(ty.clone())))
            .collect();
        let mut stack: Vec<VertexId> = Vec::new();
        for item in &self.rpn {
            let function = match (item, item.function()) {
                (_, Some(function)) => function,
                (Rpn::Operand(n), None) => {
                    let operand = inputs.get(*n as usize).copied();
                    stack.push(operand.ok_or_else(|| format!("there is no operand @{n}"))?);
                    continue;
                }
                (_, None) => continue,
            };
            // The right operand lies on top.
            let (Some(at), Some(def)) = (
                stack.len().checked_sub(function.arity().0),
                function.operator(false).and_then(lookup),
            ) else {
                return Err(format!("`{function}` has too few operands"));
            };
            let operands = stack.split_off(at);
            let result = graph.call(Op::Known(def), &operands, &[]);
            stack.push(result.map_err(|e| format!("`{function}`: {}", e.message))?);
        }
        match stack.as_slice() {
            [result] => graph.output(*result, None),
            all => return Err(format!("{} values are left", all.len())),
        }
        Ok(graph)
    }
}

fn piece(token: &Token) -> Piece<'_> {
    match token.kind {
        TokenKind::InputNumber => {
            let number = token.text.trim_start_matches('@').parse::<u32>();
            Piece::Operand(number.ok().map(|n| n as usize))
        }
        TokenKind::Comma => Piece::Comma,
        TokenKind::LeftBracket => Piece::Open,
        TokenKind::RightBracket => Piece::Close,
        TokenKind::Add => Piece::Function(Function::Add),
        TokenKind::Mul => Piece::Function(Function::Mul),
        TokenKind::Sin => Piece::Function(Function::Sin),
    }
}

/// The message for the first problem of a statement.
fn message(tokens: &[Token], pieces: &[Piece<'_>], problem: Problem) -> Diagnostic {
    let place = |at: usize| tokens.get(at).map_or(Span::default(), |token| token.span);
    let large = pieces.iter().position(|piece| *piece == Piece::Operand(None));
    let (at, expected) = match (problem, large) {
        (Problem::Unexpected { at, expected }, large) if large.is_none_or(|large| large >= at) => (at, expected),
        (_, large) => {
            let problem = Diagnostic::error("T0004", "number out of range");
            return problem.label(place(large.unwrap_or(0)), "does not fit 32 bits");
        }
    };
    let what = match expected {
        Expected::Open => "`(`",
        Expected::Separator(Inside::Top) => {
            let (text, start) = tokens
                .get(at)
                .map_or(("", 0), |token| (token.text.as_str(), token.start));
            let problem = Diagnostic::error("T0001", format!("`{text}` at position {start} after the statement"));
            return problem.label(place(at), "the statement ends before this");
        }
        Expected::Separator(Inside::Call(function, found)) if found < function.arity().1 => "`,`",
        Expected::Separator(_) => "`)`",
        Expected::Item(Inside::Call(function, _)) if !function.is_binary() => "the operand",
        Expected::Item(Inside::Call(_, 0)) => "the left operand",
        Expected::Item(Inside::Call(..)) => "the right operand",
        Expected::Item(_) => "an operator or an operand",
    };
    let end = tokens
        .last()
        .map_or((0, Span::default()), |t| (t.end, Span::new(t.span.end, t.span.end)));
    let (position, span, found) = match tokens.get(at) {
        Some(token) => (token.start, token.span, format!("`{}`", token.text)),
        None => (end.0, end.1, "the end".to_owned()),
    };
    let message = format!("{what} is missing at position {position}, where {found} stands");
    Diagnostic::error("T0001", message).label(span, format!("{what} expected here"))
}
