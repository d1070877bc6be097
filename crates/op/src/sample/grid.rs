//! `grid_sample`

use super::{GridAxis, Taps, build, combine, count, differ, flat, strides, typed};
use crate::common::Out;
use crate::{Eval, Infer, OpError, System, Value};
use tautomer_tensor::{DType, Dim, Nd, Shape, Type};

pub(super) fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if call.text("mode") != "nearest" {
        call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    }
    call.expect_dtype(1, DType::is_float, "a floating-point number")?;
    let (shape, grid) = (call.shape(0)?, call.shape(1)?);
    let Some(rank) = shape.or(grid).map(|s| s.len()) else {
        return Ok(typed(x.dtype, None));
    };
    if rank < 3 {
        return Err(OpError::new(format!(
            "`x` is {x}, but needs a batch axis, a channel axis and a spatial axis"
        ))
        .at(0));
    }
    if let (Some(shape), Some(grid)) = (shape, grid)
        && (grid.len() != rank || differ(&grid[0], &shape[0]))
    {
        return Err(
            OpError::new(format!("`grid` is {grid}, which does not fit `x`, {shape}"))
                .at(1)
                .and(0),
        );
    }
    if let Some(grid) = grid
        && differ(&grid[rank - 1], &Dim::from(rank - 2))
    {
        let message = format!(
            "the last axis of `grid` must have {} coordinates, but is {}",
            rank - 2,
            grid[rank - 1]
        );
        return Err(OpError::new(message).at(1));
    }
    let mut out: Shape = call.unknown_shape(rank);
    if let Some(shape) = shape {
        out[0] = shape[0].clone();
        out[1] = shape[1].clone();
    }
    if let Some(grid) = grid {
        out[0] = super::super::common::unify(&out[0], &grid[0]).unwrap_or_else(|| grid[0].clone());
        for i in 2..rank {
            out[i] = grid[i - 1].clone();
        }
    }
    Ok(typed(x.dtype, Some(out)))
}

/// The taps along each spatial axis for each element of the grid, batch by batch.
fn places<S: System>(e: &Eval<'_, S>) -> Result<Vec<Vec<Taps>>, OpError> {
    let (x, grid) = (e.operand(0)?.shape(), e.operand(1)?.real()?);
    let n = x.len().saturating_sub(2);
    let (mode, padding, corners) = (e.text("mode"), e.text("padding_mode"), e.flag("align_corners"));
    let (one, two) = (S::one(), S::from_int(2));
    let coordinates = flat(grid);
    coordinates
        .chunks(n.max(1))
        .map(|place| {
            place
                .iter()
                .rev()
                .zip(&x[2..])
                .map(|(g, &extent)| {
                    let length = S::from_int(extent as i128);
                    let shifted = g.add(&one);
                    let place = if corners {
                        shifted.div(&two)?.mul(&length.sub(&one))
                    } else {
                        shifted.mul(&length).sub(&one).div(&two)?
                    };
                    let axis = GridAxis::new(extent, corners, padding, mode);
                    Ok(axis.taps(place.to_f64()?).collect())
                })
                .collect()
        })
        .collect()
}

/// The elements given by single taps; `zero` where there is no tap.
fn pick<T: Clone>(x: &Nd<T>, out: &[usize], places: &[Vec<Taps>], zero: &T) -> Result<Nd<T>, OpError> {
    let (elements, steps) = (flat(x), strides(&x.shape()[2..]));
    let (points, samples) = (count(&x.shape()[2..])?, count(&out[2..])?);
    let inner = strides(&out[2..]);
    build(out, |p| {
        let sample: usize = p[2..].iter().zip(&inner).map(|(i, s)| i * s).sum();
        let taps = &places[p[0] * samples + sample];
        let offset = taps
            .iter()
            .zip(&steps)
            .try_fold(0, |sum, (axis, step)| Some(sum + axis.first()?.0 * step));
        let element = offset.and_then(|o| elements.get((p[0] * x.shape()[1] + p[1]) * points + o));
        Ok(element.unwrap_or(zero).clone())
    })
}

pub(super) fn evaluate<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, out, places) = (e.operand(0)?, e.out_shape(0)?, places(e)?);
    let samples = count(&out[2..])?;
    if e.text("mode") == "nearest" {
        return Ok(vec![match x {
            Value::Real(a) => Value::Real(pick(a, &out, &places, &S::zero())?),
            Value::Int(a) => Value::Int(pick(a, &out, &places, &0)?),
            Value::Bool(a) => Value::Bool(pick(a, &out, &places, &false)?),
            Value::Text(a) => Value::Text(pick(a, &out, &places, &String::new())?),
            Value::Absent => return Err(OpError::new("an operand is missing")),
        }]);
    }
    let a = x.real()?;
    let (elements, extents) = (flat(a), &a.shape()[2..]);
    let points = count(extents)?;
    let inner = strides(&out[2..]);
    let sampled = build(&out, |p| {
        let sample: usize = p[2..].iter().zip(&inner).map(|(i, s)| i * s).sum();
        let first = (p[0] * a.shape()[1] + p[1]) * points;
        combine(
            &elements[first..first + points],
            extents,
            &places[p[0] * samples + sample],
        )
    })?;
    Ok(vec![Value::Real(sampled)])
}
