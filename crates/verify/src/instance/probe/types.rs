//! Element types: every combination that a rule admits.

use crate::instance::recipe::{Recipe, Step};
use tautomer_tensor::DType;

/// Element types used to find out which operands share a type.
const TELLING: [DType; 5] = [DType::F64, DType::F16, DType::I32, DType::U8, DType::Bool];

/// Element types that are not real, for instances beyond one of each type.
const DISCRETE: [DType; 3] = [DType::I32, DType::U8, DType::Bool];

/// Limit on the combinations of element types.
const COMBINATIONS: usize = 150;

fn dtype(recipe: &Recipe, step: usize) -> Option<DType> {
    match &recipe.steps[step] {
        Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => Some(*dtype),
        Step::Const(tensor) => Some(tensor.dtype()),
        _ => None,
    }
}

/// The recipe with another element type at some steps; `None` if a constant cannot have it.
fn retyped(recipe: &Recipe, steps: &[usize], to: DType) -> Option<Recipe> {
    let mut out = recipe.clone();
    for &step in steps {
        match &mut out.steps[step] {
            Step::Leaf { dtype, .. } => *dtype = to,
            Step::Fill { dtype, value, .. } => {
                if !to.is_float() && value.fract() != 0.0 {
                    return None;
                }
                *dtype = to;
            }
            _ => return None,
        }
    }
    Some(out)
}

/// The recipe with all real operands of a type that is not real, as far as it fits.
pub(crate) fn with_discrete_types(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> Vec<Recipe> {
    let real: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| dtype(recipe, i).is_some_and(DType::is_float))
        .collect();
    if real.is_empty() {
        return Vec::new();
    }
    let all = DISCRETE.iter().filter_map(|&to| retyped(recipe, &real, to));
    all.filter(|next| fits(next)).collect()
}

/// The recipe with all real operands as integers; `None` if a constant has no integer value.
pub(crate) fn with_integer_types(recipe: &Recipe) -> Option<Recipe> {
    let real: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| dtype(recipe, i).is_some_and(DType::is_float))
        .collect();
    if real.is_empty() {
        return None;
    }
    retyped(recipe, &real, DType::I64)
}

/// The recipe with every element type that it admits, and whether the list is complete; `fits` tells whether the rule
/// matches and the types agree.
pub(crate) fn with_types(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> (Vec<Recipe>, bool) {
    let typed: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| dtype(recipe, i).is_some())
        .collect();
    let may_change = |steps: &[usize]| {
        TELLING.iter().any(|&to| {
            steps.iter().any(|&i| dtype(recipe, i) != Some(to)) && retyped(recipe, steps, to).is_some_and(|r| fits(&r))
        })
    };
    // Operands whose type can change alone, together with one other, or with all others of their type.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut left: Vec<usize> = Vec::new();
    for &i in &typed {
        if may_change(&[i]) {
            groups.push(vec![i]);
        } else {
            left.push(i);
        }
    }
    while let Some(&first) = left.first() {
        let alike: Vec<usize> = left
            .iter()
            .copied()
            .filter(|&i| dtype(recipe, i) == dtype(recipe, first))
            .collect();
        let pair = alike
            .iter()
            .skip(1)
            .map(|&j| vec![first, j])
            .find(|pair| may_change(pair));
        let group = pair
            .or_else(|| may_change(&alike).then_some(alike))
            .unwrap_or_else(|| vec![first]);
        left.retain(|i| !group.contains(i));
        // An operand tied to one member of a pair is tied to both.
        groups.push(group);
    }
    let admitted = |group: &Vec<usize>| -> Vec<DType> {
        let own = dtype(recipe, group[0]);
        let fit = |to: &DType| own == Some(*to) || retyped(recipe, group, *to).is_some_and(|r| fits(&r));
        DType::ALL.into_iter().filter(fit).collect()
    };
    let domains: Vec<Vec<DType>> = groups.iter().map(admitted).collect();
    let count = domains.iter().try_fold(1usize, |n, d| n.checked_mul(d.len()));
    let complete = count.is_some_and(|n| n <= COMBINATIONS);
    let mut out = Vec::new();
    if complete {
        out.push(recipe.clone());
        for (group, domain) in groups.iter().zip(&domains) {
            let next = out
                .iter()
                .flat_map(|r: &Recipe| domain.iter().filter_map(|&to| retyped(r, group, to)));
            out = next.collect();
        }
    } else {
        for (group, domain) in groups.iter().zip(&domains) {
            out.extend(domain.iter().filter_map(|&to| retyped(recipe, group, to)));
        }
    }
    out.retain(|r| fits(r));
    (out, complete)
}
