//! Computation of whole graphs: its limits, and the fast evaluator for graphs that are too large for the reference
//! definitions.

use tautomer_graph::Graph;
use tautomer_tensor::Tensor;

/// A fast way to run a graph: its results for its inputs in order, or why there are none.
pub type Machine<'a> = &'a dyn Fn(&Graph, &[Tensor]) -> Result<Vec<Tensor>, String>;

/// Limits on the computation over one number system at one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Operations, according to the cost of each operator.
    pub operations: u64,
    /// Operations of the machine, which runs calls that exceed this, in single precision.
    pub machine: u64,
    /// Elements held at one time.
    pub elements: usize,
}
