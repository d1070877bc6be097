//! Patterns: `like` and regular expressions.

use std::cell::RefCell;

use regex::Regex;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::cell::{Cell, Failure};
use crate::kernels::text::{check_length, text};
use crate::types::{Type, TypeSet};

const STR: TypeSet = TypeSet::one(Type::Utf8);
const TO_BOOL: Returns = Returns::Is(Type::Bool);
const TO_STR: Returns = Returns::Is(Type::Utf8);

pub(crate) const FUNCTIONS: &[Function] = &[
    // `%` is any text, `_` any character; the third argument is a character that makes the next one plain.
    Function::strict(
        &["like"],
        &[
            Signature::new(STR, &[T, T], TO_BOOL),
            Signature::new(STR, &[T, T, T], TO_BOOL),
        ],
        Kernel::Rows(|_, c| {
            let escape = c.get(2).map_or("", Cell::str);
            if escape.chars().count() > 1 {
                return Err(Failure::invalid("the escape of `like` is one character"));
            }
            let pattern = tokens(c[1].str(), escape.chars().next(), false)?;
            Ok(Cell::Bool(matches(&pattern, c[0].str(), false)))
        }),
    ),
    Function::strict(
        &["ilike"],
        &[Signature::new(STR, &[T, T], TO_BOOL)],
        Kernel::Rows(|_, c| Ok(Cell::Bool(matches(&tokens(c[1].str(), None, true)?, c[0].str(), true)))),
    ),
    // Every match is replaced; `$1` or `\1` is the first group.
    Function::strict(
        &["regexp_replace"],
        &[Signature::new(STR, &[T, T, T], TO_STR)],
        Kernel::Rows(|_, c| {
            with_regex(c[1].str(), |regex| {
                replaced(regex, c[0].str(), &replacement(c[2].str()))
            })
        }),
    ),
    // The first match, or a group of it; empty if there is none.
    Function::strict(
        &["regexp_extract"],
        &[
            Signature::new(STR, &[T, T], TO_STR),
            Signature::new(STR, &[T, T, Of(TypeSet::one(Type::Int32))], TO_STR),
        ],
        Kernel::Rows(|_, c| {
            with_regex(c[1].str(), |regex| {
                let group = c.get(2).map_or(0, Cell::int);
                let Some(group) = usize::try_from(group)
                    .ok()
                    .filter(|&group| group < regex.captures_len())
                else {
                    return Err(Failure::invalid(format!("the pattern has no group {group}")));
                };
                let found = regex
                    .captures(c[0].str())
                    .and_then(|found| found.get(group).map(|found| found.as_str().to_owned()));
                text(found.unwrap_or_default())
            })
        }),
    ),
];

/// A part of a pattern of `like`.
#[derive(Clone, Copy, PartialEq)]
enum Token {
    Plain(char),
    One,
    Any,
}

fn folded(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn tokens(pattern: &str, escape: Option<char>, fold: bool) -> Result<Vec<Token>, Failure> {
    let mut out = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            _ if Some(c) == escape => match chars.next() {
                Some(next) => Token::Plain(next),
                None => return Err(Failure::invalid("the pattern of `like` ends with its escape")),
            },
            '%' => Token::Any,
            '_' => Token::One,
            _ => Token::Plain(if fold { folded(c) } else { c }),
        });
    }
    Ok(out)
}

/// True if the whole text has the pattern; the last `%` is tried again, one character further, where it goes wrong.
fn matches(pattern: &[Token], value: &str, fold: bool) -> bool {
    let value: Vec<char> = value.chars().map(|c| if fold { folded(c) } else { c }).collect();
    let (mut at, mut token) = (0, 0);
    let mut last: Option<(usize, usize)> = None;
    while at < value.len() {
        match pattern.get(token) {
            Some(Token::Any) => {
                last = Some((token, at));
                token += 1;
            }
            Some(Token::One) => (at, token) = (at + 1, token + 1),
            Some(Token::Plain(c)) if *c == value[at] => (at, token) = (at + 1, token + 1),
            _ => match last {
                Some((any, from)) => {
                    last = Some((any, from + 1));
                    (at, token) = (from + 1, any + 1);
                }
                None => return false,
            },
        }
    }
    pattern[token..].iter().all(|token| *token == Token::Any)
}

/// Patterns that were compiled on this thread; most columns have one pattern.
const REMEMBERED: usize = 16;

thread_local! {
    static COMPILED: RefCell<Vec<(String, Regex)>> = const { RefCell::new(Vec::new()) };
}

fn with_regex<R>(pattern: &str, f: impl FnOnce(&Regex) -> Result<R, Failure>) -> Result<R, Failure> {
    COMPILED.with_borrow_mut(|compiled| {
        if let Some((_, regex)) = compiled.iter().find(|(text, _)| text == pattern) {
            return f(regex);
        }
        let built = regex::RegexBuilder::new(pattern).size_limit(1 << 22).build();
        let regex = built.map_err(|error| {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or("").trim().to_owned();
            Failure::invalid(format!("the regular expression is wrong: {last}"))
        })?;
        if compiled.len() == REMEMBERED {
            compiled.remove(0);
        }
        let out = f(&regex);
        compiled.push((pattern.to_owned(), regex));
        out
    })
}

/// The text with every match replaced.
fn replaced<'a>(regex: &Regex, value: &str, replacement: &str) -> Result<Cell<'a>, Failure> {
    let (mut out, mut end) = (String::new(), 0);
    for found in regex.captures_iter(value) {
        let Some(whole) = found.get(0) else { continue };
        out.push_str(&value[end..whole.start()]);
        found.expand(replacement, &mut out);
        check_length(out.len())?;
        end = whole.end();
    }
    text(out + &value[end..])
}

/// A replacement in the spelling of the crate: groups are `${1}`.
fn replacement(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let group = matches!(c, '$' | '\\')
            .then(|| chars.peek().and_then(|next| next.to_digit(10)))
            .flatten();
        match (c, group) {
            (_, Some(digit)) => {
                chars.next();
                out.push_str(&format!("${{{digit}}}"));
            }
            ('$', None) => out.push_str("$$"),
            ('\\', None) => out.extend(chars.next()),
            _ => out.push(c),
        }
    }
    out
}
