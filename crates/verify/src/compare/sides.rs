//! The two sides of a rule at an instance, as graphs.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::data;
use super::element::{ElementMismatch, discrete_mismatch};
use super::finding::{Fault, Mismatch};
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::Value;
use tautomer_rewrite::Sides;
use tautomer_tensor::{DType, Type};

/// True if some leaf has real elements.
pub(crate) fn has_real_inputs(sides: &Sides) -> bool {
    let graph = &sides.graph;
    data::leaves(graph).any(|v| graph.ty(v).as_tensor().is_some_and(|t| t.dtype.is_float()))
}

/// True if a result is a floating-point number.
pub(super) fn has_real_outputs(sides: &Sides) -> bool {
    let is_real = |v: &VertexId| sides.graph.ty(*v).as_tensor().is_some_and(|t| t.dtype.is_float());
    sides.source.iter().any(is_real)
}

/// The sides with each element of a tuple output as a separate output, if any output is a tuple.
pub(super) fn without_tuples(sides: &Sides) -> Option<Sides> {
    let target = sides.target.as_ref().ok()?;
    let count = |v: VertexId| match sides.graph.ty(v) {
        Type::Tuple(items) => Some(items.len()),
        _ => None,
    };
    if sides.source.iter().all(|v| count(*v).is_none()) || !sides.types_agree() {
        return None;
    }
    let mut graph = sides.graph.clone();
    let (mut source, mut parts) = (Vec::new(), Vec::new());
    for (&a, &b) in sides.source.iter().zip(target) {
        for i in 0..count(a).unwrap_or(0) {
            source.push(graph.project(a, i).ok()?);
            parts.push(graph.project(b, i).ok()?);
        }
        if count(a).is_none() {
            source.push(a);
            parts.push(b);
        }
    }
    Some(Sides {
        graph,
        source,
        inputs: sides.inputs.clone(),
        bound: sides.bound.clone(),
        target: Ok(parts),
        watched: sides.watched.clone(),
    })
}

/// The difference in type at an instance where no engine applies the rule.
pub(crate) fn type_mismatch(sides: &Sides) -> Mismatch {
    let ty = |v: &VertexId| sides.graph.ty(*v);
    let text = |list: &[VertexId], i: usize| list.get(i).map_or_else(String::new, |v| ty(v).to_string());
    let (output, found) = match &sides.target {
        Ok(target) => {
            let differs = |(a, b): (&VertexId, &VertexId)| ty(a) != ty(b);
            let output = sides.source.iter().zip(target).position(differs).unwrap_or(0);
            (output, text(target, output))
        }
        Err(problems) => {
            let problem = problems.iter().next();
            (
                0,
                problem.map_or_else(String::new, |p| format!("nothing: {}", p.message)),
            )
        }
    };
    Mismatch {
        fault: Fault::Types,
        output,
        at: ElementMismatch::of_wholes(text(&sides.source, output), found),
        values: data::Values::default(),
    }
}

/// The first element that differs, in values of an output that are not real.
pub(super) fn output_mismatch<S: std::fmt::Debug>(
    sides: &Sides,
    output: usize,
    a: &Value<S>,
    b: &Value<S>,
) -> Option<ElementMismatch> {
    let dtype = match sides.source.get(output).map(|v| sides.graph.ty(*v)) {
        Some(Type::Tensor(t)) => t.dtype,
        _ => DType::F32,
    };
    discrete_mismatch(dtype, a, b)
}

/// The graph with a different name for each leaf: members of a comprehension share one name.
pub(crate) fn with_own_names(graph: &Graph) -> Graph {
    let mut out = graph.clone();
    let mut taken: FxHashSet<Arc<str>> = FxHashSet::default();
    for v in data::leaves(graph) {
        let name = graph.vertex(v).name.clone().unwrap_or_else(|| "x".into());
        let numbered = (1..).map(|i| format!("{name}{i}").into());
        let free = std::iter::once(name.clone())
            .chain(numbered)
            .find(|n| !taken.contains(n));
        let name = free.unwrap_or(name);
        taken.insert(name.clone());
        out.vertex_mut(v).name = Some(name);
    }
    out
}

/// The graph of one side, as a separate program.
pub(crate) fn one_side(graph: &Graph, roots: &[VertexId]) -> Graph {
    let mut graph = graph.clone();
    graph.clear_outputs();
    for &root in roots {
        graph.output(root, None);
    }
    graph.retain_reachable();
    graph
}

/// The graph with its inputs turned into parameters.
pub(crate) fn without_inputs(graph: &Graph) -> Graph {
    let mut out = Graph::new();
    let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
    for v in graph.rpo() {
        let vertex = graph.vertex(v);
        let copy = match (&vertex.node, &vertex.name) {
            (Node::Input | Node::Param, Some(name)) => out.param(name, vertex.ty.clone()),
            _ => {
                let operands: Vec<VertexId> = graph.pred(v).iter().map(|u| places[u]).collect();
                out.push(vertex.clone(), &operands)
            }
        };
        places.insert(v, copy);
    }
    for output in graph.outputs() {
        out.output(places[&output.vertex], output.name.as_deref());
    }
    out
}
