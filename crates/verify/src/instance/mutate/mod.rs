//! Mutations of a recipe: one dimension, attribute or axis at a time, together with whatever is tied to it.
//!
//! Operators, types and conditions of a rule tie dimensions together, in ways not known beforehand. So a mutation of a
//! number also changes some of the places that hold the same number: all dimensions of leaves, those on the same axis,
//! attributes as well, or none. Inference or the matcher rejects instances that do not fit.

mod attribute;
mod convolution;
mod leaves;
mod numbers;
mod places;
mod structure;
mod variants;

use self::attribute::mutate_attribute;
use self::convolution::mutate_convolutions;
use self::leaves::{mutate_dtype, mutate_rank, mutate_shape};
use self::structure::{merge_leaves, mutate_members, mutate_operator};
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use tautomer_tensor::DType;

pub(crate) use self::convolution::is_convolution;
pub(crate) use self::leaves::mutate_constant;
pub(crate) use self::numbers::RuleNumbers;
pub(crate) use self::places::{Place, Tie, tied};
pub(crate) use self::structure::{with_each_operator, with_operators};
pub(crate) use self::variants::{variants, with_optional_numbers, with_other_types};

/// Dimensions to try.
const EXTENTS: [i64; 8] = [1, 2, 3, 4, 5, 1, 6, 0];

/// Element types to try.
const DTYPES: [DType; 8] = [
    DType::F32,
    DType::F64,
    DType::I32,
    DType::I64,
    DType::Bool,
    DType::U8,
    DType::F16,
    DType::BF16,
];

/// A random small mutation; inference may reject it.
pub(crate) fn mutated(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Recipe {
    let mut out = recipe.clone();
    match random.below(22) {
        0..=7 => mutate_number(&mut out, numbers, random),
        8..=11 => mutate_attribute(&mut out, numbers, random),
        12..=13 => mutate_rank(&mut out, random),
        14 => mutate_shape(&mut out, random),
        15 => mutate_dtype(&mut out, random),
        16 => mutate_constant(&mut out, numbers, random),
        17 => merge_leaves(&mut out, random),
        18 => mutate_operator(&mut out, numbers, random),
        19..=20 => mutate_convolutions(&mut out, numbers, random),
        _ => mutate_members(&mut out, numbers, random),
    }
    out
}

/// Changes a number that the call at `step` depends on, in the hope that inference accepts the result.
pub(crate) fn mutated_near(recipe: &Recipe, step: usize, random: &mut Random) -> Recipe {
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
    let tie = Tie::any(random);
    for place in tied(recipe, place, tie, random) {
        out.set(place, next);
    }
    out
}

fn mutate_number(recipe: &mut Recipe, numbers: &RuleNumbers, random: &mut Random) {
    let integers = recipe.integers();
    let Some((place, value)) = random.pick(&integers) else {
        return;
    };
    let next = match place {
        Place::Extent(..) => numbers.integer(&EXTENTS, random),
        Place::Attr(..) => match random.below(4) {
            0 => numbers.integer(&EXTENTS, random),
            1 => value.saturating_add(1),
            2 => value.saturating_sub(1),
            _ => value.saturating_neg(),
        },
    };
    let tie = Tie::any(random);
    for place in tied(recipe, place, tie, random) {
        recipe.set(place, next);
    }
}
