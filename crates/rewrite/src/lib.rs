//! Rewriting by equality saturation: encodes a graph as an e-graph, applies rules up to a fixed point or a counted
//! limit, and extracts the cheapest graph.

mod apply;
#[cfg(test)]
mod brute;
mod choice;
mod cost;
mod decode;
mod encode;
mod enode;
mod exchange;
mod explain;
mod explored;
mod extract;
mod flow;
mod fold;
mod kept;
mod left;
mod lower;
mod matching;
mod nearest;
mod prices;
mod rebuild;
mod saturate;
mod substitute;
mod trial;
mod unknown;

pub use cost::{CostModel, batch_symbols, graph_cost, graph_cost_by};
pub use decode::decode;
pub use encode::{Encoded, encode};
pub use explain::Step;
pub use extract::{Extraction, extract};
pub use fold::{FoldNote, FoldReport, Folding, fold_static};
pub use saturate::{IterationReport, Limits, RuleReport, Saturation, StopReason, Watch, saturate, saturate_watched};
pub use substitute::{Substitution, substitute, substitute_watched};

// For the other crates of this workspace: no part of the interface, so it may change in any version.
#[doc(hidden)]
pub use encode::{encode_folding, encode_into};
#[doc(hidden)]
pub use enode::{ClassData, ENode, Facts, Head, Interner};
#[doc(hidden)]
pub use explored::{Explored, Formula, Term, Union};
#[doc(hidden)]
pub use flow::{Unroll, has_flow, loops, resolve_flow};
#[doc(hidden)]
pub use kept::{Kept, kept_from};
#[doc(hidden)]
pub use left::extract_folded;
#[doc(hidden)]
pub use lower::{add_bodies, with_bodies};
#[doc(hidden)]
pub use nearest::{Nearest, nearest_in_egraph, nearest_in_graph};
#[doc(hidden)]
pub use prices::Prices;
#[doc(hidden)]
pub use saturate::{Guard, saturate_explained, saturate_guarded};
#[doc(hidden)]
pub use substitute::substitute_explored;
#[doc(hidden)]
pub use trial::{Sides, Trial};

/// The e-graph of typed tensor expressions.
pub type EGraph = egg::EGraph<ENode, Facts>;
