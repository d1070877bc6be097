//! Expressions as prefix notation: the way PNNX itself parses them, which is independent of brackets.

use super::{ExprNode, Expression, Function, literal};

/// An item on the stack.
#[derive(Clone, Copy)]
enum Entry {
    Node(usize),
    /// The end of a list.
    Close,
}

/// Parses the words of a text as prefix notation; `None` if a function lacks operands.
///
/// `size` takes a second operand if that is a number.
pub(super) fn read(text: &str) -> Option<Expression> {
    let mut out = Expression::new();
    let mut stack: Vec<Entry> = Vec::new();
    for word in words(text).into_iter().rev() {
        let node = match word {
            "]" => {
                stack.push(Entry::Close);
                continue;
            }
            "[" => {
                let mut items = Vec::new();
                while let Entry::Node(item) = stack.pop()? {
                    items.push(item);
                }
                ExprNode::List(items)
            }
            _ => match (word.strip_prefix('@'), Function::by_name(word)) {
                (Some(number), _) => ExprNode::Operand(number.parse().ok()?),
                (None, Some(function)) => {
                    let mut operands = vec![pop(&mut stack)?];
                    let (least, most) = function.arity();
                    while operands.len() < least {
                        operands.push(pop(&mut stack)?);
                    }
                    if operands.len() < most
                        && let Some(Entry::Node(next)) = stack.last().copied()
                        && matches!(out.nodes().get(next), Some(ExprNode::Literal(_)))
                    {
                        stack.pop();
                        operands.push(next);
                    }
                    ExprNode::Call(function, operands)
                }
                (None, None) => ExprNode::Literal(literal(word)),
            },
        };
        stack.push(Entry::Node(out.push(node)));
    }
    let roots: Option<Vec<usize>> = std::iter::from_fn(|| stack.pop())
        .map(|entry| match entry {
            Entry::Node(place) => Some(place),
            Entry::Close => None,
        })
        .collect();
    let roots = roots.filter(|roots| !roots.is_empty())?;
    Some(out.finish(roots))
}

fn pop(stack: &mut Vec<Entry>) -> Option<usize> {
    match stack.pop()? {
        Entry::Node(place) => Some(place),
        Entry::Close => None,
    }
}

/// The words of a text, and the brackets of lists.
fn words(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['(', ')', '[', ']', ',']) {
        let (word, separator) = (&rest[..at], &rest[at..=at]);
        if !word.is_empty() {
            out.push(word);
        }
        if separator == "[" || separator == "]" {
            out.push(separator);
        }
        rest = &rest[at + 1..];
    }
    if !rest.is_empty() {
        out.push(rest);
    }
    out
}
