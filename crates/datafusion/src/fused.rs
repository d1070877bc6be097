//! A physical expression that is computed in fused loops.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, FieldRef, Schema};
use datafusion_common::{Result, internal_err};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr_common::physical_expr::fmt_sql;

use crate::expression::Expression;

/// Several scalar expressions as one, which is computed by `tautomer-columns`.
///
/// [`FuseExpressions`](crate::FuseExpressions) makes them. The children are the arguments: columns, and what only
/// DataFusion computes.
#[derive(Debug, Clone)]
pub struct FusedExpr {
    pub(crate) expression: Arc<Expression>,
    pub(crate) args: Vec<Arc<dyn PhysicalExpr>>,
    pub(crate) nullable: bool,
}

impl FusedExpr {
    /// The text that is computed.
    pub fn text(&self) -> &str {
        &self.expression.text
    }

    /// An expression over arguments, one for each column of its schema.
    pub(crate) fn try_new(
        expression: Arc<Expression>,
        args: Vec<Arc<dyn PhysicalExpr>>,
        nullable: bool,
    ) -> Result<Self> {
        let wanted = expression.schema.fields().len();
        if args.len() != wanted {
            return internal_err!("`{}` has {wanted} arguments, found {}", expression.text, args.len());
        }
        Ok(FusedExpr {
            expression,
            args,
            nullable,
        })
    }

    /// Writes the text, and the arguments that it does not name.
    fn write(&self, f: &mut fmt::Formatter<'_>, arg: fn(&dyn PhysicalExpr) -> String) -> fmt::Result {
        write!(f, "tautomer({}", self.expression.text)?;
        let mut separator = " where";
        for (expr, field) in self.args.iter().zip(self.expression.schema.fields()) {
            let named = expr
                .downcast_ref::<Column>()
                .is_some_and(|column| column.name() == field.name());
            if !named {
                write!(f, "{separator} {} = {}", field.name(), arg(expr.as_ref()))?;
                separator = ",";
            }
        }
        f.write_str(")")
    }
}

impl fmt::Display for FusedExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, |expr| expr.to_string())
    }
}

impl PartialEq for FusedExpr {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression && self.nullable == other.nullable && self.args == other.args
    }
}

impl Eq for FusedExpr {}

impl Hash for FusedExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expression.hash(state);
        self.args.hash(state);
    }
}

impl PhysicalExpr for FusedExpr {
    fn data_type(&self, _input_schema: &Schema) -> Result<DataType> {
        Ok(self.expression.field.data_type().clone())
    }

    fn nullable(&self, _input_schema: &Schema) -> Result<bool> {
        Ok(self.nullable)
    }

    fn return_field(&self, _input_schema: &Schema) -> Result<FieldRef> {
        let data_type = self.expression.field.data_type().clone();
        Ok(Arc::new(Field::new(self.to_string(), data_type, self.nullable)))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let rows = batch.num_rows();
        let args = self.args.iter().map(|arg| arg.evaluate(batch)?.into_array(rows));
        let args = args.collect::<Result<Vec<ArrayRef>>>()?;
        Ok(ColumnarValue::Array(self.expression.evaluate(args, rows)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.args.iter().collect()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let expression = Arc::clone(&self.expression);
        Ok(Arc::new(FusedExpr::try_new(expression, children, self.nullable)?))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, |expr| fmt_sql(expr).to_string())
    }
}
