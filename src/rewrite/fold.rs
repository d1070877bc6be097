//! What depends on parameters and constants alone, computed ahead of time.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::enode::may_be_folded;
use crate::graph::{Graph, InterpretError, Node, Params, VertexId, Workload, evaluate_call, interpret_vertices};
use crate::op::{AttrValue, Op, OpTraits, lookup};
use crate::tensor::{Tensor, Type};

/// What folding did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FoldReport {
    /// Values computed ahead of time.
    pub folded: usize,
    /// Values left to run time because the result would be much larger than what it is made from.
    pub kept: usize,
}

/// A constant up to this size stays in the graph; a larger one becomes a parameter.
const CONSTANT_LIMIT: usize = 16;

/// Uniform results of at most this many bytes are always written out.
const FILL_LIMIT: u64 = 4 << 10;

/// Larger ones are written out, smallest first, while all of them together have at most this many bytes; the rest stay
/// fills, which are computed at each run but cost nothing to store.
const FILLS_LIMIT: u64 = 48 << 20;

/// Replaces every maximal static expression by its value: a constant if it is small, else a new parameter.
///
/// Results all elements of which are equal are written out, smallest first, as long as they have 48 MiB together; a
/// larger one stays a fill (`constant_of_shape`), which costs nothing to store. Parameters whose values are not given stop folding where they are used.
///
/// # Errors
/// If an expression cannot be evaluated.
pub fn fold_static(workload: &mut Workload) -> Result<FoldReport, InterpretError> {
    let graph = &workload.graph;
    let order = graph.rpo();
    let mut is_static: FxHashSet<VertexId> = FxHashSet::default();
    for &v in &order {
        let vertex = graph.vertex(v);
        let own = match &vertex.node {
            Node::Input | Node::Absent => false,
            Node::Param => vertex.name.as_ref().is_some_and(|n| workload.params.contains_key(n)),
            Node::Const(_) => true,
            Node::Call { op, attrs } => may_be_folded(op, attrs),
            Node::Tuple | Node::Proj(_) => true,
        };
        let absent = |u: &VertexId| matches!(graph.vertex(*u).node, Node::Absent);
        if own && graph.pred(v).iter().all(|u| is_static.contains(u) || absent(u)) {
            is_static.insert(v);
        }
    }
    let succ = graph.succ_all();
    let outputs: FxHashSet<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    let frontier: Vec<VertexId> = order
        .iter()
        .copied()
        .filter(|v| {
            is_static.contains(v)
                && matches!(graph.vertex(*v).node, Node::Call { .. } | Node::Proj(_))
                && matches!(graph.ty(*v), Type::Tensor(_))
                && (outputs.contains(v) || succ[v].iter().any(|u| !is_static.contains(u)))
        })
        .collect();
    if frontier.is_empty() {
        return Ok(FoldReport::default());
    }
    let fills = uniform(graph, &order, &is_static, &workload.params);
    let left = left_as_fills(graph, &frontier, &fills);
    let (fill, frontier): (Vec<VertexId>, Vec<VertexId>) = frontier.into_iter().partition(|v| left.contains(v));
    let params = &workload.params;
    let values = interpret_vertices(
        graph,
        &|v| graph.vertex(v).name.as_ref().and_then(|name| params.get(name)).cloned(),
        &frontier,
    )?;
    let mut report = FoldReport::default();
    let mut taken: FxHashMap<Arc<str>, usize> = graph
        .ids()
        .filter_map(|v| Some((graph.vertex(v).name.clone()?, 1)))
        .collect();
    let graph = &mut workload.graph;
    for v in fill {
        if !is_fill(graph, v) {
            become_fill(graph, v, &fills[&v]);
        }
        report.kept += 1;
    }
    for (v, value) in frontier.into_iter().zip(values) {
        report.folded += 1;
        if value.len() <= CONSTANT_LIMIT {
            graph.become_leaf(v, Node::Const(value), None);
            continue;
        }
        let name = match graph.vertex(v).name.clone() {
            Some(name) => name,
            None => fresh_name(&mut taken),
        };
        workload.params.insert(name.clone(), value);
        graph.become_leaf(v, Node::Param, Some(name));
    }
    graph.retain_reachable();
    let used: FxHashSet<Arc<str>> = graph
        .params()
        .iter()
        .chain(graph.inputs())
        .filter_map(|&v| graph.vertex(v).name.clone())
        .collect();
    workload.params.retain(|name, _| used.contains(name));
    Ok(report)
}

fn fresh_name(taken: &mut FxHashMap<Arc<str>, usize>) -> Arc<str> {
    let mut i = taken.len();
    loop {
        let name: Arc<str> = format!("folded_{i}").into();
        if !taken.contains_key(&name) {
            taken.insert(name.clone(), 1);
            return name;
        }
        i += 1;
    }
}

fn is_fill(graph: &Graph, v: VertexId) -> bool {
    graph.vertex(v).op().is_some_and(|op| op.is("constant_of_shape")) && graph.arity(v) == 0
}

/// The uniform values that are not written out.
fn left_as_fills(graph: &Graph, values: &[VertexId], fills: &FxHashMap<VertexId, Tensor>) -> FxHashSet<VertexId> {
    let mut large: Vec<(u64, VertexId)> = values
        .iter()
        .filter(|v| fills.contains_key(v))
        .filter_map(|&v| Some((bytes(graph.ty(v))?, v)))
        .filter(|(bytes, _)| *bytes > FILL_LIMIT)
        .collect();
    // Stable: equal sizes stay in the order of the graph.
    large.sort_by_key(|(bytes, _)| *bytes);
    let mut total = 0u64;
    large.retain(|(bytes, _)| {
        total = total.saturating_add(*bytes);
        total > FILLS_LIMIT
    });
    large.into_iter().map(|(_, v)| v).collect()
}

fn bytes(ty: &Type) -> Option<u64> {
    let tensor = ty.as_tensor()?;
    let shape = tensor.shape.as_ref()?.to_concrete()?;
    let size = |n: u64, &d: &usize| n.saturating_mul(d as u64);
    Some(shape.iter().fold(tensor.dtype.size() as u64, size))
}

/// Static vertices all elements of which are known to be equal, with that element; found without computing them.
fn uniform(
    graph: &Graph,
    order: &[VertexId],
    is_static: &FxHashSet<VertexId>,
    params: &Params,
) -> FxHashMap<VertexId, Tensor> {
    let mut out: FxHashMap<VertexId, Tensor> = FxHashMap::default();
    for &v in order.iter().filter(|v| is_static.contains(v)) {
        let vertex = graph.vertex(v);
        let given = |t: &Tensor| t.is_uniform().then(|| t.first()).flatten();
        let element = match &vertex.node {
            Node::Const(value) => given(value),
            Node::Param => vertex.name.as_ref().and_then(|n| params.get(n)).and_then(given),
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => {
                let operands = graph.pred(v);
                let elements: Option<Vec<Option<Tensor>>> =
                    operands.iter().map(|u| out.get(u).cloned().map(Some)).collect();
                if is_fill(graph, v) {
                    def.attr_index("value").and_then(|i| match &attrs[i] {
                        AttrValue::Tensor(t) => t.first(),
                        _ => Some(Tensor::scalar(0.0f32)),
                    })
                } else if def.traits.contains(OpTraits::ELEMENTWISE) && matches!(vertex.ty, Type::Tensor(_)) {
                    elements
                        .and_then(|e| evaluate_call(&Op::Known(def), &e, attrs).ok())
                        .and_then(|mut r| r.pop())
                        .and_then(|t| t.first())
                } else if def.traits.contains(OpTraits::MOVEMENT.and(OpTraits::LINEAR)) && operands.len() == 1 {
                    elements.and_then(|mut e| e.pop().flatten())
                } else {
                    None
                }
            }
            _ => None,
        };
        out.extend(element.map(|e| (v, e)));
    }
    out
}

/// Turns `v` into `constant_of_shape() {shape, value}`.
fn become_fill(graph: &mut Graph, v: VertexId, element: &Tensor) {
    let Some(shape) = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete()) else {
        return;
    };
    let shape: Vec<i64> = shape.into_iter().map(|d| d as i64).collect();
    let attrs = [
        ("shape", AttrValue::ints(&shape)),
        ("value", AttrValue::Tensor(element.clone())),
    ];
    let Some(def) = lookup("constant_of_shape") else { return };
    // The operator takes its shape as an attribute; if it ever should not, the expression stays as it is.
    if let Ok(fill) = graph.call(Op::Known(def), &[], &attrs) {
        let name = graph.vertex(v).name.clone();
        graph.replace_uses(v, fill);
        graph.vertex_mut(fill).name = name;
    }
}
