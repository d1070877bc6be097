//! Element types of operands and attributes, all of them.

use super::verdict_of;
use crate::Verdict;

#[test]
fn all_element_types_of_attributes_are_tried() {
    for text in [
        "r(x) { cast(x) {..r, to = t} => x where x.dtype == t numerics bitwise }",
        "r(x) { cast(cast(x) {..r, to = t}) {..r, to = t} => cast(x) {..r, to = t} numerics bitwise }",
    ] {
        let (verdict, why) = verdict_of(&format!("/// Right.\nrule {text}"));
        assert!(
            matches!(verdict, Verdict::ProvedForAll(_)),
            "{text}: {verdict}, {}",
            why.unwrap_or_default()
        );
    }
    for text in [
        // Integers of one size hold other numbers.
        "r(x) { cast(cast(x) {..r, to = t}) {..s, to = u} => x where u == x.dtype, t == f64, u == f32 or u == i64 numerics bitwise }",
        "r(x) { cast(cast(x) {..r, to = t}) {..s, to = u} => cast(x) {to = u} where x.dtype == f32, t == f64 or t == u4, u == f64 numerics bitwise }",
        "r(x) { cast(x) {..r, to = t} => x where x.dtype == t, x.rank > 1 or t != f8e5m2 numerics bitwise }",
    ] {
        let (verdict, _) = verdict_of(&format!("/// Wrong, or not known.\nrule {text}"));
        assert!(!matches!(verdict, Verdict::ProvedForAll(_)), "{text}: {verdict}");
    }
}
