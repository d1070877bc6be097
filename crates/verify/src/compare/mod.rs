//! The second layer: whether both sides of a rule, or two graphs, agree on an instance, and on what evidence.

pub(crate) mod bits;
pub(crate) mod bounds;
pub(crate) mod comparer;
pub(crate) mod data;
mod draw;
pub(crate) mod element;
pub(crate) mod exact;
mod failures;
pub(crate) mod finding;
pub(crate) mod machine;
mod rounding;
pub(crate) mod sides;
mod steps;
pub(crate) mod sweep;
mod texts;
pub(crate) mod tolerance;
pub(crate) mod uninterpreted;
