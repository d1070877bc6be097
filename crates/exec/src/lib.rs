//! Execution: a graph becomes a [`Plan`], and an [`Executor`] runs the plan on tensors.
//!
//! A plan is plain data. The operator table defines what a step computes; a kernel of [`kernels`] may compute the same
//! faster, and an executor in [`Mode::Reference`] uses no kernels.

mod bind;
mod build;
mod error;
mod estimate;
mod flow;
mod join;
#[doc(hidden)] // for the other crates of this workspace
pub mod kernels;
mod memory;
mod plan;
mod print;
mod region;
mod run;
#[cfg(test)]
mod tests;

pub use error::{PlanError, RunError};
pub use estimate::Estimate;
pub use memory::Memory;
pub use plan::{Constant, Plan, Port, Slot, SlotId, Step};
pub use region::Region;
pub use run::{Executor, Mode, Observer};
