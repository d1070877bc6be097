//! The operator that selects ranges of positions along axes.

use super::common::{axes_value, int_operand, known_axes, known_ints, set, typed};
use super::movement::{Decide, Halt, Index, Known, Map, Places};
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand, ShapeRule,
};
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
        .movement(slice)
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
        (Dim::Const(_), Dim::Const(_), Dim::Const(_)) => {
            return clamped(&Known, extent, start, end, step).map_or_else(|_| call.unknown(), |(_, count)| count);
        }
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

/// The first index and the number of indices of a slice: negative bounds count from the end, and bounds are clamped to
/// the axis.
fn clamped(decide: &dyn Decide, extent: &Dim, start: &Dim, end: &Dim, step: i64) -> Result<(Dim, Dim), Halt> {
    let larger = |a: Dim, b: &Dim| -> Result<Dim, Halt> {
        Ok(if decide.is_natural(&(a.clone() - b.clone()))? {
            a
        } else {
            b.clone()
        })
    };
    let smaller = |a: Dim, b: Dim| -> Result<Dim, Halt> {
        Ok(if decide.is_natural(&(a.clone() - b.clone()))? {
            b
        } else {
            a
        })
    };
    let (zero, one) = (Dim::Const(0), Dim::Const(1));
    let (low, high) = if step > 0 {
        (zero.clone(), extent.clone())
    } else {
        (-one.clone(), extent.clone() - one)
    };
    let place = |bound: &Dim| -> Result<Dim, Halt> {
        let counted = match decide.is_natural(bound)? {
            true => bound.clone(),
            false => bound.clone() + extent.clone(),
        };
        larger(smaller(counted, larger(high.clone(), &low)?)?, &low)
    };
    let (start, end) = (place(start)?, place(end)?);
    let span = if step > 0 {
        end - start.clone()
    } else {
        start.clone() - end
    };
    let span = decide.simplified(&span.maximum(&zero));
    let count = decide.simplified(&span.ceil_div(&Dim::Const(step.saturating_abs())));
    Ok((start, count))
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

fn slice(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let mut shape = p.shape(0)?.to_vec();
    let mut at = Index::axes(shape.len());
    let unknown = || Halt::unknown("the bounds of the slice are unknown");
    let (starts, ends) = (
        p.ints("starts").ok_or_else(unknown)?,
        p.ints("ends").ok_or_else(unknown)?,
    );
    let axes = p
        .axes("axes", shape.len())?
        .unwrap_or_else(|| (0..starts.len()).collect());
    let steps = p.ints("steps").unwrap_or_else(|| vec![Dim::Const(1); starts.len()]);
    for (((axis, start), end), step) in axes.into_iter().zip(starts).zip(ends).zip(steps) {
        let step = step.as_const().ok_or_else(unknown)?;
        let extent = shape.get(axis).filter(|_| step != 0);
        let extent = extent.ok_or_else(|| OpError::new("an axis or a step of the slice is not valid"))?;
        let (first, count) = clamped(p.decide, extent, &start, &end, step)?;
        // With a single element the step is not used, however large it is.
        at[axis] = match count {
            Dim::Const(1) => Index::Axis(axis),
            _ => Index::Axis(axis).times(Dim::Const(step)),
        }
        .plus(first);
        shape[axis] = count;
    }
    Ok(vec![Map::at(shape, at)])
}
