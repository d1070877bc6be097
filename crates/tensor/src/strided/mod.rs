//! Strided views: the same elements seen through other axes, without copying.
//!
//! A [`Layout`] says where the elements of an array are: its shape, a stride for each axis, and the offset of the first
//! element. Slicing, permuting, diagonals, broadcasting and windows turn one layout into another; no element moves. A
//! [`View`] is a layout over elements, checked once, so that every offset is valid. [`Positions`] iterates over the
//! positions of any shape, [`Offsets`] over their offsets in memory, and [`Runs`] over the longest runs of equal
//! stride.

mod layout;
mod offsets;
mod positions;
mod ranges;
#[cfg(test)]
mod tests;
mod view;

pub use layout::{Layout, LayoutError};
pub use offsets::{Offsets, Run, Runs};
pub use positions::Positions;
pub use view::View;
