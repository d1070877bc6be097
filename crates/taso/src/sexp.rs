//! TENSAT's rules: `left=>right`, where both sides are parenthesized expressions.
//!
//! There are two versions of the format: the later one has the activation before the operands of `matmul`, and the
//! number of axes after the axis of `concat`. Both are read.

use std::sync::Arc;

use super::terms::{Id, MAX_OPERATORS, Node, Op, RuleTerms, Window, activation, axis, padding, permutation, positive};
use tautomer_diag::{Diagnostic, Diagnostics, Source, Span, did_you_mean};

const OPERATORS: [&str; 24] = [
    "ewadd",
    "ewmul",
    "smul",
    "matmul",
    "conv2d",
    "relu",
    "tanh",
    "sigmoid",
    "concat",
    "concat3",
    "concat4",
    "concat5",
    "split",
    "split_0",
    "split_1",
    "transpose",
    "enlarge",
    "poolavg",
    "poolmax",
    "batchnorm",
    "Cpool",
    "Iconv",
    "Imatmul",
    "Iewmul",
];

/// An item inside parentheses.
#[derive(Debug, Clone)]
enum Item {
    Number(i64),
    Word(String),
    Term(Id),
}

/// An open parenthesis.
struct Frame {
    at: usize,
    items: Vec<Item>,
}

/// An error and where it is, in bytes of the text.
type Wrong = (usize, usize, String);

/// The rules of a file.
pub(super) fn read(source: &Arc<Source>) -> Result<Vec<RuleTerms>, Diagnostics> {
    let refused = |(start, end, what): Wrong| -> Diagnostics {
        let span = Span::new(u32::try_from(start).unwrap_or(0), u32::try_from(end).unwrap_or(0));
        Diagnostic::error("T0501", what)
            .label(span, "")
            .in_source(source)
            .into()
    };
    let mut lines = Vec::new();
    let mut start = 0;
    for line in source.text.split('\n') {
        if !line.trim().is_empty() {
            lines.push((start, line.trim_end()));
        }
        start += line.len() + 1;
    }
    let mut single = Vec::with_capacity(lines.len());
    for &(start, line) in &lines {
        single.push(rule(&[(start, line)]).map_err(refused)?);
    }
    // Only a second line can bind variables that are free in the first one.
    if single.iter().all(is_closed) {
        return Ok(single);
    }
    let mut out = Vec::with_capacity(lines.len() / 2);
    for pair in lines.chunks(2) {
        let &[first, second] = pair else {
            let (start, line) = pair[0];
            let what = "two lines make a rule of this file, but this is the last line".to_owned();
            return Err(refused((start, start + line.len(), what)));
        };
        out.push(rule(&[first, second]).map_err(refused)?);
    }
    Ok(out)
}

/// True if every variable of the target occurs in the source.
fn is_closed(rule: &RuleTerms) -> bool {
    let (sources, targets): (Vec<Id>, Vec<Id>) = rule.outputs.iter().copied().unzip();
    let bound = rule.below(&sources);
    rule.below(&targets)
        .iter()
        .all(|id| !matches!(rule.node(*id), Node::Variable(_)) || bound.contains(id))
}

fn rule(lines: &[(usize, &str)]) -> Result<RuleTerms, Wrong> {
    let mut terms = RuleTerms::default();
    for &(start, line) in lines {
        let Some(arrow) = line.find("=>") else {
            return Err((start, start + line.len(), "a rule is written `left=>right`".to_owned()));
        };
        let left = side(start, &line[..arrow], &mut terms)?;
        let right = side(start + arrow + 2, &line[arrow + 2..], &mut terms)?;
        terms.outputs.push((left, right));
    }
    Ok(terms)
}

fn side(offset: usize, text: &str, terms: &mut RuleTerms) -> Result<Id, Wrong> {
    let end = offset + text.len();
    let mut open: Vec<Frame> = Vec::new();
    let mut done = None;
    let (mut at, mut count) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        at += c.len_utf8();
        let item = match c {
            c if c.is_whitespace() => continue,
            '(' => {
                count += 1;
                if count > MAX_OPERATORS {
                    let what = format!("there are more than {MAX_OPERATORS} operators");
                    return Err((offset + start, offset + at, what));
                }
                open.push(Frame {
                    at: start,
                    items: Vec::new(),
                });
                continue;
            }
            ')' => {
                let Some(frame) = open.pop() else {
                    return Err((offset + start, offset + at, "no parenthesis is open".to_owned()));
                };
                call(frame.items, terms).map_err(|e| (offset + frame.at, offset + at, e))?
            }
            _ => {
                let rest = &text[start..];
                let stop = |c: char| c.is_whitespace() || c == '(' || c == ')';
                let word = &rest[..rest.find(stop).unwrap_or(rest.len())];
                at = start + word.len();
                match (word.strip_prefix('?'), word.parse::<i64>()) {
                    (Some(name), _) => Item::Term(terms.add(Node::Variable(name.to_owned()))),
                    (None, Ok(number)) => Item::Number(number),
                    (None, Err(_)) if word == "Imatmul" || word == "Iewmul" => {
                        let items = vec![Item::Word(word.to_owned())];
                        call(items, terms).map_err(|e| (offset + start, offset + at, e))?
                    }
                    (None, Err(_)) => Item::Word(word.to_owned()),
                }
            }
        };
        match (open.last_mut(), item) {
            (Some(frame), item) => frame.items.push(item),
            (None, Item::Term(id)) if done.is_none() => done = Some(id),
            _ => {
                return Err((
                    offset + start,
                    offset + at,
                    "expected one expression on each side".to_owned(),
                ));
            }
        }
    }
    if let Some(frame) = open.last() {
        return Err((offset + frame.at, end, "this parenthesis is not closed".to_owned()));
    }
    done.ok_or_else(|| (offset, end, "a side is missing".to_owned()))
}

fn call(items: Vec<Item>, terms: &mut RuleTerms) -> Result<Item, String> {
    let Some((Item::Word(name), rest)) = items.split_first() else {
        return Err("a call begins with the name of an operator".to_owned());
    };
    let term = |op: Op, operands: &[Id]| Node::Call(op, operands.to_vec());
    use Item::{Number as N, Term as T, Word as W};
    let window = |k: Option<[i64; 2]>, s: [i64; 2], p: i64| -> Result<Window, String> {
        Ok(Window {
            kernel: k.map(positive).transpose()?,
            strides: positive(s)?,
            padding: padding(p)?,
        })
    };
    let node = match (name.as_str(), rest) {
        ("ewadd", [T(a), T(b)]) => term(Op::Named("add"), &[*a, *b]),
        ("ewmul", [T(a), T(b)]) => term(Op::Named("mul"), &[*a, *b]),
        ("smul", [T(a), T(b)]) => term(Op::Scale, &[*a, *b]),
        ("relu", [T(a)]) => term(Op::Named("relu"), &[*a]),
        ("tanh", [T(a)]) => term(Op::Named("tanh"), &[*a]),
        ("sigmoid", [T(a)]) => term(Op::Named("sigmoid"), &[*a]),
        ("matmul", [T(a), T(b)]) => term(Op::Named("matmul"), &[*a, *b]),
        ("matmul", [N(acti), T(a), T(b)]) => {
            return Ok(T(terms.activated(
                Op::Named("matmul"),
                vec![*a, *b],
                activation(*acti)?,
            )));
        }
        ("conv2d", [N(h), N(w), N(pad), N(acti), T(x), T(k)]) => {
            let op = Op::Conv(window(None, [*h, *w], *pad)?);
            return Ok(T(terms.activated(op, vec![*x, *k], activation(*acti)?)));
        }
        ("poolmax" | "poolavg", [N(kh), N(kw), N(sh), N(sw), N(pad), T(x)])
        | ("poolmax" | "poolavg", [T(x), N(kh), N(kw), N(sh), N(sw), N(pad), N(0)]) => {
            let window = window(Some([*kh, *kw]), [*sh, *sw], *pad)?;
            term(
                if name == "poolmax" {
                    Op::MaxPool(window)
                } else {
                    Op::AveragePool(window)
                },
                &[*x],
            )
        }
        ("concat", [N(along), T(a), T(b)]) => term(Op::Concat(axis(*along)?, None), &[*a, *b]),
        ("concat" | "concat3" | "concat4" | "concat5", [N(along), N(rank), parts @ ..]) if parts.len() > 1 => {
            let parts = parts.iter().map(|p| if let T(id) = p { Some(*id) } else { None });
            let Some(parts) = parts.collect::<Option<Vec<Id>>>() else {
                return Err("the operands of a concat must be expressions".to_owned());
            };
            Node::Call(Op::Concat(axis(*along)?, Some(axis(*rank)?)), parts)
        }
        ("split", [N(along), T(x)]) => term(Op::Split(axis(*along)?), &[*x]),
        ("split_0", [T(x)]) if is_split(terms, *x) => Node::Part(*x, 0),
        ("split_1", [T(x)]) if is_split(terms, *x) => Node::Part(*x, 1),
        ("split_0" | "split_1", [N(along), T(x)]) => {
            let split = terms.add(term(Op::Split(axis(*along)?), &[*x]));
            Node::Part(split, usize::from(name == "split_1"))
        }
        ("transpose", [T(x), W(perm), N(_)]) => {
            let perm: Result<Vec<i64>, _> = perm.split('_').map(str::parse).collect();
            let perm = perm.map_err(|_| "the order of axes is written `1_0`".to_owned())?;
            term(Op::Transpose(permutation(perm)?), &[*x])
        }
        // Transposition of a matrix.
        ("transpose", [T(x)]) => term(Op::Transpose(vec![1, 0]), &[*x]),
        ("enlarge", [N(h), N(w), T(k)]) => term(Op::Enlarge(positive([*h, *w])?), &[*k]),
        ("enlarge", [T(k), T(like)]) => term(Op::EnlargeLike, &[*k, *like]),
        ("batchnorm", [T(x), T(s), T(b), T(m), T(v)]) => term(Op::Named("batch_normalization"), &[*x, *s, *b, *m, *v]),
        ("Cpool", [N(h), N(w)]) => term(Op::Averages(positive([*h, *w])?), &[]),
        ("Iewmul", []) => term(Op::Ones, &[]),
        ("Imatmul", []) => no_form("an identity matrix, whose size follows from where it is used,"),
        ("Iconv", [N(_), N(_)]) => no_form("an identity kernel, whose channels follow from where it is used,"),
        (known, _) if OPERATORS.contains(&known) => return Err(format!("`{known}` does not take these arguments")),
        (other, _) => {
            let close = did_you_mean(other, OPERATORS).map(|name| format!(": did you mean `{name}`?"));
            return Err(format!("unknown operator `{other}`{}", close.unwrap_or_default()));
        }
    };
    Ok(T(terms.add(node)))
}

fn no_form(what: &str) -> Node {
    Node::Call(Op::NoForm(format!("{what} cannot be expressed")), Vec::new())
}

fn is_split(terms: &RuleTerms, id: Id) -> bool {
    matches!(terms.node(id), Node::Call(Op::Split(_), _))
}
