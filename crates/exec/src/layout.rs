//! The places of the values of a run: known from the plan, or computed for the values of its symbols.

use std::sync::{Arc, Mutex, PoisonError};

use super::bind::Symbols;
use super::kernels::{Extents, Place};
use super::place::{self, Relation};
use super::plan::Plan;
use super::verify;
use tautomer_tensor::DType;

/// The places of values, and how the places of each step are related.
#[derive(Debug)]
pub(super) struct Layout {
    /// For each slot.
    pub(super) places: Vec<Option<Place>>,
    /// For each step.
    pub(super) relations: Vec<Relation>,
    /// Bytes of the arena.
    pub(super) arena: usize,
}

impl Layout {
    /// The layout of a plan in which every dimension is known.
    ///
    /// # Errors
    /// If its places are impossible, because a value would be overwritten before it is read.
    pub(super) fn of_plan(plan: &Plan) -> Result<Layout, String> {
        let known = place::known(plan, &Symbols::new());
        let relations = place::relations(plan, &known, &Symbols::new());
        let arena = usize::try_from(plan.memory.arena).map_err(|e| e.to_string())?;
        let place = |(slot, known): (&super::Slot, &Option<(DType, Extents)>)| -> Result<Option<Place>, String> {
            let (Some(offset), Some((dtype, shape))) = (slot.offset, known.clone()) else {
                return Ok(None);
            };
            let place = Place {
                bytes: place::bytes(&(dtype, shape.clone())),
                dtype,
                shape,
                region: slot.output.map_or(0, |k| k + 1),
                start: usize::try_from(offset).map_err(|e| e.to_string())?,
            };
            let end = place.start.checked_add(place.bytes);
            match place.region > 0 || end.is_some_and(|end| end <= arena) {
                true => Ok(Some(place)),
                false => Err(format!("a value ends after the arena of {arena} bytes")),
            }
        };
        let places = plan
            .slots
            .iter()
            .zip(&known)
            .map(place)
            .collect::<Result<Vec<_>, _>>()?;
        verify::check(plan, &places, &relations)?;
        Ok(Layout {
            places,
            relations,
            arena,
        })
    }

    /// The layout for values of symbols.
    fn bound(plan: &Plan, fixed: &[bool], symbols: &Symbols) -> Layout {
        let known = place::known(plan, symbols);
        let relations = place::relations(plan, &known, symbols);
        let (places, arena) = place::places(plan, &known, fixed, &relations);
        debug_assert_eq!(verify::check(plan, &places, &relations), Ok(()), "{plan}");
        Layout {
            places,
            relations,
            arena,
        }
    }
}

/// The number of layouts that are kept.
const KEPT: usize = 8;

/// Layouts for the last values of symbols.
#[derive(Debug, Default)]
pub(super) struct Layouts {
    last: Mutex<Vec<(Symbols, Arc<Layout>)>>,
}

impl Layouts {
    /// The layout for values of symbols: that of an earlier run, or a new one.
    pub(super) fn get(&self, plan: &Plan, fixed: &[bool], symbols: &Symbols) -> Arc<Layout> {
        let same = |known: &Symbols| {
            let values = |symbols: &Symbols, (a, (x, _)): (&Arc<str>, &(i64, Arc<str>))| {
                symbols.get(a).is_some_and(|(y, _)| x == y)
            };
            known.len() == symbols.len() && known.iter().all(|entry| values(symbols, entry))
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(i) = last.iter().position(|(known, _)| same(known)) {
            // The one that was used last is the last to be forgotten.
            last[..=i].rotate_right(1);
            return last[0].1.clone();
        }
        let layout = Arc::new(Layout::bound(plan, fixed, symbols));
        last.truncate(KEPT - 1);
        last.insert(0, (symbols.clone(), layout.clone()));
        layout
    }
}
