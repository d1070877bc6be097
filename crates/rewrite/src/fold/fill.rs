//! Values with all elements equal, which take no bytes as fills.

use rustc_hash::{FxHashMap, FxHashSet};

use tautomer_graph::{Graph, Node, Params, VertexId, evaluate_call};
use tautomer_op::{AttrValue, Op, OpTraits, known, lookup};
use tautomer_tensor::{DType, Tensor};

/// Static vertices whose elements are known to be all equal, with that element; found without computing them.
pub(super) fn uniform(
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
                } else if vertex.ty.as_tensor().is_none_or(|t| t.dtype == DType::Utf8) {
                    // A string may be as long as all its operands together.
                    None
                } else if def.traits.contains(OpTraits::ELEMENTWISE) {
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
pub(super) fn become_fill(graph: &mut Graph, v: VertexId, element: &Tensor) {
    let Some(shape) = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete()) else {
        return;
    };
    let shape: Vec<i64> = shape.into_iter().map(|d| d as i64).collect();
    let attrs = [
        ("shape", AttrValue::ints(&shape)),
        ("value", AttrValue::Tensor(element.clone())),
    ];
    let Some(def) = lookup(known::CONSTANT_OF_SHAPE) else {
        return;
    };
    // The operator takes its shape as an attribute; otherwise the expression is left unchanged.
    if let Ok(fill) = graph.call(Op::Known(def), &[], &attrs) {
        let name = graph.vertex(v).name.clone();
        graph.replace_uses(v, fill);
        graph.vertex_mut(fill).name = name;
    }
}

/// True for a fill of a known shape.
pub(super) fn is_fill(graph: &Graph, v: VertexId) -> bool {
    graph.vertex(v).op().is_some_and(|op| op.is("constant_of_shape")) && graph.arity(v) == 0
}
