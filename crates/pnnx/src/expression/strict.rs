//! Parsing expressions by the grammar.

use super::parse::{Expected, Grammar, Inside, Piece, Problem, parse};
use super::{Expression, Function};
use tautomer_diag::{Diagnostic, Span};

/// Brackets nested deeper than this are rejected: no exporter writes such an expression.
const DEEPEST: usize = 2000;

pub(super) fn read(text: &str) -> Result<Expression, Diagnostic> {
    let (depth, at) = depth(text);
    if depth > DEEPEST {
        let problem = Diagnostic::error("T0601", format!("brackets are nested {depth} deep"));
        return Err(problem
            .label(Span::new(at, at + 1), "the innermost one")
            .note(format!("the limit is {DEEPEST}")));
    }
    let (pieces, places) = tokens(text);
    let place = |i: usize| places.get(i).copied().unwrap_or((text.len(), text.len()));
    parse(&pieces, Grammar::Pnnx).map_err(|problem| match problem {
        Problem::Unexpected { at, expected } => unexpected(text, place(at).0, expected),
        Problem::Operand { at } => {
            let (start, end) = place(at);
            let message = format!("`{}` is not an operand", text.get(start..end).unwrap_or_default());
            syntax(message, Span::new(start as u32, end as u32))
        }
        Problem::Arity {
            from,
            to,
            function,
            found,
        } => {
            let (least, most) = function.arity();
            let wanted = match least == most {
                true => least.to_string(),
                false => format!("{least} or {most}"),
            };
            let noun = if most == 1 { "operand" } else { "operands" };
            let (start, end) = place(from);
            let shown = text.get(start..end).unwrap_or_default();
            let span = Span::new(start as u32, place(to).1 as u32);
            let message = format!("`{}` takes {wanted} {noun}, but has {found}", shown);
            syntax(message, span)
        }
    })
}

/// The tokens of a text and their bytes, up to the first characters that are no token.
fn tokens(text: &str) -> (Vec<Piece<'_>>, Vec<(usize, usize)>) {
    let (mut pieces, mut places) = (Vec::new(), Vec::new());
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (piece, length) = token(rest);
        pieces.push(piece);
        places.push((at, at + length));
        if piece == Piece::Invalid {
            break;
        }
        at += length;
    }
    (pieces, places)
}

/// The token that a text begins with, and its length.
fn token(text: &str) -> (Piece<'_>, usize) {
    let sign = match text.chars().next() {
        Some('(') => Piece::Open,
        Some(')') => Piece::Close,
        Some('[') => Piece::OpenList,
        Some(']') => Piece::CloseList,
        Some(',') => Piece::Comma,
        Some('@') => {
            let digits = digits(&text[1..]);
            return match digits {
                0 => (Piece::Invalid, 1),
                _ => (Piece::Operand(text[1..=digits].parse().ok()), digits + 1),
            };
        }
        _ => Piece::Invalid,
    };
    if sign != Piece::Invalid {
        return (sign, 1);
    }
    let word = text.find(|c| !is_letter(c)).unwrap_or(text.len());
    if let Some(function) = Function::by_name(&text[..word]) {
        return (Piece::Function(function), word);
    }
    let length = number(text).unwrap_or(word);
    match length {
        0 => (Piece::Invalid, 0),
        _ => (Piece::Literal(&text[..length]), length),
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.:%".contains(c)
}

/// The number of digits that a text begins with.
fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

/// The length of the real or complex number that a text begins with, if no letter follows it.
fn number(text: &str) -> Option<usize> {
    let real = usize::from(text.starts_with('-'));
    let real = real + unsigned(&text[real..])?;
    let rest = &text[real..];
    if let Some(imaginary) = rest.strip_prefix(['+', '-']).and_then(unsigned)
        && rest[1 + imaginary..].starts_with('j')
    {
        return Some(real + imaginary + 2);
    }
    (!rest.starts_with(is_letter)).then_some(real)
}

/// The length of the number without a sign that a text begins with.
fn unsigned(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix("inf").or_else(|| text.strip_prefix("nan")) {
        return Some(if rest.starts_with(".0") { 5 } else { 3 });
    }
    let mut length = digits(text);
    if length == 0 {
        return None;
    }
    if text[length..].starts_with('.') {
        length += 1 + digits(&text[length + 1..]);
    }
    if let Some(rest) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(rest.starts_with(['+', '-']));
        length += match digits(&rest[sign..]) {
            0 => 0,
            exponent => 1 + sign + exponent,
        };
    }
    Some(length)
}

/// The maximum number of brackets open at once, and where that is reached.
fn depth(text: &str) -> (usize, u32) {
    let (mut open, mut most) = (0usize, (0, 0));
    for (at, c) in text.bytes().enumerate() {
        match c {
            b'(' | b'[' => {
                open += 1;
                if open > most.0 {
                    most = (open, at as u32);
                }
            }
            b')' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

fn syntax(message: String, span: Span) -> Diagnostic {
    Diagnostic::error("T0509", message).label(span, "")
}

/// The message for a token at byte `at` that does not belong there.
fn unexpected(text: &str, at: usize, expected: Expected) -> Diagnostic {
    let rest = &text[at..];
    let stop = |c: char| matches!(c, '(' | ')' | '[' | ']' | ',' | '@') || c.is_whitespace();
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let end = rest
        .char_indices()
        .skip(1)
        .find(|(_, c)| stop(*c))
        .map_or(rest.len(), |(i, _)| i);
    let found = if rest.starts_with(stop) && !rest.starts_with('@') {
        &rest[..first]
    } else {
        &rest[..end]
    };
    let shown = if found.is_empty() {
        "the end".to_owned()
    } else {
        format!("`{found}`")
    };
    let before = text[..at].rsplit(stop).next().unwrap_or_default();
    if found == "(" && !before.is_empty() {
        let span = Span::new((at - before.len()) as u32, at as u32);
        return syntax(format!("there is no function `{before}`"), span);
    }
    let wanted = match expected {
        Expected::Open => "`(`",
        Expected::Item(Inside::Call(..)) => "an expression or `,` or `)`",
        Expected::Item(Inside::List { may_end: true }) => "an expression or `]`",
        Expected::Item(_) => "an expression",
        Expected::Separator(Inside::Call(..)) => "`,` or `)`",
        Expected::Separator(Inside::List { .. }) => "`,` or `]`",
        Expected::Separator(Inside::Top) => "`,` or the end",
    };
    let span = Span::new(at as u32, (at + found.len()) as u32);
    syntax(format!("expected {wanted}, found {shown}"), span)
}
