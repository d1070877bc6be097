//! Attribute expressions: integers, lists, texts and conditions over types, as programs, composite bodies and rules
//! write them.

mod eval;
mod functions;
mod operators;
mod value;

use std::sync::Arc;

use self::value::{float, from_tensor, joined, letters};
use crate::diag::Span;
use crate::lang::ast::{Ast, ExprId};
use crate::op::AttrValue;
use crate::tensor::{DType, Dim, Tensor, Type, assume};

pub use self::functions::TERM_FUNCTIONS;
pub use self::value::{from_attr, kind, to_attr};

/// The value of an attribute expression; `V` names a value of the graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Term<V> {
    /// An integer, possibly symbolic.
    Int(Dim),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Str(Arc<str>),
    /// An element type.
    DType(DType),
    /// A list.
    List(Vec<Term<V>>),
    /// What is left out.
    None,
    /// A tensor known as such.
    Tensor(Tensor),
    /// A value only its format can read.
    Foreign(AttrValue),
    /// A value of the graph.
    Value(V),
}

/// What names mean in an attribute expression.
pub trait Scope {
    /// Names a value of the graph.
    type V: Clone + PartialEq + std::fmt::Debug;
    /// The meaning of a name.
    fn name(&self, name: &str) -> Option<Term<Self::V>>;
    /// The member `w[i]` of an indexed family.
    fn indexed(&self, _name: &str, _index: i64) -> Option<Term<Self::V>> {
        None
    }
    /// The type of a value.
    fn ty(&self, v: &Self::V) -> Type;
    /// The constant value, if it is one.
    fn constant(&self, v: &Self::V) -> Option<Tensor>;
    /// True if the value depends on parameters and constants alone.
    fn is_static(&self, _v: &Self::V) -> bool {
        false
    }
    /// All names, for suggestions.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Evaluates the attribute expression `id`.
///
/// # Errors
/// With the place of the part that has no value.
pub fn eval<S: Scope>(ast: &Ast, id: ExprId, scope: &S) -> Result<S::V> {
    Evaluator {
        ast,
        scope,
        locals: Vec::new(),
        depth: 0,
    }
    .eval(id)
}

/// Evaluates a condition.
///
/// # Errors
/// As [`eval`], and if the value is not a truth value.
pub fn condition<S: Scope>(ast: &Ast, id: ExprId, scope: &S) -> std::result::Result<bool, TermError> {
    match eval(ast, id, scope)? {
        Term::Bool(b) => Ok(b),
        other => Err(TermError::new(
            ast.span(id),
            format!("a condition must be a truth value, and this is {}", kind(&other)),
        )),
    }
}

/// An evaluation, with the running variables of the comprehensions around.
struct Evaluator<'a, S: Scope> {
    ast: &'a Ast,
    scope: &'a S,
    locals: Vec<(Arc<str>, Term<S::V>)>,
    depth: usize,
}

/// Why an attribute expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermError {
    /// Where.
    pub span: Span,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// True if the expression is sound but needs an extent or a value that is not known.
    pub unknown: bool,
}

impl TermError {
    fn new(span: Span, message: impl Into<String>) -> TermError {
        TermError {
            span,
            message: message.into(),
            help: None,
            unknown: false,
        }
    }

    fn unknown(span: Span, message: impl Into<String>) -> TermError {
        assume::left_open();
        TermError {
            unknown: true,
            ..TermError::new(span, message)
        }
    }
}

/// How deep an attribute expression may be nested.
pub const MAX_TERM_DEPTH: usize = 200;

type Result<V> = std::result::Result<Term<V>, TermError>;

/// An integer that is no expression of symbols.
fn known(dim: &Dim, span: Span) -> std::result::Result<i64, TermError> {
    dim.as_const()
        .ok_or_else(|| TermError::unknown(span, format!("`{dim}` is not a known integer")))
}
