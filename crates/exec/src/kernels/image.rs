//! Images as right matrices of convolutions.

use std::borrow::Cow;

use pulp::{Arch, NullaryFnOnce};

use super::geometry::Geometry;
use super::micro::fetch;
use super::pairs;
use super::product::{Placed, Places, Right};
use super::threads::{in_parts, worth};
use super::window::Window;

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
    pub(super) fn set(&mut self, images: &'a [f32], between: usize, threads: usize) {
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
                    in_parts(worth(threads, image.len()), out, to, |first, out| {
                        let image = image.get(first * from..).unwrap_or_default().chunks_exact(from);
                        image
                            .zip(out.chunks_exact_mut(to))
                            .for_each(|(channel, out)| geometry.write(channel, out));
                    });
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
