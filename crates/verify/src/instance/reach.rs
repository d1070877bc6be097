//! First instances of rules whose conditions random operands rarely satisfy: satisfies the conditions one at a time, by
//! mutating instances that satisfy the earlier ones.

use std::sync::Arc;

use super::legalized;
use super::mutate::{RuleNumbers, mutate_constant, mutated};
use super::random::Random;
use super::recipe::Recipe;
use super::sketch::{Bindings, sketch};
use tautomer_rewrite::Trial;
use tautomer_rule::{Rule, instances};

/// How many instances are kept at each number of conditions.
const KEPT: usize = 12;

/// How often a pattern is instantiated with the bindings of another match.
const TRANSFERS: usize = 24;

/// Instances of the rule whose variables are bound as in matches of the rule that it was restricted from.
pub(super) fn with_bindings(rule: &Arc<Rule>, all: &[Bindings], random: &mut Random) -> Vec<Recipe> {
    let numbers = RuleNumbers::of(rule);
    let trial = Trial::new(rule.clone());
    let mut out = Vec::new();
    for bindings in all {
        let mut tried = (0..TRANSFERS).filter_map(|_| sketch(rule, &numbers, bindings, random));
        out.extend(tried.find(|recipe| recipe.sides(&trial).is_some()));
    }
    out
}

/// Instances of the rule that mutations reach: makes up to `attempts` recipes from the pattern, and tries up to
/// `attempts` mutations for all conditions together.
pub(super) fn satisfying_conditions(rule: &Arc<Rule>, attempts: usize, random: &mut Random) -> Vec<Recipe> {
    let numbers = RuleNumbers::of(rule);
    let with = |conditions: usize| {
        let mut rule = (**rule).clone();
        rule.conditions.truncate(conditions);
        Arc::new(rule)
    };
    let begin = instances(&with(0), KEPT, attempts);
    let mut pool: Vec<Recipe> = begin
        .into_iter()
        .filter_map(|(graph, outputs)| Recipe::of(&graph, &outputs, &[]))
        .collect();
    let free = Trial::new(with(0));
    for _ in 0..attempts {
        if pool.len() >= 2 * KEPT {
            break;
        }
        let Some(recipe) = sketch(rule, &numbers, &Bindings::default(), random) else {
            break;
        };
        let recipe = legalized(legalized(recipe, random), random);
        if recipe.sides(&free).is_some() {
            pool.push(recipe);
        }
    }
    for conditions in 1..=rule.conditions.len() {
        let trial = Trial::new(with(conditions));
        let fits = |recipe: &Recipe| recipe.sides(&trial).is_some();
        let mut next: Vec<Recipe> = pool.iter().filter(|r| fits(r)).cloned().collect();
        for _ in 0..attempts / rule.conditions.len() {
            if next.len() >= KEPT || pool.is_empty() {
                break;
            }
            let from = random.below(pool.len() + next.len());
            let from = pool.get(from).or_else(|| next.get(from - pool.len()));
            let Some(from) = from.cloned() else { break };
            let mut recipe = from;
            if random.chance(1, 3) {
                mutate_constant(&mut recipe, &numbers, random);
            } else {
                recipe = mutated(&recipe, &numbers, random);
            }
            if random.chance(1, 3) {
                recipe = mutated(&recipe, &numbers, random);
            }
            let recipe = legalized(recipe, random);
            if fits(&recipe) {
                next.push(recipe);
            }
        }
        pool = next;
    }
    pool
}
