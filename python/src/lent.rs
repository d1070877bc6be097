//! Arrays of Python as tensors without a copy, for as long as a call takes.

use std::mem::{ManuallyDrop, forget};

use numpy::{Element as NumpyElement, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use tautomer::tensor::{Element, Nd, Tensor, with_array};

/// Arrays of fewer bytes are copied, which takes less time than it takes to prevent it.
const SMALLEST: usize = 1 << 16;

/// A tensor over the elements of an array.
///
/// The tensor may be cloned, read, and dropped; nothing writes to its elements or frees them, as both need the only
/// reference to them, and this is another one.
pub(crate) struct Lent {
    tensor: ManuallyDrop<Tensor>,
    owner: ManuallyDrop<Py<PyAny>>,
}

impl Lent {
    /// A tensor over an array that is in the order of rows and aligned, if it is large.
    pub(crate) fn new<T: Element + NumpyElement + Copy>(array: &Bound<'_, PyAny>) -> Option<Lent> {
        let readable: PyReadonlyArrayDyn<'_, T> = array.extract().ok()?;
        let elements = readable.as_slice().ok()?;
        let (shape, length) = (readable.shape().to_vec(), elements.len());
        if length.saturating_mul(size_of::<T>()) < SMALLEST || !elements.as_ptr().is_aligned() {
            return None;
        }
        // SAFETY: the elements are those of a slice, initialized and aligned, and stay while `owner` keeps the array.
        // They did not come from this allocator, so the vector must never be dropped or grow. It becomes a tensor, as
        // the shape of an array has as many elements as the array; only the last reference to a tensor could free or
        // write its elements, and `release` forgets that one.
        let vector = unsafe { Vec::from_raw_parts(elements.as_ptr().cast_mut(), length, length) };
        let shared = ManuallyDrop::new(Tensor::new(&shape, vector)?);
        Some(Lent {
            tensor: shared,
            owner: ManuallyDrop::new(array.clone().unbind()),
        })
    }

    /// The tensor.
    pub(crate) fn tensor(&self) -> Tensor {
        Tensor::clone(&self.tensor)
    }

    /// Gives the array back. If something still refers to its elements, the array stays until the process ends.
    fn release(&mut self) {
        fn is_free<T: Element>(array: Nd<T>) -> bool {
            match array.try_into_owned_nocopy() {
                Ok(owned) => {
                    forget(owned.into_raw_vec_and_offset().0);
                    true
                }
                Err(shared) => {
                    forget(shared);
                    false
                }
            }
        }
        // SAFETY: `release` is called once, by `drop`, after which neither field is used.
        let (tensor, owner) = unsafe {
            (
                ManuallyDrop::take(&mut self.tensor),
                ManuallyDrop::take(&mut self.owner),
            )
        };
        match with_array!(tensor, array => is_free(array)) {
            true => drop(owner),
            false => forget(owner),
        }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.release();
    }
}
