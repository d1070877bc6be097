//! Instances that are enumerated, because random search rarely finds them: each element type, each order of axes where
//! all dimensions are equal, each number near one in the rule, and so on.

use super::change::{Place, Words};
use super::random::Random;
use super::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue};
use tautomer_tensor::DType;

/// Element types used to find out which operands share a type.
const TELLING: [DType; 5] = [DType::F64, DType::F16, DType::I32, DType::U8, DType::Bool];

/// Limit on the combinations of element types.
const COMBINATIONS: usize = 150;

/// The dimensions of all axes where they are made equal.
const EQUAL: [i64; 2] = [2, 3];

/// Up to so many axes are permuted in every order; more are only rotated.
const AXES: usize = 4;

/// Limit on the numbers tried in one place.
const NUMBERS: usize = 400;

/// Dimensions that are tried in every combination over the operands.
const SMALL: [i64; 3] = [1, 2, 0];

/// Limit on the operands whose dimensions are combined.
const MIXED: usize = 5;

/// The number of windows tried.
const WINDOWS: usize = 300;

/// The number of choices of integers tried.
const INTEGERS: usize = 400;

/// The largest number of the rule that is used as a dimension.
const LARGEST: i64 = 64;

fn dtype(recipe: &Recipe, step: usize) -> Option<DType> {
    match &recipe.steps[step] {
        Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => Some(*dtype),
        Step::Const(tensor) => Some(tensor.dtype()),
        _ => None,
    }
}

/// The recipe with another element type at some steps; `None` if a constant cannot have it.
fn retyped(recipe: &Recipe, steps: &[usize], to: DType) -> Option<Recipe> {
    let mut out = recipe.clone();
    for &step in steps {
        match &mut out.steps[step] {
            Step::Leaf { dtype, .. } => *dtype = to,
            Step::Fill { dtype, value, .. } => {
                if !to.is_float() && value.fract() != 0.0 {
                    return None;
                }
                *dtype = to;
            }
            _ => return None,
        }
    }
    Some(out)
}

/// The recipe with every element type that it admits, and whether the list is complete; `fits` tells whether the rule
/// matches and the types agree.
pub(super) fn with_types(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> (Vec<Recipe>, bool) {
    let typed: Vec<usize> = (0..recipe.steps.len())
        .filter(|&i| dtype(recipe, i).is_some())
        .collect();
    let may_change = |steps: &[usize]| {
        TELLING.iter().any(|&to| {
            steps.iter().any(|&i| dtype(recipe, i) != Some(to)) && retyped(recipe, steps, to).is_some_and(|r| fits(&r))
        })
    };
    // Operands whose type can change alone, together with one other, or with all others of their type.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut left: Vec<usize> = Vec::new();
    for &i in &typed {
        if may_change(&[i]) {
            groups.push(vec![i]);
        } else {
            left.push(i);
        }
    }
    while let Some(&first) = left.first() {
        let alike: Vec<usize> = left
            .iter()
            .copied()
            .filter(|&i| dtype(recipe, i) == dtype(recipe, first))
            .collect();
        let pair = alike
            .iter()
            .skip(1)
            .map(|&j| vec![first, j])
            .find(|pair| may_change(pair));
        let group = pair
            .or_else(|| may_change(&alike).then_some(alike))
            .unwrap_or_else(|| vec![first]);
        left.retain(|i| !group.contains(i));
        // An operand tied to one member of a pair is tied to both.
        groups.push(group);
    }
    let admitted = |group: &Vec<usize>| -> Vec<DType> {
        let own = dtype(recipe, group[0]);
        let fit = |to: &DType| own == Some(*to) || retyped(recipe, group, *to).is_some_and(|r| fits(&r));
        DType::ALL.into_iter().filter(fit).collect()
    };
    let domains: Vec<Vec<DType>> = groups.iter().map(admitted).collect();
    let count = domains.iter().try_fold(1usize, |n, d| n.checked_mul(d.len()));
    let complete = count.is_some_and(|n| n <= COMBINATIONS);
    let mut out = Vec::new();
    if complete {
        out.push(recipe.clone());
        for (group, domain) in groups.iter().zip(&domains) {
            let next = out
                .iter()
                .flat_map(|r: &Recipe| domain.iter().filter_map(|&to| retyped(r, group, to)));
            out = next.collect();
        }
    } else {
        for (group, domain) in groups.iter().zip(&domains) {
            out.extend(domain.iter().filter_map(|&to| retyped(recipe, group, to)));
        }
    }
    out.retain(|r| fits(r));
    (out, complete)
}

/// The recipe with all dimensions of operands equal, for a few values.
pub(super) fn with_equal_extents(recipe: &Recipe) -> Vec<Recipe> {
    EQUAL.iter().map(|&n| squared(recipe, n)).collect()
}

fn squared(recipe: &Recipe, n: i64) -> Recipe {
    let mut out = recipe.clone();
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i) {
            shape.fill(n);
        }
    }
    out
}

/// Each list of axes that is a permutation replaced by every other permutation, with equal dimensions.
pub(super) fn with_orders(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    let mut seen: Vec<Vec<i64>> = Vec::new();
    for step in &recipe.steps {
        let Step::Call { def, attrs, .. } = step else { continue };
        for (declared, value) in def.attrs.iter().zip(attrs) {
            let Some(list) = value.as_ref().and_then(AttrValue::as_ints) else {
                continue;
            };
            let mut sorted = list.clone();
            sorted.sort_unstable();
            let is_order = list.len() > 1 && sorted.iter().enumerate().all(|(i, &n)| n == i as i64);
            if !matches!(declared.kind, AttrKind::Axes(_)) || !is_order || seen.contains(&list) {
                continue;
            }
            // With fewer than three axes every permutation is its own inverse.
            for axes in [list.len(), 3] {
                for order in orders(axes) {
                    out.push(with_order(recipe, &list, &order));
                }
            }
            seen.push(list);
        }
    }
    out
}

/// The recipe with one permutation replaced by another, and with operands of matching rank.
fn with_order(recipe: &Recipe, before: &[i64], order: &[i64]) -> Recipe {
    let mut out = squared(recipe, EQUAL[0]);
    for i in 0..out.steps.len() {
        if let Some(shape) = out.shape_mut(i)
            && shape.len() == before.len()
        {
            shape.resize(order.len(), EQUAL[0]);
        }
    }
    for step in &mut out.steps {
        let Step::Call { attrs, .. } = step else { continue };
        for value in attrs.iter_mut().flatten() {
            if value.as_ints().as_deref() == Some(before) {
                *value = AttrValue::ints(order);
            }
        }
    }
    out
}

/// Random values for all integer attributes that are not axes at once, with dimensions that leave room for them.
pub(super) fn with_integers(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let is_axis = |i: usize, k: usize| match &recipe.steps[i] {
        Step::Call { def, .. } => !matches!(def.attrs[k].kind, AttrKind::Int | AttrKind::Ints),
        _ => true,
    };
    let places: Vec<Place> = recipe
        .integers()
        .into_iter()
        .map(|(place, _)| place)
        .filter(|place| matches!(place, Place::Attr(i, k, _) if !is_axis(*i, *k)))
        .collect();
    if places.is_empty() {
        return Vec::new();
    }
    let one = |random: &mut Random| {
        let mut next = squared(recipe, random.pick(&[4, 8, 3, 5, 6]).unwrap_or(4));
        let shared = random.pick(&[2, 1, 3]).unwrap_or(2);
        let alike = random.chance(1, 2);
        for &place in &places {
            let own = random.pick(&[0, 1, 2, 3, 4, -1]).unwrap_or(1);
            next.set(place, if alike { shared } else { own });
        }
        next
    };
    (0..INTEGERS).map(|_| one(random)).collect()
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

/// A place with a number: a constant, or an attribute in all calls of an operator in which it has the same value.
enum Numbered {
    Constant(usize),
    Attribute(&'static str, usize, f64),
}

/// The recipe with each constant and each float attribute replaced by numbers at which the rule may change its
/// behaviour: one list for each.
pub(super) fn with_numbers(recipe: &Recipe, words: &Words, random: &mut Random) -> Vec<Vec<Recipe>> {
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
    let numbers = words.lines();
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

/// One operand with its axes permuted, without axes of dimension 1, or with one more. All other dimensions are equal,
/// so it fits even where a correct rule should not accept it.
pub(super) fn with_moved_axes(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    for n in EQUAL {
        let mut equal = recipe.clone();
        for i in 0..equal.steps.len() {
            if let Some(shape) = equal.shape_mut(i) {
                shape.iter_mut().filter(|d| **d > 1).for_each(|d| *d = n);
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

/// Dimensions 0, 1 and 2 in every combination over the operands, along one axis counted from the end.
pub(super) fn with_small_extents(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let leaves: Vec<usize> = (0..recipe.steps.len()).filter(|&i| recipe.shape(i).is_some()).collect();
    let most = leaves
        .iter()
        .filter_map(|&i| recipe.shape(i))
        .map(Vec::len)
        .max()
        .unwrap_or(0);
    let mut out = Vec::new();
    for axis in 1..=most.min(2) {
        let along: Vec<usize> = leaves
            .iter()
            .copied()
            .filter(|&i| recipe.shape(i).is_some_and(|s| s.len() >= axis))
            .collect();
        let count = SMALL.len().pow(along.len().min(MIXED) as u32);
        for mut choice in 0..count {
            let mut next = recipe.clone();
            for &i in along.iter().take(MIXED) {
                if let Some(shape) = next.shape_mut(i) {
                    let at = shape.len() - axis;
                    shape[at] = SMALL[choice % SMALL.len()];
                }
                choice /= SMALL.len();
            }
            out.push(next);
        }
    }
    random.shuffle(&mut out);
    out
}

/// Random windows, the same along every spatial axis: kernels, strides, dilations, pads on either side, `ceil_mode`.
pub(super) fn with_windows(recipe: &Recipe, random: &mut Random) -> Vec<Recipe> {
    let has_windows = |step: &Step| matches!(step, Step::Call { def, .. } if def.attr_index("strides").is_some());
    if !recipe.steps.iter().any(has_windows) {
        return Vec::new();
    }
    let small = |random: &mut Random| 1 + random.below(3) as i64;
    let one = |random: &mut Random| {
        let mut next = recipe.clone();
        let (kernel, stride, dilation) = (small(random), small(random), small(random));
        let pads = [0; 2].map(|_| random.pick(&[0, 0, 1, 2, -1]).unwrap_or(0));
        let (ceil, counted, extent) = (random.chance(1, 2), random.chance(1, 2), 2 + random.below(5) as i64);
        for i in 0..next.steps.len() {
            let Step::Call { def, attrs, operands } = &mut next.steps[i] else {
                continue;
            };
            let operands = operands.clone();
            let (windows, padding) = (def.attr_index("strides").is_some(), def.name == "pad");
            let name = def.name;
            for (declared, value) in def.attrs.iter().zip(attrs.iter_mut()) {
                // Lists keep their length and have one value for every axis; pads have one value for each end.
                let n = match value {
                    Some(AttrValue::Ints(list)) => Some(list.len()),
                    _ => None,
                };
                let spatial = |n: usize, x: i64| Some(AttrValue::ints(&vec![x; n]));
                *value = match (declared.name, n) {
                    ("kernel_shape", Some(n)) if windows && name != "conv" => spatial(n, kernel),
                    ("strides", _) if windows => spatial(n.unwrap_or(1), stride),
                    ("dilations", _) if windows => spatial(n.unwrap_or(1), dilation),
                    ("ceil_mode", _) => Some(AttrValue::Bool(ceil)),
                    ("count_include_pad", _) if random.chance(1, 2) => Some(AttrValue::Bool(counted)),
                    ("pads", _) if windows && random.chance(2, 3) => {
                        let half = n.unwrap_or(2) / 2;
                        let pads = pads.map(|p| p.max(0));
                        Some(AttrValue::ints(&[vec![pads[0]; half], vec![pads[1]; half]].concat()))
                    }
                    ("pads", Some(n)) if padding && n >= 6 => {
                        let half = n / 2;
                        let side = |p: i64| (0..half).map(|k| if k < 2 { 0 } else { p }).collect::<Vec<_>>();
                        Some(AttrValue::ints(&[side(pads[0]), side(pads[1])].concat()))
                    }
                    _ => continue,
                };
            }
            if !windows {
                continue;
            }
            for (place, size) in [(0, extent), (1, kernel)] {
                if place == 1 && name != "conv" {
                    continue;
                }
                if let Some(shape) = operands.get(place).and_then(|&u| next.shape_mut(u))
                    && shape.len() >= 3
                {
                    shape[2..].fill(size);
                }
            }
        }
        next
    };
    (0..WINDOWS).map(|_| one(random)).collect()
}

/// The recipe with dimensions and integer attributes beyond the integers in the rule.
pub(super) fn with_sizes(recipe: &Recipe, words: &Words) -> Vec<Recipe> {
    let integers = recipe.integers();
    let mut out = Vec::new();
    let mut seen: Vec<(bool, i64)> = Vec::new();
    let mut sizes: Vec<i64> = words
        .written()
        .iter()
        .filter(|n| (2..=LARGEST).contains(*n))
        .copied()
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let beyond: Vec<i64> = sizes.iter().flat_map(|n| [n + 1, n + 2, 2 * n]).chain([8, 9]).collect();
    for &(place, value) in &integers {
        let is_extent = matches!(place, Place::Extent(..));
        if seen.contains(&(is_extent, value)) {
            continue;
        }
        seen.push((is_extent, value));
        for &size in &beyond {
            for together in [true, false] {
                let mut next = recipe.clone();
                for &(other, same) in &integers {
                    if other == place || together && same == value && matches!(other, Place::Extent(..)) == is_extent {
                        next.set(other, size);
                    }
                }
                out.push(next);
            }
        }
    }
    // Calls with more operands than any integer in the rule.
    let most = sizes.last().map_or(6, |n| (n + 1).clamp(6, 20)) as usize;
    for (i, step) in recipe.steps.iter().enumerate() {
        let Step::Call { def, operands, .. } = step else {
            continue;
        };
        if def.arity().1.is_none() && !operands.is_empty() && operands.len() < most {
            out.extend(with_members(recipe, i, most));
        }
    }
    out
}

/// The recipe with more operands of a call: copies of the last one, with leaves of their own.
fn with_members(recipe: &Recipe, call: usize, most: usize) -> Option<Recipe> {
    let mut out = Recipe {
        steps: recipe.steps[..call].to_vec(),
        roots: Vec::new(),
    };
    let Step::Call { def, operands, attrs } = &recipe.steps[call] else {
        return None;
    };
    let mut operands = operands.clone();
    let last = *operands.last()?;
    while operands.len() < most {
        let copy = copied(&mut out, last)?;
        operands.push(copy);
    }
    let added = out.steps.len() - call;
    out.steps.push(Step::Call {
        def,
        operands,
        attrs: attrs.clone(),
    });
    for step in &recipe.steps[call + 1..] {
        let mut step = step.clone();
        step.renumber(&|i| if i >= call { i + added } else { i });
        out.steps.push(step);
    }
    out.roots = recipe
        .roots
        .iter()
        .map(|&i| if i >= call { i + added } else { i })
        .collect();
    Some(out)
}

/// A copy of a step with leaves of its own; everything else is shared.
fn copied(recipe: &mut Recipe, step: usize) -> Option<usize> {
    let mut copy = recipe.steps.get(step)?.clone();
    match &mut copy {
        Step::Call { operands, .. } => {
            // Members differ in their first operand.
            if let Some(&first) = operands.first() {
                operands[0] = copied(recipe, first)?;
            }
        }
        Step::Leaf { .. } | Step::Fill { .. } => {}
        _ => return Some(step),
    }
    recipe.steps.push(copy);
    Some(recipe.steps.len() - 1)
}
