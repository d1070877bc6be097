//! Calls of operators: by their symbols where they have one, with the attributes that inference does not determine.

use std::cell::Cell;

use super::{Writer, Written};
use crate::{Graph, Node, Operands, VertexId};
use tautomer_lang::ast::{Attr, Attrs, BinaryOp, ExprId, ExprKind, Ident, UnaryOp};
use tautomer_lang::is_name;
use tautomer_op::{AttrValue, Fact, Op, OpDef, normalize};

impl Writer<'_, '_> {
    pub(super) fn call(&mut self, op: &Op, attrs: &[AttrValue], operands: &Operands) -> ExprId {
        let graph = self.graph;
        let args: Vec<ExprId> = operands.iter().map(|u| self.operand(*u)).collect();
        match op {
            Op::Opaque(opaque) => {
                let entries = opaque
                    .attr_names
                    .iter()
                    .zip(attrs)
                    .map(|(name, value)| self.attribute(name, value, true));
                let entries = entries.collect();
                self.make(call(&op.name(), true, args, Some(entries)))
            }
            Op::Known(def) => {
                let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
                let given: Vec<usize> = needed(def, &facts, attrs);
                if given.is_empty()
                    && let Some(kind) = self.sugar(def, &args, operands)
                {
                    return self.make(kind);
                }
                let entries = given
                    .into_iter()
                    .map(|i| self.attribute(def.attrs[i].name, &attrs[i], false))
                    .collect();
                // A name with a domain is quoted.
                let quoted = def.declared.is_some() && !is_name(def.name);
                self.make(call(def.name, quoted, args, Some(entries)))
            }
        }
    }

    /// The symbol of an operator that has one.
    fn sugar(&self, def: &OpDef, args: &[ExprId], operands: &Operands) -> Option<ExprKind> {
        if let [operand] = *args {
            let op = UnaryOp::ALL.into_iter().find(|op| op.operator() == def.name)?;
            // `a != b` stands for two calls.
            if op == UnaryOp::Not
                && let Some(Written::Inline { .. }) = self.written.get(&operands[0])
                && let ExprKind::Binary {
                    op: BinaryOp::Eq,
                    lhs,
                    rhs,
                } = *self.shared.program.ast.kind(operand)
            {
                let op = BinaryOp::Ne;
                return Some(ExprKind::Binary { op, lhs, rhs });
            }
            return Some(ExprKind::Unary { op, operand });
        }
        let [lhs, rhs] = *args else { return None };
        let literal = |id: ExprId| {
            matches!(
                self.shared.program.ast.kind(id),
                ExprKind::Int { .. } | ExprKind::Bool(_) | ExprKind::List(_)
            )
        };
        // The types of values show whether the bitwise operators are meant.
        let typed = !literal(lhs) || !literal(rhs);
        let op = BinaryOp::ALL
            .into_iter()
            // A matrix product is clearer by its name.
            .filter(|op| *op != BinaryOp::MatMul)
            .find(|op| op.operator() == Some(def.name) || typed && op.bitwise_operator() == Some(def.name))?;
        Some(ExprKind::Binary { op, lhs, rhs })
    }
}

pub(super) fn call(callee: &str, quoted: bool, args: Vec<ExprId>, entries: Option<Vec<Attr>>) -> ExprKind {
    let attrs = entries.filter(|e| !e.is_empty()).map(|entries| {
        Box::new(Attrs {
            entries,
            ..Attrs::default()
        })
    });
    ExprKind::Call {
        callee: Ident::new(callee),
        quoted,
        args,
        attrs,
    }
}

/// The attributes of a call that have to be written so that it has the same attributes when read back; none for other
/// vertices.
pub fn written_attributes(graph: &Graph, v: VertexId) -> Vec<usize> {
    match &graph.vertex(v).node {
        Node::Call {
            op: Op::Known(def),
            attrs,
        } => {
            let operands = graph.pred(v);
            let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
            needed(def, &facts, attrs)
        }
        _ => Vec::new(),
    }
}

/// The attributes that must be written so that the call has the same attributes when read back.
fn needed(def: &'static OpDef, facts: &[Fact<'_>], attrs: &[AttrValue]) -> Vec<usize> {
    let same = |given: &[usize]| {
        let named: Vec<(&str, AttrValue)> = given.iter().map(|&i| (def.attrs[i].name, attrs[i].clone())).collect();
        // The types are discarded together with their unknown dimensions.
        let fresh = Cell::new(u32::MAX / 2);
        normalize(def, facts, &named, &fresh).is_ok_and(|n| n.attrs == attrs)
    };
    let mut given: Vec<usize> = (0..attrs.len().min(def.attrs.len()))
        .filter(|&i| !attrs[i].is_none())
        .collect();
    if given.is_empty() || same(&[]) {
        return Vec::new();
    }
    for i in (0..given.len()).rev() {
        let mut fewer = given.clone();
        fewer.remove(i);
        if same(&fewer) {
            given = fewer;
        }
    }
    given
}
