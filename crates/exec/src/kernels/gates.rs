//! The gates of recurrent layers: what a step computes element by element, after its products.

use pulp::{Arch, NullaryFnOnce};

use super::math::{sigmoid, tanh};

/// A part of a step for one element of the batch. Its function has to be inlined: on its own, it would be compiled
/// once, for the least instructions.
pub(super) trait Part {
    fn compute(self);
}

/// The parts of all elements of the batch, compiled for each instruction set.
struct Parts<I>(I);

impl<I: Iterator<Item: Part>> NullaryFnOnce for Parts<I> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        for part in self.0 {
            part.compute();
        }
    }
}

/// Computes the parts of a step for all elements of the batch.
pub(super) fn compute(parts: impl Iterator<Item: Part>) {
    Arch::new().dispatch(Parts(parts));
}

/// Computes the new state of units without gates.
pub(super) struct Plain<'a> {
    /// The products with the inputs and with the state.
    pub(super) gates: &'a [f32],
    pub(super) next: &'a mut [f32],
}

impl Part for Plain<'_> {
    #[inline(always)]
    fn compute(self) {
        let Plain { gates, next } = self;
        next.iter_mut().zip(gates).for_each(|(next, &sum)| *next = tanh(sum));
    }
}

/// Computes the new state of cells and what they show.
pub(super) struct Cells<'a> {
    /// The products of the gates.
    pub(super) gates: &'a [f32],
    pub(super) c: &'a mut [f32],
    pub(super) next: &'a mut [f32],
}

impl Part for Cells<'_> {
    #[inline(always)]
    fn compute(self) {
        let Cells { gates, c, next } = self;
        let n = next.len();
        let (enter, rest) = gates.split_at(n);
        let (out, rest) = rest.split_at(n);
        let (forget, new) = rest.split_at(n);
        let (forget, new, c) = (&forget[..n], &new[..n], &mut c[..n]);
        for i in 0..n {
            c[i] = sigmoid(forget[i]) * c[i] + sigmoid(enter[i]) * tanh(new[i]);
            next[i] = tanh(c[i]) * sigmoid(out[i]);
        }
    }
}

/// Computes the next state of gated units whose reset is of the product with the state.
pub(super) struct Linear<'a> {
    /// The products of the gates with the inputs.
    pub(super) gates: &'a [f32],
    /// And with the state.
    pub(super) state: &'a [f32],
    pub(super) h: &'a [f32],
    pub(super) next: &'a mut [f32],
}

impl Part for Linear<'_> {
    #[inline(always)]
    fn compute(self) {
        let Linear { gates, state, h, next } = self;
        let n = next.len();
        let (update, rest) = gates.split_at(n);
        let (reset, new) = rest.split_at(n);
        let (more_update, rest) = state.split_at(n);
        let (more_reset, more_new) = rest.split_at(n);
        let (reset, new, h) = (&reset[..n], &new[..n], &h[..n]);
        let (more_reset, more_new) = (&more_reset[..n], &more_new[..n]);
        for i in 0..n {
            let reset = sigmoid(reset[i] + more_reset[i]);
            let new = tanh(new[i] + reset * more_new[i]);
            let update = sigmoid(update[i] + more_update[i]);
            next[i] = (1.0 - update) * new + update * h[i];
        }
    }
}

/// Computes update gates in place, and the state after the reset.
pub(super) struct Reset<'a> {
    /// The products of the gates with the inputs.
    pub(super) gates: &'a mut [f32],
    /// Those of the first two with the state.
    pub(super) state: &'a [f32],
    pub(super) h: &'a [f32],
    pub(super) kept: &'a mut [f32],
}

impl Part for Reset<'_> {
    #[inline(always)]
    fn compute(self) {
        let Reset { gates, state, h, kept } = self;
        let n = kept.len();
        let (update, rest) = gates.split_at_mut(n);
        let (more_update, more_reset) = state.split_at(n);
        let (reset, more_reset, h) = (&rest[..n], &more_reset[..n], &h[..n]);
        for i in 0..n {
            update[i] = sigmoid(update[i] + more_update[i]);
            kept[i] = sigmoid(reset[i] + more_reset[i]) * h[i];
        }
    }
}

/// Computes the next state.
pub(super) struct Update<'a> {
    /// The update gates, and in the last third the products of the last gate with the inputs.
    pub(super) gates: &'a [f32],
    /// The products of the last gate with the state after the reset.
    pub(super) state: &'a [f32],
    pub(super) h: &'a [f32],
    pub(super) next: &'a mut [f32],
}

impl Part for Update<'_> {
    #[inline(always)]
    fn compute(self) {
        let Update { gates, state, h, next } = self;
        let n = next.len();
        let (update, new) = (&gates[..n], &gates[2 * n..][..n]);
        let (state, h) = (&state[..n], &h[..n]);
        for i in 0..n {
            next[i] = (1.0 - update[i]) * tanh(new[i] + state[i]) + update[i] * h[i];
        }
    }
}
