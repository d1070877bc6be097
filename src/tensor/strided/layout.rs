//! Where elements lie: extents, strides, and the place of the first one.

use smallvec::SmallVec;

use super::{Offsets, Runs};

/// Why a layout cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// An axis that is not there.
    #[error("axis {axis} is out of range for rank {rank}")]
    Axis {
        /// The axis asked for.
        axis: i64,
        /// How many axes there are.
        rank: usize,
    },
    /// The same axis twice.
    #[error("axis {0} is listed twice")]
    Repeated(usize),
    /// A list with an entry too many or too few.
    #[error("{given} numbers for {rank} axes")]
    Rank {
        /// How many were given.
        given: usize,
        /// How many axes there are.
        rank: usize,
    },
    /// A step of zero, or a step backwards where none is allowed.
    #[error("a step of {0}")]
    Step(i64),
    /// A range that leaves the axis.
    #[error("{size} elements from {begin} leave an axis of {extent}")]
    Range {
        /// Where the range begins.
        begin: i64,
        /// How many elements it has; -1 is all that are left.
        size: i64,
        /// How many the axis has.
        extent: usize,
    },
    /// An axis that cannot be stretched.
    #[error("an axis of {from} does not broadcast to {to}")]
    Broadcast {
        /// The extent there is.
        from: usize,
        /// The extent asked for.
        to: usize,
    },
    /// Another number of elements.
    #[error("{from} elements are not {to}")]
    Size {
        /// How many there are.
        from: usize,
        /// How many were asked for.
        to: usize,
    },
    /// A position that is not in the shape.
    #[error("position {0:?} is outside the shape")]
    Position(Vec<usize>),
    /// A place outside of the elements.
    #[error("the layout reaches outside of {0} elements")]
    Outside(usize),
    /// More elements, or places further apart, than can be counted.
    #[error("the layout is too large")]
    TooLarge,
}

/// Extents with strides, and the place of the first element. There is no limit to the number of axes.
///
/// ```
/// use tautomer::tensor::strided::Layout;
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
    /// The product of the extents.
    pub(super) len: usize,
}

/// The product of extents, zero if one is, if it can be counted.
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
    /// Elements in row-major order from place 0.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] if they cannot be counted.
    pub fn row_major(shape: &[usize]) -> Result<Layout, LayoutError> {
        let len = product(shape)?;
        let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(1, shape.len());
        for i in (1..shape.len()).rev() {
            // Zero extents make every product of the others irrelevant.
            strides[i - 1] = strides[i].saturating_mul(shape[i].max(1) as isize);
        }
        Ok(Layout {
            shape: shape.into(),
            strides,
            start: 0,
            len,
        })
    }

    /// A layout from its parts, over `elements` elements.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if there are not as many strides as extents, [`LayoutError::Outside`] if a position would
    /// lie outside of the elements.
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

    /// Extents, outermost axis first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How far apart neighbours along each axis lie, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// The place of the first element.
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

    /// True if an extent is zero.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Checks that every position lies within `elements` elements.
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

    /// The least and the greatest place.
    fn span(&self) -> Option<(i128, i128)> {
        let (mut low, mut high) = (self.start as i128, self.start as i128);
        for (&n, &stride) in self.shape.iter().zip(&self.strides) {
            let reach = (n.saturating_sub(1) as i128).checked_mul(stride as i128)?;
            low = low.checked_add(reach.min(0))?;
            high = high.checked_add(reach.max(0))?;
        }
        Some((low, high))
    }

    /// The place of a position, if it is one of the shape.
    pub fn offset(&self, position: &[usize]) -> Option<usize> {
        let inside = position.len() == self.rank() && position.iter().zip(&self.shape).all(|(i, n)| i < n);
        inside.then(|| self.place(position))
    }

    /// The place of a position of the shape.
    pub(super) fn place(&self, position: &[usize]) -> usize {
        let moved = position
            .iter()
            .zip(&self.strides)
            .fold(self.start as isize, |sum, (&i, &s)| sum + i as isize * s);
        moved as usize
    }

    /// The places of all positions, in row-major order.
    pub fn offsets(&self) -> Offsets {
        Offsets::new(self)
    }

    /// The places as stretches of equal distance, as long as they can be, in row-major order.
    pub fn runs(&self) -> Runs {
        Runs::new(self)
    }

    /// The same places in the same order with as few axes as can be: axes of extent 1 are gone, neighbours that
    /// continue each other are one.
    ///
    /// ```
    /// use tautomer::tensor::strided::Layout;
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

    /// True if the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let merged = self.coalesced();
        matches!(merged.strides[..], [] | [1])
    }
}
