//! Values for symbolic dimensions at which a graph can be run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::graph::{Graph, Node, Params, VertexId};
use crate::op::AttrValue;
use crate::rewrite::{batch_symbols, graph_cost};
use crate::tensor::{Atom, Dim, Tensor};

use super::random::Random;

/// A value for each symbol in the types of inputs and parameters.
pub(crate) type Extents = BTreeMap<Arc<str>, i64>;

/// Values given to all symbols except batch sizes when small ones are rejected: windows need room.
const LEVELS: [i64; 6] = [8, 32, 64, 224, 640, 16_000];

/// Smaller values that are tried in place of an accepted one.
const SMALLER: [i64; 14] = [2, 3, 5, 8, 12, 16, 24, 32, 48, 64, 96, 128, 224, 320];

/// Values at which the graph is estimated to take longer than this, in microseconds, are used only if there are no
/// others.
const LONGEST: f64 = 5e6;

/// How many calls may be inferred while searching for values: about half a second.
const MOST_CALLS: usize = 100_000;

/// Values of the symbols at which to run the graph, the likeliest first.
///
/// All of them have passed inference, if any do: small ones first, otherwise large ones, each made as small as
/// inference accepts. Larger ones follow, because a value can also be rejected at run time. `given` fixes the symbols
/// of inputs and parameters that already have values.
pub(crate) fn likely(graph: &Graph, given: &Params, random: &mut Random) -> Vec<Extents> {
    let value = |v| given.get(graph.vertex(v).name.as_deref()?);
    let fixed = decided(graph, &value);
    let bound = match graph.with_symbols(&|name| fixed.get(name).copied()) {
        Ok(bound) => bound,
        // If the given values do not fit, the run reports it.
        Err(_) => graph.clone(),
    };
    let mut found = free(&bound, random);
    for extents in &mut found {
        extents.extend(fixed.clone());
    }
    found
}

/// The symbols determined by the values of inputs and parameters.
pub(crate) fn decided<'a>(graph: &Graph, value: &dyn Fn(VertexId) -> Option<&'a Tensor>) -> Extents {
    let mut found = Extents::new();
    for &v in graph.inputs().iter().chain(graph.params()) {
        let shape = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref());
        let (Some(value), Some(shape)) = (value(v), shape) else {
            continue;
        };
        for (d, &extent) in shape.iter().zip(value.shape()) {
            d.visit_atoms(&mut |atom| {
                if let (Atom::Symbol(name), Ok(extent)) = (atom, i64::try_from(extent))
                    && *d == Dim::symbol(name)
                {
                    found.insert(name.clone(), extent);
                }
            });
        }
    }
    found
}

/// Values for all symbols of the graph.
fn free(graph: &Graph, random: &mut Random) -> Vec<Extents> {
    let symbols = symbols(graph);
    let small: Extents = symbols
        .iter()
        .map(|name| (name.clone(), 1 + random.below(4) as i64))
        .collect();
    if small.is_empty() {
        return vec![small];
    }
    let batch = batch_symbols(graph);
    let levels = |batch: &[Arc<str>]| -> Vec<Extents> {
        let at = |level: i64| {
            let extent = |(name, &small): (&Arc<str>, &i64)| {
                let extent = if batch.contains(name) { small } else { level };
                (name.clone(), extent)
            };
            small.iter().map(extent).collect()
        };
        LEVELS.into_iter().map(at).collect()
    };
    let mut starts = vec![small.clone()];
    starts.extend(levels(&batch));
    if !batch.is_empty() {
        // A symbol that looks like a batch size may be an axis that windows slide over.
        starts.extend(levels(&[]));
    }
    let mut search = Search {
        graph,
        left: MOST_CALLS,
    };
    let mut found: Vec<Extents> = Vec::new();
    let mut add = |extents: Extents| {
        if !found.contains(&extents) {
            found.push(extents);
        }
    };
    let admitted: Vec<&Extents> = starts.iter().filter(|start| search.admits(start).is_ok()).collect();
    if let Some(&first) = admitted.first() {
        if *first != small {
            add(search.shrunk(first.clone()));
        }
        admitted.into_iter().for_each(|start| add(start.clone()));
        return found;
    }
    let candidates = candidates(graph);
    for start in &starts {
        if let Some(extents) = search.climb(start.clone(), &candidates) {
            add(search.shrunk(extents.clone()));
            add(extents);
            break;
        }
    }
    if found.is_empty() { vec![small] } else { found }
}

/// The symbols of inputs and parameters.
pub(crate) fn symbols(graph: &Graph) -> BTreeSet<Arc<str>> {
    let mut found = BTreeSet::new();
    for &v in graph.inputs().iter().chain(graph.params()) {
        graph.ty(v).visit_dims(&mut |d| {
            d.visit_atoms(&mut |atom| {
                if let Atom::Symbol(name) = atom {
                    found.insert(name.clone());
                }
            });
        });
    }
    found
}

/// Values a symbol may need: the dimensions and integers in the graph, then all small numbers.
fn candidates(graph: &Graph) -> Vec<i64> {
    let mut numbers = BTreeSet::new();
    for v in graph.ids() {
        graph.ty(v).visit_dims(&mut |d| numbers.extend(d.as_const()));
        let Node::Call { attrs, .. } = &graph.vertex(v).node else {
            continue;
        };
        for attr in attrs.iter() {
            match attr {
                AttrValue::Int(d) => numbers.extend(d.as_const()),
                AttrValue::Ints(list) => numbers.extend(list.iter().filter_map(Dim::as_const)),
                _ => {}
            }
        }
    }
    let known: Vec<i64> = numbers.into_iter().filter(|n| (2..=16_000).contains(n)).collect();
    let rest: Vec<i64> = (1..=256).filter(|n| !known.contains(n)).collect();
    [known, rest].concat()
}

/// Inference attempts, limited by a budget.
struct Search<'a> {
    graph: &'a Graph,
    left: usize,
}

impl Search<'_> {
    /// `Ok` if inference accepts the values and the graph does not take too long; otherwise how many vertices it
    /// accepts, which is all of them if only the time is too long.
    fn admits(&mut self, extents: &Extents) -> Result<(), usize> {
        let (reached, verdict) = match self.graph.with_symbols(&|name| extents.get(name).copied()) {
            Ok(graph) if graph_cost(&graph) <= LONGEST => (graph.len(), Ok(())),
            Ok(graph) => (graph.len(), Err(graph.len())),
            Err((reached, _)) => (reached, Err(reached)),
        };
        self.left = self.left.saturating_sub(reached);
        verdict
    }

    /// Changes one symbol at a time, always to the value with which inference accepts the most vertices, until it
    /// accepts all.
    fn climb(&mut self, mut extents: Extents, candidates: &[i64]) -> Option<Extents> {
        let mut reached = self.admits(&extents).err()?;
        let names: Vec<Arc<str>> = extents.keys().cloned().collect();
        loop {
            let mut best = None;
            for name in &names {
                for &candidate in candidates {
                    if self.left == 0 {
                        return None;
                    }
                    let mut trial = extents.clone();
                    trial.insert(name.clone(), candidate);
                    match self.admits(&trial) {
                        Ok(()) => return Some(trial),
                        Err(further) if further > reached => {
                            reached = further;
                            best = Some(trial);
                        }
                        Err(_) => {}
                    }
                }
            }
            extents = best?;
        }
    }

    /// The same with each symbol reduced to the smallest accepted value that no other symbol has, so that axes are
    /// distinguishable where possible.
    fn shrunk(&mut self, mut extents: Extents) -> Extents {
        let names: Vec<Arc<str>> = extents.keys().cloned().collect();
        for name in names {
            for smaller in SMALLER.into_iter().take_while(|&s| s < extents[&name]) {
                if self.left == 0 {
                    return extents;
                }
                if extents.values().any(|&other| other == smaller) {
                    continue;
                }
                let mut trial = extents.clone();
                trial.insert(name.clone(), smaller);
                if self.admits(&trial).is_ok() {
                    extents = trial;
                    break;
                }
            }
        }
        extents
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::diag::Source;
    use crate::graph::{BuildOptions, build_program};
    use crate::lang::parse_program;

    use super::*;

    fn first(text: &str) -> Vec<i64> {
        let source = Arc::new(Source::new("test", text));
        let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
        likely(&graph, &Params::default(), &mut Random::new(1))[0]
            .values()
            .copied()
            .collect()
    }

    #[test]
    fn first_axes_get_room_if_windows_run_over_them() {
        let found = first(
            "fn main(x: f32[t, 1, 1]) {
               max_pool(transpose(x) {perm = [1, 2, 0]}) {kernel_shape = [200], strides = [200]}
             }",
        );
        assert_eq!(found, [224]);
    }

    #[test]
    fn given_values_say_what_symbols_are() {
        let source = Arc::new(Source::new(
            "test",
            "fn main(x: f32[k, m], param w: f32[m, 2]) { x @ w }",
        ));
        let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
        let w = Tensor::new::<f32>(&[7, 2], vec![1.0; 14]).unwrap();
        let given: Params = [("w".into(), w)].into_iter().collect();
        for extents in likely(&graph, &given, &mut Random::new(1)) {
            assert_eq!(extents["m"], 7);
            assert!(extents.contains_key("k"));
        }
    }

    #[test]
    fn weights_say_what_symbols_are() {
        let found = first("fn main(x: f32[n, m], w: f32[1575, 2]) { x @ w }");
        assert_eq!(found[0], 1575, "m");
        assert!(found[1] <= 4, "n");
        let found = first("fn main(x: f32[n, m]) { reshape(x) {shape = [-1, 315]} }");
        assert_eq!(found.iter().product::<i64>() % 315, 0);
    }

    #[test]
    fn windows_have_room_and_batches_stay_small() {
        let found = first(
            "fn main(x: f32[b, 1, h, w]) {
               reduce_max(max_pool(x) {kernel_shape = [40, 3]}) {axes = [2, 3]}
             }",
        );
        assert!(found[0] <= 4 && found[1] == 48 && found[2] <= 5, "{found:?}");
    }

    #[test]
    fn without_symbols_there_is_one_choice() {
        assert_eq!(first("fn main(x: f32[2]) { x }"), [] as [i64; 0]);
    }
}
