//! Moves values according to their map.

use std::borrow::Cow;

use super::index::{Datum, outside};
use super::{Fill, Known, Map, Movement, Places, Plan, Source, Spot};
use crate::common::{Out, reshape, strides, to_int};
use crate::symbolic::ints_of;
use crate::value::shaped;
use crate::{AttrDef, AttrValue, Eval, Fact, Infer, OpDef, OpError, System, Value, map_value};
use tautomer_tensor::{DType, Dim, Nd, Type};

/// The results of a call in the number system `S`.
pub(crate) fn evaluate<S: System>(movement: Movement, e: &Eval<'_, S>) -> Out<S> {
    let shape = |value: &Value<S>| match value {
        Value::Absent => None,
        value => Some(value.shape().to_vec()),
    };
    let shapes: Vec<Option<Vec<usize>>> = e.operands.iter().map(shape).collect();
    let results = match &e.result {
        Type::Tuple(items) => items.len(),
        _ => 1,
    };
    let results = (0..results).map(|i| e.out_shape(i)).collect::<Result<Vec<_>, _>>()?;
    let made = maps(movement, e.def, &e.attrs, &shapes, &results)?;
    let datum = |operand: usize, at: &[i64]| -> Result<i128, OpError> {
        let array = e.operand(operand)?.int()?;
        let at: Vec<usize> = at.iter().map(|&i| usize::try_from(i).unwrap_or(usize::MAX)).collect();
        array.get(at.as_slice()).copied().ok_or_else(outside)
    };
    made.iter().map(|map| moved(map, e, &shapes, &datum)).collect()
}

/// The maps of a call in which all sizes are known, checked against the inferred shapes.
///
/// # Errors
/// If the call is invalid, or something that a map depends on is unknown.
pub fn maps(
    movement: Movement,
    def: &'static OpDef,
    attrs: &[AttrValue],
    operands: &[Option<Vec<usize>>],
    results: &[Vec<usize>],
) -> Result<Vec<Map>, OpError> {
    let dims = |shape: &Vec<usize>| -> Vec<Dim> { shape.iter().copied().map(Dim::from).collect() };
    let operands: Vec<Option<Vec<Dim>>> = operands.iter().map(|shape| shape.as_ref().map(dims)).collect();
    let results: Vec<Vec<Dim>> = results.iter().map(dims).collect();
    let maps = movement(&Places {
        def,
        attrs,
        operands: &operands,
        results: Some(&results),
        decide: &Known,
    })?;
    if maps.len() != results.len() || maps.iter().zip(&results).any(|(map, shape)| map.shape != *shape) {
        return Err(OpError::new(format!(
            "the elements of `{}` fill other shapes than those of its results",
            def.name
        )));
    }
    Ok(maps)
}

fn moved<S: System>(
    map: &Map,
    e: &Eval<'_, S>,
    shapes: &[Option<Vec<usize>>],
    datum: Datum<'_>,
) -> Result<Value<S>, OpError> {
    if let Some(operand) = map.view() {
        let shape: Option<Vec<usize>> = map.shape.iter().map(|d| usize::try_from(d.as_const()?).ok()).collect();
        let shape = shape.ok_or_else(outside)?;
        return map_value!(e.operand(operand)?, a => reshape(a, &shape)?);
    }
    let plan = Plan::new(map, shapes, datum)?;
    let spots = plan.spots(datum)?;
    let sources = || map.pieces.iter().map(|piece| &piece.source);
    let fill = map.fill();
    let Some(first) = sources().find_map(|source| match source {
        Source::Element(operand, _) => Some(*operand),
        Source::Fill(_) => None,
    }) else {
        return Err(OpError::new("a result has no element of an operand"));
    };
    let used: Vec<bool> = (0..e.operands.len())
        .map(|i| sources().any(|source| matches!(source, Source::Element(operand, _) if *operand == i)))
        .collect();
    let given = fill.and_then(|fill: Fill| e.optional(fill.operand?));
    let number = fill.map_or(0.0, |fill| fill.number);
    let shape = &plan.shape;
    Ok(match e.operand(first)? {
        Value::Real(_) => {
            let other = fill.map(|_| S::from_f64(number)).transpose()?;
            let fill = given.and_then(|g| g.real().ok()).and_then(first_of).or(other);
            Value::Real(gathered(&spots, shape, e, &used, fill, Value::real)?)
        }
        Value::Int(_) => {
            let other = fill.map(|_| to_int(&number)).transpose()?;
            let fill = given.and_then(|g| g.int().ok()).and_then(first_of).or(other);
            let fill = fill.map(|v| e.out_dtype().wrap(v));
            Value::Int(gathered(&spots, shape, e, &used, fill, Value::int)?)
        }
        Value::Bool(_) => {
            let other = fill.map(|_| number != 0.0);
            let fill = given.and_then(|g| g.bool().ok()).and_then(first_of).or(other);
            Value::Bool(gathered(&spots, shape, e, &used, fill, Value::bool)?)
        }
        _ => {
            let other = fill.map(|_| String::new());
            let fill = given.and_then(|g| text(g).ok()).and_then(first_of).or(other);
            Value::Text(gathered(&spots, shape, e, &used, fill, text)?)
        }
    })
}

fn text<S>(value: &Value<S>) -> Result<&Nd<String>, OpError> {
    match value {
        Value::Text(a) => Ok(a),
        _ => Err(OpError::new("expected string elements")),
    }
}

fn first_of<T: Clone>(a: &Nd<T>) -> Option<T> {
    a.iter().next().cloned()
}

/// The elements of the operands in use, at their spots.
fn gathered<'v, S: System, T: Clone + 'v>(
    spots: &[Spot],
    shape: &[usize],
    e: &'v Eval<'_, S>,
    used: &[bool],
    fill: Option<T>,
    elements: impl Fn(&'v Value<S>) -> Result<&'v Nd<T>, OpError>,
) -> Result<Nd<T>, OpError> {
    let mut parts: Vec<Cow<'v, [T]>> = Vec::with_capacity(used.len());
    for (value, used) in e.operands.iter().zip(used) {
        parts.push(match used {
            true => contiguous(elements(value)?),
            false => Cow::Borrowed(&[]),
        });
    }
    select(spots, shape, &parts, fill.as_ref())
}

fn contiguous<T: Clone>(a: &Nd<T>) -> Cow<'_, [T]> {
    match a.as_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(a.iter().cloned().collect()),
    }
}

fn select<T: Clone>(
    spots: &[Spot],
    shape: &[usize],
    parts: &[Cow<'_, [T]>],
    fill: Option<&T>,
) -> Result<Nd<T>, OpError> {
    let element = |spot: &Spot| {
        let found = match spot.element() {
            Some((operand, offset)) => parts.get(operand).and_then(|part| part.get(offset)),
            None => fill,
        };
        found.cloned().ok_or_else(outside)
    };
    shaped(shape, spots.iter().map(element).collect::<Result<Vec<T>, _>>()?)
}

/// The elements of an integer result, each an expression over dimensions, if the elements it comes from are known.
pub(crate) fn known(movement: Movement, call: &Infer<'_>, shape: &[usize]) -> Option<Vec<Dim>> {
    let filled = |attr: &AttrDef| match call.attr(attr.name) {
        AttrValue::None if call.is_dynamic(attr.name) => AttrValue::None,
        AttrValue::None => attr.default_value().unwrap_or(AttrValue::None),
        value => value,
    };
    let attrs: Vec<AttrValue> = call.def.attrs.iter().map(filled).collect();
    let ints: Vec<Option<Vec<Dim>>> = call.operands.iter().map(ints_of).collect();
    let extents = |(fact, ints): (&Fact<'_>, &Option<Vec<Dim>>)| {
        let known = fact
            .ty
            .as_tensor()?
            .shape
            .as_ref()
            .and_then(|shape| shape.to_concrete());
        known.or_else(|| ints.as_ref().map(|ints| vec![ints.len()]))
    };
    let shapes: Vec<Option<Vec<usize>>> = call.operands.iter().zip(&ints).map(extents).collect();
    let made = maps(movement, call.def, &attrs, &shapes, &[shape.to_vec()]).ok()?;
    let map = made.first()?;
    if let Some(operand) = map.view() {
        return ints.into_iter().nth(operand)?;
    }
    let datum = |operand: usize, at: &[i64]| -> Result<i128, OpError> {
        let found = || {
            let own = shapes.get(operand)?.as_ref()?;
            let offset: i64 = at.iter().zip(strides(own)).map(|(i, s)| i * s as i64).sum();
            ints.get(operand)?
                .as_ref()?
                .get(usize::try_from(offset).ok()?)?
                .as_const()
        };
        found().map(i128::from).ok_or_else(outside)
    };
    let plan = Plan::new(map, &shapes, &datum).ok()?;
    let fill = map
        .fill()
        .and_then(|fill| match fill.operand.and_then(|i| ints.get(i)?.as_ref()) {
            Some(given) => given.first().cloned(),
            None if fill.operand.is_some_and(|i| shapes.get(i).is_some_and(Option::is_some)) => None,
            None if call.tensor(0).is_ok_and(|t| t.dtype == DType::Bool) => {
                Some(Dim::from(usize::from(fill.number != 0.0)))
            }
            None => Some(Dim::Const(fill.number as i64)),
        });
    let element = |spot: Spot| match spot.element() {
        Some((operand, offset)) => ints.get(operand)?.as_ref()?.get(offset).cloned(),
        None => fill.clone(),
    };
    plan.spots(&datum).ok()?.into_iter().map(element).collect()
}
