//! Rewriting by equality saturation: graph to e-graph, rules to a fixed point or a counted limit, cheapest graph out.

mod apply;
#[cfg(test)]
mod brute;
mod choice;
mod cost;
mod decode;
mod encode;
mod enode;
mod exchange;
mod extract;
mod fold;
mod matching;
mod saturate;
mod substitute;

pub use cost::{CostModel, graph_cost};
pub use decode::decode;
pub use encode::{Encoded, encode, encode_into};
pub use enode::{ClassData, ENode, Facts, Head, Interner};
pub use extract::{Extraction, extract};
pub use fold::{FoldReport, fold_static};
pub use substitute::{Step, Substitution, substitute};
pub use saturate::{IterationReport, Limits, RuleReport, Saturation, StopReason, saturate};

/// The e-graph of typed tensor expressions.
pub type EGraph = egg::EGraph<ENode, Facts>;
