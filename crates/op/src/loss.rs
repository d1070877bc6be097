//! Classification losses.

use super::common::{typed, unify};
use super::{AttrDef, AttrKind, CostRule, Default, Infer, OpDef, OpError, Operand};
use tautomer_tensor::{DType, Dim, Shape, Type};

const IGNORE: AttrDef = AttrDef::new(
    "ignore_index",
    AttrKind::Int,
    Default::None,
    "a class whose elements are ignored",
);
const REDUCTION: AttrDef = AttrDef::new(
    "reduction",
    AttrKind::OneOf(&["none", "sum", "mean"]),
    Default::Str("mean"),
    "how the losses of the elements are combined; the mean is weighted",
);
const OPERANDS: &[Operand] = &[
    Operand::one("scores"),
    Operand::one("labels"),
    Operand::optional("weights"),
];

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "negative_log_likelihood_loss",
        "The negated score of the class given by each label, times the weight of the class.",
    )
    .aliases(&["nll_loss"])
    .operands(OPERANDS)
    .attrs(&[IGNORE, REDUCTION])
    .infer(infer_loss)
    .body(
        "fn (scores, labels, weights) {
           let named = when given(ignore_index) { where(labels == ignore_index, 0, labels) } else { labels };
           let picked = squeeze(gather_elements(scores, unsqueeze(named) {axes = [1]}) {axis = 1}) {axes = [1]};
           let each = when given(weights) { gather(weights, named) {axis = 0} } else {
             cast(constant_of_shape() {shape = picked.shape, value = 1}) {to = scores.dtype}
           };
           let factor = when given(ignore_index) { where(labels == ignore_index, 0, each) } else { each };
           let loss = -picked * factor;
           when reduction == \"none\" { loss } else {
             when reduction == \"sum\" { reduce_sum(loss) {keepdims = false} } else {
               reduce_sum(loss) {keepdims = false} / reduce_sum(factor) {keepdims = false}
             }
           }
         }",
    )
    .cost(CostRule::PerInput(1.0))
    .onnx("NegativeLogLikelihoodLoss", 12),
    OpDef::new(
        "softmax_cross_entropy_loss",
        "The negative log likelihood loss of the logarithm of the softmax over the classes.",
    )
    .operands(OPERANDS)
    .attrs(&[IGNORE, REDUCTION])
    .infer(infer_loss)
    .body(
        "fn (scores, labels, weights) {
           let p = log_softmax(scores) {axis = 1};
           negative_log_likelihood_loss(p, labels, weights) {ignore_index = ignore_index, reduction = reduction}
         }",
    )
    .cost(CostRule::PerInput(8.0))
    .onnx("SoftmaxCrossEntropyLoss", 12),
    OpDef::new(
        "softmax_cross_entropy_loss_with_log_prob",
        "The softmax cross entropy loss, and the logarithm of the softmax.",
    )
    .operands(OPERANDS)
    .attrs(&[IGNORE, REDUCTION])
    .infer(|call| Ok(Type::Tuple(vec![infer_loss(call)?, call.tensor(0)?.clone().into()])))
    .body(
        "fn (scores, labels, weights) {
           let p = log_softmax(scores) {axis = 1};
           (negative_log_likelihood_loss(p, labels, weights) {ignore_index = ignore_index, reduction = reduction}, p)
         }",
    )
    .cost(CostRule::PerInput(8.0)),
];

fn infer_loss(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    call.expect_dtype(1, DType::is_int, "a class for each element")?;
    if call.optional(2)?.is_some() {
        call.same_dtype(0, 2)?;
        if call.tensor(2)?.rank().is_some_and(|r| r != 1) {
            return Err(OpError::new(format!(
                "`weights` must be one number for each class, not {}",
                call.tensor(2)?
            ))
            .at(2));
        }
    }
    let (scores, labels) = (call.tensor(0)?, call.tensor(1)?);
    if let Some(shape) = &scores.shape {
        if shape.len() < 2 {
            return Err(OpError::new(format!("`scores` must have at least 2 axes, but is {scores}")).at(0));
        }
        let others: Vec<&Dim> = shape
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != 1)
            .map(|(_, d)| d)
            .collect();
        if let Some(found) = &labels.shape
            && (found.len() != others.len() || found.iter().zip(&others).any(|(a, b)| unify(a, b).is_none()))
        {
            return Err(OpError::new(format!(
                "`labels` is {labels}, but must have the axes of `scores`, {scores}, except axis 1"
            ))
            .at(1)
            .and(0));
        }
    }
    if call.text("reduction") == "none" {
        return Ok(typed(dtype, labels.shape.clone()));
    }
    Ok(typed(dtype, Some(Shape::from(&[] as &[usize]))))
}
