//! Orders of axes, where all other dimensions are equal.

use super::{EQUAL, squared};
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue};

/// Up to so many axes are permuted in every order; more are only rotated.
const AXES: usize = 4;

/// Each list of axes that is a permutation replaced by every other permutation, with equal dimensions.
pub(crate) fn with_orders(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    let mut seen: Vec<Vec<i64>> = Vec::new();
    for step in &recipe.steps {
        let Step::Call { def, attrs, .. } = step else { continue };
        for (declared, value) in def.attrs.iter().zip(attrs) {
            let Some(list) = value.as_ref().and_then(AttrValue::as_ints) else {
                continue;
            };
            let mut sorted = list.clone();
            sorted.sort_unstable();
            let is_order = list.len() > 1 && sorted.iter().enumerate().all(|(i, &n)| n == i as i64);
            if !matches!(declared.kind, AttrKind::Axes(_)) || !is_order || seen.contains(&list) {
                continue;
            }
            // With fewer than three axes every permutation is its own inverse.
            for axes in [3, list.len()] {
                for order in orders(axes) {
                    out.push(with_order(recipe, &list, &order));
                }
            }
            seen.push(list);
        }
    }
    out
}

/// The recipe with one permutation replaced by another, and with operands of matching rank.
fn with_order(recipe: &Recipe, before: &[i64], order: &[i64]) -> Recipe {
    let mut out = squared(recipe, EQUAL[0]);
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i)
            && shape.len() == before.len()
        {
            shape.resize(order.len(), EQUAL[0]);
        }
    }
    for step in &mut out.steps {
        let Step::Call { attrs, .. } = step else { continue };
        for value in attrs.iter_mut().flatten() {
            if value.as_ints().as_deref() == Some(before) {
                *value = AttrValue::ints(order);
            }
        }
    }
    out
}

/// Permutations of `n` axes: all of them, or only the rotations if there are many axes.
fn orders(n: usize) -> Vec<Vec<i64>> {
    if n > AXES {
        let moved = |by: usize| (0..n).map(|i| ((i + by) % n) as i64).collect();
        return (1..n).map(moved).collect();
    }
    let mut out: Vec<Vec<i64>> = vec![Vec::new()];
    for next in 0..n as i64 {
        out = out
            .into_iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, next);
                    order
                })
            })
            .collect();
    }
    out
}

/// One operand with its axes permuted, without axes of dimension 1, or with one more. All other dimensions are equal,
/// so it fits even where a correct rule should not accept it.
pub(crate) fn with_moved_axes(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    for n in EQUAL {
        let mut equal = recipe.clone();
        for i in 0..equal.steps.len() {
            if let Some(shape) = equal.shape_mut(i) {
                shape.iter_mut().filter(|d| **d > 1).for_each(|d| *d = n);
            }
        }
        for i in 0..equal.steps.len() {
            let Some(shape) = equal.shape(i).cloned() else { continue };
            let mut others: Vec<Vec<i64>> = Vec::new();
            for by in 1..shape.len() {
                let mut moved = shape.clone();
                moved.rotate_left(by);
                others.push(moved);
            }
            others.push(shape.iter().rev().copied().collect());
            others.push(shape.iter().filter(|d| **d > 1).copied().collect());
            others.push([&[1], shape.as_slice()].concat());
            for other in others.into_iter().filter(|other| *other != shape) {
                let mut next = equal.clone();
                if let Some(place) = next.shape_mut(i) {
                    *place = other;
                }
                out.push(next);
            }
        }
    }
    out
}
