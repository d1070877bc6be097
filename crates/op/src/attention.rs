//! Attention with one or more heads, masks, a soft cap, and a cache.

use super::common::typed;
use super::cost::{elements, extent};
use super::{Infer, OpError};
use tautomer_tensor::{DType, Dim, Shape, Type};

/// Batch, heads, length and head size of an operand with three or four axes; `None` if the rank is unknown.
pub(super) fn heads(call: &Infer<'_>, at: usize, attr: &str) -> Result<Option<[Dim; 4]>, OpError> {
    let ty = call.tensor(at)?;
    let Some(shape) = &ty.shape else { return Ok(None) };
    match &shape[..] {
        [b, h, s, d] => Ok(Some([b.clone(), h.clone(), s.clone(), d.clone()])),
        [b, s, all] => {
            let count = call
                .int(attr)
                .ok_or_else(|| OpError::new(format!("`{attr}` is needed if an operand has three axes")).attr(attr))?;
            if let Some(count) = count.as_const().filter(|count| *count < 1) {
                return Err(OpError::new(format!("`{attr}` must be at least 1, but is {count}")).attr(attr));
            }
            let size = match (all.as_const(), count.as_const()) {
                (Some(all), Some(count)) if all % count != 0 => {
                    let name = call.def.operands[at].name;
                    return Err(OpError::new(format!(
                        "axis 2 of `{name}` has size {all}, which is not a multiple of {count} heads"
                    ))
                    .at(at)
                    .attr(attr));
                }
                _ => all.exact_div(&count).unwrap_or_else(|| call.unknown()),
            };
            Ok(Some([b.clone(), count, s.clone(), size]))
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

/// True if two dimensions are known to differ, in general or under the assumptions in force.
fn differ(a: &Dim, b: &Dim) -> bool {
    !a.has_unknown() && !b.has_unknown() && a.equals(b) == Some(false)
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
    let (Some([batch, qh, qs, qd]), Some([kb, kh, ks, kd]), Some([vb, vh, vs, vd])) = (q, k, v) else {
        let any = |dtype| typed(dtype, None);
        return Ok(vec![any(dtype), any(dtype), any(values), any(dtype)]);
    };
    for (at, name, other) in [(1, "k", &kb), (2, "v", &vb)] {
        if differ(&batch, other) {
            return Err(
                OpError::new(format!("`q` has batch size {batch}, but `{name}` has {other}"))
                    .at(0)
                    .and(at),
            );
        }
    }
    if differ(&qd, &kd) {
        return Err(
            OpError::new(format!("a head of `q` has {qd} elements, but one of `k` has {kd}"))
                .at(0)
                .and(1),
        );
    }
    if differ(&kh, &vh) {
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
    for (at, name, own) in [(4, "k", [&batch, &kh, &kd]), (5, "v", [&batch, &vh, &vd])] {
        let shape = match call.optional(at)? {
            Some(past) => past.shape.as_ref().filter(|shape| shape.len() == 4),
            None => None,
        };
        if let Some(past) = shape
            && own.iter().zip([0, 1, 3]).any(|(own, axis)| differ(own, &past[axis]))
        {
            let [batch, heads, size] = own;
            let message = format!(
                "`{}` has shape {past}, but `{name}` has batch size {batch} and {heads} heads of {size} elements",
                call.def.operands[at].name
            );
            return Err(OpError::new(message).at(at - 3).and(at));
        }
    }
    let keys = past(call, 4)? + ks;
    let lasts = past(call, 5)? + vs;
    if differ(&keys, &lasts) {
        return Err(OpError::new(format!("there are {keys} keys, but {lasts} values"))
            .at(1)
            .and(2));
    }
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

/// The type of the value alone.
pub(super) fn infer_value(call: &Infer<'_>) -> Result<Type, OpError> {
    Ok(infer(call)?.swap_remove(0))
}

pub(super) fn infer_cache(call: &Infer<'_>) -> Result<Type, OpError> {
    let mode = call.const_int("qk_matmul_output_mode").unwrap_or(0);
    if !(0..=3).contains(&mode) {
        let error = OpError::new(format!("`qk_matmul_output_mode` must be 0 to 3, but is {mode}"));
        return Err(error.attr("qk_matmul_output_mode"));
    }
    Ok(Type::Tuple(infer(call)?))
}

/// Operations for each score besides the products: scaling it, and its part of the softmax, as their own calls cost.
const SCORE: f64 = 17.0;

/// Products with the keys and with the values, and the softmax.
pub(super) fn flops(call: &Infer<'_>, _: &Type) -> f64 {
    let Ok(items) = infer(call) else { return 0.0 };
    let scores = items.get(3).and_then(Type::as_tensor).and_then(|t| t.shape.as_ref());
    let last = |at: usize| {
        let shape = items.get(at).and_then(Type::as_tensor).and_then(|t| t.shape.as_ref());
        shape.and_then(|s| s.get(3)).map_or(32.0, extent)
    };
    elements(scores) * (2.0 * (last(1) + last(2)) + SCORE)
}
