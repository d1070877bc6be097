//! Orders and choices of axes, where all other dimensions are equal.

use super::{EQUAL, squared};
use crate::instance::interleaved;
use crate::instance::mutate::{Place, RuleNumbers};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_graph::Node;
use tautomer_op::{AttrKind, AttrValue};

/// Up to so many axes are permuted in every order; more are only rotated.
const AXES: usize = 4;

/// The least rank at which axes are chosen: with fewer, an axis is seldom mistaken for another after one is removed.
const CHOSEN: usize = 3;

/// The numbers of axes that orders are drawn for if the rule names them, and how many orders of each.
const NAMED: std::ops::RangeInclusive<usize> = 5..=7;
const DRAWS: usize = 64;

/// Orders of five axes: cycles of three beside two axes that are kept or exchanged, longer cycles, and axes exchanged in
/// each place.
const LARGE: [[i64; 5]; 12] = [
    [1, 2, 0, 4, 3],
    [1, 2, 0, 3, 4],
    [1, 2, 3, 4, 0],
    [0, 1, 2, 4, 3],
    [1, 0, 3, 4, 2],
    [0, 2, 3, 1, 4],
    [1, 0, 2, 4, 3],
    [0, 2, 3, 4, 1],
    [0, 1, 3, 4, 2],
    [1, 0, 2, 3, 4],
    [1, 2, 3, 0, 4],
    [2, 3, 4, 0, 1],
];

/// Random choices of everything, and how many of those that can show a difference are kept.
const TRIES: usize = 800;
const TELLING: usize = 40;

/// Limit on the choices of axes; of more, some are drawn.
const CHOICES: usize = 128;

/// Each list of axes that is a permutation replaced by every other permutation, with equal dimensions.
pub(crate) fn with_orders(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    let mut seen: Vec<Vec<i64>> = Vec::new();
    let lists = written_lists(recipe);
    for (step, attr, list) in &lists {
        let Step::Call { def, .. } = &recipe.steps[*step] else {
            continue;
        };
        if !matches!(def.attrs[*attr].kind, AttrKind::Axes(_)) || !is_order(list) || seen.contains(list) {
            continue;
        }
        // With fewer than three axes every permutation is its own inverse. Those of more are tried in turn.
        let own = (list.len() != 3 && list.len() != 4).then(|| orders(list.len()));
        let large = LARGE.iter().map(|order| order.to_vec()).collect();
        let all = [orders(3), orders(4), large].into_iter().chain(own);
        let made = |orders: Vec<Vec<i64>>| {
            orders
                .iter()
                .map(|order| with_order(recipe, &lists, list, order))
                .collect()
        };
        out.extend(interleaved(all.map(made).collect()));
        seen.push(list.clone());
    }
    out
}

/// Every choice of all axes in attributes together, with equal dimensions, so that results have one shape whichever
/// axes they lack. Orders of axes stay as they are.
pub(crate) fn with_axes(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let highest = recipe.ranks().into_iter().max().unwrap_or(0);
    let rank = highest.max(CHOSEN);
    let mut equal = squared(recipe, EQUAL[0]);
    for i in 0..equal.steps.len() {
        if let Some(shape) = equal.shape_mut(i)
            && shape.len() == highest
        {
            shape.resize(rank, EQUAL[0]);
        }
    }
    let places: Vec<Place> = axes_of(recipe).into_iter().map(|(place, _)| place).collect();
    if places.len() < 2 {
        return Vec::new();
    }
    let chosen = |mut choice: usize| {
        let mut next = equal.clone();
        for place in &places {
            next.set(*place, (choice % rank) as i64);
            choice /= rank;
        }
        next
    };
    let all = u32::try_from(places.len()).ok().and_then(|n| rank.checked_pow(n));
    let mut choices: Vec<usize> = match all {
        Some(all) if all <= CHOICES => (0..all).collect(),
        _ => (0..CHOICES).map(|_| random.below(usize::MAX)).collect(),
    };
    random.shuffle(&mut choices);
    let mut out: Vec<Recipe> = choices.into_iter().map(chosen).collect();
    // Every second one with other flags.
    for next in out.iter_mut().skip(1).step_by(2) {
        draw_flags(next, random);
    }
    out
}

/// The axes in attributes of calls, without those of orders of axes.
pub(super) fn axes_of(recipe: &Recipe) -> Vec<(Place, i64)> {
    let is_axis = |place: &Place| match place {
        Place::Attr(i, k, _) => match &recipe.steps[*i] {
            Step::Call { def, attrs, .. } => {
                let is_order = attrs[*k]
                    .as_ref()
                    .and_then(AttrValue::as_ints)
                    .is_some_and(|list| list.len() > 2);
                matches!(def.attrs[*k].kind, AttrKind::Axis(_) | AttrKind::Axes(_)) && !is_order
            }
            _ => false,
        },
        Place::Extent(..) => false,
    };
    recipe
        .integers()
        .into_iter()
        .filter(|(place, _)| is_axis(place))
        .collect()
}

/// Sets each flag of each call to a random value.
pub(super) fn draw_flags(recipe: &mut Recipe, random: &mut Random) {
    for step in &mut recipe.steps {
        let Step::Call { def, attrs, .. } = step else { continue };
        for (attr, declared) in attrs.iter_mut().zip(def.attrs) {
            if matches!(declared.kind, AttrKind::Bool) {
                *attr = Some(AttrValue::Bool(random.chance(1, 2)));
            }
        }
    }
}

/// Recipes in which all orders of axes are replaced at once by random ones, of three or four axes and of as many as the
/// rule names, with equal dimensions.
pub(crate) fn with_all_orders(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Vec<Recipe> {
    let lists: Vec<(usize, usize, Vec<i64>)> = written_lists(recipe)
        .into_iter()
        .filter(|(step, attr, list)| match &recipe.steps[*step] {
            Step::Call { def, .. } => matches!(def.attrs[*attr].kind, AttrKind::Axes(_)) && is_order(list),
            _ => false,
        })
        .collect();
    if lists.len() < 2 {
        return Vec::new();
    }
    let named = numbers.written().iter().filter_map(|n| usize::try_from(*n).ok());
    let mut ranks: Vec<usize> = [3, 4, 5]
        .into_iter()
        .chain(named.filter(|n| NAMED.contains(n)))
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut out = Vec::new();
    for _ in 0..DRAWS {
        for &rank in &ranks {
            let mut chosen: Vec<(&[i64], Vec<i64>)> = Vec::new();
            let mut next = squared(recipe, EQUAL[0]);
            for (step, attr, before) in &lists {
                let known = chosen
                    .iter()
                    .find(|(list, _)| list == before)
                    .map(|(_, order)| order.clone());
                let first = chosen.first().map(|(_, order)| order.as_slice());
                let order = known
                    .filter(|_| random.chance(1, 2))
                    .unwrap_or_else(|| another(first, rank, random));
                if let Step::Call { attrs, .. } = &mut next.steps[*step] {
                    attrs[*attr] = Some(AttrValue::ints(&order));
                }
                chosen.push((before, order));
            }
            for i in 0..next.steps.len() {
                if let Some(shape) = next.shape_mut(i)
                    && chosen.iter().any(|(list, _)| list.len() == shape.len())
                {
                    shape.resize(rank, EQUAL[0]);
                }
            }
            out.push(next);
        }
    }
    out
}

/// An order of so many axes: any, or one close to the first one or to its inverse, with two axes exchanged.
fn another(first: Option<&[i64]>, rank: usize, random: &mut Random) -> Vec<i64> {
    let mut order: Vec<i64> = (0..rank as i64).collect();
    match (first, random.below(4)) {
        (Some(first), 0) => order = first.to_vec(),
        (Some(first), 1) => {
            for (i, &axis) in first.iter().enumerate() {
                order[axis as usize] = i as i64;
            }
        }
        (None, 0) => return order,
        _ => {
            random.shuffle(&mut order);
            return order;
        }
    }
    let (i, j) = (random.below(rank), random.below(rank));
    order.swap(i, j);
    order
}

fn is_order(list: &[i64]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    list.len() > 1 && sorted.iter().enumerate().all(|(i, &n)| n == i as i64)
}

/// Random choices of all axes, all other integers of attributes, and all dimensions, from a few small numbers; `tells`
/// says whether an instance can show a difference. Where a wrong rule has the right type only by coincidence, many
/// numbers have to coincide.
pub(crate) fn with_everything(recipe: &Recipe, tells: &dyn Fn(&Recipe) -> bool, random: &mut Random) -> Vec<Recipe> {
    let integers = recipe.integers();
    let rank = recipe.ranks().into_iter().max().unwrap_or(0) as i64;
    let kind = |place: &Place| match place {
        Place::Attr(i, k, _) => match &recipe.steps[*i] {
            Step::Call { def, .. } if matches!(def.attrs[*k].kind, AttrKind::Axis(_) | AttrKind::Axes(_)) => {
                Varied::Axis
            }
            _ => Varied::Integer,
        },
        Place::Extent(..) => Varied::Extent,
    };
    let kinds: Vec<Varied> = integers.iter().map(|(place, _)| kind(place)).collect();
    let (axes, others) = (kinds.contains(&Varied::Axis), kinds.contains(&Varied::Integer));
    if !axes && !others {
        return Vec::new();
    }
    let mut out: Vec<Recipe> = Vec::new();
    for _ in 0..TRIES {
        if out.len() >= TELLING {
            break;
        }
        let side = random.pick(&EQUAL).unwrap_or(2);
        let (turn, vary, narrow) = (random.chance(1, 2), random.chance(2, 3), random.chance(1, 2));
        // Operators that insert axes have more of them than their operands.
        let axes_below = (rank + i64::from(random.chance(1, 2))).max(1) as usize;
        let mut next = recipe.clone();
        for ((place, _), kind) in integers.iter().zip(&kinds) {
            match kind {
                Varied::Axis if turn || !others => next.set(*place, random.below(axes_below) as i64),
                Varied::Integer if vary || !axes => next.set(*place, random.below(4) as i64),
                Varied::Extent if narrow && random.chance(1, 3) => next.set(*place, 1),
                Varied::Extent => next.set(*place, side),
                _ => {}
            }
        }
        if !out.contains(&next) && tells(&next) {
            out.push(next);
        }
    }
    out
}

/// The kind of an integer in a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Varied {
    Axis,
    Integer,
    Extent,
}

/// The lists of integers in attributes, with those that inference fills in, by step and place.
fn written_lists(recipe: &Recipe) -> Vec<(usize, usize, Vec<i64>)> {
    let Ok((graph, _, made)) = recipe.build_steps() else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (i, v) in made.iter().enumerate() {
        let Node::Call { attrs, .. } = &graph.vertex(*v).node else {
            continue;
        };
        let lists = attrs
            .iter()
            .enumerate()
            .filter_map(|(k, attr)| Some((i, k, attr.as_ints()?)));
        out.extend(lists);
    }
    out
}

/// The recipe with one permutation replaced by another, and with operands of matching rank.
fn with_order(recipe: &Recipe, lists: &[(usize, usize, Vec<i64>)], before: &[i64], order: &[i64]) -> Recipe {
    let mut out = squared(recipe, EQUAL[0]);
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i)
            && shape.len() == before.len()
        {
            shape.resize(order.len(), EQUAL[0]);
        }
    }
    for (i, k, list) in lists {
        let Step::Call { def, attrs, .. } = &mut out.steps[*i] else {
            continue;
        };
        if list == before {
            attrs[*k] = Some(AttrValue::ints(order));
        } else if matches!(def.attrs[*k].kind, AttrKind::Ints) && list.len() == 2 * before.len() {
            // Two numbers for each axis, such as pads: others for each axis, with the same sum.
            let first = (0..order.len()).map(|axis| i64::from(axis == 0));
            let second = (0..order.len()).map(|axis| i64::from(axis != 0));
            attrs[*k] = Some(AttrValue::ints(&first.chain(second).collect::<Vec<_>>()));
        }
    }
    out
}

/// Permutations of `n` axes: all of them, or only the rotations if there are many axes.
fn orders(n: usize) -> Vec<Vec<i64>> {
    if n > AXES {
        let moved = |by: usize| (0..n).map(|i| ((i + by) % n) as i64).collect();
        return (1..n).map(moved).collect();
    }
    let mut out: Vec<Vec<i64>> = vec![Vec::new()];
    for next in 0..n as i64 {
        out = out
            .into_iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut order = order.clone();
                    order.insert(at, next);
                    order
                })
            })
            .collect();
    }
    out
}

/// One operand with its axes permuted, without axes of dimension 1, or with one more. All other dimensions are equal,
/// so it fits even where a correct rule should not accept it.
pub(crate) fn with_moved_axes(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    let highest = recipe.ranks().into_iter().max().unwrap_or(0);
    // Dimensions of 1 may stay, or be made equal as well where an operand has all axes.
    for (n, all) in EQUAL.into_iter().flat_map(|n| [(n, true), (n, false)]) {
        let mut equal = recipe.clone();
        for i in 0..equal.steps.len() {
            if let Some(shape) = equal.shape_mut(i) {
                let full = all && shape.len() == highest;
                shape.iter_mut().filter(|d| full || **d > 1).for_each(|d| *d = n);
            }
        }
        for i in 0..equal.steps.len() {
            let Some(shape) = equal.shape(i).cloned() else { continue };
            let mut others: Vec<Vec<i64>> = Vec::new();
            for by in 1..shape.len() {
                let mut moved = shape.clone();
                moved.rotate_left(by);
                others.push(moved);
            }
            others.push(shape.iter().rev().copied().collect());
            others.push(shape.iter().filter(|d| **d > 1).copied().collect());
            others.push([&[1], shape.as_slice()].concat());
            for other in others.into_iter().filter(|other| *other != shape) {
                let mut next = equal.clone();
                if let Some(place) = next.shape_mut(i) {
                    *place = other;
                }
                out.push(next);
            }
        }
    }
    out
}
