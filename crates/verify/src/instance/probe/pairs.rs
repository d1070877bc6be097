//! Numbers that conditions tie to each other: `where j * k == 1` holds at few pairs, and at none next to a given one.

use super::squared;
use crate::instance::mutate::Place;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue};

/// Limit on the places that are combined.
const MOST: usize = 6;

/// Integers for attributes and constants.
const WHOLE: [i64; 8] = [-3, -2, -1, 0, 1, 2, 3, 4];

/// Numbers for float attributes and constants.
const REAL: [f64; 12] = [-3.0, -2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];

/// Dimensions that leave room for the integers.
const ROOM: i64 = 5;

/// A place with a number.
#[derive(Clone, Copy)]
enum Spot {
    Integer(Place),
    Constant(usize, bool),
    Attribute(usize, usize),
}

impl Spot {
    fn count(self) -> usize {
        match self {
            Spot::Integer(_) | Spot::Constant(_, true) => WHOLE.len(),
            Spot::Constant(_, false) | Spot::Attribute(..) => REAL.len(),
        }
    }

    /// Stores the number with this index; false if it is there already.
    fn set(self, recipe: &mut Recipe, index: usize) -> bool {
        match self {
            Spot::Integer(place) => {
                let before = recipe.clone();
                recipe.set(place, WHOLE[index]);
                before != *recipe
            }
            Spot::Constant(i, is_whole) => {
                let Step::Fill { value, .. } = &mut recipe.steps[i] else {
                    return false;
                };
                let number = if is_whole { WHOLE[index] as f64 } else { REAL[index] };
                std::mem::replace(value, number) != number
            }
            Spot::Attribute(i, k) => {
                let Step::Call { def, attrs, .. } = &mut recipe.steps[i] else {
                    return false;
                };
                let before = attrs[k].clone().or_else(|| def.attrs[k].default_value());
                attrs[k] = Some(AttrValue::float(REAL[index]));
                before.as_ref().and_then(AttrValue::as_float) != Some(REAL[index])
            }
        }
    }
}

/// The recipe with each pair of numbers that cannot be replaced one by one replaced by small numbers; `fits` tells
/// whether the rule matches. All results match.
pub(crate) fn with_pairs(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> Vec<Recipe> {
    let roomy = squared(recipe, ROOM);
    let base = if fits(&roomy) { roomy } else { recipe.clone() };
    let with = |choices: &[(Spot, usize)]| {
        let mut next = base.clone();
        let all_new = choices.iter().all(|(spot, index)| spot.set(&mut next, *index));
        (all_new && fits(&next)).then_some(next)
    };
    let mut tied = spots(&base);
    tied.retain(|&spot| (0..spot.count()).all(|index| with(&[(spot, index)]).is_none()));
    tied.truncate(MOST);
    let mut out = Vec::new();
    for (n, &a) in tied.iter().enumerate() {
        for &b in &tied[n + 1..] {
            let all = (0..a.count()).flat_map(|i| (0..b.count()).map(move |j| [(a, i), (b, j)]));
            out.extend(all.filter_map(|pair| with(&pair)));
        }
    }
    out
}

/// The places with numbers: constants, and attributes that are not axes.
fn spots(recipe: &Recipe) -> Vec<Spot> {
    let mut out: Vec<Spot> = Vec::new();
    for (place, _) in recipe.integers() {
        if let Place::Attr(i, k, _) = place
            && let Step::Call { def, .. } = &recipe.steps[i]
            && matches!(def.attrs[k].kind, AttrKind::Int | AttrKind::Ints)
        {
            out.push(Spot::Integer(place));
        }
    }
    for (i, step) in recipe.steps.iter().enumerate() {
        match step {
            Step::Fill { dtype, .. } => out.push(Spot::Constant(i, !dtype.is_float())),
            Step::Call { def, .. } => {
                let floats = def.attrs.iter().enumerate();
                let floats = floats.filter(|(_, attr)| matches!(attr.kind, AttrKind::Float));
                out.extend(floats.map(|(k, _)| Spot::Attribute(i, k)));
            }
            _ => {}
        }
    }
    out
}
