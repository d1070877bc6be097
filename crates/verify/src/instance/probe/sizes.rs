//! Dimensions and integers: small ones in every combination, and ones beyond those in the rule.

use super::squared;
use crate::instance::mutate::{Place, RuleNumbers};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::AttrKind;

/// Dimensions that are tried in every combination over the operands.
const SMALL: [i64; 4] = [1, 3, 2, 0];

/// The axes, counted from the end, along which they are tried.
const ALONG: usize = 4;

/// Limit on the operands whose dimensions are combined.
const MIXED: usize = 5;

/// Limit on the combinations of dimensions along one axis.
const COMBINATIONS: usize = 256;

/// The largest number of the rule that is used as a dimension.
const LARGEST: i64 = 4000;

/// The largest number of a rule for which dimensions beyond its neighbours are tried.
const FEW: i64 = 64;

/// Each integer attribute that is not an axis at 2 and at 3, with one dimension of one operand a multiple of its
/// square: blocks of groups, whose order matters only if there are several of each.
pub(crate) fn with_blocks(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    for (place, _) in recipe.integers() {
        let Place::Attr(i, k, _) = place else { continue };
        let Step::Call { def, .. } = &recipe.steps[i] else {
            continue;
        };
        if !matches!(def.attrs[k].kind, AttrKind::Int) {
            continue;
        }
        let tied = recipe.integers().into_iter().filter(|(other, _)| match *other {
            Place::Attr(j, n, _) => {
                n == k && matches!(&recipe.steps[j], Step::Call { def: other, .. } if other.name == def.name)
            }
            Place::Extent(..) => false,
        });
        let tied: Vec<Place> = tied.map(|(place, _)| place).collect();
        for (leaf, shape) in (0..recipe.steps.len()).filter_map(|i| Some((i, recipe.shape(i)?))) {
            for axis in 0..shape.len() {
                for (size, times) in [(2, 4), (2, 8), (3, 9), (2, 12), (3, 18)] {
                    let mut next = recipe.clone();
                    tied.iter().for_each(|&place| next.set(place, size));
                    next.set(Place::Extent(leaf, axis), times);
                    out.push(next);
                }
            }
        }
    }
    out
}

/// Dimensions 0 to 3 in every combination over the operands, along one axis counted from the end; those with the most
/// different ones first, since equal ones occur in other instances.
pub(crate) fn with_small_extents(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let leaves: Vec<usize> = (0..recipe.steps.len()).filter(|&i| recipe.shape(i).is_some()).collect();
    let most = leaves
        .iter()
        .filter_map(|&i| recipe.shape(i))
        .map(Vec::len)
        .max()
        .unwrap_or(0);
    let mut out: Vec<(usize, Recipe)> = Vec::new();
    for axis in 1..=most.min(ALONG) {
        let along: Vec<usize> = leaves
            .iter()
            .copied()
            .filter(|&i| recipe.shape(i).is_some_and(|s| s.len() >= axis))
            .collect();
        let count = SMALL.len().pow(along.len().min(MIXED) as u32);
        let choices: Vec<usize> = match count {
            ..=COMBINATIONS => (0..count).collect(),
            _ => (0..COMBINATIONS).map(|_| random.below(count)).collect(),
        };
        for mut choice in choices {
            let mut next = recipe.clone();
            let mut used = [false; SMALL.len()];
            for &i in along.iter().take(MIXED) {
                if let Some(shape) = next.shape_mut(i) {
                    let at = shape.len() - axis;
                    shape[at] = SMALL[choice % SMALL.len()];
                    used[choice % SMALL.len()] = true;
                }
                choice /= SMALL.len();
            }
            out.push((used.into_iter().filter(|used| *used).count(), next));
        }
    }
    random.shuffle(&mut out);
    out.sort_by_key(|(different, _)| std::cmp::Reverse(*different));
    out.into_iter().map(|(_, next)| next).collect()
}

/// The recipe with dimensions and integer attributes beyond the integers in the rule.
pub(crate) fn with_sizes(recipe: &Recipe, numbers: &RuleNumbers) -> Vec<Recipe> {
    let integers = recipe.integers();
    let mut out = Vec::new();
    let mut seen: Vec<(bool, i64)> = Vec::new();
    let mut sizes: Vec<i64> = numbers
        .written()
        .iter()
        .filter(|n| (2..=LARGEST).contains(*n))
        .copied()
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let beyond = |n: &i64| match *n {
        n if n > FEW => vec![n, n + 1],
        n => vec![2 * n, n + 1, n],
    };
    let beyond: Vec<i64> = sizes.iter().flat_map(beyond).chain([8, 9]).collect();
    for &(place, value) in &integers {
        let is_extent = matches!(place, Place::Extent(..));
        if seen.contains(&(is_extent, value)) {
            continue;
        }
        seen.push((is_extent, value));
        for &size in &beyond {
            // With the places that hold the same number, alone, and along an axis beside dimensions of 1.
            for together in [Some(true), Some(false), None] {
                let mut next = match together {
                    Some(_) => recipe.clone(),
                    None if is_extent => squared(recipe, 1),
                    None => continue,
                };
                for &(other, same) in &integers {
                    let alike = same == value && matches!(other, Place::Extent(..)) == is_extent;
                    if other == place || together != Some(false) && alike {
                        next.set(other, size);
                    }
                }
                out.push(next);
            }
        }
    }
    out
}
