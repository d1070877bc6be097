//! The implementations of functions, a file for each family.

pub(crate) mod cell;
pub(crate) mod column;

pub(crate) mod arithmetic;
pub(crate) mod calendar;
pub(crate) mod cast;
pub(crate) mod choice;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod dates;
pub(crate) mod hash;
pub(crate) mod math;
pub(crate) mod pattern;
pub(crate) mod real;
pub(crate) mod rounding;
pub(crate) mod text;
pub(crate) mod words;

use crate::function::Function;

/// The table of functions, by family.
pub(crate) fn families() -> &'static [&'static [Function]] {
    &[
        arithmetic::FUNCTIONS,
        compare::FUNCTIONS,
        choice::FUNCTIONS,
        math::FUNCTIONS,
        rounding::FUNCTIONS,
        cast::FUNCTIONS,
        text::FUNCTIONS,
        words::FUNCTIONS,
        pattern::FUNCTIONS,
        convert::FUNCTIONS,
        hash::FUNCTIONS,
        dates::FUNCTIONS,
    ]
}
