//! The SQL function that computes an expression from its text.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion_common::{Result, exec_err, plan_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use tautomer_columns::Options;
use tautomer_diag::Diagnostic;

use crate::expression::{Expression, invalid};

/// The name of the function in SQL.
pub(crate) const NAME: &str = "tautomer";

/// The function `tautomer(text, …)`: the text of an expression, and its columns.
///
/// A column has its own name in the text. What is not a column is named by `named_struct('name', value)`, whose fields
/// are columns. Several expressions, `a = x + 1; b = x * 2`, give a struct. The text is a literal; types are checked
/// when the query is planned.
///
/// ```
/// use datafusion::prelude::SessionContext;
/// use tautomer_datafusion::ExpressionFunction;
///
/// # let runtime = tokio::runtime::Builder::new_multi_thread().thread_stack_size(8 << 20).build().unwrap();
/// # runtime.block_on(async {
/// let context = SessionContext::new();
/// context.register_udf(ExpressionFunction::default().into());
/// let rows = "(VALUES (3, 0.5), (4, NULL)) AS t(n, y)";
/// let query = context.sql(&format!("SELECT tautomer('if(n > 3, 0, y * 2)', n, y) AS r FROM {rows}")).await.unwrap();
/// assert_eq!(query.count().await.unwrap(), 2);
///
/// let problem = context.sql(&format!("SELECT tautomer('n + y', n, y) FROM {rows}")).await.unwrap_err();
/// assert!(problem.to_string().contains("expression:1:1"), "{problem}");
/// # });
/// ```
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ExpressionFunction {
    signature: Signature,
    pub(crate) options: Options,
}

impl ExpressionFunction {
    /// With choices of the language and of evaluation.
    pub fn new(options: Options) -> Self {
        ExpressionFunction {
            signature: signature(),
            options,
        }
    }

    fn compile(&self, text: &str, fields: &[FieldRef]) -> Result<Bound> {
        let mut columns: Vec<FieldRef> = Vec::new();
        for field in fields {
            match field.data_type() {
                DataType::Struct(parts) => columns.extend(parts.iter().cloned()),
                _ => columns.push(Arc::clone(field)),
            }
        }
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|before| before.name() == column.name()) {
                return plan_err!(
                    "two arguments of `{NAME}` are called `{}`; name one by `named_struct('other', value)`",
                    column.name()
                );
            }
        }
        let columns = columns
            .iter()
            .map(|field| Field::new(field.name(), field.data_type().clone(), true));
        let schema = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
        let parts = fields.iter().map(|field| match field.data_type() {
            DataType::Struct(parts) => Some(parts.len()),
            _ => None,
        });
        Bound::compile(text, schema, &self.options, parts.collect())
    }
}

impl Default for ExpressionFunction {
    fn default() -> Self {
        ExpressionFunction::new(Options::default())
    }
}

fn signature() -> Signature {
    Signature::variadic_any(Volatility::Immutable)
}

impl ScalarUDFImpl for ExpressionFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        plan_err!("the type of `{NAME}` depends on its text")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let text = args
            .scalar_arguments
            .first()
            .copied()
            .flatten()
            .and_then(|text| text.try_as_str().flatten());
        let Some(text) = text else {
            return plan_err!("the first argument of `{NAME}` is the text of an expression, as a literal");
        };
        let bound = self.compile(text, &args.arg_fields[1..])?;
        Ok(Arc::clone(&bound.expression.field))
    }

    /// The names of columns may change in later steps of planning: from here on, the order of arguments counts.
    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let text = match args.first() {
            Some(Expr::Literal(text, _)) => text.try_as_str().flatten().map(str::to_owned),
            _ => None,
        };
        let Some(text) = text else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let fields = args[1..].iter().map(|arg| Ok(arg.to_field(info.schema().as_ref())?.1));
        let bound = self.compile(&text, &fields.collect::<Result<Vec<_>>>()?)?;
        let call = ScalarFunction::new_udf(Arc::new(ScalarUDF::new_from_impl(bound)), args);
        Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(call)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let text = match args.args.first() {
            Some(ColumnarValue::Scalar(text)) => text.try_as_str().flatten().map(str::to_owned),
            _ => None,
        };
        let Some(text) = text else {
            return exec_err!("the first argument of `{NAME}` is the text of an expression, as a literal");
        };
        self.compile(&text, &args.arg_fields[1..])?.invoke_with_args(args)
    }
}

/// The function for one text, with its arguments in order.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bound {
    signature: Signature,
    pub(crate) expression: Expression,
    /// For each argument, the number of its fields if it is a struct.
    pub(crate) parts: Vec<Option<usize>>,
}

impl Bound {
    pub(crate) fn compile(text: &str, schema: SchemaRef, options: &Options, parts: Vec<Option<usize>>) -> Result<Self> {
        let columns: usize = parts.iter().map(|part| part.unwrap_or(1)).sum();
        if columns != schema.fields().len() {
            return plan_err!(
                "`{NAME}` has {} columns, and its arguments {columns}",
                schema.fields().len()
            );
        }
        let expression = Expression::compile(text, schema, options).map_err(|problems| invalid(&problems))?;
        if !expression.is_pure {
            let problem = Diagnostic::error("T0705", "random numbers are not available here")
                .help("pass DataFusion's `random()` as an argument: `named_struct('r', random())`");
            return Err(invalid(&problem.into()));
        }
        Ok(Bound {
            signature: signature(),
            expression,
            parts,
        })
    }
}

impl ScalarUDFImpl for Bound {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.expression.field.data_type().clone())
    }

    fn return_field_from_args(&self, _args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::clone(&self.expression.field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.expression.schema.fields().len());
        for (value, part) in args.args.into_iter().skip(1).zip(&self.parts) {
            let array = value.into_array(rows)?;
            match part {
                None => columns.push(array),
                Some(_) => {
                    let Some(parts) = array.as_struct_opt() else {
                        return exec_err!("an argument of `{NAME}` is not the struct that it was planned for");
                    };
                    for column in parts.columns() {
                        columns.push(with_nulls(column, parts.nulls())?);
                    }
                }
            }
        }
        Ok(ColumnarValue::Array(self.expression.evaluate(columns, rows)?))
    }
}

/// A field of a struct, which is null where the struct is.
fn with_nulls(column: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    if nulls.is_none_or(|nulls| nulls.null_count() == 0) {
        return Ok(Arc::clone(column));
    }
    let nulls = NullBuffer::union(nulls, column.nulls());
    Ok(make_array(column.to_data().into_builder().nulls(nulls).build()?))
}
