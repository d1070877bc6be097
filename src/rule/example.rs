//! Examples: what a rule does to a program, and programs it leaves alone.

use std::sync::Arc;

use crate::graph::Graph;

/// An example of a rule.
#[derive(Debug, Clone)]
pub struct Example {
    /// The rule.
    pub rule: Arc<str>,
    /// The program before.
    pub source: Graph,
    /// What is expected.
    pub kind: ExampleKind,
}

/// What an example expects.
#[derive(Debug, Clone)]
pub enum ExampleKind {
    /// The rule makes this of it.
    Becomes(Box<Graph>),
    /// The rule does not fire.
    MustNotFire,
}
