//! Expressions in DataFusion: the function, the rule, the codecs.

mod codec;
mod differential;
mod function;
mod lineitem;
mod sql;

use std::future::Future;
use std::sync::Arc;

use arrow_array::RecordBatch;
use datafusion::execution::SessionStateBuilder;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use tautomer_datafusion::{ExpressionFunction, FuseExpressions, optimizer_rules};

/// Runs a future on a thread with a stack for DataFusion's recursive planner without optimization.
fn run<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(64 << 20)
        .build()
        .unwrap();
    runtime.block_on(runtime.spawn(future)).unwrap()
}

/// A session with one partition and the function; with or without the rule.
fn session(fused: bool) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(1);
    let builder = SessionStateBuilder::new_with_default_features().with_config(config);
    let builder = match fused {
        true => builder.with_physical_optimizer_rules(optimizer_rules(FuseExpressions::default())),
        false => builder,
    };
    let context = SessionContext::new_with_state(builder.build());
    context.register_udf(ExpressionFunction::default().into());
    context
}

/// The physical plan of a query, as text.
async fn plan(context: &SessionContext, query: &str) -> String {
    let plan = context.sql(query).await.unwrap().create_physical_plan().await.unwrap();
    displayable(plan.as_ref()).indent(true).to_string()
}

/// The rows of a query, as one batch.
async fn rows(context: &SessionContext, query: &str) -> RecordBatch {
    let frame = context.sql(query).await.unwrap();
    let schema = Arc::clone(frame.schema().inner());
    let batches = frame.collect().await.unwrap();
    datafusion::arrow::compute::concat_batches(&schema, &batches).unwrap()
}
