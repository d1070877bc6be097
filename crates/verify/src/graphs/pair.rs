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
pub(super) struct Pair {
    pub(super) original: Graph,
    pub(super) optimized: Graph,
    /// The values of inputs that were parameters, by name.
    pub(super) given: Params,
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

    // Leaves by name: those of the original first.
    let name = |graph: &Graph, v: VertexId| graph.vertex(v).name.clone().unwrap_or_default();
    let mut leaves: IndexMap<Arc<str>, Type> = IndexMap::new();
    let mut given = Params::default();
    let mut constants: [FxHashMap<VertexId, Tensor>; 2] = Default::default();
    let mut names: [FxHashMap<VertexId, Arc<str>>; 2] = Default::default();
    let mut is_rounded = false;
    let lone = |other: &Graph, name: &str| {
        !other
            .params()
            .iter()
            .any(|&v| other.vertex(v).name.as_deref() == Some(name))
    };
    for &v in original.graph.inputs().iter().chain(original.graph.params()) {
        let leaf = name(&original.graph, v);
        let value = original
            .params
            .get(&leaf)
            .filter(|_| original.graph.params().contains(&v));
        match value {
            Some(value) if value.len() <= CONSTANT && lone(&optimized.graph, &leaf) => {
                constants[0].insert(v, value.clone());
            }
            _ => {
                if let Some(value) = value {
                    given.insert(leaf.clone(), value.clone());
                }
                leaves.insert(
                    leaf.clone(),
                    original.graph.ty(v).map_dims(&|d| substituted(d, &dims[0])),
                );
                names[0].insert(v, leaf);
            }
        }
    }
    for &v in optimized.graph.inputs() {
        let leaf = renamed.get(&v).cloned().unwrap_or_else(|| name(&optimized.graph, v));
        names[1].insert(v, leaf);
    }
    for &v in optimized.graph.params() {
        let mut leaf = name(&optimized.graph, v);
        let value = optimized.params.get(&leaf);
        let ty = optimized.graph.ty(v).map_dims(&|d| substituted(d, &dims[1]));
        match (leaves.contains_key(&leaf), given.get(&leaf), value) {
            (true, Some(old), Some(new)) if old.same_bits(new) => {}
            (true, None, Some(new)) => {
                given.insert(leaf.clone(), new.clone());
            }
            (true, _, None) => {}
            (false, _, None) => {
                return Err(Unpaired::Unknown(format!(
                    "parameter `{leaf}` of the optimized graph has no value, and the original has no leaf of that name"
                )));
            }
            (_, _, Some(new)) => {
                is_rounded |= new.dtype().is_float();
                if new.len() <= CONSTANT {
                    constants[1].insert(v, new.clone());
                    continue;
                }
                while leaves.contains_key(&leaf) {
                    leaf = format!("{leaf}'").into();
                }
                given.insert(leaf.clone(), new.clone());
                leaves.insert(leaf.clone(), ty);
            }
        }
        names[1].insert(v, leaf);
    }

    let mut sides = [Side::new(&leaves), Side::new(&leaves)];
    for (i, (side, workload)) in sides.iter_mut().zip([original, optimized]).enumerate() {
        side.copy(&workload.graph, &names[i], &constants[i], &dims[i]);
    }
    let [mut a, mut b] = sides;
    is_rounded |= b.constants(&a);
    let shown: Vec<String> = (0..original.graph.outputs().len())
        .map(|i| output_name(&original.graph, i))
        .collect();
    let mut outputs = shown;
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
        given,
        outputs,
        is_rounded,
        notes,
    })
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
    let name = |graph: &Graph, v: VertexId| graph.vertex(v).name.clone().unwrap_or_default();
    let old: Vec<Arc<str>> = original.inputs().iter().map(|&v| name(original, v)).collect();
    let leaf = |n: &Arc<str>| old.contains(n) || original.params().iter().any(|&v| name(original, v) == *n);
    let strangers: Vec<Arc<str>> = optimized
        .inputs()
        .iter()
        .map(|&v| name(optimized, v))
        .filter(|n| !leaf(n))
        .collect();
    if strangers.is_empty() {
        return Ok(optimized.inputs().iter().map(|&v| (v, name(optimized, v))).collect());
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
