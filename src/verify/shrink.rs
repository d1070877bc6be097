//! Smaller counterexamples: every number of a recipe as small as it can be while the rule stays wrong in the same way.

use super::change::{Place, tied};
use super::judge::{Apart, Finding, judge};
use super::random::Random;
use super::recipe::{Recipe, Step};
use crate::rewrite::{Sides, Trial};
use crate::rule::Rule;

/// Recipes that are tried.
const ATTEMPTS: usize = 600;

/// A counterexample that no single step makes smaller, unless the steps ran out.
pub(super) fn shrink(
    rule: &Rule,
    trial: &Trial,
    found: (Recipe, Sides, Box<Apart>),
    strict: bool,
    random: &mut Random,
) -> (Sides, Box<Apart>) {
    let (mut best, mut sides, mut apart) = found;
    let mut left = ATTEMPTS;
    'again: loop {
        for smaller in smaller(&best, random) {
            if left == 0 {
                break 'again;
            }
            left -= 1;
            if weight(&smaller) >= weight(&best) {
                continue;
            }
            if let Some((new_sides, new_apart)) = wrong(rule, trial, &smaller, strict, random)
                && new_apart.fault == apart.fault
            {
                (best, sides, apart) = (smaller, new_sides, new_apart);
                continue 'again;
            }
        }
        break;
    }
    (sides, apart)
}

fn wrong(
    rule: &Rule,
    trial: &Trial,
    recipe: &Recipe,
    strict: bool,
    random: &mut Random,
) -> Option<(Sides, Box<Apart>)> {
    let (graph, roots) = recipe.build().ok()?;
    let sides = trial.sides(graph, Some(&roots))?;
    match judge(rule, &sides, strict, random) {
        Finding::Apart(apart) => Some((sides, apart)),
        _ => None,
    }
}

/// Steps, axes, numbers: what counts first.
fn weight(recipe: &Recipe) -> (usize, usize, u128) {
    let integers = recipe.integers();
    let given = recipe.steps.iter().map(|step| match step {
        Step::Call { attrs, .. } => attrs.iter().flatten().count(),
        _ => 0,
    });
    let axes = integers.iter().filter(|(p, _)| matches!(p, Place::Extent(..))).count();
    let sum = integers.iter().map(|(_, v)| u128::from(v.unsigned_abs())).sum();
    (recipe.steps.len(), axes + given.sum::<usize>(), sum)
}

/// Recipes that are one step smaller.
fn smaller(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let mut out = Vec::new();
    // An axis less in one leaf, in all of its rank, in all.
    for i in 0..recipe.steps.len() {
        let Some(rank) = recipe.shape(i).map(Vec::len) else {
            continue;
        };
        for axis in 0..rank {
            for mode in 0..3 {
                let mut next = recipe.clone();
                for k in 0..next.steps.len() {
                    let Some(shape) = next.shape_mut(k) else { continue };
                    let from_end = rank - axis;
                    let along = match mode {
                        0 => k == i,
                        1 => shape.len() == rank,
                        _ => shape.len() >= from_end,
                    };
                    if along {
                        shape.remove(shape.len() - from_end);
                    }
                }
                out.push(next);
            }
        }
    }
    for i in 0..recipe.steps.len() {
        let Step::Call { attrs, .. } = &recipe.steps[i] else {
            continue;
        };
        for (k, attr) in attrs.iter().enumerate() {
            if attr.is_some() {
                let mut next = recipe.clone();
                if let Step::Call { attrs, .. } = &mut next.steps[i] {
                    attrs[k] = None;
                }
                out.push(next);
            }
        }
    }
    for (place, value) in recipe.integers() {
        let least = i64::from(matches!(place, Place::Extent(..)));
        for smaller in [least, 2, value - value.signum()] {
            if smaller.unsigned_abs() >= value.unsigned_abs() {
                continue;
            }
            for mode in 0..4 {
                let mut next = recipe.clone();
                for place in tied(recipe, place, mode, random) {
                    next.set(place, smaller);
                }
                out.push(next);
            }
        }
    }
    out
}
