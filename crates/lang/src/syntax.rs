//! The pest parser, and readable syntax errors.

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pairs;
use pest_derive::Parser;

use tautomer_diag::{Diagnostic, Span};

use super::scan::partner;
use super::slips::Slip;

#[derive(Parser)]
#[grammar = "../../grammar/lexical.pest"]
#[grammar = "../../grammar/expression.pest"]
#[grammar = "../../grammar/operator.pest"]
#[grammar = "../../grammar/rule.pest"]
#[grammar = "../../grammar/target.pest"]
#[grammar = "../../grammar/script.pest"]
#[grammar = "../../grammar/columns.pest"]
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
        is_statement: whole == Rule::statement,
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
        diagnostic = diagnostic.help("`;` ends a `let`; the value of a block comes last, without `;`");
    } else if found == "}" && before.ends_with(';') {
        diagnostic = diagnostic.help("a block ends with its value: an expression without `;`");
    } else if let Some(from) = open.filter(|_| wants(Rule::infix) && found != ",") {
        let from = base + from as u32;
        diagnostic = diagnostic.secondary(Span::new(from, from + 1), "inside this bracket");
    }
    diagnostic
}

/// The expected tokens, described in words.
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
            Rule::type_expr | Rule::tuple_type | Rule::column_type => add("a type"),
            Rule::string => add(if wants(Rule::number) || wants(Rule::expr) {
                "an expression"
            } else {
                "a string"
            }),
            Rule::name
            | Rule::label
            | Rule::item_name
            | Rule::positional
            | Rule::param
            | Rule::rule_param
            | Rule::column
            | Rule::op_operand
            | Rule::op_attr
            | Rule::op_ref
            | Rule::machine_value
                if !wants(Rule::number) && !wants(Rule::expr) && !wants(Rule::type_expr) =>
            {
                add("a name");
            }
            Rule::block => add("`{`"),
            Rule::params | Rule::rule_params | Rule::op_operands => add("`(`"),
            Rule::attr_kind => add("the kind of an attribute"),
            Rule::op_result => add("the name or the type of a result"),
            Rule::onnx_clause | Rule::traits_clause | Rule::cost_clause => add("`onnx`, `where`, `traits`, `cost`"),
            Rule::semicolon => add("`;`"),
            Rule::equals => add("`=`"),
            Rule::arrow => add("`=>`"),
            Rule::kw_else => add("`else`"),
            Rule::kw_in => add("`in`"),
            Rule::function | Rule::kw_fn => add("a function"),
            Rule::rule_decl | Rule::example | Rule::no_example | Rule::ruleset => {
                add("`rule`, `operator`, `example`, `no-example`, `ruleset`");
            }
            Rule::where_clause | Rule::numerics_clause | Rule::assuming_clause => {
                add("`where`, `numerics`, `assuming`");
            }
            Rule::target_decl | Rule::kw_target => add("`target`"),
            Rule::target_clause => add("a clause such as `only`, `types`, `where`, `rules`"),
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
