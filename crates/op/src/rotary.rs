//! Operators used around attention: rotary embeddings, and a causal convolution that keeps a state.

use super::attention::heads;
use super::common::{typed, unify};
use super::{AttrDef, AttrKind, CostRule, Default, Infer, OpDef, OpError, Operand};
use tautomer_tensor::{DType, Dim, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "rotary_embedding",
        "Rotates pairs of elements of each head by angles that depend on the position.",
    )
    .operands(&[
        Operand::one("x"),
        Operand::one("cos_cache"),
        Operand::one("sin_cache"),
        Operand::optional("position_ids"),
    ])
    .attrs(&[
        AttrDef::new(
            "interleaved",
            AttrKind::Bool,
            Default::Bool(false),
            "whether the elements of a pair are neighbours instead of one in each half",
        ),
        AttrDef::new(
            "num_heads",
            AttrKind::Int,
            Default::None,
            "the number of heads of `x` if it has three axes",
        ),
        AttrDef::new(
            "rotary_embedding_dim",
            AttrKind::Int,
            Default::Int(0),
            "the number of elements of a head to rotate; 0 for all",
        ),
    ])
    .infer(infer_rotary)
    .body(
        "fn (x, cos_cache, sin_cache, position_ids) {
           let heads = when x.rank == 4 { transpose(x) {perm = [0, 2, 1, 3]} } else {
             reshape(x) {shape = [x.shape[0], x.shape[1], num_heads, x.shape[2] / num_heads]}
           };
           let r = when rotary_embedding_dim == 0 { heads } else {
             slice(heads) {starts = [0], ends = [rotary_embedding_dim], axes = [3]}
           };
           let c = when given(position_ids) { gather(cos_cache, position_ids) {axis = 0} } else { cos_cache };
           let s = when given(position_ids) { gather(sin_cache, position_ids) {axis = 0} } else { sin_cache };
           let cosine = unsqueeze(c) {axes = [2]};
           let sine = unsqueeze(s) {axes = [2]};
           let a = when interleaved {
             slice(r) {starts = [0], ends = [r.shape[3]], axes = [3], steps = [2]}
           } else {
             slice(r) {starts = [0], ends = [r.shape[3] / 2], axes = [3]}
           };
           let b = when interleaved {
             slice(r) {starts = [1], ends = [r.shape[3]], axes = [3], steps = [2]}
           } else {
             slice(r) {starts = [r.shape[3] / 2], ends = [r.shape[3]], axes = [3]}
           };
           let first = cosine * a - sine * b;
           let second = sine * a + cosine * b;
           let turned = when interleaved {
             reshape(concat(unsqueeze(first) {axes = [4]}, unsqueeze(second) {axes = [4]}) {axis = 4}) {shape = r.shape}
           } else {
             concat(first, second) {axis = 3}
           };
           let y = when rotary_embedding_dim == 0 { turned } else {
             concat(turned, slice(heads) {starts = [rotary_embedding_dim], ends = [heads.shape[3]], axes = [3]})
               {axis = 3}
           };
           when x.rank == 4 { transpose(y) {perm = [0, 2, 1, 3]} } else { reshape(y) {shape = x.shape} }
         }",
    )
    .cost(CostRule::Elementwise(3.0))
    .onnx("RotaryEmbedding", 23),
    OpDef::new(
        "causal_conv_with_state",
        "Convolves each channel with its own kernel over past and present positions; also returns the new past.",
    )
    .operands(&[
        Operand::one("x"),
        Operand::one("weight"),
        Operand::optional("bias"),
        Operand::optional("past_state"),
    ])
    .attrs(&[AttrDef::new(
        "activation",
        AttrKind::OneOf(&["none", "silu", "swish"]),
        Default::Str("none"),
        "the activation applied to the result; silu and swish are the same",
    )])
    .infer(infer_causal_conv)
    .body(
        "fn (x, weight, bias, past_state) {
           let all = when given(past_state) { concat(past_state, x) {axis = 2} } else {
             pad(x) {pads = [weight.shape[2] - 1, 0], axes = [2]}
           };
           let y = conv(all, weight, bias) {group = x.shape[1]};
           let state = slice(all) {starts = [x.shape[2]], ends = [x.shape[2] + weight.shape[2] - 1], axes = [2]};
           (when activation == \"none\" { y } else { y * sigmoid(y) }, state)
         }",
    )
    .cost(CostRule::Elementwise(8.0))
    .onnx("CausalConvWithState", 27),
];

fn infer_rotary(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    let given = call.optional(3)?.is_some();
    if given {
        call.expect_dtype(3, |d| d == DType::I64, "i64 positions")?;
    }
    let rank = if given { 2 } else { 3 };
    for at in 1..3 {
        call.same_dtype(0, at)?;
        let ty = call.tensor(at)?;
        if ty.rank().is_some_and(|r| r != rank) {
            let name = call.def.operands[at].name;
            return Err(OpError::new(format!("`{name}` must have {rank} axes here, but is {ty}")).at(at));
        }
    }
    if let Some([.., size]) = heads(call, 0, "num_heads")?
        && let Some(size) = size.as_const()
    {
        let turned = match call.const_int("rotary_embedding_dim") {
            Some(0) | None => size,
            Some(turned) => turned,
        };
        if turned < 0 || turned > size || turned % 2 != 0 {
            let error = OpError::new(format!(
                "{turned} of {size} elements of a head cannot be split into pairs"
            ));
            return Err(error.attr("rotary_embedding_dim"));
        }
    }
    if !given && let Some(x) = call.shape(0)?.filter(|x| x.len() >= 3) {
        // The sequence is the axis before the last with heads on an axis of their own, and the second without.
        let own = [&x[0], &x[if x.len() == 4 { 2 } else { 1 }]];
        for at in 1..3 {
            let Some(angles) = call.shape(at)? else { continue };
            for (angle, own) in angles.iter().zip(own) {
                if let (Dim::Const(angle), Dim::Const(own)) = (angle, own)
                    && *angle != 1
                    && angle != own
                {
                    let (name, ty) = (call.def.operands[at].name, call.tensor(at)?);
                    let x = call.tensor(0)?;
                    let message = format!("`{name}` is {ty}, which has another batch or sequence than `x`, {x}");
                    return Err(OpError::new(message).at(at).and(0));
                }
            }
        }
    }
    Ok(call.tensor(0)?.clone().into())
}

fn infer_causal_conv(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    for at in 1..4 {
        if call.optional(at)?.is_some() {
            call.same_dtype(0, at)?;
        }
    }
    for at in [0, 1, 3] {
        if let Some(ty) = call.optional(at)?
            && ty.rank().is_some_and(|r| r != 3)
        {
            let name = call.def.operands[at].name;
            return Err(OpError::new(format!("`{name}` must have three axes, but is {ty}")).at(at));
        }
    }
    let (x, weight) = (call.shape(0)?, call.shape(1)?);
    if let Some(w) = weight {
        if w[1].as_const().is_some_and(|n| n != 1) || w[2].as_const().is_some_and(|n| n < 1) {
            let error = OpError::new(format!(
                "`weight` is {w}, but must be [channels, 1, positions] with at least one position"
            ));
            return Err(error.at(1));
        }
        if let Some(x) = x
            && unify(&x[1], &w[0]).is_none()
        {
            return Err(
                OpError::new(format!("`x` has {} channels, but `weight` has {}", x[1], w[0]))
                    .at(0)
                    .and(1),
            );
        }
    }
    // What is known about each dimension of the state, from `x` and `weight`, and from the past state.
    let length = weight.map(|w| w[2].clone() - Dim::Const(1));
    let mut state = [x.map(|x| x[0].clone()), x.map(|x| x[1].clone()), length];
    if let Some(w) = weight {
        state[1].get_or_insert_with(|| w[0].clone());
    }
    if let Some(past) = call.optional(3)?.and_then(|t| t.shape.as_ref()) {
        for (axis, (known, given)) in state.iter_mut().zip(past.iter()).enumerate() {
            let Some(one) = known.as_ref().map_or(Some(given.clone()), |known| unify(known, given)) else {
                let wanted = known.clone().unwrap_or_else(|| call.unknown());
                let error = OpError::new(format!(
                    "axis {axis} of `past_state` must be {wanted}, but its shape is {past}"
                ));
                return Err(error
                    .at(3)
                    .and(if axis == 2 { 1 } else { 0 })
                    .help("the past has the batch size and channels of `x`, and one position less than `weight`"));
            };
            *known = Some(one);
        }
    }
    if let Some(bias) = call.optional(2)?.and_then(|t| t.shape.as_ref()) {
        let fits = bias.len() == 1
            && state[1]
                .as_ref()
                .is_none_or(|channels| unify(channels, &bias[0]).is_some());
        if !fits {
            return Err(OpError::new(format!("`bias` is {bias}, but must have one element for each channel")).at(2));
        }
    }
    let out = match x {
        Some(x) => {
            let axis = |i: usize| state[i].clone().unwrap_or_else(|| x[i].clone());
            Some([axis(0), axis(1), x[2].clone()].into_iter().collect())
        }
        None => None,
    };
    let state = state.map(|dim| dim.unwrap_or_else(|| call.unknown()));
    Ok(Type::Tuple(vec![
        typed(dtype, out),
        typed(dtype, Some(state.into_iter().collect())),
    ]))
}
