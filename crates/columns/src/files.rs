//! Tables in files, read and written batch by batch: CSV, Arrow IPC, Parquet.

use std::fs::File;
use std::io::{BufReader, Seek as _, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use tautomer_diag::Diagnostic;

/// Rows of a CSV file from which the types of its columns are guessed.
const GUESSED_FROM: usize = 1000;

/// Rows of a batch.
const BATCH: usize = 64 << 10;

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    /// Text with a header line.
    Csv,
    /// Arrow's IPC format for files, also called Feather.
    Arrow,
    /// Apache Parquet.
    Parquet,
}

impl TableFormat {
    /// The format that the suffix of a file stands for.
    ///
    /// ```
    /// use std::path::Path;
    /// use tautomer_columns::TableFormat;
    /// assert_eq!(TableFormat::of(Path::new("a.parquet")), Some(TableFormat::Parquet));
    /// assert_eq!(TableFormat::of(Path::new("a.txt")), None);
    /// ```
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(TableFormat::Csv),
            "arrow" | "feather" | "ipc" => Some(TableFormat::Arrow),
            "parquet" | "pq" => Some(TableFormat::Parquet),
            _ => None,
        }
    }
}

/// Reads a table batch by batch.
pub struct TableReader {
    schema: SchemaRef,
    batches: Batches,
    rows: Option<u64>,
}

enum Batches {
    Csv(Box<arrow_csv::Reader<File>>),
    Arrow(Box<FileReader<BufReader<File>>>),
    Parquet(Box<ParquetRecordBatchReader>),
}

fn unreadable(path: &Path, error: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error("T0401", format!("{}: {error}", path.display()))
}

fn invalid(path: &Path, error: &impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error("T0501", format!("{}: {error}", path.display()))
}

impl TableReader {
    /// Opens a table. The columns of a CSV file have the types of `schema`, or those guessed from its first rows.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is not of the format.
    pub fn open(path: &Path, format: TableFormat, schema: Option<SchemaRef>) -> Result<Self, Diagnostic> {
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        let (found, batches, rows) = match format {
            TableFormat::Csv => {
                let schema = match schema.clone() {
                    Some(schema) => schema,
                    None => {
                        let guess = arrow_csv::reader::Format::default().with_header(true);
                        let guessed = guess.infer_schema(&file, Some(GUESSED_FROM));
                        Arc::new(guessed.map_err(|error| invalid(path, &error))?.0)
                    }
                };
                (&file).rewind().map_err(|error| unreadable(path, error))?;
                let builder = arrow_csv::ReaderBuilder::new(Arc::clone(&schema));
                let reader = builder.with_header(true).with_batch_size(BATCH).build(file);
                (
                    schema,
                    Batches::Csv(Box::new(reader.map_err(|error| invalid(path, &error))?)),
                    None,
                )
            }
            TableFormat::Arrow => {
                let reader = FileReader::try_new(BufReader::new(file), None).map_err(|error| invalid(path, &error))?;
                (reader.schema(), Batches::Arrow(Box::new(reader)), None)
            }
            TableFormat::Parquet => {
                let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| invalid(path, &error))?;
                let (found, rows) = (
                    Arc::clone(builder.schema()),
                    builder.metadata().file_metadata().num_rows(),
                );
                let reader = builder
                    .with_batch_size(BATCH)
                    .build()
                    .map_err(|error| invalid(path, &error))?;
                (found, Batches::Parquet(Box::new(reader)), u64::try_from(rows).ok())
            }
        };
        // A file without metadata of its own is compared by names and types.
        let found = Arc::new(arrow_schema::Schema::new(found.fields().clone()));
        if let Some(wanted) = schema.filter(|wanted| !same(wanted, &found)) {
            let (wanted, found) = (describe_schema(&wanted), describe_schema(&found));
            return Err(
                Diagnostic::error("T0708", format!("{} has other columns than the schema", path.display()))
                    .note(format!("the file: {found}"))
                    .note(format!("the schema: {wanted}")),
            );
        }
        Ok(TableReader {
            schema: found,
            batches,
            rows,
        })
    }

    /// The columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number of rows, if the file says it before it is read.
    pub fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// The next batch.
    ///
    /// # Errors
    ///
    /// Contents that do not fit the format or the schema.
    pub fn next_batch(&mut self, path: &Path) -> Result<Option<RecordBatch>, Diagnostic> {
        let next = match &mut self.batches {
            Batches::Csv(reader) => reader.next(),
            Batches::Arrow(reader) => reader.next(),
            Batches::Parquet(reader) => reader.next(),
        };
        let batch = next.transpose().map_err(|error| invalid(path, &error))?;
        batch
            .map(|batch| {
                let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let columns = batch.columns().to_vec();
                RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
                    .map_err(|error| invalid(path, &error))
            })
            .transpose()
    }
}

fn same(a: &SchemaRef, b: &SchemaRef) -> bool {
    let parts = |schema: &SchemaRef| -> Vec<_> {
        let fields = schema.fields().iter();
        fields
            .map(|field| (field.name().clone(), field.data_type().clone()))
            .collect()
    };
    parts(a) == parts(b)
}

/// The columns of a schema in one line: `x: Int32, y: Float64`.
pub fn describe_schema(schema: &SchemaRef) -> String {
    let fields = schema.fields().iter();
    let shown = fields.map(|field| {
        let nullable = if field.is_nullable() { "" } else { " not null" };
        format!("{}: {}{nullable}", field.name(), field.data_type())
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Writes a table batch by batch.
pub struct TableWriter<W: Write + Send>(Writing<W>);

enum Writing<W: Write + Send> {
    Csv(Box<arrow_csv::Writer<W>>),
    Arrow(Box<FileWriter<W>>),
    Parquet(Box<ArrowWriter<W>>),
}

fn unwritable(error: impl std::fmt::Display) -> std::io::Error {
    std::io::Error::other(error.to_string())
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a table with these columns.
    ///
    /// # Errors
    ///
    /// A writer that fails, or a type that the format lacks.
    pub fn new(out: W, format: TableFormat, schema: &SchemaRef) -> std::io::Result<Self> {
        Ok(TableWriter(match format {
            TableFormat::Csv => Writing::Csv(Box::new(arrow_csv::WriterBuilder::new().with_header(true).build(out))),
            TableFormat::Arrow => Writing::Arrow(Box::new(FileWriter::try_new(out, schema).map_err(unwritable)?)),
            TableFormat::Parquet => {
                let properties = parquet::file::properties::WriterProperties::builder()
                    .set_compression(parquet::basic::Compression::SNAPPY)
                    .build();
                let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties));
                Writing::Parquet(Box::new(writer.map_err(unwritable)?))
            }
        }))
    }

    /// Adds rows.
    ///
    /// # Errors
    ///
    /// A writer that fails.
    pub fn write(&mut self, batch: &RecordBatch) -> std::io::Result<()> {
        match &mut self.0 {
            Writing::Csv(writer) => writer.write(batch).map_err(unwritable),
            Writing::Arrow(writer) => writer.write(batch).map_err(unwritable),
            Writing::Parquet(writer) => writer.write(batch).map_err(unwritable),
        }
    }

    /// Ends the table.
    ///
    /// # Errors
    ///
    /// A writer that fails.
    pub fn finish(self) -> std::io::Result<()> {
        match self.0 {
            // Every batch is flushed as it is written.
            Writing::Csv(_) => Ok(()),
            Writing::Arrow(mut writer) => writer.finish().map_err(unwritable),
            Writing::Parquet(writer) => writer.close().map(|_| ()).map_err(unwritable),
        }
    }
}

impl<W: Write + Send> std::fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TableWriter")
    }
}

impl std::fmt::Debug for TableReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableReader")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}
