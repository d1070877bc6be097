//! Rows like those of TPC-H's largest table, with numbers as doubles; and its queries 1 and 6.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// Numbers that look random, from a fixed seed.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Numbers(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// So many rows.
pub(crate) fn lineitem(rows: usize) -> RecordBatch {
    let mut numbers = Numbers::new(7);
    let mut column =
        |of: &mut dyn FnMut(&mut Numbers) -> f64| -> Vec<f64> { (0..rows).map(|_| of(&mut numbers)).collect() };
    let quantity = column(&mut |numbers| numbers.below(50) as f64 + 1.0);
    let price = column(&mut |numbers| numbers.below(10_000_000) as f64 / 100.0);
    let discount = column(&mut |numbers| numbers.below(11) as f64 / 100.0);
    let tax = column(&mut |numbers| numbers.below(9) as f64 / 100.0);
    let days: Vec<i32> = (0..rows).map(|_| 8036 + numbers.below(2526) as i32).collect();
    let flags: Vec<&str> = (0..rows).map(|_| ["A", "N", "R"][numbers.below(3) as usize]).collect();
    let statuses: Vec<&str> = (0..rows).map(|_| ["F", "O"][numbers.below(2) as usize]).collect();
    let keys: Vec<i64> = (0..rows as i64).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("l_orderkey", Arc::new(Int64Array::from(keys))),
        ("l_quantity", Arc::new(Float64Array::from(quantity))),
        ("l_extendedprice", Arc::new(Float64Array::from(price))),
        ("l_discount", Arc::new(Float64Array::from(discount))),
        ("l_tax", Arc::new(Float64Array::from(tax))),
        ("l_returnflag", Arc::new(StringArray::from(flags))),
        ("l_linestatus", Arc::new(StringArray::from(statuses))),
        ("l_shipdate", Arc::new(Date32Array::from(days))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Writes rows to a Parquet file.
pub(crate) fn write(path: &Path, batch: &RecordBatch) {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// The shapes of TPC-H's queries 1 and 6, and a projection with many operators.
pub(crate) const QUERIES: [(&str, &str); 4] = [
    (
        "q1",
        "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base, \
         sum(l_extendedprice * (1 - l_discount)) AS sum_disc, \
         sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, avg(l_quantity) AS avg_qty, \
         avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc, count(*) AS count_order \
         FROM lineitem WHERE l_shipdate <= DATE '1998-09-02' \
         GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus",
    ),
    (
        "q6",
        "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem \
         WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' \
         AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24",
    ),
    (
        "projection",
        "SELECT l_orderkey, l_extendedprice * (1 - l_discount) * (1 + l_tax) - l_quantity * 0.25 \
         + CASE WHEN l_discount > 0.05 THEN l_extendedprice * 0.01 ELSE l_tax * l_quantity END AS charge \
         FROM lineitem",
    ),
    (
        "columns",
        "SELECT l_orderkey, l_quantity + 1 AS more FROM lineitem WHERE l_tax > 0.04",
    ),
];
