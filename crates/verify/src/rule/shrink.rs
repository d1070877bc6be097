//! Shrinking of counterexamples: every number of a recipe gets as small as possible while the fault stays the same.

use crate::compare::comparer::{Comparer, fault_at};
use crate::compare::data::leaves;
use crate::compare::finding::{Mismatch, WrongInstance};
use crate::compare::sides::type_mismatch;
use crate::instance::mutate::{Place, Tie, tied};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step, fill};
use tautomer_graph::VertexId;
use tautomer_op::Laws;
use tautomer_rewrite::{Sides, Trial};
use tautomer_rule::Rule;
use tautomer_tensor::Tensor;

/// The number of values tried.
const EVALUATIONS: usize = 400;

/// The criteria for the same counterexample, and how much is tried to make it smaller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shrinking {
    /// A difference in type counts as a fault.
    pub(crate) strict: bool,
    /// Limit on the recipes that are tried.
    pub(crate) attempts: usize,
}

/// A counterexample that no single shrinking step improves, unless the limit of `shrinking` was reached before.
pub(crate) fn shrink(
    rule: &Rule,
    trial: &Trial,
    found: WrongInstance,
    shrinking: Shrinking,
    random: &mut Random,
) -> WrongInstance {
    let mut best = found;
    let mut left = shrinking.attempts;
    let is_refused = best.sides.target.is_err();
    'again: loop {
        for smaller in smaller(&best.recipe, random) {
            if left == 0 {
                break 'again;
            }
            left -= 1;
            if weight(&smaller) >= weight(&best.recipe) {
                continue;
            }
            let found = if is_refused {
                refused(trial, smaller)
            } else {
                wrong(rule, trial, smaller, shrinking.strict, random)
            };
            if let Some(found) = found
                && found.mismatch.fault == best.mismatch.fault
            {
                best = found;
                continue 'again;
            }
        }
        break;
    }
    if shrinking.attempts > 0 {
        best.mismatch = simplified(rule, &best.sides, best.mismatch);
    }
    best
}

/// The same fault with simpler values: zeros and ones where they suffice.
fn simplified(rule: &Rule, sides: &Sides, mismatch: Box<Mismatch>) -> Box<Mismatch> {
    let mut best = mismatch;
    let mut left = EVALUATIONS;
    for v in leaves(&sides.graph) {
        let Some(before) = best.values.get(&v).cloned() else {
            continue;
        };
        let all = [0.0, 1.0].map(|n| fill(before.dtype(), before.shape(), n));
        let found = all
            .into_iter()
            .flatten()
            .find_map(|tensor| with_value(rule, sides, &best, v, tensor));
        if let Some(found) = found {
            best = found;
            continue;
        }
        for at in 0..before.len() {
            for number in [0.0, 1.0, -1.0, 2.0] {
                let tensor = best.values.get(&v).and_then(|t| with_element(t, at, number));
                let Some(tensor) = tensor.filter(|_| left > 0) else {
                    continue;
                };
                left -= 1;
                if let Some(found) = with_value(rule, sides, &best, v, tensor) {
                    best = found;
                    break;
                }
            }
        }
    }
    best
}

/// The same fault with another value of a leaf, if it occurs there too.
fn with_value(rule: &Rule, sides: &Sides, mismatch: &Mismatch, v: VertexId, tensor: Tensor) -> Option<Box<Mismatch>> {
    let mut values = mismatch.values.clone();
    values.insert(v, tensor);
    fault_at(rule, sides, mismatch.fault, values)
}

/// The tensor with one element replaced; `None` if it has that value already.
fn with_element(tensor: &Tensor, at: usize, number: f64) -> Option<Tensor> {
    if tensor.dtype().is_float() {
        let mut all = tensor.to_f64s()?;
        let element = all.get_mut(at).filter(|e| e.to_bits() != number.to_bits())?;
        *element = number;
        return Tensor::from_f64s(tensor.dtype(), tensor.shape(), &all);
    }
    let mut all = tensor.to_ints()?;
    let element = all.get_mut(at).filter(|e| **e != number as i128)?;
    *element = number as i128;
    Tensor::from_ints(tensor.dtype(), tensor.shape(), &all)
}

/// The instance, if the rule is wrong there.
fn wrong(rule: &Rule, trial: &Trial, recipe: Recipe, strict: bool, random: &mut Random) -> Option<WrongInstance> {
    let sides = recipe.sides(trial)?;
    let mismatch = Comparer::new(strict, Laws::ALL)
        .compare(rule, &sides, random)
        .mismatch()?;
    Some(WrongInstance {
        recipe,
        sides,
        mismatch,
    })
}

/// The instance, if the target cannot be built there.
fn refused(trial: &Trial, recipe: Recipe) -> Option<WrongInstance> {
    let sides = recipe.sides(trial)?;
    let mismatch = sides.target.is_err().then(|| Box::new(type_mismatch(&sides)))?;
    Some(WrongInstance {
        recipe,
        sides,
        mismatch,
    })
}

/// The size of a recipe: the number of steps, then of axes and attributes, then the sum of all integers.
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

/// Recipes that are one shrinking step smaller.
fn smaller(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let mut out = Vec::new();
    // One axis less in one leaf, in all leaves of its rank, or in all leaves.
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
            for tie in Tie::FIXED {
                let mut next = recipe.clone();
                for place in tied(recipe, place, tie, random) {
                    next.set(place, smaller);
                }
                out.push(next);
            }
        }
    }
    out
}
