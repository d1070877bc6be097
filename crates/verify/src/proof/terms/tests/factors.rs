//! Rules that move factors without axes, and rules that are almost like them.

use super::is_one_term;

#[test]
fn factors_without_axes_may_stand_anywhere() {
    for text in [
        "(x, y, c: f32[]) { matmul(x * c, y) => matmul(x, y) * c numerics real }",
        "(x, y, c, d: f32[]) { matmul(x * c, transpose(y * d)) => matmul(x * d, transpose(y)) * c where c.rank == 0 numerics real }",
        "(x, c: f32[]) { softmax(transpose(x * c) {perm = p}) => softmax(transpose(x) {perm = p} * c) numerics real }",
        "(x, y, c: const) { matmul(x, y) * c => \"t::Product\"(x, y) {alpha = value(c)} where c.rank == 0, x.dtype == f32 numerics real }",
        "(q, k, v, c: const) { attention(q * c, k, v) {scale = s, ..r} => attention(q, k, v) {scale = s * value(c), ..r} where c.rank == 0, s != none numerics real }",
        "(q, k, v, c: const, d: const) { attention(q * c, k * d, v) {scale = s, ..r} => attention(q, k, v) {scale = value(d) * s * value(c), ..r} where c.rank == 0, s != none, d.rank == 0 numerics real }",
        "(q, k, v, c: const, m) { attention(q, k * c, v, m) {scale = s, ..r} => attention(q, k, v, m) {scale = s * value(c), ..r} where c.rank == 0, s != none numerics real }",
    ] {
        assert!(is_one_term(text), "{text}");
    }
}

#[test]
fn factors_stay_inside_what_is_not_linear() {
    for text in [
        // Functions of elements, reductions, and what makes elements of its own.
        "(x, c: f32[]) { softmax(x * c) {axis = k} => softmax(x) {axis = k} * c numerics real }",
        "(x, c: f32[]) { relu(x * c) => relu(x) * c numerics real }",
        "(x, c: f32[]) { reduce_max(x * c) {..a} => reduce_max(x) {..a} * c numerics real }",
        "(x, c: f32[]) { pad(x * c) {..a} => pad(x) {..a} * c numerics real }",
        "(x, y, c: f32[]) { concat(x * c, y) {axis = k} => concat(x, y) {axis = k} * c numerics real }",
        "(x, y, c: f32[]) { x * c + y => (x + y) * c numerics real }",
        // Factors with axes, and where rounding counts.
        "(x, y, c) { matmul(x * c, y) => matmul(x, y) * c numerics real }",
        "(x, y, c: f32[]) { matmul(x * c, y) => matmul(x, y) * c numerics bitwise }",
        // Another number of factors, and another factor.
        "(x, y, c: f32[]) { matmul(x * c, y * c) => matmul(x, y) * c numerics real }",
        "(x, y, c: f32[], d: f32[]) { matmul(x * c, y * d) => matmul(x, y) * d * d numerics real }",
        "(x, y, c: f32[]) { matmul(x / c, y) => matmul(x, y) * c numerics real }",
        "(x, y, c: f32[]) { matmul(x + c, y) => matmul(x, y) + c numerics real }",
        // A branch that is no product with 1, another number, and a factor on one side alone.
        "(x, y, c: const) { matmul(x, y) * c => \"t::Odd\"(x, y) {alpha = value(c)} where c.rank == 0, x.dtype == f32 numerics real }",
        "(x, y, c: const) { matmul(x, y) * c => \"t::Product\"(x, y) {alpha = value(c) * 2.0} where c.rank == 0, x.dtype == f32 numerics real }",
        "(x, y, c: const) { matmul(x, y) * c => \"t::Product\"(x, y) where c.rank == 0, x.dtype == f32 numerics real }",
        "(x, y, c: const) { matmul(x, y) * c => \"t::Product\"(x, y) {alpha = value(c)} where x.dtype == f32 numerics real }",
        // Integers, which are rounded as a number of an attribute.
        "(x, y, c: const) { matmul(x, y) * c => \"t::Product\"(x, y) {alpha = value(c)} where c.rank == 0 numerics real }",
        "(x, y, c: const) { matmul(x, y) * c => \"t::Product\"(x, y) {alpha = value(c)} where c.rank == 0, x.dtype == i64 numerics real }",
        // A factor of the values, of the mask, of both queries and keys, of axes, and of scores that have a default.
        "(q, k, v, c: const) { attention(q, k, v * c) {scale = s, ..r} => attention(q, k, v) {scale = s * value(c), ..r} where c.rank == 0, s != none numerics real }",
        "(q, k, v, c: const, m) { attention(q, k, v, m * c) {scale = s, ..r} => attention(q, k, v, m) {scale = s * value(c), ..r} where c.rank == 0, s != none numerics real }",
        "(q, k, v, c: const) { attention(q * c, k * c, v) {scale = s, ..r} => attention(q, k, v) {scale = s * value(c), ..r} where c.rank == 0, s != none numerics real }",
        "(q, k, v, c: const) { attention(q * c, k, v) {scale = s, ..r} => attention(q, k, v) {scale = s * value(c), ..r} where s != none numerics real }",
        "(q, k, v, c: const) { attention(q * c, k, v) {scale = s, ..r} => attention(q, k, v) {scale = value(c), ..r} where c.rank == 0 numerics real }",
        "(q, k, v, c: const) { attention(q * c, k, v) {scale = s, ..r} => attention(q, k, v) {scale = value(c), ..r} where c.rank == 0, s != none numerics real }",
        "(q, k, v, c: const) { attention(q * c, k, v) {scale = s, softcap = t, ..r} => attention(q, k, v) {scale = s, softcap = t * value(c), ..r} where c.rank == 0, s != none numerics real }",
        "(q, k, v, c: const, p) { attention(q, k * c, v, none, p, p) {scale = s, ..r} => attention(q, k, v, none, p, p) {scale = s * value(c), ..r} where c.rank == 0, s != none numerics real }",
    ] {
        assert!(!is_one_term(text), "{text}");
    }
}
