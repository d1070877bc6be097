//! Legalization: mutations of a recipe that inference rejects, until it accepts it.

use super::mutate::mutated_near;
use super::random::Random;
use super::recipe::Recipe;
use super::solve::solved;

/// Limit on the mutations that are tried.
const ATTEMPTS: usize = 8;

/// The recipe mutated until inference accepts it, in a few attempts: a mutation is kept if inference gets at least as
/// far as before.
pub(crate) fn legalized(mut recipe: Recipe, random: &mut Random) -> Recipe {
    let mut failing = recipe.build().err();
    for _ in 0..ATTEMPTS {
        let Some(step) = failing else { break };
        let next = if random.chance(1, 2) {
            solved(&recipe, step, random)
        } else {
            mutated_near(&recipe, step, random)
        };
        let after = next.build().err();
        if after.is_none_or(|after| after >= step) {
            (recipe, failing) = (next, after);
        }
    }
    recipe
}
