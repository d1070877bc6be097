//! Operators that exporters leave under the names of torch's own library, with positional operands only.
//!
//! Such a line gives neither operand names nor the overload; torch's schemas, which the rows list, give both.

use super::{Row, rows};
use crate::Operator;

/// The operator with the names that its row has for it and its operands, if a row lists it. Operands after the last
/// given one are missing.
pub(crate) fn named(op: &Operator) -> Option<Operator> {
    if !op.kind.starts_with("aten::") || !op.input_names.is_empty() {
        return None;
    }
    let exact = format!("{}/{}", op.kind, op.inputs.len());
    let (row, names) = find(&exact).or_else(|| find(&op.kind))?;
    let names: Vec<&str> = match names {
        Some(names) => names.split(',').collect(),
        None => row.bare_names().collect(),
    };
    if op.inputs.len() > names.len() {
        return None;
    }
    let pairs = names.iter().zip(&op.inputs);
    Some(Operator {
        kind: row.kinds.split_whitespace().next()?.to_owned(),
        input_names: pairs.map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        ..op.clone()
    })
}

/// The row of an overload, and its names if they are not those of the row.
fn find(overload: &str) -> Option<(&'static Row, Option<&'static str>)> {
    let words = rows().flat_map(|row| row.positional.split_whitespace().map(move |word| (row, word)));
    let mut overloads = words.map(|(row, word)| match word.split_once('=') {
        Some((known, names)) => (row, known, Some(names)),
        None => (row, word, None),
    });
    let (row, _, names) = overloads.find(|(_, known, _)| *known == overload)?;
    Some((row, names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overloads_are_told_apart_by_the_number_of_operands() {
        let op = |count: usize| Operator {
            kind: "aten::argsort".to_owned(),
            inputs: (0..count).map(|i| i.to_string()).collect(),
            ..Operator::default()
        };
        let names = |count: usize| -> Option<Vec<String>> {
            Some(
                named(&op(count))?
                    .input_names
                    .into_iter()
                    .map(|(name, _)| name)
                    .collect(),
            )
        };
        assert_eq!(names(3).unwrap(), ["input", "dim", "descending"]);
        assert_eq!(names(4).unwrap(), ["input", "stable", "dim", "descending"]);
        assert_eq!(names(5), None);
    }
}
