//! Conversion between floating-point numbers and small integers, with a scale and a zero point for a whole tensor, for
//! each position of an axis, or for each block of positions.

use super::common::{set, typed};
use super::{AttrValue, Infer, OpError};
use tautomer_tensor::{DType, DTypeClass, Dim, Shape, Type};

/// Counts the axis from the front. A single scale has no axis and no blocks.
fn canonical_axis(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let (Some(x), Some(scale)) = (call.tensor(0)?.rank(), call.shape(1)?) else {
        return Ok(());
    };
    let one = scale.is_empty() || (scale.len() == 1 && scale[0] == Dim::Const(1));
    let axis = if one { 1 } else { call.axis("axis", x)? as i64 };
    set(call, attrs, "axis", AttrValue::int(axis));
    if one && call.const_int("block_size").is_some_and(|block| block > 0) {
        set(call, attrs, "block_size", AttrValue::int(0));
    }
    Ok(())
}

pub(super) fn canonical_quantize(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let named = call.dtype("output_dtype");
    let zero = call.optional(2)?.map(|t| t.dtype);
    if let (Some(named), Some(zero)) = (named, zero)
        && named != zero
    {
        return Err(
            OpError::new(format!("`output_dtype` is {named}, but the zero point is {zero}"))
                .at(2)
                .attr("output_dtype"),
        );
    }
    let dtype = zero.or(named).unwrap_or(DType::U8);
    set(call, attrs, "output_dtype", AttrValue::DType(dtype));
    canonical_axis(call, attrs)
}

pub(super) fn canonical_dequantize(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if call.dtype("output_dtype").is_none() {
        set(call, attrs, "output_dtype", AttrValue::DType(call.tensor(1)?.dtype));
    }
    canonical_axis(call, attrs)
}

/// True for a scalar or a vector of one element, which models use interchangeably.
fn is_single(shape: &Shape) -> bool {
    shape.len() <= 1 && shape.size() == Dim::Const(1)
}

/// Checks the shape of the scale, and that the zero point has the same.
fn scales(call: &Infer<'_>) -> Result<(), OpError> {
    call.expect_dtype(1, DType::is_float, "a floating-point number")?;
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    let differ = |a: &Dim, b: &Dim| matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b);
    if let Some(zero) = call.optional(2)?
        && let (Some(a), Some(b)) = (&scale.shape, &zero.shape)
        && (a.len() != b.len() || a.iter().zip(b.iter()).any(|(a, b)| differ(a, b)))
        && !(is_single(a) && is_single(b))
    {
        return Err(
            OpError::new(format!("the scale is {scale}, but the zero point is {zero}"))
                .at(1)
                .and(2),
        );
    }
    let (Some(whole), Some(given)) = (&x.shape, &scale.shape) else {
        return Ok(());
    };
    let block = call.const_int("block_size").unwrap_or(0);
    if block < 0 {
        return Err(OpError::new(format!("`block_size` must not be negative, but is {block}")).attr("block_size"));
    }
    let wrong = |why: &str| {
        Err(OpError::new(format!("the scale {scale} {why} of `x`, {x}"))
            .at(1)
            .and(0))
    };
    if given.is_empty() || (given.len() == 1 && given[0] == Dim::Const(1)) {
        return Ok(());
    }
    let axis = call.axis("axis", whole.len())?;
    if block > 0 {
        let blocks = |n: i64| Dim::Const(n / block + i64::from(n % block != 0));
        let expected: Shape = whole
            .iter()
            .enumerate()
            .map(|(i, d)| match d.as_const() {
                Some(n) if i == axis => blocks(n),
                None if i == axis => given.get(i).cloned().unwrap_or(Dim::Const(0)),
                _ => d.clone(),
            })
            .collect();
        if given.len() != whole.len() || given.iter().zip(expected.iter()).any(|(a, b)| differ(a, b)) {
            return wrong("does not have one number for each block");
        }
    } else if given.len() != 1 || differ(&given[0], &whole[axis]) {
        return wrong("does not have one number for each position of an axis");
    }
    Ok(())
}

/// True for the types that numbers can be quantized to.
fn small(dtype: DType) -> bool {
    let narrow = dtype.class() == DTypeClass::Narrow && dtype != DType::F8E8M0;
    narrow || matches!(dtype, DType::U8 | DType::I8 | DType::U16 | DType::I16)
}

pub(super) fn infer_quantize(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d.is_float() || d == DType::I32, "a number")?;
    scales(call)?;
    let dtype = call.dtype("output_dtype").unwrap_or(DType::U8);
    if !small(dtype) {
        return Err(OpError::new(format!("the result is {dtype}, but must have 16 bits or less")).attr("output_dtype"));
    }
    if let Some(precision) = call.dtype("precision")
        && !precision.is_float()
    {
        return Err(OpError::new(format!(
            "`precision` is {precision}, which is not a floating-point type"
        ))
        .attr("precision"));
    }
    Ok(typed(dtype, call.shape(0)?.cloned()))
}

pub(super) fn infer_dequantize(call: &Infer<'_>) -> Result<Type, OpError> {
    let ok = |d: DType| small(d) || d == DType::I32;
    call.expect_dtype(0, ok, "a small integer or i32")?;
    if call.optional(2)?.is_some() {
        call.same_dtype(0, 2)?;
    }
    scales(call)?;
    let dtype = call.dtype("output_dtype").unwrap_or(call.tensor(1)?.dtype);
    if !dtype.is_float() {
        return Err(
            OpError::new(format!("the result is {dtype}, which is not a floating-point type")).attr("output_dtype"),
        );
    }
    Ok(typed(dtype, call.shape(0)?.cloned()))
}

pub(super) fn infer_dynamic(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d == DType::F32, "f32")?;
    let scalar = || Some(Shape::from(&[] as &[usize]));
    Ok(Type::Tuple(vec![
        typed(DType::U8, call.shape(0)?.cloned()),
        typed(DType::F32, scalar()),
        typed(DType::U8, scalar()),
    ]))
}
