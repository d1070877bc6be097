//! Normalizations of transformers with their own precision or statistics.

use super::common::typed;
use super::{AttrDef, AttrKind, AxisOf, CostRule, Default, Infer, OpDef, OpError, Operand};
use tautomer_tensor::{DType, Dim, Type};

const AXIS: AttrDef = AttrDef::new(
    "axis",
    AttrKind::Axis(AxisOf::Input),
    Default::Int(-1),
    "the first axis to normalize over",
);
const EPSILON: AttrDef = AttrDef::new(
    "epsilon",
    AttrKind::Float,
    Default::Float(1e-5),
    "added to the mean square",
);
const STASH: AttrDef = AttrDef::new(
    "stash_type",
    AttrKind::DType,
    Default::DType(DType::F32),
    "element type in which statistics are computed",
);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "rms_normalization",
        "Divides by the root mean square over the axes from `axis` on, then scales.",
    )
    .aliases(&["rms_norm"])
    .operands(&[Operand::one("x"), Operand::one("scale")])
    .attrs(&[AXIS, EPSILON, STASH])
    .infer(infer_rms)
    .body(
        "fn (x, scale) {
           let u = when x.dtype == stash_type { x } else { cast(x) {to = stash_type} };
           let y = u / sqrt(reduce_mean(u * u) {axes = range(axis, x.rank), keepdims = true} + epsilon);
           let z = when y.dtype == scale.dtype { y } else { cast(y) {to = scale.dtype} };
           z * scale
         }",
    )
    .cost(CostRule::Elementwise(5.0))
    .onnx("RMSNormalization", 23),
    OpDef::new(
        "layer_normalization_with_statistics",
        "Layer normalization, with the means that it subtracts and the factors that it multiplies by.",
    )
    .operands(&[Operand::one("x"), Operand::one("scale"), Operand::optional("bias")])
    .attrs(&[AXIS, EPSILON, STASH])
    .infer(infer_statistics)
    .body(
        "fn (x, scale, bias) {
           let u = when x.dtype == stash_type { x } else { cast(x) {to = stash_type} };
           let m = reduce_mean(u) {axes = range(axis, x.rank), keepdims = true};
           let d = u - m;
           let v = reduce_mean(d * d) {axes = range(axis, x.rank), keepdims = true};
           let s = sqrt(v + epsilon);
           let n = when x.dtype == stash_type { d / s } else { cast(d / s) {to = x.dtype} };
           let y = when given(bias) { n * scale + bias } else { n * scale };
           (y, m, reciprocal(s))
         }",
    )
    .cost(CostRule::Elementwise(8.0)),
];

/// Checks that operand `at` broadcasts to `x`.
fn spreads(call: &Infer<'_>, at: usize) -> Result<(), OpError> {
    let x = call.tensor(0)?;
    let Some(ty) = call.optional(at)? else { return Ok(()) };
    let (Some(s), Some(whole)) = (&ty.shape, &x.shape) else {
        return Ok(());
    };
    let fits = s.len() <= whole.len()
        && s.iter()
            .rev()
            .zip(whole.iter().rev())
            .all(|(a, b)| !matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b && *a != 1));
    if fits {
        return Ok(());
    }
    let name = call.def.operands[at].name;
    Err(
        OpError::new(format!("`{name}` is {ty}, which does not broadcast to `x`, {x}"))
            .at(at)
            .and(0),
    )
}

/// Checks `x` and the attributes, and returns the first axis to normalize over if the rank is known.
fn first_axis(call: &Infer<'_>) -> Result<Option<usize>, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    if let Some(stash) = call.dtype("stash_type")
        && !stash.is_float()
    {
        return Err(
            OpError::new(format!("`stash_type` is {stash}, which is not a floating-point type")).attr("stash_type"),
        );
    }
    match call.tensor(0)?.rank() {
        Some(rank) => call.axis("axis", rank).map(Some),
        None => Ok(None),
    }
}

fn infer_rms(call: &Infer<'_>) -> Result<Type, OpError> {
    first_axis(call)?;
    let dtype = call.expect_dtype(1, DType::is_float, "a floating-point number")?;
    spreads(call, 1)?;
    Ok(typed(dtype, call.shape(0)?.cloned()))
}

fn infer_statistics(call: &Infer<'_>) -> Result<Type, OpError> {
    let axis = first_axis(call)?;
    for at in 1..3 {
        if call.optional(at)?.is_some() {
            call.same_dtype(0, at)?;
            spreads(call, at)?;
        }
    }
    let stash = call.dtype("stash_type").unwrap_or(DType::F32);
    let kept = call.shape(0)?.zip(axis).map(|(shape, axis)| {
        let extent = |(i, d): (usize, &Dim)| if i < axis { d.clone() } else { Dim::Const(1) };
        shape.iter().enumerate().map(extent).collect()
    });
    let statistics = typed(stash, kept);
    Ok(Type::Tuple(vec![
        call.tensor(0)?.clone().into(),
        statistics.clone(),
        statistics,
    ]))
}
