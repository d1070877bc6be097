//! `--shape`: shapes for inputs.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::diag::{Diagnostic, Diagnostics};
use crate::graph::Graph;
use crate::tensor::{Dim, MAX_RANK, Shape};

use super::{failed, input_name};

/// The graph with inputs reshaped as given, such as `x=1,3,h,w`; the name may be omitted if there is one input.
pub(crate) fn with_shapes(graph: &Graph, given: &[String]) -> Result<Graph, Diagnostics> {
    if given.is_empty() {
        return Ok(graph.clone());
    }
    let mut shapes: IndexMap<Arc<str>, Shape> = IndexMap::new();
    for text in given {
        let (name, extents) = match text.rsplit_once('=') {
            Some((name, extents)) => (name.to_owned(), extents),
            None if graph.inputs().len() == 1 => (input_name(graph, 0), text.as_str()),
            None => {
                return Err(Diagnostic::error("T0408", format!("`{text}` does not name an input"))
                    .help(match suggestion(text).filter(|_| text.contains(':')) {
                        Some(meant) => format!("write `--shape {meant}`"),
                        None => format!("write `--shape {}={text}`", input_name(graph, 0)),
                    })
                    .into());
            }
        };
        let shape = parse(extents)?;
        if shapes.insert(name.as_str().into(), shape).is_some() {
            return Err(failed("T0408", format!("input `{name}` gets two shapes")));
        }
    }
    graph.with_shapes(&shapes)
}

/// Parses dimensions separated by commas: numbers, names, sums of them, and `?`.
fn parse(text: &str) -> Result<Shape, Diagnostics> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']');
    if text.trim().is_empty() {
        return Ok(Shape::scalar());
    }
    let extent = |(i, word): (usize, &str)| {
        let word = word.trim();
        match sum(word) {
            Some(dim) => Ok(dim),
            None if word == "?" => Ok(Dim::unknown(u32::MAX - i as u32)),
            None => {
                let problem = Diagnostic::error("T0408", format!("`{word}` is not a valid dimension"));
                Err(match suggestion(text) {
                    Some(meant) => problem.help(format!("write `--shape {meant}`")),
                    None => {
                        problem.help("a dimension is a number, a name, a sum such as `n+1`, or `?` for an unknown one")
                    }
                }
                .into())
            }
        }
    };
    let shape: Shape = text
        .split(',')
        .enumerate()
        .map(extent)
        .collect::<Result<_, Diagnostics>>()?;
    if shape.len() > MAX_RANK {
        let problem = format!(
            "a shape of {} axes: the most that a tensor may have is {MAX_RANK}",
            shape.len()
        );
        return Err(failed("T0408", problem));
    }
    Ok(shape)
}

/// A sum of names and numbers, from which a number may be subtracted: `n`, `n+1`, `n+m-2`, `2*n`.
fn sum(text: &str) -> Option<Dim> {
    let mut total = Dim::Const(0);
    for (i, part) in text.split('+').enumerate() {
        let mut rest = part.split('-');
        let added = product(rest.next()?)?;
        total = if i == 0 { added } else { total + added };
        for less in rest {
            total = total - Dim::from(number(less)?);
        }
    }
    Some(total)
}

/// A product of names and numbers.
fn product(text: &str) -> Option<Dim> {
    text.split('*').try_fold(Dim::Const(1), |product, word| {
        let word = word.trim();
        let name = word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        Some(
            product
                * if name {
                    Dim::symbol(word)
                } else {
                    Dim::from(number(word)?)
                },
        )
    })
}

fn number(text: &str) -> Option<usize> {
    Some(text.trim().parse::<u32>().ok()? as usize)
}

/// Rewrites a shape from the notation of other tools, such as `x:1,240`, `1x240` or `1 240`, if it is in one.
fn suggestion(text: &str) -> Option<String> {
    let (name, rest) = match text.rsplit_once(':') {
        Some((name, rest)) => (Some(name), rest),
        None => (None, text),
    };
    let words: Vec<&str> = rest.split([',', 'x', 'X', '*', ' ']).map(str::trim).collect();
    let number = |word: &&str| word.parse::<u32>().is_ok();
    if !words.iter().all(number) {
        return None;
    }
    let name = name.map_or_else(String::new, |name| format!("{name}="));
    Some(format!("{name}{}", words.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_other_tools_are_understood() {
        assert_eq!(suggestion("input_1:1,240").as_deref(), Some("input_1=1,240"));
        assert_eq!(suggestion("1x240").as_deref(), Some("1,240"));
        assert_eq!(suggestion("1 3 8").as_deref(), Some("1,3,8"));
        assert_eq!(suggestion("1,-3"), None);
        assert_eq!(suggestion("a:b"), None);
    }

    #[test]
    fn shapes_are_read() {
        let shown = |text: &str| parse(text).map(|s| s.to_string()).ok();
        assert_eq!(shown("1, 3,h ,w").as_deref(), Some("[1, 3, h, w]"));
        assert_eq!(shown("[2,?]").as_deref(), Some("[2, ?]"));
        assert_eq!(shown("").as_deref(), Some("[]"));
        assert_eq!(shown("1,-3"), None);
        assert_eq!(shown("1,,3"), None);
        assert_eq!(shown("n+1,2*n").as_deref(), Some("[n + 1, 2*n]"));
        assert_eq!(shown("n + m - 2").as_deref(), Some("[m + n - 2]"));
        // A name of another tool, and not a difference.
        assert_eq!(shown("batch-size,3"), None);
        assert_eq!(shown("n+,3"), None);
    }
}
