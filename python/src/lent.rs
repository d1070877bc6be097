//! Memory that Python and the library share without a copy: arrays as tensors for as long as a call takes, and the
//! elements of initializers, either way.

use std::ffi::c_int;
use std::mem::{ManuallyDrop, forget};

use numpy::{Element as NumpyElement, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use tautomer::formats::onnx::Bytes;
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

/// The bytes of a contiguous object of Python, which it keeps.
pub(crate) struct Buffer(PyBuffer<u8>);

impl<'a, 'py> FromPyObject<'a, 'py> for Buffer {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Buffer> {
        let buffer = PyBuffer::get(&object)?;
        match buffer.is_c_contiguous() {
            true => Ok(Buffer(buffer)),
            false => Err(PyBufferError::new_err("the elements are not contiguous")),
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        let start = self.0.buf_ptr().cast::<u8>();
        match self.0.len_bytes() {
            0 => &[],
            // SAFETY: the buffer is contiguous and has that many bytes, which stay where they are until it is dropped.
            // They are read during the call that takes the buffer; that its caller does not write to them meanwhile is
            // what every function on arrays that releases the lock of the interpreter asks for.
            length => unsafe { std::slice::from_raw_parts(start, length) },
        }
    }
}

/// Elements of a tensor of the library, which Python may read as a buffer.
#[pyclass(frozen, module = "tautomer._core")]
pub(crate) struct Elements(Bytes);

impl Elements {
    pub(crate) fn new(bytes: Bytes) -> Elements {
        Elements(bytes)
    }
}

#[pymethods]
impl Elements {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// # Safety
    /// Python calls it, with a view to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Elements>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = &slf.get().0;
        let length = ffi::Py_ssize_t::try_from(bytes.len())?;
        let start = bytes.as_ptr().cast_mut().cast();
        // SAFETY: the view refers to `slf`, which keeps the bytes; as it is marked to be read alone, a request for one
        // that can be written is refused.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
