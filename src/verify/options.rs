//! How much is tried.

use crate::op::Laws;

/// How much is tried.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the random choices begin.
    pub seed: u64,
    /// Instances of each rule.
    pub instances: usize,
    /// Changes that are tried for each instance before the search ends.
    pub attempts: usize,
    /// A rule is wrong where its target has another type than its source; without this, such instances are counted as
    /// refused, for no engine applies the rule there.
    pub strict: bool,
    /// A proof for all sizes is looked for; it takes longer than the instances, and refutes nothing.
    pub prove: bool,
    /// Laws of functions that may be assumed.
    pub laws: Laws,
    /// Numbers of an element type on which the bits of a rule with one real operand are compared.
    pub patterns: u64,
    /// All of them instead, those of `f32` as well.
    pub exhaustive: bool,
    /// Changes that are tried to make a counterexample smaller.
    pub shrinking: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            seed: 0,
            instances: 100,
            attempts: 10,
            strict: false,
            prove: true,
            laws: Laws::ALL,
            patterns: 1 << 18,
            exhaustive: false,
            shrinking: 600,
        }
    }
}
