//! Types of normalizations along any axis.

use super::common::{axes_value, known_axes, set};
use super::{AttrValue, Infer, OpError};
use tautomer_tensor::{DType, Dim, Type};

fn unchanged(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    Ok(call.tensor(0)?.clone().into())
}

/// The channel axis, if the rank is known.
fn channel_axis(call: &Infer<'_>) -> Result<Option<usize>, OpError> {
    call.tensor(0)?.rank().map(|rank| call.axis("axis", rank)).transpose()
}

/// Operands after the first are vectors along `axis`.
pub(super) fn infer_vectors(call: &Infer<'_>) -> Result<Type, OpError> {
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

pub(super) fn infer_instance(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if x.rank().is_some_and(|rank| rank < 3) {
        return Err(OpError::new(format!("`x` must have at least 3 axes, but is {x}")).at(0));
    }
    beside_batch(call)
}

pub(super) fn infer_group(call: &Infer<'_>) -> Result<Type, OpError> {
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
pub(super) fn canonical_l2(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
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

pub(super) fn infer_l2(call: &Infer<'_>) -> Result<Type, OpError> {
    if let Some(rank) = call.tensor(0)?.rank() {
        known_axes(call, "axes", rank)?;
    }
    unchanged(call)
}
