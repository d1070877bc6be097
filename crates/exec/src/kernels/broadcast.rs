//! Loops over arrays that broadcast to one shape: axes are merged, and the innermost one is a plain loop over slices.

use std::ops::DerefMut;

use pulp::{Arch, NullaryFnOnce};
use smallvec::{SmallVec, smallvec};

use super::room::Room;
use tautomer_tensor::Element;

/// The axes of the result with the strides of each operand, outermost first, after merging: axes of size 1 are dropped,
/// and adjacent axes that every operand traverses alike become one. Strides along the last axis are 0 or 1.
pub(super) struct Axes<const N: usize> {
    outer: SmallVec<[(usize, [usize; N]); 6]>,
    inner: (usize, [usize; N]),
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

    /// Calls `row` with the first index of each operand for every row of the result, in order.
    #[inline(always)]
    fn rows(&self, mut row: impl FnMut([usize; N])) {
        if self.outer.iter().any(|&(extent, _)| extent == 0) {
            return;
        }
        let mut index: SmallVec<[usize; 6]> = smallvec![0; self.outer.len()];
        let mut at = [0usize; N];
        loop {
            row(at);
            let mut axis = self.outer.len();
            loop {
                let Some(next) = axis.checked_sub(1) else { return };
                axis = next;
                let (extent, strides) = self.outer[axis];
                index[axis] += 1;
                if index[axis] < extent {
                    (0..N).for_each(|i| at[i] += strides[i]);
                    break;
                }
                (0..N).for_each(|i| at[i] -= strides[i] * (extent - 1));
                index[axis] = 0;
            }
        }
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
pub(super) fn map<T: Copy, R: Copy, O: DerefMut<Target = [R]>>(x: &[T], f: impl Fn(T) -> R, mut out: O) -> O {
    Arch::new().dispatch(Map { x, out: &mut out, f });
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
pub(super) fn map_over<T: Copy, O: DerefMut<Target = [T]>>(f: impl Fn(T) -> T, mut out: O) -> O {
    Arch::new().dispatch(MapOver { out: &mut out, f });
    out
}

struct ZipOver<'a, A, B, F> {
    axes: &'a Axes<1>,
    b: &'a [B],
    out: &'a mut [A],
    f: F,
}

impl<A: Copy, B: Copy, F: Fn(A, B) -> A> NullaryFnOnce for ZipOver<'_, A, B, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let ZipOver { axes, b, out, f } = self;
        let (n, [sb]) = axes.inner;
        if n == 0 {
            return;
        }
        let mut rows = out.chunks_exact_mut(n);
        axes.rows(|[pb]| {
            let Some(row) = rows.next() else { return };
            if sb == 0 {
                let y = b[pb];
                row.iter_mut().for_each(|o| *o = f(*o, y));
            } else {
                row.iter_mut().zip(&b[pb..][..n]).for_each(|(o, &y)| *o = f(*o, y));
            }
        });
    }
}

/// Applies `f` in place to the elements of `out`, which has this shape, and those of an operand that broadcasts to it;
/// `None` if it does not.
pub(super) fn zip_over<A: Copy, B: Copy, O: DerefMut<Target = [A]>>(
    shape: &[usize],
    (b, sb): (&[B], &[usize]),
    f: impl Fn(A, B) -> A,
    mut out: O,
) -> Option<O> {
    let axes = Axes::new(shape, [sb])?;
    if !out.is_empty() {
        Arch::new().dispatch(ZipOver {
            axes: &axes,
            b,
            out: &mut out,
            f,
        });
    }
    Some(out)
}

struct Zip<'a, A, B, R, F> {
    axes: &'a Axes<2>,
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [R],
    f: F,
}

impl<A: Copy, B: Copy, R, F: Fn(A, B) -> R> NullaryFnOnce for Zip<'_, A, B, R, F> {
    type Output = ();
    #[inline(always)]
    fn call(self) {
        let Zip { axes, a, b, out, f } = self;
        let (n, [sa, sb]) = axes.inner;
        if n == 0 {
            return;
        }
        let mut rows = out.chunks_exact_mut(n);
        axes.rows(|[pa, pb]| {
            let Some(row) = rows.next() else { return };
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
pub(super) fn zip<A: Copy, B: Copy, R: Copy, O: DerefMut<Target = [R]>>(
    shape: &[usize],
    (a, sa): (&[A], &[usize]),
    (b, sb): (&[B], &[usize]),
    f: impl Fn(A, B) -> R,
    mut out: O,
) -> Option<O> {
    let axes = Axes::new(shape, [sa, sb])?;
    if !out.is_empty() {
        Arch::new().dispatch(Zip {
            axes: &axes,
            a,
            b,
            out: &mut out,
            f,
        });
    }
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
    let (n, [ta, tb]) = axes.inner;
    if !out.is_empty() {
        let mut rows = out.chunks_exact_mut(n);
        axes.rows(|[pa, pb]| {
            let row = rows.next().into_iter().flatten();
            row.enumerate()
                .for_each(|(i, o)| *o = f(a[pa + i * ta], b[pb + i * tb]));
        });
    }
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
    let (n, [tb]) = axes.inner;
    if !out.is_empty() {
        let mut rows = out.chunks_exact_mut(n);
        axes.rows(|[pb]| {
            let row = rows.next().into_iter().flatten();
            row.enumerate().for_each(|(i, o)| *o = f(*o, b[pb + i * tb]));
        });
    }
    Some(out)
}

/// The elements of `a` where `condition` holds, else those of `b`, after broadcasting to `out`; `result` is empty.
pub(super) fn select<'a, T: Element>(
    out: &[usize],
    (condition, sc): (&[bool], &[usize]),
    (a, sa): (&[T], &[usize]),
    (b, sb): (&[T], &[usize]),
    mut result: Room<'a, T>,
) -> Option<Room<'a, T>> {
    let axes = Axes::new(out, [sc, sa, sb])?;
    let size: usize = out.iter().product();
    if size > 0 {
        let (n, [tc, ta, tb]) = axes.inner;
        axes.rows(|[pc, pa, pb]| {
            result.extend((0..n).map(|i| {
                if condition[pc + i * tc] {
                    a[pa + i * ta].clone()
                } else {
                    b[pb + i * tb].clone()
                }
            }));
        });
    }
    Some(result)
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
            &[2, 2, 3],
            (&[10, 20], &[2, 1, 1]),
            (&[0, 1, 2, 3, 4, 5], &[2, 3]),
            |a: i32, b: i32| a + b,
            vec![0; 12],
        );
        assert_eq!(out.unwrap(), [10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25]);
        let none = zip(
            &[0, 3],
            (&[0i32; 0], &[0, 3]),
            (&[1i32], &[1]),
            |a: i32, b: i32| a + b,
            Vec::new(),
        );
        assert!(none.unwrap().is_empty());
    }
}
