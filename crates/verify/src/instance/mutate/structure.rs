//! Mutations of the graph itself: merging leaves, exchanging operators, changing the number of operands.

use super::attribute::other_value;
use super::{RuleNumbers, mutate_number};
use crate::instance::random::Random;
use crate::instance::recipe::{Recipe, Step};
use tautomer_op::OpDef;
use tautomer_rule::Rule;

/// Values of an attribute that are drawn until one differs.
const OTHERS: usize = 8;

/// The rank that drawn axes are for.
const RANK: usize = 2;

/// Replaces a leaf by another one.
pub(super) fn merge_leaves(recipe: &mut Recipe, random: &mut Random) {
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

/// Gives an operator variable another one of its choices.
pub(super) fn mutate_operator(recipe: &mut Recipe, numbers: &RuleNumbers, random: &mut Random) {
    let choices: Vec<&'static OpDef> = numbers
        .rule
        .operators
        .iter()
        .flat_map(|v| v.choices.iter().copied())
        .collect();
    let Some(next) = random.pick(&choices) else {
        return mutate_number(recipe, numbers, random);
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
    replace_operator(recipe, before, next);
}

/// Replaces an operator by another one in all calls, keeping the attributes that both have.
fn replace_operator(recipe: &mut Recipe, before: &'static OpDef, next: &'static OpDef) {
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

/// The recipe with the operator of a variable replaced by each operator that the variable may stand for, and that
/// operator's name.
pub(crate) fn with_each_operator(recipe: &Recipe, rule: &Rule) -> Vec<(&'static str, Recipe)> {
    let mut out = Vec::new();
    for variable in &rule.operators {
        let own = recipe.steps.iter().find_map(|step| match step {
            Step::Call { def, .. } if variable.choices.iter().any(|c| c.name == def.name) => Some(*def),
            _ => None,
        });
        let Some(before) = own else { continue };
        for &next in &variable.choices {
            let mut other = recipe.clone();
            replace_operator(&mut other, before, next);
            out.push((next.name, other));
        }
    }
    out
}

/// For each operator that a variable of the rule may stand for: its calls with an attribute that differs in one of them.
pub(crate) fn with_operators(recipe: &Recipe, numbers: &RuleNumbers, random: &mut Random) -> Vec<Vec<Recipe>> {
    let mut out = Vec::new();
    for variable in &numbers.rule.operators {
        let is_choice = |def: &OpDef| variable.choices.iter().any(|c| c.name == def.name);
        let calls: Vec<(usize, &'static OpDef)> = recipe
            .calls()
            .into_iter()
            .filter_map(|i| match &recipe.steps[i] {
                Step::Call { def, .. } if is_choice(def) => Some((i, *def)),
                _ => None,
            })
            .collect();
        let Some(&(_, before)) = calls.first() else { continue };
        for &next in &variable.choices {
            let mut base = recipe.clone();
            replace_operator(&mut base, before, next);
            let mut list = Vec::new();
            for &(call, def) in &calls {
                for (k, attr) in next.attrs.iter().enumerate() {
                    if def.name != before.name {
                        continue;
                    }
                    let mut one = base.clone();
                    let Step::Call { attrs, .. } = &mut one.steps[call] else {
                        continue;
                    };
                    let own = attrs[k].clone().or_else(|| attr.default_value());
                    let mut others = (0..OTHERS).map(|_| other_value(attr, own.as_ref(), RANK, numbers, random));
                    attrs[k] = others.find(|v| *v != own && v.is_some()).flatten();
                    list.push(one);
                }
            }
            random.shuffle(&mut list);
            out.push(list);
        }
    }
    out
}

/// Removes an operand of a call with a variable number of operands, or adds a copy of the last one with new leaves.
pub(super) fn mutate_members(recipe: &mut Recipe, numbers: &RuleNumbers, random: &mut Random) {
    let variadic = |i: &usize| match &recipe.steps[*i] {
        Step::Call { def, operands, .. } => def.arity().1.is_none() && !operands.is_empty(),
        _ => false,
    };
    let calls: Vec<usize> = recipe.calls().into_iter().filter(variadic).collect();
    let Some(call) = random.pick(&calls) else {
        return mutate_number(recipe, numbers, random);
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
    // Steps that other operands use as well stay shared.
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
