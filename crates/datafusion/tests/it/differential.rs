//! Random expressions, computed by DataFusion and by what the rule makes of them: the same values, nulls and errors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int16Array, Int32Array, Int64Array,
    RecordBatch, StringArray,
};
use arrow_schema::DataType;
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion::prelude::SessionContext;
use proptest::prelude::*;
use tautomer_datafusion::FuseExpressions;

use crate::lineitem::Numbers;

/// Bytes that choices are read from; zeros when they end.
struct Tape<'a>(&'a [u8]);

impl Tape<'_> {
    fn next(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first as usize % count
    }

    fn of<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.next(choices.len())]
    }
}

/// An expression of a type in SQL. Under `sign`, functions that change the sign of NaN are left out: which of two NaNs
/// a sum has is not defined, and comparisons order them by sign.
fn expression(tape: &mut Tape<'_>, ty: &str, depth: usize, sign: bool) -> String {
    let leaf = depth == 0;
    let part = |tape: &mut Tape<'_>, ty: &str| expression(tape, ty, depth - 1, sign);
    match ty {
        "bool" => match tape.next(if leaf { 2 } else { 14 }) {
            0 => tape.of(&["p", "q"]).to_owned(),
            1 => tape.of(&["TRUE", "p", "q", "u = 'b'", "x IS NULL", "k > 3"]).to_owned(),
            2..=4 => {
                let ty = tape.of(&["f64", "f32", "i32", "i64", "date"]);
                let operator = tape.of(&["=", "<>", "<", "<=", ">", ">="]);
                let mut side = || expression(tape, ty, depth - 1, true);
                format!("({} {operator} {})", side(), side())
            }
            5 | 6 => format!("({} AND {})", part(tape, "bool"), part(tape, "bool")),
            7 | 8 => format!("({} OR {})", part(tape, "bool"), part(tape, "bool")),
            9 => format!("(NOT {})", part(tape, "bool")),
            10 => format!("({} IS NOT NULL)", part(tape, "i32")),
            11 => {
                let (ty, list) = [("i32", "(1, 5, -7)"), ("i64", "(2, 3)"), ("i32", "(4, NULL)")][tape.next(3)];
                format!("({} {} {list})", part(tape, ty), tape.of(&["IN", "NOT IN"]))
            }
            12 => {
                let mut side = || expression(tape, "f64", depth - 1, true);
                format!("({} BETWEEN {} AND {})", side(), side(), side())
            }
            _ => choice(tape, ty, depth, sign),
        },
        "f64" => match tape.next(if leaf { 2 } else { 11 }) {
            0 => tape.of(&["x", "y"]).to_owned(),
            1 => tape
                .of(&["x", "y", "2.5", "1e300", "0.1", "-3.0", "0.0", "1e-5"])
                .to_owned(),
            2..=5 => format!(
                "({} {} {})",
                part(tape, ty),
                tape.of(&["+", "-", "*", "/", "%"]),
                part(tape, ty)
            ),
            6 if !sign => format!("(- {})", part(tape, ty)),
            7 => {
                let functions: &[&str] = if sign {
                    &["sqrt", "floor", "ceil"]
                } else {
                    &["abs", "sqrt", "floor"]
                };
                format!("{}({})", tape.of(functions), part(tape, ty))
            }
            8 => format!("CAST({} AS DOUBLE)", part(tape, "f32")),
            9 => format!("CAST({} AS DOUBLE)", part(tape, "i64")),
            10 => format!("coalesce({}, {})", part(tape, ty), part(tape, ty)),
            _ => choice(tape, ty, depth, sign),
        },
        "f32" => match tape.next(if leaf { 1 } else { 5 }) {
            0 => tape.of(&["s", "t", "CAST(0.1 AS REAL)"]).to_owned(),
            1 | 2 => format!(
                "({} {} {})",
                part(tape, ty),
                tape.of(&["+", "-", "*", "/"]),
                part(tape, ty)
            ),
            3 => format!("CAST({} AS REAL)", part(tape, "f64")),
            _ => choice(tape, ty, depth, sign),
        },
        "i32" | "i64" => {
            let columns: &[&str] = if ty == "i32" {
                &["i", "j"]
            } else {
                &["l", "m", "7", "-1"]
            };
            match tape.next(if leaf { 1 } else { 9 }) {
                0 => tape.of(columns).to_owned(),
                1..=4 => format!(
                    "({} {} {})",
                    part(tape, ty),
                    tape.of(&["+", "-", "*", "&", "|", "^"]),
                    part(tape, ty)
                ),
                5 => {
                    let by = if ty == "i32" { "CAST(3 AS INT)" } else { "10" };
                    format!("({} {} {by})", part(tape, ty), tape.of(&["/", "%"]))
                }
                // This may fail.
                6 => format!("({} / {})", part(tape, ty), part(tape, ty)),
                7 if ty == "i64" => format!("CAST({} AS BIGINT)", part(tape, "i32")),
                _ => choice(tape, ty, depth, sign),
            }
        }
        _ => tape.of(&["d", "DATE '2001-01-01'", "e"]).to_owned(),
    }
}

fn choice(tape: &mut Tape<'_>, ty: &str, depth: usize, sign: bool) -> String {
    if depth == 0 {
        return expression(tape, ty, 0, sign);
    }
    let mut part = |ty: &str| expression(tape, ty, depth - 1, sign);
    let (condition, first, second) = (part("bool"), part(ty), part(ty));
    match tape.next(4) {
        0 => format!("CASE WHEN {condition} THEN {first} END"),
        1 => format!("CASE i WHEN CAST(1 AS INT) THEN {first} WHEN j THEN {second} ELSE {first} END"),
        _ => format!("CASE WHEN {condition} THEN {first} ELSE {second} END"),
    }
}

/// Columns of every type, some with nulls.
fn columns(seed: u64, rows: usize) -> RecordBatch {
    let mut numbers = Numbers::new(seed);
    let mut nulls = Numbers::new(seed ^ 0xABCD);
    let mut null = move || nulls.below(5) == 0;
    // The NaN that arithmetic makes on this machine.
    let nan = std::hint::black_box(0.0) / std::hint::black_box(0.0);
    let mut double = || match numbers.below(12) {
        0 => nan,
        1 => -0.0,
        2 => f64::INFINITY,
        3 => 0.0,
        4 => 2.5,
        _ => numbers.below(2000) as f64 / 8.0 - 125.0,
    };
    let x: Float64Array = (0..rows).map(|_| (!null()).then(&mut double)).collect();
    let y: Float64Array = (0..rows).map(|_| Some(double())).collect();
    let s: Float32Array = (0..rows).map(|_| (!null()).then(|| double() as f32)).collect();
    let t: Float32Array = (0..rows).map(|_| Some(double() as f32)).collect();
    let mut integer = |end: u64| numbers.below(end) as i64 - end as i64 / 2;
    let i: Int32Array = (0..rows).map(|_| (!null()).then(|| integer(20) as i32)).collect();
    let j: Int32Array = (0..rows).map(|_| Some(integer(1 << 32) as i32)).collect();
    let l: Int64Array = (0..rows).map(|_| (!null()).then(|| integer(1 << 50) << 14)).collect();
    let m: Int64Array = (0..rows).map(|_| Some(integer(16))).collect();
    let p: BooleanArray = (0..rows).map(|_| (!null()).then(|| integer(2) == 0)).collect();
    let q: BooleanArray = (0..rows).map(|_| Some(integer(3) == 0)).collect();
    let d: Date32Array = (0..rows).map(|_| (!null()).then(|| integer(40_000) as i32)).collect();
    let e: Date32Array = (0..rows).map(|_| Some(integer(40_000) as i32)).collect();
    let k: Int16Array = (0..rows).map(|_| (!null()).then(|| integer(10) as i16)).collect();
    let u: StringArray = (0..rows)
        .map(|_| (!null()).then(|| if integer(2) == 0 { "a" } else { "b" }))
        .collect();
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("x", Arc::new(x), true),
        ("y", Arc::new(y), false),
        ("s", Arc::new(s), true),
        ("t", Arc::new(t), false),
        ("i", Arc::new(i), true),
        ("j", Arc::new(j), false),
        ("l", Arc::new(l), true),
        ("m", Arc::new(m), false),
        ("p", Arc::new(p), true),
        ("q", Arc::new(q), false),
        ("d", Arc::new(d), true),
        ("e", Arc::new(e), false),
        ("k", Arc::new(k), true),
        ("u", Arc::new(u), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// The values of an array, bit by bit; all NaNs are one.
fn values(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|value| if value.is_nan() { f64::NAN } else { value }),
        ),
        DataType::Float32 => Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|value| if value.is_nan() { f32::NAN } else { value }),
        ),
        _ => Arc::clone(array),
    }
}

fn evaluated(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<ArrayRef, String> {
    let value = expr.evaluate(batch).map_err(|error| error.to_string())?;
    value.into_array(batch.num_rows()).map_err(|error| error.to_string())
}

/// What the rule makes of an expression in a projection.
fn fused(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Arc<dyn PhysicalExpr> {
    let one = ProjectionExpr {
        expr: Arc::clone(expr),
        alias: "r".to_owned(),
    };
    let input = Arc::new(EmptyExec::new(batch.schema()));
    let plan: Arc<dyn ExecutionPlan> = Arc::new(ProjectionExec::try_new(vec![one], input).unwrap());
    let plan = FuseExpressions::default()
        .optimize(plan, &ConfigOptions::default())
        .unwrap();
    let projection = plan.downcast_ref::<ProjectionExec>().unwrap();
    Arc::clone(&projection.expr()[0].expr)
}

static CASES: AtomicUsize = AtomicUsize::new(0);
static FUSED: AtomicUsize = AtomicUsize::new(0);

static CONTEXT: LazyLock<SessionContext> = LazyLock::new(SessionContext::new);

fn check(tape: &[u8], seed: u64, offset: usize, rows: usize) -> Result<(), TestCaseError> {
    let batch = columns(seed, offset + rows).slice(offset, rows);
    let mut tape = Tape(tape);
    let ty = tape.of(&["f64", "bool", "i64", "i32", "f32"]);
    let text = expression(&mut tape, ty, 4, false);
    let schema = DFSchema::try_from(batch.schema()).unwrap();
    let parsed = CONTEXT
        .parse_sql_expr(&text, &schema)
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    let plain = CONTEXT
        .create_physical_expr(parsed, &schema)
        .unwrap_or_else(|error| panic!("{text}\n{error}"));
    let fused = fused(&plain, &batch);
    CASES.fetch_add(1, Ordering::Relaxed);
    FUSED.fetch_add(fused.to_string().contains("tautomer(").into(), Ordering::Relaxed);
    prop_assert_eq!(
        fused.data_type(&batch.schema()).unwrap(),
        plain.data_type(&batch.schema()).unwrap()
    );
    prop_assert_eq!(
        fused.nullable(&batch.schema()).unwrap(),
        plain.nullable(&batch.schema()).unwrap()
    );
    match (evaluated(&fused, &batch), evaluated(&plain, &batch)) {
        (Ok(fused_values), Ok(plain)) => {
            prop_assert_eq!(
                values(&fused_values).to_data(),
                values(&plain).to_data(),
                "{}\n{}",
                text,
                fused
            );
        }
        (Err(_), Err(_)) => {}
        // DataFusion computes constant branches of a batch without rows, too.
        (Ok(_), Err(_)) if rows == 0 => {}
        (found, wanted) => prop_assert!(false, "{text}\n{fused}\n{found:?} and {wanted:?}"),
    }
    Ok(())
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(600))]

    fn cases(
        tape in prop::collection::vec(any::<u8>(), 4..100),
        seed in 1u64..,
        offset in 0usize..70,
        rows in prop_oneof![Just(0), 1usize..70, 1000usize..1100],
    ) {
        check(&tape, seed, offset, rows)?;
    }
}

/// On a thread with a stack for DataFusion's recursive functions without optimization.
#[test]
fn random_expressions_have_the_same_values() {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(cases);
    thread.unwrap().join().unwrap();
    let (cases, fused) = (CASES.load(Ordering::Relaxed), FUSED.load(Ordering::Relaxed));
    assert!(2 * fused > cases, "only {fused} of {cases} expressions were fused");
}
