//! The costs of e-nodes and graphs.

use std::cell::Cell;
use std::sync::Arc;

use egg::Id;
use smallvec::SmallVec;

use super::EGraph;
use super::encode::{attrs_of, operands_of};
use super::enode::{ENode, Head};
use super::fold::enlarges;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, Cost, CostRule, Fact, Infer, Op, OpDef};
use tautomer_tensor::{Atom, Dim, Type};

/// The cost model.
#[derive(Clone, Copy)]
pub struct CostModel<'a> {
    /// Calls that the result may contain only where the graph has them already, by operands, attributes and result.
    pub forbidden: &'a dyn Fn(&Infer<'_>, &Type) -> bool,
    /// Symbols that are assumed to be 1; see [`batch_symbols`].
    pub batch: &'a [Arc<str>],
    /// If true, everything that can be computed ahead of time is, even where that takes more bytes.
    pub fold_all: bool,
}

impl Default for CostModel<'_> {
    fn default() -> Self {
        CostModel {
            forbidden: &|_, _| false,
            batch: &[],
            fold_all: false,
        }
    }
}

/// The symbols for batch sizes: the first dimensions of inputs with at least three axes that occur only on the first
/// axis of inputs.
///
/// A model is mostly run on one item at a time, so calls are started more often than a larger batch suggests.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::{BuildOptions, build_program};
/// # use tautomer_lang::parse_program;
/// # use tautomer_rewrite::batch_symbols;
/// let text = "fn main(x: f32[n, 3, h, w], y: f32[h, 3, 3], z: f32[m, 3]) { (relu(x), y, z) }";
/// let source = Arc::new(Source::new("example", text));
/// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
/// assert_eq!(batch_symbols(&graph), ["n".into()]);
/// ```
pub fn batch_symbols(graph: &Graph) -> Vec<Arc<str>> {
    let symbol = |dim: &Dim| match dim.as_atom() {
        Some(Atom::Symbol(name)) => Some(name.clone()),
        _ => None,
    };
    let (mut leading, mut others) = (Vec::new(), Vec::new());
    for shape in graph
        .inputs()
        .iter()
        .filter_map(|&v| graph.ty(v).as_tensor()?.shape.as_ref())
    {
        leading.extend(shape.first().filter(|_| shape.len() > 2).and_then(symbol));
        for extent in shape.iter().skip(1) {
            extent.visit_atoms(&mut |atom| {
                if let Atom::Symbol(name) = atom {
                    others.push(name.clone());
                }
            });
        }
    }
    leading.retain(|name| !others.contains(name));
    leading.sort();
    leading.dedup();
    leading
}

/// Costs are integers in picoseconds, so that sums do not depend on their order.
pub(super) fn picos(cost: Cost) -> u64 {
    (cost.micros() * 1e6).clamp(0.0, 1e15) as u64
}

/// The cost of a forbidden e-node: more than any graph.
pub(super) const FORBIDDEN: u64 = 1 << 60;

impl CostModel<'_> {
    /// The cost of one e-node, excluding its children.
    pub(super) fn enode(&self, egraph: &EGraph, enode: &ENode, result: Id) -> u64 {
        match enode.head {
            Head::Input(_) | Head::Param(_) | Head::Const(_) | Head::Attr(_) | Head::Absent => 0,
            // A tuple costs nothing, but a cost of one keeps cycles of projections and tuples from looking free.
            Head::Tuple | Head::Proj(_) => 1,
            Head::Op(i) => {
                let op = egraph.analysis.interner.op_at(i);
                let attrs = attrs_of(egraph, enode);
                let facts: SmallVec<[Fact<'_>; 6]> = operands_of(egraph, enode)
                    .iter()
                    .map(|&c| egraph[c].data.fact())
                    .collect();
                let ty = &egraph[result].data.ty;
                if self.forbids(op, &facts, &attrs, ty) {
                    return FORBIDDEN;
                }
                picos(self.call(op, &facts, &attrs, ty)).max(1)
            }
        }
    }

    /// True for an e-node of the class `result` that rules may not create.
    pub fn forbids_enode(&self, egraph: &EGraph, enode: &ENode, result: Id) -> bool {
        let Head::Op(i) = enode.head else { return false };
        let op = egraph.analysis.interner.op_at(i);
        let attrs = attrs_of(egraph, enode);
        let facts: SmallVec<[Fact<'_>; 6]> = operands_of(egraph, enode)
            .iter()
            .map(|&c| egraph[c].data.fact())
            .collect();
        self.forbids(op, &facts, &attrs, &egraph[result].data.ty)
    }

    /// True for a call that rules may not create.
    fn forbids(&self, op: &Op, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> bool {
        let Op::Known(def) = op else { return false };
        let call = Infer {
            def,
            operands,
            attrs,
            fresh: &Cell::new(u32::MAX / 2),
        };
        (self.forbidden)(&call, result)
    }

    /// True for a vertex that rules may not create.
    pub(super) fn forbids_vertex(&self, graph: &Graph, v: VertexId) -> bool {
        let Node::Call { op, attrs } = &graph.vertex(v).node else {
            return false;
        };
        let operands = graph.pred(v);
        let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&u| graph.fact(u)).collect();
        self.forbids(op, &facts, attrs, graph.ty(v))
    }

    /// The cost of one vertex in picoseconds, whether it is static or not.
    pub(super) fn vertex(&self, graph: &Graph, v: VertexId) -> u64 {
        let Node::Call { op, attrs } = &graph.vertex(v).node else {
            return 0;
        };
        let operands = graph.pred(v);
        let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&u| graph.fact(u)).collect();
        picos(self.call(op, &facts, attrs, graph.ty(v)))
    }

    fn call(&self, op: &Op, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> Cost {
        if !self.depends_on_batch(result) && !operands.iter().any(|o| self.depends_on_batch(o.ty)) {
            return call_cost(op, operands, attrs, result);
        }
        let single = |ty: &Type| ty.map_dims(&|d| d.bind(&|name| self.is_batch(name).then_some(1)));
        let types: SmallVec<[Type; 6]> = operands.iter().map(|o| single(o.ty)).collect();
        let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().zip(&types).map(|(o, ty)| Fact { ty, ..*o }).collect();
        call_cost(op, &facts, attrs, &single(result))
    }

    fn is_batch(&self, name: &str) -> bool {
        self.batch.iter().any(|b| **b == *name)
    }

    fn depends_on_batch(&self, ty: &Type) -> bool {
        let mut found = false;
        if !self.batch.is_empty() {
            ty.visit_dims(&mut |d| {
                d.visit_atoms(&mut |atom| {
                    if let Atom::Symbol(name) = atom {
                        found |= self.is_batch(name);
                    }
                });
            });
        }
        found
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
            // Only bytes are counted, since its computation is unknown.
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

/// The cost of running a graph. Values that depend only on parameters and constants are computed ahead of time and cost
/// nothing.
///
/// The cost is in microseconds on one core, by the roofline of [`Cost::micros`], with batches of one item.
pub fn graph_cost(graph: &Graph) -> f64 {
    let batch = batch_symbols(graph);
    let model = CostModel {
        batch: &batch,
        ..CostModel::default()
    };
    let mut total = 0u64;
    let mut fixed: rustc_hash::FxHashSet<VertexId> = rustc_hash::FxHashSet::default();
    for v in graph.rpo() {
        let operands = graph.pred(v);
        let is_static = match &graph.vertex(v).node {
            Node::Input => false,
            Node::Call { op: Op::Opaque(_), .. } => false,
            Node::Call { op: Op::Known(def), .. } if def.traits.contains(tautomer_op::OpTraits::NONDETERMINISTIC) => {
                false
            }
            Node::Call { attrs, .. } if attrs.iter().any(AttrValue::has_symbols) => false,
            Node::Call { op, .. } => {
                operands.iter().all(|u| fixed.contains(u)) && {
                    let types: SmallVec<[&Type; 6]> = operands.iter().map(|&u| graph.ty(u)).collect();
                    !enlarges(op, &types, graph.ty(v))
                }
            }
            _ => operands.iter().all(|u| fixed.contains(u)),
        };
        if is_static {
            fixed.insert(v);
            continue;
        }
        total += model.vertex(graph, v);
    }
    total as f64 / 1e6
}
