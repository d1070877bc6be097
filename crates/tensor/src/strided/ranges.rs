//! Layouts derived from layouts: slices, permutations, diagonals, broadcasting, reshaping, windows.

use super::Layout;
use super::layout::{LayoutError, front, product};

impl Layout {
    /// The layout whose axis `axis` starts at position `first` and has another size and stride.
    fn with_axis(&self, axis: usize, first: usize, extent: usize, stride: isize) -> Result<Layout, LayoutError> {
        let mut out = self.clone();
        out.shape[axis] = extent;
        out.strides[axis] = stride;
        out.len = product(&out.shape)?;
        if !out.is_empty() {
            out.start = (self.start as isize + first as isize * self.strides[axis]) as usize;
        }
        Ok(out)
    }

    /// A range of an axis as in Python: negative bounds count from the end, bounds are clamped to the axis, and a
    /// negative step goes backwards.
    ///
    /// ```
    /// use tautomer_tensor::strided::Layout;
    /// let line = Layout::row_major(&[5]).unwrap();
    /// let back = line.slice(0, None, None, -2).unwrap();
    /// assert_eq!(back.offsets().collect::<Vec<_>>(), [4, 2, 0]);
    /// ```
    ///
    /// # Errors
    /// If the axis does not exist, or the step is zero.
    pub fn slice(&self, axis: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Result<Layout, LayoutError> {
        let axis = front(axis, self.rank())?;
        if step == 0 {
            return Err(LayoutError::Step(step));
        }
        let n = self.shape[axis] as i64;
        let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
        let place = |bound: Option<i64>, default: i64| match bound {
            None => default,
            Some(p) => (if p < 0 { p.saturating_add(n) } else { p }).clamp(low, high),
        };
        let (first, last) = if step > 0 { (low, high) } else { (high, low) };
        let (start, stop) = (place(start, first), place(stop, last));
        let span = if step > 0 { stop - start } else { start - stop };
        let count = if span > 0 {
            (span as u64).div_ceil(step.unsigned_abs())
        } else {
            0
        };
        // With a single element the step is not used, however large it is.
        let stride = if count > 1 {
            self.strides[axis].saturating_mul(step as isize)
        } else {
            self.strides[axis]
        };
        self.with_axis(axis, start.max(0) as usize, count as usize, stride)
    }

    /// A block: `size[i]` elements of axis `i` from `begin[i]` on; a size of -1 means all remaining elements.
    ///
    /// # Errors
    /// If the length of a list is not the number of axes, or a range exceeds its axis.
    pub fn dice(&self, begin: &[i64], size: &[i64]) -> Result<Layout, LayoutError> {
        let rank = self.rank();
        for list in [begin, size] {
            if list.len() != rank {
                return Err(LayoutError::Rank {
                    given: list.len(),
                    rank,
                });
            }
        }
        let mut out = self.clone();
        for axis in 0..rank {
            let (extent, begin, size) = (self.shape[axis], begin[axis], size[axis]);
            let outside = LayoutError::Range { begin, size, extent };
            let Some(left) = usize::try_from(begin).ok().and_then(|b| extent.checked_sub(b)) else {
                return Err(outside);
            };
            let count = match usize::try_from(size) {
                Ok(n) if n <= left => n,
                Err(_) if size == -1 => left,
                _ => return Err(outside),
            };
            out = out.with_axis(axis, begin as usize, count, self.strides[axis])?;
        }
        Ok(out)
    }

    /// Permutes the axes: axis `i` of the result is axis `order[i]`, counted from the end if negative.
    ///
    /// # Errors
    /// If the order does not list every axis exactly once.
    pub fn permute(&self, order: &[i64]) -> Result<Layout, LayoutError> {
        let rank = self.rank();
        let mut used = vec![false; rank];
        let mut out = self.clone();
        for (i, &axis) in order.iter().enumerate() {
            let axis = front(axis, rank)?;
            if std::mem::replace(&mut used[axis], true) {
                return Err(LayoutError::Repeated(axis));
            }
            (out.shape[i], out.strides[i]) = (self.shape[axis], self.strides[axis]);
        }
        if order.len() != rank {
            return Err(LayoutError::Rank {
                given: order.len(),
                rank,
            });
        }
        Ok(out)
    }

    /// The elements whose position along `second` is that along `first` plus `offset`, as a last axis that replaces the
    /// two.
    ///
    /// # Errors
    /// If an axis does not exist, or both are the same.
    pub fn diagonal(&self, offset: i64, first: i64, second: i64) -> Result<Layout, LayoutError> {
        let (a, b) = (front(first, self.rank())?, front(second, self.rank())?);
        if a == b {
            return Err(LayoutError::Repeated(a));
        }
        let skip = |n: i64| usize::try_from(n).unwrap_or(usize::MAX);
        let (down, right) = (skip(offset.saturating_neg().max(0)), skip(offset.max(0)));
        let count = self.shape[a]
            .saturating_sub(down)
            .min(self.shape[b].saturating_sub(right));
        let mut out = self.clone();
        for axis in [a.max(b), a.min(b)] {
            out.shape.remove(axis);
            out.strides.remove(axis);
        }
        out.shape.push(count);
        out.strides.push(self.strides[a].saturating_add(self.strides[b]));
        out.len = product(&out.shape)?;
        if !out.is_empty() {
            let moved = down as isize * self.strides[a] + right as isize * self.strides[b];
            out.start = (self.start as isize + moved) as usize;
        }
        Ok(out)
    }

    /// Broadcasts to `shape`: new axes in front, and axes of size 1, repeat their elements.
    ///
    /// # Errors
    /// If a dimension is neither 1 nor the requested one.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Layout, LayoutError> {
        let rank = self.rank();
        let Some(new) = shape.len().checked_sub(rank) else {
            return Err(LayoutError::Rank {
                given: shape.len(),
                rank,
            });
        };
        let mut out = Layout {
            shape: shape.into(),
            strides: std::iter::repeat_n(0, shape.len()).collect(),
            start: self.start,
            len: product(shape)?,
        };
        for (i, (&from, &stride)) in self.shape.iter().zip(&self.strides).enumerate() {
            let to = shape[new + i];
            match from {
                _ if from == to => out.strides[new + i] = stride,
                1 => {}
                _ => return Err(LayoutError::Broadcast { from, to }),
            }
        }
        Ok(out)
    }

    /// The same elements in row-major order in another shape, or `None` if no strides can express it.
    ///
    /// ```
    /// use tautomer_tensor::strided::Layout;
    /// let x = Layout::row_major(&[4, 6]).unwrap();
    /// assert!(x.reshape(&[2, 2, 6]).unwrap().is_some());
    /// assert!(x.permute(&[1, 0]).unwrap().reshape(&[24]).unwrap().is_none());
    /// ```
    ///
    /// # Errors
    /// If the shape has a different number of elements.
    pub fn reshape(&self, shape: &[usize]) -> Result<Option<Layout>, LayoutError> {
        let mut out = Layout::row_major(shape)?;
        if out.len != self.len {
            return Err(LayoutError::Size {
                from: self.len,
                to: out.len,
            });
        }
        out.start = self.start;
        if out.is_empty() {
            return Ok(Some(out));
        }
        // New axes are split off the merged ones, innermost first.
        let own = self.coalesced();
        let mut axes = own.shape.iter().copied().zip(own.strides.iter().copied()).rev();
        let (mut left, mut stride) = axes.next().unwrap_or((1, 1));
        for (n, s) in shape.iter().zip(out.strides.iter_mut()).rev() {
            if left == 1 && *n > 1 {
                (left, stride) = axes.next().unwrap_or((1, 1));
            }
            if left % n != 0 {
                return Ok(None);
            }
            *s = stride;
            left /= n;
            stride = stride.saturating_mul(*n as isize);
        }
        Ok(Some(out))
    }

    /// Windows of `size` elements along an axis, each `step` further than the one before: the axis then counts the
    /// windows, and a new last axis holds their elements.
    ///
    /// # Errors
    /// If the axis does not exist, the step is not positive, or the axis is shorter than a window.
    pub fn windows(&self, axis: i64, size: usize, step: usize) -> Result<Layout, LayoutError> {
        let axis = front(axis, self.rank())?;
        let extent = self.shape[axis];
        let signed = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        if step == 0 {
            return Err(LayoutError::Step(0));
        }
        let Some(last) = extent.checked_sub(size) else {
            return Err(LayoutError::Range {
                begin: 0,
                size: signed(size),
                extent,
            });
        };
        let count = last / step + 1;
        let own = self.strides[axis];
        let stride = if count > 1 {
            own.saturating_mul(step as isize)
        } else {
            own
        };
        let mut out = self.with_axis(axis, 0, count, stride)?;
        out.shape.push(size);
        out.strides.push(own);
        out.len = product(&out.shape)?;
        Ok(out)
    }
}
