//! The order in which nodes are imported, and references that cannot be resolved.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::opaque::captures;
use super::structure;
use crate::proto::{GraphProto, NodeProto};
use tautomer_diag::Diagnostics;
use tautomer_graph::VertexId;

/// The name of a node in messages.
pub(super) fn label(i: usize, node: &NodeProto) -> String {
    let op_type = node.op_type.as_deref().unwrap_or_default();
    match node.name.as_deref() {
        None | Some("") => format!("node {i} ({op_type})"),
        Some(name) => format!("node {i} {name:?} ({op_type})"),
    }
}

/// Indices of nodes, each after those it depends on, otherwise in file order; nodes that cannot be ordered are reported
/// and left out.
pub(super) fn topological(
    proto: &GraphProto,
    leaves: &HashMap<&str, VertexId>,
    problems: &mut Diagnostics,
) -> Vec<usize> {
    let mut producer: HashMap<&str, usize> = HashMap::new();
    for (i, node) in proto.node.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            if leaves.contains_key(name.as_str()) || producer.insert(name, i).is_some() {
                let at = label(i, node);
                problems.push(structure(format!("{at}: another value is already named {name:?}")));
                return Vec::new();
            }
        }
    }
    let mut waiting = vec![0usize; proto.node.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); proto.node.len()];
    for (i, node) in proto.node.iter().enumerate() {
        let captured = captures(node);
        for name in node.input.iter().chain(&captured).filter(|name| !name.is_empty()) {
            if let Some(&from) = producer.get(name.as_str()) {
                users[from].push(i);
                waiting[i] += 1;
            } else if !leaves.contains_key(name.as_str()) {
                let at = label(i, node);
                problems.push(structure(format!("{at}: nothing computes its operand {name:?}")));
            }
        }
    }
    let ready = (0..proto.node.len()).filter(|&i| waiting[i] == 0).map(Reverse);
    let mut ready: BinaryHeap<Reverse<usize>> = ready.collect();
    let mut order = Vec::with_capacity(proto.node.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &user in &users[i] {
            waiting[user] -= 1;
            if waiting[user] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if let Some(i) = (0..waiting.len()).find(|&i| waiting[i] > 0) {
        let at = label(i, &proto.node[i]);
        problems.push(structure(format!("{at} is on a cycle, or depends on one")));
    }
    order
}
