//! Forms from before operator set 7, when one operand was broadcast to the other starting at an axis.

use super::Importer;
use super::call::{Draft, Lowered};
use tautomer_graph::VertexId;
use tautomer_op::{AttrValue, OpError};

/// Expands the second operand to the rank of the first: its axes start at `axis`, by default so that they end with the
/// last axis.
pub(super) fn broadcast(importer: &mut Importer<'_>, mut draft: Draft) -> Result<Lowered, OpError> {
    let (axis, said) = (draft.int("axis"), draft.int("broadcast").unwrap_or(0) != 0);
    for name in ["axis", "broadcast"] {
        draft.attrs.shift_remove(name);
    }
    let rank = |v: VertexId| importer.graph.ty(v).as_tensor()?.rank();
    let (Some(a), Some(b)) = (draft.inputs[0], draft.inputs.get(1).copied().flatten()) else {
        return Ok(Lowered::Unread);
    };
    // The bias of a product and numbers combined with a tensor are broadcast as in newer versions.
    if draft.op_type == "Gemm" {
        return Ok(Lowered::Call(draft));
    }
    let (Some(long), Some(short)) = (rank(a), rank(b)) else {
        return Ok(Lowered::Unread);
    };
    // Slopes belong to channels, which are the second axis.
    let (axis, said) = match draft.op_type.as_str() {
        "PRelu" if short == 1 && long > 1 => (Some(1), true),
        "PRelu" => (None, false),
        _ => (axis, said),
    };
    let Some(axis) = axis.filter(|_| said && short > 0) else {
        return Ok(Lowered::Call(draft));
    };
    let axis = if axis < 0 { axis + long as i64 } else { axis };
    let after = long as i64 - short as i64 - axis;
    if axis < 0 || after < 0 {
        return Err(OpError::new(format!(
            "an operand of rank {short} does not fit into one of rank {long} starting at axis {axis}"
        )));
    }
    if after > 0 {
        let axes: Vec<i64> = (short as i64..short as i64 + after).collect();
        let Some(wide) = importer.simple("Unsqueeze", &[b], &[("axes", AttrValue::ints(&axes))])? else {
            return Ok(Lowered::Unread);
        };
        draft.inputs[1] = Some(wide);
    }
    Ok(Lowered::Call(draft))
}
