//! Matrix products of bytes with zero points.
//!
//! The left matrix is made signed and the right one unsigned, by shifting bytes and zero points by 128.
//! [`dot`](super::dot) sums the products of the bytes themselves; the effect of the zero points is added from the sums
//! of rows and of columns: Σ (a − p)(b − q) = Σ a b − p Σ b − q Σ a + n p q, modulo 2³².
#![allow(unsafe_code, reason = "threads write disjoint columns of a result")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

use super::dot::{ByteTile, Dot, MOST_COLUMNS, MOST_ROWS, QUAD};

/// Fewer multiplications than this are not worth a second thread.
const PARALLEL: usize = if cfg!(test) { 1 << 8 } else { 1 << 22 };

/// Bytes, signed or not.
#[derive(Debug, Clone)]
pub(super) enum Bytes<'a> {
    /// From -128 on.
    Signed(Cow<'a, [i8]>),
    /// From 0 on.
    Unsigned(Cow<'a, [u8]>),
}

impl Bytes<'_> {
    /// The number of them.
    pub(super) fn len(&self) -> usize {
        match self {
            Bytes::Signed(bytes) => bytes.len(),
            Bytes::Unsigned(bytes) => bytes.len(),
        }
    }

    /// The bytes as integers.
    pub(super) fn numbers(&self) -> Vec<i32> {
        match self {
            Bytes::Signed(bytes) => bytes.iter().map(|&x| i32::from(x)).collect(),
            Bytes::Unsigned(bytes) => bytes.iter().map(|&x| i32::from(x)).collect(),
        }
    }

    /// The bytes in `range` as they are in memory, and the byte to combine with each to make them signed.
    pub(super) fn to_signed(&self, range: Range<usize>) -> (&[u8], u8) {
        match self {
            Bytes::Signed(bytes) => (as_unsigned(&bytes[range]), 0),
            Bytes::Unsigned(bytes) => (&bytes[range], 128),
        }
    }

    /// The bytes in `range` as they are in memory, and the byte to combine with each to make them unsigned.
    pub(super) fn to_unsigned(&self, range: Range<usize>) -> (&[u8], u8) {
        match self {
            Bytes::Signed(bytes) => (as_unsigned(&bytes[range]), 128),
            Bytes::Unsigned(bytes) => (&bytes[range], 0),
        }
    }

    /// The number to add to a zero point if the bytes are made signed.
    pub(super) fn signed_shift(&self) -> i32 {
        match self {
            Bytes::Signed(_) => 0,
            Bytes::Unsigned(_) => -128,
        }
    }

    /// The number to add to a zero point if the bytes are made unsigned.
    pub(super) fn unsigned_shift(&self) -> i32 {
        match self {
            Bytes::Signed(_) => 128,
            Bytes::Unsigned(_) => 0,
        }
    }
}

/// The bits of bytes.
fn as_unsigned(bytes: &[i8]) -> &[u8] {
    // SAFETY: both types are one byte of any bits.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

/// A left matrix of signed bytes in panels.
pub(super) struct SignedRows {
    rows: usize,
    quads: usize,
    dot: Dot,
    /// For each panel, for each quad of the inner dimension, that of each row; zero after the last.
    elements: Vec<i8>,
    /// The sum of each row.
    pub(super) sums: Vec<i32>,
}

impl SignedRows {
    /// Packs a matrix of contiguous rows of `inner` bytes, each of which is combined with `flip`; the memory of `room` is
    /// used for it.
    pub(super) fn of(dot: Dot, bytes: &[u8], inner: usize, flip: u8, room: Vec<i8>) -> SignedRows {
        let rows = bytes.len() / inner.max(1);
        let quads = inner.div_ceil(QUAD);
        let mut elements = room;
        elements.resize(rows * quads * QUAD, 0);
        let mut packed = SignedRows {
            rows,
            quads,
            dot,
            elements,
            sums: Vec::with_capacity(rows),
        };
        let flips = [flip; QUAD];
        let mut elements = std::mem::take(&mut packed.elements);
        for panel in 0..packed.panels() {
            let range = packed.panel(panel);
            let height = range.len();
            let out = &mut elements[range.start * quads * QUAD..][..height * quads * QUAD];
            let (out, _) = out.as_chunks_mut::<QUAD>();
            for (i, row) in bytes[range.start * inner..range.end * inner]
                .chunks_exact(inner.max(1))
                .enumerate()
            {
                let (whole, rest) = row.as_chunks::<QUAD>();
                let mut sum = 0i32;
                for (out, quad) in out[i..].iter_mut().step_by(height).zip(whole) {
                    let quad = u32::from_ne_bytes(*quad) ^ u32::from_ne_bytes(flips);
                    *out = quad.to_ne_bytes().map(u8::cast_signed);
                }
                for &x in row {
                    sum = sum.wrapping_add(i32::from((x ^ flip).cast_signed()));
                }
                if !rest.is_empty() {
                    let mut last = [0; QUAD];
                    last.iter_mut()
                        .zip(rest)
                        .for_each(|(o, x)| *o = (x ^ flip).cast_signed());
                    out[(quads - 1) * height + i] = last;
                }
                packed.sums.push(sum);
            }
        }
        packed.elements = elements;
        packed
    }

    /// The memory of its elements.
    pub(super) fn into_room(self) -> Vec<i8> {
        self.elements
    }

    fn panels(&self) -> usize {
        self.rows.div_ceil(self.dot.rows)
    }

    /// The rows of a panel; all have about the same number.
    fn panel(&self, i: usize) -> Range<usize> {
        let panels = self.panels();
        i * self.rows / panels..(i + 1) * self.rows / panels
    }
}

/// A right matrix of unsigned bytes.
pub(super) trait UnsignedColumns: Sync {
    /// The quads of columns from `column` on, a multiple of the columns of a tile: the first quads, and where the quads
    /// for each position along the inner dimension are; `None` if they are contiguous. At each position, as many quads
    /// as a tile has columns can be read.
    fn panel(&self, column: usize, quads: usize) -> (&[u8], Option<&[usize]>);
}

/// A right matrix in panels.
pub(super) struct UnsignedPanels {
    quads: usize,
    dot: Dot,
    /// For each panel, for each quad of the inner dimension, that of each column; zero after the last.
    elements: Vec<u8>,
    /// The sum of each column.
    pub(super) sums: Vec<i32>,
}

impl UnsignedPanels {
    /// Packs a matrix of `inner` contiguous rows, whose bytes are combined with `flip`.
    pub(super) fn of(dot: Dot, bytes: &[u8], inner: usize, flip: u8) -> UnsignedPanels {
        let columns = bytes.len() / inner.max(1);
        let quads = inner.div_ceil(QUAD);
        let width = dot.columns;
        let mut elements = vec![0; columns.div_ceil(width) * quads * width * QUAD];
        let mut sums = vec![0i32; columns];
        for (l, row) in bytes.chunks_exact(columns.max(1)).enumerate() {
            let (quad, at) = (l / QUAD, l % QUAD);
            for (panel, part) in row.chunks(width).enumerate() {
                let out = &mut elements[(panel * quads + quad) * width * QUAD..][..width * QUAD];
                let out = out.iter_mut().skip(at).step_by(QUAD);
                for ((out, sum), x) in out.zip(&mut sums[panel * width..]).zip(part) {
                    *out = x ^ flip;
                    *sum = sum.wrapping_add(i32::from(x ^ flip));
                }
            }
        }
        UnsignedPanels {
            quads,
            dot,
            elements,
            sums,
        }
    }
}

impl UnsignedColumns for UnsignedPanels {
    fn panel(&self, column: usize, _: usize) -> (&[u8], Option<&[usize]>) {
        let size = self.quads * QUAD;
        (&self.elements[column * size..][..self.dot.columns * size], None)
    }
}

/// The zero points of a product, after bytes were moved.
pub(super) struct Zeros<'a> {
    /// The number of products of each element.
    pub(super) inner: usize,
    /// Zero points of the left matrix: one, or one for each row.
    pub(super) left: &'a [i32],
    /// Zero points of the right matrix: one, or one for each column.
    pub(super) right: &'a [i32],
    /// The sums of the rows of the left matrix.
    pub(super) rows: &'a [i32],
    /// The sums of the columns of the right matrix; empty if all zero points of the left one are zero.
    pub(super) columns: &'a [i32],
}

impl Zeros<'_> {
    /// The zero point of row `i`, which the sums of columns are multiplied by, and what the zero points of columns are
    /// multiplied by: both products are subtracted from sums.
    #[inline(always)]
    pub(super) fn of_row(&self, i: usize) -> (i32, i32) {
        let p = self.left[if self.left.len() == 1 { 0 } else { i }];
        let row = self.rows[if self.rows.len() == 1 { 0 } else { i }];
        (p, row.wrapping_sub(p.wrapping_mul(self.inner as i32)))
    }

    /// Turns sums of bytes into sums of products of row `i` and the columns from `first` on.
    pub(super) fn apply(&self, i: usize, first: usize, sums: &mut [i32]) {
        let (p, rest) = self.of_row(i);
        let (less, each) = match self.right {
            [q] => (q.wrapping_mul(rest), &[][..]),
            each => (0, &each[first..]),
        };
        if p != 0 || less != 0 || !each.is_empty() {
            let columns = if p == 0 { &[] } else { &self.columns[first..] };
            Arch::new().dispatch(Shift {
                sums,
                less,
                times: (p, columns),
                rest: (rest, each),
            });
        }
    }
}

/// Subtracts from each sum a number, and the products of two factors with numbers for the columns, if there are any.
struct Shift<'a> {
    sums: &'a mut [i32],
    less: i32,
    times: (i32, &'a [i32]),
    rest: (i32, &'a [i32]),
}

impl NullaryFnOnce for Shift<'_> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let subtract = |sums: &mut [i32], (factor, columns): (i32, &[i32])| {
            let sums = sums.iter_mut().zip(columns);
            sums.for_each(|(sum, x)| *sum = sum.wrapping_sub(factor.wrapping_mul(*x)));
        };
        if self.less != 0 {
            self.sums.iter_mut().for_each(|sum| *sum = sum.wrapping_sub(self.less));
        }
        subtract(self.sums, self.times);
        subtract(self.sums, self.rest);
    }
}

/// A tile of sums of products of the bytes themselves.
pub(super) struct Tile<'a> {
    /// Its first row in the left matrix, and the number of rows.
    pub(super) row: usize,
    pub(super) rows: usize,
    /// Its first column, and the number of columns.
    pub(super) first: usize,
    pub(super) count: usize,
    /// The sums: rows at a distance of [`MOST_COLUMNS`].
    pub(super) sums: &'a [i32],
}

/// Takes the sums of a product.
pub(super) trait Sink: Sync {
    /// True if it has room for that many rows and columns.
    fn fits(&self, rows: usize, columns: usize) -> bool;

    /// Takes a tile, to which zero points are still to be applied; the first row of the left matrix is row `above`.
    ///
    /// # Safety
    /// It is of a matrix that fits, and no other thread has these rows of these columns.
    unsafe fn take(&self, above: usize, tile: &Tile<'_>, zeros: &Zeros<'_>);
}

/// Computes `columns` columns of the product of `left` and `right`, and gives the sums to `sink`, as rows from `above` on.
///
/// # Panics
/// If the result does not fit.
pub(super) fn product<R: UnsignedColumns, S: Sink>(
    left: &SignedRows,
    right: &R,
    columns: usize,
    zeros: &Zeros<'_>,
    (sink, above): (&S, usize),
    threads: usize,
) {
    if left.rows == 0 || columns == 0 {
        return;
    }
    assert!(sink.fits(above + left.rows, columns), "the result has another size");
    let (width, panels) = (left.dot.columns, left.panels());
    let work = left.rows.saturating_mul(columns).saturating_mul(left.quads * QUAD);
    let threads = threads.min(work / PARALLEL).max(1);
    // Each thread has some rows of all columns, or all rows of some columns, whichever are fewer elements.
    let by_column = (columns.div_ceil(width).div_ceil(threads) * width).min(columns);
    let by_panel = panels.div_ceil(threads);
    let (by_panel, by_column) = match by_panel * columns < panels * by_column {
        true => (by_panel, columns),
        false => (panels, by_column),
    };
    let across = columns.div_ceil(by_column);
    let run = |i: usize| {
        let (panel, first) = (i / across * by_panel, i % across * by_column);
        let panels = panel..panels.min(panel + by_panel);
        let end = columns.min(first + by_column);
        for column in (first..end).step_by(width) {
            let count = width.min(end - column);
            // SAFETY: the parts of threads are disjoint.
            unsafe { one_panel(left, right, panels.clone(), (column, count), zeros, (sink, above)) };
        }
    };
    match panels.div_ceil(by_panel) * across {
        1 => run(0),
        parts => (0..parts).into_par_iter().for_each(run),
    }
}

/// Computes the rows of some panels of the left matrix, of `count` columns.
///
/// # Safety
/// The product fits `sink`, and no other thread has these rows of these columns.
unsafe fn one_panel<R: UnsignedColumns, S: Sink>(
    left: &SignedRows,
    right: &R,
    panels: Range<usize>,
    (column, count): (usize, usize),
    zeros: &Zeros<'_>,
    (sink, above): (&S, usize),
) {
    let (dot, quads) = (left.dot, left.quads);
    let (elements, places) = right.panel(column, quads);
    // What a micro-kernel reads is there.
    let size = dot.columns * QUAD;
    match places {
        Some(places) => {
            let last = places[..quads].iter().max().copied().unwrap_or(0);
            assert!(quads == 0 || last + size <= elements.len(), "a panel is too short");
        }
        None => assert!(elements.len() >= quads * size, "a panel is too short"),
    }
    let mut sums = [0i32; MOST_ROWS * MOST_COLUMNS];
    for panel in panels {
        let rows = left.panel(panel);
        let tile = ByteTile {
            rows: rows.len(),
            columns: count,
            quads,
            left: left.elements[rows.start * quads * QUAD..][..rows.len() * quads * QUAD].as_ptr(),
            right: elements.as_ptr(),
            places: places.map_or(std::ptr::null(), <[usize]>::as_ptr),
            out: sums.as_mut_ptr(),
        };
        // SAFETY: the panels have `quads` times `rows` and `columns` quads by the slice and the assertions above, and
        // there is room for the most rows.
        unsafe { dot.run(&tile) };
        let tile = Tile {
            row: rows.start,
            rows: rows.len(),
            first: column,
            count,
            sums: &sums,
        };
        // SAFETY: by the caller.
        unsafe { sink.take(above, &tile, zeros) };
    }
}

thread_local! {
    /// Packed left matrices, kept so that a run does not allocate them again.
    static ROOM: RefCell<Vec<i8>> = const { RefCell::new(Vec::new()) };
}

/// Calls `run` with a left matrix of rows of `inner` bytes packed in memory that is kept for later calls.
pub(super) fn with_rows<T>(dot: Dot, bytes: &[u8], inner: usize, flip: u8, run: impl FnOnce(&SignedRows) -> T) -> T {
    let packed = SignedRows::of(dot, bytes, inner, flip, ROOM.take());
    let result = run(&packed);
    ROOM.set(packed.into_room());
    result
}

/// A matrix of contiguous rows that threads write disjoint columns of.
pub(super) struct Shared<'a, T> {
    out: *mut T,
    len: usize,
    lent: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: threads write disjoint elements, as callers of `write` say.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T: Copy> Shared<'a, T> {
    pub(super) fn new(out: &'a mut [T]) -> Shared<'a, T> {
        Shared {
            out: out.as_mut_ptr(),
            len: out.len(),
            lent: std::marker::PhantomData,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// `n` elements from `first` on.
    ///
    /// # Panics
    /// If there are fewer.
    ///
    /// # Safety
    /// No one else has them as long as the result lives.
    #[expect(clippy::mut_from_ref, reason = "the caller has these elements alone")]
    pub(super) unsafe fn part(&self, first: usize, n: usize) -> &mut [T] {
        assert!(
            first.checked_add(n).is_some_and(|end| end <= self.len),
            "elements are outside the result"
        );
        // SAFETY: they are within the slice that is borrowed, and the caller has them alone.
        unsafe { std::slice::from_raw_parts_mut(self.out.add(first), n) }
    }
}

/// Sums as they are, in rows of `columns`.
pub(super) struct Sums<'a> {
    pub(super) out: Shared<'a, i32>,
    pub(super) columns: usize,
}

impl Sink for Sums<'_> {
    fn fits(&self, rows: usize, columns: usize) -> bool {
        columns == self.columns && self.out.len() >= rows * columns
    }

    unsafe fn take(&self, above: usize, tile: &Tile<'_>, zeros: &Zeros<'_>) {
        for (i, sums) in tile.sums.chunks_exact(MOST_COLUMNS).take(tile.rows).enumerate() {
            let row = tile.row + i;
            // SAFETY: no other thread has these columns.
            let out = unsafe { self.out.part((above + row) * self.columns + tile.first, tile.count) };
            out.copy_from_slice(&sums[..tile.count]);
            zeros.apply(row, tile.first, out);
        }
    }
}

#[cfg(test)]
#[path = "bytes_tests.rs"]
mod tests;
