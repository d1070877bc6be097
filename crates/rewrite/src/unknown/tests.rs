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

#[test]
fn names_stand_for_attributes_in_their_normal_form() {
    let wrong = [
        (
            "rule r(x, y) { relu(concat(x, y) {axis = k}) => concat(relu(x), relu(y)) {axis = max(k, 0)} }",
            "fn main(x: f32[..], y: f32[..]) { relu(concat(x, y) {axis = -1}) }",
        ),
        // The last axis twice.
        (
            "rule r(x) { reduce_sum(reduce_sum(x) {axes = j, keepdims = true}) {axes = k, keepdims = true} \
             => reduce_sum(x) {axes = j ++ [i for i in k if (i in j) == false], keepdims = true} }",
            "fn main(x: f32[..]) { reduce_sum(reduce_sum(x) {axes = [-1]}) {axes = [1]} }",
        ),
        // The last axis of a value with one axis less.
        (
            "rule r(x) { softmax(squeeze(x) {axes = [3]}) {..a} => squeeze(softmax(x) {..a}) {axes = [3]} }",
            "fn main(x: f32[..]) { softmax(squeeze(x) {axes = [3]}) {axis = -1} }",
        ),
        (
            "rule r(x) { relu(transpose(x) {perm = p}) => when given(p) { transpose(relu(x)) {perm = p} } else { x } }",
            "fn main(x: f32[..]) { relu(transpose(x)) }",
        ),
        (
            "rule r(x) { relu(reduce_sum(x) {axes = [j, k], keepdims = true}) => when j < k { relu(reduce_sum(x) {axes = [j, k], keepdims = true}) } else { x } }",
            "fn main(x: f32[..]) { relu(reduce_sum(x) {axes = [1, 0]}) }",
        ),
        (
            "rule r(x) { relu(reshape(x) {shape = [a, b]}) => when a > 0 { reshape(relu(x)) {shape = [a, b]} } else { reshape(x) {shape = [a, b]} } }",
            "fn main(x: f32[?, 6]) { relu(reshape(x) {shape = [-1, 4]}) }",
        ),
    ];
    for (rule, program) in wrong {
        assert_eq!(applications(rule, program), (0, 0), "{rule} in {program}");
    }
    let right = [
        (
            "rule r(x, y) { relu(concat(x, y) {axis = k}) => concat(relu(x), relu(y)) {axis = k} }",
            "fn main(x: f32[..], y: f32[..]) { relu(concat(x, y) {axis = 1}) }",
        ),
        (
            "rule r(x, y) { relu(concat(x, y) {axis = k}) => concat(relu(x), relu(y)) {axis = k} }",
            "fn main(x: f32[?, ?], y: f32[?, ?]) { relu(concat(x, y) {axis = -1}) }",
        ),
        (
            "rule r(x) { relu(relu(transpose(x) {..a})) => relu(transpose(x) {..a}) }",
            "fn main(x: f32[..]) { relu(relu(transpose(x) {perm = [1, 0]})) }",
        ),
        (
            "rule r(x) { relu(relu(reduce_sum(x))) => relu(reduce_sum(x)) }",
            "fn main(x: f32[..]) { relu(relu(reduce_sum(x))) }",
        ),
        (
            "rule r(x) { relu(relu(reshape(x) {shape = [a, b]})) => relu(reshape(x) {shape = [a, b]}) }",
            "fn main(x: f32[n, 6]) { relu(relu(reshape(x) {shape = [0, 6]})) }",
        ),
    ];
    for (rule, program) in right {
        let (saturation, substitution) = applications(rule, program);
        assert!(saturation > 0 && substitution > 0, "{rule} in {program}");
    }
}
