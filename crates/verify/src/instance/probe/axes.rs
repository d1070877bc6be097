//! Orders of axes, where all other dimensions are equal.

use super::{EQUAL, squared};
use crate::instance::recipe::{Recipe, Step};
use tautomer_graph::Node;
use tautomer_op::{AttrKind, AttrValue};

/// Up to so many axes are permuted in every order; more are only rotated.
const AXES: usize = 4;

/// Each list of axes that is a permutation replaced by every other permutation, with equal dimensions.
pub(crate) fn with_orders(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    let mut seen: Vec<Vec<i64>> = Vec::new();
    let lists = written_lists(recipe);
    for (step, attr, list) in &lists {
        let Step::Call { def, .. } = &recipe.steps[*step] else {
            continue;
        };
        let mut sorted = list.clone();
        sorted.sort_unstable();
        let is_order = list.len() > 1 && sorted.iter().enumerate().all(|(i, &n)| n == i as i64);
        if !matches!(def.attrs[*attr].kind, AttrKind::Axes(_)) || !is_order || seen.contains(list) {
            continue;
        }
        // With fewer than three axes every permutation is its own inverse.
        for axes in [3, list.len()] {
            for order in orders(axes) {
                out.push(with_order(recipe, &lists, list, &order));
            }
        }
        seen.push(list.clone());
    }
    out
}

/// The lists of integers in attributes, with those that inference fills in, by step and place.
fn written_lists(recipe: &Recipe) -> Vec<(usize, usize, Vec<i64>)> {
    let Ok((graph, _, made)) = recipe.build_steps() else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (i, v) in made.iter().enumerate() {
        let Node::Call { attrs, .. } = &graph.vertex(*v).node else {
            continue;
        };
        let lists = attrs
            .iter()
            .enumerate()
            .filter_map(|(k, attr)| Some((i, k, attr.as_ints()?)));
        out.extend(lists);
    }
    out
}

/// The recipe with one permutation replaced by another, and with operands of matching rank.
fn with_order(recipe: &Recipe, lists: &[(usize, usize, Vec<i64>)], before: &[i64], order: &[i64]) -> Recipe {
    let mut out = squared(recipe, EQUAL[0]);
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i)
            && shape.len() == before.len()
        {
            shape.resize(order.len(), EQUAL[0]);
        }
    }
    for (i, k, _) in lists.iter().filter(|(_, _, list)| list == before) {
        if let Step::Call { attrs, .. } = &mut out.steps[*i] {
            attrs[*k] = Some(AttrValue::ints(order));
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
    let highest = recipe.ranks().into_iter().max().unwrap_or(0);
    // Dimensions of 1 may stay, or be made equal as well where an operand has all axes.
    for (n, all) in EQUAL.into_iter().flat_map(|n| [(n, true), (n, false)]) {
        let mut equal = recipe.clone();
        for i in 0..equal.steps.len() {
            if let Some(shape) = equal.shape_mut(i) {
                let full = all && shape.len() == highest;
                shape.iter_mut().filter(|d| full || **d > 1).for_each(|d| *d = n);
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
