//! Programs and rules as text: the syntax tree, the parser, the printer.
//!
//! The grammar is in `grammar/`. Knows element types and nothing else of what a program means.

pub mod ast;
mod build;
mod literal;
mod parse;
mod scan;
mod syntax;
#[cfg(test)]
mod tests;

pub use parse::{parse_program, parse_rules};
pub use scan::MAX_NESTING;

/// How deep tuple types may be nested.
pub const MAX_TYPE_NESTING: usize = 64;
