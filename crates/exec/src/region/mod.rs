//! Regions: successive elementwise steps that one loop computes, whose values between stay in registers.
//!
//! A region is found when the plan is made (`find`). At the first run with operands of some broadcasting pattern, its
//! steps become a program of `tautomer_loops` (`lower`), which is kept. All results of a region have one shape; operands
//! are broadcast to it.

mod find;
mod lower;
mod nest;
mod run;
#[cfg(test)]
mod tests;

pub(super) use find::{check, find};
pub(super) use run::Ready;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::plan::SlotId;

/// Successive steps that are computed by one loop.
///
/// ```
/// use tautomer_exec::Plan;
/// use tautomer_graph::Graph;
/// use tautomer_op::{Op, lookup};
/// use tautomer_tensor::{DType, Type};
///
/// let mut g = Graph::new();
/// let x = g.input("x", Type::tensor(DType::F64, [2, 3]));
/// let y = g.call(Op::Known(lookup("exp").unwrap()), &[x], &[]).unwrap();
/// let z = g.call(Op::Known(lookup("mul").unwrap()), &[x, y], &[]).unwrap();
/// g.output(z, None);
///
/// let regions = Plan::compile(&g).unwrap().regions;
/// assert_eq!((regions[0].first, regions[0].count), (0, 2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// The first step.
    pub first: usize,
    /// The number of steps.
    pub count: usize,
    /// The slots that it reads, each once.
    pub inputs: Vec<SlotId>,
    /// The slots of its values that others need.
    pub outputs: Vec<SlotId>,
}

impl Region {
    /// Its steps.
    pub(super) fn steps(&self) -> Range<usize> {
        self.first..self.first.saturating_add(self.count)
    }
}
