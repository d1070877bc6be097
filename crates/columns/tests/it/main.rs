//! Tests of expressions over columns, by subject.

mod corpus;
mod evaluation;
mod fused;
mod integers;
mod language;
mod registry;
#[cfg(feature = "rewrite")]
mod rewrite;
#[cfg(feature = "files")]
mod tables;
mod types;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use tautomer_columns::{Expressions, Options, Projector, schema};
use tautomer_diag::Diagnostics;

/// A batch from the text of a schema and its columns.
fn batch(text: &str, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(schema(text).unwrap(), columns).unwrap()
}

/// A column.
fn column<A: Array + 'static>(array: impl Into<A>) -> ArrayRef {
    Arc::new(array.into())
}

fn eval_with(batch: &RecordBatch, text: &str, options: &Options) -> Result<ArrayRef, Diagnostics> {
    let expressions = Expressions::parse_with(&batch.schema(), text, options)?;
    Ok(Projector::make(&[expressions])?.evaluate(batch)?.remove(0))
}

/// The value of an expression over a batch.
#[track_caller]
fn eval(batch: &RecordBatch, text: &str) -> ArrayRef {
    eval_with(batch, text, &Options::default()).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

/// The code and the message of the first problem.
fn problem(result: Result<impl Sized, Diagnostics>) -> (String, String) {
    match result {
        Ok(_) => ("ok".to_owned(), String::new()),
        Err(problems) => {
            let first = problems.iter().next().expect("a problem");
            (first.code.to_owned(), problems.to_string())
        }
    }
}
