//! Operators used around attention: rotary embeddings, and a causal convolution that keeps a state.

use super::attention::heads;
use super::common::{typed, unify};
use super::{Infer, OpError};
use tautomer_tensor::{DType, Dim, Type};

pub(super) fn infer_rotary(call: &Infer<'_>) -> Result<Type, OpError> {
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
        for at in 1..3 {
            let Some(angles) = call.shape(at)? else { continue };
            if let Some(pairs) = angles.last().and_then(Dim::as_const)
                && pairs != turned / 2
            {
                let (name, ty) = (call.def.operands[at].name, call.tensor(at)?);
                let half = turned / 2;
                let message = format!(
                    "the last axis of `{name}` must be {half}, an angle for each pair of {turned} elements, but it is {ty}"
                );
                return Err(OpError::new(message).at(at).and(0));
            }
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

pub(super) fn infer_causal_conv(call: &Infer<'_>) -> Result<Type, OpError> {
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
