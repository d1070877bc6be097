//! What a kernel does to its result on the way to memory: adding a residual, and an activation. Fused operators ask for
//! it by operands and attributes (`ops/kernels.ops`).

use std::borrow::Cow;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::Call;
use super::elementwise::{larger, smaller};

/// Fewer elements are not worth a second thread.
const PARALLEL: usize = 1 << 18;

/// The steps of a call after the sum.
pub(super) struct After<'a> {
    residual: Option<Cow<'a, [f32]>>,
    low: f32,
    high: f32,
}

/// The operand of a fused operator that is added.
const RESIDUAL: usize = 3;

impl<'a> After<'a> {
    /// The steps of a call whose result has this shape: none unless its operator is fused. `None` if a kernel cannot do
    /// them.
    pub(super) fn of(call: &Call<'a>, shape: &[usize]) -> Option<After<'a>> {
        let residual = match call.has(RESIDUAL) {
            false => None,
            true => Some(call.f32s(RESIDUAL).filter(|_| call.shape(RESIDUAL) == shape)?),
        };
        let limit = |name: &str, none: f32| call.float(name).map_or(none, |limit| limit as f32);
        let (low, high) = match call.text("activation") {
            "" => (f32::NEG_INFINITY, f32::INFINITY),
            "relu" => (0.0, f32::INFINITY),
            "clip" => (limit("low", f32::NEG_INFINITY), limit("high", f32::INFINITY)),
            _ => return None,
        };
        (!low.is_nan() && !high.is_nan()).then_some(After { residual, low, high })
    }

    /// The steps, for a kernel.
    pub(super) fn finished(&self) -> Finished<'_> {
        Finished {
            add: self.residual.as_deref(),
            low: self.low,
            high: self.high,
        }
    }
}

/// What a kernel does to each element of its result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finished<'a> {
    /// Added first, to the element at the same place.
    pub(super) add: Option<&'a [f32]>,
    /// Smaller sums become this; a NaN stays.
    pub(super) low: f32,
    /// Larger sums become this; a NaN stays.
    pub(super) high: f32,
}

impl Finished<'_> {
    fn has_limits(&self) -> bool {
        self.low > f32::NEG_INFINITY || self.high < f32::INFINITY
    }

    /// Finishes the elements of a result from `first` on.
    pub(super) fn apply(&self, first: usize, elements: &mut [f32]) {
        Arch::new().dispatch(Apply {
            finished: self,
            first,
            elements,
        });
    }

    /// Finishes a whole result.
    pub(super) fn apply_all(&self, elements: &mut [f32], threads: usize) {
        if self.add.is_none() && !self.has_limits() {
            return;
        }
        if threads <= 1 || elements.len() < PARALLEL {
            return self.apply(0, elements);
        }
        let share = elements.len().div_ceil(threads);
        let shares = elements.par_chunks_mut(share).enumerate();
        shares.for_each(|(i, elements)| self.apply(i * share, elements));
    }
}

struct Apply<'a> {
    finished: &'a Finished<'a>,
    first: usize,
    elements: &'a mut [f32],
}

impl NullaryFnOnce for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Finished { add, low, high } = *self.finished;
        if let Some(add) = add {
            let added = self.elements.iter_mut().zip(&add[self.first..]);
            added.for_each(|(x, y)| *x += y);
        }
        if self.finished.has_limits() {
            let limited = self.elements.iter_mut();
            limited.for_each(|x| *x = smaller(larger(*x, low), high));
        }
    }
}
