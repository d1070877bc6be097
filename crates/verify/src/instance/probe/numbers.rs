//! Constants and float attributes at the numbers where a rule may change its behaviour.

use crate::instance::ends::ends;
use crate::instance::mutate::RuleNumbers;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue};
use tautomer_tensor::{DType, Tensor};

/// Limit on the numbers tried in one place.
const NUMBERS: usize = 400;

/// The number of choices of all numbers at once.
const TOGETHER: usize = 300;

/// The number of choices of numbers close to each other.
const CLOSE: usize = 150;

/// Numbers that rules seldom contain: fractions, numbers of either sign, small and large ones.
pub(super) const ORDINARY: [f64; 18] = [
    3.0, 0.75, -2.0, 5.0, 1.5, 0.25, -0.5, 7.0, 1.75, 0.1, 10.0, 4.0, -3.0, 0.3, 100.0, 1e-3, 6.0, 1e6,
];

/// Numbers that some element type does not have: `u8`, `f16`, `f32`.
const BEYOND: [f64; 3] = [300.0, 70_000.0, 16_777_217.0];

/// A place with a number: a constant, or an attribute in all calls of an operator in which it has the same value, if
/// any.
pub(super) enum Numbered {
    Constant(usize),
    Attribute(&'static str, usize, Option<u64>),
}

/// Each constant integer at numbers around those that count the elements of an axis from its ends, with equal dimensions.
pub(crate) fn with_indices(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        if !matches!(step, Step::Fill { dtype, .. } if dtype.is_int()) {
            continue;
        }
        for n in super::EQUAL {
            for index in [-n - 1, -n, n, n - 1, -2 * n, 2 * n - 1, -1, -2 * n - 1, 0] {
                let mut next = super::squared(recipe, n);
                if let (Step::Fill { value, shape, .. }, Step::Fill { shape: own, .. }) = (&mut next.steps[i], step) {
                    *value = index as f64;
                    shape.clone_from(own);
                }
                out.push(next);
            }
        }
    }
    out
}

fn bits(value: Option<&AttrValue>) -> Option<u64> {
    value.and_then(AttrValue::as_float).map(f64::to_bits)
}

/// The recipe with each constant and each float attribute replaced by numbers at which the rule may change its
/// behaviour: one list for each.
pub(crate) fn with_numbers(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Vec<Vec<Recipe>> {
    let places = places(recipe);
    let thresholds = numbers.thresholds();
    let mut list = |place: &Numbered| -> Vec<Recipe> {
        let mut all: Vec<f64> = thresholds.iter().copied().take(NUMBERS).collect();
        random.shuffle(&mut all);
        let whole = match place {
            Numbered::Constant(i) => extremes(recipe, *i),
            Numbered::Attribute(..) => Vec::new(),
        };
        // A number that the rule names may be treated apart from all others.
        let all = numbers
            .named()
            .into_iter()
            .chain(numbers.between())
            .chain(ORDINARY.iter().take(6).copied())
            .chain(BEYOND)
            .chain(whole)
            .chain(numbers.specials())
            .chain(all)
            .chain(ORDINARY.iter().skip(6).copied());
        let mut out: Vec<Recipe> = Vec::new();
        for number in all {
            let next = with_number(recipe.clone(), place, number);
            // A condition that a constant equals a number holds only in a type that has this number.
            let is_rounded = f64::from(number as f32) != number;
            if is_rounded && matches!(place, Numbered::Constant(_)) && numbers.named().contains(&number) {
                out.extend(doubled(&next));
            }
            out.push(next);
        }
        out
    };
    places.iter().map(&mut list).collect()
}

/// The recipe with each constant and each float attribute at the ends of its type: the least numbers, halves of which are
/// rounded, and the largest ones, multiples of which are infinite. One list for each place.
pub(crate) fn with_extreme_numbers(recipe: &Recipe) -> Vec<Vec<Recipe>> {
    let list = |place: &Numbered| {
        let dtype = match place {
            Numbered::Constant(i) => match &recipe.steps[*i] {
                Step::Fill { dtype, .. } if dtype.is_float() => *dtype,
                _ => return Vec::new(),
            },
            Numbered::Attribute(..) => DType::F32,
        };
        let numbers = ends(dtype).into_iter();
        numbers.map(|n| with_number(recipe.clone(), place, n)).collect()
    };
    places(recipe).iter().map(list).collect()
}

/// The recipe with all constants and float attributes replaced at once, some by a number near one in the rule, some by
/// any other: bounds may have any order, and one number may matter only in combination with another.
pub(crate) fn with_all_numbers(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Vec<Recipe> {
    let places = all_places(recipe);
    if places.len() < 2 {
        return Vec::new();
    }
    let near = numbers.thresholds();
    let mut one = || {
        let mut next = recipe.clone();
        // Attributes that share a value may have to.
        let tied = random.chance(1, 2);
        let mut chosen: Vec<(&'static str, usize, Option<u64>, f64)> = Vec::new();
        for place in &places {
            let sign = if random.chance(1, 3) { -1.0 } else { 1.0 };
            let whole = match place {
                Single::Constant(i) => extremes(recipe, *i),
                Single::Attribute(..) => Vec::new(),
            };
            let number = match random.below(4) {
                3 if !whole.is_empty() => random.pick(&whole),
                0 => None,
                1 => random.pick(&near),
                _ => random.pick(&ORDINARY).map(|n| sign * n),
            };
            match (place, number) {
                (Single::Constant(i), Some(number)) => next = with_number(next, &Numbered::Constant(*i), number),
                (Single::Attribute(i, k), number) => {
                    let Step::Call { def, attrs, .. } = &mut next.steps[*i] else {
                        continue;
                    };
                    let before = bits(attrs[*k].clone().or_else(|| def.attrs[*k].default_value()).as_ref());
                    let same = |c: &&(&str, usize, Option<u64>, f64)| (c.0, c.1, c.2) == (def.name, *k, before);
                    let number = match chosen.iter().find(same) {
                        Some(known) if tied => Some(known.3),
                        _ => number,
                    };
                    if let Some(number) = number {
                        chosen.push((def.name, *k, before, number));
                        attrs[*k] = Some(AttrValue::float(number));
                    }
                }
                _ => {}
            }
        }
        next
    };
    (0..TOGETHER).map(|_| one()).collect()
}

/// The recipe with all constants and float attributes replaced at once, by numbers that differ by less than a number of
/// the rule, and by numbers that the class alone tells apart. Most attributes without a default stay left out.
pub(crate) fn with_close_numbers(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Vec<Recipe> {
    let places = all_places(recipe);
    if places.len() < 2 {
        return Vec::new();
    }
    let specials = numbers.specials();
    let small = numbers.named().into_iter().filter(|n| n.abs() > 1e-5 && n.abs() < 1.0);
    let steps: Vec<f64> = small.flat_map(|n| [0.5 * n, 0.9 * n, n]).chain([0.0, 1.0]).collect();
    let mut one = || {
        let mut next = recipe.clone();
        let mut last: Option<f64> = None;
        for place in &places {
            let sign = if random.chance(1, 2) { -1.0 } else { 1.0 };
            let number = match (random.below(3), last) {
                (0, _) if !specials.is_empty() => random.pick(&specials),
                (1, Some(last)) => random.pick(&steps).map(|step| last + sign * step),
                _ => random.pick(&ORDINARY).map(|n| sign * n),
            };
            let Some(number) = number else { continue };
            last = Some(number);
            match place {
                Single::Constant(i) => next = with_number(next, &Numbered::Constant(*i), number),
                Single::Attribute(i, k) => {
                    let Step::Call { def, attrs, .. } = &mut next.steps[*i] else {
                        continue;
                    };
                    let is_left_out = attrs[*k].is_none() && def.attrs[*k].default_value().is_none();
                    if !is_left_out || random.chance(1, 4) {
                        attrs[*k] = Some(AttrValue::float(number));
                    }
                }
            }
        }
        next
    };
    (0..CLOSE).map(|_| one()).collect()
}

/// The recipe with double precision instead of every other floating-point type.
fn doubled(recipe: &Recipe) -> Option<Recipe> {
    let mut out = recipe.clone();
    for step in &mut out.steps {
        match step {
            Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } if dtype.is_float() => *dtype = DType::F64,
            Step::Const(tensor) if tensor.dtype().is_float() => {
                *tensor = Tensor::from_f64s(DType::F64, tensor.shape(), &tensor.to_f64s()?)?;
            }
            _ => {}
        }
    }
    Some(out)
}

/// Integers about which products and sums of two constants wrap around; none if the constant is not of integers.
fn extremes(recipe: &Recipe, step: usize) -> Vec<f64> {
    let Some(Step::Fill { dtype, .. }) = recipe.steps.get(step) else {
        return Vec::new();
    };
    let Some((least, most)) = dtype.int_range().filter(|(_, most)| *most > 1) else {
        return Vec::new();
    };
    let root = most.isqrt();
    let power = 1i128 << (128 - root.leading_zeros());
    let all = [root + 1, power, power + 1, most / 2 + 1, most, least, most / 3 + 1];
    all.into_iter().map(|n| n as f64).collect()
}

/// A place with a number: a constant, or an attribute of one call.
enum Single {
    Constant(usize),
    Attribute(usize, usize),
}

fn all_places(recipe: &Recipe) -> Vec<Single> {
    let mut out = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        match step {
            Step::Fill { .. } => out.push(Single::Constant(i)),
            Step::Call { def, .. } => {
                let floats = def
                    .attrs
                    .iter()
                    .enumerate()
                    .filter(|(_, a)| matches!(a.kind, AttrKind::Float));
                out.extend(floats.map(|(k, _)| Single::Attribute(i, k)));
            }
            _ => {}
        }
    }
    out
}

/// The places that hold numbers.
pub(super) fn places(recipe: &Recipe) -> Vec<Numbered> {
    let mut places: Vec<Numbered> = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        match step {
            Step::Fill { .. } => places.push(Numbered::Constant(i)),
            Step::Call { def, attrs, .. } => {
                for (k, (declared, value)) in def.attrs.iter().zip(attrs).enumerate() {
                    let value = bits(value.clone().or_else(|| declared.default_value()).as_ref());
                    let known = places.iter().any(|p| match p {
                        Numbered::Attribute(name, at, other) => (*name, *at, *other) == (def.name, k, value),
                        Numbered::Constant(_) => false,
                    });
                    if matches!(declared.kind, AttrKind::Float) && !known {
                        places.push(Numbered::Attribute(def.name, k, value));
                    }
                }
            }
            _ => {}
        }
    }
    places
}

/// The number at a place.
pub(super) fn number_at(recipe: &Recipe, place: &Numbered) -> Option<f64> {
    match place {
        Numbered::Constant(i) => match &recipe.steps[*i] {
            Step::Fill { value, .. } => Some(*value),
            _ => None,
        },
        Numbered::Attribute(_, _, bits) => bits.map(f64::from_bits),
    }
}

pub(super) fn with_number(mut out: Recipe, place: &Numbered, number: f64) -> Recipe {
    match place {
        Numbered::Constant(i) => {
            if let Step::Fill { value, dtype, .. } = &mut out.steps[*i] {
                *value = if dtype.is_float() { number } else { number.round() };
            }
        }
        Numbered::Attribute(name, k, from) => {
            for step in &mut out.steps {
                let Step::Call { def, attrs, .. } = step else { continue };
                if def.name != *name {
                    continue;
                }
                let now = attrs[*k].clone().or_else(|| def.attrs[*k].default_value());
                if bits(now.as_ref()) == *from {
                    attrs[*k] = Some(AttrValue::float(number));
                }
            }
        }
    }
    out
}
