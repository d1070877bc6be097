//! Rewrites tensor computation graphs with rules from files.

pub mod diag;
pub mod lang;
pub mod tensor;
