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

/// How comparisons order floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FloatOrder {
    /// As IEEE 754 compares: NaN is neither equal to a number nor less nor greater, not even to itself.
    #[default]
    Partial,
    /// As SQL engines sort: NaN is equal to the same NaN, and greater than every number, or less if its sign is set.
    /// The two zeros are equal.
    Total,
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
    /// Comparisons of floats: the operators, their functions, and `is_distinct_from`.
    pub float_order: FloatOrder,
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
            float_order: FloatOrder::default(),
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
