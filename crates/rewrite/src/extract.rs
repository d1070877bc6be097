//! Extraction over the DAG: one e-node for each needed class, with shared classes counted once and no cycles.
//!
//! The search starts from the given graph and from the cheapest trees, improves both by local exchanges, and takes the
//! better one, so the result never costs more than the input. The work grows with the e-graph, not its square.

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use super::choice::{Candidate, Class, Problem};
use super::cost::{CostModel, Price};
use super::encode::{Encoded, operands_of};
use super::enode::ENode;
use super::exchange::Solution;
use super::prices::{At, Prices};

/// The chosen e-nodes.
#[derive(Debug, Clone)]
pub struct Extraction {
    /// The e-node of each needed class; classes are canonical.
    pub choice: FxHashMap<Id, ENode>,
    /// The cost in microseconds.
    pub cost: f64,
    /// The cost of the given graph by the same model.
    pub original: f64,
    /// A lower bound on the cost of every choice.
    pub bound: f64,
    /// True if the given graph costs more, or has more calls that should not stay, counting each of its calls, even
    /// duplicates.
    pub improves: bool,
}

/// Picks the cheapest graph from a saturated e-graph.
pub fn extract(encoded: &Encoded, model: &CostModel<'_>) -> Extraction {
    extract_with(&Prices::new(encoded, model), &How::default())
}

/// What an extraction assumes.
#[derive(Debug, Default)]
pub(super) struct How {
    /// The classes that are computed at run time although they are static.
    pub(super) left: FxHashSet<Id>,
    /// Static values are folded, so that all others may be made by calls that the result may not contain.
    pub(super) folds: bool,
    /// The result may contain all calls.
    pub(super) free: bool,
}

/// Like [`extract`], with known prices and other assumptions.
pub(super) fn extract_with(prices: &Prices<'_>, how: &How) -> Extraction {
    let encoded = prices.encoded;
    let egraph = &encoded.egraph;
    let mut ids: Vec<Id> = egraph.classes().map(|c| c.id).collect();
    ids.sort_unstable();
    let index: FxHashMap<Id, u32> = ids.iter().enumerate().map(|(i, &id)| (id, i as u32)).collect();
    // E-nodes of the input, earliest first; they are allowed even if the model forbids them.
    let mut original: FxHashMap<u32, ENode> = FxHashMap::default();
    let mut own: FxHashSet<ENode> = FxHashSet::default();
    let mut vertices: Vec<(u32, ENode)> = Vec::with_capacity(encoded.origins.len());
    for (_, id, enode) in &encoded.origins {
        let mut enode = enode.clone();
        enode.children.iter_mut().for_each(|c| *c = egraph.find(*c));
        own.insert(enode.clone());
        let class = index[&egraph.find(*id)];
        vertices.push((class, enode.clone()));
        original.entry(class).or_insert(enode);
    }
    let classes: Vec<Class> = ids
        .iter()
        .map(|&id| {
            let class = &egraph[id];
            let is_static = class.data.is_static && !how.left.contains(&id);
            let mut nodes: Vec<Candidate> = class
                .nodes
                .iter()
                .enumerate()
                .filter_map(|(place, enode)| {
                    let at = At {
                        class: id,
                        place,
                        enode,
                    };
                    let children = operands_of(egraph, enode)
                        .iter()
                        .map(|&c| index[&egraph.find(c)])
                        .collect();
                    Some(Candidate {
                        // What is computed ahead of time need not be a call that the result may contain.
                        cost: prices.enode(at, own.contains(enode) || how.folds && is_static, how.free)?,
                        enode: enode.clone(),
                        children,
                    })
                })
                .collect();
            nodes.sort_by(|a, b| a.cost.cmp(&b.cost).then_with(|| a.enode.cmp(&b.enode)));
            Class { nodes, is_static }
        })
        .collect();
    let roots: Vec<u32> = encoded.roots.iter().map(|&r| index[&egraph.find(r)]).collect();
    let problem = Problem::new(classes, roots);
    let (trees, bound) = problem.trees();
    let given: Vec<Option<u32>> = problem
        .classes
        .iter()
        .enumerate()
        .map(|(c, class)| {
            let place = |enode: &ENode| class.nodes.iter().position(|n| n.enode == *enode);
            let given = original.get(&(c as u32)).and_then(place).map(|n| n as u32);
            given.or(trees[c])
        })
        .collect();
    let original_cost = problem.cost_of(&given);
    let as_given: Price = vertices
        .iter()
        .filter_map(|(class, enode)| {
            let n = problem.classes[*class as usize]
                .nodes
                .iter()
                .position(|n| n.enode == *enode)?;
            Some(problem.node_cost(*class, n as u32))
        })
        .fold(Price::ZERO, Price::saturating_add);
    let mut best: Option<(Price, Vec<Option<u32>>)> = None;
    for start in [given, trees.clone()] {
        let choice = Solution::new(&problem, start, &trees).improved();
        if let Some(cost) = problem.cost_of(&choice)
            && best.as_ref().is_none_or(|(b, _)| cost < *b)
        {
            best = Some((cost, choice));
        }
    }
    let (cost, choice) = best.unwrap_or((Price::ZERO, trees));
    let mut chosen = FxHashMap::default();
    for c in problem.order(&choice).unwrap_or_default() {
        if let Some(n) = choice[c as usize] {
            chosen.insert(ids[c as usize], problem.node(c, n).enode.clone());
        }
    }
    Extraction {
        choice: chosen,
        cost: micros(cost),
        original: micros(original_cost.unwrap_or(cost)),
        bound: micros(bound),
        improves: cost < as_given,
    }
}

fn micros(price: Price) -> f64 {
    price.picos as f64 / 1e6
}
