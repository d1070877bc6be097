//! Counts: operands of calls that take any number of them, axes of operands, elements of lists.

use crate::instance::mutate::RuleNumbers;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::{AttrKind, AttrValue, AxesRule};

/// The least count of operands to try, and the greatest.
const MEMBERS: (i64, i64) = (6, 40);

/// Limit on the operands of matrix products all of whose ranks are tried.
const FACTORS: usize = 3;

/// The largest rank of an operand that is tried beside others.
const SMALL: usize = 3;

/// The greatest rank to try.
const RANK: usize = 9;

/// Calls with more operands than the instances have, and than the integers in the rule; also with a last one that
/// differs from the others in its constants or attributes.
pub(crate) fn with_counts(recipe: &Recipe, numbers: &RuleNumbers) -> Vec<Recipe> {
    let mut counts: Vec<i64> = Vec::new();
    for &n in numbers.written().iter().filter(|n| **n > 1) {
        counts.extend([n + 1, n, n + 2].into_iter().filter(|n| *n <= MEMBERS.1));
    }
    counts.extend([MEMBERS.0, 1]);
    let mut seen: Vec<i64> = Vec::new();
    counts.retain(|n| {
        !seen.contains(n) && {
            seen.push(*n);
            true
        }
    });
    let mut out = Vec::new();
    for count in counts {
        for (i, step) in recipe.steps.iter().enumerate() {
            let Step::Call { def, operands, .. } = step else {
                continue;
            };
            if def.arity().1.is_none() && !operands.is_empty() {
                let changes: [Option<Change>; 3] = [None, Some(with_another_constant), Some(with_another_attribute)];
                out.extend(
                    changes
                        .into_iter()
                        .filter_map(|odd| with_members(recipe, i, count as usize, odd)),
                );
            }
        }
    }
    out
}

/// Operands with more axes, up to a rank that rules seldom mention: in front, of dimension 1, or the first of them 2.
pub(crate) fn with_ranks(recipe: &Recipe) -> Vec<Recipe> {
    let highest = recipe.ranks().into_iter().max().unwrap_or(0);
    let mut out = Vec::new();
    for rank in (highest + 1..=RANK).rev() {
        for everywhere in [true, false] {
            for first in [2, 1] {
                let mut next = recipe.clone();
                for i in 0..next.steps.len() {
                    let is_constant = matches!(next.steps[i], Step::Fill { .. });
                    let Some(shape) = next.shape_mut(i) else { continue };
                    if is_constant || !everywhere && shape.len() < highest {
                        continue;
                    }
                    let mut more = vec![1; rank - highest];
                    more[0] = first;
                    shape.splice(0..0, more);
                }
                out.push(next);
            }
        }
    }
    out
}

/// The recipe with the defaults of all attributes that have one, and the same with one and two more axes at the end of
/// the operands of the highest rank: the defaults fit any rank, and a word such as `SAME_UPPER` few shapes.
pub(crate) fn with_more_axes(recipe: &Recipe) -> Vec<Recipe> {
    let mut plain = recipe.clone();
    for step in &mut plain.steps {
        if let Step::Call { def, attrs, .. } = step {
            let all = attrs.iter_mut().zip(def.attrs);
            let optional = all.filter(|(_, attr)| attr.default_value().is_some());
            optional.for_each(|(own, _)| *own = None);
        }
    }
    let highest = recipe.ranks().into_iter().max().unwrap_or(0);
    let longer = |more: usize| {
        let mut next = plain.clone();
        for i in 0..next.steps.len() {
            if let Some(shape) = next.shape_mut(i)
                && shape.len() == highest
            {
                shape.extend(vec![1; more]);
            }
        }
        next
    };
    (0..=2).map(longer).collect()
}

/// The recipe with all dimensions equal and one operand of each small rank: where dimensions are equal, operands of many
/// ranks fit each other. All small ranks at once if these are few, or matrices are multiplied. Otherwise the operand is
/// also tried with a single dimension other than 1, the first or the last: a condition on its size then holds at any
/// rank, and one on a dimension that is counted from the rank of another operand may find it at the wrong end.
pub(crate) fn with_each_rank(recipe: &Recipe) -> Vec<Recipe> {
    let base = super::squared(recipe, super::EQUAL[0]);
    let shaped: Vec<usize> = (0..base.steps.len()).filter(|&i| base.shape(i).is_some()).collect();
    let shaped_as = |recipe: &Recipe, i: usize, dims: Vec<i64>| {
        let mut next = recipe.clone();
        if let Some(shape) = next.shape_mut(i) {
            *shape = dims;
        }
        next
    };
    let with = |recipe: &Recipe, i: usize, rank: usize| shaped_as(recipe, i, vec![super::EQUAL[0]; rank]);
    let is_product = |step: &Step| matches!(step, Step::Call { def, .. } if def.axes_rule() == AxesRule::Matrices);
    // Which of them are vectors, matrices and batches decides what is multiplied.
    if shaped.len() <= 2 || base.steps.iter().any(is_product) && shaped.len() <= FACTORS {
        let ranks: &[usize] = if shaped.len() <= 2 { &[2, 1, 3, 0] } else { &[3, 2, 1] };
        let each = |all: Vec<Recipe>, i: &usize| -> Vec<Recipe> {
            let next = all
                .iter()
                .flat_map(|recipe| ranks.iter().map(|&rank| with(recipe, *i, rank)));
            next.collect()
        };
        let mut out = shaped.iter().fold(vec![base.clone()], each);
        let single = out.iter().flat_map(|recipe| {
            let narrow = |i: usize| {
                let rank = recipe.shape(i).map_or(0, Vec::len);
                singles(rank).into_iter().map(move |dims| shaped_as(recipe, i, dims))
            };
            shaped.iter().flat_map(move |&i| narrow(i)).collect::<Vec<_>>()
        });
        let single: Vec<Recipe> = single.collect();
        out.extend(single);
        return out;
    }
    let mut out = Vec::new();
    for (&i, rank) in shaped.iter().flat_map(|i| (0..=SMALL).map(move |rank| (i, rank))) {
        if base.shape(i).is_some_and(|own| own.len() != rank) {
            out.push(with(&base, i, rank));
        }
        out.extend(singles(rank).into_iter().map(|dims| shaped_as(&base, i, dims)));
    }
    out
}

/// Shapes with a single dimension other than 1, the last or the first.
fn singles(rank: usize) -> Vec<Vec<i64>> {
    let single = |place: usize| {
        let mut dims = vec![1; rank];
        dims[place] = super::EQUAL[0];
        dims
    };
    if rank < 2 {
        return Vec::new();
    }
    vec![single(rank - 1), single(0)]
}

/// Each list of integers or axes empty, in all calls of the operator that has it.
pub(crate) fn with_empty_lists(recipe: &Recipe) -> Vec<Recipe> {
    let mut out = Vec::new();
    let mut seen: Vec<(&str, usize)> = Vec::new();
    for step in &recipe.steps {
        let Step::Call { def, .. } = step else { continue };
        for (k, attr) in def.attrs.iter().enumerate() {
            if !matches!(attr.kind, AttrKind::Ints | AttrKind::Axes(_)) || seen.contains(&(def.name, k)) {
                continue;
            }
            seen.push((def.name, k));
            let mut next = recipe.clone();
            for other in &mut next.steps {
                if let Step::Call { def: of, attrs, .. } = other
                    && of.name == def.name
                {
                    attrs[k] = Some(AttrValue::ints(&[]));
                }
            }
            out.push(next);
        }
    }
    out
}

/// Changes a step; false if there is nothing to change.
type Change = fn(&mut Step) -> bool;

fn with_another_constant(step: &mut Step) -> bool {
    match step {
        Step::Fill { value, .. } => *value = 2.0 * *value + 1.0,
        _ => return false,
    }
    true
}

fn with_another_attribute(step: &mut Step) -> bool {
    let Step::Call { attrs, .. } = step else { return false };
    for attr in attrs.iter_mut().flatten() {
        match attr {
            AttrValue::Float(value) => value.0 = 2.0 * value.0 + 1.0,
            AttrValue::Int(_) | AttrValue::Ints(_) => {
                let Some(mut list) = attr.as_ints().or_else(|| Some(vec![attr.as_int()?])) else {
                    continue;
                };
                list.iter_mut().for_each(|n| *n = n.saturating_add(1));
                *attr = match attr {
                    AttrValue::Int(_) => AttrValue::int(list[0]),
                    _ => AttrValue::ints(&list),
                };
            }
            _ => continue,
        }
        return true;
    }
    false
}

/// The recipe with another number of operands of a call; added ones are copies of the last, with new leaves. The last
/// one of all has this change, if one is given; `None` if it has no place for it.
fn with_members(recipe: &Recipe, call: usize, count: usize, odd: Option<Change>) -> Option<Recipe> {
    let mut out = Recipe {
        steps: recipe.steps[..call].to_vec(),
        roots: Vec::new(),
    };
    let Step::Call { def, operands, attrs } = &recipe.steps[call] else {
        return None;
    };
    let mut operands = operands.clone();
    let last = *operands.last()?;
    operands.truncate(count);
    while operands.len() < count {
        let copy = copied(&mut out, last)?;
        operands.push(copy);
    }
    if let (Some(change), Some(last)) = (odd, operands.last_mut()) {
        *last = changed(&mut out, *last, change)?;
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
    out.prune();
    Some(out)
}

/// A copy of a step with new leaves; everything else is shared.
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

/// A copy of a step, and of all that it is made from, with a change in one of them at most; `None` if none has a place
/// for it.
fn changed(recipe: &mut Recipe, step: usize, change: Change) -> Option<usize> {
    let mut copy = recipe.steps.get(step)?.clone();
    let mut is_changed = change(&mut copy);
    if let Step::Call { operands, .. } = &mut copy {
        for operand in operands {
            if let Some(next) = (!is_changed).then(|| changed(recipe, *operand, change)).flatten() {
                (*operand, is_changed) = (next, true);
            } else if let Some(next) = copied(recipe, *operand) {
                *operand = next;
            }
        }
    }
    is_changed.then(|| {
        recipe.steps.push(copy);
        recipe.steps.len() - 1
    })
}
