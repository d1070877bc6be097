//! Resolves static control flow: branches with a known condition, loops that end after a few calls, sequences with
//! known elements. Calls are replaced by the bodies of their functions.

mod branch;
mod loops;
mod sequence;

use std::sync::Arc;

use rustc_hash::FxHashSet;

use tautomer_graph::{Graph, Node, VertexId, inline_region, known_value};
use tautomer_op::{AttrValue, Attrs, Flow, Op, OpDef, OpError, Region, RegionStep, Semantics, known, lookup};
use tautomer_tensor::{Tensor, Type};

use branch::branch;
use loops::{map, repeat, scan};
use sequence::{at, concat, elements, optional};

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

/// Stacks values along a new axis.
fn side_by_side(graph: &mut Graph, values: &[VertexId], axis: i64) -> Result<VertexId, OpError> {
    let mut parts = Vec::with_capacity(values.len());
    for &v in values {
        parts.push(call(
            graph,
            known::UNSQUEEZE,
            &[v],
            &[("axes", AttrValue::ints(&[axis]))],
        )?);
    }
    match parts.as_slice() {
        [one] => Ok(*one),
        _ => {
            let rank = graph.ty(parts[0]).as_tensor().and_then(|t| t.rank()).unwrap_or(1) as i64;
            let axis = if axis < 0 { axis + rank } else { axis };
            call(graph, known::CONCAT, &parts, &[("axis", AttrValue::int(axis))])
        }
    }
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
