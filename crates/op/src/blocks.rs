//! Operators that move blocks of rows and columns into channels, and back.

use super::common::{Out, reshape, transpose, typed};
use super::{AttrDef, AttrKind, CostRule, Default, Eval, Infer, OpDef, OpError, OpTraits, Operand, System};
use crate::{map_value, reference};
use tautomer_tensor::{DType, Dim, Nd, Type};

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
        .reference(reference!(depth_to_space))
        .traits(VIEW)
        .cost(MOVE)
        .onnx("DepthToSpace", 1),
    OpDef::new("space_to_depth", "Rearranges blocks of rows and columns into channels.")
        .operands(&[X])
        .attrs(&[BLOCK])
        .infer(infer_space_to_depth)
        .reference(reference!(space_to_depth))
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

/// Splits axes, permutes them and merges them again.
fn regroup<T: Clone>(a: &Nd<T>, split: &[usize], perm: &[usize], shape: &[usize]) -> Result<Nd<T>, OpError> {
    reshape(&transpose(&reshape(a, split)?, perm)?, shape)
}
