//! `roi_align`

use super::{at, bin_samples, build, count, differ, flat, strides, typed};
use crate::common::Out;
use crate::elementwise::larger;
use crate::{Eval, Infer, OpError, System, Value};
use tautomer_tensor::{DType, Dim, Shape, Type};

pub(super) fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    call.same_dtype(0, 1)?;
    call.expect_dtype(2, DType::is_int, "a list of integers")?;
    let mut bins = Vec::new();
    for name in ["output_height", "output_width"] {
        let n = call.int(name).unwrap_or(Dim::Const(1));
        if n.as_const().is_some_and(|n| n < 1) {
            return Err(OpError::new(format!("`{name}` must be at least 1, but is {n}")).attr(name));
        }
        bins.push(n);
    }
    let fits = |i: usize, rank: usize| -> Result<Option<&Shape>, OpError> {
        let shape = call.shape(i)?;
        let name = call.def.operands[i].name;
        match shape {
            Some(s) if s.len() != rank => Err(OpError::new(format!("`{name}` has {} axes, not {rank}", s.len())).at(i)),
            _ => Ok(shape),
        }
    };
    let (x, rois, batch) = (fits(0, 4)?, fits(1, 2)?, fits(2, 1)?);
    if let Some(rois) = rois
        && differ(&rois[1], &Dim::Const(4))
    {
        return Err(OpError::new(format!("a region has 4 coordinates, but `rois` is {rois}")).at(1));
    }
    let number = rois.or(batch).map_or_else(|| call.unknown(), |s| s[0].clone());
    let channels = x.map_or_else(|| call.unknown(), |s| s[1].clone());
    Ok(typed(dtype, Some([number, channels].into_iter().chain(bins).collect())))
}

/// The maximum number of samples of a bin.
const MAX_SAMPLES: usize = 1 << 20;

pub(super) fn evaluate<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, rois) = (e.operand(0)?.real()?, e.operand(1)?.real()?);
    let batches = flat(e.operand(2)?.int()?);
    let out = e.out_shape(0)?;
    let scale = e.float("spatial_scale").unwrap_or(1.0);
    let half = e.text("coordinate_transformation_mode") == "half_pixel";
    let ratio = usize::try_from(e.int("sampling_ratio").unwrap_or(0)).unwrap_or(0);
    let mean = e.text("mode") != "max";
    let extents = [x.shape()[2], x.shape()[3]];
    let (elements, points, steps) = (flat(x), count(&extents)?, strides(&extents));
    // The start and size of a bin along each axis, for each region.
    let mut regions = Vec::with_capacity(out[0]);
    for n in 0..out[0] {
        let corner = |i: usize| -> Result<f64, OpError> {
            Ok(at(rois, &[n, i])?.to_f64()? * scale - if half { 0.5 } else { 0.0 })
        };
        let mut axes = Vec::with_capacity(2);
        for (axis, bins) in [(1, out[2]), (0, out[3])] {
            let (from, to) = (corner(axis)?, corner(axis + 2)?);
            let extent = if half { to - from } else { (to - from).max(1.0) };
            let bin = extent / bins as f64;
            let number = if ratio > 0 {
                ratio
            } else {
                bin.ceil().clamp(0.0, 1e6) as usize
            };
            axes.push((from, bin, number));
        }
        if axes.iter().map(|(_, _, n)| *n).fold(1, usize::saturating_mul) > MAX_SAMPLES {
            return Err(OpError::new("a region has too many samples").at(1));
        }
        regions.push(axes);
    }
    let pooled = build(&out, |p| {
        let batch = batches
            .get(p[0])
            .and_then(|&b| usize::try_from(b).ok())
            .filter(|&b| b < x.shape()[0]);
        let batch = batch.ok_or_else(|| OpError::new("the batch index of a region is out of range").at(2))?;
        let first = (batch * x.shape()[1] + p[1]) * points;
        let axis = |i: usize| {
            let (start, bin, number) = regions[p[0]][i];
            bin_samples(start + p[2 + i] as f64 * bin, bin, number, extents[i])
        };
        let (rows, columns) = (axis(0), axis(1));
        let number = (rows.clone().count() * columns.clone().count()).max(1);
        let mut values: Vec<S> = Vec::new();
        for row in rows {
            for column in columns.clone() {
                let (Some(row), Some(column)) = (row, column) else {
                    values.push(S::zero());
                    continue;
                };
                for (i, v) in row {
                    for (j, w) in column {
                        let element = &elements[first + i * steps[0] + j * steps[1]];
                        values.push(element.mul(&S::from_f64(v * w)?));
                    }
                }
            }
        }
        if mean {
            return Ok(crate::reduce::total(values).div(&S::from_int(number as i128))?);
        }
        let mut values = values.into_iter();
        let first = values.next().unwrap_or_else(S::zero);
        values.try_fold(first, |best, v| larger(&best, &v))
    })?;
    Ok(vec![Value::Real(pooled)])
}
