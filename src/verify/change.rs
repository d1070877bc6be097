//! Changes of a recipe: one extent, one attribute, one axis at a time, together with what is tied to it.
//!
//! Which extents are tied is not known beforehand: the operators of a rule, its types and its conditions tie them. So a
//! change of a number takes some of the places with the same number along: all places that leaves have it at, those
//! on the same axis, attributes too, or none. What does not fit together is refused by inference or by the matcher.

use std::sync::Arc;

use super::random::Random;
use super::recipe::{Recipe, Step};
use crate::lang::ast::ExprKind;
use crate::op::{AttrDef, AttrKind, AttrValue, OpDef};
use crate::rule::Rule;
use crate::tensor::{DType, Dim, Tensor};

/// A place with an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Axis of a leaf or constant.
    Extent(usize, usize),
    /// Element of an integer list of a call, or its integer.
    Attr(usize, usize, usize),
}

/// Extents that are tried.
const EXTENTS: [i64; 8] = [1, 2, 3, 4, 5, 1, 6, 0];

/// Other numbers of members that are tried first.
const MEMBERS: usize = 6;

/// Kinds of convolutions that are tried first.
const CONVOLUTIONS: usize = 16;

/// Element types that are tried.
const DTYPES: [DType; 6] = [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool, DType::U8];

/// Values of constants that are tried.
const NUMBERS: [f64; 7] = [0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 6.0];

/// Numbers that a rule says, and their neighbours: where a condition or a literal draws a line, both sides are tried.
#[derive(Debug, Clone)]
pub(super) struct Words {
    /// The rule.
    pub(super) rule: Arc<Rule>,
    integers: Vec<i64>,
    numbers: Vec<f64>,
}

impl Words {
    pub(super) fn of(rule: &Arc<Rule>) -> Words {
        let (mut integers, mut numbers): (Vec<i64>, Vec<f64>) = (Vec::new(), Vec::new());
        for (_, expr) in rule.ast.iter() {
            if expr.span.start < rule.span.start || expr.span.end > rule.span.end {
                continue;
            }
            match expr.kind {
                ExprKind::Int { value, .. } => {
                    let value = value.clamp(-1_000_000, 1_000_000) as i64;
                    integers.extend([value, value + 1, value - 1]);
                    numbers.extend([value as f64, value as f64 + 1.0, value as f64 - 1.0, -(value as f64)]);
                }
                ExprKind::Float { value, .. } => numbers.extend([value, 2.0 * value, -value]),
                _ => {}
            }
        }
        integers.retain(|n| n.abs() <= 64);
        integers.sort_unstable();
        integers.dedup();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup_by(|a, b| a.to_bits() == b.to_bits());
        Words {
            rule: rule.clone(),
            integers,
            numbers,
        }
    }

    /// An integer of the rule, or one of those that are tried anyway.
    fn integer(&self, others: &[i64], random: &mut Random) -> i64 {
        let own = if random.chance(1, 4) {
            random.pick(&self.integers)
        } else {
            None
        };
        own.or_else(|| random.pick(others)).unwrap_or(1)
    }

    pub(super) fn number(&self, others: &[f64], random: &mut Random) -> f64 {
        let own = if random.chance(1, 2) {
            random.pick(&self.numbers)
        } else {
            None
        };
        own.or_else(|| random.pick(others)).unwrap_or(1.0)
    }
}

impl Recipe {
    /// All integers, with their places.
    pub(super) fn integers(&self) -> Vec<(Place, i64)> {
        let mut out = Vec::new();
        for (i, step) in self.steps.iter().enumerate() {
            match step {
                Step::Leaf { shape, .. } | Step::Fill { shape, .. } => {
                    out.extend(shape.iter().enumerate().map(|(k, d)| (Place::Extent(i, k), *d)));
                }
                Step::Call { attrs, .. } => {
                    for (k, attr) in attrs.iter().enumerate() {
                        let list = match attr {
                            Some(AttrValue::Int(d)) => std::slice::from_ref(d),
                            Some(AttrValue::Ints(list)) => list,
                            _ => continue,
                        };
                        let known = list.iter().enumerate();
                        out.extend(known.filter_map(|(n, d)| Some((Place::Attr(i, k, n), d.as_const()?))));
                    }
                }
                _ => {}
            }
        }
        out
    }

    /// Puts an integer in its place.
    pub(super) fn set(&mut self, place: Place, value: i64) {
        match place {
            Place::Extent(i, axis) => {
                if let Some(extent) = self.shape_mut(i).and_then(|s| s.get_mut(axis)) {
                    *extent = value;
                }
            }
            Place::Attr(i, k, n) => {
                let Step::Call { attrs, .. } = &mut self.steps[i] else {
                    return;
                };
                match &mut attrs[k] {
                    Some(AttrValue::Int(d)) => *d = Dim::Const(value),
                    Some(AttrValue::Ints(list)) if n < list.len() => list[n] = Dim::Const(value),
                    _ => {}
                }
            }
        }
    }

    /// The leaves and the constants with equal elements.
    fn shaped(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|&i| self.shape(i).is_some()).collect()
    }

    fn calls(&self) -> Vec<usize> {
        (0..self.steps.len())
            .filter(|&i| matches!(self.steps[i], Step::Call { .. }))
            .collect()
    }
}

/// The places that change with `place` if they have its value, by how much is taken along.
pub(super) fn tied(recipe: &Recipe, place: Place, mode: usize, random: &mut Random) -> Vec<Place> {
    let integers = recipe.integers();
    let Some(&(_, value)) = integers.iter().find(|(p, _)| *p == place) else {
        return Vec::new();
    };
    let from_end = |p: Place| match p {
        Place::Extent(i, axis) => recipe.shape(i).map(|s| s.len() - axis),
        Place::Attr(..) => None,
    };
    let same_attr = |p: Place| match (p, place) {
        (Place::Attr(i, k, _), Place::Attr(j, n, _)) => match (&recipe.steps[i], &recipe.steps[j]) {
            (Step::Call { def: a, .. }, Step::Call { def: b, .. }) => a.name == b.name && k == n,
            _ => false,
        },
        _ => false,
    };
    let others = integers.iter().filter(|(_, v)| *v == value).map(|(p, _)| *p);
    others
        .filter(|p| {
            *p == place
                || match mode {
                    0 => false,
                    1 => matches!(p, Place::Extent(..)) || same_attr(*p),
                    2 => from_end(*p).is_some() && from_end(*p) == from_end(place) || same_attr(*p),
                    3 => true,
                    _ => random.chance(1, 2),
                }
        })
        .collect()
}

/// A recipe that differs a little; it need not fit together.
pub(super) fn changed(recipe: &Recipe, words: &Words, random: &mut Random) -> Recipe {
    let mut out = recipe.clone();
    match random.below(22) {
        0..=7 => number(&mut out, words, random),
        8..=11 => attribute(&mut out, words, random),
        12..=13 => rank(&mut out, random),
        14 => one_shape(&mut out, random),
        15 => dtype(&mut out, random),
        16 => constant(&mut out, words, random),
        17 => merge(&mut out, random),
        18 => operator(&mut out, words, random),
        19..=20 => convolution(&mut out, words, random),
        _ => members(&mut out, words, random),
    }
    out
}

/// Changes a number that the call at `step` depends on, so that inference may accept it.
pub(super) fn mended(recipe: &Recipe, step: usize, random: &mut Random) -> Recipe {
    let mut below = vec![false; step + 1];
    below[step] = true;
    for i in (0..=step).rev() {
        if below[i] {
            recipe.steps[i].operands().into_iter().for_each(|u| below[u] = true);
        }
    }
    let integers = recipe.integers();
    let near: Vec<(Place, i64)> = integers
        .iter()
        .copied()
        .filter(|(place, _)| match place {
            Place::Extent(i, _) => *i <= step && below[*i],
            Place::Attr(i, ..) => *i == step,
        })
        .collect();
    let mut out = recipe.clone();
    let Some((place, value)) = random.pick(&near) else {
        return out;
    };
    let other = random.pick(&near).map_or(1, |(_, v)| v);
    let third = random.pick(&near).map_or(1, |(_, v)| v);
    let next = match random.below(8) {
        0 | 1 => other,
        2 => value.saturating_mul(2),
        3 => value / 2,
        4 => value.saturating_add(1),
        5 => value.saturating_sub(1),
        6 => other.saturating_mul(third),
        _ => 1,
    };
    let mode = random.below(5);
    for place in tied(recipe, place, mode, random) {
        out.set(place, next);
    }
    out
}

fn number(recipe: &mut Recipe, words: &Words, random: &mut Random) {
    let integers = recipe.integers();
    let Some((place, value)) = random.pick(&integers) else {
        return;
    };
    let next = match place {
        Place::Extent(..) => words.integer(&EXTENTS, random),
        Place::Attr(..) => match random.below(4) {
            0 => words.integer(&EXTENTS, random),
            1 => value.saturating_add(1),
            2 => value.saturating_sub(1),
            _ => value.saturating_neg(),
        },
    };
    let mode = random.below(5);
    for place in tied(recipe, place, mode, random) {
        recipe.set(place, next);
    }
}

/// Recipes with one attribute at each of its values that count, in all calls that share it, in random order.
pub(super) fn variants(recipe: &Recipe, words: &Words, random: &mut Random) -> Vec<Recipe> {
    let rank = recipe
        .shaped()
        .into_iter()
        .filter_map(|i| recipe.shape(i))
        .map(Vec::len)
        .max()
        .unwrap_or(0) as i64;
    let mut out: Vec<Recipe> = Vec::new();
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for call in recipe.calls() {
        let Step::Call { def, attrs, .. } = &recipe.steps[call] else {
            continue;
        };
        for (k, attr) in def.attrs.iter().enumerate() {
            if seen.contains(&(def.name, k)) {
                continue;
            }
            seen.push((def.name, k));
            let values: Vec<Option<AttrValue>> = match attr.kind {
                AttrKind::Bool => [false, true].map(|b| Some(AttrValue::Bool(b))).to_vec(),
                AttrKind::Int => [1, 2, 3].map(|n| Some(AttrValue::int(n))).to_vec(),
                AttrKind::Axis(_) => (-rank..rank).map(|n| Some(AttrValue::int(n))).collect(),
                AttrKind::OneOf(all) => all.iter().map(|s| Some(AttrValue::str(s))).collect(),
                AttrKind::Ints | AttrKind::Axes(_) | AttrKind::Float => (0..3)
                    .map(|_| other_value(attr, attrs[k].as_ref(), rank as usize, words, random))
                    .collect(),
                _ => continue,
            };
            for value in values {
                let mut next = recipe.clone();
                for step in &mut next.steps {
                    if let Step::Call {
                        def: other, attrs: all, ..
                    } = step
                        && other.name == def.name
                        && all[k] == attrs[k]
                    {
                        all[k].clone_from(&value);
                    }
                }
                out.push(next);
            }
        }
    }
    if recipe.calls().into_iter().any(|i| is_convolution(&recipe.steps[i])) {
        for _ in 0..CONVOLUTIONS {
            let mut next = recipe.clone();
            convolution(&mut next, words, random);
            out.push(next);
        }
    }
    for (place, value) in recipe.integers() {
        if let Place::Attr(..) = place {
            for other in [
                value.saturating_add(1),
                value.saturating_sub(1),
                if value == 0 { 2 } else { 0 },
            ] {
                let mut next = recipe.clone();
                next.set(place, other);
                out.push(next);
            }
        }
    }
    // Where all extents are one number, what is transposed or swapped has the same type.
    let square: Vec<Recipe> = out.iter().map(|next| squared(next, &[2, 3][..], random)).collect();
    for next in square {
        if random.chance(1, 3) {
            out.push(next);
        }
    }
    for _ in 0..MEMBERS {
        let mut next = recipe.clone();
        members(&mut next, words, random);
        out.push(next);
        if !words.rule.operators.is_empty() {
            let mut next = recipe.clone();
            operator(&mut next, words, random);
            attribute(&mut next, words, random);
            out.push(next);
        }
    }
    out.extend(shapes(recipe, random));
    random.shuffle(&mut out);
    out
}

/// Each operand broadcast along each of its axes, and without its first one; each extent nothing, one, and one more.
fn shapes(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let mut out = Vec::new();
    for i in recipe.shaped() {
        let Some(shape) = recipe.shape(i) else { continue };
        let mut change = |f: &dyn Fn(&mut Vec<i64>)| {
            let mut next = recipe.clone();
            next.shape_mut(i).into_iter().for_each(f);
            out.push(next);
        };
        for axis in 0..shape.len() {
            change(&|shape| shape[axis] = 1);
        }
        if !shape.is_empty() {
            change(&|shape| {
                shape.remove(0);
            });
            change(&|shape| shape.clear());
        }
        change(&|shape| shape.insert(0, 2));
    }
    // One operand with an axis more, another with one less.
    let shaped = recipe.shaped();
    for &i in &shaped {
        for &j in &shaped {
            if i == j || recipe.shape(j).is_none_or(Vec::is_empty) {
                continue;
            }
            for with_batch in [false, true] {
                let mut next = recipe.clone();
                if let Some(shape) = next.shape_mut(i) {
                    shape.insert(0, 2);
                }
                if let Some(shape) = next.shape_mut(j) {
                    shape.remove(0);
                }
                if with_batch {
                    for &k in shaped.iter().filter(|k| **k != i && **k != j) {
                        if let Some(shape) = next.shape_mut(k) {
                            shape.insert(0, 2);
                        }
                    }
                }
                out.push(next);
            }
        }
    }
    let mut seen = Vec::new();
    for (place, value) in recipe.integers() {
        if seen.contains(&value) || matches!(place, Place::Attr(..)) {
            continue;
        }
        seen.push(value);
        for next_value in [0, 1, value.saturating_add(1)] {
            for mode in 1..3 {
                let mut next = recipe.clone();
                for place in tied(recipe, place, mode, random) {
                    next.set(place, next_value);
                }
                out.push(next);
            }
        }
    }
    out
}

/// The recipe with one number for all extents of leaves.
fn squared(recipe: &Recipe, sides: &[i64], random: &mut Random) -> Recipe {
    let mut out = recipe.clone();
    let side = random.pick(sides).unwrap_or(2);
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i) {
            shape.fill(side);
        }
    }
    out
}

fn is_convolution(step: &Step) -> bool {
    matches!(step, Step::Call { def, .. } if def.name == "conv" || def.name == "conv_transpose")
}

/// Other groups, channels, kernels, strides, dilations and pads, in all convolutions alike.
fn convolution(recipe: &mut Recipe, words: &Words, random: &mut Random) {
    let calls: Vec<usize> = recipe
        .calls()
        .into_iter()
        .filter(|&i| is_convolution(&recipe.steps[i]))
        .collect();
    if calls.is_empty() {
        return number(recipe, words, random);
    }
    let small = |random: &mut Random| 1 + random.below(3) as i64;
    let group = random.pick(&[1, 1, 2, 3]).unwrap_or(1);
    // As many channels as groups: each channel for itself.
    let inner = if random.chance(1, 3) { 1 } else { small(random) };
    let outer = small(random);
    let kernel = [small(random), small(random), small(random)];
    let [strides, dilations] = [0; 2].map(|_| [small(random), small(random), small(random)]);
    let pads: Vec<i64> = (0..6).map(|_| random.below(3) as i64).collect();
    let auto = random.pick(&["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]);
    let mut set: Vec<(&str, u8)> = vec![
        ("group", 0),
        ("strides", 1),
        ("dilations", 2),
        ("pads", 3),
        ("auto_pad", 4),
    ];
    set.retain(|_| random.chance(2, 3));
    let fresh = small(random);
    for call in calls {
        let Step::Call { def, operands, .. } = &recipe.steps[call] else {
            continue;
        };
        let (transposed, operands) = (def.name == "conv_transpose", operands.clone());
        let places: Vec<Option<usize>> = set.iter().map(|(name, _)| def.attr_index(name)).collect();
        let axes = operands
            .iter()
            .filter_map(|&u| recipe.shape(u))
            .map(Vec::len)
            .max()
            .unwrap_or(4)
            .saturating_sub(2)
            .min(3);
        if let Step::Call { attrs, .. } = &mut recipe.steps[call] {
            for ((_, which), place) in set.iter().zip(places) {
                let Some(attr) = place.and_then(|k| attrs.get_mut(k)) else {
                    continue;
                };
                *attr = Some(match which {
                    0 => AttrValue::int(group),
                    1 => AttrValue::ints(&strides[..axes]),
                    2 => AttrValue::ints(&dilations[..axes]),
                    3 => AttrValue::ints(&pads[..2 * axes]),
                    _ => AttrValue::str(auto.unwrap_or("NOTSET")),
                });
            }
        }
        let group = if set.contains(&("group", 0)) { group } else { 1 };
        let mut shape_of = |at: usize, f: &dyn Fn(&mut Vec<i64>)| {
            if let Some(shape) = operands.get(at).and_then(|&u| recipe.shape_mut(u))
                && shape.len() >= 3
            {
                f(shape);
            }
        };
        shape_of(0, &|x| {
            x[1] = group * inner;
            for extent in &mut x[2..] {
                *extent = (*extent).max(fresh + 2);
            }
        });
        shape_of(1, &|w| {
            (w[0], w[1]) = if transposed {
                (group * inner, outer)
            } else {
                (group * outer, inner)
            };
            for (extent, k) in w[2..].iter_mut().zip(kernel) {
                *extent = k;
            }
        });
    }
}

fn attribute(recipe: &mut Recipe, words: &Words, random: &mut Random) {
    let Some(call) = random.pick(&recipe.calls()) else {
        return;
    };
    let Step::Call { def, attrs, operands } = &recipe.steps[call] else {
        return;
    };
    if attrs.is_empty() {
        return;
    }
    let (def, k) = (*def, random.below(attrs.len()));
    let rank = operands
        .iter()
        .filter_map(|&u| recipe.shape(u))
        .map(Vec::len)
        .max()
        .unwrap_or(4);
    let before = attrs[k].clone();
    let next = other_value(&def.attrs[k], before.as_ref(), rank, words, random);
    let everywhere = random.chance(3, 4);
    for (i, step) in recipe.steps.iter_mut().enumerate() {
        if let Step::Call { def: other, attrs, .. } = step
            && (i == call || everywhere && other.name == def.name && attrs[k] == before)
        {
            attrs[k].clone_from(&next);
        }
    }
}

/// Another value of an attribute.
fn other_value(
    attr: &AttrDef,
    before: Option<&AttrValue>,
    rank: usize,
    words: &Words,
    random: &mut Random,
) -> Option<AttrValue> {
    if attr.default_value().is_some() && random.chance(1, 6) {
        return None;
    }
    let axis = |random: &mut Random| random.below(2 * rank.max(1)) as i64 - rank.max(1) as i64;
    let small = [0, 1, 2, 3, 1, -1];
    Some(match attr.kind {
        AttrKind::Bool => AttrValue::Bool(random.chance(1, 2)),
        AttrKind::Int => AttrValue::int(words.integer(&[1, 2, 3, 0, 4, -1], random)),
        AttrKind::Axis(_) => AttrValue::int(axis(random)),
        AttrKind::Axes(_) => {
            let n = match before {
                Some(AttrValue::Ints(list)) if random.chance(2, 3) => list.len(),
                _ => 1 + random.below(rank.max(1)),
            };
            let mut all: Vec<i64> = (0..rank.max(n) as i64).collect();
            random.shuffle(&mut all);
            all.truncate(n);
            AttrValue::ints(&all)
        }
        AttrKind::Ints => match before {
            Some(AttrValue::Ints(list)) if !list.is_empty() => {
                let mut list: Vec<i64> = list.iter().map(|d| d.as_const().unwrap_or(1)).collect();
                let at = random.below(list.len());
                let other = random.below(list.len());
                match random.below(6) {
                    0 => list.swap(at, other),
                    1 => list[at] = random.pick(&small).unwrap_or(1),
                    2 => list.fill(random.pick(&small).unwrap_or(1)),
                    3 => list.insert(at, random.pick(&small).unwrap_or(1)),
                    4 => {
                        list.remove(at);
                    }
                    _ => {
                        // One more here, one less there: the sum stays, as for the parts of a split.
                        list[at] = list[at].saturating_add(1);
                        list[other] = list[other].saturating_sub(1);
                    }
                }
                AttrValue::ints(&list)
            }
            _ => {
                // As many as there are spatial axes, axes, or padded ends.
                let n = match random.below(4) {
                    0 => rank.saturating_sub(2),
                    1 => 2 * rank.saturating_sub(2),
                    2 => 2 * rank,
                    _ => rank,
                };
                let one = random.pick(&small).unwrap_or(1);
                let list: Vec<i64> = (0..n)
                    .map(|_| {
                        if random.chance(1, 3) {
                            random.pick(&small).unwrap_or(1)
                        } else {
                            one
                        }
                    })
                    .collect();
                AttrValue::ints(&list)
            }
        },
        AttrKind::Float => AttrValue::float(words.number(&[1.0, 0.5, 0.0, 2.0, -1.0, 0.1, 6.0], random)),
        AttrKind::OneOf(all) => AttrValue::str(random.pick(all)?),
        AttrKind::DType => AttrValue::DType(random.pick(&DTYPES)?),
        AttrKind::Floats | AttrKind::Str | AttrKind::Strs | AttrKind::Tensor | AttrKind::Region => {
            return before.cloned();
        }
    })
}

fn rank(recipe: &mut Recipe, random: &mut Random) {
    let shaped = recipe.shaped();
    let Some(first) = random.pick(&shaped) else { return };
    let rank = recipe.shape(first).map_or(0, Vec::len);
    let grow = random.chance(1, 2);
    if !grow && rank == 0 {
        return;
    }
    let at = random.below(if grow { rank + 1 } else { rank });
    let from_end = random.chance(1, 2);
    let extent = random.pick(&EXTENTS).unwrap_or(1);
    let mode = random.below(4);
    // What one call depends on, such as the parts of a join.
    let mut below = vec![false; recipe.steps.len()];
    if let Some(call) = random.pick(&recipe.calls()) {
        below[call] = true;
        for i in (0..=call).rev().filter(|_| mode == 3) {
            if below[i] {
                recipe.steps[i].operands().into_iter().for_each(|u| below[u] = true);
            }
        }
    }
    for i in shaped {
        let Some(shape) = recipe.shape_mut(i) else { continue };
        let along = match mode {
            0 => i == first,
            1 => shape.len() == rank,
            3 => below[i] && shape.len() == rank,
            _ => shape.len() >= rank,
        };
        if !along {
            continue;
        }
        let place = if from_end { shape.len() - (rank - at) } else { at };
        if grow {
            shape.insert(place, extent);
        } else {
            shape.remove(place);
        }
    }
}

/// Gives a leaf the shape of another one, or ones on some axes.
fn one_shape(recipe: &mut Recipe, random: &mut Random) {
    let shaped = recipe.shaped();
    let (Some(a), Some(b)) = (random.pick(&shaped), random.pick(&shaped)) else {
        return;
    };
    let mut shape = recipe.shape(b).cloned().unwrap_or_default();
    match random.below(3) {
        0 if !shape.is_empty() => {
            let at = random.below(shape.len());
            shape[at] = 1;
        }
        1 if !shape.is_empty() => {
            shape.drain(..random.below(shape.len() + 1));
        }
        _ => {}
    }
    if let Some(place) = recipe.shape_mut(a) {
        *place = shape;
    }
}

fn dtype(recipe: &mut Recipe, random: &mut Random) {
    let shaped = recipe.shaped();
    let of = |step: &Step| match step {
        Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => Some(*dtype),
        _ => None,
    };
    let (Some(first), Some(next)) = (random.pick(&shaped), random.pick(&DTYPES)) else {
        return;
    };
    let before = of(&recipe.steps[first]);
    let everywhere = random.chance(3, 4);
    for i in shaped {
        if (i == first || everywhere) && of(&recipe.steps[i]) == before {
            match &mut recipe.steps[i] {
                Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => *dtype = next,
                _ => {}
            }
        }
    }
}

pub(super) fn constant(recipe: &mut Recipe, words: &Words, random: &mut Random) {
    let constants: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| matches!(recipe.steps[i], Step::Fill { .. } | Step::Const(_)))
        .collect();
    let Some(at) = random.pick(&constants) else {
        return number(recipe, words, random);
    };
    match &mut recipe.steps[at] {
        Step::Fill { value, .. } => *value = words.number(&NUMBERS, random),
        Step::Const(tensor) => {
            if let Some(changed) = with_other_element(tensor, words, random) {
                *tensor = changed;
            }
        }
        _ => {}
    }
}

fn with_other_element(tensor: &Tensor, words: &Words, random: &mut Random) -> Option<Tensor> {
    if tensor.dtype().is_float() {
        let mut all = tensor.to_f64s()?;
        let at = random.below(all.len());
        *all.get_mut(at)? = words.number(&NUMBERS, random);
        return Tensor::from_f64s(tensor.dtype(), tensor.shape(), &all);
    }
    let mut all = tensor.to_ints()?;
    let at = random.below(all.len());
    let before = *all.get(at)?;
    *all.get_mut(at)? = match random.below(3) {
        0 => i128::from(words.integer(&EXTENTS, random)),
        1 => before.saturating_add(1),
        _ => before.saturating_sub(1),
    };
    Tensor::from_ints(tensor.dtype(), tensor.shape(), &all)
}

/// Lets one leaf stand where another one does.
fn merge(recipe: &mut Recipe, random: &mut Random) {
    let leaves: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| matches!(recipe.steps[i], Step::Leaf { .. }))
        .collect();
    let (Some(a), Some(b)) = (random.pick(&leaves), random.pick(&leaves)) else {
        return;
    };
    let (a, b) = (a.min(b), a.max(b));
    for step in &mut recipe.steps {
        step.renumber(&|i| if i == b { a } else { i });
    }
    recipe.prune();
}

/// Lets an operator variable stand for another of its choices.
fn operator(recipe: &mut Recipe, words: &Words, random: &mut Random) {
    let choices: Vec<&'static OpDef> = words
        .rule
        .operators
        .iter()
        .flat_map(|v| v.choices.iter().copied())
        .collect();
    let Some(next) = random.pick(&choices) else {
        return number(recipe, words, random);
    };
    let calls = recipe.calls();
    let one_of = |i: &usize| match &recipe.steps[*i] {
        Step::Call { def, .. } => choices.iter().any(|c| c.name == def.name).then_some(*def),
        _ => None,
    };
    let matching: Vec<usize> = calls.into_iter().filter(|i| one_of(i).is_some()).collect();
    let Some(before) = random.pick(&matching).and_then(|i| one_of(&i)) else {
        return;
    };
    for step in &mut recipe.steps {
        if let Step::Call { def, attrs, .. } = step
            && def.name == before.name
        {
            let kept = next.attrs.iter().map(|a| {
                let place = before.attr_index(a.name)?;
                attrs[place].clone()
            });
            (*attrs, *def) = (kept.collect(), next);
        }
    }
}

/// One more or one fewer operand of a call that takes any number: a copy of the last, with leaves of its own.
fn members(recipe: &mut Recipe, words: &Words, random: &mut Random) {
    let variadic = |i: &usize| match &recipe.steps[*i] {
        Step::Call { def, operands, .. } => def.arity().1.is_none() && !operands.is_empty(),
        _ => false,
    };
    let calls: Vec<usize> = recipe.calls().into_iter().filter(variadic).collect();
    let Some(call) = random.pick(&calls) else {
        return number(recipe, words, random);
    };
    let Step::Call { operands, .. } = &mut recipe.steps[call] else {
        return;
    };
    if random.chance(1, 2) && operands.len() > 1 {
        operands.remove(random.below(operands.len()));
        recipe.prune();
        return;
    }
    let last = operands[operands.len() - 1];
    // What other operands use too stays one value.
    let mut shared = vec![false; recipe.steps.len()];
    let Step::Call { operands, .. } = recipe.steps[call].clone() else {
        return;
    };
    let mut stack: Vec<usize> = operands[..operands.len() - 1].to_vec();
    while let Some(i) = stack.pop() {
        if !std::mem::replace(&mut shared[i], true) {
            stack.extend(recipe.steps[i].operands());
        }
    }
    let mut steps: Vec<Step> = recipe.steps[..call].to_vec();
    let mut copies: Vec<usize> = (0..call).collect();
    let mut below = vec![false; call];
    below[last] = true;
    for i in (0..call).rev() {
        if below[i] && !shared[i] {
            recipe.steps[i].operands().into_iter().for_each(|u| below[u] = true);
        }
    }
    for i in 0..call {
        if below[i] && (!shared[i] || i == last) {
            let mut step = recipe.steps[i].clone();
            step.renumber(&|u| copies[u]);
            copies[i] = steps.len();
            steps.push(step);
        }
    }
    let added = steps.len() - call;
    for (i, step) in recipe.steps[call..].iter().enumerate() {
        let mut step = step.clone();
        step.renumber(&|u| if u < call { u } else { u + added });
        if let (0, Step::Call { operands, .. }) = (i, &mut step) {
            operands.push(copies[last]);
        }
        steps.push(step);
    }
    recipe.steps = steps;
    for root in &mut recipe.roots {
        if *root >= call {
            *root += added;
        }
    }
}
