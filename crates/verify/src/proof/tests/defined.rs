//! Tests for NaN and zero of what the source computes with.

use super::{are_not_proved, are_proved};

/// A rule promises nothing where the source is infinite or NaN, so a test for that in the target says nothing.
#[test]
fn tests_for_what_makes_the_source_infinite_or_nan_are_false() {
    are_proved(&[
        "r(x: f32[..], y: f32[..]) { y / x => where(x == 0, 1, y / x) where x.shape == y.shape numerics real }",
        "r(x: f32[n], y: f32[n]) { y / reduce_sum(x) {axes = [0]} => where(reduce_sum(x) {axes = [0]} == 0, y, y / reduce_sum(x) {axes = [0]}) numerics real }",
        "r(x: f32[n, m], v: f32[m, k]) { matmul(softmax(x) {axis = 1}, v) => matmul(where(is_nan(softmax(x) {axis = 1}), 0, softmax(x) {axis = 1}), v) numerics real }",
        "r(x: f32[n, n], v: f32[n, m]) { matmul(x, v) => matmul(where(is_nan(x), 0, x), v) numerics real }",
        "r(x: f32[n], y: f32[]) { reduce_sum(x) {axes = [0]} * y => where(is_nan(y), 3, reduce_sum(x) {axes = [0]} * y) where n > 0 numerics real }",
        // A softmax of numbers is a number.
        "r(x: f32[n, m]) { where(is_nan(softmax(x) {axis = 1}), 0, softmax(x) {axis = 1}) => softmax(x) {axis = 1} numerics real }",
    ]);
    are_not_proved(&[
        // Infinity inside of a function, or of another quotient, does not reach the result.
        "r(x: f32[..]) { exp(0 - 1 / (x * x)) => where(x == 0, 5, exp(0 - 1 / (x * x))) numerics real }",
        "r(x: f32[..], y: f32[..]) { 1 / (y + 1 / x) => where(x == 0, 7, 1 / (y + 1 / x)) where x.shape == y.shape numerics real }",
        "r(x: f32[..], y: f32[..]) { y / exp(1 / (x * x)) => where(x == 0, 7, y / exp(1 / (x * x))) where x.shape == y.shape numerics real }",
        // What is not chosen may be NaN.
        "r(p: bool[..], x: f32[..]) { where(p, x, 1) => where(is_nan(x), 3, where(p, x, 1)) where x.shape == p.shape numerics real }",
        // A sum of no elements is 0, even if each would be NaN.
        "r(x: f32[n], y: f32[]) { reduce_sum(x * y) {axes = [0]} => where(is_nan(y), 3, reduce_sum(x * y) {axes = [0]}) numerics real }",
        "r(y: f32[]) { reduce_sum(expand(y) {shape = s}) {axes = [0]} => where(is_nan(y), 3, reduce_sum(expand(y) {shape = s}) {axes = [0]}) where len(s) == 1 numerics real }",
        // A test of an operand, or of what may have no value.
        "r(x: f32[..]) { where(is_nan(x), 0, x) => x numerics real }",
        "r(x: f32[..]) { where(is_nan(sqrt(x)), 0, sqrt(x)) => sqrt(x) numerics real }",
        "r(x: f32[n]) { where(is_nan(0 / reduce_sum(exp(x)) {axes = [0]}), 3, 0) => reduce_sum(x * 0) {axes = [0]} numerics real }",
        "r(x: f32[n]) { where(is_nan(x / reduce_sum(x) {axes = [0]}), 3, 2) => x * 0 + 2 numerics real }",
        // Another row or column is tested.
        "r(x: f32[n, n], v: f32[n, m]) { matmul(x, v) => matmul(where(is_nan(transpose(x) {perm = [1, 0]}), 0, x), v) numerics real }",
        "r(x: f32[n], y: f32[n]) { y / x => where(reverse(x) {axes = [0]} == 0, y, y / x) numerics real }",
    ]);
}

/// What a division without a remainder divides is a multiple, as the heads of an attention divide an axis.
#[test]
fn axes_split_without_a_remainder_are_multiples() {
    are_proved(&[
        "r(q: f32[b, s, d], k: f32[b, t, d], v: f32[b, t, d]) { attention(q, k, v) {q_num_heads = 2, kv_num_heads = 2, scale = 0.5, is_causal = false} => attention(q * 2, k, v) {q_num_heads = 2, kv_num_heads = 2, scale = 0.25, is_causal = false} numerics real }",
    ]);
}

/// A running sum adds up what comes before, and a choice by place takes parts of a sum.
#[test]
fn running_sums_and_places_are_known() {
    are_proved(&[
        "r(x: f32[n, m]) { cumsum(x * 2) {axis = 1, exclusive = false, reverse = true} => cumsum(x) {axis = 1, exclusive = false, reverse = true} * 2 numerics real }",
        "r(x: f32[n, m]) { cumsum(transpose(x) {perm = [1, 0]}) {axis = 1, exclusive = true, reverse = true} => transpose(cumsum(x) {axis = 0, exclusive = true, reverse = true}) {perm = [1, 0]} numerics bitwise }",
        "r(q: f32[b, h, s, d], k: f32[b, h, s, d], v: f32[b, h, s, d]) { attention(q, k, v) {is_causal = true, scale = 0.5} => attention(q * 2, k, v) {is_causal = true, scale = 0.25} numerics real }",
        "r(q: f32[b, h, s, d], k: f32[b, h, s, d], v: f32[b, h, s, d]) { attention(q, k, v) {is_causal = true, scale = 0.5} => let p = cumsum(constant_of_shape() {shape = [s, 1], value = 1}) {axis = 0}; let c = cumsum(constant_of_shape() {shape = [1, s], value = 1}) {axis = 1}; matmul(softmax(where(p < c, -inf, matmul(q, transpose(k) {perm = [0, 1, 3, 2]}) * 0.5)) {axis = 3}, v) numerics real }",
        "r(x: f32[n, n], v: f32[n, m]) { let p = cumsum(constant_of_shape() {shape = [n, 1], value = 1}) {axis = 0}; let c = cumsum(constant_of_shape() {shape = [1, n], value = 1}) {axis = 1}; matmul(where(c <= p, x, 0.0), v) => matmul(where(p < c, 0.0, x), v) numerics real }",
    ]);
    are_not_proved(&[
        "r(x: f32[n, m]) { cumsum(x) {axis = 1, exclusive = false, reverse = false} => cumsum(x) {axis = 1, exclusive = true, reverse = false} numerics real }",
        "r(x: f32[n]) { cumsum(x) {axis = 0, exclusive = false, reverse = true} => cumsum(x) {axis = 0, exclusive = false, reverse = false} numerics real }",
        "r(x: i32[n]) { cumsum(x) {axis = 0, exclusive = true, reverse = true} => reduce_sum(x) {axes = [0], keepdims = true} - cumsum(x) {axis = 0, exclusive = true, reverse = false} numerics bitwise }",
    ]);
}
