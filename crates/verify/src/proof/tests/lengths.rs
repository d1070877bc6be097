//! Lists of a fixed length, attributes along one axis, conversions of integers, and one number that is left.

use super::{are_not_proved, are_proved};

/// Operators along one axis leave all others alone.
#[test]
fn operators_along_one_axis_cover_all_ranks() {
    are_proved(&[
        "r(x: f32[..]) { argmax(exp(x)) {..a} => argmax(x) {..a} numerics real }",
        "r(x: f32[..]) { x / reduce_l2(x) {axes = [k], keepdims = true} => lp_normalization(x) {axis = k, p = 2} numerics real }",
        "r(x: f32[..]) { sort(sort(x) {axis = k, ..a}.0) {axis = k, ..b}.0 => sort(x) {axis = k, ..b}.0 numerics bitwise }",
    ]);
    are_not_proved(&[
        "r(x: f32[..]) { argmax(exp(x)) {..a} => argmin(x) {..a} numerics real }",
        "r(x: f32[..]) { argmax(exp(x)) {axis = k, ..a} => argmax(x) {axis = 0, ..a} numerics real }",
        // Wrong along an axis that few instances have, and at one rank.
        "r(x: f32[..]) { argmax(exp(x)) {axis = k, ..a} => when k == 3 { argmin(x) {axis = k, ..a} } else { argmax(x) {axis = k, ..a} } numerics real }",
        "r(x: f32[..]) { reduce_max(x) {axes = [k], keepdims = true} => when x.rank == 4 { x } else { lp_normalization(x) {axis = k, p = 2} } numerics real }",
        "r(x: f32[..]) { x / reduce_l2(x) {axes = [k], keepdims = true} => when x.rank < 3 { lp_normalization(x) {axis = k, p = 2} } else { lp_normalization(x) {axis = k, p = 1} } numerics real }",
        "r(x: f32[..]) { x / reduce_l2(x) {axes = [k], keepdims = true} => lp_normalization(x) {axis = 0, p = 2} numerics real }",
        // The elements are sorted along one axis only, and in the order of the outer call.
        "r(x: f32[..]) { sort(sort(x) {axis = k, ..a}.0) {axis = j, ..b}.0 => sort(x) {axis = j, ..b}.0 numerics bitwise }",
        "r(x: f32[..]) { sort(sort(x) {axis = k, ..a}.0) {axis = k, ..b}.0 => sort(x) {axis = k, ..a}.0 numerics bitwise }",
    ]);
}

/// An axis may be counted from the rank of a variable, or be written as a number.
#[test]
fn axes_that_are_counted_from_ranks_cover_all_ranks() {
    are_proved(&[
        "r(x, v: param, w: param) { (matmul(x, v), matmul(x, w)) => let y = split(matmul(x, concat(v, w) {axis = 1})) {axis = x.rank - 1, sizes = [v.shape[1], w.shape[1]]}; (y.0, y.1) where v.rank == 2, w.rank == 2 numerics real }",
        "r(x: f32[..], v: f32[..], w: f32[..]) { (dense(x, v), dense(x, w)) => let y = split(dense(x, concat(v, w) {axis = 0})) {axis = -1, sizes = [v.shape[0], w.shape[0]]}; (y.0, y.1) numerics real }",
        "r(x: f32[..]) { softmax(x) {axis = -1} => softmax(x) {axis = x.rank - 1} numerics real }",
    ]);
    are_not_proved(&[
        // The rank of a value with other axes, which is the same at small ranks alone.
        "r(x: f32[..], y: f32[..]) { softmax(matmul(x, y)) {axis = -1} => softmax(matmul(x, y)) {axis = y.rank - 1} numerics real }",
        "r(x: f32[..], y: f32[..]) { x + softmax(y) {axis = -1} => x + softmax(y) {axis = x.rank - 1} numerics real }",
        "r(x: f32[..], y: f32[..]) { y + softmax(x) {axis = -1} => y + softmax(x) {axis = y.rank - 1} where y.rank <= x.rank numerics real }",
        // From the other end where the rank is smaller than the number.
        "r(x: f32[..]) { softmax(x) {axis = -1} => softmax(x) {axis = x.rank - 3} numerics real }",
        "r(x: f32[..]) { softmax(x) {axis = 1} => softmax(x) {axis = x.rank - 3} numerics real }",
        "r(x: f32[..]) { softmax(x) {axis = -1} => softmax(x) {axis = x.rank - 2} numerics real }",
        "r(x: f32[..]) { softmax(x) {axis = k} => softmax(x) {axis = x.rank - 1} numerics real }",
        // Numbers from both ends name one axis at one rank alone.
        "r(x: f32[..]) { softmax(softmax(x) {axis = 1}) {axis = -1} => softmax(softmax(x) {axis = 1}) {axis = 2} where x.rank > 2 numerics real }",
        "r(x: f32[..]) { softmax(x) {axis = -1} => softmax(x) {axis = 1 + 1} where x.rank > 2 numerics real }",
        "r(x: f32[..], w: f32[..]) { softmax(dense(x, w)) {axis = -1} => softmax(dense(x, w)) {axis = 2} where x.rank > 2 numerics real }",
        "r(x: f32[..], w: f32[..]) { dense(relu(x), w) => when x.rank == 4 { dense(x, w) } else { dense(relu(x), w) } numerics real }",
        "r(x: f32[..], w: f32[..], b) { dense(x, w, b) => dense(x, w) numerics real }",
    ]);
}

/// The number of parts is written, or counted by a condition.
#[test]
fn a_fixed_number_of_parts_covers_all_sizes() {
    are_proved(&[
        "r(x) { let s = split(x) {axis = k, sizes = z, ..r}; concat(s.0, s.1) {axis = k} => x where len(z) == 2 numerics bitwise }",
        "r(x) { let s = split(x) {..a, axis = k, num_outputs = 2}; concat(s.0, s.1) {axis = k} => x numerics bitwise }",
        "r(x, y) { let s = split(concat(x, y) {axis = k}) {axis = k, sizes = z, ..r}; (s.0, s.1) => (x, y) where len(z) == 2, z[0] == x.shape[k] numerics bitwise }",
    ]);
    are_not_proved(&[
        "r(x) { let s = split(x) {axis = k, sizes = z, ..r}; concat(s.1, s.0) {axis = k} => x where len(z) == 2 numerics bitwise }",
        // The number of parts is open.
        "r(x) { let s = split(x) {axis = k, sizes = z, ..r}; concat(s.0, s.1) {axis = k} => x numerics bitwise }",
        "r(x) { let s = split(x) {axis = k, sizes = z, ..r}; concat(s.0, s.1) {axis = k} => x where len(z) >= 2 numerics bitwise }",
        // Wrong at one size, at one rank, or if the sizes are those of other parts.
        "r(x: f32[..]) { let s = split(x) {axis = k, sizes = z, ..r}; concat(s.0, s.1) {axis = k} => when z[0] == 5 { x + x } else { x } where len(z) == 2 numerics bitwise }",
        "r(x: f32[..]) { let s = split(x) {..a, axis = k, num_outputs = 2}; concat(s.0, s.1) {axis = k} => when x.rank == 4 { relu(x) } else { x } numerics bitwise }",
        "r(x) { let s = split(x) {axis = k, sizes = z, ..r}; s.0 => x where len(z) == 2, z[1] == 1 numerics bitwise }",
        // Other lists whose length a condition says.
        "r(x: f32[..]) { reduce_sum(x) {axes = k, keepdims = true} => when x.rank == 4 { x } else { reduce_sum(x) {axes = k, keepdims = true} } where len(k) == 2 numerics real }",
        "r(x: f32[..]) { reduce_sum(relu(x)) {axes = k, keepdims = true} => relu(reduce_sum(x) {axes = [0, 1], keepdims = true}) where len(k) == 2, x.rank < 3 numerics real }",
        "r(x: f32[..]) { reshape(relu(x)) {shape = s} => when x.rank == 5 { reshape(x) {shape = s} } else { relu(reshape(x) {shape = s}) } where len(s) == 2 numerics bitwise }",
        "r(x: f32[..]) { pad(relu(x)) {pads = p, value = 0} => when x.rank == 2 { pad(x) {pads = p, value = 0} } else { relu(pad(x) {pads = p, value = 0}) } where len(p) == 4 numerics bitwise }",
        // Sizes that are left out are others for another value.
        "r(x) { let s = split(x) {..a, axis = 0, num_outputs = 2}; s.0 => split(concat(x, x) {axis = 0}) {..a, axis = 0, num_outputs = 2}.0 numerics bitwise }",
        "r(x: f32[..]) { let s = split(relu(x)) {..a, axis = 0, num_outputs = 2}; s.0 => relu(split(concat(x, x) {axis = 0}) {..a, axis = 0, num_outputs = 2}.1) numerics bitwise }",
    ]);
}

/// An entry of a shape may be 0 or -1, and the matcher sees it so where a dimension is unknown.
#[test]
fn shapes_of_a_fixed_length_are_tried_with_zero_and_minus_one() {
    are_proved(&[
        "r(x: [n, h, i, j]) { transpose(reshape(x) {shape = s}) {perm = p} => reshape(transpose(x) {perm = [0, 1, 3, 2]}) {shape = [n * h, j, i]} where p == [0, 2, 1], s == [n * h, i, j] numerics bitwise }",
    ]);
    are_not_proved(&[
        "r(x: f32[n, h]) { reshape(x) {shape = s} => when s[0] < 1 { relu(x) } else { reshape(x) {shape = s} } where len(s) == 2 numerics bitwise }",
        "r(x: f32[n, h]) { reshape(x) {shape = s} => when s[1] == -1 { neg(reshape(x) {shape = s}) } else { reshape(x) {shape = s} } where len(s) == 2 numerics bitwise }",
        "r(x: [n, h]) { reshape(x) {shape = s} => reshape(x) {shape = [s[1], s[0]]} where len(s) == 2 numerics bitwise }",
        "r(x: [n, h]) { reshape(x) {shape = s} => reshape(x) {shape = [1] ++ s} where len(s) == 2 numerics bitwise }",
        // The length is open.
        "r(x: f32[n, h]) { reshape(relu(x)) {shape = s} => when len(s) == 6 { reshape(x) {shape = s} } else { relu(reshape(x) {shape = s}) } numerics bitwise }",
    ]);
}

/// A constant that is negative and half of itself is minus infinity.
#[test]
fn conditions_may_leave_minus_infinity_alone() {
    are_proved(&[
        "r(x, c: const) { max(x, c) => x where value(c) < 0, value(c) * 0.5 == value(c) numerics bitwise }\nexample r { fn (x: f32[3]) { relu(max(x, -inf)) } => fn (x: f32[3]) { relu(x) } }",
    ]);
    are_not_proved(&[
        "r(x, c: const) { max(x, c) => x where value(c) < 0, value(c) * 0.5 >= value(c) numerics bitwise }",
        "r(x, c: const) { max(x, c) => x where value(c) <= 0, value(c) * 0.5 == value(c) numerics bitwise }",
        "r(x, c: const) { min(x, c) => x where value(c) < 0, value(c) * 0.5 == value(c) numerics bitwise }\nexample r { fn (x: f32[3]) { relu(min(x, -inf)) } => fn (x: f32[3]) { relu(x) } }",
    ]);
}

/// An element of an integer type is the same number in a type with more of them, and back.
#[test]
fn conversions_of_integers_there_and_back_are_nothing() {
    are_proved(&[
        "r(x: i8[..]) { cast(cast(x) {to = f32}) {to = i8} => x numerics bitwise }",
        "r(x: i16[..]) { cast(cast(x) {to = i64}) {to = i16} => x numerics bitwise }",
    ]);
    are_not_proved(&[
        "r(x: i32[..]) { cast(cast(x) {to = f32}) {to = i32} => x numerics bitwise }",
        "r(x: i64[..]) { cast(cast(x) {to = f64}) {to = i64} => x numerics bitwise }",
        "r(x: i32[..]) { cast(cast(x) {to = i8}) {to = i32} => x numerics bitwise }",
        "r(x: f16[..]) { cast(cast(x) {to = bf16}) {to = f16} => x numerics bitwise }",
        // The sum wraps around in its own type first.
        "r(x: i8[..]) { cast(cast(x + x) {to = i32}) {to = i16} => cast(x) {to = i16} + cast(x) {to = i16} numerics bitwise }",
    ]);
}
