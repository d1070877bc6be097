//! Tensors as NumPy arrays. A large array that comes in is not copied; a tensor that goes out becomes an array without a
//! copy, unless something else still uses its elements.

use half::{bf16, f16};
use numpy::{Element as NumpyElement, PyArrayDyn, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyList;
use tautomer::tensor::{DType, Element, Tensor};

use crate::lent::Lent;
use crate::problems::refused;

/// An array of Python as a tensor.
pub(crate) enum Given {
    /// A copy.
    Own(Tensor),
    /// Without a copy.
    Lent(Lent),
}

impl Given {
    /// The tensor, which must be dropped before this.
    pub(crate) fn tensor(&self) -> Tensor {
        match self {
            Given::Own(tensor) => tensor.clone(),
            Given::Lent(lent) => lent.tensor(),
        }
    }
}

/// The elements of an array, which stays as it is for as long as the value is used.
pub(crate) fn given(array: &Bound<'_, PyAny>) -> PyResult<Given> {
    fn as_element<T: Element + NumpyElement + Copy>(array: &Bound<'_, PyAny>) -> Option<Given> {
        if let Some(lent) = Lent::new::<T>(array) {
            return Some(Given::Lent(lent));
        }
        let array: PyReadonlyArrayDyn<'_, T> = array.extract().ok()?;
        // In the order of rows, whatever the order of the array is.
        let tensor = match array.as_slice() {
            Ok(elements) if array.is_c_contiguous() => Tensor::new(array.shape(), elements.to_vec())?,
            _ => T::wrap(array.as_array().as_standard_layout().into_owned().into_shared()),
        };
        Some(Given::Own(tensor))
    }
    macro_rules! first_of {
        ($($ty:ty),*) => { $(if let Some(found) = as_element::<$ty>(array) { return Ok(found); })* };
    }
    first_of!(f32, i64, f64, i32, bool, u8, i8, f16, i16, u16, u32, u64);
    let py = array.py();
    let dtype: String = array.getattr("dtype")?.str()?.to_string();
    // Only where there is such an array does NumPy know the type.
    if dtype == "bfloat16" {
        first_of!(bf16);
    }
    if array
        .getattr("dtype")?
        .getattr("kind")?
        .extract::<String>()?
        .contains(['U', 'S', 'O', 'T'])
    {
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let texts: Vec<String> = array.call_method0("ravel")?.call_method0("tolist")?.extract()?;
        if let Some(found) = Tensor::new(&shape, texts) {
            return Ok(Given::Own(found));
        }
    }
    Err(refused(
        py,
        "T0407",
        format!("arrays of `{dtype}` have no tensor element type here"),
    ))
}

/// A tensor as an array.
pub(crate) fn array<'py>(py: Python<'py>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    fn typed<'py, T: Element + NumpyElement>(py: Python<'py>, tensor: Tensor) -> Option<Bound<'py, PyAny>> {
        let owned = T::into_array(tensor)?.into_owned();
        Some(PyArrayDyn::from_owned_array(py, owned).into_any())
    }
    let dtype = tensor.dtype();
    let found = match dtype {
        DType::Bool => typed::<bool>(py, tensor),
        DType::I8 => typed::<i8>(py, tensor),
        DType::I16 => typed::<i16>(py, tensor),
        DType::I32 => typed::<i32>(py, tensor),
        DType::I64 => typed::<i64>(py, tensor),
        DType::U8 => typed::<u8>(py, tensor),
        DType::U16 => typed::<u16>(py, tensor),
        DType::U32 => typed::<u32>(py, tensor),
        DType::U64 => typed::<u64>(py, tensor),
        DType::F16 => typed::<f16>(py, tensor),
        DType::F32 => typed::<f32>(py, tensor),
        DType::F64 => typed::<f64>(py, tensor),
        _ => return other(py, tensor),
    };
    found.ok_or_else(|| refused(py, "T0407", format!("a tensor of `{}` is no array", dtype.name())))
}

/// Tensors of element types that NumPy itself does not have.
fn other<'py>(py: Python<'py>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let shape = tensor.shape().to_vec();
    match tensor {
        Tensor::BF16(values) => {
            match py.import("ml_dtypes") {
                Ok(_) => Ok(PyArrayDyn::from_owned_array(py, values.into_owned()).into_any()),
                // Without the package for it, as single precision numbers, which hold all of them.
                Err(_) => array(py, Tensor::F32(values.mapv(f32::from).into_shared())),
            }
        }
        Tensor::Utf8(values) => {
            let texts = PyList::new(py, values.iter())?;
            numpy
                .call_method1("array", (texts, "object"))?
                .call_method1("reshape", (shape,))
        }
        // Numbers of fewer than 8 bits, and floats of 8, in the smallest type of NumPy that holds them.
        narrow if narrow.dtype().is_float() => {
            let values = narrow.to_f64s().unwrap_or_default();
            let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
            match Tensor::new(&shape, values) {
                Some(wide) => array(py, wide),
                None => Err(refused(py, "T0407", "a tensor without its elements")),
            }
        }
        narrow => {
            let values = narrow.to_ints().unwrap_or_default();
            let values: Vec<i8> = values.into_iter().map(|v| v as i8).collect();
            match Tensor::new(&shape, values) {
                Some(wide) => array(py, wide),
                None => Err(refused(py, "T0407", "a tensor without its elements")),
            }
        }
    }
}
