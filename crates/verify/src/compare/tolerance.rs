//! Comparison of values of whole graphs and e-classes up to a tolerance.
//!
//! They have too many operations to propagate error bounds through, and may be computed by kernels.

use super::data::Data;
use super::element::{ElementMismatch, discrete_mismatch, format_shape};
use tautomer_op::Value;
use tautomer_rule::Class;
use tautomer_tensor::DType;

/// The allowed difference of two real results, relative to the scale of the result. Rules have constants that
/// exporters rounded to a few digits.
const TOLERANCE: f64 = 2e-6;

/// Rounding of these constants and in double precision, relative to the largest intermediate value of a result.
const ROUNDING: f64 = 3e-7;

/// The first element that differs by more than the class allows; `magnitude` is the largest intermediate value.
pub(crate) fn mismatch_beyond_tolerance(
    class: Class,
    a: &Value<f64>,
    b: &Value<f64>,
    dtype: DType,
    magnitude: f64,
    kind: Data,
) -> Option<ElementMismatch> {
    if a.shape() != b.shape() {
        return Some(ElementMismatch::of_wholes(
            format!("shape {}", format_shape(a.shape())),
            format!("shape {}", format_shape(b.shape())),
        ));
    }
    let (Value::Real(x), Value::Real(y)) = (a, b) else {
        return discrete_mismatch(dtype, a, b);
    };
    let allowed = match class {
        Class::Approx(e) => e.max(TOLERANCE),
        _ => TOLERANCE,
    };
    let numbers = x.iter().chain(y.iter()).filter(|v| v.is_finite());
    let scale = numbers.fold(0.0, |most, v| f64::max(most, v.abs()));
    let bound = allowed * scale + ROUNDING * magnitude;
    let differs = |(p, q): (&f64, &f64)| {
        // A rule promises nothing where the source is infinite or NaN; and on lenient data a target may overflow.
        p.is_finite()
            && if q.is_finite() {
                (p - q).abs() > bound
            } else {
                !kind.is_lenient()
            }
    };
    let at = x.iter().zip(y.iter()).position(differs)?;
    Some(ElementMismatch::at(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
}
