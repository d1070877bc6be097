//! Places of values in the memory of a run: which values share bytes, and at which offsets.
//!
//! Values that share bytes form a block: a value and its views; a value and the one that replaces it, if its last
//! reader can write over it; a concatenation and its parts, which are written directly to their places in it. A block
//! is in the memory of an output if it has the same size, otherwise in the arena, where blocks that are alive at the
//! same time do not overlap.

use smallvec::SmallVec;

use super::bind::{Symbols, bind_attr, bind_dim};
use super::kernels::{self, ALIGN, Extents, Operand, Place, is_plain};
use super::plan::{Plan, SlotId, Step};
use super::ranges::Ranges;
use tautomer_op::{AttrValue, OpDef, lookup};
use tautomer_tensor::{DType, Tensor, Type};

/// How the places of a step's results are related to those of its operands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Relation {
    /// It computes its results.
    Computes,
    /// Each result shows bytes of the first operand, from these on.
    Shows(SmallVec<[usize; 1]>),
    /// The result is the operands after each other, each from these bytes on.
    Joins(SmallVec<[usize; 4]>),
}

/// The types of slots, as far as they are known.
pub(super) type Known = Vec<Option<(DType, Extents)>>;

/// The types of all slots whose dimensions are known, given the values of symbols.
pub(super) fn known(plan: &Plan, symbols: &Symbols) -> Known {
    let of = |ty: &Type| {
        let ty = ty.as_tensor()?;
        let extent = |d| bind_dim(d, symbols).as_const().and_then(|d| usize::try_from(d).ok());
        let shape: Extents = ty.shape.as_ref()?.iter().map(extent).collect::<Option<_>>()?;
        let size = shape.iter().try_fold(ty.dtype.size(), |n, &d| n.checked_mul(d))?;
        isize::try_from(size).ok().map(|_| (ty.dtype, shape))
    };
    plan.slots.iter().map(|slot| of(&slot.ty)).collect()
}

/// The number of bytes of a value.
pub(super) fn bytes((dtype, shape): &(DType, Extents)) -> usize {
    shape.iter().product::<usize>() * dtype.size()
}

/// The relation of each step.
pub(super) fn relations(plan: &Plan, known: &Known, symbols: &Symbols) -> Vec<Relation> {
    let mut constants: Vec<Option<&Tensor>> = vec![None; plan.slots.len()];
    for constant in &plan.constants {
        constants[constant.slot] = Some(&constant.value);
    }
    let of = |step: &Step| lookup(&step.op).and_then(|def| relation(def, step, known, &constants, symbols));
    plan.steps
        .iter()
        .map(|step| of(step).unwrap_or(Relation::Computes))
        .collect()
}

fn relation(
    def: &'static OpDef,
    step: &Step,
    known: &Known,
    constants: &[Option<&Tensor>],
    symbols: &Symbols,
) -> Option<Relation> {
    let results: SmallVec<[_; 1]> = step.results.iter().map(|&r| known[r].as_ref()).collect::<Option<_>>()?;
    if kernels::is_view(def.name) {
        let first = known[(*step.operands.first()?)?].as_ref()?;
        let same = results.len() == 1 && first.0 == results[0].0 && bytes(first) == bytes(results[0]);
        return same.then(|| Relation::Shows(SmallVec::from_slice(&[0])));
    }
    if def.name != "concat" && def.moves().is_none() {
        return None;
    }
    let attrs: Vec<AttrValue> = step.attrs.iter().map(|attr| bind_attr(attr, symbols)).collect();
    if def.name == "concat" {
        let (dtype, shape) = results[0];
        let axis = def.attr_in(&attrs, "axis").as_int()?;
        let axis = usize::try_from(if axis < 0 { axis + shape.len() as i64 } else { axis }).ok()?;
        if shape.get(..axis)?.iter().any(|&d| d != 1) {
            return None;
        }
        let mut at = 0;
        let mut starts = SmallVec::new();
        for operand in &step.operands {
            let part = known[(*operand)?].as_ref().filter(|part| part.0 == *dtype)?;
            starts.push(at);
            at += bytes(part);
        }
        return (at == bytes(results[0])).then_some(Relation::Joins(starts));
    }
    // Only shapes matter here; the value of an operand that is an attribute must be a constant.
    let place = |slot: SlotId| {
        let (dtype, shape) = known[slot].clone()?;
        let bytes = bytes(known[slot].as_ref()?);
        Some(Place {
            dtype,
            shape,
            region: 0,
            start: 0,
            bytes,
        })
    };
    let places = step.operands.iter().map(|slot| slot.and_then(place));
    let places: SmallVec<[_; 4]> = places.collect();
    let mut operands: SmallVec<[Operand<'_>; 4]> = SmallVec::new();
    for (slot, place) in step.operands.iter().zip(&places) {
        operands.push(match slot {
            None => Operand::Absent,
            Some(slot) => match constants[*slot] {
                Some(value) => Operand::Tensor(value),
                None => Operand::Placed(place.as_ref()?),
            },
        });
    }
    let shown = kernels::shown(def, &operands, &attrs)?;
    let size = results[0].0.size();
    let starts: SmallVec<[usize; 1]> = shown
        .into_iter()
        .map(|start| Some(start? * size))
        .collect::<Option<_>>()?;
    let whole = places.first()?.as_ref()?;
    let inside = |(start, result): (&usize, &&(DType, Extents))| {
        start.is_multiple_of(size) && start + bytes(result) <= whole.bytes && result.0 == whole.dtype
    };
    (starts.len() == results.len() && starts.iter().zip(&results).all(inside)).then_some(Relation::Shows(starts))
}

/// Which values can be placed: those that kernels compute anew in each run, and only kernels read.
fn can_be_placed(plan: &Plan, known: &Known, fixed: &[bool]) -> Vec<bool> {
    let mut can = vec![false; plan.slots.len()];
    let has_kernel = |step: &Step| !kernels::of(&step.op).is_empty();
    for (step, _) in plan
        .steps
        .iter()
        .zip(fixed)
        .filter(|(step, fixed)| has_kernel(step) && !**fixed)
    {
        for &slot in &step.results {
            can[slot] = known[slot].as_ref().is_some_and(|(dtype, _)| is_plain(*dtype));
        }
    }
    // What a region makes for itself is in registers.
    for region in &plan.regions {
        for &slot in plan.steps[region.steps()].iter().flat_map(|step| &step.results) {
            let is_plain = known[slot].as_ref().is_some_and(|(dtype, _)| is_plain(*dtype));
            can[slot] = is_plain && region.outputs.contains(&slot);
        }
    }
    let is_in_region = in_regions(plan);
    for (at, step) in plan.steps.iter().enumerate() {
        let has_kernel = |step: &Step| is_in_region[at].is_some() || has_kernel(step);
        let def = lookup(&step.op);
        for (i, slot) in step.operands.iter().enumerate() {
            let is_attribute = def
                .and_then(|def| def.operand(i))
                .is_none_or(|operand| operand.attr.is_some());
            if let Some(slot) = slot.filter(|_| is_attribute || !has_kernel(step)) {
                // What shows the elements of another value is read in its place.
                can[plan.owner(slot)] = false;
                can[slot] = false;
            }
        }
    }
    can
}

/// For each step, the first step of its region and the last.
fn in_regions(plan: &Plan) -> Vec<Option<(usize, usize)>> {
    let mut of = vec![None; plan.steps.len()];
    for region in &plan.regions {
        let steps = region.steps();
        of[steps.clone()].fill(Some((steps.start, steps.end - 1)));
    }
    of
}

/// The offsets of more blocks are found in a way that takes less time.
const MANY: usize = 4096;

/// Values that share bytes.
#[derive(Debug, Clone)]
struct Block {
    bytes: usize,
    /// The steps in which it is alive.
    first: usize,
    last: usize,
    /// Its values.
    slots: Vec<SlotId>,
    /// Those among them that later steps may read.
    live: Vec<SlotId>,
    /// The output that it is, if it is one.
    output: Option<usize>,
    /// It has become part of another one.
    is_empty: bool,
}

/// The positions of values within blocks.
struct Blocks<'p> {
    plan: &'p Plan,
    known: &'p Known,
    /// The last step that reads each slot; the number of steps for outputs.
    last: Vec<usize>,
    blocks: Vec<Block>,
    /// For each placed slot, its block and its first byte there.
    of: Vec<Option<(usize, usize)>>,
}

impl<'p> Blocks<'p> {
    fn new(plan: &'p Plan, known: &'p Known, fixed: &[bool], relations: &[Relation], joins: bool) -> Blocks<'p> {
        let regions = in_regions(plan);
        let mut last: Vec<usize> = plan.slots.iter().map(|slot| slot.born.unwrap_or(0)).collect();
        for (i, step) in plan.steps.iter().enumerate() {
            // A region reads all it reads as long as it runs.
            let end = regions[i].map_or(i, |(_, end)| end);
            step.operands.iter().flatten().for_each(|&slot| last[slot] = end);
        }
        plan.outputs.iter().for_each(|port| last[port.slot] = plan.steps.len());
        let mut blocks = Blocks {
            plan,
            known,
            last,
            blocks: Vec::new(),
            of: vec![None; plan.slots.len()],
        };
        let can = can_be_placed(plan, known, fixed);
        for (i, (step, relation)) in plan.steps.iter().zip(relations).enumerate() {
            for (k, &slot) in step.results.iter().enumerate().filter(|(_, slot)| can[**slot]) {
                let place = match relation {
                    // What shows a tensor is one.
                    Relation::Shows(starts) => match blocks.shown(step, starts[k]) {
                        None => continue,
                        place => place,
                    },
                    // All that a region reads must stay until it has ended.
                    _ if regions[i].is_some() => None,
                    _ => blocks.replaced(i, step, slot),
                };
                match place {
                    Some((block, start)) => blocks.add(block, start, slot),
                    None => blocks.start(regions[i].map_or(i, |(first, _)| first), slot),
                }
                if let (Relation::Joins(starts), true) = (relation, joins) {
                    blocks.join(step, slot, starts);
                }
            }
        }
        blocks.find_outputs();
        blocks
    }

    fn bytes(&self, slot: SlotId) -> usize {
        self.known[slot].as_ref().map_or(0, bytes)
    }

    /// Puts a slot in a new block.
    fn start(&mut self, step: usize, slot: SlotId) {
        self.of[slot] = Some((self.blocks.len(), 0));
        self.blocks.push(Block {
            bytes: self.bytes(slot),
            first: step,
            last: self.last[slot],
            slots: vec![slot],
            live: vec![slot],
            output: None,
            is_empty: false,
        });
    }

    fn add(&mut self, block: usize, start: usize, slot: SlotId) {
        self.of[slot] = Some((block, start));
        let last = self.last[slot];
        let block = &mut self.blocks[block];
        block.slots.push(slot);
        block.live.push(slot);
        block.last = block.last.max(last);
    }

    /// The place of a result that is a view of the first operand from a byte on.
    fn shown(&self, step: &Step, start: usize) -> Option<(usize, usize)> {
        let (block, at) = self.of[(*step.operands.first()?)?]?;
        Some((block, at + start))
    }

    /// The place of an operand that step `i`, its last reader, can write its result over.
    fn replaced(&mut self, i: usize, step: &Step, slot: SlotId) -> Option<(usize, usize)> {
        let (dtype, _) = self.known[slot].as_ref()?;
        if step.results.len() != 1 || !kernels::is_in_place(&step.op, *dtype) {
            return None;
        }
        let once = |of: SlotId| step.operands.iter().flatten().filter(|&&slot| slot == of).count() == 1;
        let mut operands: SmallVec<[SlotId; 2]> = step.operands.iter().take(2).flatten().copied().collect();
        operands.retain(|of| once(*of) && self.known[*of] == self.known[slot] && self.is_over(*of, i));
        // The result of the step before is most likely in a cache.
        self.of[operands.into_iter().max_by_key(|&of| self.plan.slots[of].born)?]
    }

    /// True if nothing reads the bytes of a slot after step `i`.
    fn is_over(&mut self, slot: SlotId, i: usize) -> bool {
        let Some((block, start)) = self.of[slot] else {
            return false;
        };
        let end = start + self.bytes(slot);
        let last = &self.last;
        self.blocks[block].live.retain(|&other| last[other] > i);
        let overlaps = |other: SlotId| {
            let (_, first) = self.of[other].unwrap_or_default();
            first < end && start < first + self.bytes(other)
        };
        !self.blocks[block].live.iter().any(|&other| overlaps(other))
    }

    /// Moves the blocks of the parts of a concatenation to where they belong in it.
    fn join(&mut self, step: &Step, slot: SlotId, starts: &[usize]) {
        let Some((whole, at)) = self.of[slot] else { return };
        for (part, &start) in step.operands.iter().flatten().zip(starts) {
            let Some((block, 0)) = self.of[*part] else { continue };
            if block == whole || self.blocks[block].bytes != self.bytes(*part) || self.bytes(*part) == 0 {
                continue;
            }
            // A part that is an output is in the memory of that.
            if self.blocks[block]
                .slots
                .iter()
                .any(|&s| self.last[s] == self.plan.steps.len())
            {
                continue;
            }
            let moved = std::mem::take(&mut self.blocks[block].slots);
            self.blocks[block].is_empty = true;
            let first = self.blocks[block].first;
            for slot in moved {
                let (_, inner) = self.of[slot].unwrap_or_default();
                self.add(whole, at + start + inner, slot);
            }
            self.blocks[whole].first = self.blocks[whole].first.min(first);
        }
    }

    /// Gives blocks that are outputs to those.
    fn find_outputs(&mut self) {
        for (k, port) in self.plan.outputs.iter().enumerate() {
            let Some((block, 0)) = self.of[port.slot] else { continue };
            let is_whole = self.blocks[block].bytes == self.bytes(port.slot);
            let block = &mut self.blocks[block];
            if is_whole && block.output.is_none() {
                block.output = Some(k);
            }
        }
    }

    /// Offsets of the blocks in the arena, and its size.
    fn offsets(&self) -> (Vec<usize>, usize) {
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        order.retain(|&b| !self.blocks[b].is_empty && self.blocks[b].output.is_none() && self.blocks[b].bytes > 0);
        match order.len() <= MANY {
            true => self.by_size(order),
            false => self.by_time(&order),
        }
    }

    /// Each block in the smallest free range when it is made, in about linear time.
    fn by_time(&self, order: &[usize]) -> (Vec<usize>, usize) {
        let mut offsets = vec![0; self.blocks.len()];
        let mut ranges = Ranges::default();
        // A block is free after its last step.
        let ends = order.iter().map(|&b| (self.blocks[b].last, false, b));
        let mut events: Vec<_> = order
            .iter()
            .map(|&b| (self.blocks[b].first, true, b))
            .chain(ends)
            .collect();
        events.sort_by_key(|&(step, is_begin, b)| (step, !is_begin, b));
        for (_, is_begin, b) in events {
            let bytes = round_up(self.blocks[b].bytes);
            match is_begin {
                true => offsets[b] = ranges.take(bytes),
                false => ranges.give(offsets[b], bytes),
            }
        }
        (offsets, ranges.end)
    }

    /// The largest block first, each at the lowest offset where nothing is that is alive at the same time.
    fn by_size(&self, mut order: Vec<usize>) -> (Vec<usize>, usize) {
        order.sort_by_key(|&b| (std::cmp::Reverse(self.blocks[b].bytes), self.blocks[b].first));
        let mut offsets = vec![0; self.blocks.len()];
        // The blocks that have offsets, by those.
        let mut placed: Vec<usize> = Vec::with_capacity(order.len());
        let mut arena = 0;
        for b in order {
            let block = &self.blocks[b];
            let mut at = 0;
            for &other in &placed {
                let other_block = &self.blocks[other];
                if offsets[other] >= at + block.bytes {
                    break;
                }
                if block.first <= other_block.last && other_block.first <= block.last {
                    at = at.max(round_up(offsets[other] + other_block.bytes));
                }
            }
            offsets[b] = at;
            arena = arena.max(round_up(at + block.bytes));
            let place = placed.partition_point(|&other| offsets[other] <= at);
            placed.insert(place, b);
        }
        (offsets, arena)
    }
}

/// `bytes` rounded up to the alignment of places.
pub(super) fn round_up(bytes: usize) -> usize {
    bytes.checked_next_multiple_of(ALIGN).unwrap_or(bytes)
}

/// The place of each value, and the bytes of the arena.
pub(super) fn places(
    plan: &Plan,
    known: &Known,
    fixed: &[bool],
    relations: &[Relation],
) -> (Vec<Option<Place>>, usize) {
    let of = |joins| {
        let blocks = Blocks::new(plan, known, fixed, relations, joins);
        let (offsets, arena) = blocks.offsets();
        (blocks, offsets, arena)
    };
    let mut best = of(true);
    if relations.iter().any(|relation| matches!(relation, Relation::Joins(_))) {
        // A part that is computed long before the others keeps the place of all.
        let apart = of(false);
        if best.2 > apart.2 + apart.2 / 8 {
            best = apart;
        }
    }
    let (blocks, offsets, arena) = best;
    let place = |slot: SlotId| {
        let (block, start) = blocks.of[slot]?;
        let (dtype, shape) = known[slot].clone()?;
        let output = blocks.blocks[block].output;
        Some(Place {
            dtype,
            shape,
            region: output.map_or(0, |k| k + 1),
            start: start + if output.is_none() { offsets[block] } else { 0 },
            bytes: blocks.bytes(slot),
        })
    };
    ((0..plan.slots.len()).map(place).collect(), arena)
}
