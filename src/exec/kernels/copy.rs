//! Copies of what a view shows, written in order: transposition, slicing, diagonals, repetition.
//!
//! Words are copied as they are, whatever they mean. If neighbours of the result are neighbours of the source, runs
//! are copied; if other axes are closer together in the source, both are walked in tiles that either finds in the
//! cache.
#![allow(
    unsafe_code,
    reason = "words are read and written by place; the view vouches for every place, the result for its room"
)]

use std::any::TypeId;

use half::{bf16, f16};

use super::tile::{Word, fence};
use crate::tensor::strided::{Layout, View};

/// The elements of a view in row-major order.
pub(super) fn gather<T: Clone + 'static>(view: &View<'_, T>) -> Vec<T> {
    match word::<T>() {
        Some(1) => words::<T, u8>(view),
        Some(2) => words::<T, u16>(view),
        Some(4) => words::<T, u32>(view),
        Some(8) => words::<T, u64>(view),
        _ => view.to_vec(),
    }
}

/// The size of an element that is nothing but its bits.
fn word<T: 'static>() -> Option<usize> {
    macro_rules! any_of {
        ($($ty:ty),*) => {
            [$(TypeId::of::<$ty>()),*].contains(&TypeId::of::<T>())
        };
    }
    let plain = any_of!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, usize);
    (plain && align_of::<T>() == size_of::<T>()).then_some(size_of::<T>())
}

/// An axis that is walked on both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// Extent.
    pub(super) n: usize,
    /// From each element to the next in the source.
    pub(super) from: isize,
    /// The same in the result.
    pub(super) to: isize,
}

fn words<T: 'static, W: Word>(view: &View<'_, T>) -> Vec<T> {
    let layout = view.layout().coalesced();
    // Smaller results get pages that the allocator has used before, and rows whose distance is a power of two share few
    // sets of the cache in large pages.
    let mut out: Vec<T> = room(layout.len(), 32 << 20);
    if layout.is_empty() {
        return out;
    }
    // SAFETY: `T` is one of the types of `word`, of the size and alignment of `W` and valid for the bits it has. The
    // view was checked when it was made, so every place of the layout lies in its elements; the result has room for
    // one word for each place, and `fill` writes each once.
    unsafe {
        let source = view.elements().as_ptr().cast::<W>().add(layout.start());
        fill(source, out.as_mut_ptr().cast::<W>(), &layout);
        out.set_len(layout.len());
    }
    out
}

/// Room for `n` elements; from `large` bytes on in large pages if the system has them: there are fewer to be made and
/// found.
pub(super) fn room<T>(n: usize, large: usize) -> Vec<T> {
    let out: Vec<T> = Vec::with_capacity(n);
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let bytes = n.saturating_mul(size_of::<T>());
        if bytes >= large.max(PAGE) {
            let start = out.as_ptr().addr().next_multiple_of(PAGE);
            let whole = (out.as_ptr().addr() + bytes - start) / PAGE * PAGE;
            // SAFETY: the pages lie in memory that is owned here; advice changes nothing that is in them, and whether
            // it is taken does not matter.
            unsafe {
                libc::madvise(std::ptr::without_provenance_mut(start), whole, libc::MADV_HUGEPAGE);
            }
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = large;
    out
}

/// Writes the words of a merged layout that is not empty, the first of them at `source`, in order.
///
/// # Safety
/// Every place of the layout can be read, and the result has room for as many words as it has places.
unsafe fn fill<W: Word>(source: *const W, out: *mut W, layout: &Layout) {
    let mut to = 1;
    let mut axes: Vec<Axis> = Vec::with_capacity(layout.rank());
    for (&n, &from) in layout.shape().iter().zip(layout.strides()).rev() {
        axes.push(Axis { n, from, to });
        to *= n as isize;
    }
    axes.reverse();
    let Some((&last, outer)) = axes.split_last() else {
        // SAFETY: a layout without axes has one place.
        unsafe { out.write(*source) };
        return;
    };
    let near = |axis: &&Axis| axis.from != 0 && axis.from.unsigned_abs() < last.from.unsigned_abs();
    let closest = outer.iter().filter(near).min_by_key(|axis| axis.from.unsigned_abs());
    if let Some(closest) = closest {
        // SAFETY: as of this function.
        return unsafe { tiled(source, out, &axes, closest.to) };
    }
    let (middle, outer) = match outer.split_last() {
        Some((middle, outer)) => (*middle, outer),
        None => (Axis { n: 1, from: 0, to: 0 }, outer),
    };
    each(outer, |from, to| {
        for i in 0..middle.n as isize {
            // SAFETY: both are the places of one position of the layout, with all of the last axis before them.
            unsafe {
                run(
                    source.offset(from + i * middle.from),
                    out.offset(to + i * middle.to),
                    last.n,
                    last.from,
                );
            }
        }
    });
}

/// Copies `n` words that lie `step` apart.
///
/// # Safety
/// They can be read, and written one after the other.
#[inline(always)]
unsafe fn run<W: Word>(source: *const W, out: *mut W, n: usize, step: isize) {
    // Longer runs are left to the C library.
    const SHORT: usize = 16;
    // SAFETY: as of this function.
    unsafe {
        match step {
            1 if n >= SHORT => source.copy_to_nonoverlapping(out, n),
            1 => (0..n).for_each(|i| out.add(i).write(*source.add(i))),
            0 => std::slice::from_raw_parts_mut(out.cast::<std::mem::MaybeUninit<W>>(), n)
                .fill(std::mem::MaybeUninit::new(*source)),
            -1 => (0..n).for_each(|i| out.add(i).write(*source.sub(i))),
            _ => (0..n as isize).for_each(|i| out.offset(i).write(*source.offset(i * step))),
        }
    }
}

/// Copies in tiles: rows along the axis of the result whose stride is `row`, which is close together in the source,
/// columns along the last axes of the result.
///
/// # Safety
/// As of [`fill`].
unsafe fn tiled<W: Word>(source: *const W, out: *mut W, axes: &[Axis], row: isize) {
    /// Rows and columns of a tile.
    const SIDE: usize = 128;
    /// So many columns are enough.
    const COLUMNS: usize = 1024;
    let at = axes.iter().position(|axis| axis.to == row).unwrap_or(0);
    let rows = axes[at];
    // The places of the columns, relative to the first.
    let mut columns: Vec<isize> = vec![0];
    let mut first = axes.len();
    while first > at + 1 {
        let axis = axes[first - 1];
        if first < axes.len() && columns.len() * axis.n > COLUMNS {
            break;
        }
        first -= 1;
        let inner = std::mem::take(&mut columns);
        columns = (0..axis.n as isize)
            .flat_map(|i| inner.iter().map(move |c| c + i * axis.from))
            .collect();
    }
    let others: Vec<Axis> = [&axes[..at], &axes[at + 1..first]].concat();
    let bytes = axes.iter().map(|axis| axis.n).product::<usize>() * size_of::<W>();
    let lines = (columns.len() * size_of::<W>()).is_multiple_of(LINE) && columns.len() as isize == rows.to;
    if bytes >= PAST && lines && W::streams(rows.from) {
        each(&others, |from, to| {
            // SAFETY: the rows and columns of one part of the layout.
            unsafe { streamed(source.offset(from), out.offset(to), rows, &columns) };
        });
        return fence();
    }
    // With few columns, the places that come next in the source are far from those at hand.
    let far = columns.len() <= SIDE;
    each(&others, |from, to| {
        for i in (0..rows.n).step_by(SIDE) {
            let tile = Axis {
                n: SIDE.min(rows.n - i),
                ..rows
            };
            if far && i + 2 * SIDE <= rows.n {
                let below = source.wrapping_offset(from + (i + SIDE) as isize * rows.from);
                columns.iter().for_each(|c| soon(below.wrapping_offset(*c), SIDE));
            }
            for (j, part) in columns.chunks(SIDE).enumerate() {
                // SAFETY: the tile is a part of the positions of the layout; its rows and columns are theirs.
                unsafe {
                    let source = source.offset(from + i as isize * rows.from);
                    let out = out.offset(to + i as isize * rows.to + (j * SIDE) as isize);
                    W::tile(source, out, tile, part);
                }
            }
        }
    });
}

/// Copies rows that follow each other without a gap, whole lines of the cache at a time and past the caches.
///
/// The result may begin within a line. Then what is written as a row begins with the first whole line: it ends with the
/// first words of the row after it.
///
/// # Safety
/// As of [`Word::tile`]; the columns fill lines, and `W` streams.
unsafe fn streamed<W: Word>(source: *const W, out: *mut W, rows: Axis, columns: &[isize]) {
    let head = out.align_offset(LINE).min(columns.len());
    let (first, later) = columns.split_at(head);
    let n = rows.n - usize::from(head > 0);
    let turned: Vec<isize> = later
        .iter()
        .copied()
        .chain(first.iter().map(|c| c + rows.from))
        .collect();
    // SAFETY: the first words of the first row, the turned rows, and what is left of the last row.
    unsafe {
        W::tile(source, out, Axis { n: 1, ..rows }, first);
        let begin = out.add(head);
        W::stream(source, begin, Axis { n, ..rows }, &turned);
        if head > 0 {
            let last = Axis { n: 1, ..rows };
            W::tile(
                source.offset(n as isize * rows.from),
                begin.offset(n as isize * rows.to),
                last,
                later,
            );
        }
    }
}

/// Bytes of a line of the cache.
const LINE: usize = 64;

/// So many bytes do not stay in the caches until they are read.
const PAST: usize = 8 << 20;

/// Says that `n` words will be read soon.
#[inline(always)]
fn soon<W>(place: *const W, n: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..n * size_of::<W>()).step_by(LINE) {
        // SAFETY: a hint reads nothing.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                place.cast::<i8>().wrapping_add(line),
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, n);
}

/// Calls `f` with the places of every position on both sides, in order.
fn each(axes: &[Axis], mut f: impl FnMut(isize, isize)) {
    let count: usize = axes.iter().map(|axis| axis.n).product();
    let mut index = vec![0usize; axes.len()];
    let (mut from, mut to) = (0, 0);
    for _ in 0..count {
        f(from, to);
        for (i, axis) in index.iter_mut().zip(axes).rev() {
            *i += 1;
            (from, to) = (from + axis.from, to + axis.to);
            if *i < axis.n {
                break;
            }
            (from, to) = (from - axis.from * axis.n as isize, to - axis.to * axis.n as isize);
            *i = 0;
        }
    }
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
