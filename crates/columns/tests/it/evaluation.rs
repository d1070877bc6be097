//! Values: nulls, failures, slices, types of columns. The names follow Gandiva's tests where they have an equal there.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::DataType;
use tautomer_columns::{
    Expressions, Filter, FloatOrder, OnFailure, Options, Overflow, Projector, Scalar, Selection, schema,
};

use crate::{batch, column, eval, eval_with, problem};

fn ints(array: &ArrayRef) -> Vec<Option<i32>> {
    array.as_primitive::<Int32Type>().iter().collect()
}

fn bools(array: &ArrayRef) -> Vec<Option<bool>> {
    array.as_boolean().iter().collect()
}

fn strings(array: &ArrayRef) -> Vec<Option<&str>> {
    array.as_string::<i32>().iter().collect()
}

fn doubles(array: &ArrayRef) -> Vec<Option<f64>> {
    array.as_primitive::<Float64Type>().iter().collect()
}

fn numbers() -> RecordBatch {
    batch(
        "x: i32, y: i32",
        vec![
            column::<Int32Array>(vec![Some(7), Some(8), None, Some(i32::MIN)]),
            column::<Int32Array>(vec![Some(2), Some(0), Some(0), Some(-1)]),
        ],
    )
}

#[test]
fn divide_by_zero() {
    let (code, text) = problem(eval_with(&numbers(), "x / y", &Options::default()));
    assert_eq!(code, "T0707");
    for part in ["row 1: division by zero", "x = 8", "y = 0"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let null = Options {
        division_by_zero: OnFailure::Null,
        ..Options::default()
    };
    for (text, wanted) in [
        ("x / y", [Some(3), None, None, Some(i32::MIN)]),
        ("x % y", [Some(1), None, None, Some(0)]),
        ("div(x, y)", [Some(3), None, None, Some(i32::MIN)]),
        ("pmod(x, y)", [Some(1), None, None, Some(0)]),
    ] {
        assert_eq!(ints(&eval_with(&numbers(), text, &null).unwrap()), wanted, "{text}");
    }
    let floats = batch("a: f64", vec![column::<Float64Array>(vec![1.0, -1.0])]);
    assert_eq!(
        doubles(&eval(&floats, "a / 0")),
        [Some(f64::INFINITY), Some(f64::NEG_INFINITY)]
    );
}

#[test]
fn failures_of_rows_that_are_left_out_do_not_count() {
    let batch = numbers();
    let wanted = [Some(3), Some(0), Some(0), Some(i32::MIN)];
    assert_eq!(ints(&eval(&batch, "if(y != 0, x / y, 0)")), wanted);
    assert_eq!(
        bools(&eval(&batch, "y != 0 and x / y > 0")),
        [Some(true), Some(false), Some(false), Some(false)]
    );
    assert_eq!(
        bools(&eval(&batch, "y == 0 or x / y > 0")),
        [Some(true), Some(true), Some(true), Some(false)]
    );
    assert_eq!(
        problem(eval_with(&batch, "x / y > 0 and y != 0", &Options::default())).0,
        "T0707"
    );
    // A node that two branches share fails only where a branch that takes it is selected.
    assert_eq!(
        ints(&eval(&batch, "if(y > 1, x / y, if(y == 0, 5, x / y))")),
        [Some(3), Some(5), Some(5), Some(i32::MIN)]
    );
}

#[test]
fn overflow_is_an_option() {
    let batch = batch("x: i32", vec![column::<Int32Array>(vec![i32::MAX, 1])]);
    let with = |overflow| Options {
        overflow,
        ..Options::default()
    };
    assert_eq!(ints(&eval(&batch, "x + 1")), [Some(i32::MIN), Some(2)]);
    assert_eq!(
        ints(&eval_with(&batch, "x + 1", &with(Overflow::Null)).unwrap()),
        [None, Some(2)]
    );
    assert_eq!(problem(eval_with(&batch, "x + 1", &with(Overflow::Error))).0, "T0707");
    assert_eq!(
        problem(eval_with(
            &batch,
            "castINT(cast(x, i64) * 3i64)",
            &with(Overflow::Error)
        ))
        .0,
        "T0707"
    );
    assert_eq!(
        ints(&eval_with(&batch, "castINT(cast(x, f64) * 2)", &with(Overflow::Null)).unwrap()),
        [None, Some(2)]
    );
    assert_eq!(
        ints(&eval(&batch, "castINT(cast(x, f64) * 2)")),
        [Some(i32::MAX), Some(2)]
    );
    assert_eq!(ints(&eval(&batch, "castINT(-2.5)")), [Some(-3), Some(-3)]);
}

fn three() -> RecordBatch {
    let all = [Some(true), Some(false), None];
    let a: Vec<Option<bool>> = all.iter().flat_map(|&a| [a; 3]).collect();
    let b: Vec<Option<bool>> = all.iter().cycle().take(9).copied().collect();
    batch(
        "a: bool, b: bool",
        vec![column::<BooleanArray>(a), column::<BooleanArray>(b)],
    )
}

#[test]
fn kleene_logic() {
    let (t, f, n) = (Some(true), Some(false), None);
    assert_eq!(bools(&eval(&three(), "a and b")), [t, f, n, f, f, f, n, f, n]);
    assert_eq!(bools(&eval(&three(), "a or b")), [t, t, t, t, f, n, t, n, n]);
    assert_eq!(bools(&eval(&three(), "not a")), [f, f, f, t, t, t, n, n, n]);
    assert_eq!(bools(&eval(&three(), "a == b")), [t, f, n, f, t, n, n, n, n]);
    assert_eq!(
        bools(&eval(&three(), "is_not_distinct_from(a, b)")),
        [t, f, f, f, t, f, f, f, t]
    );
    assert_eq!(bools(&eval(&three(), "istrue(a)")), [t, t, t, f, f, f, f, f, f]);
    assert_eq!(bools(&eval(&three(), "isnotfalse(a)")), [t, t, t, f, f, f, t, t, t]);
    assert_eq!(
        bools(&eval(&three(), "isnull(a) or isnotnull(b)")),
        [t, t, f, t, t, f, t, t, t]
    );
}

#[test]
fn null_in_if() {
    let columns = vec![
        column::<Int32Array>(vec![Some(1), Some(2), None]),
        column::<BooleanArray>(vec![Some(true), None, Some(true)]),
    ];
    let batch = batch("x: i32, z: bool", columns);
    assert_eq!(
        ints(&eval(&batch, "if(z, x, 0)")),
        [Some(1), Some(0), None],
        "a null condition is not true"
    );
    assert_eq!(ints(&eval(&batch, "if(z, null, x)")), [None, Some(2), None]);
    assert_eq!(ints(&eval(&batch, "nvl(x, -1)")), [Some(1), Some(2), Some(-1)]);
    assert_eq!(strings(&eval(&batch, "if(z, 'a', null)")), [Some("a"), None, Some("a")]);
}

#[test]
fn in_with_nulls() {
    let columns = vec![
        column::<Int32Array>(vec![Some(1), Some(2), None]),
        column::<Float64Array>(vec![Some(f64::NAN), Some(-0.0), None]),
        column::<StringArray>(vec![Some("a"), Some("b"), None]),
    ];
    let batch = batch("x: i32, d: f64, s: utf8", columns);
    let (t, f, n) = (Some(true), Some(false), None);
    assert_eq!(bools(&eval(&batch, "x in (1, 5)")), [t, f, n]);
    assert_eq!(bools(&eval(&batch, "x in (1, null)")), [t, n, n]);
    assert_eq!(bools(&eval(&batch, "d in (nan, 0.0)")), [f, t, n]);
    assert_eq!(bools(&eval(&batch, "s in ('b', 'c')")), [f, t, n]);
    assert_eq!(bools(&eval(&batch, "x in (x + 0, 9)")), [t, t, n]);
    let many: Vec<String> = (2..10_000).map(|member| member.to_string()).collect();
    assert_eq!(bools(&eval(&batch, &format!("x in ({})", many.join(",")))), [f, t, n]);
    assert_eq!(bools(&eval(&batch, &format!("d in ({})", many.join(",")))), [f, f, n]);
}

#[test]
fn nested_if_in_conditions_and_big_nested() {
    let x: Vec<i32> = (0..300).collect();
    let batch = batch("x: i32", vec![column::<Int32Array>(x.clone())]);
    let mut text = "200".to_owned();
    for limit in (0..20).rev() {
        text = format!("if (x < {}) {{ {limit} }} else {{ {text} }}", (limit + 1) * 10);
    }
    let wanted: Vec<Option<i32>> = x.iter().map(|&x| Some(if x < 200 { x / 10 } else { 200 })).collect();
    assert_eq!(ints(&eval(&batch, &text)), wanted);
    let nested = eval(&batch, "if(if(x > 10, x < 20, x == 5), 1, 0)");
    let wanted: Vec<Option<i32>> = x
        .iter()
        .map(|&x| Some(i32::from((11..20).contains(&x) || x == 5)))
        .collect();
    assert_eq!(ints(&nested), wanted);
}

/// Slices begin at any bit of a bitmap, and batches need not fill a tile.
#[test]
fn sliced_arrays() {
    let count = 9000;
    let x: Vec<Option<i32>> = (0..count).map(|x| (x % 3 != 0).then_some(x)).collect();
    let z: Vec<Option<bool>> = (0..count).map(|x| (x % 7 != 0).then_some(x % 2 == 0)).collect();
    let columns = vec![column::<Int32Array>(x.clone()), column::<BooleanArray>(z.clone())];
    let whole = batch("x: i32, z: bool", columns);
    let text = "if(z and x > 10, x * 2, -x)";
    let all = ints(&eval(&whole, text));
    for (start, length) in [
        (0, 9000),
        (1, 8999),
        (5, 64),
        (63, 4100),
        (2047, 3),
        (100, 0),
        (77, 2048),
    ] {
        let found = ints(&eval(&whole.slice(start, length), text));
        assert_eq!(found, all[start..start + length], "{start} {length}");
    }
    let one = |row: usize| match (z[row], x[row]) {
        (Some(true), Some(x)) if x > 10 => Some(x * 2),
        (_, x) => x.map(|x| -x),
    };
    let wanted: Vec<Option<i32>> = (0..count as usize).map(one).collect();
    assert_eq!(all, wanted);
}

#[test]
fn columns_are_passed_on_without_a_copy() {
    let batch = numbers();
    let out = eval(&batch, "x");
    assert!(Arc::ptr_eq(&out, batch.column(0)));
}

#[test]
fn other_types_of_columns() {
    let dictionary: DictionaryArray<Int8Type> = vec![Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    let batch = batch(
        "d: dictionary(i8, utf8), l: large_utf8, v: utf8_view, h: f16, t: timestamp[s, 'UTC']",
        vec![
            Arc::new(dictionary),
            column::<LargeStringArray>(vec!["x", "y", "z", "w"]),
            column::<StringViewArray>(vec!["x", "y", "z", "a text that is longer than twelve bytes"]),
            Arc::new(PrimitiveArray::<Float16Type>::from_iter_values(
                [1.5f32, 2.0, 3.0, 4.0].map(half::f16::from_f32),
            )),
            Arc::new(TimestampSecondArray::from(vec![0, 86_400, -1, 31_536_000]).with_timezone("UTC")),
        ],
    );
    assert_eq!(
        bools(&eval(&batch, "d == 'a'")),
        [Some(true), None, Some(false), Some(true)]
    );
    assert_eq!(
        strings(&eval(&batch, "concatOperator(l, d)")),
        [Some("xa"), None, Some("zb"), Some("wa")]
    );
    assert_eq!(
        bools(&eval(&batch, "l == v")),
        [Some(true), Some(true), Some(true), Some(false)]
    );
    let halves = eval(&batch, "h * 2.0");
    assert_eq!(halves.as_primitive::<Float32Type>().values(), &[3.0, 4.0, 6.0, 8.0]);
    let days = eval(&batch, "extractYear(t)");
    assert_eq!(days.as_primitive::<Int64Type>().values(), &[1970, 1970, 1969, 1971]);
    assert_eq!(
        eval(&batch, "t").data_type(),
        &DataType::Timestamp(arrow_schema::TimeUnit::Second, Some("UTC".into()))
    );
}

#[test]
fn outputs_share_work_and_filters_select() {
    let batch = numbers();
    let expressions = Expressions::parse(&batch.schema(), "a = x + 1; b = (x + 1) * 2").unwrap();
    let projector = Projector::make(&[expressions]).unwrap();
    let outputs = projector.evaluate(&batch).unwrap();
    assert_eq!(ints(&outputs[1]), [Some(16), Some(18), None, Some(2)]);
    let filter = Filter::make(&Expressions::parse(&batch.schema(), "y == 0 or x == 7").unwrap()).unwrap();
    let selection = filter.evaluate(&batch).unwrap();
    assert_eq!(selection, Selection::U16(vec![0u16, 1, 2].into()));
    let selected = projector.evaluate_selected(&batch, &selection).unwrap();
    assert_eq!(ints(&selected[0]), [Some(8), Some(9), None]);
    let zeros = Filter::make(&Expressions::parse(&batch.schema(), "y == 0").unwrap()).unwrap();
    let failing = Projector::make(&[Expressions::parse(&batch.schema(), "x / y").unwrap()]).unwrap();
    let selection = zeros.evaluate(&batch).unwrap();
    let (_, selected) = problem(failing.evaluate_selected(&batch, &selection));
    assert!(selected.contains("row 1: division by zero"), "{selected}");
    let (_, filtered) = problem(failing.project(&batch, Some(&zeros), 100));
    assert!(filtered.contains("row 101: division by zero"), "{filtered}");
    let wrong = Filter::make(&Expressions::parse(&batch.schema(), "x").unwrap());
    assert_eq!(problem(wrong).0, "T0204");
}

#[test]
fn batches_must_have_the_schema() {
    let expressions = Expressions::parse(&schema("x: i64").unwrap(), "x + 1").unwrap();
    let projector = Projector::make(&[expressions]).unwrap();
    assert_eq!(problem(projector.evaluate(&numbers())).0, "T0708");
    let empty = RecordBatch::new_empty(schema("x: i64").unwrap());
    assert_eq!(projector.evaluate(&empty).unwrap()[0].len(), 0);
}

#[test]
fn many_threads_share_one_projector() {
    let batch = numbers();
    let expressions = Expressions::parse(&batch.schema(), "regexp_replace(castVARCHAR(x, 20), '[0-9]', 'n')").unwrap();
    let projector = Projector::make(&[expressions]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let out = projector.evaluate(&batch).unwrap();
                assert_eq!(strings(&out[0]), [Some("n"), Some("n"), None, Some("-nnnnnnnnnn")]);
            });
        }
    });
}

/// One line for each function: the expression over no columns, and its value as text.
#[test]
fn values_of_functions() {
    let batch = batch("x: i32", vec![column::<Int32Array>(vec![1])]);
    let mut problems = Vec::new();
    let mut count = 0;
    for line in include_str!("../data/values.txt").lines() {
        let Some((text, wanted)) = line.split_once(" => ") else {
            continue;
        };
        count += 1;
        let out = match eval_with(&batch, text.trim(), &Options::default()) {
            Ok(array) => array,
            Err(found) => {
                if problem(Err::<(), _>(found.clone())).0 != wanted.trim() {
                    problems.push(format!("{line}\n{found}"));
                }
                continue;
            }
        };
        let null = out.is_null(0);
        let columns = vec![out.clone()];
        let field = arrow_schema::Field::new("v", out.data_type().clone(), true);
        let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
        let as_text = RecordBatch::try_new(schema, columns).unwrap();
        let form = match out.data_type() {
            DataType::Utf8 => "v",
            DataType::Binary => "hex(v)",
            _ => "castVARCHAR(v, 100)",
        };
        let found = eval(&as_text, form);
        let found = if null {
            "null"
        } else {
            strings(&found)[0].unwrap_or("null")
        };
        if found != wanted.trim() {
            problems.push(format!("{line}, found {found}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(count > 190, "{count} values");
}

/// A text of 60 MB that is the same in every row is not kept for all rows of a tile.
#[test]
fn long_texts_are_no_constants() {
    let batch = batch("x: i32", vec![column::<Int32Array>(vec![1])]);
    assert_eq!(ints(&eval(&batch, "length(repeat('x', 60000000))")), [Some(60_000_000)]);
    let (code, _) = problem(eval_with(&batch, "repeat('x', 70000000)", &Options::default()));
    assert_eq!(code, "T0707");
}

/// Single numbers go through the same table of functions.
#[test]
fn scalar_calls_agree_with_arrays() {
    let values = [-2.5, -0.0, 0.0, 0.3, 1.0, 2.0, 7.75];
    let pairs: Vec<(f64, f64)> = values.iter().flat_map(|&x| values.map(|y| (x, y))).collect();
    let columns = vec![
        column::<Float64Array>(pairs.iter().map(|pair| pair.0).collect::<Vec<_>>()),
        column::<Float64Array>(pairs.iter().map(|pair| pair.1).collect::<Vec<_>>()),
    ];
    let batch = batch("x: f64, y: f64", columns);
    for text in [
        "x + y",
        "x - y",
        "x * y",
        "x / y",
        "x % y",
        "x ^ y",
        "-x",
        "abs(x)",
        "sign(x)",
        "div(x, y)",
        "pmod(x, y)",
        "sqrt(x)",
        "cbrt(x)",
        "exp(x)",
        "ln(x)",
        "log(x)",
        "log10(x)",
        "sin(x)",
        "cos(x)",
        "tan(x)",
        "asin(x)",
        "acos(x)",
        "atan(x)",
        "sinh(x)",
        "cosh(x)",
        "tanh(x)",
        "cot(x)",
        "radians(x)",
        "degrees(x)",
        "atan2(x, y)",
        "round(x)",
        "bround(x)",
        "floor(x)",
        "ceil(x)",
        "trunc(x)",
        "if(x > y, x, y)",
        "if(x < 0 and y < 0 or x == y, 1, 2)",
        "if(not (x >= y) or x != 1, x in (1, 2) and y <= 2, x in (0.3))",
        "if(x in (0, 7.75), 1, 0)",
    ] {
        let Ok(scalar) = Scalar::compile(text, &["x", "y"]) else {
            panic!("{text}")
        };
        let array = eval_with(&batch, text, &Options::calculator()).unwrap();
        for (row, &(x, y)) in pairs.iter().enumerate() {
            let one = scalar.eval(&[x, y]);
            let wanted = match array.data_type() {
                DataType::Boolean => f64::from(u8::from(array.as_boolean().value(row))),
                _ => array.as_primitive::<Float64Type>().value(row),
            };
            // Loops over arrays have `sin` and others of their own.
            let close = (one - wanted).abs() <= 1e-15 * wanted.abs();
            assert!(
                close || one == wanted || one.is_nan() && wanted.is_nan(),
                "{text} at {x} {y}: {one} {wanted}"
            );
        }
    }
    assert_eq!(
        problem(Scalar::compile("castVARCHAR(x, 3i64) == 'a'", &["x"])).0,
        "T0705"
    );
}

#[test]
fn floats_have_an_order_with_nan_as_an_option() {
    let numbers = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN];
    let mut sorted = vec![-f64::NAN];
    sorted.extend(numbers);
    // Every pair; the two zeros, at 3 and 4, are one place in the order.
    let place = |at: usize| if at == 4 { 3 } else { at };
    let pairs: Vec<(usize, usize)> = (0..8).flat_map(|a| (0..8).map(move |b| (a, b))).collect();
    let schema = schema("x: f64, y: f64, u: f32, v: f32").unwrap();
    let column = |of: fn(&(usize, usize)) -> usize| pairs.iter().map(|pair| sorted[of(pair)]).collect::<Vec<_>>();
    let (x, y) = (column(|pair| pair.0), column(|pair| pair.1));
    let single = |values: &[f64]| values.iter().map(|&value| value as f32).collect::<Vec<_>>();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Float64Array::from(x.clone())),
        Arc::new(Float64Array::from(y.clone())),
        Arc::new(Float32Array::from(single(&x))),
        Arc::new(Float32Array::from(single(&y))),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
    let options = Options {
        float_order: FloatOrder::Total,
        ..Options::default()
    };
    type Test = fn(usize, usize) -> bool;
    let tests: [(&str, Test); 6] = [
        ("==", |a, b| a == b),
        ("!=", |a, b| a != b),
        ("<", |a, b| a < b),
        ("<=", |a, b| a <= b),
        (">", |a, b| a > b),
        (">=", |a, b| a >= b),
    ];
    for (operator, test) in tests {
        let wanted: BooleanArray = pairs.iter().map(|&(a, b)| Some(test(place(a), place(b)))).collect();
        let text = format!("x {operator} y; u {operator} v");
        let expressions = Expressions::parse_with(&schema, &text, &options).unwrap();
        let projector = Projector::make(&[expressions]).unwrap();
        for outputs in [
            projector.evaluate(&batch).unwrap(),
            projector.evaluate_nodes(&batch).unwrap(),
        ] {
            for output in outputs {
                assert_eq!(output.as_boolean(), &wanted, "{operator}");
            }
        }
    }
}
