//! Operators that concatenate tensors along an axis, and split them.

use super::common::{int_operand, operand_len, set, typed, unify};
use super::movement::{Guard, Halt, Index, Map, Piece, Place, Places, Source};
use super::{
    AttrDef, AttrKind, AttrValue, AxesRule, AxisOf, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand,
    ShapeRule,
};
use tautomer_tensor::{Dim, Shape, Type};

const MOVE: CostRule = CostRule::Elementwise(0.0);

/// The maximum number of parts a tensor may be split into.
const MAX_PARTS: i64 = 1 << 16;

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("concat", "Concatenates the operands along an axis.")
        .aliases(&["concatenate"])
        .operands(&[Operand::variadic("operands")])
        .attrs(&[AttrDef::new(
            "axis",
            AttrKind::Axis(AxisOf::Input),
            Default::Required,
            "the axis to concatenate along",
        )])
        .infer(infer_concat)
        .movement(concat)
        .traits(OpTraits::MOVEMENT)
        .cost(MOVE)
        .shapes(ShapeRule::Concat)
        .axes(AxesRule::Along)
        .onnx("Concat", 4),
    OpDef::new("split", "Splits along an axis into a tuple of parts.")
        .operands(&[Operand::one("x"), Operand::attr("sizes")])
        .attrs(&[
            AttrDef::new(
                "axis",
                AttrKind::Axis(AxisOf::Input),
                Default::Int(0),
                "the axis to split",
            ),
            AttrDef::new(
                "sizes",
                AttrKind::Ints,
                Default::None,
                "sizes of the parts along the axis; equal if left out",
            ),
            AttrDef::new("num_outputs", AttrKind::Int, Default::None, "the number of parts"),
        ])
        .infer(infer_split)
        .canonical(canonical_split)
        .movement(split)
        .traits(OpTraits::MOVEMENT.and(OpTraits::LINEAR))
        .cost(MOVE)
        .shapes(ShapeRule::Split)
        .axes(AxesRule::Along)
        .onnx("Split", 2),
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
                    "operands with {known} and {} axes cannot be concatenated",
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
                    "dimensions of axis {k} differ: {} and {}; only axis {axis} may differ",
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

fn concat(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let mut shape = p.shape(0)?.to_vec();
    let axis = p.axis("axis", shape.len())?;
    let mut pieces = Vec::with_capacity(p.operands.len());
    let mut start = Dim::Const(0);
    for operand in 0..p.operands.len() {
        let own = p.shape(operand)?;
        if own.len() != shape.len() {
            return Err(OpError::new("the operands cannot be concatenated").into());
        }
        for i in (0..own.len()).filter(|&i| i != axis) {
            p.decide.require_zero(&(shape[i].clone() - own[i].clone()))?;
        }
        let mut at = Index::axes(shape.len());
        at[axis] = Index::Axis(axis).plus(-start.clone());
        start = start + own[axis].clone();
        let guards = match operand + 1 == p.operands.len() {
            true => Vec::new(),
            false => vec![Guard::Below(Index::Axis(axis), start.clone())],
        };
        let source = Source::Element(operand, Place::At(at));
        pieces.push(Piece { guards, source });
    }
    shape[axis] = start;
    Ok(vec![Map { shape, pieces }])
}

fn infer_split(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    int_operand(call, "sizes")?;
    let parts = part_count(call)?.or_else(|| operand_len(call, "sizes").filter(|&n| n <= MAX_PARTS as usize));
    let no_count = || OpError::new("the number of parts is unknown").help("give `sizes` or `num_outputs`");
    let Some(shape) = &x.shape else {
        let n = call.ints("sizes").map(|s| s.len()).or(parts).ok_or_else(no_count)?;
        return Ok(Type::Tuple(vec![typed(x.dtype, None); n]));
    };
    let axis = call.axis("axis", shape.len())?;
    let sizes = match part_sizes(call, &shape[axis])? {
        Some(sizes) => sizes,
        None => {
            let n = parts.ok_or_else(no_count)?;
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

fn part_count(call: &Infer<'_>) -> Result<Option<usize>, OpError> {
    match call.int("num_outputs") {
        None => Ok(None),
        Some(Dim::Const(n @ 1..=MAX_PARTS)) => Ok(Some(n as usize)),
        Some(n) => Err(OpError::new(format!("a tensor cannot be split into {n} parts")).attr("num_outputs")),
    }
}

/// The sizes of the parts of an axis; `None` if they are not known.
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
                OpError::new(format!("`sizes` lists {} parts, but `num_outputs` is {n}", sizes.len())).attr("sizes"),
            );
        }
        if let Some(d) = sizes.iter().find(|d| d.as_const().is_some_and(|n| n < 0)) {
            return Err(OpError::new(format!("`sizes` contains {d}, which is negative")).attr("sizes"));
        }
        let total: Dim = sizes.iter().cloned().sum();
        if let (Dim::Const(a), Dim::Const(b)) = (extent, &total)
            && a != b
        {
            return Err(
                OpError::new(format!("`sizes` add up to {b}, but the axis has size {a}"))
                    .at(0)
                    .attr("sizes"),
            );
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
            return Err(OpError::new(format!("{extent} positions cannot be split into {n} parts of {chunk}")).at(0));
        }
    }
    Ok(Some(sizes))
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

fn split(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let x = p.shape(0)?;
    let axis = p.axis("axis", x.len())?;
    let sizes: Vec<Dim> = match (p.results, p.ints("sizes")) {
        (Some(results), _) => results.iter().filter_map(|shape| shape.get(axis).cloned()).collect(),
        (None, Some(sizes)) => sizes,
        (None, None) => return Err(Halt::unknown("the sizes of the parts are unknown")),
    };
    for d in &sizes {
        p.require_at_least(d, 0)?;
    }
    p.decide
        .require_zero(&(x[axis].clone() - sizes.iter().cloned().sum()))?;
    let mut start = Dim::Const(0);
    let part = |size: Dim| {
        let (mut shape, mut at) = (x.to_vec(), Index::axes(x.len()));
        at[axis] = Index::Axis(axis).plus(start.clone());
        start = start.clone() + size.clone();
        shape[axis] = size;
        Map::at(shape, at)
    };
    Ok(sizes.into_iter().map(part).collect())
}
