//! Axes with more elements than small types can count.

use crate::instance::recipe::{Recipe, Step};
use tautomer_op::AttrValue;
use tautomer_tensor::DType;

/// The recipe with one axis of an operand, and all others that are as long, longer than the largest number that an
/// element type which a call names can count to; all other dimensions are 1.
pub(crate) fn with_long_axes(recipe: &Recipe) -> Vec<Recipe> {
    let mut lengths: Vec<i64> = recipe.steps.iter().flat_map(named_types).filter_map(beyond).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let mut out = Vec::new();
    for &length in &lengths {
        for i in 0..recipe.steps.len() {
            for axis in 0..recipe.shape(i).map_or(0, Vec::len) {
                let mut next = recipe.clone();
                for k in 0..next.steps.len() {
                    let Some(shape) = next.shape_mut(k) else { continue };
                    let own = recipe.shape(i) == recipe.shape(k);
                    for (j, n) in shape.iter_mut().enumerate() {
                        *n = if own && j == axis { length } else { 1 };
                    }
                }
                out.push(next);
            }
        }
    }
    out
}

/// The element types that the attributes of a call name.
fn named_types(step: &Step) -> Vec<DType> {
    let Step::Call { attrs, .. } = step else {
        return Vec::new();
    };
    let types = attrs.iter().filter_map(|attr| match attr {
        Some(AttrValue::DType(dtype)) => Some(*dtype),
        _ => None,
    });
    types.collect()
}

/// A number of elements that the type cannot count, nor half of them, if it is small.
fn beyond(dtype: DType) -> Option<i64> {
    match dtype {
        DType::I8 => Some(300),
        DType::U8 | DType::BF16 => Some(600),
        DType::F16 => Some(4095),
        _ => None,
    }
}
