//! Other ways to write graphs and values down.

mod dot;

pub use dot::{DOT_LIMIT, to_dot};
