//! Normalizations of transformers with their own precision or statistics.

use super::common::typed;
use super::{Infer, OpError};
use tautomer_tensor::{DType, Dim, Type};

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

pub(super) fn infer_rms(call: &Infer<'_>) -> Result<Type, OpError> {
    first_axis(call)?;
    let dtype = call.expect_dtype(1, DType::is_float, "a floating-point number")?;
    spreads(call, 1)?;
    Ok(typed(dtype, call.shape(0)?.cloned()))
}

pub(super) fn infer_statistics(call: &Infer<'_>) -> Result<Type, OpError> {
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
