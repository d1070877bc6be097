//! Lists of axes beside lists with an integer for each axis, such as those of `slice` and `roll`.

use super::{EQUAL, squared};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, OpDef};

/// The draws for one recipe, and how many of those that can show a difference are kept.
const TRIES: usize = 1500;
const FOUND: usize = 60;

/// The ranks of operands, and the lengths of lists.
const RANKS: [usize; 5] = [2, 3, 2, 3, 4];
const LENGTHS: [usize; 5] = [2, 2, 1, 3, 2];

/// What integers of one list are drawn from: shifts and places, ends, strides.
const POOLS: [&[i64]; 8] = [
    &[0, 1],
    &[0, 1, -1, 2],
    &[99, 2, 3],
    &[1],
    &[-1, 1],
    &[-1, -99, 99],
    &[-1],
    &[-2, -3, -99],
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
    let has = |of: &dyn Fn(&AttrKind) -> bool| def.attrs.iter().any(|attr| of(&attr.kind) && attr.name != "perm");
    has(&|kind| matches!(kind, AttrKind::Axes(_))) && has(&|kind| matches!(kind, AttrKind::Ints))
}

/// The recipe with one choice of all lists of these calls, for operands of one rank.
fn drawn(recipe: &Recipe, calls: &[(usize, &'static OpDef)], random: &mut Random) -> Recipe {
    let rank = random.pick(&RANKS).unwrap_or(2);
    let size = random.pick(&EQUAL).unwrap_or(2);
    let mut next = squared(recipe, size);
    for i in 0..next.steps.len() {
        if let Some(shape) = next.shape_mut(i)
            && !shape.is_empty()
        {
            shape.resize(rank, size);
        }
    }
    let length = random.pick(&LENGTHS).unwrap_or(2).min(rank);
    let mut known: Vec<(&'static str, usize, Vec<i64>)> = Vec::new();
    for &(i, def) in calls {
        let Step::Call { attrs, .. } = &mut next.steps[i] else {
            continue;
        };
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
                _ if is_axes => {
                    let mut all: Vec<i64> = (0..rank as i64).collect();
                    random.shuffle(&mut all);
                    all.truncate(length);
                    all
                }
                _ => {
                    let pool = POOLS[random.below(POOLS.len())];
                    (0..length).map(|_| random.pick(pool).unwrap_or(1)).collect()
                }
            };
            *attr = Some(AttrValue::ints(&list));
            known.push((def.name, k, list));
        }
    }
    // A single axis of another call is any of them.
    for step in &mut next.steps {
        let Step::Call { def, attrs, .. } = step else { continue };
        for (declared, attr) in def.attrs.iter().zip(attrs) {
            if matches!(declared.kind, AttrKind::Axis(_)) && random.chance(1, 2) {
                *attr = Some(AttrValue::int(random.below(rank) as i64));
            }
        }
    }
    next
}
