//! Finding regions in a plan.

use tautomer_op::{OpDef, lookup};
use tautomer_tensor::{Shape, TensorType};

use super::Region;
use super::lower::is_elementwise;
use super::nest::{broadcast, nest};
use crate::plan::{Plan, SlotId};
use crate::{fixed, kernels};

/// The most values that enter or leave a region.
const MOST_VALUES: usize = 24;

/// The most steps of a region: longer code would not stay in the instruction cache, or in registers.
const MOST_STEPS: usize = 48;

/// The shape of a value, if its rank is known.
fn shape_of(plan: &Plan, slot: SlotId) -> Option<&Shape> {
    tensor(plan, slot)?.shape.as_ref()
}

/// The type of a value, if it is a tensor.
pub(super) fn tensor(plan: &Plan, slot: SlotId) -> Option<&TensorType> {
    plan.slots.get(slot)?.ty.as_tensor()
}

/// The regions of a plan, in order.
pub(crate) fn find(plan: &Plan) -> Vec<Region> {
    let defs: Option<Vec<&'static OpDef>> = plan.steps.iter().map(|step| lookup(&step.op)).collect();
    let Some(defs) = defs else { return Vec::new() };
    // What is computed once is left to that.
    let taken = fixed::steps(plan);
    let fits: Vec<bool> = (0..plan.steps.len())
        .map(|at| !taken[at] && is_elementwise(plan, defs[at], &plan.steps[at]))
        .collect();
    let last = last_uses(plan);
    let mut out = Vec::new();
    let mut at = 0;
    while at < fits.len() {
        if !fits[at] {
            at += 1;
            continue;
        }
        let mut end = at + 1;
        while end < fits.len().min(at + MOST_STEPS) && fits[end] && same_shape(plan, at, end) {
            end += 1;
        }
        // A long run is divided, so that its values fit.
        let mut region = region(plan, &last, at, end - at);
        while region.inputs.len() + region.outputs.len() > MOST_VALUES && region.count > 1 {
            region = self::region(plan, &last, at, region.count / 2);
        }
        at += region.count;
        if region.inputs.len() + region.outputs.len() <= MOST_VALUES && is_worthwhile(plan, &region) {
            out.push(region);
        }
    }
    out
}

fn same_shape(plan: &Plan, a: usize, b: usize) -> bool {
    let shape = |at: usize| shape_of(plan, plan.steps[at].results[0]);
    shape(a) == shape(b)
}

/// The last step that reads each slot, or beyond all steps for results.
fn last_uses(plan: &Plan) -> Vec<usize> {
    let mut last = vec![0; plan.slots.len()];
    for (at, step) in plan.steps.iter().enumerate() {
        step.operands.iter().flatten().for_each(|&slot| last[slot] = at);
    }
    plan.outputs.iter().for_each(|port| last[port.slot] = plan.steps.len());
    last
}

/// Whether a region takes less time than its steps, as far as the plan shows: not if it is one step whose kernel can
/// write over its operand, and not if it is known to have few rows.
fn is_worthwhile(plan: &Plan, region: &Region) -> bool {
    let first = &plan.steps[region.first];
    let dtype = tensor(plan, first.results[0]).map(|ty| ty.dtype);
    if region.count == 1 && dtype.is_some_and(|dtype| kernels::is_in_place(&first.op, dtype)) {
        return false;
    }
    let extents = |&slot: &SlotId| shape_of(plan, slot)?.to_concrete();
    let Some(shapes) = region.inputs.iter().map(extents).collect::<Option<Vec<_>>>() else {
        return true;
    };
    let shapes: Vec<&[usize]> = shapes.iter().map(|shape| &shape[..]).collect();
    let nest = broadcast(&shapes).and_then(|shape| nest(&shape, &shapes));
    nest.is_some_and(|nest| !nest.is_short())
}

/// Checks the regions of a plan that may come from elsewhere, whose slots exist.
///
/// # Errors
/// The first region that is not one of successive steps, or reads or makes other values than those.
pub(crate) fn check(plan: &Plan) -> Result<(), String> {
    let last = last_uses(plan);
    let mut next = 0;
    for given in &plan.regions {
        let (first, end) = (given.first, given.first.saturating_add(given.count));
        if first < next || end > plan.steps.len() || given.count == 0 {
            return Err(format!("a loop of steps that are not there, from {first}"));
        }
        let has_value = |at: usize| plan.steps[at].results.len() == 1;
        if !(first..end).all(|at| has_value(at) && same_shape(plan, first, at))
            || *given != region(plan, &last, first, given.count)
        {
            return Err(format!("a loop from step {first} that does not compute its steps"));
        }
        next = end;
    }
    Ok(())
}

fn region(plan: &Plan, last: &[usize], first: usize, count: usize) -> Region {
    let steps = first..first + count;
    let inside = |slot: SlotId| plan.steps[steps.clone()].iter().any(|step| step.results[0] == slot);
    let mut inputs: Vec<SlotId> = Vec::new();
    for &slot in plan.steps[steps.clone()]
        .iter()
        .flat_map(|step| step.operands.iter().flatten())
    {
        if !inside(slot) && !inputs.contains(&slot) {
            inputs.push(slot);
        }
    }
    let results = plan.steps[steps.clone()].iter().map(|step| step.results[0]);
    Region {
        first,
        count,
        inputs,
        outputs: results.filter(|&slot| last[slot] >= steps.end).collect(),
    }
}
