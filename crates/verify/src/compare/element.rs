//! The first element at which two values differ, and how it is shown.

use std::fmt;

use tautomer_op::Value;
use tautomer_tensor::{DType, Tensor};

/// Where two values differ, and what they are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ElementMismatch {
    /// The multi-index of the element; `None` if the values differ as a whole, such as in shape.
    pub(crate) element: Option<Vec<usize>>,
    /// The value of the source, or of the original.
    pub(crate) expected: String,
    /// The value of the target, or of the optimized graph.
    pub(crate) found: String,
}

impl ElementMismatch {
    /// Values that differ as a whole, as descriptions of both.
    pub(crate) fn of_wholes(expected: impl Into<String>, found: impl Into<String>) -> ElementMismatch {
        ElementMismatch {
            element: None,
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The elements at a row-major position of two arrays of that shape.
    pub(crate) fn at<T: fmt::Debug>(shape: &[usize], position: usize, a: Option<&T>, b: Option<&T>) -> ElementMismatch {
        let text = |v: Option<&T>| v.map_or_else(String::new, |v| Written(v).to_string());
        ElementMismatch {
            element: Some(multi_index(shape, position)),
            expected: text(a),
            found: text(b),
        }
    }
}

/// An element as its number system prints it.
struct Written<'a, T>(&'a T);

impl<T: fmt::Debug> fmt::Display for Written<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A shape as types print it.
pub(crate) fn format_shape(shape: &[usize]) -> String {
    let all: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", all.join(", "))
}

/// The multi-index of an element at a row-major position.
fn multi_index(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (index, extent) in out.iter_mut().zip(shape).rev() {
        (*index, position) = (position % extent.max(&1), position / extent.max(&1));
    }
    out
}

/// The first element that differs, in values of that element type, which is not real.
pub(crate) fn discrete_mismatch<S: fmt::Debug>(dtype: DType, a: &Value<S>, b: &Value<S>) -> Option<ElementMismatch> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) if x.shape() == y.shape() => {
            let differs = |(p, q): (&i128, &i128)| dtype.wrap(*p) != dtype.wrap(*q);
            let at = x.iter().zip(y.iter()).position(differs)?;
            Some(ElementMismatch::at(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        (Value::Bool(x), Value::Bool(y)) if x.shape() == y.shape() => {
            let at = x.iter().zip(y.iter()).position(|(p, q)| p != q)?;
            Some(ElementMismatch::at(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        (Value::Text(x), Value::Text(y)) if x.shape() == y.shape() => {
            let at = x.iter().zip(y.iter()).position(|(p, q)| p != q)?;
            Some(ElementMismatch::at(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        _ => Some(ElementMismatch::of_wholes(
            "a value",
            "one of a different kind or shape",
        )),
    }
}

/// The first element whose bits differ; all NaNs count as equal.
pub(crate) fn bit_mismatch(a: &Tensor, b: &Tensor) -> Option<ElementMismatch> {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return Some(ElementMismatch::of_wholes(a.ty().to_string(), b.ty().to_string()));
    }
    if let (true, Some(x), Some(y)) = (a.dtype().is_float(), a.to_f64s(), b.to_f64s()) {
        let same = |(p, q): (&f64, &f64)| p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan();
        let at = x.iter().zip(&y).position(|pair| !same(pair))?;
        let text = |v: &[f64]| v.get(at).map_or_else(String::new, |v| with_bits(a.dtype(), *v));
        return Some(ElementMismatch {
            element: Some(multi_index(a.shape(), at)),
            expected: text(&x),
            found: text(&y),
        });
    }
    if let (Tensor::Utf8(x), Tensor::Utf8(y)) = (a, b) {
        let at = x.iter().zip(y).position(|(p, q)| p != q)?;
        return Some(ElementMismatch::at(a.shape(), at, x.iter().nth(at), y.iter().nth(at)));
    }
    match (a.to_ints(), b.to_ints()) {
        (Some(x), Some(y)) => {
            let at = x.iter().zip(&y).position(|(p, q)| p != q)?;
            Some(ElementMismatch::at(a.shape(), at, x.get(at), y.get(at)))
        }
        _ => (!a.same_bits(b)).then(|| ElementMismatch::of_wholes("a tensor", "a different tensor")),
    }
}

/// A number, and its bits in that element type.
fn with_bits(dtype: DType, value: f64) -> String {
    match dtype {
        DType::F16 => format!("{} (0x{:04x})", Written(&value), half::f16::from_f64(value).to_bits()),
        DType::BF16 => format!("{} (0x{:04x})", Written(&value), half::bf16::from_f64(value).to_bits()),
        DType::F32 => format!("{} (0x{:08x})", Written(&value), (value as f32).to_bits()),
        _ => format!("{} (0x{:016x})", Written(&value), value.to_bits()),
    }
}
