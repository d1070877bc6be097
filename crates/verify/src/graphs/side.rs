//! One of two graphs, rebuilt for the comparison: with leaves and names of dimensions shared by both, and without calls
//! that have no definition.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::pair::{Dims, Unpaired, substituted};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, Attrs, Op, OpTraits};
use tautomer_tensor::{Tensor, Type};

/// A call that was cut out.
struct Cut {
    /// Operator, attributes and type: equal for calls that may correspond.
    key: (Op, Attrs, Type),
    name: Option<Arc<str>>,
    operands: Vec<VertexId>,
    call: VertexId,
}

/// A graph under construction.
pub(super) struct Side {
    pub(super) graph: Graph,
    /// The new vertex of each old one.
    pub(super) places: FxHashMap<VertexId, VertexId>,
    cuts: Vec<Cut>,
}

impl Side {
    pub(super) fn new(leaves: &IndexMap<Arc<str>, Type>) -> Side {
        let mut graph = Graph::new();
        for (name, ty) in leaves {
            graph.input(name, ty.clone());
        }
        Side {
            graph,
            places: FxHashMap::default(),
            cuts: Vec::new(),
        }
    }

    pub(super) fn copy(
        &mut self,
        old: &Graph,
        names: &FxHashMap<VertexId, Arc<str>>,
        constants: &FxHashMap<VertexId, Tensor>,
        dims: &Dims,
    ) {
        let by_name: FxHashMap<Arc<str>, VertexId> = self
            .graph
            .inputs()
            .iter()
            .filter_map(|&v| Some((self.graph.vertex(v).name.clone()?, v)))
            .collect();
        self.graph.reserve_unknown(old.next_unknown());
        for v in old.rpo() {
            let mut vertex = old.vertex(v).clone();
            let operands: Vec<VertexId> = old.pred(v).iter().map(|u| self.places[u]).collect();
            vertex.ty = vertex.ty.map_dims(&|d| substituted(d, dims));
            if let Node::Call { attrs, .. } = &mut vertex.node {
                *attrs = attrs.iter().map(|a| attr(a, dims)).collect();
            }
            let new = match &vertex.node {
                Node::Input | Node::Param => match (names.get(&v).and_then(|n| by_name.get(n)), constants.get(&v)) {
                    (Some(&leaf), _) => leaf,
                    (None, Some(value)) => self.graph.constant(value.clone()),
                    // Inputs without a counterpart are not read.
                    (None, None) => self.graph.absent(),
                },
                Node::Call { op, attrs } if is_unknown(op) => {
                    let key = (op.clone(), attrs.clone(), vertex.ty.clone());
                    let name = vertex.name.clone();
                    let call = self.graph.push(vertex, &operands);
                    self.cuts.push(Cut {
                        key,
                        name,
                        operands,
                        call,
                    });
                    call
                }
                _ => self.graph.push(vertex, &operands),
            };
            self.places.insert(v, new);
        }
    }

    /// True if there are real constants that `other` lacks.
    pub(super) fn constants(&self, other: &Side) -> bool {
        let constant = |graph: &Graph, v: VertexId| graph.vertex(v).constant().cloned();
        let theirs: Vec<Tensor> = other.graph.ids().filter_map(|v| constant(&other.graph, v)).collect();
        let mine = self.graph.ids().filter_map(|v| constant(&self.graph, v));
        mine.filter(|t| t.dtype().is_float())
            .any(|t| !theirs.iter().any(|u| u.same_bits(&t)))
    }
}

fn attr(value: &AttrValue, dims: &Dims) -> AttrValue {
    match value {
        AttrValue::Int(d) => AttrValue::Int(substituted(d, dims)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| substituted(d, dims)).collect()),
        other => other.clone(),
    }
}

/// True for opaque and nondeterministic operators, and for those declared without a body.
fn is_unknown(op: &Op) -> bool {
    match op {
        Op::Opaque(_) => true,
        Op::Known(def) => def.is_uninterpreted() || def.traits.contains(OpTraits::NONDETERMINISTIC),
    }
}

/// Replaces calls without a definition by inputs that both graphs share.
pub(super) fn cut(
    a: &mut Side,
    b: &mut Side,
    outputs: &mut Vec<String>,
    notes: &mut Vec<String>,
) -> Result<(), Unpaired> {
    let theirs = std::mem::take(&mut b.cuts);
    let mut free: Vec<Option<Cut>> = theirs.into_iter().map(Some).collect();
    let cuts = std::mem::take(&mut a.cuts);
    if cuts.is_empty() && free.is_empty() {
        return Ok(());
    }
    let count = cuts.len();
    let mut made = 0;
    for cut in cuts {
        let fits = |other: &Option<Cut>| other.as_ref().is_some_and(|o| o.key == cut.key);
        let named = free
            .iter()
            .position(|o| fits(o) && o.as_ref().is_some_and(|o| o.name.is_some() && o.name == cut.name));
        // A call without a counterpart either does not affect the results, or makes them differ.
        let Some(other) = named
            .or_else(|| free.iter().position(fits))
            .and_then(|i| free[i].take())
        else {
            replace(a, &cut, made);
            leave(b, a, cut.call, made);
            made += 1;
            continue;
        };
        let op = a.graph.vertex(cut.call).op().map_or_else(String::new, Op::name);
        for (j, (x, y)) in cut.operands.iter().zip(&other.operands).enumerate() {
            if matches!(a.graph.ty(*x), Type::Tensor(_)) {
                let name = format!("operand {j} of `{op}` {made}");
                a.graph.output(*x, Some(&name));
                b.graph.output(*y, Some(&name));
                outputs.push(name);
            }
        }
        replace(a, &cut, made);
        replace(b, &other, made);
        made += 1;
    }
    if let Some(more) = free.into_iter().flatten().next() {
        let op = b.graph.vertex(more.call).op().map_or_else(String::new, Op::name);
        return Err(Unpaired::Unknown(format!(
            "the original has no such call of `{op}`, which has no definition"
        )));
    }
    let calls = if count == 1 { "1 call has" } else { "calls have" };
    let number = if count == 1 { String::new() } else { format!("{count} ") };
    notes.push(format!(
        "{number}{calls} no definition: the operands are compared, and the results may be anything"
    ));
    Ok(())
}

/// Replaces a call by inputs.
fn replace(side: &mut Side, cut: &Cut, number: usize) {
    let ty = side.graph.ty(cut.call).clone();
    let new = match &ty {
        Type::Tuple(items) => {
            let parts: Vec<VertexId> = items
                .iter()
                .enumerate()
                .map(|(i, ty)| side.graph.input(&format!("result {i} of call {number}"), ty.clone()))
                .collect();
            side.graph.tuple(&parts)
        }
        single => side.graph.input(&format!("result of call {number}"), single.clone()),
    };
    side.graph.replace_uses(cut.call, new);
}

/// Adds the inputs that [`replace`] added to the other side, unused.
fn leave(side: &mut Side, other: &Side, call: VertexId, number: usize) {
    match other.graph.ty(call).clone() {
        Type::Tuple(items) => {
            for (i, ty) in items.into_iter().enumerate() {
                side.graph.input(&format!("result {i} of call {number}"), ty);
            }
        }
        single => {
            side.graph.input(&format!("result of call {number}"), single);
        }
    }
}
