//! Columns of batches as the types that functions know.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BinaryArray, PrimitiveArray, RecordBatch, StringArray};
use arrow_schema::{DataType, Schema};
use arrow_select::take::take;

use tautomer_diag::{Diagnostic, Diagnostics};

/// Checks that a batch has the columns that expressions were typed with.
pub(super) fn check(schema: &Schema, batch: &RecordBatch) -> Result<(), Diagnostics> {
    let found = batch.schema_ref();
    if std::ptr::eq(schema, Arc::as_ptr(found)) {
        return Ok(());
    }
    let mut problems = Diagnostics::new();
    if found.fields().len() != schema.fields().len() {
        let (wanted, have) = (schema.fields().len(), found.fields().len());
        problems.push(Diagnostic::error(
            "T0708",
            format!("the batch has {have} columns, and the expressions are over {wanted}"),
        ));
    }
    for (wanted, have) in schema.fields().iter().zip(found.fields()) {
        if wanted.name() != have.name() || wanted.data_type() != have.data_type() {
            let text = format!(
                "the batch has `{}: {}` instead of `{}: {}`",
                have.name(),
                have.data_type(),
                wanted.name(),
                wanted.data_type()
            );
            problems.push(Diagnostic::error("T0708", text).help("parse the expressions with the schema of the batch"));
        }
    }
    problems.into_result(())
}

/// A column as one of the types of expressions.
pub(super) fn read(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::LargeUtf8 => Arc::new(array.as_string::<i64>().iter().collect::<StringArray>()),
        DataType::Utf8View => Arc::new(array.as_string_view().iter().collect::<StringArray>()),
        DataType::LargeBinary => Arc::new(array.as_binary::<i64>().iter().collect::<BinaryArray>()),
        DataType::BinaryView => Arc::new(array.as_binary_view().iter().collect::<BinaryArray>()),
        DataType::Float16 => {
            let halves = array.as_primitive::<Float16Type>();
            Arc::new(halves.unary::<_, Float32Type>(|value| value.to_f32()))
        }
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let keys: Vec<u64> = dictionary.normalized_keys().into_iter().map(|key| key as u64).collect();
            let keys = PrimitiveArray::<UInt64Type>::new(keys.into(), dictionary.keys().nulls().cloned());
            // Keys of nulls may be any number, and `take` does not read them.
            let values = take(dictionary.values(), &keys, None);
            read(&values.unwrap_or_else(|error| unreachable!("keys of a dictionary are in range: {error}")))
        }
        _ => Arc::clone(array),
    }
}
