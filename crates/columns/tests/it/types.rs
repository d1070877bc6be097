//! Type inference: down, up, and again.

use tautomer_columns::{Expressions, Options, Type, schema};

use crate::problem;

const COLUMNS: &str =
    "x: u64, i: i32, l: i64, f: f32, d: f64, z: bool, s: utf8, b: binary, t: timestamp[us], day: date64";

fn types(text: &str) -> Result<Vec<Type>, String> {
    types_with(text, &Options::default())
}

fn types_with(text: &str, options: &Options) -> Result<Vec<Type>, String> {
    let schema = schema(COLUMNS).unwrap();
    match Expressions::parse_with(&schema, text, options) {
        Ok(expressions) => Ok(expressions.types()),
        Err(problems) => Err(problem(Err::<(), _>(problems)).0),
    }
}

#[track_caller]
fn is(text: &str, ty: Type) {
    assert_eq!(types(text), Ok(vec![ty]), "{text}");
}

#[track_caller]
fn refused(text: &str, code: &str) {
    assert_eq!(types(text), Err(code.to_owned()), "{text}");
}

#[test]
fn known_types_travel_up_and_down() {
    is("add(add(x, 1), add(2, 3))", Type::UInt64);
    is("d - 5.123 * 7.123", Type::Float64);
    is("add(2, 3)", Type::Int32);
    is("2.5 * 2", Type::Float32);
    is("1 + (2 + (3 + l))", Type::Int64);
    is("if(z, 1, 2.5)", Type::Float32);
    is("if(z, 1, if(z, 2, d))", Type::Float64);
    is("1 in (x, 2)", Type::Bool);
    is("-2.0 ** 2.0 + d", Type::Float64);
    is("b == \"abc\"", Type::Bool);
    is("'abc' == s", Type::Bool);
    is("18446744073709551615 + x", Type::UInt64);
    is("1 == 2", Type::Bool);
    is("if(z, null, l)", Type::Int64);
    is("nvl(null, f)", Type::Float32);
    is("add(day, 5)", Type::Date64);
    is("add(5, t)", Type::TimestampMicrosecond);
    is("r: i64 = 1 + 2", Type::Int64);
    is("r: float64 = if(z, 1, 2)", Type::Float64);
}

#[test]
fn f32_functions_return_f32() {
    is("sin(f)", Type::Float32);
    is("sin(d)", Type::Float64);
    is("sin(i)", Type::Float64);
    is("sqrt(2)", Type::Float64);
    is("f + sqrt(2.0)", Type::Float32);
    is("log(2.0, f)", Type::Float32);
    is("d + exp(1.0)", Type::Float64);
}

#[test]
fn nothing_is_widened_silently() {
    refused("i + l", "T0702");
    refused("if(z, i, d)", "T0204");
    refused("i in (1, l)", "T0204");
    refused("i + 2.5", "T0702");
    refused("s + 'a'", "T0702");
    refused("i and z", "T0204");
    refused("r: i32 = d", "T0204");
    let promote = Options {
        promote: true,
        ..Options::default()
    };
    for (text, ty) in [
        ("i + l", Type::Int64),
        ("i + d", Type::Float64),
        ("i + f", Type::Float64),
        ("if(z, i, d)", Type::Float64),
        ("i < d", Type::Bool),
        ("i in (1, l)", Type::Bool),
        ("(i + l) * f + 1", Type::Float64),
        ("i + 2.5", Type::Float64),
    ] {
        assert_eq!(types_with(text, &promote), Ok(vec![ty]), "{text}");
    }
    assert_eq!(
        types_with("x + i", &promote),
        Err("T0702".to_owned()),
        "no integer holds both"
    );
}

#[test]
fn messages_show_types_and_candidates() {
    let schema = schema(COLUMNS).unwrap();
    let (_, text) = problem(Expressions::parse(&schema, "i +\n  l"));
    for part in [
        "`+` does not take (i32, i64)",
        "expression:1:1",
        "add(T, T) -> T",
        "cast(x, f64)",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let (_, text) = problem(Expressions::parse(&schema, "d ^ 2"));
    assert!(text.contains("`**`"), "{text}");
    let (_, text) = problem(Expressions::parse(&schema, "r: utf8 = sin(d)"));
    assert!(text.contains("utf8"), "{text}");
    let (_, text) = problem(Expressions::parse(&schema, "r: i32 = sin(1.0) + 1"));
    assert!(text.contains("i32"), "{text}");
}

/// Types do not depend on how deep an expression is.
#[test]
fn deep_trees() {
    let mut text = "x".to_owned();
    for _ in 0..500 {
        text = format!("if(z, {text} + 1, 2)");
    }
    is(&text, Type::UInt64);
    let members: Vec<String> = (0..10_000).map(|member| member.to_string()).collect();
    is(&format!("x in ({})", members.join(", ")), Type::Bool);
}
