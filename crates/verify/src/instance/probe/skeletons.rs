//! Ranks of operands beside axes in attributes, each in every combination.

use super::axes::axes_of;
use super::squared;
use crate::instance::mutate::Place;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue};

/// The ranks of operands, if there are one, two, or three of them; of more, each varies alone.
const RANKS: [&[usize]; 3] = [&[1, 2, 3, 4], &[0, 1, 2, 3], &[1, 2, 3]];

/// The axes: the first ones, and the last ones.
const AXES: [i64; 6] = [1, 0, -2, -1, 2, -3];

/// Limit on the distinct axes that are varied together.
const TOGETHER: usize = 2;

/// Limit on the combinations of ranks and axes; of more, some are drawn.
const COMBINATIONS: usize = 400;

/// Operands of each combination of small ranks, with each choice of axes: for each combination that `fits` where all
/// dimensions are 1, the instances with a single dimension of 2, in one operand, or in all operands that have the axis.
/// An axis counted from one end in an operand with few axes is another axis of the result, and conditions about it hold
/// for some ranks by accident.
pub(crate) fn with_ranks_and_axes(
    recipe: &Recipe,
    fits: &dyn Fn(&Recipe) -> bool,
    random: &mut Random,
) -> Vec<Vec<Recipe>> {
    let base = written_out(&squared(recipe, 1));
    let operands: Vec<usize> = (0..base.steps.len()).filter(|&i| base.shape(i).is_some()).collect();
    let axes = axes_of(&base);
    let mut distinct: Vec<i64> = Vec::new();
    for (_, axis) in &axes {
        if !distinct.contains(axis) && distinct.len() < TOGETHER {
            distinct.push(*axis);
        }
    }
    if distinct.is_empty() || operands.is_empty() {
        return Vec::new();
    }
    let mut all = ranked(&base, &operands);
    for tied in &distinct {
        let places: Vec<Place> = axes
            .iter()
            .filter(|(_, axis)| axis == tied)
            .map(|(at, _)| *at)
            .collect();
        let turned = |next: &Recipe, axis: i64| {
            let mut next = next.clone();
            places.iter().for_each(|place| next.set(*place, axis));
            next
        };
        all = all
            .iter()
            .flat_map(|next| AXES.iter().map(|&axis| turned(next, axis)))
            .collect();
    }
    random.shuffle(&mut all);
    all.truncate(COMBINATIONS);
    all.retain(fits);
    all.iter().map(|next| with_single_extents(next, &operands)).collect()
}

/// The recipe with the axes that its calls leave out: those of the default, or the first one in place of all of them.
fn written_out(recipe: &Recipe) -> Recipe {
    let mut out = recipe.clone();
    for step in &mut out.steps {
        let Step::Call { def, attrs, .. } = step else { continue };
        for (own, declared) in attrs.iter_mut().zip(def.attrs).filter(|(own, _)| own.is_none()) {
            *own = match (declared.kind, declared.default_value()) {
                (AttrKind::Axis(_), default) => default,
                (AttrKind::Axes(_), Some(AttrValue::None)) if declared.name != "perm" => Some(AttrValue::ints(&[0])),
                _ => continue,
            };
        }
    }
    out
}

/// The recipe with each combination of ranks of these operands.
fn ranked(base: &Recipe, operands: &[usize]) -> Vec<Recipe> {
    let with = |next: &Recipe, operand: usize, rank: usize| {
        let mut next = next.clone();
        if let Some(shape) = next.shape_mut(operand) {
            *shape = vec![1; rank];
        }
        next
    };
    match RANKS.get(operands.len() - 1) {
        Some(ranks) => operands.iter().fold(vec![base.clone()], |all, &operand| {
            let each = |next: &Recipe| ranks.iter().map(|&rank| with(next, operand, rank)).collect::<Vec<_>>();
            all.iter().flat_map(each).collect()
        }),
        None => {
            let each = |&operand: &usize| RANKS[1].iter().map(move |&rank| with(base, operand, rank));
            operands.iter().flat_map(each).collect()
        }
    }
}

/// The recipe with a dimension of 2 in each place, alone and along the axis in all operands, the first axes first.
fn with_single_extents(recipe: &Recipe, operands: &[usize]) -> Vec<Recipe> {
    let rank = |operand: usize| recipe.shape(operand).map_or(0, Vec::len);
    let most = operands.iter().map(|&operand| rank(operand)).max().unwrap_or(0);
    let mut out = Vec::new();
    for from_end in (1..=most).rev() {
        let along = operands.iter().copied().filter(|&operand| rank(operand) >= from_end);
        let along: Vec<usize> = along.collect();
        let alone = along.iter().map(|operand| vec![*operand]);
        for chosen in alone.chain((along.len() > 1).then(|| along.clone())) {
            let mut next = recipe.clone();
            for &operand in &chosen {
                next.set(Place::Extent(operand, rank(operand) - from_end), 2);
            }
            out.push(next);
        }
    }
    out
}
