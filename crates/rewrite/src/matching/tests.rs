//! Compares matching with brute force, for one output, several outputs and a variable number of outputs.

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::super::brute::{Found, matches, recipes, rule};
use super::super::substitute::Index;
use super::{Host, Program, Searcher, satisfied};
use tautomer_graph::term::Term;
use tautomer_graph::{Graph, VertexId};
use tautomer_rule::{PatternNode, Rule};

/// Patterns of one output and several: shared vertices, repeated variables, literals, attributes, alternatives,
/// tuples, operator variables, outputs that reach each other only through an operand.
const FIXED: &[&str] = &[
    "rule a(x) { relu(x) => x }",
    "rule b(x) { relu(relu(x)) => x }",
    "rule c(x, y) { relu(x + y) => x }",
    "rule d(x) { x + x => x }",
    "rule e(x) { relu(x) + neg(x) => x }",
    "rule f(x) { let s = relu(x); s + neg(s) => x }",
    "rule g(x, y) { (relu(x) | neg(x)) + y => y }",
    "rule h(x, y) { x * y + _ => x }",
    "rule i(x, y) { concat(x, relu(y)) {axis = k} => x }",
    "rule j(x) { let s = split(x) {..r}; concat(s.0, s.1) {axis = k} => x }",
    "rule k(x, w: param, v: param) { conv(x, w) {..a} + conv(x, v) {..a} => x }",
    "rule l(x) { (relu(x), neg(x)) => (x, x) }",
    "rule m(x, y) { (relu(x), x + y) => (x, x) }",
    "rule n(x, v: param, w: param) { (conv(x, v) {..a}, conv(x, w) {..a}) => (x, x) }",
    "rule o(x, y) { (relu(x + y), neg(x)) => (x, x) }",
    "rule p(x) { for f in unary elementwise: (f(x), relu(f(x))) => (x, x) }",
    "rule q(x, y) { for f in binary elementwise: f(relu(x), y) => x }",
    "rule r(x, y, z) { (relu(x) + y, y * z, neg(z)) => (x, y, z) }",
    "rule s(x, y) { x + relu(y) | relu(y) + x => x }",
    "rule t(x, w: param) { relu(conv(x, w) {..a}) => x }",
    "rule u(x) { let s = relu(x); (s, neg(s)) => (x, x) }",
];

/// The matches found by the engine.
fn found(graph: &Graph, rule: &Arc<Rule>) -> Vec<(Vec<VertexId>, Vec<Term>)> {
    let program = Program::new(rule.clone());
    let index = Index::new(graph.clone());
    let mut out = Vec::new();
    if let Some(mut searcher) = Searcher::new(&program, &index) {
        searcher.all(&mut |binding| {
            if let Some(matched) = satisfied(&index, &program, &binding) {
                let value = |name| matched.names.get(name).cloned().unwrap_or(Term::None);
                let variables = rule.variables.iter().map(|v| value(&v.name)).collect();
                out.push((matched.outputs.clone(), variables));
            }
            true
        });
    }
    out
}

fn engine(graph: &Graph, rule: &Arc<Rule>) -> BTreeSet<Found> {
    let as_vertex = |t: Term| match t {
        Term::Value(v) => Some(v),
        _ => None,
    };
    found(graph, rule)
        .into_iter()
        .map(|(outputs, variables)| (outputs, variables.into_iter().map(as_vertex).collect()))
        .collect()
}

/// A rule with comprehensions, and its unrolled form for `n` members.
struct Varying {
    rule: &'static str,
    unrolled: fn(usize) -> String,
}

fn joined(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<_>>().join(", ")
}

/// Comprehensions of operands.
const OPERANDS: &[Varying] = &[
    Varying {
        rule: "rule a(x[i]) { concat(x[i] for i in 0..n) {axis = k} => x[0] }",
        unrolled: |n| {
            let xs = joined(n, |i| format!("x{i}"));
            format!("rule a({xs}) {{ concat({xs}) {{axis = k}} => x0 }}")
        },
    },
    Varying {
        rule: "rule b(x[i]) { concat(relu(x[i]) for i in 0..n) {axis = k} => x[0] }",
        unrolled: |n| {
            let (xs, rs) = (joined(n, |i| format!("x{i}")), joined(n, |i| format!("relu(x{i})")));
            format!("rule b({xs}) {{ concat({rs}) {{axis = k}} => x0 }}")
        },
    },
    Varying {
        rule: "rule c(y, x[i]) { concat(neg(y), x[i] for i in 0..n) {axis = k} => y }",
        unrolled: |n| {
            let xs = joined(n, |i| format!("x{i}"));
            format!("rule c(y, {xs}) {{ concat(neg(y), {xs}) {{axis = k}} => y }}")
        },
    },
    Varying {
        rule: "rule d(y, x[i]) { concat(x[i] + y for i in 0..n) {axis = k} => y }",
        unrolled: |n| {
            let (xs, ss) = (joined(n, |i| format!("x{i}")), joined(n, |i| format!("x{i} + y")));
            format!("rule d(y, {xs}) {{ concat({ss}) {{axis = k}} => y }}")
        },
    },
];

/// Comprehensions of outputs.
const OUTPUTS: &[Varying] = &[
    Varying {
        rule: "rule a(x, w[i]: param) { conv(x, w[i]) {..a} for i in 0..n => conv(x, w[i]) {..a} for i in 0..n }",
        unrolled: |n| {
            let (ws, cs) = (
                joined(n, |i| format!("w{i}: param")),
                joined(n, |i| format!("conv(x, w{i}) {{..a}}")),
            );
            format!("rule a(x, {ws}) {{ ({cs}) => ({cs}) }}")
        },
    },
    Varying {
        rule: "rule b(x, y[i]) { relu(x + y[i]) for i in 0..n => relu(x + y[i]) for i in 0..n }",
        unrolled: |n| {
            let (ys, rs) = (joined(n, |i| format!("y{i}")), joined(n, |i| format!("relu(x + y{i})")));
            format!("rule b(x, {ys}) {{ ({rs}) => ({rs}) }}")
        },
    },
];

proptest! {
    #![proptest_config(tautomer_testing::random_cases(64))]

    #[test]
    fn fixed_patterns_match_as_defined(recipe in recipes(9)) {
        let graph = recipe.graph();
        for text in FIXED {
            let rule = rule(&format!("/// .\n{text}"));
            prop_assert_eq!(engine(&graph, &rule), matches(&graph, &rule), "{}", text);
        }
    }

    #[test]
    fn operand_comprehensions_match_as_their_unrolled_forms(recipe in recipes(8)) {
        let graph = recipe.graph();
        for varying in OPERANDS {
            let rolled = rule(&format!("/// .\n{}", varying.rule));
            let families: Vec<bool> = rolled.variables.iter().map(|v| v.indexed).collect();
            let mut by_engine: BTreeSet<Found> = BTreeSet::new();
            for (outputs, variables) in found(&graph, &rolled) {
                let mut flat = Vec::new();
                for (term, indexed) in variables.into_iter().zip(&families) {
                    match (term, indexed) {
                        (Term::List(items), true) => flat.extend(items.into_iter().map(|t| match t {
                            Term::Value(v) => Some(v),
                            _ => None,
                        })),
                        (Term::Value(v), false) => flat.push(Some(v)),
                        (other, _) => prop_assert!(false, "{:?}", other),
                    }
                }
                by_engine.insert((outputs, flat));
            }
            let mut by_force: BTreeSet<Found> = BTreeSet::new();
            for n in 1..=3 {
                by_force.extend(matches(&graph, &rule(&format!("/// .\n{}", (varying.unrolled)(n)))));
            }
            prop_assert_eq!(by_engine, by_force, "{} {}", varying.rule, tautomer_lang::format_program(&tautomer_graph::to_program(&graph)));
        }
    }

    #[test]
    fn output_comprehensions_are_the_largest_unrolled_matches(recipe in recipes(8)) {
        let graph = recipe.graph();
        let index = Index::new(graph.clone());
        for varying in OUTPUTS {
            let rolled = rule(&format!("/// .\n{}", varying.rule));
            let groups: BTreeSet<Vec<VertexId>> = found(&graph, &rolled).into_iter().map(|(outputs, _)| outputs).collect();
            let in_order = |outputs: &[VertexId]| outputs.windows(2).all(|w| index.rank(w[0]) < index.rank(w[1]));
            let mut by_force: BTreeSet<Vec<VertexId>> = BTreeSet::new();
            for n in 1..=4 {
                let all = matches(&graph, &rule(&format!("/// .\n{}", (varying.unrolled)(n))));
                by_force.extend(all.into_iter().map(|(outputs, _)| outputs).filter(|o| in_order(o)));
            }
            let contains = |large: &[VertexId], small: &[VertexId]| small.iter().all(|v| large.contains(v));
            // If one value is computed from another, both may fit in a group with a third, and the first one joins it.
            let values: BTreeSet<VertexId> = by_force.iter().flatten().copied().collect();
            let entangled = values.iter().any(|&v| graph.reach(v).iter().any(|u| *u != v && values.contains(u)));
            if entangled {
                by_force.retain(|o| o.len() == 1 || groups.contains(o));
            }
            for group in groups.iter().filter(|g| g.len() <= 4) {
                prop_assert!(by_force.contains(group), "{}: {group:?} is no match", varying.rule);
                if entangled {
                    continue;
                }
                let larger = by_force.iter().find(|o| o.len() > group.len() && contains(o, group));
                prop_assert!(larger.is_none(), "{}: {group:?} is part of {larger:?}", varying.rule);
            }
            for outputs in &by_force {
                prop_assert!(
                    groups.iter().any(|g| contains(g, outputs)),
                    "{}: {outputs:?} is in no match of {groups:?} {}", varying.rule, tautomer_lang::format_program(&tautomer_graph::to_program(&graph))
                );
            }
        }
    }
}

/// A value that is computed from another member is in a separate group.
#[test]
fn values_made_of_each_other_are_in_different_groups() {
    let text = "fn main(x: f32[2], y: f32[2]) { let v = relu(y + x); let w = relu(y + v); (relu(v + v), relu(y + w), relu(y + x * x)) }";
    let program = tautomer_lang::parse_program(Arc::new(tautomer_diag::Source::new("test.taut", text))).unwrap();
    let graph = tautomer_graph::build_program(&program, &tautomer_graph::BuildOptions::default()).unwrap();
    let mut sizes: Vec<usize> = found(&graph, &rule(&format!("/// .\n{}", OUTPUTS[1].rule)))
        .into_iter()
        .map(|(outputs, _)| outputs.len())
        .collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 1, 3]);
}

/// The tests above would be vacuous if nothing matched.
#[test]
fn every_pattern_matches_some_graph() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let graphs: Vec<Graph> = (0..2000)
        .map(|_| recipes(9).new_tree(&mut runner).unwrap().current().graph())
        .collect();
    let rolled = OPERANDS.iter().chain(OUTPUTS).map(|v| v.rule);
    for text in FIXED.iter().copied().chain(rolled) {
        let rule = rule(&format!("/// .\n{text}"));
        let hits = graphs.iter().filter(|g| !found(g, &rule).is_empty()).count();
        assert!(hits >= 1, "{text} matches none of {} graphs", graphs.len());
    }
}

/// A class is one value regardless of its number of e-nodes: in the e-graph of a single graph, the matches are those of
/// the graph, except that equal values are merged and inner values may be used elsewhere.
#[test]
fn an_egraph_has_the_matches_of_its_graph() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..100 {
        let graph = recipes(9).new_tree(&mut runner).unwrap().current().graph();
        let encoded = super::super::encode(&graph);
        let class = |v: VertexId| {
            let (_, id, _) = encoded.origins.iter().find(|(u, ..)| *u == v).unwrap();
            encoded.egraph.find(*id)
        };
        for text in FIXED {
            let rule = rule(&format!("/// .\n{text}"));
            let program = Program::new(rule.clone());
            let mut classes = BTreeSet::new();
            if let Some(mut searcher) = Searcher::new(&program, &encoded.egraph) {
                searcher.all(&mut |binding| {
                    classes.insert(binding.outputs.clone());
                    true
                });
            }
            for (outputs, _) in engine(&graph, &rule) {
                let outputs: Vec<egg::Id> = outputs.into_iter().map(class).collect();
                let distinct: BTreeSet<_> = outputs.iter().collect();
                assert!(
                    distinct.len() < outputs.len() || classes.contains(&outputs),
                    "{text}: {outputs:?} is missing"
                );
            }
        }
    }
}

/// The unrolled patterns use only node kinds that the brute force supports.
#[test]
fn unrolled_rules_have_no_comprehension() {
    for varying in OPERANDS.iter().chain(OUTPUTS) {
        let unrolled = rule(&format!("/// .\n{}", (varying.unrolled)(2)));
        assert!(unrolled.source.families.is_empty());
        assert!(
            unrolled
                .source
                .nodes()
                .any(|(_, n)| matches!(n, PatternNode::Call { .. }))
        );
    }
}
