//! Shape operators: the same elements in another shape, or repeated.

use ndarray::IxDyn;

use super::common::{
    Out, axes_value, int_operand, is_permutation, known_axes, known_ints, operand_len, reshape as reshaped,
    select_axes, set, transpose as transposed, typed,
};
use super::{
    AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Eval, Infer, OpDef, OpError, OpTraits, Operand, ShapeRule,
    System,
};
use crate::{map_value, reference};
use tautomer_tensor::{Dim, Shape, Type};

const MOVE: CostRule = CostRule::Elementwise(0.0);
const VIEW: OpTraits = OpTraits::MOVEMENT.and(OpTraits::LINEAR);
const X: Operand = Operand::one("x");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("reshape", "The same elements in row-major order under another shape.")
        .operands(&[X, Operand::attr("shape")])
        .attrs(&[
            AttrDef::new(
                "shape",
                AttrKind::Ints,
                Default::Required,
                "dimensions; 0 copies that of the operand, -1 is computed from the others",
            ),
            AttrDef::new(
                "allowzero",
                AttrKind::Bool,
                Default::Bool(false),
                "whether 0 means a dimension of zero",
            ),
        ])
        .infer(infer_reshape)
        .canonical(canonical_reshape)
        .reference(reference!(view))
        .traits(VIEW)
        .cost(CostRule::View)
        .shapes(ShapeRule::Reshape)
        .onnx("Reshape", 1),
    OpDef::new("transpose", "Axes in another order; reversed if no order is given.")
        .aliases(&["permute", "shuffle"])
        .operands(&[X])
        .attrs(&[AttrDef::new(
            "perm",
            AttrKind::Axes(AxisOf::Input),
            Default::None,
            "the operand's axis for each axis of the result",
        )])
        .infer(infer_transpose)
        .canonical(canonical_transpose)
        .reference(reference!(transpose))
        .traits(VIEW)
        .cost(MOVE)
        .shapes(ShapeRule::Permute)
        .onnx("Transpose", 1),
    OpDef::new("squeeze", "Removes axes of size 1: those listed, or all.")
        .operands(&[X, Operand::attr("axes")])
        .attrs(&[AttrDef::new(
            "axes",
            AttrKind::Axes(AxisOf::Input),
            Default::None,
            "axes to remove",
        )])
        .infer(infer_squeeze)
        .canonical(canonical_squeeze)
        .reference(reference!(view))
        .traits(VIEW)
        .cost(CostRule::View)
        .shapes(ShapeRule::RemoveAxes)
        .onnx("Squeeze", 1),
    OpDef::new("unsqueeze", "Inserts axes of size 1.")
        .aliases(&["expand_dims"])
        .operands(&[X, Operand::attr("axes")])
        .attrs(&[AttrDef::new(
            "axes",
            AttrKind::Axes(AxisOf::Output),
            Default::Required,
            "their positions in the result",
        )])
        .infer(infer_unsqueeze)
        .canonical(canonical_unsqueeze)
        .reference(reference!(view))
        .traits(VIEW)
        .cost(CostRule::View)
        .shapes(ShapeRule::InsertAxes)
        .onnx("Unsqueeze", 1),
    OpDef::new(
        "flatten",
        "Reshapes to a matrix: the axes before `axis` become its rows, the others its columns.",
    )
    .operands(&[X])
    .attrs(&[AttrDef::new(
        "axis",
        AttrKind::Axis(AxisOf::InputEnd),
        Default::Int(1),
        "the first axis of the columns",
    )])
    .infer(infer_flatten)
    .reference(reference!(view))
    .traits(VIEW)
    .cost(CostRule::View)
    .onnx("Flatten", 1),
    OpDef::new("expand", "Broadcasts to a shape.")
        .aliases(&["broadcast_to"])
        .operands(&[X, Operand::attr("shape")])
        .attrs(&[AttrDef::new(
            "shape",
            AttrKind::Ints,
            Default::Required,
            "the shape to broadcast with",
        )])
        .infer(infer_expand)
        .canonical(canonical_expand)
        .reference(reference!(expand))
        .traits(VIEW)
        .cost(MOVE)
        .shapes(ShapeRule::Expand)
        .onnx("Expand", 8),
    OpDef::new("tile", "Repeats along each axis.")
        .operands(&[X, Operand::attr("repeats")])
        .attrs(&[AttrDef::new(
            "repeats",
            AttrKind::Ints,
            Default::Required,
            "the number of repeats for each axis",
        )])
        .infer(infer_tile)
        .reference(reference!(tile))
        .traits(VIEW)
        .cost(MOVE)
        .onnx("Tile", 6),
];

/// The requested shape, with 0 and -1 resolved.
fn resolve_shape(call: &Infer<'_>, wanted: &[Dim]) -> Result<Shape, OpError> {
    let bad = |message: String| OpError::new(message).attr("shape");
    let input = call.shape(0)?;
    let allow_zero = call.flag("allowzero");
    let mut rest = None;
    let mut out = Vec::with_capacity(wanted.len());
    for (i, d) in wanted.iter().enumerate() {
        out.push(match d {
            Dim::Const(-1) if rest.is_some() => return Err(bad("`shape` contains -1 twice".into())),
            Dim::Const(-1) => {
                rest = Some(i);
                Dim::Const(1)
            }
            Dim::Const(0) if !allow_zero => match input {
                Some(shape) => shape.get(i).cloned().ok_or_else(|| {
                    bad(format!(
                        "`shape` copies axis {i}, but the operand has {} axes",
                        shape.len()
                    ))
                })?,
                None => call.unknown(),
            },
            Dim::Const(n) if *n < 0 => return Err(bad(format!("dimension {n} in `shape` is not valid"))),
            _ => d.clone(),
        });
    }
    let Some(input) = input else {
        if let Some(i) = rest {
            out[i] = call.unknown();
        }
        return Ok(out.into_iter().collect());
    };
    let total = input.size();
    let listed: Dim = out.iter().cloned().product();
    match rest {
        Some(i) => {
            out[i] = match (&total, &listed) {
                (_, Dim::Const(0)) => return Err(bad("-1 cannot be combined with a dimension of 0".into())),
                (Dim::Const(a), Dim::Const(b)) if a % b != 0 => {
                    return Err(bad(format!("the {a} elements of {input} are not a multiple of {b}")).at(0));
                }
                _ => total.exact_div(&listed).unwrap_or_else(|| call.unknown()),
            };
        }
        None => {
            if let (Dim::Const(a), Dim::Const(b)) = (&total, &listed)
                && a != b
            {
                let wanted: Shape = out.into_iter().collect();
                return Err(bad(format!("{input} has {a} elements, but {wanted} has {b}")).at(0));
            }
        }
    }
    Ok(out.into_iter().collect())
}

fn infer_reshape(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "shape")?;
    let shape = match call.ints("shape") {
        Some(wanted) => Some(resolve_shape(call, &wanted)?),
        None => operand_len(call, "shape").map(|n| call.unknown_shape(n)),
    };
    Ok(typed(x.dtype, shape))
}

fn canonical_reshape(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let Some(wanted) = call.ints("shape") else {
        return Ok(());
    };
    if call.shape(0)?.is_none() {
        return Ok(());
    }
    let known = resolve_shape(call, &wanted)?;
    let allow_zero = call.flag("allowzero");
    // A dimension that cannot be expressed stays as requested.
    let written: Vec<Dim> = known
        .iter()
        .zip(&wanted)
        .map(|(d, w)| if d.has_unknown() { w.clone() } else { d.clone() })
        .collect();
    let zero = |list: &[Dim]| list.contains(&Dim::Const(0));
    let copies = !allow_zero
        && written
            .iter()
            .zip(known.iter())
            .any(|(w, d)| *w == Dim::Const(0) && *d != Dim::Const(0));
    let infers = written.contains(&Dim::Const(-1));
    set(
        call,
        attrs,
        "allowzero",
        AttrValue::Bool(zero(&written) && !copies && !infers),
    );
    set(call, attrs, "shape", AttrValue::Ints(written));
    Ok(())
}

/// The elements in row-major order with the shape of the result.
fn view<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let shape = e.out_shape(0)?;
    Ok(vec![map_value!(e.operand(0)?, a => reshaped(a, &shape)?)?])
}

fn permutation(call: &Infer<'_>, rank: usize) -> Result<Vec<usize>, OpError> {
    let Some(perm) = known_axes(call, "perm", rank)? else {
        return Ok((0..rank).rev().collect());
    };
    if is_permutation(&perm, rank) {
        return Ok(perm);
    }
    Err(OpError::new(format!("`perm` lists {} axes, but the operand has {rank}", perm.len())).attr("perm"))
}

fn infer_transpose(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let shape = match &x.shape {
        Some(shape) => Some(
            permutation(call, shape.len())?
                .into_iter()
                .map(|i| shape[i].clone())
                .collect(),
        ),
        None => known_ints(call, "perm")?.map(|perm| call.unknown_shape(perm.len())),
    };
    Ok(typed(x.dtype, shape))
}

fn canonical_transpose(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)? {
        let perm = permutation(call, shape.len())?;
        set(call, attrs, "perm", axes_value(&perm));
    }
    Ok(())
}

fn transpose<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let rank = x.shape().len();
    let perm = e.axes("perm", rank)?.unwrap_or_else(|| (0..rank).rev().collect());
    Ok(vec![map_value!(x, a => transposed(a, &perm)?)?])
}

/// The axes to remove, ascending, if they are known.
fn squeezed(call: &Infer<'_>, shape: &Shape) -> Result<Option<Vec<usize>>, OpError> {
    let one = Dim::Const(1);
    if call.is_dynamic("axes") {
        return Ok(None);
    }
    let Some(mut axes) = known_axes(call, "axes", shape.len())? else {
        let all_known = shape.iter().all(|d| d.as_const().is_some());
        return Ok(all_known.then(|| (0..shape.len()).filter(|&i| shape[i] == one).collect()));
    };
    axes.sort_unstable();
    for &axis in &axes {
        if let Dim::Const(n) = shape[axis]
            && n != 1
        {
            return Err(OpError::new(format!(
                "axis {axis} of {shape} has size {n}; only axes of size 1 can be removed"
            ))
            .at(0)
            .attr("axes"));
        }
    }
    Ok(Some(axes))
}

fn infer_squeeze(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "axes")?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let out = match squeezed(call, shape)? {
        Some(axes) => Some(
            (0..shape.len())
                .filter(|i| !axes.contains(i))
                .map(|i| shape[i].clone())
                .collect(),
        ),
        None => operand_len(call, "axes")
            .and_then(|n| shape.len().checked_sub(n))
            .map(|n| call.unknown_shape(n)),
    };
    Ok(typed(x.dtype, out))
}

fn canonical_squeeze(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(axes) = squeezed(call, shape)?
    {
        set(call, attrs, "axes", axes_value(&axes));
    }
    Ok(())
}

fn inserted(call: &Infer<'_>, rank: usize) -> Result<Option<Vec<usize>>, OpError> {
    let Some(axes) = known_ints(call, "axes")? else {
        return Ok(None);
    };
    let mut axes = known_axes(call, "axes", rank + axes.len())?.unwrap_or_default();
    axes.sort_unstable();
    Ok(Some(axes))
}

fn infer_unsqueeze(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "axes")?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let out = match inserted(call, shape.len())? {
        Some(axes) => {
            let mut out = shape.clone();
            for axis in axes {
                out.insert(axis, Dim::Const(1));
            }
            Some(out)
        }
        None => operand_len(call, "axes").map(|n| call.unknown_shape(shape.len() + n)),
    };
    Ok(typed(x.dtype, out))
}

fn canonical_unsqueeze(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(axes) = inserted(call, shape.len())?
    {
        set(call, attrs, "axes", axes_value(&axes));
    }
    Ok(())
}

fn infer_flatten(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, Some(call.unknown_shape(2))));
    };
    let axis = call
        .const_int("axis")
        .ok_or_else(|| OpError::new("`axis` must be a known integer").attr("axis"))?;
    let rank = shape.len() as i64;
    let axis = if axis < 0 { axis + rank } else { axis };
    if !(0..=rank).contains(&axis) {
        return Err(
            OpError::new(format!("axis {axis} is out of range: it must be in {}..={rank}", -rank)).attr("axis"),
        );
    }
    let (before, after) = shape.split_at(axis as usize);
    let out = [before, after].map(|part| part.iter().cloned().product::<Dim>());
    Ok(typed(x.dtype, Some(out.into_iter().collect())))
}

fn broadcast_with(call: &Infer<'_>, shape: &Shape) -> Result<Option<Shape>, OpError> {
    let Some(wanted) = call.ints("shape") else {
        return Ok(None);
    };
    let wanted: Shape = wanted.into_iter().collect();
    if let Some(d) = wanted.iter().find(|d| d.as_const().is_some_and(|n| n < 0)) {
        return Err(OpError::new(format!("dimension {d} in `shape` is not valid")).attr("shape"));
    }
    let out = shape.broadcast(&wanted).map_err(|_| {
        OpError::new(format!("shapes {shape} and {wanted} do not broadcast"))
            .at(0)
            .attr("shape")
            .help("broadcasting aligns trailing axes; dimensions must be equal or 1")
    })?;
    Ok(Some(out))
}

fn infer_expand(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "shape")?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let out = match broadcast_with(call, shape)? {
        Some(out) => Some(out),
        None => operand_len(call, "shape").map(|n| call.unknown_shape(n.max(shape.len()))),
    };
    Ok(typed(x.dtype, out))
}

fn canonical_expand(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(out) = broadcast_with(call, shape)?
        && !out.iter().any(Dim::has_unknown)
    {
        set(call, attrs, "shape", AttrValue::Ints(out.to_vec()));
    }
    Ok(())
}

fn expand<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let shape = e.out_shape(0)?;
    super::common::count(&shape)?;
    let spread = || OpError::new(format!("the operand does not broadcast to {shape:?}"));
    Ok(vec![
        map_value!(e.operand(0)?, a => a.broadcast(IxDyn(&shape)).ok_or_else(spread)?.to_owned().into_shared())?,
    ])
}

fn infer_tile(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "repeats")?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let Some(repeats) = call.ints("repeats") else {
        return Ok(typed(x.dtype, Some(call.unknown_shape(shape.len()))));
    };
    if repeats.len() != shape.len() {
        return Err(OpError::new(format!(
            "`repeats` has {} numbers, but {shape} has {} axes",
            repeats.len(),
            shape.len()
        ))
        .at(0)
        .attr("repeats"));
    }
    if let Some(d) = repeats.iter().find(|d| d.as_const().is_some_and(|n| n < 0)) {
        return Err(OpError::new(format!("`repeats` contains {d}, which is negative")).attr("repeats"));
    }
    let out = shape.iter().zip(repeats).map(|(d, r)| d.clone() * r).collect();
    Ok(typed(x.dtype, Some(out)))
}

fn tile<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let shape = e.out_shape(0)?;
    super::common::count(&shape)?;
    let x = e.operand(0)?;
    let maps: Vec<Vec<Option<usize>>> = shape
        .iter()
        .zip(x.shape())
        .map(|(&n, &d)| (0..n).map(|i| Some(i % d.max(1))).collect())
        .collect();
    Ok(vec![map_value!(x, a => select_axes(a, &maps, None)?)?])
}
