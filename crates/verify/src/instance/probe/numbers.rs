//! Constants and float attributes at the numbers where a rule may change its behaviour.

use crate::instance::mutate::RuleNumbers;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue};

/// Limit on the numbers tried in one place.
const NUMBERS: usize = 400;

/// A place with a number: a constant, or an attribute in all calls of an operator in which it has the same value.
enum Numbered {
    Constant(usize),
    Attribute(&'static str, usize, f64),
}

/// The recipe with each constant and each float attribute replaced by numbers at which the rule may change its
/// behaviour: one list for each.
pub(crate) fn with_numbers(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Vec<Vec<Recipe>> {
    let mut places: Vec<Numbered> = Vec::new();
    for (i, step) in recipe.steps.iter().enumerate() {
        match step {
            Step::Fill { .. } => places.push(Numbered::Constant(i)),
            Step::Call { def, attrs, .. } => {
                for (k, (declared, value)) in def.attrs.iter().zip(attrs).enumerate() {
                    let value = value.clone().or_else(|| declared.default_value());
                    let Some(value) = value.as_ref().and_then(AttrValue::as_float) else {
                        continue;
                    };
                    let known = places.iter().any(|p| {
                        matches!(p, Numbered::Attribute(name, at, other)
                            if (*name, *at, other.to_bits()) == (def.name, k, value.to_bits()))
                    });
                    if matches!(declared.kind, AttrKind::Float) && !known {
                        places.push(Numbered::Attribute(def.name, k, value));
                    }
                }
            }
            _ => {}
        }
    }
    let numbers = numbers.thresholds();
    let mut list = |place: &Numbered| {
        let all = numbers.iter().take(NUMBERS);
        let mut all: Vec<Recipe> = all.map(|&number| with_number(recipe, place, number)).collect();
        random.shuffle(&mut all);
        all
    };
    places.iter().map(&mut list).collect()
}

fn with_number(recipe: &Recipe, place: &Numbered, number: f64) -> Recipe {
    let mut out = recipe.clone();
    match place {
        Numbered::Constant(i) => {
            if let Step::Fill { value, .. } = &mut out.steps[*i] {
                *value = number;
            }
        }
        Numbered::Attribute(name, k, from) => {
            for step in &mut out.steps {
                let Step::Call { def, attrs, .. } = step else { continue };
                if def.name != *name {
                    continue;
                }
                let now = attrs[*k].clone().or_else(|| def.attrs[*k].default_value());
                if now
                    .and_then(|v| v.as_float())
                    .is_some_and(|v| v.to_bits() == from.to_bits())
                {
                    attrs[*k] = Some(AttrValue::float(number));
                }
            }
        }
    }
    out
}
