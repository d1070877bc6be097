//! Matches by each combination of the alternatives of a source.
//!
//! An instance is compared at its first match, but engines apply all of them. One place may match by several
//! alternatives, each of which binds the variables in its own way: `(x - y) | (y - x)`.

use std::sync::Arc;

use super::search::Search;
use crate::compare::finding::WrongInstance;
use crate::instance::combine::combinations;
use crate::instance::random::Random;
use crate::verdict::options::Options;
use tautomer_rewrite::Trial;
use tautomer_rule::Rule;

/// The number of instances that are matched by each combination.
const INSTANCES: usize = 40;

impl Search<'_> {
    /// An instance that is wrong at a match by one combination of alternatives, with the rule that has those alone.
    pub(super) fn try_alternatives(&self, options: &Options) -> Option<(Arc<Rule>, WrongInstance)> {
        let all = combinations(&self.rule.source)?;
        if all.len() < 2 {
            return None;
        }
        // A generator of its own, so that the number of draws here does not change the rest of the search.
        let mut random = Random::part(options.seed, "alternatives");
        for choice in all {
            let mut rule = Rule::clone(self.rule);
            rule.source.choose(&choice);
            let rule = Arc::new(rule);
            let trial = Trial::new(rule.clone());
            let mut own = Search::new(&rule, &trial, options);
            let mut instances = self.agreeing().take(INSTANCES).cloned();
            if let Some(found) = instances.find_map(|recipe| own.attempt(recipe, &mut random)) {
                return Some((rule, found));
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
        ] {
            assert!(!is_refuted(right), "{right}");
        }
        for wrong in [
            "/// Exchanges operands.\nrule r(x, y) { (x - y) | (y - x) => x - y numerics real }",
            "/// Also where only an operand has alternatives.\nrule r(x, y) { relu((x - y) | (y - x)) => relu(x - y) numerics real }",
            "/// One of three.\nrule r(x, y, z) { (where(x, y, z)) | (where(z, y, x)) | (where(x, z, y)) => where(x, y, z) where x.dtype == bool, y.dtype == bool, z.dtype == bool numerics bitwise }",
        ] {
            assert!(is_refuted(wrong), "{wrong}");
        }
    }
}
