//! Integers of every size, computed in loops over tiles and function by function: values, nulls and failures are the
//! same.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use proptest::prelude::*;
use tautomer_columns::{Expressions, Projector, schema};

use super::fused::{Tape, options};

/// A column with nulls and one without for each type.
const COLUMNS: &str = "a: i8, b: i8 not null, c: i16, d: i16 not null, e: u8, f: u8 not null, g: u16, h: u16 not null, \
                       i: u32, j: u32 not null, k: u64, l: u64 not null, m: i32, n: i32 not null, o: i64, \
                       p: i64 not null, q: f32, r: f32 not null, s: f64, t: f64 not null";

const TYPES: [&str; 10] = ["i8", "i16", "u8", "u16", "u32", "u64", "i32", "i64", "f32", "f64"];

/// An expression of a type of [`TYPES`].
fn expression(tape: &mut Tape<'_>, ty: &str, depth: usize) -> String {
    let at = TYPES.iter().position(|known| *known == ty).unwrap_or_default();
    let columns = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
    ];
    let is_float = ty.starts_with('f');
    if depth == 0 {
        return match tape.next(3) {
            0 if is_float => format!("{}{ty}", tape.of(&["0.5", "-1.5", "3.0", "1e10", "300.0"])),
            0 => format!("{}{ty}", tape.of(&["0", "1", "2", "7", "100", "127"])),
            n => columns[2 * at + n - 1].to_owned(),
        };
    }
    let part = |tape: &mut Tape<'_>, ty: &str| expression(tape, ty, depth - 1);
    match tape.next(10) {
        0..=2 => {
            let op = tape.of(if is_float {
                &["+", "-", "*", "/"]
            } else {
                &["+", "-", "*", "&", "|", "^"]
            });
            format!("({} {op} {})", part(tape, ty), part(tape, ty))
        }
        3 => format!(
            "{}({}, {})",
            tape.of(&["greatest", "least"]),
            part(tape, ty),
            part(tape, ty)
        ),
        4..=6 => format!("cast({}, {ty})", {
            let from = tape.of(&TYPES);
            part(tape, from)
        }),
        7 => part(tape, ty),
        _ => {
            let of = tape.of(&TYPES);
            let condition = match tape.next(4) {
                0 => format!("{} in (1, 2, 100)", part(tape, of)),
                _ => {
                    let ordered = tape.of(&["==", "!=", "<", "<=", ">", ">="]);
                    format!("{} {ordered} {}", part(tape, of), part(tape, of))
                }
            };
            format!("if({condition}, {}, {})", part(tape, ty), part(tape, ty))
        }
    }
}

/// A slice of columns with ordinary values and the least and greatest ones.
fn batch(mut state: u64, offset: usize, rows: usize) -> RecordBatch {
    let all = offset + rows;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut column = |at: usize| -> ArrayRef {
        let bits: Vec<Option<u64>> = (0..all)
            .map(|_| {
                let drawn = next();
                let value = match drawn % 4 {
                    0 => next(),
                    1 => [0, u64::MAX, 1 << 63, u64::MAX >> 1][(drawn >> 8) as usize % 4],
                    _ => ((drawn >> 8) % 11).wrapping_sub(5),
                };
                (at % 2 == 1 || (drawn >> 16) % 5 != 0).then_some(value)
            })
            .collect();
        macro_rules! array {
            ($array:ident $native:ident) => {
                Arc::new(
                    bits.iter()
                        .map(|bits| bits.map(|bits| bits as $native))
                        .collect::<$array>(),
                )
            };
            ($array:ident from $native:ident) => {{
                let number = |bits: u64| match bits {
                    0 => $native::NAN,
                    u64::MAX => $native::INFINITY,
                    bits => bits as i64 as $native / 4.0,
                };
                Arc::new(bits.iter().map(|bits| bits.map(number)).collect::<$array>())
            }};
        }
        match TYPES[at / 2] {
            "i8" => array!(Int8Array i8),
            "i16" => array!(Int16Array i16),
            "u8" => array!(UInt8Array u8),
            "u16" => array!(UInt16Array u16),
            "u32" => array!(UInt32Array u32),
            "u64" => array!(UInt64Array u64),
            "i32" => array!(Int32Array i32),
            "i64" => array!(Int64Array i64),
            "f32" => array!(Float32Array from f32),
            _ => array!(Float64Array from f64),
        }
    };
    let arrays = (0..2 * TYPES.len()).map(&mut column).collect();
    let batch = RecordBatch::try_new(schema(COLUMNS).unwrap(), arrays).unwrap();
    batch.slice(offset, rows)
}

/// The rows of an array of numbers, where every NaN is the same.
fn rows(array: &ArrayRef) -> Vec<Option<u64>> {
    use arrow_schema::DataType;
    macro_rules! integers {
        ($ty:ident) => {
            array
                .as_primitive::<$ty>()
                .iter()
                .map(|value| value.map(|value| value as u64))
                .collect()
        };
    }
    match array.data_type() {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => integers!(UInt64Type),
        DataType::Float32 => {
            let bits = |value: f32| if value.is_nan() { f32::NAN } else { value }.to_bits().into();
            array
                .as_primitive::<Float32Type>()
                .iter()
                .map(|value| value.map(bits))
                .collect()
        }
        _ => {
            let bits = |value: f64| if value.is_nan() { f64::NAN } else { value }.to_bits();
            array
                .as_primitive::<Float64Type>()
                .iter()
                .map(|value| value.map(bits))
                .collect()
        }
    }
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(512))]

    #[test]
    fn loops_over_integers_are_what_functions_compute(
        tape in prop::collection::vec(any::<u8>(), 4..80),
        seed in 1u64..,
        offset in 0usize..70,
        count in prop_oneof![Just(0), 1usize..70, 1000usize..1100],
        choice in 0usize..16,
    ) {
        let batch = batch(seed, offset, count);
        let mut tape = Tape(&tape);
        let ty = tape.of(&TYPES);
        let text = expression(&mut tape, ty, 4);
        let expressions = Expressions::parse_with(&batch.schema(), &text, &options(choice))
            .unwrap_or_else(|problems| panic!("{text}\n{problems}"));
        let projector = Projector::make(&[expressions]).unwrap();
        match (projector.evaluate(&batch), projector.evaluate_nodes(&batch)) {
            (Ok(fused), Ok(plain)) => {
                prop_assert_eq!(fused[0].data_type(), plain[0].data_type());
                prop_assert_eq!(rows(&fused[0]), rows(&plain[0]), "{}", text);
            }
            (fused, plain) => prop_assert_eq!(fused.is_err(), plain.is_err(), "{}", text),
        }
    }
}
