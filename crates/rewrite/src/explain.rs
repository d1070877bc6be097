//! Explains a result by the rule applications that it depends on, from the inputs to the outputs.
//!
//! Saturation applies many rules that the result does not use. Each application is recorded with the classes it merged
//! and the earlier applications that created the nodes it matched. The chain of a result consists of the applications
//! that created its e-nodes, those that merged them with the classes they represent, and all that these depend on.
//! Classes that became equal because their operands did need no separate step.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use egg::Id;
use rustc_hash::{FxHashMap, FxHashSet};

use super::EGraph;
use super::encode::{Encoded, attrs_of, operands_of};
use super::enode::{ENode, Head};
use super::explored::Explored;
use super::extract::Extraction;
use super::substitute::describe;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_rule::Rule;

/// A rule application that a result depends on.
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
    /// The application that created an e-node.
    makers: FxHashMap<ENode, u32>,
    /// The e-node for which a rule created a class.
    own: FxHashMap<Id, ENode>,
}

#[derive(Debug)]
struct Application {
    rule: u32,
    outputs: Vec<Id>,
    targets: Vec<Id>,
    /// The applications that created the matched nodes.
    needs: Vec<u32>,
}

impl History {
    /// The applications that created these e-nodes.
    pub(super) fn makers<'a>(&self, enodes: impl Iterator<Item = &'a ENode>) -> Vec<u32> {
        let found: BTreeSet<u32> = enodes.filter_map(|n| self.makers.get(n).copied()).collect();
        found.into_iter().collect()
    }

    /// Adds an application.
    pub(super) fn push(&mut self, rule: usize, outputs: &[Id], targets: &[Id], needs: Vec<u32>, made: &[(ENode, Id)]) {
        let number = self.applications.len() as u32;
        for (enode, id) in made {
            self.makers.entry(enode.clone()).or_insert(number);
            self.own.entry(*id).or_insert_with(|| enode.clone());
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

    /// All terms, and the unions made by the applications.
    pub(super) fn explored(&self, graph: &Graph, encoded: &Encoded, rules: &[Arc<Rule>]) -> Explored {
        let places = Places::new(graph, encoded);
        let unions = self.applications.iter().map(|application| {
            let pairs = application.outputs.iter().zip(&application.targets);
            let step = places.step(encoded, application, rules).1;
            (step, pairs.map(|(a, b)| (*a, *b)).collect())
        });
        Explored::of_egraph(graph, encoded, unions.collect())
    }

    /// The graph of both sides of an application.
    pub(super) fn sides(&self, graph: &Graph, encoded: &Encoded, application: usize) -> Option<Graph> {
        let application = self.applications.get(application)?;
        let egraph = &encoded.egraph;
        let mut own: FxHashMap<Id, &ENode> = self.own.iter().map(|(id, enode)| (*id, enode)).collect();
        for (_, id, enode) in encoded.origins.iter().rev() {
            own.insert(*id, enode);
        }
        // The representative of a class may be an e-node created by folding; any other e-node of the class may be used
        // instead.
        let mut any: FxHashMap<Id, Id> = FxHashMap::default();
        #[expect(clippy::iter_over_hash_type, reason = "the least of each class, in any order")]
        for id in own.keys() {
            let least = any.entry(egraph.find(*id)).or_insert(*id);
            *least = (*least).min(*id);
        }
        let known = |id: Id| {
            if own.contains_key(&id) {
                Some(id)
            } else {
                any.get(&egraph.find(id)).copied()
            }
        };
        let mut out = Graph::new();
        let mut done: FxHashMap<Id, VertexId> = FxHashMap::default();
        let inputs: Vec<VertexId> = graph.inputs().iter().map(|&v| copy_leaf(graph, v, &mut out)).collect();
        let params: Vec<VertexId> = graph.params().iter().map(|&v| copy_leaf(graph, v, &mut out)).collect();
        let roots = application.outputs.iter().chain(&application.targets);
        let roots: Vec<Id> = roots.map(|id| known(*id)).collect::<Option<_>>()?;
        let mut stack = roots.clone();
        let mut visits = 0;
        while let Some(&id) = stack.last() {
            if done.contains_key(&id) {
                stack.pop();
                continue;
            }
            visits += 1;
            // E-nodes of merged classes may depend on each other in a cycle; then there is no such graph.
            if visits > 4 * own.len() + 16 {
                return None;
            }
            let enode = own[&id];
            let operands: Vec<Id> = operands_of(egraph, enode)
                .iter()
                .map(|c| known(*c))
                .collect::<Option<_>>()?;
            let missing: Vec<Id> = operands.iter().copied().filter(|c| !done.contains_key(c)).collect();
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            stack.pop();
            let operands: Vec<VertexId> = operands.iter().map(|c| done[c]).collect();
            let v = match enode.head {
                Head::Input(i) => inputs[i as usize],
                Head::Param(i) => params[i as usize],
                Head::Const(i) => out.constant(egraph.analysis.interner.constant_at(i)?.clone()),
                Head::Absent | Head::Attr(_) => out.absent(),
                Head::Tuple => out.tuple(&operands),
                Head::Proj(i) => out.project(operands[0], i as usize).ok()?,
                Head::Op(i) => {
                    let op = egraph.analysis.interner.op_at(i).clone();
                    let attrs = attrs_of(egraph, enode);
                    out.call_typed(op, &operands, attrs.into(), egraph[id].data.ty.clone())
                }
            };
            done.insert(id, v);
        }
        for root in roots {
            out.output(done[&root], None);
        }
        Some(out)
    }

    /// Updates e-nodes to their canonical form.
    pub(super) fn rebuild(&mut self, egraph: &EGraph) {
        let mut all: Vec<(ENode, u32)> = self.makers.drain().collect();
        all.sort_unstable_by_key(|(_, number)| *number);
        for (mut enode, number) in all {
            enode.children.iter_mut().for_each(|c| *c = egraph.find(*c));
            self.makers.entry(enode).or_insert(number);
        }
    }

    /// The applications that the chosen e-nodes depend on.
    pub(super) fn steps(
        &self,
        graph: &Graph,
        encoded: &Encoded,
        extraction: &Extraction,
        rules: &[Arc<Rule>],
    ) -> Vec<(usize, Step)> {
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
        // Inner e-nodes of the result that correspond to no value of the graph.
        let of_graph: FxHashSet<Id> = encoded.origins.iter().map(|(_, id, _)| egraph.find(*id)).collect();
        #[expect(clippy::iter_over_hash_type, reason = "collected into an ordered set")]
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
        steps
            .into_iter()
            .map(|(_, number, step)| (number as usize, step))
            .collect()
    }
}

/// Copies an input or parameter of one graph to another.
fn copy_leaf(graph: &Graph, v: VertexId, out: &mut Graph) -> VertexId {
    let vertex = graph.vertex(v);
    let name = vertex.name.as_deref().unwrap_or("");
    match vertex.node {
        Node::Param => out.param(name, vertex.ty.clone()),
        _ => out.input(name, vertex.ty.clone()),
    }
}

/// Names of the values of the graph, by class.
struct Places {
    /// The value for which each class was created.
    own: FxHashMap<Id, (usize, String)>,
    /// The first value of each current class.
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

    /// The application with the value at which it was made, and the position of that value; applications at no value of
    /// the graph come last.
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

/// The applications on a shortest path from `start` to one of `ends`.
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
