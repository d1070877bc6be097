//! Lists of axes beside lists with an integer for each axis, such as those of `slice` and `roll`.

use rustc_hash::{FxHashMap, FxHashSet};

use super::squared;
use crate::instance::interleaved;
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, OpDef, ShapeRule};

/// The draws for one recipe, and how many of those that can show a difference are kept, of one kind and of all.
const TRIES: usize = 2500;
const OF_ONE_KIND: usize = 20;
const FOUND: usize = 120;

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
    let mut seen: FxHashSet<u64> = FxHashSet::default();
    let mut kinds: FxHashMap<Vec<Signs>, Vec<Recipe>> = FxHashMap::default();
    for _ in 0..TRIES {
        let next = drawn(recipe, &calls, random);
        if seen.insert(next.fingerprint()) && tells(&next) {
            let kind = kinds.entry(signs(&next, &calls)).or_default();
            if kind.len() < OF_ONE_KIND {
                kind.push(next);
            }
        }
    }
    let mut kinds: Vec<_> = kinds.into_iter().collect();
    kinds.sort_by(|(a, _), (b, _)| b.cmp(a));
    let mut out = interleaved(kinds.into_iter().map(|(_, kind)| kind).collect());
    out.truncate(FOUND);
    out
}

/// What instances of one kind have in common in the lists of one call: the number of axes, whether they are in another
/// order than that of the operand, and whether the numbers for two axes differ.
type Signs = (usize, bool, bool);

fn signs(recipe: &Recipe, calls: &[(usize, &'static OpDef)]) -> Vec<Signs> {
    let of_call = |&(i, def): &(usize, &'static OpDef)| {
        let Step::Call { attrs, .. } = &recipe.steps[i] else {
            return Signs::default();
        };
        let mut signs = Signs::default();
        for (declared, attr) in def.attrs.iter().zip(attrs) {
            let Some(list) = attr.as_ref().and_then(AttrValue::as_ints) else {
                continue;
            };
            match declared.kind {
                AttrKind::Axes(_) => (signs.0, signs.1) = (list.len(), !list.is_sorted()),
                _ => signs.2 |= list.iter().any(|n| *n != list[0]),
            }
        }
        signs
    };
    calls.iter().map(of_call).collect()
}

/// True for an operator with a list of axes and another list of integers, if the axes are not an order of all of them.
fn has_axis_lists(def: &OpDef) -> bool {
    let has = |of: &dyn Fn(&AttrKind) -> bool| def.attrs.iter().any(|attr| of(&attr.kind) && attr.name != ORDER);
    has(&|kind| matches!(kind, AttrKind::Axes(_))) && has(&|kind| matches!(kind, AttrKind::Ints))
}

/// An order of all axes.
pub(super) const ORDER: &str = "perm";

/// Padding at the beginning of each axis, then at the end: often as much along one axis as along another, so that the
/// types do not tell which of them is at which end.
fn pads(axes: usize, random: &mut Random) -> Vec<i64> {
    let alike = random.chance(3, 4).then(|| random.below(3) as i64);
    let pool = POOLS[random.below(POOLS.len())];
    let ends = (0..axes).map(|_| match alike {
        Some(0) => {
            let begin = random.pick(&[0, 1, -1]).unwrap_or(0);
            [begin, -begin]
        }
        Some(both) => {
            let begin = random.below(both as usize + 1) as i64;
            [begin, both - begin]
        }
        None => [0; 2].map(|_| random.pick(pool).unwrap_or(1)),
    });
    let ends: Vec<[i64; 2]> = ends.collect();
    [0, 1]
        .into_iter()
        .flat_map(|end| ends.iter().map(move |pair| pair[end]))
        .collect()
}

/// Starts, ends and steps of slices along so many axes of one size: often as many elements of each, so that the types do
/// not tell which is which.
fn slices(axes: usize, size: i64, random: &mut Random) -> Vec<[i64; 3]> {
    let first = random.pick(&SLICES).unwrap_or(SLICES[0]);
    let alike: Vec<[i64; 3]> = match random.chance(2, 3) {
        true => SLICES
            .into_iter()
            .filter(|slice| kept(*slice, size) == kept(first, size))
            .collect(),
        false => SLICES.to_vec(),
    };
    (0..axes).map(|_| random.pick(&alike).unwrap_or(first)).collect()
}

/// The number of elements in a slice of an axis of that size.
fn kept([start, end, step]: [i64; 3], size: i64) -> i64 {
    let place = |n: i64| if n < 0 { (n + size).max(-1) } else { n.min(size) };
    let (start, end) = (place(start), place(end));
    let room = if step > 0 { end - start } else { start - end };
    (room.max(0) + step.abs() - 1) / step.abs()
}

/// So many axes in any order.
pub(super) fn some_axes(rank: usize, count: usize, random: &mut Random) -> Vec<i64> {
    let mut all: Vec<i64> = (0..rank as i64).collect();
    random.shuffle(&mut all);
    all.truncate(count);
    all
}

/// The recipe with one choice of all lists of these calls, for operands of one rank.
fn drawn(recipe: &Recipe, calls: &[(usize, &'static OpDef)], random: &mut Random) -> Recipe {
    let size = random.pick(&SIZES).unwrap_or(2);
    let mut next = squared(recipe, size);
    // Some operators have operands of other ranks.
    let rank = match random.chance(2, 3) {
        true => random.pick(&RANKS).unwrap_or(2),
        false => recipe.ranks().into_iter().max().unwrap_or(2).max(1),
    };
    // Dimensions of 1 are broadcast, and conditions ask for them.
    let ones: Vec<bool> = match random.chance(1, 3) {
        true => (0..rank).map(|_| random.chance(1, 2)).collect(),
        false => Vec::new(),
    };
    let ranked = !recipe.ranks().contains(&rank) || random.chance(1, 2);
    for i in 0..next.steps.len() {
        if let Some(shape) = next.shape_mut(i)
            && !shape.is_empty()
        {
            if ranked {
                shape.resize(rank, size);
            }
            for (n, is_one) in shape.iter_mut().zip(&ones) {
                *n = if *is_one { 1 } else { *n };
            }
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
        let slices = (def.shapes == ShapeRule::Slice && random.chance(3, 4)).then(|| slices(length, size, random));
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
                // Padding has a number for either end of each axis.
                _ if def.attrs[k].name == "pads" => pads(length, random),
                _ => {
                    let pool = POOLS[random.below(POOLS.len())];
                    (0..length).map(|_| random.pick(pool).unwrap_or(1)).collect()
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
