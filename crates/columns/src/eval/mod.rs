//! Evaluation over record batches, in tiles that stay in the cache.
//!
//! Every node is computed for all rows of a tile, and says which rows failed. A failure stops evaluation only if it
//! reaches a result: `if` passes on the failures of the branch that a row takes, `and` and `or` those of their right
//! side where the left one does not decide. So `if(y != 0, x / y, 0)` never divides by zero.

mod cache;
mod code;
mod compile;
mod direct;
mod form;
mod input;
mod lane;
mod lookup;
mod loops;
mod lower;
mod machine;
mod macros;
mod message;
mod nodes;
mod run;
mod target;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::SchemaRef;

use tautomer_diag::{Diagnostic, Diagnostics};

use crate::expression::{Expressions, Output};
use crate::options::Options;
use crate::program::{NodeId, Program, merge};
use crate::simplify::simplify;
use crate::types::Type;
use machine::{Machine, Numbers, run_nodes};

pub use cache::Compiled;
pub(crate) use lane::Sortable;
pub use target::{Target, TargetValues};

/// Rows that are computed at once; a column of a tile is at most 8 KiB.
pub(crate) const TILE: usize = 1024;

/// Computes several expressions over batches; what they have in common is computed once.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch};
/// use tautomer_columns::{Expressions, Projector, schema};
///
/// let schema = schema("x: int32, y: float64, z: boolean").unwrap();
/// let expressions = Expressions::parse(&schema, "if(z, castFloat8(x), y * 1000.0)").unwrap();
/// let projector = Projector::make(&[expressions]).unwrap();
///
/// let columns: Vec<ArrayRef> = vec![
///     Arc::new(Int32Array::from(vec![Some(1), Some(2), None])),
///     Arc::new(Float64Array::from(vec![0.5, 0.25, 0.125])),
///     Arc::new(BooleanArray::from(vec![true, false, true])),
/// ];
/// let batch = RecordBatch::try_new(schema, columns).unwrap();
/// let outputs = projector.evaluate(&batch).unwrap();
/// assert_eq!(outputs[0].as_ref(), &Float64Array::from(vec![Some(1.0), Some(250.0), None]) as &dyn arrow_array::Array);
/// ```
#[derive(Debug, Clone)]
pub struct Projector {
    schema: SchemaRef,
    options: Options,
    outputs: Vec<Output>,
    output_schema: SchemaRef,
    /// The expressions as they are written.
    program: Arc<Program>,
    machine: Arc<Machine>,
}

impl Projector {
    /// Prepares expressions over one schema.
    ///
    /// # Errors
    ///
    /// Expressions over different schemas, or none.
    pub fn make(expressions: &[Expressions]) -> Result<Self, Diagnostics> {
        Projector::make_with(expressions, &Compiled::new(0))
    }

    /// Prepares expressions over one schema; what was compiled before is used again.
    ///
    /// ```
    /// use tautomer_columns::{Compiled, Expressions, Projector, schema};
    ///
    /// let (schema, compiled) = (schema("x: f64").unwrap(), Compiled::new(100));
    /// for text in ["x * 2 + 1", "y = x*2 + 1"] {
    ///     Projector::make_with(&[Expressions::parse(&schema, text).unwrap()], &compiled).unwrap();
    /// }
    /// assert_eq!(compiled.len(), 1);
    /// ```
    ///
    /// # Errors
    ///
    /// Same as for [`Projector::make`].
    pub fn make_with(expressions: &[Expressions], cache: &Compiled) -> Result<Self, Diagnostics> {
        let Some(first) = expressions.first() else {
            return Err(Diagnostic::error("T0708", "a projector needs an expression").into());
        };
        let mut program = Program::default();
        let (mut outputs, mut fields) = (Vec::new(), Vec::new());
        for one in expressions {
            if one.schema != first.schema || one.options != first.options {
                let text = "the expressions are over different schemas, or have different options";
                return Err(Diagnostic::error("T0708", text).into());
            }
            let moved = merge(&one.program, &mut program);
            outputs.extend(one.outputs.iter().map(|output| Output {
                name: output.name.clone(),
                node: moved[output.node.index()],
                column: output.column,
            }));
            fields.extend(one.output_schema().fields().iter().cloned());
        }
        let roots: Vec<NodeId> = outputs.iter().map(|output| output.node).collect();
        let machine = cache.machine(&program, &roots, &first.schema, &first.options);
        Ok(Projector {
            schema: Arc::clone(&first.schema),
            options: first.options.clone(),
            outputs,
            output_schema: Arc::new(arrow_schema::Schema::new(fields)),
            program: Arc::new(program),
            machine,
        })
    }

    /// The schema of the results.
    pub fn output_schema(&self) -> &SchemaRef {
        &self.output_schema
    }

    /// One array for each expression.
    ///
    /// # Errors
    ///
    /// A batch with other columns than the schema, or a row whose result fails.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, Diagnostics> {
        self.evaluate_from(batch, 0)
    }

    /// As [`Projector::evaluate`], where the first row of the batch has this number in messages and for `random`.
    ///
    /// # Errors
    ///
    /// Same as for [`Projector::evaluate`].
    pub fn evaluate_from(&self, batch: &RecordBatch, first_row: u64) -> Result<Vec<ArrayRef>, Diagnostics> {
        input::check(&self.schema, batch)?;
        self.run(batch, first_row, &|row| first_row + row as u64)
    }

    /// As [`Projector::evaluate`], into buffers of the caller, one for each expression. Only numbers, booleans, dates,
    /// times and timestamps have buffers.
    ///
    /// # Errors
    ///
    /// As [`Projector::evaluate`], and buffers that do not fit.
    pub fn evaluate_into(&self, batch: &RecordBatch, targets: &mut [Target<'_>]) -> Result<(), Diagnostics> {
        input::check(&self.schema, batch)?;
        let shown = |row| row as u64;
        let numbers = Numbers {
            first: 0,
            shown: &shown,
        };
        self.machine.run_into(&|| self.places(), batch, numbers, targets)
    }

    /// As [`Projector::evaluate`], with every function computed on its own over arrays as it is written: slower, for
    /// comparison.
    ///
    /// # Errors
    ///
    /// Same as for [`Projector::evaluate`].
    pub fn evaluate_nodes(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>, Diagnostics> {
        input::check(&self.schema, batch)?;
        run_nodes(&self.program, &self.roots(), &self.options, batch)
    }

    fn run(&self, batch: &RecordBatch, first: u64, shown: &dyn Fn(usize) -> u64) -> Result<Vec<ArrayRef>, Diagnostics> {
        self.machine.run(&|| self.places(), batch, Numbers { first, shown })
    }

    fn roots(&self) -> Vec<NodeId> {
        self.outputs.iter().map(|output| output.node).collect()
    }

    /// The program that the machine was made of, with the places of these expressions.
    fn places(&self) -> Program {
        simplify(&self.program, &self.roots(), &self.schema, &self.options).0
    }

    /// The results for the rows that a filter selected, in their order.
    ///
    /// # Errors
    ///
    /// As [`Projector::evaluate`], for the selected rows alone.
    pub fn evaluate_selected(&self, batch: &RecordBatch, selection: &Selection) -> Result<Vec<ArrayRef>, Diagnostics> {
        input::check(&self.schema, batch)?;
        let taken = arrow_select::take::take_record_batch(batch, &selection.array())
            .map_err(|error| Diagnostic::error("T0708", format!("the selection does not fit the batch: {error}")))?;
        self.run(&taken, 0, &|row| selection.row(row))
    }

    /// The results as a batch, of the rows that a filter selects; its first row has the number `first_row` in messages.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use arrow_array::{Int32Array, RecordBatch};
    /// use tautomer_columns::{Expressions, Filter, Projector, schema};
    ///
    /// let schema = schema("x: i32").unwrap();
    /// let filter = Filter::make(&Expressions::parse(&schema, "x != 0").unwrap()).unwrap();
    /// let projector = Projector::make(&[Expressions::parse(&schema, "y = 10 / x").unwrap()]).unwrap();
    /// let batch = RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from(vec![0, 5]))]).unwrap();
    /// let results = projector.project(&batch, Some(&filter), 0).unwrap();
    /// assert_eq!(results.column(0).as_ref(), &Int32Array::from(vec![2]) as &dyn arrow_array::Array);
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Projector::evaluate`], for the selected rows alone.
    pub fn project(
        &self,
        batch: &RecordBatch,
        filter: Option<&Filter>,
        first_row: u64,
    ) -> Result<RecordBatch, Diagnostics> {
        let (arrays, rows) = match filter {
            None => (self.evaluate_from(batch, first_row)?, batch.num_rows()),
            Some(filter) => {
                input::check(&self.schema, batch)?;
                let mask = filter.mask(batch, first_row)?;
                let kept = arrow_select::filter::filter_record_batch(batch, &mask)
                    .map_err(|error| Diagnostic::error("T0708", error.to_string()))?;
                let number = |row| first_row + mask.values().set_indices().nth(row).unwrap_or(row) as u64;
                (self.run(&kept, first_row, &number)?, kept.num_rows())
            }
        };
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.output_schema), arrays, &options)
            .map_err(|error| Diagnostic::error("T0708", error.to_string()).into())
    }

    /// The names of the results.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|output| output.name.as_str())
    }
}

/// The numbers of rows, in as few bytes as the batch allows.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// Rows of a batch of at most 65536.
    U16(PrimitiveArray<UInt16Type>),
    /// Rows of a batch of at most 4294967296.
    U32(PrimitiveArray<UInt32Type>),
    /// Rows of any batch.
    U64(PrimitiveArray<UInt64Type>),
}

impl Selection {
    /// As an array of numbers.
    pub fn array(&self) -> ArrayRef {
        match self {
            Selection::U16(rows) => Arc::new(rows.clone()),
            Selection::U32(rows) => Arc::new(rows.clone()),
            Selection::U64(rows) => Arc::new(rows.clone()),
        }
    }

    /// The number of the row at a place of the selection.
    fn row(&self, at: usize) -> u64 {
        match self {
            Selection::U16(rows) => rows.value(at).into(),
            Selection::U32(rows) => rows.value(at).into(),
            Selection::U64(rows) => rows.value(at),
        }
    }

    /// The number of selected rows.
    pub fn len(&self) -> usize {
        self.array().len()
    }

    /// True if no row is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Selects the rows where a condition is true; not those where it is false or null.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int32Array, RecordBatch};
/// use tautomer_columns::{Expressions, Filter, schema};
///
/// let schema = schema("x: i32").unwrap();
/// let filter = Filter::make(&Expressions::parse(&schema, "x > 1 and x in (2, 5)").unwrap()).unwrap();
/// let x = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(5)]));
/// let batch = RecordBatch::try_new(schema, vec![x]).unwrap();
/// assert_eq!(filter.evaluate(&batch).unwrap().len(), 2);
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    projector: Projector,
}

impl Filter {
    /// Prepares one condition.
    ///
    /// # Errors
    ///
    /// Several expressions, or one that is not boolean.
    pub fn make(condition: &Expressions) -> Result<Self, Diagnostics> {
        if condition.types() != [Type::Bool] {
            let types: Vec<String> = condition.types().iter().map(Type::to_string).collect();
            let problem = Diagnostic::error("T0204", format!("a filter is one boolean, found {}", types.join(", ")));
            return Err(problem.into());
        }
        let projector = Projector::make(std::slice::from_ref(condition))?;
        Ok(Filter { projector })
    }

    /// The selected rows.
    ///
    /// # Errors
    ///
    /// Same as for [`Projector::evaluate`].
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<Selection, Diagnostics> {
        let mask = self.mask(batch, 0)?;
        let rows = mask.values().set_indices();
        Ok(match batch.num_rows() {
            0..=0x1_0000 => Selection::U16(rows.map(|row| row as u16).collect::<Vec<_>>().into()),
            0x1_0001..=0x1_0000_0000 => Selection::U32(rows.map(|row| row as u32).collect::<Vec<_>>().into()),
            _ => Selection::U64(rows.map(|row| row as u64).collect::<Vec<_>>().into()),
        })
    }

    fn mask(&self, batch: &RecordBatch, first_row: u64) -> Result<arrow_array::BooleanArray, Diagnostics> {
        let outputs = self.projector.evaluate_from(batch, first_row)?;
        let mask = outputs[0].as_boolean();
        Ok(match mask.nulls() {
            None => mask.clone(),
            Some(nulls) => arrow_array::BooleanArray::new(mask.values() & nulls.inner(), None),
        })
    }
}

/// The value of one node over a batch; `None` where evaluation stops.
#[cfg(feature = "rewrite")]
pub(crate) fn value_of(program: &Program, root: NodeId, options: &Options, batch: &RecordBatch) -> Option<ArrayRef> {
    run_nodes(program, &[root], options, batch).ok()?.pop()
}

/// A batch of one row without columns, over which expressions of literals have one value.
///
/// ```
/// use tautomer_columns::{Expressions, Projector, one_row, schema};
///
/// let expressions = Expressions::parse(&schema("").unwrap(), "2 ** 10").unwrap();
/// let projector = Projector::make(&[expressions]).unwrap();
/// assert_eq!(projector.evaluate(&one_row()).unwrap()[0].len(), 1);
/// ```
pub fn one_row() -> RecordBatch {
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(1));
    let schema = Arc::new(arrow_schema::Schema::empty());
    RecordBatch::try_new_with_options(schema, Vec::new(), &options)
        .unwrap_or_else(|error| unreachable!("no column has another length: {error}"))
}
