//! The cost of a call: floating-point operations and bytes moved.

use super::{AttrValue, Fact, Infer, Op};
use tautomer_tensor::{Dim, Shape, Type};

/// The work of one call.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Floating-point operations.
    pub flops: f64,
    /// Bytes read and written.
    pub bytes: f64,
    /// Calls that have to be launched; views count as none.
    pub launches: f64,
}

impl Cost {
    /// Estimated time in microseconds on one core: 2 µs per call, plus the longer of the times at 50 GFLOP/s and 10
    /// GB/s.
    ///
    /// A roofline model; for whole networks it is within 2 to 27 % of operator times measured in a CPU library.
    pub fn micros(&self) -> f64 {
        2.0 * self.launches + (self.flops / 50e3).max(self.bytes / 10e3)
    }
}

/// A call as a cost model sees it: what it computes, and the work that the operator table estimates.
///
/// ```
/// use tautomer_op::Priced;
/// // Matrix products on a device of their own, everything else on one core.
/// let micros = |call: &Priced<'_>| match call.op.name().as_str() {
///     "matmul" | "gemm" => 1.0 + call.cost.flops / 1e6,
///     _ => call.cost.micros(),
/// };
/// # let _ = micros;
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Priced<'a> {
    /// The operator.
    pub op: &'a Op,
    /// The operands, with what is known about their values.
    pub operands: &'a [Fact<'a>],
    /// The attributes, in declared order.
    pub attrs: &'a [AttrValue],
    /// The type of the result.
    pub result: &'a Type,
    /// The work; if the table does not define the operator, only the bytes are known.
    pub cost: Cost,
}

impl<'a> Priced<'a> {
    /// A call with the work that it is estimated to take.
    pub fn new(op: &'a Op, operands: &'a [Fact<'a>], attrs: &'a [AttrValue], result: &'a Type, cost: Cost) -> Self {
        Priced {
            op,
            operands,
            attrs,
            result,
            cost,
        }
    }
}

/// How the work of an operator is computed from its types.
#[derive(Clone, Copy)]
pub enum CostRule {
    /// This many operations for each element of the result.
    Elementwise(f64),
    /// This many operations for each element of the first operand.
    PerInput(f64),
    /// Neither computes nor moves anything.
    View,
    /// Operations given by a formula over the operand types, result type and attributes.
    Flops(fn(&Infer<'_>, &Type) -> f64),
}

/// The size assumed for an unknown dimension when costs are compared.
pub const ASSUMED_EXTENT: i64 = 64;

pub(crate) fn extent(dim: &Dim) -> f64 {
    let value = dim.evaluate_atoms(&|_| Some(ASSUMED_EXTENT));
    value.unwrap_or(ASSUMED_EXTENT).max(0) as f64
}

/// Number of elements, with assumed sizes for unknown dimensions.
pub(crate) fn elements(shape: Option<&Shape>) -> f64 {
    shape.map_or((ASSUMED_EXTENT * ASSUMED_EXTENT) as f64, |s| {
        s.iter().map(extent).product()
    })
}

fn type_elements(ty: &Type) -> f64 {
    match ty {
        Type::Tensor(t) => elements(t.shape.as_ref()),
        Type::Tuple(items) => items.iter().map(type_elements).sum(),
        Type::Sequence(item) | Type::Optional(item) => type_elements(item),
        Type::Absent => 0.0,
    }
}

fn type_bytes(ty: &Type) -> f64 {
    match ty {
        Type::Tensor(t) => elements(t.shape.as_ref()) * t.dtype.size() as f64,
        Type::Tuple(items) => items.iter().map(type_bytes).sum(),
        Type::Sequence(item) | Type::Optional(item) => type_bytes(item),
        Type::Absent => 0.0,
    }
}

impl CostRule {
    /// The work of a call with these operands and this result.
    pub fn apply(&self, call: &Infer<'_>, result: &Type) -> Cost {
        let bytes = || call.operands.iter().map(|o| type_bytes(o.ty)).sum::<f64>() + type_bytes(result);
        let flops = match self {
            CostRule::View => {
                return Cost {
                    flops: 0.0,
                    bytes: 0.0,
                    launches: 0.1,
                };
            }
            CostRule::Elementwise(k) => k * type_elements(result),
            CostRule::PerInput(k) => k * call.operands.first().map_or(0.0, |o| type_elements(o.ty)),
            CostRule::Flops(f) => f(call, result),
        };
        Cost {
            flops,
            bytes: bytes(),
            launches: 1.0,
        }
    }
}
