//! The reverse of windows: adding columns into an image, and putting maxima back at their positions.

use super::common::{Out, count, flat, int_operand, operand_len, strides, typed};
use super::value::shaped;
use super::window::{DILATIONS, PADS, Positions, STRIDES, Windows};
use super::{
    AttrDef, AttrKind, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, Operand, ShapeRule, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, Type};

const X: Operand = Operand::one("x");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "col2im",
        "Adds columns, one for each window position, into the images they were taken from.",
    )
    .operands(&[X, Operand::attr("image_shape"), Operand::attr("block_shape")])
    .attrs(&[
        AttrDef::new(
            "image_shape",
            AttrKind::Ints,
            Default::Required,
            "the dimensions of an image",
        ),
        AttrDef::new(
            "block_shape",
            AttrKind::Ints,
            Default::Required,
            "the dimensions of the window",
        ),
        DILATIONS,
        PADS,
        STRIDES,
    ])
    .infer(infer_columns)
    .reference(reference!(columns))
    .formula(Formula::Whole)
    .shapes(ShapeRule::Columns)
    .cost(CostRule::PerInput(1.0))
    .onnx("Col2Im", 18),
    OpDef::new(
        "max_unpool",
        "Puts elements back at the positions from which they were pooled, with zeros elsewhere.",
    )
    .operands(&[X, Operand::one("indices"), Operand::attr("output_shape")])
    .attrs(&[
        AttrDef::new(
            "kernel_shape",
            AttrKind::Ints,
            Default::Required,
            "the dimensions of the window",
        ),
        STRIDES,
        PADS,
        AttrDef::new(
            "output_shape",
            AttrKind::Ints,
            Default::None,
            "the shape of the result, with zeros beyond what the windows cover",
        ),
    ])
    .infer(infer_unpool)
    .reference(reference!(unpool))
    .formula(Formula::Whole)
    .cost(CostRule::Elementwise(0.0))
    .onnx("MaxUnpool", 9),
];

fn infer_columns(call: &Infer<'_>) -> Result<Type, OpError> {
    int_operand(call, "image_shape")?;
    int_operand(call, "block_shape")?;
    let x = call.tensor(0)?;
    call.expect_dtype(0, DType::is_number, "a number")?;
    if x.rank().is_some_and(|rank| rank != 3) {
        return Err(OpError::new(format!("`x` must be a batch of columns, but is {x}")).at(0));
    }
    let (image, block) = (call.ints("image_shape"), call.ints("block_shape"));
    let axes = image
        .as_ref()
        .map(Vec::len)
        .or_else(|| block.as_ref().map(Vec::len))
        .or_else(|| operand_len(call, "image_shape"))
        .or_else(|| operand_len(call, "block_shape"));
    let Some(n) = axes else {
        return Ok(typed(x.dtype, None));
    };
    let mut out = call.unknown_shape(n + 2);
    if let Some(shape) = &x.shape {
        out[0] = shape[0].clone();
    }
    if let Some(image) = &image {
        if let Some(d) = image.iter().find(|d| d.as_const().is_some_and(|n| n < 0)) {
            return Err(OpError::new(format!("dimension {d} in `image_shape` is not valid")).attr("image_shape"));
        }
        out.iter_mut().skip(2).zip(image).for_each(|(o, d)| *o = d.clone());
    }
    if let Some(block) = block {
        if block.len() != n {
            return Err(OpError::new(format!(
                "`block_shape` has {} entries, but an image has {n} axes",
                block.len()
            ))
            .attr("block_shape"));
        }
        let elements = block.iter().cloned().fold(Dim::Const(1), |a, b| a * b);
        if elements.as_const().is_some_and(|n| n < 1) {
            return Err(OpError::new("the window is empty").attr("block_shape"));
        }
        let windows = Windows::read(&|name| call.attr(name), block)?;
        if let Some(shape) = &x.shape {
            if let (Some(channels), Some(n)) = (shape[1].as_const(), elements.as_const())
                && channels % n != 0
            {
                return Err(OpError::new(format!("{channels} rows are not a multiple of the window size {n}")).at(0));
            }
            out[1] = shape[1].floor_div(&elements);
            if let Some(image) = image {
                let places = windows.counts(&image)?.into_iter().fold(Dim::Const(1), |a, b| a * b);
                if matches!((&places, &shape[2]), (Dim::Const(a), Dim::Const(b)) if a != b) {
                    return Err(OpError::new(format!("the window has {places} positions, but `x` is {x}")).at(0));
                }
            }
        }
    }
    Ok(typed(x.dtype, Some(out)))
}

fn columns<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let out = e.out_shape(0)?;
    let block = e
        .ints("block_shape")
        .ok_or_else(|| OpError::new("the window is unknown"))?;
    let windows = Windows::read(
        &|name| e.attr(name).clone(),
        block.iter().copied().map(Dim::Const).collect(),
    )?;
    let image = &out[2..];
    let extents: Vec<Dim> = image.iter().copied().map(Dim::from).collect();
    let known = |list: Vec<Dim>| -> Result<Vec<i64>, OpError> {
        let values: Option<Vec<i64>> = list.iter().map(Dim::as_const).collect();
        values.ok_or_else(|| OpError::new("the window is unknown"))
    };
    let places: Vec<usize> = known(windows.counts(&extents)?)?
        .iter()
        .map(|&n| n.max(0) as usize)
        .collect();
    let block: Vec<usize> = block.iter().map(|&n| n.max(0) as usize).collect();
    let (step, dilation, pads) = (
        known(windows.strides.clone())?,
        known(windows.dilations.clone())?,
        known(windows.pads.clone())?,
    );
    let (elements, number, points) = (count(&block)?, count(&places)?, count(image)?);
    if e.operand(0)?.shape() != [out[0], out[1] * elements, number] {
        return Err(OpError::new(format!(
            "the window has {elements} elements and {number} positions, which does not match `x`"
        ))
        .at(0));
    }
    // The position in the image of each window element at each window position, if it is inside.
    let inner = strides(image);
    let mut targets = Vec::with_capacity(elements * number);
    for element in Positions::of(&block)? {
        for place in Positions::of(&places)? {
            let point = (0..image.len()).try_fold(0, |sum, i| {
                let at = place[i] as i64 * step[i] - pads[i] + element[i] as i64 * dilation[i];
                let at = usize::try_from(at).ok().filter(|&at| at < image[i])?;
                Some(sum + at * inner[i])
            });
            targets.push(point);
        }
    }
    let size = count(&out)?;
    let place = |i: usize| targets[i % targets.len()].map(|point| i / targets.len() * points + point);
    Ok(vec![match e.operand(0)? {
        Value::Real(a) => {
            let mut sum = vec![S::zero(); size];
            for (i, x) in a.iter().enumerate() {
                if let Some(to) = place(i) {
                    sum[to] = sum[to].add(x);
                }
            }
            Value::Real(shaped(&out, sum)?)
        }
        Value::Int(a) => {
            let (mut sum, dtype) = (vec![0i128; size], e.out_dtype());
            for (i, x) in a.iter().enumerate() {
                if let Some(to) = place(i) {
                    sum[to] = dtype.wrap(sum[to].wrapping_add(*x));
                }
            }
            Value::Int(shaped(&out, sum)?)
        }
        _ => return Err(OpError::new("expected numbers")),
    }])
}

/// The dimensions covered by the windows for operand dimensions `x`: `(x - 1) * stride + kernel - pads`.
fn covered(windows: &Windows, x: &[Dim]) -> Vec<Dim> {
    let n = windows.kernel.len();
    x.iter()
        .enumerate()
        .map(|(i, d)| {
            (d.clone() - Dim::Const(1)) * windows.strides[i].clone() + windows.kernel[i].clone()
                - windows.pads[i].clone()
                - windows.pads[i + n].clone()
        })
        .collect()
}

fn unpool_windows(call: &Infer<'_>) -> Result<Windows, OpError> {
    let kernel = call
        .ints("kernel_shape")
        .ok_or_else(|| OpError::new("the dimensions of the window are unknown").attr("kernel_shape"))?;
    Windows::read(&|name| call.attr(name), kernel)
}

fn infer_unpool(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    call.expect_dtype(0, DType::is_number, "a number")?;
    call.expect_dtype(1, DType::is_int, "integers")?;
    int_operand(call, "output_shape")?;
    let windows = unpool_windows(call)?;
    let rank = windows.kernel.len() + 2;
    if x.rank().is_some_and(|r| r != rank) {
        return Err(OpError::new(format!("the window has {} axes, but `x` is {x}", rank - 2)).at(0));
    }
    let from_windows: Option<Shape> = x.shape.as_ref().map(|shape| {
        let spatial = covered(&windows, &shape[2..]);
        shape.iter().take(2).cloned().chain(spatial).collect()
    });
    let out = match call.ints("output_shape") {
        Some(dims) if dims.len() != rank => {
            return Err(
                OpError::new(format!("`output_shape` has {} entries for {rank} axes", dims.len())).attr("output_shape"),
            );
        }
        Some(dims) => {
            if let Some(least) = &from_windows
                && least
                    .iter()
                    .zip(&dims)
                    .any(|(a, b)| matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a > b))
            {
                return Err(OpError::new(format!(
                    "`output_shape` is smaller than the {least} covered by the windows"
                ))
                .attr("output_shape"));
            }
            dims.into_iter().collect()
        }
        None if call.is_dynamic("output_shape") => call.unknown_shape(rank),
        None => from_windows.unwrap_or_else(|| call.unknown_shape(rank)),
    };
    Ok(typed(x.dtype, Some(out)))
}

fn unpool<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, places) = (e.operand(0)?, flat(e.operand(1)?.int()?));
    let kernel = e.ints("kernel_shape").unwrap_or_default();
    let windows = Windows::read(
        &|name| e.attr(name).clone(),
        kernel.into_iter().map(Dim::Const).collect(),
    )?;
    let spatial: Vec<Dim> = x.shape()[2..].iter().copied().map(Dim::from).collect();
    let inner: Option<Vec<usize>> = covered(&windows, &spatial)
        .iter()
        .map(|d| usize::try_from(d.as_const()?).ok())
        .collect();
    let inner = inner.ok_or_else(|| OpError::new("the dimensions covered by the windows are unknown"))?;
    let inner = [&x.shape()[..2], &inner].concat();
    let (out, size) = (e.out_shape(0)?, count(&inner)?);
    let (from, to) = (strides(&inner), strides(&out));
    // Indices refer to the area covered by the windows, which is at the front of the result.
    let target = |index: i128| -> Result<usize, OpError> {
        let outside = || OpError::new(format!("index {index} is out of range for {size} elements")).at(1);
        let mut rest = usize::try_from(index).ok().filter(|&i| i < size).ok_or_else(outside)?;
        let mut offset = 0;
        for (a, b) in from.iter().zip(&to) {
            offset += rest / a * b;
            rest %= a;
        }
        Ok(offset)
    };
    let targets = places.into_iter().map(target).collect::<Result<Vec<_>, _>>()?;
    let total = count(&out)?;
    let missing = || OpError::new("an index is outside the result").at(1);
    Ok(vec![match x {
        Value::Real(a) => {
            let mut y = vec![S::zero(); total];
            for (x, &to) in a.iter().zip(&targets) {
                *y.get_mut(to).ok_or_else(missing)? = x.clone();
            }
            Value::Real(shaped(&out, y)?)
        }
        Value::Int(a) => {
            let mut y = vec![0i128; total];
            for (x, &to) in a.iter().zip(&targets) {
                *y.get_mut(to).ok_or_else(missing)? = *x;
            }
            Value::Int(shaped(&out, y)?)
        }
        _ => return Err(OpError::new("expected numbers")),
    }])
}
