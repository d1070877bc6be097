//! Attention with one or more heads, masks, a soft cap, and a cache.

use super::common::{typed, unify};
use super::cost::{elements, extent};
use super::{AttrDef, AttrKind, CostRule, Default, Infer, OpDef, OpError, Operand};
use tautomer_tensor::{DType, Dim, Shape, Type};

const QKV: [Operand; 7] = [
    Operand::one("q"),
    Operand::one("k"),
    Operand::one("v"),
    Operand::optional("attn_mask"),
    Operand::optional("past_key"),
    Operand::optional("past_value"),
    Operand::optional("nonpad_kv_seqlen"),
];
const CAUSAL: AttrDef = AttrDef::new(
    "is_causal",
    AttrKind::Bool,
    Default::Bool(false),
    "whether a query sees only the keys up to its own position",
);
const KV_HEADS: AttrDef = AttrDef::new(
    "kv_num_heads",
    AttrKind::Int,
    Default::None,
    "the number of heads of `k` and `v` if they have three axes",
);
const Q_HEADS: AttrDef = AttrDef::new(
    "q_num_heads",
    AttrKind::Int,
    Default::None,
    "the number of heads of `q` if it has three axes",
);
const MODE: AttrDef = AttrDef::new(
    "qk_matmul_output_mode",
    AttrKind::Int,
    Default::Int(0),
    "which scores are returned: 0 the products, 1 after the cap, 2 after the masks, 3 after the softmax",
);
const SCALE: AttrDef = AttrDef::new(
    "scale",
    AttrKind::Float,
    Default::None,
    "factor of the scores; one over the square root of the head size if left out",
);
const SOFTCAP: AttrDef = AttrDef::new(
    "softcap",
    AttrKind::Float,
    Default::Float(0.0),
    "bound applied to scores by a hyperbolic tangent; 0 for no bound",
);
const PRECISION: AttrDef = AttrDef::new(
    "softmax_precision",
    AttrKind::DType,
    Default::None,
    "element type in which the softmax is computed",
);

/// Names the parts of attention, up to the value `y`.
macro_rules! attention_body {
    ($result:literal) => {
        concat!(
            "fn (q, k, v, attn_mask, past_key, past_value, nonpad_kv_seqlen) {
               let qh = when q.rank == 4 { q } else {
                 transpose(
                   reshape(q) {
                     shape = [q.shape[0], q.shape[1], q_num_heads, q.shape[2] / q_num_heads],
                     allowzero = true,
                   }
                 ) {perm = [0, 2, 1, 3]}
               };
               let kh = when k.rank == 4 { k } else {
                 transpose(
                   reshape(k) {
                     shape = [k.shape[0], k.shape[1], kv_num_heads, k.shape[2] / kv_num_heads],
                     allowzero = true,
                   }
                 ) {perm = [0, 2, 1, 3]}
               };
               let vh = when v.rank == 4 { v } else {
                 transpose(
                   reshape(v) {
                     shape = [v.shape[0], v.shape[1], kv_num_heads, v.shape[2] / kv_num_heads],
                     allowzero = true,
                   }
                 ) {perm = [0, 2, 1, 3]}
               };
               let keys = when given(past_key) { concat(past_key, kh) {axis = 2} } else { kh };
               let values = when given(past_value) { concat(past_value, vh) {axis = 2} } else { vh };
               let kg = when qh.shape[1] == keys.shape[1] { keys } else {
                 reshape(
                   expand(unsqueeze(keys) {axes = [2]}) {
                     shape = [keys.shape[0], keys.shape[1], qh.shape[1] / keys.shape[1], keys.shape[2], keys.shape[3]]
                   }
                 ) {shape = [keys.shape[0], qh.shape[1], keys.shape[2], keys.shape[3]], allowzero = true}
               };
               let vg = when qh.shape[1] == values.shape[1] { values } else {
                 reshape(
                   expand(unsqueeze(values) {axes = [2]}) {
                     shape = [
                       values.shape[0], values.shape[1], qh.shape[1] / values.shape[1], values.shape[2], values.shape[3]
                     ]
                   }
                 ) {shape = [values.shape[0], qh.shape[1], values.shape[2], values.shape[3]], allowzero = true}
               };
               let qs = when given(scale) { qh * scale } else { qh / sqrt(qh.shape[3]) };
               let product = matmul(qs, transpose(kg) {perm = [0, 1, 3, 2]});
               let capped = when softcap > 0 { tanh(product / softcap) * softcap } else { product };
               let masked = when not given(attn_mask) { capped } else {
                 let full = when attn_mask.shape[-1] == keys.shape[2] { attn_mask } else {
                   pad(attn_mask) {
                     pads = [0, keys.shape[2] - attn_mask.shape[-1]],
                     axes = [attn_mask.rank - 1],
                     value = when attn_mask.dtype == bool { 0.0 } else { -inf },
                   }
                 };
                 when attn_mask.dtype == bool { where(full, capped, -inf) } else {
                   let bias = when full.dtype == capped.dtype { full } else { cast(full) {to = capped.dtype} };
                   capped + bias
                 }
               };
               let causal = when not is_causal { masked } else {
                 let steps = cumsum(constant_of_shape() {shape = [qh.shape[2], 1], value = 1}) {axis = 0};
                 let row = when given(past_key) { steps + shape(past_key) {start = 2, end = 3} } else { steps };
                 let column = cumsum(constant_of_shape() {shape = [1, keys.shape[2]], value = 1}) {axis = 1};
                 where(column <= row, masked, -inf)
               };
               let bounded = when not given(nonpad_kv_seqlen) { causal } else {
                 let column = cumsum(constant_of_shape() {shape = [1, 1, 1, keys.shape[2]], value = 1}) {axis = 3};
                 where(column <= reshape(nonpad_kv_seqlen) {shape = [-1, 1, 1, 1]}, causal, -inf)
               };
               let exact = when given(softmax_precision) {
                 when softmax_precision == bounded.dtype { bounded } else { cast(bounded) {to = softmax_precision} }
               } else { bounded };
               let shares = softmax(exact) {axis = 3};
               let weights = when given(attn_mask) or is_causal or given(nonpad_kv_seqlen) {
                 where(is_nan(shares), 0.0, shares)
               } else { shares };
               let wv = when weights.dtype == v.dtype { weights } else { cast(weights) {to = v.dtype} };
               let mixed = matmul(wv, vg);
               let typed = when mixed.dtype == q.dtype { mixed } else { cast(mixed) {to = q.dtype} };
               let y = when q.rank == 4 { typed } else {
                 reshape(transpose(typed) {perm = [0, 2, 1, 3]}) {
                   shape = [q.shape[0], q.shape[1], qh.shape[1] * vg.shape[3]],
                   allowzero = true,
                 }
               };
               ",
            $result,
            "}"
        )
    };
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "attention",
        "For each query, the mean of `v` weighted by the softmax of the query's products with the keys.",
    )
    .operands(&QKV)
    .attrs(&[CAUSAL, KV_HEADS, Q_HEADS, SCALE, SOFTCAP, PRECISION])
    .infer(|call| Ok(infer(call)?.swap_remove(0)))
    .body(attention_body!("y"))
    .cost(CostRule::Flops(flops))
    .onnx("Attention", 23),
    OpDef::new(
        "attention_with_cache",
        "Attention, all keys and values including the past ones, and the scores.",
    )
    .operands(&QKV)
    .attrs(&[CAUSAL, KV_HEADS, Q_HEADS, SCALE, SOFTCAP, PRECISION, MODE])
    .infer(infer_cache)
    .body(attention_body!(
        "let scores = when qk_matmul_output_mode == 0 { product } else {
           when qk_matmul_output_mode == 1 { capped } else {
             when qk_matmul_output_mode == 2 { bounded } else {
               when weights.dtype == q.dtype { weights } else { cast(weights) {to = q.dtype} }
             }
           }
         };
         (y, keys, values, scores)"
    ))
    .cost(CostRule::Flops(flops)),
];

/// Batch, heads, length and head size of an operand with three or four axes; `None` if the rank is unknown.
pub(super) fn heads(call: &Infer<'_>, at: usize, attr: &str) -> Result<Option<[Dim; 4]>, OpError> {
    let ty = call.tensor(at)?;
    let Some(shape) = &ty.shape else { return Ok(None) };
    match &shape[..] {
        [b, h, s, d] => Ok(Some([b.clone(), h.clone(), s.clone(), d.clone()])),
        [b, s, all] => {
            let count = call
                .const_int(attr)
                .ok_or_else(|| OpError::new(format!("`{attr}` is needed if an operand has three axes")).attr(attr))?;
            if count < 1 {
                return Err(OpError::new(format!("`{attr}` must be at least 1, but is {count}")).attr(attr));
            }
            let size = match all.as_const() {
                Some(all) if all % count != 0 => {
                    let name = call.def.operands[at].name;
                    return Err(OpError::new(format!(
                        "axis 2 of `{name}` has size {all}, which is not a multiple of {count} heads"
                    ))
                    .at(at)
                    .attr(attr));
                }
                Some(all) => Dim::Const(all / count),
                None => call.unknown(),
            };
            Ok(Some([b.clone(), Dim::Const(count), s.clone(), size]))
        }
        _ => {
            let name = call.def.operands[at].name;
            Err(OpError::new(format!("`{name}` must have three or four axes, but is {ty}")).at(at))
        }
    }
}

/// The length of the past of operand `at`.
fn past(call: &Infer<'_>, at: usize) -> Result<Dim, OpError> {
    let Some(ty) = call.optional(at)? else {
        return Ok(Dim::Const(0));
    };
    match &ty.shape {
        Some(shape) if shape.len() != 4 => {
            let name = call.def.operands[at].name;
            Err(OpError::new(format!("`{name}` must have four axes, but is {ty}")).at(at))
        }
        Some(shape) => Ok(shape[2].clone()),
        None => Ok(call.unknown()),
    }
}

/// The types of the value, the keys, the values and the scores.
fn infer(call: &Infer<'_>) -> Result<Vec<Type>, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    call.same_dtype(0, 1)?;
    let values = call.expect_dtype(2, DType::is_float, "a floating-point number")?;
    for (a, b) in [(1, 4), (2, 5)] {
        if call.optional(b)?.is_some() {
            call.same_dtype(a, b)?;
        }
    }
    if call.optional(6)?.is_some() {
        call.expect_dtype(6, |d| d == DType::I64, "a list of i64")?;
    }
    if call.optional(4)?.is_some() != call.optional(5)?.is_some() {
        return Err(OpError::new("`past_key` and `past_value` must be given together").at(4));
    }
    let (q, k, v) = (
        heads(call, 0, "q_num_heads")?,
        heads(call, 1, "kv_num_heads")?,
        heads(call, 2, "kv_num_heads")?,
    );
    let (Some([batch, qh, qs, qd]), Some([_, kh, ks, kd]), Some([_, vh, vs, vd])) = (q, k, v) else {
        let any = |dtype| typed(dtype, None);
        return Ok(vec![any(dtype), any(dtype), any(values), any(dtype)]);
    };
    if unify(&qd, &kd).is_none() {
        return Err(
            OpError::new(format!("a head of `q` has {qd} elements, but one of `k` has {kd}"))
                .at(0)
                .and(1),
        );
    }
    if unify(&kh, &vh).is_none() {
        return Err(OpError::new(format!("`k` has {kh} heads, but `v` has {vh}"))
            .at(1)
            .and(2));
    }
    if let (Some(many), Some(few)) = (qh.as_const(), kh.as_const())
        && (few < 1 || many % few != 0)
    {
        return Err(
            OpError::new(format!("{many} heads of `q` cannot share {few} heads of `k`"))
                .at(0)
                .and(1),
        );
    }
    let keys = past(call, 4)? + ks;
    let lasts = past(call, 5)? + vs;
    let shape = |dims: [Dim; 4]| -> Option<Shape> { Some(dims.into_iter().collect()) };
    let y = match call.shape(0)? {
        Some(q) if q.len() == 3 => [batch.clone(), qs.clone(), qh.clone() * vd.clone()]
            .into_iter()
            .collect(),
        _ => [batch.clone(), qh.clone(), qs.clone(), vd.clone()]
            .into_iter()
            .collect(),
    };
    Ok(vec![
        typed(dtype, Some(y)),
        typed(dtype, shape([batch.clone(), kh, keys.clone(), kd])),
        typed(values, shape([batch.clone(), vh, lasts, vd])),
        typed(dtype, shape([batch, qh, qs, keys])),
    ])
}

fn infer_cache(call: &Infer<'_>) -> Result<Type, OpError> {
    let mode = call.const_int("qk_matmul_output_mode").unwrap_or(0);
    if !(0..=3).contains(&mode) {
        let error = OpError::new(format!("`qk_matmul_output_mode` must be 0 to 3, but is {mode}"));
        return Err(error.attr("qk_matmul_output_mode"));
    }
    Ok(Type::Tuple(infer(call)?))
}

/// Products with the keys and with the values.
fn flops(call: &Infer<'_>, _: &Type) -> f64 {
    let Ok(items) = infer(call) else { return 0.0 };
    let scores = items.get(3).and_then(Type::as_tensor).and_then(|t| t.shape.as_ref());
    let last = |at: usize| {
        let shape = items.get(at).and_then(Type::as_tensor).and_then(|t| t.shape.as_ref());
        shape.and_then(|s| s.get(3)).map_or(32.0, extent)
    };
    elements(scores) * (2.0 * (last(1) + last(2)) + 8.0)
}
