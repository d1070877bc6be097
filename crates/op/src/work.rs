//! Estimates the resources of a call before it runs: limits are enforced by not starting calls that exceed them.

use super::cost::extent;
use super::{Flow, Infer, Semantics};
use tautomer_tensor::{DType, Dim, Tensor, Type};

/// The resources a call takes. Numbers are upper bounds where a dimension is known only afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work {
    /// Bytes of the results.
    pub bytes: f64,
    /// Arithmetic operations.
    pub operations: f64,
    /// Elements of operands and results.
    pub elements: f64,
}

/// The number of bytes in the longest string of a tensor, and in all of them.
fn text(value: &Tensor) -> (f64, f64) {
    let Tensor::Utf8(texts) = value else { return (0.0, 0.0) };
    texts.iter().fold((0.0f64, 0.0), |(longest, all), text| {
        (longest.max(text.len() as f64), all + text.len() as f64)
    })
}

/// Bytes that a tensor occupies, including its strings.
pub fn held_bytes(value: &Tensor) -> u64 {
    (value.bytes() as f64 + text(value).1) as u64
}

/// Elements and bytes of a value of that type, with `most` for each unknown dimension.
fn size(ty: &Type, most: f64) -> (f64, f64) {
    match ty {
        Type::Tensor(t) => {
            let one = |d: &Dim| if d.has_unknown() { most } else { extent(d) };
            let elements = t.shape.as_ref().map_or(most, |s| s.iter().map(one).product());
            (elements, elements * t.dtype.size() as f64)
        }
        Type::Tuple(items) => items.iter().map(|ty| size(ty, most)).fold((0.0, 0.0), sum),
        // The length of a sequence is not part of its type.
        Type::Sequence(_) | Type::Optional(_) => (most, most * 8.0),
        Type::Absent => (0.0, 0.0),
    }
}

fn sum(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (a.0 + b.0, a.1 + b.1)
}

/// The resources that a call takes if its result has that type.
///
/// ```
/// # use std::cell::Cell;
/// use tautomer_op::{Fact, Infer, lookup, work};
/// use tautomer_tensor::{DType, Type};
///
/// let (x, y) = (Type::tensor(DType::F32, [30_000, 1]), Type::tensor(DType::F32, [1, 30_000]));
/// let operands = [Fact::of(&x), Fact::of(&y)];
/// let call = Infer { def: lookup("add").unwrap(), operands: &operands, attrs: &[], fresh: &Cell::new(0) };
/// let result = (call.def.infer)(&call).unwrap();
/// assert_eq!(work(&call, &result).bytes, 3.6e9);
/// ```
pub fn work(call: &Infer<'_>, result: &Type) -> Work {
    let given = call.operands.iter().map(|o| size(o.ty, 1.0).0).sum::<f64>().max(1.0);
    let (elements, mut bytes) = size(result, given);
    let texts = |ty: &Type| ty.as_tensor().is_some_and(|t| t.dtype == DType::Utf8);
    if texts(result) {
        // A new string is made from at most one string of each operand.
        let each: f64 = call.operands.iter().filter_map(|o| o.value).map(|t| text(t).0).sum();
        bytes += elements * each;
    }
    let operations = match (call.def.semantics, call.def.name) {
        // Their functions and bodies are counted where they run.
        (Semantics::Flow(Flow::Loop | Flow::Branch | Flow::Scan | Flow::Map), _) => 0.0,
        // Counts the direct sum over all positions; a transform has at most twice as many positions as frequencies.
        (_, "dft" | "stft") => {
            let shape = result.as_tensor().and_then(|t| t.shape.as_ref());
            let extents = shape.into_iter().flat_map(|s| s.iter().map(extent));
            8.0 * elements * extents.fold(1.0, f64::max)
        }
        // Each point of the product computes its position in every operand.
        (_, "einsum") => call.def.cost.apply(call, result).flops * call.operands.len() as f64,
        _ => call.def.cost.apply(call, result).flops,
    };
    Work {
        bytes,
        operations: operations.max(0.0),
        elements: elements + given,
    }
}
