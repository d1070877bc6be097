//! Options: how much is tried.

use tautomer_op::Laws;

/// How much is tried.
#[derive(Debug, Clone)]
pub struct Options {
    /// The seed of all random choices.
    pub seed: u64,
    /// Instances for each rule.
    pub instances: usize,
    /// Mutations tried for each instance before the search ends.
    pub attempts: usize,
    /// Treat a target whose type differs from the source's as an error. Otherwise such instances count as refused,
    /// because no engine applies the rule there.
    pub strict: bool,
    /// Attempt a proof for all sizes; it takes longer than the instances, and never refutes a rule.
    pub prove: bool,
    /// Laws of functions that may be assumed.
    pub laws: Laws,
    /// How many numbers of an element type to compare bits on, for a rule with one real operand.
    pub patterns: u64,
    /// Compare bits on all of them instead, including all of `f32`.
    pub exhaustive: bool,
    /// Mutations tried to shrink a counterexample.
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
