//! Types of operators that take the shape of another operand, and of operators on axes named by letters.

use super::common::typed;
use super::{Infer, OpError};
use tautomer_tensor::{DType, Dim, Shape, Type};

pub(super) fn infer_reshape_like(call: &Infer<'_>) -> Result<Type, OpError> {
    let (x, target) = (call.tensor(0)?, call.tensor(1)?);
    if let (Some(from), Some(to)) = (&x.shape, &target.shape)
        && let (Dim::Const(a), Dim::Const(b)) = (from.size(), to.size())
        && a != b
    {
        return Err(OpError::new(format!(
            "`x` is {x} with {a} elements, but `target` is {target} with {b}"
        ))
        .at(0)
        .and(1));
    }
    Ok(typed(x.dtype, target.shape.clone()))
}

/// True if `small` may broadcast to `large`, as far as dimensions are known.
fn fits(small: &[Dim], large: &[Dim]) -> bool {
    let fits = |(s, l): (&Dim, &Dim)| !matches!((s, l), (Dim::Const(s), Dim::Const(l)) if s != l && *s != 1);
    small.len() <= large.len() && small.iter().rev().zip(large.iter().rev()).all(fits)
}

/// Checks that operand `small` broadcasts to the shape of operand `large`, as far as dimensions are known.
fn expect_broadcast(call: &Infer<'_>, small: usize, large: usize) -> Result<(), OpError> {
    let (a, b) = (call.tensor(small)?, call.tensor(large)?);
    match (&a.shape, &b.shape) {
        (Some(s), Some(l)) if !fits(s, l) => {}
        _ => return Ok(()),
    }
    let name = |i: usize| call.def.operand(i).map_or("", |o| o.name);
    Err(OpError::new(format!(
        "`{}` is {a}, which does not broadcast to `{}`, {b}",
        name(small),
        name(large)
    ))
    .at(small)
    .and(large))
}

pub(super) fn infer_broadcast_to_like(call: &Infer<'_>) -> Result<Type, OpError> {
    expect_broadcast(call, 0, 1)?;
    Ok(typed(call.tensor(0)?.dtype, call.shape(1)?.cloned()))
}

pub(super) fn infer_collapse_sum_like(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    expect_broadcast(call, 1, 0)?;
    Ok(typed(dtype, call.shape(1)?.cloned()))
}

pub(super) fn infer_collapse_sum_to(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    let wanted = call.ints("shape").unwrap_or_default();
    let x = call.tensor(0)?;
    let negative = wanted.iter().any(|d| d.as_const().is_some_and(|n| n < 0));
    if negative || x.shape.as_ref().is_some_and(|s| !fits(&wanted, s)) {
        let wanted: Shape = wanted.into_iter().collect();
        return Err(OpError::new(format!("`shape` is {wanted}, which does not broadcast to `x`, {x}")).attr("shape"));
    }
    Ok(typed(dtype, Some(wanted.into_iter().collect())))
}

/// The position of each letter of `to` in `from`.
fn places(from: &str, to: &str) -> Result<Vec<usize>, OpError> {
    let wrong = |attr: &str, message: String| Err(OpError::new(message).attr(attr));
    for (attr, text) in [("src_layout", from), ("dst_layout", to)] {
        let twice = |(i, c): (usize, char)| text[..i].contains(c);
        if let Some(c) = text.chars().find(|c| !c.is_ascii_uppercase()) {
            return wrong(attr, format!("`{attr}` is {text:?}; {c:?} is not a letter from A to Z"));
        }
        if text.char_indices().any(twice) {
            return wrong(attr, format!("`{attr}` is {text:?}; a letter is repeated"));
        }
    }
    let found: Option<Vec<usize>> = to.chars().map(|c| from.find(c)).collect();
    match found {
        Some(places) if from.len() == to.len() => Ok(places),
        _ => wrong("dst_layout", format!("{from:?} and {to:?} have different letters")),
    }
}

pub(super) fn infer_layout_transform(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let (from, to) = (call.text("src_layout"), call.text("dst_layout"));
    let places = places(&from, &to)?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, Some(call.unknown_shape(places.len()))));
    };
    if shape.len() != places.len() {
        return Err(OpError::new(format!(
            "{from:?} has {} letters, but `x` is {x} with {} axes",
            places.len(),
            shape.len()
        ))
        .at(0)
        .attr("src_layout"));
    }
    let moved: Shape = places.into_iter().map(|i| shape[i].clone()).collect();
    Ok(typed(x.dtype, Some(moved)))
}
