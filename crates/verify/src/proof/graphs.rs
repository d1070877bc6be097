//! Proof that two graphs are equal for all dimensions.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::case::{Case, Res, Stop};
use super::cases::{CASES, check_source, compare, expanded, numbered_leaves};
use super::facts::{EFFORT, Effort, Facts};
use super::meaning::Meaning;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_tensor::{Atom, Dim};

/// Limit on the vertices of both graphs together.
const VERTICES: usize = 200;

/// Proves that two graphs with the same inputs, in the same order, have equal results over the real numbers, for all
/// values of their symbolic dimensions; returns true if constants are equal only up to their last digits.
///
/// # Errors
/// Why it is not proved.
pub(crate) fn prove_graphs(original: &Graph, optimized: &Graph) -> Result<bool, String> {
    super::with_stack(|| prove_here(original, optimized))
        .unwrap_or_else(|| Err("internal error: the proof failed".to_owned()))
}

fn prove_here(original: &Graph, optimized: &Graph) -> Result<bool, String> {
    if original.len() + optimized.len() > VERTICES {
        return Err(format!("the graphs have more than {VERTICES} nodes together"));
    }
    let (joint, pairs) = joined(original, optimized)?;
    let mut rounded = false;
    let mut waiting = vec![given(original)];
    let mut visited = 0;
    while let Some(facts) = waiting.pop() {
        visited += 1;
        if visited > CASES || facts.effort.is_spent() {
            return Err(format!(
                "the proof takes more than {CASES} cases or {EFFORT} comparisons"
            ));
        }
        if facts.is_empty() {
            continue;
        }
        let case = Rc::new(Case::new(facts));
        let outcome = prove_case(original, &joint, pairs, &case);
        waiting.extend(case.take_aside());
        rounded |= case.is_rounded();
        match outcome {
            Ok(()) | Err(Stop::Divided) => {}
            Err(Stop::Empty) if case.contradicts(&[]) => {}
            Err(Stop::Empty) => return Err("the types differ for some dimensions".to_owned()),
            Err(Stop::Open(why)) => return Err(why),
        }
    }
    Ok(rounded)
}

/// The initial facts about dimensions.
fn given(graph: &Graph) -> Facts {
    let mut facts = Facts::default();
    facts.effort = Rc::new(Effort::default());
    for &v in graph.inputs() {
        let shape = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref());
        for d in shape.into_iter().flat_map(|s| s.iter()) {
            d.visit_atoms(&mut |atom| {
                if let Atom::Symbol(_) = atom {
                    facts.add(Dim::atom(atom.clone()));
                }
            });
            facts.add(d.clone());
        }
    }
    facts
}

/// Both graphs in one, whose outputs are those of the first, then those of the second; and how many each has.
fn joined(original: &Graph, optimized: &Graph) -> Result<(Graph, usize), String> {
    let known = |d: &Dim| !d.has_unknown();
    for &v in original.inputs() {
        let shape = original.ty(v).as_tensor().and_then(|t| t.shape.as_ref());
        if !shape.is_some_and(|s| s.iter().all(known)) {
            return Err("the shape of an input is not fully known".to_owned());
        }
    }
    let mut joint = original.clone();
    joint.reserve_unknown(optimized.next_unknown());
    let mut places: FxHashMap<VertexId, VertexId> = FxHashMap::default();
    for (&theirs, &ours) in optimized.inputs().iter().zip(original.inputs()) {
        places.insert(theirs, ours);
    }
    for v in optimized.rpo() {
        if places.contains_key(&v) {
            continue;
        }
        let vertex = optimized.vertex(v).clone();
        if matches!(vertex.node, Node::Input | Node::Param) {
            return Err("the graphs do not have the same inputs".to_owned());
        }
        let operands: Vec<VertexId> = optimized.pred(v).iter().map(|u| places[u]).collect();
        let new = joint.push(vertex, &operands);
        places.insert(v, new);
    }
    let count = original.outputs().len();
    if count != optimized.outputs().len() {
        return Err("the graphs do not have the same number of results".to_owned());
    }
    for output in optimized.outputs() {
        joint.output(places[&output.vertex], None::<&str>);
    }
    Ok((joint, count))
}

fn prove_case(original: &Graph, joint: &Graph, pairs: usize, case: &Rc<Case>) -> Res<()> {
    check_source(original.clone(), case)?;
    let joint = expanded(joint.clone(), case)?;
    let outputs: Vec<VertexId> = joint.outputs().iter().map(|o| o.vertex).collect();
    let meaning = Meaning::new(&joint, case, numbered_leaves(&joint));
    for (&a, &b) in outputs[..pairs].iter().zip(&outputs[pairs..]) {
        compare(&meaning, a, b)?;
    }
    Ok(())
}
