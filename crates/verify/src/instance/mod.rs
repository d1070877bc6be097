//! The lowest layer: the small graphs on which a rule is tried, and how they are made and mutated.

pub(crate) mod coincide;
pub(crate) mod combine;
pub(crate) mod extents;
pub(crate) mod grow;
mod legalize;
pub(crate) mod mutate;
pub(crate) mod probe;
pub(crate) mod random;
mod reach;
pub(crate) mod recipe;
pub(crate) mod seeds;
mod sketch;
mod solve;

pub(crate) use self::legalize::legalized;
