//! Rules that treat rows alike, and rules that are almost like them.

use super::is_one_term;

#[test]
fn rows_may_be_joined_along_any_axes() {
    for text in [
        "(a, b: [k, m]) { reshape(matmul(reshape(a) {..q}, b)) {shape = u, ..w} => matmul(a, b) numerics real }",
        "(a, b: [m, k], c) { reshape(gemm(reshape(a) {..q}, b, c) {transB = true}) {..w} => matmul(a, transpose(b) {perm = [1, 0]}) + c where c.rank <= 1 numerics real }",
        "(a, b: [k, m], c) { reshape(matmul(a, b) + c) {shape = s} => gemm(reshape(a) {shape = [s[0], k]}, b, c) where a.rank > 2, broadcasts([1, m], c) numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t, ..q}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, t[-1] == x.shape[-1] numerics bitwise }",
        "(x) { reshape(softmax(relu(reshape(x) {shape = t})) {axis = k}) {..w} => softmax(relu(x)) {axis = x.rank - 1} where k == len(t) - 1, t[k] == x.shape[x.rank - 1] numerics bitwise }",
        "(x, s) { rms_normalization(reshape(x) {shape = f}, s) {axis = k, ..r} => reshape(rms_normalization(x, s) {axis = x.rank - 1, ..r}) {shape = f} where k == len(f) - 1, f[k] == x.shape[x.rank - 1], s.rank <= 1 numerics real }",
        "(x, c) { reshape(x) {shape = s} * c => reshape(x * c) {shape = s} where c.rank <= 1, s[-1] == x.shape[-1] numerics bitwise }",
        // In both cases.
        "(x, c) { reshape(x) {shape = s} * c => reshape(x * c) {shape = s} where c.rank <= 1, c.size == 1 or s[-1] == x.shape[-1] numerics bitwise }",
        "(x, c) { reshape(x) {shape = s} * c => reshape(x * c) {shape = s} where c.size == 1 numerics bitwise }",
    ] {
        assert!(is_one_term(text), "{text}");
    }
}

#[test]
fn rows_that_are_told_apart_are_not_joined() {
    for text in [
        // Another matrix; matrices of a batch; a matrix on the other side.
        "(a, b: [k, m]) { reshape(matmul(reshape(a) {..q}, b)) {..w} => matmul(a, b + b) numerics real }",
        "(a, b) { reshape(matmul(reshape(a) {..q}, b)) {..w} => matmul(a, b) numerics real }",
        "(a, b: [m, k]) { reshape(matmul(b, reshape(a) {..q})) {..w} => matmul(b, a) numerics real }",
        "(a, b: [k, m]) { reshape(matmul(reshape(a) {..q}, b)) {..w} => matmul(a, transpose(b) {perm = [1, 0]}) numerics real }",
        "(a) { reshape(softmax(reshape(a) {..q}) {axis = -1}) {..w} => softmax(a) {axis = -1} numerics real }",
        // The matrix is the value itself.
        "(a: [k, k]) { reshape(matmul(reshape(a) {..q}, a)) {..w} => matmul(a, a) numerics real }",
        // Along another axis, or along several.
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = 0}) {..w} => softmax(x) {axis = 0} where t[-1] == x.shape[-1] numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 2} where k == len(t) - 2, t[-1] == x.shape[-1], x.rank > 1 numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where t[-1] == x.shape[-1] numerics real }",
        "(x) { reshape(x) {shape = t} - reduce_max(reshape(x) {shape = t}) {axes = [0, len(t) - 1], keepdims = true} => reshape(x - reduce_max(x) {axes = [0, x.rank - 1], keepdims = true}) {shape = t} where t[-1] == x.shape[-1] numerics real }",
        // Rows of another length: another entry, another value, no equation.
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, t[0] == x.shape[0] numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, t[-2] == x.shape[-2] numerics real }",
        "(x, y) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} + y => softmax(x) {axis = x.rank - 1} + y where k == len(t) - 1, t[-1] == y.shape[-1] numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, t[-1] != x.shape[-1] numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, t[-1] <= x.shape[-1] numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, t[-1] == x.shape[-1] or t[0] == x.shape[0] numerics real }",
        "(x) { reshape(softmax(reshape(x) {shape = t}) {axis = k}) {..w} => softmax(x) {axis = x.rank - 1} where k == len(t) - 1, (t[-1] == x.shape[-1]) == false numerics real }",
        // An operand with several rows, such as the scale of a normalization that one axis of the value has, too.
        "(x, s) { rms_normalization(reshape(x) {shape = f}, s) {axis = k, ..r} => reshape(rms_normalization(x, s) {axis = x.rank - 1, ..r}) {shape = f} where k == len(f) - 1, f[k] == x.shape[x.rank - 1] numerics real }",
        "(x, c) { reshape(x) {shape = s} * c => reshape(x * c) {shape = s} where c.rank <= 2, s[-1] == x.shape[-1] numerics real }",
        "(x, c) { reshape(x) {shape = s} * c => reshape(x * c) {shape = s} where s[-1] == x.shape[-1] numerics real }",
        "(a, b: [k, m], c) { reshape(gemm(reshape(a) {..q}, b, c)) {..w} => matmul(a, b) + c numerics real }",
        "(a, b: [k, m], c) { reshape(matmul(a, b) + c) {shape = s} => gemm(reshape(a) {shape = [s[0], k]}, b, c) where a.rank > 2, broadcasts([k, m], c) numerics real }",
        "(a, b: [k, m], c) { reshape(matmul(a, b) + c) {shape = s} => gemm(reshape(a) {shape = [s[0], k]}, b, c) where a.rank > 0, broadcasts([1, m], c) numerics real }",
        // Only one of the cases is right.
        "(x, c) { reshape(x) {shape = s} * c => reshape(x * c) {shape = s} where c.rank <= 1, c.size == 2 or s[-1] == x.shape[-1] numerics real }",
        "(x, c) { reshape(x) {shape = s} * c => reshape(x * c) {shape = s} where c.rank <= 1, c.size == 1 or s[0] == x.shape[0] numerics real }",
        "(x, c) { softmax(reshape(x) {shape = s} * c) {axis = -1} => reshape(softmax(x * c) {axis = -1}) {shape = s} where c.size == 1 numerics real }",
        // Two views, and a view beside the value.
        "(x) { softmax(reshape(x) {shape = s} + reshape(x) {shape = t}) {axis = -1} => softmax(x + x) {axis = -1} where s[-1] == x.shape[-1], t[-1] == x.shape[-1] numerics real }",
        "(x) { reshape(x) {shape = s} + x => reshape(x + x) {shape = s} where s[-1] == x.shape[-1] numerics real }",
        "(x) { reshape(x) {shape = s} + reduce_max(x) {axes = [0], keepdims = false} => reshape(x + reduce_max(x) {axes = [0], keepdims = false}) {shape = s} where s[-1] == x.shape[-1], x.rank <= 2 numerics real }",
        // Other factors, and a first operand that is transposed.
        "(a, b: [k, m], c) { reshape(gemm(reshape(a) {..q}, b, c) {alpha = 2.0}) {..w} => matmul(a, b) + c where c.rank <= 1 numerics real }",
        "(a, b: [k, m], c) { reshape(gemm(reshape(a) {..q}, b, c) {beta = t}) {..w} => matmul(a, b) + c where c.rank <= 1 numerics real }",
        "(a, b: [k, m], c) { reshape(gemm(reshape(a) {..q}, b, c) {transA = true}) {..w} => matmul(a, b) + c where c.rank <= 1 numerics real }",
        "(a, b: [k, m], c) { reshape(gemm(reshape(a) {..q}, b, c) {transB = t}) {..w} => matmul(a, b) + c where c.rank <= 1 numerics real }",
        "(a, b: [k, m], c) { reshape(gemm(reshape(a) {..q}, b, c)) {..w} => matmul(a, b) + c where c.rank <= 1 numerics bitwise }",
        // A branch that asks for the axes of the view.
        "(x) { let y = softmax(reshape(x) {shape = t}) {axis = -1}; reshape(y) {..w} => let z = softmax(reshape(x) {shape = t}) {axis = -1}; when z.rank == 2 { softmax(x) {axis = -1} } else { z } where t[-1] == x.shape[-1] numerics real }",
    ] {
        assert!(!is_one_term(text), "{text}");
    }
}
