//! Parsing expressions by the grammar.

use pest::Parser;
use pest::error::{ErrorVariant, InputLocation};
use pest::iterators::Pair;
use pest_derive::Parser;

use super::{ExprNode, Expression, Function, literal};
use tautomer_diag::{Diagnostic, Span};

#[derive(Parser)]
#[grammar = "../../grammar/pnnx_expression.pest"]
struct Grammar;

/// Calls nested deeper than this are parsed on a separate thread.
const SHALLOW: usize = 24;

/// Calls nested deeper than this are rejected.
const DEEPEST: usize = 2000;

/// Stack per nesting level, generous for builds without optimization.
const STACK_PER_LEVEL: usize = 64 << 10;

pub(super) fn read(text: &str) -> Result<Expression, Diagnostic> {
    let (depth, at) = depth(text);
    if depth > DEEPEST {
        let problem = Diagnostic::error("T0601", format!("brackets are nested {depth} deep"));
        return Err(problem
            .label(Span::new(at, at + 1), "the innermost one")
            .note(format!("the limit is {DEEPEST}")));
    }
    if depth <= SHALLOW {
        return parse(text);
    }
    std::thread::scope(|scope| {
        let size = (depth + 16) * STACK_PER_LEVEL;
        let thread = std::thread::Builder::new()
            .stack_size(size)
            .spawn_scoped(scope, || parse(text));
        let failed = || Diagnostic::error("T0601", "not enough memory for an expression nested this deeply");
        thread.map_err(|_| failed())?.join().map_err(|_| failed())?
    })
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

fn parse(text: &str) -> Result<Expression, Diagnostic> {
    let mut pairs = Grammar::parse(Rule::pnnx_expression, text).map_err(|e| explain(&e, text))?;
    let mut out = Expression::new();
    let mut roots = Vec::new();
    for pair in pairs.next().into_iter().flat_map(Pair::into_inner) {
        if is_part(&pair) {
            roots.push(build(&mut out, pair)?);
        }
    }
    Ok(out.finish(roots))
}

/// False for brackets and commas.
fn is_part(pair: &Pair<'_, Rule>) -> bool {
    !matches!(
        pair.as_rule(),
        Rule::open | Rule::close | Rule::close_list | Rule::comma | Rule::EOI
    )
}

/// The recursion depth is bounded by [`DEEPEST`].
fn build(out: &mut Expression, pair: Pair<'_, Rule>) -> Result<usize, Diagnostic> {
    let span = pair.as_span();
    let span = Span::new(span.start() as u32, span.end() as u32);
    let text = pair.as_str();
    let node = match pair.as_rule() {
        Rule::operand => match text[1..].parse() {
            Ok(number) => ExprNode::Operand(number),
            Err(_) => return Err(syntax(format!("`{text}` is not an operand"), span)),
        },
        Rule::list => {
            let items: Result<Vec<usize>, _> = pair.into_inner().filter(is_part).map(|item| build(out, item)).collect();
            ExprNode::List(items?)
        }
        Rule::call => {
            let mut inner = pair.into_inner();
            let name = inner.next().map_or("", |name| name.as_str());
            let Some(function) = Function::by_name(name) else {
                return Err(syntax(format!("there is no function `{name}`"), span));
            };
            let operands: Result<Vec<usize>, _> = inner.filter(is_part).map(|item| build(out, item)).collect();
            let operands = operands?;
            let (least, most) = function.arity();
            if operands.len() < least || operands.len() > most {
                let wanted = if least == most {
                    least.to_string()
                } else {
                    format!("{least} or {most}")
                };
                let noun = if most == 1 { "operand" } else { "operands" };
                let found = operands.len();
                return Err(syntax(format!("`{name}` takes {wanted} {noun}, but has {found}"), span));
            }
            ExprNode::Call(function, operands)
        }
        _ => ExprNode::Literal(literal(text)),
    };
    Ok(out.push(node))
}

fn syntax(message: String, span: Span) -> Diagnostic {
    Diagnostic::error("T0509", message).label(span, "")
}

fn explain(error: &pest::error::Error<Rule>, text: &str) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at.min(text.len()),
    };
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
    let positives = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives.as_slice(),
        ErrorVariant::CustomError { .. } => &[],
    };
    let tokens = [
        (Rule::operand, "an expression"),
        (Rule::open, "`(`"),
        (Rule::comma, "`,`"),
        (Rule::close, "`)`"),
        (Rule::close_list, "`]`"),
        (Rule::EOI, "the end"),
    ];
    let wanted: Vec<&str> = tokens
        .iter()
        .filter(|(rule, _)| positives.contains(rule))
        .map(|(_, shown)| *shown)
        .collect();
    let wanted = if wanted.is_empty() {
        "an expression".to_owned()
    } else {
        wanted.join(" or ")
    };
    let span = Span::new(at as u32, (at + found.len()) as u32);
    syntax(format!("expected {wanted}, found {shown}"), span)
}
