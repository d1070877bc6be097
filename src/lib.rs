//! Rewrites tensor computation graphs with rules from files.

pub mod diag;
pub mod exec;
pub mod formats;
pub mod graph;
pub mod lang;
pub mod op;
pub mod pipeline;
pub mod rewrite;
pub mod rule;
pub mod tensor;
