//! Elements seen through a layout.

use super::{Layout, LayoutError};
use crate::Nd;

/// Elements seen through a [`Layout`]: making a view of a view moves no elements.
///
/// ```
/// use tautomer_tensor::strided::View;
///
/// let elements: Vec<i32> = (0..12).collect();
/// let matrix = View::row_major(&elements, &[3, 4]).unwrap();
/// let part = matrix.map(|l| l.slice(0, None, None, -1)?.diagonal(0, 0, 1)).unwrap();
/// assert_eq!(part.to_vec(), [8, 5, 2]);
/// assert_eq!(part.get(&[1]), Some(&5));
/// ```
#[derive(Debug, Clone)]
pub struct View<'a, T> {
    elements: &'a [T],
    layout: Layout,
}

impl<'a, T> View<'a, T> {
    /// Elements in row-major order.
    ///
    /// # Errors
    /// If the shape has more positions than there are elements.
    pub fn row_major(elements: &'a [T], shape: &[usize]) -> Result<View<'a, T>, LayoutError> {
        View::new(elements, Layout::row_major(shape)?)
    }

    /// Elements seen through a layout.
    ///
    /// # Errors
    /// If the layout extends beyond the elements.
    pub fn new(elements: &'a [T], layout: Layout) -> Result<View<'a, T>, LayoutError> {
        layout.check(elements.len())?;
        Ok(View { elements, layout })
    }

    /// The elements of an array in place, for any order of axes and any directions; `None` if there are gaps between
    /// them.
    pub fn of(array: &'a Nd<T>) -> Option<View<'a, T>> {
        let elements = array.as_slice_memory_order()?;
        // An axis that runs backwards begins at its end.
        let start = array
            .shape()
            .iter()
            .zip(array.strides())
            .filter(|(n, s)| **s < 0 && **n > 0)
            .map(|(n, s)| (n - 1) * s.unsigned_abs())
            .sum();
        let layout = Layout::new(array.shape(), array.strides(), start, elements.len()).ok()?;
        Some(View { elements, layout })
    }

    /// The view through another layout derived from this one's.
    ///
    /// # Errors
    /// As `f`, or if the layout it returns extends beyond the elements.
    pub fn map(&self, f: impl FnOnce(&Layout) -> Result<Layout, LayoutError>) -> Result<View<'a, T>, LayoutError> {
        View::new(self.elements, f(&self.layout)?)
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All underlying elements, visible or not.
    pub fn elements(&self) -> &'a [T] {
        self.elements
    }

    /// The element at a position, if it is inside the shape.
    pub fn get(&self, position: &[usize]) -> Option<&'a T> {
        self.elements.get(self.layout.offset(position)?)
    }

    /// The elements in row-major order.
    pub fn iter(&self) -> impl Iterator<Item = &'a T> + use<'a, T> {
        let elements = self.elements;
        self.layout.offsets().map(move |place| &elements[place])
    }

    /// A copy of the elements in row-major order, run by run.
    pub fn to_vec(&self) -> Vec<T>
    where
        T: Clone,
    {
        let mut out = Vec::with_capacity(self.layout.len());
        for run in self.layout.runs() {
            let (n, at) = (run.len, run.start);
            match run.stride {
                1 => out.extend_from_slice(&self.elements[at..][..n]),
                0 => out.extend(std::iter::repeat_n(&self.elements[at], n).cloned()),
                s if s > 0 => out.extend(self.elements[at..].iter().step_by(s as usize).take(n).cloned()),
                s => out.extend(
                    self.elements[..=at]
                        .iter()
                        .rev()
                        .step_by(s.unsigned_abs())
                        .take(n)
                        .cloned(),
                ),
            }
        }
        out
    }
}
