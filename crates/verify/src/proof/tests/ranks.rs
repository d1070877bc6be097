//! Ranks that suffice, where the text of a rule says more about ranks, and where it has alternatives.

use super::{are_not_proved, are_proved, verdict_of};
use crate::Verdict;

/// Whether two ranks are on the same side of a number stays as it is if enough axes stay.
#[test]
fn truths_about_ranks_that_are_equal_stay_equal() {
    are_proved(&[
        "r(x: f32[..], y: f32[..], z: f32[..]) { matmul(x, y) + matmul(z, y) => matmul(x + z, y) where y.rank <= 2 || (x.rank == 1) == (z.rank == 1) numerics real }",
    ]);
    are_not_proved(&[
        "r(x: f32[..], y: f32[..], z: f32[..]) { matmul(x, y) + matmul(z, y) => matmul(x + z, y) where y.rank <= 2 || (x.rank == 2) == (z.rank == 2) numerics real }",
        "r(x: f32[..], y: f32[..]) { x + y => when x.rank == 4 { x - y } else { x + y } where (x.rank == 4) == (y.rank == 4), x.shape == y.shape numerics real }",
        "r(x: f32[..], y: f32[..]) { x + y => x - y where (x.rank > 6) == (y.rank < 3), x.rank > 6 numerics real }",
    ]);
}

/// A condition on each listed axis, whichever are listed.
#[test]
fn conditions_on_listed_axes_cover_all_ranks() {
    are_proved(&[
        "r(x: f32[..]) { reduce_sum(x) {axes = k, keepdims = true, ..r} => x where all(x.shape[i] == 1 for i in k) numerics real }",
        "r(x: f32[..]) { (reduce_max(x) {axes = k, keepdims = true, ..r}) | (reduce_min(x) {axes = k, keepdims = true, ..r}) | (reduce_prod(x) {axes = k, keepdims = true, ..r}) => x where all(x.shape[i] == 1 for i in k) numerics real }",
    ]);
    are_not_proved(&[
        // Each of two axes of dimension 2, or none of dimension 1.
        "r(x: f32[..]) { reduce_mean(x) {axes = k, keepdims = true, ..r} => reduce_sum(x) {axes = k, keepdims = true, ..r} * 0.5 where len(k) > 0, all(x.shape[i] == 2 for i in k) numerics real }",
        "r(x: f32[..]) { reduce_sum(x) {axes = k, keepdims = true, ..r} => x where all(x.shape[i] != 1 for i in k) numerics real }",
        "r(x: f32[..]) { reduce_sum(x) {axes = k, keepdims = true, ..r} => when len(k) == 4 { x + 1 } else { x } where all(x.shape[i] == 1 for i in k) numerics real }",
        // One alternative of several is wrong, and one combination of two of each.
        "r(x: f32[..]) { (reduce_max(x) {axes = k, keepdims = true, ..r}) | (reduce_min(x) {axes = k, keepdims = true, ..r}) | (reduce_sum_square(x) {axes = k, keepdims = true, ..r}) => x where all(x.shape[i] == 1 for i in k) numerics real }",
        "r(x: f32[..]) { let y = (abs(x) | neg(x)); (abs(y) | y) => abs(x) numerics real }",
        // An alternative that fixes ranks says nothing about the other one.
        "r(x: f32[..], y: f32[..]) { gemm(x, y) | matmul(x, y) => when x.rank == 5 { x } else { matmul(x, y) } numerics real }",
    ]);
}

/// A tensor of one element as a scalar, whatever its rank.
#[test]
fn one_element_of_any_rank_is_a_scalar() {
    are_proved(&[
        "r(x: f32[..], w: f32[..], c: f32[..]) { matmul(x * c, w) => matmul(x, w * reshape(c) {shape = []}) where c.size == 1, c.rank <= x.rank numerics real }",
    ]);
    are_not_proved(&[
        // It may add axes.
        "r(x: f32[..], w: f32[..], c: f32[..]) { relu(matmul(x * c, w)) => relu(matmul(x, w * reshape(c) {shape = []})) + 0 * reduce_sum(x) where c.size == 1, c.rank >= 3 numerics real }",
        "r(x: f32[..], c: f32[..]) { x * c => when c.rank == 5 { x } else { x * reshape(c) {shape = []} } where c.size == 1, c.rank <= x.rank numerics real }",
        "r(x: f32[..], c: f32[..]) { x * c => x * reshape(slice(c) {starts = [0], ends = [1], axes = [0]}) {shape = []} where c.rank == 1, c.rank <= x.rank numerics real }",
    ]);
}

/// A number that is written matches a constant with any number of axes, also more than the variables have.
#[test]
fn numbers_that_are_written_have_any_rank() {
    are_proved(&[
        "r(x: f32[a, b]) { transpose(x * 2) {perm = [1, 0]} => transpose(x) {perm = [1, 0]} * 2 numerics real }",
    ]);
    let (verdict, _) =
        verdict_of("/// Right.\nrule r(x: f32[a, b]) { reshape(x * 2) {shape = [a, b]} => x * 2 numerics real }");
    let Verdict::ProvedFor(coverage) = &verdict else {
        panic!("{verdict}");
    };
    assert!(
        coverage.ledger.to_string().starts_with("constants of rank 0"),
        "{verdict}"
    );
}

/// Operators that a variable stands for have the axes of each of them.
#[test]
fn operators_of_a_variable_are_read_one_by_one() {
    are_not_proved(&[
        "r(x: f32[..]) { for f in softmax log_softmax: f(relu(x)) {..a} => relu(f(x) {..a}) numerics real }",
        "r(x: f32[..]) { for f in softmax log_softmax: f(x) {..a} => when x.rank == 4 { x } else { f(x) {..a} } numerics real }",
        "r(x: f32[..]) { for f in reduce_max reduce_min: f(x) {..a} => f(x) numerics real }",
        "r(x: f32[..]) { for f in relu abs: reduce_sum(f(x)) {..a} => f(reduce_sum(x) {..a}) numerics real }",
    ]);
}

/// Forms with more axes, for which there are too many cases, are those with fewer.
#[test]
fn forms_with_few_axes_stand_for_those_with_more() {
    are_proved(&[
        "r(x, y) { where(false, x, y) => y where broadcasts(y, x) numerics bitwise }",
        "r(x: f32[..]) { 0.5 * tanh(0.5 * x) + 0.5 => sigmoid(x) numerics real }",
    ]);
    are_not_proved(&[
        "r(x: f32[..], y: f32[..]) { where(false, x, y) => x where broadcasts(x, y) numerics bitwise }",
        "r(x: f32[..]) { 0.5 * tanh(0.5 * x) - 0.5 => sigmoid(x) numerics real }",
        "r(x: f32[..]) { 0.5 * tanh(0.5 * x) + 0.5 => when x.rank == 4 { x } else { sigmoid(x) } numerics real }",
    ]);
}

/// Numbers far beyond all ranks, such as the end of a slice that goes backwards.
#[test]
fn numbers_beyond_all_ranks_end_no_proof() {
    for text in [
        "r(x) { abs(abs(x)) => abs(x) where x.rank <= 9223372036854775807 numerics bitwise }",
        "r(x: f32[n]) { slice(abs(x)) {starts = [-1], ends = [-9223372036854775807], axes = [0], steps = [-1]} => abs(slice(x) {starts = [-1], ends = [-9223372036854775807], axes = [0], steps = [-1]}) numerics bitwise }",
    ] {
        let (verdict, _) = verdict_of(&format!("/// Right.\nrule {text}"));
        assert!(
            matches!(verdict, Verdict::ProvedFor(_) | Verdict::ProvedForAll(_)),
            "{text}: {verdict}"
        );
    }
}
