//! Codecs that send expressions as text with the types of their columns; they are compiled where they arrive.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use datafusion_catalog::TableProvider;
use datafusion_common::{DataFusionError, Result, TableReference, plan_datafusion_err};
use datafusion_datasource::file_format::FileFormatFactory;
use datafusion_execution::TaskContext;
use datafusion_expr::{AggregateUDF, Extension, HigherOrderUDF, LogicalPlan, ScalarUDF, WindowUDF};
use datafusion_physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion_physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion_physical_plan::{ExecutionPlan, PhysicalExpr};
use datafusion_proto::logical_plan::{DefaultLogicalExtensionCodec, LogicalExtensionCodec};
use datafusion_proto::physical_plan::{
    DefaultPhysicalExtensionCodec, PhysicalExtensionCodec, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf;
use prost::Message;
use tautomer_columns::{FloatOrder, OnFailure, Options, Overflow, Type};

use crate::expression::{Expression, invalid};
use crate::function::{Bound, ExpressionFunction, NAME};
use crate::fused::FusedExpr;

/// The first bytes of each message of these codecs, by which they recognize their own.
const PREFIX: &[u8] = b"tautomer 1\n";

/// An expression.
#[derive(Clone, PartialEq, Message)]
struct ExpressionMessage {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(message, optional, tag = "2")]
    columns: Option<protobuf::Schema>,
    #[prost(message, optional, tag = "3")]
    options: Option<OptionsMessage>,
    /// Whether a fused expression may be null.
    #[prost(bool, tag = "4")]
    nullable: bool,
    /// For each argument of a function, zero, or one more than the number of its fields.
    #[prost(uint32, repeated, tag = "5")]
    parts: Vec<u32>,
}

/// What a caller may choose; zeros are the defaults.
#[derive(Clone, PartialEq, Message)]
struct OptionsMessage {
    #[prost(bool, tag = "1")]
    promote: bool,
    #[prost(bool, tag = "2")]
    caret_is_power: bool,
    #[prost(string, tag = "3")]
    integers: String,
    #[prost(string, tag = "4")]
    floats: String,
    #[prost(uint32, tag = "5")]
    overflow: u32,
    #[prost(bool, tag = "6")]
    zero_is_null: bool,
    #[prost(bool, tag = "7")]
    invalid_is_null: bool,
    #[prost(bool, tag = "8")]
    total_order: bool,
    #[prost(uint64, tag = "9")]
    seed: u64,
}

impl From<&Options> for OptionsMessage {
    fn from(options: &Options) -> Self {
        OptionsMessage {
            promote: options.promote,
            caret_is_power: options.caret_is_power,
            integers: options.integers.name().to_owned(),
            floats: options.floats.name().to_owned(),
            overflow: match options.overflow {
                Overflow::Wrap => 0,
                Overflow::Null => 1,
                Overflow::Error => 2,
            },
            zero_is_null: options.division_by_zero == OnFailure::Null,
            invalid_is_null: options.invalid == OnFailure::Null,
            total_order: options.float_order == FloatOrder::Total,
            seed: options.seed,
        }
    }
}

impl TryFrom<OptionsMessage> for Options {
    type Error = DataFusionError;

    fn try_from(message: OptionsMessage) -> Result<Self> {
        let named = |name: &str| {
            let found = Type::ALL.into_iter().find(|ty| ty.name() == name);
            found.ok_or_else(|| plan_datafusion_err!("unknown type `{name}` in the options of an expression"))
        };
        let on_failure = |is_null: bool| if is_null { OnFailure::Null } else { OnFailure::Error };
        Ok(Options {
            promote: message.promote,
            caret_is_power: message.caret_is_power,
            integers: named(&message.integers)?,
            floats: named(&message.floats)?,
            overflow: match message.overflow {
                0 => Overflow::Wrap,
                1 => Overflow::Null,
                2 => Overflow::Error,
                other => {
                    return Err(plan_datafusion_err!(
                        "unknown kind {other} of overflow in an expression"
                    ));
                }
            },
            division_by_zero: on_failure(message.zero_is_null),
            invalid: on_failure(message.invalid_is_null),
            float_order: if message.total_order {
                FloatOrder::Total
            } else {
                FloatOrder::Partial
            },
            seed: message.seed,
        })
    }
}

fn encode(message: &ExpressionMessage, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(PREFIX);
    buffer.extend(message.encode_to_vec());
}

/// The message of a buffer, if it is one of these codecs'.
fn decode(buffer: &[u8]) -> Option<Result<ExpressionMessage>> {
    let rest = buffer.strip_prefix(PREFIX)?;
    let message = ExpressionMessage::decode(rest);
    Some(message.map_err(|error| plan_datafusion_err!("invalid message of an expression: {error}")))
}

impl ExpressionMessage {
    fn of(expression: &Expression) -> Result<Self> {
        Ok(ExpressionMessage {
            text: expression.text.clone(),
            columns: Some(expression.schema.as_ref().try_into()?),
            options: Some((&expression.options).into()),
            ..ExpressionMessage::default()
        })
    }

    fn options(&self) -> Result<Options> {
        let options = self.options.clone();
        options
            .ok_or_else(|| plan_datafusion_err!("the message of an expression has no options"))?
            .try_into()
    }

    fn schema(&self) -> Result<SchemaRef> {
        let columns = self.columns.as_ref();
        let columns = columns.ok_or_else(|| plan_datafusion_err!("the message of an expression has no columns"))?;
        Ok(Arc::new(Schema::try_from(columns)?))
    }
}

/// The function for one text, or for any, if it is one of this crate.
fn encode_function(function: &ScalarUDF, buffer: &mut Vec<u8>) -> Result<bool> {
    let message = if let Some(any) = function.inner().downcast_ref::<ExpressionFunction>() {
        ExpressionMessage {
            options: Some((&any.options).into()),
            ..ExpressionMessage::default()
        }
    } else if let Some(bound) = function.inner().downcast_ref::<Bound>() {
        ExpressionMessage {
            parts: bound
                .parts
                .iter()
                .map(|part| part.map_or(0, |count| count as u32 + 1))
                .collect(),
            ..ExpressionMessage::of(&bound.expression)?
        }
    } else {
        return Ok(false);
    };
    encode(&message, buffer);
    Ok(true)
}

fn decode_function(name: &str, buffer: &[u8]) -> Option<Result<Arc<ScalarUDF>>> {
    if name == NAME && buffer.is_empty() {
        return Some(Ok(Arc::new(ExpressionFunction::default().into())));
    }
    let function = |message: ExpressionMessage| {
        let options = message.options()?;
        if message.columns.is_none() {
            return Ok(ExpressionFunction::new(options).into());
        }
        let parts = message
            .parts
            .iter()
            .map(|&part| part.checked_sub(1).map(|count| count as usize));
        let bound = Bound::compile(&message.text, message.schema()?, &options, parts.collect())?;
        Ok(ScalarUDF::new_from_impl(bound))
    };
    Some(decode(buffer)?.and_then(function).map(Arc::new))
}

/// Sends [`FusedExpr`] and [`ExpressionFunction`] with physical plans; everything else goes through another codec.
///
/// ```
/// use std::sync::Arc;
/// use datafusion_proto::physical_plan::DefaultPhysicalExtensionCodec;
/// use tautomer_datafusion::PhysicalCodec;
///
/// let codec = PhysicalCodec::new(Arc::new(DefaultPhysicalExtensionCodec {}));
/// # let _ = codec;
/// ```
#[derive(Debug)]
pub struct PhysicalCodec {
    inner: Arc<dyn PhysicalExtensionCodec>,
}

impl PhysicalCodec {
    /// A codec before another one.
    pub fn new(inner: Arc<dyn PhysicalExtensionCodec>) -> Self {
        PhysicalCodec { inner }
    }
}

impl Default for PhysicalCodec {
    fn default() -> Self {
        PhysicalCodec::new(Arc::new(DefaultPhysicalExtensionCodec {}))
    }
}

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.try_decode(buf, inputs, ctx, proto_converter)
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        proto_converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        self.inner.try_encode(node, buf, proto_converter)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        decode_function(name, buf).unwrap_or_else(|| self.inner.try_decode_udf(name, buf))
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        match encode_function(node, buf)? {
            true => Ok(()),
            false => self.inner.try_encode_udf(node, buf),
        }
    }

    fn try_decode_higher_order_function(&self, name: &str, buf: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.inner.try_decode_higher_order_function(name, buf)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_higher_order_function(node, buf)
    }

    fn try_decode_expr(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        ctx: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(message) = decode(buf) else {
            return self.inner.try_decode_expr(buf, inputs, ctx);
        };
        let message = message?;
        let expression = Expression::compile(&message.text, message.schema()?, &message.options()?);
        let expression = expression.map_err(|problems| invalid(&problems))?;
        Ok(Arc::new(FusedExpr::try_new(
            Arc::new(expression),
            inputs.to_vec(),
            message.nullable,
        )?))
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        buf: &mut Vec<u8>,
        ctx: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        let Some(fused) = node.downcast_ref::<FusedExpr>() else {
            return self.inner.try_encode_expr(node, buf, ctx);
        };
        let message = ExpressionMessage {
            nullable: fused.nullable,
            ..ExpressionMessage::of(&fused.expression)?
        };
        encode(&message, buf);
        Ok(())
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.inner.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.inner.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udwf(node, buf)
    }
}

/// Sends [`ExpressionFunction`] with logical plans; everything else goes through another codec.
#[derive(Debug)]
pub struct LogicalCodec {
    inner: Arc<dyn LogicalExtensionCodec>,
}

impl LogicalCodec {
    /// A codec before another one.
    pub fn new(inner: Arc<dyn LogicalExtensionCodec>) -> Self {
        LogicalCodec { inner }
    }
}

impl Default for LogicalCodec {
    fn default() -> Self {
        LogicalCodec::new(Arc::new(DefaultLogicalExtensionCodec {}))
    }
}

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], ctx: &TaskContext) -> Result<Extension> {
        self.inner.try_decode(buf, inputs, ctx)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table_ref: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        self.inner.try_decode_table_provider(buf, table_ref, schema, ctx)
    }

    fn try_encode_table_provider(
        &self,
        table_ref: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        self.inner.try_encode_table_provider(table_ref, node, buf)
    }

    fn try_decode_file_format(&self, buf: &[u8], ctx: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.inner.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(&self, buf: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.inner.try_encode_file_format(buf, node)
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        decode_function(name, buf).unwrap_or_else(|| self.inner.try_decode_udf(name, buf))
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        match encode_function(node, buf)? {
            true => Ok(()),
            false => self.inner.try_encode_udf(node, buf),
        }
    }

    fn try_decode_higher_order_function(&self, name: &str, buf: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.inner.try_decode_higher_order_function(name, buf)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_higher_order_function(node, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.inner.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.inner.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.inner.try_encode_udwf(node, buf)
    }
}
