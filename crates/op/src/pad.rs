//! The operator that adds elements around a tensor.

use super::common::{Out, axes_value, count, int_operand, known_axes, select_axes, set, to_int, typed, whole};
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Eval, Infer, OpDef, OpError, OpTraits, Operand, PerAxis,
    ShapeRule, System, Value,
};
use crate::reference;
use tautomer_tensor::{Dim, Nd, Shape, Type};

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
        .reference(reference!(pad))
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

fn pad<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let rank = x.shape().len();
    let pads = e
        .ints("pads")
        .ok_or_else(|| OpError::new("the value of `pads` is unknown"))?;
    let axes = e.axes("axes", rank)?.unwrap_or_else(|| (0..rank).collect());
    let out = e.out_shape(0)?;
    count(&out)?;
    let mut maps = whole(x.shape());
    for (before, axis) in pads.into_iter().zip(axes) {
        let (n, padded) = (x.shape()[axis] as i64, out[axis] as i64);
        maps[axis] = (0..padded)
            .map(|i| padded_from(i.saturating_sub(before), n, e.text("mode")))
            .collect();
    }
    let number = e.float("value").unwrap_or(0.0);
    let given = e.optional(2);
    let constant = e.text("mode") == "constant";
    /// The constant to add, from the operand if there is one.
    fn fill<T: Clone>(constant: bool, given: Option<&Nd<T>>, other: T) -> Option<T> {
        constant.then(|| given.and_then(|a| a.iter().next().cloned()).unwrap_or(other))
    }
    Ok(vec![match x {
        Value::Real(a) => {
            let fill = fill(constant, given.and_then(|g| g.real().ok()), S::from_f64(number)?);
            Value::Real(select_axes(a, &maps, fill.as_ref())?)
        }
        Value::Int(a) => {
            let fill = fill(constant, given.and_then(|g| g.int().ok()), to_int(&number)?);
            Value::Int(select_axes(a, &maps, fill.map(|v| e.out_dtype().wrap(v)).as_ref())?)
        }
        Value::Bool(a) => {
            let fill = fill(constant, given.and_then(|g| g.bool().ok()), number != 0.0);
            Value::Bool(select_axes(a, &maps, fill.as_ref())?)
        }
        Value::Text(a) => {
            let given = match given {
                Some(Value::Text(g)) => Some(g),
                _ => None,
            };
            let fill = fill(constant, given, String::new());
            Value::Text(select_axes(a, &maps, fill.as_ref())?)
        }
        Value::Absent => return Err(OpError::new("an operand is missing")),
    }])
}

/// The position that padding repeats at place `i` of an axis of `n` elements; `None` for the constant.
fn padded_from(i: i64, n: i64, mode: &str) -> Option<usize> {
    let inside = match mode {
        _ if (0..n).contains(&i) => i,
        _ if n <= 0 => return None,
        "edge" => i.clamp(0, n - 1),
        "wrap" => i.rem_euclid(n),
        "reflect" if n == 1 => 0,
        "reflect" => {
            let folded = i.rem_euclid(2 * (n - 1));
            folded.min(2 * (n - 1) - folded)
        }
        _ => return None,
    };
    usize::try_from(inside).ok()
}
