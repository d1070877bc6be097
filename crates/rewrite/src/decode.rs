//! From chosen e-nodes back to a graph.

use std::sync::Arc;

use egg::Id;
use rustc_hash::FxHashMap;

use super::encode::{Encoded, attrs_of, operands_of};
use super::enode::{ENode, Head};
use super::extract::Extraction;
use super::saturate::Saturation;
use tautomer_graph::{Graph, VertexId};
use tautomer_tensor::Type;

/// The graph of an extraction.
///
/// All inputs are kept, and unused parameters are removed. Values that the original graph had keep their names;
/// vertices made by a rule record its name.
pub fn decode(original: &Graph, encoded: &Encoded, extraction: &Extraction, saturation: &Saturation) -> Graph {
    decode_with_classes(original, encoded, extraction, saturation).0
}

/// Like [`decode`], but also returns the vertex of each class.
pub(super) fn decode_with_classes(
    original: &Graph,
    encoded: &Encoded,
    extraction: &Extraction,
    saturation: &Saturation,
) -> (Graph, FxHashMap<Id, VertexId>) {
    let egraph = &encoded.egraph;
    let mut names: FxHashMap<Id, Arc<str>> = FxHashMap::default();
    let mut spans = FxHashMap::default();
    let mut made_by: FxHashMap<ENode, &[Arc<str>]> = FxHashMap::default();
    for (v, id, enode) in &encoded.origins {
        let vertex = original.vertex(*v);
        let class = egraph.find(*id);
        if let Some(name) = &vertex.name {
            names.entry(class).or_insert_with(|| name.clone());
        }
        if !vertex.rules.is_empty() {
            let mut enode = enode.clone();
            enode.children.iter_mut().for_each(|c| *c = egraph.find(*c));
            made_by.entry(enode).or_insert(&vertex.rules);
        }
        if let Some(span) = vertex.span {
            spans.entry(class).or_insert(span);
        }
    }
    let mut graph = Graph::new();
    graph.name = original.name.clone();
    graph.doc = original.doc.clone();
    graph.reserve_unknown(egraph.analysis.fresh);
    let mut inputs = Vec::new();
    for &v in original.inputs() {
        let vertex = original.vertex(v);
        let new = graph.input(vertex.name.as_deref().unwrap_or(""), vertex.ty.clone());
        graph.vertex_mut(new).span = vertex.span;
        inputs.push(new);
    }
    let mut done: FxHashMap<Id, VertexId> = FxHashMap::default();
    let mut stack: Vec<Id> = encoded.roots.iter().rev().map(|&r| egraph.find(r)).collect();
    while let Some(&class) = stack.last() {
        if done.contains_key(&class) {
            stack.pop();
            continue;
        }
        let Some(enode) = extraction.choice.get(&class) else {
            // Unreachable, since an extraction has an e-node for every class it needs.
            stack.pop();
            continue;
        };
        let operands: Vec<Id> = operands_of(egraph, enode).iter().map(|&c| egraph.find(c)).collect();
        let missing: Vec<Id> = operands
            .iter()
            .rev()
            .copied()
            .filter(|c| !done.contains_key(c))
            .collect();
        if !missing.is_empty() {
            stack.extend(missing);
            continue;
        }
        stack.pop();
        let operands: Vec<VertexId> = operands.iter().map(|c| done[c]).collect();
        let ty = &egraph[class].data.ty;
        let v = match enode.head {
            Head::Input(i) => inputs[i as usize],
            Head::Param(i) => {
                let old = original.vertex(original.params()[i as usize]);
                graph.param(old.name.as_deref().unwrap_or(""), old.ty.clone())
            }
            Head::Const(i) => match egraph.analysis.interner.constant_at(i) {
                Some(value) => graph.constant(value.clone()),
                None => graph.absent(),
            },
            Head::Absent | Head::Attr(_) => graph.absent(),
            Head::Tuple => graph.tuple(&operands),
            Head::Proj(i) => match graph.project(operands[0], i as usize) {
                Ok(v) => v,
                Err(_) => graph.absent(),
            },
            Head::Op(i) => {
                let op = egraph.analysis.interner.op_at(i).clone();
                let attrs = attrs_of(egraph, enode);
                let ty: Type = ty.clone();
                graph.call_typed(op, &operands, attrs.into(), ty)
            }
        };
        let vertex = graph.vertex_mut(v);
        if vertex.name.is_none() {
            vertex.name = names.get(&class).cloned();
        }
        if vertex.span.is_none() {
            vertex.span = spans.get(&class).copied();
        }
        if let Some(rule) = saturation.creator(enode) {
            vertex.rules.push(rule.name.clone());
        } else if let Some(rules) = made_by.get(enode) {
            vertex.rules.extend(rules.iter().cloned());
        }
        done.insert(class, v);
    }
    for (output, root) in original.outputs().iter().zip(&encoded.roots) {
        if let Some(&v) = done.get(&egraph.find(*root)) {
            graph.output(v, output.name.as_deref());
        }
    }
    (graph, done)
}
