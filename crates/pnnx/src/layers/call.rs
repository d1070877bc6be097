//! Layers that are one call: a form of a few words says how the call is read and how it is written.
//!
//! The words are the names of the operands, in the order in which the operator has them, and `ATTRIBUTE=SOURCE` for
//! attributes. An attribute that is not listed must have its default. `...` instead of names stands for any number of
//! operands without names. A source is
//! * `dim`: the parameter of that name; `dim?` one that is false if it is missing; `dim:0` one that is written as 0 for
//!   each spatial axis if there is no attribute;
//! * `[dim]`: a list with that parameter as its only element; `padding++padding`: a list and the same again;
//! * `"CRD"`, `0.5`: a value that the attribute always has, or each of its elements.
//!
//! If a value stands before `=` and a parameter after it, the parameter is always written so; `(1)` is repeated for
//! each spatial axis.

use super::Row;
use crate::export::{Call, Line, attr_text, tuple};
use tautomer_op::AttrValue;

/// The body of the function that makes the call.
pub(super) fn program(op: &str, form: &str) -> String {
    let operands: Vec<&str> = form.split_whitespace().filter(|word| !word.contains('=')).collect();
    let attrs = form.split_whitespace().filter_map(|word| word.split_once('='));
    let attrs = attrs.map(|(attr, source)| match source.strip_suffix('?') {
        Some(flag) => format!("{attr} = {flag} == true"),
        None => format!("{attr} = {source}"),
    });
    let attrs: Vec<String> = attrs.collect();
    let call = format!("{op}({})", operands.join(", "));
    match attrs.is_empty() {
        true => call,
        false => format!("{call} {{{}}}", attrs.join(", ")),
    }
}

/// True for values rather than names.
pub(super) fn is_value(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_ascii_lowercase() || c == '[')
}

/// The line of a call, if it has that form.
pub(super) fn line(row: &Row, kind: String, form: &'static str, call: &Call<'_>, dims: Option<usize>) -> Option<Line> {
    let (pairs, names): (Vec<&str>, Vec<&str>) = form.split_whitespace().partition(|word| word.contains('='));
    let pairs: Vec<(&str, &str)> = pairs.into_iter().filter_map(|word| word.split_once('=')).collect();
    let attrs: Vec<&str> = pairs.iter().map(|(attr, _)| *attr).collect();
    let unnamed = names == ["..."];
    if !call.plain_but(&attrs) || !unnamed && call.operands.len() > names.len() {
        return None;
    }
    let mut line = Line::new(kind, call.operands);
    if !unnamed {
        let place = |name: &str| row.bare_names().position(|known| known == name);
        let mut operands: Vec<_> = names.iter().copied().zip(call.operands.iter().copied()).collect();
        operands.sort_by_key(|(name, _)| place(name));
        let (names, values): (Vec<&'static str>, Vec<_>) = operands.into_iter().unzip();
        line.inputs = values;
        line = line.named(&names);
    }
    for (attr, source) in pairs {
        if is_value(attr) {
            let text = match attr.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
                Some(each) => tuple(&vec![each; dims?]),
                None => attr.to_owned(),
            };
            line = line.param(source, text);
            continue;
        }
        let value = call.attr(attr);
        if is_value(source) {
            if !has_value(value, source) {
                return None;
            }
            continue;
        }
        let (param, text) = parameter(value, source, dims)?;
        // The same parameter may give several attributes.
        match line.params.iter().find(|(known, _)| known == param) {
            Some((_, known)) if *known != text => return None,
            Some(_) => {}
            None => line = line.param(param, text),
        }
    }
    Some(line)
}

/// The parameter that a source names, and its text.
fn parameter<'s>(value: &AttrValue, source: &'s str, dims: Option<usize>) -> Option<(&'s str, String)> {
    if let Some(param) = source.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return match value.as_ints()?.as_slice() {
            [one] => Some((param, one.to_string())),
            _ => None,
        };
    }
    if let Some((param, _)) = source.split_once("++") {
        let list = value.as_ints()?;
        let (first, second) = list.split_at_checked(list.len() / 2)?;
        return (first == second).then(|| (param, tuple(first)));
    }
    if let (Some((param, missing)), AttrValue::None) = (source.split_once(':'), value) {
        return Some((param, tuple(&vec![missing; dims?])));
    }
    // An empty list would be read as no list.
    if matches!(value, AttrValue::Ints(list) if list.is_empty()) {
        return None;
    }
    let param = source.split_once(':').map_or(source, |(param, _)| param);
    Some((param.trim_end_matches('?'), attr_text(value)?))
}

/// True if an attribute, or each of its elements, is what the text says.
fn has_value(value: &AttrValue, text: &str) -> bool {
    let number = text.parse::<f64>();
    match value {
        AttrValue::Str(word) => text.trim_matches('"') == &**word,
        AttrValue::Float(x) => number == Ok(x.0),
        AttrValue::Int(n) => n.as_const().map(|n| n as f64) == number.ok(),
        AttrValue::Ints(list) => list
            .iter()
            .all(|n| n.as_const().map(|n| n as f64) == number.clone().ok()),
        _ => false,
    }
}
