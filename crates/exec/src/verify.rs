//! Checks that every value is still where a step reads it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::kernels::Place;
use super::place::Relation;
use super::plan::{Plan, SlotId, Step};

/// Checks the places of values: every step must find the values that were written for it, whatever other steps have
/// written since.
///
/// # Errors
/// The first value that is not there.
pub(super) fn check(plan: &Plan, places: &[Option<Place>], relations: &[Relation]) -> Result<(), String> {
    // The steps of a region may also run one by one, so they are checked both ways.
    for region in &plan.regions {
        let place = |slot: &SlotId| places[*slot].as_ref();
        for (k, to) in region.outputs.iter().enumerate() {
            let others = region.inputs.iter().chain(&region.outputs[..k]);
            let overlaps = |other: &Place| place(to).is_some_and(|to| to.overlaps(other));
            if let Some(other) = others.filter_map(place).find(|other| overlaps(other)) {
                let (first, place) = (region.first, other.start);
                return Err(format!(
                    "the loop from step {first} writes %{to} over what it needs at {place}"
                ));
            }
        }
    }
    let mut values = Values::new(places);
    for (i, (step, relation)) in plan.steps.iter().zip(relations).enumerate() {
        for slot in step.operands.iter().copied().flatten() {
            values.read(slot).map_err(|what| format!("step {i} reads {what}"))?;
        }
        for (k, &slot) in step.results.iter().enumerate() {
            let Some(to) = &places[slot] else { continue };
            for written in written(step, relation, k, to, places).map_err(|what| format!("step {i}: {what}"))? {
                values.write(&written);
            }
            values.add(slot, to);
        }
    }
    let mut outputs = plan.outputs.iter().map(|port| values.read(port.slot));
    outputs.try_for_each(|read| read.map_err(|what| format!("an output is {what}")))
}

/// The values that are still in their places.
struct Values<'p> {
    places: &'p [Option<Place>],
    is_there: Vec<bool>,
    /// The slots that are there, by region, each with its first byte and the end of its bytes.
    regions: FxHashMap<usize, BTreeMap<(usize, SlotId), usize>>,
    /// The number of bytes of the largest value.
    longest: usize,
}

impl<'p> Values<'p> {
    fn new(places: &'p [Option<Place>]) -> Values<'p> {
        Values {
            places,
            is_there: vec![false; places.len()],
            regions: FxHashMap::default(),
            longest: places.iter().flatten().map(|place| place.bytes).max().unwrap_or(0),
        }
    }

    fn read(&self, slot: SlotId) -> Result<(), String> {
        match self.places[slot].is_none() || self.is_there[slot] {
            true => Ok(()),
            false => Err(format!("%{slot}, which has been overwritten")),
        }
    }

    /// Something is written to a place.
    fn write(&mut self, to: &Place) {
        let Some(slots) = self.regions.get_mut(&to.region) else {
            return;
        };
        // What begins earlier ends before.
        let first = to.start.saturating_sub(self.longest);
        let near = slots.range((first, 0)..(to.start + to.bytes, 0));
        let lost = near.filter(|(_, end)| **end > to.start).map(|(key, _)| *key);
        for key in lost.collect::<SmallVec<[(usize, SlotId); 8]>>() {
            slots.remove(&key);
            self.is_there[key.1] = false;
        }
    }

    fn add(&mut self, slot: SlotId, to: &Place) {
        self.is_there[slot] = true;
        let region = self.regions.entry(to.region).or_default();
        region.insert((to.start, slot), to.start + to.bytes);
    }
}

/// The places that a step writes for result `k`, which belongs at `to`.
///
/// # Errors
/// If it shows elements of a value that are elsewhere.
fn written(
    step: &Step,
    relation: &Relation,
    k: usize,
    to: &Place,
    places: &[Option<Place>],
) -> Result<SmallVec<[Place; 4]>, String> {
    let place = |slot: &Option<SlotId>| slot.and_then(|slot| places[slot].as_ref());
    match (relation, step.operands.first().and_then(place)) {
        (Relation::Shows(starts), Some(from)) => match is_at(to, from, starts[k]) {
            true => Ok(SmallVec::new()),
            false => Err("a result is not where its elements are".into()),
        },
        // Parts that are where they belong are not written.
        (Relation::Joins(starts), _) => {
            let ends = starts.iter().skip(1).copied().chain([to.bytes]);
            let parts = step.operands.iter().zip(starts.iter().copied().zip(ends));
            let moved = parts.filter(|(part, (start, _))| !place(part).is_some_and(|from| is_at(from, to, *start)));
            let written = moved.map(|(_, (start, end))| Place {
                start: to.start + start,
                bytes: end.saturating_sub(start),
                ..to.clone()
            });
            Ok(written.collect())
        }
        _ => Ok(SmallVec::from_iter([to.clone()])),
    }
}

/// True if `inner` begins at a byte of `outer`, and is within it.
fn is_at(inner: &Place, outer: &Place, start: usize) -> bool {
    inner.region == outer.region && inner.start == outer.start + start && start + inner.bytes <= outer.bytes
}
