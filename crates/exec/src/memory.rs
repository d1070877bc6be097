//! Lifetimes of values and their offsets in one arena.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::plan::{Plan, SlotId};

/// Every value starts at a multiple of this many bytes: a cache line, and the widest vector register.
pub(super) const ALIGN: u64 = 64;

/// The memory taken by the values that the steps of a plan compute; values of unknown size are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Bytes of the arena.
    pub arena: u64,
    /// The maximum number of bytes alive at one time: no arena can be smaller.
    pub peak: u64,
    /// Bytes of all values together: the memory of a run that frees nothing.
    pub total: u64,
}

/// Finds the last use of every slot, the slots each step frees, and the offsets in the arena.
pub(super) fn assign(plan: &mut Plan) {
    lifetimes(plan);
    let mut arena = Arena::default();
    let mut memory = Memory::default();
    let mut live = 0u64;
    // A value that nothing reads is freed after its step.
    let owned = |plan: &Plan, slot: SlotId| plan.slots[slot].view_of.is_none() && plan.slots[slot].born.is_some();
    for i in 0..plan.steps.len() {
        for slot in plan.steps[i].results.clone() {
            if let Some(bytes) = plan.slots[slot].bytes.filter(|_| owned(plan, slot)) {
                let bytes = round_up(bytes);
                plan.slots[slot].offset = Some(arena.take(bytes));
                memory.total = memory.total.saturating_add(bytes);
                live = live.saturating_add(bytes);
            }
        }
        memory.peak = memory.peak.max(live);
        for slot in plan.steps[i].frees.clone() {
            if let (Some(offset), Some(bytes)) = (plan.slots[slot].offset, plan.slots[slot].bytes) {
                arena.give(offset, round_up(bytes));
                live = live.saturating_sub(round_up(bytes));
            }
        }
    }
    memory.arena = arena.end;
    plan.memory = memory;
}

/// `bytes` rounded up to the alignment; sizes near the limit of the type stay unchanged, as no machine has them.
fn round_up(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(ALIGN).unwrap_or(bytes)
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

/// Free ranges of an arena that grows at its end.
#[derive(Default)]
struct Arena {
    /// Lengths by offset.
    by_offset: BTreeMap<u64, u64>,
    /// (length, offset) of the same ranges.
    by_size: BTreeSet<(u64, u64)>,
    end: u64,
}

impl Arena {
    /// The smallest free range that is large enough, the first of those; otherwise the end of the arena, together with
    /// a free range directly before it.
    fn take(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            return 0;
        }
        if let Some(&(size, offset)) = self.by_size.range((bytes, 0)..).next() {
            self.remove(offset, size);
            if size > bytes {
                self.insert(offset + bytes, size - bytes);
            }
            return offset;
        }
        let tail = self.by_offset.last_key_value().map(|(&o, &s)| (o, s));
        let start = match tail {
            Some((offset, size)) if offset.saturating_add(size) == self.end => {
                self.remove(offset, size);
                offset
            }
            _ => self.end,
        };
        self.end = start.saturating_add(bytes);
        start
    }

    fn give(&mut self, mut offset: u64, mut bytes: u64) {
        if bytes == 0 {
            return;
        }
        if let Some((&before, &size)) = self.by_offset.range(..offset).next_back()
            && before.saturating_add(size) == offset
        {
            self.remove(before, size);
            offset = before;
            bytes = bytes.saturating_add(size);
        }
        let end = offset.saturating_add(bytes);
        if let Some(&size) = self.by_offset.get(&end) {
            self.remove(end, size);
            bytes = bytes.saturating_add(size);
        }
        self.insert(offset, bytes);
    }

    fn insert(&mut self, offset: u64, bytes: u64) {
        self.by_offset.insert(offset, bytes);
        self.by_size.insert((bytes, offset));
    }

    fn remove(&mut self, offset: u64, bytes: u64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(bytes, offset));
    }
}
