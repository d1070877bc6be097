//! Resolves static control flow: branches with a known condition, loops that end after a few calls, sequences with
//! known elements. Calls are replaced by the bodies of their functions.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use tautomer_graph::{Graph, Node, VertexId, graph_region, inline_region, known_value};
use tautomer_op::{AttrValue, Attrs, Flow, Op, OpDef, OpError, Region, RegionStep, Semantics, lookup};
use tautomer_tensor::{Dim, Tensor, Type};

/// The maximum number of copies of a function that replace a loop,
const MOST_CALLS: i64 = 16;

/// and the maximum number of operator calls in all copies.
const MOST_VERTICES: usize = 256;

/// The maximum number of passes over the whole graph.
const ROUNDS: usize = 32;

/// Which loops are unrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unroll {
    /// Loops that call their function once.
    Once,
    /// Loops that call their function a few times.
    Few,
    /// Loops that call their function once, and this one if it does so a few times.
    Only(VertexId),
}

/// The calls that may be unrolled where that costs less.
pub fn loops(graph: &Graph) -> Vec<VertexId> {
    let is_loop = |v: &VertexId| matches!(flow_of(graph, *v), Some((_, Flow::Loop | Flow::Scan | Flow::Map)));
    graph.rpo().into_iter().filter(is_loop).collect()
}

/// True if the graph calls functions or has sequences or optional values.
pub fn has_flow(graph: &Graph) -> bool {
    graph.ids().any(|v| flow_of(graph, v).is_some())
}

fn flow_of(graph: &Graph, v: VertexId) -> Option<(&'static OpDef, Flow)> {
    let def = graph.vertex(v).op()?.def()?;
    match def.semantics {
        Semantics::Flow(flow) => Some((def, flow)),
        _ => None,
    }
}

/// Replaces static calls by the bodies of their functions; returns how many calls were removed.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::*;
/// # use tautomer_lang::parse_program;
/// # use tautomer_rewrite::{Unroll, resolve_flow};
/// let text = "fn f(x: f32[n]) { -x } fn g(x: f32[n]) { x * 2.0 }
///     fn main(x: f32[n]) { branch(true, x) {then_branch = f, else_branch = g} }";
/// let program = parse_program(Arc::new(Source::new("example", text))).unwrap();
/// let mut graph = build_program(&program, &BuildOptions::default()).unwrap();
/// assert_eq!(resolve_flow(&mut graph, Unroll::Once), 1);
/// assert!(graph.vertex(graph.outputs()[0].vertex).op().unwrap().is("neg"));
/// ```
pub fn resolve_flow(graph: &mut Graph, unroll: Unroll) -> usize {
    let mut done = 0;
    let mut failed: FxHashSet<VertexId> = FxHashSet::default();
    for _ in 0..ROUNDS {
        let before = done;
        for v in graph.rpo() {
            if failed.contains(&v) || flow_of(graph, v).is_none() {
                continue;
            }
            match resolve(graph, v, unroll) {
                Ok(true) => done += 1,
                Ok(false) => {}
                // The function does not fit here, so the call is kept.
                Err(_) => {
                    failed.insert(v);
                }
            }
        }
        if done == before {
            break;
        }
        graph.retain_reachable();
    }
    done
}

/// Replaces the call `v`, if its control flow is static.
fn resolve(graph: &mut Graph, v: VertexId, unroll: Unroll) -> Result<bool, OpError> {
    let Some((def, flow)) = flow_of(graph, v) else {
        return Ok(false);
    };
    let Node::Call { attrs, .. } = graph.vertex(v).node.clone() else {
        return Ok(false);
    };
    let call = Call {
        def,
        attrs,
        operands: graph.pred(v).to_vec(),
        unroll: match unroll {
            Unroll::Only(only) if only == v => Unroll::Few,
            Unroll::Only(_) => Unroll::Once,
            other => other,
        },
    };
    let results = match flow {
        Flow::Branch => branch(graph, v, &call)?,
        Flow::Loop => repeat(graph, &call)?,
        Flow::Scan => scan(graph, &call)?,
        Flow::Map => map(graph, &call)?,
        Flow::At => at(graph, &call),
        Flow::Length => elements(graph, call.operands[0]).map(|items| {
            let n = i64::try_from(items.len()).unwrap_or(i64::MAX);
            vec![graph.constant(Tensor::scalar(n))]
        }),
        Flow::Concat => concat(graph, &call)?,
        Flow::Inside | Flow::IsThere => optional(graph, &call, flow),
        Flow::Sequence | Flow::Empty | Flow::Insert | Flow::Erase | Flow::Split | Flow::Optional | Flow::Missing => {
            None
        }
    };
    let Some(results) = results else { return Ok(false) };
    replace(graph, v, &results);
    Ok(true)
}

struct Call {
    def: &'static OpDef,
    attrs: Attrs,
    operands: Vec<VertexId>,
    unroll: Unroll,
}

impl Call {
    fn attr(&self, name: &str) -> &AttrValue {
        self.def.attr_in(&self.attrs, name)
    }

    fn function(&self, name: &str) -> Result<Arc<Region>, OpError> {
        let region = self.attr(name).region().cloned();
        region.ok_or_else(|| OpError::new("there is no function to call"))
    }

    fn count(&self, name: &str) -> usize {
        self.attr(name).as_count().unwrap_or(0)
    }

    fn numbers(&self, name: &str) -> Vec<i64> {
        self.attr(name).as_ints().unwrap_or_default()
    }
}

fn known_int(graph: &Graph, v: VertexId) -> Option<i64> {
    let value = known_value(graph, v)?;
    match value.to_ints()?.as_slice() {
        [one] => i64::try_from(*one).ok(),
        _ => None,
    }
}

/// The results of a function inlined here. Calls of opaque operators may not be repeated or moved.
fn inline(graph: &mut Graph, region: &Region, operands: &[VertexId]) -> Result<Option<Vec<VertexId>>, OpError> {
    let opaque = |item: &tautomer_op::Item| matches!(&item.step, RegionStep::Call { op: Op::Opaque(_), .. });
    if region.items.iter().any(opaque) {
        return Ok(None);
    }
    let taken: FxHashSet<Arc<str>> = graph.ids().filter_map(|v| graph.vertex(v).name.clone()).collect();
    let name = |name: &Arc<str>| (!taken.contains(name)).then(|| name.clone());
    inline_region(graph, region, operands, &name).map(Some)
}

fn call(
    graph: &mut Graph,
    name: &str,
    operands: &[VertexId],
    attrs: &[(&str, AttrValue)],
) -> Result<VertexId, OpError> {
    let def = lookup(name).ok_or_else(|| OpError::new(format!("there is no operator `{name}`")))?;
    graph.call(Op::Known(def), operands, attrs)
}

/// Makes users of the results of `v` use `results`.
fn replace(graph: &mut Graph, v: VertexId, results: &[VertexId]) {
    let keep_name = |graph: &mut Graph, from: VertexId, to: VertexId| {
        let name = graph.vertex(from).name.clone();
        let vertex = graph.vertex_mut(to);
        if name.is_some() && matches!(vertex.node, Node::Call { .. } | Node::Proj(_)) {
            vertex.name = name;
        }
    };
    if !matches!(graph.ty(v), Type::Tuple(_)) {
        keep_name(graph, v, results[0]);
        graph.replace_uses(v, results[0]);
        return;
    }
    let users: Vec<VertexId> = graph.users(v).collect();
    for user in users {
        if let Node::Proj(i) = graph.vertex(user).node
            && let Some(&result) = results.get(i as usize)
        {
            keep_name(graph, user, result);
            graph.replace_uses(user, result);
        }
    }
    let is_output = graph.outputs().iter().any(|o| o.vertex == v);
    let whole = graph.users(v).any(|u| !matches!(graph.vertex(u).node, Node::Proj(_)));
    if is_output || whole {
        let tuple = graph.tuple(results);
        graph.replace_uses(v, tuple);
    }
}

fn branch(graph: &mut Graph, v: VertexId, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let (then, otherwise) = (here.function("then_branch")?, here.function("else_branch")?);
    let captured = &here.operands[1..];
    if let Some(holds) = known_int(graph, here.operands[0]) {
        return inline(graph, if holds != 0 { &then } else { &otherwise }, captured);
    }
    // If both functions are the same, the condition does not matter.
    if then.is_same(&otherwise) {
        return inline(graph, &then, captured);
    }
    let (condition, then, otherwise) = match by_other_branch(graph, here.operands[0]) {
        Some(Decision::Always(true)) => return inline(graph, &then, captured),
        Some(Decision::Always(false)) => return inline(graph, &otherwise, captured),
        Some(Decision::As(other)) => (other, then, otherwise),
        Some(Decision::Unlike(other)) => (other, otherwise, then),
        None => (here.operands[0], then, otherwise),
    };
    let (operands, then, otherwise) = match joined(graph, v, condition, [&then, &otherwise], captured)? {
        Some(joined) => joined,
        None if condition == here.operands[0] => return Ok(None),
        None => (captured.to_vec(), then, otherwise),
    };
    let operands: Vec<VertexId> = std::iter::once(condition).chain(operands).collect();
    let functions = [
        ("then_branch", AttrValue::Region(then)),
        ("else_branch", AttrValue::Region(otherwise)),
    ];
    let new = graph.call(Op::Known(here.def), &operands, &functions)?;
    if !graph.ty(v).admits(graph.ty(new)) {
        return Ok(None);
    }
    match graph.ty(new).clone() {
        Type::Tuple(items) => (0..items.len())
            .map(|i| graph.project(new, i))
            .collect::<Result<_, _>>()
            .map(Some),
        _ => Ok(Some(vec![new])),
    }
}

/// What is known about a condition.
enum Decision {
    /// It always holds, or never.
    Always(bool),
    /// It holds exactly where this one does.
    As(VertexId),
    /// It holds exactly where this one does not.
    Unlike(VertexId),
}

/// The maximum number of vertices visited to decide a condition.
const FARTHEST: usize = 64;

/// Decides a condition that follows from the rank and dimensions of the result of another branch, by trying both of its
/// functions: exporters test the rank of a value from which they have just removed an axis.
fn by_other_branch(graph: &Graph, condition: VertexId) -> Option<Decision> {
    let above = above(graph, condition);
    let is_branch = |v: &&VertexId| matches!(flow_of(graph, **v), Some((_, Flow::Branch)));
    above.iter().filter(is_branch).find_map(|&other| {
        let holds = |name: &str| Some(assuming(graph, &above, other, name, condition)? != 0);
        let asked = *graph.pred(other).first()?;
        match (holds("then_branch")?, holds("else_branch")?) {
            (a, b) if a == b => Some(Decision::Always(a)),
            (a, _) if a => Some(Decision::As(asked)),
            _ => Some(Decision::Unlike(asked)),
        }
    })
}

/// The vertices that `v` depends on, operands first, up to branches and limited in number.
fn above(graph: &Graph, v: VertexId) -> Vec<VertexId> {
    let mut out = Vec::new();
    let mut seen: FxHashSet<VertexId> = FxHashSet::default();
    let mut stack = vec![(v, false)];
    while let Some((at, done)) = stack.pop() {
        if done {
            out.push(at);
            continue;
        }
        if !seen.insert(at) {
            continue;
        }
        stack.push((at, true));
        let is_branch = matches!(flow_of(graph, at), Some((_, Flow::Branch)));
        if !is_branch && seen.len() < FARTHEST {
            stack.extend(graph.pred(at).iter().map(|&u| (u, false)));
        }
    }
    out
}

/// The value of the condition when the branch `other` calls its function of that name, if it is then known.
fn assuming(graph: &Graph, above: &[VertexId], other: VertexId, function: &str, condition: VertexId) -> Option<i64> {
    let mut trial = Graph::new();
    trial.reserve_unknown(graph.next_unknown());
    let mut places: FxHashMap<VertexId, (VertexId, bool)> = FxHashMap::default();
    let given = |trial: &mut Graph, v: VertexId| match &graph.vertex(v).node {
        Node::Const(value) => trial.constant(value.clone()),
        Node::Absent => trial.absent(),
        _ => {
            let new = trial.input("", graph.ty(v).clone());
            trial.vertex_mut(new).ints.clone_from(&graph.vertex(v).ints);
            new
        }
    };
    for &v in above {
        let vertex = graph.vertex(v);
        if v == other {
            let Node::Call { op, attrs } = &vertex.node else {
                return None;
            };
            let region = op.def()?.attr_in(attrs, function).region()?.clone();
            let operands: Vec<VertexId> = graph.pred(v)[1..].iter().map(|&u| given(&mut trial, u)).collect();
            let results = inline(&mut trial, &region, &operands).ok()??;
            let value = match vertex.ty {
                Type::Tuple(_) => trial.tuple(&results),
                _ => *results.first()?,
            };
            places.insert(v, (value, true));
            continue;
        }
        let operands: Option<Vec<(VertexId, bool)>> = graph.pred(v).iter().map(|u| places.get(u).copied()).collect();
        let Some(operands) = operands.filter(|list| list.iter().any(|(_, depends)| *depends)) else {
            places.insert(v, (given(&mut trial, v), false));
            continue;
        };
        let operands: Vec<VertexId> = operands.into_iter().map(|(u, _)| u).collect();
        let new = match &vertex.node {
            Node::Call {
                op: Op::Known(def),
                attrs,
            } => {
                let attrs = def.attrs.iter().zip(attrs.iter()).filter(|(_, value)| !value.is_none());
                let attrs: Vec<(&str, AttrValue)> = attrs.map(|(a, value)| (a.name, value.clone())).collect();
                trial.call(Op::Known(def), &operands, &attrs).ok()?
            }
            Node::Proj(i) => match trial.vertex(operands[0]).node {
                Node::Tuple => *trial.pred(operands[0]).get(*i as usize)?,
                _ => trial.project(operands[0], *i as usize).ok()?,
            },
            Node::Tuple => trial.tuple(&operands),
            _ => return None,
        };
        places.insert(v, (new, true));
    }
    known_int(&trial, places.get(&condition)?.0)
}

/// The operands and functions of one branch that replaces two.
type Joined = (Vec<VertexId>, Arc<Region>, Arc<Region>);

/// Joins two branches with the same condition, where `v` is the only user of the results of the other, so that
/// operations of one function may cancel with those of the next.
fn joined(
    graph: &Graph,
    v: VertexId,
    condition: VertexId,
    functions: [&Arc<Region>; 2],
    captured: &[VertexId],
) -> Result<Option<Joined>, OpError> {
    let source = |u: VertexId| match graph.vertex(u).node {
        Node::Proj(i) => (graph.pred(u)[0], i as usize),
        _ => (u, 0),
    };
    let only_here = |other: VertexId| {
        let is_output = |u: VertexId| graph.outputs().iter().any(|o| o.vertex == u);
        let mut results = vec![other];
        results.extend(
            graph
                .users(other)
                .filter(|&u| matches!(graph.vertex(u).node, Node::Proj(_))),
        );
        results
            .iter()
            .all(|&r| !is_output(r) && graph.users(r).all(|u| u == v || results.contains(&u)))
    };
    let asks_the_same = |other: VertexId| {
        matches!(flow_of(graph, other), Some((_, Flow::Branch))) && graph.pred(other).first() == Some(&condition)
    };
    let others = captured.iter().map(|&u| source(u).0);
    let Some(other) = others.into_iter().find(|&u| asks_the_same(u) && only_here(u)) else {
        return Ok(None);
    };
    let Node::Call {
        op: Op::Known(def),
        attrs,
    } = &graph.vertex(other).node
    else {
        return Ok(None);
    };
    let mut operands: Vec<VertexId> = graph.pred(other)[1..].to_vec();
    let own: Vec<VertexId> = captured.iter().copied().filter(|&u| source(u).0 != other).collect();
    operands.extend(&own);
    let mut made = Vec::new();
    for (function, name) in functions.into_iter().zip(["then_branch", "else_branch"]) {
        let Some(first) = def.attr_in(attrs, name).region() else {
            return Ok(None);
        };
        let mut body = Graph::new();
        body.reserve_unknown(graph.next_unknown());
        let inputs: Vec<VertexId> = operands.iter().map(|&u| body.input("", graph.ty(u).clone())).collect();
        let (theirs, ours) = inputs.split_at(inputs.len() - own.len());
        let Some(results) = inline(&mut body, first, theirs)? else {
            return Ok(None);
        };
        let mut ours = ours.iter();
        let given: Option<Vec<VertexId>> = captured
            .iter()
            .map(|&u| match source(u) {
                (from, i) if from == other => results.get(i).copied(),
                _ => ours.next().copied(),
            })
            .collect();
        let Some(given) = given else { return Ok(None) };
        let Some(outputs) = inline(&mut body, function, &given)? else {
            return Ok(None);
        };
        for (v, (_, name)) in outputs.into_iter().zip(&function.outputs) {
            body.output(v, name.as_deref());
        }
        made.push(Arc::new(graph_region(&body)));
    }
    let [then, otherwise] = <[Arc<Region>; 2]>::try_from(made).map_err(|_| OpError::new("a function is missing"))?;
    Ok(Some((operands, then, otherwise)))
}

/// Stacks values along a new axis.
fn side_by_side(graph: &mut Graph, values: &[VertexId], axis: i64) -> Result<VertexId, OpError> {
    let mut parts = Vec::with_capacity(values.len());
    for &v in values {
        parts.push(call(graph, "unsqueeze", &[v], &[("axes", AttrValue::ints(&[axis]))])?);
    }
    match parts.as_slice() {
        [one] => Ok(*one),
        _ => {
            let rank = graph.ty(parts[0]).as_tensor().and_then(|t| t.rank()).unwrap_or(1) as i64;
            let axis = if axis < 0 { axis + rank } else { axis };
            call(graph, "concat", &parts, &[("axis", AttrValue::int(axis))])
        }
    }
}

/// True if this many calls of a function are better than a loop.
fn worth(calls: i64, region: &Region, unroll: Unroll) -> bool {
    calls == 1
        || unroll == Unroll::Few
            && (0..=MOST_CALLS).contains(&calls)
            && (calls as usize).saturating_mul(region.call_count()) <= MOST_VERTICES
}

fn repeat(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let region = here.function("body")?;
    let given = |graph: &Graph, i: usize| {
        let v = *here.operands.get(i)?;
        (!matches!(graph.vertex(v).node, Node::Absent)).then_some(v)
    };
    let carried = here.count("carried");
    let values = here.operands.get(2..).unwrap_or_default();
    let mut state = values.get(..carried).unwrap_or_default().to_vec();
    let captured = values.get(carried..).unwrap_or_default();
    let begins = match given(graph, 1) {
        None => true,
        Some(v) => match known_int(graph, v) {
            Some(0) => return Ok((region.outputs.len() == carried + 1).then_some(state)),
            Some(_) => true,
            None => false,
        },
    };
    let Some(trips) = given(graph, 0).and_then(|v| known_int(graph, v)) else {
        return Ok(None);
    };
    let trips = trips.max(0);
    if trips == 0 {
        return Ok((region.outputs.len() == carried + 1).then_some(state));
    }
    // With one call, the condition it returns does not matter.
    let goes_on = trips == 1 || tautomer_op::always_true(&region);
    if !begins || !goes_on || !worth(trips, &region, here.unroll) {
        return Ok(None);
    }
    let ranks: Vec<usize> = region
        .input_types()
        .take(2)
        .map(|ty| ty.as_tensor().and_then(|t| t.rank()).unwrap_or(0).min(1))
        .collect();
    let scalar = |graph: &mut Graph, input: usize, value: Tensor| {
        let shape = vec![1; ranks.get(input).copied().unwrap_or(0)];
        graph.constant(value.reshaped(&shape).unwrap_or(value))
    };
    let mut collected: Vec<Vec<VertexId>> = vec![Vec::new(); region.outputs.len() - carried - 1];
    for i in 0..trips {
        let mut operands = vec![
            scalar(graph, 0, Tensor::scalar(i)),
            scalar(graph, 1, Tensor::scalar(true)),
        ];
        operands.extend(&state);
        operands.extend(captured);
        let Some(results) = inline(graph, &region, &operands)? else {
            return Ok(None);
        };
        state = results[1..=carried].to_vec();
        for (list, v) in collected.iter_mut().zip(&results[carried + 1..]) {
            list.push(*v);
        }
    }
    for list in collected {
        state.push(side_by_side(graph, &list, 0)?);
    }
    Ok(Some(state))
}

fn scan(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let region = here.function("body")?;
    let (carried, scanned) = (here.count("carried"), here.count("scanned"));
    if carried + scanned > here.operands.len() {
        return Ok(None);
    }
    let (axes, backwards) = (here.numbers("input_axes"), here.numbers("input_directions"));
    let mut sources = Vec::new();
    let mut slices = None;
    for (k, &v) in here.operands[carried..carried + scanned].iter().enumerate() {
        let shape = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref());
        let Some(shape) = shape else { return Ok(None) };
        let axis = axes.get(k).copied().unwrap_or(0);
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
        slices = slices.or(shape.get(axis as usize).and_then(Dim::as_const));
        sources.push((v, axis, backwards.get(k) == Some(&1)));
    }
    let Some(slices) = slices.filter(|&n| n > 0 && worth(n, &region, here.unroll)) else {
        return Ok(None);
    };
    let mut state = here.operands[..carried].to_vec();
    let mut collected: Vec<Vec<VertexId>> = vec![Vec::new(); region.outputs.len().saturating_sub(carried)];
    for i in 0..slices {
        let mut operands = state.clone();
        for &(v, axis, backwards) in &sources {
            let at = if backwards { slices - 1 - i } else { i };
            let index = graph.constant(Tensor::scalar(at));
            operands.push(call(graph, "gather", &[v, index], &[("axis", AttrValue::int(axis))])?);
        }
        operands.extend(&here.operands[carried + scanned..]);
        let Some(results) = inline(graph, &region, &operands)? else {
            return Ok(None);
        };
        state = results[..carried].to_vec();
        for (list, v) in collected.iter_mut().zip(&results[carried..]) {
            list.push(*v);
        }
    }
    let (axes, backwards) = (here.numbers("output_axes"), here.numbers("output_directions"));
    for (k, mut list) in collected.into_iter().enumerate() {
        if backwards.get(k) == Some(&1) {
            list.reverse();
        }
        state.push(side_by_side(graph, &list, axes.get(k).copied().unwrap_or(0))?);
    }
    Ok(Some(state))
}

fn map(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let region = here.function("body")?;
    let mapped = here.count("mapped").min(here.operands.len());
    let mut lists: Vec<Option<Vec<VertexId>>> = Vec::new();
    let mut n: Option<usize> = None;
    for (i, &v) in here.operands.iter().enumerate() {
        let is_sequence = i < mapped && matches!(graph.ty(v), Type::Sequence(_));
        let items = if is_sequence { elements(graph, v) } else { None };
        if is_sequence {
            let Some(items) = &items else { return Ok(None) };
            if n.is_some_and(|n| n != items.len()) {
                return Ok(None);
            }
            n = Some(items.len());
        }
        lists.push(items);
    }
    let Some(n) = n.filter(|&n| n > 0 && worth(n as i64, &region, here.unroll)) else {
        return Ok(None);
    };
    let mut results: Vec<Vec<VertexId>> = vec![Vec::new(); region.outputs.len()];
    for k in 0..n {
        let operands = here
            .operands
            .iter()
            .zip(&lists)
            .map(|(&v, list)| list.as_ref().map_or(v, |items| items[k]));
        let operands: Vec<VertexId> = operands.collect();
        let Some(made) = inline(graph, &region, &operands)? else {
            return Ok(None);
        };
        for (list, v) in results.iter_mut().zip(made) {
            list.push(v);
        }
    }
    let results = results
        .iter()
        .map(|items| call(graph, "sequence_construct", items, &[]));
    results.collect::<Result<_, _>>().map(Some)
}

/// A position among `n` elements, counted from the front.
fn position(position: i64, n: usize, at_end: bool) -> Option<usize> {
    let n = n as i64;
    let resolved = if position < 0 {
        position.checked_add(n)?
    } else {
        position
    };
    (0..n + i64::from(at_end))
        .contains(&resolved)
        .then_some(resolved as usize)
}

/// The elements of a sequence that is constructed in this graph.
fn elements(graph: &Graph, v: VertexId) -> Option<Vec<VertexId>> {
    // The operations on the sequence, last first.
    let mut changes = Vec::new();
    let mut at = v;
    let mut items = loop {
        let operands = graph.pred(at);
        match flow_of(graph, at)?.1 {
            Flow::Sequence => break operands.to_vec(),
            Flow::Empty => break Vec::new(),
            flow @ (Flow::Insert | Flow::Erase) => {
                let place = operands.get(if flow == Flow::Insert { 2 } else { 1 }).copied();
                let place = place.filter(|&p| !matches!(graph.vertex(p).node, Node::Absent));
                let place = match place {
                    Some(p) => Some(known_int(graph, p)?),
                    None => None,
                };
                changes.push((flow, operands.get(1).copied(), place));
                at = *operands.first()?;
            }
            _ => return None,
        }
    };
    for (flow, value, place) in changes.into_iter().rev() {
        match flow {
            Flow::Insert => {
                let end = i64::try_from(items.len()).ok()?;
                items.insert(position(place.unwrap_or(end), items.len(), true)?, value?);
            }
            _ => {
                items.remove(position(place.unwrap_or(-1), items.len(), false)?);
            }
        }
    }
    Some(items)
}

fn at(graph: &Graph, here: &Call) -> Option<Vec<VertexId>> {
    let items = elements(graph, here.operands[0])?;
    let at = position(known_int(graph, *here.operands.get(1)?)?, items.len(), false)?;
    Some(vec![items[at]])
}

fn concat(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let items = elements(graph, here.operands[0]).filter(|items| !items.is_empty());
    let (Some(items), AttrValue::Int(Dim::Const(axis))) = (items, here.attr("axis")) else {
        return Ok(None);
    };
    let joined = match (here.attr("new_axis"), items.as_slice()) {
        (AttrValue::Bool(true), _) => side_by_side(graph, &items, *axis)?,
        (_, [one]) => *one,
        _ => call(graph, "concat", &items, &[("axis", AttrValue::int(*axis))])?,
    };
    Ok(Some(vec![joined]))
}

fn optional(graph: &mut Graph, here: &Call, flow: Flow) -> Option<Vec<VertexId>> {
    let v = *here.operands.first()?;
    let made = flow_of(graph, v).map(|(_, flow)| flow);
    match (flow, made) {
        (Flow::Inside, Some(Flow::Optional)) => Some(vec![*graph.pred(v).first()?]),
        (Flow::Inside, _) if !matches!(graph.ty(v), Type::Optional(_)) => Some(vec![v]),
        (Flow::IsThere, Some(Flow::Optional)) => Some(vec![graph.constant(Tensor::scalar(true))]),
        (Flow::IsThere, Some(Flow::Missing)) => Some(vec![graph.constant(Tensor::scalar(false))]),
        (Flow::IsThere, _) if !matches!(graph.ty(v), Type::Optional(_)) => Some(vec![
            graph.constant(Tensor::scalar(!matches!(graph.ty(v), Type::Absent))),
        ]),
        _ => None,
    }
}
