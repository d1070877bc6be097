//! Reshapes that keep the rank and some of the dimensions, which is where a position is easily mistaken for another.
//!
//! An operand that broadcasts against a tensor both before and after it is reshaped, with dimension 1 along the axes that
//! change, shows whether elements stay along the axes that do not. Random dimensions rarely fit together like that.

use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, ShapeRule};

/// The ranks that are tried: so many from this one on.
const LEAST_RANK: usize = 2;
const RANKS: usize = 4;

/// The draws for one recipe, and how many of those that fit are kept.
const TRIES: usize = 2000;
const FOUND: usize = 100;

/// The dimensions of two axes before and after.
const CHANGES: [[(i64, i64); 2]; 4] = [[(2, 4), (4, 2)], [(2, 2), (4, 1)], [(4, 1), (2, 2)], [(1, 3), (3, 1)]];

/// The dimension of the axes that stay.
const STAYS: i64 = 3;

/// Reshapes changing two axes, drawn at random, half of the time with axes of other operators among those that stay;
/// `fits` tells whether the rule matches and both sides have one type.
pub(crate) fn with_reshapes(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool, random: &mut Random) -> Vec<Recipe> {
    let reshapes: Vec<(usize, usize)> = (0..recipe.steps.len())
        .filter_map(|i| Some((i, shape_attribute(&recipe.steps[i])?)))
        .collect();
    let Some(&(first, _)) = reshapes.first() else {
        return Vec::new();
    };
    let leaves: Vec<usize> = (0..recipe.steps.len()).filter(|&i| recipe.shape(i).is_some()).collect();
    // The operands of the reshape are whole; others broadcast.
    let used = used_by(recipe, first);
    let wholes: Vec<usize> = leaves.iter().copied().filter(|leaf| used.contains(leaf)).collect();
    let axes = single_axes(recipe);
    let mut out: Vec<Recipe> = Vec::new();
    for _ in 0..TRIES {
        let (Some((changed, _)), Some(whole)) = (random.pick(&reshapes), random.pick(&wholes)) else {
            break;
        };
        let [before, after] = &shapes(random);
        let mut next = recipe.clone();
        // The other reshapes make the same shape, or undo this one.
        let undo = random.chance(1, 2);
        for &(i, attr) in &reshapes {
            let list = if undo && i != changed { before } else { after };
            if let Step::Call { attrs, .. } = &mut next.steps[i] {
                attrs[attr] = Some(AttrValue::ints(list));
            }
        }
        let small = operand(before, after, random);
        for &leaf in &leaves {
            let own = if leaf == whole { before } else { &small };
            if let Some(shape) = next.shape_mut(leaf)
                && (leaf == whole || random.chance(2, 3))
            {
                shape.clone_from(own);
            }
        }
        let stay: Vec<usize> = (0..before.len()).filter(|&k| before[k] == after[k]).collect();
        if let Some(axis) = random.pick(&stay)
            && random.chance(1, 2)
        {
            axes.iter().for_each(|&place| next.name_axis(place, axis));
        }
        if !out.contains(&next) && fits(&next) {
            out.push(next);
        }
        if out.len() == FOUND {
            break;
        }
    }
    out
}

impl Recipe {
    fn name_axis(&mut self, (step, attr): (usize, usize), axis: usize) {
        if let Step::Call { def, attrs, .. } = &mut self.steps[step] {
            let axis = axis as i64;
            let is_list = matches!(def.attrs[attr].kind, AttrKind::Axes(_));
            attrs[attr] = Some(if is_list {
                AttrValue::ints(&[axis])
            } else {
                AttrValue::int(axis)
            });
        }
    }
}

/// The attribute with the dimensions of the result, if this step is a reshape.
fn shape_attribute(step: &Step) -> Option<usize> {
    match step {
        Step::Call { def, .. } if def.shapes == ShapeRule::Reshape => {
            def.attrs.iter().position(|attr| attr.kind == AttrKind::Ints)
        }
        _ => None,
    }
}

/// The attributes that name an axis, or a list of one, also where they are left out.
fn single_axes(recipe: &Recipe) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        let Step::Call { def, attrs, .. } = step else { continue };
        let is_single =
            |value: &Option<AttrValue>| value.as_ref().and_then(AttrValue::as_ints).is_none_or(|a| a.len() == 1);
        let named = def
            .attrs
            .iter()
            .zip(attrs)
            .enumerate()
            .filter(|(_, (attr, value))| match attr.kind {
                AttrKind::Axis(_) => true,
                AttrKind::Axes(_) => is_single(value),
                _ => false,
            });
        out.extend(named.map(|(k, _)| (i, k)));
    }
    out
}

/// The steps that a step uses, directly or through others.
fn used_by(recipe: &Recipe, step: usize) -> Vec<usize> {
    let mut out = recipe.steps[step].operands();
    let mut next = 0;
    while next < out.len() {
        let more: Vec<usize> = recipe.steps[out[next]].operands();
        out.extend(more);
        next += 1;
    }
    out
}

/// Shapes before and after that differ along two axes, which more often than not have others between them: only then
/// do elements move along an axis that stays.
fn shapes(random: &mut Random) -> [Vec<i64>; 2] {
    let rank = LEAST_RANK + random.below(RANKS);
    let apart = random.chance(2, 3) && rank > 2;
    let gap = if apart { 2 + random.below(rank - 2) } else { 1 };
    let first = random.below(rank - gap);
    let [a, b] = CHANGES[random.below(CHANGES.len())];
    let (i, j) = if random.chance(1, 2) {
        (first, first + gap)
    } else {
        (first + gap, first)
    };
    [a, b].map(|(at_i, at_j)| {
        let mut shape = vec![STAYS; rank];
        (shape[i], shape[j]) = (at_i, at_j);
        shape
    })
}

/// The shape of an operand of at most this rank: with the axes that stay, with one of these, with all axes, or with
/// none.
fn operand(before: &[i64], after: &[i64], random: &mut Random) -> Vec<i64> {
    let from = if random.chance(1, 2) {
        0
    } else {
        random.below(after.len() + 1)
    };
    let mut stay: Vec<i64> = before
        .iter()
        .zip(after)
        .map(|(a, b)| if a == b { *a } else { 1 })
        .collect();
    match random.below(4) {
        0 => return after[from..].to_vec(),
        1 => {
            let one = random.below(stay.len());
            stay.iter_mut()
                .enumerate()
                .filter(|(k, _)| *k != one)
                .for_each(|(_, d)| *d = 1);
        }
        _ => {}
    }
    stay.split_off(from)
}
