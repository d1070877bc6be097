//! Queries with the rule and without it. `cargo bench -p tautomer-datafusion`.

#[path = "../tests/it/lineitem.rs"]
mod lineitem;

use std::sync::Arc;

use datafusion::datasource::MemTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use divan::Bencher;
use lineitem::{QUERIES, lineitem, write};
use tautomer_datafusion::{FuseExpressions, optimizer_rules};

const ROWS: usize = 1_000_000;

fn main() {
    divan::main();
}

fn session(fused: bool) -> SessionContext {
    let config = SessionConfig::new().with_target_partitions(1);
    let builder = SessionStateBuilder::new_with_default_features().with_config(config);
    let builder = match fused {
        true => builder.with_physical_optimizer_rules(optimizer_rules(FuseExpressions::default())),
        false => builder,
    };
    SessionContext::new_with_state(builder.build())
}

fn time(bencher: Bencher<'_, '_>, query: &str, fused: bool, parquet: bool) {
    let query = QUERIES.iter().find(|(name, _)| *name == query).unwrap().1;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(64 << 20)
        .build();
    let runtime = runtime.unwrap();
    let context = session(fused);
    let directory = tempfile::tempdir().unwrap();
    let batch = lineitem(ROWS);
    if parquet {
        let path = directory.path().join("lineitem.parquet");
        write(&path, &batch);
        let path = path.to_str().unwrap().to_owned();
        let context = context.clone();
        let table = async move {
            context
                .register_parquet("lineitem", &path, ParquetReadOptions::default())
                .await
        };
        runtime.block_on(runtime.spawn(table)).unwrap().unwrap();
    } else {
        let batches = (0..ROWS)
            .step_by(8192)
            .map(|start| batch.slice(start, 8192.min(ROWS - start)));
        let table = MemTable::try_new(batch.schema(), vec![batches.collect()]).unwrap();
        context.register_table("lineitem", Arc::new(table)).unwrap();
    }
    bencher.bench_local(|| {
        let (context, query) = (context.clone(), query.to_owned());
        runtime
            .block_on(runtime.spawn(async move { context.sql(&query).await.unwrap().collect().await.unwrap() }))
            .unwrap()
    });
}

#[divan::bench(args = ["q1", "q6", "projection", "columns"], sample_count = 20)]
fn memory_plain(bencher: Bencher<'_, '_>, query: &str) {
    time(bencher, query, false, false);
}

#[divan::bench(args = ["q1", "q6", "projection", "columns"], sample_count = 20)]
fn memory_fused(bencher: Bencher<'_, '_>, query: &str) {
    time(bencher, query, true, false);
}

#[divan::bench(args = ["q1", "q6", "projection", "columns"], sample_count = 20)]
fn parquet_plain(bencher: Bencher<'_, '_>, query: &str) {
    time(bencher, query, false, true);
}

#[divan::bench(args = ["q1", "q6", "projection", "columns"], sample_count = 20)]
fn parquet_fused(bencher: Bencher<'_, '_>, query: &str) {
    time(bencher, query, true, true);
}
