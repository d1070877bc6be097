//! Execution: a graph becomes a [`Plan`], and an [`Executor`] runs the plan on tensors.
//!
//! A plan is plain data. The operator table defines what a step computes; a kernel in [`kernels`] may compute the same
//! faster. An executor in [`Mode::Reference`] uses no kernels.

mod awake;
mod bind;
mod build;
mod divided;
mod error;
mod estimate;
mod fixed;
mod flow;
#[doc(hidden)] // for the other crates of this workspace
pub mod kernels;
mod layout;
mod memory;
mod place;
mod plan;
mod precision;
mod print;
mod ranges;
mod region;
mod request;
mod run;
mod session;
#[cfg(test)]
mod tests;
mod verify;
mod walk;

pub use error::{PlanError, RunError};
pub use estimate::Estimate;
pub use memory::Memory;
pub use plan::{Constant, Plan, Port, Slot, SlotId, Step};
pub use precision::Precision;
pub use region::Region;
pub use run::{Executor, Mode, Observer};
pub use session::{Options, Session, SessionError};
