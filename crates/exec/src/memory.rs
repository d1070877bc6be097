//! Lifetimes of values, and the memory of a plan.

use serde::{Deserialize, Serialize};

use super::bind::Symbols;
use super::kernels::ALIGN;
use super::place::{self, Relation};
use super::plan::Plan;
use super::{fixed, verify};

/// The memory taken by the values that the steps of a plan compute; values of unknown size are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes of the arena, which has the values that are neither outputs nor the same in every run.
    pub arena: u64,
    /// The maximum number of bytes alive at one time, results included, if no two values share memory.
    pub peak: u64,
    /// Bytes of all values together: the memory of a run that frees nothing.
    pub total: u64,
}

/// Finds the last use of every slot, the slots each step frees, and the places of values.
pub(super) fn assign(plan: &mut Plan) {
    let symbols = Symbols::new();
    let known = place::known(plan, &symbols);
    let relations = place::relations(plan, &known, &symbols);
    for (step, relation) in plan.steps.iter().zip(&relations) {
        if let (Relation::Shows(_), Some(Some(whole))) = (relation, step.operands.first()) {
            step.results
                .iter()
                .for_each(|&slot| plan.slots[slot].view_of = Some(*whole));
        }
    }
    lifetimes(plan);
    let (places, arena) = place::places(plan, &known, &fixed::steps(plan), &relations);
    for (slot, place) in plan.slots.iter_mut().zip(&places) {
        slot.offset = place.as_ref().map(|place| place.start as u64);
        slot.output = place.as_ref().and_then(|place| place.region.checked_sub(1));
    }
    plan.memory = Memory {
        arena: arena as u64,
        ..apart(plan)
    };
    debug_assert_eq!(verify::check(plan, &places, &relations), Ok(()), "{plan}");
}

/// The memory that values take if each has its own.
fn apart(plan: &Plan) -> Memory {
    let mut memory = Memory::default();
    let bytes = |slot: usize| {
        let data = &plan.slots[slot];
        let owned = data.view_of.is_none() && data.born.is_some();
        data.bytes
            .filter(|_| owned)
            .map_or(0, |bytes| bytes.checked_next_multiple_of(ALIGN as u64).unwrap_or(bytes))
    };
    let mut live = 0u64;
    for step in &plan.steps {
        for bytes in step.results.iter().copied().map(bytes) {
            live = live.saturating_add(bytes);
            memory.total = memory.total.saturating_add(bytes);
        }
        memory.peak = memory.peak.max(live);
        // A value that nothing reads is freed after its step.
        step.frees
            .iter()
            .for_each(|&slot| live = live.saturating_sub(bytes(slot)));
    }
    memory
}

/// Fills in `dies` and `frees`. A value lives as long as its views.
fn lifetimes(plan: &mut Plan) {
    let mut kept = vec![false; plan.slots.len()];
    for port in &plan.outputs {
        kept[port.slot] = true;
    }
    let mut last: Vec<Option<usize>> = plan.slots.iter().map(|s| s.born).collect();
    for (i, step) in plan.steps.iter().enumerate() {
        for slot in step.operands.iter().copied().flatten() {
            last[slot] = Some(i);
        }
    }
    // Views come after the values they show, so one backward pass reaches the owner.
    for slot in (0..plan.slots.len()).rev() {
        if let Some(of) = plan.slots[slot].view_of {
            last[of] = last[of].max(last[slot]);
            kept[of] |= kept[slot];
        }
    }
    for (slot, data) in plan.slots.iter_mut().enumerate() {
        data.dies = last[slot].filter(|_| !kept[slot]);
        if let Some(step) = data.dies {
            plan.steps[step].frees.push(slot);
        }
    }
}
