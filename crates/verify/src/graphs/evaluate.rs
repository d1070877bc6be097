//! Evaluation of a graph at chosen dimensions.

use std::cell::Cell;

use rustc_hash::FxHashMap;

use crate::compare::uninterpreted::{is_defined, uninterpreted};
use crate::instance::extents::Extents;
use tautomer_graph::{Graph, Node, VertexId, evaluate_call_over, interpret_over};
use tautomer_op::{Fact, Field, Infer, Op, Value};
use tautomer_tensor::{Shape, Tensor, Type};

/// Computes the values of some vertices of a graph.
pub(super) type Evaluate<'a> = dyn Fn(&Graph, &[VertexId]) -> Result<Vec<Value<f64>>, String> + 'a;

/// Computes the values of some vertices by the reference definitions.
pub(crate) fn reference(graph: &Graph, roots: &[VertexId], leaves: &[Tensor]) -> Result<Vec<Value<f64>>, String> {
    let mut graph = graph.clone();
    graph.clear_outputs();
    roots.iter().for_each(|&v| graph.output(v, None));
    let places: FxHashMap<VertexId, usize> = graph.inputs().iter().enumerate().map(|(i, &v)| (v, i)).collect();
    let value = |v: VertexId| Value::from_tensor(leaves.get(*places.get(&v)?)?).ok();
    interpret_over::<f64>(&graph, &value).map_err(|e| e.to_string())
}

/// The results over the field, and the number of calls with boolean results among those that the field does not define.
/// Those are uninterpreted functions, others for each `salt`.
pub(super) fn over_field(graph: &Graph, leaves: &[Value<Field>], salt: u64) -> Option<(Vec<Value<Field>>, u32)> {
    let mut choices = 0;
    let mut values: FxHashMap<VertexId, Vec<Value<Field>>> = FxHashMap::default();
    values.extend(
        graph
            .inputs()
            .iter()
            .copied()
            .zip(leaves.iter().map(|leaf| vec![leaf.clone()])),
    );
    for v in graph.rpo() {
        let vertex = graph.vertex(v);
        let operands = graph.pred(v);
        let one = |u: &VertexId| values.get(u).and_then(|list| list.first()).cloned();
        let made = match &vertex.node {
            Node::Input | Node::Param => continue,
            Node::Absent => Vec::new(),
            Node::Const(value) => vec![Value::from_tensor(value).ok()?],
            Node::Tuple => operands.iter().map(one).collect::<Option<_>>()?,
            Node::Proj(i) => vec![values.get(&operands[0])?.get(*i as usize)?.clone()],
            Node::Call { op: Op::Opaque(_), .. } => return None,
            Node::Call {
                op: op @ Op::Known(def),
                attrs,
            } => {
                let given: Vec<Option<Value<Field>>> = operands.iter().map(one).collect();
                let ty = |(u, value): (&VertexId, &Option<Value<Field>>)| match (value, graph.ty(*u).as_tensor()) {
                    (Some(value), Some(ty)) => Type::tensor(ty.dtype, Shape::from(value.shape())),
                    _ => Type::Absent,
                };
                let types: Vec<Type> = operands.iter().zip(&given).map(ty).collect();
                match evaluate_call_over::<Field>(op, &given, &types, attrs) {
                    Ok(values) if values.iter().all(is_defined) => values,
                    _ => {
                        let made = uninterpreted(def, attrs, &given, &vertex.ty, salt)?;
                        choices += u32::from(made.iter().any(|value| matches!(value, Value::Bool(_))));
                        made
                    }
                }
            }
        };
        values.insert(v, made);
    }
    let outputs = graph.outputs().iter();
    let outputs: Option<_> = outputs.map(|o| values.get(&o.vertex)?.first().cloned()).collect();
    Some((outputs?, choices))
}

/// The graph with its dimensions replaced by numbers.
pub(super) fn bound(graph: &Graph, extents: &Extents) -> Graph {
    bound_places(graph, extents).0
}

/// The graph with its dimensions replaced by numbers, and the vertex there for each that a result needs.
pub(crate) fn bound_places(graph: &Graph, extents: &Extents) -> (Graph, FxHashMap<VertexId, VertexId>) {
    let mut out = Graph::new();
    let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
    // The order of the inputs has to stay the same.
    for v in graph.inputs().iter().copied().chain(graph.rpo()) {
        if places.contains_key(&v) {
            continue;
        }
        let mut vertex = graph.vertex(v).clone();
        vertex.ty = extents.ty(&vertex.ty);
        let operands: Vec<VertexId> = graph.pred(v).iter().map(|u| places[u]).collect();
        let new = match &mut vertex.node {
            Node::Input => out.input(vertex.name.as_deref().unwrap_or(""), vertex.ty),
            Node::Call { attrs, .. } => {
                *attrs = attrs.iter().map(|a| extents.attr(a)).collect();
                out.push(vertex, &operands)
            }
            _ => out.push(vertex, &operands),
        };
        places.insert(v, new);
    }
    for output in graph.outputs() {
        out.output(places[&output.vertex], output.name.as_deref());
    }
    (out, places)
}

/// The number of operations of one call, according to the cost of its operator.
pub(crate) fn work(graph: &Graph, v: VertexId) -> u64 {
    let Node::Call {
        op: Op::Known(def),
        attrs,
    } = &graph.vertex(v).node
    else {
        return 0;
    };
    let operands = graph.pred(v);
    let facts: Vec<Fact<'_>> = operands.iter().map(|&u| graph.fact(u)).collect();
    let fresh = Cell::new(u32::MAX / 2);
    let call = Infer {
        def,
        operands: &facts,
        attrs,
        fresh: &fresh,
    };
    let cost = def.cost.apply(&call, graph.ty(v));
    (cost.flops + cost.bytes / 4.0).clamp(0.0, 1e18) as u64
}
