//! Operands that are broadcast along other axes than they are.

use super::axis_lists::{ORDER, some_axes};
use super::squared;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue};

/// The dimensions of all axes where they are made equal, before some of them become 1.
const SIZES: [i64; 4] = [2, 2, 3, 4];

/// Factors of sizes: some keep small dimensions, and move what is in them.
const FACTORS: [f64; 6] = [1.0, 1.2, 1.2, 0.9, 2.0, 0.5];

/// The recipe with some dimensions of operands 1 and others not, and some flags, axes and factors changed: an axis along which an operand
/// is broadcast before a call, and another after it, show there alone. In half of the cases all dimensions are equal, so
/// that the types do not tell axes apart.
pub(crate) fn with_masks(recipe: &Recipe, random: &mut Random) -> Recipe {
    let mut out = match random.pick(&SIZES) {
        Some(size) if random.chance(1, 2) => squared(recipe, size),
        _ => recipe.clone(),
    };
    let shapes: Vec<Vec<i64>> = (0..out.steps.len()).filter_map(|i| out.shape(i).cloned()).collect();
    // The largest dimension that an operand has so many axes from the last.
    let largest = |from_last: usize| {
        let dims = shapes
            .iter()
            .filter_map(|shape| shape.iter().rev().nth(from_last).copied());
        dims.max().filter(|n| *n > 1).unwrap_or(SIZES[0])
    };
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let leaves: Vec<usize> = (0..out.steps.len()).filter(|&i| out.shape(i).is_some()).collect();
    let only = random.pick(&leaves).filter(|_| random.chance(2, 3));
    for i in 0..out.steps.len() {
        if let Step::Call { def, attrs, .. } = &mut out.steps[i] {
            for (declared, attr) in def.attrs.iter().zip(attrs) {
                match (&declared.kind, &mut *attr) {
                    (AttrKind::Bool, _) if random.chance(1, 3) => {
                        *attr = Some(AttrValue::Bool(random.chance(1, 2)));
                    }
                    (AttrKind::Axes(_), _) if declared.name != ORDER && random.chance(1, 3) => {
                        let count = 1 + random.below(2);
                        *attr = Some(AttrValue::ints(&some_axes(rank, count, random)));
                    }
                    (AttrKind::Floats, Some(AttrValue::Floats(list))) if random.chance(1, 3) => {
                        list.iter_mut().for_each(|x| x.0 = random.pick(&FACTORS).unwrap_or(1.0));
                    }
                    _ => {}
                }
            }
        }
        let is_masked = only.map_or_else(|| random.chance(2, 3), |only| only == i);
        let Some(shape) = out.shape_mut(i).filter(|_| is_masked) else {
            continue;
        };
        for (from_last, n) in shape.iter_mut().rev().enumerate() {
            if random.chance(1, 2) {
                *n = if *n == 1 { largest(from_last) } else { 1 };
            }
        }
    }
    out
}
