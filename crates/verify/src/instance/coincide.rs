//! Instances with coinciding dimensions: dimensions that happen to be equal, and dimensions of 1.
//!
//! A wrong rule may have the right type only where two dimensions happen to be equal, for example if it transposes an
//! operand by mistake. Mutating one number at a time rarely gets there. So the distinct dimensions of an instance are
//! replaced by 1 and 2 in every combination.

use super::mutate::Place;
use super::random::Random;
use super::recipe::{Recipe, Step};
use tautomer_op::{AttrDef, AttrKind, AttrValue};

/// The values that replace dimensions.
const SMALL: [i64; 2] = [1, 2];

/// Limit on the distinct dimensions that are replaced; of more, the first ones are.
const CLASSES: usize = 6;

/// An instance with its dimensions replaced by 1 and 2 in every combination, in random order; the same with each flag
/// flipped, and with a leading axis of dimension 1 on all leaves of one rank: one list for each of these variants.
pub(crate) fn coincidences(recipe: &Recipe, random: &mut Random) -> Vec<Vec<Recipe>> {
    let mut forms = vec![recipe.clone()];
    forms.extend(widened(recipe));
    forms.extend(flipped(recipe));
    let mut small = |form: &Recipe| {
        let mut all = small_extents(form);
        random.shuffle(&mut all);
        all
    };
    forms.iter().map(&mut small).collect()
}

/// Each flag flipped: in all calls of the operator that has it, and if there are several, in each of them alone.
fn flipped(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    each_attr(recipe, &mut |attr, calls| {
        if !matches!(attr.kind, AttrKind::Bool) {
            return;
        }
        out.push(with_value(recipe, calls, &|now| match now {
            Some(AttrValue::Bool(true)) => AttrValue::Bool(false),
            _ => AttrValue::Bool(true),
        }));
    });
    out
}

/// Each flag flipped, and each word of an attribute replaced by every other one: in all calls of the operator that has
/// it, and if there are several, in each of them alone.
pub(crate) fn worded(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = flipped(recipe);
    each_attr(recipe, &mut |attr, calls| {
        let AttrKind::OneOf(words) = attr.kind else { return };
        let now = calls.first().and_then(|&(i, k)| value_of(recipe, i, k));
        for word in words.iter().map(|word| AttrValue::str(word)) {
            if now.as_ref() != Some(&word) {
                out.push(with_value(recipe, calls, &|_| word.clone()));
            }
        }
    });
    out
}

/// An attribute of a call: its step, and the place of the attribute.
type At = (usize, usize);

/// Calls `see` with each attribute of each operator and the calls that have it: all of them, then each of several.
fn each_attr(recipe: &Recipe, see: &mut dyn FnMut(&AttrDef, &[At])) {
    let mut seen: Vec<(&str, usize)> = Vec::new();
    let mut alone: Vec<(&AttrDef, At)> = Vec::new();
    for step in &recipe.steps {
        let Step::Call { def, .. } = step else { continue };
        for (k, attr) in def.attrs.iter().enumerate() {
            if seen.contains(&(def.name, k)) {
                continue;
            }
            seen.push((def.name, k));
            let has = |step: &Step| matches!(step, Step::Call { def: of, .. } if of.name == def.name);
            let calls: Vec<At> = (0..recipe.steps.len())
                .filter(|&i| has(&recipe.steps[i]))
                .map(|i| (i, k))
                .collect();
            see(attr, &calls);
            if calls.len() > 1 {
                alone.extend(calls.into_iter().map(|call| (attr, call)));
            }
        }
    }
    alone.into_iter().for_each(|(attr, call)| see(attr, &[call]));
}

/// The value of an attribute, or its default.
fn value_of(recipe: &Recipe, step: usize, k: usize) -> Option<AttrValue> {
    match &recipe.steps[step] {
        Step::Call { def, attrs, .. } => attrs[k].clone().or_else(|| def.attrs[k].default_value()),
        _ => None,
    }
}

/// The recipe with another value of an attribute in some calls, by its value now.
fn with_value(recipe: &Recipe, calls: &[At], new: &dyn Fn(Option<AttrValue>) -> AttrValue) -> Recipe {
    let mut next = recipe.clone();
    for &(i, k) in calls {
        let now = value_of(recipe, i, k);
        if let Step::Call { attrs, .. } = &mut next.steps[i] {
            attrs[k] = Some(new(now));
        }
    }
    next
}

/// A leading axis of dimension 1 on all leaves of one rank.
fn widened(recipe: &Recipe) -> Vec<Recipe> {
    let ranks = |recipe: &Recipe| {
        (0..recipe.steps.len())
            .filter_map(|i| Some(recipe.shape(i)?.len()))
            .collect()
    };
    let mut ranks: Vec<usize> = ranks(recipe);
    ranks.sort_unstable();
    ranks.dedup();
    let with_axis = |rank: usize| {
        let mut next = recipe.clone();
        for i in 0..next.steps.len() {
            if let Some(shape) = next.shape_mut(i)
                && shape.len() == rank
            {
                shape.insert(0, 1);
            }
        }
        next
    };
    ranks.into_iter().map(with_axis).collect()
}

/// Every combination of 1 and 2 for the distinct dimensions of leaves.
fn small_extents(recipe: &Recipe) -> Vec<Recipe> {
    let extents: Vec<(Place, i64)> = recipe
        .integers()
        .into_iter()
        .filter(|(place, value)| matches!(place, Place::Extent(..)) && *value > 1)
        .collect();
    let mut classes: Vec<i64> = Vec::new();
    for (_, value) in &extents {
        if !classes.contains(value) && classes.len() < CLASSES {
            classes.push(*value);
        }
    }
    let mapped = |choice: usize| {
        let mut next = recipe.clone();
        for (place, value) in &extents {
            if let Some(class) = classes.iter().position(|c| c == value) {
                next.set(*place, SMALL[choice >> class & 1]);
            }
        }
        next
    };
    (0..1 << classes.len()).map(mapped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_op::lookup;
    use tautomer_tensor::DType;

    fn gemm() -> Recipe {
        let leaf = |name: &str, shape: &[i64]| Step::Leaf {
            name: name.into(),
            param: false,
            dtype: DType::F32,
            shape: shape.to_vec(),
        };
        let def = lookup("gemm").expect("an operator");
        let call = Step::Call {
            def,
            operands: vec![0, 1, 2],
            attrs: vec![None; def.attrs.len()],
        };
        Recipe {
            steps: vec![leaf("a", &[2, 3]), leaf("b", &[3, 4]), leaf("c", &[4]), call],
            roots: vec![3],
        }
    }

    #[test]
    fn equal_dimensions_stay_equal_and_others_coincide() {
        let all = small_extents(&gemm());
        assert_eq!(all.len(), 8);
        for recipe in &all {
            assert_eq!(recipe.shape(0).unwrap()[1], recipe.shape(1).unwrap()[0]);
            assert_eq!(recipe.shape(1).unwrap()[1], recipe.shape(2).unwrap()[0]);
        }
        assert!(
            all.iter()
                .any(|r| r.shape(0).unwrap() == &[2, 2] && r.shape(1).unwrap() == &[2, 2])
        );
    }

    #[test]
    fn flags_and_ranks_vary_with_the_dimensions() {
        let all = coincidences(&gemm(), &mut Random::part(0, "flags")).concat();
        let transposed = |r: &Recipe| match &r.steps[3] {
            Step::Call { def, attrs, .. } => attrs[def.attr_index("transA").unwrap()] == Some(AttrValue::Bool(true)),
            _ => false,
        };
        assert!(all.iter().any(|r| transposed(r) && r.shape(0).unwrap() == &[2, 2]));
        assert!(all.iter().any(|r| r.shape(2).unwrap() == &[1, 1]));
    }
}
