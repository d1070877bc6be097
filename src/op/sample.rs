//! Sampling: elements between the positions of a tensor, at computed places.

use super::common::{Out, at, build, count, flat, int_operand, strides, typed};
use super::{AttrDef, AttrKind, CostRule, Default, Eval, Infer, Number, OpDef, OpError, Operand, System, Value};
use super::common::{at, build, count, flat, strides, typed};
use super::{AttrDef, AttrKind, CostRule, Default, Number, OpDef, OpError, Operand};
use crate::reference;
use crate::tensor::Dim;

mod deform;
mod grid;
mod roi;

const X: Operand = Operand::one("x");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "grid_sample",
        "`x` at the places that `grid` lists, last spatial axis first, from -1 to 1 along each.",
    )
    .operands(&[X, Operand::one("grid")])
    .attrs(&[
        AttrDef::new(
            "align_corners",
            AttrKind::Bool,
            Default::Bool(false),
            "-1 and 1 are the middles of the outermost elements, not their outer edges",
        ),
        AttrDef::new(
            "mode",
            AttrKind::OneOf(&["linear", "nearest", "cubic"]),
            Default::Str("linear"),
            "how an element between others is found",
        ),
        AttrDef::new(
            "padding_mode",
            AttrKind::OneOf(&["zeros", "border", "reflection"]),
            Default::Str("zeros"),
            "what lies outside of `x`",
        ),
    ])
    .infer(grid::infer)
    .reference(reference!(grid::evaluate))
    .cost(CostRule::Elementwise(16.0))
    .onnx("GridSample", 16),
    OpDef::new(
        "roi_align",
        "Each region of `x` divided into bins, and the mean or the largest of sampled elements of each.",
    )
    .operands(&[X, Operand::one("rois"), Operand::one("batch_indices")])
    .attrs(&[
        AttrDef::new(
            "coordinate_transformation_mode",
            AttrKind::OneOf(&["half_pixel", "output_half_pixel"]),
            Default::Str("half_pixel"),
            "whether coordinates count from the middle of the first element",
        ),
        AttrDef::new(
            "mode",
            AttrKind::OneOf(&["avg", "max"]),
            Default::Str("avg"),
            "mean or largest",
        ),
        AttrDef::new(
            "output_height",
            AttrKind::Int,
            Default::Int(1),
            "bins along the first spatial axis",
        ),
        AttrDef::new("output_width", AttrKind::Int, Default::Int(1), "bins along the second"),
        AttrDef::new(
            "sampling_ratio",
            AttrKind::Int,
            Default::Int(0),
            "samples of a bin along each axis; 0 for as many as it has elements",
        ),
        AttrDef::new(
            "spatial_scale",
            AttrKind::Float,
            Default::Float(1.0),
            "elements for a unit of the regions",
        ),
    ])
    .infer(roi::infer)
    .reference(reference!(roi::evaluate))
    .cost(CostRule::Elementwise(32.0))
    .onnx("RoiAlign", 16),
    OpDef::new(
        "deform_conv",
        "A convolution whose window has an offset, and a factor, for each of its elements at each position.",
    )
    .operands(&[
        X,
        Operand::one("w"),
        Operand::one("offset"),
        Operand::optional("b"),
        Operand::optional("mask"),
    ])
    .attrs(&[
        super::window::DILATIONS,
        AttrDef::new("group", AttrKind::Int, Default::Int(1), "groups of channels"),
        AttrDef::new(
            "offset_group",
            AttrKind::Int,
            Default::Int(1),
            "groups of channels with own offsets",
        ),
        super::window::PADS,
        super::window::STRIDES,
    ])
    .infer(deform::infer)
    .reference(reference!(deform::evaluate))
    .cost(CostRule::Flops(deform::flops))
    .onnx("DeformConv", 19),
];

/// Elements along one axis with their weights.
type Taps = Vec<(usize, f64)>;

/// The sum over all combinations of taps of the axes of a channel: weights times elements.
fn combine<S: Number>(x: &[S], extents: &[usize], taps: &[Taps]) -> Result<S, OpError> {
    let mut terms: Vec<(usize, f64)> = vec![(0, 1.0)];
    for (axis, step) in taps.iter().zip(strides(extents)) {
        terms = terms
            .iter()
            .flat_map(|&(offset, weight)| axis.iter().map(move |&(i, w)| (offset + i * step, weight * w)))
            .collect();
    }
    let mut sum = S::zero();
    for (offset, weight) in terms {
        let element = x
            .get(offset)
            .ok_or_else(|| OpError::new("a sample is outside of its channel"))?;
        sum = sum.add(&element.mul(&S::from_f64(weight)?));
    }
    Ok(sum)
}

/// The neighbours of `place` between which is interpolated linearly; those outside of the extent are left out.
fn linear_inside(place: f64, extent: usize) -> Taps {
    let (low, part) = (place.floor(), place - place.floor());
    [(low, 1.0 - part), (low + 1.0, part)]
        .into_iter()
        .filter(|&(i, w)| w != 0.0 && i >= 0.0 && i < extent as f64)
        .map(|(i, w)| (i as usize, w))
        .collect()
}

/// True if both are known and differ.
fn differ(a: &Dim, b: &Dim) -> bool {
    matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b)
}

fn infer_affine(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    int_operand(call, "size")?;
    let theta = call.tensor(0)?;
    let wrong = || {
        OpError::new(format!(
            "`theta` must be a batch of 2 by 3 or 3 by 4 matrices, and is {theta}"
        ))
        .at(0)
    };
    let mut spatial = None;
    if let Some(shape) = &theta.shape {
        let [_, rows, columns] = &shape[..] else {
            return Err(wrong());
        };
        spatial = rows.as_const().or_else(|| columns.as_const().map(|c| c - 1));
        if spatial.is_some_and(|n| !(2..=3).contains(&n) || differ(columns, &Dim::Const(n + 1))) {
            return Err(wrong());
        }
    }
    let size = match call.ints("size") {
        Some(size) => {
            let fits = size.len() >= 4 && spatial.is_none_or(|n| size.len() as i64 == n + 2);
            if !fits || size.iter().any(|d| d.as_const().is_some_and(|n| n < 0)) {
                return Err(OpError::new("`size` must be extents of a batch, channels and 2 or 3 axes").attr("size"));
            }
            Some(size)
        }
        None => None,
    };
    let axes = size
        .as_ref()
        .map(|s| s.len() - 2)
        .or(spatial.map(|n| n as usize))
        .or_else(|| super::common::operand_len(call, "size").and_then(|n| n.checked_sub(2)));
    let out = axes.map(|n| -> Shape {
        let batch = theta.shape.as_ref().map(|s| s[0].clone());
        let first = batch
            .or_else(|| size.as_ref().map(|s| s[0].clone()))
            .unwrap_or_else(|| call.unknown());
        let middle: Vec<Dim> = match &size {
            Some(size) => size[2..].to_vec(),
            None => (0..n).map(|_| call.unknown()).collect(),
        };
        [first].into_iter().chain(middle).chain([Dim::from(n)]).collect()
    });
    Ok(typed(dtype, out))
}

fn affine<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let theta = e.operand(0)?.real()?;
    let out = e.out_shape(0)?;
    let n = out.len().saturating_sub(2);
    if theta.shape() != [out[0], n, n + 1] {
        return Err(OpError::new("`theta` and `size` do not fit together").at(0));
    }
    let corners = e.flag("align_corners");
    let place = |i: usize, extent: usize| {
        let (i, extent) = (i as f64, extent as f64);
        match corners {
            true if extent <= 1.0 => -1.0,
            true => 2.0 * i / (extent - 1.0) - 1.0,
            false => (2.0 * i + 1.0) / extent - 1.0,
        }
    };
    let grid = build(&out, |p| {
        let row = p[n + 1];
        let mut sum = at(theta, &[p[0], row, n])?;
        for k in 0..n {
            // Coordinates are listed from the last axis to the first.
            let axis = n - 1 - k;
            let x = S::from_f64(place(p[1 + axis], out[1 + axis]))?;
            sum = sum.add(&at(theta, &[p[0], row, k])?.mul(&x));
        }
        Ok(sum)
    })?;
    Ok(vec![Value::Real(grid)])
}

#[cfg(test)]
mod tests;
