//! Support for the line editor: completions, and whether a statement is complete.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use tautomer::lang::{Compat, needs_more};
use tautomer::op;

use super::help::COMMANDS;

/// The fields of tensors.
const FIELDS: [&str; 5] = ["data", "dtype", "rank", "shape", "size"];

/// What the line editor needs: completions, and whether a statement is complete.
pub(super) struct Prompt {
    /// The names in scope.
    pub(super) names: Rc<RefCell<BTreeSet<String>>>,
    /// The spelling of statements.
    pub(super) compat: Rc<Cell<Compat>>,
}

impl Completer for Prompt {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..at];
        if before.starts_with(':') && !before.contains(char::is_whitespace) {
            let commands = COMMANDS
                .iter()
                .map(|c| c.0.to_owned())
                .filter(|c| c.starts_with(before));
            return Ok((0, commands.collect()));
        }
        let start = before
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        let word = &before[start..];
        if let Some(choices) = attributes_at(&before[..start]) {
            let fitting = choices.into_iter().filter(|name| name.starts_with(word));
            return Ok((start, fitting.map(|name| format!("{name} = ")).collect()));
        }
        if before[..start].ends_with('.')
            && before[..start - 1].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ')')
        {
            let fitting = FIELDS.iter().filter(|name| name.starts_with(word));
            return Ok((start, fitting.map(|name| (*name).to_owned()).collect()));
        }
        let names = self.names.borrow();
        let fitting = names
            .iter()
            .filter(|n| !word.is_empty() && n.starts_with(word))
            .cloned();
        Ok((start, fitting.collect()))
    }
}

/// The attributes that can complete `before`, which must end inside the braces of a call where a name is expected.
fn attributes_at(before: &str) -> Option<Vec<&'static str>> {
    let open = before.rfind(['{', '}']).filter(|&i| before[i..].starts_with('{'))?;
    let inside = before[open + 1..].trim_end();
    if !(inside.is_empty() || inside.ends_with(',')) {
        return None;
    }
    let call = before[..open].trim_end().strip_suffix(')')?;
    let mut depth = 1;
    let bracket = call.char_indices().rev().find_map(|(i, c)| {
        depth += match c {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        (depth == 0).then_some(i)
    })?;
    let callee = call[..bracket].trim_end();
    let start = callee
        .rfind(|c: char| !c.is_alphanumeric() && c != '_')
        .map_or(0, |i| i + callee[i..].chars().next().map_or(1, char::len_utf8));
    let def = op::lookup(&callee[start..])?;
    let given: Vec<&str> = inside
        .split(',')
        .filter_map(|part| Some(part.split_once('=')?.0.trim()))
        .collect();
    Some(
        def.attrs
            .iter()
            .map(|a| a.name)
            .filter(|name| !given.contains(name))
            .collect(),
    )
}

impl Hinter for Prompt {
    type Hint = String;
}

impl Highlighter for Prompt {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Borrowed(prompt)
    }
}

impl Validator for Prompt {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let text = context.input();
        let whole = text.trim_start().starts_with(':') || !needs_more(text, self.compat.get());
        Ok(if whole {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Helper for Prompt {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_completed_inside_of_braces() {
        assert_eq!(attributes_at("y = softmax(neg(x)) {"), Some(vec!["axis"]));
        assert_eq!(attributes_at("softmax(x) {axis = "), None);
        assert_eq!(attributes_at("softmax(x) {axis = 1, "), Some(vec![]));
        assert_eq!(attributes_at("softmax(x) {axis = 1} + "), None);
        assert_eq!(attributes_at("fn f(x) { "), None);
    }
}
