//! Convolutions with windows of 3 by 3 by fewer multiplications: Lavin and Gray, "Fast Algorithms for Convolutional
//! Neural Networks" (2015).
//!
//! A tile of 2 by 2 or 4 by 4 results is a transformed sum over channels of products of transformed tiles of the image
//! with transformed windows: 16 or 36 multiplications instead of 36 or 144. For each element of a transformed tile, the
//! sum is a matrix product over all tiles. In real numbers the result is the same; the rounding errors are somewhat
//! larger. A transformation adds and subtracts neighbours, so an infinity or a NaN reaches results whose windows do not
//! cover it: if a result is not finite, the caller computes the convolution directly.
#![allow(unsafe_code, reason = "threads write disjoint parts of one array")]

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

use pulp::Arch;
use rayon::prelude::*;

use super::finish::Finished;
use super::lanes::{PITCH, Tiles};
use super::micro::Micro;
use super::panels::Left;
use super::product::{Finish, Right, Start, product};
use super::window::Window;
use super::winograd_transform::{Back, Transform, of_window};

/// Bytes of transformed tiles that are computed at a time; they stay in a second-level cache.
const BLOCK: usize = 400 << 10;

/// Elements between the matrices of two elements of a tile: without them, all would begin in the same set of a cache.
const APART: usize = 32;

/// Transformed weights of more bytes are not worth their memory.
const LARGEST: usize = 48 << 20;

/// The lanes of the widest vectors.
const LANES: usize = 16;

/// Transformed weights of a convolution.
pub(super) struct Winograd {
    /// Results of a tile along each axis.
    size: usize,
    channels: usize,
    filters: usize,
    micro: Micro,
    /// For each element of a transformed tile, a matrix with a row for each filter.
    weights: Vec<Left>,
}

/// The size of tiles with which a convolution is estimated to be faster than directly, in `f32` or in bfloat16.
pub(super) fn tile_size(window: &Window, channels: usize, filters: usize, direct_in_bf16: bool) -> Option<usize> {
    let Window {
        kernel,
        stride,
        dilation,
        ..
    } = window;
    if *kernel != [1, 3, 3] || *stride != [1; 3] || dilation[2] != 1 || window.output[0] != 1 {
        return None;
    }
    // Panels are transformed in whole vectors.
    let micro = Micro::best();
    if !micro.columns.is_multiple_of(LANES) {
        return None;
    }
    // Estimated cycles: of products, which compute whole vectors of columns, or of rows for a few columns; of reading
    // weights; of what is done for each element of a tile or window beside them.
    let cost = |elements: usize, tiles: usize, rate: f64, beside: f64| {
        let few = micro.few(tiles);
        let columns = (tiles - few).next_multiple_of(LANES) as f64 + (few * LANES) as f64 / micro.rows as f64;
        elements as f64 * ((channels * filters) as f64 * (columns / rate + 1.0) + beside * tiles as f64)
    };
    // Products of an element in one cycle.
    const RATE: f64 = 28.0;
    let rate = if direct_in_bf16 { 2.0 * RATE } else { RATE };
    let direct = cost(9, window.output_size(), rate, 0.25 * channels as f64);
    let tiled = |size: usize| {
        let [down, along] = grid(window, size);
        let (tiles, elements) = (window.dilation[1] * down * along, (size + 2) * (size + 2));
        let fits = elements * channels * filters * size_of::<f32>() <= LARGEST;
        let transformed = if size == 4 { 1.3 } else { 0.9 };
        (
            cost(elements, tiles, RATE, transformed * (channels + filters) as f64),
            size,
            fits,
        )
    };
    let fitting = [tiled(4), tiled(2)].into_iter().filter(|(.., fits)| *fits);
    let best = fitting.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 < 0.9 * direct).then_some(best.1)
}

/// The number of tiles along each axis, for each remainder of rows modulo the dilation.
fn grid(window: &Window, size: usize) -> [usize; 2] {
    [1, 2].map(|axis| window.output[axis].div_ceil(window.dilation[axis]).div_ceil(size))
}

impl Winograd {
    /// Transforms windows of 3 by 3 for tiles of `size`, which is 2 or 4.
    pub(super) fn new(size: usize, windows: &[f32], filters: usize, micro: Micro) -> Winograd {
        let channels = windows.len() / 9 / filters.max(1);
        let side = size + 2;
        let rows = filters;
        let mut all = vec![0.0f32; side * side * rows * channels];
        for (at, window) in windows.chunks_exact(9).enumerate() {
            // In double precision, since it is done once.
            let wide: [f64; 9] = std::array::from_fn(|i| f64::from(window[i]));
            let columns: [[f64; 6]; 3] = std::array::from_fn(|j| of_window(size, [wide[j], wide[3 + j], wide[6 + j]]));
            for r in 0..side {
                let row = of_window(size, [columns[0][r], columns[1][r], columns[2][r]]);
                for (s, value) in row[..side].iter().enumerate() {
                    all[(r * side + s) * rows * channels + at] = *value as f32;
                }
            }
        }
        let matrices = all.chunks_exact((rows * channels).max(1));
        Winograd {
            size,
            channels,
            filters,
            micro,
            weights: matrices
                .map(|matrix| Left::of_rows(micro, matrix, rows).kept())
                .collect(),
        }
    }

    /// Convolves one image; false if a result is not finite, and then all are to be ignored.
    pub(super) fn run(
        &self,
        window: &Window,
        image: &[f32],
        finish: Finish<'_>,
        out: &mut [f32],
        threads: usize,
    ) -> bool {
        let width = self.micro.columns;
        let [each, along] = grid(window, self.size);
        let tiles = window.dilation[1] * each * along;
        let side = self.size + 2;
        let panels = tiles.div_ceil(width);
        let bytes = side * side * (self.channels + self.filters) * width * size_of::<f32>();
        let at_once = (BLOCK / bytes.max(1)).clamp(1, panels.div_ceil(threads).max(1));
        let task = Task {
            of: self,
            window,
            image,
            finish,
            tiling: Tiles {
                window,
                size: self.size,
                along,
                each,
                micro: self.micro,
            },
            tiles,
            finite: AtomicBool::new(true),
            out: Out(out.as_mut_ptr(), out.len()),
        };
        let blocks: Vec<usize> = (0..panels).step_by(at_once).collect();
        let size = at_once * width;
        let room = || {
            let mut room = ROOMS.take();
            let grow =
                |all: &mut Vec<f32>, rows: usize| all.resize((side * side * (rows * size + APART)).max(all.len()), 0.0);
            grow(&mut room.tiles, self.channels);
            grow(&mut room.sums, self.filters);
            Lent(room)
        };
        if threads > 1 && blocks.len() >= threads {
            let share = blocks.len().div_ceil(threads);
            blocks.par_chunks(share).for_each_init(room, |room, blocks| {
                blocks
                    .iter()
                    .for_each(|&first| task.block(first, at_once.min(panels - first), &mut room.0, 1));
            });
        } else {
            let mut room = room();
            blocks
                .iter()
                .for_each(|&first| task.block(first, at_once.min(panels - first), &mut room.0, threads));
        }
        task.finite.into_inner()
    }
}

/// Memory for one block of tiles.
#[derive(Default)]
struct Room {
    /// For each element of a tile, for each panel, a row for each channel.
    tiles: Vec<f32>,
    /// For each element of a tile, a row for each filter.
    sums: Vec<f32>,
}

/// A room that goes back to the next convolution on this thread.
struct Lent(Room);

impl Drop for Lent {
    fn drop(&mut self) {
        ROOMS.set(std::mem::take(&mut self.0));
    }
}

struct Task<'a> {
    of: &'a Winograd,
    window: &'a Window,
    /// Its channels.
    image: &'a [f32],
    finish: Finish<'a>,
    tiling: Tiles<'a>,
    tiles: usize,
    finite: AtomicBool,
    out: Out,
}

/// The tiles of some panels as a right matrix.
struct Panels<'a> {
    elements: &'a [f32],
    inner: usize,
    width: usize,
}

impl Right for Panels<'_> {
    fn panel(&self, first: usize, depth: usize, column: usize) -> Option<&[f32]> {
        self.elements[(column / self.width * self.inner + first) * self.width..].get(..depth * self.width)
    }

    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        let panel = self.panel(first, depth, column).unwrap_or_default();
        for (row, out) in panel.chunks_exact(self.width).zip(out.chunks_mut(width)) {
            out[..count].copy_from_slice(&row[..count]);
        }
    }
}

/// The result, which blocks of tiles write at the same time.
struct Out(*mut f32, usize);

// SAFETY: blocks write disjoint elements.
unsafe impl Sync for Out {}

impl Out {
    /// Writes `values` from element `at` on.
    ///
    /// # Panics
    /// If they do not fit.
    ///
    /// # Safety
    /// No other thread accesses these elements.
    #[inline(always)]
    unsafe fn write(&self, at: usize, values: &[f32]) {
        assert!(
            at <= self.1 && values.len() <= self.1 - at,
            "a tile is outside the result"
        );
        // SAFETY: they are inside the result by the assertion above, and this thread's by the caller.
        unsafe { self.0.add(at).copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }
}

impl Task<'_> {
    /// Computes the tiles of panels `first..first + count`.
    fn block(&self, first: usize, count: usize, room: &mut Room, threads: usize) {
        let of = self.of;
        let (channels, width) = (of.channels, of.micro.columns);
        let elements = (of.size + 2) * (of.size + 2);
        // For each element of a tile: its tiles and its sums.
        let (size_in, size_out) = (count * channels * width, of.filters * count * width);
        let (step_in, step_out) = (size_in + APART, size_out + APART);
        let tiles = &mut room.tiles[..elements * step_in];
        let sums = &mut room.sums[..elements * step_out];
        let shared = Out(tiles.as_mut_ptr(), tiles.len());
        each(threads, channels, |channel| {
            for panel in 0..count {
                // SAFETY: each channel of each panel has its own rows.
                unsafe {
                    self.gather(
                        channel,
                        first + panel,
                        &shared,
                        (panel * channels + channel) * width,
                        step_in,
                    )
                };
            }
        });
        let products = tiles.chunks_exact(step_in).zip(&of.weights);
        let multiply = |((tiles, weights), sums): ((&[f32], &Left), &mut [f32])| {
            let right = Panels {
                elements: tiles,
                inner: channels,
                width,
            };
            let sums = &mut sums[..size_out];
            product(weights, &right, count * width, sums, Finish::from(Start::Zero), 1);
        };
        if threads > 1 {
            let all: Vec<_> = products.zip(sums.chunks_exact_mut(step_out)).collect();
            all.into_par_iter().for_each(multiply);
        } else {
            products.zip(sums.chunks_exact_mut(step_out)).for_each(multiply);
        }
        let sums = &*sums;
        each(threads, of.filters, |filter| {
            for panel in 0..count {
                let at = (filter * count + panel) * width;
                self.scatter(filter, first + panel, &sums[at..], step_out);
            }
        });
    }

    /// Writes the transformed tiles of one channel, in rows that are `step` apart from element `at` on.
    ///
    /// # Safety
    /// No other thread accesses these rows.
    unsafe fn gather(&self, channel: usize, panel: usize, out: &Out, at: usize, step: usize) {
        let width = self.of.micro.columns;
        let elements = (self.of.size + 2) * (self.of.size + 2);
        let first = panel * width;
        let count = width.min(self.tiles - first);
        assert!(
            at + (elements - 1) * step + width <= out.1,
            "a tile is outside its block"
        );
        let out = out.0.wrapping_add(at);
        let mut scratch = SCRATCH.take();
        scratch.resize(ROOM, 0.0);
        let rows = &mut scratch[..(elements + 1) * PITCH];
        let image = self.image.chunks_exact(self.window.input_size()).nth(channel);
        self.tiling.load(image.unwrap_or_default(), first, count, width, rows);
        match self.of.size {
            2 => Arch::new().dispatch(Transform::<4> { rows, width, out, step }),
            _ => Arch::new().dispatch(Transform::<6> { rows, width, out, step }),
        }
        SCRATCH.set(scratch);
    }

    /// Writes the results of one filter; the sums for the elements of a tile are `step` apart.
    fn scatter(&self, filter: usize, panel: usize, sums: &[f32], step: usize) {
        let (size, width) = (self.of.size, self.of.micro.columns);
        let mut scratch = SCRATCH.take();
        scratch.resize(ROOM, 0.0);
        let lines_of = &mut scratch[..size * size * width];
        let start = match self.finish.start {
            Start::Rows(bias) => bias[filter],
            _ => 0.0,
        };
        let finished = Finished {
            add: self.finish.add,
            low: self.finish.low,
            high: self.finish.high,
        };
        let finite = match size {
            2 => Arch::new().dispatch(Back::<4, 2> {
                sums,
                step,
                width,
                start,
                lines: lines_of,
            }),
            _ => Arch::new().dispatch(Back::<6, 4> {
                sums,
                step,
                width,
                start,
                lines: lines_of,
            }),
        };
        if !finite {
            self.finite.store(false, Ordering::Relaxed);
        }
        let [_, height, length] = self.window.output;
        let along = self.tiling.along;
        let end = self.tiles.min((panel + 1) * width);
        let mut tile = panel * width;
        // Tiles in one row of tiles are written together.
        while tile < end {
            let (down, right) = (tile / along, tile % along);
            let n = (along - right).min(end - tile);
            let x = right * size;
            let values = (n * size).min(length - x);
            let lines = (0..size).map(|line| (line, self.tiling.line(down, line)));
            for (line, y) in lines.filter(|(_, y)| *y < height) {
                let from = &mut lines_of[(line * width + tile - panel * width) * size..][..values];
                let at = (filter * height + y) * length + x;
                finished.apply(at, from);
                // SAFETY: each tile of each filter has its own results.
                unsafe { self.out.write(at, from) };
            }
            tile += n;
        }
        SCRATCH.set(scratch);
    }
}

/// Calls `f` for each number below `n`, on several threads if there are more than one.
fn each(threads: usize, n: usize, f: impl Fn(usize) + Sync + Send) {
    if threads > 1 {
        (0..n).into_par_iter().for_each(f);
    } else {
        (0..n).for_each(f);
    }
}

/// The elements of the tiles of one panel, and of a row that may be written after them.
const ROOM: usize = (36 + 1) * PITCH;

thread_local! {
    /// The tiles of one panel; kept so that it need not be cleared again.
    static SCRATCH: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };

    /// The memory for blocks, kept for the same reason.
    static ROOMS: RefCell<Room> = const { RefCell::new(Room { tiles: Vec::new(), sums: Vec::new() }) };
}

#[cfg(test)]
#[path = "winograd_tests.rs"]
mod tests;
