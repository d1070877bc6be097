//! The nodes of a model that are carried along without being understood.

use indexmap::IndexMap;

use tautomer::graph::{Graph, Node};
use tautomer::op::Op;

/// How many operators the summary names.
const SHOWN: usize = 5;

/// The operators that are carried along unread, the most frequent first, with the number of their nodes.
pub(super) fn not_understood(graph: &Graph) -> Vec<(String, usize)> {
    let mut counts: IndexMap<String, usize> = IndexMap::new();
    for v in graph.rpo() {
        if let Node::Call { op: Op::Opaque(op), .. } = &graph.vertex(v).node {
            let name = match &*op.domain {
                "" => op.name.to_string(),
                domain => format!("{domain}::{}", op.name),
            };
            *counts.entry(name).or_insert(0) += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}

/// A line such as `3 of 57 nodes not understood: com.example::Warp 2, Momentum 1`, if there are any.
pub(super) fn line(unknown: &[(String, usize)], nodes: usize) -> Option<String> {
    let all: usize = unknown.iter().map(|(_, count)| count).sum();
    if all == 0 {
        return None;
    }
    let shown: Vec<String> = (unknown.iter().take(SHOWN))
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let more = match unknown.len().saturating_sub(SHOWN) {
        0 => String::new(),
        1 => " and 1 more operator".to_owned(),
        n => format!(" and {n} more operators"),
    };
    Some(format!(
        "{all} of {nodes} nodes not understood: {}{more}",
        shown.join(", ")
    ))
}
