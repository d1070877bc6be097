//! Convolutions of several groups.

use crate::instance::mutate::is_convolution;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrValue, ShapeRule};

/// The number of groups.
const GROUPS: i64 = 2;

/// The recipe with two groups in all convolutions, with one and with two channels of the result in each.
pub(crate) fn with_groups(recipe: &Recipe) -> Vec<Recipe> {
    [2, 1].into_iter().filter_map(|outer| grouped(recipe, outer)).collect()
}

/// The recipe with groups of one channel each and so many channels in the result of each; `None` if it has no
/// convolution.
fn grouped(recipe: &Recipe, outer: i64) -> Option<Recipe> {
    let mut out = recipe.clone();
    let calls = recipe.calls().into_iter().filter(|&i| is_convolution(&recipe.steps[i]));
    let mut found = false;
    for i in calls {
        let Step::Call { def, operands, attrs } = &mut out.steps[i] else {
            continue;
        };
        let transposed = def.shapes == ShapeRule::Convolution { transposed: true };
        let Some(group) = def.attr_index("group") else { continue };
        attrs[group] = Some(AttrValue::int(GROUPS));
        let operands = operands.clone();
        let mut set = |operand: usize, axis: usize, n: i64| {
            let leaf = operands.get(operand).map(|&u| out.first_leaf(u));
            let shape = leaf.and_then(|leaf| out.shape_mut(leaf));
            if let Some(extent) = shape.and_then(|shape| shape.get_mut(axis)) {
                *extent = n;
            }
        };
        set(0, 1, GROUPS);
        set(1, 0, if transposed { GROUPS } else { GROUPS * outer });
        set(1, 1, if transposed { outer } else { 1 });
        set(2, 0, GROUPS * outer);
        found = true;
    }
    found.then_some(out)
}
