//! Help at the prompt: statements, commands, functions, operators, rules.

use tautomer::diag::{Diagnostic, did_you_mean};
use tautomer::op;

use super::Repl;
use crate::cli::{Done, ops};

/// Commands: name, operand, description.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    (":type", "EXPR", "the type of an expression, without computing it"),
    (
        ":graph",
        "[EXPR]",
        "the program that computes it; without EXPR, of the loaded file",
    ),
    (
        ":optimize",
        "[EXPR]",
        "the program after rewriting, and the rules that were applied; without EXPR, of the loaded file",
    ),
    (":rules", "[TEXT]", "the rules whose names contain the text"),
    (":names", "", "all names and their types"),
    (":load", "FILE", "a script, a program, a model or a rule file"),
    (
        ":help",
        "[NAME]",
        "this list, or a description of an operator, a function, a rule or a command",
    ),
    (":quit", "", "leave, as do `quit`, `exit` and the end of the input"),
];

/// The forms of statements.
const FORMS: &[(&str, &str)] = &[
    ("EXPR", "shows a value; `_` is the one shown last"),
    ("NAME = EXPR", "names a value"),
    ("NAME: f32[n, 8]", "declares an input without a value"),
    ("fn f(x) { EXPR }", "defines a function"),
    ("rule r(x) { P => Q }", "adds a rule to those that `:optimize` applies"),
    (
        "pragma compat",
        "changes the spelling; also `compat full`, `power_caret`",
    ),
];

/// Functions of scripts: name, operands, result.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("rand, init_random", "(shape)", "integers from 0 to 9"),
    ("one, ones, init_one", "(shape)", "a tensor of ones"),
    ("zero, zeros, init_zero", "(shape)", "a tensor of zeros"),
    ("init_by_list", "(list)", "a tensor of the elements of nested lists"),
    (
        "dot",
        "(a, b)",
        "the sum over the last axis of `a` and the first axis of `b`",
    ),
    (
        "reshape, reshape_tensor",
        "(x, shape)",
        "the same elements in another shape",
    ),
    (
        "slice, tensor_slice",
        "(x, begin, size)",
        "`size` positions of each axis starting at `begin`; -1 for all that follow",
    ),
    ("shape, get_shape", "(x)", "the size of each axis"),
    ("size, get_tensor_size", "(x)", "the number of elements"),
    ("ndim", "(x)", "the number of axes"),
    ("dtype", "(x)", "the element type"),
    (
        "operate_tensor",
        "(a, b, \"+\")",
        "`a + b`; also `\"-\"`, and `\".\"` for the product",
    ),
    ("print", "(a, …)", "shows values"),
];

impl Repl<'_> {
    pub(super) fn help(&self, about: &str) -> Done {
        if !about.is_empty() {
            return self.explain(about);
        }
        let mut text = String::new();
        for (form, what) in FORMS {
            text.push_str(&format!("  {form:20}  {what}\n"));
        }
        for (name, takes, what) in COMMANDS {
            text.push_str(&format!("  {:20}  {what}\n", format!("{name} {takes}")));
        }
        self.shell.result(&text)
    }

    /// Describes an operator, a function, a rule or a command.
    fn explain(&self, name: &str) -> Done {
        let mut texts = Vec::new();
        for (names, takes, what) in FUNCTIONS {
            if names.split(", ").any(|known| known == name) {
                texts.push(format!("{name}{takes}: {what}"));
            }
        }
        texts.extend(self.functions.get(name).cloned());
        texts.extend(op::lookup(name).map(ops::text));
        for (command, takes, what) in COMMANDS {
            if command.trim_start_matches(':') == name.trim_start_matches(':') && name.starts_with(':') {
                texts.push(format!("{command} {takes}: {what}"));
            }
        }
        if texts.is_empty() {
            let rules = self.all_rules()?;
            let rule = rules.iter().find(|r| &*r.name == name);
            texts.extend(rule.map(|r| format!("{}: {}", r.name, r.doc)));
        }
        if !texts.is_empty() {
            return self.say(&texts.join("\n"));
        }
        let names: Vec<String> = self.names().into_iter().collect();
        let problem = Diagnostic::error("T0402", format!("nothing is called `{name}`"));
        Err(match did_you_mean(name, names.iter().map(String::as_str)) {
            Some(close) => problem.help(format!("did you mean `{close}`?")),
            None => problem.help("`:help` lists the commands"),
        }
        .into())
    }
}
