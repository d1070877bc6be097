//! Bytes per second from text to syntax tree and back, and the time to load the built-in rules.

use std::fmt::Write as _;
use std::sync::Arc;

use divan::counter::BytesCount;
use tautomer::diag::Source;
use tautomer::lang::{format_program, parse_program, parse_rules_without_examples};
use tautomer::op::Scope;
use tautomer::rule::{library_files, load_checked_rules, load_shipped_rules};

fn main() {
    divan::main();
}

/// About 4 MB of definitions: calls with attributes, operators, nested calls.
fn text() -> Arc<Source> {
    let mut text = String::from("fn main(x0: f32[n, 64, h, w], param w: f32[64, 64, 3, 3]) {\n");
    let mut i = 0;
    while text.len() < 4_000_000 {
        let _ = writeln!(
            text,
            "  let a{i} = conv(x{i}, w) {{strides = [1, 1], pads = [1, 1, 1, 1], group = 1}};"
        );
        let _ = writeln!(text, "  let b{i} = relu(a{i} * 2.0 + x{i}) - sigmoid(a{i});");
        let _ = writeln!(
            text,
            "  let x{} = reshape(b{i}) {{shape = [n, 64, 1, 1] ++ b{i}.shape[2..]}};",
            i + 1
        );
        i += 1;
    }
    let _ = writeln!(text, "  x{i}\n}}");
    Arc::new(Source::new("bench.taut", text))
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn parse(bencher: divan::Bencher<'_, '_>) {
    let source = text();
    bencher
        .counter(BytesCount::new(source.text.len()))
        .bench(|| parse_program(Arc::clone(&source)).unwrap());
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn print(bencher: divan::Bencher<'_, '_>) {
    let source = text();
    let program = parse_program(Arc::clone(&source)).unwrap();
    bencher
        .counter(BytesCount::new(source.text.len()))
        .bench(|| format_program(&program));
}

/// All built-in rules, as each start of the tool loads them, on one thread.
#[divan::bench]
fn load() {
    for &(name, text) in library_files() {
        let source = Arc::new(Source::of_program(name, text));
        divan::black_box(load_shipped_rules(source, &Scope::default()).unwrap());
    }
}

/// The same from text.
#[divan::bench]
fn load_text() {
    for &(name, text) in library_files() {
        let file = parse_rules_without_examples(Arc::new(Source::new(name, text))).unwrap();
        divan::black_box(load_checked_rules(file).unwrap());
    }
}
