//! Numbers at the boundary of what conditions admit, which are found by bisection: a condition such as `a * 3 > -1` does
//! not name its boundary.

use super::numbers::{Numbered, number_at, places, with_number};
use crate::instance::recipe::Recipe;

/// Limit on the places with numbers.
const PLACES: usize = 6;

/// How often an interval is halved.
const HALVINGS: usize = 24;

/// How far from the number in the instance the other end is looked for.
const DISTANCES: [f64; 5] = [1.0, 0.1, 3.0, 20.0, 500.0];

/// The recipe with each number close to both ends of an interval that fits, and between: one list for each.
pub(crate) fn with_boundaries(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> Vec<Vec<Recipe>> {
    let places = places(recipe);
    places
        .iter()
        .take(PLACES)
        .map(|place| match number_at(recipe, place) {
            Some(number) => [-1.0, 1.0]
                .map(|side| up_to(recipe, place, number, side, fits))
                .concat(),
            None => Vec::new(),
        })
        .collect()
}

/// The recipe with numbers on one side of the one that it has, up to the last that fits.
fn up_to(recipe: &Recipe, place: &Numbered, from: f64, side: f64, fits: &dyn Fn(&Recipe) -> bool) -> Vec<Recipe> {
    let at = |number: f64| with_number(recipe.clone(), place, number);
    let ends = DISTANCES.iter().map(|distance| from + side * distance);
    let Some(mut beyond) = ends.into_iter().find(|end| !fits(&at(*end))) else {
        return Vec::new();
    };
    let mut within = from;
    for _ in 0..HALVINGS {
        let middle = 0.5 * (within + beyond);
        if fits(&at(middle)) {
            within = middle;
        } else {
            beyond = middle;
        }
    }
    let close = within - side * 1e-3 * (within - from).abs();
    [within, close, 0.75 * within + 0.25 * from, 0.5 * (within + from)]
        .map(at)
        .to_vec()
}
