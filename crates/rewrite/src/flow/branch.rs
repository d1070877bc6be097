//! Branches whose condition is known, follows from another branch, or decides that one too.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use tautomer_graph::{Graph, Node, VertexId, graph_region};
use tautomer_op::{AttrValue, Flow, Op, OpError, Region};
use tautomer_tensor::Type;

use super::{Call, flow_of, inline, known_int};

/// One function of a branch whose condition is known, or one branch that joins it with the branch before it.
pub(super) fn branch(graph: &mut Graph, v: VertexId, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
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

/// Merges two branches with the same condition if `v` is the only user of the results of the other, so that operations
/// of one function may cancel with those of the next.
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
