//! Dates, times and timestamps, in UTC.

#![expect(clippy::unnecessary_cast, reason = "one body for every type of number")]

use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_buffer::BooleanBuffer;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Returns, Signature};
use crate::kernels::calendar::{
    add_months, civil_from_days, day_of_year, days_from_civil, days_in_month, iso_week, parse_date_as, parse_offset,
    weekday,
};
use crate::kernels::cell::{Cell, Failure};
use crate::kernels::column::{Column, Context, no_case, values, with_primitive};
use crate::types::{Type, TypeSet};

const INSTANTS: TypeSet = TypeSet::INSTANTS;
/// Those with a time of the day.
const MOMENTS: TypeSet = TypeSet::TIMESTAMPS.or(TypeSet::one(Type::Date64));
const INTS: TypeSet = TypeSet::of(&[Type::Int32, Type::Int64]);
const NAME: TypeSet = TypeSet::one(Type::Utf8);
const PART: &[Signature] = &[Signature::new(INSTANTS, &[Of(INSTANTS)], Returns::Is(Type::Int64))];
const CLOCK: &[Signature] = &[Signature::new(
    INSTANTS,
    &[Of(INSTANTS.or(TypeSet::TIMES))],
    Returns::Is(Type::Int64),
)];
const TRUNC: &[Signature] = &[Signature::new(INSTANTS, &[T], Returns::T)];
const SHIFT: &[Signature] = &[
    Signature::new(INSTANTS, &[T, Of(INTS)], Returns::T),
    Signature::new(INSTANTS, &[Of(INTS), T], Returns::T),
];
const SHIFT_CLOCK: &[Signature] = &[
    Signature::new(MOMENTS, &[T, Of(INTS)], Returns::T),
    Signature::new(MOMENTS, &[Of(INTS), T], Returns::T),
];
const BACK: &[Signature] = &[Signature::new(INSTANTS, &[T, Of(INTS)], Returns::T)];
const DIFF: &[Signature] = &[Signature::new(INSTANTS, &[T, T], Returns::Is(Type::Int32))];
const COUNTED: TypeSet = TypeSet::NUMBERS;

/// Rows of the table for a part of a date: `f(days)`.
macro_rules! part {
    ($($name:literal)|+, $f:expr) => {
        Function::strict(&[$($name),+], PART, Kernel::Rows(|c, cells| {
            let f: fn(i64) -> i64 = $f;
            Ok(Cell::Int(f(split(c, cells, 0).0)))
        }))
    };
}

/// Rows for a part of the time of a day: `f(seconds)`.
macro_rules! clock {
    ($($name:literal)|+, $f:expr) => {
        Function::strict(&[$($name),+], CLOCK, Kernel::Rows(|c, cells| {
            let f: fn(i64) -> i64 = $f;
            let (_, rest, per_day) = split(c, cells, 0);
            Ok(Cell::Int(f(rest / (per_day / 86_400).max(1))))
        }))
    };
}

/// Rows for the beginning of a unit of days: `f(days)` is the first day.
macro_rules! trunc {
    ($name:literal, $f:expr) => {
        Function::strict(
            &[$name],
            TRUNC,
            Kernel::Rows(|c, cells| {
                let f: fn(i64) -> i64 = $f;
                let (days, _, per_day) = split(c, cells, 0);
                moment(f(days), 0, per_day)
            }),
        )
    };
    ($name:literal, seconds $seconds:literal) => {
        Function::strict(
            &[$name],
            TRUNC,
            Kernel::Rows(|c, cells| {
                let (days, rest, per_day) = split(c, cells, 0);
                let unit = (per_day / 86_400 * $seconds).max(1);
                moment(days, rest / unit * unit, per_day)
            }),
        )
    };
}

/// Rows for a shift by a number of months, or of seconds.
macro_rules! shift {
    ($($name:literal)|+, months $months:literal) => {
        Function::strict(&[$($name),+], SHIFT, Kernel::Rows(|c, cells| {
            let (at, count) = moment_and_count(c, cells);
            let (days, rest, per_day) = split(c, cells, at);
            moment(add_months(days, count.saturating_mul($months)), rest, per_day)
        }))
    };
    ($($name:literal)|+, days $days:literal, $forms:ident) => {
        Function::strict(&[$($name),+], $forms, Kernel::Rows(|c, cells| {
            let (at, count) = moment_and_count(c, cells);
            let (days, rest, per_day) = split(c, cells, at);
            moment(days.saturating_add(count.saturating_mul($days)), rest, per_day)
        }))
    };
    ($($name:literal)|+, seconds $seconds:literal) => {
        Function::strict(&[$($name),+], SHIFT_CLOCK, Kernel::Rows(|c, cells| {
            let (at, count) = moment_and_count(c, cells);
            let (days, rest, per_day) = split(c, cells, at);
            let unit = i128::from(per_day) / 86_400 * $seconds;
            let value = i128::from(days) * i128::from(per_day) + i128::from(rest) + i128::from(count) * unit;
            i64::try_from(value).map(Cell::Int).map_err(|_| out_of_range())
        }))
    };
}

/// Rows for the number of units between two moments: `f(units, per_day)` of the difference.
macro_rules! between {
    ($name:literal, seconds $seconds:literal) => {
        Function::strict(
            &[$name],
            DIFF,
            Kernel::Rows(|c, cells| {
                let per_day = i128::from(c.args[0].units_per_day().unwrap_or(1));
                let difference = i128::from(cells[1].int()) - i128::from(cells[0].int());
                int32(difference * 86_400 / per_day / $seconds)
            }),
        )
    };
    ($name:literal, months $months:literal) => {
        Function::strict(
            &[$name],
            DIFF,
            Kernel::Rows(|c, cells| int32(i128::from(whole_months(c, cells) / $months))),
        )
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    part!("extractMillennium", |days| (year(days) - 1).div_euclid(1000) + 1),
    part!("extractCentury", |days| (year(days) - 1).div_euclid(100) + 1),
    part!("extractDecade", |days| year(days).div_euclid(10)),
    part!("extractYear" | "year", year),
    part!("extractQuarter" | "quarter", |days| (civil_from_days(days).1 - 1) / 3
        + 1),
    part!("extractMonth" | "month", |days| civil_from_days(days).1),
    part!("extractWeek" | "weekofyear" | "yearweek", |days| iso_week(days).1),
    part!("extractDay" | "day" | "dayofmonth", |days| civil_from_days(days).2),
    part!("extractDoy", day_of_year),
    // 1 for Sunday.
    part!("extractDow", |days| weekday(days) + 1),
    clock!("extractHour" | "hour", |seconds| seconds / 3600),
    clock!("extractMinute" | "minute", |seconds| seconds / 60 % 60),
    clock!("extractSecond" | "second", |seconds| seconds % 60),
    // Seconds since 1970-01-01.
    Function::strict(
        &["extractEpoch"],
        PART,
        Kernel::Rows(|c, cells| {
            let (days, rest, per_day) = split(c, cells, 0);
            Ok(Cell::Int(
                days.saturating_mul(86_400)
                    .saturating_add(rest / (per_day / 86_400).max(1)),
            ))
        }),
    ),
    trunc!("date_trunc_Millennium", |days| first_day(
        (year(days) - 1).div_euclid(1000) * 1000 + 1
    )),
    trunc!("date_trunc_Century", |days| first_day(
        (year(days) - 1).div_euclid(100) * 100 + 1
    )),
    trunc!("date_trunc_Decade", |days| first_day(year(days).div_euclid(10) * 10)),
    trunc!("date_trunc_Year", |days| first_day(year(days))),
    trunc!("date_trunc_Quarter", |days| {
        let (year, month, _) = civil_from_days(days);
        days_from_civil(year, (month - 1) / 3 * 3 + 1, 1)
    }),
    trunc!("date_trunc_Month", |days| days - civil_from_days(days).2 + 1),
    // Weeks begin on Monday.
    trunc!("date_trunc_Week", |days| days - (weekday(days) + 6) % 7),
    trunc!("date_trunc_Day", |days| days),
    trunc!("date_trunc_Hour", seconds 3600),
    trunc!("date_trunc_Minute", seconds 60),
    trunc!("date_trunc_Second", seconds 1),
    shift!("timestampaddYear", months 12),
    shift!("timestampaddQuarter", months 3),
    shift!("timestampaddMonth" | "add_months", months 1),
    shift!("timestampaddWeek", days 7, SHIFT),
    shift!("timestampaddDay" | "date_add", days 1, SHIFT),
    shift!("date_sub" | "date_diff", days - 1, BACK),
    shift!("timestampaddHour", seconds 3600),
    shift!("timestampaddMinute", seconds 60),
    shift!("timestampaddSecond", seconds 1),
    between!("timestampdiffSecond", seconds 1),
    between!("timestampdiffMinute", seconds 60),
    between!("timestampdiffHour", seconds 3600),
    between!("timestampdiffDay", seconds 86_400),
    between!("timestampdiffWeek", seconds 604_800),
    between!("timestampdiffMonth", months 1),
    between!("timestampdiffQuarter", months 3),
    between!("timestampdiffYear", months 12),
    // The days from the second date to the first.
    Function::strict(
        &["datediff"],
        DIFF,
        Kernel::Rows(|c, cells| int32(i128::from(split(c, cells, 0).0) - i128::from(split(c, cells, 1).0))),
    ),
    // The months from the second date to the first; a month has 31 days where the days of the month differ.
    Function::strict(
        &["months_between"],
        &[Signature::new(INSTANTS, &[T, T], Returns::Is(Type::Float64))],
        Kernel::Rows(|c, cells| Ok(Cell::Double(months_between(c, cells)))),
    ),
    Function::strict(
        &["last_day"],
        &[Signature::new(INSTANTS, &[Of(INSTANTS)], Returns::Is(Type::Date64))],
        Kernel::Rows(|c, cells| {
            let (year, month, _) = civil_from_days(split(c, cells, 0).0);
            moment(days_from_civil(year, month, days_in_month(year, month)), 0, 86_400_000)
        }),
    ),
    Function::strict(
        &["next_day"],
        &[Signature::new(
            INSTANTS,
            &[Of(INSTANTS), Of(NAME)],
            Returns::Is(Type::Date64),
        )],
        Kernel::Rows(|c, cells| {
            let name = cells[1].str().to_ascii_lowercase();
            let names = [
                "sunday",
                "monday",
                "tuesday",
                "wednesday",
                "thursday",
                "friday",
                "saturday",
            ];
            let wanted = names.iter().position(|day| name.len() >= 2 && day.starts_with(&name));
            let Some(wanted) = wanted else {
                return Err(Failure::invalid("not the name of a day of the week"));
            };
            let days = split(c, cells, 0).0;
            moment(
                days + (wanted as i64 - weekday(days) + 6).rem_euclid(7) + 1,
                0,
                86_400_000,
            )
        }),
    ),
    Function::own(
        &["to_date"],
        &[
            Signature::new(INSTANTS, &[Of(INSTANTS)], Returns::Is(Type::Date64)),
            Signature::new(NAME, &[T, T], Returns::Is(Type::Date64)),
            Signature::new(NAME, &[T, T, Of(TypeSet::one(Type::Int32))], Returns::Is(Type::Date64)),
        ],
        Kernel::Rows(to_date),
    ),
    // Seconds as a time of the day.
    Function::strict(
        &["to_time"],
        &[Signature::new(COUNTED, &[T], Returns::Is(Type::TimeMillisecond))],
        Kernel::Rows(|_, cells| milliseconds(&cells[0]).map(|value| Cell::Int(value.rem_euclid(86_400_000)))),
    ),
    // Seconds since 1970-01-01.
    Function::strict(
        &["to_timestamp"],
        &[Signature::new(COUNTED, &[T], Returns::Is(Type::TimestampMillisecond))],
        Kernel::Rows(|_, cells| milliseconds(&cells[0]).map(Cell::Int)),
    ),
    Function::strict(
        &["to_utc_timestamp"],
        &[Signature::new(TypeSet::TIMESTAMPS, &[T, Of(NAME)], Returns::T)],
        Kernel::Rows(|c, cells| zoned(c, cells, -1)),
    ),
    Function::strict(
        &["from_utc_timestamp"],
        &[Signature::new(TypeSet::TIMESTAMPS, &[T, Of(NAME)], Returns::T)],
        Kernel::Rows(|c, cells| zoned(c, cells, 1)),
    ),
];

/// Days, the units after midnight, and the units of a day, of the argument at `at`.
fn split(context: &Context<'_>, cells: &[Cell<'_>], at: usize) -> (i64, i64, i64) {
    let per_day = context.args[at].units_per_day().unwrap_or(1);
    let value = cells[at].int();
    (value.div_euclid(per_day), value.rem_euclid(per_day), per_day)
}

/// Which argument is a moment, and the count that is the other.
fn moment_and_count(context: &Context<'_>, cells: &[Cell<'_>]) -> (usize, i64) {
    let at = usize::from(!TypeSet::INSTANTS.has(context.args[0]));
    (at, cells[1 - at].int())
}

fn moment<'a>(days: i64, rest: i64, per_day: i64) -> Result<Cell<'a>, Failure> {
    let value = days.checked_mul(per_day).and_then(|value| value.checked_add(rest));
    value.map(Cell::Int).ok_or_else(out_of_range)
}

fn out_of_range() -> Failure {
    Failure::invalid("the moment is out of range of its type")
}

fn int32<'a>(value: i128) -> Result<Cell<'a>, Failure> {
    i32::try_from(value)
        .map(|value| Cell::Int(value.into()))
        .map_err(|_| Failure::invalid("the difference does not fit i32"))
}

fn year(days: i64) -> i64 {
    civil_from_days(days).0
}

fn first_day(year: i64) -> i64 {
    days_from_civil(year, 1, 1)
}

/// Whole months from the first moment to the second.
fn whole_months(context: &Context<'_>, cells: &[Cell<'_>]) -> i64 {
    let (start, end) = (split(context, cells, 0), split(context, cells, 1));
    let ((y0, m0, _), (y1, m1, _)) = (civil_from_days(start.0), civil_from_days(end.0));
    let months = (y1 - y0) * 12 + m1 - m0;
    let reached = (add_months(start.0, months), start.1);
    match months {
        1.. => months - i64::from(reached > (end.0, end.1)),
        0 => 0,
        _ => months + i64::from(reached < (end.0, end.1)),
    }
}

fn months_between(context: &Context<'_>, cells: &[Cell<'_>]) -> f64 {
    let (a, b) = (split(context, cells, 0), split(context, cells, 1));
    let ((y0, m0, d0), (y1, m1, d1)) = (civil_from_days(a.0), civil_from_days(b.0));
    let months = ((y0 - y1) * 12 + m0 - m1) as f64;
    let last = |year, month, day| day == days_in_month(year, month);
    if d0 == d1 || last(y0, m0, d0) && last(y1, m1, d1) {
        return months;
    }
    let per_day = a.2 as f64;
    months + ((d0 - d1) as f64 + (a.1 - b.1) as f64 / per_day) / 31.0
}

fn milliseconds(cell: &Cell<'_>) -> Result<i64, Failure> {
    match cell {
        Cell::Single(_) | Cell::Double(_) => {
            let value = cell.double() * 1000.0;
            match value.is_finite() && value.abs() < 9.2e18 {
                true => Ok(value as i64),
                false => Err(out_of_range()),
            }
        }
        Cell::UInt(value) => i64::try_from(*value)
            .ok()
            .and_then(|value| value.checked_mul(1000))
            .ok_or_else(out_of_range),
        other => other.int().checked_mul(1000).ok_or_else(out_of_range),
    }
}

/// A timestamp moved by the offset of a zone.
fn zoned<'a>(context: &Context<'_>, cells: &[Cell<'a>], sign: i64) -> Result<Cell<'a>, Failure> {
    let name = cells[1].str().trim();
    let offset = match name.to_ascii_uppercase().as_str() {
        "UTC" | "GMT" | "Z" | "" => Some(0),
        other => parse_offset(other.trim_start_matches("UTC").trim_start_matches("GMT")),
    };
    let Some(offset) = offset else {
        return Err(Failure::invalid(format!(
            "`{name}` is not an offset such as `+02:00`; named zones are not known"
        )));
    };
    let per_second = context.result.units_per_day().unwrap_or(86_400) / 86_400;
    let moved = cells[0].int().checked_add(sign * offset * per_second);
    moved.map(Cell::Int).ok_or_else(out_of_range)
}

/// A date from a moment, or from a text by a pattern: `YYYY-MM-DD`. A third argument that is not 0 makes texts that do
/// not fit null.
fn to_date<'a>(context: &Context<'_>, cells: &[Cell<'a>]) -> Result<Cell<'a>, Failure> {
    if cells.iter().any(Cell::is_null) {
        return Ok(Cell::Null);
    }
    if cells.len() == 1 {
        return moment(split(context, cells, 0).0, 0, 86_400_000);
    }
    let days = parse_date_as(cells[0].str(), cells[1].str())
        .map_err(|letter| Failure::invalid(format!("the pattern has `{letter}`, which means nothing there")))?;
    match days {
        Some(days) => moment(days, 0, 86_400_000),
        None if cells.get(2).is_some_and(|suppress| suppress.int() != 0) => Ok(Cell::Null),
        None => Err(Failure::invalid(format!(
            "`{}` does not fit `{}`",
            cells[0].str(),
            cells[1].str()
        ))),
    }
}

/// Moments moved by days: `+` and `-` between an instant and an integer.
pub(crate) fn shift_days(
    context: &Context<'_>,
    moments: &ArrayRef,
    counts: &ArrayRef,
    count_type: Type,
    sign: i64,
) -> Column {
    let counts: Vec<i64> = match count_type {
        Type::Int32 => values::<Int32Type>(counts).iter().map(|&count| count.into()).collect(),
        _ => values::<Int64Type>(counts).to_vec(),
    };
    let per_day = context.result.units_per_day().unwrap_or(1);
    let moved = |value: i64, count: i64| {
        count
            .checked_mul(sign)
            .and_then(|count| count.checked_mul(per_day))
            .and_then(|count| value.checked_add(count))
    };
    with_primitive!(context.result, P => {
        type Native = <P as arrow_array::ArrowPrimitiveType>::Native;
        let input = values::<P>(moments);
        let shifted = |row: usize| moved(input[row] as i64, counts[row]).and_then(narrowed::<Native>);
        let out: Vec<Native> = (0..moments.len()).map(|row| shifted(row).unwrap_or_default()).collect();
        let failed = BooleanBuffer::collect_bool(moments.len(), |row| shifted(row).is_none());
        Column::from(PrimitiveArray::<P>::new(out.into(), None)).failing(context, failed, out_of_range())
    })
    .unwrap_or_else(|| no_case(context))
}

/// A number as another type, if it is the same there.
fn narrowed<N: Narrow>(value: i64) -> Option<N> {
    N::narrow(value)
}

trait Narrow: Sized {
    fn narrow(value: i64) -> Option<Self>;
}

macro_rules! narrow {
    ($($ty:ty),*) => {$(
        impl Narrow for $ty {
            fn narrow(value: i64) -> Option<Self> {
                let out = value as $ty;
                (out as i128 == i128::from(value)).then_some(out)
            }
        }
    )*};
}
narrow!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
