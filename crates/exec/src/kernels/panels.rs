//! Packed operands of a matrix product: panels of the rows of the left matrix and of the columns of the right one, each
//! with its elements in the order in which a micro-kernel reads them.

use std::cell::Cell;
use std::ops::{Deref, Range};

use rayon::prelude::*;

use super::lanes::interleave_four;
use super::micro::Micro;
use super::pages::{Lasting, lasting, room, zeros};
use super::product::{Finish, PARALLEL, Right, Start, product};
use super::row::{add_row, can_add_row};

/// The elements of the inner dimension that one pass covers.
pub(super) const DEPTH: usize = 1024;

/// The elements of a packed matrix.
pub(super) enum Packed {
    /// Those of one run.
    Own(Vec<f32>),
    /// Those of a matrix that is the same in every run.
    Kept(Lasting),
}

thread_local! {
    /// The elements of an earlier matrix, kept so that a run does not allocate and clear them again.
    static ROOM: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Room for more elements is not kept.
const MOST_KEPT: usize = 4 << 20;

impl Packed {
    /// Some elements, which are to be overwritten.
    fn room(n: usize) -> Vec<f32> {
        let mut elements = ROOM.take();
        if elements.capacity() < n {
            return zeros(n);
        }
        elements.resize(n, 0.0);
        elements
    }

    /// The same elements, kept from run to run.
    fn kept(&self) -> Packed {
        Packed::Kept(lasting(self))
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        if let Packed::Own(elements) = self
            && elements.capacity() <= MOST_KEPT
        {
            // A thread that ends keeps nothing.
            let _ = ROOM.try_with(|room| {
                let last = room.take();
                room.set(match last.capacity() < elements.capacity() {
                    true => std::mem::take(elements),
                    false => last,
                });
            });
        }
    }
}

impl Deref for Packed {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match self {
            Packed::Own(elements) => elements,
            Packed::Kept(elements) => elements,
        }
    }
}

/// A left matrix in panels.
pub(super) struct Left {
    pub(super) rows: usize,
    pub(super) inner: usize,
    pub(super) micro: Micro,
    /// For each pass over the inner dimension, for each panel, its columns.
    pub(super) elements: Packed,
}

impl Left {
    /// Packs a matrix of `rows` contiguous rows.
    pub(super) fn of_rows(micro: Micro, matrix: &[f32], rows: usize) -> Left {
        let inner = matrix.len() / rows.max(1);
        let mut elements = Packed::room(rows * inner);
        let mut at = 0;
        for first in (0..inner).step_by(DEPTH) {
            let depth = DEPTH.min(inner - first);
            for own in panels(micro, rows) {
                let out = &mut elements[at..][..depth * own.len()];
                at += out.len();
                pack_rows(&matrix[own.start * inner + first..], inner, own.len(), out);
            }
        }
        Left {
            rows,
            inner,
            micro,
            elements: Packed::Own(elements),
        }
    }

    /// Packs a matrix whose `rows` rows are given as contiguous columns.
    pub(super) fn of_columns(micro: Micro, matrix: &[f32], rows: usize) -> Left {
        let inner = matrix.len() / rows.max(1);
        let mut elements = room(rows * inner);
        for first in (0..inner).step_by(DEPTH) {
            let columns = &matrix[first * rows..(first + DEPTH).min(inner) * rows];
            for own in panels(micro, rows) {
                columns
                    .chunks_exact(rows)
                    .for_each(|column| elements.extend_from_slice(&column[own.clone()]));
            }
        }
        Left {
            rows,
            inner,
            micro,
            elements: Packed::Own(elements),
        }
    }

    /// The same matrix, kept from run to run.
    pub(super) fn kept(self) -> Left {
        Left {
            elements: self.elements.kept(),
            ..self
        }
    }

    /// The number of panels.
    pub(super) fn panels(&self) -> usize {
        self.rows.div_ceil(self.micro.rows)
    }

    /// The rows of a panel.
    pub(super) fn panel(&self, i: usize) -> Range<usize> {
        rows_of_panel(i, self.rows, self.panels())
    }
}

/// The rows of panel `i`. All have about the same number: a tile of very few rows would wait for its sums.
fn rows_of_panel(i: usize, rows: usize, panels: usize) -> Range<usize> {
    i * rows / panels..(i + 1) * rows / panels
}

/// The rows of each panel of a matrix.
fn panels(micro: Micro, rows: usize) -> impl Iterator<Item = Range<usize>> {
    let panels = rows.div_ceil(micro.rows);
    (0..panels).map(move |i| rows_of_panel(i, rows, panels))
}

/// Writes the columns of `rows` rows, which are `distance` elements apart, one after the other.
fn pack_rows(matrix: &[f32], distance: usize, rows: usize, out: &mut [f32]) {
    let depth = out.len() / rows;
    // Four rows at a time are exchanged in vectors.
    let whole = rows / 4 * 4;
    for i in (0..whole).step_by(4) {
        let four: [&[f32]; 4] = std::array::from_fn(|j| &matrix[(i + j) * distance..][..depth]);
        let chunks: [&[[f32; 16]]; 4] = four.map(|row| row.as_chunks().0);
        let mut pieces = [0.0; 64];
        for at in 0..depth / 16 {
            interleave_four(&std::array::from_fn(|j| chunks[j][at]), &mut pieces);
            for (column, piece) in pieces.as_chunks::<4>().0.iter().enumerate() {
                out[(at * 16 + column) * rows + i..][..4].copy_from_slice(piece);
            }
        }
        for column in depth / 16 * 16..depth {
            out[column * rows + i..][..4].copy_from_slice(&four.map(|row| row[column]));
        }
    }
    for i in whole..rows {
        let row = &matrix[i * distance..][..depth];
        let out = out[i..].iter_mut().step_by(rows);
        out.zip(row).for_each(|(o, x)| *o = *x);
    }
}

/// A right matrix in panels.
pub(super) struct Panels {
    columns: usize,
    micro: Micro,
    /// For each pass over the inner dimension, for each panel, its rows; zero after the last column.
    elements: Packed,
}

impl Panels {
    /// The kernels that it is packed for.
    pub(super) fn micro(&self) -> Micro {
        self.micro
    }

    /// Packs a matrix of `inner` contiguous rows, or of contiguous columns if it is `transposed`.
    pub(super) fn of(micro: Micro, matrix: &[f32], inner: usize, transposed: bool) -> Panels {
        let columns = matrix.len() / inner.max(1);
        let panels = columns.div_ceil(micro.columns);
        let mut elements = zeros(panels * micro.columns * inner);
        let mut at = 0;
        for first in (0..inner).step_by(DEPTH) {
            let depth = DEPTH.min(inner - first);
            for panel in 0..panels {
                let out = &mut elements[at..][..depth * micro.columns];
                at += out.len();
                let column = panel * micro.columns;
                let count = micro.columns.min(columns - column);
                if transposed && count == micro.columns {
                    pack_rows(&matrix[column * inner + first..], inner, count, out);
                    continue;
                }
                for (l, row) in out.chunks_exact_mut(micro.columns).enumerate() {
                    let (from, step) = match transposed {
                        false => ((first + l) * columns + column, 1),
                        true => (column * inner + first + l, inner),
                    };
                    let from = matrix[from..].iter().step_by(step);
                    row[..count].iter_mut().zip(from).for_each(|(o, x)| *o = *x);
                }
            }
        }
        Panels {
            columns,
            micro,
            elements: Packed::Own(elements),
        }
    }

    /// The same matrix, kept from run to run.
    pub(super) fn kept(self) -> Panels {
        Panels {
            elements: self.elements.kept(),
            ..self
        }
    }

    /// Adds the product of a row with this matrix to `out`. Sums have the order of those of [`product`].
    ///
    /// # Panics
    /// If the row or `out` has another length than the matrix.
    pub(super) fn add_row(&self, row: &[f32], out: &mut [f32], threads: usize) {
        assert_eq!(out.len(), self.columns, "the result has another size");
        let width = self.columns.next_multiple_of(self.micro.columns);
        assert_eq!(self.elements.len(), width * row.len(), "the row has another length");
        if self.micro.of_pairs || !can_add_row(self.micro.columns) {
            let left = Left::of_rows(self.micro, row, 1);
            return product(&left, self, self.columns, out, Finish::from(Start::Result), threads);
        }
        let part = |first: usize, out: &mut [f32]| {
            let mut at = 0;
            for row in row.chunks(DEPTH) {
                let panels = &self.elements[at + first * row.len()..];
                add_row(row, panels, self.micro.columns, out);
                at += width * row.len();
            }
        };
        let worth = row.len().saturating_mul(out.len()) / PARALLEL;
        match threads.min(worth) {
            0 | 1 => part(0, out),
            threads => {
                let share = (width / self.micro.columns).div_ceil(threads) * self.micro.columns;
                let shares = out.par_chunks_mut(share).enumerate();
                shares.for_each(|(i, out)| part(i * share, out));
            }
        }
    }
}

impl Right for Panels {
    fn panel(&self, first: usize, depth: usize, column: usize) -> Option<&[f32]> {
        let width = self.columns.next_multiple_of(self.micro.columns);
        self.elements[first * width + column * depth..].get(..depth * self.micro.columns)
    }

    fn pack(&self, first: usize, depth: usize, column: usize, count: usize, width: usize, out: &mut [f32]) {
        let panel = self.panel(first, depth, column).unwrap_or_default();
        let rows = panel.chunks_exact(self.micro.columns);
        for (row, out) in rows.zip(out.chunks_mut(width)) {
            out[..count].copy_from_slice(&row[..count]);
        }
    }
}
