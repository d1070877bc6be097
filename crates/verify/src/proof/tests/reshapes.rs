//! Shapes to change to, with conditions about them, and what composite operators ask of their operands.

use super::are_not_proved;

/// A shape that a condition compares may have a 0, a -1, or another length.
#[test]
fn conditions_about_shapes_of_reshape_are_not_taken_for_more() {
    are_not_proved(&[
        // The last axis stays, but not its neighbours.
        "r(x: f32[..]) { reshape(softmax(reshape(x) {shape = t, ..q}) {axis = k}) {shape = s, ..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, s == x.shape numerics bitwise }",
        "r(x: f32[..]) { reshape(softmax(reshape(x) {shape = t, ..q}) {axis = k}) {shape = s, ..w} => softmax(x) {axis = x.rank - 1} where t[-1] == x.shape[-1], s == x.shape numerics bitwise }",
        "r(x: f32[..], b: f32[c]) { reshape(x) {shape = s, ..q} + b => reshape(x + b) {shape = s, ..q} where len(s) == x.rank numerics real }",
        "r(x: f32[n, m]) { reshape(reduce_sum(reshape(x) {shape = s, ..q}) {axes = [1], keepdims = false}) {shape = t} => reduce_sum(x) {axes = [1], keepdims = false} where s[0] * s[1] == n * m, t == [n] numerics real }",
        // Rows that are joined may be joined across.
        "r(x: f32[a, b, c]) { reshape(softmax(reshape(x) {shape = s}) {axis = 1}) {shape = t} => softmax(x) {axis = 2} where s == [b, a * c], t == x.shape numerics bitwise }",
        "r(x: f32[a, b, c]) { reshape(transpose(reshape(x) {shape = s}) {perm = [1, 0]}) {shape = t} => x where s == [a * b, c], t == x.shape numerics bitwise }",
    ]);
}

/// -1 and 0 in a shape stand for what the operand has.
#[test]
fn missing_and_kept_dimensions_are_those_of_the_operand() {
    are_not_proved(&[
        "r(x: f32[a, b, c]) { reshape(transpose(reshape(x) {shape = [-1, c]}) {perm = [1, 0]}) {shape = [a, b, c]} => x numerics bitwise }",
        "r(x: f32[a, b, c]) { reduce_sum(reshape(x) {shape = [-1, b]}) {axes = [1], keepdims = false} => reshape(reduce_sum(x) {axes = [1], keepdims = false}) {shape = [-1]} numerics real }",
        "r(x: f32[a, b, c]) { relu(reshape(x) {shape = [0, -1], allowzero = false}) => reshape(relu(x)) {shape = [b, -1], allowzero = false} where a * b * c > 0, a == b || a == 1 numerics bitwise }",
        "r(x: f32[a, b]) { reduce_max(reshape(x) {shape = [-1, 2], allowzero = false}) {axes = [0], keepdims = false} => reduce_max(x) {axes = [0], keepdims = false} where a * b > 0, b == 2 || a == 2 numerics real }",
        "r(x: f32[a, b], i: const) { gather(reshape(x) {shape = s, ..r}, i) {axis = 0} => reshape(gather(x, i) {axis = 0}) {shape = s[1..]} where i.rank == 0, s[0] != 0, all(d > 0 for d in s[1..]), value(i) == 0 numerics bitwise }",
    ]);
}

/// A body may compute something at operands that inference refuses; where it accepts them, the rule has to hold.
#[test]
fn composite_operators_ask_for_what_inference_asks() {
    are_not_proved(&[
        // The statistics of another axis, of the same dimension.
        "r(x: f32[n, c, h], s: f32[c], b: f32[c], m: f32[c], v: f32[c]) { batch_normalization(x, s, b, m, v) {..r} => batch_normalization(transpose(x) {perm = [1, 0, 2]}, s, b, m, v) {..r} where n == c numerics real }",
        "r(x: f32[n, c, h], s: f32[c], b: f32[c]) { instance_normalization(x, s, b) {..r} => group_normalization(x, s, b) {num_groups = 1, epsilon = 1e-5} numerics real }",
        "r(x: f32[n, c, h], s: f32[c], b: f32[c]) { group_normalization(x, s, b) {num_groups = g, epsilon = e} => instance_normalization(x, s, b) {epsilon = e} where c % g == 0 numerics real }",
        "r(x: f32[..], s: f32[..]) { layer_normalization(x, s) {axis = k, ..r} => layer_normalization(x, s) {axis = 0, ..r} where s.rank == 1 numerics real }",
        "r(q: f32[b, h, s, d], k: f32[b, g, t, d], v: f32[b, g, t, e]) { attention(q, k, v) {scale = 1.0, ..r} => matmul(softmax(matmul(q, transpose(k) {perm = [0, 1, 3, 2]})) {axis = 3}, v) where h == g || g == 1 numerics real }",
    ]);
}
