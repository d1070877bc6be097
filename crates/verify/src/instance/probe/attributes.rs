//! Words, flags and numbers of all calls at once.

use std::sync::Arc;

use super::numbers::ORDINARY;
use crate::instance::mutate::{Place, RuleNumbers};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrDef, AttrKind, AttrValue, OpDef, Real};

/// The draws for one recipe, and how many of those that can show a difference are kept.
const TRIES: usize = 600;
const FOUND: usize = 60;

/// Factors such as the scales of `resize`, at which rounding differs from one formula to another.
const FACTORS: [f64; 10] = [1.25, 0.75, 1.5, 1.1, 0.9, 0.65, 2.5, 2.0, 0.5, 3.0];

/// Dimensions for them: products that are whole numbers, and others.
const SIZES: [i64; 5] = [2, 3, 4, 5, 10];

/// An attribute of an operator, by the place of the attribute.
type Named = (&'static str, usize);

/// Random choices of words, flags and numbers in all attributes of a recipe that has several of them or has lists of
/// numbers; `tells` says whether an instance can show a difference. A mode may matter under one flag alone, and a flag
/// of one call only if another has the opposite.
pub(crate) fn with_all_attributes(
    recipe: &Recipe,
    numbers: &RuleNumbers,
    tells: &dyn Fn(&Recipe) -> bool,
    random: &mut Random,
) -> Vec<Recipe> {
    let near = numbers.thresholds();
    let is_chosen = |attr: &AttrDef| {
        matches!(
            attr.kind,
            AttrKind::Bool | AttrKind::OneOf(_) | AttrKind::Float | AttrKind::Strs
        )
    };
    let (mut several, mut factors) = (0, false);
    for step in &recipe.steps {
        let Step::Call { def, .. } = step else { continue };
        several += def.attrs.iter().filter(|attr| is_chosen(attr)).count();
        factors |= def.attrs.iter().any(|attr| matches!(attr.kind, AttrKind::Floats));
    }
    if several < 2 && !factors {
        return Vec::new();
    }
    let mut out: Vec<Recipe> = Vec::new();
    for _ in 0..TRIES {
        if out.len() >= FOUND {
            break;
        }
        let mut next = recipe.clone();
        // Calls that share an attribute may have to.
        let tied = random.chance(1, 2);
        let mut chosen: Vec<(Named, Option<AttrValue>)> = Vec::new();
        for step in &mut next.steps {
            let Step::Call { def, attrs, .. } = step else { continue };
            for (k, attr) in attrs.iter_mut().enumerate() {
                let known = chosen.iter().find(|(named, _)| *named == (def.name, k));
                *attr = match known {
                    Some((_, value)) if tied => value.clone(),
                    _ => other(def, k, attr.take(), &near, random),
                };
                chosen.push(((def.name, k), attr.clone()));
            }
        }
        if factors {
            vary_extents(&mut next, random);
        }
        if !out.contains(&next) && tells(&next) {
            out.push(next);
        }
    }
    out
}

/// Another word, flag or number, or often the same one.
fn other(
    def: &'static OpDef,
    k: usize,
    before: Option<AttrValue>,
    near: &[f64],
    random: &mut Random,
) -> Option<AttrValue> {
    let new = match (def.attrs[k].kind, &before) {
        (AttrKind::Bool, _) => Some(AttrValue::Bool(random.chance(1, 2))),
        (AttrKind::OneOf(words), _) if random.chance(1, 2) => random.pick(words).map(AttrValue::str),
        (AttrKind::Float, _) if random.chance(1, 2) => {
            let sign = if random.chance(1, 3) { -1.0 } else { 1.0 };
            let number = match random.below(2) {
                0 => random.pick(near),
                _ => random.pick(&ORDINARY).map(|n| sign * n),
            };
            number.map(AttrValue::float)
        }
        (AttrKind::Strs, _) if random.chance(1, 2) => {
            let words = [&["a"][..], &["A"], &["b"], &["a", "b"], &["text 1", "a"]];
            let list = random.pick(&words)?;
            Some(AttrValue::Strs(list.iter().map(|word| Arc::from(*word)).collect()))
        }
        (AttrKind::Floats, Some(AttrValue::Floats(list))) => {
            let stays = random.below(3);
            let factor = |n: &Real, random: &mut Random| match random.chance(stays, 3) {
                true => *n,
                false => Real(random.pick(&FACTORS).unwrap_or(1.0)),
            };
            Some(AttrValue::Floats(list.iter().map(|n| factor(n, random)).collect()))
        }
        _ => None,
    };
    new.or(before)
}

/// Gives dimensions of operands other sizes, where they may be.
fn vary_extents(recipe: &mut Recipe, random: &mut Random) {
    let extents = recipe.integers().into_iter().map(|(place, _)| place);
    let extents: Vec<Place> = extents.filter(|place| matches!(place, Place::Extent(..))).collect();
    for place in extents {
        if random.chance(1, 3) {
            let size = random.pick(&SIZES).unwrap_or(2);
            recipe.set(place, size);
        }
    }
}
