//! Dimensions of inputs that may always be equal, though a model does not say so.
//!
//! Exporters often lose which dimensions of inputs are equal: a mask of type `f32[b, n]` is then applied to tokens of
//! type `i64[a, m]`. One of two dimensions that are broadcast may be 1, and an axis that is indexed by all positions of
//! another may be longer, which forbids many rewrites.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use indexmap::IndexMap;

use super::shape::with_shapes;
use crate::graph::{Graph, Node, VertexId};
use crate::op::{Op, OpTraits, Semantics, ShapeRule};
use crate::tensor::{Atom, Dim, Shape, Type};

/// Dimensions of inputs that meet others, and shapes of the inputs in which they are equal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EqualDims {
    /// The dimensions, in pairs: a name, and what may be equal to it.
    pub pairs: Vec<(String, String)>,
    /// The arguments of `--shape` that make each pair equal.
    pub shapes: Vec<String>,
}

/// How often pairs are looked for in the graph where those found before are equal.
const ROUNDS: usize = 4;

/// The named dimensions of inputs that are broadcast against others, or indexed by their positions.
pub(super) fn equal_dims(graph: &Graph) -> EqualDims {
    let mut found = EqualDims::default();
    let mut equal = graph.clone();
    for _ in 0..ROUNDS {
        let mut changed = false;
        for (name, dim) in pairs(&equal) {
            let shapes = reshaped(&equal, &name, &dim);
            // A pair that cannot be equal, for instance because of a constant, says nothing about the others.
            if let Ok(next) = with_shapes(&equal, &shapes) {
                found.pairs.push((name.to_string(), dim.to_string()));
                (equal, changed) = (next, true);
            }
        }
        if !changed {
            break;
        }
    }
    let changed = |i: usize| graph.ty(graph.inputs()[i]) != equal.ty(equal.inputs()[i]);
    found.shapes = (0..graph.inputs().len())
        .filter(|&i| changed(i))
        .filter_map(|i| argument(&equal, i))
        .collect();
    found
}

/// The symbols that meet another dimension of inputs, and that dimension.
fn pairs(graph: &Graph) -> IndexMap<Arc<str>, Dim> {
    let order = symbols(graph);
    let mut out: IndexMap<Arc<str>, Dim> = IndexMap::new();
    let mut used: BTreeSet<Arc<str>> = BTreeSet::new();
    for v in graph.rpo() {
        for (a, b) in met(graph, v) {
            let Some((name, value)) = solved(&a, &b, &order) else {
                continue;
            };
            let parts = parts(&value);
            // What one pair replaces is left alone by all others, which are found in the next round.
            let free = !used.contains(&name) && !parts.iter().any(|part| out.contains_key(part));
            if free && !out.contains_key(&name) {
                used.extend(parts);
                out.insert(name, value);
            }
        }
    }
    out
}

/// The equation of two dimensions, solved for a name of which one of them consists, or else for one that occurs in it
/// once: the name that occurs last in the inputs.
fn solved(a: &Dim, b: &Dim, order: &BTreeMap<Arc<str>, usize>) -> Option<(Arc<str>, Dim)> {
    let difference = a.clone() - b.clone();
    let mut candidates: Vec<(bool, usize, Arc<str>, i64)> = Vec::new();
    for (product, factor) in difference.terms() {
        match &*product {
            [] => {}
            [Atom::Symbol(name)] if factor.abs() == 1 => {
                let alone = [a, b].iter().any(|dim| dim.as_symbol() == Some(name));
                candidates.push((alone, *order.get(name)?, name.clone(), factor));
            }
            [Atom::Symbol(name)] if order.contains_key(name) => {}
            _ => return None,
        }
    }
    let (_, _, name, factor) = candidates.into_iter().max()?;
    // `name * factor + rest = 0`
    let rest = difference - Dim::symbol(&name) * Dim::Const(factor);
    let value = rest * Dim::Const(-factor);
    (!parts(&value).is_empty()).then_some((name, value))
}

/// The names in a dimension.
fn parts(dim: &Dim) -> BTreeSet<Arc<str>> {
    let mut parts = BTreeSet::new();
    dim.visit_atoms(&mut |atom| {
        if let Atom::Symbol(name) = atom {
            parts.insert(name.clone());
        }
    });
    parts
}

/// The names that are dimensions of inputs, and when they first occur.
fn symbols(graph: &Graph) -> BTreeMap<Arc<str>, usize> {
    let mut order = BTreeMap::new();
    for &v in graph.inputs() {
        graph.ty(v).visit_dims(&mut |dim| {
            if let Some(Atom::Symbol(name)) = dim.as_atom() {
                let next = order.len();
                order.entry(name.clone()).or_insert(next);
            }
        });
    }
    order
}

/// The dimensions that meet in a call.
fn met(graph: &Graph, v: VertexId) -> Vec<(Dim, Dim)> {
    let Node::Call { op: Op::Known(def), .. } = &graph.vertex(v).node else {
        return Vec::new();
    };
    let moves = matches!(def.semantics, Semantics::Movement(_));
    match def.shapes {
        ShapeRule::Reshape => renamed(graph, v).into_iter().collect(),
        ShapeRule::MatrixProduct => broadcast(graph, v).into_iter().chain(contracted(graph, v)).collect(),
        _ if moves && def.operand(1).is_some_and(|operand| operand.name == "indices") => {
            // Without an axis, an index is a list of positions along the first axes.
            let along_one = def.attrs.iter().any(|attr| attr.name == "axis");
            indexed(graph, v, along_one).unwrap_or_default()
        }
        _ => broadcast(graph, v),
    }
}

/// The dimensions of operands that a call broadcasts against each other without knowing that they are equal.
fn broadcast(graph: &Graph, v: VertexId) -> Vec<(Dim, Dim)> {
    let mut out = Vec::new();
    graph.ty(v).visit_dims(&mut |dim| {
        if let Some(Atom::Max(a, b)) = dim.as_atom() {
            let has = |wanted: &Dim| {
                let mut has = false;
                for operand in graph.pred(v) {
                    graph.ty(operand).visit_dims(&mut |d| has |= d == wanted);
                }
                has
            };
            if has(a) && has(b) {
                out.push((a.clone(), b.clone()));
            }
        }
    });
    out
}

/// The shape of an operand, if it is a tensor of known rank.
fn shape(graph: &Graph, v: VertexId, operand: usize) -> Option<&Shape> {
    graph.ty(*graph.pred(v).get(operand)?).as_tensor()?.shape.as_ref()
}

/// The dimensions that a matrix product sums over.
fn contracted(graph: &Graph, v: VertexId) -> Option<(Dim, Dim)> {
    let (a, b) = (shape(graph, v, 0)?, shape(graph, v, 1)?);
    Some((a.last()?.clone(), b[b.len().checked_sub(2)?].clone()))
}

/// The dimensions of an operand that a call indexes, and those by whose positions it does so.
fn indexed(graph: &Graph, v: VertexId, along_one: bool) -> Option<Vec<(Dim, Dim)>> {
    let (data, places) = (shape(graph, v, 0)?, shape(graph, v, 1)?);
    let indices = *graph.pred(v).get(1)?;
    // An index has a number for each of the first axes.
    let axes = match places.last() {
        Some(last) if !along_one => data.get(..usize::try_from(last.as_const()?).ok()?)?,
        _ => data,
    };
    // These numbers may come from one value for each axis.
    let joined =
        matches!(&graph.vertex(indices).node, Node::Call { op: Op::Known(def), .. } if def.shapes == ShapeRule::Concat);
    let numbers = graph.pred(indices);
    if !along_one && joined && numbers.len() == axes.len() {
        let pair = |(axis, &value): (&Dim, &VertexId)| Some((axis.clone(), counted(graph, value).pop()?));
        return Some(axes.iter().zip(numbers.iter()).filter_map(pair).collect());
    }
    let positions = counted(graph, indices);
    // Positions along two axes may be made positions along one: `row * width + column`.
    let named: Vec<&Dim> = axes.iter().filter(|axis| axis.as_const().is_none()).collect();
    if let ([a, b], [axis]) = (positions.as_slice(), named.as_slice()) {
        let width = |rows: &Dim| axis.exact_div(rows).filter(|_| rows.as_const().is_none());
        let pair = width(a).map(|width| (width, b.clone()));
        return pair.or_else(|| Some((width(b)?, a.clone()))).map(|pair| vec![pair]);
    }
    // Of several axes, all but one are indexed by positions of their own dimension.
    let rest = |own: &[Dim], others: &[Dim]| {
        let mut rest = own.iter().filter(|d| d.as_const().is_none() && !others.contains(d));
        let only = rest.next()?.clone();
        rest.all(|d| *d == only).then_some(only)
    };
    Some(vec![(rest(axes, &positions)?, rest(&positions, axes)?)])
}

/// The dimension of an axis, and the name of a dimension of another value that a reshape gives to it.
fn renamed(graph: &Graph, v: VertexId) -> Option<(Dim, Dim)> {
    let (old, new) = (shape(graph, v, 0)?, graph.ty(v).as_tensor()?.shape.as_ref()?);
    let (a, b) = old.iter().zip(new.iter()).find(|(a, b)| a != b)?;
    let named = a.as_symbol().is_some() && b.as_symbol().is_some() && !old.contains(b);
    named.then(|| (a.clone(), b.clone()))
}

/// The dimensions whose positions, counted from 0, are moved to this value or computed with, each once.
fn counted(graph: &Graph, value: VertexId) -> Vec<Dim> {
    let mut found = Vec::new();
    let (mut rest, mut seen) = (vec![value], BTreeSet::from([value]));
    while let Some(v) = rest.pop() {
        let Node::Call { op: Op::Known(def), .. } = &graph.vertex(v).node else {
            continue;
        };
        if def.counts {
            graph.ty(v).visit_dims(&mut |dim| {
                if !found.contains(dim) {
                    found.push(dim.clone());
                }
            });
        } else if matches!(def.semantics, Semantics::Movement(_)) || def.traits.contains(OpTraits::ELEMENTWISE) {
            rest.extend(graph.pred(v).iter().copied().filter(|&operand| seen.insert(operand)));
        }
    }
    found
}

/// The arguments of `--shape` for the inputs that have a named dimension, with its value instead.
fn reshaped(graph: &Graph, name: &str, value: &Dim) -> Vec<String> {
    let value = |dim: &Dim| (dim.as_symbol() == Some(name)).then(|| value.clone());
    (0..graph.inputs().len())
        .filter_map(|i| {
            let Type::Tensor(ty) = graph.ty(graph.inputs()[i]) else {
                return None;
            };
            let old = ty.shape.as_ref()?;
            let new: Shape = old.iter().map(|d| value(d).unwrap_or_else(|| d.clone())).collect();
            (new != *old).then(|| written(graph, i, &new))
        })
        .collect()
}

/// The shape of an input, as `--shape` reads it.
fn argument(graph: &Graph, i: usize) -> Option<String> {
    let Type::Tensor(ty) = graph.ty(graph.inputs()[i]) else {
        return None;
    };
    Some(written(graph, i, ty.shape.as_ref()?))
}

fn written(graph: &Graph, i: usize, shape: &Shape) -> String {
    let dims: Vec<String> = (shape.iter())
        .map(|d| {
            if d.has_unknown() {
                "?".to_owned()
            } else {
                d.to_string().replace(' ', "")
            }
        })
        .collect();
    format!("{}={}", super::input_name(graph, i), dims.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    fn found(text: &str) -> EqualDims {
        equal_dims(&Model::from_text("test", text).unwrap().workload.graph)
    }

    #[test]
    fn dimensions_that_are_broadcast_are_found() {
        let dims = found("fn main(x: f32[a, n], mask: f32[b, m], z: f32[c]) { (x + mask, relu(z)) }");
        assert_eq!(dims.pairs, [("b".into(), "a".into()), ("m".into(), "n".into())]);
        assert_eq!(dims.shapes, ["mask=a,n"]);
        let all = dims.shapes.clone();
        let graph = Model::from_text("test", "fn main(x: f32[a, n], mask: f32[b, m]) { x + mask }").unwrap();
        assert_eq!(
            equal_dims(&with_shapes(&graph.workload.graph, &all).unwrap()),
            EqualDims::default()
        );
    }

    #[test]
    fn a_name_may_be_equal_to_a_sum() {
        let dims = found("fn main(past: f32[p], now: f32[1], mask: f32[t]) { concat(past, now) {axis = 0} + mask }");
        assert_eq!(dims.pairs, [("t".into(), "p + 1".into())]);
        assert_eq!(dims.shapes, ["mask=p+1"]);
    }

    #[test]
    fn pairs_follow_from_pairs() {
        let dims = found("fn main(x: f32[a], y: f32[b], z: f32[c]) { (y + z, (x + y) + z) }");
        assert_eq!(dims.shapes, ["y=a", "z=a"]);
    }

    #[test]
    fn dimensions_indexed_by_positions_of_others_are_found() {
        let dims = found(
            "fn main(x: i64[a, n], mask: bool[b, n]) {
               let i = range(0, squeeze(shape(x) {end = 1}), 1);
               (x, gather_nd(mask, unsqueeze(i) {axes = [1]}))
             }",
        );
        assert_eq!(dims.shapes, ["mask=a,n"]);
    }

    #[test]
    fn dimensions_indexed_by_rows_and_columns_are_found() {
        let dims = found(
            "fn main(x: i64[a, n], mask: bool[a, m]) {
               let rows = unsqueeze(range(0, squeeze(shape(x) {end = 1}), 1)) {axes = [1]};
               let columns = range(0, squeeze(shape(x) {start = 1}), 1);
               gather(flatten(mask) {axis = 2}, rows * squeeze(shape(mask) {start = 1}) + columns)
             }",
        );
        assert_eq!(dims.shapes, ["mask=a,n"]);
    }

    #[test]
    fn dimensions_that_a_reshape_names_are_found() {
        let dims = found("fn main(x: f32[a, n], mask: f32[b, m]) { x + reshape(mask) {shape = [a, -1]} }");
        assert_eq!(dims.shapes, ["mask=a,n"]);
        assert_eq!(
            found("fn main(x: f32[n, m]) { reshape(x) {shape = [m, n]} }"),
            EqualDims::default()
        );
    }

    #[test]
    fn dimensions_that_are_summed_over_are_found() {
        let dims = found(
            "fn main(x: f32[a, n], y: f32[m, b], z: f32[a, 1], w: f32[1, b]) {
               matmul(concat(x, z) {axis = 1}, concat(y, w) {axis = 0})
             }",
        );
        assert_eq!(dims.shapes, ["y=n,b"]);
    }

    #[test]
    fn equal_dimensions_and_numbers_are_left_alone() {
        assert_eq!(
            found("fn main(x: f32[n, 1], y: f32[n, m]) { x + y }"),
            EqualDims::default()
        );
        assert_eq!(
            found("fn main(x: f32[a], y: f32[b]) { concat(x, y) {axis = 0} }"),
            EqualDims::default()
        );
    }
}
