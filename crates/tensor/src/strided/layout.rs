//! Layouts: shape, strides, and the offset of the first element.

use smallvec::SmallVec;

use super::{Offsets, Runs};

/// Why a layout is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// An axis that does not exist.
    #[error("axis {axis} is out of range for rank {rank}")]
    Axis {
        /// The requested axis.
        axis: i64,
        /// The number of axes.
        rank: usize,
    },
    /// The same axis listed twice.
    #[error("axis {0} is listed twice")]
    Repeated(usize),
    /// A list of the wrong length.
    #[error("{given} numbers for {rank} axes")]
    Rank {
        /// The number of entries given.
        given: usize,
        /// The number of axes.
        rank: usize,
    },
    /// A step of zero, or a negative step where none is allowed.
    #[error("a step of {0} is not allowed")]
    Step(i64),
    /// A range that exceeds the axis.
    #[error("{size} elements from {begin} on exceed an axis of size {extent}")]
    Range {
        /// The start of the range.
        begin: i64,
        /// The number of elements; -1 for all remaining ones.
        size: i64,
        /// The size of the axis.
        extent: usize,
    },
    /// An axis that cannot be broadcast.
    #[error("an axis of size {from} does not broadcast to {to}")]
    Broadcast {
        /// The present size.
        from: usize,
        /// The requested size.
        to: usize,
    },
    /// A wrong number of elements.
    #[error("{from} elements instead of {to}")]
    Size {
        /// The present number.
        from: usize,
        /// The requested number.
        to: usize,
    },
    /// A position outside the shape.
    #[error("position {0:?} is outside the shape")]
    Position(Vec<usize>),
    /// An offset outside the elements.
    #[error("the layout extends beyond {0} elements")]
    Outside(usize),
    /// More elements, or larger distances, than can be counted.
    #[error("the layout is too large")]
    TooLarge,
}

/// Shape, strides, and the offset of the first element. The number of axes is unlimited.
///
/// ```
/// use tautomer_tensor::strided::Layout;
///
/// let matrix = Layout::row_major(&[3, 4]).unwrap();
/// let diagonal = matrix.diagonal(1, 0, 1).unwrap();
/// assert_eq!(diagonal.shape(), [3]);
/// assert_eq!(diagonal.offsets().collect::<Vec<_>>(), [1, 6, 11]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub(super) shape: SmallVec<[usize; 6]>,
    pub(super) strides: SmallVec<[isize; 6]>,
    pub(super) start: usize,
    /// The product of the dimensions.
    pub(super) len: usize,
}

/// The product of the dimensions, if it does not overflow; zero if a dimension is.
pub(super) fn product(shape: &[usize]) -> Result<usize, LayoutError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1usize, |n, &d| n.checked_mul(d))
        .filter(|&n| isize::try_from(n).is_ok())
        .ok_or(LayoutError::TooLarge)
}

/// `axis` counted from the front.
pub(super) fn front(axis: i64, rank: usize) -> Result<usize, LayoutError> {
    let signed = rank as i64;
    let counted = if axis < 0 { axis.saturating_add(signed) } else { axis };
    usize::try_from(counted)
        .ok()
        .filter(|&a| a < rank)
        .ok_or(LayoutError::Axis { axis, rank })
}

impl Layout {
    /// The row-major layout that starts at offset 0.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] if the elements cannot be counted.
    pub fn row_major(shape: &[usize]) -> Result<Layout, LayoutError> {
        let len = product(shape)?;
        let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, shape.len());
        for i in (1..shape.len()).rev() {
            // If a dimension is zero, the strides of the others do not matter.
            strides[i - 1] = strides[i].saturating_mul(shape[i].max(1) as isize);
        }
        Ok(Layout {
            shape: shape.into(),
            strides,
            start: 0,
            len,
        })
    }

    /// A layout from its parts, over an array of `elements` elements.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if there are not as many strides as dimensions, [`LayoutError::Outside`] if a position
    /// would be outside the elements.
    pub fn new(shape: &[usize], strides: &[isize], start: usize, elements: usize) -> Result<Layout, LayoutError> {
        if strides.len() != shape.len() {
            return Err(LayoutError::Rank {
                given: strides.len(),
                rank: shape.len(),
            });
        }
        let layout = Layout {
            shape: shape.into(),
            strides: strides.into(),
            start,
            len: product(shape)?,
        };
        layout.check(elements)?;
        Ok(layout)
    }

    /// The dimensions, outermost axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The stride of each axis, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The offset of the first element.
    pub fn start(&self) -> usize {
        self.start
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of positions.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if a dimension is zero.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Checks that every position is within `elements` elements.
    ///
    /// # Errors
    /// [`LayoutError::Outside`] if one does not.
    pub fn check(&self, elements: usize) -> Result<(), LayoutError> {
        let (low, high) = self.span().ok_or(LayoutError::TooLarge)?;
        if self.is_empty() || (low >= 0 && high < elements as i128) {
            return Ok(());
        }
        Err(LayoutError::Outside(elements))
    }

    /// The smallest and the largest offset.
    fn span(&self) -> Option<(i128, i128)> {
        let (mut low, mut high) = (self.start as i128, self.start as i128);
        for (&n, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (n.saturating_sub(1) as i128).checked_mul(stride as i128)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        Some((low, high))
    }

    /// The offset of a position, if it is inside the shape.
    pub fn offset(&self, position: &[usize]) -> Option<usize> {
        let inside = position.len() == self.rank() && position.iter().zip(&self.shape).all(|(i, n)| i < n);
        inside.then(|| self.place(position))
    }

    /// The offset of a position inside the shape.
    pub(super) fn place(&self, position: &[usize]) -> usize {
        let moved = position
            .iter()
            .zip(&self.strides)
            .fold(self.start as isize, |sum, (&i, &s)| sum + i as isize * s);
        moved as usize
    }

    /// The offsets of all positions, in row-major order.
    pub fn offsets(&self) -> Offsets {
        Offsets::new(self)
    }

    /// The offsets as runs of equal stride, each as long as possible, in row-major order.
    pub fn runs(&self) -> Runs {
        Runs::new(self)
    }

    /// The same offsets in the same order with as few axes as possible: axes of size 1 are removed, and contiguous
    /// neighbours are merged.
    ///
    /// ```
    /// use tautomer_tensor::strided::Layout;
    /// let all = Layout::row_major(&[2, 1, 3, 4]).unwrap();
    /// assert_eq!(all.coalesced().shape(), [24]);
    /// assert_eq!(all.permute(&[2, 0, 1, 3]).unwrap().coalesced().shape(), [3, 2, 4]);
    /// ```
    pub fn coalesced(&self) -> Layout {
        let mut out = Layout {
            shape: SmallVec::new(),
            strides: SmallVec::new(),
            start: self.start,
            len: self.len,
        };
        if self.is_empty() {
            (out.shape, out.strides) = ([0].into_iter().collect(), [1].into_iter().collect());
            return out;
        }
        for (&n, &stride) in self.shape.iter().zip(&self.strides).filter(|(n, _)| **n != 1) {
            match (out.shape.last_mut(), out.strides.last_mut()) {
                (Some(m), Some(s)) if stride.checked_mul(n as isize) == Some(*s) => (*m, *s) = (*m * n, stride),
                _ => {
                    out.shape.push(n);
                    out.strides.push(stride);
                }
            }
        }
        out
    }

    /// True if the elements are in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let merged = self.coalesced();
        matches!(merged.strides[..], [] | [1])
    }
}
