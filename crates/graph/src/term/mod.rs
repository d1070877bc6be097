//! Attribute expressions: integers, lists, strings and conditions on types, as used in programs, composite bodies and
//! rules.

mod eval;
mod functions;
mod operators;
mod value;

use std::sync::Arc;

use self::value::{float, from_tensor, joined, letters};
use crate::sink::ValueId;
use tautomer_diag::Span;
use tautomer_lang::ast::{Ast, ExprId};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim, MAX_DIM_PARTS, Tensor, Type, assume};

pub use self::functions::{Reads, ResultKind, TERM_FUNCTIONS, TermFunction, term_function};
pub use self::value::{from_attr, kind, to_attr};

/// The value of an attribute expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// An integer, possibly symbolic.
    Int(Dim),
    /// An integer that does not fit in 64 signed bits.
    Wide(i128),
    /// A number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    Str(Arc<str>),
    /// An element type.
    DType(DType),
    /// A list.
    List(Vec<Term>),
    /// An omitted operand or attribute.
    None,
    /// A known tensor.
    Tensor(Tensor),
    /// A value that only its file format can interpret.
    Foreign(AttrValue),
    /// A value made only of literals, whose element type is decided by its use; it is stored in the graph builder.
    Open(OpenId),
    /// A value of the graph.
    Value(ValueId),
}

/// Identifies a value in its builder that has no element type yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpenId(pub(crate) u32);

/// The meaning of names in an attribute expression.
pub trait Scope {
    /// The meaning of a name.
    fn name(&self, name: &str) -> Option<Term>;
    /// The member `w[i]` of an indexed family.
    fn indexed(&self, _name: &str, _index: i64) -> Option<Term> {
        None
    }
    /// The type of a value.
    fn ty(&self, v: ValueId) -> Type;
    /// The constant value, if it is one.
    fn constant(&self, v: ValueId) -> Option<Tensor>;
    /// The default type of a value without an element type.
    fn open_type(&self, _open: OpenId) -> Option<Type> {
        None
    }
    /// True if the value depends only on parameters and constants.
    fn is_static(&self, _v: ValueId) -> bool {
        false
    }
    /// True for a name whose value has a problem that was reported.
    fn is_faulty(&self, _name: &str) -> bool {
        false
    }
    /// The number of names, for suggestions.
    fn name_count(&self) -> usize {
        0
    }
    /// All names, for suggestions.
    fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A scope without names, for values that depend on nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoNames;

impl Scope for NoNames {
    fn name(&self, _: &str) -> Option<Term> {
        None
    }

    fn ty(&self, _: ValueId) -> Type {
        Type::Absent
    }

    fn constant(&self, _: ValueId) -> Option<Tensor> {
        None
    }
}

/// Evaluates the attribute expression `id`.
///
/// # Errors
/// An error at the part that has no value.
pub fn eval(ast: &Ast, id: ExprId, scope: &dyn Scope) -> Result {
    eval_within(ast, id, scope, &mut MAX_TERM_STEPS.clone())
}

/// Evaluates the attribute expression `id` in at most `steps` steps, and subtracts those used from `steps`.
///
/// # Errors
/// Same as for [`eval`].
pub(crate) fn eval_within(ast: &Ast, id: ExprId, scope: &dyn Scope, steps: &mut usize) -> Result {
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
/// Same as for `eval`; also if the value is not a boolean.
pub fn condition(ast: &Ast, id: ExprId, scope: &dyn Scope) -> std::result::Result<bool, TermError> {
    condition_within(ast, id, scope, &mut MAX_TERM_STEPS.clone())
}

/// Evaluates a condition in at most `steps` steps, and subtracts those used from `steps`.
///
/// # Errors
/// Same as for [`condition`].
pub(crate) fn condition_within(
    ast: &Ast,
    id: ExprId,
    scope: &dyn Scope,
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

/// An evaluation, with the loop variables of the enclosing comprehensions.
struct Evaluator<'a> {
    ast: &'a Ast,
    scope: &'a dyn Scope,
    locals: Vec<(Arc<str>, Term)>,
    depth: usize,
    /// The remaining steps.
    steps: usize,
}

impl Evaluator<'_> {
    /// Counts steps: one for each expression evaluated, and one for each list element made.
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

    /// Rejects an integer whose expression has too many parts.
    fn limited(&self, term: Term, span: Span) -> Result {
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

/// The reason why an attribute expression has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermError {
    /// The location.
    pub span: Span,
    /// The problem.
    pub message: String,
    /// Help on what to do.
    pub help: Option<String>,
    /// True if the expression is valid but needs an unknown dimension or value.
    pub unknown: bool,
    /// True if it follows from a problem that was reported.
    pub follows: bool,
}

impl TermError {
    fn new(span: Span, message: impl Into<String>) -> TermError {
        TermError {
            span,
            message: message.into(),
            help: None,
            unknown: false,
            follows: false,
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

/// Help for membership in an empty list.
pub(crate) const NO_MEMBERS: &str = "list at least one member, as in `x in (1, 2)`, or write `false`";

/// The maximum nesting depth of an attribute expression.
pub const MAX_TERM_DEPTH: usize = 200;

/// The maximum number of steps for evaluating attribute expressions: expressions evaluated, and list elements made. All
/// expressions of a program share them, plus as many as its text is long.
pub const MAX_TERM_STEPS: usize = 1 << 20;

type Result = std::result::Result<Term, TermError>;

/// The value of an integer without symbols.
fn known(dim: &Dim, span: Span) -> std::result::Result<i64, TermError> {
    dim.as_const()
        .ok_or_else(|| TermError::unknown(span, format!("`{dim}` is not a known integer")))
}
