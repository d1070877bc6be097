//! Images as right matrices of convolutions.

use std::borrow::Cow;
use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};

use super::lanes::halve;
use super::micro::fetch;
use super::pairs;
use super::product::{Placed, Places, Right};
use super::window::Window;

/// The layout of an image, in which the elements that one element of the window covers in neighbouring windows are
/// contiguous.
///
/// Padding is written out, and along each axis the positions are grouped by their remainder modulo the stride, so that
/// windows of every stride and dilation are at distance 1. A window of a single element at distance 1 needs none of
/// this, and reads the image as it is.
pub(super) struct Geometry {
    window: Window,
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

/// The right matrix of a convolution: a row for each element of the window in each channel, a column for each window of
/// each image.
pub(super) struct Image<'a> {
    elements: Cow<'a, [f32]>,
    /// For each row, where it is for the first window.
    rows: Places,
    /// Distances of neighbouring windows along the axes.
    steps: [usize; 3],
    output: [usize; 3],
    /// The distance of the images.
    between: usize,
    /// The geometry for writing the next images; `None` if they are read as they are.
    geometry: Option<Geometry>,
    pairs: Option<Pairs>,
}

/// Which elements of windows are pairs of bfloat16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pairing {
    /// Successive elements, which are rounded while they are packed.
    Neighbours,
    /// The same element in two channels; the image is rounded once, and its elements are pairs.
    Channels,
}

impl Pairing {
    /// The one with which a convolution of `depth` channels is faster: neighbours if each element of the image is in
    /// one element of a window, or if a channel would be left without another.
    pub(super) fn of(window: &Window, depth: usize) -> Pairing {
        match window.is_pointwise() || matches!(depth, 1 | 3) {
            true => Pairing::Neighbours,
            false => Pairing::Channels,
        }
    }
}

/// The pairs of an image.
enum Pairs {
    Neighbours,
    /// The number of channels, and room for a channel of pairs.
    Channels(usize, Vec<f32>),
}

impl<'a> Image<'a> {
    /// The matrix for `count` images of `depth` channels, in memory from `room`; [`Image::set`] sets the images. The
    /// first channels of two images are `between` elements apart. With `pairs`, an element of the matrix is a pair of
    /// bfloat16.
    pub(super) fn new(
        window: &Window,
        (count, depth): (usize, usize),
        between: usize,
        pairs: Option<Pairing>,
        room: impl FnOnce(usize) -> Vec<f32>,
    ) -> Image<'a> {
        let (pairs, depth) = match pairs {
            None => (None, depth),
            Some(Pairing::Neighbours) => (Some(Pairs::Neighbours), depth),
            Some(Pairing::Channels) => (
                Some(Pairs::Channels(depth, vec![0.0; window.input_size()])),
                depth.div_ceil(2),
            ),
        };
        if window.is_pointwise() {
            let size = window.input_size();
            return Image {
                elements: Cow::Borrowed(&[]),
                rows: Places::new((0..depth).map(|channel| channel * size).collect()),
                steps: [0, 0, 1],
                output: [1, 1, size],
                between,
                geometry: None,
                pairs,
            };
        }
        let geometry = Geometry::new(window);
        let (offsets, size) = (geometry.offsets(), geometry.size());
        let mut rows = Vec::with_capacity(depth * offsets.len());
        for channel in 0..depth {
            rows.extend(offsets.iter().map(|offset| channel * size + offset));
        }
        let mut elements = room(count * depth * size);
        elements.fill(0.0);
        Image {
            elements: elements.into(),
            rows: Places::new(rows),
            steps: geometry.steps(),
            output: window.output,
            between: depth * size,
            geometry: Some(geometry),
            pairs,
        }
    }

    /// The memory of the matrix, if it has its own.
    pub(super) fn into_room(self) -> Vec<f32> {
        match self.elements {
            Cow::Owned(elements) => elements,
            Cow::Borrowed(_) => Vec::new(),
        }
    }

    /// Takes other images, whose first channels are `between` elements apart.
    pub(super) fn set(&mut self, images: &'a [f32], between: usize) {
        match &self.geometry {
            None => self.elements = images.into(),
            Some(geometry) => {
                let (from, to) = (geometry.window.input_size().max(1), geometry.size().max(1));
                let all = self.elements.to_mut().chunks_exact_mut(self.between.max(1));
                for (i, out) in all.enumerate() {
                    let image = images.get(i * between..).unwrap_or_default();
                    if let Some(Pairs::Channels(depth, row)) = &mut self.pairs {
                        let image = &image[..image.len().min(*depth * from)];
                        for (two, out) in image.chunks(2 * from).zip(out.chunks_exact_mut(to)) {
                            let (first, second) = two.split_at(from);
                            pairs::interleave(first, (!second.is_empty()).then_some(second), row);
                            geometry.write(row, out);
                        }
                        continue;
                    }
                    for (channel, out) in image.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
                        geometry.write(channel, out);
                    }
                }
            }
        }
    }

    /// The position of a window, and the number of windows after it in its row of the output.
    fn place(&self, column: usize) -> (usize, usize) {
        let [od, oh, ow] = self.output;
        let (image, line, x) = (column / (od * oh * ow), column / ow % (od * oh), column % ow);
        let [step_z, step_y, step_x] = self.steps;
        let place = image * self.between + line / oh * step_z + line % oh * step_y + x * step_x;
        (place, ow - x)
    }

    /// The times that a row may be read without packing it.
    fn is_read_in_place(&self, times: usize) -> bool {
        if let Some(Pairs::Neighbours) = self.pairs {
            return false;
        }
        // Rows of neighbouring elements share cache lines; those of different channels may be far apart.
        times <= if self.geometry.is_some() { 8 } else { 2 }
    }
}

/// True if it is estimated to be faster to read the windows of a row of outputs in place, in vectors that its last
/// windows may not fill, than to pack them with those of other rows, given that they are read `times` times.
fn pays_in_place(length: usize, times: usize) -> bool {
    // Cycles for each element of a window: of a tile of two vectors, of one, which loads more than it multiplies, and
    // of packing a panel.
    const WIDE: usize = 12;
    const NARROW: usize = 7;
    const PACKING: usize = 10;
    let rest = match length % 32 {
        0 => 0,
        1..=16 => NARROW,
        _ => WIDE,
    };
    let in_place = length / 32 * WIDE + rest;
    // Both times 32, the windows of a tile.
    in_place * 32 * times <= length * (WIDE * times + PACKING)
}

/// Windows of a panel are in at most this many rows of outputs.
const RUNS: usize = 32;

impl Right for Image<'_> {
    fn width(&self, times: usize, column: usize, most: usize) -> usize {
        let length = self.output[2];
        match self.is_read_in_place(times) && pays_in_place(length, times) {
            true => most.min(length - column % length),
            false => most,
        }
    }

    fn in_place(
        &self,
        times: usize,
        first: usize,
        depth: usize,
        column: usize,
        count: usize,
        width: usize,
    ) -> Option<Placed<'_>> {
        let (place, run) = self.place(column);
        if !self.is_read_in_place(times) || count > run {
            return None;
        }
        Placed::new(self.elements.get(place..)?, &self.rows, first..first + depth, width)
    }

    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        debug_assert!(count <= RUNS, "a panel has {count} columns");
        // Runs of windows in one row of the output: where they begin in a row of the panel, and in a row of the image,
        // and their lengths.
        let mut runs = [(0, 0, 0); RUNS];
        let (mut n, mut done) = (0, 0);
        while done < count {
            let (place, run) = self.place(column + done);
            let length = run.min(count - done);
            runs[n] = (done, place, length);
            n += 1;
            done += length;
        }
        if let Some(Pairs::Neighbours) = self.pairs {
            let rows = &self.rows.rows()[2 * first..];
            let rows = &rows[..rows.len().min(2 * depth)];
            return pairs::pack(&self.elements, rows, &runs[..n], width, out);
        }
        Arch::new().dispatch(Pack {
            elements: &self.elements,
            rows: &self.rows.rows()[first..][..depth],
            runs: &runs[..n],
            width,
            out,
        });
    }
}

/// Copies runs of windows to a panel, for vectors of the widest instruction set.
struct Pack<'a> {
    elements: &'a [f32],
    /// Where each row of the panel is in the image.
    rows: &'a [usize],
    /// Where runs begin in a row of the panel, and in a row of the image, and their lengths.
    runs: &'a [(usize, usize, usize)],
    width: usize,
    out: &'a mut [f32],
}

impl NullaryFnOnce for Pack<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Pack {
            elements,
            rows,
            runs,
            width,
            out,
        } = self;
        // The next panel begins where the last run ends.
        let next = runs.last().map_or(0, |(_, place, length)| place + length);
        for (l, row) in rows.iter().enumerate() {
            let next = elements.as_ptr().wrapping_add(row + next);
            fetch(next);
            fetch(next.wrapping_add(16));
            // A run is copied with what follows it, which the next run or row overwrites.
            for &(j, place, length) in runs {
                copy(&elements[row + place..], &mut out[l * width + j..], length);
            }
        }
    }
}

/// Copies `n` elements, or as many as there are, and possibly some after them.
#[inline(always)]
fn copy(from: &[f32], to: &mut [f32], n: usize) {
    // A constant length becomes one or a few vector instructions instead of a call.
    const STEP: usize = 16;
    let mut done = 0;
    while done < n {
        let (from, to) = (&from[done..], &mut to[done..]);
        match (from.first_chunk::<STEP>(), to.first_chunk_mut::<STEP>()) {
            (Some(from), Some(to)) => *to = *from,
            _ => {
                let n = (n - done).min(from.len());
                return to[..n].copy_from_slice(&from[..n]);
            }
        }
        done += STEP;
    }
}
