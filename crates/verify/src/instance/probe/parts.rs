//! Splits into several parts of different sizes.

use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, ShapeRule};

/// The sizes of parts, none of which is the sum of those before or after it, and sizes of which all but one are equal.
const SIZES: [&[i64]; 9] = [
    &[1, 1, 3, 1],
    &[2, 1, 4],
    &[1, 3, 2, 1, 2],
    &[3, 1, 1, 2],
    &[1, 4, 2],
    &[1, 1, 1, 2, 1],
    &[1, 1, 2],
    &[2, 2, 2, 1],
    &[1, 2, 1, 1],
];

/// The recipe with each split into more parts, of sizes that are seldom mistaken for each other, and with each of its
/// parts in place of the one that is used, if only one is.
pub(crate) fn with_parts(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        let Step::Call { def, operands, attrs } = step else {
            continue;
        };
        let sizes_at = def.attrs.iter().position(|attr| matches!(attr.kind, AttrKind::Ints));
        let operand = operands.first().map(|&u| recipe.first_leaf(u));
        let (Some(sizes_at), true, Some(operand)) = (sizes_at, def.shapes == ShapeRule::Split, operand) else {
            continue;
        };
        let Some(shape) = recipe.shape(operand) else { continue };
        let axis = def.attr_index("axis").and_then(|k| match &attrs[k] {
            Some(AttrValue::Int(axis)) => axis.as_const(),
            _ => Some(0),
        });
        let axis = axis.map(|axis| if axis < 0 { axis + shape.len() as i64 } else { axis });
        let Some(axis) = axis
            .and_then(|axis| usize::try_from(axis).ok())
            .filter(|axis| *axis < shape.len())
        else {
            continue;
        };
        let used: Vec<usize> = (0..recipe.steps.len())
            .filter(|&k| matches!(&recipe.steps[k], Step::Proj(tuple, _) if *tuple == i))
            .collect();
        for sizes in SIZES {
            let mut next = recipe.clone();
            if let Step::Call { attrs, .. } = &mut next.steps[i] {
                // A number of parts may be given in place of their sizes.
                let count = def.attrs.iter().position(|attr| matches!(attr.kind, AttrKind::Int));
                count.into_iter().for_each(|k| attrs[k] = None);
                attrs[sizes_at] = Some(AttrValue::ints(sizes));
            }
            if let Some(shape) = next.shape_mut(operand) {
                shape[axis] = sizes.iter().sum();
            }
            match used.as_slice() {
                [only] => out.extend((0..sizes.len()).rev().map(|part| {
                    let mut next = next.clone();
                    next.steps[*only] = Step::Proj(i, part);
                    next
                })),
                _ => out.push(next),
            }
        }
    }
    out
}
