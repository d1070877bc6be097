//! Rules with any number of members: which are proved, and which wrong ones are not.

use std::sync::Arc;

use crate::rule::verify;
use crate::verdict::options::Options;
use crate::verdict::report::Verdict;
use tautomer_diag::Source;
use tautomer_lang::parse_rules;
use tautomer_rule::load_checked_rules;

fn verdict_of(text: &str) -> Verdict {
    let text = format!("/// A rule.\nrule {text}");
    let set = load_checked_rules(parse_rules(Arc::new(Source::new("test.rules", &text))).unwrap()).unwrap();
    verify(&set.rules[0], &set.examples, &Options::default()).verdict
}

#[test]
fn two_members_and_three_stand_for_any_number() {
    for text in [
        "r(x, w[i]: param, b[i]: param) { gemm(x, w[i], b[i]) {transB = true, ..r} for i in 0..n => let y = split(gemm(x, concat(w[i] for i in 0..n) {axis = 0}, concat(b[i] for i in 0..n) {axis = 0}) {transB = true, ..r}) {axis = 1, sizes = [w[i].shape[0] for i in 0..n]}; y.i for i in 0..n where n > 1, all(b[i].rank == 1 for i in 0..n), all(b[i].shape[0] == w[i].shape[0] for i in 0..n) numerics real }",
        "r(x, w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 1})) {axis = x.rank - 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where n >= 2, all(w[i].rank == 2 for i in 0..n) numerics real }",
    ] {
        let verdict = verdict_of(text);
        assert!(matches!(verdict, Verdict::ProvedForAll(_)), "{text}: {verdict}");
    }
}

#[test]
fn members_that_are_treated_in_another_way_are_only_sampled() {
    for text in [
        // Wrong, or something else, for one number of members.
        "r(x: f32[..], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(when n == 5 { relu(matmul(x, concat(w[i] for i in 0..n) {axis = 1})) } else { matmul(x, concat(w[i] for i in 0..n) {axis = 1}) }) {axis = x.rank - 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where n > 1, all(w[i].rank == 2 for i in 0..n) numerics real }",
        "r(x: f32[..], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 1}) * max(1.0, n - 4.0)) {axis = 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where n > 1, x.rank == 2, all(w[i].rank == 2 for i in 0..n) numerics real }",
        // With one member, nothing is shown.
        "r(x: f32[m, k], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 1})) {axis = 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where all(w[i].rank == 2 for i in 0..n) numerics real }",
        // A condition that some numbers of members, or joined members, do not meet.
        "r(x: f32[m, k], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 1})) {axis = 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where n > 3, all(w[i].rank == 2 for i in 0..n) numerics real }",
        "r(x: f32[m, k], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 1})) {axis = 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where n > 1, all(w[i].rank == 2 for i in 0..n), all(w[i].shape[1] == 1 for i in 0..n) numerics real }",
        "r(x: f32[m, k], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 1})) {axis = 1, sizes = [w[0].shape[1] for i in 0..n]}; y.i for i in 0..n where n > 1, all(w[i].rank == 2 for i in 0..n) numerics real }",
        // Vectors that may have one entry beside several columns.
        "r(x, w[i]: param, b[i]: param) { gemm(x, w[i], b[i]) {transB = false, ..r} for i in 0..n => let y = split(gemm(x, concat(w[i] for i in 0..n) {axis = 1}, concat(b[i] for i in 0..n) {axis = 0}) {transB = false, ..r}) {axis = 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where n > 1, all(b[i].rank == 1 for i in 0..n) numerics real }",
        // Groups of channels, and the first member in place of each.
        "r(x, w[i]: param) { conv(x, w[i]) {..a} for i in 0..n => let y = split(conv(x, concat(w[i] for i in 0..n) {axis = 0}) {..a}) {axis = 1, sizes = [w[i].shape[0] for i in 0..n]}; y.i for i in 0..n where n > 1, all(w[i].shape[1..] == w[0].shape[1..] for i in 0..n) numerics real }",
        "r(x: f32[m, k], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 1}) + 0.0 * matmul(x, w[0])) {axis = 1, sizes = [w[i].shape[1] for i in 0..n]}; y.i for i in 0..n where n > 1, all(w[i].rank == 2 for i in 0..n), all(w[i].shape[0..] == w[0].shape[0..] for i in 0..n) numerics real }",
        // Joined along another axis than the one that is split.
        "r(x: f32[k, k], w[i]: param) { matmul(x, w[i]) for i in 0..n => let y = split(matmul(x, concat(w[i] for i in 0..n) {axis = 0})) {axis = 1, sizes = [w[i].shape[0] for i in 0..n]}; y.i for i in 0..n where n > 1, all(w[i].rank == 2 for i in 0..n) numerics real }",
    ] {
        let verdict = verdict_of(text);
        assert!(!matches!(verdict, Verdict::ProvedForAll(_)), "{text}: {verdict}");
    }
}
