//! Caches of sequences that grow step by step.

use super::common::{Out, at, build, flat, typed, unify};
use super::{
    AttrDef, AttrKind, AxisOf, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, Operand, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "tensor_scatter",
    "Writes new elements into a cache along an axis, starting at an index for each batch element.",
)
.operands(&[
    Operand::one("past_cache"),
    Operand::one("update"),
    Operand::optional("write_indices"),
])
.attrs(&[
    AttrDef::new(
        "axis",
        AttrKind::Axis(AxisOf::Input),
        Default::Int(-2),
        "the sequence axis; not the first, which is the batch axis",
    ),
    AttrDef::new(
        "mode",
        AttrKind::OneOf(&["linear", "circular"]),
        Default::Str("linear"),
        "whether elements beyond the end are written to the front",
    ),
])
.infer(infer)
.reference(reference!(scatter))
.formula(Formula::Whole)
.cost(CostRule::Elementwise(0.0))
.onnx("TensorScatter", 24)];

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    if call.optional(2)?.is_some() {
        call.expect_dtype(2, DType::is_int, "a list of integers")?;
    }
    let Some(cache) = call.shape(0)? else {
        return Ok(typed(dtype, None));
    };
    let axis = call.axis("axis", cache.len())?;
    if axis == 0 {
        return Err(OpError::new("axis 0 is the batch axis").attr("axis"));
    }
    if let Some(update) = call.shape(1)? {
        let fits = |(i, (a, b)): (usize, (&Dim, &Dim))| match (a, b) {
            (Dim::Const(a), Dim::Const(b)) if i == axis => b <= a,
            _ => i == axis || unify(a, b).is_some(),
        };
        if update.len() != cache.len() || !cache.iter().zip(update.iter()).enumerate().all(fits) {
            return Err(
                OpError::new(format!("`update` is {update}, which does not fit a cache of {cache}"))
                    .at(1)
                    .and(0),
            );
        }
    }
    if let Some(starts) = call.optional(2)?.and_then(|t| t.shape.as_ref())
        && (starts.len() != 1 || unify(&starts[0], &cache[0]).is_none())
    {
        return Err(OpError::new(format!(
            "indices {starts} must be a list along the batch axis of {cache}"
        ))
        .at(2));
    }
    Ok(typed(dtype, Some(cache.clone())))
}

/// Elements of `update` where one was written, otherwise those of `cache`.
fn written<T: Clone>(
    cache: &Nd<T>,
    update: &Nd<T>,
    axis: usize,
    source: &dyn Fn(&[usize]) -> Option<usize>,
) -> Result<Nd<T>, OpError> {
    build(cache.shape(), |p| match source(p) {
        Some(step) => {
            let mut from = p.to_vec();
            from[axis] = step;
            at(update, &from)
        }
        None => at(cache, p),
    })
}

fn scatter<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (cache, update) = (e.operand(0)?, e.operand(1)?);
    let axis = e.axis("axis", cache.shape().len())?;
    let (extent, steps) = (cache.shape()[axis], update.shape()[axis]);
    let circular = e.text("mode") == "circular";
    let starts = match e.optional(2) {
        Some(indices) => flat(indices.int()?),
        None => vec![0; cache.shape()[0]],
    };
    let places: Option<Vec<usize>> = starts.iter().map(|&i| usize::try_from(i).ok()).collect();
    let places = places
        .filter(|p| p.len() == cache.shape()[0])
        .filter(|p| circular || p.iter().all(|&i| i.checked_add(steps).is_some_and(|end| end <= extent)))
        .ok_or_else(|| OpError::new(format!("{steps} elements are written outside an axis of size {extent}")).at(2))?;
    let source = |p: &[usize]| -> Option<usize> {
        // The distance from the first element that was written.
        let step = if circular {
            (p[axis] + extent - places[p[0]] % extent) % extent
        } else {
            p[axis].checked_sub(places[p[0]])?
        };
        (step < steps).then_some(step)
    };
    Ok(vec![match (cache, update) {
        (Value::Real(a), Value::Real(b)) => Value::Real(written(a, b, axis, &source)?),
        (Value::Int(a), Value::Int(b)) => Value::Int(written(a, b, axis, &source)?),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(written(a, b, axis, &source)?),
        (Value::Text(a), Value::Text(b)) => Value::Text(written(a, b, axis, &source)?),
        _ => return Err(OpError::new("expected elements of one type")),
    }])
}
