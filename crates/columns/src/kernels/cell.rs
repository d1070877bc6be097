//! Functions that are computed row by row, over values of any type.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};

use crate::kernels::column::{Column, Context, values, with_primitive};
use crate::options::{OnFailure, Overflow};
use crate::types::Type;

/// The longest texts of a tile, together: an array of text holds at most 2 GiB.
const MAX_TEXT: usize = 1 << 30;

/// The kind of a failure, which decides the option it obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    Overflow,
    DivisionByZero,
    Invalid,
}

/// Why a row has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    pub(crate) text: Cow<'static, str>,
}

impl Failure {
    pub(crate) const OVERFLOW: Failure = Failure {
        kind: FailureKind::Overflow,
        text: Cow::Borrowed("the result does not fit its type"),
    };
    pub(crate) const DIVISION: Failure = Failure {
        kind: FailureKind::DivisionByZero,
        text: Cow::Borrowed("division by zero"),
    };

    /// An argument for which the function has no result.
    pub(crate) fn invalid(text: impl Into<Cow<'static, str>>) -> Self {
        Failure {
            kind: FailureKind::Invalid,
            text: text.into(),
        }
    }
}

/// One value. Dates, times and timestamps are integers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Single(f32),
    Double(f64),
    Str(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
}

impl<'a> Cell<'a> {
    pub(crate) fn str(&self) -> &str {
        match self {
            Cell::Str(text) => text,
            _ => "",
        }
    }

    /// Bytes, or the bytes of a string.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Cell::Str(text) => text.as_bytes(),
            Cell::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    pub(crate) fn int(&self) -> i64 {
        match self {
            Cell::Int(value) => *value,
            Cell::UInt(value) => *value as i64,
            Cell::Bool(value) => i64::from(*value),
            _ => 0,
        }
    }

    /// The number as a double, as C converts it.
    pub(crate) fn double(&self) -> f64 {
        match self {
            Cell::Int(value) => *value as f64,
            Cell::UInt(value) => *value as f64,
            Cell::Single(value) => f64::from(*value),
            Cell::Double(value) => *value,
            Cell::Bool(value) => f64::from(u8::from(*value)),
            _ => 0.0,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Cell::Null)
    }

    pub(crate) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Cell::Str(text.into())
    }
}

/// Reads the values of an array.
enum Reader<'a> {
    Bool(&'a arrow_array::BooleanArray),
    Str(&'a arrow_array::StringArray),
    Bytes(&'a arrow_array::BinaryArray),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl<'a> Reader<'a> {
    fn new(ty: Type, array: &'a ArrayRef) -> Reader<'a> {
        use arrow_array::types::*;
        match ty {
            Type::Bool => Reader::Bool(array.as_boolean()),
            Type::Utf8 => Reader::Str(array.as_string()),
            Type::Binary => Reader::Bytes(array.as_binary()),
            Type::Int8 => Reader::I8(values::<Int8Type>(array)),
            Type::Int16 => Reader::I16(values::<Int16Type>(array)),
            Type::Int32 => Reader::I32(values::<Int32Type>(array)),
            Type::Int64 => Reader::I64(values::<Int64Type>(array)),
            Type::UInt8 => Reader::U8(values::<UInt8Type>(array)),
            Type::UInt16 => Reader::U16(values::<UInt16Type>(array)),
            Type::UInt32 => Reader::U32(values::<UInt32Type>(array)),
            Type::UInt64 => Reader::U64(values::<UInt64Type>(array)),
            Type::Float32 => Reader::F32(values::<Float32Type>(array)),
            Type::Float64 => Reader::F64(values::<Float64Type>(array)),
            Type::Date32 => Reader::I32(values::<Date32Type>(array)),
            Type::Date64 => Reader::I64(values::<Date64Type>(array)),
            Type::TimeSecond => Reader::I32(values::<Time32SecondType>(array)),
            Type::TimeMillisecond => Reader::I32(values::<Time32MillisecondType>(array)),
            Type::TimeMicrosecond => Reader::I64(values::<Time64MicrosecondType>(array)),
            Type::TimeNanosecond => Reader::I64(values::<Time64NanosecondType>(array)),
            Type::TimestampSecond => Reader::I64(values::<TimestampSecondType>(array)),
            Type::TimestampMillisecond => Reader::I64(values::<TimestampMillisecondType>(array)),
            Type::TimestampMicrosecond => Reader::I64(values::<TimestampMicrosecondType>(array)),
            Type::TimestampNanosecond => Reader::I64(values::<TimestampNanosecondType>(array)),
        }
    }

    fn get(&self, row: usize) -> Cell<'a> {
        match self {
            Reader::Bool(array) => Cell::Bool(array.value(row)),
            Reader::Str(array) => Cell::Str(Cow::Borrowed(array.value(row))),
            Reader::Bytes(array) => Cell::Bytes(Cow::Borrowed(array.value(row))),
            Reader::I8(values) => Cell::Int(values[row].into()),
            Reader::I16(values) => Cell::Int(values[row].into()),
            Reader::I32(values) => Cell::Int(values[row].into()),
            Reader::I64(values) => Cell::Int(values[row]),
            Reader::U8(values) => Cell::UInt(values[row].into()),
            Reader::U16(values) => Cell::UInt(values[row].into()),
            Reader::U32(values) => Cell::UInt(values[row].into()),
            Reader::U64(values) => Cell::UInt(values[row]),
            Reader::F32(values) => Cell::Single(values[row]),
            Reader::F64(values) => Cell::Double(values[row]),
        }
    }
}

/// Runs a function on each row. Rows with a null argument are left out if `strict`.
pub(crate) fn run<F>(context: &Context<'_>, args: &[ArrayRef], strict: bool, f: F) -> Column
where
    F: for<'a> Fn(&Context<'_>, &[Cell<'a>]) -> Result<Cell<'a>, Failure>,
{
    let readers: Vec<(Reader<'_>, Option<&NullBuffer>)> = args
        .iter()
        .zip(context.args)
        .map(|(array, &ty)| (Reader::new(ty, array), array.nulls()))
        .collect();
    let mut cells: Vec<Cell<'_>> = Vec::with_capacity(args.len());
    let mut out: Vec<Cell<'_>> = Vec::with_capacity(context.rows);
    let (mut failed, mut reason) = (None, None);
    let mut length = 0usize;
    for row in 0..context.rows {
        cells.clear();
        cells.extend(readers.iter().map(|(reader, nulls)| match nulls {
            Some(nulls) if nulls.is_null(row) => Cell::Null,
            _ => reader.get(row),
        }));
        if strict && cells.iter().any(Cell::is_null) {
            out.push(Cell::Null);
            continue;
        }
        // Functions that depend on the row read its number.
        let context = Context {
            args: context.args,
            result: context.result,
            rows: context.rows,
            first_row: context.first_row + row as u64,
            options: context.options,
        };
        let value = f(&context, &cells).and_then(|cell| {
            let longer = length.saturating_add(cell.bytes().len());
            if longer > MAX_TEXT {
                return Err(Failure::invalid(format!(
                    "the texts of {} rows are longer than {MAX_TEXT} bytes together",
                    row + 1
                )));
            }
            length = longer;
            Ok(cell)
        });
        match value {
            Ok(cell) => out.push(cell),
            Err(failure) => {
                let stops = match failure.kind {
                    FailureKind::Overflow => context.options.overflow == Overflow::Error,
                    FailureKind::DivisionByZero => context.options.division_by_zero == OnFailure::Error,
                    FailureKind::Invalid => context.options.invalid == OnFailure::Error,
                };
                if stops {
                    let rows = failed.get_or_insert_with(|| {
                        let mut rows = BooleanBufferBuilder::new(context.rows);
                        rows.append_n(context.rows, false);
                        rows
                    });
                    rows.set_bit(row, true);
                    reason.get_or_insert(failure.text);
                }
                out.push(Cell::Null);
            }
        }
    }
    Column {
        array: build(context.result, &out),
        failed: failed.map(|mut rows| rows.finish()),
        nulled: None,
        reason,
    }
}

/// An array of a type from its values; a value of another type is null.
pub(crate) fn build(ty: Type, cells: &[Cell<'_>]) -> ArrayRef {
    match ty {
        Type::Bool => {
            let mut out = BooleanBuilder::with_capacity(cells.len());
            for cell in cells {
                out.append_option(match cell {
                    Cell::Bool(value) => Some(*value),
                    _ => None,
                });
            }
            Arc::new(out.finish())
        }
        Type::Utf8 => {
            let mut out = StringBuilder::new();
            for cell in cells {
                out.append_option(match cell {
                    Cell::Str(text) => Some(text),
                    _ => None,
                });
            }
            Arc::new(out.finish())
        }
        Type::Binary => {
            let mut out = BinaryBuilder::new();
            for cell in cells {
                match cell {
                    Cell::Bytes(_) | Cell::Str(_) => out.append_value(cell.bytes()),
                    _ => out.append_null(),
                }
            }
            Arc::new(out.finish())
        }
        _ => with_primitive!(ty, T => {
            let mut valid = Vec::with_capacity(cells.len());
            let out: Vec<<T as arrow_array::ArrowPrimitiveType>::Native> = cells
                .iter()
                .map(|cell| {
                    valid.push(!cell.is_null());
                    number(cell)
                })
                .collect();
            let nulls = valid.iter().any(|valid| !valid).then(|| NullBuffer::from(valid));
            Arc::new(PrimitiveArray::<T>::new(out.into(), nulls)) as ArrayRef
        })
        .unwrap_or_else(|| unreachable!("{ty} is a primitive type")),
    }
}

/// Numbers that a cell is converted to without a check: functions return cells of their own type.
trait FromCell {
    fn from_cell(cell: &Cell<'_>) -> Self;
}

macro_rules! from_cell {
    ($($ty:ty),*) => {$(
        impl FromCell for $ty {
            fn from_cell(cell: &Cell<'_>) -> Self {
                match cell {
                    Cell::Int(value) => *value as $ty,
                    Cell::UInt(value) => *value as $ty,
                    Cell::Single(value) => *value as $ty,
                    Cell::Double(value) => *value as $ty,
                    _ => Default::default(),
                }
            }
        }
    )*};
}
from_cell!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

fn number<N: FromCell>(cell: &Cell<'_>) -> N {
    N::from_cell(cell)
}
