//! Strided views: the same elements seen through other axes, without a copy.
//!
//! A [`Layout`] says where the elements of an array lie: extents, a stride for each axis, and the place of the first
//! element. Slicing, permuting, diagonals, broadcasting and windows make one layout of another; no element moves. A
//! [`View`] is a layout over elements, checked once, so that every place it names exists. [`Positions`] counts through
//! the positions of any shape, [`Offsets`] through their places in memory, and [`Runs`] through the longest stretches
//! of equal distance.

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
