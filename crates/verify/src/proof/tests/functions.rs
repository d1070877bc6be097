//! Laws of functions and of whole tensors: true rules that they prove, and near misses that have no proof.

use std::sync::Arc;

use super::verdict_of;
use crate::Verdict;
use crate::instance::seeds::seeds;
use crate::proof::{Suspects, Task, prove};
use tautomer_diag::Source;
use tautomer_lang::parse_rules;
use tautomer_rewrite::Trial;
use tautomer_rule::load_rules;

/// Asserts that rules are proved for all sizes, of the forms of their instances at least.
fn have_a_proof(rules: &[&str]) {
    let mut failed = Vec::new();
    for text in rules {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule {text}"));
        if !matches!(verdict, Verdict::ProvedForAll(_) | Verdict::ProvedFor(_)) {
            failed.push(format!("{text}: {verdict}, {}", why.unwrap_or_default()));
        }
    }
    assert!(failed.is_empty(), "not proved:\n{}", failed.join("\n"));
}

/// Asserts that rules have no proof, even if nothing compares their sides at any instance.
fn have_no_proof(rules: &[&str]) {
    let mut failed = Vec::new();
    for text in rules {
        let source = Arc::new(Source::new("test.rules", format!("/// Wrong.\nrule {text}").as_str()));
        let set = load_rules(parse_rules(source).unwrap()).unwrap();
        let trial = Trial::new(set.rules[0].clone());
        let instances = seeds(&set.rules[0], &trial, &[]);
        assert!(!instances.is_empty(), "no instance of {text}");
        let task = Task {
            rule: &set.rules[0],
            trial: &trial,
            agreeing: &instances.iter().collect::<Vec<_>>(),
            refused: &[],
            refuses_elements: false,
            all_types: true,
            suspects: Suspects::default(),
        };
        if let Ok(coverage) = prove(&task) {
            failed.push(format!("{text}: {coverage}"));
        }
    }
    assert!(failed.is_empty(), "proved:\n{}", failed.join("\n"));
}

#[test]
fn truth_values_are_zero_and_one() {
    have_a_proof(&[
        "r(x: bool[..], y: bool[..]) { x && y => cast(x) {to = i32} * cast(y) {to = i32} == 1i32 numerics bitwise }",
        "r(x: bool[..], y: bool[..]) { x || y => cast(x) {to = i32} + cast(y) {to = i32} > 0i32 numerics bitwise }",
        "r(x: f32[..], y: f32[..]) { x <= y => cast(x < y) {to = i32} + cast(x == y) {to = i32} > 0i32 numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { x <= y => cast(x < y) {to = i32} + cast(x == y) {to = i32} > 0i32 numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { x <= y => !(y < x) numerics bitwise }",
        "r(x: f32[..]) { is_nan(x) => !(x == x) numerics bitwise }",
        "r(x: f32[..], s: f32[..]) { where(x < 0.0, x * s, x) => max(x, 0.0) + min(x, 0.0) * s where s.shape == x.shape numerics real }",
    ]);
    have_no_proof(&[
        "r(x: bool[..], y: bool[..]) { x && y => cast(x) {to = i32} * cast(y) {to = i32} == 0i32 numerics bitwise }",
        "r(x: bool[..], y: bool[..]) { x || y => cast(x) {to = i32} + cast(y) {to = i32} > 1i32 numerics bitwise }",
        "r(x: bool[..], y: bool[..]) { x || y => cast(x) {to = i32} + cast(y) {to = i32} == 1i32 numerics bitwise }",
        // NaN is neither less nor equal nor greater, and a number may be in either order.
        "r(x: f32[..], y: f32[..]) { x <= y => !(y < x) numerics bitwise }",
        "r(x: f32[..], y: f32[..]) { x <= y => cast(x < y) {to = i32} + cast(x == y) {to = i32} > 1i32 numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { x < y => !(y < x) numerics bitwise }",
        "r(x: f32[..]) { is_nan(x) => x == x numerics bitwise }",
        "r(x: f32[..], s: f32[..]) { where(x < 0.0, x * s, x) => min(x, 0.0) + max(x, 0.0) * s where s.shape == x.shape numerics real }",
    ]);
}

#[test]
fn the_largest_of_a_nondecreasing_function_is_that_of_the_largest() {
    have_a_proof(&[
        "r(x: f32[n, m]) { reduce_max(leaky_relu(x) {alpha = 0.25}) {axes = [1]} => leaky_relu(reduce_max(x) {axes = [1]}) {alpha = 0.25} numerics real }",
        "r(x: f32[n, m]) { reduce_max(leaky_relu(x) {alpha = 3.0}) {axes = [1]} => leaky_relu(reduce_max(x) {axes = [1]}) {alpha = 3.0} numerics real }",
        "r(x: f32[1, 2, n]) { max_pool(relu(x)) {kernel_shape = [3], pads = [1, 1]} => relu(max_pool(x) {kernel_shape = [3], pads = [1, 1]}) numerics real }",
        "r(x: f32[..]) { round(relu(x)) => relu(round(x)) numerics real }",
        "r(x: f32[..]) { round(max(x, 2.5)) => max(round(x), 2.0) numerics real }",
        "r(x: f32[..]) { floor(clip(x) {min = -1.5, max = 2.5} * 2.0 + 1.0) => clip(floor(x * 2.0 + 1.0)) {min = -2.0, max = 6.0} numerics real }",
        "r(x: f32[..]) { relu(x) + sqrt(x) * sqrt(sqrt(x)) => relu(x) + pow(x, 0.75) numerics real }",
    ]);
    have_no_proof(&[
        "r(x: f32[n, m]) { reduce_max(leaky_relu(x) {alpha = -0.25}) {axes = [1]} => leaky_relu(reduce_max(x) {axes = [1]}) {alpha = -0.25} numerics real }",
        "r(x: f32[n, m]) { reduce_max(min(x, x * -2.0)) {axes = [1]} => min(reduce_max(x) {axes = [1]}, reduce_max(x) {axes = [1]} * -2.0) numerics real }",
        "r(x: f32[n, m], y: f32[n, m]) { reduce_max(min(x, y)) {axes = [1]} => min(reduce_max(x) {axes = [1]}, reduce_max(y) {axes = [1]}) numerics real }",
        // Of no elements, the largest is minus infinity.
        "r(x: f32[n, m], y: f32[n]) { exp(reduce_max(relu(x)) {axes = [1], keepdims = false}) + y => exp(relu(reduce_max(x) {axes = [1], keepdims = false})) + y numerics real }",
        "r(x: f32[..]) { round(max(x, 2.5)) => max(round(x), 3.0) numerics real }",
        "r(x: f32[..]) { round(relu(x) + 1.0) => relu(round(x)) + 1.0 numerics real }",
        "r(x: f32[..]) { floor(clip(x) {min = -1.5, max = 2.5}) => clip(floor(x)) {min = -2.0, max = 3.0} numerics real }",
        "r(x: f32[..]) { relu(x) + sqrt(x) * sqrt(x) => relu(x) + pow(x, 0.75) numerics real }",
    ]);
}

#[test]
fn places_and_orders_are_those_below_increasing_functions() {
    have_a_proof(&[
        "r(x: f32[n, m]) { argmax(exp(x)) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { argmin(sigmoid(x)) {axis = 1} => argmin(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { argmax(softplus(x)) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { argmax(softmax(x) {axis = 1}) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { sort(sort(x) {axis = 1, descending = true}.0) {axis = 1}.0 => sort(x) {axis = 1}.0 numerics bitwise }",
    ]);
    have_no_proof(&[
        "r(x: f32[n, m]) { argmax(-x) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { argmax(exp(x)) {axis = 1} => argmin(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { argmax(1.0 / (1.0 + exp(x))) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        // Different numbers may have one value, or be multiplied by different ones.
        "r(x: f32[n, m]) { argmax(floor(x)) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { argmax(relu(x)) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m], y: f32[n, 1]) { argmax(x * y) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { argmax(softmax(x) {axis = 1}) {axis = 0} => argmax(x) {axis = 0} numerics real }",
        // Integers wrap around.
        "r(x: i8[n, m]) { argmax(x * 2i8) {axis = 1} => argmax(x) {axis = 1} numerics real }",
        "r(x: f32[n, m]) { sort(sort(x) {axis = 0}.0) {axis = 1}.0 => sort(x) {axis = 1}.0 numerics bitwise }",
        "r(x: f32[n, m]) { sort(sort(x) {axis = 1, descending = true}.0) {axis = 1}.1 => sort(x) {axis = 1}.1 numerics bitwise }",
        "r(x: f32[n, m]) { sort(sort(x) {axis = 1, descending = true}.0) {axis = 1}.0 => sort(x) {axis = 1, descending = true}.0 numerics bitwise }",
    ]);
}

#[test]
fn increasing_functions_move_out_of_maxima_of_something() {
    have_a_proof(&[
        "r(x) { max_pool(relu(x)) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]} => relu(max_pool(x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}) numerics real }",
        "r(x: f32[1, 2, n, m]) { max_pool(relu(x)) {kernel_shape = k, pads = p, strides = s, dilations = [1, 1], ceil_mode = true} => relu(max_pool(x) {kernel_shape = k, pads = p, strides = s, dilations = [1, 1], ceil_mode = true}) where all(p[i] + p[i + 2] < k[i] for i in range(2)) numerics real }",
        "r(x) { max_pool(sigmoid(x)) {kernel_shape = k, strides = s} => sigmoid(max_pool(x) {kernel_shape = k, strides = s}) numerics real }",
        "r(x: f32[n, m]) { reduce_min(sigmoid(x)) {axes = [1]} => sigmoid(reduce_min(x) {axes = [1]}) where m > 0 numerics real }",
    ]);
    have_no_proof(&[
        "r(x: f32[1, 2, n, m]) { relu(max_pool(x) {kernel_shape = [2, 2], pads = [1, 1, 1, 1]}) => max_pool(relu(x)) {kernel_shape = [2, 2], pads = [1, 1, 1, 1]} numerics real }",
        "r(x: i32[1, 2, n, m]) { max_pool(relu(x)) {kernel_shape = [2, 2], pads = [1, 1, 1, 1]} => relu(max_pool(x) {kernel_shape = [2, 2], pads = [1, 1, 1, 1]}) numerics real }",
        "r(x: f32[n, m]) { sigmoid(reduce_max(x) {axes = [1]}) => reduce_max(sigmoid(x)) {axes = [1]} numerics real }",
        "r(x: f32[n, m]) { exp(reduce_max(x) {axes = [1]}) => reduce_max(exp(x)) {axes = [1]} numerics real }",
        "r(x: f32[n, m]) { reduce_max(1.0 / (1.0 + exp(x))) {axes = [1]} => 1.0 / (1.0 + exp(reduce_max(x) {axes = [1]})) where m > 0 numerics real }",
        "r(x: i32[n, m]) { reduce_max(relu(x)) {axes = [1]} => relu(reduce_max(x) {axes = [1]}) numerics real }",
        "r(x: i8[n, m]) { reduce_min(min(x, 0i8)) {axes = [1]} => min(reduce_min(x) {axes = [1]}, 0i8) numerics real }",
        // The divisor may be negative.
        "r(x: f32[n, m]) { reduce_max(1.0 / (1.0 + x)) {axes = [1]} => 1.0 / (1.0 + reduce_min(x) {axes = [1]}) where m > 0 numerics real }",
    ]);
}

#[test]
fn operands_that_are_zeros_may_be_left_out() {
    have_a_proof(&[
        "r(x: f32[2, 5, 3], w: f32[1, 12, 3], q: f32[1, 12, 4], b: f32[1, 24]) { gru(x, w, q, b, none, constant_of_shape() {shape = [1, 5, 4]}) {hidden_size = 4}.0 => gru(x, w, q, b) {hidden_size = 4}.0 numerics real }",
    ]);
    have_no_proof(&[
        "r(x: f32[2, 5, 3], w: f32[1, 12, 3], q: f32[1, 12, 4], b: f32[1, 24]) { gru(x, w, q, b, none, constant_of_shape() {shape = [1, 5, 4], value = 1.0}) {hidden_size = 4}.0 => gru(x, w, q, b) {hidden_size = 4}.0 numerics real }",
        "r(x: f32[2, 5, 3], w: f32[1, 12, 3], q: f32[1, 12, 4], b: f32[1, 24], h: f32[1, 5, 4]) { gru(x, w, q, b, none, h) {hidden_size = 4}.0 => gru(x, w, q, b) {hidden_size = 4}.0 numerics real }",
    ]);
}

#[test]
fn integers_stay_in_their_range() {
    have_a_proof(&[
        "r(x: u8[..]) { cast(clip(round(cast(x) {to = f32})) {min = 0.0, max = 255.0}) {to = u8} => x numerics real }",
        "r(x: i8[..]) { cast(max(round(cast(x) {to = f32} - 3.0) + 3.0, -128.0)) {to = i8} => x numerics real }",
        "r(x: bool[3]) { x && (range(0, 3, 1) >= 0) => x numerics real }",
        "r(x: f32[..]) { cast(cast(x) {to = f64}) {to = f8e4m3fn} => cast(x) {to = f8e4m3fn} numerics bitwise }",
    ]);
    have_no_proof(&[
        "r(x: u8[..]) { cast(clip(round(cast(x) {to = f32})) {min = 0.0, max = 254.0}) {to = u8} => x numerics real }",
        "r(x: i8[..]) { cast(max(round(cast(x) {to = f32}), 0.0)) {to = i8} => x numerics real }",
        "r(x: u8[..]) { cast(round(cast(x) {to = f32} * 0.5) * 2.0) {to = u8} => x numerics real }",
        "r(x: i16[..]) { cast(cast(cast(x) {to = f32}) {to = i8}) {to = i16} => x numerics real }",
        "r(x: bool[3]) { x && (range(0, 3, 1) >= 1) => x numerics real }",
        "r(x: f32[..]) { cast(x) {to = f8e4m3fn, saturate = true} => cast(x) {to = f8e4m3fn, saturate = false} numerics bitwise }",
        "r(x: f64[..]) { cast(cast(x) {to = f32}) {to = f8e4m3fn} => cast(x) {to = f8e4m3fn} numerics bitwise }",
    ]);
}

/// What both sides compute in the same way, from operands that are equal.
#[test]
fn equal_operands_have_equal_attention() {
    have_a_proof(&[
        "r(q: f32[b, h, s, d], k: f32[b, h, t, d], v: f32[b, h, t, e], c: f32[]) { attention(q * c, k, v) {scale = 0.5} => attention(q, k * c, v) {scale = 0.5} numerics real }",
        "r(q: f32[b, h, s, d], k: f32[b, h, t, d], v: f32[b, h, t, e]) { attention(q * 2.0, k, v) {scale = 0.25} => attention(q, k, v) {scale = 0.5} numerics real }",
        "r(q: f32[b, s, h, d], k: f32[b, h, t, d], v: f32[b, h, t, e]) { attention(transpose(transpose(q) {perm = [2, 0, 1, 3]}) {perm = [1, 0, 2, 3]}, k, v) {scale = 0.5} => attention(transpose(q) {perm = [0, 2, 1, 3]}, k, v) {scale = 0.5} numerics real }",
    ]);
    have_no_proof(&[
        "r(q: f32[b, h, s, d], k: f32[b, h, t, d], v: f32[b, h, t, e], c: f32[]) { attention(q * c, k, v) {scale = 0.5} => attention(q, k, v * c) {scale = 0.5} numerics real }",
        "r(q: f32[b, h, s, d], k: f32[b, h, t, d], v: f32[b, h, t, e], c: f32[d]) { attention(q * c, k, v) {scale = 0.5} => attention(q, k, v) {scale = 0.5} numerics real }",
        "r(q: f32[b, h, s, d], k: f32[b, h, t, d], v: f32[b, h, t, e]) { attention(q * 2.0, k, v) {scale = 0.5} => attention(q, k, v) {scale = 0.5} numerics real }",
        "r(q: f32[n, n, n, n], k: f32[n, n, n, n], v: f32[n, n, n, n]) { attention(transpose(q) {perm = [1, 0, 2, 3]}, k, v) {scale = 0.5} => attention(q, k, v) {scale = 0.5} numerics real }",
        "r(q: f32[b, h, s, d], k: f32[b, h, t, d], v: f32[b, h, t, e]) { attention(q, k, v) {scale = 0.5, is_causal = true} => attention(q, k, v) {scale = 0.5} numerics real }",
    ]);
}

#[test]
fn integers_wrap_around_before_they_are_converted() {
    have_no_proof(&[
        "r(x: i32[n]) { cast(reduce_sum(x) {..a}) {to = i64} => reduce_sum(cast(x) {to = i64}) {..a} numerics bitwise }",
        "r(x: i32[n]) { cast(reduce_prod(x) {..a}) {to = i64} => reduce_prod(cast(x) {to = i64}) {..a} numerics bitwise }",
        "r(x: i32[n]) { cast(cumsum(x) {axis = 0}) {to = i64} => cumsum(cast(x) {to = i64}) {axis = 0} numerics bitwise }",
        "r(x: i32[n]) { cast(reduce_sum(x) {..a}) {to = f64} => reduce_sum(cast(x) {to = f64}) {..a} numerics real }",
        "r(x: i32[..], y: i32[..]) { cast(x + y) {to = i64} => cast(x) {to = i64} + cast(y) {to = i64} numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast(x * y) {to = i64} => cast(x) {to = i64} * cast(y) {to = i64} numerics bitwise }",
        "r(x: i32[..]) { cast(-x) {to = i64} => -cast(x) {to = i64} numerics bitwise }",
        "r(x: i32[..]) { cast(abs(x)) {to = i64} => abs(cast(x) {to = i64}) numerics bitwise }",
        "r(x: i32[..]) { cast(abs(x)) {to = f64} => abs(cast(x) {to = f64}) numerics real }",
        "r(x: i32[..], y: i32[..]) { cast(max(x + y, x)) {to = i64} => max(cast(x) {to = i64} + cast(y) {to = i64}, cast(x) {to = i64}) numerics bitwise }",
        "r(x: i32[n], y: i32[n]) { cast(reduce_max(x + y) {..a}) {to = i64} => reduce_max(cast(x) {to = i64} + cast(y) {to = i64}) {..a} numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { x + y < x => cast(x) {to = i64} + cast(y) {to = i64} < cast(x) {to = i64} numerics bitwise }",
        "r(x: i32[..], y: i32[..], z: i32[..]) { x + y == z => cast(x) {to = i64} + cast(y) {to = i64} == cast(z) {to = i64} numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast(sign(x + y)) {to = i64} => sign(cast(x) {to = i64} + cast(y) {to = i64}) numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast(x / y) {to = i64} => cast(x) {to = i64} / cast(y) {to = i64} numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast((x * x) % y) {to = i64} => (cast(x) {to = i64} * cast(x) {to = i64}) % cast(y) {to = i64} numerics bitwise }",
        "r(x: i32[n, m], y: i32[m, k]) { cast(matmul(x, y)) {to = i64} => matmul(cast(x) {to = i64}, cast(y) {to = i64}) numerics bitwise }",
        "r(x: u8[..]) { cast(bitwise_not(x)) {to = u16} => bitwise_not(cast(x) {to = u16}) numerics bitwise }",
        "r(x: u8[..], y: u8[..]) { cast(bit_shift(x, y) {direction = \"LEFT\"}) {to = u16} => bit_shift(cast(x) {to = u16}, cast(y) {to = u16}) {direction = \"LEFT\"} numerics bitwise }",
        "r(p: bool[..], x: i32[..], y: i32[..]) { cast(where(p, x + y, x)) {to = i64} => where(p, cast(x) {to = i64} + cast(y) {to = i64}, cast(x) {to = i64}) numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast(clip(x + y) {min = 0}) {to = i64} => clip(cast(x) {to = i64} + cast(y) {to = i64}) {min = 0} numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast(bitwise_and(x + y, x)) {to = i64} => bitwise_and(cast(x) {to = i64} + cast(y) {to = i64}, cast(x) {to = i64}) numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast((x + y) / 2i32) {to = i64} => (cast(x) {to = i64} + cast(y) {to = i64}) / 2i64 numerics bitwise }",
        "r(x: i8[..]) { cast(x + x) {to = f32} => cast(x) {to = f32} + cast(x) {to = f32} numerics real }",
    ]);
    have_a_proof(&[
        "r(x: i32[..]) { cast(relu(x)) {to = i64} => relu(cast(x) {to = i64}) numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { cast(max(x, y)) {to = i64} => max(cast(x) {to = i64}, cast(y) {to = i64}) numerics bitwise }",
        "r(p: bool[..], x: i32[..], y: i32[..]) { cast(where(p, x, y)) {to = i64} => where(p, cast(x) {to = i64}, cast(y) {to = i64}) numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { x < y => cast(x) {to = i64} < cast(y) {to = i64} numerics bitwise }",
        "r(x: i32[..], y: i32[..]) { x + y < x => y + x < x numerics bitwise }",
        "r(x: i32[..]) { abs(-x) => abs(x) numerics bitwise }",
        "r(x: i32[..]) { max(x, -x) => abs(x) numerics bitwise }",
        "r(x: i32[..]) { max(x) => x numerics bitwise }",
        "r(x: i32[n, m]) { cast(transpose(x)) {to = i64} => transpose(cast(x) {to = i64}) numerics bitwise }",
    ]);
}
