//! Normalizations: scaling a tensor to mean 0 and variance 1, or to norm 1, over some of its axes.

use super::{
    AttrDef, AttrKind, AxesRule, AxisOf, Channel, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand,
    ShapeRule,
};
use tautomer_tensor::{DType, Dim, Type};

const EPSILON: AttrDef = AttrDef::new(
    "epsilon",
    AttrKind::Float,
    Default::Float(1e-5),
    "added to the variance",
);
const XSB: &[Operand] = &[Operand::one("x"), Operand::one("scale"), Operand::one("bias")];

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "batch_normalization",
        "`(x - mean) / sqrt(var + epsilon) * scale + bias`, with given statistics for each channel.",
    )
    .aliases(&["batch_norm"])
    .operands(&[
        Operand::one("x"),
        Operand::one("scale").ranked(1),
        Operand::one("bias").ranked(1),
        Operand::one("mean").ranked(1),
        Operand::one("var").ranked(1),
    ])
    .attrs(&[
        EPSILON,
        AttrDef::new(
            "momentum",
            AttrKind::Float,
            Default::Float(0.9),
            "how training updates the statistics; no effect here",
        ),
    ])
    .infer(infer_per_channel)
    .body(
        "fn (x, scale, bias, mean, var) {
           let s = reshape(scale) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           let b = reshape(bias) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           let m = reshape(mean) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           let v = reshape(var) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           (x - m) / sqrt(v + epsilon) * s + b
         }",
    )
    .cost(CostRule::Elementwise(2.0))
    .shapes(ShapeRule::PerChannel(Channel::Second))
    .axes(AxesRule::Channels)
    .onnx("BatchNormalization", 7),
    OpDef::new(
        "instance_normalization",
        "Normalizes each channel of each batch element to mean 0 and variance 1, then scales and shifts it.",
    )
    .aliases(&["instance_norm"])
    .operands(XSB)
    .attrs(&[EPSILON])
    .infer(infer_spatial)
    .body(
        "fn (x, scale, bias) {
           let s = reshape(scale) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           let b = reshape(bias) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           let d = x - reduce_mean(x) {axes = range(2, x.rank), keepdims = true};
           let v = reduce_mean(d * d) {axes = range(2, x.rank), keepdims = true};
           d / sqrt(v + epsilon) * s + b
         }",
    )
    .cost(CostRule::Elementwise(8.0))
    .shapes(ShapeRule::PerChannel(Channel::Second))
    .onnx("InstanceNormalization", 1),
    OpDef::new(
        "group_normalization",
        "Normalizes each group of channels to mean 0 and variance 1, then scales and shifts each channel.",
    )
    .aliases(&["group_norm"])
    .operands(XSB)
    .attrs(&[
        AttrDef::new(
            "num_groups",
            AttrKind::Int,
            Default::Required,
            "the number of groups of channels",
        ),
        EPSILON,
    ])
    .infer(infer_group)
    .body(
        "fn (x, scale, bias) {
           let s = reshape(scale) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           let b = reshape(bias) {shape = [x.shape[1]] ++ [1 for i in range(2, x.rank)]};
           let g = reshape(x) {shape = [x.shape[0], num_groups, -1]};
           let d = g - reduce_mean(g) {axes = [2], keepdims = true};
           let v = reduce_mean(d * d) {axes = [2], keepdims = true};
           reshape(d / sqrt(v + epsilon)) {shape = x.shape} * s + b
         }",
    )
    .cost(CostRule::Elementwise(8.0))
    .shapes(ShapeRule::PerChannel(Channel::Second))
    .onnx("GroupNormalization", 21),
    OpDef::new(
        "layer_normalization",
        "Normalizes jointly over the axes from `axis` on to mean 0 and variance 1, then scales and shifts.",
    )
    .aliases(&["layer_norm"])
    .operands(&[Operand::one("x"), Operand::one("scale"), Operand::optional("bias")])
    .attrs(&[
        AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Int(-1),
            "the first axis to normalize over",
        ),
        EPSILON,
    ])
    .infer(infer_layer)
    .body(
        "fn (x, scale, bias) {
           let d = x - reduce_mean(x) {axes = range(axis, x.rank), keepdims = true};
           let v = reduce_mean(d * d) {axes = range(axis, x.rank), keepdims = true};
           let y = d / sqrt(v + epsilon) * scale;
           when given(bias) { y + bias } else { y }
         }",
    )
    .cost(CostRule::Elementwise(8.0))
    .shapes(ShapeRule::PerChannel(Channel::Last))
    .onnx("LayerNormalization", 17),
    OpDef::new(
        "lrn",
        "Local response normalization: divides by a power of the mean square over nearby channels.",
    )
    .operands(&[Operand::one("x")])
    .attrs(&[
        AttrDef::new(
            "size",
            AttrKind::Int,
            Default::Required,
            "the number of channels summed",
        ),
        AttrDef::new(
            "alpha",
            AttrKind::Float,
            Default::Float(1e-4),
            "factor of the mean square",
        ),
        AttrDef::new("beta", AttrKind::Float, Default::Float(0.75), "the exponent"),
        AttrDef::new("bias", AttrKind::Float, Default::Float(1.0), "added to the mean square"),
    ])
    .infer(infer_lrn)
    .body(
        "fn (x) {
           let q = reshape(x * x) {shape = [x.shape[0], 1, x.shape[1], -1]};
           let m = average_pool(q) {
             kernel_shape = [size, 1], pads = [(size - 1) / 2, 0, size / 2, 0], count_include_pad = true
           };
           x / pow(reshape(m) {shape = x.shape} * alpha + bias, beta)
         }",
    )
    .traits(OpTraits::UNARY)
    // Computes a power for each element: 24 ns in ONNX Runtime.
    .cost(CostRule::Elementwise(1200.0))
    .onnx("LRN", 1),
    OpDef::new(
        "lp_normalization",
        "`x` divided by its `p`-norm along an axis; 0 where the norm is 0.",
    )
    .operands(&[Operand::one("x")])
    .attrs(&[
        AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Int(-1),
            "the axis along which the norm is computed",
        ),
        AttrDef::new("p", AttrKind::Int, Default::Int(2), "the order of the norm: 1 or 2"),
    ])
    .infer(infer_lp)
    .body(
        "fn (x) {
           let n = when p == 1 {
             reduce_l1(x) {axes = [axis], keepdims = true}
           } else {
             reduce_l2(x) {axes = [axis], keepdims = true}
           };
           where(n == 0, x * 0, x / n)
         }",
    )
    .traits(OpTraits::UNARY)
    .cost(CostRule::Elementwise(8.0))
    .onnx("LpNormalization", 1),
    OpDef::new(
        "mean_variance_normalization",
        "`x` minus its mean, divided by its standard deviation, over some axes.",
    )
    .operands(&[Operand::one("x")])
    .attrs(&[AttrDef::new(
        "axes",
        AttrKind::Axes(AxisOf::Input),
        Default::Ints(&[0, 2, 3]),
        "the axes to average over",
    )])
    .infer(infer_mean_variance)
    .body(
        "fn (x) {
           let d = x - reduce_mean(x) {axes = axes, keepdims = true};
           let v = reduce_mean(d * d) {axes = axes, keepdims = true};
           d / (sqrt(v) + 1e-9)
         }",
    )
    .traits(OpTraits::UNARY)
    .cost(CostRule::Elementwise(8.0))
    .onnx("MeanVarianceNormalization", 9),
];

fn float(call: &Infer<'_>, least_rank: usize) -> Result<(), OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let x = call.tensor(0)?;
    match x.rank() {
        Some(rank) if rank < least_rank => {
            Err(OpError::new(format!("`x` must have at least {least_rank} axes, but is {x}")).at(0))
        }
        _ => Ok(()),
    }
}

fn unchanged(call: &Infer<'_>) -> Result<Type, OpError> {
    Ok(call.tensor(0)?.clone().into())
}

/// Operands after the first have one number for each channel.
fn infer_per_channel(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 2)?;
    let x = call.tensor(0)?;
    for i in 1..call.def.operands.len() {
        call.same_dtype(0, i)?;
        let ty = call.tensor(i)?;
        let Some(shape) = &ty.shape else { continue };
        let channels = x.shape.as_ref().map(|s| &s[1]);
        let fits = shape.len() == 1 && !matches!((channels, &shape[0]), (Some(Dim::Const(a)), Dim::Const(b)) if a != b);
        if !fits {
            let name = call.def.operands[i].name;
            let channels = channels.map_or_else(|| "one number for each channel".to_owned(), ToString::to_string);
            return Err(OpError::new(format!(
                "`{name}` must be a vector of {channels}, one for each channel of `x` (axis 1 of {x}), but is {ty}"
            ))
            .at(i)
            .and(0));
        }
    }
    unchanged(call)
}

fn infer_spatial(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 3)?;
    infer_per_channel(call)
}

fn infer_group(call: &Infer<'_>) -> Result<Type, OpError> {
    if let Some(groups) = call.const_int("num_groups") {
        if groups < 1 {
            return Err(OpError::new(format!("`num_groups` must be at least 1, but is {groups}")).attr("num_groups"));
        }
        let channels = call.shape(0)?.and_then(|s| s.get(1)).and_then(Dim::as_const);
        if let Some(channels) = channels
            && channels % groups != 0
        {
            return Err(OpError::new(format!(
                "{channels} channels cannot be split into {groups} groups of equal size"
            ))
            .at(0)
            .attr("num_groups"));
        }
    }
    infer_per_channel(call)
}

fn infer_layer(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 1)?;
    let x = call.tensor(0)?;
    if let Some(rank) = x.rank() {
        call.axis("axis", rank)?;
    }
    for i in 1..3 {
        let Some(ty) = call.optional(i)? else { continue };
        call.same_dtype(0, i)?;
        let (Some(s), Some(whole)) = (&ty.shape, &x.shape) else {
            continue;
        };
        let spreads = s.len() <= whole.len()
            && s.iter()
                .rev()
                .zip(whole.iter().rev())
                .all(|(a, b)| !matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b && *a != 1));
        if !spreads {
            let name = call.def.operands[i].name;
            return Err(
                OpError::new(format!("`{name}` is {ty}, which does not broadcast to `x`, {x}"))
                    .at(i)
                    .and(0),
            );
        }
    }
    unchanged(call)
}

fn infer_lrn(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 2)?;
    if let Some(size) = call.const_int("size")
        && size < 1
    {
        return Err(OpError::new(format!("`size` must be at least 1, but is {size}")).attr("size"));
    }
    unchanged(call)
}

fn infer_lp(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 1)?;
    if let Some(rank) = call.tensor(0)?.rank() {
        call.axis("axis", rank)?;
    }
    if let Some(p) = call.const_int("p")
        && p != 1
        && p != 2
    {
        return Err(OpError::new(format!("`p` must be 1 or 2, but is {p}")).attr("p"));
    }
    unchanged(call)
}

fn infer_mean_variance(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 0)?;
    if let Some(rank) = call.tensor(0)?.rank() {
        call.axes("axes", rank)?;
    }
    unchanged(call)
}
