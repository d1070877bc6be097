//! Rounding.

use arrow_array::ArrayRef;
use arrow_array::types::{Float32Type, Float64Type};
use std::sync::Arc;

use crate::function::Arg::{Of, T};
use crate::function::{Function, Kernel, Real, Returns, Signature};
use crate::kernels::cell::{Cell, Failure};
use crate::kernels::column::{Column, Context, map};
use crate::types::{Type, TypeSet};

const ONE: &[Signature] = &[Signature::new(TypeSet::NUMBERS, &[T], Returns::T)];
const DIGITS: TypeSet = TypeSet::one(Type::Int32);
const BOTH: &[Signature] = &[
    Signature::new(TypeSet::NUMBERS, &[T], Returns::T),
    Signature::new(TypeSet::NUMBERS, &[T, Of(DIGITS)], Returns::T),
];

/// A row of the table for a rounding to whole numbers.
macro_rules! whole {
    ($($name:literal)|+, $single:expr, $double:expr) => {
        Function::strict(&[$($name),+], ONE, Kernel::Arrays(|c, args| one(c, args, $single, $double)))
            .with_real(Real::One($double))
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    whole!("ceil" | "ceiling", f32::ceil, f64::ceil),
    whole!("floor", f32::floor, f64::floor),
    // Halves to even numbers.
    whole!("bround", f32::round_ties_even, f64::round_ties_even),
    // Halves away from zero.
    Function::strict(
        &["round"],
        BOTH,
        Kernel::Arrays(|c, args| match args.len() {
            1 => one(c, args, f32::round, f64::round),
            _ => digits(c, args, f64::round, |value, unit| {
                let (whole, rest) = (value / unit, value % unit);
                (whole + i128::from(rest.abs() * 2 >= unit) * value.signum()) * unit
            }),
        }),
    )
    .with_real(Real::One(f64::round)),
    Function::strict(
        &["truncate", "trunc"],
        BOTH,
        Kernel::Arrays(|c, args| match args.len() {
            1 => one(c, args, f32::trunc, f64::trunc),
            _ => digits(c, args, f64::trunc, |value, unit| value / unit * unit),
        }),
    )
    .with_real(Real::One(f64::trunc)),
];

/// A rounding of floats; integers are whole already.
fn one(context: &Context<'_>, args: &[ArrayRef], single: fn(f32) -> f32, double: fn(f64) -> f64) -> Column {
    match context.result {
        Type::Float32 => map::<Float32Type, Float32Type>(&args[0], single).into(),
        Type::Float64 => map::<Float64Type, Float64Type>(&args[0], double).into(),
        _ => Arc::clone(&args[0]).into(),
    }
}

/// A rounding to a number of decimal digits after the point, or before it if the number is negative.
fn digits(context: &Context<'_>, args: &[ArrayRef], float: fn(f64) -> f64, integer: fn(i128, i128) -> i128) -> Column {
    super::cell::run(context, args, true, |_, cells| {
        let places = cells[1].int().clamp(-400, 400) as i32;
        let rounded = |value: f64| {
            let scale = 10f64.powi(places.abs());
            let rounded = match places {
                0.. => float(value * scale) / scale,
                _ => float(value / scale) * scale,
            };
            // So many digits that nothing is left to round.
            if rounded.is_finite() || places < 0 {
                rounded
            } else {
                value
            }
        };
        let whole = |value: i128| match u32::try_from(-places) {
            Ok(places @ 1..=30) => integer(value, 10i128.pow(places)),
            Ok(31..) => 0,
            _ => value,
        };
        Ok(match &cells[0] {
            Cell::Single(value) => Cell::Single(rounded(f64::from(*value)) as f32),
            Cell::Double(value) => Cell::Double(rounded(*value)),
            Cell::UInt(value) => Cell::UInt(u64::try_from(whole((*value).into())).map_err(|_| Failure::OVERFLOW)?),
            other => Cell::Int(i64::try_from(whole(other.int().into())).map_err(|_| Failure::OVERFLOW)?),
        })
    })
}
