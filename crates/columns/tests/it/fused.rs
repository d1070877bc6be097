//! Random expressions, computed in loops over tiles and function by function: values, nulls and messages are the same.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use proptest::prelude::*;
use tautomer_columns::{
    Compiled, Expressions, FloatOrder, OnFailure, Options, Overflow, Projector, Target, TargetValues, schema,
};
use tautomer_diag::Diagnostics;

const COLUMNS: &str = "a: f64, b: f64, d: f64 not null, s: f32, t: f32 not null, i: i32, j: i32 not null, \
                       l: i64, m: i64 not null, p: bool, q: bool not null, u: utf8, y: date32, k: i16";

/// Bytes that choices are read from; zeros when they end, so that shorter tapes give simpler expressions.
pub(crate) struct Tape<'a>(pub(crate) &'a [u8]);

impl Tape<'_> {
    pub(crate) fn next(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first as usize % count
    }

    pub(crate) fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.next(choices.len())]
    }
}

/// An expression of a type.
pub(crate) fn expression(tape: &mut Tape<'_>, ty: &str, depth: usize) -> String {
    let leaf = depth == 0;
    let part = |tape: &mut Tape<'_>, ty: &str| expression(tape, ty, depth - 1);
    match ty {
        "bool" => match tape.next(if leaf { 2 } else { 12 }) {
            0 => tape.of(&["p", "q"]).to_owned(),
            1 => tape.of(&["true", "false", "p", "q"]).to_owned(),
            2..=5 => {
                let ty = tape.of(&["f64", "f32", "i32", "i64", "bool"]);
                let (a, b) = (part(tape, ty), part(tape, ty));
                let ordered = tape.of(&["==", "!=", "<", "<=", ">", ">="]);
                format!("({a} {ordered} {b})")
            }
            6 => format!("({} and {})", part(tape, "bool"), part(tape, "bool")),
            7 => format!("({} or {})", part(tape, "bool"), part(tape, "bool")),
            8 => format!("(not {})", part(tape, "bool")),
            9 => {
                let ty = tape.of(&["f64", "i32"]);
                let members = tape.of(&["1, 2", "0", "1, null", "3, 4, 5, 0, 7, 8, 9, 1, 2, 6, 10"]);
                format!("({} in ({members}))", part(tape, ty))
            }
            10 => format!("isnull({})", part(tape, "f64")),
            _ => format!(
                "if({}, {}, {})",
                part(tape, "bool"),
                part(tape, "bool"),
                part(tape, "bool")
            ),
        },
        "f64" | "f32" => {
            let columns: &[&str] = if ty == "f64" { &["a", "b", "d"] } else { &["s", "t"] };
            match tape.next(if leaf { 2 } else { 15 }) {
                0 => tape.of(columns).to_owned(),
                1 => format!(
                    "{}{ty}",
                    tape.of(&["0.0", "1.0", "2.0", "0.5", "-1.5", "3.0", "1e10", "0.1"])
                ),
                2..=7 => {
                    let op = tape.of(&["+", "-", "*", "/"]);
                    format!("({} {op} {})", part(tape, ty), part(tape, ty))
                }
                8 => format!("(-{})", part(tape, ty)),
                9 => {
                    let function = tape.of(&[
                        "sqrt", "abs", "exp", "ln", "sin", "cos", "tanh", "floor", "ceil", "trunc", "bround", "round",
                        "sign", "cbrt", "atan", "degrees", "cot", "log10",
                    ]);
                    format!("{function}({})", part(tape, ty))
                }
                10 => {
                    let function = tape.of(&["greatest", "least", "power", "mod", "pmod", "nvl", "div", "atan2"]);
                    format!("{function}({}, {})", part(tape, ty), part(tape, ty))
                }
                11 => {
                    let from = tape.of(&["i32", "i64", "f32", "f64"]);
                    format!("cast({}, {ty})", part(tape, from))
                }
                12 => format!("({} ** {}{ty})", part(tape, ty), tape.of(&["3.0", "1.0", "0.5"])),
                _ => format!("if({}, {}, {})", part(tape, "bool"), part(tape, ty), part(tape, ty)),
            }
        }
        _ => {
            let columns: &[&str] = if ty == "i32" { &["i", "j"] } else { &["l", "m"] };
            match tape.next(if leaf { 2 } else { 11 }) {
                0 => tape.of(columns).to_owned(),
                1 => format!("{}{ty}", tape.of(&["0", "1", "2", "-1", "7", "2147483647"])),
                2..=6 => {
                    let op = tape.of(&["+", "-", "*", "/", "%", "&", "|", "^"]);
                    format!("({} {op} {})", part(tape, ty), part(tape, ty))
                }
                7 => format!(
                    "{}({}, {})",
                    tape.of(&["greatest", "least"]),
                    part(tape, ty),
                    part(tape, ty)
                ),
                8 => {
                    let from = tape.of(&["i32", "i64", "f32", "f64", "bool"]);
                    format!("cast({}, {ty})", part(tape, from))
                }
                9 => format!("{}({})", tape.of(&["abs", "-", "~"]), part(tape, ty)),
                _ => format!("if({}, {}, {})", part(tape, "bool"), part(tape, ty), part(tape, ty)),
            }
        }
    }
}

/// A slice of columns with nulls, ordinary and special values.
pub(crate) fn columns(mut state: u64, offset: usize, rows: usize) -> RecordBatch {
    let all = offset + rows;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut double = || {
        let bits = next();
        let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e7, 1.0];
        match bits % 16 {
            0 => special[(bits >> 8) as usize % special.len()],
            1..=4 => ((bits >> 8) % 9) as f64 - 3.0,
            _ => (bits >> 11) as f64 / (1u64 << 50) as f64 - 4.0,
        }
    };
    let doubles: Vec<Vec<f64>> = (0..5).map(|_| (0..all).map(|_| double()).collect()).collect();
    let mut int = || {
        let bits = next();
        match bits % 8 {
            0 => bits as i64,
            1 => [i64::MIN, i64::MAX, i32::MIN.into(), i32::MAX.into()][(bits >> 8) as usize % 4],
            _ => ((bits >> 8) % 11) as i64 - 5,
        }
    };
    let ints: Vec<Vec<i64>> = (0..6).map(|_| (0..all).map(|_| int()).collect()).collect();
    let nulls: Vec<Vec<bool>> = (0..9).map(|_| (0..all).map(|_| next() % 5 != 0).collect()).collect();
    fn optional<'a, T: Copy + 'a>(values: impl Iterator<Item = T> + 'a, valid: &'a [bool]) -> Vec<Option<T>> {
        values.zip(valid).map(|(value, valid)| valid.then_some(value)).collect()
    }
    let single = |at: usize| doubles[at].iter().map(|&value| value as f32);
    let words: Vec<Option<String>> = ints[4]
        .iter()
        .map(|value| (value % 3 != 0).then(|| value.to_string()))
        .collect();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Float64Array::from(optional(doubles[0].iter().copied(), &nulls[0]))),
        Arc::new(Float64Array::from(optional(doubles[1].iter().copied(), &nulls[1]))),
        Arc::new(Float64Array::from(doubles[2].clone())),
        Arc::new(Float32Array::from(optional(single(3), &nulls[2]))),
        Arc::new(single(4).collect::<Float32Array>()),
        Arc::new(Int32Array::from(optional(
            ints[0].iter().map(|&value| value as i32),
            &nulls[3],
        ))),
        Arc::new(ints[1].iter().map(|&value| Some(value as i32)).collect::<Int32Array>()),
        Arc::new(Int64Array::from(optional(ints[2].iter().copied(), &nulls[4]))),
        Arc::new(Int64Array::from(ints[3].clone())),
        Arc::new(BooleanArray::from(optional(
            ints[4].iter().map(|&value| value > 0),
            &nulls[5],
        ))),
        Arc::new(BooleanArray::from(
            ints[5].iter().map(|&value| value > 0).collect::<Vec<_>>(),
        )),
        Arc::new(StringArray::from(words)),
        Arc::new(Date32Array::from(optional(
            ints[0].iter().map(|&value| value as i32),
            &nulls[6],
        ))),
        Arc::new(Int16Array::from(optional(
            ints[1].iter().map(|&value| value as i16),
            &nulls[7],
        ))),
    ];
    let batch = RecordBatch::try_new(schema(COLUMNS).unwrap(), arrays).unwrap();
    batch.slice(offset, rows)
}

/// The rows of an array, where every NaN is the same.
pub(crate) fn rows(array: &ArrayRef) -> Vec<Option<u64>> {
    let valid = |row: usize| array.is_valid(row);
    (0..array.len())
        .map(|row| {
            let bits = match array.data_type() {
                arrow_schema::DataType::Float64 => match array.as_primitive::<Float64Type>().value(row) {
                    value if value.is_nan() => f64::NAN.to_bits(),
                    value => value.to_bits(),
                },
                arrow_schema::DataType::Float32 => match array.as_primitive::<Float32Type>().value(row) {
                    value if value.is_nan() => f32::NAN.to_bits().into(),
                    value => value.to_bits().into(),
                },
                arrow_schema::DataType::Int32 => array.as_primitive::<Int32Type>().value(row) as u64,
                arrow_schema::DataType::Int64 => array.as_primitive::<Int64Type>().value(row) as u64,
                _ => array.as_boolean().value(row).into(),
            };
            valid(row).then_some(bits)
        })
        .collect()
}

pub(crate) fn options(choice: usize) -> Options {
    Options {
        overflow: [Overflow::Wrap, Overflow::Wrap, Overflow::Null, Overflow::Error][choice % 4],
        division_by_zero: [OnFailure::Null, OnFailure::Error][choice / 4 % 2],
        invalid: OnFailure::Null,
        float_order: [FloatOrder::Partial, FloatOrder::Total][choice / 8 % 2],
        ..Options::default()
    }
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(512))]

    #[test]
    fn loops_over_tiles_are_what_functions_compute(
        tape in prop::collection::vec(any::<u8>(), 4..120),
        seed in 1u64..,
        offset in 0usize..70,
        count in prop_oneof![Just(0), 1usize..70, 1000usize..1100, 2040usize..2200],
        choice in 0usize..16,
    ) {
        let batch = columns(seed, offset, count);
        let mut tape = Tape(&tape);
        let ty = tape.of(&["f64", "f32", "i32", "i64", "bool"]);
        let text = format!("{}; {}", expression(&mut tape, ty, 4), expression(&mut tape, "f64", 3));
        let expressions = Expressions::parse_with(&batch.schema(), &text, &options(choice))
            .unwrap_or_else(|problems| panic!("{text}\n{problems}"));
        let projector = Projector::make(std::slice::from_ref(&expressions)).unwrap();
        let (fused, plain) = (projector.evaluate(&batch), projector.evaluate_nodes(&batch));
        match (fused, plain) {
            (Ok(fused), Ok(plain)) => {
                for (fused, plain) in fused.iter().zip(&plain) {
                    prop_assert_eq!(fused.data_type(), plain.data_type());
                    prop_assert_eq!(rows(fused), rows(plain), "{}", text);
                }
                // Memory that is used again holds nothing of the batch before.
                let shorter = batch.slice(count / 2, count - count / 2);
                for (whole, half) in fused.iter().zip(projector.evaluate(&shorter).unwrap()) {
                    prop_assert_eq!(&rows(whole)[count / 2..], &rows(&half)[..], "{}", text);
                }
            }
            (Err(fused), Err(plain)) => {
                // What is simplified away is not among the values that a message shows.
                let place = |problems: &Diagnostics| problems.to_string().split("\n  =").next().map(str::to_owned);
                prop_assert_eq!(place(&fused), place(&plain));
            }
            (fused, plain) => prop_assert!(false, "{}: {:?} and {:?}", text, fused.is_ok(), plain.is_ok()),
        }
    }
}

#[test]
fn buffers_of_the_caller_hold_the_results() {
    let batch = columns(5, 3, 1500);
    let text = "a * 2 + d; i + 1; p and a > 0; k; d; y; k + 1; 7; a";
    let projector = Projector::make(&[Expressions::parse(&batch.schema(), text).unwrap()]).unwrap();
    let wanted = projector.evaluate(&batch).unwrap();
    let mut doubles = vec![vec![0.0; 1500]; 3];
    let mut ints = vec![vec![0; 1500]; 3];
    let mut shorts = vec![vec![0; 1500]; 2];
    let mut bits = vec![0u8; 188];
    let mut validity = vec![vec![0u8; 188]; 9];
    {
        let [first, second, third] = &mut doubles[..] else {
            unreachable!("three")
        };
        let [sum, days, seven] = &mut ints[..] else {
            unreachable!("three")
        };
        let [k, next] = &mut shorts[..] else {
            unreachable!("two")
        };
        let values = [
            TargetValues::F64(first),
            TargetValues::I32(sum),
            TargetValues::Bits(&mut bits),
            TargetValues::I16(k),
            TargetValues::F64(second),
            TargetValues::I32(days),
            TargetValues::I16(next),
            TargetValues::I32(seven),
            TargetValues::F64(third),
        ];
        let mut targets: Vec<Target<'_>> = values
            .into_iter()
            .zip(&mut validity)
            .map(|(values, validity)| Target {
                values,
                validity: Some(validity),
            })
            .collect();
        projector.evaluate_into(&batch, &mut targets).unwrap();
    }
    let bit = |bytes: &[u8], row: usize| bytes[row / 8] >> (row % 8) & 1 == 1;
    for row in 0..1500 {
        for (at, array) in wanted.iter().enumerate() {
            assert_eq!(bit(&validity[at], row), array.is_valid(row), "row {row} of result {at}");
        }
        if wanted[0].is_valid(row) {
            let value = wanted[0].as_primitive::<Float64Type>().value(row);
            assert!(value == doubles[0][row] || value.is_nan());
        }
        if wanted[2].is_valid(row) {
            assert_eq!(wanted[2].as_boolean().value(row), bit(&bits, row));
        }
        if wanted[6].is_valid(row) {
            assert_eq!(wanted[6].as_primitive::<Int16Type>().value(row), shorts[1][row]);
        }
        assert_eq!(ints[2][row], 7);
    }
}

#[test]
fn buffers_that_do_not_fit_are_refused() {
    let batch = columns(5, 0, 100);
    let of = |text: &str| Projector::make(&[Expressions::parse(&batch.schema(), text).unwrap()]).unwrap();
    let mut short = vec![0.0; 99];
    let mut enough = vec![0.0; 100];
    fn target(values: TargetValues<'_>) -> Target<'_> {
        Target { values, validity: None }
    }
    for (text, values, part) in [
        ("d + 1", TargetValues::F64(&mut short[..]), "has 99 rows instead of 100"),
        ("i + 1", TargetValues::F64(&mut enough[..]), "is not one of i32"),
    ] {
        let (code, shown) = crate::problem(of(text).evaluate_into(&batch, &mut [target(values)]));
        assert_eq!(code, "T0708");
        assert!(shown.contains(part), "{shown}");
    }
    let (_, shown) = crate::problem(of("a + 1").evaluate_into(&batch, &mut [target(TargetValues::F64(&mut enough))]));
    assert!(shown.contains("has nulls"), "{shown}");
    let (_, shown) = crate::problem(of("a + 1").evaluate_into(&batch, &mut []));
    assert!(shown.contains("0 buffers for 1 results"), "{shown}");
}

#[test]
fn what_was_compiled_is_used_again() {
    let compiled = Compiled::new(2);
    let make = |columns: &str, text: &str| {
        let expressions = Expressions::parse(&schema(columns).unwrap(), text).unwrap();
        Projector::make_with(&[expressions], &compiled).unwrap()
    };
    make("x: i32, y: i32", "x / y");
    // Other names and another text, with the places of their own in messages.
    let other = make("price: i32, count: i32", "  price/count");
    assert_eq!(compiled.len(), 1);
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1])), Arc::new(Int32Array::from(vec![0]))];
    let batch = RecordBatch::try_new(schema("price: i32, count: i32").unwrap(), columns).unwrap();
    let shown = other.evaluate(&batch).unwrap_err().to_string();
    assert!(shown.contains("1:3") && shown.contains("count = 0"), "{shown}");
    make("x: i64, y: i64", "x / y");
    assert_eq!(compiled.len(), 2);
    make("x: i64, y: i64", "x % y");
    assert_eq!(compiled.len(), 1);
}
