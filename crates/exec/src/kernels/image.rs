//! Images as right matrices of convolutions.

use std::borrow::Cow;

use super::product::{Placed, Right};
use super::window::Window;

/// How an image is laid out so that what one element of the window covers in neighbouring windows is contiguous.
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
}

impl Geometry {
    pub(super) fn new(window: &Window) -> Geometry {
        let of = |a: usize, f: &dyn Fn(usize) -> usize| (0..window.kernel[a]).map(f).max().unwrap_or(0);
        Geometry {
            window: *window,
            phases: std::array::from_fn(|a| of(a, &|k| k * window.dilation[a] % window.stride[a]) + 1),
            extents: std::array::from_fn(|a| of(a, &|k| k * window.dilation[a] / window.stride[a]) + window.output[a]),
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
        let w = &self.window;
        let plane: usize = self.extents.iter().product();
        if plane == 0 {
            return;
        }
        for (phase, out) in triples(self.phases).zip(out.chunks_exact_mut(plane)) {
            let xs = self.inside(2, phase[2]);
            if xs.is_empty() {
                continue;
            }
            for z in self.inside(0, phase[0]) {
                for y in self.inside(1, phase[1]) {
                    let position = |axis: usize, at: usize| at * w.stride[axis] + phase[axis] - w.pad[axis];
                    let line = (position(0, z) * w.input[1] + position(1, y)) * w.input[2];
                    let from = line + position(2, xs.start);
                    let to = &mut out[(z * self.extents[1] + y) * self.extents[2]..][xs.clone()];
                    match w.stride[2] {
                        1 => to.copy_from_slice(&channel[from..][..to.len()]),
                        // A constant distance is several times as fast.
                        2 => every::<2>(&channel[from..], to),
                        4 => every::<4>(&channel[from..], to),
                        step => {
                            let from = channel[from..].iter().step_by(step);
                            to.iter_mut().zip(from).for_each(|(t, x)| *t = *x);
                        }
                    }
                }
            }
        }
    }

    /// The positions of a phase that are inside the input.
    fn inside(&self, axis: usize, phase: usize) -> std::ops::Range<usize> {
        let (stride, pad) = (self.window.stride[axis], self.window.pad[axis]);
        let first = pad.saturating_sub(phase).div_ceil(stride);
        let end = (self.window.input[axis] + pad).saturating_sub(phase).div_ceil(stride);
        let end = end.min(self.extents[axis]);
        first.min(end)..end
    }
}

/// Copies every `STEP`th element.
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

/// All triples below the limits, in order.
fn triples([a, b, c]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| [i, j, k])))
}

/// The right matrix of a convolution: a row for each element of the window in each channel, a column for each window.
pub(super) struct Image<'a> {
    elements: Cow<'a, [f32]>,
    /// For each row, where it is for the first window.
    rows: Vec<usize>,
    /// Distances of neighbouring windows along the axes.
    steps: [usize; 3],
    output: [usize; 3],
    /// What to write the next image with; `None` if it is read as it is.
    geometry: Option<Geometry>,
}

impl<'a> Image<'a> {
    /// The matrix for images of `depth` channels, in memory from `room`; [`Image::set`] gives it one.
    pub(super) fn new(window: &Window, depth: usize, room: impl FnOnce(usize) -> Vec<f32>) -> Image<'a> {
        if window.is_pointwise() {
            let size = window.input_size();
            return Image {
                elements: Cow::Borrowed(&[]),
                rows: (0..depth).map(|channel| channel * size).collect(),
                steps: [0, 0, 1],
                output: [1, 1, size],
                geometry: None,
            };
        }
        let geometry = Geometry::new(window);
        let (offsets, size) = (geometry.offsets(), geometry.size());
        let mut elements = room(depth * size);
        elements.fill(0.0);
        Image {
            elements: elements.into(),
            rows: (0..depth)
                .flat_map(|channel| offsets.iter().map(move |offset| channel * size + offset))
                .collect(),
            steps: geometry.steps(),
            output: window.output,
            geometry: Some(geometry),
        }
    }

    /// The memory of the matrix, if it has its own.
    pub(super) fn into_room(self) -> Vec<f32> {
        match self.elements {
            Cow::Owned(elements) => elements,
            Cow::Borrowed(_) => Vec::new(),
        }
    }

    /// Takes another image.
    pub(super) fn set(&mut self, image: &'a [f32]) {
        match &self.geometry {
            None => self.elements = image.into(),
            Some(geometry) => {
                let (from, to) = (geometry.window.input_size(), geometry.size());
                let channels = self.elements.to_mut().chunks_exact_mut(to.max(1));
                for (channel, out) in image.chunks_exact(from.max(1)).zip(channels) {
                    geometry.write(channel, out);
                }
            }
        }
    }
}

/// Windows of a panel are in at most this many rows of the output.
const RUNS: usize = 32;

impl Right for Image<'_> {
    fn in_place(
        &self,
        times: usize,
        first: usize,
        depth: usize,
        column: usize,
        count: usize,
        width: usize,
    ) -> Option<Placed<'_>> {
        // Rows of neighbouring elements share cache lines; those of different channels may be far apart.
        if times > if self.geometry.is_some() { 4 } else { 2 } {
            return None;
        }
        let [_, oh, ow] = self.output;
        let (line, x) = (column / ow, column % ow);
        let place = line / oh * self.steps[0] + line % oh * self.steps[1] + x * self.steps[2];
        let is_one_run = x + count <= ow;
        let rows = &self.rows[first..][..depth];
        let elements = self.elements.get(place..)?;
        Placed::new(elements, rows, width).filter(|_| is_one_run)
    }

    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        debug_assert!(count <= RUNS, "a panel has {count} columns");
        let [_, oh, ow] = self.output;
        // Runs of windows in one row of the output: where they begin in a row of the panel, and in a row of the image.
        let mut runs = [(0, 0); RUNS];
        let (mut n, mut done) = (0, 0);
        while done < count {
            let o = column + done;
            let (line, x) = (o / ow, o % ow);
            let place = line / oh * self.steps[0] + line % oh * self.steps[1] + x * self.steps[2];
            runs[n] = (done, place);
            n += 1;
            done += ow - x;
        }
        for (l, row) in self.rows[first..][..depth].iter().enumerate() {
            // A run is copied with what follows it, which the next run or row overwrites.
            for &(j, place) in &runs[..n] {
                copy(&self.elements[row + place..], &mut out[l * width + j..], width);
            }
        }
    }
}

/// Copies `width` elements, or as many as there are.
#[inline(always)]
fn copy(from: &[f32], to: &mut [f32], width: usize) {
    // A constant length becomes a few vector instructions instead of a call.
    match (width, from.first_chunk::<16>(), to.first_chunk_mut::<16>()) {
        (16, Some(from), Some(to)) => *to = *from,
        _ => {
            let n = width.min(from.len());
            to[..n].copy_from_slice(&from[..n]);
        }
    }
}
