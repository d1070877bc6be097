//! What an e-node and a graph cost.

use std::cell::Cell;

use egg::Id;
use smallvec::SmallVec;

use super::EGraph;
use super::encode::{attrs_of, operands_of};
use super::enode::{ENode, Head};
use crate::graph::{Graph, Node, VertexId};
use crate::op::{AttrValue, Cost, CostRule, Fact, Infer, Op, OpDef};
use crate::tensor::Type;

/// How costs are counted.
#[derive(Clone, Copy)]
pub struct CostModel<'a> {
    /// Operators that the result may contain only where the graph has them already.
    pub forbidden: &'a dyn Fn(&OpDef) -> bool,
}

impl Default for CostModel<'_> {
    fn default() -> Self {
        CostModel { forbidden: &|_| false }
    }
}

/// Costs are whole picoseconds, so that sums do not depend on their order.
pub(super) fn picos(cost: Cost) -> u64 {
    (cost.micros() * 1e6).clamp(0.0, 1e15) as u64
}

/// The cost of a forbidden e-node: more than any graph.
pub(super) const FORBIDDEN: u64 = 1 << 60;

impl CostModel<'_> {
    /// The cost of one e-node, its children not counted.
    pub(super) fn enode(&self, egraph: &EGraph, enode: &ENode, result: Id) -> u64 {
        match enode.head {
            Head::Input(_) | Head::Param(_) | Head::Const(_) | Head::Attr(_) | Head::Absent => 0,
            // A tuple costs nothing; a unit keeps cycles of projections and tuples from looking free.
            Head::Tuple | Head::Proj(_) => 1,
            Head::Op(i) => {
                let op = egraph.analysis.interner.op_at(i);
                if let Op::Known(def) = op
                    && (self.forbidden)(def)
                {
                    return FORBIDDEN;
                }
                let attrs = attrs_of(egraph, enode);
                let facts: SmallVec<[Fact<'_>; 6]> = operands_of(egraph, enode)
                    .iter()
                    .map(|&c| egraph[c].data.fact())
                    .collect();
                picos(call_cost(op, &facts, &attrs, &egraph[result].data.ty)).max(1)
            }
        }
    }
}

fn call_cost(op: &Op, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> Cost {
    let fresh = Cell::new(u32::MAX / 2);
    match op {
        Op::Known(def) => def.cost.apply(
            &Infer {
                def,
                operands,
                attrs,
                fresh: &fresh,
            },
            result,
        ),
        Op::Opaque(_) => {
            // Bytes alone: what it computes is not known.
            static NOTHING: OpDef = OpDef::new("opaque", "An operator the table does not define.");
            CostRule::Elementwise(0.0).apply(
                &Infer {
                    def: &NOTHING,
                    operands,
                    attrs: &[],
                    fresh: &fresh,
                },
                result,
            )
        }
    }
}

/// The cost of one vertex in picoseconds, whether it is static or not.
pub(super) fn vertex_cost(graph: &Graph, v: VertexId) -> u64 {
    let Node::Call { op, attrs } = &graph.vertex(v).node else {
        return 0;
    };
    let operands = graph.pred(v);
    let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&u| graph.fact(u)).collect();
    picos(call_cost(op, &facts, attrs, graph.ty(v)))
}

/// The cost of running a graph; what depends on parameters and constants alone is computed ahead and costs nothing.
///
/// In microseconds on one core, by the roofline of [`Cost::micros`].
pub fn graph_cost(graph: &Graph) -> f64 {
    let mut total = 0u64;
    let mut fixed: rustc_hash::FxHashSet<VertexId> = rustc_hash::FxHashSet::default();
    for v in graph.rpo() {
        let operands = graph.pred(v);
        let is_static = match &graph.vertex(v).node {
            Node::Input => false,
            Node::Call { op: Op::Opaque(_), .. } => false,
            Node::Call { op: Op::Known(def), .. } if def.traits.contains(crate::op::OpTraits::NONDETERMINISTIC) => {
                false
            }
            Node::Call { attrs, .. } if attrs.iter().any(AttrValue::has_symbols) => false,
            _ => operands.iter().all(|u| fixed.contains(u)),
        };
        if is_static {
            fixed.insert(v);
            continue;
        }
        if let Node::Call { op, attrs } = &graph.vertex(v).node {
            let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&u| graph.fact(u)).collect();
            total += picos(call_cost(op, &facts, attrs, graph.ty(v)));
        }
    }
    total as f64 / 1e6
}
