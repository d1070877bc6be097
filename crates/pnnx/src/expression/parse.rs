//! One parser for all texts whose brackets count: the expressions of PNNX, and the statements of KuiperInfer, which are
//! those of them in which each call has all its operands.
//!
//! ```text
//! expression = item ("," item)*
//! item       = operand | literal | function "(" item? ("," item?)* ")" | "[" (item ("," item)*)? "]"
//! ```
//!
//! Exporters leave an argument empty if it has its default value. The stack is explicit, as texts may be deep.

use super::{ExprNode, Expression, Function, literal};

/// A token, as far as the parser is concerned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Piece<'a> {
    /// `@2`; `None` if the number is too large.
    Operand(Option<usize>),
    Function(Function),
    /// A number or a word.
    Literal(&'a str),
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    /// Characters that are no token.
    Invalid,
}

/// Which texts are accepted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Grammar {
    /// All expressions.
    Pnnx,
    /// One item, in which no argument is left out.
    Exact,
}

/// What is expected at some place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Expected {
    /// The bracket of a call.
    Open,
    Item(Inside),
    /// A comma, or the end of what the place is inside of.
    Separator(Inside),
}

/// Where a place is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Inside {
    /// Outside of all brackets.
    Top,
    /// Among the operands of a function, after so many of them.
    Call(Function, usize),
    /// In a list, which may end here or not.
    List { may_end: bool },
}

/// The first problem of a text; places are indices of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Problem {
    Unexpected {
        at: usize,
        expected: Expected,
    },
    /// The number of an operand is too large.
    Operand {
        at: usize,
    },
    /// A call, from its function to its last bracket, with too many or too few operands.
    Arity {
        from: usize,
        to: usize,
        function: Function,
        found: usize,
    },
}

/// An open bracket.
struct Frame {
    /// The function of a call, and its place.
    call: Option<(Function, usize)>,
    items: Vec<usize>,
}

/// Parses the tokens of a text. Problems of the order of tokens come before all others.
pub(super) fn parse(pieces: &[Piece<'_>], grammar: Grammar) -> Result<Expression, Problem> {
    let exact = grammar == Grammar::Exact;
    let (mut out, mut roots) = (Expression::new(), Vec::new());
    let mut open: Vec<Frame> = Vec::new();
    let mut problem = None;
    // An item is expected, or what follows one.
    let (mut wanted, mut after_comma) = (true, false);
    let mut at = 0;
    loop {
        let piece = pieces.get(at).copied();
        let inside = match open.last() {
            None => Inside::Top,
            Some(Frame {
                call: Some((function, _)),
                items,
            }) => Inside::Call(*function, items.len()),
            Some(_) => Inside::List { may_end: !after_comma },
        };
        let full = |items: usize, function: Function| items == function.arity().1;
        let done = match (piece, inside, wanted) {
            (Some(Piece::Operand(number)), _, true) => {
                if number.is_none() {
                    problem.get_or_insert(Problem::Operand { at });
                }
                Some(ExprNode::Operand(number.unwrap_or(0)))
            }
            (Some(Piece::Literal(text)), _, true) => Some(ExprNode::Literal(literal(text))),
            (Some(Piece::Function(function)), _, true) => {
                at += 1;
                if pieces.get(at) != Some(&Piece::Open) {
                    return Err(Problem::Unexpected {
                        at,
                        expected: Expected::Open,
                    });
                }
                open.push(Frame {
                    call: Some((function, at - 1)),
                    items: Vec::new(),
                });
                after_comma = false;
                None
            }
            (Some(Piece::OpenList), _, true) => {
                open.push(Frame {
                    call: None,
                    items: Vec::new(),
                });
                after_comma = false;
                None
            }
            (Some(Piece::Close), Inside::Call(function, items), _) if !exact || !wanted && full(items, function) => {
                let frame = open.pop();
                let (from, items) = frame.map_or((0, Vec::new()), |frame| (frame.call.map_or(0, |c| c.1), frame.items));
                let ((least, most), found) = (function.arity(), items.len());
                if !(least..=most).contains(&found) {
                    problem.get_or_insert(Problem::Arity {
                        from,
                        to: at,
                        function,
                        found,
                    });
                }
                Some(ExprNode::Call(function, items))
            }
            (Some(Piece::CloseList), Inside::List { may_end }, _) if !wanted || may_end => {
                let frame = open.pop();
                Some(ExprNode::List(frame.map(|frame| frame.items).unwrap_or_default()))
            }
            (Some(Piece::Comma), Inside::Call(function, items), _) if !exact || !wanted && !full(items, function) => {
                (wanted, after_comma) = (true, true);
                None
            }
            (Some(Piece::Comma), Inside::Top | Inside::List { .. }, false) if !exact => {
                (wanted, after_comma) = (true, true);
                None
            }
            (None, Inside::Top, false) => break,
            _ => {
                let expected = match wanted {
                    true => Expected::Item(inside),
                    false => Expected::Separator(inside),
                };
                return Err(Problem::Unexpected { at, expected });
            }
        };
        if let Some(node) = done {
            let place = out.push(node);
            match open.last_mut() {
                Some(frame) => frame.items.push(place),
                None => roots.push(place),
            }
            wanted = false;
        }
        at += 1;
    }
    problem.map_or_else(|| Ok(out.finish(roots)), Err)
}
