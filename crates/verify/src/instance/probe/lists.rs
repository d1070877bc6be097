//! Constants with several elements that differ.
//!
//! Most instances have constants whose elements are equal, and a condition that looks at some elements says little about
//! the others.

use super::{EQUAL, squared};
use crate::instance::interleaved;
use crate::instance::recipe::{Recipe, Step};
use tautomer_tensor::Tensor;

/// The number of elements of a constant that is replaced.
const LENGTHS: std::ops::RangeInclusive<usize> = 2..=256;

/// Rotations of places that are tried, less one.
const TURNS: usize = 3;

/// The amounts by which elements are changed.
const ASIDE: [f64; 2] = [1.0, -2.0];

/// The recipe with each constant of several elements replaced by some in which elements differ: one of them, all but
/// one, the first half, or all.
/// Also with all dimensions equal, where constants with one element get more.
pub(crate) fn with_lists(recipe: &Recipe) -> Vec<Recipe> {
    let equal = squared(recipe, EQUAL[1]);
    interleaved(vec![with_own_lists(recipe), with_own_lists(&equal)])
}

fn with_own_lists(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        let Step::Fill { dtype, shape, value } = step else {
            continue;
        };
        let shape: Option<Vec<usize>> = shape.iter().map(|d| usize::try_from(*d).ok()).collect();
        let Some(shape) = shape else { continue };
        let n: usize = shape.iter().product();
        if !LENGTHS.contains(&n) {
            continue;
        }
        let differs: [&dyn Fn(usize) -> usize; 7] = [
            &|k| usize::from(k == n / 2),
            &|k| usize::from(k == n - 1),
            &|k| usize::from(k == 0),
            &|k| usize::from(k != 0),
            &|k| usize::from(k != n - 1),
            &|k| usize::from(2 * k < n),
            &|k| k,
        ];
        for aside in ASIDE {
            for steps in differs {
                let elements: Vec<f64> = (0..n).map(|k| value + aside * steps(k) as f64).collect();
                let tensor = if dtype.is_float() {
                    Tensor::from_f64s(*dtype, &shape, &elements)
                } else {
                    let whole: Vec<i128> = elements.iter().map(|x| x.round() as i128).collect();
                    Tensor::from_ints(*dtype, &shape, &whole)
                };
                let Some(tensor) = tensor else { continue };
                out.push(with_constant(recipe, i, tensor));
            }
        }
        // Orders of places, which conditions may ask for.
        for turn in 1..n.min(TURNS) {
            let places: Vec<i128> = (0..n).map(|k| ((k + turn) % n) as i128).collect();
            let tensor = (!dtype.is_float())
                .then(|| Tensor::from_ints(*dtype, &shape, &places))
                .flatten();
            out.extend(tensor.map(|tensor| with_constant(recipe, i, tensor)));
        }
    }
    out
}

fn with_constant(recipe: &Recipe, step: usize, tensor: Tensor) -> Recipe {
    let mut next = recipe.clone();
    next.steps[step] = Step::Const(tensor);
    next
}
