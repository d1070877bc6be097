//! Instances that are tried one by one, because a search by chance seldom meets them: each element type, each order of
//! axes where all extents are equal, each number near one that the rule says.

use super::change::{Place, Words};
use super::recipe::{Recipe, Step};
use crate::op::{AttrKind, AttrValue};
use crate::tensor::DType;

/// Element types by which it is found out which operands have one type.
const TELLING: [DType; 5] = [DType::F64, DType::F16, DType::I32, DType::U8, DType::Bool];

/// The most combinations of element types.
const COMBINATIONS: usize = 150;

/// Extents along all axes where they are made equal.
const EQUAL: [i64; 2] = [2, 3];

/// The most axes that are put in every order; of more, all are moved on by one.
const AXES: usize = 4;

/// The most numbers that are tried.
const NUMBERS: usize = 400;

/// The largest number of the rule that becomes an extent.
const LARGEST: i64 = 64;

fn dtype(recipe: &Recipe, step: usize) -> Option<DType> {
    match &recipe.steps[step] {
        Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } => Some(*dtype),
        Step::Const(tensor) => Some(tensor.dtype()),
        _ => None,
    }
}

/// The recipe with another element type at some steps; nothing, if a constant cannot have it.
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

/// The recipe with all element types that it may have, and whether these are really all; `fits` says whether the rule
/// matches and types agree.
pub(super) fn with_types(recipe: &Recipe, fits: &dyn Fn(&Recipe) -> bool) -> (Vec<Recipe>, bool) {
    let typed: Vec<usize> = (0..recipe.steps.len()).filter(|&i| dtype(recipe, i).is_some()).collect();
    let may_change = |steps: &[usize]| {
        TELLING.iter().any(|&to| {
            steps.iter().any(|&i| dtype(recipe, i) != Some(to)) && retyped(recipe, steps, to).is_some_and(|r| fits(&r))
        })
    };
    // Operands that change by themselves, with one other, or with all others of their type.
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
        let alike: Vec<usize> = left.iter().copied().filter(|&i| dtype(recipe, i) == dtype(recipe, first)).collect();
        let pair = alike.iter().skip(1).map(|&j| vec![first, j]).find(|pair| may_change(pair));
        let group = pair.or_else(|| may_change(&alike).then_some(alike)).unwrap_or_else(|| vec![first]);
        left.retain(|i| !group.contains(i));
        // What changes with one of a pair changes with both.
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
            let next = out.iter().flat_map(|r: &Recipe| domain.iter().filter_map(|&to| retyped(r, group, to)));
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

/// The recipe with one number for all extents of operands, in a few ways.
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

/// Each list of axes that is an order of them in each other order, with equal extents.
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
            for order in orders(list.len()) {
                let mut next = squared(recipe, EQUAL[0]);
                for step in &mut next.steps {
                    if let Step::Call { attrs, .. } = step {
                        for value in attrs.iter_mut().flatten() {
                            if value.as_ints().as_ref() == Some(&list) {
                                *value = AttrValue::ints(&order);
                            }
                        }
                    }
                }
                out.push(next);
            }
            seen.push(list);
        }
    }
    out
}

/// Orders of so many axes: all, or, of many, those that move each axis on.
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

/// The recipe with each constant and each number of an attribute at the numbers near which the rule may draw a line.
pub(super) fn with_numbers(recipe: &Recipe, words: &Words) -> Vec<Recipe> {
    let numbers = words.lines();
    let mut out = Vec::new();
    let mut seen: Vec<u64> = Vec::new();
    for step in &recipe.steps {
        let own: Vec<f64> = match step {
            Step::Fill { value, .. } => vec![*value],
            Step::Call { def, attrs, .. } => {
                let real = def.attrs.iter().zip(attrs).filter(|(d, _)| matches!(d.kind, AttrKind::Float));
                real.filter_map(|(d, a)| {
                    let value = a.clone().or_else(|| d.default_value());
                    value.as_ref().and_then(AttrValue::as_float)
                })
                .collect()
            }
            _ => Vec::new(),
        };
        for own in own {
            if seen.contains(&own.to_bits()) {
                continue;
            }
            seen.push(own.to_bits());
            for &number in &numbers {
                // With what has the same value, and by itself.
                out.push(with_number(recipe, own, number, true));
                out.push(with_number(recipe, own, number, false));
            }
        }
    }
    out.truncate(NUMBERS);
    out
}

/// The recipe with a number in the place of another: in all places, or in the first.
fn with_number(recipe: &Recipe, from: f64, to: f64, everywhere: bool) -> Recipe {
    let mut out = recipe.clone();
    for step in &mut out.steps {
        match step {
            Step::Fill { value, .. } if value.to_bits() == from.to_bits() => {
                *value = to;
                if !everywhere {
                    return out;
                }
            }
            Step::Call { def, attrs, .. } => {
                for (declared, value) in def.attrs.iter().zip(attrs) {
                    let now = value.clone().or_else(|| declared.default_value());
                    let is_it = now.and_then(|v| v.as_float()).is_some_and(|v| v.to_bits() == from.to_bits());
                    if is_it && matches!(declared.kind, AttrKind::Float) {
                        *value = Some(AttrValue::float(to));
                        if !everywhere {
                            return out;
                        }
                    }
                }
            }
            _ => {}
        }
    }
    out
}

/// The recipe with extents and integers of attributes beyond the integers that the rule says.
pub(super) fn with_sizes(recipe: &Recipe, words: &Words) -> Vec<Recipe> {
    let integers = recipe.integers();
    let mut out = Vec::new();
    let mut seen: Vec<(bool, i64)> = Vec::new();
    let mut sizes: Vec<i64> = words.written().iter().filter(|n| (2..=LARGEST).contains(*n)).copied().collect();
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
    // Calls with more operands than the rule says.
    let most = sizes.last().map_or(6, |n| (n + 1).clamp(6, 20)) as usize;
    for (i, step) in recipe.steps.iter().enumerate() {
        let Step::Call { def, operands, .. } = step else { continue };
        if def.arity().1.is_none() && !operands.is_empty() && operands.len() < most {
            out.extend(with_members(recipe, i, most));
        }
    }
    out
}

/// The recipe with more operands of a call: copies of the last, with leaves of their own.
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
    out.roots = recipe.roots.iter().map(|&i| if i >= call { i + added } else { i }).collect();
    Some(out)
}

/// A copy of a step with leaves of its own; what is beside these is shared.
fn copied(recipe: &mut Recipe, step: usize) -> Option<usize> {
    let mut copy = recipe.steps.get(step)?.clone();
    match &mut copy {
        Step::Call { operands, .. } => {
            // The first operand is what differs from member to member.
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
