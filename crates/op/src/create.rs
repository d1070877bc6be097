//! Operators that create tensors from shapes, positions and constants.

use super::common::{Out, at, build, count, int_operand, map, operand_len, same, set, to_int, typed};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Eval, Formula, Infer, Made, OpDef, OpError, OpTraits,
    Operand, System, Value,
};
use crate::{map_value, reference};
use tautomer_tensor::{DType, Dim, Shape, Tensor, Type};

const MOVE: CostRule = CostRule::Elementwise(0.0);
const X: Operand = Operand::one("x");
const SHAPE: AttrDef = AttrDef::new("shape", AttrKind::Ints, Default::Required, "the shape of the result");
const DTYPE: AttrDef = AttrDef::new("dtype", AttrKind::DType, Default::DType(DType::F32), "element type");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "shape",
        "The dimensions from axis `start` up to, but excluding, axis `end`.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new("start", AttrKind::Int, Default::Int(0), "the first axis"),
        AttrDef::new("end", AttrKind::Int, Default::None, "the axis after the last"),
    ])
    .infer(infer_shape)
    .canonical(canonical_shape)
    .reference(reference!(shape))
    .formula(Formula::Made(Made::Extents))
    .cost(CostRule::View)
    .onnx("Shape", 1),
    OpDef::new("size", "The number of elements.")
        .operands(&[X])
        .infer(infer_size)
        .reference(reference!(size))
        .formula(Formula::Made(Made::Count))
        .cost(CostRule::View)
        .onnx("Size", 1),
    OpDef::new(
        "constant_of_shape",
        "A tensor filled with one value; an `f32` 0 if no value is given.",
    )
    .operands(&[Operand::attr("shape")])
    .attrs(&[
        SHAPE,
        AttrDef::new("value", AttrKind::Tensor, Default::None, "a tensor of one element"),
    ])
    .infer(infer_constant)
    .canonical(canonical_constant)
    .reference(reference!(constant))
    .formula(Formula::Made(Made::Filled {
        number: None,
        like: false,
    }))
    .cost(MOVE)
    .onnx("ConstantOfShape", 9),
    OpDef::new("full", "A tensor filled with a number.")
        .attrs(&[
            SHAPE,
            AttrDef::new("value", AttrKind::Float, Default::Required, "the number"),
            DTYPE,
        ])
        .infer(infer_filled)
        .reference(reference!(full))
        .formula(Formula::Made(Made::Filled {
            number: None,
            like: false,
        }))
        .cost(MOVE),
    OpDef::new("zeros", "A tensor of zeros.")
        .attrs(&[SHAPE, DTYPE])
        .infer(infer_filled)
        .reference(reference!(zeros))
        .formula(Formula::Made(Made::Filled {
            number: Some(0),
            like: false,
        }))
        .cost(MOVE),
    OpDef::new("ones", "A tensor of ones.")
        .attrs(&[SHAPE, DTYPE])
        .infer(infer_filled)
        .reference(reference!(ones))
        .formula(Formula::Made(Made::Filled {
            number: Some(1),
            like: false,
        }))
        .cost(MOVE),
    OpDef::new("zeros_like", "Zeros with the shape and element type of the operand.")
        .operands(&[X])
        .infer(infer_like)
        .reference(reference!(zeros))
        .formula(Formula::Made(Made::Filled {
            number: Some(0),
            like: true,
        }))
        .cost(MOVE),
    OpDef::new("ones_like", "Ones with the shape and element type of the operand.")
        .operands(&[X])
        .infer(infer_like)
        .reference(reference!(ones))
        .formula(Formula::Made(Made::Filled {
            number: Some(1),
            like: true,
        }))
        .cost(MOVE),
    OpDef::new(
        "range",
        "Numbers from `start` in steps of `delta`, up to but excluding `limit`.",
    )
    .aliases(&["arange"])
    .operands(&[Operand::one("start"), Operand::one("limit"), Operand::one("delta")])
    .infer(infer_range)
    .reference(reference!(range))
    .formula(Formula::Made(Made::Steps))
    .counts()
    .onnx("Range", 11),
    OpDef::new(
        "one_hot",
        "Along a new axis, the second value at each index and the first value elsewhere.",
    )
    .operands(&[Operand::one("indices"), Operand::one("values"), Operand::attr("depth")])
    .attrs(&[
        AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Output),
            Default::Int(-1),
            "the position of the new axis",
        ),
        AttrDef::new("depth", AttrKind::Int, Default::Required, "size of the new axis"),
    ])
    .infer(infer_one_hot)
    .reference(reference!(one_hot))
    .formula(Formula::Whole)
    .onnx("OneHot", 9),
    OpDef::new(
        "non_zero",
        "Positions of the nonzero elements, with a row for each axis.",
    )
    .aliases(&["nonzero"])
    .operands(&[X])
    .infer(infer_non_zero)
    .reference(reference!(non_zero))
    .formula(Formula::Whole)
    .onnx("NonZero", 9),
    OpDef::new(
        "eye_like",
        "A matrix with the shape of the operand: ones on a diagonal, zeros elsewhere.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "dtype",
            AttrKind::DType,
            Default::None,
            "element type; the operand's if left out",
        ),
        AttrDef::new(
            "k",
            AttrKind::Int,
            Default::Int(0),
            "which diagonal; positive numbers are above the main one",
        ),
    ])
    .infer(infer_eye)
    .reference(reference!(eye))
    .formula(Formula::Made(Made::Diagonals))
    .cost(MOVE)
    .onnx("EyeLike", 9),
    OpDef::new(
        "trilu",
        "The upper or lower triangle of the last two axes, and zeros elsewhere.",
    )
    .operands(&[X, Operand::attr("k")])
    .attrs(&[
        AttrDef::new(
            "k",
            AttrKind::Int,
            Default::Int(0),
            "the diagonal at the edge of the triangle",
        ),
        AttrDef::new(
            "upper",
            AttrKind::Bool,
            Default::Bool(true),
            "whether to keep the upper triangle",
        ),
    ])
    .infer(infer_trilu)
    .reference(reference!(trilu))
    .formula(Formula::Made(Made::Diagonals))
    .traits(OpTraits::LINEAR)
    .cost(MOVE)
    .onnx("Trilu", 14),
];

/// The axes between `start` and `end`, which count from the end if negative and are clamped to the rank.
fn axis_range(start: Option<i64>, end: Option<i64>, rank: usize) -> (usize, usize) {
    let rank = rank as i64;
    let place = |i: i64| (if i < 0 { i.saturating_add(rank) } else { i }).clamp(0, rank);
    let (start, end) = (place(start.unwrap_or(0)), place(end.unwrap_or(rank)));
    (start as usize, end.max(start) as usize)
}

fn infer_shape(call: &Infer<'_>) -> Result<Type, OpError> {
    let dims = match call.tensor(0)?.rank() {
        Some(rank) => {
            let (start, end) = axis_range(call.const_int("start"), call.const_int("end"), rank);
            Dim::from(end - start)
        }
        None => call.unknown(),
    };
    Ok(typed(DType::I64, Some([dims].into_iter().collect())))
}

fn canonical_shape(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(rank) = call.tensor(0)?.rank() {
        let (start, end) = axis_range(call.const_int("start"), call.const_int("end"), rank);
        set(call, attrs, "start", AttrValue::Int(Dim::from(start)));
        set(call, attrs, "end", AttrValue::Int(Dim::from(end)));
    }
    Ok(())
}

fn shape<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let dims = e.operand(0)?.shape();
    let (start, end) = axis_range(e.int("start"), e.int("end"), dims.len());
    let out: Vec<i128> = dims[start..end].iter().map(|&n| n as i128).collect();
    Ok(vec![Value::Int(shaped(&[out.len()], out)?)])
}

fn infer_size(call: &Infer<'_>) -> Result<Type, OpError> {
    call.tensor(0)?;
    Ok(typed(DType::I64, Some(Shape::scalar())))
}

fn size<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let n = e.operand(0)?.shape().iter().product::<usize>();
    Ok(vec![Value::Int(shaped(&[], vec![n as i128])?)])
}

fn wanted_shape(call: &Infer<'_>) -> Result<Option<Shape>, OpError> {
    int_operand(call, "shape")?;
    let Some(dims) = call.ints("shape") else {
        return Ok(operand_len(call, "shape").map(|n| call.unknown_shape(n)));
    };
    if let Some(d) = dims.iter().find(|d| d.as_const().is_some_and(|n| n < 0)) {
        return Err(OpError::new(format!("dimension {d} in `shape` is not valid")).attr("shape"));
    }
    Ok(Some(dims.into_iter().collect()))
}

fn infer_constant(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = match call.attr("value") {
        AttrValue::Tensor(t) if t.len() == 1 => t.dtype(),
        AttrValue::Tensor(t) => {
            return Err(OpError::new(format!("`value` must have one element, but is {}", t.ty())).attr("value"));
        }
        _ => DType::F32,
    };
    Ok(typed(dtype, wanted_shape(call)?))
}

/// Removes an explicit zero that equals the default.
fn canonical_constant(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let zero = Tensor::vector(vec![0f32]);
    if let AttrValue::Tensor(t) = call.attr("value")
        && t.reshaped(&[1]).is_some_and(|t| t.same_bits(&zero))
    {
        set(call, attrs, "value", AttrValue::None);
    }
    Ok(())
}

fn constant<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let zero = Tensor::scalar(0f32);
    let value = match e.attr("value") {
        AttrValue::Tensor(t) => t,
        _ => &zero,
    };
    let out = e.out_shape(0)?;
    let one = Value::<S>::from_tensor(value)?;
    let missing = || OpError::new("`value` must have one element");
    Ok(vec![map_value!(one, a => {
        let element = a.iter().next().cloned().ok_or_else(missing)?;
        shaped(&out, vec![element; count(&out)?])?
    })?])
}

fn infer_filled(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.dtype("dtype").unwrap_or(DType::F32);
    if !dtype.is_number() && dtype != DType::Bool {
        return Err(OpError::new(format!("a tensor of {dtype} cannot be filled with a number")).attr("dtype"));
    }
    Ok(typed(dtype, wanted_shape(call)?))
}

fn infer_like(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d.is_number() || d == DType::Bool, "a number or a boolean")?;
    same(call)
}

/// A tensor of the result's type, filled with one number.
fn filled<S: System>(e: &Eval<'_, S>, value: f64) -> Out<S> {
    let out = e.out_shape(0)?;
    let (n, dtype) = (count(&out)?, e.out_dtype());
    Ok(vec![if dtype.is_float() {
        Value::Real(shaped(&out, vec![S::from_f64(value)?; n])?)
    } else if dtype == DType::Bool {
        Value::Bool(shaped(&out, vec![value != 0.0; n])?)
    } else {
        Value::Int(shaped(&out, vec![dtype.wrap(to_int(&value)?); n])?)
    }])
}

fn full<S: System>(e: &Eval<'_, S>) -> Out<S> {
    filled(e, e.float("value").unwrap_or(0.0))
}

fn zeros<S: System>(e: &Eval<'_, S>) -> Out<S> {
    filled(e, 0.0)
}

fn ones<S: System>(e: &Eval<'_, S>) -> Out<S> {
    filled(e, 1.0)
}

/// The number of steps of `delta` from `start` to `limit`, the last of which may be partial.
fn steps(start: f64, limit: f64, delta: f64) -> Option<usize> {
    let n = ((limit - start) / delta).ceil();
    (delta != 0.0 && n.is_finite()).then_some(n.max(0.0) as usize)
}

fn int_steps(start: i128, limit: i128, delta: i128) -> Option<usize> {
    let distance = limit.checked_sub(start)?;
    let n = distance.checked_div_euclid(delta)?;
    // Euclidean division rounds so that the remainder is not negative.
    let rest = distance.checked_rem_euclid(delta)?;
    let n = if rest != 0 && delta > 0 { n.checked_add(1)? } else { n };
    usize::try_from(n.max(0)).ok()
}

fn endless() -> OpError {
    OpError::new("the range is infinite")
}

fn infer_range(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    for i in 0..3 {
        call.same_dtype(0, i)?;
        if let Some(shape) = call.shape(i)?
            && shape.size().as_const().is_some_and(|n| n != 1)
        {
            return Err(OpError::new(format!("a bound of a range must be one number, but has shape {shape}")).at(i));
        }
    }
    let values: Option<Vec<&Tensor>> = call.operands.iter().map(|o| o.value).collect();
    let length = match values.as_deref() {
        Some([start, limit, delta]) => {
            let n = match (start.to_ints(), limit.to_ints(), delta.to_ints()) {
                (Some(a), Some(b), Some(d)) if !a.is_empty() && !b.is_empty() && !d.is_empty() => {
                    int_steps(a[0], b[0], d[0])
                }
                _ => match (start.to_f64s(), limit.to_f64s(), delta.to_f64s()) {
                    (Some(a), Some(b), Some(d)) if !a.is_empty() && !b.is_empty() && !d.is_empty() => {
                        steps(a[0], b[0], d[0])
                    }
                    _ => None,
                },
            };
            Dim::from(n.ok_or_else(|| endless().at(2))?)
        }
        _ => counted(call).unwrap_or_else(|| call.unknown()),
    };
    Ok(typed(dtype, Some([length].into_iter().collect())))
}

/// The length of a range of integers with step one whose bounds are determined by dimensions.
fn counted(call: &Infer<'_>) -> Option<Dim> {
    let one = |i: usize| match super::symbolic::ints_of(call.operands.get(i)?)?.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    };
    let (start, limit, delta) = (one(0)?, one(1)?, one(2)?);
    let length = limit - start;
    (delta == Dim::Const(1) && super::symbolic::is_natural(&length)).then_some(length)
}

fn range<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let missing = || OpError::new("a bound of the range is missing");
    let ends = (e.operand(0)?, e.operand(1)?, e.operand(2)?);
    Ok(vec![match ends {
        (Value::Int(a), Value::Int(b), Value::Int(d)) => {
            let first = |a: &tautomer_tensor::Nd<i128>| a.iter().next().copied().ok_or_else(missing);
            let (a, b, d) = (first(a)?, first(b)?, first(d)?);
            let n = int_steps(a, b, d).ok_or_else(endless)?;
            count(&[n])?;
            Value::Int(shaped(&[n], (0..n as i128).map(|i| a + i * d).collect())?)
        }
        (Value::Real(a), Value::Real(b), Value::Real(d)) => {
            let first = |a: &tautomer_tensor::Nd<S>| a.iter().next().cloned().ok_or_else(missing);
            let (a, b, d) = (first(a)?, first(b)?, first(d)?);
            let n = steps(a.to_f64()?, b.to_f64()?, d.to_f64()?).ok_or_else(endless)?;
            count(&[n])?;
            let number = |i: usize| a.add(&d.mul(&S::from_int(i as i128)));
            Value::Real(shaped(&[n], (0..n).map(number).collect())?)
        }
        _ => return Err(OpError::new("expected numbers")),
    }])
}

fn infer_one_hot(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_number, "a number")?;
    let values = call.tensor(1)?;
    if let Some(shape) = &values.shape
        && (shape.len() != 1 || shape[0].as_const().is_some_and(|n| n != 2))
    {
        return Err(OpError::new(format!("`values` must be the two values off and on, but is {values}")).at(1));
    }
    let depth = call.int("depth");
    if let Some(Dim::Const(n)) = depth
        && n < 0
    {
        return Err(OpError::new(format!("`depth` must not be negative, but is {n}")).attr("depth"));
    }
    let Some(shape) = call.shape(0)? else {
        return Ok(typed(values.dtype, None));
    };
    let axis = call.axis("axis", shape.len() + 1)?;
    let mut out = shape.clone();
    out.insert(axis, depth.unwrap_or_else(|| call.unknown()));
    Ok(typed(values.dtype, Some(out)))
}

fn one_hot<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let indices = match e.operand(0)? {
        Value::Int(a) => a.clone(),
        Value::Real(a) => map(a, to_int)?,
        _ => return Err(OpError::new("expected numbers")),
    };
    let out = e.out_shape(0)?;
    let axis = e.axis("axis", out.len())?;
    let depth = out[axis] as i128;
    let on = |p: &[usize]| -> Result<bool, OpError> {
        let index = at(&indices, &[&p[..axis], &p[axis + 1..]].concat())?;
        let index = if index < 0 { index.saturating_add(depth) } else { index };
        Ok(index == p[axis] as i128)
    };
    Ok(vec![
        map_value!(e.operand(1)?, a => build(&out, |p| at(a, &[usize::from(on(p)?)]))?)?,
    ])
}

fn infer_non_zero(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d.is_number() || d == DType::Bool, "a number or a boolean")?;
    let rank = call.tensor(0)?.rank().map_or_else(|| call.unknown(), Dim::from);
    Ok(typed(DType::I64, Some([rank, call.unknown()].into_iter().collect())))
}

fn non_zero<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let holds = match x {
        Value::Real(a) => map(a, |x| Ok(*x != S::zero()))?,
        Value::Int(a) => map(a, |x| Ok(*x != 0))?,
        Value::Bool(a) => a.clone(),
        _ => return Err(OpError::new("expected numbers")),
    };
    let places: Vec<Vec<usize>> = holds
        .indexed_iter()
        .filter(|(_, on)| **on)
        .map(|(p, _)| ndarray::Dimension::slice(&p).to_vec())
        .collect();
    let shape = [holds.ndim(), places.len()];
    Ok(vec![Value::Int(build(&shape, |p| Ok(places[p[1]][p[0]] as i128))?)])
}

fn infer_eye(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if let Some(shape) = &x.shape
        && shape.len() != 2
    {
        return Err(OpError::new(format!("`x` must be a matrix, but is {x}")).at(0));
    }
    let dtype = call.dtype("dtype").unwrap_or(x.dtype);
    if !dtype.is_number() && dtype != DType::Bool {
        return Err(OpError::new(format!("type {dtype} cannot represent 1")));
    }
    let shape = x.shape.clone().unwrap_or_else(|| call.unknown_shape(2));
    Ok(typed(dtype, Some(shape)))
}

fn eye<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let out = e.out_shape(0)?;
    let (k, dtype) = (i128::from(e.int("k").unwrap_or(0)), e.out_dtype());
    let on = |p: &[usize]| p[1] as i128 - p[0] as i128 == k;
    Ok(vec![if dtype.is_float() {
        Value::Real(build(&out, |p| Ok(if on(p) { S::one() } else { S::zero() }))?)
    } else if dtype == DType::Bool {
        Value::Bool(build(&out, |p| Ok(on(p)))?)
    } else {
        Value::Int(build(&out, |p| Ok(i128::from(on(p))))?)
    }])
}

fn infer_trilu(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d.is_number() || d == DType::Bool, "a number or a boolean")?;
    let x = call.tensor(0)?;
    if let Some(i) = call.attr_operand("k") {
        call.expect_dtype(i, DType::is_int, "an integer")?;
    }
    if x.rank().is_some_and(|rank| rank < 2) {
        return Err(OpError::new(format!("`x` must have at least 2 axes, but is {x}")).at(0));
    }
    same(call)
}

fn trilu<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let (k, upper, rank) = (i128::from(e.int("k").unwrap_or(0)), e.flag("upper"), x.shape().len());
    let keep = |p: &[usize]| {
        let diagonal = p[rank - 1] as i128 - p[rank - 2] as i128;
        if upper { diagonal >= k } else { diagonal <= k }
    };
    Ok(vec![match x {
        _ if rank < 2 => return Err(OpError::new("expected at least 2 axes")),
        Value::Real(a) => Value::Real(build(a.shape(), |p| if keep(p) { at(a, p) } else { Ok(S::zero()) })?),
        Value::Int(a) => Value::Int(build(a.shape(), |p| if keep(p) { at(a, p) } else { Ok(0) })?),
        Value::Bool(a) => Value::Bool(build(a.shape(), |p| if keep(p) { at(a, p) } else { Ok(false) })?),
        _ => return Err(OpError::new("expected numbers")),
    }])
}
