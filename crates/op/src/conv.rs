//! Convolutions over any number of spatial axes, forward and transposed.

use super::common::{Out, count, flat, set};
use super::cost::{elements, extent};
use super::value::shaped;
use super::window::{AUTO_PAD, DILATIONS, Grid, PADS, Positions, STRIDES, Tap, Windows, list, spatial};
use super::{
    AttrDef, AttrKind, AttrValue, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, OpTraits, Operand, Products,
    ShapeRule, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Dim, Shape, TensorType, Type};

const XWB: &[Operand] = &[Operand::one("x"), Operand::one("w"), Operand::optional("b").ranked(1)];
pub(super) const GROUP: AttrDef = AttrDef::new(
    "group",
    AttrKind::Int,
    Default::Int(1),
    "number of groups of channels; each group is convolved separately",
);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "conv",
        "Convolution of `x[n, c, ...]` with kernels `w[m, c / group, ...]`, plus `b[m]`.",
    )
    .aliases(&["conv1d", "conv2d", "conv3d"])
    .operands(XWB)
    .attrs(&[AUTO_PAD, STRIDES, PADS, DILATIONS, GROUP])
    .canonical(canonical_conv)
    .infer(infer_conv)
    .reference(reference!(conv))
    .formula(Formula::Product(Products::Convolution))
    .traits(OpTraits::LINEAR)
    .cost(CostRule::Flops(conv_flops))
    .shapes(ShapeRule::Convolution { transposed: false })
    .onnx("Conv", 1),
    OpDef::new(
        "conv_transpose",
        "Transposed convolution: adds `w[c, m / group, ...]` times each element of `x[n, c, ...]`, plus `b[m]`.",
    )
    .aliases(&["conv1d_transpose", "conv2d_transpose", "conv3d_transpose"])
    .operands(XWB)
    .attrs(&[
        AUTO_PAD,
        STRIDES,
        PADS,
        DILATIONS,
        GROUP,
        AttrDef::new(
            "output_padding",
            AttrKind::Ints,
            Default::None,
            "elements added at the end of each spatial axis of the result; 0 if left out",
        ),
        AttrDef::new(
            "output_shape",
            AttrKind::Ints,
            Default::None,
            "spatial dimensions of the result, which determine the pads",
        ),
    ])
    .canonical(canonical_transpose)
    .infer(infer_transpose)
    .reference(reference!(conv_transpose))
    .formula(Formula::Product(Products::TransposedConvolution))
    .traits(OpTraits::LINEAR)
    .cost(CostRule::Flops(transpose_flops))
    .shapes(ShapeRule::Convolution { transposed: true })
    .onnx("ConvTranspose", 1),
];

/// Checks the ranks of `x` and `w`, and returns the number of spatial axes if one of them is known.
fn spatial_rank(call: &Infer<'_>) -> Result<Option<usize>, OpError> {
    let (x, w) = (call.tensor(0)?, call.tensor(1)?);
    for (i, ty) in [(0, x), (1, w)] {
        if ty.rank().is_some_and(|r| r < 3) {
            let name = call.def.operand(i).map_or("", |o| o.name);
            return Err(OpError::new(format!(
                "`{name}` is {ty}, but needs a batch or output axis, a channel axis and at least one spatial axis"
            ))
            .at(i));
        }
    }
    if let (Some(a), Some(b)) = (x.rank(), w.rank())
        && a != b
    {
        return Err(
            OpError::new(format!("`x` is {x} and `w` is {w}: ranks {a} and {b} differ"))
                .at(0)
                .and(1),
        );
    }
    Ok(x.rank().or(w.rank()).map(|r| r - 2))
}

/// The windows of a convolution, whose dimensions are those of `w`.
fn windows(call: &Infer<'_>, rank: usize) -> Result<Windows, OpError> {
    let kernel = match call.shape(1)? {
        Some(w) => spatial(w).to_vec(),
        None => (0..rank).map(|_| call.unknown()).collect(),
    };
    Windows::read(&|name| call.attr(name), kernel)
}

/// The number of groups, if it is a constant.
fn groups(call: &Infer<'_>) -> Result<Dim, OpError> {
    let group = call.int("group").unwrap_or(Dim::Const(1));
    match group.as_const() {
        Some(g) if g < 1 => Err(OpError::new(format!("`group` must be at least 1, but is {g}")).attr("group")),
        _ => Ok(group),
    }
}

fn element_types(call: &Infer<'_>) -> Result<DType, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    if call.optional(2)?.is_some() {
        call.same_dtype(0, 2)?;
    }
    Ok(dtype)
}

fn known_to_differ(a: &Dim, b: &Dim) -> bool {
    matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b)
}

fn divides(call: &Infer<'_>, operand: usize, axis: usize, what: &str, group: &Dim) -> Result<(), OpError> {
    let Some(shape) = call.shape(operand)? else {
        return Ok(());
    };
    match (shape[axis].as_const(), group.as_const()) {
        (Some(n), Some(g)) if n % g != 0 => Err(OpError::new(format!(
            "{n} {what} cannot be split into {g} groups of equal size"
        ))
        .at(operand)
        .attr("group")),
        _ => Ok(()),
    }
}

fn bias(call: &Infer<'_>, channels: &Dim) -> Result<(), OpError> {
    let Some(b) = call.optional(2)? else { return Ok(()) };
    let Some(shape) = &b.shape else { return Ok(()) };
    if shape.len() != 1 || known_to_differ(&shape[0], channels) {
        return Err(OpError::new(format!(
            "`b` must be a vector of {channels}, one for each output channel, but is {b}"
        ))
        .at(2));
    }
    Ok(())
}

pub(super) fn canonical_conv(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(rank) = spatial_rank(call)? {
        windows(call, rank)?.fill(call, attrs, call.shape(0)?.map(spatial));
    }
    Ok(())
}

fn infer_conv(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = element_types(call)?;
    let group = groups(call)?;
    let Some(rank) = spatial_rank(call)? else {
        return Ok(TensorType::any_rank(dtype).into());
    };
    let windows = windows(call, rank)?;
    let (x, w) = (call.shape(0)?, call.shape(1)?);
    if let (Some(x), Some(w)) = (x, w) {
        let expected = w[1].clone() * group.clone();
        if known_to_differ(&x[1], &expected) {
            return Err(OpError::new(format!(
                "`x` has {} channels (axis 1 of {x}), but `w` takes {expected}: {} (axis 1 of {w}) times {group} group(s)",
                x[1], w[1]
            ))
            .at(0)
            .and(1));
        }
    }
    divides(call, 1, 0, "output channels", &group)?;
    let channels = w.map_or_else(|| call.unknown(), |w| w[0].clone());
    bias(call, &channels)?;
    let mut out: Shape = match x {
        Some(x) => [x[0].clone(), channels].into_iter().collect(),
        None => [call.unknown(), channels].into_iter().collect(),
    };
    match x.filter(|_| w.is_some()) {
        Some(x) => windows.counts(spatial(x))?.into_iter().for_each(|d| out.push(d)),
        None => (0..rank).for_each(|_| out.push(call.unknown())),
    }
    Ok(TensorType {
        dtype,
        shape: Some(out),
    }
    .into())
}

/// Spatial dimensions, pads and output padding of a transposed convolution.
struct Transposed {
    windows: Windows,
    out: Vec<Dim>,
    /// Pads before and after each axis, where they are known.
    pads: Vec<Option<(Dim, Dim)>>,
    /// Output padding after enlarging the result to the requested size, where it is known.
    output_padding: Vec<Dim>,
}

fn transposed(attr: &dyn Fn(&str) -> AttrValue, windows: Windows, input: &[Dim]) -> Result<Transposed, OpError> {
    use super::window::AutoPad;
    let n = windows.kernel.len();
    let mut output_padding = list(attr, "output_padding", n, 0, 0)?;
    let asked = match attr("output_shape") {
        AttrValue::Ints(_) => Some(list(attr, "output_shape", n, 0, 0)?),
        _ => None,
    };
    let (mut out, mut pads) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for (i, extent) in input.iter().enumerate() {
        let one = Dim::Const(1);
        let whole = windows.strides[i].clone() * (extent.clone() - one) + output_padding[i].clone() + windows.span(i);
        let wanted = match &asked {
            Some(asked) => asked[i].clone(),
            None if windows.auto_pad == AutoPad::Explicit => {
                let (before, after) = (windows.pads[i].clone(), windows.pads[n + i].clone());
                let size = whole - before.clone() - after.clone();
                if size.as_const().is_some_and(|s| s < 0) {
                    return Err(OpError::new(format!(
                        "pads ({before}, {after}) exceed the size of spatial axis {i} of the result"
                    ))
                    .attr("pads"));
                }
                out.push(size);
                pads.push(Some((before, after)));
                continue;
            }
            None => extent.clone() * windows.strides[i].clone(),
        };
        let total = (whole - wanted.clone()).as_const();
        pads.push(total.map(|total| {
            // Missing elements are added at the end.
            if total < 0 {
                output_padding[i] = output_padding[i].clone() - Dim::Const(total);
            }
            let total = total.max(0);
            let (small, large) = (Dim::Const(total / 2), Dim::Const(total - total / 2));
            if windows.auto_pad == AutoPad::SameUpper {
                (small, large)
            } else {
                (large, small)
            }
        }));
        out.push(wanted);
    }
    Ok(Transposed {
        windows,
        out,
        pads,
        output_padding,
    })
}

fn canonical_transpose(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let Some(rank) = spatial_rank(call)? else { return Ok(()) };
    let windows = windows(call, rank)?;
    let Some(x) = call.shape(0)? else { return Ok(()) };
    let t = transposed(&|name| call.attr(name), windows, spatial(x))?;
    set(call, attrs, "strides", AttrValue::Ints(t.windows.strides.clone()));
    set(call, attrs, "dilations", AttrValue::Ints(t.windows.dilations.clone()));
    let Some(pads) = t.pads.into_iter().collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let (before, after): (Vec<_>, Vec<_>) = pads.into_iter().unzip();
    set(call, attrs, "pads", AttrValue::Ints([before, after].concat()));
    set(call, attrs, "auto_pad", AttrValue::str("NOTSET"));
    set(call, attrs, "output_padding", AttrValue::Ints(t.output_padding));
    set(call, attrs, "output_shape", AttrValue::None);
    Ok(())
}

fn infer_transpose(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = element_types(call)?;
    let group = groups(call)?;
    let Some(rank) = spatial_rank(call)? else {
        return Ok(TensorType::any_rank(dtype).into());
    };
    let windows = windows(call, rank)?;
    let (x, w) = (call.shape(0)?, call.shape(1)?);
    if let (Some(x), Some(w)) = (x, w)
        && known_to_differ(&x[1], &w[0])
    {
        return Err(OpError::new(format!(
            "`x` has {} channels (axis 1 of {x}), but `w` takes {} (axis 0 of {w})",
            x[1], w[0]
        ))
        .at(0)
        .and(1));
    }
    divides(call, 1, 0, "input channels", &group)?;
    let channels = w.map_or_else(|| call.unknown(), |w| w[1].clone() * group);
    bias(call, &channels)?;
    let mut out: Shape = [x.map_or_else(|| call.unknown(), |x| x[0].clone()), channels]
        .into_iter()
        .collect();
    match x.filter(|_| w.is_some()) {
        Some(x) => transposed(&|name| call.attr(name), windows, spatial(x))?
            .out
            .into_iter()
            .for_each(|d| out.push(d)),
        None => (0..rank).for_each(|_| out.push(call.unknown())),
    }
    Ok(TensorType {
        dtype,
        shape: Some(out),
    }
    .into())
}

fn result_elements(result: &Type) -> f64 {
    result.as_tensor().map_or(1.0, |t| elements(t.shape.as_ref()))
}

fn conv_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let each = call
        .shape(1)
        .ok()
        .flatten()
        .map_or(32.0, |w| w[1..].iter().map(extent).product());
    2.0 * result_elements(result) * each
}

/// The operations of a convolution and of the steps after it.
pub(super) fn fused_flops(call: &Infer<'_>, result: &Type) -> f64 {
    conv_flops(call, result) + steps_after(call) * result_elements(result)
}

/// How many operations a fused call makes for each element of its result after the sum.
pub(super) fn steps_after(call: &Infer<'_>) -> f64 {
    let residual = call.operands.get(3).is_some_and(|operand| *operand.ty != Type::Absent);
    f64::from(u8::from(residual)) + f64::from(u8::from(!call.attr("activation").is_none()))
}

fn transpose_flops(call: &Infer<'_>, _: &Type) -> f64 {
    let x = elements(call.shape(0).ok().flatten());
    let each = call
        .shape(1)
        .ok()
        .flatten()
        .map_or(32.0, |w| w[1..].iter().map(extent).product());
    2.0 * x * each
}

/// The windows of a call whose kernel has the shape `w`.
fn kernel_windows<S: System>(e: &Eval<'_, S>, w: &[usize]) -> Result<Windows, OpError> {
    let kernel = w.get(2..).unwrap_or(&[]).iter().map(|&d| Dim::from(d)).collect();
    Windows::read(&|name| e.attr(name).clone(), kernel)
}

fn group_count<S: System>(e: &Eval<'_, S>) -> Result<usize, OpError> {
    e.int("group")
        .and_then(|g| usize::try_from(g).ok())
        .filter(|&g| g > 0)
        .ok_or_else(|| OpError::new("the number of groups is unknown"))
}

/// The initial value of each output channel.
fn start<S: System>(e: &Eval<'_, S>, channels: usize) -> Result<Vec<S>, OpError> {
    let start = match e.optional(2) {
        Some(b) => flat(b.real()?),
        None => vec![S::zero(); channels],
    };
    if start.len() != channels {
        return Err(OpError::new(format!("{} biases for {channels} channels", start.len())));
    }
    Ok(start)
}

fn conv<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, w) = (e.operand(0)?.real()?, e.operand(1)?.real()?);
    let shape = e.out_shape(0)?;
    let (xs, ws) = (x.shape().to_vec(), w.shape().to_vec());
    let (input, output) = (&xs[2..], &shape[2..]);
    let grid = Grid::over(&kernel_windows(e, &ws)?, input)?;
    let (points, window) = (count(input)?, count(&ws[2..])?);
    let places = count(output)?;
    let group = group_count(e)?;
    let (batch, channels, inner) = (shape[0], shape[1], ws[1]);
    let per_group = channels / group;
    let mut out = vec![S::zero(); count(&shape)?];
    let (x, w, start) = (flat(x), flat(w), start(e, channels)?);
    for (place, at) in Positions::of(output)?.enumerate() {
        let taps: Vec<Tap> = grid.taps(&at);
        for n in 0..batch {
            for m in 0..channels {
                let first = (n * xs[1] + (m / per_group.max(1)) * inner) * points;
                let mut acc = start[m].clone();
                for c in 0..inner {
                    let (xc, wc) = (first + c * points, (m * inner + c) * window);
                    for &(p, k) in &taps {
                        acc = acc.add(&x[xc + p].mul(&w[wc + k]));
                    }
                }
                out[(n * channels + m) * places + place] = acc;
            }
        }
    }
    Ok(vec![Value::Real(shaped(&shape, out)?)])
}

fn conv_transpose<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (x, w) = (e.operand(0)?.real()?, e.operand(1)?.real()?);
    let shape = e.out_shape(0)?;
    let (xs, ws) = (x.shape().to_vec(), w.shape().to_vec());
    let (input, output) = (&xs[2..], &shape[2..]);
    let extents: Vec<Dim> = input.iter().map(|&d| Dim::from(d)).collect();
    let t = transposed(&|name| e.attr(name).clone(), kernel_windows(e, &ws)?, &extents)?;
    let pads = t
        .pads
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| OpError::new("the pads are unknown"))?;
    // The windows slide over the result: each element of `x` is added to one of them.
    let grid = Grid::new(&t.windows, &pads, output)?;
    let (points, window) = (count(input)?, count(&ws[2..])?);
    let places = count(output)?;
    let group = group_count(e)?;
    let (batch, channels, per_group) = (shape[0], shape[1], ws[1]);
    let inner = xs[1] / group;
    let mut out = Vec::with_capacity(count(&shape)?);
    for _ in 0..batch {
        for value in start(e, channels)? {
            out.resize(out.len() + places, value);
        }
    }
    let (x, w) = (flat(x), flat(w));
    for (point, at) in Positions::of(input)?.enumerate() {
        let taps: Vec<Tap> = grid.taps(&at);
        for n in 0..batch {
            for c in 0..xs[1] {
                let factor = &x[(n * xs[1] + c) * points + point];
                for m in 0..per_group {
                    let channel = (c / inner.max(1)) * per_group + m;
                    let (oc, wc) = ((n * channels + channel) * places, (c * per_group + m) * window);
                    for &(p, k) in &taps {
                        out[oc + p] = out[oc + p].add(&factor.mul(&w[wc + k]));
                    }
                }
            }
        }
    }
    Ok(vec![Value::Real(shaped(&shape, out)?)])
}
