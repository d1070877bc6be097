//! The functions of attribute expressions.

use super::{Evaluator, Result, Term, TermError, float, from_tensor, kind, known, letters};
use crate::sink::ValueId;
use tautomer_diag::Span;
use tautomer_tensor::{Dim, Shape, Tensor, Type};

/// A function of attribute expressions and conditions, with the facts that checks and proofs need about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TermFunction {
    /// Its name.
    pub name: &'static str,
    /// The kind of its result.
    pub result: ResultKind,
    /// The part of its operands that it depends on.
    pub reads: Reads,
}

/// The kind of a function's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultKind {
    /// An integer or another number.
    Number,
    /// True or false.
    Bool,
    /// A list.
    List,
    /// It depends on the operands.
    Open,
}

/// The part of its operands that a function depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Numbers, and lists of any length in which each element counts alike.
    Numbers,
    /// Ranks: the length of lists, or positions in them.
    Ranks,
    /// The elements of a constant tensor.
    Elements,
    /// Whether an operand or attribute is present.
    Presence,
}

/// The functions of attribute expressions.
///
/// ```
/// use tautomer_graph::term::{Reads, TERM_FUNCTIONS};
///
/// let readers = TERM_FUNCTIONS.iter().filter(|f| f.reads == Reads::Elements);
/// assert!(readers.clone().any(|f| f.name == "is_uniform"));
/// ```
pub const TERM_FUNCTIONS: &[TermFunction] = &[
    function("len", ResultKind::Number, Reads::Ranks),
    function("sum", ResultKind::Number, Reads::Numbers),
    function("prod", ResultKind::Number, Reads::Numbers),
    function("min", ResultKind::Open, Reads::Numbers),
    function("max", ResultKind::Open, Reads::Numbers),
    function("range", ResultKind::List, Reads::Numbers),
    function("reverse", ResultKind::Open, Reads::Numbers),
    function("zip", ResultKind::List, Reads::Numbers),
    function("all", ResultKind::Bool, Reads::Numbers),
    function("any", ResultKind::Bool, Reads::Numbers),
    function("given", ResultKind::Bool, Reads::Presence),
    function("value", ResultKind::Open, Reads::Elements),
    function("is_zero", ResultKind::Bool, Reads::Elements),
    function("is_one", ResultKind::Bool, Reads::Elements),
    function("is_uniform", ResultKind::Bool, Reads::Elements),
    function("is_static", ResultKind::Bool, Reads::Numbers),
    function("broadcasts", ResultKind::Bool, Reads::Ranks),
    function("floor", ResultKind::Number, Reads::Numbers),
    function("ceil", ResultKind::Number, Reads::Numbers),
    function("sqrt", ResultKind::Number, Reads::Numbers),
    function("abs", ResultKind::Number, Reads::Numbers),
    function("sorted", ResultKind::List, Reads::Numbers),
    function("inverse", ResultKind::List, Reads::Numbers),
    function("index", ResultKind::Number, Reads::Ranks),
];

const fn function(name: &'static str, result: ResultKind, reads: Reads) -> TermFunction {
    TermFunction { name, result, reads }
}

/// The function of a name.
///
/// ```
/// use tautomer_graph::term::{ResultKind, term_function};
///
/// assert_eq!(term_function("len").map(|f| f.result), Some(ResultKind::Number));
/// assert!(term_function("relu").is_none());
/// ```
pub fn term_function(name: &str) -> Option<&'static TermFunction> {
    TERM_FUNCTIONS.iter().find(|function| function.name == name)
}

impl Evaluator<'_> {
    pub(super) fn function(&mut self, name: &str, args: Vec<Term>, span: Span) -> Result {
        self.spend(args.iter().map(Term::weight).sum(), span)?;
        let value = self.function_value(name, args, span)?;
        self.limited(value, span)
    }

    fn function_value(&mut self, name: &str, mut args: Vec<Term>, span: Span) -> Result {
        let arity = args.len();
        let wrong = || TermError::new(span, format!("`{name}` does not take {arity} operands of this kind"));
        let int_list = |term: &Term| -> std::result::Result<Vec<Dim>, TermError> {
            match term {
                Term::List(items) => items
                    .iter()
                    .map(|t| match t {
                        Term::Int(d) => Ok(d.clone()),
                        _ => Err(wrong()),
                    })
                    .collect(),
                _ => Err(wrong()),
            }
        };
        let consts = |term: &Term| -> std::result::Result<Vec<i64>, TermError> {
            int_list(term)?.iter().map(|d| known(d, span)).collect()
        };
        let ints = |dims: Vec<i64>| Term::List(dims.into_iter().map(|d| Term::Int(d.into())).collect());
        Ok(match (name, args.as_slice()) {
            ("len", [Term::List(items)]) => Term::Int(items.len().into()),
            ("len", [Term::Str(text)]) => Term::Int(text.chars().count().into()),
            // The position of a letter in a layout, or of an element in a list.
            ("index", [Term::Str(text), Term::Str(letter)]) => {
                let place = letters(text).iter().position(|t| *t == Term::Str(letter.clone()));
                Term::Int(
                    place
                        .ok_or_else(|| TermError::new(span, format!("there is no {letter:?} in {text:?}")))?
                        .into(),
                )
            }
            ("index", [Term::List(items), wanted]) => {
                let mut place = None;
                for (i, item) in items.iter().enumerate() {
                    if place.is_none() && self.equal(item, wanted, span)? {
                        place = Some(i);
                    }
                }
                Term::Int(
                    place
                        .ok_or_else(|| TermError::new(span, "there is no such element in the list"))?
                        .into(),
                )
            }
            ("sum", [list]) => Term::Int(int_list(list)?.into_iter().sum()),
            ("prod", [list]) => Term::Int(int_list(list)?.into_iter().product()),
            ("min" | "max", [Term::List(items)]) => extreme(name == "min", items).ok_or_else(wrong)?,
            ("min" | "max", [_, _, ..]) => extreme(name == "min", &args).ok_or_else(wrong)?,
            ("range", [Term::Int(to)]) => self.range(0, known(to, span)?, span)?,
            ("range", [Term::Int(from), Term::Int(to)]) => self.range(known(from, span)?, known(to, span)?, span)?,
            ("reverse", [Term::Str(text)]) => Term::Str(text.chars().rev().collect::<String>().into()),
            ("reverse", [Term::List(_)]) => {
                let Some(Term::List(mut items)) = args.pop() else {
                    return Err(wrong());
                };
                items.reverse();
                Term::List(items)
            }
            ("zip", [Term::List(a), Term::List(b)]) => Term::List(
                a.iter()
                    .zip(b)
                    .map(|(x, y)| Term::List(vec![x.clone(), y.clone()]))
                    .collect(),
            ),
            ("all" | "any", items) => {
                let flat: Vec<&Term> = match items {
                    [Term::List(inner)] => inner.iter().collect(),
                    several => several.iter().collect(),
                };
                let mut values = Vec::with_capacity(flat.len());
                for term in flat {
                    let Term::Bool(b) = term else { return Err(wrong()) };
                    values.push(*b);
                }
                Term::Bool(if name == "all" {
                    values.iter().all(|b| *b)
                } else {
                    values.iter().any(|b| *b)
                })
            }
            ("sorted", [list]) => {
                let mut values = consts(list)?;
                values.sort_unstable();
                ints(values)
            }
            // The inverse of a permutation.
            ("inverse", [list]) => {
                let perm = consts(list)?;
                let mut out = vec![-1; perm.len()];
                for (i, &p) in perm.iter().enumerate() {
                    *usize::try_from(p).ok().and_then(|p| out.get_mut(p)).ok_or_else(wrong)? = i as i64;
                }
                ints(out)
            }
            ("given", [Term::None]) => Term::Bool(false),
            ("given", [Term::Value(v)]) => Term::Bool(!matches!(self.scope.ty(*v), Type::Absent)),
            ("given", [_]) => Term::Bool(true),
            ("is_static", [Term::Value(v)]) => Term::Bool(self.scope.is_static(*v)),
            ("value", [Term::Value(v)]) => {
                let value = self.constant(*v, span)?;
                self.spend(value.len(), span)?;
                from_tensor(&value)
                    .ok_or_else(|| TermError::unknown(span, "only scalars and lists have a value here"))?
            }
            ("value", [term]) => term.clone(),
            ("is_zero" | "is_one", [Term::Value(v)]) => {
                let value = self.constant(*v, span)?;
                let wanted = if name == "is_zero" { 0.0 } else { 1.0 };
                Term::Bool(value.to_f64s().is_some_and(|all| all.iter().all(|x| *x == wanted)))
            }
            ("is_uniform", [Term::Value(v)]) => Term::Bool(self.constant(*v, span)?.is_uniform()),
            ("broadcasts", [a, b]) => {
                let (a, b) = (self.shape_of(a, span)?, self.shape_of(b, span)?);
                Term::Bool(broadcasts_to(&b, &a))
            }
            ("floor" | "ceil", [Term::Int(d)]) => Term::Int(d.clone()),
            ("floor", [Term::Float(v)]) => Term::Int((v.floor() as i64).into()),
            ("ceil", [Term::Float(v)]) => Term::Int((v.ceil() as i64).into()),
            ("sqrt", [x]) => Term::Float(float(x).ok_or_else(wrong)?.sqrt()),
            ("abs", [x]) => Term::Float(float(x).ok_or_else(wrong)?.abs()),
            _ if term_function(name).is_some() => return Err(wrong()),
            _ => {
                let close = tautomer_diag::did_you_mean(name, TERM_FUNCTIONS.iter().map(|f| f.name));
                return Err(TermError {
                    help: close.map(|c| format!("did you mean `{c}`?")),
                    ..TermError::new(span, format!("there is no function `{name}` in attribute expressions"))
                });
            }
        })
    }

    fn constant(&self, v: ValueId, span: Span) -> std::result::Result<Tensor, TermError> {
        self.scope
            .constant(v)
            .ok_or_else(|| TermError::unknown(span, "this is not a known constant"))
    }

    fn shape_of(&self, term: &Term, span: Span) -> std::result::Result<Shape, TermError> {
        match term {
            Term::Value(v) => match self.scope.ty(*v) {
                Type::Tensor(t) => t.shape.ok_or_else(|| TermError::unknown(span, "the rank is not known")),
                other => Err(TermError::new(span, format!("expected a tensor, and this is {other}"))),
            },
            Term::List(items) => items
                .iter()
                .map(|t| match t {
                    Term::Int(d) => Ok(d.clone()),
                    other => Err(TermError::new(
                        span,
                        format!("the elements of a shape must be integers, not {}", kind(other)),
                    )),
                })
                .collect(),
            other => Err(TermError::new(
                span,
                format!("expected a tensor or a shape, and this is {}", kind(other)),
            )),
        }
    }
}

/// The least or the greatest of some numbers: an integer if all of them are integers.
fn extreme(least: bool, items: &[Term]) -> Option<Term> {
    let ints: Option<Vec<&Dim>> = items
        .iter()
        .map(|t| match t {
            Term::Int(d) => Some(d),
            _ => None,
        })
        .collect();
    if let Some(ints) = ints {
        let of = |a: Dim, b: &Dim| if least { a.minimum(b) } else { a.maximum(b) };
        let (first, rest) = ints.split_first()?;
        return Some(Term::Int(rest.iter().fold((*first).clone(), |a, b| of(a, b))));
    }
    let of = |a: f64, b: f64| if least { a.min(b) } else { a.max(b) };
    let all: Option<Vec<f64>> = items.iter().map(float).collect();
    all?.into_iter().reduce(of).map(Term::Float)
}

/// True if `shape` broadcasts to `whole`, and `whole` itself need not be broadcast.
fn broadcasts_to(shape: &Shape, whole: &Shape) -> bool {
    let fits = |(d, w): (&Dim, &Dim)| match (d.equals(w), d.equals(&Dim::Const(1))) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    };
    let axes: Vec<Option<bool>> = shape.iter().rev().zip(whole.iter().rev()).map(fits).collect();
    if shape.len() > whole.len() || axes.contains(&Some(false)) {
        return false;
    }
    !axes.contains(&None) || whole.broadcast(shape).is_ok_and(|merged| merged == *whole)
}
