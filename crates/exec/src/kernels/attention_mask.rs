//! Masks of attention.

use std::borrow::Cow;

use pulp::{Arch, NullaryFnOnce};

use super::Call;
use tautomer_tensor::DType;

/// A mask, which is added to scores or replaces them.
pub(super) struct Mask<'a> {
    elements: MaskElements<'a>,
    /// The distance of elements for each batch, head, and query; zero along axes of dimension 1.
    steps: [usize; 3],
    /// Keys that it knows of; later ones are not seen.
    keys: usize,
}

enum MaskElements<'a> {
    Seen(Cow<'a, [bool]>),
    Added(Cow<'a, [f32]>),
}

impl<'a> Mask<'a> {
    /// `None` if the operand has another form, or does not broadcast to this many batches, heads and queries.
    pub(super) fn of(call: &Call<'a>, i: usize, most: [usize; 3]) -> Option<Mask<'a>> {
        let elements = match call.dtype(i)? {
            DType::Bool => MaskElements::Seen(call.slice(i)?),
            DType::F32 => MaskElements::Added(call.f32s(i)?),
            _ => return None,
        };
        let shape = call.shape(i);
        let (&keys, outer) = shape.split_last()?;
        let mut steps = [0; 3];
        let mut step = keys;
        for (axis, &extent) in outer.iter().rev().enumerate() {
            let axis = 2usize.checked_sub(axis)?;
            if extent != 1 && extent != most[axis] {
                return None;
            }
            steps[axis] = if extent == 1 { 0 } else { step };
            step *= extent;
        }
        Some(Mask { elements, steps, keys })
    }

    /// True if all heads have the same mask.
    pub(super) fn is_common(&self) -> bool {
        self.steps[1] == 0
    }

    /// Applies the mask of a query to the scores of keys from `first` on, which are `step` elements apart.
    pub(super) fn apply(&self, [batch, head, query]: [usize; 3], first: usize, scores: &mut [f32], step: usize) {
        let start = batch * self.steps[0] + head * self.steps[1] + query * self.steps[2];
        let known = self.keys.saturating_sub(first);
        let mut scores = scores.iter_mut().step_by(step);
        let some = scores.by_ref().take(known);
        match &self.elements {
            MaskElements::Seen(seen) if known > 0 => {
                let seen = &seen[start + first..];
                some.zip(seen)
                    .filter(|(_, seen)| !**seen)
                    .for_each(|(score, _)| *score = f32::NEG_INFINITY);
            }
            MaskElements::Added(added) if known > 0 => {
                some.zip(&added[start + first..]).for_each(|(score, x)| *score += x);
            }
            _ => some.for_each(|_| {}),
        }
        match self.elements {
            MaskElements::Seen(_) => scores.for_each(|score| *score = f32::NEG_INFINITY),
            MaskElements::Added(_) => scores.for_each(|score| *score += f32::NEG_INFINITY),
        }
    }

    /// The mask for `count` queries of a tile of `width` and all keys, in rows like those of scores. Keys are divided
    /// into blocks of `block`.
    pub(super) fn turned(
        &self,
        [batch, head, first]: [usize; 3],
        count: usize,
        keys: usize,
        width: usize,
        block: usize,
    ) -> Turned {
        let mut added = vec![0.0; keys * width];
        for i in 0..count {
            self.apply([batch, head, first + i], 0, &mut added[i..], width);
        }
        let hides = |rows: &[f32]| rows.chunks(width).all(|row| row[..count].iter().all(|x| *x <= HIDDEN));
        Turned {
            hidden: added.chunks(block * width).map(hides).collect(),
            added,
            is_seen: matches!(self.elements, MaskElements::Seen(_)),
        }
    }
}

/// Adding this hides a key whose score is moderate. Exporters write the least number, which is smaller.
const HIDDEN: f32 = -1e38;

/// A mask for the queries of a tile, in rows like those of scores.
pub(super) struct Turned {
    added: Vec<f32>,
    /// For each block of keys, whether it hides all of them from all queries.
    hidden: Vec<bool>,
    /// Minus infinity replaces scores.
    is_seen: bool,
}

impl Turned {
    /// True if it hides all keys of a block from all queries.
    pub(super) fn hides(&self, block: usize) -> bool {
        self.hidden[block]
    }

    /// Applies it to the scores of keys from `first` on.
    pub(super) fn apply(&self, first: usize, scores: &mut [f32], width: usize) {
        let added = &self.added[first * width..][..scores.len()];
        let is_seen = self.is_seen;
        Arch::new().dispatch(Add { scores, added, is_seen });
    }
}

/// Adds a mask to scores.
struct Add<'a> {
    scores: &'a mut [f32],
    added: &'a [f32],
    is_seen: bool,
}

impl NullaryFnOnce for Add<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let pairs = self.scores.iter_mut().zip(self.added);
        match self.is_seen {
            true => pairs.for_each(|(score, &x)| *score = if x == f32::NEG_INFINITY { x } else { *score }),
            false => pairs.for_each(|(score, x)| *score += x),
        }
    }
}
