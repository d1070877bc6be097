//! Arrow's C data interface: batches from and to other languages, without copying.
//!
//! A batch is one array of structs there. Reading one trusts the pointers that the other side made, so
//! [`from_ffi`] is unsafe and stays with the caller, who knows that side; everything else is safe.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{Array, Float64Array, RecordBatch};
//! use tautomer_columns::ffi::{batch_of, export, from_ffi, make_array};
//! use tautomer_columns::{Expressions, Projector, schema};
//!
//! let schema = schema("x: f64").unwrap();
//! let projector = Projector::make(&[Expressions::parse(&schema, "y = x * 2").unwrap()]).unwrap();
//! let given = RecordBatch::try_new(schema, vec![Arc::new(Float64Array::from(vec![1.5, 2.5]))]).unwrap();
//! let (array, schema) = export(&given).unwrap(); // what another language would make
//!
//! // SAFETY: the array and the schema were exported together, and only this call reads them.
//! let array = make_array(unsafe { from_ffi(array, &schema) }.unwrap());
//! let results = projector.project(&batch_of(&array).unwrap(), None, 0).unwrap();
//! let (_array, _schema) = export(&results).unwrap(); // for the other language
//! assert_eq!(results.column(0).as_ref(), &Float64Array::from(vec![3.0, 5.0]) as &dyn Array);
//! ```

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};

use tautomer_diag::{Diagnostic, Diagnostics};

pub use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
pub use arrow_array::make_array;

/// The batch as an array of structs, with its schema. Its buffers are released when the other side releases the array.
///
/// # Errors
///
/// A type that the interface has no name for.
pub fn export(batch: &RecordBatch) -> Result<(FFI_ArrowArray, FFI_ArrowSchema), Diagnostics> {
    let structs = StructArray::from(batch.clone());
    to_ffi(&structs.to_data()).map_err(|error| Diagnostic::error("T0708", error.to_string()).into())
}

/// The batch that an array of structs is.
///
/// # Errors
///
/// Another array, or structs that are null.
pub fn batch_of(array: &ArrayRef) -> Result<RecordBatch, Diagnostics> {
    let problem = |text: String| Diagnostics::from(Diagnostic::error("T0708", text));
    match array.as_struct_opt() {
        Some(structs) if structs.null_count() == 0 => Ok(RecordBatch::from(structs)),
        Some(structs) => Err(problem(format!("{} rows of the batch are null", structs.null_count()))),
        None => Err(problem(format!(
            "the batch is an array of {}, not of structs",
            array.data_type()
        ))),
    }
}
