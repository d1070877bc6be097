//! Functions that operators call, optimized like the graph they are called in.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::{Options, Outcome, optimize};
use crate::diag::Diagnostics;
use crate::graph::{Graph, Node, Params, VertexId, Workload, graph_region, region_graph};
use crate::op::{AttrValue, Flow, Op, OpDef, Region, Semantics};

/// Optimizes the functions of all calls in the result. A function uses everything that is known about the values passed
/// to it: an expression of parameters becomes a parameter outside. Returns whether a call has changed.
pub(super) fn optimize_bodies(outcome: &mut Outcome, options: &Options<'_>) -> Result<bool, Diagnostics> {
    let inner = Options {
        explain: false,
        explore: false,
        ..options.clone()
    };
    let mut changed = false;
    outcome.in_functions.clear();
    for v in outcome.workload.graph.rpo() {
        let Node::Call {
            op: Op::Known(def),
            attrs,
        } = outcome.workload.graph.vertex(v).node.clone()
        else {
            continue;
        };
        if attrs.iter().all(|a| a.region().is_none()) {
            continue;
        }
        let Some(place) = place(def, &attrs) else { continue };
        let mut call = Calling {
            def,
            attrs: attrs.to_vec(),
            operands: outcome.workload.graph.pred(v).to_vec(),
            place,
        };
        call.optimize(outcome, &inner)?;
        call.drop_unused();
        if call.is_as_it_was(&outcome.workload.graph, v) {
            continue;
        }
        changed |= call.replace(&mut outcome.workload.graph, v);
    }
    let graph = &mut outcome.workload.graph;
    graph.retain_reachable();
    let kept: FxHashSet<Arc<str>> = graph
        .params()
        .iter()
        .chain(graph.inputs())
        .filter_map(|&v| graph.vertex(v).name.clone())
        .collect();
    outcome.workload.params.retain(|name, _| kept.contains(name));
    Ok(changed)
}

/// The index of the first captured value: among the inputs of a function, and among the operands.
fn place(def: &OpDef, attrs: &[AttrValue]) -> Option<(usize, usize)> {
    let count = |name: &str| def.attr_in(attrs, name).as_count();
    let Semantics::Flow(flow) = def.semantics else {
        return None;
    };
    match flow {
        Flow::Branch => Some((0, 1)),
        Flow::Loop => count("carried").map(|n| (n + 2, n + 2)),
        Flow::Scan => Some(count("carried")? + count("scanned")?).map(|n| (n, n)),
        Flow::Map => count("mapped").map(|n| (n, n)),
        _ => None,
    }
}

/// A call of functions that is being rebuilt.
struct Calling {
    def: &'static OpDef,
    attrs: Vec<AttrValue>,
    operands: Vec<VertexId>,
    place: (usize, usize),
}

impl Calling {
    fn optimize(&mut self, outcome: &mut Outcome, options: &Options<'_>) -> Result<(), Diagnostics> {
        let own = self.operands.len();
        // The inputs that each function got besides, in the order of the operands that were added.
        let mut added: Vec<(usize, Vec<VertexId>)> = Vec::new();
        for i in 0..self.attrs.len() {
            let Some(region) = self.attrs[i].region().cloned() else {
                continue;
            };
            let body = self.workload(&region, &outcome.workload);
            let inner = optimize(body, options)?;
            outcome.report.add(&inner.report);
            for rule in inner.report.rules {
                *outcome.in_functions.entry(rule.name).or_default() += rule.in_result;
            }
            let (region, operands) = self.closed(inner.workload, &mut outcome.workload);
            added.push((i, operands));
            self.attrs[i] = AttrValue::Region(region.into());
        }
        let all: BTreeSet<VertexId> = added.iter().flat_map(|(_, list)| list.iter().copied()).collect();
        for (i, list) in &added {
            let AttrValue::Region(region) = &self.attrs[*i] else {
                continue;
            };
            let mut region = (**region).clone();
            // Each function takes what the others take too, in one order.
            let begin = region.inputs - list.len();
            let types: Vec<_> = all.iter().map(|&v| outcome.workload.graph.ty(v).clone()).collect();
            region.insert_inputs(begin, &types);
            for (k, v) in list.iter().enumerate() {
                let at = all.iter().position(|u| u == v).unwrap_or(0);
                region.redirect(begin + types.len() + k, begin + at);
            }
            for _ in list {
                region.remove_input(begin + types.len());
            }
            self.attrs[*i] = AttrValue::Region(region.into());
        }
        self.operands.truncate(own);
        self.operands.extend(all);
        Ok(())
    }

    /// A function as a separate graph; a parameter or constant outside is one inside as well.
    fn workload(&self, region: &Region, outer: &Workload) -> Workload {
        let mut graph = region_graph(region);
        let mut params = Params::new();
        let inputs = graph.inputs().to_vec();
        for (k, &input) in inputs.iter().enumerate().skip(self.place.0) {
            let Some(&operand) = self.operands.get(k - self.place.0 + self.place.1) else {
                continue;
            };
            let vertex = outer.graph.vertex(operand);
            let inside = match &vertex.node {
                Node::Const(value) => graph.constant(value.clone()),
                Node::Param => {
                    let name = vertex.name.clone().unwrap_or_default();
                    let Some(value) = outer.params.get(&name) else { continue };
                    match params.insert(name.clone(), value.clone()) {
                        // A value that is captured twice is one.
                        Some(_) => match graph
                            .params()
                            .iter()
                            .find(|&&p| graph.vertex(p).name.as_ref() == Some(&name))
                        {
                            Some(&p) => p,
                            None => continue,
                        },
                        None => graph.param(&name, vertex.ty.clone()),
                    }
                }
                _ => continue,
            };
            graph.replace_uses(input, inside);
        }
        Workload { graph, params }
    }

    /// An optimized function, and the operands for its parameters, which become inputs after the others.
    fn closed(&self, body: Workload, outer: &mut Workload) -> (Region, Vec<VertexId>) {
        let mut operands = Vec::new();
        for &p in body.graph.params() {
            let name = body.graph.vertex(p).name.clone().unwrap_or_default();
            let value = body.params.get(&name);
            let known = outer
                .graph
                .params()
                .iter()
                .copied()
                .find(|&q| outer.graph.vertex(q).name.as_ref() == Some(&name));
            let same = known.filter(|_| match (value, outer.params.get(&name)) {
                (Some(a), Some(b)) => a.same_bits(b),
                _ => true,
            });
            operands.push(match (same, value) {
                (Some(v), _) => v,
                (None, Some(value)) => {
                    let fresh = fresh_name(&outer.graph, &outer.params, &name);
                    outer.params.insert(fresh.clone(), value.clone());
                    outer.graph.param(&fresh, body.graph.ty(p).clone())
                }
                (None, None) => outer.graph.param(&name, body.graph.ty(p).clone()),
            });
        }
        (graph_region(&body.graph), operands)
    }

    /// Captured values that no function uses are not given.
    fn drop_unused(&mut self) {
        let mut k = self.operands.len();
        while k > self.place.1 {
            k -= 1;
            let input = k - self.place.1 + self.place.0;
            let regions = self.attrs.iter().filter_map(AttrValue::region);
            if regions.clone().any(|r| r.uses_input(input)) || (k == 0 && self.operands.len() == 1) {
                continue;
            }
            for attr in &mut self.attrs {
                if let AttrValue::Region(region) = attr {
                    Arc::make_mut(region).remove_input(input);
                }
            }
            self.operands.remove(k);
        }
    }

    /// True if the call is the one of `v`, whatever names its functions have for their values.
    fn is_as_it_was(&self, graph: &Graph, v: VertexId) -> bool {
        let Node::Call { attrs, .. } = &graph.vertex(v).node else {
            return false;
        };
        let same = |(a, b): (&AttrValue, &AttrValue)| match (a.region(), b.region()) {
            (Some(a), Some(b)) => a.is_same(b),
            _ => a == b,
        };
        graph.pred(v).as_slice() == self.operands.as_slice() && attrs.iter().zip(&self.attrs).all(same)
    }

    /// Replaces `v` by the call, and returns whether it did; if the call has no type, nothing changes.
    fn replace(self, graph: &mut Graph, v: VertexId) -> bool {
        let names = self.def.attrs.iter().map(|a| a.name);
        let given: Vec<(&str, AttrValue)> = names.zip(self.attrs).filter(|(_, value)| !value.is_none()).collect();
        let Ok(new) = graph.call(Op::Known(self.def), &self.operands, &given) else {
            return false;
        };
        if !graph.ty(v).admits(graph.ty(new)) {
            return false;
        }
        let old = graph.vertex(v);
        let (name, span, rules, ty) = (old.name.clone(), old.span, old.rules.clone(), old.ty.clone());
        graph.replace_uses(v, new);
        let vertex = graph.vertex_mut(new);
        (vertex.name, vertex.span, vertex.rules, vertex.ty) = (name, span, rules, ty);
        true
    }
}

fn fresh_name(graph: &Graph, params: &Params, base: &str) -> Arc<str> {
    let taken: FxHashSet<Arc<str>> = graph.ids().filter_map(|v| graph.vertex(v).name.clone()).collect();
    let mut name: Arc<str> = base.into();
    let mut number = 0;
    while taken.contains(&name) || params.contains_key(&name) {
        number += 1;
        name = format!("{base}_{number}").into();
    }
    name
}
