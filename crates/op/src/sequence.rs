//! Operators that rearrange positions: reversing parts of sequences, and cropping or padding around the centre.

use super::common::{Out, at, build, int_operand, known_axes, operand_len, select_axes, typed};
use super::{
    AttrDef, AttrKind, AxisOf, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand, System,
    Value,
};
use crate::{map_value, reference};
use tautomer_tensor::{DType, Dim, Nd, Type};

const X: Operand = Operand::one("x");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "reverse_sequence",
        "Reverses the first elements along the time axis, `sequence_lens` of them for each batch element.",
    )
    .operands(&[X, Operand::one("sequence_lens")])
    .attrs(&[
        AttrDef::new(
            "batch_axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Int(1),
            "the batch axis",
        ),
        AttrDef::new(
            "time_axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Int(0),
            "the time axis",
        ),
    ])
    .infer(infer_reverse)
    .reference(reference!(reverse))
    .formula(Formula::Whole)
    .cost(CostRule::Elementwise(0.0))
    .onnx("ReverseSequence", 10),
    OpDef::new(
        "center_crop_pad",
        "Crops `x` around its centre or pads it with zeros until the axes have the dimensions `shape`.",
    )
    .operands(&[X, Operand::attr("shape")])
    .attrs(&[
        AttrDef::new("shape", AttrKind::Ints, Default::Required, "dimensions of the axes"),
        AttrDef::new(
            "axes",
            AttrKind::Axes(AxisOf::Input),
            Default::None,
            "the axes to crop or pad; all if left out",
        ),
    ])
    .infer(infer_center)
    .reference(reference!(center))
    .formula(Formula::Whole)
    .traits(OpTraits::LINEAR)
    .cost(CostRule::Elementwise(0.0))
    .onnx("CenterCropPad", 18),
];

fn infer_reverse(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(1, DType::is_int, "a list of integers")?;
    let x = call.tensor(0)?;
    if let Some(rank) = x.rank() {
        let (batch, time) = (call.axis("batch_axis", rank)?, call.axis("time_axis", rank)?);
        if batch == time {
            return Err(
                OpError::new(format!("axis {batch} cannot be both the batch and the time axis")).attr("time_axis"),
            );
        }
    }
    if call.tensor(1)?.rank().is_some_and(|rank| rank != 1) {
        return Err(OpError::new(format!("`sequence_lens` must be a list, but is {}", call.tensor(1)?)).at(1));
    }
    Ok(x.clone().into())
}

fn reverse<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let rank = x.shape().len();
    let (batch, time) = (e.axis("batch_axis", rank)?, e.axis("time_axis", rank)?);
    let lengths = e.operand(1)?.int()?;
    let (items, steps) = (x.shape()[batch], x.shape()[time]);
    if lengths.len() != items {
        return Err(OpError::new(format!(
            "`sequence_lens` has {} lengths for {items} sequences",
            lengths.len()
        )));
    }
    if let Some(bad) = lengths.iter().find(|&&n| n < 0 || n > steps as i128) {
        return Err(OpError::new(format!(
            "a length is {bad}, but sequences have {steps} steps"
        )));
    }
    let lengths: Vec<usize> = lengths.iter().map(|&n| n as usize).collect();
    let turned = |position: &[usize]| {
        let mut from = position.to_vec();
        let length = lengths[from[batch]];
        if from[time] < length {
            from[time] = length - 1 - from[time];
        }
        from
    };
    Ok(vec![
        map_value!(x, a => build(a.shape(), |position| at(a, &turned(position)))?)?,
    ])
}

fn infer_center(call: &Infer<'_>) -> Result<Type, OpError> {
    int_operand(call, "shape")?;
    let x = call.tensor(0)?;
    let Some(shape) = &x.shape else {
        return Ok(x.clone().into());
    };
    let axes = known_axes(call, "axes", shape.len())?.unwrap_or_else(|| (0..shape.len()).collect());
    let extents = call.ints("shape");
    let given = extents.as_ref().map(Vec::len).or_else(|| operand_len(call, "shape"));
    if let Some(n) = given.filter(|&n| n != axes.len()) {
        return Err(OpError::new(format!("`shape` has {n} dimensions for {} axes", axes.len())).attr("shape"));
    }
    if let Some(bad) = extents.iter().flatten().filter_map(Dim::as_const).find(|&n| n < 0) {
        return Err(OpError::new(format!("dimensions must not be negative, but one is {bad}")).attr("shape"));
    }
    let mut out = shape.clone();
    for (i, axis) in axes.into_iter().enumerate() {
        out[axis] = extents
            .as_ref()
            .and_then(|e| e.get(i).cloned())
            .unwrap_or_else(|| call.unknown());
    }
    Ok(typed(x.dtype, Some(out)))
}

/// For each position of an axis of size `to`, the position it comes from in an axis of size `from`.
fn centered(from: usize, to: usize) -> Vec<Option<usize>> {
    let (cut, before) = (from.saturating_sub(to) / 2, to.saturating_sub(from) / 2);
    (0..to)
        .map(|i| i.checked_sub(before).map(|i| i + cut).filter(|&i| i < from))
        .collect()
}

fn center<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let to = e.out_shape(0)?;
    let maps: Vec<Vec<Option<usize>>> = x
        .shape()
        .iter()
        .zip(&to)
        .map(|(&from, &to)| centered(from, to))
        .collect();
    fn cut<T: Clone>(a: &Nd<T>, maps: &[Vec<Option<usize>>], fill: T) -> Result<Nd<T>, OpError> {
        select_axes(a, maps, Some(&fill))
    }
    Ok(vec![match x {
        Value::Real(a) => Value::Real(cut(a, &maps, S::zero())?),
        Value::Int(a) => Value::Int(cut(a, &maps, 0)?),
        Value::Bool(a) => Value::Bool(cut(a, &maps, false)?),
        Value::Text(a) => Value::Text(cut(a, &maps, String::new())?),
        Value::Absent => return Err(OpError::new("an operand is missing")),
    }])
}
