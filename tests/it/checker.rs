//! What the checker of certificates says about operators is what the table says: it shares no code with the table, but
//! a proof is worth nothing if the two do not mean the same.

use std::path::Path;

use tautomer::op::{AttrKind, Default, OpTraits, lookup, table};

/// The declarations of the checker, each on one line, without their bodies.
fn declarations() -> Vec<(String, Vec<String>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/check/operators.ops");
    let text = std::fs::read_to_string(path).unwrap();
    let mut out = Vec::new();
    for part in text.split("\noperator ").skip(1) {
        let (name, rest) = part.split_once('(').unwrap();
        let (_, rest) = rest.split_once(')').unwrap();
        let attributes = rest
            .trim_start()
            .strip_prefix('{')
            .and_then(|rest| rest.split_once('}'));
        let attributes = attributes.map_or("", |(all, _)| all);
        let attributes = attributes.split(',').map(str::trim).filter(|own| own.contains(": "));
        out.push((name.to_owned(), attributes.map(str::to_owned).collect()));
    }
    out
}

#[test]
fn attributes_of_the_checker_are_those_of_the_table() {
    let declarations = declarations();
    assert!(declarations.len() > 30, "{declarations:?}");
    for (name, attributes) in declarations {
        let def = lookup(&name).unwrap_or_else(|| panic!("no operator `{name}`"));
        let default = |default| match default {
            Default::Required => String::new(),
            Default::None => "?".to_owned(),
            Default::Bool(value) => format!(" = {value}"),
            Default::Int(value) => format!(" = {value}"),
            Default::Float(value) => format!(" = {value:?}"),
            Default::Str(value) => format!(" = {value:?}"),
            Default::DType(value) => format!(" = {value}"),
            other => format!(" = {other:?}"),
        };
        let expected: Vec<(String, String)> = def
            .attrs
            .iter()
            .map(|attr| (attr.name.to_owned(), default(attr.default)))
            .collect();
        let stated: Vec<(String, String)> = attributes
            .iter()
            .map(|text| {
                let (name, rest) = text.split_once(": ").unwrap();
                let default = rest.find(['?', '=']).map_or("", |at| &rest[at..]);
                let space = if default.starts_with('=') { " " } else { "" };
                (name.to_owned(), format!("{space}{default}"))
            })
            .collect();
        assert_eq!(stated, expected, "`{name}`");
    }
}

/// The checker takes an operator of the family `elementwise` for a function of elements at one place.
#[test]
fn elementwise_operators_have_no_axes() {
    for def in table().filter(|def| def.traits.contains(OpTraits::ELEMENTWISE)) {
        let along = |kind: AttrKind| matches!(kind, AttrKind::Axis(_) | AttrKind::Axes(_));
        assert!(!def.attrs.iter().any(|attr| along(attr.kind)), "`{}`", def.name);
    }
}
