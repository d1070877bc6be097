//! Instances close to others, for a part of the conditions that those do not reach: dimensions become 1 or others, element
//! types those that the rule names.

use super::types::with_types_together;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::AttrValue;
use tautomer_tensor::{DType, Dim};

/// Limit on the instances that are made from one.
const NEARBY: usize = 400;

/// The recipe with one or two dimensions of operands changed, all dimensions of one size, one integer attribute, or the
/// element types; `sizes` are tried besides those in the recipe.
pub(crate) fn nearby(recipe: &Recipe, named: &[DType], sizes: &[i64]) -> Vec<Recipe> {
    let mut out: Vec<Recipe> = with_types_together(recipe, named, &[], &|_| true).concat();
    let mut axes: Vec<(usize, usize, i64)> = Vec::new();
    for i in 0..recipe.steps.len() {
        let shape = recipe.shape(i).into_iter().flatten().enumerate();
        axes.extend(shape.map(|(axis, n)| (i, axis, *n)));
    }
    let mut values: Vec<i64> = vec![1];
    for n in axes.iter().map(|(.., n)| *n).chain(sizes.iter().copied()) {
        if !values.contains(&n) && n > 0 {
            values.push(n);
        }
    }
    let with = |places: &[(usize, usize, i64)], to: i64| {
        let mut next = recipe.clone();
        for (i, axis, _) in places {
            if let Some(n) = next.shape_mut(*i).and_then(|shape| shape.get_mut(*axis)) {
                *n = to;
            }
        }
        next
    };
    for &value in &values {
        let alike: Vec<_> = axes.iter().copied().filter(|(.., n)| *n == value).collect();
        out.extend(values.iter().map(|to| with(&alike, *to)));
        for (k, one) in alike.iter().enumerate() {
            out.extend(alike[k + 1..].iter().map(|other| with(&[*one, *other], 1)));
        }
    }
    out.extend(
        axes.iter()
            .flat_map(|one| values.iter().map(|to| with(&[*one], *to)).collect::<Vec<_>>()),
    );
    for (i, step) in recipe.steps.iter().enumerate() {
        let Step::Call { attrs, .. } = step else { continue };
        let integers = (0..attrs.len()).filter(|&k| matches!(attrs[k], Some(AttrValue::Int(_))));
        for (k, n) in integers.flat_map(|k| values.iter().flat_map(move |n| [(k, *n), (k, 2 * n)])) {
            let mut next = recipe.clone();
            if let Step::Call { attrs, .. } = &mut next.steps[i] {
                attrs[k] = Some(AttrValue::Int(Dim::Const(n)));
            }
            out.push(next);
        }
    }
    out.truncate(NEARBY);
    out
}
