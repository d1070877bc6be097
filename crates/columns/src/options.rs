//! What a caller may choose.

use crate::types::Type;

/// What happens to a row whose integer result does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Overflow {
    /// The result wraps around, as in C.
    #[default]
    Wrap,
    /// The result is null.
    Null,
    /// Evaluation stops with a message that names the row.
    Error,
}

/// What happens to a row without a result: division of an integer by zero, text that is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum OnFailure {
    /// Evaluation stops with a message that names the row.
    #[default]
    Error,
    /// The result is null.
    Null,
}

/// Choices of the language and of evaluation.
///
/// ```
/// use tautomer_columns::{OnFailure, Options};
///
/// let options = Options { division_by_zero: OnFailure::Null, ..Options::default() };
/// assert!(!options.promote);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Options {
    /// Numbers of different types are converted to a common one; without it they are an error.
    pub promote: bool,
    /// `^` is power, not exclusive or.
    pub caret_is_power: bool,
    /// The type of integer literals that nothing else decides.
    pub integers: Type,
    /// The type of float literals that nothing else decides.
    pub floats: Type,
    /// Integer results that do not fit.
    pub overflow: Overflow,
    /// Division of an integer by zero. Floats follow IEEE 754: infinity or NaN.
    pub division_by_zero: OnFailure,
    /// Arguments without a result, such as text that is not a number.
    pub invalid: OnFailure,
    /// The seed of `random`.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            promote: false,
            caret_is_power: false,
            integers: Type::Int32,
            floats: Type::Float32,
            overflow: Overflow::default(),
            division_by_zero: OnFailure::default(),
            invalid: OnFailure::default(),
            seed: 0,
        }
    }
}

impl Options {
    /// The choices under which files for ExprTk and TinyExpr mean what they mean there: `^` is power, every number is
    /// an `f64`.
    pub fn calculator() -> Self {
        Options {
            caret_is_power: true,
            integers: Type::Float64,
            floats: Type::Float64,
            ..Options::default()
        }
    }
}
