//! The part of two graphs in which they differ, cut out as two graphs with shared operands.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::{FxHashMap, FxHashSet};

use super::matched::Matched;
use crate::graphs::Pair;
use tautomer_graph::{Graph, Node, Vertex, VertexId, same_graph};
use tautomer_tensor::Tensor;

/// The most calls on one side of a region.
const CALLS: usize = 64;

/// The names of the first variables; further ones are numbered.
const NAMES: [&str; 8] = ["x", "y", "z", "w", "v", "u", "a", "b"];

/// A part of the original and the part of the optimized graph that replaces it, both with the same inputs.
#[derive(Debug, Clone)]
pub(super) struct Region {
    pub(super) source: Graph,
    pub(super) target: Graph,
    /// The computed values of the original at which it ends.
    pub(super) ends: Vec<VertexId>,
}

impl Region {
    /// The calls on each side.
    pub(super) fn calls(&self) -> [usize; 2] {
        [&self.source, &self.target].map(|graph| {
            let is_call = |v: &VertexId| graph.vertex(*v).op().is_some();
            graph.rpo().iter().filter(|v| is_call(v)).count()
        })
    }

    /// True if the other region computes the same on both sides, from inputs of the same types.
    pub(super) fn is_same(&self, other: &Region) -> bool {
        same_graph(&self.source, &other.source).is_ok() && same_graph(&self.target, &other.target).is_ok()
    }

    /// The only value of one side.
    pub(super) fn root(graph: &Graph) -> Option<VertexId> {
        graph.outputs().first().map(|output| output.vertex)
    }
}

/// The number that all elements of a constant are.
pub(super) fn number(value: &Tensor) -> Option<f64> {
    let elements = match (value.to_f64s(), value.to_ints()) {
        (Some(elements), _) => elements,
        (None, Some(ints)) => ints.into_iter().map(|i| i as f64).collect(),
        _ => return None,
    };
    let (first, rest) = elements.split_first()?;
    (first.is_finite() && rest.iter().all(|e| e.to_bits() == first.to_bits())).then_some(*first)
}

/// The region in which `old` of the original is `new` of the optimized graph: it ends at values that both compute,
/// except those in `past`.
///
/// # Errors
/// If it cannot be written as a rule, the reason.
pub(super) fn cut(
    pair: &Pair,
    matched: &Matched,
    (old, new): (VertexId, VertexId),
    past: &FxHashSet<VertexId>,
) -> Result<Region, String> {
    let above: FxHashSet<VertexId> = pair
        .original
        .rpo_from([old])
        .into_iter()
        .filter(|v| *v != old)
        .collect();
    // Where the target stops: at values that the original computes on the way to `old`.
    let shared = |v: VertexId| matched.partner(v, &|u| above.contains(&u) && !past.contains(&u));
    let target = Side::below(&pair.optimized, new, &|v| shared(v).is_some())?;
    if let Some(v) = target.stops.keys().find(|v| shared(**v).is_none()) {
        let graph = &pair.optimized;
        return Err(match (&graph.vertex(*v).node, &graph.vertex(*v).name) {
            (Node::Const(value), _) => format!(
                "the optimized model holds a constant {} that was computed ahead of time",
                value.ty()
            ),
            (_, Some(name)) => format!("the optimized model reads `{name}`, which the original does not read there"),
            (_, None) => "the optimized model reads a value that the original does not read there".to_owned(),
        });
    }
    let frontier: FxHashSet<VertexId> = target.stops.keys().filter_map(|v| shared(*v)).collect();
    let source = Side::below(&pair.original, old, &|v| frontier.contains(&v))?;
    if source.calls == 0 {
        return Err("the optimized model computes an input of the original anew".to_owned());
    }
    let mut names: FxHashMap<VertexId, Arc<str>> = FxHashMap::default();
    for (i, v) in source.stops.keys().enumerate() {
        let name = NAMES.get(i).map_or_else(|| format!("x{i}"), |name| (*name).to_owned());
        names.insert(*v, name.into());
    }
    if let Some(unread) = frontier.iter().find(|v| !names.contains_key(v)) {
        let name = crate::graphs::describe(&pair.original, *unread);
        return Err(format!(
            "the optimized model uses {name}, which the source does not read"
        ));
    }
    let is_computed = |v: &VertexId| !pair.original.pred(*v).is_empty();
    let ends = source.stops.keys().copied().filter(is_computed).collect();
    let order: Vec<(Arc<str>, VertexId)> = source.stops.keys().map(|v| (names[v].clone(), *v)).collect();
    Ok(Region {
        source: source.graph(&order, &|v| names.get(&v).cloned())?,
        target: target.graph_of(&pair.original, &order, &|v| names.get(&shared(v)?).cloned())?,
        ends,
    })
}

/// The vertices of one side.
struct Side<'a> {
    graph: &'a Graph,
    root: VertexId,
    /// Its inputs, in order of appearance.
    stops: IndexMap<VertexId, ()>,
    /// The vertices between, operands first.
    inner: Vec<VertexId>,
    calls: usize,
}

impl Side<'_> {
    /// The vertices below `root`, down to those where `stop` holds, to inputs, and to constants that are not one
    /// number.
    fn below<'a>(graph: &'a Graph, root: VertexId, stop: &dyn Fn(VertexId) -> bool) -> Result<Side<'a>, String> {
        let mut side = Side {
            graph,
            root,
            stops: IndexMap::new(),
            inner: Vec::new(),
            calls: 0,
        };
        let mut seen: FxHashSet<VertexId> = FxHashSet::default();
        // Vertices to visit, and those whose operands have been visited.
        let mut stack = vec![(root, false)];
        while let Some((v, done)) = stack.pop() {
            if done {
                side.inner.push(v);
                continue;
            }
            if !seen.insert(v) {
                continue;
            }
            let is_number = graph.vertex(v).constant().is_some_and(|value| number(value).is_some());
            match &graph.vertex(v).node {
                Node::Absent => side.inner.push(v),
                Node::Const(_) if is_number => side.inner.push(v),
                _ if stop(v) => {
                    side.stops.insert(v, ());
                }
                Node::Input | Node::Param | Node::Const(_) => {
                    side.stops.insert(v, ());
                }
                node => {
                    side.calls += usize::from(matches!(node, Node::Call { .. }));
                    if side.calls > CALLS {
                        return Err(format!("more than {CALLS} calls differ at once"));
                    }
                    stack.push((v, true));
                    stack.extend(graph.pred(v).into_iter().rev().map(|u| (u, false)));
                }
            }
        }
        Ok(side)
    }

    fn graph(
        &self,
        inputs: &[(Arc<str>, VertexId)],
        name: &dyn Fn(VertexId) -> Option<Arc<str>>,
    ) -> Result<Graph, String> {
        self.graph_of(self.graph, inputs, name)
    }

    /// The side as a graph with these inputs, whose types are those of vertices of `original`.
    fn graph_of(
        &self,
        original: &Graph,
        inputs: &[(Arc<str>, VertexId)],
        name: &dyn Fn(VertexId) -> Option<Arc<str>>,
    ) -> Result<Graph, String> {
        let mut out = Graph::new();
        out.reserve_unknown(original.next_unknown().max(self.graph.next_unknown()));
        let mut by_name: FxHashMap<Arc<str>, VertexId> = FxHashMap::default();
        for (name, v) in inputs {
            by_name.insert(name.clone(), out.input(name, original.ty(*v).clone()));
        }
        let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
        for v in self.stops.keys() {
            let input = name(*v).and_then(|name| by_name.get(&name).copied());
            places.insert(*v, input.ok_or("an operand has no name")?);
        }
        for &v in &self.inner {
            let vertex = self.graph.vertex(v);
            let operands: Vec<VertexId> = self.graph.pred(v).iter().map(|u| places[u]).collect();
            let copy = Vertex {
                name: None,
                span: None,
                rules: Vec::new(),
                ..vertex.clone()
            };
            places.insert(v, out.push(copy, &operands));
        }
        out.output(places[&self.root], None);
        Ok(out)
    }
}
