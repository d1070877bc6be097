//! Lists of axes beside lists with an integer for each axis, such as those of `slice` and `roll`.

use super::squared;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, OpDef, ShapeRule};

/// The draws for one recipe, and how many of those that can show a difference are kept.
const TRIES: usize = 1500;
const FOUND: usize = 60;

/// The ranks of operands, and the lengths of lists.
const RANKS: [usize; 5] = [2, 3, 2, 3, 4];
const LENGTHS: [usize; 6] = [2, 2, 1, 3, 2, 3];

/// The dimensions of all axes: at the last, strides that differ leave the same number of elements.
const SIZES: [i64; 4] = [2, 3, 2, 4];

/// What integers of one list are drawn from: shifts and places, ends, strides.
const POOLS: [&[i64]; 9] = [
    &[0, 1],
    &[0, 1, -1, 2],
    &[99, 2, 3],
    &[1],
    &[-1, 1],
    &[-1, -99, 99],
    &[-1],
    &[-2, -3, -99],
    &[2, 3],
];

/// Start, end and step of a slice along one axis: whole, in steps, from the second element, in reverse.
const SLICES: [[i64; 3]; 9] = [
    [0, 99, 1],
    [0, 99, 2],
    [0, 99, 3],
    [1, 99, 1],
    [1, 99, 2],
    [0, 2, 1],
    [1, 3, 1],
    [-1, -99, -1],
    [-2, -99, -1],
];

/// Lists of several axes in any order, with different integers for them, in all calls at once: the same as in another
/// call, their negatives, the same in another order, or others. `tells` says whether an instance can show a difference.
pub(crate) fn with_axis_lists(recipe: &Recipe, tells: &dyn Fn(&Recipe) -> bool, random: &mut Random) -> Vec<Recipe> {
    let calls: Vec<(usize, &'static OpDef)> = recipe
        .steps
        .iter()
        .enumerate()
        .filter_map(|(i, step)| match step {
            Step::Call { def, .. } if has_axis_lists(def) => Some((i, *def)),
            _ => None,
        })
        .collect();
    if calls.is_empty() {
        return Vec::new();
    }
    let mut out: Vec<Recipe> = Vec::new();
    for _ in 0..TRIES {
        if out.len() >= FOUND {
            break;
        }
        let next = drawn(recipe, &calls, random);
        if !out.contains(&next) && tells(&next) {
            out.push(next);
        }
    }
    out
}

/// True for an operator with a list of axes and another list of integers, if the axes are not an order of all of them.
fn has_axis_lists(def: &OpDef) -> bool {
    let has = |of: &dyn Fn(&AttrKind) -> bool| def.attrs.iter().any(|attr| of(&attr.kind) && attr.name != ORDER);
    has(&|kind| matches!(kind, AttrKind::Axes(_))) && has(&|kind| matches!(kind, AttrKind::Ints))
}

/// An order of all axes.
const ORDER: &str = "perm";

/// So many axes in any order.
fn some_axes(rank: usize, count: usize, random: &mut Random) -> Vec<i64> {
    let mut all: Vec<i64> = (0..rank as i64).collect();
    random.shuffle(&mut all);
    all.truncate(count);
    all
}

/// The recipe with one choice of all lists of these calls, for operands of one rank.
fn drawn(recipe: &Recipe, calls: &[(usize, &'static OpDef)], random: &mut Random) -> Recipe {
    let rank = random.pick(&RANKS).unwrap_or(2);
    let size = random.pick(&SIZES).unwrap_or(2);
    let mut next = squared(recipe, size);
    for i in 0..next.steps.len() {
        if let Some(shape) = next.shape_mut(i)
            && !shape.is_empty()
        {
            shape.resize(rank, size);
        }
    }
    let one_length = |random: &mut Random| random.pick(&LENGTHS).unwrap_or(2).min(rank);
    let (mut length, same) = (one_length(random), random.chance(2, 3));
    let mut known: Vec<(&'static str, usize, Vec<i64>)> = Vec::new();
    for &(i, def) in calls {
        let Step::Call { attrs, .. } = &mut next.steps[i] else {
            continue;
        };
        if !same {
            length = one_length(random);
        }
        let slices = (def.shapes == ShapeRule::Slice && random.chance(3, 4)).then(|| {
            let all = (0..length).map(|_| random.pick(&SLICES).unwrap_or(SLICES[0]));
            all.collect::<Vec<[i64; 3]>>()
        });
        for (k, attr) in attrs.iter_mut().enumerate() {
            // Some rules want an attribute to be left out.
            if attr.is_none() && random.chance(1, 4) {
                continue;
            }
            let is_axes = match def.attrs[k].kind {
                AttrKind::Axes(_) => true,
                AttrKind::Ints => false,
                _ => continue,
            };
            let before = known.iter().find(|(name, at, _)| (*name, *at) == (def.name, k));
            let before = before.map(|(.., list)| list.clone());
            let list = match (before, random.below(5)) {
                (Some(list), 0 | 1) => list,
                (Some(list), 2) if !is_axes => list.iter().map(|n| -n).collect(),
                (Some(mut list), 2 | 3) => {
                    random.shuffle(&mut list);
                    list
                }
                _ if is_axes => some_axes(rank, length, random),
                _ if let Some(slices) = &slices
                    && let Some(part) = ["starts", "ends", "steps"]
                        .iter()
                        .position(|name| *name == def.attrs[k].name) =>
                {
                    slices.iter().map(|slice| slice[part]).collect()
                }
                _ => {
                    let pool = POOLS[random.below(POOLS.len())];
                    // Padding has a number for either end of each axis.
                    let ends = if def.attrs[k].name == "pads" { 2 } else { 1 };
                    (0..length * ends).map(|_| random.pick(pool).unwrap_or(1)).collect()
                }
            };
            *attr = Some(AttrValue::ints(&list));
            known.push((def.name, k, list));
        }
    }
    // The axes of other calls are any.
    for step in &mut next.steps {
        let Step::Call { def, attrs, .. } = step else { continue };
        if has_axis_lists(def) {
            continue;
        }
        for (declared, attr) in def.attrs.iter().zip(attrs) {
            match declared.kind {
                AttrKind::Axis(_) if random.chance(1, 2) => *attr = Some(AttrValue::int(random.below(rank) as i64)),
                AttrKind::Axes(_) if declared.name != ORDER && random.chance(1, 2) => {
                    let count = 1 + random.below(2);
                    *attr = Some(AttrValue::ints(&some_axes(rank, count, random)));
                }
                _ => {}
            }
        }
    }
    next
}
