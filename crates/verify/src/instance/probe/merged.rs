//! Dimensions made equal, two at a time, in instances where the target has no type, and reshapes to one more axis.
//!
//! A wrong rule may have the right type only where dimensions of different origin happen to be equal, such as a part of
//! a reshaped axis and the axis over which a product sums. Dimensions that are products of others keep to them, without
//! which hardly any reshape would have a type.

use crate::instance::mutate::Place;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, ShapeRule};
use tautomer_tensor::Dim;

/// Limit on the distinct dimensions that are made equal; of more, the first ones are.
const CLASSES: usize = 7;

/// The dimensions of new axes, of which one that is not in the instance is taken.
const PARTS: [i64; 4] = [2, 3, 5, 7];

/// The largest number of axes that a reshape gets.
const LONGEST: usize = 6;

/// The recipe with one of its distinct dimensions replaced by another, for each two of them, beside any other that is 1,
/// and with all of them equal; only those that `fits` accepts.
pub(crate) fn with_merged_extents(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> Vec<Recipe> {
    let extents = extents(recipe);
    let products = products(&extents);
    let mut out: Vec<Recipe> = Vec::new();
    for products in [&products[..], &[]] {
        let is_product = |place: Place| products.iter().any(|product| product.place == place);
        let mut classes: Vec<i64> = Vec::new();
        for &(place, n) in extents.iter().flatten() {
            if n > 1 && !is_product(place) && !classes.contains(&n) && classes.len() < CLASSES {
                classes.push(n);
            }
        }
        let pairs = classes
            .iter()
            .flat_map(|&from| classes.iter().map(move |&to| (Some(from), to)));
        let pairs: Vec<_> = pairs.filter(|(from, to)| *from != Some(*to)).collect();
        // Without a pair, all of them are equal; beside it, one of the others is 1 or none.
        let ones = || classes.iter().copied().map(Some).chain([None]);
        let all = pairs.into_iter().flat_map(|pair| ones().map(move |one| (pair, one)));
        for ((from, to), one) in all.chain([((None, 2), None), ((None, 3), None)]) {
            if one.is_some() && (one == from || one == Some(to)) {
                continue;
            }
            let mut next = recipe.clone();
            for &(place, n) in extents.iter().flatten() {
                if is_product(place) {
                    continue;
                }
                if from.map_or(n > 1, |from| n == from) {
                    next.set(place, to);
                } else if one == Some(n) {
                    next.set(place, 1);
                }
            }
            for product in products {
                let factors = next.integers().into_iter();
                let factors = factors.filter(|(place, _)| product.factors.contains(place));
                let value = factors.map(|(_, n)| n).try_fold(1, i64::checked_mul);
                value.into_iter().for_each(|n| next.set(product.place, n));
            }
            if !out.contains(&next) && fits(&next) {
                out.push(next);
            }
        }
    }
    out
}

/// The recipe with each dimension of the result of each reshape split in two, and the dimensions of operands that it is
/// a factor of multiplied.
pub(crate) fn with_split_extents(recipe: &Recipe) -> Vec<Recipe> {
    let extents = extents(recipe);
    let products = products(&extents);
    let is_new = |n: &i64| extents.iter().flatten().all(|(_, own)| own != n);
    let Some(part) = PARTS.into_iter().find(is_new) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for &(place, n) in extents.iter().flatten() {
        let Place::Attr(i, k, at) = place else { continue };
        let mut next = recipe.clone();
        let Step::Call { def, attrs, .. } = &mut next.steps[i] else {
            continue;
        };
        let Some(AttrValue::Ints(list)) = &mut attrs[k] else {
            continue;
        };
        if def.shapes != ShapeRule::Reshape || n < 1 || list.len() >= LONGEST {
            continue;
        }
        list.insert(at + 1, Dim::Const(part));
        let of_factors = products.iter().filter(|product| product.factors.contains(&place));
        let mut whole: Vec<Place> = of_factors.map(|product| product.place).collect();
        if whole.is_empty() {
            let alike = extents.iter().flatten().filter(|(_, own)| *own == n);
            whole.extend(alike.map(|(other, _)| *other));
        }
        whole.retain(|other| matches!(other, Place::Extent(..)));
        for (other, own) in recipe.integers() {
            if whole.contains(&other) {
                next.set(other, own.saturating_mul(part));
            }
        }
        out.push(next);
    }
    out
}

/// A dimension that is the product of dimensions next to each other.
struct Product {
    place: Place,
    factors: Vec<Place>,
}

/// The dimensions of operands, and the integers of attributes that may be dimensions, by the list that they stand in.
fn extents(recipe: &Recipe) -> Vec<Vec<(Place, i64)>> {
    let mut out: Vec<Vec<(Place, i64)>> = Vec::new();
    for (place, n) in recipe.integers() {
        if let Place::Attr(i, k, _) = place
            && !matches!(&recipe.steps[i], Step::Call { def, .. } if def.attrs[k].kind == AttrKind::Ints)
        {
            continue;
        }
        match out.last_mut() {
            Some(list) if list.first().is_some_and(|(first, _)| is_one_list(*first, place)) => list.push((place, n)),
            _ => out.push(vec![(place, n)]),
        }
    }
    out
}

/// True if both places are in one shape or attribute.
fn is_one_list(a: Place, b: Place) -> bool {
    match (a, b) {
        (Place::Extent(i, _), Place::Extent(j, _)) => i == j,
        (Place::Attr(i, k, _), Place::Attr(j, n, _)) => (i, k) == (j, n),
        _ => false,
    }
}

/// The dimensions that are the product of two or more others, next to each other in another list.
fn products(extents: &[Vec<(Place, i64)>]) -> Vec<Product> {
    let mut out: Vec<Product> = Vec::new();
    for (own, list) in extents.iter().enumerate() {
        for &(place, n) in list {
            let others = extents.iter().enumerate().filter(|(other, _)| *other != own);
            let factors = others.filter(|_| n > 1).find_map(|(_, other)| factors(other, n));
            out.extend(factors.map(|factors| Product { place, factors }));
        }
    }
    out
}

/// The first dimensions next to each other whose product is `n`, if at least two of them are above 1.
fn factors(list: &[(Place, i64)], n: i64) -> Option<Vec<Place>> {
    (0..list.len()).find_map(|start| {
        let mut product = 1_i64;
        let end = (start..list.len()).find(|&k| {
            product = product.saturating_mul(list[k].1);
            product == n || product <= 0
        })?;
        let run = &list[start..=end];
        let is_product = product == n && run.iter().filter(|(_, d)| *d > 1).count() > 1;
        is_product.then(|| run.iter().map(|(place, _)| *place).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_op::{AttrValue, lookup};
    use tautomer_tensor::DType;

    fn reshaped(operand: &[i64], shape: &[i64]) -> Recipe {
        let def = lookup("reshape").expect("an operator");
        let attrs = def.attrs.iter();
        let attrs = attrs.map(|attr| (attr.kind == AttrKind::Ints).then(|| AttrValue::ints(shape)));
        let leaf = Step::Leaf {
            name: "x".into(),
            param: false,
            dtype: DType::F32,
            shape: operand.to_vec(),
        };
        let call = Step::Call {
            def,
            operands: vec![0],
            attrs: attrs.collect(),
        };
        Recipe {
            steps: vec![leaf, call],
            roots: vec![1],
        }
    }

    fn numbers(recipe: &Recipe) -> Vec<i64> {
        recipe.integers().into_iter().map(|(_, n)| n).collect()
    }

    #[test]
    fn split_dimensions_multiply_the_dimensions_that_they_are_factors_of() {
        let all: Vec<Vec<i64>> = with_split_extents(&reshaped(&[5, 12], &[5, 3, 4]))
            .iter()
            .map(numbers)
            .collect();
        let expected = [[10, 12, 5, 2, 3, 4], [5, 24, 5, 3, 2, 4], [5, 24, 5, 3, 4, 2]];
        assert_eq!(all, expected.map(|n| n.to_vec()));
    }

    #[test]
    fn products_follow_the_dimensions_that_are_made_equal() {
        let recipe = reshaped(&[5, 12], &[5, 3, 4]);
        let all: Vec<Vec<i64>> = with_merged_extents(&recipe, &|_| true).iter().map(numbers).collect();
        assert!(all.contains(&vec![3, 12, 3, 3, 4]));
        assert!(all.contains(&vec![5, 20, 5, 5, 4]));
        assert!(all.contains(&vec![2, 4, 2, 2, 2]));
        assert!(all.contains(&vec![5, 12, 5, 4, 4]));
    }
}
