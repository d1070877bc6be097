//! Applies single rules to their fixed points on whole networks by both engines, and the whole library to graphs of
//! growing size.
//!
//! Items are applications, so the rate is applications per second.

mod models;

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use divan::counter::ItemsCount;
use models::inception::{Block, inception_v3};
use models::{graph_of, nasnet, rules_of, shapes, transformer};
use tautomer::graph::{Graph, Params, Workload};
use tautomer::pipeline::{Engine, Options, optimize};
use tautomer::rewrite::{CostModel, Limits, encode, saturate, substitute};
use tautomer::rule::Rule;

fn main() {
    divan::main();
}

/// A network and the single rule applied to it.
struct Case {
    name: &'static str,
    model: fn() -> String,
    rule: &'static str,
}

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn inception() -> String {
    inception_v3(Block::Bias)
}

fn encoder() -> String {
    transformer::encoder(transformer::SMALL)
}

/// Convolutions of one input, plain, with bias, and with bias and relu; dense layers of one input; equal elementwise
/// calls; each with rules for two, three, and any number of them.
const CASES: &[Case] = &[
    Case {
        name: "conv_2",
        model: inception,
        rule: "/// Two.
rule r(x, v: param, w: param) {
  (conv(x, v) {..c, group = 1}, conv(x, w) {..c, group = 1})
  =>
  let y = conv(x, concat(v, w) {axis = 0}) {..c};
  let s = split(y) {axis = 1, sizes = [v.shape[0], w.shape[0]]};
  (s.0, s.1)
  where v.shape[1..] == w.shape[1..]
}",
    },
    Case {
        name: "conv_3",
        model: inception,
        rule: "/// Three.
rule r(x, u: param, v: param, w: param) {
  (conv(x, u) {..c, group = 1}, conv(x, v) {..c, group = 1}, conv(x, w) {..c, group = 1})
  =>
  let y = conv(x, concat(u, v, w) {axis = 0}) {..c};
  let s = split(y) {axis = 1, sizes = [u.shape[0], v.shape[0], w.shape[0]]};
  (s.0, s.1, s.2)
  where u.shape[1..] == v.shape[1..], v.shape[1..] == w.shape[1..]
}",
    },
    Case {
        name: "conv_n",
        model: inception,
        rule: "/// Any number.
rule r(x, w[i]: param) {
  conv(x, w[i]) {..c, group = 1} for i in 0..n
  =>
  let y = conv(x, concat(w[i] for i in 0..n) {axis = 0}) {..c};
  split(y) {axis = 1, sizes = [w[i].shape[0] for i in 0..n]}.i for i in 0..n
  where n >= 2, all(w[i].shape[1..] == w[0].shape[1..] for i in 0..n)
}",
    },
    Case {
        name: "conv_bias_2",
        model: inception,
        rule: "/// Two.
rule r(x, v: param, w: param, a: param, b: param) {
  (bias_add(conv(x, v) {..c, group = 1}, a), bias_add(conv(x, w) {..c, group = 1}, b))
  =>
  let y = bias_add(conv(x, concat(v, w) {axis = 0}) {..c}, concat(a, b) {axis = 0});
  let s = split(y) {axis = 1, sizes = [v.shape[0], w.shape[0]]};
  (s.0, s.1)
  where v.shape[1..] == w.shape[1..]
}",
    },
    Case {
        name: "conv_bias_3",
        model: inception,
        rule: "/// Three.
rule r(x, u: param, v: param, w: param, a: param, b: param, d: param) {
  (
    bias_add(conv(x, u) {..c, group = 1}, a),
    bias_add(conv(x, v) {..c, group = 1}, b),
    bias_add(conv(x, w) {..c, group = 1}, d),
  )
  =>
  let y = bias_add(conv(x, concat(u, v, w) {axis = 0}) {..c}, concat(a, b, d) {axis = 0});
  let s = split(y) {axis = 1, sizes = [u.shape[0], v.shape[0], w.shape[0]]};
  (s.0, s.1, s.2)
  where u.shape[1..] == v.shape[1..], v.shape[1..] == w.shape[1..]
}",
    },
    Case {
        name: "conv_bias_n",
        model: inception,
        rule: "/// Any number.
rule r(x, w[i]: param, b[i]: param) {
  bias_add(conv(x, w[i]) {..c, group = 1}, b[i]) for i in 0..n
  =>
  let y = bias_add(conv(x, concat(w[i] for i in 0..n) {axis = 0}) {..c}, concat(b[i] for i in 0..n) {axis = 0});
  split(y) {axis = 1, sizes = [w[i].shape[0] for i in 0..n]}.i for i in 0..n
  where n >= 2, all(w[i].shape[1..] == w[0].shape[1..] for i in 0..n)
}",
    },
    Case {
        name: "conv_bias_relu_2",
        model: inception,
        rule: "/// Two.
rule r(x, v: param, w: param, a: param, b: param) {
  (relu(bias_add(conv(x, v) {..c, group = 1}, a)), relu(bias_add(conv(x, w) {..c, group = 1}, b)))
  =>
  let y = relu(bias_add(conv(x, concat(v, w) {axis = 0}) {..c}, concat(a, b) {axis = 0}));
  let s = split(y) {axis = 1, sizes = [v.shape[0], w.shape[0]]};
  (s.0, s.1)
  where v.shape[1..] == w.shape[1..]
}",
    },
    Case {
        name: "conv_bias_relu_3",
        model: inception,
        rule: "/// Three.
rule r(x, u: param, v: param, w: param, a: param, b: param, d: param) {
  (
    relu(bias_add(conv(x, u) {..c, group = 1}, a)),
    relu(bias_add(conv(x, v) {..c, group = 1}, b)),
    relu(bias_add(conv(x, w) {..c, group = 1}, d)),
  )
  =>
  let y = relu(bias_add(conv(x, concat(u, v, w) {axis = 0}) {..c}, concat(a, b, d) {axis = 0}));
  let s = split(y) {axis = 1, sizes = [u.shape[0], v.shape[0], w.shape[0]]};
  (s.0, s.1, s.2)
  where u.shape[1..] == v.shape[1..], v.shape[1..] == w.shape[1..]
}",
    },
    Case {
        name: "conv_bias_relu_n",
        model: inception,
        rule: "/// Any number.
rule r(x, w[i]: param, b[i]: param) {
  relu(bias_add(conv(x, w[i]) {..c, group = 1}, b[i])) for i in 0..n
  =>
  let y = conv(x, concat(w[i] for i in 0..n) {axis = 0}) {..c};
  let z = relu(bias_add(y, concat(b[i] for i in 0..n) {axis = 0}));
  split(z) {axis = 1, sizes = [w[i].shape[0] for i in 0..n]}.i for i in 0..n
  where n >= 2, all(w[i].shape[1..] == w[0].shape[1..] for i in 0..n)
}",
    },
    Case {
        name: "dense_2",
        model: encoder,
        rule: "/// Two.
rule r(x, v: param, w: param) {
  (dense(x, v), dense(x, w))
  =>
  let s = split(dense(x, concat(v, w) {axis = 0})) {axis = -1, sizes = [v.shape[0], w.shape[0]]};
  (s.0, s.1)
}",
    },
    Case {
        name: "dense_3",
        model: encoder,
        rule: "/// Three.
rule r(x, u: param, v: param, w: param) {
  (dense(x, u), dense(x, v), dense(x, w))
  =>
  let y = dense(x, concat(u, v, w) {axis = 0});
  let s = split(y) {axis = -1, sizes = [u.shape[0], v.shape[0], w.shape[0]]};
  (s.0, s.1, s.2)
}",
    },
    Case {
        name: "dense_n",
        model: encoder,
        rule: "/// Any number.
rule r(x, w[i]: param) {
  dense(x, w[i]) for i in 0..n
  =>
  let y = dense(x, concat(w[i] for i in 0..n) {axis = 0});
  split(y) {axis = -1, sizes = [w[i].shape[0] for i in 0..n]}.i for i in 0..n
  where n >= 2
}",
    },
    Case {
        name: "elementwise_2",
        model: nasnet::nasnet,
        rule: "/// Two.
rule r(x) {
  for f in unary elementwise:
  (f(x), f(x))
  =>
  let y = f(x);
  (y, y)
  numerics bitwise
}",
    },
    Case {
        name: "elementwise_3",
        model: nasnet::nasnet,
        rule: "/// Three.
rule r(x) {
  for f in unary elementwise:
  (f(x), f(x), f(x))
  =>
  let y = f(x);
  (y, y, y)
  numerics bitwise
}",
    },
    Case {
        name: "elementwise_n",
        model: nasnet::nasnet,
        rule: "/// Any number.
rule r(x) {
  for f in unary elementwise:
  f(x) for i in 0..n
  =>
  let y = f(x);
  y for i in 0..n
  where n >= 2
  numerics bitwise
}",
    },
];

fn applied(rules: &[(Arc<Rule>, tautomer::rewrite::RuleReport)]) -> usize {
    rules.iter().map(|(_, report)| report.applied).sum()
}

/// Saturation of the encoded graph; rules with several outputs are searched only in the first round, as usual.
#[divan::bench(args = CASES, sample_count = 15, sample_size = 1)]
fn saturation(bencher: divan::Bencher<'_, '_>, case: &Case) {
    let (graph, rules) = (graph_of(&(case.model)()), rules_of(case.rule));
    let run = |mut encoded| applied(&saturate(&mut encoded, &rules, Limits::default()).rules);
    let count = run(encode(&graph));
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| encode(&graph))
        .bench_local_values(run);
}

/// Substitution until no match is left.
#[divan::bench(args = CASES, sample_count = 15, sample_size = 1)]
fn substitution(bencher: divan::Bencher<'_, '_>, case: &Case) {
    let (graph, rules) = (graph_of(&(case.model)()), rules_of(case.rule));
    let run = |graph: Graph| applied(&substitute(graph, &rules, None, &CostModel::default()).1.rules);
    let count = run(graph.clone());
    bencher
        .counter(ItemsCount::new(count))
        .with_inputs(|| graph.clone())
        .bench_local_values(run);
}

/// A shape from [`shapes`] and a number of vertices.
struct Size(&'static str, usize);

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}_{}", self.0, self.1)
    }
}

fn sizes() -> impl Iterator<Item = Size> {
    shapes::SHAPES
        .into_iter()
        .flat_map(|shape| [1_000, 10_000, 100_000].map(|n| Size(shape, n)))
}

fn whole(bencher: divan::Bencher<'_, '_>, size: &Size, engine: Engine) {
    let graph = graph_of(&shapes::text(size.0, size.1));
    let options = Options {
        engine,
        ..Options::default()
    };
    bencher
        .counter(ItemsCount::new(graph.call_count()))
        .with_inputs(|| Workload {
            graph: graph.clone(),
            params: Params::default(),
        })
        .bench_local_values(|w| optimize(w, &options).unwrap_or_else(|e| panic!("{}", e.render(false))));
}

/// All stages with the whole library and its limits; items are vertices.
#[divan::bench(args = sizes(), sample_count = 3, sample_size = 1)]
fn library_saturates(bencher: divan::Bencher<'_, '_>, size: &Size) {
    whole(bencher, size, Engine::Saturate);
}

/// The same by substitution.
#[divan::bench(args = sizes(), sample_count = 3, sample_size = 1)]
fn library_substitutes(bencher: divan::Bencher<'_, '_>, size: &Size) {
    whole(bencher, size, Engine::Substitute);
}
