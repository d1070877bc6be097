//! Queries with the rule and without it: the same rows, in the same order.

use std::sync::Arc;

use arrow_array::{Float64Array, Int32Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use datafusion::datasource::MemTable;
use datafusion::prelude::{ParquetReadOptions, SessionContext, col};

use crate::lineitem::{QUERIES, lineitem, write};
use crate::{plan, rows, run, session};

/// Batches that are slices of one.
fn in_slices(batch: &RecordBatch, length: usize) -> Vec<RecordBatch> {
    let starts = (0..batch.num_rows()).step_by(length);
    starts
        .map(|start| batch.slice(start, length.min(batch.num_rows() - start)))
        .collect()
}

fn with_lineitem(fused: bool, batch: &RecordBatch) -> SessionContext {
    let context = session(fused);
    let table = MemTable::try_new(batch.schema(), vec![in_slices(batch, 1000)]).unwrap();
    context.register_table("lineitem", Arc::new(table)).unwrap();
    context
}

#[test]
fn queries_over_memory_have_the_same_rows() {
    run(async {
        let batch = lineitem(5000);
        let (plain, fused) = (with_lineitem(false, &batch), with_lineitem(true, &batch));
        for (name, query) in QUERIES {
            assert_eq!(rows(&fused, query).await, rows(&plain, query).await, "{name}");
            let shown = plan(&fused, query).await;
            assert_eq!(shown.contains("tautomer("), name != "columns", "{name}\n{shown}");
        }
        let shown = plan(&fused, QUERIES[1].1).await;
        assert!(
            shown.contains("FilterExec: tautomer(l_shipdate >= castDATE(8766i32)"),
            "{shown}"
        );
    });
}

#[test]
fn queries_over_parquet_have_the_same_rows() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lineitem.parquet");
        write(&path, &lineitem(5000));
        let (plain, fused) = (session(false), session(true));
        for context in [&plain, &fused] {
            let options = ParquetReadOptions::default();
            context
                .register_parquet("lineitem", path.to_str().unwrap(), options)
                .await
                .unwrap();
        }
        for (name, query) in QUERIES {
            assert_eq!(rows(&fused, query).await, rows(&plain, query).await, "{name}");
        }
        // The projection is part of the scan.
        let shown = plan(&fused, QUERIES[2].1).await;
        let scan = shown.lines().find(|line| line.contains("DataSourceExec")).unwrap();
        assert!(scan.contains("tautomer("), "{shown}");
    });
}

#[test]
fn explain_shows_what_is_fused() {
    run(async {
        let context = with_lineitem(true, &lineitem(10));
        let explained = rows(&context, "EXPLAIN SELECT l_tax * 2 + l_discount AS r FROM lineitem").await;
        let shown = format!("{explained:?}");
        assert!(shown.contains("tautomer(l_tax * 2.0f64 + l_discount)"), "{shown}");
    });
}

/// A table whose file is known to be sorted.
fn sorted(fused: bool) -> SessionContext {
    let schema = Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int32, false),
        Field::new("b", DataType::Int32, false),
        Field::new("x", DataType::Float64, true),
    ]));
    let column = |of: fn(i32) -> i32| Arc::new((0..3000).map(of).collect::<Int32Array>());
    let x: Float64Array = (0..3000)
        .map(|row| (row % 7 != 0).then_some(f64::from(row * 37 % 100)))
        .collect();
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![column(|row| row / 1000), column(|row| row), Arc::new(x)],
    )
    .unwrap();
    let order = vec![vec![col("a").sort(true, false), col("b").sort(true, false)]];
    let table = MemTable::try_new(schema, vec![in_slices(&batch, 700)])
        .unwrap()
        .with_sort_order(order);
    let context = session(fused);
    context.register_table("t", Arc::new(table)).unwrap();
    context
}

#[test]
fn the_order_that_other_operators_rely_on_is_kept() {
    run(async {
        let (plain, fused) = (sorted(false), sorted(true));
        // Since `a` is constant, the rows are sorted by `b`; the plan has no sort, and so the filter has to say so.
        let queries = [
            "SELECT b, x FROM t WHERE a = 1 AND x * 2 > 30 AND x < 90 ORDER BY b",
            "SELECT b, x * 2 + 1 AS y FROM t WHERE x + x > 30 AND x < 90 ORDER BY a, b",
            "SELECT a, sum(x * 3 + b) AS s FROM t WHERE x * 2 > 30 AND b > 5 GROUP BY a ORDER BY a",
        ];
        for query in queries {
            let (with, without) = (plan(&fused, query).await, plan(&plain, query).await);
            assert!(!without.contains("SortExec"), "{without}");
            assert!(with.contains("tautomer("), "{with}");
            let operators = |shown: &str| {
                let names = shown
                    .lines()
                    .filter_map(|line| line.split([':', ' ']).find(|word| !word.is_empty()));
                names.map(str::to_owned).collect::<Vec<_>>()
            };
            assert_eq!(operators(&with), operators(&without), "{with}");
            assert_eq!(rows(&fused, query).await, rows(&plain, query).await, "{query}");
        }
    });
}

#[test]
fn what_may_fail_stays_where_it_is() {
    run(async {
        let (plain, fused) = (sorted(false), sorted(true));
        let query = "SELECT CASE WHEN a <> 0 THEN (b + 1) / a ELSE a * 2 + b END AS q FROM t ORDER BY b";
        assert_eq!(rows(&fused, query).await, rows(&plain, query).await);
        for query in ["SELECT b / a + 1 FROM t", "SELECT CAST(x * 1e300 AS INT) + 1 FROM t"] {
            let fused = fused.sql(query).await.unwrap().collect().await;
            let plain = plain.sql(query).await.unwrap().collect().await;
            assert_eq!(fused.unwrap_err().to_string(), plain.unwrap_err().to_string());
        }
    });
}

#[test]
fn conjuncts_that_are_not_fused_stay_in_their_order() {
    run(async {
        let batch = lineitem(3000);
        let (plain, fused) = (with_lineitem(false, &batch), with_lineitem(true, &batch));
        let query = "SELECT l_orderkey FROM lineitem WHERE l_tax * 2 > 0.05 AND l_discount < 0.08 \
                     AND l_returnflag LIKE 'N%' AND l_quantity > 3 AND l_quantity < 40 ORDER BY l_orderkey";
        let shown = plan(&fused, query).await;
        let filter = shown.lines().find(|line| line.contains("FilterExec")).unwrap();
        // DataFusion itself puts what costs more behind the rest.
        let places = [
            "tautomer(l_tax * 2.0f64 > 0.05f64 and",
            "l_quantity < 40.0f64) AND",
            "LIKE",
        ];
        let mut rest = filter;
        for place in places {
            let at = rest.find(place).unwrap_or_else(|| panic!("{place} in {filter}"));
            rest = &rest[at + place.len()..];
        }
        assert_eq!(rows(&fused, query).await, rows(&plain, query).await);
    });
}
