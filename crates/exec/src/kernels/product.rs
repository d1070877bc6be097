//! Matrix products of packed matrices, such as the weights of a convolution or of a dense layer.
//!
//! The left matrix is packed into panels of rows and the right one into panels of columns, each with its elements in
//! the order in which a micro-kernel reads them. A micro-kernel keeps one tile of the result in registers while it goes
//! through a block of the inner dimension. The method is that of Goto and van de Geijn, "Anatomy of High-Performance
//! Matrix Multiplication" (2008), with the right panels in the first-level cache.
//!
//! A result does not depend on the number of threads: each of its elements is one sum in one order.
#![allow(unsafe_code, reason = "micro-kernels use vector instructions on raw pointers")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use rayon::prelude::*;
use smallvec::SmallVec;

use super::finish::Finished;
use super::micro::Tile;
use super::panels::{DEPTH, Left};

/// Elements of right panels that are multiplied one after the other: they stay in a first-level cache of 32 KiB or more
/// together with a left panel.
const GROUP: usize = 128 << 10;

/// Panels of a group.
const GROUPED: usize = 32;

/// A left matrix of at most this many elements stays in a second-level cache.
const RESIDENT: usize = 96 << 10;

/// Panels of columns that are computed from the first to the last pass if the left matrix is in a cache.
const PART: usize = 4;

/// Fewer multiplications than this are not worth a second thread; tests divide small products too.
pub(super) const PARALLEL: usize = if cfg!(test) { 1 << 8 } else { 1 << 20 };

/// Packing a column of the right matrix takes as long as multiplying it by about this many rows.
const PACKING: usize = 24;

/// A right matrix, which is packed while it is multiplied unless its panels exist already.
pub(super) trait Right: Sync {
    /// The number of columns from `column` on that are best multiplied together, at most `most`, if they are read
    /// `times` times.
    fn width(&self, _times: usize, _column: usize, most: usize) -> usize {
        most
    }

    /// The panel of rows `first..first + depth` that begins with column `column`, if the matrix is packed.
    fn panel(&self, _first: usize, _depth: usize, _column: usize) -> Option<&[f32]> {
        None
    }

    /// Rows `first..first + depth` of columns `column..column + count` in place, with `width` elements each, of which
    /// those after `count` are arbitrary; `None` if it is better to pack them, given that they are read `times` times.
    fn in_place(
        &self,
        _times: usize,
        _first: usize,
        _depth: usize,
        _column: usize,
        _count: usize,
        _width: usize,
    ) -> Option<Placed<'_>> {
        None
    }

    /// Writes rows `first..first + depth` of columns `column..column + count` into `out`, rows being `width` elements
    /// apart. Elements after the first `count` of a row are arbitrary. `out` has room for `width` elements more than
    /// the rows need, so that whole vectors can be written.
    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]);
}

/// Columns of a right matrix that need not be packed.
#[derive(Clone, Copy)]
pub(super) struct Placed<'a> {
    elements: &'a [f32],
    rows: &'a [usize],
}

impl<'a> Placed<'a> {
    /// The rows in `range`, with `width` elements each; `None` if one ends after the last element.
    pub(super) fn new(
        elements: &'a [f32],
        places: &'a Places,
        range: Range<usize>,
        width: usize,
    ) -> Option<Placed<'a>> {
        let rows = &places.rows[range];
        let last = || rows.iter().max().copied().unwrap_or(0);
        let fits = places.last + width <= elements.len() || last() + width <= elements.len();
        fits.then_some(Placed { elements, rows })
    }
}

/// The offsets of the rows of a matrix.
pub(super) struct Places {
    rows: Vec<usize>,
    /// The largest offset.
    last: usize,
}

impl Places {
    pub(super) fn new(rows: Vec<usize>) -> Places {
        let last = rows.iter().max().copied().unwrap_or(0);
        Places { rows, last }
    }

    pub(super) fn rows(&self) -> &[usize] {
        &self.rows
    }
}

/// The initial values of the sums.
#[derive(Clone, Copy)]
pub(super) enum Start<'a> {
    /// Zero.
    Zero,
    /// A number for each row.
    Rows(&'a [f32]),
    /// A number for each column.
    Columns(&'a [f32]),
    /// The elements of the result.
    Result,
}

/// The initial values of the sums, an addition, and the limits of the results.
#[derive(Clone, Copy)]
pub(super) struct Finish<'a> {
    /// The initial values of the sums.
    pub(super) start: Start<'a>,
    /// Added to the sums: a matrix like the result.
    pub(super) add: Option<&'a [f32]>,
    /// Smaller results become this.
    pub(super) low: f32,
    /// Larger results become this.
    pub(super) high: f32,
}

impl<'a> Finish<'a> {
    /// Sums without limits.
    pub(super) fn from(start: Start<'a>) -> Finish<'a> {
        Finish {
            start,
            add: None,
            low: f32::NEG_INFINITY,
            high: f32::INFINITY,
        }
    }

    /// Adds the addition and limits that a call applies to its result; `elements` are the elements of the result that
    /// this product computes.
    pub(super) fn with(self, finished: Finished<'a>, elements: Range<usize>) -> Finish<'a> {
        Finish {
            add: finished.add.map(|add| &add[elements]),
            low: finished.low,
            high: finished.high,
            ..self
        }
    }
}

/// `out = left * right`, finished, where `out` has contiguous rows of `columns` elements.
///
/// # Panics
/// If the result has another size, or there is not one start for each row, or for each column.
pub(super) fn product<R: Right>(
    left: &Left,
    right: &R,
    columns: usize,
    out: &mut [f32],
    finish: Finish<'_>,
    threads: usize,
) {
    assert_eq!(out.len(), left.rows * columns, "the result has another size");
    assert!(
        finish.add.is_none_or(|add| add.len() == out.len()),
        "what is added has another size"
    );
    if out.is_empty() {
        return;
    }
    let starts = match finish.start {
        Start::Rows(bias) => Cow::Borrowed(bias),
        Start::Zero | Start::Columns(_) | Start::Result => vec![0.0; left.rows].into(),
    };
    assert_eq!(starts.len(), left.rows, "there is not one start for each row");
    if let Start::Columns(row) = finish.start {
        assert_eq!(row.len(), columns, "there is not one start for each column");
    }
    let task = Task {
        left,
        right,
        starts: &starts,
        finish,
        out: out.as_mut_ptr(),
        columns,
    };
    let worth = left.rows.saturating_mul(columns).saturating_mul(left.inner) / PARALLEL;
    let threads = threads.min(worth).max(1);
    let [by_panel, by_column] = task.shares(threads);
    let (panels, across) = (left.panels(), columns.div_ceil(by_column));
    let part = |i: usize| {
        let (panel, column) = (i / across * by_panel, i % across * by_column);
        let (panels, columns) = (
            panel..panels.min(panel + by_panel),
            column..columns.min(column + by_column),
        );
        // SAFETY: `out` has all columns of all rows, and is borrowed exclusively; the parts are disjoint.
        unsafe { task.run(panels, columns) };
    };
    match panels.div_ceil(by_panel) * across {
        1 => part(0),
        parts => (0..parts).into_par_iter().for_each(part),
    }
}

struct Task<'a, R> {
    left: &'a Left,
    right: &'a R,
    /// The initial value of the sum of each row.
    starts: &'a [f32],
    finish: Finish<'a>,
    out: *mut f32,
    columns: usize,
}

// SAFETY: threads write disjoint parts of `out`, and everything else is shared and only read.
unsafe impl<R: Sync> Sync for Task<'_, R> {}

thread_local! {
    /// Packed right panels, kept so that a run does not allocate them again.
    static PACKED: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

impl<R: Right> Task<'_, R> {
    /// How many left panels and how many columns each of so many threads computes: one has all panels or all columns.
    fn shares(&self, threads: usize) -> [usize; 2] {
        let (panels, rows) = (self.left.panels(), self.left.rows);
        let width = self.left.micro.columns;
        let by_panel = panels.div_ceil(threads).max(1);
        let by_column = self.columns.div_ceil(width).div_ceil(threads) * width;
        // Each thread packs the columns that it multiplies.
        let time = |rows: usize, columns: usize| (rows.min(self.left.rows) + PACKING) * columns.min(self.columns);
        let of_panels = by_panel * rows.div_ceil(panels.max(1));
        match time(of_panels, self.columns) < time(rows, by_column) {
            true => [by_panel, self.columns],
            false => [panels, by_column],
        }
    }

    /// Computes these panels of rows and columns of the result.
    ///
    /// # Safety
    /// `out` points to `columns` elements for each row of `left`, as does what is added, no other thread accesses these
    /// rows of these columns, `panels` are some of the left matrix, and `range` ends at `columns` at the latest.
    unsafe fn run(&self, panels: Range<usize>, range: Range<usize>) {
        let columns = self.left.micro.columns;
        // If the left matrix stays in a second-level cache, all passes over a part of the result follow each other, so
        // that this part stays in a cache too. Otherwise each part of the left matrix is read once.
        let fits = self.left.elements.len() / self.left.panels().max(1) * panels.len() <= RESIDENT;
        let part = if fits { PART * columns } else { range.len().max(1) };
        let mut packed = PACKED.take();
        for first in range.clone().step_by(part) {
            let part = first..range.end.min(first + part);
            for pass in 0..self.passes() {
                // SAFETY: the part is one of the range.
                unsafe { self.pass(pass, panels.clone(), part.clone(), &mut packed) };
            }
        }
        PACKED.set(packed);
    }

    fn passes(&self) -> usize {
        self.left.inner.div_ceil(DEPTH).max(1)
    }

    /// Adds one pass over the inner dimension to these panels of rows and columns of the result.
    ///
    /// # Safety
    /// Same as for [`Task::run`].
    unsafe fn pass(&self, pass: usize, panels: Range<usize>, range: Range<usize>, packed: &mut Vec<f32>) {
        let columns = self.left.micro.columns;
        let first = pass * DEPTH;
        let depth = DEPTH.min(self.left.inner - first);
        let size = depth * columns;
        let group = (GROUP / size.max(1)).clamp(1, GROUPED);
        if packed.len() < group * size + columns {
            packed.resize(group * size + columns, 0.0);
        }
        let mut column = range.start;
        while column < range.end {
            // A group of panels. Those that are packed here are in `packed`, and empty in `rights`.
            let mut rights: [(Range<usize>, Panel<'_>); GROUPED] = Default::default();
            let mut n = 0;
            while n < group && column < range.end {
                let count = self.right.width(panels.len(), column, columns.min(range.end - column));
                let mut right = Panel::default();
                if let Some(elements) = self.right.panel(first, depth, column) {
                    right.elements = &elements[..size];
                } else if let Some(placed) = self.right.in_place(panels.len(), first, depth, column, count, columns) {
                    assert_eq!(placed.rows.len(), depth, "a panel has another depth");
                    (right.elements, right.places) = (placed.elements, Some(placed.rows));
                } else {
                    self.right
                        .pack(first, depth, column, count, columns, &mut packed[n * size..]);
                }
                rights[n] = (column..column + count, right);
                column += count;
                n += 1;
            }
            for panel in panels.clone() {
                let rows = self.left.panel(panel);
                for (j, (columns, right)) in rights[..n].iter().enumerate() {
                    let few = self.left.micro.few(columns.len());
                    let columns = columns.start..columns.end - few;
                    if columns.is_empty() {
                        continue;
                    }
                    let right = right.or(|| &packed[j * size..][..size]);
                    let tile = self.tile(pass, rows.clone(), depth, right, columns);
                    // SAFETY: the panels have `depth` times `rows` and `columns` elements by the slices above and in
                    // `tile`, or by `Placed::new` and the assertion, and the tile is inside the result.
                    unsafe { self.left.micro.run(&tile) };
                }
            }
            for (j, (columns, right)) in rights[..n].iter().enumerate() {
                let few = self.left.micro.few(columns.len());
                if few > 0 {
                    let right = right.or(|| &packed[j * size..][..size]);
                    // SAFETY: as above.
                    unsafe { self.few(pass, panels.clone(), depth, right, columns.clone(), few) };
                }
            }
        }
    }

    /// Adds one pass over the inner dimension to the last `few` of the columns of a panel.
    ///
    /// # Safety
    /// Same as for [`Task::run`], and the panel has these columns.
    unsafe fn few(
        &self,
        pass: usize,
        panels: Range<usize>,
        depth: usize,
        right: Panel<'_>,
        columns: Range<usize>,
        few: usize,
    ) {
        let last = columns.end - few..columns.end;
        let at_once = self.left.micro.at_once(few);
        for first in panels.clone().step_by(at_once) {
            let mut tiles: SmallVec<[Tile; 4]> = SmallVec::new();
            for panel in first..panels.end.min(first + at_once) {
                let mut tile = self.tile(pass, self.left.panel(panel), depth, right, last.clone());
                tile.right = tile.right.wrapping_add(columns.len() - few);
                tiles.push(tile);
            }
            // SAFETY: by the caller; `few` is what the micro-kernel says.
            unsafe { self.left.micro.run_few(&tiles) };
        }
    }

    /// The tile of these rows and columns in one pass.
    fn tile(&self, pass: usize, rows: Range<usize>, depth: usize, right: Panel<'_>, columns: Range<usize>) -> Tile {
        let block = &self.left.elements[pass * DEPTH * self.left.rows..];
        let first = rows.start * self.columns + columns.start;
        let is_last = pass + 1 == self.passes();
        // Rows of sums begin with one row, or with what earlier passes have left in the result.
        let (from, between) = match (pass, self.finish.start) {
            (0, Start::Columns(row)) => (row.as_ptr().wrapping_add(columns.start), 0),
            _ => (self.out.wrapping_add(first).cast_const(), self.columns),
        };
        Tile {
            rows: rows.len(),
            columns: columns.len(),
            depth,
            left: block[rows.start * depth..][..rows.len() * depth].as_ptr(),
            right: right.elements.as_ptr(),
            places: right.places.map_or(std::ptr::null(), <[usize]>::as_ptr),
            out: self.out.wrapping_add(first),
            stride: self.columns,
            start: match (pass, self.finish.start) {
                (0, Start::Zero | Start::Rows(_)) => self.starts[rows].as_ptr(),
                _ => std::ptr::null(),
            },
            from,
            between,
            add: match self.finish.add {
                Some(add) if is_last => add.as_ptr().wrapping_add(first),
                _ => std::ptr::null(),
            },
            low: if is_last { self.finish.low } else { f32::NEG_INFINITY },
            high: if is_last { self.finish.high } else { f32::INFINITY },
        }
    }
}

/// A panel of a right matrix.
#[derive(Clone, Copy, Default)]
struct Panel<'a> {
    elements: &'a [f32],
    /// The offsets of its rows, unless they are contiguous.
    places: Option<&'a [usize]>,
}

impl<'a> Panel<'a> {
    /// This panel, or one that has been packed.
    fn or(self, packed: impl FnOnce() -> &'a [f32]) -> Panel<'a> {
        match self.elements.is_empty() {
            true => Panel {
                elements: packed(),
                places: None,
            },
            false => self,
        }
    }
}

#[cfg(test)]
#[path = "product_tests.rs"]
mod tests;
