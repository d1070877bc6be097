//! Tables in files.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use tautomer_columns::{TableFormat, TableReader, TableWriter};

use crate::{batch, column, problem};

#[test]
fn every_format_returns_what_was_written() {
    let folder = std::env::temp_dir().join(format!("tautomer-columns-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let columns: Vec<ArrayRef> = vec![
        column::<Int64Array>(vec![Some(1), None, Some(-3)]),
        column::<Float64Array>(vec![Some(0.5), Some(1e300), None]),
        column::<BooleanArray>(vec![Some(true), None, Some(false)]),
        column::<StringArray>(vec![Some("a"), Some("b, \"c\""), None]),
    ];
    let written = batch("x: i64, y: f64, z: bool, s: utf8", columns);
    for suffix in ["csv", "arrow", "parquet"] {
        let path = folder.join(format!("table.{suffix}"));
        let format = TableFormat::of(&path).unwrap();
        let mut writer = TableWriter::new(std::fs::File::create(&path).unwrap(), format, &written.schema()).unwrap();
        writer.write(&written).unwrap();
        writer.finish().unwrap();
        let mut reader = TableReader::open(&path, format, None).unwrap();
        let read = reader.next_batch(&path).unwrap().expect("a batch");
        assert_eq!(read.columns(), written.columns(), "{suffix}");
        assert!(reader.next_batch(&path).unwrap().is_none());
        let other = tautomer_columns::schema("x: i64, y: f64").unwrap();
        if suffix != "csv" {
            let refused = TableReader::open(&path, format, Some(Arc::clone(&other))).map_err(Into::into);
            assert_eq!(problem(refused).0, "T0708", "{suffix}");
        }
        std::fs::write(&path, "\u{0}nonsense").unwrap();
        if suffix != "csv" {
            assert_eq!(
                problem(TableReader::open(&path, format, None).map_err(Into::into)).0,
                "T0501",
                "{suffix}"
            );
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
