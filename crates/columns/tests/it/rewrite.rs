//! Rewriting by rule files: every row stays as it is, and what is found is simpler.

use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, RecordBatch};
use proptest::prelude::*;
use tautomer_columns::{Expressions, Options, Overflow, Projector, Rewriter, schema};
use tautomer_diag::{Diagnostics, Source};
use tautomer_lang::parse_rules;
use tautomer_rule::{Class, load_rules};

use crate::fused::{Tape, columns, expression, options, rows};

static BITWISE: LazyLock<Rewriter> = LazyLock::new(|| Rewriter::built_in(Class::Bitwise).unwrap());
pub(crate) static REAL: LazyLock<Rewriter> = LazyLock::new(|| Rewriter::built_in(Class::Real).unwrap());

const COLUMNS: &str = "x: f64 not null, y: f64 not null, a: f64, b: f64, i: i32 not null, j: i32 not null, k: i32, \
                       p: bool not null, q: bool not null, r: bool, s: bool, h: f16, u: utf8";

#[track_caller]
fn rewritten(rewriter: &Rewriter, text: &str) -> String {
    let expressions = Expressions::parse(&schema(COLUMNS).unwrap(), text).unwrap_or_else(|found| panic!("{found}"));
    rewriter.rewrite(&expressions).expressions.texts().join("; ")
}

#[test]
fn rules_make_expressions_simpler() {
    for (text, wanted) in [
        ("x in (2)", "x == 2"),
        ("1 + 2 * 3 + i", "7 + i"),
        ("sqrt(2.0f64) * x", "1.4142135623730951 * x"),
        ("x > 1 and x > 2", "x > 2"),
        ("x <= 1 or x <= 2", "x <= 2"),
        ("if(p, sqrt(x), sqrt(y))", "sqrt(if(p, x, y))"),
        ("x / 8", "x * 0.125"),
        ("not not p", "p"),
        ("not p and not q", "not (p or q)"),
        ("i * 0 + j", "j"),
        ("if(p, false, true)", "not p"),
        ("if(p, if(p, x, y), 3)", "if(p, x, 3)"),
        // Columns with nulls, where both sides are null in the same rows.
        ("a > 1 and a > 2", "a > 2"),
        ("if(p, sqrt(a), sqrt(b))", "sqrt(if(p, a, b))"),
        ("if(a > 1, sqrt(a), sqrt(x))", "sqrt(if(a > 1, a, x))"),
        ("if(r, false, true)", "not istrue(r)"),
        ("not r and not s", "not (r or s)"),
        ("not r or not s", "not (r and s)"),
        ("a / 8 + a / 8", "a * 0.125 + a * 0.125"),
        // Around and inside what no operator computes.
        ("length(upper(u)) * 1 + 0", "char_length(upper(u))"),
        ("if(x * 1 > 0 and x > -1, upper(u), u)", "if(x > 0, upper(u), u)"),
        ("1 / (i * 1)", "1 / i"),
    ] {
        assert_eq!(rewritten(&BITWISE, text), wanted, "{text}");
    }
}

#[test]
fn rows_without_a_value_stay_so() {
    for (text, why) in [
        ("k * 0", "the product of a null is null"),
        ("k - k", "the difference of nulls is null"),
        ("r and false or true", "an `and` with a null may be null"),
        ("(i / j) * 0", "a division by zero stops evaluation"),
        ("i / j == 1 and q or q", "the same, on the left side of an `and`"),
        ("if(i / j == 1, sqrt(x), sqrt(y))", "the same, in a condition"),
        ("(k + 1) * 0", "the same null, of an expression"),
    ] {
        let after = rewritten(&BITWISE, text);
        let plain = |text: &str| text.replace(['(', ')'], "");
        assert_eq!(plain(&after), plain(text), "{text}: {why}");
    }
    // What overflows is a failure, or a null, by an option.
    for overflow in [Overflow::Null, Overflow::Error] {
        let options = Options {
            overflow,
            ..Options::default()
        };
        let parsed = Expressions::parse_with(&schema(COLUMNS).unwrap(), "(i + j) * 0", &options).unwrap();
        assert_eq!(BITWISE.rewrite(&parsed).expressions.texts(), ["(i + j) * 0"]);
    }
}

#[test]
fn laws_of_the_quick_simplifier_are_rules() {
    for (text, wanted) in [
        ("x * 1", "x"),
        ("1 * (x / 1) ** 1 - 0", "x"),
        ("i + 0", "i"),
        ("i - 0", "i"),
        ("x ** 2", "x * x"),
        ("x + -y", "x - y"),
        ("-x + y", "y - x"),
        ("x - -y", "x + y"),
        ("- -x", "x"),
        ("abs(-x)", "abs(x)"),
        ("abs(abs(x))", "abs(x)"),
        ("not not p", "p"),
        ("not (x == y)", "x != y"),
        ("not (x != y)", "x == y"),
        ("not (i < j)", "i >= j"),
        ("not (i <= j)", "i > j"),
        ("not (i > j)", "i <= j"),
        ("not (i >= j)", "i < j"),
        ("x in (2)", "x == 2"),
        ("if(true, x, y)", "x"),
        ("if(false, x, y)", "y"),
        ("if(p, x, x)", "x"),
        ("p and true", "p"),
        ("p and false", "false"),
        ("p or true", "true"),
        ("false or p", "p"),
        ("p and p", "p"),
        ("p or p", "p"),
        ("cast(x, f64)", "x"),
    ] {
        assert_eq!(rewritten(&REAL, text), wanted, "{text}");
    }
}

#[test]
fn rules_of_the_user_are_applied_and_named() {
    let file = "/// Half of a sum of two equal terms.\nrule half(x) { (x + x) * 0.5 => x numerics real }";
    let rules = load_rules(parse_rules(Arc::new(Source::new("my.rules", file))).unwrap())
        .unwrap()
        .rules;
    let parsed = Expressions::parse(&schema(COLUMNS).unwrap(), "h2 = sin((a + a) * 0.5)").unwrap();
    let found = Rewriter::new(rules.iter().cloned(), Class::Real).rewrite(&parsed);
    assert_eq!(found.expressions.texts(), ["sin(a)"]);
    assert_eq!(found.expressions.names().collect::<Vec<_>>(), ["h2"]);
    assert_eq!(found.rules.iter().map(|name| &**name).collect::<Vec<_>>(), ["half"]);
    assert_eq!(found.calls, (3, 1));
    // The class of the rule is weaker than what is allowed.
    assert_eq!(
        Rewriter::new(rules, Class::Bitwise)
            .rewrite(&parsed)
            .expressions
            .texts(),
        parsed.texts()
    );
}

#[test]
fn results_keep_their_names_and_types() {
    let parsed = Expressions::parse(&schema(COLUMNS).unwrap(), "one = x * 1; h * 1; x; a / 2; u").unwrap();
    let found = BITWISE.rewrite(&parsed).expressions;
    assert_eq!(found.output_schema(), parsed.output_schema());
    assert_eq!(found.types(), parsed.types());
}

/// What a projector computes: rows, or the kind of problem and its row.
fn outcome(expressions: &Expressions, batch: &RecordBatch) -> Result<Vec<ArrayRef>, String> {
    let first_line = |problems: Diagnostics| problems.to_string().lines().next().unwrap_or_default().to_owned();
    let projector = Projector::make(std::slice::from_ref(expressions)).unwrap();
    assert_eq!(*projector.output_schema(), expressions.output_schema());
    projector.evaluate(batch).map_err(first_line)
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(512))]

    #[test]
    fn bitwise_rules_keep_values_nulls_and_failures(
        tape in prop::collection::vec(any::<u8>(), 4..120),
        seed in 1u64..,
        choice in 0usize..16,
    ) {
        let batch = columns(seed, 0, 200);
        let mut tape = Tape(&tape);
        let ty = tape.of(&["f64", "f32", "i32", "i64", "bool"]);
        let text = expression(&mut tape, ty, 4);
        let parsed = Expressions::parse_with(&batch.schema(), &text, &options(choice)).unwrap();
        let found = BITWISE.rewrite(&parsed);
        let shown = format!("{text}\nbecame {}\nby {:?}", found.expressions.texts().join("; "), found.rules);
        match (outcome(&parsed, &batch), outcome(&found.expressions, &batch)) {
            (Ok(before), Ok(after)) => {
                for (before, after) in before.iter().zip(&after) {
                    prop_assert_eq!(before.data_type(), after.data_type(), "{}", &shown);
                    prop_assert_eq!(rows(before), rows(after), "{}", &shown);
                }
            }
            (before, after) => prop_assert_eq!(before.is_err(), after.is_err(), "{}", &shown),
        }
    }

    #[test]
    fn real_rules_keep_values_but_for_rounding(
        tape in prop::collection::vec(any::<u8>(), 4..80),
        seed in 1u64..,
    ) {
        let mut tape = Tape(&tape);
        let text = smooth(&mut tape, 5);
        let batch = positive(seed, 1.0);
        let parsed = Expressions::parse(&batch.schema(), &format!("result: f64 = {text}")).unwrap();
        let found = REAL.rewrite(&parsed);
        let shown = format!("{text}\nbecame {}\nby {:?}", found.expressions.texts().join("; "), found.rules);
        let value = |expressions: &Expressions, batch: &RecordBatch| outcome(expressions, batch).unwrap().remove(0);
        let (before, after) = (value(&parsed, &batch), value(&found.expressions, &batch));
        // How much a result may change where it depends much on its operands.
        let moved = [1.0 + 1e-10, 1.0 - 1e-10].map(|factor| value(&parsed, &positive(seed, factor)));
        for row in 0..batch.num_rows() {
            prop_assert_eq!(before.is_valid(row), after.is_valid(row), "row {} of {}", row, &shown);
            let at = |array: &ArrayRef| array.as_primitive::<Float64Type>().value(row);
            let (wanted, got) = (at(&before), at(&after));
            let spread = moved.iter().map(|moved| (at(moved) - wanted).abs()).fold(0.0, f64::max);
            if before.is_valid(row) && wanted.is_finite() && spread < 1e-6 * wanted.abs() {
                prop_assert!((wanted - got).abs() <= 1e-9 * wanted.abs() + spread, "{} and {}: {}", wanted, got, &shown);
            }
        }
    }
}

/// A smooth expression of numbers between a half and two.
fn smooth(tape: &mut Tape<'_>, depth: usize) -> String {
    let part = |tape: &mut Tape<'_>| smooth(tape, depth - 1);
    match tape.next(if depth == 0 { 3 } else { 13 }) {
        0 => tape.of(&["x", "y", "a", "b"]).to_owned(),
        1 => tape.of(&["a", "x"]).to_owned(),
        2 => tape.of(&["0.5", "1.0", "2.0", "3.0", "8.0", "0.0"]).to_owned(),
        3..=9 => {
            let op = tape.of(&["+", "-", "*", "/"]);
            format!("({} {op} {})", part(tape), part(tape))
        }
        10 => format!("{}({})", tape.of(&["sqrt", "exp", "ln", "abs", "-"]), part(tape)),
        11 => format!("({} ** {})", part(tape), tape.of(&["2.0", "1.0", "0.5", "-1.0"])),
        _ => {
            let condition = tape.of(&["x > 1", "a > 1", "not (y < 1)", "a > 1 or b > 1", "x > 1 and x > 1.5"]);
            format!("if({condition}, {}, {})", part(tape), part(tape))
        }
    }
}

/// Columns of numbers between a half and two, `a` and `b` with nulls, all multiplied by a factor close to one.
fn positive(mut state: u64, factor: f64) -> RecordBatch {
    let mut column = |nulls: bool| -> ArrayRef {
        let values = (0..100).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let value = 0.5 + 1.5 * ((state >> 11) as f64 / (1u64 << 53) as f64);
            (!nulls || !state.is_multiple_of(5)).then_some(value * factor)
        });
        Arc::new(values.collect::<Float64Array>())
    };
    let columns = [false, false, true, true].map(&mut column).to_vec();
    RecordBatch::try_new(
        schema("x: f64 not null, y: f64 not null, a: f64, b: f64").unwrap(),
        columns,
    )
    .unwrap()
}
