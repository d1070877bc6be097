//! Rewrites tensor computation graphs with rules from files.
//!
//! ```text
//! text ─ lang ─▶ syntax tree ─ graph ─▶ Graph ─ rewrite ─▶ e-graph ─ rewrite ─▶ Graph ─ exec ─▶ Plan ─▶ tensors
//! ONNX ─ formats ─────────────────────▶ Graph                 ▲                 Graph ─ formats ─▶ ONNX, DOT
//! rule files ─ lang ─▶ syntax tree ─ rule ─▶ Rule ────────────┘
//! ```
//!
//! One call reads an ONNX model, rewrites it, compares the result with the original, and returns the result with a
//! report:
//!
//! ```no_run
//! use tautomer::{Options, optimize_onnx};
//!
//! fn main() -> Result<(), tautomer::diag::Diagnostics> {
//!     let optimized = optimize_onnx("model.onnx", &Options::default().check(3))?; // a path, or bytes
//!     println!("{:?} nodes", optimized.report.vertices);
//!     optimized.model.write("smaller.onnx")?; // or to_onnx() for bytes
//!     Ok(())
//! }
//! ```
//!
//! The options ([`Options`]) can be sent to other threads, and can report progress, stop a run, and supply your own
//! cost model. An error that `main` returns is printed as on the command line. The feature `testing` adds random
//! models, instances of rules and assertions for property tests (the module `testing`).
//!
//! [`pipeline::optimize`] runs the stages from graph to graph. The stages can also be called one by one:
//!
//! ```
//! use std::sync::Arc;
//! use tautomer::{diag::Source, graph, lang, rewrite, rule};
//!
//! let source = Arc::new(Source::new("example", "fn main(x: f32[n, 8]) { relu(relu(x) * 1.0) }"));
//! let program = lang::parse_program(source)?; // text to syntax tree
//! let before = graph::build_program(&program, &graph::BuildOptions::default())?; // names, types, sharing
//! let rules = rule::library_rules().map_err(Clone::clone)?; // checked against the operator table
//! let mut encoded = rewrite::encode(&before); // one e-class for each value
//! let saturation = rewrite::saturate(&mut encoded, rules, rewrite::Limits::default()); // all rewrites side by side
//! let extraction = rewrite::extract(&encoded, &rewrite::CostModel::default()); // the cheapest graph
//! let after = rewrite::decode(&before, &encoded, &extraction, &saturation);
//! let text = lang::format_program(&graph::to_program(&after));
//! assert_eq!(text, "fn main(x: f32[n, 8]) {\n  relu(x)\n}\n");
//! # Ok::<(), tautomer::diag::Diagnostics>(())
//! ```

// The command line names the library as its users do.
extern crate self as tautomer;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, unused_imports, reason = "commands use more of it")
)]
mod compare;
pub mod formats;
pub mod kuiper;
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "commands use more of it"))]
mod locks;
mod lower;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, unused_imports, reason = "commands use more of it")
)]
mod model;
mod optimize;
mod page;
pub mod pipeline;
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "commands use more of it"))]
mod rule_files;
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "commands use more of it"))]
mod target;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[doc(hidden)] // for the Python package
pub use compare::random_values;
pub use compare::{Compared, suggest_rules, verify_models};
pub use locks::stored_verdict;
pub use lower::{lower, lower_within, plan, plan_within, precision};
pub use model::{EqualDims, Kind, Model};
pub use optimize::{Check, Onnx, Optimized, Options, Progress, optimize_model, optimize_onnx, why_not};
pub use rule_files::{built_in_operators, read_rules, read_rules_with_built_in, rules_of_text};
pub use target::{Illegal, Opset, TARGETS, Target, TargetFormat, shipped as shipped_targets};

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

#[doc = include_str!("../docs/targets.md")]
#[cfg(doctest)]
struct TargetsPage;

#[doc = include_str!("../docs/own-rules.md")]
#[cfg(all(doctest, feature = "testing"))]
struct OwnRulesPage;
