//! Small worlds: the shapes of all operands and all attributes are drawn at once, each from a few values.
//!
//! Other probes change one or two things of an instance that is known. What takes three at once (an axis in the middle
//! that is the only one of its size, a condition on the dimension beside it, a slice that ends there) is reached by
//! drawing many instances in which everything is small.

use crate::instance::mutate::RuleNumbers;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrDef, AttrKind, AttrValue};

/// The most axes of an operand.
const AXES: usize = 5;

/// Dimensions, the likely ones more than once.
const EXTENTS: [i64; 6] = [2, 1, 2, 3, 1, 4];

/// Integers of attributes.
const INTEGERS: [i64; 8] = [1, 2, 0, 3, -1, 1, -2, 2];

/// A recipe with the calls of `recipe`, whose shapes and attributes are drawn; most are not instances.
pub(crate) fn small_world(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Recipe {
    let mut out = recipe.clone();
    let common = common(random);
    // What is one value in the recipe is mostly one variable of the rule.
    let mut drawn: Vec<(AttrValue, Option<AttrValue>)> = Vec::new();
    for step in &mut out.steps {
        match step {
            Step::Leaf { shape, .. } => *shape = like(&common, random),
            Step::Fill { shape, .. } if random.chance(1, 2) => *shape = like(&common, random),
            Step::Call { def, attrs, .. } => {
                for (own, declared) in attrs.iter_mut().zip(def.attrs) {
                    let before = own.clone();
                    let known = before.as_ref().and_then(|b| drawn.iter().find(|(a, _)| a == b));
                    if let Some((_, known)) = known
                        && random.chance(3, 4)
                    {
                        own.clone_from(known);
                        continue;
                    }
                    *own = value(declared, before.as_ref(), &common, numbers, random);
                    drawn.extend(before.map(|before| (before, own.clone())));
                }
            }
            _ => {}
        }
    }
    out
}

fn extent(random: &mut Random) -> i64 {
    random.pick(&EXTENTS).unwrap_or(1)
}

/// The shape that most operands have. In half of the worlds, dimensions are 1 or one other number: where axes are taken
/// for each other, types hide it the least.
fn common(random: &mut Random) -> Vec<i64> {
    let rank = 1 + random.below(AXES);
    let one = random.chance(1, 2).then(|| random.pick(&[2, 3]).unwrap_or(2));
    let next = |random: &mut Random| match one {
        Some(n) => {
            if random.chance(1, 4) {
                1
            } else {
                n
            }
        }
        None => extent(random),
    };
    (0..rank).map(|_| next(random)).collect()
}

/// A shape like that of most operands: the same, one dimension of it changed, one that broadcasts to it, or any other.
fn like(common: &[i64], random: &mut Random) -> Vec<i64> {
    let mut shape = common.to_vec();
    match random.below(8) {
        0..=2 => {}
        3 | 4 => {
            let axis = random.below(shape.len());
            shape[axis] = extent(random);
        }
        5 | 6 => {
            shape.drain(..random.below(shape.len() + 1));
            for n in &mut shape {
                *n = if random.chance(1, 3) { 1 } else { *n };
            }
        }
        _ => shape = (0..random.below(AXES)).map(|_| extent(random)).collect(),
    }
    shape
}

/// A value of an attribute, for operands of this shape.
fn value(
    declared: &AttrDef,
    before: Option<&AttrValue>,
    common: &[i64],
    numbers: &RuleNumbers,
    random: &mut Random,
) -> Option<AttrValue> {
    let rank = common.len();
    let axis = |random: &mut Random| random.below(2 * rank) as i64 - rank as i64;
    let integer = |random: &mut Random| numbers.integer(&INTEGERS, random);
    let count = match before {
        Some(AttrValue::Ints(list)) => Some(list.len()),
        _ => None,
    };
    Some(match declared.kind {
        AttrKind::Bool if random.chance(1, 3) => AttrValue::Bool(random.chance(1, 2)),
        AttrKind::Int if random.chance(1, 2) => AttrValue::int(integer(random)),
        AttrKind::Axis(_) => AttrValue::int(axis(random)),
        AttrKind::Axes(_) => {
            let mut all: Vec<i64> = (0..rank as i64).collect();
            random.shuffle(&mut all);
            if declared.name != "perm" {
                let some = count.filter(|_| random.chance(3, 4));
                all.truncate(some.unwrap_or_else(|| random.below(rank + 1)));
                if random.chance(1, 3) {
                    all.iter_mut().for_each(|axis| *axis -= rank as i64);
                }
            }
            AttrValue::ints(&all)
        }
        AttrKind::Ints if declared.name == "shape" => AttrValue::ints(&regrouped(common, random)),
        AttrKind::Ints if random.chance(3, 4) => {
            let other = [1, 2, rank.saturating_sub(2), rank, 2 * rank];
            let kept = count.filter(|_| random.chance(3, 4));
            let count = kept.or_else(|| random.pick(&other)).unwrap_or(1);
            let one = integer(random);
            let vary = random.chance(2, 3);
            let list: Vec<i64> = (0..count).map(|_| if vary { integer(random) } else { one }).collect();
            AttrValue::ints(&list)
        }
        AttrKind::OneOf(all) if random.chance(1, 3) => AttrValue::str(random.pick(all)?),
        _ => return before.cloned(),
    })
}

/// Dimensions with as many elements: neighbours joined, a dimension parted, a single one put in or left out, two in the
/// place of each other.
fn regrouped(common: &[i64], random: &mut Random) -> Vec<i64> {
    let mut shape = common.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(shape.len());
        match (random.below(5), shape.get(at).copied(), shape.get(at + 1).copied()) {
            (0 | 1, Some(a), Some(b)) => {
                shape[at] = a * b;
                shape.remove(at + 1);
            }
            (2, Some(4), _) => {
                shape[at] = 2;
                shape.insert(at, 2);
            }
            (3, Some(1), _) => drop(shape.remove(at)),
            (4, Some(_), _) => {
                let other = random.below(shape.len());
                shape.swap(at, other);
            }
            _ => shape.insert(at, 1),
        }
    }
    shape
}
