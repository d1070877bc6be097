//! Scripts: statements one after the other, each naming a value or showing one, in a file or at a prompt.
//!
//! A statement is `name = expression`, `print(expression)` or an expression; it ends with its line, unless a bracket is
//! open, or with `;`. Names stand for values that have been computed. Types are found before anything runs.
//!
//! There are two dialects. The *main* one has the expressions of programs, and constructors. In the *plain* one `.` is
//! the product of elements, `*` and `dot` contract the last axis of the left operand with the first one of the right,
//! and `slice(t, begin, size)` takes a block.

mod plain;
mod session;
mod statements;
#[cfg(test)]
mod tests;

pub use session::{Binding, Outcome, Session};
pub use statements::{Script, Statement, is_complete, is_script, parse_script};

/// How scripts are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// The expressions of programs.
    #[default]
    Main,
    /// `.` and `*` are two products; numbers, names, brackets and calls beside them.
    Plain,
}

/// The line that makes a script one of the plain dialect.
pub const PLAIN_PRAGMA: &str = "// dialect: plain";
