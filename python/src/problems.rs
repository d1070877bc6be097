//! Messages of the library as the exception `tautomer.Error`.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tautomer::diag::Diagnostics;

/// The exception for these problems.
pub(crate) fn raised(py: Python<'_>, problems: &Diagnostics) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let error = py.import("tautomer._errors")?.getattr("Error")?;
        let value = error.call1((problems.render(false), problems.to_json().to_string()))?;
        Ok(PyErr::from_value(value))
    };
    made().unwrap_or_else(|_| PyRuntimeError::new_err(problems.render(false)))
}

/// The same for a message about an argument.
pub(crate) fn refused(py: Python<'_>, code: &'static str, message: impl Into<String>) -> PyErr {
    raised(py, &tautomer::diag::Diagnostic::error(code, message).into())
}
