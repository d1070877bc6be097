//! The operator that adds elements around a tensor.

use super::common::{axes_value, int_operand, known_axes, set, typed};
use super::movement::{Fill, Guard, Halt, Index, Map, Piece, Place, Places, Source};
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand, PerAxis,
    ShapeRule,
};
use tautomer_tensor::{Dim, Shape, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("pad", "Adds elements before and after along axes, or removes them.")
        .operands(&[
            Operand::one("x"),
            Operand::attr("pads"),
            Operand::attr("value"),
            Operand::attr("axes"),
        ])
        .attrs(&[
            AttrDef::new(
                "pads",
                AttrKind::Ints,
                Default::Required,
                "how many to add before each axis, then after each axis; negative to remove",
            ),
            AttrDef::new(
                "value",
                AttrKind::Float,
                Default::Float(0.0),
                "the value to add in mode \"constant\"",
            ),
            AttrDef::new(
                "axes",
                AttrKind::Axes(AxisOf::Input),
                Default::None,
                "the axes to pad; all if left out",
            ),
            AttrDef::new(
                "mode",
                AttrKind::OneOf(&["constant", "reflect", "edge", "wrap"]),
                Default::Str("constant"),
                "which values to add",
            ),
        ])
        .infer(infer_pad)
        .canonical(canonical_pad)
        .movement(pad)
        .traits(OpTraits::MOVEMENT)
        .cost(CostRule::Elementwise(0.0))
        .shapes(ShapeRule::Lists(&[PerAxis::new("pads", 2, 0)]))
        .onnx("Pad", 2),
];

fn infer_pad(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "pads")?;
    int_operand(call, "axes")?;
    if let Some(i) = call.attr_operand("value") {
        call.same_dtype(0, i)?;
    }
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let Some(pads) = paddings(call, shape.len())? else {
        return Ok(typed(x.dtype, Some(call.unknown_shape(shape.len()))));
    };
    let mut out = Shape::scalar();
    for (d, (before, after)) in shape.iter().zip(pads) {
        let padded = d.clone() + before.clone() + after.clone();
        if padded.as_const().is_some_and(|n| n < 0) {
            return Err(OpError::new(format!(
                "padding a dimension of {d} by {before} and {after} leaves a negative size"
            ))
            .at(0)
            .attr("pads"));
        }
        out.push(padded);
    }
    Ok(typed(x.dtype, Some(out)))
}

/// The number of elements to add before and after each axis; `None` if it is not known.
fn paddings(call: &Infer<'_>, rank: usize) -> Result<Option<Vec<(Dim, Dim)>>, OpError> {
    if call.is_dynamic("axes") {
        return Ok(None);
    }
    let Some(pads) = call.ints("pads") else { return Ok(None) };
    let axes = known_axes(call, "axes", rank)?.unwrap_or_else(|| (0..rank).collect());
    if pads.len() != 2 * axes.len() {
        return Err(OpError::new(format!(
            "`pads` has {} numbers for {} axes; it needs two for each",
            pads.len(),
            axes.len()
        ))
        .attr("pads"));
    }
    let (before, after) = pads.split_at(axes.len());
    let mut out = vec![(Dim::Const(0), Dim::Const(0)); rank];
    for (i, axis) in axes.into_iter().enumerate() {
        out[axis] = (before[i].clone(), after[i].clone());
    }
    Ok(Some(out))
}

fn canonical_pad(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(pads) = paddings(call, shape.len())?
    {
        let (before, after): (Vec<Dim>, Vec<Dim>) = pads.into_iter().unzip();
        set(call, attrs, "pads", AttrValue::Ints([before, after].concat()));
        set(call, attrs, "axes", axes_value(&(0..shape.len()).collect::<Vec<_>>()));
    }
    Ok(())
}

fn pad(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let pads = p.ints("pads").ok_or_else(|| Halt::unknown("the pads are computed"))?;
    let axes = p.axes("axes", x.len())?.unwrap_or_else(|| (0..x.len()).collect());
    if pads.len() != 2 * axes.len() {
        return Err(OpError::new("`pads` needs two numbers for each axis").into());
    }
    let mode = p.attr("mode").as_str().unwrap_or("constant");
    let zero = Dim::Const(0);
    let (mut shape, mut at, mut guards) = (x.to_vec(), Index::axes(x.len()), Vec::new());
    let mut whole = true;
    for (i, &axis) in axes.iter().enumerate() {
        let (before, after, n) = (&pads[i], &pads[axes.len() + i], &x[axis]);
        shape[axis] = n.clone() + before.clone() + after.clone();
        p.require_at_least(&shape[axis], 0)?;
        let (no_before, no_after) = (p.same(before, &zero), p.same(after, &zero));
        if no_before && no_after {
            continue;
        }
        whole = false;
        let place = Index::Axis(axis).plus(-before.clone());
        if mode != "constant" {
            at[axis] = repeated(place, n, mode);
            continue;
        }
        if !no_before {
            guards.push(Guard::Natural(place.clone()));
        }
        if !no_after {
            let last = n.clone() - Dim::Const(1);
            guards.push(Guard::Natural(place.clone().times(Dim::Const(-1)).plus(last)));
        }
        at[axis] = place;
    }
    let place = if whole { Place::Kept(at) } else { Place::At(at) };
    let source = Source::Element(0, place);
    if guards.is_empty() {
        return Ok(vec![Map::of(shape, source)]);
    }
    let fill = Fill {
        operand: Some(2),
        number: p.attr("value").as_float().unwrap_or(0.0),
    };
    let outside = Piece {
        guards: Vec::new(),
        source: Source::Fill(fill),
    };
    let pieces = vec![Piece { guards, source }, outside];
    Ok(vec![Map { shape, pieces }])
}

/// The index that padding repeats at a position outside an axis of `n` elements.
fn repeated(place: Index, n: &Dim, mode: &str) -> Index {
    let last = n.clone() - Dim::Const(1);
    match mode {
        "edge" => place.max(Index::constant(0)).min(Index::Const(last)),
        "wrap" => place.modulo(n.clone()),
        _ => {
            // There and back again, without the ends twice.
            let round = last * Dim::Const(2);
            let folded = place.modulo(round.maximum(&Dim::Const(1)));
            folded.clone().min(folded.times(Dim::Const(-1)).plus(round))
        }
    }
}
