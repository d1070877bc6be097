//! Benchmarks from text to typed graph, and of saturation: bytes, matches and e-nodes per second.

use std::fmt::Write as _;
use std::sync::Arc;

use divan::counter::{BytesCount, ItemsCount};
use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Graph, Params, Workload, build_program};
use tautomer::lang::parse_program;
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{Limits, encode, saturate};
use tautomer::rule::library;

fn main() {
    divan::main();
}

fn graph_of(text: &str) -> Graph {
    let source = Arc::new(Source::new("bench.taut", text));
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}", e.render(false)));
    build_program(&program, &BuildOptions::default()).unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// A chain of small definitions with about `vertices` calls; four of five lines are elementwise.
fn chain(vertices: usize) -> String {
    let mut text = String::from("fn main(x0: f32[n, 64, 8, 8], param w: f32[64, 64, 3, 3]) {\n");
    for i in 0..vertices.div_ceil(5) {
        let _ = writeln!(
            text,
            "  let a{i} = conv(x{i}, w) {{strides = [1, 1], pads = [1, 1, 1, 1], group = 1}};"
        );
        let _ = writeln!(text, "  let b{i} = relu(a{i} * 2.0 + x{i});");
        let _ = writeln!(text, "  let x{} = b{i} - a{i};", i + 1);
    }
    let _ = writeln!(text, "  x{}\n}}", vertices.div_ceil(5));
    text
}

/// Encoder layers of a transformer, fully spelled out: layer normalization, gelu, softmax, heads.
fn encoder(layers: usize) -> String {
    let mut params = String::new();
    let mut body = String::new();
    for l in 0..layers {
        for p in ["q", "k", "v", "o"] {
            let _ = write!(params, ", param w{p}{l}: f32[256, 256], param b{p}{l}: f32[256]");
        }
        let _ = write!(
            params,
            ", param u{l}: f32[256, 1024], param d{l}: f32[1024, 256], param g{l}: f32[256], param h{l}: f32[256]"
        );
        for p in ["q", "k", "v"] {
            let _ = writeln!(
                body,
                "  let {p}{l} = transpose(reshape(matmul(x{l}, w{p}{l}) + b{p}{l}) {{shape = [1, 64, 4, 64]}}) {{perm = [0, 2, 1, 3]}};"
            );
        }
        let _ = writeln!(
            body,
            "  let s{l} = matmul(q{l}, transpose(k{l}) {{perm = [0, 1, 3, 2]}}) / 8.0;
  let e{l} = exp(s{l} - reduce_max(s{l}) {{axes = [3]}});
  let c{l} = matmul(e{l} / reduce_sum(e{l}) {{axes = [3]}}, v{l});
  let a{l} = x{l} + (matmul(reshape(transpose(c{l}) {{perm = [0, 2, 1, 3]}}) {{shape = [1, 64, 256]}}, wo{l}) + bo{l});
  let m{l} = a{l} - reduce_mean(a{l}) {{axes = [2]}};
  let t{l} = m{l} / sqrt(reduce_mean(m{l} * m{l}) {{axes = [2]}} + 0.00001) * g{l} + h{l};
  let f{l} = matmul(t{l}, u{l});
  let y{l} = f{l} * 0.5 * (1.0 + erf(f{l} / 1.4142135));
  let x{} = t{l} + matmul(y{l}, d{l});",
            l + 1
        );
    }
    format!("fn main(x0: f32[1, 64, 256]{params}) {{\n{body}  x{layers}\n}}\n")
}

/// Sums and products of sums over a few inputs, to which all algebraic rules apply everywhere.
fn polynomial(terms: usize) -> String {
    let mut sum = String::from("x * y");
    for i in 0..terms {
        let (a, b) = [("x", "y"), ("y", "z"), ("z", "x"), ("x + 1.0", "z"), ("y * 2.0", "x")][i % 5];
        let _ = write!(sum, " + ({a}) * ({b}) * relu({a} + {b})");
    }
    format!("fn main(x: f32[8, 8], y: f32[8, 8], z: f32[8, 8]) {{ {sum} }}")
}

#[divan::bench(sample_count = 5, sample_size = 1)]
fn text_to_graph(bencher: divan::Bencher<'_, '_>) {
    let text = chain(100_000);
    bencher.counter(BytesCount::new(text.len())).bench(|| graph_of(&text));
}

/// Items are candidates found by the rules.
#[divan::bench(args = ["encoder", "polynomial"], sample_count = 5, sample_size = 1)]
fn matches(bencher: divan::Bencher<'_, '_>, name: &str) {
    saturation(bencher, name, |s| s.matches());
}

/// Items are e-nodes at the end.
#[divan::bench(args = ["encoder", "polynomial"], sample_count = 5, sample_size = 1)]
fn enodes(bencher: divan::Bencher<'_, '_>, name: &str) {
    saturation(bencher, name, |s| s.iterations.last().map_or(0, |i| i.nodes));
}

fn saturation(bencher: divan::Bencher<'_, '_>, name: &str, items: fn(&tautomer::rewrite::Saturation) -> usize) {
    let text = if name == "encoder" {
        encoder(12)
    } else {
        polynomial(200)
    };
    let graph = graph_of(&text);
    let rules = library()
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
        .rules
        .clone();
    let limits = Limits {
        nodes: 50_000,
        ..Limits::default()
    };
    let counted = items(&saturate(&mut encode(&graph), &rules, limits));
    bencher
        .counter(ItemsCount::new(counted))
        .with_inputs(|| encode(&graph))
        .bench_local_values(|mut encoded| saturate(&mut encoded, &rules, limits).matches());
}

/// All of `optimize`, including folding.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn optimize_encoder(bencher: divan::Bencher<'_, '_>) {
    let graph = graph_of(&encoder(12));
    bencher
        .with_inputs(|| Workload {
            graph: graph.clone(),
            params: Params::default(),
        })
        .bench_values(|w| optimize(w, &Options::default()).unwrap());
}
