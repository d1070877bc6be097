//! The pest parser, and syntax errors in plain words.

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pairs;
use pest_derive::Parser;

use crate::diag::{Diagnostic, Span};

use super::scan::partner;

#[derive(Parser)]
#[grammar = "../grammar/lexical.pest"]
#[grammar = "../grammar/expression.pest"]
#[grammar = "../grammar/rule.pest"]
#[grammar = "../grammar/script.pest"]
struct Grammar;

pub(super) type Pair<'s> = pest::iterators::Pair<'s, Rule>;

/// Parses `text`, which begins at byte `base` of its source.
pub(super) fn parse(rule: Rule, text: &str, base: u32) -> Result<Pairs<'_, Rule>, Diagnostic> {
    Grammar::parse(rule, text).map_err(|error| explain(&error, text, base, rule))
}

fn explain(error: &pest::error::Error<Rule>, text: &str, base: u32, whole: Rule) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at.min(text.len()),
    };
    let found = token_at(text, at);
    let span = Span::new(base + at as u32, base + (at + found.len()) as u32);
    let positives = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { message } => {
            return Diagnostic::error("T0601", "brackets too deep").label(span, message.clone());
        }
    };
    let open = innermost_open(&text[..at]);
    let expected = expected(positives, open.map(|from| text.as_bytes()[from]));
    let shown = if found.is_empty() {
        "the end of the file".to_owned()
    } else {
        format!("`{found}`")
    };
    let message = match expected.split_last() {
        None => format!("unexpected {shown}"),
        Some((last, [])) => format!("expected {last}, found {shown}"),
        Some((last, rest)) => format!("expected {} or {last}, found {shown}", rest.join(", ")),
    };
    let mut diagnostic = Diagnostic::error("T0001", message);
    diagnostic = match expected.as_slice() {
        [only] => diagnostic.label(span, format!("expected {only}")),
        _ => diagnostic.label(span, "unexpected"),
    };
    let before = text[..at].trim_end();
    let wants = |rule| positives.contains(&rule);
    let slip = Slip {
        text,
        at,
        found,
        open,
        positives,
        is_rules: whole == Rule::rule_file,
    };
    if let Some(help) = slip.help() {
        diagnostic = diagnostic.help(help);
    } else if found == "=" && wants(Rule::infix) {
        diagnostic = diagnostic.help("to compare two values, write `==`");
    } else if wants(Rule::semicolon) && !before.ends_with(';') && is_word(found) {
        let end = base + before.len() as u32;
        diagnostic = diagnostic
            .secondary(Span::new(end, end), "`;` missing here?")
            .help("a `let` ends with `;`");
    } else if found == ";" {
        diagnostic = diagnostic.help("`;` ends a `let`; the value of a block stands last and has none");
    } else if found == "}" && before.ends_with(';') {
        diagnostic = diagnostic.help("a block ends with its value: an expression without `;`");
    } else if let Some(from) = open.filter(|_| wants(Rule::infix) && found != ",") {
        let from = base + from as u32;
        diagnostic = diagnostic.secondary(Span::new(from, from + 1), "inside this bracket");
    }
    diagnostic
}

/// A place that does not parse, looked at for what other languages write there.
struct Slip<'a> {
    text: &'a str,
    at: usize,
    found: &'a str,
    /// The innermost bracket that is open there.
    open: Option<usize>,
    positives: &'a [Rule],
    /// The text is a rule file.
    is_rules: bool,
}

impl Slip<'_> {
    fn wants(&self, rule: Rule) -> bool {
        self.positives.contains(&rule)
    }

    /// The words before the place, the last one first, as far as they stand directly beside each other.
    fn words_before(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.text[..self.at].trim_end();
        std::iter::from_fn(move || {
            let start = rest
                .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                .map_or(0, |i| i + rest[i..].chars().next().map_or(1, char::len_utf8));
            let word = &rest[start..];
            let blank = rest[..start].ends_with([' ', '\t']);
            rest = if blank {
                rest[..start].trim_end_matches([' ', '\t'])
            } else {
                ""
            };
            (!word.is_empty()).then_some(word)
        })
    }

    /// What stands there instead in this language.
    fn help(&self) -> Option<String> {
        let item = "`rule add-of-zero(x) { x + 0 => x }`";
        let program = "this looks like a rule file (.rules); a program has functions: `fn main(x: f32[n]) { … }`";
        let last = self.words_before().next().unwrap_or_default();
        let begins = self.open.is_none();
        let help = match self.found {
            "#" => "comments begin with `//`".to_owned(),
            "=" => return self.keyword(),
            "?" => "variables have no mark: `rule name(x) { … }` declares `x`, and its sides say `x`".to_owned(),
            "->" if self.is_rules => "the sides of a rule stand around `=>`".to_owned(),
            ":" if last == "lambda" || self.first_word() == "def" => function_help(),
            "fn" | "opaque" if self.is_rules && begins => {
                format!("this looks like a program (.taut); a rule file has rules: {item}")
            }
            "(" if self.is_rules && begins => format!(
                "a rule is written {item}; `rules import` reads the s-expressions of TENSAT and the rules of TASO"
            ),
            "if" if self.is_rules => "the conditions of a rule follow `where`: `x * c => x where is_one(c)`".to_owned(),
            _ if last == "if" || self.opens_condition() => {
                "the condition stands in parentheses: `if (c) { a } else { b }`, or `if(c, a, b)`".to_owned()
            }
            _ => match self.first_word() {
                "rule" | "example" | "ruleset" | "use" if !self.is_rules && begins => program.to_owned(),
                "return" => "the last expression of a block is its value: write it without `return`".to_owned(),
                "def" | "lambda" | "function" | "func" => function_help(),
                "var" | "const" | "val" => "a value is named by `let y = relu(x);`".to_owned(),
                "import" | "from" => {
                    "operators need no import; rule files name others by `use \"other.rules\"`".to_owned()
                }
                "rewrite" | "birewrite" if self.is_rules => format!("a rule is written {item}"),
                _ => return None,
            },
        };
        Some(help)
    }

    /// The first word of the line or statement that the place is in, if a second word or the place follows it.
    fn first_word(&self) -> &str {
        let start = self.text[..self.at].rfind(['\n', ';', '{', '}']).map_or(0, |i| i + 1);
        let line = self.text[start..].trim_start();
        let end = line
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(line.len());
        &line[..end]
    }

    /// Whether the place follows an `if` whose condition has no parentheses.
    fn opens_condition(&self) -> bool {
        self.first_word() == "if" && (self.wants(Rule::paren) || self.found == "{" || self.found == ":")
    }

    /// A `=` where none belongs: an attribute among the operands, or a value that is named without `let`.
    fn keyword(&self) -> Option<String> {
        let name = self.words_before().next()?;
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return None;
        }
        match self.open {
            Some(open) if self.text.as_bytes()[open] == b'(' => {
                let callee = self.text[..open].trim_end();
                let start = callee
                    .rfind(|c: char| !c.is_alphanumeric() && c != '_')
                    .map_or(0, |i| i + 1);
                let callee = callee.get(start..).filter(|word| !word.is_empty())?;
                if ["if", "when"].contains(&callee) {
                    return None;
                }
                let (operands, attrs) = self.operands(open)?;
                Some(format!(
                    "attributes stand in braces behind the operands: `{callee}({}) {{{}}}`",
                    operands.join(", "),
                    attrs.join(", ")
                ))
            }
            // A statement that is a name and its value.
            open if self.first_word() == name && open.is_none_or(|open| self.text.as_bytes()[open] == b'{') => {
                let rest = self.text[self.at + 1..].lines().next().unwrap_or_default().trim();
                let rest = rest.split("//").next().unwrap_or_default().trim().trim_end_matches(';');
                let value = if rest.is_empty() || rest.len() > 60 {
                    "…"
                } else {
                    rest
                };
                Some(format!("a value is named by `let`: `let {name} = {value};`"))
            }
            _ => None,
        }
    }

    /// The operands and the attributes among what stands in a bracket, which begins at `open`.
    fn operands(&self, open: usize) -> Option<(Vec<String>, Vec<String>)> {
        let inside = &self.text[open + 1..];
        let (mut depth, mut begin) = (0usize, 0);
        let mut parts: Vec<&str> = Vec::new();
        for (i, c) in inside.char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth > 0 => depth -= 1,
                ')' => {
                    parts.push(&inside[begin..i]);
                    break;
                }
                ',' if depth == 0 => {
                    parts.push(&inside[begin..i]);
                    begin = i + 1;
                }
                // What goes on over lines is too long to be repeated.
                '\n' | '"' | '\'' => return None,
                _ => {}
            }
        }
        let (mut operands, mut attrs) = (Vec::new(), Vec::new());
        for part in parts {
            match part.split_once('=') {
                Some((name, value)) if !value.starts_with('=') => {
                    attrs.push(format!("{} = {}", name.trim(), value.trim()));
                }
                _ => operands.push(part.trim().to_owned()),
            }
        }
        Some((operands, attrs))
    }
}

fn function_help() -> String {
    "a function is written `fn name(x: f32[n]) { relu(x) }`".to_owned()
}

/// What could have come, in plain words.
fn expected(positives: &[Rule], open: Option<u8>) -> Vec<String> {
    let wants = |rule| positives.contains(&rule);
    let mut out: Vec<String> = Vec::new();
    let mut add = |word: &str| {
        if !out.iter().any(|have| have == word) {
            out.push(word.to_owned());
        }
    };
    for &rule in positives {
        match rule {
            Rule::expr | Rule::number | Rule::paren | Rule::prefix | Rule::if_expr | Rule::list | Rule::boolean => {
                add("an expression");
            }
            Rule::type_expr | Rule::tuple_type => add("a type"),
            Rule::string => add(if wants(Rule::number) || wants(Rule::expr) {
                "an expression"
            } else {
                "a text"
            }),
            Rule::name | Rule::label | Rule::item_name | Rule::positional | Rule::param | Rule::rule_param
                if !wants(Rule::number) && !wants(Rule::expr) && !wants(Rule::type_expr) =>
            {
                add("a name");
            }
            Rule::block => add("`{`"),
            Rule::params | Rule::rule_params => add("`(`"),
            Rule::semicolon => add("`;`"),
            Rule::equals => add("`=`"),
            Rule::arrow => add("`=>`"),
            Rule::kw_else => add("`else`"),
            Rule::kw_in => add("`in`"),
            Rule::function | Rule::kw_fn => add("a function"),
            Rule::rule_decl | Rule::example | Rule::no_example | Rule::ruleset => {
                add("`rule`, `example`, `no-example`, `ruleset`");
            }
            Rule::where_clause | Rule::numerics_clause | Rule::assuming_clause => {
                add("`where`, `numerics`, `assuming`");
            }
            Rule::EOI if positives.len() == 1 => add("the end of the file"),
            _ => {}
        }
    }
    if let Some(open) = open.filter(|_| wants(Rule::infix)) {
        if open != b'{' {
            add("`,`");
        }
        if !wants(Rule::semicolon) && !wants(Rule::arrow) {
            add(&format!("`{}`", partner(open) as char));
        }
    }
    out
}

/// The token that begins at `at`.
fn token_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else { return "" };
    let length = if first.is_alphanumeric() || first == '_' {
        rest.find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len())
            .min(40)
    } else {
        ["<=>", "=>", "->", "==", "!=", "<=", ">=", "&&", "||", "**", "++", ".."]
            .iter()
            .find(|token| rest.starts_with(**token))
            .map_or(first.len_utf8(), |token| token.len())
    };
    &rest[..rest.ceil_char_boundary(length)]
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_') || token.is_empty() || token == "}"
}

/// The innermost bracket that is open at the end of `text`.
fn innermost_open(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'/' if bytes.get(i + 1) == Some(&b'/') => {
                while i < bytes.len() && bytes[i] != b'\n' {
                    i += 1;
                }
            }
            quote @ (b'"' | b'\'') => {
                i += 1;
                while i < bytes.len() && bytes[i] != quote {
                    i += 1 + usize::from(bytes[i] == b'\\');
                }
            }
            b'(' | b'[' | b'{' => open.push(i),
            b')' | b']' | b'}' => {
                open.pop();
            }
            _ => {}
        }
        i += 1;
    }
    open.pop()
}
