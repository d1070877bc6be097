//! Steps whose results depend only on parameters and constants.

use super::plan::Plan;
use tautomer_op::{AttrValue, Op, Semantics, is_pure, lookup};
use tautomer_tensor::Dim;

/// For each step, whether all its results are the same in every run.
pub(super) fn steps(plan: &Plan) -> Vec<bool> {
    of(plan).0
}

/// For each step, whether all its results are the same in every run, and for each slot, whether its value is.
pub(super) fn of(plan: &Plan) -> (Vec<bool>, Vec<bool>) {
    let mut slots = vec![false; plan.slots.len()];
    let params = plan.params.iter().map(|port| port.slot);
    for slot in params.chain(plan.constants.iter().map(|constant| constant.slot)) {
        slots[slot] = true;
    }
    let mut steps = Vec::with_capacity(plan.steps.len());
    for step in &plan.steps {
        let pure = lookup(&step.op)
            .is_some_and(|def| !matches!(def.semantics, Semantics::Flow(_)) && is_pure(&Op::Known(def), &step.attrs));
        let known = |slot: &Option<usize>| slot.is_none_or(|slot| slots[plan.owner(slot)]);
        let all = pure && step.operands.iter().all(known) && !step.attrs.iter().any(is_symbolic);
        for &slot in step.results.iter().filter(|_| all) {
            slots[slot] = true;
        }
        steps.push(all);
    }
    (steps, slots)
}

/// True if an attribute depends on symbols.
fn is_symbolic(value: &AttrValue) -> bool {
    let open = |d: &Dim| d.as_const().is_none();
    match value {
        AttrValue::Int(d) => open(d),
        AttrValue::Ints(list) => list.iter().any(open),
        _ => false,
    }
}
