//! Conversions between types.

#![expect(clippy::unnecessary_cast, reason = "one body for every type of number")]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::calendar;
use crate::kernels::cell::{self, Cell, Failure};
use crate::kernels::column::{Column, Context, map, values, with_number};
use crate::options::Overflow;
use crate::types::{Type, TypeSet};

const TEXTS: TypeSet = TypeSet::TEXTS;
const LENGTH: TypeSet = TypeSet::one(Type::Int64);

/// A row of the table for a conversion to a number.
macro_rules! to_number {
    ($($name:literal)|+, $to:ident) => {
        Function::strict(
            &[$($name),+],
            &[Signature::new(TypeSet::NUMBERS.or(TEXTS), &[T], Returns::Is(Type::$to))],
            Kernel::Arrays(|c, args| cast(c, &args[0])),
        )
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    to_number!("castINT", Int32),
    to_number!("castBIGINT", Int64),
    to_number!("castFLOAT4", Float32),
    to_number!("castFLOAT8", Float64),
    Function::strict(
        &["castBIT", "castBOOLEAN"],
        &[Signature::new(TypeSet::one(Type::Utf8), &[T], Returns::Is(Type::Bool))],
        Kernel::Arrays(|c, args| cast(c, &args[0])),
    ),
    Function::strict(
        &["castDATE"],
        &[
            Signature::new(
                TypeSet::of(&[Type::Utf8, Type::Int64, Type::Date32]).or(TypeSet::TIMESTAMPS),
                &[T],
                Returns::Is(Type::Date64),
            ),
            Signature::new(TypeSet::one(Type::Int32), &[T], Returns::Is(Type::Date32)),
        ],
        Kernel::Arrays(|c, args| cast(c, &args[0])),
    ),
    Function::strict(
        &["castTIMESTAMP"],
        &[Signature::new(
            TypeSet::of(&[Type::Utf8, Type::Int64, Type::Date64, Type::Date32]),
            &[T],
            Returns::Is(Type::TimestampMillisecond),
        )],
        Kernel::Arrays(|c, args| cast(c, &args[0])),
    ),
    Function::strict(
        &["castTIME"],
        &[Signature::new(
            TypeSet::of(&[Type::Utf8, Type::Int32]).or(TypeSet::TIMESTAMPS),
            &[T],
            Returns::Is(Type::TimeMillisecond),
        )],
        Kernel::Arrays(|c, args| cast(c, &args[0])),
    ),
    // The text, cut off after so many characters.
    Function::strict(
        &["castVARCHAR", "varchar"],
        &[Signature::new(TypeSet::ALL, &[T, Of(LENGTH)], Returns::Is(Type::Utf8))],
        Kernel::Rows(|c, cells| {
            let length = length(&cells[1])?;
            let Cell::Str(text) = to_text(c.args[0], &cells[0])? else {
                return Ok(Cell::Null);
            };
            Ok(match text.char_indices().nth(length) {
                Some((end, _)) => Cell::text(text[..end].to_owned()),
                None => Cell::Str(text),
            })
        }),
    ),
    Function::strict(
        &["castVARBINARY"],
        &[Signature::new(
            TypeSet::NUMBERS.or(TEXTS),
            &[T, Of(LENGTH)],
            Returns::Is(Type::Binary),
        )],
        Kernel::Rows(|c, cells| {
            let length = length(&cells[1])?;
            let text = match &cells[0] {
                Cell::Bytes(bytes) => bytes.to_vec(),
                other => to_text(c.args[0], other)?.bytes().to_vec(),
            };
            Ok(Cell::Bytes(text[..length.min(text.len())].to_vec().into()))
        }),
    ),
];

fn length(cell: &Cell<'_>) -> Result<usize, Failure> {
    usize::try_from(cell.int()).map_err(|_| Failure::invalid("the length is negative"))
}

/// True if values of `from` can be converted to `to`.
pub(crate) fn allowed(from: Type, to: Type) -> bool {
    let number = |ty| TypeSet::NUMBERS.has(ty);
    let moment = |ty| TypeSet::INSTANTS.has(ty);
    let time = |ty| TypeSet::TIMES.has(ty);
    from == to
        || number(from) && number(to)
        || (from == Type::Bool && number(to))
        || (number(from) && to == Type::Bool)
        || from == Type::Utf8
        || (from == Type::Binary && (to == Type::Utf8 || number(to)))
        || to == Type::Utf8
        || (to == Type::Binary && number(from))
        || moment(from) && moment(to)
        || time(from) && time(to)
        || (TypeSet::TIMESTAMPS.has(from) && time(to))
        || (from.is_integer() && (moment(to) || time(to)))
        || (to.is_integer() && (moment(from) || time(from)))
}

/// The argument as the type of the result.
///
/// Floats become integers by rounding, halves away from zero; integers that do not fit obey the option for overflow,
/// where `Wrap` keeps the low bits of integers and the nearest integer of floats. Text is parsed.
pub(crate) fn cast(context: &Context<'_>, array: &ArrayRef) -> Column {
    let (from, to) = (context.args[0], context.result);
    if from == to {
        return Arc::clone(array).into();
    }
    if TypeSet::NUMBERS.has(from) && TypeSet::NUMBERS.has(to) {
        return numbers(context, array, from, to);
    }
    if from == Type::Bool && TypeSet::NUMBERS.has(to) {
        let bits = array.as_boolean().values();
        let array = with_number!(to, N => {
            let unit = <N as arrow_array::ArrowPrimitiveType>::Native::default();
            let one = <<N as arrow_array::ArrowPrimitiveType>::Native as arrow_array::ArrowNativeTypeOp>::ONE;
            let out: Vec<_> = bits.iter().map(|bit| if bit { one } else { unit }).collect();
            Arc::new(arrow_array::PrimitiveArray::<N>::new(out.into(), None)) as ArrayRef
        });
        return array.unwrap_or_else(|| unreachable!("{to} is a number")).into();
    }
    if TypeSet::NUMBERS.has(from) && to == Type::Bool {
        let bits = with_number!(from, N => {
            let input = values::<N>(array);
            let zero = <N as arrow_array::ArrowPrimitiveType>::Native::default();
            BooleanBuffer::collect_bool(input.len(), |row| input[row] != zero)
        });
        let bits = bits.unwrap_or_else(|| unreachable!("{from} is a number"));
        let array: ArrayRef = Arc::new(BooleanArray::new(bits, None));
        return array.into();
    }
    cell::run(context, std::slice::from_ref(array), true, |context, cells| {
        convert(&cells[0], context.args[0], context.result)
    })
}

fn numbers(context: &Context<'_>, array: &ArrayRef, from: Type, to: Type) -> Column {
    let out = with_number!(from, A => with_number!(to, B => {
        type Wide = <B as arrow_array::ArrowPrimitiveType>::Native;
        match from.is_float() && to.is_integer() {
            true => map::<A, B>(array, |a| (a as f64).round() as Wide).into(),
            false => map::<A, B>(array, |a| a as Wide).into(),
        }
    }));
    let out: Column = out
        .flatten()
        .unwrap_or_else(|| unreachable!("{from} and {to} are numbers"));
    let Some((low, high)) = to.range().filter(|_| context.options.overflow != Overflow::Wrap) else {
        return out;
    };
    let rows = with_number!(from, A => {
        let input = values::<A>(array);
        BooleanBuffer::collect_bool(input.len(), |row| {
            let value = input[row];
            let is_nan = (value as f64).is_nan();
            let whole = if from.is_float() { (value as f64).round() as i128 } else { value as i128 };
            is_nan || !(low..=high).contains(&whole)
        })
    });
    match rows {
        Some(rows) => out.failing(context, rows, Failure::OVERFLOW),
        None => out,
    }
}

/// One value as another type.
fn convert<'a>(value: &Cell<'a>, from: Type, to: Type) -> Result<Cell<'a>, Failure> {
    if to == Type::Utf8 {
        return to_text(from, value).map(own);
    }
    if to == Type::Binary {
        return Ok(match value {
            Cell::Str(text) => Cell::Bytes(text.as_bytes().to_vec().into()),
            other => Cell::Bytes(to_text(from, other)?.bytes().to_vec().into()),
        });
    }
    if TypeSet::TEXTS.has(from) {
        let text = match value {
            Cell::Bytes(bytes) => {
                std::str::from_utf8(bytes).map_err(|_| Failure::invalid("the bytes are not UTF-8"))?
            }
            other => other.str(),
        };
        return parse(text, to);
    }
    let value = value.int();
    let (Some(a), Some(b)) = (from.units_per_day(), to.units_per_day()) else {
        // An integer and what it counts.
        return Ok(Cell::Int(value));
    };
    let (days, rest) = (value.div_euclid(a), value.rem_euclid(a));
    let rest = i128::from(rest) * i128::from(b) / i128::from(a);
    if TypeSet::TIMES.has(to) {
        return Ok(Cell::Int(rest as i64));
    }
    // A date has no time of the day.
    let rest = if to == Type::Date64 { 0 } else { rest };
    let moved = i128::from(days) * i128::from(b) + rest;
    i64::try_from(moved)
        .map(Cell::Int)
        .map_err(|_| Failure::invalid(format!("the moment is out of range of {to}")))
}

fn own(cell: Cell<'_>) -> Cell<'static> {
    match cell {
        Cell::Str(text) => Cell::Str(text.into_owned().into()),
        Cell::Bytes(bytes) => Cell::Bytes(bytes.into_owned().into()),
        Cell::Null => Cell::Null,
        Cell::Bool(value) => Cell::Bool(value),
        Cell::Int(value) => Cell::Int(value),
        Cell::UInt(value) => Cell::UInt(value),
        Cell::Single(value) => Cell::Single(value),
        Cell::Double(value) => Cell::Double(value),
    }
}

/// The value that a text stands for.
fn parse<'a>(text: &str, to: Type) -> Result<Cell<'a>, Failure> {
    let trimmed = text.trim();
    let fail = || {
        let shown: String = trimmed.chars().take(40).collect();
        Failure::invalid(format!("`{shown}` is not a value of type {to}"))
    };
    let units = |days: i64, nanos: i64| {
        let per_day = i128::from(to.units_per_day().unwrap_or(1));
        let moved = i128::from(days) * per_day + i128::from(nanos) * per_day / 86_400_000_000_000;
        i64::try_from(moved).ok()
    };
    let cell = match to {
        Type::Bool => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(Cell::Bool(true)),
            "false" | "0" => Some(Cell::Bool(false)),
            _ => None,
        },
        Type::Float32 => trimmed.parse().ok().map(Cell::Single),
        Type::Float64 => trimmed.parse().ok().map(Cell::Double),
        Type::UInt64 => trimmed.parse().ok().map(Cell::UInt),
        Type::Date32 | Type::Date64 => calendar::parse_timestamp(trimmed)
            .and_then(|(days, _)| units(days, 0))
            .map(Cell::Int),
        _ if TypeSet::TIMESTAMPS.has(to) => calendar::parse_timestamp(trimmed)
            .and_then(|(days, nanos)| units(days, nanos))
            .map(Cell::Int),
        _ if TypeSet::TIMES.has(to) => calendar::parse_time(trimmed)
            .and_then(|nanos| units(0, nanos))
            .map(Cell::Int),
        _ => {
            let (low, high) = to.range().unwrap_or_default();
            let value = trimmed.parse().ok().filter(|value| (low..=high).contains(value));
            value.map(|value| Cell::Int(value as i64))
        }
    };
    cell.ok_or_else(fail)
}

/// The text of a value.
pub(crate) fn to_text<'a>(ty: Type, value: &Cell<'a>) -> Result<Cell<'a>, Failure> {
    let per_second = ty.units_per_day().map(|units| (units / 86_400).max(1));
    Ok(match value {
        Cell::Null => Cell::Null,
        Cell::Bool(value) => Cell::text(if *value { "true" } else { "false" }),
        Cell::UInt(value) => Cell::text(value.to_string()),
        Cell::Single(value) => Cell::text(format!("{value:?}")),
        Cell::Double(value) => Cell::text(format!("{value:?}")),
        Cell::Str(text) => Cell::Str(text.clone()),
        Cell::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Cell::text(text.to_owned()),
            Err(_) => return Err(Failure::invalid("the bytes are not UTF-8")),
        },
        Cell::Int(value) => Cell::text(match (ty, per_second) {
            (Type::Date32, _) => calendar::format_date(*value),
            (Type::Date64, _) => calendar::format_date(value.div_euclid(86_400_000)),
            (_, Some(per_second)) if TypeSet::TIMES.has(ty) => calendar::format_time(*value, per_second),
            (_, Some(per_second)) => {
                let per_day = per_second * 86_400;
                let (days, rest) = (value.div_euclid(per_day), value.rem_euclid(per_day));
                format!(
                    "{} {}",
                    calendar::format_date(days),
                    calendar::format_time(rest, per_second)
                )
            }
            (_, None) => value.to_string(),
        }),
    })
}
