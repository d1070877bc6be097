//! Iteration over the positions of a shape.

use smallvec::SmallVec;

use super::LayoutError;
use super::layout::product;

/// The positions of a shape in row-major order, like the numbers of a counter whose digit `i` has base `shape[i]`.
///
/// Works for any number of axes and any dimensions: a shape without axes has one position, and a shape with a dimension
/// of zero has none. A step does not allocate; it returns a borrowed position that is valid until the next step.
///
/// ```
/// use tautomer_tensor::strided::Positions;
///
/// let mut positions = Positions::from(&[0, 1], &[2, 2]).unwrap();
/// let mut seen = Vec::new();
/// while let Some(position) = positions.advance() {
///     seen.push(position.to_vec());
/// }
/// assert_eq!(seen, [[0, 1], [1, 0], [1, 1]]);
/// ```
#[derive(Debug, Clone)]
pub struct Positions {
    shape: SmallVec<[usize; 6]>,
    at: SmallVec<[usize; 6]>,
    left: usize,
    started: bool,
}

impl Positions {
    /// All positions of `shape`.
    ///
    /// # Errors
    /// [`LayoutError::TooLarge`] if the positions cannot be counted.
    pub fn new(shape: &[usize]) -> Result<Positions, LayoutError> {
        Ok(Positions {
            left: product(shape)?,
            at: SmallVec::from_elem(0, shape.len()),
            shape: shape.into(),
            started: false,
        })
    }

    /// The positions of `shape` from `start` on.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] and [`LayoutError::Position`] if `start` is not a position of a non-empty shape.
    pub fn from(start: &[usize], shape: &[usize]) -> Result<Positions, LayoutError> {
        let mut out = Positions::new(shape)?;
        if start.len() != shape.len() {
            return Err(LayoutError::Rank {
                given: start.len(),
                rank: shape.len(),
            });
        }
        if out.left == 0 {
            return Ok(out);
        }
        if start.iter().zip(shape).any(|(i, n)| i >= n) {
            return Err(LayoutError::Position(start.to_vec()));
        }
        let passed = start.iter().zip(shape).fold(0, |sum, (i, n)| sum * n + i);
        out.left -= passed;
        out.at = start.into();
        Ok(out)
    }

    /// The next position, or `None` after the last one.
    pub fn advance(&mut self) -> Option<&[usize]> {
        self.left = self.left.checked_sub(1)?;
        if !std::mem::replace(&mut self.started, true) {
            return Some(&self.at);
        }
        for (i, &n) in self.at.iter_mut().zip(&self.shape).rev() {
            *i += 1;
            if *i < n {
                break;
            }
            *i = 0;
        }
        Some(&self.at)
    }

    /// The number of positions left.
    pub fn left(&self) -> usize {
        self.left
    }
}
