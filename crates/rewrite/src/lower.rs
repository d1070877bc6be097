//! Lowering: a composite operator that the result should not contain also has the form of its body.

use std::cell::Cell;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use super::apply::same_type;
use super::encode::{EGraphSink, Encoded, attrs_of, class_id, operands_of, value_id};
use super::enode::{ENode, Head};
use super::rebuild::rebuild;
use egg::Id;
use tautomer_graph::{Graph, Node, ValueId, VertexId, inline};
use tautomer_op::{AttrValue, Fact, Infer, Op, OpDef};
use tautomer_tensor::Type;

/// Says which calls should not stay.
type Test<'a> = &'a dyn Fn(&Infer<'_>, &Type) -> bool;

/// Adds the body of every composite call for which `illegal` holds, and of such calls in the bodies, to the class of
/// the call; returns how many were added. Bodies without a type, or with a type that does not fit the call's, are left
/// out.
pub fn add_bodies(encoded: &mut Encoded, illegal: Test<'_>) -> usize {
    let mut stack: Vec<(ENode, Id)> = encoded
        .origins
        .iter()
        .map(|(_, id, enode)| (enode.clone(), *id))
        .collect();
    let mut seen: FxHashSet<ENode> = FxHashSet::default();
    let mut added = 0;
    while let Some((enode, id)) = stack.pop() {
        let egraph = &mut encoded.egraph;
        let Head::Op(i) = enode.head else { continue };
        let Op::Known(def) = egraph.analysis.interner.op_at(i).clone() else {
            continue;
        };
        if def.composite_body().is_none() || !seen.insert(enode.clone()) {
            continue;
        }
        let attrs = attrs_of(egraph, &enode);
        let operands: SmallVec<[Id; 6]> = operands_of(egraph, &enode).into();
        let ty = egraph[id].data.ty.clone();
        let stays = {
            let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&c| egraph[c].data.fact()).collect();
            !is(illegal, def, &facts, &attrs, &ty)
        };
        if stays {
            continue;
        }
        let mut sink = EGraphSink {
            egraph,
            created: Vec::new(),
        };
        let operands: SmallVec<[ValueId; 6]> = operands.into_iter().map(value_id).collect();
        let Ok(body) = inline(&mut sink, def, &operands, &attrs) else {
            continue;
        };
        let body = class_id(body);
        let created = sink.created;
        if same_type(&egraph[body].data.ty, &ty) {
            egraph.union(id, body);
            added += 1;
            stack.extend(created);
        }
    }
    if added > 0 {
        rebuild(&mut encoded.egraph);
    }
    added
}

/// The graph with every composite call for which `illegal` holds replaced by its body, where that leaves no such call;
/// and how many were replaced.
pub fn with_bodies(graph: &Graph, illegal: Test<'_>) -> (Graph, usize) {
    let mut graph = graph.clone();
    let mut replaced = 0;
    for v in graph.rpo() {
        if !is_illegal(&graph, v, illegal) {
            continue;
        }
        let mut trial = graph.clone();
        let Some(new) = written_out(&mut trial, v, illegal) else {
            continue;
        };
        if !same_type(trial.ty(new), graph.ty(v)) {
            continue;
        }
        trial.replace_uses(v, new);
        trial.retain_reachable();
        graph = trial;
        replaced += 1;
    }
    (graph, replaced)
}

/// Adds the body of a call, in which all calls may stay, to the graph; returns its value.
fn written_out(graph: &mut Graph, v: VertexId, illegal: Test<'_>) -> Option<VertexId> {
    let mut root = None;
    let mut stack = vec![v];
    while let Some(call) = stack.pop() {
        let Node::Call {
            op: Op::Known(def),
            attrs,
        } = graph.vertex(call).node.clone()
        else {
            return None;
        };
        def.composite_body()?;
        let before: FxHashSet<VertexId> = graph.ids().collect();
        let operands = graph.pred(call);
        let new = inline(graph, def, &operands, &attrs).ok()?;
        match root {
            None => root = Some(new),
            Some(_) => graph.replace_uses(call, new),
        }
        if root == Some(call) {
            root = Some(new);
        }
        let added: Vec<VertexId> = graph.ids().filter(|u| !before.contains(u)).collect();
        stack.extend(added.into_iter().filter(|&u| is_illegal(graph, u, illegal)));
    }
    root
}

fn is_illegal(graph: &Graph, v: VertexId, illegal: Test<'_>) -> bool {
    let Node::Call {
        op: Op::Known(def),
        attrs,
    } = &graph.vertex(v).node
    else {
        return false;
    };
    let operands = graph.pred(v);
    let facts: SmallVec<[Fact<'_>; 6]> = operands.iter().map(|&u| graph.fact(u)).collect();
    is(illegal, def, &facts, attrs, graph.ty(v))
}

fn is(illegal: Test<'_>, def: &'static OpDef, operands: &[Fact<'_>], attrs: &[AttrValue], result: &Type) -> bool {
    let call = Infer {
        def,
        operands,
        attrs,
        fresh: &Cell::new(u32::MAX / 2),
    };
    illegal(&call, result)
}
