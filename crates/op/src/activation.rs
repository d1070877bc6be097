//! Activation functions, given by their formulas.

use super::common::same_float;
use super::{AttrDef, AttrKind, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand};
use tautomer_tensor::{DType, Dim, Shape, Type};

const X: &[Operand] = &[Operand::one("x")];
const UNARY: OpTraits = OpTraits::ELEMENTWISE.and(OpTraits::UNARY);
const MONOTONE: OpTraits = UNARY.and(OpTraits::MONOTONE);

const fn alpha(default: f64, doc: &'static str) -> AttrDef {
    AttrDef::new("alpha", AttrKind::Float, Default::Float(default), doc)
}

const fn activation(name: &'static str, doc: &'static str, body: &'static str) -> OpDef {
    OpDef::new(name, doc)
        .operands(X)
        .infer(same_float)
        .body(body)
        .traits(UNARY)
        .cost(CostRule::Elementwise(20.0))
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    activation(
        "leaky_relu",
        "`x` where it is not negative, else `alpha * x`.",
        "fn (x) { where(x >= 0.0, x, alpha * x) }",
    )
    .attrs(&[alpha(0.01, "slope of the negative part")])
    .cost(CostRule::Elementwise(2.0))
    .onnx("LeakyRelu", 6),
    OpDef::new("prelu", "`x` where it is not negative, else `slope * x`.")
        .operands(&[Operand::one("x"), Operand::one("slope")])
        .infer(infer_prelu)
        .body("fn (x, slope) { where(x < 0, slope * x, x) }")
        .traits(OpTraits::ELEMENTWISE)
        // Branches on each element: 4 to 5 ns in ONNX Runtime where signs are mixed.
        .cost(CostRule::Elementwise(200.0))
        .onnx("PRelu", 9),
    activation(
        "elu",
        "`x` where it is positive, else `alpha * (exp(x) - 1)`.",
        "fn (x) { where(x > 0.0, x, alpha * (exp(x) - 1.0)) }",
    )
    .attrs(&[alpha(1.0, "negated limit of the negative part")])
    .onnx("Elu", 6),
    activation(
        "selu",
        "`elu`, scaled by `gamma`.",
        "fn (x) { gamma * where(x > 0.0, x, alpha * exp(x) - alpha) }",
    )
    .attrs(&[
        alpha(1.673_263_192_176_818_8, "negated limit of the negative part"),
        AttrDef::new(
            "gamma",
            AttrKind::Float,
            Default::Float(1.050_701_022_148_132_3),
            "the scale",
        ),
    ])
    .traits(MONOTONE)
    .onnx("Selu", 6),
    activation(
        "celu",
        "`x` where it is positive, else `alpha * (exp(x / alpha) - 1)`.",
        "fn (x) { max(x, 0.0) + min(alpha * (exp(x / alpha) - 1.0), 0.0) }",
    )
    .attrs(&[alpha(1.0, "negated limit of the negative part")])
    .onnx("Celu", 12),
    activation("sigmoid", "`1 / (1 + exp(-x))`.", "fn (x) { 1.0 / (1.0 + exp(-x)) }")
        .traits(MONOTONE)
        .onnx("Sigmoid", 6),
    activation(
        "hard_sigmoid",
        "`alpha * x + beta`, clamped to the range from 0 to 1.",
        "fn (x) { max(min(alpha * x + beta, 1.0), 0.0) }",
    )
    .attrs(&[
        alpha(0.200_000_002_980_232_24, "the slope"),
        AttrDef::new("beta", AttrKind::Float, Default::Float(0.5), "the value at 0"),
    ])
    .cost(CostRule::Elementwise(4.0))
    .onnx("HardSigmoid", 6),
    activation(
        "hard_swish",
        "`x` times its hard sigmoid with slope 1/6.",
        "fn (x) { x * hard_sigmoid(x) { alpha = 0.16666666666666666, beta = 0.5 } }",
    )
    .cost(CostRule::Elementwise(5.0))
    .onnx("HardSwish", 14),
    activation("silu", "`x * sigmoid(x)`.", "fn (x) { x * sigmoid(x) }"),
    activation(
        "swish",
        "`x * sigmoid(alpha * x)`.",
        "fn (x) { x * sigmoid(alpha * x) }",
    )
    .attrs(&[alpha(1.0, "scale inside the sigmoid")])
    .onnx("Swish", 24),
    activation(
        "softplus",
        "`log(1 + exp(x))`.",
        "fn (x) { max(x, 0.0) + log(1.0 + exp(-abs(x))) }",
    )
    .traits(MONOTONE)
    .cost(CostRule::Elementwise(25.0))
    .onnx("Softplus", 1),
    activation("softsign", "`x / (1 + abs(x))`.", "fn (x) { x / (1.0 + abs(x)) }")
        .traits(MONOTONE)
        .cost(CostRule::Elementwise(6.0))
        .onnx("Softsign", 1),
    activation("mish", "`x * tanh(softplus(x))`.", "fn (x) { x * tanh(softplus(x)) }")
        .cost(CostRule::Elementwise(40.0))
        .onnx("Mish", 18),
    activation(
        "thresholded_relu",
        "`x` where it is greater than `alpha`, else 0.",
        "fn (x) { where(x > alpha, x, 0.0) }",
    )
    .attrs(&[alpha(1.0, "the threshold")])
    .cost(CostRule::Elementwise(2.0))
    .onnx("ThresholdedRelu", 10),
    activation(
        "shrink",
        "`x + bias` below `-lambd`, `x - bias` above `lambd`, else 0.",
        "fn (x) { where(x < -lambd, x + bias, where(x > lambd, x - bias, 0.0)) }",
    )
    .attrs(&[
        AttrDef::new("lambd", AttrKind::Float, Default::Float(0.5), "the threshold"),
        AttrDef::new(
            "bias",
            AttrKind::Float,
            Default::Float(0.0),
            "how much values beyond the threshold shrink",
        ),
    ])
    .cost(CostRule::Elementwise(4.0))
    .onnx("Shrink", 9),
    activation(
        "gelu",
        "`x` times the standard normal distribution function of `x`, or its approximation by `tanh`.",
        "fn (x) {
            when approximate == \"tanh\" {
                0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))))
            } else {
                0.5 * x * (1.0 + erf(x * 0.7071067811865476))
            }
        }",
    )
    .attrs(&[AttrDef::new(
        "approximate",
        AttrKind::OneOf(&["none", "tanh"]),
        Default::Str("none"),
        "which formula is used",
    )])
    .cost(CostRule::Elementwise(25.0))
    .onnx("Gelu", 20),
];

fn infer_prelu(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_number, "a number")?;
    call.same_dtype(0, 1)?;
    let x = call.tensor(0)?;
    let Some(merged) = call.broadcast(0..2)? else {
        return Ok(x.clone().into());
    };
    let differs = |(own, both): (&Dim, &Dim)| matches!((own, both), (Dim::Const(a), Dim::Const(b)) if a != b);
    let wider = |s: &Shape| s.len() < merged.len() || s.iter().zip(merged.iter()).any(differs);
    if x.shape.as_ref().is_some_and(wider) {
        return Err(OpError::new("`slope` must broadcast to the shape of `x`").at(1).and(0));
    }
    Ok(x.clone().into())
}
