//! Pairing of two workloads: makes two graphs with the same leaves under the same names and results in the same order.
//!
//! Parameters become inputs with given values. A call without a definition is cut out: its results become inputs that
//! both graphs share, and its operands become results that have to be equal.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashMap;

use super::side::{Side, cut};
use tautomer_graph::{Graph, Params, VertexId, Workload};
use tautomer_tensor::{Atom, Dim, Tensor, Type};

/// Parameters that only one graph has become constants, up to this many elements.
const CONSTANT: usize = 4096;

/// Two graphs with the same inputs, in order, and no parameters.
pub(crate) struct Pair {
    pub(crate) original: Graph,
    pub(crate) optimized: Graph,
    /// The values of inputs that were parameters, by name.
    pub(crate) given: Params,
    /// The names of the results; operands of calls that were cut out come last.
    pub(super) outputs: Vec<String>,
    /// True if constants were folded ahead of time, and thus rounded.
    pub(super) is_rounded: bool,
    pub(super) notes: Vec<String>,
}

/// Why two workloads cannot be compared.
#[derive(Debug)]
pub(super) enum Unpaired {
    /// They do not have the same inputs or results.
    Different(String),
    /// The comparison is impossible.
    Unknown(String),
}

/// Pairs two workloads.
pub(super) fn pair(original: &Workload, optimized: &Workload) -> Result<Pair, Unpaired> {
    let mut notes = Vec::new();
    let renamed = inputs(&original.graph, &optimized.graph, &mut notes)?;
    let order = outputs(&original.graph, &optimized.graph, &mut notes)?;
    let dims = extents(&original.graph, &optimized.graph, &renamed, &mut notes)?;
    let mut leaves = Leaves::default();
    leaves.add_original(original, optimized, &dims[0]);
    leaves.add_optimized(optimized, &renamed, &dims[1])?;

    let mut sides = [Side::new(&leaves.types), Side::new(&leaves.types)];
    for (i, (side, workload)) in sides.iter_mut().zip([original, optimized]).enumerate() {
        side.copy(&workload.graph, &leaves.names[i], &leaves.constants[i], &dims[i]);
    }
    let [mut a, mut b] = sides;
    let is_rounded = leaves.is_rounded | b.constants(&a);
    let mut outputs: Vec<String> = (0..original.graph.outputs().len())
        .map(|i| output_name(&original.graph, i))
        .collect();
    for (i, &j) in order.iter().enumerate() {
        a.graph
            .output(a.places[&original.graph.outputs()[i].vertex], Some(&outputs[i]));
        b.graph
            .output(b.places[&optimized.graph.outputs()[j].vertex], Some(&outputs[i]));
    }
    cut(&mut a, &mut b, &mut outputs, &mut notes)?;
    Ok(Pair {
        original: a.graph,
        optimized: b.graph,
        given: leaves.given,
        outputs,
        is_rounded,
        notes,
    })
}

/// The leaves that both graphs share, by name: those of the original first.
#[derive(Default)]
struct Leaves {
    types: IndexMap<Arc<str>, Type>,
    /// The values of those that were parameters.
    given: Params,
    /// For each graph, the parameters that become constants, and the names of the others.
    constants: [FxHashMap<VertexId, Tensor>; 2],
    names: [FxHashMap<VertexId, Arc<str>>; 2],
    /// True if the optimized graph has real parameters that the original lacks, so constants were folded.
    is_rounded: bool,
}

impl Leaves {
    fn add_original(&mut self, original: &Workload, optimized: &Workload, dims: &Dims) {
        let graph = &original.graph;
        let is_lone = |name: &str| {
            let named = |v: &VertexId| optimized.graph.vertex(*v).name.as_deref() == Some(name);
            !optimized.graph.params().iter().any(named)
        };
        for &v in graph.inputs().iter().chain(graph.params()) {
            let leaf = vertex_name(graph, v);
            let value = original.params.get(&leaf).filter(|_| graph.params().contains(&v));
            match value {
                Some(value) if value.len() <= CONSTANT && is_lone(&leaf) => {
                    self.constants[0].insert(v, value.clone());
                }
                _ => {
                    if let Some(value) = value {
                        self.given.insert(leaf.clone(), value.clone());
                    }
                    let ty = graph.ty(v).map_dims(&|d| substituted(d, dims));
                    self.types.insert(leaf.clone(), ty);
                    self.names[0].insert(v, leaf);
                }
            }
        }
    }

    fn add_optimized(
        &mut self,
        optimized: &Workload,
        renamed: &FxHashMap<VertexId, Arc<str>>,
        dims: &Dims,
    ) -> Result<(), Unpaired> {
        let graph = &optimized.graph;
        for &v in graph.inputs() {
            let leaf = renamed.get(&v).cloned().unwrap_or_else(|| vertex_name(graph, v));
            self.names[1].insert(v, leaf);
        }
        for &v in graph.params() {
            let mut leaf = vertex_name(graph, v);
            let value = optimized.params.get(&leaf);
            match (self.types.contains_key(&leaf), self.given.get(&leaf), value) {
                (true, Some(old), Some(new)) if old.same_bits(new) => {}
                (true, None, Some(new)) => {
                    self.given.insert(leaf.clone(), new.clone());
                }
                (true, _, None) => {}
                (false, _, None) => {
                    return Err(Unpaired::Unknown(format!(
                        "parameter `{leaf}` of the optimized graph has no value, and the original has no leaf of that \
                         name"
                    )));
                }
                (_, _, Some(new)) => {
                    self.is_rounded |= new.dtype().is_float();
                    if new.len() <= CONSTANT {
                        self.constants[1].insert(v, new.clone());
                        continue;
                    }
                    while self.types.contains_key(&leaf) {
                        leaf = format!("{leaf}'").into();
                    }
                    self.given.insert(leaf.clone(), new.clone());
                    let ty = graph.ty(v).map_dims(&|d| substituted(d, dims));
                    self.types.insert(leaf.clone(), ty);
                }
            }
            self.names[1].insert(v, leaf);
        }
        Ok(())
    }
}

/// The name of a vertex; empty if it has none.
fn vertex_name(graph: &Graph, v: VertexId) -> Arc<str> {
    graph.vertex(v).name.clone().unwrap_or_default()
}

/// The name of a result, or its number.
fn output_name(graph: &Graph, i: usize) -> String {
    let output = &graph.outputs()[i];
    let name = output.name.clone().or_else(|| graph.vertex(output.vertex).name.clone());
    name.map_or_else(|| format!("output {i}"), |name| name.to_string())
}

/// For each input of the optimized graph, its name in the original.
fn inputs(
    original: &Graph,
    optimized: &Graph,
    notes: &mut Vec<String>,
) -> Result<FxHashMap<VertexId, Arc<str>>, Unpaired> {
    let old: Vec<Arc<str>> = original.inputs().iter().map(|&v| vertex_name(original, v)).collect();
    let leaf = |n: &Arc<str>| old.contains(n) || original.params().iter().any(|&v| vertex_name(original, v) == *n);
    let strangers: Vec<Arc<str>> = optimized
        .inputs()
        .iter()
        .map(|&v| vertex_name(optimized, v))
        .filter(|n| !leaf(n))
        .collect();
    if strangers.is_empty() {
        return Ok(optimized
            .inputs()
            .iter()
            .map(|&v| (v, vertex_name(optimized, v)))
            .collect());
    }
    if old.len() != optimized.inputs().len() {
        return Err(Unpaired::Different(format!(
            "the optimized one has an input `{}`, which the original lacks",
            strangers[0]
        )));
    }
    notes.push("inputs are paired by position: their names differ".to_owned());
    Ok(optimized.inputs().iter().copied().zip(old).collect())
}

/// For each result of the original, the index of the matching result of the optimized graph.
fn outputs(original: &Graph, optimized: &Graph, notes: &mut Vec<String>) -> Result<Vec<usize>, Unpaired> {
    let n = original.outputs().len();
    if n != optimized.outputs().len() {
        return Err(Unpaired::Different(format!(
            "the original has {n} result{}, and the optimized one has {}",
            if n == 1 { "" } else { "s" },
            optimized.outputs().len()
        )));
    }
    let name = |graph: &Graph, i: usize| -> Option<Arc<str>> {
        let output = &graph.outputs()[i];
        output.name.clone().or_else(|| graph.vertex(output.vertex).name.clone())
    };
    let theirs: Vec<Option<Arc<str>>> = (0..n).map(|i| name(optimized, i)).collect();
    let mut order = Vec::with_capacity(n);
    for i in 0..n {
        let Some(wanted) = name(original, i) else { break };
        let mut found = (0..n).filter(|&j| theirs[j].as_ref() == Some(&wanted) && !order.contains(&j));
        let Some(j) = found.next() else { break };
        order.push(j);
    }
    if order.len() == n {
        return Ok(order);
    }
    let ours: Vec<Option<Arc<str>>> = (0..n).map(|i| name(original, i)).collect();
    if n > 1 && ours.iter().chain(&theirs).all(Option::is_some) {
        notes.push("results are paired by position: their names differ".to_owned());
    }
    Ok((0..n).collect())
}

pub(super) type Dims = FxHashMap<Atom, Dim>;

pub(super) fn substituted(dim: &Dim, dims: &Dims) -> Dim {
    dim.substitute(&|atom| dims.get(atom).cloned())
}

/// For each graph, the shared name or the value of its symbols and unknown dimensions.
fn extents(
    original: &Graph,
    optimized: &Graph,
    renamed: &FxHashMap<VertexId, Arc<str>>,
    notes: &mut Vec<String>,
) -> Result<[Dims; 2], Unpaired> {
    let mut out: [Dims; 2] = Default::default();
    let leaves = |graph: &Graph| -> Vec<VertexId> { graph.inputs().iter().chain(graph.params()).copied().collect() };
    for v in leaves(optimized) {
        let name = renamed.get(&v).cloned().or_else(|| optimized.vertex(v).name.clone());
        let Some(u) = leaves(original).into_iter().find(|&u| original.vertex(u).name == name) else {
            continue;
        };
        let (Some(a), Some(b)) = (original.ty(u).as_tensor(), optimized.ty(v).as_tensor()) else {
            continue;
        };
        let different = || {
            let name = name.clone().unwrap_or_default();
            Unpaired::Different(format!("`{name}` is {a} in the original and {b} in the optimized one"))
        };
        if a.dtype != b.dtype {
            return Err(different());
        }
        let (Some(x), Some(y)) = (&a.shape, &b.shape) else {
            continue;
        };
        if x.len() != y.len() {
            return Err(different());
        }
        for (p, q) in x.iter().zip(y.iter()) {
            let leaf = |d: &Dim| {
                d.as_atom()
                    .filter(|a| matches!(a, Atom::Symbol(_) | Atom::Unknown(_)))
                    .cloned()
            };
            match (p.as_const(), q.as_const(), leaf(p), leaf(q)) {
                (Some(p), Some(q), ..) if p != q => return Err(different()),
                (None, Some(q), Some(atom), _) => {
                    if out[0].insert(atom.clone(), Dim::Const(q)).is_none()
                        && let Atom::Symbol(name) = atom
                    {
                        notes.push(format!("only where {name} is {q}, as in the optimized one"));
                    }
                }
                (_, None, _, Some(atom)) => {
                    out[1].entry(atom).or_insert_with(|| p.clone());
                }
                _ => {}
            }
        }
    }
    let first = out[0].clone();
    #[expect(clippy::iter_over_hash_type, reason = "each value changes independently")]
    for dim in out[1].values_mut() {
        *dim = substituted(dim, &first);
    }
    Ok(out)
}
