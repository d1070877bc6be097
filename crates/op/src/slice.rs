//! The operator that selects ranges of positions along axes.

use super::common::{Out, axes_value, int_operand, known_axes, known_ints, select_axes, set, typed, whole};
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Eval, Infer, OpDef, OpError, OpTraits, Operand, ShapeRule,
    System,
};
use crate::{map_value, reference};
use tautomer_tensor::{Dim, Type};

/// An end of this value or more means the end of the axis, since no axis is that long: exporters write 10^9 or the
/// largest integer.
const FAR: i64 = 1_000_000_000;

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("slice", "Selects a range of positions along each given axis.")
        .operands(&[
            Operand::one("x"),
            Operand::attr("starts"),
            Operand::attr("ends"),
            Operand::attr("axes"),
            Operand::attr("steps"),
        ])
        .attrs(&[
            AttrDef::new("starts", AttrKind::Ints, Default::Required, "start positions"),
            AttrDef::new("ends", AttrKind::Ints, Default::Required, "end positions, exclusive"),
            AttrDef::new(
                "axes",
                AttrKind::Axes(AxisOf::Input),
                Default::None,
                "the axes to slice; the first ones if left out",
            ),
            AttrDef::new(
                "steps",
                AttrKind::Ints,
                Default::None,
                "steps, negative to go backwards; 1 if left out",
            ),
        ])
        .infer(infer_slice)
        .canonical(canonical_slice)
        .reference(reference!(slice))
        .traits(OpTraits::MOVEMENT.and(OpTraits::LINEAR))
        .cost(CostRule::Elementwise(0.0))
        .shapes(ShapeRule::Slice)
        .onnx("Slice", 1),
];

fn infer_slice(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    for name in ["starts", "ends", "axes", "steps"] {
        int_operand(call, name)?;
    }
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let Some(ranges) = ranges(call, shape.len())? else {
        // Axes known to be left whole keep their dimensions.
        let cut = known_axes(call, "axes", shape.len())?;
        let dim = |(i, d): (usize, &Dim)| match &cut {
            Some(axes) if !axes.contains(&i) => d.clone(),
            _ => call.unknown(),
        };
        return Ok(typed(x.dtype, Some(shape.iter().enumerate().map(dim).collect())));
    };
    let mut out = shape.clone();
    for (axis, start, end, step) in ranges {
        out[axis] = sliced(call, &shape[axis], &start, &end, step);
    }
    Ok(typed(x.dtype, Some(out)))
}

/// The ranges of a slice: axis, start, end and step for each axis it names.
type Ranges = Vec<(usize, Dim, Dim, i64)>;

fn ranges(call: &Infer<'_>, rank: usize) -> Result<Option<Ranges>, OpError> {
    if ["starts", "ends", "axes", "steps"].iter().any(|n| call.is_dynamic(n)) {
        return Ok(None);
    }
    let (Some(starts), Some(ends)) = (call.ints("starts"), call.ints("ends")) else {
        return Ok(None);
    };
    let axes = match known_axes(call, "axes", rank)? {
        Some(axes) => axes,
        None => (0..starts.len()).collect(),
    };
    let steps = known_ints(call, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    let lengths = [ends.len(), axes.len(), steps.len()];
    if lengths.iter().any(|&n| n != starts.len()) || starts.len() > rank {
        return Err(OpError::new(format!(
            "`starts` lists {} positions, with {} ends, {} axes and {} steps, for a tensor with {rank} axes",
            starts.len(),
            lengths[0],
            lengths[1],
            lengths[2]
        ))
        .attr("starts"));
    }
    if steps.contains(&0) {
        return Err(OpError::new("a step must not be 0").attr("steps"));
    }
    let ranges = axes.into_iter().zip(starts).zip(ends).zip(steps);
    Ok(Some(ranges.map(|(((a, s), e), k)| (a, s, e, k)).collect()))
}

/// The size of a slice of a dimension that may be symbolic.
fn sliced(call: &Infer<'_>, extent: &Dim, start: &Dim, end: &Dim, step: i64) -> Dim {
    let zero = Dim::Const(0);
    match (extent, start, end) {
        (Dim::Const(d), Dim::Const(s), Dim::Const(e)) => return Dim::Const(positions(*d, *s, *e, step).1),
        (_, Dim::Const(s), Dim::Const(e)) if step < 0 => {
            // The whole axis backwards.
            if (*s == -1 || *s >= FAR) && *e <= -FAR {
                return extent.ceil_div(&Dim::Const(step.saturating_neg()));
            }
            return call.unknown();
        }
        _ if step < 0 => return call.unknown(),
        _ => {}
    }
    let plain = |d: &Dim| d.as_const().is_some() || d.as_symbol().is_some();
    if !plain(start) || !(plain(end) || end == extent) {
        return call.unknown();
    }
    let to_end = end == extent || end.as_const().is_some_and(|e| e >= FAR);
    let length = match (start, end) {
        (Dim::Const(0), _) if to_end => extent.clone(),
        (Dim::Const(s), _) if to_end && *s < 0 => extent.minimum(&Dim::Const(s.saturating_neg())),
        (_, _) if to_end => (extent.clone() - start.clone()).maximum(&zero),
        (Dim::Const(0), Dim::Const(e)) if *e >= 0 => extent.minimum(end),
        (Dim::Const(s), Dim::Const(e)) if *s >= 0 && *e < 0 => {
            (extent.clone() + end.clone() - start.clone()).maximum(&zero)
        }
        (Dim::Const(s), Dim::Const(e)) if *s < 0 && *e < 0 => {
            let place = |d: &Dim| (extent.clone() + d.clone()).maximum(&zero);
            (place(end) - place(start)).maximum(&zero)
        }
        (Dim::Const(s), _) if *s < 0 => return call.unknown(),
        (_, Dim::Const(e)) if *e < 0 => (extent.clone() + end.clone() - start.clone()).maximum(&zero),
        (Dim::Const(0), _) => extent.minimum(end),
        _ => (extent.minimum(end) - start.clone()).maximum(&zero),
    };
    length.ceil_div(&Dim::Const(step))
}

/// The first position and the number of positions of a slice.
fn positions(extent: i64, start: i64, end: i64, step: i64) -> (i64, i64) {
    let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
    let place = |p: i64| (if p < 0 { p.saturating_add(extent) } else { p }).clamp(low, high.max(low));
    let (start, end) = (place(start), place(end));
    let length = if step > 0 {
        (end - start + (step - 1)) / step
    } else {
        let back = step.checked_neg().unwrap_or(i64::MAX);
        (start - end).saturating_add(back - 1) / back
    };
    (start, length.max(0))
}

fn canonical_slice(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(ranges) = ranges(call, shape.len())?
    {
        let axes: Vec<usize> = ranges.iter().map(|r| r.0).collect();
        let steps: Vec<i64> = ranges.iter().map(|r| r.3).collect();
        set(call, attrs, "axes", axes_value(&axes));
        set(call, attrs, "steps", AttrValue::ints(&steps));
    }
    Ok(())
}

fn slice<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let missing = || OpError::new("the bounds of the slice are unknown");
    let (starts, ends) = (
        e.ints("starts").ok_or_else(missing)?,
        e.ints("ends").ok_or_else(missing)?,
    );
    let axes = e
        .axes("axes", x.shape().len())?
        .unwrap_or_else(|| (0..starts.len()).collect());
    let steps = e.ints("steps").unwrap_or_else(|| vec![1; starts.len()]);
    let mut maps = whole(x.shape());
    for (((axis, start), end), step) in axes.into_iter().zip(starts).zip(ends).zip(steps) {
        let map = maps.get_mut(axis).ok_or_else(missing)?;
        let (first, n) = positions(map.len() as i64, start, end, step);
        *map = (0..n).map(|i| usize::try_from(first + i * step).ok()).collect();
    }
    Ok(vec![map_value!(x, a => select_axes(a, &maps, None)?)?])
}
