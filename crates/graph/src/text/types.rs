//! Parameters, types, and dimensions as expressions.

use rustc_hash::FxHashSet;

use super::calls::call;
use super::{Writer, Written};
use crate::VertexId;
use tautomer_lang::ast::{
    BinaryOp, DTypeName, DimExpr, Dims, ExprId, ExprKind, Ident, Param, ParamClass, TypeExpr, TypeKind,
};
use tautomer_tensor::{Atom, Dim, Type};

impl Writer<'_, '_> {
    pub(super) fn params(&mut self) -> Vec<Param> {
        let mut out = Vec::new();
        for (v, class) in self.signature() {
            let vertex = self.graph.vertex(v);
            let given = vertex.name.clone().unwrap_or_default();
            let positional = given
                .strip_prefix('@')
                .and_then(|digits| digits.parse::<u32>().ok())
                .filter(|i| *given == format!("@{i}"));
            let name = match positional {
                Some(i) => {
                    self.written.insert(v, Written::Positional(i));
                    given
                }
                None => {
                    let name = match self.kept.remove(&given) {
                        true => given,
                        false => self.fresh_name(if given.is_empty() { "x" } else { &given }),
                    };
                    self.written.insert(v, Written::Name(name.clone()));
                    name
                }
            };
            out.push(Param {
                name: Ident::new(name),
                positional,
                class,
                ty: self.type_expr(&vertex.ty),
                span: Default::default(),
            });
        }
        out
    }

    /// The parameters that results depend on and all inputs, in order.
    pub(super) fn signature(&self) -> Vec<(VertexId, ParamClass)> {
        let reached: FxHashSet<VertexId> = self.order.iter().copied().collect();
        let mut inputs = self.graph.inputs().iter().copied().peekable();
        let mut params = self
            .graph
            .params()
            .iter()
            .copied()
            .filter(|v| reached.contains(v))
            .peekable();
        let mut out = Vec::new();
        loop {
            let input_first = match (inputs.peek(), params.peek()) {
                (None, None) => return out,
                (Some(i), Some(p)) => i < p,
                (i, _) => i.is_some(),
            };
            let (next, class) = if input_first {
                (inputs.next(), ParamClass::Input)
            } else {
                (params.next(), ParamClass::Param)
            };
            out.extend(next.map(|v| (v, class)));
        }
    }

    pub(super) fn type_expr(&mut self, ty: &Type) -> Option<TypeExpr> {
        let kind = match ty {
            Type::Absent => return None,
            Type::Sequence(item) => TypeKind::Sequence(Box::new(self.type_expr(item)?)),
            Type::Optional(item) => TypeKind::Optional(Box::new(self.type_expr(item)?)),
            Type::Tuple(items) => TypeKind::Tuple(items.iter().map(|t| self.type_expr(t)).collect::<Option<_>>()?),
            Type::Tensor(tensor) => TypeKind::Tensor {
                dtype: Some(DTypeName {
                    dtype: tensor.dtype,
                    span: Default::default(),
                }),
                dims: match &tensor.shape {
                    None => Dims::AnyRank,
                    Some(shape) if shape.is_empty() => Dims::Scalar,
                    Some(shape) => Dims::List(
                        shape
                            .iter()
                            .map(|d| match d.as_atom() {
                                Some(Atom::Unknown(id)) if !self.unknowns.contains_key(id) => {
                                    DimExpr::Unknown(Default::default())
                                }
                                _ => DimExpr::Expr(self.dim(d)),
                            })
                            .collect(),
                    ),
                },
            },
        };
        Some(TypeExpr {
            kind,
            span: Default::default(),
        })
    }

    pub(super) fn dim(&mut self, dim: &Dim) -> ExprId {
        if let Dim::Const(value) = dim {
            return self.int(*value);
        }
        // The constant sorts first and reads best last.
        let mut terms = dim.terms();
        terms.sort_by_key(|(product, _)| product.is_empty());
        let mut sum: Option<ExprId> = None;
        for (product, coefficient) in terms {
            let negative = coefficient < 0 && sum.is_some();
            let factor = if negative {
                coefficient.saturating_neg()
            } else {
                coefficient
            };
            let mut term = (factor != 1 || product.is_empty()).then(|| self.int(factor));
            for atom in product.iter() {
                let atom = self.atom(atom);
                term = Some(match term {
                    Some(lhs) => self.make(ExprKind::Binary {
                        op: BinaryOp::Mul,
                        lhs,
                        rhs: atom,
                    }),
                    None => atom,
                });
            }
            let Some(term) = term else { continue };
            let op = if negative { BinaryOp::Sub } else { BinaryOp::Add };
            sum = Some(match sum {
                Some(lhs) => self.make(ExprKind::Binary { op, lhs, rhs: term }),
                None => term,
            });
        }
        sum.unwrap_or_else(|| self.int(0))
    }

    pub(super) fn int(&mut self, value: i64) -> ExprId {
        self.make(ExprKind::Int {
            value: value.into(),
            suffix: None,
        })
    }

    fn atom(&mut self, atom: &Atom) -> ExprId {
        let (op, name, a, b) = match atom {
            Atom::Symbol(name) => {
                let name = self.symbols.get(name).unwrap_or(name).clone();
                return self.make(ExprKind::Name(name));
            }
            Atom::Unknown(id) => return self.unknown(*id),
            Atom::FloorDiv(a, b) => (Some(BinaryOp::Div), "", a, b),
            Atom::Mod(a, b) => (Some(BinaryOp::Rem), "", a, b),
            Atom::Min(a, b) => (None, "min", a, b),
            Atom::Max(a, b) => (None, "max", a, b),
        };
        let (lhs, rhs) = (self.dim(a), self.dim(b));
        self.make(match op {
            Some(op) => ExprKind::Binary { op, lhs, rhs },
            None => call(name, false, vec![lhs, rhs], None),
        })
    }

    /// An unknown dimension, by its name or as a dimension of a named value.
    fn unknown(&mut self, id: u32) -> ExprId {
        if let Some(name) = self.unknowns.get(&id) {
            return self.shared.program.ast.make(ExprKind::Name(name.clone()));
        }
        let Some((v, axis)) = self.read.get(&id).copied() else {
            return self.make(ExprKind::Wildcard);
        };
        let base = self.operand(v);
        let shape = self.make(ExprKind::Field {
            base,
            name: Ident::new("shape"),
        });
        let index = self.int(axis as i64);
        self.make(ExprKind::Index { base: shape, index })
    }
}
