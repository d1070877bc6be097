//! Which rules apply to values whose types are not fully known.

use std::sync::Arc;

use crate::brute::rule;
use crate::{CostModel, Limits, encode, saturate, substitute};
use tautomer_diag::Source;
use tautomer_graph::{BuildOptions, Graph, build_program};
use tautomer_lang::parse_program;

/// How often each engine applies the rule.
fn applications(text: &str, program: &str) -> (usize, usize) {
    let rules = [rule(text)];
    let source = Arc::new(Source::new("test", program));
    let graph: Graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
    let saturation = saturate(&mut encode(&graph), &rules, Limits::default());
    let (_, substitution) = substitute(graph, &rules, Some(10), &CostModel::default());
    (saturation.rules[0].1.applied, substitution.rules[0].1.applied)
}

#[test]
fn unknown_types_that_look_the_same_may_differ() {
    let wrong = [
        (
            "rule r(x, y) { concat(x, y) {axis = 0} => x }",
            "fn main(x: f32[..]) { concat(x, x) {axis = 0} }",
        ),
        (
            "rule r(x) { slice(x) {..a} => x }",
            "fn main(x: f32[..]) { slice(x) {starts = [1], ends = [5], axes = [0]} }",
        ),
        (
            "rule r(x) { tile(x) {..a} => x }",
            "fn main(x: f32[..]) { tile(x) {repeats = [2]} }",
        ),
        (
            "rule r(x) { expand(x) {..a} => x }",
            "fn main(x: f32[..]) { expand(x) {shape = [7]} }",
        ),
        (
            "rule r(x) { reshape(x) {..a} => x }",
            "fn main(x: f32[..]) { reshape(x) {shape = [-1]} }",
        ),
        // Both are `f32[..]`, and a vector as long as one longer than the end shows the difference.
        (
            "rule r(x) { slice(x) {starts = [1], ends = [100], axes = [0]} \
             => slice(x) {starts = [1], ends = [9223372036854775807], axes = [0]} }",
            "fn main(x: f32[..]) { slice(x) {starts = [1], ends = [100], axes = [0]} }",
        ),
        // Two unknown dimensions that need not be equal.
        (
            "rule r(x, y) { relu(concat(x, y) {axis = 0}) => relu(concat(x, x) {axis = 0}) }",
            "fn main(x: f32[?, 2], y: f32[?, 2]) { relu(concat(slice(x) {starts = [0], ends = [9]}, y) {axis = 0}) }",
        ),
        // A vector of zeros makes a vector of a scalar.
        (
            "rule r(x, c: const) { x + c => x }",
            "fn main(x: f32[..]) { x + [0.0, 0.0] }",
        ),
    ];
    for (rule, program) in wrong {
        assert_eq!(applications(rule, program), (0, 0), "{rule} in {program}");
    }
}

#[test]
fn rules_that_keep_types_apply_to_unknown_ones() {
    let right = [
        (
            "rule r(x) { relu(relu(x)) => relu(x) }",
            "fn main(x: f32[..]) { relu(relu(x)) }",
        ),
        ("rule r(x, c: const) { x + c => x }", "fn main(x: f32[..]) { x + 0.0 }"),
        (
            "rule r(x) { reshape(x) {..a} => x }",
            "fn main(x: f32[?]) { reshape(x) {shape = [-1]} }",
        ),
        (
            "rule r(x) { transpose(transpose(x) {perm = [1, 0]}) {perm = [1, 0]} => x }",
            "fn main(x: f32[?, ?]) { transpose(transpose(x) {perm = [1, 0]}) {perm = [1, 0]} }",
        ),
        (
            "rule r(x) { neg(slice(x) {..a}) => slice(neg(x)) {..a} }",
            "fn main(x: f32[?, 3]) { neg(slice(x) {starts = [1], ends = [5]}) }",
        ),
    ];
    for (rule, program) in right {
        let (saturation, substitution) = applications(rule, program);
        assert!(saturation > 0 && substitution > 0, "{rule} in {program}");
    }
}
