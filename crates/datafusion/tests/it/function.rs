//! The function `tautomer(text, …)`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray};
use datafusion::prelude::SessionContext;

use crate::{plan, rows, run, session};

fn numbers() -> SessionContext {
    let context = session(true);
    let batch = RecordBatch::try_from_iter_with_nullable(vec![
        (
            "x",
            Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)])) as _,
            true,
        ),
        (
            "y",
            Arc::new(Float64Array::from(vec![Some(0.5), None, Some(1.5), Some(2.5)])) as _,
            true,
        ),
        (
            "z",
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), Some(true), None])) as _,
            true,
        ),
        ("name", Arc::new(StringArray::from(vec!["a", "b", "c", "d"])) as _, true),
    ]);
    context.register_batch("t", batch.unwrap()).unwrap();
    context
}

async fn doubles(context: &SessionContext, query: &str) -> Vec<Option<f64>> {
    rows(context, query)
        .await
        .column(0)
        .as_primitive::<Float64Type>()
        .iter()
        .collect()
}

async fn refused(context: &SessionContext, query: &str) -> String {
    match context.sql(query).await {
        Ok(_) => panic!("{query} was planned"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_example_of_the_proposal() {
    run(async {
        let context = numbers();
        let found = doubles(
            &context,
            "SELECT tautomer('if(z, castFloat8(x), y * 1000.0)', x, y, z) FROM t",
        )
        .await;
        assert_eq!(found, [Some(1.0), None, None, Some(2500.0)]);
    });
}

#[test]
fn names_are_those_of_the_call_whatever_plans_rename() {
    run(async {
        let context = numbers();
        let query = "SELECT tautomer('p * 2.0 + q', p, q) AS r FROM (SELECT y AS p, y * 10 AS q, x FROM t) \
                     WHERE x < 4 ORDER BY x";
        assert_eq!(doubles(&context, query).await, [Some(6.0), None]);
        let struct_of_two = "SELECT tautomer('p - q', named_struct('p', y + 1, 'q', y)) AS r FROM t";
        assert_eq!(
            doubles(&context, struct_of_two).await,
            [Some(1.0), None, Some(1.0), Some(1.0)]
        );
        let null_struct =
            "SELECT tautomer('if(isnull(p), 7.0, p)', CASE WHEN x > 1 THEN named_struct('p', y) END) FROM t";
        assert_eq!(
            doubles(&context, null_struct).await,
            [Some(7.0), Some(7.0), Some(7.0), Some(2.5)]
        );
    });
}

#[test]
fn several_expressions_are_a_struct() {
    run(async {
        let context = numbers();
        let query = "SELECT get_field(s, 'b') FROM (SELECT tautomer('a = x + 1; b = y * 2.0', x, y) AS s FROM t)";
        assert_eq!(doubles(&context, query).await, [Some(1.0), None, Some(3.0), Some(5.0)]);
    });
}

#[test]
fn without_columns_it_is_a_constant() {
    run(async {
        let context = numbers();
        assert_eq!(
            doubles(&context, "SELECT tautomer('r: f64 = 2 ** 3')").await,
            [Some(8.0)]
        );
        let shown = plan(&context, "SELECT tautomer('r: f64 = 2 ** 3') FROM t").await;
        assert!(shown.contains("expr=[8 as"), "{shown}");
    });
}

#[test]
fn types_are_checked_when_the_query_is_planned() {
    run(async {
        let context = numbers();
        let found = refused(&context, "SELECT tautomer('x + y', x, y) FROM t").await;
        for part in ["T0702", "expression:1:1", "x + y", "(i32, f64)"] {
            assert!(found.contains(part), "{part} in\n{found}");
        }
        let found = refused(&context, "SELECT tautomer('x + yy', x, y) FROM t").await;
        assert!(found.contains("T0104") && found.contains("expression:1:5"), "{found}");
        let found = refused(&context, "SELECT tautomer('x +', x) FROM t").await;
        assert!(found.contains("expression:1:"), "{found}");
        let found = refused(&context, "SELECT tautomer(name, x) FROM t").await;
        assert!(found.contains("as a literal"), "{found}");
        let found = refused(&context, "SELECT tautomer('x', x, x) FROM t").await;
        assert!(found.contains("two arguments"), "{found}");
        let found = refused(&context, "SELECT tautomer('random() * y', y) FROM t").await;
        assert!(found.contains("T0705"), "{found}");
    });
}

#[test]
fn failures_name_the_row() {
    run(async {
        let context = numbers();
        let query = "SELECT tautomer('10 / (x - 2)', x) FROM t";
        let error = context
            .sql(query)
            .await
            .unwrap()
            .collect()
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("T0707") && error.contains("row 1: division by zero"),
            "{error}"
        );
        let lazy = "SELECT tautomer('if(x != 2, castFLOAT8(10 / (x - 2)), 0)', x) FROM t";
        assert_eq!(
            doubles(&context, lazy).await,
            [Some(-10.0), Some(0.0), Some(0.0), Some(5.0)]
        );
    });
}
