//! Softmax and related operators.

use super::common::{Out, flat};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AxisOf, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand, System,
    Value,
};
use crate::reference;
use tautomer_tensor::{DType, Type};

const X: &[Operand] = &[Operand::one("x")];
const AXIS: &[AttrDef] = &[AttrDef::new(
    "axis",
    AttrKind::Axis(AxisOf::Input),
    Default::Int(-1),
    "the axis along which the result sums to 1",
)];

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "hardmax",
    "1 at the first of the largest elements along an axis, else 0.",
)
.operands(X)
.attrs(AXIS)
.infer(infer)
.reference(reference!(hardmax))
.formula(Formula::Whole)
.traits(OpTraits::UNARY)
.cost(CostRule::Elementwise(1.0))
.onnx("Hardmax", 13)];

pub(super) fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let x = call.tensor(0)?;
    if let Some(rank) = x.rank() {
        call.axis("axis", rank)?;
    }
    Ok(x.clone().into())
}

fn hardmax<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?.real()?;
    let shape = x.shape();
    let axis = e.axis("axis", shape.len())?;
    let (extent, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let x = flat(x);
    let mut out = vec![S::zero(); x.len()];
    if !x.is_empty() {
        for block in 0..x.len() / (extent * inner) {
            for i in 0..inner {
                let first = block * extent * inner + i;
                let mut best = first;
                for k in 1..extent {
                    let at = first + k * inner;
                    if x[best].order(&x[at])? == Some(std::cmp::Ordering::Less) {
                        best = at;
                    }
                }
                out[best] = S::one();
            }
        }
    }
    Ok(vec![Value::Real(shaped(shape, out)?)])
}
