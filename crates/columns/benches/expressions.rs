//! Expressions over columns of `f64`: `cargo bench -p tautomer-columns`.
//!
//! `tests/peers/columns.py` runs the same expressions elsewhere, alternating with this program: with `--peer`, it reads
//! a name, a number of rows and a number of seconds from each line, and answers with the median and the fastest time.
#![expect(clippy::print_stdout, reason = "answers to the script")]

use std::hint::black_box;
use std::io::BufRead;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use divan::Bencher;
use divan::counter::ItemsCount;
use tautomer_columns::{Compiled, Expressions, Options, Projector, Target, TargetValues, schema};

const COLUMNS: &str = "a: f64, b: f64, c: f64, d: f64, e: f64, w: f64, k: f64";

/// The expressions by name.
const CASES: [(&str, &str); 11] = [
    ("E1", "a + b"),
    ("E2", "a * b + c"),
    ("E3", "c * (a + b)"),
    ("E4", "((a * b + c) * (d - e) + w * (a + c)) * (b + d * e)"),
    ("E5", "sin(a) * cos(b) + exp(-c)"),
    ("E6", "1 / (1 + exp(-(a * w + b)))"),
    ("E7", "if(a > 0.5, sqrt(b), b * 1000)"),
    (
        "E8",
        "0.5 * a * (1 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a)))",
    ),
    (
        "E9",
        "(((((((0.1 * a + 0.2) * a + 0.3) * a + 0.4) * a + 0.5) * a + 0.6) * a + 0.7) * a + 0.8) * a + 0.9",
    ),
    (
        "E10",
        "((((((((((((((((((((a + 0.1) * 1.1) + 0.2) * 1.2) + 0.3) * 1.3) + 0.4) * 1.4) + 0.5) * 1.5) + 0.6) * 1.6) \
         + 0.7) * 1.7) + 0.8) * 1.8) + 0.9) * 1.9) + 1.0) * 2.0)",
    ),
    ("E11", "k in (1, 3, 5) and b < c"),
];

fn main() {
    if std::env::args().any(|argument| argument == "--peer") {
        peer();
    } else {
        divan::main();
    }
}

/// Numbers between 0 and 1; `k` has integers from 0 to 7. With nulls, every eighth row of a column is one.
fn batch(rows: usize, nulls: bool) -> RecordBatch {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut column = |at: usize| -> ArrayRef {
        let values = (0..rows).map(|row| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let value = (state >> 11) as f64 / (1u64 << 53) as f64;
            let value = if at == 6 { (value * 8.0).floor() } else { value };
            (!nulls || !(row + at).is_multiple_of(8)).then_some(value)
        });
        match nulls {
            true => Arc::new(values.collect::<Float64Array>()),
            false => Arc::new(values.flatten().collect::<Float64Array>()),
        }
    };
    let columns = (0..7).map(&mut column).collect();
    RecordBatch::try_new(schema(COLUMNS).unwrap(), columns).unwrap()
}

fn text(name: &str) -> &'static str {
    CASES.iter().find(|case| case.0 == name).expect("a case").1
}

fn parse(text: &str) -> Expressions {
    let options = Options {
        integers: tautomer_columns::Type::Float64,
        floats: tautomer_columns::Type::Float64,
        ..Options::default()
    };
    Expressions::parse_with(&schema(COLUMNS).unwrap(), text, &options).unwrap()
}

/// Runs an expression into buffers that exist.
fn runner(name: &str, rows: usize, nulls: bool) -> impl FnMut() {
    let (batch, projector) = (batch(rows, nulls), Projector::make(&[parse(text(name))]).unwrap());
    let mut doubles = vec![0.0; rows];
    let mut bits = vec![0u8; rows.div_ceil(8)];
    let mut validity = vec![0u8; rows.div_ceil(8)];
    move || {
        let values = match name_is_bool(&projector) {
            true => TargetValues::Bits(&mut bits),
            false => TargetValues::F64(&mut doubles),
        };
        let validity = nulls.then_some(&mut validity[..]);
        projector
            .evaluate_into(&batch, &mut [Target { values, validity }])
            .unwrap();
        black_box((&doubles, &bits));
    }
}

fn name_is_bool(projector: &Projector) -> bool {
    *projector.output_schema().field(0).data_type() == arrow_schema::DataType::Boolean
}

fn peer() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let mut words = line.split(' ');
        let (name, rows, seconds) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let (rows, seconds): (usize, f64) = (rows.parse().unwrap(), seconds.parse().unwrap());
        let mut run = runner(name.trim_end_matches("null"), rows, name.ends_with("null"));
        run();
        let (begin, mut times) = (Instant::now(), Vec::new());
        while times.len() < 5 || begin.elapsed().as_secs_f64() < seconds {
            let start = Instant::now();
            run();
            times.push(start.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        println!("{:e} {:e}", times[times.len() / 2], times[0]);
    }
}

#[divan::bench(args = CASES.map(|case| case.0), consts = [10_000, 1_000_000])]
fn into<const ROWS: usize>(bencher: Bencher<'_, '_>, name: &str) {
    bencher
        .counter(ItemsCount::new(ROWS))
        .bench_local(runner(name, ROWS, false));
}

#[divan::bench(args = CASES.map(|case| case.0), consts = [10_000, 1_000_000])]
fn with_nulls<const ROWS: usize>(bencher: Bencher<'_, '_>, name: &str) {
    bencher
        .counter(ItemsCount::new(ROWS))
        .bench_local(runner(name, ROWS, true));
}

/// New arrays instead of buffers that exist.
#[divan::bench(args = CASES.map(|case| case.0), consts = [10_000, 1_000_000])]
fn arrays<const ROWS: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let (batch, projector) = (batch(ROWS, false), Projector::make(&[parse(text(name))]).unwrap());
    let bencher = bencher.counter(ItemsCount::new(ROWS));
    bencher.bench_local(|| black_box(projector.evaluate(&batch).unwrap()));
}

/// Every function on its own over arrays.
#[divan::bench(args = CASES.map(|case| case.0), consts = [10_000])]
fn nodes<const ROWS: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let (batch, projector) = (batch(ROWS, false), Projector::make(&[parse(text(name))]).unwrap());
    let bencher = bencher.counter(ItemsCount::new(ROWS));
    bencher.bench_local(|| black_box(projector.evaluate_nodes(&batch).unwrap()));
}

/// From the text to types.
#[divan::bench(args = ["E1", "E4", "E10"])]
fn types(bencher: Bencher<'_, '_>, name: &str) {
    let schema = schema(COLUMNS).unwrap();
    let options = Options::calculator();
    bencher.bench_local(|| Expressions::parse_with(&schema, text(name), &options).unwrap());
}

/// From types to a projector.
#[divan::bench(args = ["E1", "E4", "E10"])]
fn compile(bencher: Bencher<'_, '_>, name: &str) {
    let expressions = [parse(text(name))];
    bencher.bench_local(|| Projector::make(&expressions).unwrap());
}

/// The same, of what was compiled before.
#[divan::bench(args = ["E1", "E4", "E10"])]
fn cached(bencher: Bencher<'_, '_>, name: &str) {
    let (expressions, compiled) = ([parse(text(name))], Compiled::new(100));
    bencher.bench_local(|| Projector::make_with(&expressions, &compiled).unwrap());
}

/// From types to a projector, rewritten by the rules that come with the tool.
#[cfg(feature = "rewrite")]
#[divan::bench(args = ["E1", "E4", "E10"])]
fn rewritten(bencher: Bencher<'_, '_>, name: &str) {
    let rewriter = tautomer_columns::Rewriter::built_in(tautomer_rule::Class::Bitwise).unwrap();
    let expressions = parse(text(name));
    bencher.bench_local(|| Projector::make(&[rewriter.rewrite(&expressions).expressions]).unwrap());
}
