//! Attribute expressions: integers, lists, texts and conditions over types, as programs, composite bodies and rules
//! write them.

use std::sync::Arc;

use crate::diag::Span;
use crate::lang::ast::{Ast, BinaryOp, ExprId, ExprKind, UnaryOp};
use crate::op::{AttrValue, Real};
use crate::tensor::{DType, Dim, Shape, Tensor, Type, assume};

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

/// How deep an attribute expression may be nested.
pub const MAX_TERM_DEPTH: usize = 200;

/// The functions of attribute expressions.
pub const TERM_FUNCTIONS: &[&str] = &[
    "len",
    "sum",
    "prod",
    "min",
    "max",
    "range",
    "reverse",
    "zip",
    "all",
    "any",
    "given",
    "value",
    "is_zero",
    "is_one",
    "is_uniform",
    "is_static",
    "broadcasts",
    "floor",
    "ceil",
    "sqrt",
    "abs",
    "sorted",
    "inverse",
    "index",
];

type Result<V> = std::result::Result<Term<V>, TermError>;

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

struct Evaluator<'a, S: Scope> {
    ast: &'a Ast,
    scope: &'a S,
    locals: Vec<(Arc<str>, Term<S::V>)>,
    depth: usize,
}

impl<S: Scope> Evaluator<'_, S> {
    fn eval(&mut self, id: ExprId) -> Result<S::V> {
        let span = self.ast.span(id);
        if self.depth >= MAX_TERM_DEPTH {
            return Err(TermError::new(
                span,
                format!("attribute expressions may be nested {MAX_TERM_DEPTH} deep"),
            ));
        }
        self.depth += 1;
        let out = self.eval_kind(id, span);
        self.depth -= 1;
        out
    }

    fn eval_all(&mut self, ids: &[ExprId]) -> std::result::Result<Vec<Term<S::V>>, TermError> {
        let mut out = Vec::with_capacity(ids.len());
        for &id in ids {
            if let ExprKind::Comprehension { .. } = self.ast.kind(id) {
                match self.eval(id)? {
                    Term::List(items) => out.extend(items),
                    other => out.push(other),
                }
            } else {
                out.push(self.eval(id)?);
            }
        }
        Ok(out)
    }

    fn eval_kind(&mut self, id: ExprId, span: Span) -> Result<S::V> {
        let ast = self.ast;
        match ast.kind(id) {
            ExprKind::Int { value, suffix: None } => i64::try_from(*value)
                .map(|v| Term::Int(v.into()))
                .map_err(|_| TermError::new(span, "does not fit 64 bits")),
            ExprKind::Int {
                value,
                suffix: Some(dtype),
            } => Tensor::from_ints(*dtype, &[], &[*value])
                .map(Term::Tensor)
                .ok_or_else(|| TermError::new(span, format!("there are no {dtype} numbers"))),
            ExprKind::Float { value, suffix: None } => Ok(Term::Float(*value)),
            ExprKind::Float {
                value,
                suffix: Some(dtype),
            } => Tensor::from_f64s(*dtype, &[], &[*value])
                .map(Term::Tensor)
                .ok_or_else(|| TermError::new(span, format!("there are no {dtype} fractions"))),
            ExprKind::Bool(b) => Ok(Term::Bool(*b)),
            ExprKind::Str(s) => Ok(Term::Str(s.clone())),
            ExprKind::Name(name) => self.name(name, span),
            ExprKind::Positional(i) => self.name(&format!("@{i}"), span),
            ExprKind::Wildcard => Err(TermError::new(span, "`_` has no value")),
            ExprKind::List(items) | ExprKind::Tuple(items) => Ok(Term::List(self.eval_all(items)?)),
            ExprKind::Call { callee, args, .. } => {
                let args_terms = self.eval_all(args)?;
                self.function(&callee.name, args_terms, span)
            }
            ExprKind::Project { base, index } => {
                let base = self.eval(*base)?;
                self.element(base, i64::from(*index), span)
            }
            ExprKind::Field { base, name } => {
                let term = self.eval(*base)?;
                self.field(term, &name.name, span)
            }
            ExprKind::Index { base, index } => {
                let at = self.int(*index)?;
                if let ExprKind::Name(family) = ast.kind(*base)
                    && let Some(term) = self.scope.indexed(family, at)
                {
                    return Ok(term);
                }
                let base = self.eval(*base)?;
                self.element(base, at, span)
            }
            ExprKind::Slice { base, start, end } => {
                let (items, text) = match self.eval(*base)? {
                    Term::List(items) => (items, false),
                    Term::Str(text) => (letters(&text), true),
                    _ => return Err(TermError::new(span, "only lists and texts have slices")),
                };
                let n = items.len() as i64;
                let clamp = |v: i64| (if v < 0 { v + n } else { v }).clamp(0, n) as usize;
                let from = start.map(|s| self.int(s)).transpose()?.map_or(0, clamp);
                let to = end.map(|e| self.int(e)).transpose()?.map_or(n as usize, clamp);
                let part = items.get(from..to).unwrap_or(&[]);
                Ok(if text { joined(part) } else { Term::List(part.to_vec()) })
            }
            ExprKind::Range { start, end } => {
                let from = start.map_or(Ok(0), |s| self.int(s))?;
                let to = end.map_or_else(|| Err(TermError::new(span, "this range has no end")), |e| self.int(e))?;
                self.range(from, to, span)
            }
            ExprKind::Unary { op, operand } => {
                let term = self.eval(*operand)?;
                match (op, term) {
                    (UnaryOp::Neg, Term::Int(d)) => Ok(Term::Int(-d)),
                    (UnaryOp::Neg, Term::Float(v)) => Ok(Term::Float(-v)),
                    (UnaryOp::Not, Term::Bool(b)) => Ok(Term::Bool(!b)),
                    (op, other) => Err(TermError::new(
                        span,
                        format!("`{}` does not apply to {}", op.symbol(), kind(&other)),
                    )),
                }
            }
            ExprKind::Binary { op, lhs, rhs } => self.binary(*op, *lhs, *rhs, span),
            ExprKind::If { cond, then, otherwise } | ExprKind::When { cond, then, otherwise } => {
                let Term::Bool(holds) = self.eval(*cond)? else {
                    return Err(TermError::new(ast.span(*cond), "a condition must be a truth value"));
                };
                let block = if holds { then } else { otherwise };
                if !block.lets.is_empty() {
                    return Err(TermError::new(
                        block.span,
                        "`let` has no place inside an attribute expression",
                    ));
                }
                self.eval(block.result)
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                let items = match self.eval(*iter)? {
                    Term::List(items) => items,
                    Term::Str(text) => letters(&text),
                    _ => {
                        return Err(TermError::new(
                            ast.span(*iter),
                            "`for` runs over a list, a range or a text",
                        ));
                    }
                };
                let mut out = Vec::with_capacity(items.len());
                for item in items {
                    self.locals.push((var.name.clone(), item));
                    let kept = cond.map(|c| self.eval(c)).transpose();
                    let value = match kept {
                        Ok(None | Some(Term::Bool(true))) => self.eval(*body).map(Some),
                        Ok(Some(Term::Bool(false))) => Ok(None),
                        Ok(Some(_)) => Err(TermError::new(span, "a condition must be a truth value")),
                        Err(e) => Err(e),
                    };
                    self.locals.pop();
                    out.extend(value?);
                }
                Ok(Term::List(out))
            }
        }
    }

    fn name(&self, name: &str, span: Span) -> Result<S::V> {
        if let Some((_, term)) = self.locals.iter().rev().find(|(n, _)| &**n == name) {
            return Ok(term.clone());
        }
        if let Some(term) = self.scope.name(name) {
            return Ok(term);
        }
        if name == "none" {
            return Ok(Term::None);
        }
        if let Ok(dtype) = name.parse::<DType>() {
            return Ok(Term::DType(dtype));
        }
        let names = self.scope.names();
        let close = crate::diag::did_you_mean(name, names.iter().map(String::as_str));
        Err(TermError {
            help: close.map(|c| format!("did you mean `{c}`?")),
            ..TermError::new(span, format!("unknown name `{name}`"))
        })
    }

    fn int(&mut self, id: ExprId) -> std::result::Result<i64, TermError> {
        let span = self.ast.span(id);
        match self.eval(id)? {
            Term::Int(d) => d
                .as_const()
                .ok_or_else(|| TermError::unknown(span, format!("`{d}` is not a known integer"))),
            other => Err(TermError::new(
                span,
                format!("expected an integer, and this is {}", kind(&other)),
            )),
        }
    }

    fn range(&self, from: i64, to: i64, span: Span) -> Result<S::V> {
        if to.saturating_sub(from) > 1 << 16 {
            return Err(TermError::new(span, format!("the range {from}..{to} is too long")));
        }
        Ok(Term::List((from..to).map(|v| Term::Int(v.into())).collect()))
    }

    fn element(&self, base: Term<S::V>, at: i64, span: Span) -> Result<S::V> {
        let items = match base {
            Term::List(items) => items,
            Term::Str(text) => letters(&text),
            other => return Err(TermError::new(span, format!("{} has no elements", kind(&other)))),
        };
        let n = items.len() as i64;
        let place = if at < 0 { at + n } else { at };
        usize::try_from(place)
            .ok()
            .and_then(|i| items.get(i).cloned())
            .ok_or_else(|| TermError::new(span, format!("there is no element {at} in a list of {n}")))
    }

    fn field(&self, term: Term<S::V>, field: &str, span: Span) -> Result<S::V> {
        let Term::Value(v) = &term else {
            return Err(TermError::new(span, format!("{} has no `.{field}`", kind(&term))));
        };
        let ty = self.scope.ty(v);
        let Some(tensor) = ty.as_tensor() else {
            return Err(TermError::new(
                span,
                format!("`.{field}` needs a tensor, and this is {ty}"),
            ));
        };
        let known = || {
            tensor
                .shape
                .as_ref()
                .ok_or_else(|| TermError::unknown(span, format!("the rank of {ty} is not known")))
        };
        match field {
            "dtype" => Ok(Term::DType(tensor.dtype)),
            "rank" => Ok(Term::Int(known()?.len().into())),
            "size" => Ok(Term::Int(known()?.size())),
            "shape" => Ok(Term::List(known()?.iter().cloned().map(Term::Int).collect())),
            _ => Err(TermError {
                help: Some("tensors have `.shape`, `.rank`, `.size` and `.dtype`".into()),
                ..TermError::new(span, format!("there is no `.{field}`"))
            }),
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: ExprId, rhs: ExprId, span: Span) -> Result<S::V> {
        use BinaryOp as B;
        let a = self.eval(lhs)?;
        match (op, &a) {
            (B::And, Term::Bool(false)) => return Ok(Term::Bool(false)),
            (B::Or, Term::Bool(true)) => return Ok(Term::Bool(true)),
            _ => {}
        }
        let b = self.eval(rhs)?;
        let mismatch = |a: &Term<S::V>, b: &Term<S::V>| {
            TermError::new(
                span,
                format!("`{}` does not apply to {} and {}", op.symbol(), kind(a), kind(b)),
            )
        };
        if let B::Eq | B::Ne = op {
            let equal = self.equal(&a, &b, span)?;
            return Ok(Term::Bool(equal == (op == B::Eq)));
        }
        Ok(match (op, a, b) {
            (B::And, Term::Bool(_), Term::Bool(b)) | (B::Or, Term::Bool(_), Term::Bool(b)) => Term::Bool(b),
            (B::In, item, Term::List(items)) => {
                let mut found = false;
                for other in &items {
                    found |= self.equal(&item, other, span)?;
                }
                Term::Bool(found)
            }
            (B::In, Term::Str(part), Term::Str(text)) => Term::Bool(text.contains(&*part)),
            (B::Concat, Term::Str(a), Term::Str(b)) => Term::Str(format!("{a}{b}").into()),
            (B::Concat, Term::List(mut a), Term::List(b)) => {
                a.extend(b);
                Term::List(a)
            }
            (_, Term::Int(a), Term::Int(b)) => match op {
                B::Add => Term::Int(a + b),
                B::Sub => Term::Int(a - b),
                B::Mul => Term::Int(a * b),
                B::Div | B::Rem if b == Dim::Const(0) => return Err(TermError::new(span, "division by zero")),
                B::Div => Term::Int(a.floor_div(&b)),
                B::Rem => Term::Int(a.modulo(&b)),
                B::Lt | B::Le | B::Gt | B::Ge => {
                    let (less, wanted) = match op {
                        B::Lt => (a.is_less(&b), true),
                        B::Ge => (a.is_less(&b), false),
                        B::Gt => (b.is_less(&a), true),
                        _ => (b.is_less(&a), false),
                    };
                    let Some(less) = less else {
                        return Err(TermError::unknown(
                            span,
                            format!("whether {a} {} {b} is not known", op.symbol()),
                        ));
                    };
                    Term::Bool(less == wanted)
                }
                _ => return Err(mismatch(&Term::Int(a), &Term::Int(b))),
            },
            (_, a, b) => match (float(&a), float(&b)) {
                (Some(x), Some(y)) => match op {
                    B::Add => Term::Float(x + y),
                    B::Sub => Term::Float(x - y),
                    B::Mul => Term::Float(x * y),
                    B::Div => Term::Float(x / y),
                    B::Pow => Term::Float(x.powf(y)),
                    B::Lt | B::Le | B::Gt | B::Ge => Term::Bool(compare(op, x, y)),
                    _ => return Err(mismatch(&a, &b)),
                },
                _ => return Err(mismatch(&a, &b)),
            },
        })
    }

    /// Equality; lists of different length differ, symbolic integers are equal if they are one expression.
    fn equal(&self, a: &Term<S::V>, b: &Term<S::V>, span: Span) -> std::result::Result<bool, TermError> {
        Ok(match (a, b) {
            (Term::Int(x), Term::Int(y)) => match x.equals(y) {
                Some(equal) => equal,
                None => return Err(TermError::unknown(span, format!("whether {x} equals {y} is not known"))),
            },
            (Term::List(x), Term::List(y)) => {
                if x.len() != y.len() {
                    return Ok(false);
                }
                let mut unknown = None;
                for (x, y) in x.iter().zip(y) {
                    match self.equal(x, y, span) {
                        Ok(true) => {}
                        Ok(false) => return Ok(false),
                        Err(e) => unknown = Some(e),
                    }
                }
                return unknown.map_or(Ok(true), Err);
            }
            (Term::None, Term::None) => true,
            (Term::None, _) | (_, Term::None) => false,
            _ => match (float(a), float(b)) {
                (Some(x), Some(y)) => x == y,
                _ => a == b,
            },
        })
    }

    fn function(&self, name: &str, mut args: Vec<Term<S::V>>, span: Span) -> Result<S::V> {
        let arity = args.len();
        let wrong = || TermError::new(span, format!("`{name}` does not take {arity} operands of this kind"));
        let int_list = |term: &Term<S::V>| -> std::result::Result<Vec<Dim>, TermError> {
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
        let consts = |term: &Term<S::V>| -> std::result::Result<Vec<i64>, TermError> {
            int_list(term)?
                .iter()
                .map(|d| {
                    d.as_const()
                        .ok_or_else(|| TermError::unknown(span, format!("`{d}` is not a known integer")))
                })
                .collect()
        };
        let ints = |dims: Vec<i64>| Term::List(dims.into_iter().map(|d| Term::Int(d.into())).collect());
        Ok(match (name, args.as_slice()) {
            ("len", [Term::List(items)]) => Term::Int(items.len().into()),
            ("len", [Term::Str(text)]) => Term::Int(text.chars().count().into()),
            // The place of a letter of a layout, or of an element of a list.
            ("index", [Term::Str(text), Term::Str(letter)]) => {
                let place = letters::<S::V>(text)
                    .iter()
                    .position(|t| *t == Term::Str(letter.clone()));
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
            ("min", [Term::Int(a), Term::Int(b)]) => Term::Int(a.minimum(b)),
            ("max", [Term::Int(a), Term::Int(b)]) => Term::Int(a.maximum(b)),
            ("min", [list @ Term::List(_)]) => Term::Int(
                int_list(list)?
                    .into_iter()
                    .reduce(|a, b| a.minimum(&b))
                    .ok_or_else(wrong)?,
            ),
            ("max", [list @ Term::List(_)]) => Term::Int(
                int_list(list)?
                    .into_iter()
                    .reduce(|a, b| a.maximum(&b))
                    .ok_or_else(wrong)?,
            ),
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
                let flat: Vec<&Term<S::V>> = match items {
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
            ("given", [Term::Value(v)]) => Term::Bool(!matches!(self.scope.ty(v), Type::Absent)),
            ("given", [_]) => Term::Bool(true),
            ("is_static", [Term::Value(v)]) => Term::Bool(self.scope.is_static(v)),
            ("value", [Term::Value(v)]) => {
                let value = self.constant(v, span)?;
                from_tensor(&value)
                    .ok_or_else(|| TermError::unknown(span, "only scalars and lists have a value here"))?
            }
            ("value", [term]) => term.clone(),
            ("is_zero" | "is_one", [Term::Value(v)]) => {
                let value = self.constant(v, span)?;
                let wanted = if name == "is_zero" { 0.0 } else { 1.0 };
                Term::Bool(value.to_f64s().is_some_and(|all| all.iter().all(|x| *x == wanted)))
            }
            ("is_uniform", [Term::Value(v)]) => Term::Bool(self.constant(v, span)?.is_uniform()),
            ("broadcasts", [a, b]) => {
                let (a, b) = (self.shape_of(a, span)?, self.shape_of(b, span)?);
                Term::Bool(broadcasts_to(&b, &a))
            }
            ("floor" | "ceil", [Term::Int(d)]) => Term::Int(d.clone()),
            ("floor", [Term::Float(v)]) => Term::Int((v.floor() as i64).into()),
            ("ceil", [Term::Float(v)]) => Term::Int((v.ceil() as i64).into()),
            ("sqrt", [x]) => Term::Float(float(x).ok_or_else(wrong)?.sqrt()),
            ("abs", [x]) => Term::Float(float(x).ok_or_else(wrong)?.abs()),
            _ if TERM_FUNCTIONS.contains(&name) => return Err(wrong()),
            _ => {
                let close = crate::diag::did_you_mean(name, TERM_FUNCTIONS.iter().copied());
                return Err(TermError {
                    help: close.map(|c| format!("did you mean `{c}`?")),
                    ..TermError::new(span, format!("there is no function `{name}` in attribute expressions"))
                });
            }
        })
    }

    fn constant(&self, v: &S::V, span: Span) -> std::result::Result<Tensor, TermError> {
        self.scope
            .constant(v)
            .ok_or_else(|| TermError::unknown(span, "this is not a known constant"))
    }

    fn shape_of(&self, term: &Term<S::V>, span: Span) -> std::result::Result<Shape, TermError> {
        match term {
            Term::Value(v) => match self.scope.ty(v) {
                Type::Tensor(t) => t.shape.ok_or_else(|| TermError::unknown(span, "the rank is not known")),
                other => Err(TermError::new(span, format!("expected a tensor, and this is {other}"))),
            },
            Term::List(items) => items
                .iter()
                .map(|t| match t {
                    Term::Int(d) => Ok(d.clone()),
                    other => Err(TermError::new(
                        span,
                        format!("a shape is made of integers, not of {}", kind(other)),
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

/// True if `shape` broadcasts to `whole` and not the other way round.
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

/// The letters of a text, each a text of its own.
fn letters<V>(text: &str) -> Vec<Term<V>> {
    text.chars().map(|c| Term::Str(c.to_string().into())).collect()
}

/// Letters as one text.
fn joined<V>(letters: &[Term<V>]) -> Term<V> {
    let text: String = letters
        .iter()
        .filter_map(|t| if let Term::Str(s) = t { Some(&**s) } else { None })
        .collect();
    Term::Str(text.into())
}

fn known(dim: &Dim, span: Span) -> std::result::Result<i64, TermError> {
    dim.as_const()
        .ok_or_else(|| TermError::unknown(span, format!("`{dim}` is not a known integer")))
}

fn compare(op: BinaryOp, a: f64, b: f64) -> bool {
    match op {
        BinaryOp::Lt => a < b,
        BinaryOp::Le => a <= b,
        BinaryOp::Gt => a > b,
        _ => a >= b,
    }
}

fn float<V>(term: &Term<V>) -> Option<f64> {
    match term {
        Term::Float(v) => Some(*v),
        Term::Int(d) => d.as_const().map(|v| v as f64).or_else(|| {
            assume::left_open();
            None
        }),
        Term::Tensor(t) if t.len() == 1 => t.to_f64s().map(|v| v[0]),
        _ => None,
    }
}

/// A list of scalars as a term; a scalar if there is one element, whatever the rank.
fn from_tensor<V>(tensor: &Tensor) -> Option<Term<V>> {
    let items: Vec<Term<V>> = if tensor.dtype() == DType::Bool {
        tensor.to_ints()?.into_iter().map(|x| Term::Bool(x != 0)).collect()
    } else if tensor.dtype().is_float() {
        tensor.to_f64s()?.into_iter().map(Term::Float).collect()
    } else {
        tensor
            .to_ints()?
            .into_iter()
            .map(|x| i64::try_from(x).map(|x| Term::Int(x.into())).ok())
            .collect::<Option<_>>()?
    };
    match tensor.shape().len() {
        _ if items.len() == 1 => items.into_iter().next(),
        1 => Some(Term::List(items)),
        _ => None,
    }
}

/// What kind of term this is, for messages.
pub fn kind<V>(term: &Term<V>) -> &'static str {
    match term {
        Term::Int(_) => "an integer",
        Term::Float(_) => "a number",
        Term::Bool(_) => "a truth value",
        Term::Str(_) => "a text",
        Term::DType(_) => "an element type",
        Term::List(_) => "a list",
        Term::None => "nothing",
        Term::Tensor(_) => "a typed number",
        Term::Foreign(_) => "a foreign value",
        Term::Value(_) => "a tensor",
    }
}

/// The attribute value a term stands for; `None` for values of the graph and mixed lists.
pub fn to_attr<V>(term: &Term<V>) -> Option<AttrValue> {
    Some(match term {
        Term::None => AttrValue::None,
        Term::Int(d) => AttrValue::Int(d.clone()),
        Term::Float(v) => AttrValue::float(*v),
        Term::Bool(b) => AttrValue::Bool(*b),
        Term::Str(s) => AttrValue::Str(s.clone()),
        Term::DType(d) => AttrValue::DType(*d),
        Term::Tensor(t) => AttrValue::Tensor(t.clone()),
        Term::Foreign(v) => v.clone(),
        Term::Value(_) => return None,
        Term::List(items) => {
            if let Some(dims) = items
                .iter()
                .map(|t| if let Term::Int(d) = t { Some(d.clone()) } else { None })
                .collect()
            {
                AttrValue::Ints(dims)
            } else if let Some(reals) = items.iter().map(|t| float(t).map(Real)).collect() {
                AttrValue::Floats(reals)
            } else {
                let text = |t: &Term<V>| if let Term::Str(s) = t { Some(s.clone()) } else { None };
                AttrValue::Strs(items.iter().map(text).collect::<Option<_>>()?)
            }
        }
    })
}

/// The term an attribute value is.
pub fn from_attr<V>(value: &AttrValue) -> Term<V> {
    match value {
        AttrValue::None => Term::None,
        AttrValue::Bool(b) => Term::Bool(*b),
        AttrValue::Int(d) => Term::Int(d.clone()),
        AttrValue::Ints(list) => Term::List(list.iter().cloned().map(Term::Int).collect()),
        AttrValue::Float(v) => Term::Float(v.0),
        AttrValue::Floats(list) => Term::List(list.iter().map(|v| Term::Float(v.0)).collect()),
        AttrValue::Str(s) => Term::Str(s.clone()),
        AttrValue::Strs(list) => Term::List(list.iter().cloned().map(Term::Str).collect()),
        AttrValue::DType(d) => Term::DType(*d),
        AttrValue::Tensor(t) => Term::Tensor(t.clone()),
        foreign @ (AttrValue::Foreign { .. } | AttrValue::Region(_)) => Term::Foreign(foreign.clone()),
    }
}
