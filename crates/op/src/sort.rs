//! Sorting, and runs of equal elements.

use std::cmp::Ordering;

use super::common::{Out, count, flat, select_axis, set, strides, transpose, typed};
use super::order::{sort_by, total_order};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AttrValue, AxesRule, AxisOf, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, Operand,
    System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Shape, Type};

const X: Operand = Operand::one("x");

const fn flag(name: &'static str, default: bool, doc: &'static str) -> AttrDef {
    AttrDef::new(name, AttrKind::Bool, Default::Bool(default), doc)
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "sort",
        "The elements along an axis in order, and their positions; NaN sorts as the largest.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Int(-1),
            "the axis to sort along",
        ),
        flag("descending", false, "whether the largest come first"),
        flag(
            "stable",
            true,
            "whether equal elements keep their order; they do either way",
        ),
    ])
    .infer(infer_sort)
    .canonical(canonical_sort)
    .reference(reference!(sort))
    .formula(Formula::Sorted)
    .axes(AxesRule::Along)
    .cost(CostRule::PerInput(16.0)),
    OpDef::new(
        "unique_consecutive",
        "The first of each run of equal elements or slices; on request the run of each, and the lengths of runs.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::None,
            "the axis of the slices; single elements in row-major order if left out",
        ),
        flag(
            "return_inverse",
            false,
            "whether to return the run of each element or slice as second result",
        ),
        flag(
            "return_counts",
            false,
            "whether to return the length of each run as last result",
        ),
    ])
    .infer(infer_unique)
    .reference(reference!(unique_consecutive))
    .formula(Formula::Whole)
    .cost(CostRule::PerInput(2.0)),
];

/// The axis to sort along; `None` for a scalar.
fn sorted_axis(call: &Infer<'_>, rank: usize) -> Result<Option<usize>, OpError> {
    if rank > 0 {
        return call.axis("axis", rank).map(Some);
    }
    match call.const_int("axis") {
        Some(-1 | 0) => Ok(None),
        Some(axis) => Err(OpError::new(format!("axis {axis} is out of range: a scalar has no axes")).attr("axis")),
        None => Err(OpError::new("`axis` must be a known integer").attr("axis")),
    }
}

fn infer_sort(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if let Some(shape) = &x.shape {
        sorted_axis(call, shape.len())?;
    }
    Ok(Type::Tuple(vec![x.clone().into(), typed(DType::I64, x.shape.clone())]))
}

fn canonical_sort(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    set(call, attrs, "stable", AttrValue::Bool(true));
    if let Some(shape) = call.shape(0)? {
        let axis = sorted_axis(call, shape.len())?.unwrap_or(0);
        set(call, attrs, "axis", AttrValue::int(axis as i64));
    }
    Ok(())
}

/// Runs `$body` with the array and an order of its elements.
macro_rules! ordered {
    ($value:expr, ($array:ident, $order:ident) => $body:expr) => {{
        fn exact<T: Ord>(a: &T, b: &T) -> Result<Ordering, OpError> {
            Ok(a.cmp(b))
        }
        match $value {
            Value::Real($array) => {
                let $order = total_order::<S>;
                Value::Real($body)
            }
            Value::Int($array) => {
                let $order = exact::<i128>;
                Value::Int($body)
            }
            Value::Bool($array) => {
                let $order = exact::<bool>;
                Value::Bool($body)
            }
            Value::Text($array) => {
                let $order = exact::<String>;
                Value::Text($body)
            }
            Value::Absent => return Err(OpError::new("an operand is missing")),
        }
    }};
}

#[allow(
    clippy::clone_on_copy,
    reason = "the body is instantiated for strings too, which are not `Copy`"
)]
fn sort<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let (shape, descending) = (x.shape().to_vec(), e.flag("descending"));
    let (extent, step) = match shape.len() {
        0 => (1, 1),
        rank => {
            let axis = e.axis("axis", rank)?;
            (shape[axis], strides(&shape)[axis])
        }
    };
    let size = count(&shape)?;
    let mut places = vec![0i128; size];
    let values = ordered!(x, (a, order) => {
        let elements = flat(a);
        let mut sorted = elements.clone();
        // A row starts where the position along the axis is 0.
        for first in (0..size).filter(|i| i / step % extent == 0) {
            let mut ranked: Vec<usize> = (0..extent).collect();
            sort_by(&mut ranked, |&i, &j| {
                let ascending = order(&elements[first + i * step], &elements[first + j * step])?;
                Ok(if descending { ascending.reverse() } else { ascending })
            })?;
            for (to, from) in ranked.into_iter().enumerate() {
                sorted[first + to * step] = elements[first + from * step].clone();
                places[first + to * step] = from as i128;
            }
        }
        shaped(&shape, sorted)?
    });
    Ok(vec![values, Value::Int(shaped(&shape, places)?)])
}

fn infer_unique(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let runs = call.unknown();
    let list = |d: &Dim| -> Shape { [d.clone()].into_iter().collect() };
    let given = !call.attr("axis").is_none();
    let (values, inverse) = match &x.shape {
        None if given => (None, Some(list(&call.unknown()))),
        None => (Some(list(&runs)), None),
        Some(shape) if !given => (Some(list(&runs)), Some(shape.clone())),
        Some(shape) => {
            let axis = call.axis("axis", shape.len())?;
            // Empty slices are all equal, so the number of runs would be unknown.
            let empty: Vec<usize> = (0..shape.len()).filter(|&i| shape[i] == Dim::Const(0)).collect();
            if empty.iter().any(|&i| i != axis) {
                return Err(
                    OpError::new(format!("the slices of {shape} along axis {axis} have no elements"))
                        .at(0)
                        .attr("axis"),
                );
            }
            let mut out = shape.clone();
            out[axis] = runs.clone();
            (Some(out), Some(list(&shape[axis])))
        }
    };
    let mut results = vec![typed(x.dtype, values)];
    if call.flag("return_inverse") {
        results.push(typed(DType::I64, inverse));
    }
    if call.flag("return_counts") {
        results.push(typed(DType::I64, Some(list(&runs))));
    }
    Ok(match results.len() {
        1 => results.remove(0),
        _ => Type::Tuple(results),
    })
}

/// The slices along an axis, or the single elements, concatenated, and the length of a slice.
fn slices<T: Clone>(a: &Nd<T>, axis: Option<usize>) -> Result<(Vec<T>, usize), OpError> {
    let Some(axis) = axis else { return Ok((flat(a), 1)) };
    let order: Vec<usize> = [axis].into_iter().chain((0..a.ndim()).filter(|&i| i != axis)).collect();
    let rest: Vec<usize> = order[1..].iter().map(|&i| a.shape()[i]).collect();
    Ok((flat(&transpose(a, &order)?), count(&rest)?))
}

#[allow(
    clippy::clone_on_copy,
    reason = "the body is instantiated for strings too, which are not `Copy`"
)]
fn unique_consecutive<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let axis = match e.int("axis") {
        None => None,
        Some(_) => Some(e.axis("axis", x.shape().len())?),
    };
    let all = match axis {
        Some(axis) => x.shape()[axis],
        None => count(x.shape())?,
    };
    // The first slice of each run.
    let mut firsts: Vec<usize> = Vec::new();
    let values = ordered!(x, (a, order) => {
        let (elements, length) = slices(a, axis)?;
        let same = |i: usize, j: usize| -> Result<bool, OpError> {
            for k in 0..length {
                let (p, q) = (&elements[i * length + k], &elements[j * length + k]);
                // NaN equals nothing, not even itself.
                if !(p == q && order(p, q)? == Ordering::Equal) {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        for i in 0..all {
            if i == 0 || !same(i - 1, i)? {
                firsts.push(i);
            }
        }
        match axis {
            None => shaped(&[firsts.len()], firsts.iter().map(|&i| elements[i].clone()).collect())?,
            Some(axis) => select_axis(a, axis, firsts.iter().copied().map(Some).collect())?,
        }
    });
    let mut results = vec![values];
    if e.flag("return_inverse") {
        let mut run = 0;
        let inverse = (0..all).map(|i| {
            run += usize::from(firsts.get(run + 1) == Some(&i));
            run as i128
        });
        let inverse: Vec<i128> = inverse.collect();
        let lone = [all];
        let shape = if axis.is_some() { &lone[..] } else { x.shape() };
        results.push(Value::Int(shaped(shape, inverse)?));
    }
    if e.flag("return_counts") {
        let ends = firsts.iter().skip(1).copied().chain([all]);
        let counts: Vec<i128> = firsts.iter().zip(ends).map(|(&from, to)| (to - from) as i128).collect();
        results.push(Value::Int(shaped(&[counts.len()], counts)?));
    }
    Ok(results)
}
