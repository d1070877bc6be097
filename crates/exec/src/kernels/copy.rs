//! Copying views into contiguous memory: transposition, slicing, diagonals, repetition.
//!
//! Words are copied as bits, whatever their type. If neighbours in the result are neighbours in the source, whole runs
//! are copied; if other axes are closer together in the source, both sides are traversed in tiles that fit the cache.
#![allow(
    unsafe_code,
    reason = "words are accessed through pointers; the view guarantees every source location, the result its capacity"
)]

use std::any::TypeId;

use half::{bf16, f16};
use rayon::prelude::*;
use smallvec::{SmallVec, smallvec};

use super::pages::room_from;
use super::room::Room;
use super::threads::worth;
use super::tile::{Word, fence};
use tautomer_tensor::Element;
use tautomer_tensor::strided::{Layout, View};

/// The elements of a view in row-major order.
pub(super) fn gather<T: Clone + 'static>(view: &View<'_, T>) -> Vec<T> {
    // Smaller results get pages that the allocator has used before, and with large pages, rows at power-of-two
    // distances map to few cache sets.
    let n = view.layout().len();
    let mut out = room_from(n, 32 << 20);
    // SAFETY: the vector is empty and has room for so many elements.
    match unsafe { write(1, view, out.as_mut_ptr()) } {
        // SAFETY: all of them have been written.
        true => unsafe { out.set_len(n) },
        false => out = view.to_vec(),
    }
    out
}

/// The elements of a view in row-major order, in the memory of `out`.
pub(super) fn gather_in<'a, T: Element>(threads: usize, view: &View<'_, T>, mut out: Room<'a, T>) -> Room<'a, T> {
    let n = view.layout().len();
    let start = out.spare(n);
    // SAFETY: `spare` has made room for so many elements.
    match unsafe { write(threads, view, start) } {
        // SAFETY: all of them have been written.
        true => unsafe { out.set_len(n) },
        false => out = Room::from(view.to_vec()),
    }
    out
}

/// Writes the elements of a view in row-major order; false, without writing, if they are not plain bits.
///
/// # Safety
/// There is room for all of them.
unsafe fn write<T: Clone + 'static>(threads: usize, view: &View<'_, T>, out: *mut T) -> bool {
    // SAFETY: upheld by the caller.
    unsafe {
        match word::<T>() {
            Some(1) => words::<T, u8>(threads, view, out),
            Some(2) => words::<T, u16>(threads, view, out),
            Some(4) => words::<T, u32>(threads, view, out),
            Some(8) => words::<T, u64>(threads, view, out),
            _ => return false,
        }
    }
    true
}

/// The size of an element that is plain bits; `None` for other types.
fn word<T: 'static>() -> Option<usize> {
    macro_rules! any_of {
        ($($ty:ty),*) => {
            [$(TypeId::of::<$ty>()),*].contains(&TypeId::of::<T>())
        };
    }
    let plain = any_of!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, usize);
    (plain && align_of::<T>() == size_of::<T>()).then_some(size_of::<T>())
}

/// The offsets of the columns of a tile, on the stack unless an axis is long.
type Columns = SmallVec<[isize; 1024]>;

/// An axis that is traversed on both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axis {
    /// Size.
    pub(super) n: usize,
    /// The stride in the source.
    pub(super) from: isize,
    /// The stride in the result.
    pub(super) to: isize,
}

/// Writes all elements to `out`.
///
/// # Safety
/// There is room for them.
unsafe fn words<T: 'static, W: Word>(threads: usize, view: &View<'_, T>, out: *mut T) {
    let layout = view.layout().coalesced();
    if layout.is_empty() {
        return;
    }
    // SAFETY: `T` is one of the types of `word`, has the size and alignment of `W`, and accepts any of its bit
    // patterns. The view was checked when it was created, so every location of the layout is within its elements; the
    // caller has room for one word for each location, and `fill` writes each once.
    unsafe {
        let source = view.elements().as_ptr().cast::<W>().add(layout.start());
        divide(threads, source, out.cast::<W>(), &layout);
    }
}

/// The two sides of a copy, for threads that write disjoint parts of the result.
struct Sides<W> {
    source: *const W,
    out: *mut W,
}

// SAFETY: threads read one side, and write disjoint parts of the other.
unsafe impl<W> Sync for Sides<W> {}

/// Writes the words of a merged, non-empty layout in order; `source` points at the first. Each thread has some positions
/// along the first axis.
///
/// # Safety
/// Every location of the layout can be read, and the result has room for as many words as there are locations.
unsafe fn divide<W: Word>(threads: usize, source: *const W, out: *mut W, layout: &Layout) {
    let mut to = 1;
    let mut axes: SmallVec<[Axis; 6]> = SmallVec::new();
    for (&n, &from) in layout.shape().iter().zip(layout.strides()).rev() {
        axes.push(Axis { n, from, to });
        to *= n as isize;
    }
    axes.reverse();
    let first = axes.first().copied().unwrap_or(Axis { n: 1, from: 0, to: 0 });
    let share = first.n.div_ceil(worth(threads, layout.len()));
    if share >= first.n {
        // SAFETY: upheld by the caller.
        return unsafe { fill(source, out, &axes) };
    }
    let sides = Sides { source, out };
    (0..first.n.div_ceil(share)).into_par_iter().for_each(|i| {
        let (sides, mut axes, start) = (&sides, axes.clone(), i * share);
        axes[0].n = share.min(first.n - start);
        // SAFETY: by the caller; these positions along the first axis are those of no other thread.
        unsafe {
            let source = sides.source.offset(start as isize * first.from);
            fill(source, sides.out.offset(start as isize * first.to), &axes);
        }
    });
}

/// Writes the words at the positions along axes in order; `source` points at the first.
///
/// # Safety
/// As for [`divide`].
unsafe fn fill<W: Word>(source: *const W, out: *mut W, axes: &[Axis]) {
    let Some((&last, outer)) = axes.split_last() else {
        // SAFETY: a layout without axes has one location.
        unsafe { out.write(*source) };
        return;
    };
    // Tiles of a few rows are not worth it: single words of as many neighbours are read one row after the other.
    const FEW: usize = 4;
    let near = |axis: &&Axis| axis.from != 0 && axis.n > FEW && axis.from.unsigned_abs() < last.from.unsigned_abs();
    let closest = outer.iter().filter(near).min_by_key(|axis| axis.from.unsigned_abs());
    if let Some(closest) = closest {
        // SAFETY: upheld by the caller.
        return unsafe { tiled(source, out, axes, closest.to) };
    }
    let (middle, outer) = match outer.split_last() {
        Some((middle, outer)) => (*middle, outer),
        None => (Axis { n: 1, from: 0, to: 0 }, outer),
    };
    each(outer, |from, to| {
        for i in 0..middle.n as isize {
            // SAFETY: both are the locations of one position of the layout, with all of the last axis after them.
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
/// They can be read, and written contiguously.
#[inline(always)]
unsafe fn run<W: Word>(source: *const W, out: *mut W, n: usize, step: isize) {
    // Longer runs are left to the C library.
    const SHORT: usize = 16;
    // SAFETY: upheld by the caller.
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

/// Copies in tiles: rows along the axis with stride `row` in the result, which is close together in the source, and
/// columns along the last axes of the result.
///
/// # Safety
/// Same as for [`fill`].
unsafe fn tiled<W: Word>(source: *const W, out: *mut W, axes: &[Axis], row: isize) {
    /// The maximum number of rows and columns of a tile.
    const SIDE: usize = 128;
    /// This many columns are enough.
    const COLUMNS: usize = 1024;
    let at = axes.iter().position(|axis| axis.to == row).unwrap_or(0);
    let rows = axes[at];
    // The offsets of the columns, relative to the first.
    let mut columns: Columns = smallvec![0];
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
    let others: SmallVec<[Axis; 6]> = axes[..at].iter().chain(&axes[at + 1..first]).copied().collect();
    let bytes = axes.iter().map(|axis| axis.n).product::<usize>() * size_of::<W>();
    let lines = (columns.len() * size_of::<W>()).is_multiple_of(LINE) && columns.len() as isize == rows.to;
    if bytes >= PAST && lines && W::streams(rows.from) {
        each(&others, |from, to| {
            // SAFETY: these are the rows and columns of one part of the layout.
            unsafe { streamed(source.offset(from), out.offset(to), rows, &columns) };
        });
        return fence();
    }
    // With few columns, the next locations in the source are far from the current ones.
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
                // SAFETY: the tile is part of the layout's positions, and so are its rows and columns.
                unsafe {
                    let source = source.offset(from + i as isize * rows.from);
                    let out = out.offset(to + i as isize * rows.to + (j * SIDE) as isize);
                    W::tile(source, out, tile, part);
                }
            }
        }
    });
}

/// Copies contiguous rows in whole cache lines, bypassing the caches.
///
/// The result may start within a line. Then each written row starts at the first whole line and ends with the first
/// words of the row after it.
///
/// # Safety
/// As for [`Word::tile`]; the columns fill whole lines, and `W` streams.
unsafe fn streamed<W: Word>(source: *const W, out: *mut W, rows: Axis, columns: &[isize]) {
    let head = out.align_offset(LINE).min(columns.len());
    let (first, later) = columns.split_at(head);
    let n = rows.n - usize::from(head > 0);
    let turned: Columns = later
        .iter()
        .copied()
        .chain(first.iter().map(|c| c + rows.from))
        .collect();
    // SAFETY: the first words of the first row, the rotated rows, and the rest of the last row.
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

/// Bytes of a cache line.
const LINE: usize = 64;

/// Results of this many bytes do not stay in the caches until they are read.
const PAST: usize = 8 << 20;

/// Prefetches `n` words.
#[inline(always)]
fn soon<W>(place: *const W, n: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in (0..n * size_of::<W>()).step_by(LINE) {
        // SAFETY: a prefetch hint reads nothing.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(
                place.cast::<i8>().wrapping_add(line),
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (place, n);
}

/// Calls `f` with the offsets of every position on both sides, in order.
fn each(axes: &[Axis], mut f: impl FnMut(isize, isize)) {
    let count: usize = axes.iter().map(|axis| axis.n).product();
    let mut index: SmallVec<[usize; 6]> = smallvec![0; axes.len()];
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
