//! Compiled expressions, and their problems as errors of DataFusion.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{Field, FieldRef, Fields, SchemaRef};
use datafusion_common::{DataFusionError, Result};
use tautomer_columns::{Compiled, Expressions, Options, Projector};
use tautomer_diag::Diagnostics;

/// How many compiled expressions are kept for the next plan with the same ones.
const KEPT: usize = 1000;

static COMPILED: LazyLock<Compiled> = LazyLock::new(|| Compiled::new(KEPT));

/// A text that is compiled for columns.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) schema: SchemaRef,
    pub(crate) options: Options,
    projector: Projector,
    /// The result: that of one expression, or a struct of several.
    pub(crate) field: FieldRef,
    /// Whether equal rows have equal results.
    pub(crate) is_pure: bool,
}

impl Expression {
    /// Compiles a text over the columns of a schema.
    pub(crate) fn compile(text: &str, schema: SchemaRef, options: &Options) -> Result<Self, Diagnostics> {
        let expressions = Expressions::parse_with(&schema, text, options)?;
        let projector = Projector::make_with(std::slice::from_ref(&expressions), &COMPILED)?;
        let outputs = projector.output_schema().fields();
        let field = match &outputs[..] {
            [one] => Field::new("tautomer", one.data_type().clone(), true),
            _ => Field::new_struct("tautomer", outputs.clone(), false),
        };
        Ok(Expression {
            text: text.to_owned(),
            schema,
            options: options.clone(),
            projector,
            field: Arc::new(field),
            is_pure: expressions.is_pure(),
        })
    }

    /// The result for the rows of columns.
    pub(crate) fn evaluate(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<ArrayRef> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let mut outputs = self.projector.evaluate(&batch).map_err(|problems| failed(&problems))?;
        match (outputs.pop(), outputs.is_empty()) {
            (Some(one), true) => Ok(one),
            (last, _) => {
                outputs.extend(last);
                let fields: Fields = self.projector.output_schema().fields().clone();
                Ok(Arc::new(StructArray::try_new(fields, outputs, None)?))
            }
        }
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.schema == other.schema && self.options == other.options
    }
}

impl Eq for Expression {}

impl Hash for Expression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
        self.schema.hash(state);
        self.options.hash(state);
    }
}

/// Problems of a text, with their places in it.
pub(crate) fn invalid(problems: &Diagnostics) -> DataFusionError {
    DataFusionError::Plan(format!("invalid expression\n{}", problems.render(false)))
}

/// A row whose result fails.
fn failed(problems: &Diagnostics) -> DataFusionError {
    DataFusionError::Execution(format!("an expression failed\n{}", problems.render(false)))
}
