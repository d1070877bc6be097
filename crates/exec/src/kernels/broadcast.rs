//! Loops over arrays that broadcast to one shape: axes are merged, and the innermost one is a plain loop over slices.

use std::ops::DerefMut;

use pulp::{Arch, NullaryFnOnce};
use smallvec::{SmallVec, smallvec};

use super::threads::{in_parts, worth};

/// The axes of the result with the strides of each operand, outermost first, after merging: axes of size 1 are dropped,
/// and adjacent axes that every operand traverses alike become one. Strides along the last axis are 0 or 1.
pub(super) struct Axes<const N: usize> {
    outer: SmallVec<[(usize, [usize; N]); 6]>,
    inner: (usize, [usize; N]),
}

/// A row of the result: its index along each outer axis, and the first index of each operand there.
struct Position<const N: usize> {
    index: SmallVec<[usize; 6]>,
    at: [usize; N],
}

impl<const N: usize> Axes<N> {
    /// The axes for operands in row-major order; `None` if one of them does not broadcast to `out`.
    pub(super) fn new(out: &[usize], operands: [&[usize]; N]) -> Option<Axes<N>> {
        let mut axes: SmallVec<[(usize, [usize; N]); 6]> = SmallVec::new();
        let mut strides = [1usize; N];
        for (from_end, &extent) in out.iter().rev().enumerate() {
            let mut here = [0; N];
            for ((stride, here), shape) in strides.iter_mut().zip(&mut here).zip(operands) {
                let Some(&own) = shape.len().checked_sub(from_end + 1).and_then(|i| shape.get(i)) else {
                    continue;
                };
                if own == extent {
                    *here = if extent == 1 { 0 } else { *stride };
                } else if own != 1 {
                    return None;
                }
                *stride *= own;
            }
            match axes.last_mut() {
                _ if extent == 1 => {}
                Some((inner, inner_strides)) if (0..N).all(|i| here[i] == inner_strides[i] * *inner) => {
                    *inner *= extent;
                }
                _ => axes.push((extent, here)),
            }
        }
        if operands.iter().any(|shape| shape.len() > out.len()) {
            return None;
        }
        let inner = if axes.is_empty() { (1, [0; N]) } else { axes.remove(0) };
        axes.reverse();
        Some(Axes { outer: axes, inner })
    }

    /// Calls `row` with each row of `out` and the first index of each operand there, in order. The first element of `out`
    /// is that of row `first`, or element `first` of the result if it has one row.
    #[inline(always)]
    fn rows<R>(&self, first: usize, out: &mut [R], mut row: impl FnMut(&mut [R], [usize; N])) {
        if out.is_empty() {
            return;
        }
        let mut position = self.position(first);
        if self.outer.is_empty() {
            return row(out, position.at);
        }
        for out in out.chunks_exact_mut(self.inner.0) {
            row(out, position.at);
            self.advance(&mut position);
        }
    }

    /// The position of row `first`, or of element `first` if there is one row. Like `advance`, it is compiled once, and
    /// not with each function of rows.
    #[inline(never)]
    fn position(&self, first: usize) -> Position<N> {
        let mut index: SmallVec<[usize; 6]> = smallvec![0; self.outer.len()];
        if self.outer.is_empty() {
            let at = self.inner.1.map(|stride| first * stride);
            return Position { index, at };
        }
        let (mut at, mut rest) = ([0usize; N], first);
        for (index, (extent, strides)) in index.iter_mut().zip(&self.outer).rev() {
            *index = rest % extent;
            rest /= extent;
            (0..N).for_each(|i| at[i] += *index * strides[i]);
        }
        Position { index, at }
    }

    /// Goes to the next row.
    #[inline(never)]
    fn advance(&self, Position { index, at }: &mut Position<N>) {
        for (index, (extent, strides)) in index.iter_mut().zip(&self.outer).rev() {
            *index += 1;
            if *index < *extent {
                (0..N).for_each(|i| at[i] += strides[i]);
                break;
            }
            (0..N).for_each(|i| at[i] -= strides[i] * (extent - 1));
            *index = 0;
        }
    }

    /// Calls `f` with parts of `out`, and what [`Axes::rows`] has to know of each.
    fn in_parts<R: Send>(&self, threads: usize, out: &mut [R], f: impl Fn(usize, &mut [R]) + Sync) {
        let unit = if self.outer.is_empty() { 1 } else { self.inner.0 };
        in_parts(worth(threads, out.len()), out, unit, f);
    }
}

struct Map<'a, T, R, F> {
    x: &'a [T],
    out: &'a mut [R],
    f: F,
}

impl<T: Copy, R, F: Fn(T) -> R> NullaryFnOnce for Map<'_, T, R, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        for (o, &x) in self.out.iter_mut().zip(self.x) {
            *o = (self.f)(x);
        }
    }
}

/// `f` of every element, in `out`, which has as many.
pub(super) fn map<T: Copy + Sync, R: Copy + Send, O: DerefMut<Target = [R]>>(
    threads: usize,
    x: &[T],
    f: impl Fn(T) -> R + Sync,
    mut out: O,
) -> O {
    in_parts(worth(threads, x.len()), &mut out, 1, |first, out| {
        let (x, f) = (&x[first..], &f);
        Arch::new().dispatch(Map { x, out, f });
    });
    out
}

struct MapOver<'a, T, F> {
    out: &'a mut [T],
    f: F,
}

impl<T: Copy, F: Fn(T) -> T> NullaryFnOnce for MapOver<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        for x in self.out {
            *x = (self.f)(*x);
        }
    }
}

/// Applies `f` to every element in place.
pub(super) fn map_over<T: Copy + Send, O: DerefMut<Target = [T]>>(
    threads: usize,
    f: impl Fn(T) -> T + Sync,
    mut out: O,
) -> O {
    in_parts(worth(threads, out.len()), &mut out, 1, |_, out| {
        Arch::new().dispatch(MapOver { out, f: &f });
    });
    out
}

/// A function of one element. It is inlined wherever it is used, and its parameters are copied: a closure with a long
/// body would be compiled once, for the least instructions, and parameters that it borrows might change with each
/// result.
pub(super) trait Function<T, R>: Copy + Sync {
    fn of(self, x: T) -> R;
}

struct MapOf<'a, T, R, G> {
    x: &'a [T],
    out: &'a mut [R],
    g: G,
}

impl<T: Copy, R, G: Function<T, R>> NullaryFnOnce for MapOf<'_, T, R, G> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        for (o, &x) in self.out.iter_mut().zip(self.x) {
            *o = self.g.of(x);
        }
    }
}

/// A function of every element, in `out`, which has as many.
pub(super) fn map_of<T: Copy + Sync, R: Copy + Send, O: DerefMut<Target = [R]>>(
    threads: usize,
    x: &[T],
    g: impl Function<T, R>,
    mut out: O,
) -> O {
    in_parts(worth(threads, x.len()), &mut out, 1, |first, out| {
        let x = &x[first..];
        Arch::new().dispatch(MapOf { x, out, g });
    });
    out
}

struct MapOverOf<'a, T, G> {
    out: &'a mut [T],
    g: G,
}

impl<T: Copy, G: Function<T, T>> NullaryFnOnce for MapOverOf<'_, T, G> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        for x in self.out {
            *x = self.g.of(*x);
        }
    }
}

/// Applies a function to every element in place.
pub(super) fn map_over_of<T: Copy + Send, O: DerefMut<Target = [T]>>(
    threads: usize,
    g: impl Function<T, T>,
    mut out: O,
) -> O {
    in_parts(worth(threads, out.len()), &mut out, 1, |_, out| {
        Arch::new().dispatch(MapOverOf { out, g });
    });
    out
}

struct ZipOver<'a, A, B, F> {
    axes: &'a Axes<1>,
    first: usize,
    b: &'a [B],
    out: &'a mut [A],
    f: F,
}

impl<A: Copy, B: Copy, F: Fn(A, B) -> A> NullaryFnOnce for ZipOver<'_, A, B, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let ZipOver { axes, first, b, out, f } = self;
        let (_, [sb]) = axes.inner;
        axes.rows(first, out, |row, [pb]| {
            if sb == 0 {
                let y = b[pb];
                row.iter_mut().for_each(|o| *o = f(*o, y));
            } else {
                let b = &b[pb..][..row.len()];
                row.iter_mut().zip(b).for_each(|(o, &y)| *o = f(*o, y));
            }
        });
    }
}

/// Applies `f` in place to the elements of `out`, which has this shape, and those of an operand that broadcasts to it;
/// `None` if it does not.
pub(super) fn zip_over<A: Copy + Send, B: Copy + Sync, O: DerefMut<Target = [A]>>(
    threads: usize,
    shape: &[usize],
    (b, sb): (&[B], &[usize]),
    f: impl Fn(A, B) -> A + Sync,
    mut out: O,
) -> Option<O> {
    let axes = Axes::new(shape, [sb])?;
    axes.in_parts(threads, &mut out, |first, out| {
        let (axes, f) = (&axes, &f);
        Arch::new().dispatch(ZipOver { axes, first, b, out, f });
    });
    Some(out)
}

struct Zip<'a, A, B, R, F> {
    axes: &'a Axes<2>,
    first: usize,
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [R],
    f: F,
}

impl<A: Copy, B: Copy, R, F: Fn(A, B) -> R> NullaryFnOnce for Zip<'_, A, B, R, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Zip {
            axes,
            first,
            a,
            b,
            out,
            f,
        } = self;
        let (_, [sa, sb]) = axes.inner;
        axes.rows(first, out, |row, [pa, pb]| {
            let n = row.len();
            match (sa, sb) {
                (0, 0) => {
                    let (x, y) = (a[pa], b[pb]);
                    row.iter_mut().for_each(|o| *o = f(x, y));
                }
                (_, 0) => {
                    let y = b[pb];
                    row.iter_mut().zip(&a[pa..][..n]).for_each(|(o, &x)| *o = f(x, y));
                }
                (0, _) => {
                    let x = a[pa];
                    row.iter_mut().zip(&b[pb..][..n]).for_each(|(o, &y)| *o = f(x, y));
                }
                _ => {
                    let pairs = a[pa..][..n].iter().zip(&b[pb..][..n]);
                    row.iter_mut().zip(pairs).for_each(|(o, (&x, &y))| *o = f(x, y));
                }
            }
        });
    }
}

/// `f` of the pairs of elements after broadcasting to `shape`, in `out`, which has as many elements; `None` if the shapes
/// do not broadcast to it.
pub(super) fn zip<A: Copy + Sync, B: Copy + Sync, R: Copy + Send, O: DerefMut<Target = [R]>>(
    threads: usize,
    shape: &[usize],
    (a, sa): (&[A], &[usize]),
    (b, sb): (&[B], &[usize]),
    f: impl Fn(A, B) -> R + Sync,
    mut out: O,
) -> Option<O> {
    let axes = Axes::new(shape, [sa, sb])?;
    axes.in_parts(threads, &mut out, |first, out| {
        let (axes, f) = (&axes, &f);
        Arch::new().dispatch(Zip {
            axes,
            first,
            a,
            b,
            out,
            f,
        });
    });
    Some(out)
}

/// Like [`zip`], with one plain loop: for element types and operators that seldom take time outside of regions, since
/// loops for each instruction set and pattern of strides take long to compile.
pub(super) fn combine<A: Copy, B: Copy, R: Copy, O: DerefMut<Target = [R]>>(
    shape: &[usize],
    (a, sa): (&[A], &[usize]),
    (b, sb): (&[B], &[usize]),
    f: impl Fn(A, B) -> R,
    mut out: O,
) -> Option<O> {
    let axes = Axes::new(shape, [sa, sb])?;
    let (_, [ta, tb]) = axes.inner;
    axes.rows(0, &mut out, |row, [pa, pb]| {
        let row = row.iter_mut().enumerate();
        row.for_each(|(i, o)| *o = f(a[pa + i * ta], b[pb + i * tb]));
    });
    Some(out)
}

/// Like [`zip_over`], with one plain loop: see [`combine`].
pub(super) fn combine_over<A: Copy, B: Copy, O: DerefMut<Target = [A]>>(
    shape: &[usize],
    (b, sb): (&[B], &[usize]),
    f: impl Fn(A, B) -> A,
    mut out: O,
) -> Option<O> {
    let axes = Axes::new(shape, [sb])?;
    let (_, [tb]) = axes.inner;
    axes.rows(0, &mut out, |row, [pb]| {
        let row = row.iter_mut().enumerate();
        row.for_each(|(i, o)| *o = f(*o, b[pb + i * tb]));
    });
    Some(out)
}

/// The elements of `a` where `condition` holds, else those of `b`, after broadcasting to `shape`, in `out`, which has as
/// many elements.
pub(super) fn select<T: Clone + Send + Sync, O: DerefMut<Target = [T]>>(
    threads: usize,
    shape: &[usize],
    (condition, sc): (&[bool], &[usize]),
    (a, sa): (&[T], &[usize]),
    (b, sb): (&[T], &[usize]),
    mut out: O,
) -> Option<O> {
    let axes = Axes::new(shape, [sc, sa, sb])?;
    let (_, [tc, ta, tb]) = axes.inner;
    axes.in_parts(threads, &mut out, |first, out| {
        axes.rows(first, out, |row, [pc, pa, pb]| {
            for (i, o) in row.iter_mut().enumerate() {
                *o = match condition[pc + i * tc] {
                    true => a[pa + i * ta].clone(),
                    false => b[pb + i * tb].clone(),
                };
            }
        });
    });
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_merged() {
        let axes = Axes::new(&[2, 3, 4, 5], [&[2, 3, 4, 5], &[3, 1, 1]]).unwrap();
        assert_eq!(axes.inner, (20, [1, 0]));
        assert_eq!(axes.outer[..], [(2, [60, 0]), (3, [20, 1])]);
        let same = Axes::new(&[2, 1, 4], [&[2, 1, 4], &[2, 1, 4]]).unwrap();
        assert_eq!((same.inner, same.outer.len()), ((8, [1, 1]), 0));
        assert!(Axes::new(&[2], [&[3]]).is_none());
        assert!(Axes::new(&[2], [&[1, 2]]).is_none());
    }

    #[test]
    fn rows_come_in_order() {
        let out = zip(
            1,
            &[2, 2, 3],
            (&[10, 20], &[2, 1, 1]),
            (&[0, 1, 2, 3, 4, 5], &[2, 3]),
            |a: i32, b: i32| a + b,
            vec![0; 12],
        );
        assert_eq!(out.unwrap(), [10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25]);
        let none = zip(
            1,
            &[0, 3],
            (&[0i32; 0], &[0, 3]),
            (&[1i32], &[1]),
            |a: i32, b: i32| a + b,
            Vec::new(),
        );
        assert!(none.unwrap().is_empty());
    }
}
