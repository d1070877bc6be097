//! One accepted and one refused text for each production of the grammar.

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray};
use tautomer_columns::{Expressions, Options, schema};

use crate::{batch, column, eval_with, problem};

fn sample() -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        column::<Int32Array>(vec![7, -7]),
        column::<Float64Array>(vec![2.0, 0.5]),
        column::<BooleanArray>(vec![true, false]),
        column::<StringArray>(vec!["abc", "x"]),
        column::<Int32Array>(vec![1, 2]),
    ];
    batch("x: i32, y: f64, z: bool, s: utf8, `unit price`: i32", columns)
}

/// The texts of all values.
fn texts(text: &str) -> String {
    let options = Options::default();
    shown(text, &options)
}

fn shown(text: &str, options: &Options) -> String {
    match eval_with(&sample(), text, options) {
        Ok(array) => {
            let cast = format!("{array:?}");
            let lines = cast.lines().map(str::trim).filter(|line| line.ends_with(','));
            lines.collect::<Vec<_>>().join(" ").trim_end_matches(',').to_owned()
        }
        Err(problems) => problem(Err::<(), _>(problems)).0,
    }
}

#[test]
fn literals() {
    for (text, wanted) in [
        ("1i64", "1, 1"),
        ("255u8", "255, 255"),
        ("256u8", "T0203"),
        ("1_000", "1000, 1000"),
        ("0xFF", "255, 255"),
        ("0xFFu8", "255, 255"),
        ("0o17", "15, 15"),
        ("0b1010i16", "10, 10"),
        ("0b12", "T0005"),
        ("1.", "1.0, 1.0"),
        (".5f64", "0.5, 0.5"),
        ("1e3f64", "1000.0, 1000.0"),
        ("1.5i32", "T0006"),
        ("18446744073709551615u64", "18446744073709551615, 18446744073709551615"),
        ("18446744073709551616u64", "T0203"),
        ("-9223372036854775808i64", "-9223372036854775808, -9223372036854775808"),
        ("-2147483648", "-2147483648, -2147483648"),
        ("5000000000", "T0203"),
        ("x + 1.5", "T0702"),
        ("y * 1000", "2000.0, 500.0"),
        ("'a\"b'", "\"a\\\"b\", \"a\\\"b\""),
        ("true", "true, true"),
        ("cast(null, f64)", "null, null"),
        ("null", "T0704"),
        ("if(z, x, null)", "7, null"),
        ("1f16", "T0005"),
    ] {
        assert_eq!(texts(text), wanted, "{text}");
    }
}

#[test]
fn columns() {
    assert_eq!(texts("`unit price` + x"), "8, -5");
    assert_eq!(texts("x1"), "T0104");
    let (code, text) = problem(eval_with(&sample(), "X + 1", &Options::default()));
    assert_eq!(code, "T0104");
    assert!(text.contains("did you mean `x`"), "{text}");
    assert_eq!(problem(schema("_a: i32")).0, "T0706");
    assert_eq!(problem(schema("if: i32")).0, "T0706");
    assert_eq!(problem(schema("x: i32, x: i64")).0, "T0105");
    assert_eq!(problem(schema("x: int3")).0, "T0706");
    assert_eq!(problem(schema("x: interval")).0, "T0705");
    assert!(
        schema("add: i32, `_a`: i32").is_ok(),
        "a column may have the name of a function"
    );
    assert!(schema("x int32\ny float64 not null // comment\nt: timestamp[us, 'Europe/Berlin'],").is_ok());
    assert!(schema("d: dictionary<int32, utf8>, v: utf8_view, h: f16").is_ok());
}

#[test]
fn operators() {
    for (text, wanted) in [
        ("x + 1 * 2", "9, -5"),
        ("(x + 1) * 2", "16, -12"),
        ("x / 2", "3, -3"),
        ("x % 2", "1, -1"),
        ("x & 3", "3, 1"),
        ("x | 8", "15, -7"),
        ("x ^ 1", "6, -8"),
        ("~x", "-8, 6"),
        ("-x", "-7, 7"),
        ("y ** 2", "4.0, 0.25"),
        ("2.0 ** 3.0 ** 2.0", "512.0, 512.0"),
        ("-2.0 ** 2.0", "-4.0, -4.0"),
        ("x ** 2", "49, 49"),
        ("y ^ 2", "T0702"),
        ("x == 7", "true, false"),
        ("x != 7", "false, true"),
        ("x < 0 || z", "true, true"),
        ("x < 0 or not z", "false, true"),
        ("x > 0 && z", "true, false"),
        ("x > 0 and z", "true, false"),
        ("x >= 7 and x <= 7", "true, false"),
        ("1 < x < 3", "T0007"),
        ("!z", "false, true"),
        ("!x", "T0702"),
        ("z + 1", "T0702"),
        ("x and z", "T0204"),
        ("x @ y", "T0701"),
        ("2-+1", "1, 1"),
        ("x + 1 = 1", "T0001"),
        ("x +", "T0001"),
        ("(x", "T0002"),
    ] {
        assert_eq!(texts(text), wanted, "{text}");
    }
    let calculator = Options::calculator();
    assert_eq!(shown("y ^ 2", &calculator), "4.0, 0.25");
    assert_eq!(shown("y++y--y", &calculator), "6.0, 1.5");
    assert_eq!(shown("1/2", &calculator), "0.5, 0.5");
}

#[test]
fn operators_are_functions_too() {
    for (operator, function) in [
        ("x + 2", "add(x, 2)"),
        ("x - 2", "subtract(x, 2)"),
        ("x * 2", "multiply(x, 2)"),
        ("x / 2", "divide(x, 2)"),
        ("x % 2", "mod(x, 2)"),
        ("x % 2", "modulo(x, 2)"),
        ("y ** 2", "power(y, 2)"),
        ("y ** 2", "pow(y, 2)"),
        ("x & 3", "bitwise_and(x, 3)"),
        ("x | 3", "bitwise_or(x, 3)"),
        ("x ^ 3", "bitwise_xor(x, 3)"),
        ("~x", "bitwise_not(x)"),
        ("x == 7", "equal(x, 7)"),
        ("x == 7", "eq(x, 7)"),
        ("x == 7", "same(x, 7)"),
        ("x != 7", "not_equal(x, 7)"),
        ("x < 7", "less_than(x, 7)"),
        ("x <= 7", "less_than_or_equal_to(x, 7)"),
        ("x > 7", "greater_than(x, 7)"),
        ("x >= 7", "greater_than_or_equal_to(x, 7)"),
        ("!z", "not(z)"),
        ("-x", "negative(x)"),
    ] {
        assert_eq!(texts(operator), texts(function), "{operator} {function}");
        assert!(!texts(operator).starts_with('T'), "{operator}");
    }
}

#[test]
fn functions() {
    assert_eq!(texts("castFloat8(x)"), "7.0, -7.0");
    assert_eq!(texts("CASTFLOAT8(x)"), "7.0, -7.0");
    assert_eq!(texts("cast(x, f64)"), "7.0, -7.0");
    assert_eq!(texts("cast(x) {to = f64}"), "7.0, -7.0");
    assert_eq!(texts("cast(x, flot)"), "T0706");
    assert_eq!(texts("cast(x)"), "T0102");
    assert_eq!(texts("cast(z, date32)"), "T0204");
    assert_eq!(texts("abs(x, x)"), "T0102");
    assert_eq!(texts("nosuch(x)"), "T0101");
    assert_eq!(texts("castDECIMAL(x)"), "T0705");
    assert_eq!(texts("abs(x) {to = f64}"), "T0103");
    let (_, text) = problem(eval_with(&sample(), "uper(s)", &Options::default()));
    assert!(text.contains("did you mean `upper`"), "{text}");
}

#[test]
fn choices() {
    for (text, wanted) in [
        ("if(z, x, 0)", "7, 0"),
        ("if (z) { x } else { 0 }", "7, 0"),
        ("if (x > 100) { 1 } else if (x > 0) { 2 } else { 3 }", "2, 3"),
        ("1 + if(z, x, 0) * 2", "15, 1"),
        ("if (z) { x }", "T0001"),
        ("if(z, x)", "T0010"),
        ("if(x, x, 0)", "T0204"),
        ("if(z, x, y)", "T0204"),
        ("if(z, 1, 2.5) + y", "3.0, 3.0"),
        ("if (z) { let t = x; t } else { 0 }", "T0701"),
    ] {
        assert_eq!(texts(text), wanted, "{text}");
    }
}

#[test]
fn membership() {
    for (text, wanted) in [
        ("x in (7, 8)", "true, false"),
        ("x in (7)", "true, false"),
        ("x in ()", "T0015"),
        ("x in 7", "T0001"),
        ("s in ('abc', \"d\")", "true, false"),
        ("y in (0.5, 1)", "false, true"),
        ("1 in (x, `unit price`)", "true, false"),
        ("x in (1, y)", "T0204"),
        ("z in (true)", "true, false"),
        ("[1, 2]", "T0701"),
        ("(1, 2)", "T0701"),
    ] {
        assert_eq!(texts(text), wanted, "{text}");
    }
}

#[test]
fn outputs() {
    let batch = sample();
    let text = "a = x + 1; b: f64 = 2; x; y * 2; `unit price`; `unit price` - `unit price`; x";
    let expressions = Expressions::parse(&batch.schema(), text).unwrap();
    assert_eq!(
        expressions.names().collect::<Vec<_>>(),
        [
            "a",
            "b",
            "x",
            "y * 2",
            "unit price",
            "`unit price` - `unit price`",
            "x_2"
        ]
    );
    let types: Vec<String> = expressions.types().iter().map(ToString::to_string).collect();
    assert_eq!(types, ["i32", "f64", "i32", "f64", "i32", "i32", "i32"]);
    assert_eq!(problem(Expressions::parse(&batch.schema(), "a = x; a = y")).0, "T0105");
    let (code, text) = problem(Expressions::parse(&batch.schema(), "a: i64 = x"));
    assert_eq!(code, "T0204");
    assert!(text.contains("cast(…, i64)"), "{text}");
}

#[test]
fn every_problem_is_reported() {
    let batch = sample();
    let Err(problems) = Expressions::parse(&batch.schema(), "a = x + y; b = nosuch(z); c = q") else {
        panic!()
    };
    let codes: Vec<&str> = problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["T0702", "T0101", "T0104"]);
    let text = problems.to_string();
    assert!(text.contains("add(T, T) -> T where T: any number"), "{text}");
}

#[test]
fn deep_and_long_texts() {
    let batch = sample();
    let sum = vec!["x"; 20_000].join(" + ");
    assert_eq!(Expressions::parse(&batch.schema(), &sum).unwrap().types().len(), 1);
    let brackets = format!("{}x{}", "(".repeat(20_001), ")".repeat(20_001));
    assert_eq!(problem(Expressions::parse(&batch.schema(), &brackets)).0, "T0601");
    let minus = format!("{}x", "-".repeat(5000));
    assert!(Expressions::parse(&batch.schema(), &minus).is_ok());
    let literal = format!("s == '{}'", "a".repeat(70_000));
    assert_eq!(problem(Expressions::parse(&batch.schema(), &literal)).0, "T0602");
}
