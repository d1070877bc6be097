//! Element types of operands and attributes, all of them.

use super::{are_not_proved, are_proved, verdict_of};
use crate::Verdict;

#[test]
fn all_element_types_of_attributes_are_tried() {
    are_proved(&[
        "r(x) { cast(x) {..r, to = t} => x where x.dtype == t numerics bitwise }",
        "r(x) { cast(cast(x) {..r, to = t}) {..r, to = t} => cast(x) {..r, to = t} numerics bitwise }",
    ]);
    are_not_proved(&[
        // Integers of one size hold other numbers.
        "r(x) { cast(cast(x) {..r, to = t}) {..s, to = u} => x where u == x.dtype, t == f64, u == f32 or u == i64 numerics bitwise }",
        "r(x) { cast(cast(x) {..r, to = t}) {..s, to = u} => cast(x) {to = u} where x.dtype == f32, t == f64 or t == u4, u == f64 numerics bitwise }",
        "r(x) { cast(x) {..r, to = t} => x where x.dtype == t, x.rank > 1 or t != f8e5m2 numerics bitwise }",
    ]);
}

/// Each element type is tried, at some of the ranks, and some of the axes.
#[test]
fn all_element_types_are_not_all_beside_all_ranks_and_axes() {
    for text in [
        "r(x, y) { relu(x) + relu(y) => when x.dtype == bf16 and x.rank > 3 { relu(x) } else { relu(x) + relu(y) } numerics real }",
        "r(x) { relu(transpose(x) {perm = p}) => when x.dtype == bf16 and p == [1, 2, 0, 3] { transpose(x) {perm = p} } else { transpose(relu(x)) {perm = p} } numerics real }",
    ] {
        let (verdict, _) = verdict_of(&format!("/// Wrong.\nrule {text}"));
        if let Verdict::ProvedFor(coverage) = &verdict {
            assert!(
                coverage.ledger.to_string().contains("element types"),
                "{text}: {verdict}"
            );
        }
        assert!(!matches!(verdict, Verdict::ProvedForAll(_)), "{text}: {verdict}");
    }
    for text in [
        "r(x, y) { relu(x) + relu(y) => relu(y) + relu(x) where x.dtype in [f32, u16], x.rank > 2 numerics real }",
        "r(x, y) { relu(x) + y => when x.dtype == f64 { y + relu(x) } else { relu(x) + y } where x.rank == 2 numerics real }",
    ] {
        let (verdict, _) = verdict_of(&format!("/// Right.\nrule {text}"));
        let (Verdict::ProvedFor(coverage) | Verdict::ProvedForAll(coverage)) = &verdict else {
            panic!("{text}: {verdict}");
        };
        assert!(
            !coverage.ledger.to_string().contains("element types"),
            "{text}: {verdict}"
        );
    }
}
