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
use tautomer_op::{AttrValue, Cost, CostRule, Fact, Infer, Op, OpDef, Priced};
use tautomer_tensor::{Atom, Dim, Type};

/// The cost model.
#[derive(Clone, Copy)]
pub struct CostModel<'a> {
    /// Calls that the result may contain only where the graph has them already, by operands, attributes and result.
    pub forbidden: &'a dyn Fn(&Infer<'_>, &Type) -> bool,
    /// Calls of the graph that should not stay: any graph with fewer of them costs less, whatever its calls cost.
    pub illegal: &'a dyn Fn(&Infer<'_>, &Type) -> bool,
    /// The time that a call takes, in microseconds. NaN counts as the longest possible time.
    pub micros: &'a dyn Fn(&Priced<'_>) -> f64,
    /// Symbols that are assumed to be 1; see [`batch_symbols`].
    pub batch: &'a [Arc<str>],
    /// If true, everything that can be computed ahead of time is, even where that takes more bytes.
    pub fold_all: bool,
}

impl Default for CostModel<'_> {
    fn default() -> Self {
        CostModel {
            forbidden: &|_, _| false,
            illegal: &|_, _| false,
            micros: &|call| call.cost.micros(),
            batch: &[],
            fold_all: false,
        }
    }
}

/// The price by which graphs are compared: first the number of calls that should not stay, then the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Price {
    pub(super) illegal: u64,
    pub(super) picos: u64,
}

impl Price {
    pub(super) const ZERO: Price = Price::legal(0);
    pub(super) const MAX: Price = Price {
        illegal: u64::MAX,
        picos: u64::MAX,
    };

    /// A price without calls that should not stay.
    pub(super) const fn legal(picos: u64) -> Price {
        Price { illegal: 0, picos }
    }

    pub(super) const fn saturating_add(self, other: Price) -> Price {
        Price {
            illegal: self.illegal.saturating_add(other.illegal),
            picos: self.picos.saturating_add(other.picos),
        }
    }
}

/// The symbols for batch sizes: the first dimensions of inputs with at least three axes, and of sequences of integers
/// such as tokens and masks, that occur only on the first axis of inputs.
///
/// A model is mostly run on one item at a time, so calls are started more often than a larger batch suggests.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::{BuildOptions, build_program};
/// # use tautomer_lang::parse_program;
/// # use tautomer_rewrite::batch_symbols;
/// let text = "fn main(x: f32[n, 3, h, w], y: f32[h, 3, 3], z: f32[m, 3], t: i64[b, s]) { (relu(x), y, z, t) }";
/// let source = Arc::new(Source::new("example", text));
/// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
/// assert_eq!(batch_symbols(&graph), ["b".into(), "n".into()]);
/// ```
pub fn batch_symbols(graph: &Graph) -> Vec<Arc<str>> {
    let symbol = |dim: &Dim| match dim.as_atom() {
        Some(Atom::Symbol(name)) => Some(name.clone()),
        _ => None,
    };
    let (mut leading, mut others) = (Vec::new(), Vec::new());
    for (dtype, shape) in graph.inputs().iter().filter_map(|&v| {
        let ty = graph.ty(v).as_tensor()?;
        Some((ty.dtype, ty.shape.as_ref()?))
    }) {
        let sequences = shape.len() == 2 && !dtype.is_float() && shape[1].as_const().is_none();
        leading.extend(shape.first().filter(|_| sequences || shape.len() > 2).and_then(symbol));
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
pub(super) fn picos(micros: f64) -> u64 {
    const LONGEST: f64 = 1e15;
    match micros.is_nan() {
        true => LONGEST as u64,
        false => (micros * 1e6).clamp(0.0, LONGEST) as u64,
    }
}

impl CostModel<'_> {
    /// True for an e-node of the class `result` that rules may not create.
    pub fn forbids_enode(&self, egraph: &EGraph, enode: &ENode, result: Id) -> bool {
        holds_for(self.forbidden, egraph, enode, result)
    }

    /// True for an e-node of the class `result` that should not stay if the graph has it.
    pub(super) fn is_illegal_enode(&self, egraph: &EGraph, enode: &ENode, result: Id) -> bool {
        holds_for(self.illegal, egraph, enode, result)
    }

    /// True for a vertex that rules may not create.
    pub(super) fn forbids_vertex(&self, graph: &Graph, v: VertexId) -> bool {
        let Node::Call { op, attrs } = &graph.vertex(v).node else {
            return false;
        };
        let operands = graph.pred(v);
        let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&u| graph.fact(u)).collect();
        holds(self.forbidden, op, &facts, attrs, graph.ty(v))
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

    /// The time that a call takes, in microseconds, with batches of one item.
    fn call(&self, op: &Op, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> f64 {
        let types: SmallVec<[Option<Type>; 6]> = operands.iter().map(|o| self.of_one_item(o.ty)).collect();
        let of_one = operands.iter().zip(&types).map(|(o, ty)| Fact {
            ty: ty.as_ref().unwrap_or(o.ty),
            ..*o
        });
        let facts: SmallVec<[Fact<'_>; 6]> = of_one.collect();
        let single = self.of_one_item(result);
        self.price(op, &facts, attrs, single.as_ref().unwrap_or(result))
    }

    /// The time that a call of these types takes, in microseconds.
    pub(super) fn price(&self, op: &Op, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> f64 {
        let cost = call_cost(op, operands, attrs, result);
        (self.micros)(&Priced::new(op, operands, attrs, result, cost))
    }

    /// The type for batches of one item; `None` if it does not depend on the size of a batch.
    pub(super) fn of_one_item(&self, ty: &Type) -> Option<Type> {
        let single = |ty: &Type| ty.map_dims(&|d| d.bind(&|name| self.is_batch(name).then_some(1)));
        self.depends_on_batch(ty).then(|| single(ty))
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

/// True for an e-node of the class `result` that is a call of a known operator for which `test` holds.
fn holds_for(test: &dyn Fn(&Infer<'_>, &Type) -> bool, egraph: &EGraph, enode: &ENode, result: Id) -> bool {
    let Head::Op(i) = enode.head else { return false };
    let op = egraph.analysis.interner.op_at(i);
    let attrs = attrs_of(egraph, enode);
    let facts: SmallVec<[Fact<'_>; 6]> = operands_of(egraph, enode)
        .iter()
        .map(|&c| egraph[c].data.fact())
        .collect();
    holds(test, op, &facts, &attrs, &egraph[result].data.ty)
}

/// True for a call of a known operator for which `test` holds.
fn holds(
    test: &dyn Fn(&Infer<'_>, &Type) -> bool,
    op: &Op,
    operands: &[Fact<'_>],
    attrs: &[AttrValue],
    result: &Type,
) -> bool {
    let Op::Known(def) = op else { return false };
    let call = Infer {
        def,
        operands,
        attrs,
        fresh: &Cell::new(u32::MAX / 2),
    };
    test(&call, result)
}

fn call_cost(op: &Op, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> Cost {
    // Only bytes are counted for an opaque operator, since its computation is unknown.
    static NOTHING: OpDef = OpDef::new("opaque", "An operator the table does not define.");
    let (def, attrs, rule): (&'static OpDef, _, _) = match op {
        Op::Known(def) => (def, attrs, def.cost),
        Op::Opaque(_) => (&NOTHING, [].as_slice(), CostRule::Elementwise(0.0)),
    };
    let call = Infer {
        def,
        operands,
        attrs,
        fresh: &Cell::new(u32::MAX / 2),
    };
    rule.apply(&call, result)
}

/// The cost of running a graph. Values that depend only on parameters and constants are computed ahead of time and cost
/// nothing.
///
/// The cost is in microseconds on one core, by the roofline of [`Cost::micros`], with batches of one item.
pub fn graph_cost(graph: &Graph) -> f64 {
    graph_cost_by(graph, CostModel::default().micros)
}

/// Like [`graph_cost`], with the time that each call takes, in microseconds.
pub fn graph_cost_by(graph: &Graph, micros: &dyn Fn(&Priced<'_>) -> f64) -> f64 {
    let batch = batch_symbols(graph);
    let model = CostModel {
        batch: &batch,
        micros,
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
