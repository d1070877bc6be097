//! The layout of images whose windows are read at distance 1.

use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use super::lanes::halve;
use super::window::Window;

/// The layout of an image, in which the elements that one element of the window covers in neighbouring windows are
/// contiguous.
///
/// Padding is written out, and along each axis the positions are grouped by their remainder modulo the stride, so that
/// windows of every stride and dilation are at distance 1. A window of a single element at distance 1 needs none of
/// this, and reads the image as it is.
pub(super) struct Geometry {
    pub(super) window: Window,
    /// Remainders along each axis that a window covers.
    phases: [usize; 3],
    /// Positions along each axis for each remainder.
    extents: [usize; 3],
    /// Those that are inside the input.
    inside: [Vec<Range<usize>>; 3],
}

impl Geometry {
    pub(super) fn new(window: &Window) -> Geometry {
        let of = |a: usize, f: &dyn Fn(usize) -> usize| (0..window.kernel[a]).map(f).max().unwrap_or(0);
        let phases = std::array::from_fn(|a| of(a, &|k| k * window.dilation[a] % window.stride[a]) + 1);
        let extents = std::array::from_fn(|a| of(a, &|k| k * window.dilation[a] / window.stride[a]) + window.output[a]);
        let inside = |axis: usize| {
            let (stride, pad) = (window.stride[axis], window.pad[axis]);
            let end = window.input[axis] + pad;
            let of = |phase: usize| {
                let first = pad.saturating_sub(phase).div_ceil(stride);
                let end = end.saturating_sub(phase).div_ceil(stride).min(extents[axis]);
                first.min(end)..end
            };
            (0..phases[axis]).map(of).collect()
        };
        Geometry {
            window: *window,
            phases,
            extents,
            inside: std::array::from_fn(inside),
        }
    }

    /// Elements of one channel.
    pub(super) fn size(&self) -> usize {
        self.extents.iter().chain(&self.phases).product()
    }

    /// The distances of neighbouring windows along the axes.
    pub(super) fn steps(&self) -> [usize; 3] {
        [self.extents[1] * self.extents[2], self.extents[2], 1]
    }

    /// For each element of the window, where it is in a channel for the first window.
    pub(super) fn offsets(&self) -> Vec<usize> {
        let w = &self.window;
        let offset = |at: [usize; 3]| {
            let join = |extents: &[usize; 3], part: &dyn Fn(usize) -> usize| {
                (0..3).fold(0, |sum, a| sum * extents[a] + part(a))
            };
            let phase = join(&self.phases, &|a| at[a] * w.dilation[a] % w.stride[a]);
            let place = join(&self.extents, &|a| at[a] * w.dilation[a] / w.stride[a]);
            phase * self.extents.iter().product::<usize>() + place
        };
        triples(w.kernel).map(offset).collect()
    }

    /// Writes one channel. The padding in `out` has to be zero, as it is after writing another channel.
    pub(super) fn write(&self, channel: &[f32], out: &mut [f32]) {
        // Every second or fourth element is found by exchanging elements of vectors.
        Arch::new().dispatch(Write {
            geometry: self,
            channel,
            out,
        });
    }

    #[inline(always)]
    fn write_phases(&self, channel: &[f32], out: &mut [f32]) {
        let w = &self.window;
        let [depth, height, width] = self.extents;
        let plane = depth * height * width;
        if plane == 0 {
            return;
        }
        if w.stride == [1; 3] {
            let [zs, ys, xs] = self.inside.each_ref().map(|inside| inside[0].clone());
            if xs.is_empty() {
                return;
            }
            for z in zs {
                for y in ys.clone() {
                    let line = ((z - w.pad[0]) * w.input[1] + y - w.pad[1]) * w.input[2];
                    let from = &channel[line + xs.start - w.pad[2]..][..xs.len()];
                    copy_short(from, &mut out[(z * height + y) * width..][xs.clone()]);
                }
            }
            return;
        }
        // Rows of the image are read one after the other, each for all its phases.
        let position = |axis: usize, at: usize, phase: usize| at * w.stride[axis] + phase - w.pad[axis];
        for (at_z, zs) in self.inside[0].iter().enumerate() {
            for z in zs.clone() {
                let slice = position(0, z, at_z) * w.input[1];
                for y in 0..height {
                    for (at_y, _) in self.inside[1].iter().enumerate().filter(|(_, ys)| ys.contains(&y)) {
                        let line = (slice + position(1, y, at_y)) * w.input[2];
                        let phase = at_z * self.phases[1] + at_y;
                        let to = &mut out[phase * self.phases[2] * plane + (z * height + y) * width..];
                        self.write_row(&channel[line..], to, plane);
                    }
                }
            }
        }
    }

    /// Writes a row to both its phases, which take turns; false if they do not begin with its first two elements.
    #[inline(always)]
    fn write_halves(
        &self,
        row: &[f32],
        (first, second): (&Range<usize>, &Range<usize>),
        out: &mut [f32],
        plane: usize,
    ) -> bool {
        let pad = self.window.pad[2];
        let begins = (first.start * 2)
            .checked_sub(pad)
            .zip((second.start * 2 + 1).checked_sub(pad));
        let (low, high) = out.split_at_mut(plane);
        let (low, high) = (&mut low[first.clone()], &mut high[second.clone()]);
        let (even, odd) = match begins {
            Some((0, 1)) => (low, high),
            Some((1, 0)) => (high, low),
            _ => return false,
        };
        let n = even.len().min(odd.len());
        halve(&row[..2 * n], &mut even[..n], &mut odd[..n]);
        for (rest, begin) in [(&mut even[n..], 2 * n), (&mut odd[n..], 2 * n + 1)] {
            let from = row.get(begin..).unwrap_or_default().iter().step_by(2);
            rest.iter_mut().zip(from).for_each(|(t, x)| *t = *x);
        }
        true
    }

    /// Writes a row to all its phases, which are `plane` elements apart.
    #[inline(always)]
    fn write_row(&self, row: &[f32], out: &mut [f32], plane: usize) {
        let (stride, pad) = (self.window.stride[2], self.window.pad[2]);
        if let (2, [first, second]) = (stride, &self.inside[2][..])
            && self.write_halves(row, (first, second), out, plane)
        {
            return;
        }
        for (phase, xs) in self.inside[2].iter().enumerate().filter(|(_, xs)| !xs.is_empty()) {
            let from = &row[xs.start * stride + phase - pad..];
            let to = &mut out[phase * plane..][xs.clone()];
            match stride {
                1 => copy_short(&from[..to.len()], to),
                // A constant distance is several times as fast.
                2 => every::<2>(from, to),
                4 => every::<4>(from, to),
                step => to.iter_mut().zip(from.iter().step_by(step)).for_each(|(t, x)| *t = *x),
            }
        }
    }
}

/// [`Geometry::write`], compiled for each instruction set.
struct Write<'a> {
    geometry: &'a Geometry,
    channel: &'a [f32],
    out: &'a mut [f32],
}

impl NullaryFnOnce for Write<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.geometry.write_phases(self.channel, self.out);
    }
}

/// Copies every `STEP`th element.
#[inline(always)]
fn every<const STEP: usize>(from: &[f32], to: &mut [f32]) {
    let (groups, rest) = from.as_chunks::<STEP>();
    let n = groups.len().min(to.len());
    for (t, group) in to[..n].iter_mut().zip(groups) {
        *t = group[0];
    }
    // The last one may be the beginning of an incomplete group.
    if let ([last], Some(x)) = (&mut to[n..], rest.first()) {
        *last = *x;
    }
}

/// Copies as many elements as `to` has, by a few vector instructions rather than a call.
#[inline(always)]
pub(super) fn copy_short<T: Copy>(from: &[T], to: &mut [T]) {
    #[inline(always)]
    fn by<T: Copy, const N: usize>(from: &[T], to: &mut [T]) -> bool {
        let n = to.len();
        if n < N {
            return false;
        }
        let (chunks, rest) = to.as_chunks_mut::<N>();
        let is_even = rest.is_empty();
        for (to, from) in chunks.iter_mut().zip(from.as_chunks::<N>().0) {
            *to = *from;
        }
        // The last part begins where it fits, and copies some elements again.
        if !is_even
            && let (Some(to), Some(from)) = (to[n - N..].first_chunk_mut::<N>(), from[n - N..].first_chunk::<N>())
        {
            *to = *from;
        }
        true
    }
    if !by::<T, 16>(from, to) && !by::<T, 8>(from, to) && !by::<T, 4>(from, to) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
}

/// All triples below the limits, in order.
fn triples([a, b, c]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}
