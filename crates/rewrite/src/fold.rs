//! Constant folding: computes values that depend only on parameters and constants ahead of time.
//!
//! Folding has two limits. Values that exceed the limit on memory or operations are left unchanged, and so are values
//! that cannot be computed. Unless everything is to be folded, the parameters do not grow: a computed value may take as
//! many bytes as the parameters and constants that only it uses. Quantized values stay quantized.

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use super::enode::may_be_folded;
use super::substitute::describe;
use tautomer_graph::{
    Allowance, Excess, Graph, Meter, Node, Params, VertexId, Workload, bytes_text, evaluate_call, evaluate_within,
};
use tautomer_op::{AttrValue, Op, OpTraits, held_bytes, known, lookup};
use tautomer_tensor::{DType, Tensor, Type};

/// The limits of folding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folding {
    /// If true, also computes values that make the parameters larger.
    pub all: bool,
    /// The maximum number of bytes held at one time, in addition to eight times the size of the parameters.
    pub bytes: u64,
    /// The maximum number of operations, in addition to sixteen for each byte of the parameters.
    pub operations: u64,
}

impl Default for Folding {
    fn default() -> Folding {
        Folding {
            all: false,
            bytes: 256 << 20,
            operations: 1_000_000_000,
        }
    }
}

/// The results of folding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoldReport {
    /// The number of values computed ahead of time.
    pub folded: usize,
    /// The number of values with all elements equal that are left to run time, where they take no bytes.
    pub kept: usize,
    /// Expressions of parameters and constants that were left to run time, with the reasons.
    pub notes: Vec<FoldNote>,
}

/// An expression of parameters and constants that is computed at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoldNote {
    /// Its name, or what computes it.
    pub value: String,
    /// The reason why it was not computed.
    pub why: String,
    /// How to have it computed.
    pub help: &'static str,
    /// The number of bytes by which the parameters would grow, if that is the reason.
    pub bytes: u64,
}

/// The maximum size of a constant in the graph; a larger one becomes a parameter.
pub(super) const CONSTANT_LIMIT: usize = 16;

/// The minimum number of bytes of a call in a file, for its names and its entry in the list of nodes.
const CALL_BYTES: i64 = 64;

/// The maximum number of times that expressions are split to find parts that may be computed.
const MOST_ROUNDS: usize = 64;

/// Parameters may grow by as many bytes for a value with equal elements, such as the bias of a layer, and for expressions
/// that share parameters. The limit is for each of them and not for all together, so that a second run finds nothing
/// left to fold.
const SMALL_GROWTH: i64 = 64 << 10;

/// The number of bytes that a single call may add before it counts as enlarging its operands.
const SLACK: f64 = 4096.0;

/// True for a call that is not expected to be computed ahead of time, since its result takes more bytes than its
/// operands, or is a value that was quantized to take fewer.
pub(super) fn enlarges(op: &Op, operands: &[&Type], result: &Type) -> bool {
    let stored = |ty: &Type| stored_bytes(ty).map(|bytes| bytes as f64);
    if op.def().is_some_and(|def| def.unpacks) {
        return stored(result).is_none_or(|bytes| bytes > 4.0);
    }
    let Some(bytes) = stored(result).filter(|bytes| *bytes > SLACK) else {
        return false;
    };
    if operands.iter().all(|ty| stored(ty).is_some_and(|bytes| bytes <= 8.0)) && op.def().is_none_or(|def| !def.counts)
    {
        // All operands are single numbers, so the result has the same element throughout.
        return false;
    }
    let given: Option<Vec<f64>> = operands.iter().map(|ty| stored(ty)).collect();
    given.is_some_and(|given| bytes > given.iter().sum::<f64>() + SLACK)
}

/// The number of bytes of a value in a file, if all dimensions are known.
fn stored_bytes(ty: &Type) -> Option<u64> {
    match ty {
        Type::Tensor(tensor) => {
            let shape = tensor.shape.as_ref()?.to_concrete()?;
            let elements = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d as u64));
            Some(match tensor.dtype {
                DType::I4 | DType::U4 | DType::F4E2M1 => elements.div_ceil(2),
                DType::I2 | DType::U2 => elements.div_ceil(4),
                dtype => elements.saturating_mul(dtype.size() as u64),
            })
        }
        Type::Tuple(items) => items
            .iter()
            .map(stored_bytes)
            .try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?))),
        Type::Absent => Some(0),
        _ => None,
    }
}

/// Replaces every maximal static expression that is within `limits` by its value: a constant if it is small, otherwise
/// a new parameter. Expressions of parameters without given values are not folded.
///
/// Results with all elements equal become fills (`constant_of_shape`), which take no bytes, unless there is room for
/// their values.
pub fn fold_static(workload: &mut Workload, limits: Folding) -> FoldReport {
    let mut folder = Folder::new(&workload.graph, &workload.params, limits);
    folder.plan(&workload.graph, &workload.params);
    folder.replace(workload)
}

/// The calls of static values that [`fold_static`] leaves to run time because parameters would grow; nothing is computed.
pub(super) fn left_to_run_time(graph: &Graph, params: &Params, limits: Folding) -> Vec<VertexId> {
    let mut folder = Folder::new(graph, params, limits);
    if limits.all {
        return Vec::new();
    }
    folder.leave_quantized(graph);
    let given: Vec<VertexId> = folder.stays.iter().copied().collect();
    for round in 0.. {
        let frontier = folder.frontier(graph, params);
        folder.fills = uniform(graph, &folder.order, &folder.is_static, params);
        if frontier.is_empty() || folder.accepted(graph, &frontier, round + 1 >= MOST_ROUNDS).is_some() {
            break;
        }
    }
    if folder.stays.len() == given.len() {
        return Vec::new();
    }
    let call = |v: &VertexId| matches!(graph.vertex(*v).node, Node::Call { .. });
    let left = |v: &VertexId| call(v) && !folder.is_static.contains(v);
    folder.order.iter().copied().filter(left).collect()
}

/// The findings about a graph.
struct Folder {
    limits: Folding,
    order: Vec<VertexId>,
    users: FxHashMap<VertexId, Vec<VertexId>>,
    outputs: FxHashSet<VertexId>,
    /// Calls left to run time.
    stays: FxHashSet<VertexId>,
    is_static: FxHashSet<VertexId>,
    fills: FxHashMap<VertexId, Tensor>,
    /// Values that replace the calls that compute them.
    values: FxHashMap<VertexId, Tensor>,
    /// Values that become fills.
    uniform: Vec<VertexId>,
    /// The number of bytes by which parameters may grow because others were removed.
    pool: i64,
    /// The limit on bytes, and the remaining operations.
    allowance: Allowance,
    notes: Vec<FoldNote>,
}

/// Expressions that share parameters or constants.
#[derive(Default)]
struct Component {
    members: Vec<VertexId>,
    growth: i64,
}

impl Folder {
    fn new(graph: &Graph, params: &Params, limits: Folding) -> Folder {
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
    fn frontier(&mut self, graph: &Graph, params: &Params) -> Vec<VertexId> {
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

    /// Decides which values to compute, and computes them.
    fn plan(&mut self, graph: &Graph, params: &Params) {
        if !self.limits.all {
            self.leave_quantized(graph);
        }
        for round in 0.. {
            let frontier = self.frontier(graph, params);
            if frontier.is_empty() {
                return;
            }
            self.fills = uniform(graph, &self.order, &self.is_static, params);
            let accepted = self.accepted(graph, &frontier, round + 1 >= MOST_ROUNDS);
            let Some(accepted) = accepted else { continue };
            if self.compute(graph, params, &accepted) || round > 2 * MOST_ROUNDS {
                return;
            }
        }
    }

    /// Leaves what was quantized to run time.
    fn leave_quantized(&mut self, graph: &Graph) {
        let quantized = |v: &&VertexId| {
            let op = graph.vertex(**v).op();
            op.is_some_and(|op| op.def().is_some_and(|def| def.unpacks) && enlarges(op, &[], graph.ty(**v)))
        };
        let found: Vec<VertexId> = self.order.iter().filter(quantized).copied().collect();
        self.stays.extend(found);
    }

    /// The values that may be computed; `None` if a value was left to run time, so that its parts are considered next.
    fn accepted(&mut self, graph: &Graph, frontier: &[VertexId], last: bool) -> Option<Vec<VertexId>> {
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
    fn stay(&mut self, graph: &Graph, v: VertexId, why: Why) {
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

    /// Computes values; `false` if one of them is left to run time.
    fn compute(&mut self, graph: &Graph, params: &Params, wanted: &[VertexId]) -> bool {
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
    fn replace(self, workload: &mut Workload) -> FoldReport {
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

/// The reason why a value is not computed.
enum Why {
    Larger(u64),
    Limit(Excess),
    Failed(String),
}

/// True for values too large to become constants of the graph.
fn large(ty: &Type) -> bool {
    let shape = ty.as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete());
    shape.is_none_or(|s| s.iter().fold(1usize, |n, d| n.saturating_mul(*d)) > CONSTANT_LIMIT)
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

fn is_fill(graph: &Graph, v: VertexId) -> bool {
    graph.vertex(v).op().is_some_and(|op| op.is("constant_of_shape")) && graph.arity(v) == 0
}

/// Static vertices whose elements are known to be all equal, with that element; found without computing them.
fn uniform(
    graph: &Graph,
    order: &[VertexId],
    is_static: &FxHashSet<VertexId>,
    params: &Params,
) -> FxHashMap<VertexId, Tensor> {
    let mut out: FxHashMap<VertexId, Tensor> = FxHashMap::default();
    for &v in order.iter().filter(|v| is_static.contains(v)) {
        let vertex = graph.vertex(v);
        let given = |t: &Tensor| t.is_uniform().then(|| t.first()).flatten();
        let element = match &vertex.node {
            Node::Const(value) => given(value),
            Node::Param => vertex.name.as_ref().and_then(|n| params.get(n)).and_then(given),
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => {
                let operands = graph.pred(v);
                let elements: Option<Vec<Option<Tensor>>> =
                    operands.iter().map(|u| out.get(u).cloned().map(Some)).collect();
                if is_fill(graph, v) {
                    def.attr_index("value").and_then(|i| match &attrs[i] {
                        AttrValue::Tensor(t) => t.first(),
                        _ => Some(Tensor::scalar(0.0f32)),
                    })
                } else if vertex.ty.as_tensor().is_none_or(|t| t.dtype == DType::Utf8) {
                    // A string may be as long as all its operands together.
                    None
                } else if def.traits.contains(OpTraits::ELEMENTWISE) {
                    elements
                        .and_then(|e| evaluate_call(&Op::Known(def), &e, attrs).ok())
                        .and_then(|mut r| r.pop())
                        .and_then(|t| t.first())
                } else if def.traits.contains(OpTraits::MOVEMENT.and(OpTraits::LINEAR)) && operands.len() == 1 {
                    elements.and_then(|mut e| e.pop().flatten())
                } else {
                    None
                }
            }
            _ => None,
        };
        out.extend(element.map(|e| (v, e)));
    }
    out
}

/// Turns `v` into `constant_of_shape() {shape, value}`.
fn become_fill(graph: &mut Graph, v: VertexId, element: &Tensor) {
    let Some(shape) = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete()) else {
        return;
    };
    let shape: Vec<i64> = shape.into_iter().map(|d| d as i64).collect();
    let attrs = [
        ("shape", AttrValue::ints(&shape)),
        ("value", AttrValue::Tensor(element.clone())),
    ];
    let Some(def) = lookup(known::CONSTANT_OF_SHAPE) else {
        return;
    };
    // The operator takes its shape as an attribute; otherwise the expression is left unchanged.
    if let Ok(fill) = graph.call(Op::Known(def), &[], &attrs) {
        let name = graph.vertex(v).name.clone();
        graph.replace_uses(v, fill);
        graph.vertex_mut(fill).name = name;
    }
}
