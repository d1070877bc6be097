//! Recursive evaluation of attribute expressions, with a limited depth.

use super::{Evaluator, MAX_TERM_DEPTH, Result, Term, TermError, joined, kind, known, letters};
use tautomer_diag::Span;
use tautomer_lang::ast::{ExprId, ExprKind, UnaryOp};
use tautomer_tensor::{DType, Tensor};

/// The maximum number of elements of a range.
const MAX_RANGE: i64 = 1 << 16;

impl Evaluator<'_> {
    pub(super) fn eval(&mut self, id: ExprId) -> Result {
        let span = self.ast.span(id);
        if self.depth >= MAX_TERM_DEPTH {
            return Err(TermError::new(
                span,
                format!("attribute expressions may be nested at most {MAX_TERM_DEPTH} deep"),
            ));
        }
        self.spend(1, span)?;
        self.depth += 1;
        let out = self.eval_kind(id, span);
        self.depth -= 1;
        out
    }

    fn eval_kind(&mut self, id: ExprId, span: Span) -> Result {
        let ast = self.ast;
        match ast.kind(id) {
            ExprKind::Int { value, suffix: None } => {
                Ok(i64::try_from(*value).map_or(Term::Wide(*value), |v| Term::Int(v.into())))
            }
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
            ExprKind::Wildcard => self
                .scope
                .name("_")
                .ok_or_else(|| TermError::new(span, "`_` has no value")),
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
                let base = self.eval(*base)?;
                self.spend(base.weight(), span)?;
                let (items, text) = match base {
                    Term::List(items) => (items, false),
                    Term::Str(text) => (letters(&text), true),
                    _ => return Err(TermError::new(span, "only lists and strings have slices")),
                };
                let n = items.len() as i64;
                let clamp = |v: i64| (if v < 0 { v.saturating_add(n) } else { v }).clamp(0, n) as usize;
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
                    (UnaryOp::Neg, Term::Wide(v)) => Ok(Term::Wide(-v)),
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
                    return Err(TermError::new(ast.span(*cond), "a condition must be a boolean"));
                };
                let block = if holds { then } else { otherwise };
                if !block.lets.is_empty() {
                    return Err(TermError::new(
                        block.span,
                        "`let` is not allowed in an attribute expression",
                    ));
                }
                self.eval(block.result)
            }
            ExprKind::Comprehension { body, var, iter, cond } => {
                let items = self.eval(*iter)?;
                self.spend(items.weight(), span)?;
                let items = match items {
                    Term::List(items) => items,
                    Term::Str(text) => letters(&text),
                    _ => {
                        return Err(TermError::new(
                            ast.span(*iter),
                            "`for` runs over a list, a range or a string",
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
                        Ok(Some(_)) => Err(TermError::new(span, "a condition must be a boolean")),
                        Err(e) => Err(e),
                    };
                    self.locals.pop();
                    out.extend(value?);
                }
                Ok(Term::List(out))
            }
        }
    }

    fn eval_all(&mut self, ids: &[ExprId]) -> std::result::Result<Vec<Term>, TermError> {
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

    fn name(&mut self, name: &str, span: Span) -> Result {
        if let Some(at) = self.locals.iter().rposition(|(n, _)| &**n == name) {
            let (_, term) = &self.locals[at];
            let weight = term.weight();
            self.spend(weight, span)?;
            let (_, term) = &self.locals[at];
            return Ok(term.clone());
        }
        if let Some(term) = self.scope.name(name) {
            self.spend(term.weight(), span)?;
            return Ok(term);
        }
        if name == "none" {
            return Ok(Term::None);
        }
        if let Ok(dtype) = name.parse::<DType>() {
            return Ok(Term::DType(dtype));
        }
        if self.scope.is_faulty(name) {
            return Err(TermError {
                follows: true,
                ..TermError::new(span, format!("`{name}` has no value"))
            });
        }
        // The search for a suggestion costs steps, too; without steps left, the problem is reported without one.
        let names = match self.steps.checked_sub(self.scope.name_count()) {
            Some(left) => {
                self.steps = left;
                self.scope.names()
            }
            None => Vec::new(),
        };
        let close = tautomer_diag::did_you_mean(name, names.iter().map(String::as_str));
        Err(TermError {
            help: close.map(|c| format!("did you mean `{c}`?")),
            ..TermError::new(span, format!("unknown name `{name}`"))
        })
    }

    fn int(&mut self, id: ExprId) -> std::result::Result<i64, TermError> {
        let span = self.ast.span(id);
        match self.eval(id)? {
            Term::Int(d) => known(&d, span),
            other => Err(TermError::new(
                span,
                format!("expected an integer, and this is {}", kind(&other)),
            )),
        }
    }

    pub(super) fn range(&mut self, from: i64, to: i64, span: Span) -> Result {
        let length = to.saturating_sub(from);
        if length > MAX_RANGE {
            return Err(TermError::new(
                span,
                format!("the range {from}..{to} has {length} elements, and a range may have at most {MAX_RANGE}"),
            ));
        }
        self.spend(usize::try_from(length).unwrap_or(0), span)?;
        Ok(Term::List((from..to).map(|v| Term::Int(v.into())).collect()))
    }

    fn element(&mut self, base: Term, at: i64, span: Span) -> Result {
        self.spend(base.weight(), span)?;
        let items = match base {
            Term::List(items) => items,
            Term::Str(text) => letters(&text),
            other => return Err(TermError::new(span, format!("{} has no elements", kind(&other)))),
        };
        let n = items.len() as i64;
        let place = if at < 0 { at.saturating_add(n) } else { at };
        usize::try_from(place)
            .ok()
            .and_then(|i| items.get(i).cloned())
            .ok_or_else(|| TermError::new(span, format!("there is no element {at} in a list of {n}")))
    }

    fn field(&self, term: Term, field: &str, span: Span) -> Result {
        let ty = match &term {
            Term::Value(v) => Some(self.scope.ty(*v)),
            Term::Open(open) => self.scope.open_type(*open),
            _ => None,
        };
        let Some(ty) = ty else {
            return Err(TermError::new(span, format!("{} has no `.{field}`", kind(&term))));
        };
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
            "rank" | "ndim" => Ok(Term::Int(known()?.len().into())),
            "size" => Ok(Term::Int(known()?.size())),
            "shape" => Ok(Term::List(known()?.iter().cloned().map(Term::Int).collect())),
            _ => Err(TermError {
                help: Some("tensors have `.shape`, `.rank`, `.size` and `.dtype`".into()),
                ..TermError::new(span, format!("there is no `.{field}`"))
            }),
        }
    }
}
