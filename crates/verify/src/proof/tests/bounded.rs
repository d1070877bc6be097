//! Rules at a few ranks alone, shapes to broadcast with, and conditions that are assumed.

use super::{are_not_proved, are_proved, verdict_of};
use crate::Verdict;

/// The operators of some rules, and their conditions, bound all ranks; those are all tried.
#[test]
fn rules_that_apply_at_a_few_ranks_alone_are_proved() {
    are_proved(&[
        "r(a, b, c) { let y = gemm(a, b) {beta = 1, ..r}; y + c => gemm(a, b, c) {beta = 1.0, ..r} where broadcasts(y.shape, c) numerics real }",
        "r(x, y, s: param) { rms_normalization(x + y, s) {axis = k, epsilon = e, ..r} => rms_normalization(y + x, s) {axis = x.rank - 1, epsilon = e} where k == x.rank - 1, x.rank in [2, 3], y.shape == x.shape or (x.rank == 3 and y.shape == x.shape[1..]), x.dtype == f32 numerics real }",
        "r(q: [b, s, d], k: [b, d, t], c: const) { matmul(q, k) * c => matmul(q * reshape(c) {shape = []}, k) where c.size == 1, q.dtype == f32 numerics real }",
        "r(x: [n, c, h, w], e: const) { let d = x - reduce_mean(x) {axes = [1], keepdims = true}; d / sqrt(reduce_mean(d * d) {axes = [1], keepdims = true} + e) => transpose(layer_normalization(transpose(x) {perm = [0, 2, 3, 1]}, cast(constant_of_shape() {shape = [c], value = 1.0}) {to = x.dtype}) {axis = 3, epsilon = value(e)}) {perm = [0, 3, 1, 2]} where e.size == 1, x.dtype in [f16, bf16, f32] numerics real }",
    ]);
    are_not_proved(&[
        // `beta` may be another number than 1.
        "r(a: f32[..], b, c) { let y = gemm(a, b, c) {..r}; y + c => gemm(a, b, c * 2) {..r} where broadcasts(y.shape, c) numerics real }",
        // Wrong at the larger of two ranks, or of three, or along an axis that few instances name.
        "r(x: f32[..], y) { x + y => when x.rank == 3 { x - y } else { y + x } where x.rank in [2, 3], y.shape == x.shape numerics real }",
        "r(x: f32[..], y) { x + y => when y.rank < 2 and x.rank == 3 { x } else { y + x } where x.rank in [2, 3], y.shape == x.shape or x.rank == 3 and y.rank == 1 numerics real }",
        "r(x: f32[..], s: param) { rms_normalization(x, s) {axis = k, ..r} => when k == 3 { x } else { rms_normalization(x, s) {axis = k, ..r} } where x.rank in [2, 3, 4] numerics real }",
        // The scale may be of rank 2, with other elements along the axis that is kept.
        "r(x: f32[..], s: param) { rms_normalization(x, s) {axis = 0, epsilon = e, ..r} => rms_normalization(x, slice(s) {starts = [0], ends = [1], axes = [0]}) {axis = 0, epsilon = e, ..r} where x.rank == 2, s.rank == 2 numerics real }",
        // The element type in which it computes decides.
        "r(x: f32[..], s: param) { rms_normalization(x, s) {axis = k, epsilon = e, stash_type = t} => when t == f64 { x } else { rms_normalization(x, s) {axis = k, epsilon = e} } where x.rank in [2, 3], k == x.rank - 1 numerics real }",
        // A rank that is seen in a product alone.
        "r(x: f32[..], s: param) { let y = x * s; relu(y) => when y.rank == 7 { y } else { relu(y) } where x.rank == 2, y.rank == 7 or y.rank < 3 numerics bitwise }",
        "r(x: [n, c], e: const) { let y = x * e; relu(y) => when y.rank == 7 { y } else { relu(y) } where e.size == 1, y.rank == 7 or y.rank == 2, x.dtype == f32 numerics bitwise }",
        // The rank of the number is not bounded by a condition, and the target leaves out its axes.
        "r(x: f32[..], c: const) { x * c => x * value(c) where c.size == 1, x.rank > 6 or c.rank < 9 and x.rank == 2 and c.rank != 2, value(c) > 0 numerics bitwise }",
    ]);
}

/// An entry of a shape to broadcast with is the dimension of an axis, at any rank.
#[test]
fn shapes_to_broadcast_with_stand_for_all() {
    are_proved(&[
        "r(x, y) { x - expand(y) {shape = s} => x - y where broadcasts(x, s), x.dtype == f32 numerics bitwise }",
        "r(p, x, y) { where(expand(p) {shape = s}, x, y) => where(p, x, y) where broadcasts(x, s) or broadcasts(y, s) numerics bitwise }",
    ]);
    are_not_proved(&[
        "r(x: f32[..], y) { x - expand(y) {shape = s} => x - y numerics bitwise }",
        "r(x: f32[..], y) { x - expand(y) {shape = s} => x - y where broadcasts(s, x) numerics bitwise }",
        "r(x: f32[..], y) { x - expand(y) {shape = s} => when len(s) > 4 { x } else { x - y } where broadcasts(x, s) numerics bitwise }",
        "r(x: f32[..], y) { x - expand(y) {shape = s} => when all(d > 0 for d in s) { x - y } else { x } where broadcasts(x, s), x.rank == 0 or x.shape[0] != 0 numerics bitwise }",
        // Of `reshape`, 0 and -1 in the list mean something else.
        "r(x: f32[..], y) { x - reshape(y) {shape = s} => x - y where broadcasts(x, s) numerics bitwise }",
    ]);
}

/// What is assumed of the variables of one match does not hide another match of the same graph.
#[test]
fn conditions_are_assumed_of_the_match_that_they_are_about() {
    are_not_proved(&[
        // True where the first operand is the smaller one, and wrong where the operands are exchanged.
        "r(x: f32[..], y: f32[..]) { x + y => x + x where x.shape == y.shape numerics real }",
        "r(x: f32[..], y: f32[..]) { x * y => y * x + (x - x) * 0 where x.rank == 1, y.rank == 2 or y.shape[0] == 1 and y.rank == 1 and x.shape[0] == 2 numerics bitwise }",
        "r(x: f32[..], y: f32[..]) { max(x, y) => y where x.shape == y.shape or x.rank == 0 and y.rank == 1 numerics bitwise }",
        "r(x: [n, n], y: [n, m]) { matmul(x, y) => matmul(transpose(x) {perm = [1, 0]}, y) where x.dtype == f32 numerics real }",
        "r(x: f32[..], y: f32[..]) { x - y => when x.shape == y.shape { x - y } else { x } where x.rank == y.rank, x.rank == 2, x.shape[0] == y.shape[0] numerics bitwise }",
    ]);
    for text in [
        "r(x, y) { x + y => y + x where x.shape == y.shape or x.rank == 2 and y.rank == 1 numerics bitwise }",
        "r(x: [n, m], y: [m, n]) { x + transpose(y) {perm = [1, 0]} => transpose(transpose(x) {perm = [1, 0]} + y) {perm = [1, 0]} numerics bitwise }",
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule {text}"));
        assert!(
            matches!(verdict, Verdict::ProvedForAll(_) | Verdict::ProvedFor(_)),
            "{text}: {verdict}, {}",
            why.unwrap_or_default()
        );
    }
}
