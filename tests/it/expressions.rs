//! Scalar expressions: the types of literals without a suffix, and the functional tests of ExprTk.
//!
//! `tests/data/exprtk.tsv` is a sample; with `TAUTOMER_TEST_DATA`, all expressions in its directory `expressions` are
//! checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use tautomer::diag::{Diagnostics, Source};
use tautomer::graph::{BuildOptions, Graph, build_program, interpret};
use tautomer::lang::{format_program, parse_program};
use tautomer::tensor::{DType, Tensor};

/// Variables and their values.
type Values = Vec<(String, f64)>;

fn build(text: &str) -> Result<Graph, Diagnostics> {
    let program = parse_program(Arc::new(Source::new("expression", text)))?;
    build_program(&program, &BuildOptions::default())
}

fn evaluate(graph: &Graph, values: &Values) -> Vec<Tensor> {
    let value = |v| {
        let name = graph.vertex(v).name.as_deref()?;
        let (_, value) = values.iter().find(|(known, _)| known == name)?;
        Tensor::from_f64s(DType::F64, &[], &[*value])
    };
    interpret(graph, &value).unwrap()
}

/// The double-precision value of an expression over `f64` variables in which `^` is power.
fn number(expression: &str, values: &Values) -> Result<f64, String> {
    let inputs: Vec<String> = values.iter().map(|(name, _)| format!("{name}: f64")).collect();
    let text = format!(
        "pragma power_caret\nfn main({}) -> f64 {{ {expression} }}\n",
        inputs.join(", ")
    );
    let graph = build(&text).map_err(|problems| problems.render(false))?;
    Ok(evaluate(&graph, values)[0].to_f64s().unwrap()[0])
}

fn variables(text: &str) -> Values {
    let pair = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    text.split_whitespace().filter_map(pair).collect()
}

/// Checks lines of expression, TAB, value; returns their number, and the wrong ones by class of problem.
fn try_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
    mut values: Values,
    wrong: &mut BTreeMap<String, Vec<String>>,
) -> usize {
    let mut count = 0;
    for line in lines {
        if let Some(note) = line.strip_prefix('#') {
            if let Some(list) = note.trim().strip_prefix("variables") {
                values = variables(list);
            }
            continue;
        }
        let (expression, expected) = line.split_once('\t').unwrap();
        let expected: f64 = expected.parse().unwrap();
        count += 1;
        match number(expression, &values) {
            Ok(found) if (found - expected).abs() <= 1e-10 * expected.abs() => {}
            Ok(found) => wrong
                .entry("another value".to_owned())
                .or_default()
                .push(format!("{expression}: {found}, not {expected}")),
            Err(message) => wrong
                .entry(message.lines().next().unwrap_or_default().to_owned())
                .or_default()
                .push(expression.to_owned()),
        }
    }
    count
}

fn show(wrong: &BTreeMap<String, Vec<String>>) -> String {
    let lines = wrong
        .iter()
        .map(|(class, list)| format!("{} x {class}, as in {}", list.len(), list[0]));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_sample_of_exprtk_has_its_values() {
    let text = include_str!("../data/exprtk.tsv");
    let mut wrong = BTreeMap::new();
    let count = try_lines(text.lines(), Vec::new(), &mut wrong);
    assert!(count >= 200);
    assert!(wrong.is_empty(), "{}", show(&wrong));
}

#[test]
fn all_expressions_of_exprtk_have_their_values() {
    let Some(folder) = tautomer_testing::shared_data("expressions") else {
        return;
    };
    let files = [
        (
            "exprtk_functional.tsv",
            "x=11.12345678910737373 y=22.12345678910737373 z=33.12345678910737373 w=44.12345678910737373",
        ),
        (
            "exprtk_functional_ext.tsv",
            "x=11.1237567810735 y=13.1239567810735 z=15.1233567810735 w=19.1235567810735",
        ),
    ];
    let mut wrong = BTreeMap::new();
    let mut count = 0;
    for (file, values) in files {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        count += try_lines(text.lines(), variables(values), &mut wrong);
    }
    let refused: usize = wrong.values().map(Vec::len).sum();
    println!("{count} expressions, {refused} without their value\n{}", show(&wrong));
    assert!(count >= 8_000);
    assert!(wrong.is_empty(), "{}", show(&wrong));
}

#[test]
fn expressions_as_other_languages_write_them() {
    let values = variables("x=2.5 y=-3");
    let rows: &[(&str, f64)] = &[
        ("2^3^2", 512.0),
        ("-x^2", -6.25),
        ("2^-1", 0.5),
        ("x^2*y", -18.75),
        ("2-+1", 1.0),
        ("2*-+-3", 6.0),
        ("+x - -+y", -0.5),
        ("x*.5 + 1.", 2.25),
        ("1.e2 + 2.5e-1", 100.25),
        ("sqrt(2)*sqrt(2)*x", 5.0),
        ("abs(y) + max(x, 3) + min(1, 2, x)", 7.0),
        ("if(x > 2 and not (y >= 0), 1/4, 3)*x", 0.625),
        ("if(2 < x, 1, y)", 1.0),
        ("if(x in (2.5, 3), x, 0)", 2.5),
        ("if(x != 2.5 || y == -3, 7, x)", 7.0),
        ("exp(log(x)) + pow(2, 3)", 10.5),
        ("clip(x, 0, 1) + floor(y / 2)", -1.0),
        ("18446744073709551616 / 18446744073709551616 * x", 2.5),
    ];
    for (expression, expected) in rows {
        let found = number(expression, &values).unwrap_or_else(|e| panic!("{expression}: {e}"));
        assert!(
            (found - expected).abs() <= 1e-12 * expected.abs(),
            "{expression}: {found}"
        );
    }
}

/// Programs, and the types and values of their results.
#[test]
fn literals_take_the_type_that_their_use_wants() {
    let rows = [
        // Operands at any depth.
        ("fn main(x: f64) { x - 5.123 * 7.123 }", "f64"),
        ("fn main(x: u64) { add(add(x, 1), add(2, 3)) }", "u64"),
        ("fn main(x: u64) { add(add(2, 3), add(1, x)) }", "u64"),
        ("fn main(x: i8) { ((1 + 2) * (3 - -4)) % (5 + x) }", "i8"),
        ("fn main(x: f16) { x * sqrt(2) + exp(1) / 3 }", "f16"),
        ("fn main(x: f64[2]) { x * ([1, 2] + [0.5, 1]) }", "f64[2]"),
        ("fn main(x: f64) { -2.0 ** 2.0 + x }", "f64"),
        ("fn main(x: i64) { 7 & 3 | x }", "i64"),
        ("fn main(x: f64[2, 2]) { matmul(x, [[1, 2], [3, 4]]) }", "f64[2, 2]"),
        ("fn main(x: f32[3]) { gather(x, [0, 1]) }", "f32[2]"),
        ("fn main(x: u64) { x + 18446744073709551615 }", "u64"),
        ("fn main(x: i64) { x - -9223372036854775808 }", "i64"),
        // Comparisons and membership.
        ("fn main(x: u64) { 2 < x }", "bool"),
        ("fn main(x: f64) { x == 1 }", "bool"),
        ("fn main(x: f64) { 1 + 1 in (x, 2) }", "bool"),
        ("fn main(x: f64) { 1 < 2.5 }", "bool"),
        // Branches.
        ("fn main(c: bool, x: f64) { where(c, 1, x) }", "f64"),
        (
            "fn main(c: bool, x: f64) { if (c) { if (c) { 1 } else { 2 * 3 } } else { x } }",
            "f64",
        ),
        ("fn main(c: bool, x: f64) { x + if(c, 1, 2.5) }", "f64"),
        ("fn main(c: bool) { if(c, 1, 2) }", "i32"),
        ("fn main(c: bool) { if(c, 1, 2.5) }", "f32"),
        // Declarations, functions, tuples.
        ("fn main() { let y: f64 = 1 / 3; y }", "f64"),
        ("fn main() -> u8 { 1 + 2 }", "u8"),
        ("fn main() -> (u8, f64) { (1 + 2, 3) }", "(u8, f64)"),
        ("fn main(x: f64) { let y = 1 / 3; x * y }", "f64"),
        ("fn main(x: f64) { let (a, b) = (1, 2.5); x * a + b }", "f64"),
        ("fn f(a: f64, b) { a * b } fn main() { f(1 / 2, 2 + 3) }", "f64"),
        ("fn f(a, b) { a * b } fn main(x: f64) { f(x, 2) }", "f64"),
        ("fn f(a, b) { a * b } fn main(x: f64[2]) { f([1, 2], x) }", "f64[2]"),
        ("fn f() -> f64 { 1 / 3 } fn main(x: f64) { f() + x }", "f64"),
        ("fn f(a) { a.shape[0] * a } fn main(x: f32) { f([1, 2]) * x }", "f32[2]"),
        // Defaults if nothing determines the type.
        ("fn main() { 2 + 3 }", "i32"),
        ("fn main() { 2 + 0.5 }", "f32"),
        ("fn main() { sqrt(2) }", "f32"),
        ("fn main() { reduce_sum([1, 2]) {keepdims = false} }", "i64"),
        ("fn main() { 2 ** 0.5 }", "f32"),
        ("fn main() { (1 + 1, .5) }", "(i32, f32)"),
    ];
    for (text, expected) in rows {
        let graph = build(text).unwrap_or_else(|e| panic!("{text}\n{}", e.render(false)));
        let types: Vec<String> = graph.outputs().iter().map(|o| graph.ty(o.vertex).to_string()).collect();
        let found = match types.as_slice() {
            [one] => one.clone(),
            several => format!("({})", several.join(", ")),
        };
        assert_eq!(found, expected, "{text}");
    }
    let third = build("fn main() { let y: f64 = 1.0 / 3; y }").unwrap();
    assert_eq!(evaluate(&third, &Vec::new())[0].to_f64s().unwrap(), [1.0 / 3.0]);
}

/// A mismatch is reported at its source location.
#[test]
fn literals_that_do_not_fit_are_told() {
    let rows = [
        ("fn main(x: u8) { x + (200 + 300) }", "300 does not fit u8"),
        ("fn main(x: i32) { x + (1 + 0.5) }", "cannot be i32"),
        ("fn main(x: i32) { x + sqrt(2) }", "sqrt"),
        ("fn main(x: i64) { x + 18446744073709551615 }", "does not fit i64"),
        ("fn main(x: f32, y: f64) { x + 1 + y }", "element types differ"),
        ("fn main() { 1 + [1, 2] + [1, 2, 3] }", "do not broadcast"),
        ("fn main(x: f32[2]) { x in () }", "empty list"),
    ];
    for (text, expected) in rows {
        let problems = build(text).map(|_| ()).unwrap_err().render(false);
        assert!(problems.contains(expected), "{text}\n{problems}");
        assert_eq!(problems.matches("error[").count(), 1, "{text}\n{problems}");
    }
}

/// Deeply nested literals and very long sums do not need recursion.
#[test]
fn many_literals_need_no_stack() {
    let sum = vec!["1"; 20_000].join(" + ");
    let graph = build(&format!("fn main(x: u64) {{ x * ({sum}) }}")).unwrap();
    assert_eq!(graph.ty(graph.outputs()[0].vertex).to_string(), "u64");
    let deep = format!("{}1{}", "(2 - ".repeat(5_000), ")".repeat(5_000));
    let graph = build(&format!("fn main(x: f64) {{ x * {deep} }}")).unwrap();
    assert_eq!(graph.ty(graph.outputs()[0].vertex).to_string(), "f64");
}

#[test]
fn the_pragma_is_kept_and_unknown_ones_are_refused() {
    let text = "pragma power_caret\n\nfn main(x: f32) {\n  -x ^ 2 ^ 0.5 + (x ^ 2) ^ 3\n}\n";
    let program = parse_program(Arc::new(Source::new("a", text))).unwrap();
    assert_eq!(format_program(&program), text);
    let plain = "fn main(x: i32) {\n  x ** 2 ^ x\n}\n";
    let program = parse_program(Arc::new(Source::new("a", plain))).unwrap();
    assert_eq!(format_program(&program), plain);
    let problems = parse_program(Arc::new(Source::new("a", "pragma caret\nx ^ 2"))).unwrap_err();
    assert!(problems.render(false).contains("pragma power_caret"));
}
