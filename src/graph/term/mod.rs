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
use crate::tensor::{DType, Dim, MAX_DIM_PARTS, Tensor, Type, assume};

pub use self::functions::TERM_FUNCTIONS;
pub use self::value::{from_attr, kind, to_attr};

/// The value of an attribute expression; `V` names a value of the graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Term<V> {
    /// An integer, possibly symbolic.
    Int(Dim),
    /// An integer that does not fit 64 bits with a sign.
    Wide(i128),
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
    /// A value made of literals alone, whose element type its use decides; the builder of the graph keeps it.
    Open(OpenId),
    /// A value of the graph.
    Value(V),
}

/// Names a value in its builder that has no element type yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpenId(pub(crate) u32);

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
    /// The type that a value without an element type has by default.
    fn open_type(&self, _open: OpenId) -> Option<Type> {
        None
    }
    /// True if the value depends on parameters and constants alone.
    fn is_static(&self, _v: &Self::V) -> bool {
        false
    }
    /// How many names there are, for suggestions.
    fn name_count(&self) -> usize {
        0
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
    eval_within(ast, id, scope, &mut MAX_TERM_STEPS.clone())
}

/// Evaluates the attribute expression `id` in no more than `steps` steps, from which those it takes are subtracted.
///
/// # Errors
/// As [`eval`].
pub(crate) fn eval_within<S: Scope>(ast: &Ast, id: ExprId, scope: &S, steps: &mut usize) -> Result<S::V> {
    let mut evaluator = Evaluator {
        ast,
        scope,
        locals: Vec::new(),
        depth: 0,
        steps: *steps,
    };
    let value = evaluator.eval(id);
    *steps = evaluator.steps;
    value
}

/// Evaluates a condition.
///
/// # Errors
/// As [`eval`], and if the value is not a truth value.
pub fn condition<S: Scope>(ast: &Ast, id: ExprId, scope: &S) -> std::result::Result<bool, TermError> {
    condition_within(ast, id, scope, &mut MAX_TERM_STEPS.clone())
}

/// Evaluates a condition in no more than `steps` steps, from which those it takes are subtracted.
///
/// # Errors
/// As [`condition`].
pub(crate) fn condition_within<S: Scope>(
    ast: &Ast,
    id: ExprId,
    scope: &S,
    steps: &mut usize,
) -> std::result::Result<bool, TermError> {
    match eval_within(ast, id, scope, steps)? {
        Term::Bool(b) => Ok(b),
        other => Err(TermError::new(
            ast.span(id),
            format!("a condition must be a boolean, and this is {}", kind(&other)),
        )),
    }
}

/// An evaluation, with the running variables of the comprehensions around.
struct Evaluator<'a, S: Scope> {
    ast: &'a Ast,
    scope: &'a S,
    locals: Vec<(Arc<str>, Term<S::V>)>,
    depth: usize,
    /// How many steps may still be taken.
    steps: usize,
}

impl<S: Scope> Evaluator<'_, S> {
    /// Counts steps: one for each expression that is evaluated, and one for each element of a list that is made.
    fn spend(&mut self, steps: usize, span: Span) -> std::result::Result<(), TermError> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => {
                self.steps = 0;
                Err(TermError {
                    help: Some("shorten the lists that comprehensions run over".into()),
                    ..TermError::new(
                        span,
                        format!(
                            "an attribute expression takes more than {MAX_TERM_STEPS} steps to evaluate, the limit"
                        ),
                    )
                })
            }
        }
    }

    /// Refuses an integer whose expression has too many parts.
    fn limited(&self, term: Term<S::V>, span: Span) -> Result<S::V> {
        match &term {
            Term::Int(d) if d.is_too_large() => Err(TermError {
                help: Some("replace the dimension by a symbol of its own".into()),
                ..TermError::new(
                    span,
                    format!("the dimension has more than {MAX_DIM_PARTS} parts when it is multiplied out, the limit"),
                )
            }),
            _ => Ok(term),
        }
    }
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

/// What to write instead of membership in an empty list.
pub(crate) const NO_MEMBERS: &str = "list at least one member, as in `x in (1, 2)`, or write `false`";

/// How deep an attribute expression may be nested.
pub const MAX_TERM_DEPTH: usize = 200;

/// How many steps the evaluation of an attribute expression may take: expressions evaluated, and elements of lists made.
/// The expressions of a program have them together, and so many more as its text is long.
pub const MAX_TERM_STEPS: usize = 1 << 20;

type Result<V> = std::result::Result<Term<V>, TermError>;

/// An integer that is no expression of symbols.
fn known(dim: &Dim, span: Span) -> std::result::Result<i64, TermError> {
    dim.as_const()
        .ok_or_else(|| TermError::unknown(span, format!("`{dim}` is not a known integer")))
}
