//! Examples of programs that a rule changes, and of programs it leaves unchanged.

use std::sync::Arc;

use tautomer_graph::Graph;

/// An example of a rule.
#[derive(Debug, Clone)]
pub struct Example {
    /// The rule.
    pub rule: Arc<str>,
    /// The program before.
    pub source: Graph,
    /// The expected result.
    pub kind: ExampleKind,
}

/// The expected result of an example.
#[derive(Debug, Clone)]
pub enum ExampleKind {
    /// The rule rewrites the program to this graph.
    Becomes(Box<Graph>),
    /// The rule does not fire.
    MustNotFire,
}
