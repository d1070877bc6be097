//! Computes the values that a plan accepts, and puts them into the graph.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::fill::{become_fill, is_fill};
use super::plan::{Folder, Why};
use super::{CONSTANT_LIMIT, FoldReport, SLACK, stored_bytes};
use tautomer_graph::{Graph, Meter, Node, Params, VertexId, Workload, evaluate_within};
use tautomer_op::{AttrValue, Op, held_bytes};
use tautomer_tensor::{DType, Tensor};

impl Folder {
    /// Computes values; `false` if one of them is left to run time.
    pub(super) fn compute(&mut self, graph: &Graph, params: &Params, wanted: &[VertexId]) -> bool {
        self.values.retain(|v, _| wanted.contains(v));
        let mut uses: FxHashMap<VertexId, usize> = FxHashMap::default();
        let mut needed: FxHashSet<VertexId> = FxHashSet::default();
        let mut stack: Vec<VertexId> = wanted
            .iter()
            .copied()
            .filter(|v| !self.values.contains_key(v))
            .collect();
        stack.iter().for_each(|&v| *uses.entry(v).or_default() += 1);
        while let Some(v) = stack.pop() {
            if !needed.insert(v) || self.values.contains_key(&v) {
                continue;
            }
            for u in graph.pred(v) {
                *uses.entry(u).or_default() += 1;
                stack.push(u);
            }
        }
        let mut known: FxHashMap<VertexId, Vec<Tensor>> = FxHashMap::default();
        let mut live: u64 = self.values.values().map(held_bytes).sum();
        let mut done = true;
        for i in 0..self.order.len() {
            let v = self.order[i];
            if !needed.contains(&v) {
                continue;
            }
            let vertex = graph.vertex(v);
            let operands = graph.pred(v);
            let found = match &vertex.node {
                _ if self.values.contains_key(&v) => Some(vec![self.values[&v].clone()]),
                Node::Param => {
                    let value = vertex.name.as_ref().and_then(|name| params.get(name));
                    value.map(|value| vec![value.clone()])
                }
                Node::Const(value) => Some(vec![value.clone()]),
                Node::Tuple => {
                    let items = operands.iter().map(|u| known.get(u)?.first().cloned());
                    items.collect()
                }
                Node::Proj(i) => {
                    let item = known.get(&operands[0]).and_then(|items| items.get(*i as usize));
                    item.map(|item| vec![item.clone()])
                }
                Node::Call { op, attrs } => {
                    let given: Option<Vec<Option<Tensor>>> = operands
                        .iter()
                        .map(|u| match (known.get(u), &graph.vertex(*u).node) {
                            (Some(value), _) => Some(value.first().cloned()),
                            (None, Node::Absent) => Some(None),
                            _ => None,
                        })
                        .collect();
                    given.and_then(|given| {
                        let found = self.call(graph, v, op, &given, attrs, live);
                        done &= found.is_some();
                        found
                    })
                }
                _ => None,
            };
            if let Some(found) = found {
                if matches!(vertex.node, Node::Call { .. }) {
                    live = live.saturating_add(found.iter().map(held_bytes).sum());
                }
                known.insert(v, found);
            }
            for u in operands {
                let Some(left) = uses.get_mut(&u) else { continue };
                *left -= 1;
                if *left > 0 {
                    continue;
                }
                let value = known.remove(&u);
                if let (Some(value), Node::Call { .. }) = (value, &graph.vertex(u).node) {
                    live = live.saturating_sub(value.iter().map(held_bytes).sum());
                }
            }
        }
        for &v in wanted {
            let Some(value) = known.remove(&v).and_then(|mut list| list.pop()) else {
                continue;
            };
            // The lengths of strings are known only after computation.
            let bytes = held_bytes(&value).saturating_sub(stored_bytes(graph.ty(v)).unwrap_or(0));
            if !self.limits.all && value.dtype() == DType::Utf8 && bytes as f64 > SLACK {
                self.stay(graph, v, Why::Larger(bytes));
                done = false;
            } else {
                self.values.insert(v, value);
            }
        }
        done
    }

    /// The results of one call, if it is within the limits and succeeds.
    fn call(
        &mut self,
        graph: &Graph,
        v: VertexId,
        op: &Op,
        given: &[Option<Tensor>],
        attrs: &[AttrValue],
        live: u64,
    ) -> Option<Vec<Tensor>> {
        let meter = Meter::new(self.allowance);
        meter.hold(live);
        match evaluate_within(op, given, attrs, &meter) {
            Ok(found) => {
                let spent = meter.operations() as u64;
                self.allowance.operations = self.allowance.operations.saturating_sub(spent);
                Some(found)
            }
            Err(error) => {
                let why = meter.excess().map_or_else(|| Why::Failed(error.message), Why::Limit);
                self.stay(graph, v, why);
                None
            }
        }
    }

    /// Replaces calls by their computed values.
    pub(super) fn replace(self, workload: &mut Workload) -> FoldReport {
        let mut report = FoldReport {
            notes: self.notes,
            ..FoldReport::default()
        };
        let mut taken: FxHashMap<Arc<str>, usize> = workload
            .graph
            .ids()
            .filter_map(|v| Some((workload.graph.vertex(v).name.clone()?, 1)))
            .collect();
        let graph = &mut workload.graph;
        for v in self.uniform {
            if !is_fill(graph, v) {
                become_fill(graph, v, &self.fills[&v]);
            }
            report.kept += 1;
        }
        let mut values = self.values;
        for v in self.order {
            let Some(value) = values.remove(&v) else { continue };
            report.folded += 1;
            if value.len() <= CONSTANT_LIMIT {
                graph.become_leaf(v, Node::Const(value), None);
                continue;
            }
            let name = match graph.vertex(v).name.clone() {
                Some(name) => name,
                None => fresh_name(&mut taken),
            };
            workload.params.insert(name.clone(), value);
            graph.become_leaf(v, Node::Param, Some(name));
        }
        graph.retain_reachable();
        let used: FxHashSet<Arc<str>> = graph
            .params()
            .iter()
            .chain(graph.inputs())
            .filter_map(|&v| graph.vertex(v).name.clone())
            .collect();
        workload.params.retain(|name, _| used.contains(name));
        report
    }
}

fn fresh_name(taken: &mut FxHashMap<Arc<str>, usize>) -> Arc<str> {
    let mut i = taken.len();
    loop {
        let name: Arc<str> = format!("folded_{i}").into();
        if !taken.contains_key(&name) {
            taken.insert(name.clone(), 1);
            return name;
        }
        i += 1;
    }
}
