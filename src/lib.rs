//! Rewrites tensor computation graphs with rules from files.
//!
//! ```text
//! text ─ lang ─▶ syntax tree ─ graph ─▶ Graph ─ rewrite ─▶ e-graph ─ rewrite ─▶ Graph ─ exec ─▶ Plan ─▶ tensors
//! ONNX ─ formats ─────────────────────▶ Graph                 ▲                 Graph ─ formats ─▶ ONNX, DOT
//! rule files ─ lang ─▶ syntax tree ─ rule ─▶ Rule ────────────┘
//! ```
//!
//! [`pipeline::optimize`] runs the stages from graph to graph. The same by hand:
//!
//! ```
//! use std::sync::Arc;
//! use tautomer::{diag::Source, graph, lang, rewrite, rule};
//!
//! let source = Arc::new(Source::new("example", "fn main(x: f32[n, 8]) { relu(relu(x) * 1.0) }"));
//! let program = lang::parse_program(source)?; // text to syntax tree
//! let before = graph::build_program(&program, &graph::BuildOptions::default())?; // names, types, sharing
//! let rules = &rule::library().map_err(Clone::clone)?.rules; // checked against the operator table
//! let mut encoded = rewrite::encode(&before); // one e-class for each value
//! let saturation = rewrite::saturate(&mut encoded, rules, rewrite::Limits::default()); // all rewrites side by side
//! let extraction = rewrite::extract(&encoded, &rewrite::CostModel::default()); // the cheapest graph
//! let after = rewrite::decode(&before, &encoded, &extraction, &saturation);
//! let text = lang::format_program(&graph::to_program(&after));
//! assert_eq!(text, "fn main(x: f32[n, 8]) {\n  relu(x)\n}\n");
//! # Ok::<(), tautomer::diag::Diagnostics>(())
//! ```

pub mod formats;
pub mod kuiper;
pub mod pipeline;

#[cfg(feature = "eval")]
#[doc(inline)]
pub use tautomer_columns as columns;
#[doc(inline)]
pub use {
    tautomer_diag as diag, tautomer_exec as exec, tautomer_graph as graph, tautomer_lang as lang, tautomer_op as op,
    tautomer_rewrite as rewrite, tautomer_rule as rule, tautomer_tensor as tensor, tautomer_verify as verify,
};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
