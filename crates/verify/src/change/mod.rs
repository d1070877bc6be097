//! Mutations of a recipe: one dimension, attribute or axis at a time, together with whatever is tied to it.
//!
//! Operators, types and conditions of a rule tie dimensions together, in ways not known beforehand. So a mutation of a
//! number also changes some of the places that hold the same number: all dimensions of leaves, those on the same axis,
//! attributes as well, or none. Inference or the matcher rejects what does not fit.

mod attribute;
mod convolution;
mod leaves;
mod places;
mod structure;
mod variants;
mod words;

use self::attribute::attribute;
use self::convolution::convolution;
use self::leaves::{dtype, one_shape, rank};
use self::structure::{members, merge, operator};
use super::random::Random;
use super::recipe::Recipe;
use tautomer_tensor::DType;

pub(super) use self::leaves::constant;
pub(super) use self::places::{Place, tied};
pub(super) use self::structure::with_operators;
pub(super) use self::variants::variants;
pub(super) use self::words::Words;

/// Dimensions to try.
const EXTENTS: [i64; 8] = [1, 2, 3, 4, 5, 1, 6, 0];

/// Element types to try.
const DTYPES: [DType; 6] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool, DType::U8];

/// A random small mutation; inference may reject it.
pub(super) fn changed(recipe: &Recipe, words: &Words, random: &mut Random) -> Recipe {
    let mut out = recipe.clone();
    match random.below(22) {
        0..=7 => number(&mut out, words, random),
        8..=11 => attribute(&mut out, words, random),
        12..=13 => rank(&mut out, random),
        14 => one_shape(&mut out, random),
        15 => dtype(&mut out, random),
        16 => constant(&mut out, words, random),
        17 => merge(&mut out, random),
        18 => operator(&mut out, words, random),
        19..=20 => convolution(&mut out, words, random),
        _ => members(&mut out, words, random),
    }
    out
}

/// Changes a number that the call at `step` depends on, in the hope that inference accepts the result.
pub(super) fn mended(recipe: &Recipe, step: usize, random: &mut Random) -> Recipe {
    let mut below = vec![false; step + 1];
    below[step] = true;
    for i in (0..=step).rev() {
        if below[i] {
            recipe.steps[i].operands().into_iter().for_each(|u| below[u] = true);
        }
    }
    let integers = recipe.integers();
    let near: Vec<(Place, i64)> = integers
        .iter()
        .copied()
        .filter(|(place, _)| match place {
            Place::Extent(i, _) => *i <= step && below[*i],
            Place::Attr(i, ..) => *i == step,
        })
        .collect();
    let mut out = recipe.clone();
    let Some((place, value)) = random.pick(&near) else {
        return out;
    };
    let other = random.pick(&near).map_or(1, |(_, v)| v);
    let third = random.pick(&near).map_or(1, |(_, v)| v);
    let next = match random.below(8) {
        0 | 1 => other,
        2 => value.saturating_mul(2),
        3 => value / 2,
        4 => value.saturating_add(1),
        5 => value.saturating_sub(1),
        6 => other.saturating_mul(third),
        _ => 1,
    };
    let mode = random.below(5);
    for place in tied(recipe, place, mode, random) {
        out.set(place, next);
    }
    out
}

fn number(recipe: &mut Recipe, words: &Words, random: &mut Random) {
    let integers = recipe.integers();
    let Some((place, value)) = random.pick(&integers) else {
        return;
    };
    let next = match place {
        Place::Extent(..) => words.integer(&EXTENTS, random),
        Place::Attr(..) => match random.below(4) {
            0 => words.integer(&EXTENTS, random),
            1 => value.saturating_add(1),
            2 => value.saturating_sub(1),
            _ => value.saturating_neg(),
        },
    };
    let mode = random.below(5);
    for place in tied(recipe, place, mode, random) {
        recipe.set(place, next);
    }
}
