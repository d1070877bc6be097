//! Resizing by interpolation, one axis at a time.

use super::common::{Out, count, flat, set};
use super::value::shaped;
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand,
    Refused, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Shape, TensorType, Type};

/// The mode in which positions lie in a region of interest given by `roi`.
const CROP: &str = "tf_crop_and_resize";

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "resize",
    "Resizes `x` by factors `scales` or to `sizes`, by picking elements or by interpolation.",
)
.aliases(&["upsample"])
.operands(&[
    Operand::one("x"),
    Operand::optional("roi"),
    Operand::attr("scales"),
    Operand::attr("sizes"),
])
.attrs(&[
    AttrDef::new(
        "mode",
        AttrKind::OneOf(&["nearest", "linear", "cubic"]),
        Default::Str("nearest"),
        "how a value between elements is determined",
    ),
    AttrDef::new(
        "coordinate_transformation_mode",
        AttrKind::OneOf(&[
            "half_pixel",
            "half_pixel_symmetric",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_crop_and_resize",
        ]),
        Default::Str("half_pixel"),
        "how a position of the result maps to one of `x`",
    ),
    AttrDef::new(
        "nearest_mode",
        AttrKind::OneOf(&["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]),
        Default::Str("round_prefer_floor"),
        "how positions are rounded to the nearest element",
    ),
    AttrDef::new(
        "cubic_coeff_a",
        AttrKind::Float,
        Default::Float(-0.75),
        "the coefficient of cubic interpolation",
    ),
    AttrDef::new(
        "exclude_outside",
        AttrKind::Bool,
        Default::Bool(false),
        "whether interpolation ignores positions beyond the edge instead of repeating the edge",
    ),
    AttrDef::new(
        "extrapolation_value",
        AttrKind::Float,
        Default::Float(0.0),
        "the value where a region of interest extends beyond the edge",
    ),
    AttrDef::new(
        "antialias",
        AttrKind::Bool,
        Default::Bool(false),
        "whether to widen the filter when the result is smaller",
    ),
    AttrDef::new(
        "axes",
        AttrKind::Axes(AxisOf::Input),
        Default::None,
        "the axes that `scales` and `sizes` list; all if left out",
    ),
    AttrDef::new(
        "keep_aspect_ratio_policy",
        AttrKind::OneOf(&["stretch", "not_larger", "not_smaller"]),
        Default::Str("stretch"),
        "whether `sizes` are exact or bounds",
    ),
    AttrDef::new(
        "scales",
        AttrKind::Floats,
        Default::None,
        "the factor for each dimension",
    ),
    AttrDef::new("sizes", AttrKind::Ints, Default::None, "the shape of the result"),
])
.canonical(canonical)
.infer(infer)
.reference(reference!(resize))
.formula(Formula::Whole)
.traits(OpTraits::LINEAR)
.cost(CostRule::Elementwise(8.0))
.onnx("Resize", 11)];

fn canonical(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    // ONNX also leaves a list out by passing an empty one.
    if call.floats("scales").is_some_and(|s| s.is_empty()) {
        set(call, attrs, "scales", AttrValue::None);
    }
    if call.ints("sizes").is_some_and(|s| s.is_empty()) {
        set(call, attrs, "sizes", AttrValue::None);
    }
    let mode = call.text("mode");
    if mode != "nearest" {
        set(call, attrs, "nearest_mode", AttrValue::str("round_prefer_floor"));
    }
    if mode != "cubic" {
        set(call, attrs, "cubic_coeff_a", AttrValue::float(-0.75));
    }
    // With two neighbours of which one is outside, both settings give the other neighbour.
    if mode == "nearest" || (mode == "linear" && !call.flag("antialias")) {
        set(call, attrs, "exclude_outside", AttrValue::Bool(false));
    }
    if call.text("coordinate_transformation_mode") != CROP {
        set(call, attrs, "extrapolation_value", AttrValue::float(0.0));
    }
    if let (Some(axes), Some(rank)) = (call.const_ints("axes"), call.tensor(0)?.rank())
        && axes.iter().copied().eq(0..rank as i64)
    {
        set(call, attrs, "axes", AttrValue::None);
    }
    Ok(())
}

/// What is known about the size of each listed axis.
enum Target {
    Scales(Vec<f64>),
    Sizes(Vec<Dim>),
    Unknown,
}

fn target(scales: Option<Vec<f64>>, sizes: Option<Vec<Dim>>, dynamic: bool) -> Result<Target, OpError> {
    let scales = scales.filter(|s| !s.is_empty());
    let sizes = sizes.filter(|s| !s.is_empty());
    match (scales, sizes) {
        (Some(_), Some(_)) => Err(OpError::new("`scales` and `sizes` are both given").attr("sizes")),
        (Some(scales), None) => {
            if let Some(bad) = scales.iter().find(|s| !(s.is_finite() && **s > 0.0)) {
                return Err(OpError::new(format!("scales must be positive, but one is {bad:?}")).attr("scales"));
            }
            Ok(Target::Scales(scales))
        }
        (None, Some(sizes)) => {
            if let Some(bad) = sizes.iter().filter_map(Dim::as_const).find(|&s| s < 0) {
                return Err(OpError::new(format!("sizes must not be negative, but one is {bad}")).attr("sizes"));
            }
            Ok(Target::Sizes(sizes))
        }
        (None, None) if dynamic => Ok(Target::Unknown),
        (None, None) => {
            Err(OpError::new("neither `scales` nor `sizes` is given")
                .help("`resize(x) {scales = [1.0, 1.0, 2.0, 2.0]}`"))
        }
    }
}

/// The listed axes, checked against the rank and the length of the list.
fn listed(axes: Option<Vec<usize>>, rank: usize, entries: Option<usize>, name: &str) -> Result<Vec<usize>, OpError> {
    let axes = axes.unwrap_or_else(|| (0..rank).collect());
    match entries {
        Some(n) if n != axes.len() => {
            Err(OpError::new(format!("`{name}` has {n} entries, but {} axes are resized", axes.len())).attr(name))
        }
        _ => Ok(axes),
    }
}

/// `extent` times `scale`, rounded down, computed in single precision like ONNX.
fn scaled(extent: &Dim, scale: f64) -> Option<Dim> {
    if let Some(extent) = extent.as_const() {
        return Some(Dim::Const((extent as f32 * scale as f32).floor() as i64));
    }
    let inverse = 1.0 / scale;
    if scale.fract() == 0.0 && scale < 1e9 {
        Some(extent.clone() * Dim::Const(scale as i64))
    } else if inverse.fract() == 0.0 && inverse < 1e9 {
        Some(extent.floor_div(&Dim::Const(inverse as i64)))
    } else {
        None
    }
}

/// The common factor of all axes if the aspect ratio is kept.
fn common_scale(policy: &str, extents: &[i64], sizes: &[i64]) -> Option<f64> {
    let ratios = extents.iter().zip(sizes).map(|(&e, &s)| s as f64 / e as f64);
    match policy {
        "not_larger" => ratios.reduce(f64::min),
        "not_smaller" => ratios.reduce(f64::max),
        _ => None,
    }
}

fn round_half_up(value: f64) -> i64 {
    (value + 0.5).floor() as i64
}

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if call.text("mode") != "nearest" {
        call.expect_dtype(0, DType::is_number, "a number")?;
    }
    if call.text("mode") == "nearest" && call.flag("antialias") {
        return Err(OpError::new("`antialias` does not apply to mode `nearest`").attr("antialias"));
    }
    if call.text("coordinate_transformation_mode") == CROP {
        if call.optional(1)?.is_none() {
            return Err(OpError::new("`roi` is missing").attr("coordinate_transformation_mode"));
        }
        if !call.attr("scales").is_none() || call.is_dynamic("scales") {
            return Err(OpError::new("a region of interest needs `sizes` instead of `scales`").attr("scales"));
        }
    }
    let dynamic = call.is_dynamic("scales") || call.is_dynamic("sizes");
    let target = target(call.floats("scales"), call.ints("sizes"), dynamic)?;
    let Some(shape) = &x.shape else {
        return Ok(TensorType::any_rank(x.dtype).into());
    };
    let (entries, name) = match &target {
        Target::Scales(s) => (Some(s.len()), "scales"),
        Target::Sizes(s) => (Some(s.len()), "sizes"),
        Target::Unknown => (None, ""),
    };
    let axes = listed(call.axes("axes", shape.len())?, shape.len(), entries, name)?;
    let policy = call.text("keep_aspect_ratio_policy");
    let stretch = matches!(policy.as_str(), "" | "stretch");
    let mut out: Shape = shape.clone();
    let common = match &target {
        Target::Sizes(sizes) if !stretch => {
            let extents: Option<Vec<i64>> = axes.iter().map(|&a| shape[a].as_const()).collect();
            let sizes: Option<Vec<i64>> = sizes.iter().map(Dim::as_const).collect();
            extents.zip(sizes).and_then(|(e, s)| common_scale(&policy, &e, &s))
        }
        _ => None,
    };
    for (i, &axis) in axes.iter().enumerate() {
        let known = match &target {
            Target::Scales(scales) => scaled(&shape[axis], scales[i]),
            Target::Sizes(sizes) if stretch => Some(sizes[i].clone()),
            Target::Sizes(_) => common
                .zip(shape[axis].as_const())
                .map(|(scale, e)| Dim::Const(round_half_up(scale * e as f64))),
            Target::Unknown => None,
        };
        out[axis] = known.unwrap_or_else(|| call.unknown());
    }
    Ok(TensorType {
        dtype: x.dtype,
        shape: Some(out),
    }
    .into())
}

/// How one axis is resized.
struct Axis {
    axis: usize,
    input: usize,
    output: usize,
    /// The factor before the size is rounded.
    scale: f64,
    /// The region of interest along the axis, from 0 to 1.
    region: Option<(f64, f64)>,
}

impl Axis {
    /// The position in the operand that position `at` of the result maps to.
    fn position(&self, at: usize, transformation: &str) -> f64 {
        let (x, input, output) = (at as f64, self.input as f64, self.scale * self.input as f64);
        let half_pixel = (x + 0.5) / self.scale - 0.5;
        match transformation {
            "align_corners" if output == 1.0 => 0.0,
            "align_corners" => x * (input - 1.0) / (output - 1.0),
            "asymmetric" => x / self.scale,
            CROP => {
                let ((from, to), last) = (self.region.unwrap_or((0.0, 1.0)), input - 1.0);
                let step = if output == 1.0 { 0.5 } else { x / (output - 1.0) };
                step * (to - from) * last + from * last
            }
            "pytorch_half_pixel" if self.output <= 1 => 0.0,
            "half_pixel_symmetric" => input / 2.0 * (1.0 - self.output as f64 / output) + half_pixel,
            _ => half_pixel,
        }
    }

    /// True if position `at` of the result lies beyond the edge of the operand; only for regions of interest.
    fn beyond(&self, at: usize, transformation: &str) -> bool {
        let inside = 0.0..=self.input as f64 - 1.0;
        transformation == CROP && !inside.contains(&self.position(at, transformation))
    }

    /// The position of the element of the operand nearest to `at`, clamped to the edges.
    fn clamp(&self, at: f64) -> usize {
        at.clamp(0.0, self.input as f64 - 1.0) as usize
    }

    /// The element of the operand picked for each position of the result.
    fn nearest(&self, transformation: &str, rounding: &str) -> Vec<usize> {
        let place = |at| {
            let x = self.position(at, transformation);
            let ratio = x - x.floor();
            self.clamp(match rounding {
                "floor" => x.floor(),
                "ceil" => x.ceil(),
                "round_prefer_ceil" if ratio >= 0.5 => x.ceil(),
                _ if ratio > 0.5 => x.ceil(),
                _ => x.floor(),
            })
        };
        (0..self.output).map(place).collect()
    }

    /// The elements of the operand and their weights for each position of the result.
    fn weighted(&self, transformation: &str, filter: &Filter) -> Vec<Vec<(usize, f64)>> {
        let weights = |at| {
            let x = self.position(at, transformation);
            let (low, r) = (x.floor(), x - x.floor());
            let mut taps = match filter.cubic {
                _ if filter.wide => filter.widened(x, self.scale.min(1.0)),
                _ if r == 0.0 => vec![(low, 1.0)],
                None => vec![(low, 1.0 - r), (low + 1.0, r)],
                Some(a) => {
                    let near = |d: f64| ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0;
                    let far = |d: f64| ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
                    vec![
                        (low - 1.0, far(r + 1.0)),
                        (low, near(r)),
                        (low + 1.0, near(1.0 - r)),
                        (low + 2.0, far(2.0 - r)),
                    ]
                }
            };
            let inside = |x: f64| x >= 0.0 && x < self.input as f64;
            if filter.exclude && taps.iter().any(|&(x, _)| inside(x)) {
                taps.retain(|&(x, _)| inside(x));
                let sum: f64 = taps.iter().map(|(_, w)| w).sum();
                taps.iter_mut().for_each(|(_, w)| *w /= sum);
            }
            taps.into_iter().map(|(x, w)| (self.clamp(x), w)).collect()
        };
        (0..self.output).map(weights).collect()
    }
}

/// How values between elements are determined.
struct Filter {
    /// The coefficient of cubic interpolation; `None` for linear interpolation.
    cubic: Option<f64>,
    /// Whether the filter is widened where the result is smaller.
    wide: bool,
    /// Whether positions beyond the edge are ignored.
    exclude: bool,
}

impl Filter {
    /// The positions around `x` and their weights, for a filter `1 / scale` times as wide.
    fn widened(&self, x: f64, scale: f64) -> Vec<(f64, f64)> {
        let reach = if self.cubic.is_some() { 2.0 } else { 1.0 };
        let weight = |d: f64| match self.cubic {
            None => (1.0 - d).max(0.0),
            Some(a) if d <= 1.0 => ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0,
            Some(a) if d < 2.0 => ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a,
            Some(_) => 0.0,
        };
        // A position exactly on an element counts as the end of the previous step.
        let base = x.ceil() - 1.0;
        let start = (-reach / scale).floor() as i64 + 1;
        let places = (start..2 - start).map(|i| base + i as f64);
        let taps: Vec<(f64, f64)> = places.map(|p| (p, weight(((p - x) * scale).abs()))).collect();
        let sum: f64 = taps.iter().map(|(_, w)| w).sum();
        taps.into_iter().map(|(p, w)| (p, w / sum)).collect()
    }
}

/// An element, from its index and the elements along the axis.
type OfLine<'f, T> = &'f mut dyn FnMut(usize, &dyn Fn(usize) -> T) -> T;

/// Replaces the elements along one axis: element `i` of the result is `f` of the elements along it.
fn along<T: Clone>(x: &[T], shape: &mut [usize], axis: &Axis, f: OfLine<'_, T>) -> Result<Vec<T>, OpError> {
    let inner: usize = shape[axis.axis + 1..].iter().product();
    let outer: usize = shape[..axis.axis].iter().product();
    shape[axis.axis] = axis.output;
    let mut out = Vec::with_capacity(count(shape)?);
    for block in 0..outer {
        for i in 0..axis.output {
            for j in 0..inner {
                let at = |k: usize| x[(block * axis.input + k) * inner + j].clone();
                out.push(f(i, &at));
            }
        }
    }
    Ok(out)
}

fn axes_of<S: System>(e: &Eval<'_, S>) -> Result<Vec<Axis>, OpError> {
    let input = e.operand(0)?.shape().to_vec();
    let output = e.out_shape(0)?;
    let sizes = match e.attr("sizes") {
        AttrValue::Ints(sizes) => Some(sizes.clone()),
        _ => None,
    };
    let target = target(e.floats("scales"), sizes, false)?;
    let (entries, name) = match &target {
        Target::Scales(s) => (s.len(), "scales"),
        Target::Sizes(s) => (s.len(), "sizes"),
        Target::Unknown => (0, ""),
    };
    let axes = listed(e.axes("axes", input.len())?, input.len(), Some(entries), name)?;
    let common = match &target {
        Target::Sizes(sizes) => {
            let extents: Vec<i64> = axes.iter().map(|&a| input[a] as i64).collect();
            let sizes: Vec<i64> = sizes.iter().filter_map(Dim::as_const).collect();
            common_scale(e.text("keep_aspect_ratio_policy"), &extents, &sizes)
        }
        _ => None,
    };
    let regions = match e.text("coordinate_transformation_mode") {
        CROP => Some(flat(e.operand(1)?.real()?)),
        _ => None,
    };
    if regions.as_ref().is_some_and(|r| r.len() != 2 * axes.len()) {
        return Err(OpError::new(format!("`roi` must have {} entries", 2 * axes.len())).at(1));
    }
    let mut out = Vec::with_capacity(axes.len());
    for (i, &axis) in axes.iter().enumerate() {
        let (from, to) = (input[axis], output[axis]);
        let region = match &regions {
            Some(r) => Some((r[i].to_f64()?, r[axes.len() + i].to_f64()?)),
            None => None,
        };
        if from == 0 && to > 0 {
            return Err(OpError::new(format!(
                "axis {axis} is empty and cannot be resized to {to}"
            )));
        }
        let scale = match &target {
            Target::Scales(scales) => scales[i],
            _ => common.unwrap_or(to as f64 / from as f64),
        };
        // An axis that keeps its size is left alone.
        if from != to || (scale - 1.0).abs() > 1e-9 || region.is_some_and(|r| r != (0.0, 1.0)) {
            out.push(Axis {
                axis,
                input: from,
                output: to,
                scale,
                region,
            });
        }
    }
    Ok(out)
}

fn pick<T: Clone>(x: &Nd<T>, axes: &[Axis], places: &[Vec<Option<usize>>], beyond: &T) -> Result<Nd<T>, OpError> {
    let mut shape = x.shape().to_vec();
    let mut values = flat(x);
    for (axis, places) in axes.iter().zip(places) {
        values = along(&values, &mut shape, axis, &mut |i, at| {
            places[i].map_or_else(|| beyond.clone(), at)
        })?;
    }
    shaped(&shape, values)
}

fn resize<S: System>(e: &Eval<'_, S>) -> Out<S> {
    count(&e.out_shape(0)?)?;
    let axes = axes_of(e)?;
    let transformation = e.text("coordinate_transformation_mode");
    let beyond = e.float("extrapolation_value").unwrap_or(0.0);
    if e.text("mode") == "nearest" {
        let rounding = e.text("nearest_mode");
        let inside = |axis: &Axis| -> Vec<Option<usize>> {
            let places = axis.nearest(transformation, rounding).into_iter().enumerate();
            places
                .map(|(at, place)| (!axis.beyond(at, transformation)).then_some(place))
                .collect()
        };
        let places: Vec<_> = axes.iter().map(inside).collect();
        return Ok(vec![match e.operand(0)? {
            Value::Real(x) => Value::Real(pick(x, &axes, &places, &S::from_f64(beyond)?)?),
            Value::Int(x) => Value::Int(pick(x, &axes, &places, &(beyond as i128))?),
            Value::Bool(x) => Value::Bool(pick(x, &axes, &places, &(beyond != 0.0))?),
            Value::Text(x) => Value::Text(pick(x, &axes, &places, &String::new())?),
            Value::Absent => return Err(OpError::new("an operand is missing")),
        }]);
    }
    let Value::Real(x) = e.operand(0)? else {
        return Err(OpError::new("integers can only be resized with `mode = \"nearest\"`").attr("mode"));
    };
    let filter = Filter {
        cubic: (e.text("mode") == "cubic").then(|| e.float("cubic_coeff_a").unwrap_or(-0.75)),
        wide: e.flag("antialias"),
        exclude: e.flag("exclude_outside"),
    };
    let beyond = S::from_f64(beyond)?;
    let mut shape = x.shape().to_vec();
    let mut values = flat(x);
    for axis in &axes {
        let weights = axis
            .weighted(transformation, &filter)
            .into_iter()
            .map(|taps| taps.into_iter().map(|(k, w)| Ok((k, S::from_f64(w)?))).collect())
            .collect::<Result<Vec<Vec<(usize, S)>>, Refused>>()?;
        values = along(&values, &mut shape, axis, &mut |i, at| {
            if axis.beyond(i, transformation) {
                return beyond.clone();
            }
            let mut terms = weights[i].iter().map(|(k, w)| at(*k).mul(w));
            let first = terms.next().unwrap_or_else(S::zero);
            terms.fold(first, |sum, term| sum.add(&term))
        })?;
    }
    Ok(vec![Value::Real(shaped(&shape, values)?)])
}
