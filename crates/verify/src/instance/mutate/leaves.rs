//! Mutations of shapes, element types and constants.

use super::{DTYPES, EXTENTS, RuleNumbers, mutate_number};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_tensor::Tensor;

/// Values of constants to try.
const NUMBERS: [f64; 7] = [0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 6.0];

/// Adds an axis to some leaves, or removes one.
pub(super) fn mutate_rank(recipe: &mut Recipe, random: &mut Random) {
    let shaped = recipe.shaped();
    let Some(first) = random.pick(&shaped) else { return };
    let rank = recipe.shape(first).map_or(0, Vec::len);
    let grow = random.chance(1, 2);
    if !grow && rank == 0 {
        return;
    }
    let at = random.below(if grow { rank + 1 } else { rank });
    let from_end = random.chance(1, 2);
    let extent = random.pick(&EXTENTS).unwrap_or(1);
    let mode = random.below(4);
    // The steps that one call depends on, such as the operands of a `concat`.
    let mut below = vec![false; recipe.steps.len()];
    if let Some(call) = random.pick(&recipe.calls()) {
        below[call] = true;
        for i in (0..=call).rev().filter(|_| mode == 3) {
            if below[i] {
                recipe.steps[i].operands().into_iter().for_each(|u| below[u] = true);
            }
        }
    }
    for i in shaped {
        let Some(shape) = recipe.shape_mut(i) else { continue };
        let along = match mode {
            0 => i == first,
            1 => shape.len() == rank,
            3 => below[i] && shape.len() == rank,
            _ => shape.len() >= rank,
        };
        if !along {
            continue;
        }
        let place = if from_end { shape.len() - (rank - at) } else { at };
        if grow {
            shape.insert(place, extent);
        } else {
            shape.remove(place);
        }
    }
}

/// Gives a leaf the shape of another one, or dimension 1 on some axes.
pub(super) fn mutate_shape(recipe: &mut Recipe, random: &mut Random) {
    let shaped = recipe.shaped();
    let (Some(a), Some(b)) = (random.pick(&shaped), random.pick(&shaped)) else {
        return;
    };
    let mut shape = recipe.shape(b).cloned().unwrap_or_default();
    match random.below(3) {
        0 if !shape.is_empty() => {
            let at = random.below(shape.len());
            shape[at] = 1;
        }
        1 if !shape.is_empty() => {
            shape.drain(..random.below(shape.len() + 1));
        }
        _ => {}
    }
    if let Some(place) = recipe.shape_mut(a) {
        *place = shape;
    }
}

/// Gives leaves another element type.
pub(super) fn mutate_dtype(recipe: &mut Recipe, random: &mut Random) {
    let shaped = recipe.shaped();
    let of = |step: &Step| match step {
        Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => Some(*dtype),
        _ => None,
    };
    let (Some(first), Some(next)) = (random.pick(&shaped), random.pick(&DTYPES)) else {
        return;
    };
    let before = of(&recipe.steps[first]);
    let everywhere = random.chance(3, 4);
    for i in shaped {
        if (i == first || everywhere) && of(&recipe.steps[i]) == before {
            match &mut recipe.steps[i] {
                Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => *dtype = next,
                _ => {}
            }
        }
    }
}

/// Gives a constant another value, or changes one of its elements.
pub(crate) fn mutate_constant(recipe: &mut Recipe, numbers: &RuleNumbers, random: &mut Random) {
    let constants: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| matches!(recipe.steps[i], Step::Fill { .. } | Step::Const(_)))
        .collect();
    let Some(at) = random.pick(&constants) else {
        return mutate_number(recipe, numbers, random);
    };
    match &mut recipe.steps[at] {
        Step::Fill { value, .. } => *value = numbers.number(&NUMBERS, random),
        Step::Const(tensor) => {
            if let Some(changed) = with_other_element(tensor, numbers, random) {
                *tensor = changed;
            }
        }
        _ => {}
    }
}

fn with_other_element(tensor: &Tensor, numbers: &RuleNumbers, random: &mut Random) -> Option<Tensor> {
    if tensor.dtype().is_float() {
        let mut all = tensor.to_f64s()?;
        let at = random.below(all.len());
        *all.get_mut(at)? = numbers.number(&NUMBERS, random);
        return Tensor::from_f64s(tensor.dtype(), tensor.shape(), &all);
    }
    let mut all = tensor.to_ints()?;
    let at = random.below(all.len());
    let before = *all.get(at)?;
    *all.get_mut(at)? = match random.below(3) {
        0 => i128::from(numbers.integer(&EXTENTS, random)),
        1 => before.saturating_add(1),
        _ => before.saturating_sub(1),
    };
    Tensor::from_ints(tensor.dtype(), tensor.shape(), &all)
}
