//! All matches of an instance.
//!
//! The search compares an instance at its first match, but engines apply every match. One place may match by several
//! alternatives, or with several numbers of members, and each match binds the variables in its own way:
//! `(x - y) | (y - x)`.

use super::search::Search;
use crate::compare::finding::{Finding, WrongInstance};
use crate::instance::random::Random;
use crate::verdict::options::Options;
use tautomer_rule::{Count, PatternNode};

/// The number of instances all of whose matches are compared, and of matches of each.
const INSTANCES: usize = 60;
const MATCHES: usize = 16;

impl Search<'_> {
    /// Compares the sides at all matches of the instances at which they agree.
    pub(super) fn try_matches(&mut self, options: &Options) -> Option<WrongInstance> {
        let source = &self.rule.source;
        let has_alternatives = source.nodes().any(|(_, node)| matches!(node, PatternNode::AnyOf(_)));
        let open = source.families.iter().filter(|f| matches!(f.count, Count::Bind(_)));
        if !has_alternatives && open.count() < 2 {
            return None;
        }
        // A generator of its own, so that the number of draws here does not change the rest of the search.
        let mut random = Random::part(options.seed, "matches");
        let recipes: Vec<_> = self.agreeing().take(INSTANCES).cloned().collect();
        for recipe in recipes {
            for sides in recipe.all_sides(self.trial, MATCHES).into_iter().skip(1) {
                if let Finding::Mismatch(mismatch) = self.comparer.compare(self.rule, &sides, &mut random) {
                    return Some(WrongInstance {
                        recipe,
                        sides,
                        mismatch,
                    });
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::rule::verify;
    use crate::verdict::options::Options;
    use crate::verdict::report::Verdict;
    use tautomer_diag::Source;
    use tautomer_lang::parse_rules;
    use tautomer_rule::load_rules;

    fn is_refuted(text: &str) -> bool {
        let parsed = parse_rules(Arc::new(Source::new("test.rules", text))).unwrap();
        let set = load_rules(parsed).unwrap();
        matches!(
            verify(&set.rules[0], &set.examples, &Options::default()).verdict,
            Verdict::Refuted(_)
        )
    }

    #[test]
    fn all_matches_of_a_place_are_compared() {
        for right in [
            "/// Right.\nrule r(x, y) { (x + y) | (y + x) => x + y numerics real }",
            "/// Right.\nrule r(x, y) { (x - y) | neg(y - x) => x - y numerics real }",
            "/// Right.\nrule r(x[i], y, z[j]) { sum(x[i] for i in 0..n, y, z[j] for j in 0..m) => sum(y, x[i] for i in 0..n, z[j] for j in 0..m) numerics real }",
        ] {
            assert!(!is_refuted(right), "{right}");
        }
        for wrong in [
            "/// Exchanges operands.\nrule r(x, y) { (x - y) | (y - x) => x - y numerics real }",
            "/// Also where only an operand has alternatives.\nrule r(x, y) { relu((x - y) | (y - x)) => relu(x - y) numerics real }",
            "/// One of three.\nrule r(x, y, z) { (where(x, y, z)) | (where(z, y, x)) | (where(x, z, y)) => where(x, y, z) where x.dtype == bool, y.dtype == bool, z.dtype == bool numerics bitwise }",
            "/// Other operands where the second matches, which fewer instances have.\nrule r(x, b) { let u = bias_add(x, b) {axis = 0} | (x + b); relu(u) => relu(x + reshape(b) {shape = [b.size] ++ [1 for i in range(1, x.rank)]}) numerics real }",
            "/// Only right if the first list is empty.\nrule r(x[i], y, z[j]) { concat(x[i] for i in 0..n, y, z[j] for j in 0..m) {axis = 0} => concat(y, x[i] for i in 0..n, z[j] for j in 0..m) {axis = 0} numerics bitwise }",
        ] {
            assert!(is_refuted(wrong), "{wrong}");
        }
    }
}
