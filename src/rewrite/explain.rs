//! Why a result looks as it does: the rule applications that it rests on, from the inputs to the outputs.
//!
//! Saturation applies many rules that the result has no use for. Each application is kept with the classes it made
//! equal and the earlier applications that made what it matched; the chain of a result is what its e-nodes were made
//! by, what joins them with the classes they stand for, and all that these rest on. Classes that became equal because
//! their operands did need no step of their own.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use super::EGraph;
use super::encode::Encoded;
use super::enode::ENode;
use super::extract::Extraction;
use super::substitute::describe;
use crate::graph::Graph;
use crate::rule::Rule;

/// A rule application that a result rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The rule.
    pub rule: Arc<str>,
    /// The values that were matched: by name, or by the operator that computes them.
    pub place: Vec<String>,
}

/// The applications of a saturation.
#[derive(Debug, Default)]
pub(super) struct History {
    applications: Vec<Application>,
    /// The application that made an e-node.
    makers: FxHashMap<ENode, u32>,
}

#[derive(Debug)]
struct Application {
    rule: u32,
    outputs: Vec<Id>,
    targets: Vec<Id>,
    /// Applications that made what was matched.
    needs: Vec<u32>,
}

impl History {
    /// The applications that made these e-nodes.
    pub(super) fn makers<'a>(&self, enodes: impl Iterator<Item = &'a ENode>) -> Vec<u32> {
        let found: BTreeSet<u32> = enodes.filter_map(|n| self.makers.get(n).copied()).collect();
        found.into_iter().collect()
    }

    /// Adds an application.
    pub(super) fn push(&mut self, rule: usize, outputs: &[Id], targets: &[Id], needs: Vec<u32>, made: &[ENode]) {
        let number = self.applications.len() as u32;
        for enode in made {
            self.makers.entry(enode.clone()).or_insert(number);
        }
        self.applications.push(Application {
            rule: rule as u32,
            outputs: outputs.to_vec(),
            targets: targets.to_vec(),
            needs,
        });
    }

    /// All applications, in order.
    pub(super) fn applications(&self, graph: &Graph, encoded: &Encoded, rules: &[Arc<Rule>]) -> Vec<Step> {
        let places = Places::new(graph, encoded);
        self.applications
            .iter()
            .map(|application| places.step(encoded, application, rules).1)
            .collect()
    }

    /// Gives e-nodes their present form.
    pub(super) fn rebuild(&mut self, egraph: &EGraph) {
        let mut all: Vec<(ENode, u32)> = self.makers.drain().collect();
        all.sort_unstable_by_key(|(_, number)| *number);
        for (mut enode, number) in all {
            enode.children.iter_mut().for_each(|c| *c = egraph.find(*c));
            self.makers.entry(enode).or_insert(number);
        }
    }

    /// The applications that the chosen e-nodes rest on.
    pub(super) fn steps(
        &self,
        graph: &Graph,
        encoded: &Encoded,
        extraction: &Extraction,
        rules: &[Arc<Rule>],
    ) -> Vec<Step> {
        let egraph = &encoded.egraph;
        let canonical = |enode: &ENode| {
            let mut enode = enode.clone();
            enode.children.iter_mut().for_each(|c| *c = egraph.find(*c));
            enode
        };
        let originals: FxHashMap<ENode, Id> = encoded.origins.iter().map(|(_, id, n)| (canonical(n), *id)).collect();
        let mut edges: FxHashMap<Id, Vec<(Id, u32)>> = FxHashMap::default();
        for (i, application) in self.applications.iter().enumerate() {
            for (&a, &b) in application.outputs.iter().zip(&application.targets) {
                edges.entry(a).or_default().push((b, i as u32));
                edges.entry(b).or_default().push((a, i as u32));
            }
        }
        let mut wanted: BTreeSet<u32> = BTreeSet::new();
        let mut seen: FxHashSet<Id> = FxHashSet::default();
        for (_, id, own) in &encoded.origins {
            let class = egraph.find(*id);
            let Some(chosen) = extraction.choice.get(&class) else {
                continue;
            };
            let chosen = canonical(chosen);
            if chosen == canonical(own) || !seen.insert(*id) {
                continue;
            }
            let maker = self.makers.get(&chosen).copied();
            wanted.extend(maker);
            let ends: Vec<Id> = match (maker, originals.get(&chosen)) {
                (_, Some(home)) => vec![*home],
                (Some(maker), None) => {
                    let application = &self.applications[maker as usize];
                    application
                        .outputs
                        .iter()
                        .chain(&application.targets)
                        .copied()
                        .collect()
                }
                (None, None) => Vec::new(),
            };
            wanted.extend(path(&edges, *id, &ends));
        }
        // Inner e-nodes of the result that stand for no value of the graph.
        let of_graph: FxHashSet<Id> = encoded.origins.iter().map(|(_, id, _)| egraph.find(*id)).collect();
        for (class, chosen) in &extraction.choice {
            if !of_graph.contains(class) {
                wanted.extend(self.makers.get(&canonical(chosen)).copied());
            }
        }
        let mut stack: Vec<u32> = wanted.iter().copied().collect();
        while let Some(number) = stack.pop() {
            for &need in &self.applications[number as usize].needs {
                if wanted.insert(need) {
                    stack.push(need);
                }
            }
        }
        let places = Places::new(graph, encoded);
        let mut steps: Vec<(usize, u32, Step)> = wanted
            .into_iter()
            .map(|number| {
                let (order, step) = places.step(encoded, &self.applications[number as usize], rules);
                (order, number, step)
            })
            .collect();
        steps.sort_by_key(|(order, number, _)| (*order, *number));
        steps.into_iter().map(|(_, _, step)| step).collect()
    }
}

/// Names of the values of the graph, by class.
struct Places {
    /// The value that a class had been made for.
    own: FxHashMap<Id, (usize, String)>,
    /// The first value of each class as they are now.
    merged: FxHashMap<Id, (usize, String)>,
}

impl Places {
    fn new(graph: &Graph, encoded: &Encoded) -> Places {
        let mut places = Places {
            own: FxHashMap::default(),
            merged: FxHashMap::default(),
        };
        for (order, (v, id, _)) in encoded.origins.iter().enumerate() {
            let name = describe(graph, *v);
            let class = encoded.egraph.find(*id);
            places.own.entry(*id).or_insert_with(|| (order, name.clone()));
            places.merged.entry(class).or_insert((order, name));
        }
        places
    }

    /// The application with its place, and where that stands; what stands at no value of the graph comes last.
    fn step(&self, encoded: &Encoded, application: &Application, rules: &[Arc<Rule>]) -> (usize, Step) {
        let place = |id: &Id| self.own.get(id).or_else(|| self.merged.get(&encoded.egraph.find(*id)));
        let found: Vec<&(usize, String)> = application.outputs.iter().filter_map(place).collect();
        let step = Step {
            rule: rules[application.rule as usize].name.clone(),
            place: found.iter().map(|(_, name)| name.clone()).collect(),
        };
        (found.iter().map(|(order, _)| *order).min().unwrap_or(usize::MAX), step)
    }
}

/// The applications on a shortest way from `start` to one of `ends`.
fn path(edges: &FxHashMap<Id, Vec<(Id, u32)>>, start: Id, ends: &[Id]) -> Vec<u32> {
    let mut from: FxHashMap<Id, (Id, u32)> = FxHashMap::default();
    let mut queue: VecDeque<Id> = [start].into();
    while let Some(id) = queue.pop_front() {
        if ends.contains(&id) {
            let (mut out, mut at) = (Vec::new(), id);
            while at != start {
                let Some(&(before, number)) = from.get(&at) else { break };
                out.push(number);
                at = before;
            }
            return out;
        }
        for &(next, number) in edges.get(&id).into_iter().flatten() {
            if next != start && !from.contains_key(&next) {
                from.insert(next, (id, number));
                queue.push_back(next);
            }
        }
    }
    Vec::new()
}
