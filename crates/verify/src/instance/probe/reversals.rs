//! Slices that reverse axes.

use super::squared;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrValue, ShapeRule};

/// An end before the first element.
const FIRST: i64 = -1000;

/// Slices that reverse an axis: the only ones that keep its dimension and move its elements. In all slices at once and
/// in each alone, with the dimensions as they are and with equal ones.
pub(crate) fn with_reversals(recipe: &Recipe) -> Vec<Recipe> {
    let is_slice = |step: &Step| matches!(step, Step::Call { def, .. } if def.shapes == ShapeRule::Slice);
    let slices: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| is_slice(&recipe.steps[i]))
        .collect();
    let reversed = |base: &Recipe, chosen: &[usize]| {
        let mut next = base.clone();
        for &i in chosen {
            let Step::Call { def, attrs, .. } = &mut next.steps[i] else {
                continue;
            };
            let place = |name: &str| def.attr_index(name);
            let axes = place("starts").and_then(|k| attrs[k].as_ref()?.as_ints());
            let count = axes.map_or(1, |list| list.len());
            for (name, value) in [("starts", -1), ("ends", FIRST), ("steps", -1)] {
                if let Some(k) = place(name) {
                    let mut list = vec![value; count];
                    // Only the first of several axes.
                    for rest in list.iter_mut().skip(1) {
                        *rest = match name {
                            "starts" => 0,
                            "ends" => i64::MAX,
                            _ => 1,
                        };
                    }
                    attrs[k] = Some(AttrValue::ints(&list));
                }
            }
        }
        next
    };
    let mut out = Vec::new();
    let alone = slices.iter().map(|i| vec![*i]);
    let all: Vec<Vec<usize>> = [slices.clone()].into_iter().chain(alone).collect();
    for base in [squared(recipe, 2), recipe.clone(), squared(recipe, 3)] {
        let sets = all.iter().take(if slices.len() > 1 { all.len() } else { slices.len() });
        out.extend(sets.map(|chosen| reversed(&base, chosen)));
    }
    out
}
