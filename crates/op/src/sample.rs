//! Sampling: interpolated values at computed positions of a tensor.

use super::common::{at, build, count, flat, strides, typed};
use super::{AttrDef, AttrKind, CostRule, Default, Formula, Number, OpDef, OpError, Operand, ShapeRule};
use crate::reference;
use tautomer_tensor::Dim;

mod deform;
mod grid;
mod roi;
mod taps;

pub use taps::{GridAxis, bin_samples};

const X: Operand = Operand::one("x");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "grid_sample",
        "Samples `x` at the positions in `grid`, last spatial axis first, with coordinates from -1 to 1.",
    )
    .operands(&[X, Operand::one("grid")])
    .attrs(&[
        AttrDef::new(
            "align_corners",
            AttrKind::Bool,
            Default::Bool(false),
            "whether -1 and 1 are the centres of the outermost elements instead of their outer edges",
        ),
        AttrDef::new(
            "mode",
            AttrKind::OneOf(&["linear", "nearest", "cubic"]),
            Default::Str("linear"),
            "how a value between elements is determined",
        ),
        AttrDef::new(
            "padding_mode",
            AttrKind::OneOf(&["zeros", "border", "reflection"]),
            Default::Str("zeros"),
            "the values outside `x`",
        ),
    ])
    .infer(grid::infer)
    .reference(reference!(grid::evaluate))
    .formula(Formula::Whole)
    .cost(CostRule::Elementwise(16.0))
    .onnx("GridSample", 16),
    OpDef::new(
        "roi_align",
        "Divides regions of `x` into bins, and takes the mean or maximum of samples of each bin.",
    )
    .operands(&[X, Operand::one("rois"), Operand::one("batch_indices")])
    .attrs(&[
        AttrDef::new(
            "coordinate_transformation_mode",
            AttrKind::OneOf(&["half_pixel", "output_half_pixel"]),
            Default::Str("half_pixel"),
            "whether coordinates count from the centre of the first element",
        ),
        AttrDef::new(
            "mode",
            AttrKind::OneOf(&["avg", "max"]),
            Default::Str("avg"),
            "mean or maximum",
        ),
        AttrDef::new(
            "output_height",
            AttrKind::Int,
            Default::Int(1),
            "the number of bins along the first spatial axis",
        ),
        AttrDef::new(
            "output_width",
            AttrKind::Int,
            Default::Int(1),
            "the number of bins along the second spatial axis",
        ),
        AttrDef::new(
            "sampling_ratio",
            AttrKind::Int,
            Default::Int(0),
            "samples of a bin along each axis; 0 for as many as the bin has elements",
        ),
        AttrDef::new(
            "spatial_scale",
            AttrKind::Float,
            Default::Float(1.0),
            "the number of elements per unit of the region coordinates",
        ),
    ])
    .infer(roi::infer)
    .reference(reference!(roi::evaluate))
    .formula(Formula::Whole)
    .cost(CostRule::Elementwise(32.0))
    .onnx("RoiAlign", 16),
    OpDef::new(
        "deform_conv",
        "A convolution with an offset, and optionally a factor, for each window element at each position.",
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
        AttrDef::new(
            "group",
            AttrKind::Int,
            Default::Int(1),
            "the number of groups of channels",
        ),
        AttrDef::new(
            "offset_group",
            AttrKind::Int,
            Default::Int(1),
            "the number of groups of channels with separate offsets",
        ),
        super::window::PADS,
        super::window::STRIDES,
    ])
    .infer(deform::infer)
    .reference(reference!(deform::evaluate))
    .formula(Formula::Whole)
    .shapes(ShapeRule::DeformedConvolution)
    .cost(CostRule::Flops(deform::flops))
    .onnx("DeformConv", 19),
];

/// Elements along one axis with their weights.
type Taps = Vec<(usize, f64)>;

/// The weighted sum of the elements of a channel over all combinations of taps of its axes.
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
            .ok_or_else(|| OpError::new("a sample is outside its channel"))?;
        sum = sum.add(&element.mul(&S::from_f64(weight)?));
    }
    Ok(sum)
}

/// The neighbours of `place` for linear interpolation; those outside the axis are left out.
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
