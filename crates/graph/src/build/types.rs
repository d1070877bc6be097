//! Declared types and the symbols in them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Builder;
use crate::sink::ValueId;
use crate::term::{self, Scope, Term};
use tautomer_diag::Diagnostic;
use tautomer_lang::ast::{DimExpr, Dims, ExprId, ExprKind, TypeExpr, TypeKind};
use tautomer_tensor::{Dim, MAX_RANK, Shape, Tensor, TensorType, Type};

impl Builder<'_> {
    /// The type of a type expression; symbols in it become defined.
    pub(crate) fn type_of(&mut self, ty: &TypeExpr, unknown: &mut dyn FnMut() -> Dim) -> Option<Type> {
        match &ty.kind {
            TypeKind::Tuple(items) => items
                .iter()
                .map(|t| self.type_of(t, unknown))
                .collect::<Option<Vec<_>>>()
                .map(Type::Tuple),
            TypeKind::Sequence(item) => Some(Type::Sequence(Box::new(self.type_of(item, unknown)?))),
            TypeKind::Optional(item) => Some(Type::Optional(Box::new(self.type_of(item, unknown)?))),
            TypeKind::Tensor { dtype, dims } => {
                let Some(dtype) = dtype else {
                    self.report(
                        Diagnostic::error("T0205", "the element type is missing")
                            .label(ty.span, "")
                            .help("write it before the shape: `f32[2, 3]`"),
                    );
                    return None;
                };
                let shape = match dims {
                    Dims::Scalar => Some(Shape::scalar()),
                    Dims::AnyRank => None,
                    Dims::List(list) if list.len() > MAX_RANK => {
                        let problem = format!("a tensor of {} axes: a tensor may have at most {MAX_RANK}", list.len());
                        self.report(Diagnostic::error("T0202", problem).label(ty.span, ""));
                        return None;
                    }
                    Dims::List(list) => Some(list.iter().map(|d| self.dim(d, unknown)).collect::<Option<Shape>>()?),
                };
                Some(
                    TensorType {
                        dtype: dtype.dtype,
                        shape,
                    }
                    .into(),
                )
            }
        }
    }

    /// The type of a declaration inside the body; each `?` is a new unknown dimension.
    pub(crate) fn declared_type(&mut self, ty: &TypeExpr) -> Option<Type> {
        let mut next = self.unknown;
        let ty = self.type_of(ty, &mut || {
            next += 1;
            Dim::unknown(next)
        });
        self.unknown = next;
        ty
    }

    pub(super) fn dim(&mut self, dim: &DimExpr, unknown: &mut dyn FnMut() -> Dim) -> Option<Dim> {
        let DimExpr::Expr(id) = dim else { return Some(unknown()) };
        self.declare_symbols(*id);
        let scope = DimScope { symbols: &self.symbols };
        let mut steps = self.budget.steps;
        let value = term::eval_within(self.ast, *id, &scope, &mut steps);
        self.budget.leave_steps(steps);
        match value {
            Ok(Term::Int(Dim::Const(v))) if v < 0 => {
                self.report(
                    Diagnostic::error("T0202", format!("a dimension cannot be {v}"))
                        .label(self.ast.span(*id), "")
                        .help("a dimension is at least 0; an unknown one is written `?`"),
                );
                None
            }
            Ok(Term::Int(d)) => Some(d),
            Ok(other) => {
                let problem = Diagnostic::error(
                    "T0202",
                    format!("a dimension is an integer, not {}", term::kind(&other)),
                );
                self.report(problem.label(self.ast.span(*id), ""));
                None
            }
            Err(e) => {
                self.report_term(e);
                None
            }
        }
    }

    /// Declares the names inside a dimension as symbols.
    pub(super) fn declare_symbols(&mut self, id: ExprId) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            match self.ast.kind(id) {
                ExprKind::Name(name) => {
                    self.symbols.insert(name.clone());
                }
                ExprKind::Binary { lhs, rhs, .. } => stack.extend([*lhs, *rhs]),
                ExprKind::Unary { operand, .. } => stack.push(*operand),
                ExprKind::Call { args, .. } => stack.extend(args),
                _ => {}
            }
        }
    }
}

/// The scope of a dimension, which contains only symbols.
struct DimScope<'a> {
    symbols: &'a BTreeSet<Arc<str>>,
}

impl Scope for DimScope<'_> {
    fn name(&self, name: &str) -> Option<Term> {
        self.symbols.contains(name).then(|| Term::Int(Dim::symbol(name)))
    }

    fn ty(&self, _: ValueId) -> Type {
        Type::Absent
    }

    fn constant(&self, _: ValueId) -> Option<Tensor> {
        None
    }
}
