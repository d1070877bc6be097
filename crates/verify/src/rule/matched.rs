//! Graphs that a rule matches.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::compare::sides::{one_side, with_own_names};
use crate::instance::legalized;
use crate::instance::mutate::{RuleNumbers, mutated};
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use crate::instance::seeds::Seeds;
use tautomer_graph::{Graph, expand_composites};
use tautomer_rewrite::Trial;
use tautomer_rule::{Example, Rule};

/// Mutations tried for each instance.
const ATTEMPTS: usize = 20;

/// Up to `most` graphs that are the source of a rule, at which its conditions hold and its target has the same types;
/// the smallest first. They are those that [`verify`](super::verify) starts from and mutations of these; `examples` are
/// the examples of the rule's file.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// # use tautomer_rule::load_rules;
/// # use tautomer_verify::instances;
/// let text = "rule twice(x) { relu(relu(x)) => relu(x) where x.rank >= 2 numerics bitwise }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("my.rules", text))).unwrap()).unwrap();
/// let found = instances(&set.rules[0], &set.examples, 20);
/// assert!(found.len() == 20 && found.iter().all(|graph| graph.call_count() == 2));
/// ```
pub fn instances(rule: &Arc<Rule>, examples: &[Example], most: usize) -> Vec<Graph> {
    let trial = Trial::new(rule.clone());
    let numbers = RuleNumbers::of(rule);
    let mut random = Random::part(0, &rule.name);
    let mut seeds = Seeds::of(rule, &trial, examples);
    let mut seen = FxHashSet::default();
    // Those that inference accepts are mutated further, whether or not the rule applies to them.
    let mut pool: Vec<Recipe> = Vec::new();
    let mut found: Vec<(usize, i64, Graph)> = Vec::new();
    for _ in 0..most.saturating_mul(ATTEMPTS) {
        if found.len() >= most {
            break;
        }
        let next = match seeds.next() {
            Some(seed) => seed,
            None if pool.is_empty() => break,
            None => {
                let from = random.below(pool.len());
                legalized(mutated(&pool[from], &numbers, &mut random), &mut random)
            }
        };
        if !seen.insert(next.fingerprint()) {
            continue;
        }
        let Some(sides) = next.sides(&trial) else { continue };
        let graph = one_side(&with_own_names(&sides.graph), &sides.source);
        // Inference may accept attributes for which the body of an operator has no types.
        let is_computable = expand_composites(&mut graph.clone(), &|_| true).is_ok();
        if sides.types_agree() && is_computable {
            let shapes = (0..next.steps.len()).filter_map(|step| next.shape(step));
            let elements = shapes.map(|shape| shape.iter().product::<i64>()).sum();
            found.push((graph.call_count(), elements, graph));
        }
        pool.push(next);
    }
    found.sort_by_key(|&(calls, elements, _)| (calls, elements));
    found.into_iter().map(|(_, _, graph)| graph).collect()
}
