//! Instances at which a target may fail alone.
//!
//! Integer division fails where a divisor is zero. A target that divides more than its source does, such as elements
//! that are sliced away later, or one number that is then expanded to no elements, fails where the source has a value.
//! That takes integers, a dividing operator and mostly an empty tensor at once, which mutations seldom find together.

use super::search::Search;
use crate::compare::finding::WrongInstance;
use crate::instance::mutate::{Place, with_each_operator};
use crate::instance::probe;
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use tautomer_graph::Graph;
use tautomer_op::{Op, OpDef, OpTraits};

/// Instances of which integer versions are tried: those with an empty tensor, and others.
const EMPTY: usize = 24;
const FULL: usize = 8;

impl Search<'_> {
    /// Tries integer versions of instances, with every operator that may fail.
    pub(super) fn try_failures(&mut self, random: &mut Random) -> Option<WrongInstance> {
        if !self.may_fail() {
            return None;
        }
        let mut bases: Vec<Recipe> = self.bases().into_iter().map(|i| self.pool[i].clone()).collect();
        let emptied: Vec<Recipe> = bases.iter().flat_map(emptied).collect();
        bases.extend(emptied);
        bases.extend(self.agreeing().cloned());
        let (mut empty, mut full) = (EMPTY, FULL);
        for base in bases {
            let Some(sides) = base.sides(self.trial) else { continue };
            let left = if has_empty(&sides.graph) { &mut empty } else { &mut full };
            if *left == 0 {
                continue;
            }
            *left -= 1;
            let mut versions = vec![base.clone()];
            let others = with_each_operator(&base, self.rule).into_iter();
            versions.extend(others.filter_map(|(_, other)| calls_partial(&other).then_some(other)));
            for version in versions {
                let fits = |recipe: &Recipe| recipe.sides(self.trial).is_some_and(|sides| sides.types_agree());
                let integers = probe::with_integer_types(&version).filter(fits);
                for next in [Some(version), integers].into_iter().flatten() {
                    if let Some(found) = self.attempt(next, random) {
                        return Some(found);
                    }
                }
            }
        }
        None
    }

    /// Whether a call of the rule may fail for some integers.
    fn may_fail(&self) -> bool {
        let mut choices = self.rule.operators.iter().flat_map(|variable| &variable.choices);
        let sides = self.agreeing().next().and_then(|recipe| recipe.sides(self.trial));
        choices.any(|def| is_partial(def)) || sides.is_some_and(|sides| graph_is_partial(&sides.graph))
    }
}

fn is_partial(def: &OpDef) -> bool {
    def.traits.contains(OpTraits::PARTIAL)
}

fn graph_is_partial(graph: &Graph) -> bool {
    graph
        .ids()
        .any(|v| matches!(graph.vertex(v).op(), Some(Op::Known(def)) if is_partial(def)))
}

fn calls_partial(recipe: &Recipe) -> bool {
    recipe.build().is_ok_and(|(graph, _)| graph_is_partial(&graph))
}

/// True if some tensor has no elements.
fn has_empty(graph: &Graph) -> bool {
    graph.ids().any(|v| {
        let mut is_empty = false;
        graph.ty(v).visit_dims(&mut |d| is_empty |= d.as_const() == Some(0));
        is_empty
    })
}

/// The recipe with an integer zero, for each of its integers, and others that are tied to it zero as well: attributes of
/// that value, or all that have it.
fn emptied(recipe: &Recipe) -> Vec<Recipe> {
    let integers = recipe.integers();
    let mut out = Vec::new();
    for &(place, value) in integers.iter().filter(|(_, value)| *value > 0) {
        let with = |is_tied: &dyn Fn(Place) -> bool| {
            let mut next = recipe.clone();
            let tied = integers
                .iter()
                .filter(|(p, v)| *v == value && (*p == place || is_tied(*p)));
            tied.for_each(|(p, _)| next.set(*p, 0));
            next
        };
        out.extend([
            with(&|_| false),
            with(&|p| matches!(p, Place::Attr(..))),
            with(&|_| true),
        ]);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::rule::verify;
    use crate::verdict::options::Options;
    use crate::verdict::report::{Report, Verdict};
    use tautomer_diag::Source;
    use tautomer_lang::parse_rules;
    use tautomer_rule::load_rules;

    fn report_of(text: &str, seed: u64) -> Report {
        let parsed = parse_rules(Arc::new(Source::new("test.rules", text)));
        let set = parsed.and_then(load_rules).expect("the rule is well formed");
        let options = Options {
            seed,
            ..Options::default()
        };
        verify(&set.rules[0], &set.examples, &options)
    }

    fn is_refuted(text: &str) -> bool {
        (0..3).all(|seed| matches!(report_of(text, seed).verdict, Verdict::Refuted(_)))
    }

    #[test]
    fn a_target_that_divides_more_is_wrong() {
        assert!(is_refuted(
            "rule sliced(x, y, z) {
              slice(concat(x, y) {axis = 0}) {starts = [0], ends = [n], axes = [0]} % z
              => slice(concat(x % z, y % z) {axis = 0}) {starts = [0], ends = [n], axes = [0]}
              where x.rank > 0, n == x.shape[0], z.rank == 0
              numerics bitwise
            }"
        ));
        for operands in ["x, expand(c) {shape = s}", "expand(c) {shape = s}, x"] {
            let bare = operands.replace("expand(c) {shape = s}", "c");
            assert!(is_refuted(&format!(
                "rule expanded(x, c) {{
                  for f in binary elementwise:
                  let y = f({operands}) {{..a}};
                  y => expand(f({bare}) {{..a}}) {{shape = y.shape}}
                  where c.rank == 0
                  numerics bitwise
                }}"
            )));
        }
    }

    #[test]
    fn a_target_that_divides_what_the_source_divides_is_right() {
        for text in [
            "rule swapped(x, y) { transpose(x) % transpose(y) => transpose(x % y) where x.rank == y.rank numerics bitwise }",
            "rule total(x, c) {
              for f in add sub mul:
              let y = f(x, expand(c) {shape = s}) {..a};
              y => expand(f(x, c) {..a}) {shape = y.shape}
              where c.rank == 0
              numerics bitwise
            }",
        ] {
            let report = report_of(text, 0);
            let is_proved = matches!(report.verdict, Verdict::ProvedForAll(_) | Verdict::ProvedFor(_));
            assert!(is_proved, "{text}: {}", report.verdict);
        }
    }
}
