//! Schemas from text.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use tautomer_diag::{Diagnostic, Diagnostics, Source, did_you_mean};
use tautomer_lang::ast::{ColumnDecl, ColumnType};
use tautomer_lang::parse_schema;

use crate::types::Type;

/// Words that expressions use, which a column may have as its name only in backquotes.
const WORDS: [&str; 15] = [
    "if", "in", "and", "or", "not", "true", "false", "null", "else", "let", "for", "when", "fn", "inf", "nan",
];

/// Names of types, with the Arrow types they stand for.
const NAMES: &[(&[&str], DataType)] = &[
    (&["bool", "boolean"], DataType::Boolean),
    (&["i8", "int8"], DataType::Int8),
    (&["i16", "int16"], DataType::Int16),
    (&["i32", "int32", "int"], DataType::Int32),
    (&["i64", "int64", "bigint"], DataType::Int64),
    (&["u8", "uint8"], DataType::UInt8),
    (&["u16", "uint16"], DataType::UInt16),
    (&["u32", "uint32"], DataType::UInt32),
    (&["u64", "uint64"], DataType::UInt64),
    (&["f16", "float16", "half", "halffloat"], DataType::Float16),
    (&["f32", "float32", "float"], DataType::Float32),
    (&["f64", "float64", "double"], DataType::Float64),
    (&["utf8", "string", "str"], DataType::Utf8),
    (&["large_utf8", "largeutf8", "large_string"], DataType::LargeUtf8),
    (&["utf8_view", "utf8view", "string_view"], DataType::Utf8View),
    (&["binary", "bytes"], DataType::Binary),
    (&["large_binary", "largebinary"], DataType::LargeBinary),
    (&["binary_view", "binaryview"], DataType::BinaryView),
    (&["date32"], DataType::Date32),
    (&["date64", "date"], DataType::Date64),
];

/// The schema that a text describes: names with types, separated by commas or line ends.
///
/// Columns may have nulls unless the type is followed by `not null`.
///
/// ```
/// let schema = tautomer_columns::schema("x: int32, y float64 not null\nt: timestamp[us, 'UTC']  // any unit").unwrap();
/// assert_eq!(schema.fields().len(), 3);
/// assert!(!schema.field(1).is_nullable());
///
/// let problems = tautomer_columns::schema("x: decimal128(38, 0)").unwrap_err();
/// assert_eq!(problems.iter().next().unwrap().code, "T0705");
/// ```
///
/// # Errors
///
/// Syntax, unknown types, names that occur twice or need backquotes: all of them.
pub fn schema(text: &str) -> Result<SchemaRef, Diagnostics> {
    let source = Arc::new(Source::new("schema", text));
    let parsed = parse_schema(Arc::clone(&source))?;
    let mut problems = Diagnostics::new();
    let mut fields: Vec<Field> = Vec::new();
    for column in &parsed.columns {
        check_name(column, &mut problems);
        if let Some(before) = fields.iter().position(|field| field.name() == column.name.as_str()) {
            let problem = Diagnostic::error("T0105", format!("column `{}` defined twice", column.name.as_str()))
                .label(column.name.span, "again")
                .secondary(parsed.columns[before].name.span, "first here");
            problems.push(problem);
        }
        let data_type = data_type(&column.ty).unwrap_or_else(|problem| {
            problems.push(problem);
            DataType::Null
        });
        fields.push(Field::new(
            column.name.as_str(),
            data_type,
            column.nullable.unwrap_or(true),
        ));
    }
    let problems = problems.in_source(&source);
    problems.into_result(Arc::new(Schema::new(fields)))
}

fn check_name(column: &ColumnDecl, problems: &mut Diagnostics) {
    let name = column.name.as_str();
    let reason = if column.quoted {
        return;
    } else if WORDS.contains(&name) {
        "is a word of the language"
    } else if !name.starts_with(char::is_alphabetic) {
        "does not begin with a letter"
    } else {
        return;
    };
    let problem = Diagnostic::error("T0706", format!("the name `{name}` {reason}"))
        .label(column.name.span, "")
        .help(format!(
            "write it in backquotes, here and in expressions: `` `{name}` ``"
        ));
    problems.push(problem);
}

/// The Arrow type that a written type stands for.
pub(crate) fn data_type(written: &ColumnType) -> Result<DataType, Diagnostic> {
    let name = written.name.as_str().to_ascii_lowercase();
    let args: Vec<&str> = written.args.iter().map(|arg| arg.as_str()).collect();
    let refuse = |what: &str| {
        Err(Diagnostic::error("T0705", format!("{what} are not supported"))
            .label(written.span, "")
            .help("convert the column before, to `f64` or `i64`"))
    };
    let unit = |at: usize| match args.get(at).map(|unit| unit.to_ascii_lowercase()).as_deref() {
        Some("s" | "second") => Some(TimeUnit::Second),
        None | Some("ms" | "millisecond") => Some(TimeUnit::Millisecond),
        Some("us" | "microsecond") => Some(TimeUnit::Microsecond),
        Some("ns" | "nanosecond") => Some(TimeUnit::Nanosecond),
        _ => None,
    };
    let unknown = |text: String| Diagnostic::error("T0706", text).label(written.span, "");
    match (name.as_str(), args.len()) {
        ("decimal" | "decimal32" | "decimal64" | "decimal128" | "decimal256", _) => return refuse("decimals"),
        ("interval" | "month_interval" | "day_time_interval" | "duration", _) => return refuse("intervals"),
        ("timestamp", 0..=2) => {
            let zone = args.get(1).map(|zone| Arc::from(*zone));
            return unit(0)
                .map(|unit| DataType::Timestamp(unit, zone))
                .ok_or_else(|| unknown(format!("unknown unit of time `{}`", args[0])));
        }
        ("time32" | "time64" | "time", 0..=1) => {
            return match (name.as_str(), args.is_empty(), unit(0)) {
                ("time64", true, _) => Ok(DataType::Time64(TimeUnit::Microsecond)),
                ("time32" | "time", _, Some(unit @ (TimeUnit::Second | TimeUnit::Millisecond))) => {
                    Ok(DataType::Time32(unit))
                }
                ("time64" | "time", _, Some(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond))) => {
                    Ok(DataType::Time64(unit))
                }
                _ => Err(unknown(format!("`{name}` has no unit `{}`", args[0]))
                    .help("`time32` counts `s` or `ms`, `time64` counts `us` or `ns`")),
            };
        }
        ("dictionary", 2) => {
            let part = |at: usize| {
                data_type(&ColumnType {
                    name: written.args[at].clone(),
                    args: Vec::new(),
                    span: written.args[at].span,
                })
            };
            let (key, value) = (part(0)?, part(1)?);
            if !Type::of(&key).is_some_and(Type::is_integer) || Type::of(&value).is_none() {
                return Err(unknown("a dictionary has integer keys and simple values".to_owned()));
            }
            return Ok(DataType::Dictionary(Box::new(key), Box::new(value)));
        }
        (_, 0) => {}
        (_, _) => {
            return Err(unknown(format!("`{}` has no parameters here", written.name.as_str()))
                .help("`timestamp[ms]`, `time32[s]` and `dictionary(int32, utf8)` have"));
        }
    }
    if let Some((_, found)) = NAMES.iter().find(|(names, _)| names.contains(&name.as_str())) {
        return Ok(found.clone());
    }
    let mut problem = Diagnostic::error(
        "T0706",
        format!("unknown type of a column: `{}`", written.name.as_str()),
    )
    .label(written.name.span, "");
    let known = NAMES.iter().flat_map(|(names, _)| names.iter().copied());
    problem = match did_you_mean(&name, known.chain(["timestamp", "time32", "time64", "dictionary"])) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem.help("types are `i32`, `float64`, `utf8`, `bool`, `date32`, `timestamp[ms]` and others"),
    };
    Err(problem)
}

/// The type that a name stands for in an expression: `f64` in `cast(x, f64)`.
pub(crate) fn named_type(name: &str) -> Option<Type> {
    let name = name.to_ascii_lowercase();
    let simple = NAMES.iter().find(|(names, _)| names.contains(&name.as_str()));
    simple.and_then(|(_, ty)| Type::of(ty)).or(match name.as_str() {
        "timestamp" | "timestamp_ms" => Some(Type::TimestampMillisecond),
        "timestamp_s" => Some(Type::TimestampSecond),
        "timestamp_us" => Some(Type::TimestampMicrosecond),
        "timestamp_ns" => Some(Type::TimestampNanosecond),
        "time32" | "time" | "time_ms" => Some(Type::TimeMillisecond),
        "time_s" => Some(Type::TimeSecond),
        "time64" | "time_us" => Some(Type::TimeMicrosecond),
        "time_ns" => Some(Type::TimeNanosecond),
        _ => None,
    })
}
