//! Recurrent layers over several steps, with states of several numbers.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use crate::instance::solve::solved;
use tautomer_op::{AttrDef, AttrKind, AttrValue, Cell, Real, ShapeRule};

/// The draws for one recipe, and how many of those that can show a difference are kept.
const TRIES: usize = 400;
const FOUND: usize = 60;

/// Parameters of activations.
const PARAMETERS: [f64; 5] = [0.5, 2.0, -1.0, 0.0, 1.5];

/// Layers over two or three steps, with one to three numbers in a state, and other activations, parameters and flags in
/// all calls at once. `tells` says whether an instance can show a difference.
pub(crate) fn with_sequences(recipe: &Recipe, tells: &dyn Fn(&Recipe) -> bool, random: &mut Random) -> Vec<Recipe> {
    let cells: Vec<(usize, Cell)> = recipe
        .steps
        .iter()
        .enumerate()
        .filter_map(|(i, step)| match step {
            Step::Call { def, .. } => match def.shapes {
                ShapeRule::Recurrent(cell) => Some((i, cell)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut seen: FxHashSet<u64> = FxHashSet::default();
    for _ in 0..TRIES {
        if out.len() >= FOUND {
            break;
        }
        let next = drawn(recipe, &cells, random);
        if seen.insert(next.fingerprint()) && tells(&next) {
            out.push(next);
        }
    }
    out
}

/// The recipe with one choice for all of these calls.
fn drawn(recipe: &Recipe, cells: &[(usize, Cell)], random: &mut Random) -> Recipe {
    let mut next = recipe.clone();
    let hidden = 1 + random.below(3) as i64;
    let mut known: FxHashMap<&'static str, Option<AttrValue>> = FxHashMap::default();
    for &(i, cell) in cells {
        let Step::Call { def, operands, attrs } = &mut next.steps[i] else {
            continue;
        };
        for (declared, attr) in def.attrs.iter().zip(attrs) {
            let value = known.entry(declared.name).or_insert_with(|| match declared.name {
                "hidden_size" => attr.is_some().then(|| AttrValue::int(hidden)),
                _ if random.chance(1, 2) => attr.clone(),
                _ => any(declared, cell, random),
            });
            attr.clone_from(value);
        }
        let (x, r) = (operands.first().copied(), operands.get(2).copied());
        let sizes = [2 + random.below(2), 1 + random.below(2), 1 + random.below(2)];
        if let Some(shape) = x.and_then(|u| next.shape_mut(u)) {
            *shape = sizes.map(|n| n as i64).to_vec();
        }
        if let Some(shape) = r.and_then(|u| next.shape_mut(u)) {
            *shape = vec![1, 1, hidden];
        }
        next = solved(&next, i, random);
    }
    next
}

/// Any value of an attribute of a layer, or none where it may be left out.
fn any(declared: &AttrDef, cell: Cell, random: &mut Random) -> Option<AttrValue> {
    let number = |random: &mut Random| random.pick(&PARAMETERS).unwrap_or(1.0);
    match declared.kind {
        AttrKind::OneOf(words) => random.pick(words).map(AttrValue::str),
        AttrKind::Bool => Some(AttrValue::Bool(random.chance(1, 2))),
        AttrKind::Int => Some(AttrValue::int(random.below(2) as i64)),
        AttrKind::Float => random.chance(1, 2).then(|| AttrValue::float(number(random).abs())),
        AttrKind::Floats => random.chance(2, 3).then(|| {
            let list = (0..1 + random.below(3)).map(|_| Real(number(random)));
            AttrValue::Floats(list.collect())
        }),
        // Enough for both directions.
        AttrKind::Strs => random.chance(3, 4).then(|| {
            let list = (0..2 * cell.activations).filter_map(|_| random.pick(cell.names));
            AttrValue::Strs(list.map(Into::into).collect())
        }),
        _ => None,
    }
}
