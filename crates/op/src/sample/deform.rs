//! `deform_conv`

use super::{Taps, combine, count, differ, flat, linear_inside, typed};
use crate::common::Out;
use crate::value::shaped;
use crate::window::{Positions, Windows, spatial};
use crate::{AttrValue, Eval, Infer, OpError, System, Value};
use tautomer_tensor::{DType, Dim, Shape, Type};

fn windows(attr: &dyn Fn(&str) -> AttrValue, w: &Shape) -> Result<Windows, OpError> {
    Windows::read(attr, w.iter().skip(2).cloned().collect())
}

pub(super) fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    for i in 1..5 {
        if call.optional(i)?.is_some() {
            call.same_dtype(0, i)?;
        }
    }
    let (x, w, offset) = (call.shape(0)?, call.shape(1)?, call.shape(2)?);
    let Some(rank) = x.or(w).or(offset).map(|s| s.len()) else {
        return Ok(typed(dtype, None));
    };
    for (i, shape) in [x, w, offset].into_iter().enumerate() {
        if let Some(shape) = shape
            && (shape.len() != rank || rank < 3)
        {
            let name = call.def.operands[i].name;
            return Err(OpError::new(format!("`{name}` is {shape}, but {rank} axes are needed")).at(i));
        }
    }
    let channels = x.and_then(|x| x[1].as_const());
    let filters = w.and_then(|w| w[0].as_const());
    for (name, of, count) in [
        ("group", "the channels of `x`", channels),
        ("group", "the channels of the result", filters),
        ("offset_group", "the channels of `x`", channels),
    ] {
        let n = call.const_int(name);
        if n.is_some_and(|n| n < 1 || count.is_some_and(|c| c % n != 0)) {
            return Err(OpError::new(format!("`{name}` does not divide {of}")).attr(name));
        }
    }
    let mut out = call.unknown_shape(rank);
    if let Some(offset) = offset {
        out.iter_mut().zip(offset.iter()).for_each(|(o, d)| *o = d.clone());
        out[1] = call.unknown();
    }
    if let (Some(x), Some(w)) = (x, w) {
        let counts = windows(&|name| call.attr(name), w)?.counts(spatial(x))?;
        for (i, d) in counts.into_iter().enumerate() {
            if differ(&out[i + 2], &d) {
                let message = format!(
                    "`offset` has {} positions along axis {}, but the window has {d}",
                    out[i + 2],
                    i + 2
                );
                return Err(OpError::new(message).at(2));
            }
            out[i + 2] = d;
        }
        let channels = call.int("group").unwrap_or(Dim::Const(1)) * w[1].clone();
        if differ(&x[1], &channels) {
            return Err(
                OpError::new(format!("`x` has {} channels, but the weights are for {channels}", x[1]))
                    .at(0)
                    .and(1),
            );
        }
        if let (Some(offset), Some(groups)) = (offset, call.int("offset_group")) {
            let elements = w
                .iter()
                .skip(2)
                .cloned()
                .fold(groups * Dim::from(rank - 2), |a, b| a * b);
            if differ(&offset[1], &elements) {
                let message = format!("`offset` has {} channels, but {elements} are needed", offset[1]);
                return Err(OpError::new(message).at(2));
            }
        }
    }
    if let (Some(x), Some(offset)) = (x, offset)
        && differ(&x[0], &offset[0])
    {
        let message = format!("`offset` has a batch of {}, but `x` has one of {}", offset[0], x[0]);
        return Err(OpError::new(message).at(0).and(2));
    }
    if let Some(x) = x {
        out[0] = x[0].clone();
    }
    if let Some(w) = w {
        out[1] = w[0].clone();
    }
    Ok(typed(dtype, Some(out)))
}

pub(super) fn flops(call: &Infer<'_>, result: &Type) -> f64 {
    let window: f64 = match call.shape(1) {
        Ok(Some(w)) => w.iter().skip(1).map(crate::cost::extent).product(),
        _ => 9.0,
    };
    let elements = result
        .as_tensor()
        .map_or(1.0, |t| crate::cost::elements(t.shape.as_ref()));
    elements * window * 10.0
}

pub(super) fn evaluate<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, w, offset) = (e.operand(0)?.real()?, e.operand(1)?.real()?, e.operand(2)?.real()?);
    let out = e.out_shape(0)?;
    let windows = windows(&|name| e.attr(name).clone(), &Shape::from(w.shape()))?;
    let known = |list: &[Dim]| -> Result<Vec<i64>, OpError> {
        let values: Option<Vec<i64>> = list.iter().map(Dim::as_const).collect();
        values.ok_or_else(|| OpError::new("the window is unknown"))
    };
    let (steps, dilations, pads) = (
        known(&windows.strides)?,
        known(&windows.dilations)?,
        known(&windows.pads)?,
    );
    let group = usize::try_from(e.int("group").unwrap_or(1)).unwrap_or(1).max(1);
    let offset_group = usize::try_from(e.int("offset_group").unwrap_or(1)).unwrap_or(1).max(1);
    let (kernel, extents, positions) = (&w.shape()[2..], &x.shape()[2..], &out[2..]);
    let (taps, points, places) = (count(kernel)?, count(extents)?, count(positions)?);
    let (n, channels, inner) = (kernel.len(), x.shape()[1], w.shape()[1]);
    if channels != group * inner || out[1] % group != 0 || channels % offset_group != 0 {
        return Err(OpError::new("the groups do not fit the channels").at(1));
    }
    let shifts = [&[out[0], offset_group * taps * n], positions].concat();
    if *offset.shape() != *shifts {
        return Err(OpError::new("`offset` does not fit the window").at(2));
    }
    let mask = match e.optional(4) {
        None => None,
        Some(mask) if mask.shape() == [&[out[0], offset_group * taps], positions].concat() => Some(flat(mask.real()?)),
        Some(_) => return Err(OpError::new("`mask` does not fit the window").at(4)),
    };
    let bias = e.optional(3).map(|b| b.real().map(flat)).transpose()?;
    let (x, w, offset) = (flat(x), flat(w), flat(offset));
    let (mut result, size) = (vec![S::zero(); count(&out)?], out[1] / group);
    let kernel_places: Vec<Vec<usize>> = Positions::of(kernel)?.collect();
    for batch in 0..out[0] {
        for (place, position) in Positions::of(positions)?.enumerate() {
            // The samples of each window element for each channel.
            let mut samples = vec![S::zero(); channels * taps];
            for (t, at) in kernel_places.iter().enumerate() {
                for g in 0..offset_group {
                    let axis = |d: usize| -> Result<Taps, OpError> {
                        let channel = (g * taps + t) * n + d;
                        let shift = offset[(batch * offset_group * taps * n + channel) * places + place].to_f64()?;
                        let start = position[d] as i64 * steps[d] - pads[d] + at[d] as i64 * dilations[d];
                        Ok(linear_inside(start as f64 + shift, extents[d]))
                    };
                    let axes = (0..n).map(axis).collect::<Result<Vec<_>, _>>()?;
                    let factor = mask
                        .as_ref()
                        .map(|m| &m[(batch * offset_group * taps + g * taps + t) * places + place]);
                    let share = channels / offset_group;
                    for c in g * share..(g + 1) * share {
                        let first = (batch * channels + c) * points;
                        let sample = combine(&x[first..first + points], extents, &axes)?;
                        samples[c * taps + t] = factor.map_or(sample.clone(), |f| sample.mul(f));
                    }
                }
            }
            for o in 0..out[1] {
                let first = o / size.max(1) * inner * taps;
                let mut sum = bias.as_ref().and_then(|b| b.get(o).cloned()).unwrap_or_else(S::zero);
                for k in 0..inner * taps {
                    sum = sum.add(&samples[first + k].mul(&w[o * inner * taps + k]));
                }
                result[(batch * out[1] + o) * places + place] = sum;
            }
        }
    }
    Ok(vec![Value::Real(shaped(&out, result)?)])
}
