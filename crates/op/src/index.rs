//! Operators that read and write elements at computed positions.

use super::common::{Out, advance, at, count, flat, strides, typed, unify};
use super::elementwise::{larger, smaller};
use super::movement::{Halt, Index, Map, Places, counted};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AxisOf, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand, System,
    Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Shape, Type};

const MOVE: CostRule = CostRule::Elementwise(0.0);
const X: Operand = Operand::one("x");
const INDICES: Operand = Operand::one("indices");
const UPDATES: Operand = Operand::one("updates");
const AXIS: AttrDef = AttrDef::new(
    "axis",
    AttrKind::Axis(AxisOf::Input),
    Default::Int(0),
    "the axis to index",
);
const REDUCTION: AttrDef = AttrDef::new(
    "reduction",
    AttrKind::OneOf(&["none", "add", "mul", "max", "min"]),
    Default::Str("none"),
    "how an update is combined with the present element",
);
const GATHER: OpTraits = OpTraits::MOVEMENT.and(OpTraits::LINEAR);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("gather", "Slices at indices along an axis.")
        .aliases(&["take"])
        .operands(&[X, INDICES])
        .attrs(&[AXIS])
        .infer(infer_gather)
        .movement(gather)
        .traits(GATHER)
        .cost(MOVE)
        .onnx("Gather", 1),
    OpDef::new(
        "gather_elements",
        "Elements at indices along one axis, each with its own index.",
    )
    .operands(&[X, INDICES])
    .attrs(&[AXIS])
    .infer(infer_gather_elements)
    .movement(gather_elements)
    .traits(GATHER)
    .cost(MOVE)
    .onnx("GatherElements", 11),
    OpDef::new("gather_nd", "Slices at index tuples.")
        .operands(&[X, INDICES])
        .attrs(&[AttrDef::new(
            "batch_dims",
            AttrKind::Int,
            Default::Int(0),
            "the number of leading axes shared by both operands",
        )])
        .infer(infer_gather_nd)
        .movement(gather_nd)
        .traits(GATHER)
        .cost(MOVE)
        .onnx("GatherND", 11),
    OpDef::new(
        "scatter_elements",
        "A copy with elements replaced at indices along one axis, each with its own index.",
    )
    .operands(&[X, INDICES, UPDATES])
    .attrs(&[AXIS, REDUCTION])
    .infer(infer_scatter_elements)
    .reference(reference!(scatter_elements))
    .formula(Formula::Whole)
    .cost(MOVE)
    .onnx("ScatterElements", 11),
    OpDef::new("scatter_nd", "A copy with slices replaced at index tuples.")
        .operands(&[X, INDICES, UPDATES])
        .attrs(&[REDUCTION])
        .infer(infer_scatter_nd)
        .reference(reference!(scatter_nd))
        .formula(Formula::Whole)
        .cost(MOVE)
        .onnx("ScatterND", 11),
];

fn index_dtype(call: &Infer<'_>) -> Result<(), OpError> {
    call.expect_dtype(1, DType::is_int, "integers").map(drop)
}

fn infer_gather(call: &Infer<'_>) -> Result<Type, OpError> {
    index_dtype(call)?;
    let x = call.tensor(0)?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let axis = call.axis("axis", shape.len())?;
    let out = call.shape(1)?.map(|indices| {
        [&shape[..axis], &indices[..], &shape[axis + 1..]]
            .concat()
            .into_iter()
            .collect()
    });
    Ok(typed(x.dtype, out))
}

/// `index` counted from the front of an axis.
fn place(index: i128, extent: usize) -> Result<usize, OpError> {
    let front = counted(index, i64::try_from(extent).unwrap_or(i64::MAX)).map_err(|e| e.at(1))?;
    Ok(front as usize)
}

fn gather(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let (x, indices) = (p.shape(0)?, p.shape(1)?);
    let axis = p.axis("axis", x.len())?;
    let rank = indices.len();
    let shape = [&x[..axis], indices, &x[axis + 1..]].concat();
    let datum = Index::Datum {
        operand: 1,
        at: (axis..axis + rank).map(Index::Axis).collect(),
        extent: x[axis].clone(),
    };
    let after = (axis + rank..shape.len()).map(Index::Axis);
    let at = Index::axes(axis).into_iter().chain([datum]).chain(after).collect();
    Ok(vec![Map::at(shape, at)])
}

fn infer_gather_elements(call: &Infer<'_>) -> Result<Type, OpError> {
    index_dtype(call)?;
    let x = call.tensor(0)?;
    if let Some(shape) = &x.shape {
        call.axis("axis", shape.len())?;
        same_rank(shape, call.shape(1)?, 1)?;
    }
    Ok(typed(x.dtype, call.shape(1)?.cloned()))
}

fn same_rank(shape: &Shape, other: Option<&Shape>, i: usize) -> Result<(), OpError> {
    match other {
        Some(other) if other.len() != shape.len() => Err(OpError::new(format!(
            "{other} has {} axes, but {shape} has {}",
            other.len(),
            shape.len()
        ))
        .at(0)
        .and(i)),
        _ => Ok(()),
    }
}

fn gather_elements(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let (x, indices) = (p.shape(0)?, p.shape(1)?);
    let axis = p.axis("axis", x.len())?;
    if indices.len() != x.len() {
        return Err(OpError::new("the operands have different numbers of axes").into());
    }
    let mut at = Index::axes(x.len());
    at[axis] = Index::Datum {
        operand: 1,
        at: at.clone(),
        extent: x[axis].clone(),
    };
    Ok(vec![Map::at(indices.to_vec(), at)])
}

/// The number of components of the index tuples; `None` if it is not known.
fn tuple_length(indices: &Shape, rank: usize, batch: usize) -> Result<Option<usize>, OpError> {
    match indices.last() {
        None => Err(OpError::new("`indices` must have at least one axis").at(1)),
        Some(Dim::Const(n)) => match usize::try_from(*n) {
            Ok(n) if n + batch <= rank => Ok(Some(n)),
            _ => Err(
                OpError::new(format!("index tuples of length {n} do not fit {} axes", rank - batch))
                    .at(0)
                    .and(1),
            ),
        },
        Some(_) => Ok(None),
    }
}

fn infer_gather_nd(call: &Infer<'_>) -> Result<Type, OpError> {
    index_dtype(call)?;
    let x = call.tensor(0)?;
    let (Some(shape), Some(indices)) = (&x.shape, call.shape(1)?) else {
        return Ok(typed(x.dtype, None));
    };
    let batch = call
        .const_int("batch_dims")
        .and_then(|b| usize::try_from(b).ok())
        .filter(|&b| b < shape.len().min(indices.len()))
        .ok_or_else(|| OpError::new("`batch_dims` must be less than both ranks").attr("batch_dims"))?;
    for k in 0..batch {
        if unify(&shape[k], &indices[k]).is_none() {
            return Err(
                OpError::new(format!("batch dimensions differ: {} and {}", shape[k], indices[k]))
                    .at(0)
                    .and(1),
            );
        }
    }
    let Some(n) = tuple_length(indices, shape.len(), batch)? else {
        return Ok(typed(x.dtype, None));
    };
    let out = [&indices[..indices.len() - 1], &shape[batch + n..]].concat();
    Ok(typed(x.dtype, Some(out.into_iter().collect())))
}

fn gather_nd(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let (x, indices) = (p.shape(0)?, p.shape(1)?);
    let batch = p.int("batch_dims").and_then(|d| d.as_const()).unwrap_or(0);
    let wrong = || OpError::new("the index tuples do not fit the operand");
    let batch = usize::try_from(batch).map_err(|_| wrong())?;
    let (length, lead) = indices.split_last().ok_or_else(wrong)?;
    let length = length
        .as_const()
        .ok_or_else(|| Halt::unknown("the length of the index tuples is unknown"))?;
    let length = usize::try_from(length).map_err(|_| wrong())?;
    let kept = x
        .get(batch + length..)
        .filter(|_| batch <= lead.len())
        .ok_or_else(wrong)?;
    let mut at = Index::axes(batch);
    for (k, extent) in x[batch..batch + length].iter().enumerate() {
        let mut tuple = Index::axes(lead.len());
        tuple.push(Index::constant(k as i64));
        at.push(Index::Datum {
            operand: 1,
            at: tuple,
            extent: extent.clone(),
        });
    }
    at.extend((lead.len()..lead.len() + kept.len()).map(Index::Axis));
    Ok(vec![Map::at([lead, kept].concat(), at)])
}

fn infer_scatter_elements(call: &Infer<'_>) -> Result<Type, OpError> {
    index_dtype(call)?;
    call.same_dtype(0, 2)?;
    let x = call.tensor(0)?;
    if let Some(shape) = &x.shape {
        call.axis("axis", shape.len())?;
        same_rank(shape, call.shape(1)?, 1)?;
        same_rank(shape, call.shape(2)?, 2)?;
    }
    agree(call, |a, b| (a.to_vec(), b.to_vec()))?;
    Ok(x.clone().into())
}

/// Checks parts of the shapes of indices and updates against each other.
fn agree(call: &Infer<'_>, parts: impl Fn(&Shape, &Shape) -> (Vec<Dim>, Vec<Dim>)) -> Result<(), OpError> {
    let (Some(indices), Some(updates)) = (call.shape(1)?, call.shape(2)?) else {
        return Ok(());
    };
    let (a, b) = parts(indices, updates);
    if a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| unify(x, y).is_some()) {
        return Ok(());
    }
    Err(OpError::new(format!(
        "updates of shape {updates} do not fit indices of shape {indices}"
    ))
    .at(1)
    .and(2))
}

/// The position that an update at a position changes.
type Target<'f> = &'f dyn Fn(&[usize]) -> Result<Vec<usize>, OpError>;

/// Writes updates: `target` maps a position of the updates to the position that it changes.
fn scatter<T: Clone>(
    a: &Nd<T>,
    updates: &Nd<T>,
    target: Target<'_>,
    join: &dyn Fn(&T, &T) -> Result<T, OpError>,
) -> Result<Nd<T>, OpError> {
    let mut out = flat(a);
    let strides = strides(a.shape());
    let mut p = vec![0; updates.ndim()];
    count(a.shape())?;
    for update in updates.iter() {
        let place = target(&p)?;
        let inside = place.len() == a.ndim() && place.iter().zip(a.shape()).all(|(i, n)| i < n);
        let offset: usize = place.iter().zip(&strides).map(|(i, s)| i * s).sum();
        let slot = out
            .get_mut(offset)
            .filter(|_| inside)
            .ok_or_else(|| OpError::new(format!("position {place:?} is outside shape {:?}", a.shape())))?;
        *slot = join(slot, update)?;
        advance(&mut p, updates.shape());
    }
    shaped(a.shape(), out)
}

fn scatter_values<S: System>(e: &Eval<'_, S>, target: Target<'_>) -> Out<S> {
    let how = e.text("reduction");
    let dtype = e.out_dtype();
    let unsupported = || OpError::new(format!("elements of type {dtype} cannot be combined by {how:?}"));
    Ok(vec![match (e.operand(0)?, e.operand(2)?) {
        (Value::Real(a), Value::Real(u)) => Value::Real(scatter(a, u, target, &|x, y| {
            Ok(match how {
                "add" => x.add(y),
                "mul" => x.mul(y),
                "max" => larger(x, y)?,
                "min" => smaller(x, y)?,
                _ => y.clone(),
            })
        })?),
        (Value::Int(a), Value::Int(u)) => Value::Int(scatter(a, u, target, &|x, y| {
            Ok(dtype.wrap(match how {
                "add" => x.wrapping_add(*y),
                "mul" => x.wrapping_mul(*y),
                "max" => *x.max(y),
                "min" => *x.min(y),
                _ => *y,
            }))
        })?),
        (Value::Bool(a), Value::Bool(u)) if how == "none" => Value::Bool(scatter(a, u, target, &|_, y| Ok(*y))?),
        (Value::Text(a), Value::Text(u)) if how == "none" => Value::Text(scatter(a, u, target, &|_, y| Ok(y.clone()))?),
        _ => return Err(unsupported()),
    }])
}

fn scatter_elements<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, indices) = (e.operand(0)?, e.operand(1)?.int()?);
    let axis = e.axis("axis", x.shape().len())?;
    scatter_values(e, &|p| {
        let mut target = p.to_vec();
        target[axis] = place(at(indices, p)?, x.shape()[axis])?;
        Ok(target)
    })
}

fn infer_scatter_nd(call: &Infer<'_>) -> Result<Type, OpError> {
    index_dtype(call)?;
    call.same_dtype(0, 2)?;
    let x = call.tensor(0)?;
    if let (Some(shape), Some(indices)) = (&x.shape, call.shape(1)?)
        && let Some(n) = tuple_length(indices, shape.len(), 0)?
    {
        agree(call, |indices, updates| {
            let expected = [&indices[..indices.len() - 1], &shape[n..]].concat();
            (expected, updates.to_vec())
        })?;
    }
    Ok(x.clone().into())
}

fn scatter_nd<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, indices) = (e.operand(0)?, e.operand(1)?.int()?);
    let lead = indices.ndim().saturating_sub(1);
    let n = indices.shape().last().copied().unwrap_or(0);
    scatter_values(e, &|p| {
        let outside = || OpError::new("updates have too few axes");
        let (first, rest) = (p.get(..lead).ok_or_else(outside)?, p.get(lead..).ok_or_else(outside)?);
        let mut target = Vec::with_capacity(x.shape().len());
        for k in 0..n {
            let extent = x.shape().get(k).copied().ok_or_else(outside)?;
            target.push(place(at(indices, &[first, &[k]].concat())?, extent)?);
        }
        target.extend(rest);
        Ok(target)
    })
}
