//! Symbolic equality of two graphs: both are merged into one graph that shares equal calls.

use tautomer_graph::{Graph, expand_composites};
use tautomer_rewrite::{encode, encode_into};

/// How two graphs were proved equal for all inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Each result is the same expression.
    SameExpression,
    /// Each result is the same expression once composite operators are written out.
    SameOnceExpanded,
    /// Each element of each result is the same formula over the real numbers, for all dimensions.
    SameFormulas {
        /// True if some constants are equal only up to one part in a million.
        rounded: bool,
    },
}

/// Tries to prove that the results of two graphs whose inputs have the same names are equal expressions.
pub(super) fn symbolic(original: &Graph, optimized: &Graph) -> Option<Proof> {
    if is_same(original, optimized) {
        return Some(Proof::SameExpression);
    }
    let expanded = |graph: &Graph| {
        let mut graph = graph.clone();
        expand_composites(&mut graph, &|_| true).ok().map(|_| graph)
    };
    is_same(&expanded(original)?, &expanded(optimized)?).then_some(Proof::SameOnceExpanded)
}

fn is_same(original: &Graph, optimized: &Graph) -> bool {
    let named = |graph: &Graph| -> Vec<_> { graph.inputs().iter().map(|&v| graph.vertex(v).name.clone()).collect() };
    if named(original) != named(optimized) {
        return false;
    }
    let mut encoded = encode(original);
    let theirs = encode_into(&mut encoded, original, optimized);
    let same = |(a, b): (&_, &_)| encoded.egraph.find(*a) == encoded.egraph.find(*b);
    encoded.roots.len() == theirs.len() && encoded.roots.iter().zip(&theirs).all(same)
}
