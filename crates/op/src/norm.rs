//! Normalizations: scaling a tensor to mean 0 and variance 1, or to norm 1, over some of its axes.

use super::{Infer, OpError};
use tautomer_tensor::{DType, Dim, Type};

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
pub(super) fn infer_per_channel(call: &Infer<'_>) -> Result<Type, OpError> {
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

pub(super) fn infer_spatial(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 3)?;
    infer_per_channel(call)
}

pub(super) fn infer_group(call: &Infer<'_>) -> Result<Type, OpError> {
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

pub(super) fn infer_layer(call: &Infer<'_>) -> Result<Type, OpError> {
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

pub(super) fn infer_lrn(call: &Infer<'_>) -> Result<Type, OpError> {
    float(call, 2)?;
    if let Some(size) = call.const_int("size")
        && size < 1
    {
        return Err(OpError::new(format!("`size` must be at least 1, but is {size}")).attr("size"));
    }
    unchanged(call)
}

pub(super) fn infer_lp(call: &Infer<'_>) -> Result<Type, OpError> {
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
