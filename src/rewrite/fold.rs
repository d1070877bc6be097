//! What depends on parameters and constants alone, computed ahead of time.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

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

/// Uniform results above this many elements stay a fill instead of being written out.
const FILL_LIMIT: usize = 1024;

/// Replaces every maximal static expression by its value: a constant if it is small, else a new parameter.
///
/// A large result all elements of which are equal stays a fill (`constant_of_shape`), which costs nothing to store.
/// Parameters whose values are not given stop folding where they are used.
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
            Node::Call { op: Op::Opaque(_), .. } => false,
            // What has a symbolic extent is known when the graph runs.
            Node::Call { op: Op::Known(def), attrs } => {
                !def.traits.contains(OpTraits::NONDETERMINISTIC) && attrs.iter().all(is_known)
            }
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
    let (fill, frontier): (Vec<VertexId>, Vec<VertexId>) = frontier
        .into_iter()
        .partition(|v| fills.contains_key(v) && is_large(graph.ty(*v)));
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
        .filter_map(|&v| graph.vertex(v).name.clone())
        .collect();
    workload.params.retain(|name, _| used.contains(name));
    Ok(report)
}

fn is_known(attr: &AttrValue) -> bool {
    match attr {
        AttrValue::Int(d) => d.as_const().is_some(),
        AttrValue::Ints(list) => list.iter().all(|d| d.as_const().is_some()),
        _ => true,
    }
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

fn is_large(ty: &Type) -> bool {
    let shape = ty.as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete());
    shape.is_some_and(|s| s.iter().fold(1usize, |n, &d| n.saturating_mul(d)) > FILL_LIMIT)
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
