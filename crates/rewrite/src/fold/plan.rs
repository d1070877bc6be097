//! Decides which values to compute ahead of time.

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{CALL_BYTES, CONSTANT_LIMIT, FoldNote, Folding, SMALL_GROWTH, enlarges, stored_bytes};
use crate::enode::may_be_folded;
use crate::substitute::describe;
use tautomer_graph::{Allowance, Excess, Graph, Node, Params, VertexId, bytes_text};
use tautomer_op::held_bytes;
use tautomer_tensor::{Tensor, Type};

/// The findings about a graph.
pub(super) struct Folder {
    pub(super) limits: Folding,
    pub(super) order: Vec<VertexId>,
    pub(super) users: FxHashMap<VertexId, Vec<VertexId>>,
    pub(super) outputs: FxHashSet<VertexId>,
    /// Calls left to run time.
    pub(super) stays: FxHashSet<VertexId>,
    pub(super) is_static: FxHashSet<VertexId>,
    pub(super) fills: FxHashMap<VertexId, Tensor>,
    /// Values that replace the calls that compute them.
    pub(super) values: FxHashMap<VertexId, Tensor>,
    /// Values that become fills.
    pub(super) uniform: Vec<VertexId>,
    /// The number of bytes by which parameters may grow because others were removed.
    pub(super) pool: i64,
    /// The limit on bytes, and the remaining operations.
    pub(super) allowance: Allowance,
    pub(super) notes: Vec<FoldNote>,
}

/// Expressions that share parameters or constants.
#[derive(Default)]
struct Component {
    members: Vec<VertexId>,
    growth: i64,
}

impl Folder {
    pub(super) fn new(graph: &Graph, params: &Params, limits: Folding) -> Folder {
        let order = graph.rpo();
        let reached: FxHashSet<VertexId> = order.iter().copied().collect();
        let mut users: FxHashMap<VertexId, Vec<VertexId>> = FxHashMap::default();
        for &v in &order {
            for u in graph.pred(v) {
                users.entry(u).or_default().push(v);
            }
        }
        let named = |v: &VertexId| graph.vertex(*v).name.as_ref();
        let used: FxHashSet<&Arc<str>> = graph
            .params()
            .iter()
            .filter(|v| reached.contains(v))
            .chain(graph.inputs())
            .filter_map(named)
            .collect();
        let gone = params.iter().filter(|(name, _)| !used.contains(name));
        let pool = gone.map(|(_, value)| value.bytes() as i64).sum();
        let constants = order.iter().filter_map(|v| graph.vertex(*v).constant());
        let given: u64 = params.values().chain(constants).map(held_bytes).sum();
        Folder {
            limits,
            users,
            outputs: graph.outputs().iter().map(|o| o.vertex).collect(),
            stays: FxHashSet::default(),
            is_static: FxHashSet::default(),
            fills: FxHashMap::default(),
            values: FxHashMap::default(),
            uniform: Vec::new(),
            pool,
            allowance: Allowance {
                bytes: limits.bytes.saturating_add(given.saturating_mul(8)),
                operations: limits.operations.saturating_add(given.saturating_mul(16)),
            },
            notes: Vec::new(),
            order,
        }
    }

    /// Finds the static vertices, except those that are left to run time, and those among them that other vertices use.
    pub(super) fn frontier(&mut self, graph: &Graph, params: &Params) -> Vec<VertexId> {
        self.is_static.clear();
        for &v in &self.order {
            let vertex = graph.vertex(v);
            let own = match &vertex.node {
                Node::Input | Node::Absent => false,
                Node::Param => vertex.name.as_ref().is_some_and(|n| params.contains_key(n)),
                Node::Const(_) => true,
                Node::Call { op, attrs } => may_be_folded(op, attrs) && !self.stays.contains(&v),
                Node::Tuple | Node::Proj(_) => true,
            };
            let absent = |u: &VertexId| matches!(graph.vertex(*u).node, Node::Absent);
            if own && graph.pred(v).iter().all(|u| self.is_static.contains(u) || absent(u)) {
                self.is_static.insert(v);
            }
        }
        let used = |v: &VertexId| {
            let users = self.users.get(v).into_iter().flatten();
            self.outputs.contains(v) || users.into_iter().any(|u| !self.is_static.contains(u))
        };
        self.order
            .iter()
            .copied()
            .filter(|v| {
                self.is_static.contains(v)
                    && matches!(graph.vertex(*v).node, Node::Call { .. } | Node::Proj(_))
                    && matches!(graph.ty(*v), Type::Tensor(_))
                    && used(v)
            })
            .collect()
    }

    /// Leaves quantized values to run time.
    pub(super) fn leave_quantized(&mut self, graph: &Graph) {
        let quantized = |v: &&VertexId| {
            let op = graph.vertex(**v).op();
            op.is_some_and(|op| op.def().is_some_and(|def| def.unpacks) && enlarges(op, &[], graph.ty(**v)))
        };
        let found: Vec<VertexId> = self.order.iter().filter(quantized).copied().collect();
        self.stays.extend(found);
    }

    /// The values that may be computed; `None` if a value was left to run time, so that its parts are considered next.
    pub(super) fn accepted(&mut self, graph: &Graph, frontier: &[VertexId], last: bool) -> Option<Vec<VertexId>> {
        self.uniform.clear();
        let own = |v: &VertexId| self.fills.contains_key(v) && large(graph.ty(*v));
        let (mut fills, others): (Vec<VertexId>, Vec<VertexId>) = frontier.iter().partition(|v| own(v));
        if self.limits.all {
            fills.retain(|v| stored_bytes(graph.ty(*v)).is_none_or(|bytes| bytes > self.limits.bytes));
            self.uniform = fills;
            let left = |v: &VertexId| !self.uniform.contains(v);
            return Some(frontier.iter().copied().filter(left).collect());
        }
        let mut components = self.components(graph, &others);
        // The sort is stable, so that components with equal growth stay in the order of the graph.
        components.sort_by_key(|c| c.growth);
        let mut pool = self.pool;
        let mut accepted = Vec::new();
        let mut refused = false;
        for component in components {
            if component.growth <= pool.max(SMALL_GROWTH) {
                pool -= component.growth;
                accepted.extend(component.members);
                continue;
            }
            refused = true;
            let size = |v: &VertexId| stored_bytes(graph.ty(*v)).unwrap_or(u64::MAX);
            let mut members = component.members;
            members.sort_by_key(|v| (Reverse(size(v)), v.index()));
            if !last {
                members.truncate(1);
            }
            for v in members {
                self.stay(graph, v, Why::Larger(component.growth as u64));
            }
        }
        if refused {
            return None;
        }
        fills.sort_by_key(|v| stored_bytes(graph.ty(*v)).unwrap_or(u64::MAX));
        for v in fills {
            let growth = stored_bytes(graph.ty(v)).map_or(i64::MAX, |bytes| bytes as i64 - CALL_BYTES);
            if growth <= pool.max(SMALL_GROWTH) {
                pool -= growth;
                accepted.push(v);
            } else {
                self.uniform.push(v);
            }
        }
        Some(accepted)
    }

    /// Leaves the call that computes a value to run time.
    pub(super) fn stay(&mut self, graph: &Graph, v: VertexId, why: Why) {
        let mut call = v;
        while let Node::Proj(_) = graph.vertex(call).node {
            call = graph.pred(call)[0];
        }
        if !self.stays.insert(call) && !self.stays.insert(v) {
            return;
        }
        let (why, help, bytes) = match why {
            Why::Larger(bytes) => (
                format!("the parameters would grow by {}", bytes_text(bytes as f64)),
                "`--fold-all` computes it",
                bytes,
            ),
            Why::Limit(excess @ Excess::Bytes(..)) => {
                (format!("it takes {excess}"), "`--max-fold-bytes` raises the limit", 0)
            }
            Why::Limit(excess @ Excess::Operations(..)) => {
                let help = "`--max-fold-operations` raises the limit";
                (format!("it takes {excess}"), help, 0)
            }
            Why::Failed(why) => (
                format!("it cannot be computed: {why}"),
                "check the values of the parameters",
                0,
            ),
        };
        self.notes.push(FoldNote {
            value: describe(graph, v),
            why,
            help,
            bytes,
        });
    }

    /// Groups of values that share parameters or constants, with the bytes by which parameters grow if a whole group is
    /// computed.
    fn components(&self, graph: &Graph, frontier: &[VertexId]) -> Vec<Component> {
        let mut parent: FxHashMap<VertexId, VertexId> = FxHashMap::default();
        fn root(parent: &mut FxHashMap<VertexId, VertexId>, v: VertexId) -> VertexId {
            let mut at = v;
            while let Some(&up) = parent.get(&at).filter(|up| **up != at) {
                let above = parent.get(&up).copied().unwrap_or(up);
                parent.insert(at, above);
                at = above;
            }
            at
        }
        let mut needed: FxHashSet<VertexId> = FxHashSet::default();
        let mut stack: Vec<VertexId> = frontier.to_vec();
        while let Some(v) = stack.pop() {
            if !needed.insert(v) {
                continue;
            }
            for u in graph.pred(v).into_iter().filter(|u| self.is_static.contains(u)) {
                let (a, b) = (root(&mut parent, v), root(&mut parent, u));
                parent.insert(a, b);
                stack.push(u);
            }
        }
        let members: FxHashSet<VertexId> = frontier.iter().copied().collect();
        let mut components: FxHashMap<VertexId, Component> = FxHashMap::default();
        for &v in self.order.iter().filter(|v| needed.contains(v)) {
            let component = components.entry(root(&mut parent, v)).or_default();
            let bytes = stored_bytes(graph.ty(v)).map_or(i64::MAX / 4, |bytes| bytes.min(1 << 60) as i64);
            let mut users = self.users.get(&v).into_iter().flatten();
            match &graph.vertex(v).node {
                Node::Param | Node::Const(_) => {
                    let alone = !self.outputs.contains(&v) && users.all(|u| needed.contains(u));
                    component.growth -= if alone { bytes } else { 0 };
                }
                Node::Call { .. } => component.growth -= CALL_BYTES,
                _ => {}
            }
            if members.contains(&v) {
                component.members.push(v);
                let own = if large(graph.ty(v)) { bytes } else { 0 };
                component.growth = component.growth.saturating_add(own);
            }
        }
        let mut out: Vec<Component> = components.into_values().filter(|c| !c.members.is_empty()).collect();
        out.sort_by_key(|c| c.members[0].index());
        out
    }
}

/// The reason why a value is not computed.
pub(super) enum Why {
    Larger(u64),
    Limit(Excess),
    Failed(String),
}

/// True for values too large to become constants of the graph.
fn large(ty: &Type) -> bool {
    let shape = ty.as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete());
    shape.is_none_or(|s| s.iter().fold(1usize, |n, d| n.saturating_mul(*d)) > CONSTANT_LIMIT)
}
