//! A Ballista scheduler and two executors on this machine, over Parquet files: the rule runs in the scheduler, the
//! codecs send fused expressions to the executors as text, and these compile them. The answer is that of one machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use ballista::prelude::SessionContextExt;
use ballista_core::extension::SessionConfigExt;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use ballista_executor::new_standalone_executor_from_state;
use ballista_scheduler::standalone::new_standalone_scheduler_from_state;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use tautomer_datafusion::{ExpressionFunction, FuseExpressions, LogicalCodec, PhysicalCodec, optimizer_rules};

#[path = "../../tests/it/lineitem.rs"]
mod lineitem;

/// The files, and the rows of each.
const FILES: usize = 8;
const ROWS: usize = 20_000;

const CALL: &str = "SELECT l_returnflag, count(*) AS rows, \
                    max(tautomer('if(l_tax > 0.02, l_quantity * l_tax, 0)', l_tax, l_quantity)) AS most \
                    FROM lineitem GROUP BY l_returnflag ORDER BY l_returnflag";

fn failed(error: impl std::fmt::Display) -> DataFusionError {
    DataFusionError::Execution(error.to_string())
}

/// The state of the client, the scheduler and the executors: the function, the rule, and the codecs before Ballista's.
fn state() -> SessionState {
    let config = SessionConfig::new_with_ballista()
        .with_target_partitions(4)
        .with_ballista_physical_extension_codec(Arc::new(PhysicalCodec::new(Arc::new(
            BallistaPhysicalExtensionCodec::default(),
        ))))
        .with_ballista_logical_extension_codec(Arc::new(LogicalCodec::new(Arc::new(
            BallistaLogicalExtensionCodec::default(),
        ))));
    let mut state = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_physical_optimizer_rules(optimizer_rules(FuseExpressions::default()))
        .build();
    datafusion::execution::FunctionRegistry::register_udf(&mut state, Arc::new(ExpressionFunction::default().into()))
        .expect("the name is not taken");
    state
}

/// A scheduler with two executors; the port of the scheduler.
async fn cluster() -> Result<u16> {
    let state = state();
    let address = new_standalone_scheduler_from_state(&state).await.map_err(failed)?;
    let url = format!("http://localhost:{}", address.port());
    for _ in 0..2 {
        let scheduler = loop {
            match SchedulerGrpcClient::connect(url.clone()).await {
                Ok(scheduler) => break scheduler,
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        };
        new_standalone_executor_from_state(scheduler, 2, &state)
            .await
            .map_err(failed)?;
    }
    Ok(address.port())
}

async fn answer(context: &SessionContext, directory: &Path, query: &str) -> Result<String> {
    let path = directory
        .to_str()
        .ok_or_else(|| failed("the directory has no name in UTF-8"))?;
    if !context.table_exist("lineitem")? {
        context
            .register_parquet("lineitem", path, ParquetReadOptions::default())
            .await?;
    }
    let batches: Vec<RecordBatch> = context.sql(query).await?.collect().await?;
    Ok(pretty_format_batches(&batches)?.to_string())
}

async fn run() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let batch = lineitem::lineitem(FILES * ROWS);
    for file in 0..FILES {
        let path = directory.path().join(format!("part-{file}.parquet"));
        lineitem::write(&path, &batch.slice(file * ROWS, ROWS));
    }
    let port = cluster().await?;
    let distributed = SessionContext::remote_with_state(&format!("df://localhost:{port}"), state()).await?;
    distributed.register_udf(ExpressionFunction::default().into());
    let alone = SessionContext::new_with_state(
        SessionStateBuilder::new_with_default_features()
            .with_config(SessionConfig::new().with_target_partitions(1))
            .build(),
    );
    alone.register_udf(ExpressionFunction::default().into());
    let queries = lineitem::QUERIES.into_iter().filter(|(name, _)| name.starts_with('q'));
    for (name, query) in queries.chain([("function", CALL)]) {
        let plan = answer(&distributed, directory.path(), &format!("EXPLAIN {query}")).await?;
        let fused = plan.matches("tautomer(").count();
        let found = answer(&distributed, directory.path(), query).await?;
        let wanted = answer(&alone, directory.path(), query).await?;
        println!("{name}: {fused} fused expressions in the plan\n{found}");
        if !same(&found, &wanted) {
            return Err(failed(format!("{name}: one machine answers\n{wanted}")));
        }
    }
    println!("two executors and one machine give the same answers");
    Ok(())
}

/// Whether two tables have the same cells; sums of doubles depend on the order of the parts in their last digits.
fn same(found: &str, wanted: &str) -> bool {
    let cells = |text: &str| -> Vec<String> {
        let cells = text.split('|').map(str::trim).filter(|cell| !cell.starts_with('+'));
        cells.map(str::to_owned).collect()
    };
    let (found, wanted) = (cells(found), cells(wanted));
    found.len() == wanted.len()
        && found
            .iter()
            .zip(&wanted)
            .all(|(a, b)| match (a.parse::<f64>(), b.parse::<f64>()) {
                (Ok(a), Ok(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
                _ => a == b,
            })
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(64 << 20)
        .build()?;
    runtime.block_on(runtime.spawn(run())).map_err(failed)?
}
