//! Constants whose elements differ: where a condition names some elements, only another one may matter, or two together.

use crate::instance::recipe::{Recipe, Step, numbers};
use tautomer_tensor::DType;

/// Limit on the elements of a constant.
const ELEMENTS: usize = 8;

/// The sizes to which an order of positions is extended: an order of three is its own inverse or a cycle of three.
const ORDERS: [usize; 2] = [4, 5];

/// The recipe with other elements of each constant with several, at one place, at two, and in another order.
pub(crate) fn with_elements(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> Vec<Recipe> {
    let mut out = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        out.extend(ORDERS.iter().flat_map(|&n| with_orders_of(recipe, i, n)));
        let Some((dtype, shape, elements)) = elements(step) else {
            continue;
        };
        let made = changes(&elements).into_iter().filter_map(|elements| {
            let mut next = recipe.clone();
            next.steps[i] = Step::Const(numbers(dtype, &shape, &elements)?);
            Some(next)
        });
        out.extend(made);
    }
    out.retain(|next| fits(next));
    out
}

/// The recipe with different elements in each constant with several: axes that are mistaken for one another, and
/// elements at other places, show there alone.
pub(crate) fn with_uneven_constants(recipe: &Recipe) -> Option<Recipe> {
    let mut out = recipe.clone();
    for step in &mut out.steps {
        if let Step::Fill { .. } = step
            && let Some((dtype, shape, elements)) = elements(step)
            && elements.len() > 1
        {
            let is_whole = !dtype.is_float();
            let next: Vec<f64> = elements
                .iter()
                .enumerate()
                .map(|(i, v)| uneven(*v, i, is_whole))
                .collect();
            *step = Step::Const(numbers(dtype, &shape, &next)?);
        }
    }
    (out != *recipe).then_some(out)
}

/// An element that differs from those beside it: further from 0, or one of the next integers.
fn uneven(value: f64, at: usize, is_whole: bool) -> f64 {
    match at {
        0 => value,
        _ if is_whole => value + at as f64,
        _ => value * (1.0 + 0.5 * at as f64) + f64::from(value == 0.0) * at as f64,
    }
}

/// The element type, the shape and the elements of a constant with few.
fn elements(step: &Step) -> Option<(DType, Vec<usize>, Vec<f64>)> {
    let (dtype, shape, elements) = match step {
        Step::Const(tensor) => (tensor.dtype(), tensor.shape().to_vec(), tensor.to_f64s()?),
        Step::Fill { dtype, shape, value } => {
            let shape: Option<Vec<usize>> = shape.iter().map(|n| usize::try_from(*n).ok()).collect();
            let shape = shape?;
            let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
            (*dtype, shape, vec![*value; count.min(ELEMENTS + 1)])
        }
        _ => return None,
    };
    let is_number = dtype != DType::Bool && (dtype.is_float() || dtype.int_range().is_some());
    (is_number && (1..=ELEMENTS).contains(&elements.len())).then_some((dtype, shape, elements))
}

/// Lists that differ from one in one element, in two, or in the order.
fn changes(all: &[f64]) -> Vec<Vec<f64>> {
    let mut out = Vec::new();
    let n = all.len();
    // A number is changed by other probes.
    if n < 2 {
        return out;
    }
    let set = |places: &[(usize, f64)]| {
        let mut next = all.to_vec();
        places.iter().for_each(|&(i, value)| next[i] = value);
        next
    };
    for (i, &v) in all.iter().enumerate() {
        out.extend([-v, -0.5 * v - 0.25, 2.0 * v + 1.0, 0.0, v + 0.004].map(|other| set(&[(i, other)])));
    }
    for (i, j) in (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))) {
        let (v, w) = (all[i], all[j]);
        let pairs = [
            (w, v),
            (-v, -w),
            (v + 0.5, w - 0.5),
            (v - 1.0, w + 1.0),
            (v, -v),
            (-0.5, 1.5),
        ];
        out.extend(pairs.map(|(a, b)| set(&[(i, a), (j, b)])));
    }
    let mut turned = all.to_vec();
    turned.rotate_left(1);
    out.push(turned);
    out.push(all.iter().rev().copied().collect());
    out.retain(|next| next != all);
    out
}

/// The recipe with all positions of a longer axis in another order, in one constant, or in each that has as many: the
/// same in all, or others. Dimensions that are the size of the constant grow.
fn with_orders_of(recipe: &Recipe, constant: usize, n: usize) -> Vec<Recipe> {
    let size = |i: usize| match &recipe.steps[i] {
        Step::Const(tensor) if is_list(tensor.dtype(), tensor.shape().len()) => Some(tensor.len() as i64),
        Step::Fill { dtype, shape, .. } if is_list(*dtype, shape.len()) => shape.first().copied(),
        _ => None,
    };
    let Some(before) = size(constant) else {
        return Vec::new();
    };
    let alike: Vec<usize> = (0..recipe.steps.len()).filter(|&i| size(i) == Some(before)).collect();
    let mut grown = recipe.clone();
    for i in (0..recipe.steps.len()).filter(|i| !alike.contains(i)) {
        if let Some(shape) = grown.shape_mut(i) {
            shape.iter_mut().filter(|d| **d == before).for_each(|d| *d = n as i64);
        }
    }
    let turned: Vec<f64> = (0..n).map(|i| ((i + 1) % n) as f64).collect();
    let mut exchanged: Vec<f64> = (0..n).map(|i| i as f64).collect();
    exchanged.swap(1, 2);
    // The order of this constant, and that of the others.
    let orders = [
        (&turned, Some(&turned)),
        (&exchanged, Some(&turned)),
        (&turned, None),
        (&exchanged, None),
    ];
    let made = orders.into_iter().filter_map(|(own, others)| {
        let mut next = grown.clone();
        for &i in &alike {
            let dtype = match &recipe.steps[i] {
                Step::Const(tensor) => tensor.dtype(),
                Step::Fill { dtype, .. } => *dtype,
                _ => continue,
            };
            let Some(order) = (if i == constant { Some(own) } else { others }) else {
                continue;
            };
            next.steps[i] = Step::Const(numbers(dtype, &[n], order)?);
        }
        Some(next)
    });
    made.collect()
}

/// True for a list of integers.
fn is_list(dtype: DType, rank: usize) -> bool {
    dtype.int_range().is_some() && rank == 1
}
