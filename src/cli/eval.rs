//! `tautomer eval`: expressions over the columns of a table.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use clap::ValueEnum;
use serde_json::json;

use tautomer::columns::{
    Expressions, Filter, OnFailure, Options, Overflow, Projector, RecordBatch, Rewriter, TableFormat, TableReader,
    TableWriter, describe_schema, functions, one_row, schema,
};
use tautomer::diag::{Diagnostic, Diagnostics};
use tautomer::formats::atomic;
use tautomer::rule::Class;

use super::optimize::{parse_class, read_rules};
use super::progress::Progress;
use super::{Done, Failure, Shell};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  tautomer eval '2 ** 0.5'
  tautomer eval 'if(z, cast(x, f64), y * 1000.0)' --input data.csv
  tautomer eval 'x / 8 > 1 and x / 8 > 2' --schema 'x: f64' --explain
  tautomer eval 'id' 'total: f64 = price * 1.19' --filter 'price > 0' --input data.parquet -o out.parquet")]
pub(super) struct Args {
    /// Expressions, with a name and a type or without: `x + 1`, `total: f64 = price * 1.19`; one that begins with a minus
    /// sign follows `--`
    #[arg(
        value_name = "EXPR",
        required_unless_present = "functions",
        allow_negative_numbers = true
    )]
    expressions: Vec<String>,
    /// The table: .csv, .arrow or .parquet; without one the expressions have no columns and one row
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Where to write the results: .csv, .arrow or .parquet; without it they are printed as CSV
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Rows where this condition is not true are left out
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    filter: Option<String>,
    /// The columns of the table, as in `x: int32, y: float64`; the types of a CSV file are guessed otherwise
    #[arg(long, value_name = "TEXT")]
    schema: Option<String>,
    #[command(flatten)]
    language: Language,
    #[command(flatten)]
    rewriting: Rewriting,
    /// List the functions
    #[arg(long)]
    functions: bool,
}

/// How expressions are rewritten before they are computed.
#[derive(clap::Args)]
struct Rewriting {
    /// Rewrite the expressions by the rules for columns that come with the tool
    #[arg(long)]
    rewrite: bool,
    /// Rewrite by the rules of a file, directory or set, too; may be repeated
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Use the rules of `--rules` alone
    #[arg(long, requires = "rules")]
    no_built_in: bool,
    /// The weakest class of rules: `bitwise`, `real` (equal but for rounding), or `approx(e)`
    #[arg(long, value_parser = parse_class, default_value = "bitwise")]
    class: Class,
    /// Print each expression before and after, and the rules that made it, instead of computing
    #[arg(long)]
    explain: bool,
}

impl Rewriting {
    /// The rules; `None` if none were asked for.
    fn rewriter(&self, shell: &Shell) -> Result<Option<Rewriter>, Failure> {
        if !(self.rewrite || self.explain) && self.rules.is_empty() {
            return Ok(None);
        }
        let mut rewriter = match self.no_built_in {
            true => Rewriter::new([], self.class),
            false => Rewriter::built_in(self.class)?,
        };
        // The built-in rules for models are not added: those for columns are there already.
        if let Some(set) = read_rules(&self.rules, true, shell)? {
            rewriter.add(set.rules);
        }
        Ok(Some(rewriter))
    }
}

/// Prints what the rules make of expressions.
fn explain(rewriter: &Rewriter, expressions: &[&Expressions], shell: &Shell) -> Done {
    let mut out = String::new();
    let mut rows = Vec::new();
    for expressions in expressions {
        let found = rewriter.rewrite(expressions);
        let rules: Vec<&str> = found.rules.iter().map(|name| &**name).collect();
        let (before, after) = (expressions.texts(), found.expressions.texts());
        for ((name, before), after) in expressions.names().zip(&before).zip(&after) {
            out += &format!("{name}: {before}\n");
            if after != before {
                out += &format!("  => {after}\n");
            }
            rows.push(json!({ "name": name, "before": before, "after": after }));
        }
        let (calls, fewer) = found.calls;
        let by = if rules.is_empty() {
            "no rule".to_owned()
        } else {
            rules.join(", ")
        };
        out += &format!("  by {by}; calls: {calls} -> {fewer}\n");
        if shell.json {
            let calls = json!({ "before": calls, "after": fewer });
            let outputs = std::mem::take(&mut rows);
            shell.json(json!({ "outputs": outputs, "rules": rules, "calls": calls }))?;
        }
    }
    match shell.json {
        true => Ok(()),
        false => shell.result(&out),
    }
}

/// The choices of the language.
#[derive(clap::Args)]
pub(super) struct Language {
    /// Convert numbers of different types to a common one
    #[arg(long)]
    promote: bool,
    /// `^` is power
    #[arg(long)]
    caret_is_power: bool,
    /// Integer results that do not fit
    #[arg(long, value_enum, default_value_t = OverflowChoice::Wrap)]
    overflow: OverflowChoice,
    /// Integers divided by zero
    #[arg(long, value_enum, default_value_t = FailureChoice::Error)]
    division_by_zero: FailureChoice,
    /// Arguments without a result, such as text that is not a number
    #[arg(long, value_enum, default_value_t = FailureChoice::Error)]
    invalid: FailureChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OverflowChoice {
    Wrap,
    Null,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailureChoice {
    Error,
    Null,
}

impl Language {
    pub(super) fn options(&self) -> Options {
        let failure = |choice| match choice {
            FailureChoice::Error => OnFailure::Error,
            FailureChoice::Null => OnFailure::Null,
        };
        Options {
            promote: self.promote,
            caret_is_power: self.caret_is_power,
            overflow: match self.overflow {
                OverflowChoice::Wrap => Overflow::Wrap,
                OverflowChoice::Null => Overflow::Null,
                OverflowChoice::Error => Overflow::Error,
            },
            division_by_zero: failure(self.division_by_zero),
            invalid: failure(self.invalid),
            ..Options::default()
        }
    }
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    if args.functions {
        return list(shell);
    }
    let given = args.schema.as_deref().map(schema).transpose()?;
    let mut reader = match &args.input {
        Some(path) => Some(TableReader::open(path, format_of(path)?, given.clone())?),
        None => None,
    };
    let columns = match (&reader, given) {
        (Some(reader), _) => Arc::clone(reader.schema()),
        (None, Some(given)) => given,
        (None, None) => schema("")?,
    };
    if reader.is_none() && !columns.fields().is_empty() && !args.rewriting.explain {
        let problem = Diagnostic::error("T0407", "the columns of `--schema` need a table");
        return Err(problem
            .help("give it with `--input`, or use `check --schema` to check types alone, or `--explain`")
            .into());
    }
    let options = args.language.options();
    let expressions = Expressions::parse_with(&columns, &joined(&args.expressions), &options)?;
    let condition = args.filter.as_deref();
    let condition = condition.map(|text| Expressions::parse_with(&columns, text, &options));
    let mut condition = condition.transpose()?;
    let mut expressions = expressions;
    if let Some(rewriter) = args.rewriting.rewriter(shell)? {
        if args.rewriting.explain {
            let all: Vec<&Expressions> = std::iter::once(&expressions).chain(&condition).collect();
            return explain(&rewriter, &all, shell);
        }
        expressions = rewriter.rewrite(&expressions).expressions;
        condition = condition.map(|condition| rewriter.rewrite(&condition).expressions);
    }
    let filter = condition.as_ref().map(Filter::make).transpose()?;
    let projector = Projector::make(&[expressions])?;
    shell.say(&format!(
        "{} -> {}",
        describe_schema(&columns),
        describe_schema(projector.output_schema())
    ));

    let work = Work {
        path: args.input.as_deref().unwrap_or(Path::new("")),
        filter,
        projector,
        progress: Progress::new(shell, "computing"),
    };
    match &args.output {
        Some(path) => {
            let format = format_of(path)?;
            let mut problems = None;
            let written = atomic::write_with(path, |out| {
                work.write(&mut reader, format, out)
                    .map_err(|stop| stop.into_io(&mut problems))
            });
            match (problems, written) {
                (Some(problems), _) => Err(problems.into()),
                (None, Err(error)) => Err(Failure::new("T0401", format!("{}: {error}", path.display()))),
                (None, Ok(())) => Ok(()),
            }
        }
        None => {
            let mut out = Out { shell, failure: None };
            match (work.write(&mut reader, TableFormat::Csv, &mut out), out.failure) {
                (_, Some(failure)) => Err(failure),
                (Ok(()), None) => Ok(()),
                (Err(Stop::Problems(problems)), None) => Err(problems.into()),
                (Err(Stop::Io(error)), None) => Err(Failure::new("T0401", error.to_string())),
            }
        }
    }
}

/// The expressions as one text, each on a line of its own.
fn joined(expressions: &[String]) -> String {
    let separated = expressions.iter().map(|text| {
        let text = text.trim_end().trim_end_matches(';');
        // A comment would hide the semicolon.
        let comment = text.lines().last().is_some_and(|line| line.contains("//"));
        format!("{text}{}", if comment { "\n;\n" } else { ";\n" })
    });
    separated.collect()
}

fn format_of(path: &Path) -> Result<TableFormat, Diagnostic> {
    TableFormat::of(path).ok_or_else(|| {
        Diagnostic::error("T0402", format!("{}: unknown kind of table", path.display()))
            .help("tables are .csv, .arrow or .parquet files")
    })
}

/// Why computing stopped.
enum Stop {
    Problems(Diagnostics),
    Io(std::io::Error),
}

impl Stop {
    /// As an error of writing; problems are set aside.
    fn into_io(self, problems: &mut Option<Diagnostics>) -> std::io::Error {
        match self {
            Stop::Io(error) => error,
            Stop::Problems(found) => {
                *problems = Some(found);
                std::io::Error::other("computing stopped")
            }
        }
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Stop::Io(error)
    }
}

impl From<Diagnostics> for Stop {
    fn from(problems: Diagnostics) -> Self {
        Stop::Problems(problems)
    }
}

struct Work<'a> {
    path: &'a Path,
    filter: Option<Filter>,
    projector: Projector,
    progress: Progress,
}

impl Work<'_> {
    /// Reads, computes and writes batch by batch.
    fn write(&self, reader: &mut Option<TableReader>, format: TableFormat, out: &mut dyn Write) -> Result<(), Stop> {
        let buffer = Buffer::default();
        let mut writer = TableWriter::new(buffer.clone(), format, self.projector.output_schema())?;
        let (mut row, mut wrote) = (0, false);
        loop {
            let batch = match reader {
                Some(reader) => reader.next_batch(self.path).map_err(Diagnostics::from)?,
                None if row == 0 => Some(one_row()),
                None => None,
            };
            let Some(batch) = batch else { break };
            let rows = batch.num_rows() as u64;
            writer.write(&self.projector.project(&batch, self.filter.as_ref(), row)?)?;
            wrote = true;
            buffer.drain(out)?;
            row += rows;
            let all = reader.as_ref().and_then(TableReader::rows).map(|rows| rows as usize);
            self.progress.count(row as usize, all, "rows");
        }
        if !wrote {
            // The header of an empty table.
            let schema = Arc::clone(self.projector.output_schema());
            writer.write(&RecordBatch::new_empty(schema))?;
        }
        writer.finish()?;
        buffer.drain(out)?;
        Ok(())
    }
}

/// What a writer of tables has written and the file does not have yet.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn drain(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let bytes = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes)
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Standard output, and why it took no more.
struct Out<'a> {
    shell: &'a Shell,
    failure: Option<Failure>,
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        match self.shell.result(&text) {
            Ok(()) => Ok(bytes.len()),
            Err(failure) => {
                self.failure = Some(failure);
                Err(std::io::Error::other("standard output takes no more"))
            }
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Checks expressions against a schema and prints their types.
pub(super) fn check(text: &str, expressions: &[String], shell: &Shell) -> Done {
    let columns = schema(text)?;
    let options = Options::default();
    let parsed = Expressions::parse_with(&columns, &joined(expressions), &options);
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(problems) => {
            shell.problems(&problems);
            if shell.json {
                shell.json(problems.to_json())?;
            }
            return Err(Failure::No);
        }
    };
    let types: Vec<String> = parsed.types().iter().map(ToString::to_string).collect();
    if shell.json {
        let outputs: Vec<_> = parsed
            .names()
            .zip(&types)
            .map(|(name, ty)| json!({ "name": name, "type": ty }))
            .collect();
        return shell.json(json!({ "outputs": outputs }));
    }
    let lines: Vec<String> = parsed
        .names()
        .zip(&types)
        .map(|(name, ty)| format!("{name}: {ty}\n"))
        .collect();
    shell.result(&lines.concat())
}

/// Prints the functions.
fn list(shell: &Shell) -> Done {
    let all = functions();
    if shell.json {
        let rows: Vec<_> = all
            .iter()
            .map(|row| json!({ "names": row.names, "forms": row.forms }))
            .collect();
        return shell.json(json!({ "functions": rows }));
    }
    let mut out = String::new();
    for function in all {
        out += &function.names.join(", ");
        out.push('\n');
        for form in function.forms {
            out += &format!("    {form}\n");
        }
    }
    shell.result(&out)
}
