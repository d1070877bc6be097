//! Shape operators: the same elements in another shape, or repeated.

use super::common::{axes_value, int_operand, is_permutation, known_axes, known_ints, operand_len, set, typed};
use super::movement::{Halt, Index, Map, Place, Places, Source};
use super::{
    AttrDef, AttrKind, AttrValue, AxesRule, AxisOf, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand,
    ShapeRule,
};
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
        .movement(reshape)
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
        .movement(transpose)
        .traits(VIEW)
        .cost(MOVE)
        .shapes(ShapeRule::Permute)
        .axes(AxesRule::Permuted)
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
        .movement(squeeze)
        .traits(VIEW)
        .cost(CostRule::View)
        .shapes(ShapeRule::RemoveAxes)
        .axes(AxesRule::Removed)
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
        .movement(unsqueeze)
        .traits(VIEW)
        .cost(CostRule::View)
        .shapes(ShapeRule::InsertAxes)
        .axes(AxesRule::Inserted)
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
    .movement(flatten)
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
        .movement(expand)
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
        .movement(tile)
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

/// The same elements in row-major order.
fn view(shape: Vec<Dim>) -> Result<Vec<Map>, Halt> {
    Ok(vec![Map::of(shape, Source::Element(0, Place::Flat(Index::Row)))])
}

fn reshape(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    if let Some(shape) = p.result(0) {
        return view(shape.to_vec());
    }
    let x = p.shape(0)?;
    let wanted = p.ints("shape").ok_or_else(|| Halt::unknown("a shape is computed"))?;
    let allow_zero = p.attr("allowzero").is_true();
    let mut out = Vec::with_capacity(wanted.len());
    // The axis whose dimension follows from the others.
    let mut open: Option<usize> = None;
    for (i, d) in wanted.iter().enumerate() {
        match d.as_const() {
            Some(-1) if open.is_some() => return Err(OpError::new("`shape` has several -1").into()),
            Some(-1) => {
                open = Some(i);
                out.push(Dim::Const(1));
            }
            Some(0) if !allow_zero => {
                let copied = x
                    .get(i)
                    .ok_or_else(|| OpError::new("`shape` copies an axis that does not exist"))?;
                out.push(copied.clone());
            }
            Some(_) => out.push(d.clone()),
            None => {
                p.require_at_least(d, i64::from(!allow_zero))?;
                out.push(d.clone());
            }
        }
    }
    if let Some(open) = open {
        for d in &out {
            p.require_at_least(d, 1)?;
        }
        let (all, others): (Dim, Dim) = (x.iter().cloned().product(), out.iter().cloned().product());
        out[open] = p.decide.require_multiple(&all, &others)?;
        return view(out);
    }
    let positive = |d: &Dim| p.decide.known_natural(&(d.clone() - Dim::Const(1))) == Some(true);
    if !allow_zero && out.iter().all(positive) {
        for d in x {
            p.require_at_least(d, 1)?;
        }
    }
    // The numbers of elements are equal; common factors that are not 0 cancel.
    let (mut left, mut right): (Dim, Dim) = (x.iter().cloned().product(), out.iter().cloned().product());
    for d in x {
        if let (Some(a), Some(b)) = (left.exact_div(d), right.exact_div(d))
            && p.decide.known_zero(d) == Some(false)
        {
            (left, right) = (a, b);
        }
    }
    p.decide.require_zero(&(left - right))?;
    view(out)
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

fn transpose(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let perm = p.axes("perm", x.len())?.unwrap_or_else(|| (0..x.len()).rev().collect());
    if !is_permutation(&perm, x.len()) {
        let rank = x.len();
        return Err(OpError::new(format!("{perm:?} is not a permutation of {rank} axes")).into());
    }
    let mut at = Index::axes(x.len());
    for (i, &axis) in perm.iter().enumerate() {
        at[axis] = Index::Axis(i);
    }
    Ok(vec![Map::at(perm.iter().map(|&axis| x[axis].clone()).collect(), at)])
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

fn squeeze(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let one = |axis: &usize| x[*axis] == Dim::Const(1);
    let axes = match p.axes("axes", x.len())? {
        Some(axes) => axes,
        None if x.iter().all(|d| d.as_const().is_some()) => (0..x.len()).filter(one).collect(),
        None => return Err(Halt::unknown("the squeezed axes are unknown")),
    };
    let (mut shape, mut at, mut kept) = (Vec::new(), Vec::with_capacity(x.len()), 0);
    for (axis, d) in x.iter().enumerate() {
        if axes.contains(&axis) {
            p.decide.require_zero(&(d.clone() - Dim::Const(1)))?;
            at.push(Index::constant(0));
        } else {
            shape.push(d.clone());
            at.push(Index::Axis(kept));
            kept += 1;
        }
    }
    Ok(vec![Map::of(shape, Source::Element(0, Place::Kept(at)))])
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

fn unsqueeze(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let mut shape = p.shape(0)?.to_vec();
    let computed = || Halt::unknown("the inserted axes are computed");
    let rank = shape.len() + p.ints("axes").ok_or_else(computed)?.len();
    let mut axes = p.axes("axes", rank)?.unwrap_or_default();
    axes.sort_unstable();
    for &axis in &axes {
        shape.insert(axis, Dim::Const(1));
    }
    let at = (0..rank).filter(|i| !axes.contains(i)).map(Index::Axis).collect();
    Ok(vec![Map::of(shape, Source::Element(0, Place::Kept(at)))])
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

fn flatten(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let axis = p.int("axis").and_then(|d| d.as_const());
    let axis = axis.ok_or_else(|| Halt::unknown("an axis is unknown"))?;
    let axis = usize::try_from(if axis < 0 { axis + x.len() as i64 } else { axis }).ok();
    let (before, after) = axis
        .and_then(|axis| x.split_at_checked(axis))
        .ok_or_else(|| OpError::new("the axis is out of range"))?;
    view([before, after].map(|part| part.iter().cloned().product()).to_vec())
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

fn expand(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let wanted = match p.result(0) {
        Some(shape) => shape.to_vec(),
        None => p.ints("shape").ok_or_else(|| Halt::unknown("a shape is computed"))?,
    };
    for d in &wanted {
        p.require_at_least(d, 0)?;
    }
    let rank = x.len().max(wanted.len());
    let one = Dim::Const(1);
    let mut shape = vec![one.clone(); rank];
    for list in [x, &wanted] {
        for (slot, d) in shape.iter_mut().rev().zip(list.iter().rev()) {
            *slot = broadcast(p, slot, d)?;
        }
    }
    let own = rank - x.len();
    let place = if x.iter().all(|d| *d == one) {
        Place::Flat(Index::constant(0))
    } else if own == 0 && x.iter().zip(&shape).all(|(a, b)| p.same(a, b)) {
        Place::Kept(Index::axes(rank))
    } else {
        let mut at = Vec::with_capacity(x.len());
        for (i, d) in x.iter().enumerate() {
            // Along an axis of the same dimension, the index is the same, even if that is 1.
            let same = *d != one && p.same(d, &shape[own + i]);
            let single = *d == one || !same && p.decide.is_zero(&(d.clone() - one.clone()))?;
            at.push(if single {
                Index::constant(0)
            } else {
                Index::Axis(own + i)
            });
        }
        Place::At(at)
    };
    Ok(vec![Map::of(shape, Source::Element(0, place))])
}

/// The dimension that two dimensions broadcast to.
fn broadcast(p: &Places<'_>, a: &Dim, b: &Dim) -> Result<Dim, Halt> {
    let one = Dim::Const(1);
    if *a == one || a == b {
        return Ok(b.clone());
    }
    if *b == one || p.same(a, b) {
        return Ok(a.clone());
    }
    if p.decide.is_zero(&(a.clone() - one.clone()))? {
        return Ok(b.clone());
    }
    if !p.decide.is_zero(&(b.clone() - one))? {
        p.decide.require_zero(&(a.clone() - b.clone()))?;
    }
    Ok(a.clone())
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

fn tile(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let repeats = p.ints("repeats").ok_or_else(|| Halt::unknown("repeats are computed"))?;
    let (mut shape, mut at) = (Vec::with_capacity(x.len()), Vec::with_capacity(x.len()));
    for (axis, (d, n)) in x.iter().zip(&repeats).enumerate() {
        p.require_at_least(n, 0)?;
        shape.push(d.clone() * n.clone());
        at.push(Index::Axis(axis).modulo(d.clone()));
    }
    Ok(vec![Map::at(shape, at)])
}
