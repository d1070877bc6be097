//! Operators that move blocks of rows and columns into channels, and back.

use super::common::typed;
use super::movement::{Halt, Index, Map, Places};
use super::{AttrDef, AttrKind, CostRule, Default, Infer, OpDef, OpError, OpTraits, Operand};
use tautomer_tensor::{DType, Dim, Type};

const MOVE: CostRule = CostRule::Elementwise(0.0);

const VIEW: OpTraits = OpTraits::MOVEMENT.and(OpTraits::LINEAR);

const X: Operand = Operand::one("x");

const BLOCK: AttrDef = AttrDef::new(
    "blocksize",
    AttrKind::Int,
    Default::Required,
    "the number of rows and columns in a block",
);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("depth_to_space", "Rearranges channels into blocks of rows and columns.")
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
        .movement(depth_to_space)
        .traits(VIEW)
        .cost(MOVE)
        .onnx("DepthToSpace", 1),
    OpDef::new("space_to_depth", "Rearranges blocks of rows and columns into channels.")
        .operands(&[X])
        .attrs(&[BLOCK])
        .infer(infer_space_to_depth)
        .movement(space_to_depth)
        .traits(VIEW)
        .cost(MOVE)
        .onnx("SpaceToDepth", 1),
];

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

/// The block size and the dimensions of the operand.
fn blocks<'a>(p: &'a Places<'_>) -> Result<(Dim, &'a [Dim; 4]), Halt> {
    let block = p
        .int("blocksize")
        .ok_or_else(|| Halt::unknown("the block size is unknown"))?;
    let x = p.shape(0)?.try_into().map_err(|_| OpError::new("expected 4 axes"))?;
    p.require_at_least(&block, 1)?;
    Ok((block, x))
}

fn depth_to_space(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let (b, [n, c, h, w]) = blocks(p)?;
    let square = b.clone() * b.clone();
    let depth = p.decide.require_multiple(c, &square)?;
    let axis = Index::Axis;
    let (row, column) = (axis(2).modulo(b.clone()), axis(3).modulo(b.clone()));
    let channel = if p.attr("mode").as_str() == Some("CRD") {
        axis(1).times(square).sum(row.times(b.clone())).sum(column)
    } else {
        let block = row.times(b.clone() * depth.clone()).sum(column.times(depth.clone()));
        axis(1).sum(block)
    };
    let shape = vec![n.clone(), depth, h.clone() * b.clone(), w.clone() * b.clone()];
    let at = vec![axis(0), channel, axis(2).over(b.clone()), axis(3).over(b)];
    Ok(vec![Map::at(shape, at)])
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

fn space_to_depth(p: &Places<'_>) -> Result<Vec<Map>, Halt> {
    let (b, [n, c, h, w]) = blocks(p)?;
    let (rows, columns) = (p.decide.require_multiple(h, &b)?, p.decide.require_multiple(w, &b)?);
    let axis = Index::Axis;
    let place = axis(1).over(c.clone());
    let (row, column) = (place.clone().over(b.clone()), place.modulo(b.clone()));
    let shape = vec![n.clone(), c.clone() * b.clone() * b.clone(), rows, columns];
    let at = vec![
        axis(0),
        axis(1).modulo(c.clone()),
        axis(2).times(b.clone()).sum(row),
        axis(3).times(b).sum(column),
    ];
    Ok(vec![Map::at(shape, at)])
}

/// The block size and the four dimensions of an image operand, whose rank may be unknown.
fn image<'a>(call: &Infer<'a>) -> Result<(Dim, Option<&'a [Dim]>), OpError> {
    let block = match call.int("blocksize") {
        Some(Dim::Const(n)) if n >= 1 => Dim::Const(n),
        _ => return Err(OpError::new("`blocksize` must be a positive integer").attr("blocksize")),
    };
    match call.shape(0)? {
        Some(shape) if shape.len() != 4 => Err(OpError::new(format!(
            "`x` must have 4 axes (batch, channels, rows, columns), but is {shape}"
        ))
        .at(0)),
        shape => Ok((block, shape.map(|s| &s[..]))),
    }
}

fn divided(d: &Dim, by: &Dim) -> Result<Dim, OpError> {
    match (d, by) {
        (Dim::Const(a), Dim::Const(b)) if a % b != 0 => {
            Err(OpError::new(format!("dimension {a} is not a multiple of {b}")).at(0))
        }
        _ => Ok(d.floor_div(by)),
    }
}
