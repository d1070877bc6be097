//! Dimensions, integers and counts of operands: small ones in every combination, and ones beyond those in the rule.

use super::squared;
use crate::instance::mutate::{Place, RuleNumbers};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::AttrKind;

/// Dimensions that are tried in every combination over the operands.
const SMALL: [i64; 3] = [1, 2, 0];

/// Limit on the operands whose dimensions are combined.
const MIXED: usize = 5;

/// The number of choices of integers tried.
const INTEGERS: usize = 400;

/// The largest number of the rule that is used as a dimension.
const LARGEST: i64 = 64;

/// Random values for all integer attributes that are not axes at once, with dimensions that leave room for them.
pub(crate) fn with_integers(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let is_axis = |i: usize, k: usize| match &recipe.steps[i] {
        Step::Call { def, .. } => !matches!(def.attrs[k].kind, AttrKind::Int | AttrKind::Ints),
        _ => true,
    };
    let places: Vec<Place> = recipe
        .integers()
        .into_iter()
        .map(|(place, _)| place)
        .filter(|place| matches!(place, Place::Attr(i, k, _) if !is_axis(*i, *k)))
        .collect();
    if places.is_empty() {
        return Vec::new();
    }
    let one = |random: &mut Random| {
        let mut next = squared(recipe, random.pick(&[4, 8, 3, 5, 6]).unwrap_or(4));
        let shared = random.pick(&[2, 1, 3]).unwrap_or(2);
        let alike = random.chance(1, 2);
        for &place in &places {
            let own = random.pick(&[0, 1, 2, 3, 4, -1]).unwrap_or(1);
            next.set(place, if alike { shared } else { own });
        }
        next
    };
    (0..INTEGERS).map(|_| one(random)).collect()
}

/// Dimensions 0, 1 and 2 in every combination over the operands, along one axis counted from the end.
pub(crate) fn with_small_extents(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let leaves: Vec<usize> = (0..recipe.steps.len()).filter(|&i| recipe.shape(i).is_some()).collect();
    let most = leaves
        .iter()
        .filter_map(|&i| recipe.shape(i))
        .map(Vec::len)
        .max()
        .unwrap_or(0);
    let mut out = Vec::new();
    for axis in 1..=most.min(2) {
        let along: Vec<usize> = leaves
            .iter()
            .copied()
            .filter(|&i| recipe.shape(i).is_some_and(|s| s.len() >= axis))
            .collect();
        let count = SMALL.len().pow(along.len().min(MIXED) as u32);
        for mut choice in 0..count {
            let mut next = recipe.clone();
            for &i in along.iter().take(MIXED) {
                if let Some(shape) = next.shape_mut(i) {
                    let at = shape.len() - axis;
                    shape[at] = SMALL[choice % SMALL.len()];
                }
                choice /= SMALL.len();
            }
            out.push(next);
        }
    }
    random.shuffle(&mut out);
    out
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
    let beyond: Vec<i64> = sizes.iter().flat_map(|n| [n + 1, n + 2, 2 * n]).chain([8, 9]).collect();
    for &(place, value) in &integers {
        let is_extent = matches!(place, Place::Extent(..));
        if seen.contains(&(is_extent, value)) {
            continue;
        }
        seen.push((is_extent, value));
        for &size in &beyond {
            for together in [true, false] {
                let mut next = recipe.clone();
                for &(other, same) in &integers {
                    if other == place || together && same == value && matches!(other, Place::Extent(..)) == is_extent {
                        next.set(other, size);
                    }
                }
                out.push(next);
            }
        }
    }
    // Calls with more operands than any integer in the rule.
    let most = sizes.last().map_or(6, |n| (n + 1).clamp(6, 20)) as usize;
    for (i, step) in recipe.steps.iter().enumerate() {
        let Step::Call { def, operands, .. } = step else {
            continue;
        };
        if def.arity().1.is_none() && !operands.is_empty() && operands.len() < most {
            out.extend(with_members(recipe, i, most));
        }
    }
    out
}

/// The recipe with more operands of a call: copies of the last one, with leaves of their own.
fn with_members(recipe: &Recipe, call: usize, most: usize) -> Option<Recipe> {
    let mut out = Recipe {
        steps: recipe.steps[..call].to_vec(),
        roots: Vec::new(),
    };
    let Step::Call { def, operands, attrs } = &recipe.steps[call] else {
        return None;
    };
    let mut operands = operands.clone();
    let last = *operands.last()?;
    while operands.len() < most {
        let copy = copied(&mut out, last)?;
        operands.push(copy);
    }
    let added = out.steps.len() - call;
    out.steps.push(Step::Call {
        def,
        operands,
        attrs: attrs.clone(),
    });
    for step in &recipe.steps[call + 1..] {
        let mut step = step.clone();
        step.renumber(&|i| if i >= call { i + added } else { i });
        out.steps.push(step);
    }
    out.roots = recipe
        .roots
        .iter()
        .map(|&i| if i >= call { i + added } else { i })
        .collect();
    Some(out)
}

/// A copy of a step with leaves of its own; everything else is shared.
fn copied(recipe: &mut Recipe, step: usize) -> Option<usize> {
    let mut copy = recipe.steps.get(step)?.clone();
    match &mut copy {
        Step::Call { operands, .. } => {
            // Members differ in their first operand.
            if let Some(&first) = operands.first() {
                operands[0] = copied(recipe, first)?;
            }
        }
        Step::Leaf { .. } | Step::Fill { .. } => {}
        _ => return Some(step),
    }
    recipe.steps.push(copy);
    Some(recipe.steps.len() - 1)
}
