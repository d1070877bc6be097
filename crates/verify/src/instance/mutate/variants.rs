//! Systematic variants: each attribute and each dimension of a recipe at each relevant value.

use super::attribute::{mutate_attribute, other_value};
use super::convolution::{is_convolution, mutate_convolutions};
use super::structure::{mutate_members, mutate_operator};
use super::{Place, RuleNumbers, Tie, tied};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, Real};
use tautomer_tensor::DType;

/// The number of variants with other member counts.
const MEMBERS: usize = 6;

/// The number of variants of a text.
const TEXTS: usize = 12;

/// Numbers for the elements of a list, such as the factors of a resize.
const FACTORS: [f64; 6] = [0.5, 3.0, 0.25, 1.5, 1.0, 0.7];

/// A number for an attribute that was left out.
const GIVEN: f64 = 0.75;

/// The number of variants of convolutions.
const CONVOLUTIONS: usize = 16;

/// Element types that differ in what computing with them means.
const TYPES: [DType; 5] = [DType::Bool, DType::U8, DType::I32, DType::F32, DType::F64];

/// Recipes with one attribute that is an element type at each of a few, in all calls that share it.
pub(crate) fn with_other_types(recipe: &Recipe) -> Vec<Recipe> {
    let mut out: Vec<Recipe> = Vec::new();
    for call in recipe.calls() {
        let Step::Call { def, attrs, .. } = &recipe.steps[call] else {
            continue;
        };
        let places = def
            .attrs
            .iter()
            .enumerate()
            .filter(|(_, attr)| matches!(attr.kind, AttrKind::DType));
        for (k, _) in places {
            for dtype in TYPES.map(|dtype| Some(AttrValue::DType(dtype))) {
                let next = with_attribute(recipe, def.name, k, attrs[k].as_ref(), dtype.as_ref());
                if next != *recipe && !out.contains(&next) {
                    out.push(next);
                }
            }
        }
    }
    out
}

/// Recipes with one number that may be left out without a value in its place: left out, and given.
pub(crate) fn with_optional_numbers(recipe: &Recipe) -> Vec<Recipe> {
    let mut out: Vec<Recipe> = Vec::new();
    for call in recipe.calls() {
        let Step::Call { def, attrs, .. } = &recipe.steps[call] else {
            continue;
        };
        let places = def.attrs.iter().enumerate();
        let places = places.filter(|(_, attr)| attr.is_optional_number());
        for (k, _) in places {
            let other = attrs[k].is_none().then(|| AttrValue::float(GIVEN));
            let next = with_attribute(recipe, def.name, k, attrs[k].as_ref(), other.as_ref());
            if !out.contains(&next) {
                out.push(next);
            }
        }
    }
    out
}

/// The recipe with another value for an attribute of an operator, in all calls that have the same one.
fn with_attribute(
    recipe: &Recipe,
    operator: &str,
    place: usize,
    before: Option<&AttrValue>,
    value: Option<&AttrValue>,
) -> Recipe {
    let mut next = recipe.clone();
    for step in &mut next.steps {
        if let Step::Call { def, attrs, .. } = step
            && def.name == operator
            && attrs[place].as_ref() == before
        {
            attrs[place] = value.cloned();
        }
    }
    next
}

/// Recipes with one attribute at each of its relevant values, in all calls that share it; and with other shapes; in
/// random order.
pub(crate) fn variants(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Vec<Recipe> {
    let rank = recipe
        .shaped()
        .into_iter()
        .filter_map(|i| recipe.shape(i))
        .map(Vec::len)
        .max()
        .unwrap_or(0) as i64;
    let mut out: Vec<Recipe> = Vec::new();
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for call in recipe.calls() {
        let Step::Call { def, attrs, .. } = &recipe.steps[call] else {
            continue;
        };
        for (k, attr) in def.attrs.iter().enumerate() {
            if seen.contains(&(def.name, k)) {
                continue;
            }
            seen.push((def.name, k));
            let values: Vec<Option<AttrValue>> = match attr.kind {
                AttrKind::Bool => [false, true].map(|b| Some(AttrValue::Bool(b))).to_vec(),
                AttrKind::Int => [1, 2, 3].map(|n| Some(AttrValue::int(n))).to_vec(),
                AttrKind::Axis(_) => (-rank..rank).map(|n| Some(AttrValue::int(n))).collect(),
                AttrKind::OneOf(all) => all.iter().map(|s| Some(AttrValue::str(s))).collect(),
                AttrKind::Ints | AttrKind::Axes(_) | AttrKind::Float => (0..3)
                    .map(|_| other_value(attr, attrs[k].as_ref(), rank as usize, numbers, random))
                    .collect(),
                AttrKind::Floats => each_number(attrs[k].as_ref()),
                AttrKind::Str => (0..TEXTS)
                    .map(|_| other_value(attr, attrs[k].as_ref(), rank as usize, numbers, random))
                    .collect(),
                _ => continue,
            };
            for value in values {
                out.push(with_attribute(recipe, def.name, k, attrs[k].as_ref(), value.as_ref()));
            }
        }
    }
    if recipe.calls().into_iter().any(|i| is_convolution(&recipe.steps[i])) {
        for _ in 0..CONVOLUTIONS {
            let mut next = recipe.clone();
            mutate_convolutions(&mut next, numbers, random);
            out.push(next);
        }
    }
    for (place, value) in recipe.integers() {
        if let Place::Attr(..) = place {
            for other in [
                value.saturating_add(1),
                value.saturating_sub(1),
                if value == 0 { 2 } else { 0 },
            ] {
                let mut next = recipe.clone();
                next.set(place, other);
                out.push(next);
            }
        }
    }
    // With equal dimensions, transposed or swapped operands have the same type.
    let square: Vec<Recipe> = out.iter().map(|next| squared(next, &[2, 3][..], random)).collect();
    for next in square {
        if random.chance(1, 3) {
            out.push(next);
        }
    }
    for _ in 0..MEMBERS {
        let mut next = recipe.clone();
        mutate_members(&mut next, numbers, random);
        out.push(next);
        if !numbers.rule.operators.is_empty() {
            let mut next = recipe.clone();
            mutate_operator(&mut next, numbers, random);
            mutate_attribute(&mut next, numbers, random);
            out.push(next);
        }
    }
    out.extend(shapes(recipe, random));
    random.shuffle(&mut out);
    out
}

/// The list of numbers with each element at each of some values.
fn each_number(list: Option<&AttrValue>) -> Vec<Option<AttrValue>> {
    let Some(AttrValue::Floats(list)) = list else {
        return Vec::new();
    };
    let with = |at: usize, factor: f64| {
        let mut next = list.clone();
        next[at] = Real(factor);
        Some(AttrValue::Floats(next))
    };
    let places = 0..list.len();
    places
        .flat_map(|at| FACTORS.iter().map(move |&factor| with(at, factor)))
        .collect()
}

/// Each operand broadcast along each of its axes, and with a leading axis more or less; each dimension 0, 1, and one
/// larger.
fn shapes(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let mut out = Vec::new();
    for i in recipe.shaped() {
        let Some(shape) = recipe.shape(i) else { continue };
        let mut change = |f: &dyn Fn(&mut Vec<i64>)| {
            let mut next = recipe.clone();
            next.shape_mut(i).into_iter().for_each(f);
            out.push(next);
        };
        for axis in 0..shape.len() {
            change(&|shape| shape[axis] = 1);
        }
        if !shape.is_empty() {
            change(&|shape| {
                shape.remove(0);
            });
            change(&|shape| shape.clear());
        }
        change(&|shape| shape.insert(0, 2));
    }
    // One operand with one axis more, another with one less.
    let shaped = recipe.shaped();
    for &i in &shaped {
        for &j in &shaped {
            if i == j || recipe.shape(j).is_none_or(Vec::is_empty) {
                continue;
            }
            for with_batch in [false, true] {
                let mut next = recipe.clone();
                if let Some(shape) = next.shape_mut(i) {
                    shape.insert(0, 2);
                }
                if let Some(shape) = next.shape_mut(j) {
                    shape.remove(0);
                }
                if with_batch {
                    for &k in shaped.iter().filter(|k| **k != i && **k != j) {
                        if let Some(shape) = next.shape_mut(k) {
                            shape.insert(0, 2);
                        }
                    }
                }
                out.push(next);
            }
        }
    }
    let mut seen = Vec::new();
    for (place, value) in recipe.integers() {
        if seen.contains(&value) || matches!(place, Place::Attr(..)) {
            continue;
        }
        seen.push(value);
        for next_value in [0, 1, value.saturating_add(1)] {
            for tie in [Tie::SameKind, Tie::SameAxis] {
                let mut next = recipe.clone();
                for place in tied(recipe, place, tie, random) {
                    next.set(place, next_value);
                }
                out.push(next);
            }
        }
    }
    out
}

/// The recipe with the same number for all dimensions of leaves.
fn squared(recipe: &Recipe, sides: &[i64], random: &mut Random) -> Recipe {
    let mut out = recipe.clone();
    let side = random.pick(sides).unwrap_or(2);
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i) {
            shape.fill(side);
        }
    }
    out
}
