//! First instances of rules whose conditions random operands rarely satisfy: satisfies the conditions one at a time, by
//! mutating instances that satisfy the earlier ones.

use std::sync::Arc;

use super::change::{Words, changed, constant};
use super::random::Random;
use super::recipe::Recipe;
use super::search::mend;
use super::sketch::{Given, sketch};
use tautomer_rewrite::Trial;
use tautomer_rule::{Rule, instances};

/// How many instances are kept at each number of conditions.
const KEPT: usize = 12;

/// How often a pattern is instantiated with the bindings of another match.
const TRANSFERS: usize = 24;

/// Instances of the rule whose variables are bound as in matches of the rule that it was restricted from.
pub(super) fn transferred(rule: &Arc<Rule>, given: &[Given], random: &mut Random) -> Vec<Recipe> {
    let words = Words::of(rule);
    let trial = Trial::new(rule.clone());
    let mut out = Vec::new();
    for given in given {
        let tried = (0..TRANSFERS).filter_map(|_| sketch(rule, &words, given, random));
        out.extend(tried.into_iter().find(|recipe| matches(&trial, recipe)));
    }
    out
}

/// True if the recipe is an instance of the rule under trial.
pub(super) fn matches(trial: &Trial, recipe: &Recipe) -> bool {
    let built = recipe.build().ok();
    built.is_some_and(|(graph, roots)| trial.sides(graph, Some(&roots)).is_some())
}

/// Instances of the rule that mutations reach: makes up to `attempts` recipes from the pattern, and tries up to
/// `attempts` mutations for all conditions together.
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
        let Some(recipe) = sketch(rule, &words, &Given::default(), random) else {
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
