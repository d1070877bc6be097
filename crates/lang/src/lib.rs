//! Programs and rules as text: the syntax tree, the parser, the printer.
//!
//! The grammar is in `grammar/`. This crate knows element types, but nothing else about the meaning of programs.

// What pest derives names it. With pest's feature `std`, every rule of the grammar that is tried measures the stack.
extern crate alloc;

pub mod ast;
mod build;
mod literal;
mod parse;
mod print;
mod scan;
mod script;
mod slips;
mod syntax;
#[cfg(test)]
mod tests;

use pest::unicode::{XID_CONTINUE, XID_START};

pub use parse::{parse_outputs, parse_program, parse_rules, parse_rules_without_examples, parse_schema, parse_targets};
pub use print::{format_expr, format_operator, format_program, format_rules, format_targets, format_type};
pub use scan::MAX_NESTING;
pub use script::{Compat, Script, Statement, is_script, needs_more, parse_script, parse_script_as};

/// The maximum nesting depth of tuple types.
pub const MAX_TYPE_NESTING: usize = 64;

/// Reserved words, which cannot be names.
const RESERVED: [&str; 14] = [
    "let", "if", "else", "when", "for", "in", "and", "or", "not", "true", "false", "fn", "inf", "nan",
];

/// True if the text is a valid variable name: letters, digits and `_`, not beginning with a digit, and not a reserved
/// word.
///
/// ```
/// use tautomer_lang::is_name;
/// assert!(is_name("x_1") && !is_name("1x") && !is_name("com.microsoft::Gelu") && !is_name("let"));
/// ```
pub fn is_name(text: &str) -> bool {
    let special = text.strip_prefix("inf_").or(text.strip_prefix("nan_"));
    let mut chars = text.chars();
    chars.next().is_some_and(|first| first == '_' || XID_START(first))
        && chars.all(XID_CONTINUE)
        && !RESERVED.contains(&text)
        && !special.is_some_and(|dtype| ["f16", "bf16", "f32", "f64"].contains(&dtype))
}
