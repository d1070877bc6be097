//! Operators that view the same elements at other positions (diagonals, windows, blocks, shifted and shuffled
//! elements), and the contraction of neighbouring axes.

use super::common::{axes_value, known_axes, set, typed, unify};
use super::movement::{Halt, Index, Map, Place, Places, Source};
use super::{AttrDef, AttrKind, AttrValue, AxisOf, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand};
use tautomer_tensor::{Dim, Shape, Type};

const MOVE: CostRule = CostRule::Elementwise(0.0);
const VIEW: OpTraits = OpTraits::MOVEMENT.and(OpTraits::LINEAR);
const X: Operand = Operand::one("x");

const fn dim(name: &'static str, default: i64, doc: &'static str) -> AttrDef {
    AttrDef::new(name, AttrKind::Axis(AxisOf::Input), Default::Int(default), doc)
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "diagonal",
        "A diagonal of matrices (column = row + `offset`), as a last axis that replaces both axes.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "offset",
            AttrKind::Int,
            Default::Int(0),
            "offset to the right of the main diagonal",
        ),
        dim("dim1", 0, "the row axis"),
        dim("dim2", 1, "the column axis"),
    ])
    .infer(infer_diagonal)
    .canonical(canonical_diagonal)
    .movement(diagonal)
    .traits(VIEW)
    .cost(MOVE),
    OpDef::new(
        "unfold",
        "Windows along an axis: the axis then counts windows, and a new last axis holds their elements.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Required,
            "the axis to slide along",
        ),
        AttrDef::new(
            "size",
            AttrKind::Int,
            Default::Required,
            "the number of elements in a window",
        ),
        AttrDef::new(
            "step",
            AttrKind::Int,
            Default::Int(1),
            "the step from one window to the next",
        ),
    ])
    .infer(infer_unfold)
    .movement(unfold)
    .traits(VIEW)
    .cost(MOVE),
    OpDef::new(
        "roll",
        "Shifts elements along axes; those that leave at one end enter at the other.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "shifts",
            AttrKind::Ints,
            Default::Required,
            "how far, for each axis; negative towards the front",
        ),
        AttrDef::new(
            "axes",
            AttrKind::Axes(AxisOf::Input),
            Default::None,
            "the axes; all elements in row-major order if left out",
        ),
    ])
    .infer(infer_roll)
    .canonical(canonical_roll)
    .movement(roll)
    .traits(VIEW)
    .cost(MOVE),
];

fn known(call: &Infer<'_>, name: &str) -> Result<i64, OpError> {
    call.const_int(name)
        .ok_or_else(|| OpError::new(format!("`{name}` must be a known integer")).attr(name))
}

/// The two axes of a diagonal.
fn two_axes(call: &Infer<'_>, rank: usize) -> Result<(usize, usize), OpError> {
    if rank < 2 {
        let axes = if rank == 1 { "axis" } else { "axes" };
        return Err(OpError::new(format!("`x` has {rank} {axes}, but a diagonal needs two")).at(0));
    }
    let (first, second) = (call.axis("dim1", rank)?, call.axis("dim2", rank)?);
    if first == second {
        return Err(OpError::new(format!("`dim1` and `dim2` are both axis {first}")).attr("dim2"));
    }
    Ok((first, second))
}

/// The length of a diagonal of a matrix with `rows` and `columns`.
fn diagonal_length(rows: &Dim, columns: &Dim, offset: &Dim) -> Dim {
    if let (Dim::Const(r), Dim::Const(c), Dim::Const(o)) = (rows, columns, offset) {
        let below = r.saturating_add((*o).min(0));
        let right = c.saturating_sub((*o).max(0));
        return Dim::Const(below.min(right).max(0));
    }
    let zero = Dim::Const(0);
    let below = rows.clone() + offset.minimum(&zero);
    let right = columns.clone() - offset.maximum(&zero);
    match offset {
        // The main diagonal is as long as the shorter axis.
        Dim::Const(0) => below.minimum(&right),
        _ => below.minimum(&right).maximum(&zero),
    }
}

fn infer_diagonal(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let (first, second) = two_axes(call, shape.len())?;
    let offset = call
        .int("offset")
        .ok_or_else(|| OpError::new("`offset` must be a known integer").attr("offset"))?;
    let kept = (0..shape.len()).filter(|&i| i != first && i != second);
    let mut out: Shape = kept.map(|i| shape[i].clone()).collect();
    out.push(diagonal_length(&shape[first], &shape[second], &offset));
    Ok(typed(x.dtype, Some(out)))
}

/// Orders the two axes so that rows come before columns.
fn canonical_diagonal(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let (Some(shape), Some(offset)) = (call.shape(0)?, call.int("offset")) else {
        return Ok(());
    };
    let (first, second) = two_axes(call, shape.len())?;
    if first > second {
        let turned = match offset {
            Dim::Const(o) => Dim::Const(o.saturating_neg()),
            other => -other,
        };
        set(call, attrs, "offset", AttrValue::Int(turned));
        set(call, attrs, "dim1", AttrValue::int(second as i64));
        set(call, attrs, "dim2", AttrValue::int(first as i64));
    }
    Ok(())
}

fn diagonal(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let axes = [p.axis("dim1", x.len())?, p.axis("dim2", x.len())?];
    if axes[0] == axes[1] {
        return Err(OpError::new("both axes of the diagonal are the same").into());
    }
    let offset = p.int("offset").ok_or_else(|| Halt::unknown("an offset is unknown"))?;
    let zero = Dim::Const(0);
    let starts = if p.decide.is_natural(&offset)? {
        [zero.clone(), offset]
    } else {
        [-offset, zero.clone()]
    };
    let left = |k: usize| x[axes[k]].clone() - starts[k].clone();
    let length = p.max(&p.min(&left(0), &left(1))?, &zero)?;
    let mut kept = (0..x.len()).filter(|axis| !axes.contains(axis));
    let mut shape: Vec<Dim> = kept.by_ref().map(|axis| x[axis].clone()).collect();
    let (last, mut next) = (shape.len(), 0..);
    let place = |axis: usize| match axes.iter().position(|&a| a == axis) {
        Some(k) => Index::Axis(last).plus(starts[k].clone()),
        None => Index::Axis(next.next().unwrap_or(0)),
    };
    let at = (0..x.len()).map(place).collect();
    shape.push(length);
    Ok(vec![Map::at(shape, at)])
}

/// Axis, size and step of the windows.
fn windows(call: &Infer<'_>, rank: usize) -> Result<(usize, i64, i64), OpError> {
    let (axis, size, step) = (call.axis("axis", rank)?, known(call, "size")?, known(call, "step")?);
    if size < 0 {
        return Err(OpError::new(format!("`size` must not be negative, but is {size}")).attr("size"));
    }
    if step <= 0 {
        return Err(OpError::new(format!("`step` must be positive, but is {step}")).attr("step"));
    }
    Ok((axis, size, step))
}

fn infer_unfold(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let Some(shape) = &x.shape else {
        return Ok(typed(x.dtype, None));
    };
    let (axis, size, step) = windows(call, shape.len())?;
    if let Some(n) = shape[axis].as_const()
        && n < size
    {
        return Err(
            OpError::new(format!("a window of {size} does not fit axis {axis} of {shape}"))
                .at(0)
                .attr("size"),
        );
    }
    let mut out = shape.clone();
    out[axis] = (shape[axis].clone() - Dim::Const(size)).floor_div(&Dim::Const(step)) + Dim::Const(1);
    out.push(Dim::Const(size));
    Ok(typed(x.dtype, Some(out)))
}

fn unfold(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let mut shape = p.shape(0)?.to_vec();
    let axis = p.axis("axis", shape.len())?;
    let int = |name: &str| p.int(name).ok_or_else(|| Halt::unknown("a window is unknown"));
    let (size, step) = (int("size")?, int("step")?);
    let rest = shape[axis].clone() - size.clone();
    p.require_at_least(&size, 0)?;
    p.require_at_least(&step, 1)?;
    p.require_at_least(&rest, 0)?;
    let mut at = Index::axes(shape.len());
    at[axis] = Index::Axis(axis).times(step.clone()).sum(Index::Axis(shape.len()));
    shape[axis] = p.decide.quotient(&rest, &step) + Dim::Const(1);
    shape.push(size);
    Ok(vec![Map::at(shape, at)])
}

/// The shift of each axis that is named, by axis; `None` if the elements are shifted in row-major order.
fn shifts(call: &Infer<'_>, rank: usize) -> Result<Option<Vec<(usize, Dim)>>, OpError> {
    let shifts = call.ints("shifts").unwrap_or_default();
    let Some(axes) = known_axes(call, "axes", rank)? else {
        return match shifts.len() {
            1 => Ok(None),
            n => {
                Err(OpError::new(format!("`shifts` has {n} numbers, but one is needed without `axes`")).attr("shifts"))
            }
        };
    };
    if axes.len() != shifts.len() {
        let (n, axes) = (shifts.len(), axes.len());
        return Err(OpError::new(format!("`shifts` has {n} numbers for {axes} axes")).attr("shifts"));
    }
    let mut out: Vec<(usize, Dim)> = axes.into_iter().zip(shifts).collect();
    out.sort_by_key(|(axis, _)| *axis);
    Ok(Some(out))
}

fn infer_roll(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    if let Some(shape) = &x.shape {
        shifts(call, shape.len())?;
    }
    Ok(x.clone().into())
}

/// Orders the axes.
fn canonical_roll(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)?
        && let Some(shifts) = shifts(call, shape.len())?
    {
        let (axes, shifts): (Vec<usize>, Vec<Dim>) = shifts.into_iter().unzip();
        set(call, attrs, "axes", axes_value(&axes));
        set(call, attrs, "shifts", AttrValue::Ints(shifts));
    }
    Ok(())
}

fn roll(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let shifts = p
        .ints("shifts")
        .ok_or_else(|| Halt::unknown("the shifts are unknown"))?;
    let from = |place: Index, shift: &Dim, n: Dim| {
        let back = match (shift, &n) {
            (Dim::Const(shift), Dim::Const(n @ 1..)) => Dim::Const(-shift.rem_euclid(*n)),
            (shift, _) => -shift.clone(),
        };
        place.plus(back).modulo(n)
    };
    let Some(axes) = p.axes("axes", x.len())? else {
        let [shift] = shifts.as_slice() else {
            return Err(OpError::new("one shift is needed without axes").into());
        };
        let flat = from(Index::Row, shift, x.iter().cloned().product());
        return Ok(vec![Map::of(x.to_vec(), Source::Element(0, Place::Flat(flat)))]);
    };
    let mut at = Index::axes(x.len());
    for (axis, shift) in axes.into_iter().zip(&shifts) {
        at[axis] = from(Index::Axis(axis), shift, x[axis].clone());
    }
    Ok(vec![Map::at(x.to_vec(), at)])
}

/// Begin and size for each axis, checked as far as they are known.
fn block(call: &Infer<'_>, shape: &Shape) -> Result<Vec<(Dim, Dim)>, OpError> {
    let list = |name: &str| -> Result<Vec<Dim>, OpError> {
        let list = call
            .ints(name)
            .ok_or_else(|| OpError::new(format!("`{name}` must be a list of known integers")).attr(name))?;
        if list.len() != shape.len() {
            let (n, rank) = (list.len(), shape.len());
            return Err(
                OpError::new(format!("`{name}` has {n} numbers, but {shape} has {rank} axes"))
                    .at(0)
                    .attr(name),
            );
        }
        Ok(list)
    };
    let (begin, size) = (list("begin")?, list("size")?);
    let mut out = Vec::with_capacity(shape.len());
    for (axis, ((b, s), n)) in begin.into_iter().zip(size).zip(shape.iter()).enumerate() {
        let whole = s.as_const() == Some(-1);
        let left = n.clone() - b.clone();
        let wrong = b.as_const().is_some_and(|b| b < 0)
            || s.as_const().is_some_and(|s| s < -1)
            || left.as_const().is_some_and(|left| left < 0)
            || (!whole && (left.clone() - s.clone()).as_const().is_some_and(|rest| rest < 0));
        if wrong {
            let asked = if whole { "all".into() } else { s.to_string() };
            return Err(
                OpError::new(format!("{asked} elements from {b} on exceed axis {axis} of {shape}"))
                    .at(0)
                    .attr("size")
                    .help("a block must lie inside the tensor; `slice` clips its bounds"),
            );
        }
        out.push((b, if whole { left } else { s }));
    }
    Ok(out)
}

pub(super) fn infer_dice(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let out = match &x.shape {
        Some(shape) => Some(block(call, shape)?.into_iter().map(|(_, size)| size).collect()),
        None => call.ints("size").map(|size| call.unknown_shape(size.len())),
    };
    Ok(typed(x.dtype, out))
}

/// Writes out sizes as far as the dimensions are known.
pub(super) fn canonical_dice(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if let Some(shape) = call.shape(0)? {
        let written = |(_, size): (Dim, Dim)| if size.has_unknown() { Dim::Const(-1) } else { size };
        let sizes = block(call, shape)?.into_iter().map(written).collect();
        set(call, attrs, "size", AttrValue::Ints(sizes));
    }
    Ok(())
}

pub(super) fn infer_shuffle(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let groups = known(call, "groups")?;
    if groups < 1 {
        return Err(OpError::new(format!("`groups` must be at least 1, but is {groups}")).attr("groups"));
    }
    if let Some(shape) = &x.shape {
        let Some(channels) = shape.get(1) else {
            return Err(OpError::new(format!("{shape} has no channel axis")).at(0));
        };
        if let Some(n) = channels.as_const()
            && n % groups != 0
        {
            return Err(
                OpError::new(format!("{n} channels are not a multiple of {groups} groups"))
                    .at(0)
                    .attr("groups"),
            );
        }
    }
    Ok(x.clone().into())
}

pub(super) fn infer_tensordot(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, |d| d.is_number(), "a number")?;
    let axes = known(call, "axes")?;
    let (Some(x), Some(y)) = (call.shape(0)?, call.shape(1)?) else {
        return Ok(typed(dtype, None));
    };
    let n = usize::try_from(axes)
        .ok()
        .filter(|&n| n <= x.len().min(y.len()))
        .ok_or_else(|| OpError::new(format!("{axes} axes of {x} and {y} cannot be contracted")).attr("axes"))?;
    let (kept, last) = x.split_at(x.len() - n);
    let (first, rest) = y.split_at(n);
    if last.iter().zip(first).any(|(a, b)| unify(a, b).is_none()) {
        return Err(
            OpError::new(format!("the last {n} axes of {x} differ from the first {n} of {y}"))
                .at(0)
                .and(1),
        );
    }
    Ok(typed(dtype, Some(kept.iter().chain(rest).cloned().collect())))
}

/// Two operations for each product.
pub(super) fn tensordot_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let size = |shape: Option<&Shape>| super::cost::elements(shape);
    let contracted = call
        .const_int("axes")
        .and_then(|n| usize::try_from(n).ok())
        .zip(call.shape(1).ok().flatten())
        .and_then(|(n, y)| y.get(..n))
        .map_or(1.0, |axes| axes.iter().map(super::cost::extent).product());
    2.0 * contracted * size(result.as_tensor().and_then(|t| t.shape.as_ref()))
}
