//! Loops over dimensions around a loop over rows.

use smallvec::{SmallVec, smallvec};

use crate::kernels::{Each, Extents};

/// Rows of the innermost dimension below which a call of the loop costs more than it computes.
const SHORT: usize = 16;

/// A loop over rows within loops over outer dimensions.
pub(super) struct Nest {
    /// The sizes of all dimensions; the last one has the rows.
    pub(super) sizes: Extents,
    /// For each dimension, how far each operand moves.
    pub(super) strides: SmallVec<[Each<usize>; 6]>,
}

impl Nest {
    /// True if there are many calls for few rows each.
    pub(super) fn is_short(&self) -> bool {
        self.sizes
            .split_last()
            .is_some_and(|(&rows, outer)| rows < SHORT && outer.iter().product::<usize>() > 1)
    }

    /// Where an element of the result is along the outer dimensions, and its element of each operand.
    pub(super) fn position(&self, element: usize) -> (Extents, Each<usize>) {
        let mut at: Extents = smallvec![0; self.sizes.len()];
        let mut offsets: Each<usize> = smallvec![0; self.strides.first().map_or(0, |strides| strides.len())];
        let mut rest = element;
        for ((at, &size), strides) in at.iter_mut().zip(&self.sizes).zip(&self.strides).rev() {
            *at = rest % size;
            rest /= size;
            for (offset, stride) in offsets.iter_mut().zip(strides) {
                *offset += *at * stride;
            }
        }
        at.pop();
        (at, offsets)
    }
}

/// The dimensions of a result and of the operands broadcast to it, as few as possible: neighbours are joined if every
/// operand moves through both as through one. `None` if the shapes do not fit.
pub(super) fn nest(shape: &[usize], operands: &[&[usize]]) -> Option<Nest> {
    let mut next: Each<usize> = smallvec![1; operands.len()];
    let mut out = Nest {
        sizes: Extents::new(),
        strides: SmallVec::new(),
    };
    for (from_end, &size) in shape.iter().rev().enumerate() {
        let mut strides = Each::with_capacity(operands.len());
        for (operand, next) in operands.iter().zip(&mut next) {
            let own = match operand.len().checked_sub(from_end + 1) {
                Some(at) => operand[at],
                None => 1,
            };
            if own != 1 && own != size {
                return None;
            }
            strides.push(if own == 1 { 0 } else { *next });
            *next *= own;
        }
        if size == 1 {
            continue;
        }
        let joins = match (out.sizes.last(), out.strides.last()) {
            (Some(&inner), Some(before)) => before.iter().zip(&strides).all(|(&before, &now)| now == before * inner),
            _ => false,
        };
        match (joins, out.sizes.last_mut()) {
            (true, Some(inner)) => *inner *= size,
            _ => {
                out.sizes.push(size);
                out.strides.push(strides);
            }
        }
    }
    if operands
        .iter()
        .any(|operand| operand.len() > shape.len() && operand[..operand.len() - shape.len()].iter().any(|&n| n != 1))
    {
        return None;
    }
    if out.sizes.is_empty() {
        out.sizes.push(1);
        out.strides.push(smallvec![0; operands.len()]);
    }
    out.sizes.reverse();
    out.strides.reverse();
    Some(out)
}

/// The shape that shapes are broadcast to.
pub(super) fn broadcast(shapes: &[&[usize]]) -> Option<Extents> {
    let rank = shapes.iter().map(|shape| shape.len()).max()?;
    let mut out: Extents = smallvec![1; rank];
    for shape in shapes {
        for (out, &size) in out[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*out, size) {
                (_, 1) => {}
                (1, _) => *out = size,
                (a, b) if a == b => {}
                _ => return None,
            }
        }
    }
    Some(out)
}

/// The next position along the outer dimensions.
pub(super) fn advance(at: &mut [usize], sizes: &[usize], strides: &[Each<usize>], offsets: &mut [usize]) {
    for dim in (0..sizes.len()).rev() {
        at[dim] += 1;
        let back = if at[dim] == sizes[dim] {
            std::mem::take(&mut at[dim])
        } else {
            0
        };
        for (offset, stride) in offsets.iter_mut().zip(&strides[dim]) {
            // One step on, or all steps back.
            *offset = *offset + stride - back * stride;
        }
        if back == 0 {
            return;
        }
    }
}
