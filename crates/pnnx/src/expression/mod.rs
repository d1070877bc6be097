//! Expressions: the computations of `pnnx.Expression`, written as nested calls.

mod function;
pub mod kuiper;
mod parse;
mod prefix;
mod strict;

use std::fmt;

pub use function::Function;

use super::value::{self, Number};
use tautomer_diag::Diagnostic;

/// A node of an expression; operands and elements are indices of earlier nodes.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprNode {
    /// `@2`: an operand of the operator.
    Operand(usize),
    /// A number or a word, as written.
    Literal(Literal),
    /// A function of other nodes.
    Call(Function, Vec<usize>),
    /// A list of other nodes.
    List(Vec<usize>),
}

/// A number or a word.
#[derive(Debug, Clone, PartialEq)]
pub struct Literal {
    /// The text as written.
    pub text: String,
    /// Its value.
    pub value: LiteralValue,
}

/// The value of a literal.
#[derive(Debug, Clone, PartialEq)]
pub enum LiteralValue {
    /// An integer.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A complex number: its real and its imaginary part.
    Complex(f64, f64),
    /// `True` or `False`.
    Bool(bool),
    /// `None`.
    None,
    /// Any other word.
    Word,
}

/// How a text was parsed.
#[derive(Debug, Clone)]
pub enum Reading {
    /// By the grammar.
    Strict,
    /// As prefix notation: brackets are ignored, and each function takes as many operands as it has. Contains the error
    /// of the grammar.
    Prefix(Box<Diagnostic>),
}

/// An expression.
///
/// ```
/// use tautomer_pnnx::{Expression, Reading};
/// let (e, reading) = Expression::read("mul(@2,add(@0,@1))").unwrap();
/// assert!(e.to_string() == "mul(@2,add(@0,@1))" && matches!(reading, Reading::Strict));
///
/// // Some exporters write expressions whose brackets and commas are meaningless.
/// let (e, reading) = Expression::read("add(expm1,@0),1").unwrap();
/// assert_eq!(e.to_string(), "add(expm1(@0),1)");
/// assert!(matches!(reading, Reading::Prefix(_)));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    nodes: Vec<ExprNode>,
    roots: Vec<usize>,
}

impl Expression {
    /// Parses a text by the grammar, or as prefix notation if that fails.
    ///
    /// # Errors
    /// The text is not an expression either way; the message is that of the grammar, at the place where it fails.
    pub fn read(text: &str) -> Result<(Expression, Reading), Diagnostic> {
        match Expression::read_strictly(text) {
            Ok(expression) => Ok((expression, Reading::Strict)),
            Err(problem) => match prefix::read(text) {
                Some(expression) => Ok((expression, Reading::Prefix(Box::new(problem)))),
                None => Err(problem),
            },
        }
    }

    /// Parses a text by the grammar alone.
    ///
    /// ```
    /// use tautomer_diag::Span;
    /// use tautomer_pnnx::Expression;
    /// let problem = Expression::read_strictly("add(@0,)").unwrap_err();
    /// assert_eq!(problem.message, "`add` takes 2 operands, but has 1");
    /// assert_eq!(problem.span(), Some(Span::new(0, 8)));
    /// ```
    ///
    /// # Errors
    /// The text does not match the grammar, or a function has too many or too few operands.
    pub fn read_strictly(text: &str) -> Result<Expression, Diagnostic> {
        strict::read(text)
    }

    /// The nodes, each after its operands.
    pub fn nodes(&self) -> &[ExprNode] {
        &self.nodes
    }

    /// The indices of the nodes that are not part of another: one, except for lists without brackets.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// One more than the largest operand number.
    pub fn operand_count(&self) -> usize {
        let numbers = self.nodes.iter().map(|node| match node {
            ExprNode::Operand(i) => i.saturating_add(1),
            _ => 0,
        });
        numbers.max().unwrap_or(0)
    }

    /// An expression without nodes, to be built bottom up.
    pub(super) fn new() -> Expression {
        Expression {
            nodes: Vec::new(),
            roots: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, node: ExprNode) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    pub(super) fn finish(mut self, roots: Vec<usize>) -> Expression {
        self.roots = roots;
        self
    }
}

/// Parses a number or a word.
pub(super) fn literal(text: &str) -> Literal {
    let value = match text {
        "True" => LiteralValue::Bool(true),
        "False" => LiteralValue::Bool(false),
        "None" => LiteralValue::None,
        _ => match (value::complex(text), value::number(text)) {
            (Some((re, im)), _) => LiteralValue::Complex(re, im),
            (None, Some(Number::Int(v))) => LiteralValue::Int(v),
            (None, Some(Number::Float(v))) => LiteralValue::Float(v),
            (None, None) => LiteralValue::Word,
        },
    };
    Literal {
        text: text.to_owned(),
        value,
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Part<'a> {
            Node(usize),
            Text(&'a str),
        }
        fn items<'a>(stack: &mut Vec<Part<'a>>, places: &[usize]) {
            for (i, &place) in places.iter().enumerate().rev() {
                stack.push(Part::Node(place));
                if i > 0 {
                    stack.push(Part::Text(","));
                }
            }
        }
        let mut stack = Vec::new();
        items(&mut stack, &self.roots);
        while let Some(part) = stack.pop() {
            let place = match part {
                Part::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Part::Node(place) => place,
            };
            let Some(node) = self.nodes.get(place) else { continue };
            match node {
                ExprNode::Operand(i) => write!(f, "@{i}")?,
                ExprNode::Literal(literal) => f.write_str(&literal.text)?,
                ExprNode::Call(function, operands) => {
                    write!(f, "{function}(")?;
                    stack.push(Part::Text(")"));
                    items(&mut stack, operands);
                }
                ExprNode::List(elements) => {
                    f.write_str("[")?;
                    stack.push(Part::Text("]"));
                    items(&mut stack, elements);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
