//! Operators that cut, join and pad along axes.

use super::common::{
    Out, axes_value, count, int_operand, known_axes, known_ints, operand_len, reshape, select_axes, set, to_int,
    transpose, typed, unify,
};
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Eval, Infer, OpDef, OpError, OpTraits, Operand, System,
    Value,
};
use crate::tensor::{DType, Dim, Nd, Shape, Type};
use crate::{map_value, reference};

const MOVE: CostRule = CostRule::Elementwise(0.0);
const VIEW: OpTraits = OpTraits::MOVEMENT.and(OpTraits::LINEAR);
const X: Operand = Operand::one("x");
const INPUT_AXES: AttrKind = AttrKind::Axes(AxisOf::Input);
const BLOCK: AttrDef = AttrDef::new(
    "blocksize",
    AttrKind::Int,
    Default::Required,
    "rows and columns of a block",
);

/// Ends of slices from here on mean the end of the axis, which is never so long: exporters write 10^9 or the largest
/// number there is.
const FAR: i64 = 1_000_000_000;

/// The most parts a tensor is split into.
const MAX_PARTS: i64 = 1 << 16;

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("concat", "The operands one after the other along an axis.")
        .aliases(&["concatenate"])
        .operands(&[Operand::variadic("operands")])
        .attrs(&[AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Required,
            "the axis to join along",
        )])
        .infer(infer_concat)
        .reference(reference!(concat))
        .traits(OpTraits::MOVEMENT)
        .cost(MOVE)
        .onnx("Concat", 4),
    OpDef::new("split", "Parts along an axis, as a tuple.")
        .operands(&[X, Operand::attr("sizes")])
        .attrs(&[
            AttrDef::new(
                "axis",
                AttrKind::Axis(AxisOf::Input),
                Default::Int(0),
                "the axis to cut",
            ),
            AttrDef::new(
                "sizes",
                AttrKind::Ints,
                Default::None,
                "extents of the parts; equal ones if left out",
            ),
            AttrDef::new("num_outputs", AttrKind::Int, Default::None, "how many parts"),
        ])
        .infer(infer_split)
        .canonical(canonical_split)
        .reference(reference!(split))
        .traits(VIEW)
        .cost(MOVE)
        .onnx("Split", 2),
    OpDef::new("slice", "A range of positions along each of some axes.")
        .operands(&[
            X,
            Operand::attr("starts"),
            Operand::attr("ends"),
            Operand::attr("axes"),
            Operand::attr("steps"),
        ])
        .attrs(&[
            AttrDef::new("starts", AttrKind::Ints, Default::Required, "first positions"),
            AttrDef::new(
                "ends",
                AttrKind::Ints,
                Default::Required,
                "the positions before which it ends",
            ),
            AttrDef::new("axes", INPUT_AXES, Default::None, "axes; the first ones if left out"),
            AttrDef::new(
                "steps",
                AttrKind::Ints,
                Default::None,
                "steps, negative ones backwards; 1 if left out",
            ),
        ])
        .infer(infer_slice)
        .canonical(canonical_slice)
        .reference(reference!(slice))
        .traits(VIEW)
        .cost(MOVE)
        .onnx("Slice", 1),
    OpDef::new("pad", "Elements added before and after, or removed, along axes.")
        .operands(&[X, Operand::attr("pads"), Operand::attr("value"), Operand::attr("axes")])
        .attrs(&[
            AttrDef::new(
                "pads",
                AttrKind::Ints,
                Default::Required,
                "how many before each axis, then how many after each",
            ),
            AttrDef::new(
                "value",
                AttrKind::Float,
                Default::Float(0.0),
                "what is added in mode \"constant\"",
            ),
            AttrDef::new("axes", INPUT_AXES, Default::None, "axes; all if left out"),
            AttrDef::new(
                "mode",
                AttrKind::OneOf(&["constant", "reflect", "edge", "wrap"]),
                Default::Str("constant"),
                "what is added",
            ),
        ])
        .infer(infer_pad)
        .canonical(canonical_pad)
        .reference(reference!(pad))
        .traits(OpTraits::MOVEMENT)
        .cost(MOVE)
        .onnx("Pad", 2),
    OpDef::new("depth_to_space", "Channels rearranged into blocks of rows and columns.")
        .operands(&[X])
        .attrs(&[
            BLOCK,
            AttrDef::new(
                "mode",
                AttrKind::OneOf(&["DCR", "CRD"]),
                Default::Str("DCR"),
                "the order of depth, column and row in the channels",
            ),
        ])
        .infer(infer_depth_to_space)
        .reference(reference!(depth_to_space))
        .traits(VIEW)
        .cost(MOVE)
        .onnx("DepthToSpace", 1),
    OpDef::new("space_to_depth", "Blocks of rows and columns rearranged into channels.")
        .operands(&[X])
        .attrs(&[BLOCK])
        .infer(infer_space_to_depth)
        .reference(reference!(space_to_depth))
        .traits(VIEW)
        .cost(MOVE)
        .onnx("SpaceToDepth", 1),
];

fn infer_concat(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.tensor(0)?.dtype;
    let n = call.operands.len();
    for i in 1..n {
        call.same_dtype(0, i)?;
    }
    let mut rank = None;
    for i in 0..n {
        if let Some(shape) = call.shape(i)? {
            let (first, known) = *rank.get_or_insert((i, shape.len()));
            if known != shape.len() {
                return Err(OpError::new(format!(
                    "operands with {known} and {} axes cannot be joined",
                    shape.len()
                ))
                .at(first)
                .and(i));
            }
        }
    }
    let Some((_, rank)) = rank else {
        return Ok(typed(dtype, None));
    };
    let axis = call.axis("axis", rank)?;
    let mut out: Option<(Shape, usize)> = None;
    let mut length = Some(Dim::Const(0));
    for i in 0..n {
        let Some(shape) = call.shape(i)? else {
            length = None;
            continue;
        };
        length = length.map(|sum| sum + shape[axis].clone());
        let Some((so_far, first)) = &mut out else {
            out = Some((shape.clone(), i));
            continue;
        };
        for k in (0..rank).filter(|&k| k != axis) {
            so_far[k] = unify(&so_far[k], &shape[k]).ok_or_else(|| {
                OpError::new(format!(
                    "extents of axis {k} differ: {} and {}; only axis {axis} may",
                    so_far[k], shape[k]
                ))
                .at(*first)
                .and(i)
            })?;
        }
    }
    Ok(typed(
        dtype,
        out.map(|(mut shape, _)| {
            shape[axis] = length.unwrap_or_else(|| call.unknown());
            shape
        }),
    ))
}

fn concat<S: System>(e: &Eval<'_, S>) -> Out<S> {
    fn join<'v, S: System, T: Clone + 'v>(
        e: &'v Eval<'_, S>,
        axis: usize,
        part: impl Fn(&'v Value<S>) -> Result<&'v Nd<T>, OpError>,
    ) -> Result<Nd<T>, OpError> {
        let views = e
            .operands
            .iter()
            .map(|v| part(v).map(|a| a.view()))
            .collect::<Result<Vec<_>, _>>()?;
        ndarray::concatenate(ndarray::Axis(axis), &views)
            .map(|a| a.into_shared())
            .map_err(|_| OpError::new("the operands cannot be joined"))
    }
    let first = e.operand(0)?;
    let axis = e.axis("axis", first.shape().len())?;
    Ok(vec![match first {
        Value::Real(_) => Value::Real(join(e, axis, Value::real)?),
        Value::Int(_) => Value::Int(join(e, axis, Value::int)?),
        Value::Bool(_) => Value::Bool(join(e, axis, Value::bool)?),
        _ => Value::Text(join(e, axis, |v| match v {
            Value::Text(a) => Ok(a),
            _ => Err(OpError::new("expected text")),
        })?),
    }])
}

fn part_count(call: &Infer<'_>) -> Result<Option<usize>, OpError> {
    match call.int("num_outputs") {
        None => Ok(None),
        Some(Dim::Const(n @ 1..=MAX_PARTS)) => Ok(Some(n as usize)),
        Some(n) => Err(OpError::new(format!("a tensor cannot be split into {n} parts")).attr("num_outputs")),
    }
}

/// The extents of the parts of an axis; `None` while they are not known.
fn part_sizes(call: &Infer<'_>, extent: &Dim) -> Result<Option<Vec<Dim>>, OpError> {
    let parts = part_count(call)?;
    if let Some(sizes) = call.ints("sizes") {
        if sizes.is_empty() || sizes.len() > MAX_PARTS as usize {
            return Err(OpError::new(format!("a tensor cannot be split into {} parts", sizes.len())).attr("sizes"));
        }
        if let Some(n) = parts
            && n != sizes.len()
        {
            return Err(
                OpError::new(format!("`sizes` lists {} parts, `num_outputs` is {n}", sizes.len())).attr("sizes"),
            );
        }
        if let Some(d) = sizes.iter().find(|d| d.as_const().is_some_and(|n| n < 0)) {
            return Err(OpError::new(format!("`sizes` has {d}, which is negative")).attr("sizes"));
        }
        let total: Dim = sizes.iter().cloned().sum();
        if let (Dim::Const(a), Dim::Const(b)) = (extent, &total)
            && a != b
        {
            return Err(OpError::new(format!("`sizes` add up to {b}, and the axis has {a}"))
                .at(0)
                .attr("sizes"));
        }
        return Ok(Some(sizes));
    }
    let Some(n) = parts.filter(|_| !call.is_dynamic("sizes")) else {
        return Ok(None);
    };
    let chunk = extent.ceil_div(&Dim::from(n));
    let mut sizes = vec![chunk.clone(); n];
    if let Some(last) = sizes.last_mut() {
        *last = extent.clone() - chunk.clone() * Dim::from(n - 1);
        if let Dim::Const(rest) = last
            && *rest < 0
        {
            return Err(OpError::new(format!("{extent} positions do not make {n} parts of {chunk}")).at(0));
        }
    }
    Ok(Some(sizes))
}

fn infer_split(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "sizes")?;
    let parts = part_count(call)?.or_else(|| operand_len(call, "sizes"));
    let no_count = || OpError::new("the number of parts is not known").help("give `sizes` or `num_outputs`");
    let Some(shape) = &x.shape else {
        let n = call.ints("sizes").map(|s| s.len()).or(parts).ok_or_else(no_count)?;
        return Ok(Type::Tuple(vec![typed(x.dtype, None); n]));
    };
    let axis = call.axis("axis", shape.len())?;
    let sizes = match part_sizes(call, &shape[axis])? {
        Some(sizes) => sizes,
        None => {
            let n = parts.filter(|&n| n <= MAX_PARTS as usize).ok_or_else(no_count)?;
            (0..n).map(|_| call.unknown()).collect()
        }
    };
    Ok(Type::Tuple(
        sizes
            .into_iter()
            .map(|size| {
                let mut part = shape.clone();
                part[axis] = size;
                typed(x.dtype, Some(part))
            })
            .collect(),
    ))
}

fn canonical_split(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)? {
        let axis = call.axis("axis", shape.len())?;
        if let Some(sizes) = part_sizes(call, &shape[axis])? {
            set(call, attrs, "num_outputs", AttrValue::Int(Dim::from(sizes.len())));
            if !sizes.iter().any(Dim::has_unknown) {
                set(call, attrs, "sizes", AttrValue::Ints(sizes));
            }
        }
    }
    Ok(())
}

fn whole(shape: &[usize]) -> Vec<Vec<Option<usize>>> {
    shape.iter().map(|&n| (0..n).map(Some).collect()).collect()
}

fn split<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let axis = e.axis("axis", x.shape().len())?;
    let parts = match &e.result {
        Type::Tuple(items) => items.len(),
        _ => 1,
    };
    let mut start = 0;
    (0..parts)
        .map(|i| {
            let size = e.out_shape(i)?[axis];
            let mut maps = whole(x.shape());
            maps[axis] = (start..start + size).map(Some).collect();
            start += size;
            map_value!(x, a => select_axes(a, &maps, None)?)
        })
        .collect()
}

/// The attributes of a slice for each axis it names: axis, start, end, step.
type Ranges = Vec<(usize, Dim, Dim, i64)>;

fn ranges(call: &Infer<'_>, rank: usize) -> Result<Option<Ranges>, OpError> {
    if ["starts", "ends", "axes", "steps"].iter().any(|n| call.is_dynamic(n)) {
        return Ok(None);
    }
    let (Some(starts), Some(ends)) = (call.ints("starts"), call.ints("ends")) else {
        return Ok(None);
    };
    let axes = match known_axes(call, "axes", rank)? {
        Some(axes) => axes,
        None => (0..starts.len()).collect(),
    };
    let steps = known_ints(call, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
    let lengths = [ends.len(), axes.len(), steps.len()];
    if lengths.iter().any(|&n| n != starts.len()) || starts.len() > rank {
        return Err(OpError::new(format!(
            "`starts` lists {} positions, with {} ends, {} axes and {} steps, of a tensor with {rank} axes",
            starts.len(),
            lengths[0],
            lengths[1],
            lengths[2]
        ))
        .attr("starts"));
    }
    if steps.contains(&0) {
        return Err(OpError::new("a step of 0 never ends").attr("steps"));
    }
    let ranges = axes.into_iter().zip(starts).zip(ends).zip(steps);
    Ok(Some(ranges.map(|(((a, s), e), k)| (a, s, e, k)).collect()))
}

/// The first position and the number of positions of a slice.
fn positions(extent: i64, start: i64, end: i64, step: i64) -> (i64, i64) {
    let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
    let place = |p: i64| (if p < 0 { p.saturating_add(extent) } else { p }).clamp(low, high.max(low));
    let (start, end) = (place(start), place(end));
    let length = if step > 0 {
        (end - start + (step - 1)) / step
    } else {
        let back = step.checked_neg().unwrap_or(i64::MAX);
        (start - end).saturating_add(back - 1) / back
    };
    (start, length.max(0))
}

/// The extent of a slice of an extent that may be symbolic.
fn sliced(call: &Infer<'_>, extent: &Dim, start: &Dim, end: &Dim, step: i64) -> Dim {
    let zero = Dim::Const(0);
    match (extent, start, end) {
        (Dim::Const(d), Dim::Const(s), Dim::Const(e)) => return Dim::Const(positions(*d, *s, *e, step).1),
        (_, Dim::Const(s), Dim::Const(e)) if step < 0 => {
            // The whole axis backwards.
            if (*s == -1 || *s >= FAR) && *e <= -FAR {
                return extent.ceil_div(&Dim::Const(step.saturating_neg()));
            }
            return call.unknown();
        }
        _ if step < 0 => return call.unknown(),
        _ => {}
    }
    let plain = |d: &Dim| d.as_const().is_some() || d.as_symbol().is_some();
    if !plain(start) || !(plain(end) || end == extent) {
        return call.unknown();
    }
    let to_end = end == extent || end.as_const().is_some_and(|e| e >= FAR);
    let length = match (start, end) {
        (Dim::Const(0), _) if to_end => extent.clone(),
        (Dim::Const(s), _) if to_end && *s < 0 => extent.minimum(&Dim::Const(s.saturating_neg())),
        (_, _) if to_end => (extent.clone() - start.clone()).maximum(&zero),
        (Dim::Const(0), Dim::Const(e)) if *e >= 0 => extent.minimum(end),
        (Dim::Const(s), Dim::Const(e)) if *s >= 0 && *e < 0 => {
            (extent.clone() + end.clone() - start.clone()).maximum(&zero)
        }
        (Dim::Const(s), Dim::Const(e)) if *s < 0 && *e < 0 => {
            let place = |d: &Dim| (extent.clone() + d.clone()).maximum(&zero);
            (place(end) - place(start)).maximum(&zero)
        }
        (Dim::Const(s), _) if *s < 0 => return call.unknown(),
        (_, Dim::Const(e)) if *e < 0 => (extent.clone() + end.clone() - start.clone()).maximum(&zero),
        (Dim::Const(0), _) => extent.minimum(end),
        _ => (extent.minimum(end) - start.clone()).maximum(&zero),
    };
    length.ceil_div(&Dim::Const(step))
}

fn infer_slice(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    for name in ["starts", "ends", "axes", "steps"] {
        int_operand(call, name)?;
    }
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let Some(ranges) = ranges(call, shape.len())? else {
        // Axes that are known not to be cut keep their extents.
        let cut = known_axes(call, "axes", shape.len())?;
        let dim = |(i, d): (usize, &Dim)| match &cut {
            Some(axes) if !axes.contains(&i) => d.clone(),
            _ => call.unknown(),
        };
        return Ok(typed(x.dtype, Some(shape.iter().enumerate().map(dim).collect())));
    };
    let mut out = shape.clone();
    for (axis, start, end, step) in ranges {
        out[axis] = sliced(call, &shape[axis], &start, &end, step);
    }
    Ok(typed(x.dtype, Some(out)))
}

fn canonical_slice(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(ranges) = ranges(call, shape.len())?
    {
        let axes: Vec<usize> = ranges.iter().map(|r| r.0).collect();
        let steps: Vec<i64> = ranges.iter().map(|r| r.3).collect();
        set(call, attrs, "axes", axes_value(&axes));
        set(call, attrs, "steps", AttrValue::ints(&steps));
    }
    Ok(())
}

fn slice<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let missing = || OpError::new("the bounds of the slice are not known");
    let (starts, ends) = (
        e.ints("starts").ok_or_else(missing)?,
        e.ints("ends").ok_or_else(missing)?,
    );
    let axes = e
        .axes("axes", x.shape().len())?
        .unwrap_or_else(|| (0..starts.len()).collect());
    let steps = e.ints("steps").unwrap_or_else(|| vec![1; starts.len()]);
    let mut maps = whole(x.shape());
    for (((axis, start), end), step) in axes.into_iter().zip(starts).zip(ends).zip(steps) {
        let map = maps.get_mut(axis).ok_or_else(missing)?;
        let (first, n) = positions(map.len() as i64, start, end, step);
        *map = (0..n).map(|i| usize::try_from(first + i * step).ok()).collect();
    }
    Ok(vec![map_value!(x, a => select_axes(a, &maps, None)?)?])
}

/// What is added before and after each axis; `None` while it is not known.
fn paddings(call: &Infer<'_>, rank: usize) -> Result<Option<Vec<(Dim, Dim)>>, OpError> {
    if call.is_dynamic("axes") {
        return Ok(None);
    }
    let Some(pads) = call.ints("pads") else { return Ok(None) };
    let axes = known_axes(call, "axes", rank)?.unwrap_or_else(|| (0..rank).collect());
    if pads.len() != 2 * axes.len() {
        return Err(OpError::new(format!(
            "`pads` has {} numbers for {} axes, two for each",
            pads.len(),
            axes.len()
        ))
        .attr("pads"));
    }
    let (before, after) = pads.split_at(axes.len());
    let mut out = vec![(Dim::Const(0), Dim::Const(0)); rank];
    for (i, axis) in axes.into_iter().enumerate() {
        out[axis] = (before[i].clone(), after[i].clone());
    }
    Ok(Some(out))
}

fn infer_pad(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "pads")?;
    int_operand(call, "axes")?;
    if let Some(i) = call.attr_operand("value") {
        call.same_dtype(0, i)?;
    }
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let Some(pads) = paddings(call, shape.len())? else {
        return Ok(typed(x.dtype, Some(call.unknown_shape(shape.len()))));
    };
    let mut out = Shape::scalar();
    for (d, (before, after)) in shape.iter().zip(pads) {
        let padded = d.clone() + before.clone() + after.clone();
        if padded.as_const().is_some_and(|n| n < 0) {
            return Err(OpError::new(format!(
                "padding an extent of {d} by {before} and {after} leaves nothing"
            ))
            .at(0)
            .attr("pads"));
        }
        out.push(padded);
    }
    Ok(typed(x.dtype, Some(out)))
}

fn canonical_pad(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(pads) = paddings(call, shape.len())?
    {
        let (before, after): (Vec<Dim>, Vec<Dim>) = pads.into_iter().unzip();
        set(call, attrs, "pads", AttrValue::Ints([before, after].concat()));
        set(call, attrs, "axes", axes_value(&(0..shape.len()).collect::<Vec<_>>()));
    }
    Ok(())
}

/// The position that padding repeats at place `i` of an axis of `n` elements; `None` for the constant.
fn padded_from(i: i64, n: i64, mode: &str) -> Option<usize> {
    let inside = match mode {
        _ if (0..n).contains(&i) => i,
        _ if n <= 0 => return None,
        "edge" => i.clamp(0, n - 1),
        "wrap" => i.rem_euclid(n),
        "reflect" if n == 1 => 0,
        "reflect" => {
            let folded = i.rem_euclid(2 * (n - 1));
            folded.min(2 * (n - 1) - folded)
        }
        _ => return None,
    };
    usize::try_from(inside).ok()
}

fn pad<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let rank = x.shape().len();
    let pads = e
        .ints("pads")
        .ok_or_else(|| OpError::new("the value of `pads` is not known"))?;
    let axes = e.axes("axes", rank)?.unwrap_or_else(|| (0..rank).collect());
    let out = e.out_shape(0)?;
    count(&out)?;
    let mut maps = whole(x.shape());
    for (before, axis) in pads.into_iter().zip(axes) {
        let (n, padded) = (x.shape()[axis] as i64, out[axis] as i64);
        maps[axis] = (0..padded)
            .map(|i| padded_from(i.saturating_sub(before), n, e.text("mode")))
            .collect();
    }
    let number = e.float("value").unwrap_or(0.0);
    let given = e.optional(2);
    let constant = e.text("mode") == "constant";
    /// The constant to add, from the operand if there is one.
    fn fill<T: Clone>(constant: bool, given: Option<&Nd<T>>, other: T) -> Option<T> {
        constant.then(|| given.and_then(|a| a.iter().next().cloned()).unwrap_or(other))
    }
    Ok(vec![match x {
        Value::Real(a) => {
            let fill = fill(constant, given.and_then(|g| g.real().ok()), S::from_f64(number)?);
            Value::Real(select_axes(a, &maps, fill.as_ref())?)
        }
        Value::Int(a) => {
            let fill = fill(constant, given.and_then(|g| g.int().ok()), to_int(&number)?);
            Value::Int(select_axes(a, &maps, fill.map(|v| e.out_dtype().wrap(v)).as_ref())?)
        }
        Value::Bool(a) => {
            let fill = fill(constant, given.and_then(|g| g.bool().ok()), number != 0.0);
            Value::Bool(select_axes(a, &maps, fill.as_ref())?)
        }
        Value::Text(a) => {
            let given = match given {
                Some(Value::Text(g)) => Some(g),
                _ => None,
            };
            let fill = fill(constant, given, String::new());
            Value::Text(select_axes(a, &maps, fill.as_ref())?)
        }
        Value::Absent => return Err(OpError::new("an operand is missing")),
    }])
}

/// The block size and the four extents of an image operand, whose rank may be unknown.
fn image<'a>(call: &Infer<'a>) -> Result<(Dim, Option<&'a [Dim]>), OpError> {
    let block = match call.int("blocksize") {
        Some(Dim::Const(n)) if n >= 1 => Dim::Const(n),
        _ => return Err(OpError::new("`blocksize` must be a positive integer").attr("blocksize")),
    };
    match call.shape(0)? {
        Some(shape) if shape.len() != 4 => Err(OpError::new(format!(
            "`x` must have 4 axes (batch, channels, rows, columns), and is {shape}"
        ))
        .at(0)),
        shape => Ok((block, shape.map(|s| &s[..]))),
    }
}

fn divided(d: &Dim, by: &Dim) -> Result<Dim, OpError> {
    match (d, by) {
        (Dim::Const(a), Dim::Const(b)) if a % b != 0 => {
            Err(OpError::new(format!("an extent of {a} is no multiple of {b}")).at(0))
        }
        _ => Ok(d.floor_div(by)),
    }
}

fn infer_depth_to_space(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype: DType = call.tensor(0)?.dtype;
    let out = match image(call)? {
        (b, Some([n, c, h, w])) => [
            n.clone(),
            divided(c, &(b.clone() * b.clone()))?,
            h.clone() * b.clone(),
            w.clone() * b,
        ]
        .into_iter()
        .collect(),
        _ => call.unknown_shape(4),
    };
    Ok(typed(dtype, Some(out)))
}

fn infer_space_to_depth(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype: DType = call.tensor(0)?.dtype;
    let out = match image(call)? {
        (b, Some([n, c, h, w])) => [
            n.clone(),
            c.clone() * b.clone() * b.clone(),
            divided(h, &b)?,
            divided(w, &b)?,
        ]
        .into_iter()
        .collect(),
        _ => call.unknown_shape(4),
    };
    Ok(typed(dtype, Some(out)))
}

/// Splits axes, permutes them and joins them again.
fn regroup<T: Clone>(a: &Nd<T>, split: &[usize], perm: &[usize], shape: &[usize]) -> Result<Nd<T>, OpError> {
    reshape(&transpose(&reshape(a, split)?, perm)?, shape)
}

fn depth_to_space<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let (out, block) = (e.out_shape(0)?, e.int("blocksize").unwrap_or(1).max(1) as usize);
    let &[n, _, h, w] = x.shape() else {
        return Err(OpError::new("expected 4 axes"));
    };
    let c = out[1];
    let (split, perm) = if e.text("mode") == "CRD" {
        ([n, c, block, block, h, w], [0, 1, 4, 2, 5, 3])
    } else {
        ([n, block, block, c, h, w], [0, 3, 4, 1, 5, 2])
    };
    Ok(vec![map_value!(x, a => regroup(a, &split, &perm, &out)?)?])
}

fn space_to_depth<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let (out, block) = (e.out_shape(0)?, e.int("blocksize").unwrap_or(1).max(1) as usize);
    let &[n, c, _, _] = x.shape() else {
        return Err(OpError::new("expected 4 axes"));
    };
    let split = [n, c, out[2], block, out[3], block];
    Ok(vec![
        map_value!(x, a => regroup(a, &split, &[0, 3, 5, 1, 2, 4], &out)?)?,
    ])
}

#[cfg(test)]
mod tests {
    use super::super::check::{canonical, eval, infer, table};

    #[test]
    fn types_follow_the_cuts() {
        table(
            infer,
            &[
                ("concat", "axis=-1", &["f32[n, 2]", "f32[n, m]"], "f32[n, m + 2]"),
                ("concat", "axis=0", &["f32[n, 2]", "f32[..]"], "f32[?, 2]"),
                ("concat", "axis=0", &["f32[2, n]", "f32[1, 3]"], "f32[3, 3]"),
                (
                    "concat",
                    "axis=0",
                    &["f32[2, 2]", "f32[1, 3]"],
                    "extents of axis 1 differ: 2 and 3; only axis 0 may",
                ),
                (
                    "concat",
                    "axis=0",
                    &["f32[2]", "f32[1, 3]"],
                    "operands with 1 and 2 axes cannot be joined",
                ),
                (
                    "concat",
                    "axis=0",
                    &["f32", "f32"],
                    "axis 0 of a scalar: it has no axes",
                ),
                ("split", "num_outputs=2", &["f32[5, n]"], "(f32[3, n], f32[2, n])"),
                ("split", "num_outputs=2", &["f32[2*n]"], "(f32[n], f32[n])"),
                ("split", "sizes=[1,2] axis=-1", &["f32[n, 3]"], "(f32[n, 1], f32[n, 2])"),
                ("split", "num_outputs=2", &["f32[..]"], "(f32[..], f32[..])"),
                ("split", "", &["f32[4]", "i64[2]"], "(f32[?], f32[?])"),
                ("split", "", &["f32[4]"], "the number of parts is not known"),
                (
                    "split",
                    "sizes=[1,2]",
                    &["f32[4]"],
                    "`sizes` add up to 3, and the axis has 4",
                ),
                (
                    "split",
                    "num_outputs=0",
                    &["f32[4]"],
                    "a tensor cannot be split into 0 parts",
                ),
                ("slice", "starts=[1] ends=[3]", &["f32[5, n]"], "f32[2, n]"),
                ("slice", "starts=[0] ends=[9223372036854775807]", &["f32[n]"], "f32[n]"),
                ("slice", "starts=[0] ends=[n]", &["f32[n]"], "f32[n]"),
                ("slice", "starts=[0] ends=[-1]", &["f32[n]"], "f32[max(0, n - 1)]"),
                (
                    "slice",
                    "starts=[1] ends=[9223372036854775807]",
                    &["f32[n]"],
                    "f32[max(0, n - 1)]",
                ),
                (
                    "slice",
                    "starts=[-2] ends=[9223372036854775807]",
                    &["f32[n]"],
                    "f32[min(2, n)]",
                ),
                (
                    "slice",
                    "starts=[-1] ends=[-9223372036854775808] steps=[-1]",
                    &["f32[n]"],
                    "f32[n]",
                ),
                (
                    "slice",
                    "starts=[0] ends=[5] steps=[0]",
                    &["f32[n]"],
                    "a step of 0 never ends",
                ),
                ("slice", "axes=[1]", &["f32[n, 4]", "i64[1]", "i64[1]"], "f32[n, ?]"),
                ("slice", "starts=[0] ends=[1]", &["f32[..]"], "f32[..]"),
                ("pad", "pads=[1,0,2,-1]", &["f32[n, 3]"], "f32[n + 3, 2]"),
                ("pad", "pads=[1,1] axes=[-1]", &["f32[n, 3]"], "f32[n, 5]"),
                (
                    "pad",
                    "pads=[1]",
                    &["f32[n]"],
                    "`pads` has 1 numbers for 1 axes, two for each",
                ),
                (
                    "pad",
                    "pads=[0,-4]",
                    &["f32[3]"],
                    "padding an extent of 3 by 0 and -4 leaves nothing",
                ),
                ("pad", "", &["f32[3]", "i64[2]"], "f32[?]"),
                (
                    "depth_to_space",
                    "blocksize=2",
                    &["f32[n, 8, h, w]"],
                    "f32[n, 2, 2*h, 2*w]",
                ),
                (
                    "depth_to_space",
                    "blocksize=3",
                    &["f32[1, 8, 1, 1]"],
                    "an extent of 8 is no multiple of 9",
                ),
                (
                    "space_to_depth",
                    "blocksize=2",
                    &["f32[n, c, 4, 6]"],
                    "f32[n, 4*c, 2, 3]",
                ),
                ("space_to_depth", "blocksize=2", &["f32[..]"], "f32[?, ?, ?, ?]"),
                (
                    "space_to_depth",
                    "blocksize=0",
                    &["f32[..]"],
                    "`blocksize` must be a positive integer",
                ),
            ],
        );
    }

    #[test]
    fn attributes_have_a_normal_form() {
        table(
            canonical,
            &[
                (
                    "split",
                    "num_outputs=2",
                    &["f32[4]"],
                    "axis=0 sizes=[2, 2] num_outputs=2",
                ),
                ("split", "sizes=[1,3]", &["f32[4]"], "axis=0 sizes=[1, 3] num_outputs=2"),
                (
                    "slice",
                    "starts=[1] ends=[3]",
                    &["f32[5, n]"],
                    "starts=[1] ends=[3] axes=[0] steps=[1]",
                ),
                (
                    "pad",
                    "pads=[1,2] axes=[-1]",
                    &["f32[2, 3]"],
                    "pads=[0, 1, 0, 2] value=0.0 axes=[0, 1] mode=\"constant\"",
                ),
            ],
        );
    }

    #[test]
    fn elements_end_up_in_their_places() {
        let x = "i64[5] 0 1 2 3 4";
        table(
            eval,
            &[
                ("concat", "axis=1", &["f32[1, 1] 1", "f32[1, 2] 2 3"], "f32[1, 3] 1 2 3"),
                ("concat", "axis=0", &["utf8[1] a", "utf8[0]"], "utf8[1] a"),
                ("split", "num_outputs=2", &[x], "i64[3] 0 1 2; i64[2] 3 4"),
                ("split", "", &[x, "i64[3] 1 0 4"], "i64[1] 0; i64[0]; i64[4] 1 2 3 4"),
                ("slice", "starts=[1] ends=[-1]", &[x], "i64[3] 1 2 3"),
                (
                    "slice",
                    "",
                    &[x, "i64[1] -1", "i64[1] -9", "i64[1] 0", "i64[1] -2"],
                    "i64[3] 4 2 0",
                ),
                ("slice", "starts=[3] ends=[1]", &[x], "i64[0]"),
                ("slice", "starts=[7] ends=[9]", &[x], "i64[0]"),
                ("slice", "starts=[20] ends=[0] steps=[-1]", &[x], "i64[4] 4 3 2 1"),
                (
                    "slice",
                    "",
                    &["f32[2, 2] 1 2 3 4", "i32[1] 1", "i32[1] 2", "i32[1] -1"],
                    "f32[2, 1] 2 4",
                ),
                ("pad", "pads=[1,2] value=7", &["i64[2] 1 2"], "i64[5] 7 1 2 7 7"),
                ("pad", "", &["f32[2] 1 2", "i64[2] 0 1", "f32 9"], "f32[3] 1 2 9"),
                ("pad", "", &["bool[1] 0", "i64[2] 0 1", "bool 1"], "bool[2] 0 1"),
                (
                    "pad",
                    "pads=[2,3] mode=reflect",
                    &["i64[3] 1 2 3"],
                    "i64[8] 3 2 1 2 3 2 1 2",
                ),
                ("pad", "pads=[1,2] mode=edge", &["i64[2] 1 2"], "i64[5] 1 1 2 2 2"),
                ("pad", "pads=[1,3] mode=wrap", &["i64[2] 1 2"], "i64[6] 2 1 2 1 2 1"),
                ("pad", "pads=[-1,1]", &["i64[2] 1 2"], "i64[2] 2 0"),
                (
                    "pad",
                    "pads=[1,0] mode=edge",
                    &["f32[0]"],
                    "an index is outside of its axis",
                ),
                (
                    "depth_to_space",
                    "blocksize=2",
                    &["i64[1, 4, 1, 1] 1 2 3 4"],
                    "i64[1, 1, 2, 2] 1 2 3 4",
                ),
                (
                    "depth_to_space",
                    "blocksize=2",
                    &["i64[1, 8, 1, 1] 0 1 2 3 4 5 6 7"],
                    "i64[1, 2, 2, 2] 0 2 4 6 1 3 5 7",
                ),
                (
                    "depth_to_space",
                    "blocksize=2 mode=CRD",
                    &["i64[1, 8, 1, 1] 0 1 2 3 4 5 6 7"],
                    "i64[1, 2, 2, 2] 0 1 2 3 4 5 6 7",
                ),
                (
                    "space_to_depth",
                    "blocksize=2",
                    &["i64[1, 1, 2, 4] 0 1 2 3 4 5 6 7"],
                    "i64[1, 4, 1, 2] 0 2 1 3 4 6 5 7",
                ),
            ],
        );
    }
}
