//! Instances of rules whose conditions the first search does not fulfil: they are fulfilled one after the other, by
//! changes of instances that fulfil the ones before.

use std::sync::Arc;

use super::change::{Words, changed, constant};
use super::mend;
use super::random::Random;
use super::recipe::Recipe;
use super::sketch::sketch;
use crate::rewrite::Trial;
use crate::rule::{Rule, instances};

/// Instances that are kept for each number of conditions.
const KEPT: usize = 12;

/// Instances of the rule, if changes lead there: so many recipes are made from the pattern, and so many changes are tried
/// for all conditions together.
pub(super) fn reached(rule: &Arc<Rule>, attempts: usize, random: &mut Random) -> Vec<Recipe> {
    let words = Words::of(rule);
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
        let Some(recipe) = sketch(rule, &words, random) else {
            break;
        };
        let recipe = mend(mend(recipe, random), random);
        let built = recipe.build().ok();
        if built.is_some_and(|(graph, roots)| free.sides(graph, Some(&roots)).is_some()) {
            pool.push(recipe);
        }
    }
    for conditions in 1..=rule.conditions.len() {
        let trial = Trial::new(with(conditions));
        let fits = |recipe: &Recipe| {
            let built = recipe.build().ok();
            built.is_some_and(|(graph, roots)| trial.sides(graph, Some(&roots)).is_some())
        };
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
                constant(&mut recipe, &words, random);
            } else {
                recipe = changed(&recipe, &words, random);
            }
            if random.chance(1, 3) {
                recipe = changed(&recipe, &words, random);
            }
            let recipe = mend(recipe, random);
            if fits(&recipe) {
                next.push(recipe);
            }
        }
        pool = next;
    }
    pool
}
