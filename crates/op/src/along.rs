//! Normalizations along any axis, with scale and shift enabled by attributes.
//!
//! ONNX fixes the channel axis; these are the forms for other layouts, defined by their bodies.

use super::common::{axes_value, known_axes, set};
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, Channel, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand,
    ShapeRule,
};
use tautomer_tensor::{DType, Dim, Type};

const X: Operand = Operand::one("x");
const XGB: &[Operand] = &[X, Operand::one("gamma"), Operand::one("beta")];

const fn axis(default: i64, doc: &'static str) -> AttrDef {
    AttrDef::new("axis", AttrKind::Axis(AxisOf::Input), Default::Int(default), doc)
}

const CHANNELS: AttrDef = axis(1, "the channel axis");
const EPSILON: AttrDef = AttrDef::new(
    "epsilon",
    AttrKind::Float,
    Default::Float(1e-5),
    "added to the variance",
);
const CENTER: AttrDef = AttrDef::new("center", AttrKind::Bool, Default::Bool(true), "whether `beta` is added");
const SCALE: AttrDef = AttrDef::new(
    "scale",
    AttrKind::Bool,
    Default::Bool(true),
    "whether the result is multiplied by `gamma`",
);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "batch_norm_along",
        "`(x - mean) / sqrt(var + epsilon) * gamma + beta`, with statistics along any axis.",
    )
    .operands(&[
        X,
        Operand::one("gamma"),
        Operand::one("beta"),
        Operand::one("mean"),
        Operand::one("var"),
    ])
    .attrs(&[CHANNELS, EPSILON, CENTER, SCALE])
    .infer(infer_vectors)
    .body(
        "fn (x, gamma, beta, mean, var) {
           let m = reshape(mean) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let v = reshape(var) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let g = reshape(gamma) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let b = reshape(beta) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let y = (x - m) / sqrt(v + epsilon);
           let z = when scale { y * g } else { y };
           when center { z + b } else { z }
         }",
    )
    .cost(CostRule::Elementwise(2.0))
.shapes(ShapeRule::PerChannel(Channel::Named)),
    OpDef::new(
        "layer_norm_along",
        "Normalizes along one axis to mean 0 and variance 1, then scales and shifts along it.",
    )
    .operands(XGB)
    .attrs(&[
        axis(-1, "the axis to normalize along"),
        EPSILON,
        CENTER,
        SCALE,
    ])
    .infer(infer_vectors)
    .body(
        "fn (x, gamma, beta) {
           let g = reshape(gamma) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let b = reshape(beta) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let d = x - reduce_mean(x) {axes = [axis], keepdims = true};
           let y = d / sqrt(reduce_mean(d * d) {axes = [axis], keepdims = true} + epsilon);
           let z = when scale { y * g } else { y };
           when center { z + b } else { z }
         }",
    )
    .cost(CostRule::Elementwise(8.0))
.shapes(ShapeRule::PerChannel(Channel::Named)),
    OpDef::new(
        "instance_norm_along",
        "Normalizes over all but the first and the channel axis to mean 0 and variance 1, then scales and shifts.",
    )
    .operands(XGB)
    .attrs(&[CHANNELS, EPSILON, CENTER, SCALE])
    .infer(infer_instance)
    .body(
        "fn (x, gamma, beta) {
           let g = reshape(gamma) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let b = reshape(beta) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let d = x - reduce_mean(x) {axes = [i for i in range(1, x.rank) if i != axis], keepdims = true};
           let v = reduce_mean(d * d) {axes = [i for i in range(1, x.rank) if i != axis], keepdims = true};
           let y = d / sqrt(v + epsilon);
           let z = when scale { y * g } else { y };
           when center { z + b } else { z }
         }",
    )
    .cost(CostRule::Elementwise(8.0))
.shapes(ShapeRule::PerChannel(Channel::Named)),
    OpDef::new(
        "group_norm_along",
        "Normalizes each group of channels of each batch element to mean 0 and variance 1, then scales and shifts.",
    )
    .operands(XGB)
    .attrs(&[
        AttrDef::new("num_groups", AttrKind::Int, Default::Required, "the number of groups of channels"),
        CHANNELS,
        EPSILON,
        CENTER,
        SCALE,
    ])
    .infer(infer_group)
    .body(
        "fn (x, gamma, beta) {
           let g = reshape(gamma) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let b = reshape(beta) {shape = [x.shape[axis]] ++ [1 for i in range(axis + 1, x.rank)]};
           let u = reshape(x) {
             shape = x.shape[..axis] ++ [num_groups, x.shape[axis] / num_groups] ++ x.shape[axis + 1..], allowzero = true
           };
           let d = u - reduce_mean(u) {axes = [i for i in range(1, u.rank) if i != axis], keepdims = true};
           let v = reduce_mean(d * d) {axes = [i for i in range(1, u.rank) if i != axis], keepdims = true};
           let y = reshape(d / sqrt(v + epsilon)) {shape = x.shape, allowzero = true};
           let z = when scale { y * g } else { y };
           when center { z + b } else { z }
         }",
    )
    .cost(CostRule::Elementwise(8.0))
.shapes(ShapeRule::PerChannel(Channel::Named)),
    OpDef::new(
        "l2_normalize",
        "`x` divided by the root of its sum of squares along axes, which is raised to at least `epsilon`.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "axes",
            AttrKind::Axes(AxisOf::Input),
            Default::None,
            "the axes to sum over; all if none is listed",
        ),
        AttrDef::new(
            "epsilon",
            AttrKind::Float,
            Default::Float(1e-5),
            "the minimum sum of squares",
        ),
    ])
    .canonical(canonical_l2)
    .infer(infer_l2)
    .body("fn (x) { x / sqrt(max(reduce_sum(x * x) {axes = axes, keepdims = true}, epsilon)) }")
    .traits(OpTraits::UNARY)
    .cost(CostRule::Elementwise(8.0)),
];

fn unchanged(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    Ok(call.tensor(0)?.clone().into())
}

/// The channel axis, if the rank is known.
fn channel_axis(call: &Infer<'_>) -> Result<Option<usize>, OpError> {
    call.tensor(0)?.rank().map(|rank| call.axis("axis", rank)).transpose()
}

/// Operands after the first are vectors along `axis`.
fn infer_vectors(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let channels = match channel_axis(call)? {
        Some(axis) => x.shape.as_ref().and_then(|s| s.get(axis)),
        None => None,
    };
    for i in 1..call.def.operands.len() {
        call.same_dtype(0, i)?;
        let ty = call.tensor(i)?;
        let Some(shape) = &ty.shape else { continue };
        let differ = matches!((channels, &shape[..]), (Some(Dim::Const(a)), [Dim::Const(b)]) if a != b);
        if shape.len() != 1 || differ {
            let name = call.def.operands[i].name;
            return Err(
                OpError::new(format!("`{name}` is {ty}, which is not a vector along the axis of {x}"))
                    .at(i)
                    .and(0),
            );
        }
    }
    unchanged(call)
}

/// The first axis is the batch axis and cannot be the channel axis.
fn beside_batch(call: &Infer<'_>) -> Result<Type, OpError> {
    if channel_axis(call)? == Some(0) {
        return Err(OpError::new("axis 0 is the batch axis").attr("axis"));
    }
    infer_vectors(call)
}

fn infer_instance(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if x.rank().is_some_and(|rank| rank < 3) {
        return Err(OpError::new(format!("`x` must have at least 3 axes, but is {x}")).at(0));
    }
    beside_batch(call)
}

fn infer_group(call: &Infer<'_>) -> Result<Type, OpError> {
    let groups = call.const_int("num_groups").unwrap_or(1);
    if groups < 1 {
        return Err(OpError::new(format!("`num_groups` must be at least 1, but is {groups}")).attr("num_groups"));
    }
    let channels = match (channel_axis(call)?, call.shape(0)?) {
        (Some(axis), Some(shape)) => shape.get(axis).and_then(Dim::as_const),
        _ => None,
    };
    if let Some(channels) = channels
        && channels % groups != 0
    {
        return Err(OpError::new(format!(
            "{channels} channels cannot be split into {groups} groups of equal size"
        ))
        .at(0)
        .attr("num_groups"));
    }
    beside_batch(call)
}

/// Lists the axes in ascending order, and all of them if none is listed.
fn canonical_l2(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(rank) = call.tensor(0)?.rank() {
        let mut axes = known_axes(call, "axes", rank)?.unwrap_or_default();
        axes.sort_unstable();
        if axes.is_empty() {
            axes = (0..rank).collect();
        }
        set(call, attrs, "axes", axes_value(&axes));
    }
    Ok(())
}

fn infer_l2(call: &Infer<'_>) -> Result<Type, OpError> {
    if let Some(rank) = call.tensor(0)?.rank() {
        known_axes(call, "axes", rank)?;
    }
    unchanged(call)
}
