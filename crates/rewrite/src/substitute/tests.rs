//! Checks substitution step by step: every step keeps the graph valid and acyclic, preserves values and types, and
//! builds the target.

use proptest::prelude::*;

use super::super::brute::{matches, recipes, rule};
use super::super::{CostModel, StopReason};
use super::substitute;
use tautomer_graph::{Graph, Node, interpret};
use tautomer_tensor::Tensor;

/// Correct rules over the operators of random graphs, with the pattern of their target.
const RULES: &[(&str, Option<&str>)] = &[
    (
        "rule a(x) { relu(relu(x)) => relu(x) }",
        Some("rule a(x) { relu(x) => x }"),
    ),
    ("rule b(x) { neg(neg(x)) => x }", None),
    (
        "rule c(x, y) { neg(x) + neg(y) => neg(x + y) }",
        Some("rule c(x, y) { neg(x + y) => x }"),
    ),
    ("rule d(x) { x + x => x * 2 }", Some("rule d(x) { x * 2 => x }")),
    (
        "rule e(x) { x + x => mul(2, x) where x.rank == 4 }",
        Some("rule e(x) { 2 * x => x }"),
    ),
    (
        "rule f(x[i]) { concat(relu(x[i]) for i in 0..n) {axis = k} => relu(concat(x[i] for i in 0..n) {axis = k}) }",
        None,
    ),
    (
        "rule g(x) { let s = split(x) {axis = k, num_outputs = 2, ..r}; concat(s.0, s.1) {axis = k} => x }",
        None,
    ),
    (
        "rule h(x, w[i]: param) { conv(x, w[i]) {..a} for i in 0..n \
         => let y = conv(x, concat(w[i] for i in 0..n) {axis = 0}) {..a}; \
         split(y) {axis = 1, sizes = [w[i].shape[0] for i in 0..n]}.i for i in 0..n where n >= 2 }",
        None,
    ),
    (
        "rule i(x, v: param, w: param) { conv(x, v) {..a} + conv(x, w) {..a} => conv(x, v + w) {..a} \
         where v.shape == w.shape }",
        Some("rule i(x, v: param, w: param) { conv(x, v + w) {..a} => x }"),
    ),
    (
        "rule j(x, y, z) { x * y + x * z => x * (y + z) where y.shape == z.shape }",
        Some("rule j(x, y, z) { x * (y + z) => x }"),
    ),
    (
        "rule k(x) { for f in unary elementwise: (f(x), f(x)) => let y = f(x); (y, y) }",
        None,
    ),
    // The second operands may depend on the first output: merging them would close a cycle.
    (
        "rule l(x, y, z) { (relu(x + z), relu(y + z)) \
         => let s = split(relu(concat(x + z, y + z) {axis = 1})) {axis = 1, num_outputs = 2}; (s.0, s.1) \
         where x.shape == y.shape, x.shape == z.shape }",
        None,
    ),
    (
        "rule m(x, y) { (relu(x) | neg(neg(relu(x)))) + y => y + relu(x) }",
        Some("rule m(x, y) { y + relu(x) => x }"),
    ),
    ("rule n(x, y) { x + y <=> y + x }", None),
];

/// The results for fixed inputs and parameters, the same for every form of a graph.
fn values(graph: &Graph) -> Vec<Tensor> {
    let number = |seed: usize, i: usize| ((seed * 31 + i * 17) % 23) as f64 / 8.0 - 1.2;
    interpret(graph, &|v| {
        let vertex = graph.vertex(v);
        let ty = vertex.ty.as_tensor()?;
        let shape = ty.shape.as_ref()?.to_concrete()?;
        let seed: usize = vertex.name.as_deref()?.bytes().map(usize::from).sum();
        let data: Vec<f64> = (0..shape.iter().product::<usize>()).map(|i| number(seed, i)).collect();
        Tensor::from_f64s(ty.dtype, &shape, &data)
    })
    .unwrap()
}

fn close(a: &[Tensor], b: &[Tensor]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(a, b)| {
            a.ty() == b.ty()
                && a.to_f64s()
                    .unwrap()
                    .iter()
                    .zip(b.to_f64s().unwrap())
                    .all(|(x, y)| (x - y).abs() <= 1e-3 * (1.0 + x.abs()))
        })
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(64))]

    #[test]
    fn every_step_keeps_the_graph(recipe in recipes(12), chosen in proptest::collection::vec(0..RULES.len(), 1..6)) {
        let mut graph = recipe.graph();
        let rules: Vec<_> = chosen
            .iter()
            .map(|&i| rule(&format!("/// .\n{}", RULES[i].0)))
            .collect();
        let expected = values(&graph);
        for step in 0..24 {
            let (next, done) = substitute(graph, &rules, Some(1), &CostModel::default());
            graph = next;
            graph.validate().map_err(|e| TestCaseError::fail(format!("step {step}: {e}")))?;
            prop_assert!(close(&values(&graph), &expected), "step {}: {:?}", step, done.steps);
            let Some(done_step) = done.steps.first() else { break };
            let target = RULES.iter().find(|(text, _)| text.starts_with(&format!("rule {}(", done_step.rule)));
            if let Some((_, Some(target))) = target {
                let target = rule(&format!("/// .\n{target}"));
                let made = |v| Graph::vertex(&graph, v).rules.contains(&done_step.rule);
                prop_assert!(
                    matches(&graph, &target).iter().any(|(outputs, _)| outputs.iter().all(|&o| made(o))),
                    "step {}: the target of `{}` is not there", step, done_step.rule
                );
            }
        }
    }

    #[test]
    fn a_fixed_point_has_no_match_left(recipe in recipes(12), chosen in proptest::collection::vec(0..RULES.len(), 1..6)) {
        let rules: Vec<_> = chosen
            .iter()
            .map(|&i| rule(&format!("/// .\n{}", RULES[i].0)))
            .collect();
        let graph = recipe.graph();
        let expected = values(&graph);
        let (graph, done) = substitute(graph, &rules, None, &CostModel::default());
        prop_assert_eq!(done.stop, StopReason::FixedPoint);
        prop_assert!(close(&values(&graph), &expected));
        let (again, more) = substitute(graph.clone(), &rules, None, &CostModel::default());
        prop_assert!(again.len() <= graph.len() && more.sizes.iter().all(|(gone, made)| made <= gone), "{:?}", more.steps);
    }
}

/// The tests above would be vacuous if no rule were applied.
#[test]
fn every_rule_is_applied_somewhere() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let graphs: Vec<Graph> = (0..600)
        .map(|_| recipes(12).new_tree(&mut runner).unwrap().current().graph())
        .collect();
    for (text, _) in RULES.iter().filter(|(text, _)| !text.contains("<=>")) {
        let rules = [rule(&format!("/// .\n{text}"))];
        let applied = |graph: &&Graph| {
            let (_, done) = substitute((*graph).clone(), &rules, Some(1), &CostModel::default());
            !done.steps.is_empty()
        };
        assert!(graphs.iter().any(|g| applied(&g)), "{text}");
    }
}

fn program(text: &str) -> Graph {
    let source = std::sync::Arc::new(tautomer_diag::Source::new("test", text));
    let program = tautomer_lang::parse_program(source).unwrap();
    tautomer_graph::build_program(&program, &tautomer_graph::BuildOptions::default()).unwrap()
}

fn steps(text: &str, rules: &str) -> usize {
    let (graph, done) = substitute(program(text), &[rule(rules)], None, &CostModel::default());
    graph.validate().unwrap();
    done.steps.len()
}

#[test]
fn an_inner_result_is_used_from_outside() {
    let rule = "/// .\nrule r(x) { relu(neg(x)) => relu(x) }";
    assert_eq!(steps("fn main(x: f32[2]) { let n = neg(x); (n, relu(n)) }", rule), 0);
    assert_eq!(
        steps("fn main(x: f32[2]) { let n = neg(x); (relu(n), n + x) }", rule),
        0
    );
    assert_eq!(steps("fn main(x: f32[2]) { relu(neg(x)) }", rule), 1);
}

#[test]
fn a_replacement_that_needs_itself_is_none() {
    let rule = "/// .\nrule r(x, y, z) { (relu(x + y), relu(x + z)) \
                => let s = split(relu(concat(x + y, x + z) {axis = 0})) {axis = 0, num_outputs = 2}; (s.0, s.1) }";
    let apart = "fn main(x: f32[2], y: f32[2], z: f32[2]) { (relu(x + y), relu(x + z)) }";
    let through_outside = "fn main(x: f32[2], y: f32[2]) { let a = relu(x + y); (a, relu(x + neg(a))) }";
    assert_eq!(steps(apart, rule), 1);
    assert_eq!(steps(through_outside, rule), 0);
}

#[test]
fn variables_may_share_a_vertex() {
    let rule = "/// .\nrule r(x, y) { relu(x) + relu(y) => relu(x) * relu(y) }";
    assert_eq!(steps("fn main(x: f32[2]) { relu(x) + relu(x) }", rule), 1);
    // Matching one vertex with two inner vertices of the pattern is not a bijection.
    assert_eq!(steps("fn main(x: f32[2]) { let r = relu(x); r + r }", rule), 0);
}

#[test]
fn rules_that_undo_each_other_end() {
    let a = rule("/// .\nrule a(x) { relu(x) => neg(x) }");
    let b = rule("/// .\nrule b(x) { neg(x) => relu(x) }");
    let (graph, done) = substitute(
        program("fn main(x: f32[2]) { relu(x) }"),
        &[a, b],
        None,
        &CostModel::default(),
    );
    assert_eq!(done.stop, StopReason::FixedPoint);
    assert!(done.steps.len() <= 2, "{:?}", done.steps);
    assert!(matches!(
        graph.vertex(graph.outputs()[0].vertex).node,
        Node::Call { .. }
    ));
}

#[test]
fn the_limit_counts_steps() {
    let text = format!("fn main(x: f32[2]) {{ {}x{} }}", "relu(".repeat(40), ")".repeat(40));
    let rules = [rule("/// .\nrule r(x) { relu(relu(x)) => relu(x) }")];
    let (graph, done) = substitute(program(&text), &rules, Some(7), &CostModel::default());
    assert_eq!(
        (done.steps.len(), done.stop, graph.call_count()),
        (7, StopReason::Rewrites, 33)
    );
}

/// The input `y` of the rule is computed from the inner `relu`, so the replaced vertex would have to stay and be
/// computed twice.
#[test]
fn an_input_that_uses_an_inner_value_is_no_match() {
    let rule = "/// .\nrule m(x, y) { relu(x) + y => y + relu(x) }";
    assert_eq!(steps("fn main(x: f32[2]) { let r = relu(x); r + relu(r) }", rule), 0);
    assert_eq!(steps("fn main(x: f32[2], y: f32[2]) { relu(x) + y }", rule), 1);
}
