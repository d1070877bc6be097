//! Selection of boxes found by detectors.

use std::cmp::Ordering;

use super::common::{Out, at, build, typed};
use super::order::{sort_by, total_order};
use super::{AttrDef, AttrKind, CostRule, Default, Eval, Formula, Infer, OpDef, OpError, Operand, System, Value};
use crate::reference;
use tautomer_tensor::{DType, Dim, Nd, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[OpDef::new(
    "non_max_suppression",
    "Non-maximum suppression: batch, class and index of high-scoring boxes without too much overlap.",
)
.operands(&[
    Operand::one("boxes"),
    Operand::one("scores"),
    Operand::attr("max_output_boxes_per_class"),
    Operand::attr("iou_threshold"),
    Operand::attr("score_threshold"),
])
.attrs(&[
    AttrDef::new(
        "center_point_box",
        AttrKind::Bool,
        Default::Bool(false),
        "whether boxes are centre and size, second axis first, instead of two corners",
    ),
    AttrDef::new(
        "max_output_boxes_per_class",
        AttrKind::Int,
        Default::Int(0),
        "the maximum number of boxes of a class; 0 if left out",
    ),
    AttrDef::new(
        "iou_threshold",
        AttrKind::Float,
        Default::Float(0.0),
        "the maximum overlap of two boxes, as intersection over union",
    ),
    AttrDef::new(
        "score_threshold",
        AttrKind::Float,
        Default::None,
        "the score that a box must exceed, if any",
    ),
])
.infer(infer)
.reference(reference!(select))
.formula(Formula::Whole)
.cost(CostRule::PerInput(64.0))
.onnx("NonMaxSuppression", 10)];

fn infer(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    call.same_dtype(0, 1)?;
    let (boxes, scores) = (call.shape(0)?, call.shape(1)?);
    for (i, shape) in [boxes, scores].into_iter().enumerate() {
        if let Some(shape) = shape
            && shape.len() != 3
        {
            let name = call.def.operands[i].name;
            return Err(OpError::new(format!("`{name}` must have 3 axes, but is {shape}")).at(i));
        }
    }
    if let Some(n) = boxes.and_then(|s| s[2].as_const())
        && n != 4
    {
        return Err(OpError::new(format!("a box has 4 coordinates, but `boxes` has {n}")).at(0));
    }
    if let (Some(boxes), Some(scores)) = (boxes, scores) {
        for (i, j) in [(0, 0), (1, 2)] {
            if matches!((&boxes[i], &scores[j]), (Dim::Const(a), Dim::Const(b)) if a != b) {
                return Err(OpError::new(format!("boxes {boxes} and scores {scores} do not match"))
                    .at(0)
                    .and(1));
            }
        }
    }
    Ok(typed(
        DType::I64,
        Some([call.unknown(), Dim::Const(3)].into_iter().collect()),
    ))
}

/// The corners of a box: the minimum and maximum along both axes.
#[derive(Clone, Copy)]
struct Corners {
    from: [f64; 2],
    to: [f64; 2],
}

impl Corners {
    fn read<S: System>(boxes: &Nd<S>, batch: usize, number: usize, center: bool) -> Result<Corners, OpError> {
        let mut v = [0.0; 4];
        for (i, v) in v.iter_mut().enumerate() {
            *v = at(boxes, &[batch, number, i])?.to_f64()?;
        }
        let (from, to) = if center {
            (
                [v[0] - v[2] / 2.0, v[1] - v[3] / 2.0],
                [v[0] + v[2] / 2.0, v[1] + v[3] / 2.0],
            )
        } else {
            ([v[0].min(v[2]), v[1].min(v[3])], [v[0].max(v[2]), v[1].max(v[3])])
        };
        Ok(Corners { from, to })
    }

    fn area(&self) -> f64 {
        (self.to[0] - self.from[0]) * (self.to[1] - self.from[1])
    }

    /// The intersection over union; 0 for boxes without an area.
    fn overlap(&self, other: &Corners) -> f64 {
        let side = |i: usize| self.to[i].min(other.to[i]) - self.from[i].max(other.from[i]);
        if side(0) <= 0.0 || side(1) <= 0.0 || self.area() <= 0.0 || other.area() <= 0.0 {
            return 0.0;
        }
        let both = side(0) * side(1);
        both / (self.area() + other.area() - both)
    }
}

fn select<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (boxes, scores) = (e.operand(0)?.real()?, e.operand(1)?.real()?);
    let most = usize::try_from(e.int("max_output_boxes_per_class").unwrap_or(0)).unwrap_or(0);
    // Thresholds are compared in the precision of the boxes.
    let limit = S::from_f64(e.float("iou_threshold").unwrap_or(0.0))?.to_f64()?;
    let least = e.float("score_threshold").map(S::from_f64).transpose()?;
    let center = e.flag("center_point_box");
    let (batches, classes, number) = (scores.shape()[0], scores.shape()[1], scores.shape()[2]);
    let mut found: Vec<[usize; 3]> = Vec::new();
    for batch in 0..batches {
        let corners = (0..number)
            .map(|i| Corners::read(boxes, batch, i, center))
            .collect::<Result<Vec<_>, _>>()?;
        for class in 0..classes {
            let mut candidates = Vec::new();
            for i in 0..number {
                let score = at(scores, &[batch, class, i])?;
                let enough = match &least {
                    Some(least) => score.order(least)? == Some(Ordering::Greater),
                    None => true,
                };
                if enough {
                    candidates.push((i, score));
                }
            }
            sort_by(&mut candidates, |(_, a), (_, b)| total_order(b, a))?;
            let mut chosen: Vec<usize> = Vec::new();
            for (i, _) in candidates {
                if chosen.len() == most {
                    break;
                }
                let free = chosen.iter().all(|&j| {
                    let shared = corners[i].overlap(&corners[j]);
                    shared == 0.0 || shared <= limit
                });
                if free {
                    chosen.push(i);
                    found.push([batch, class, i]);
                }
            }
        }
    }
    let table = build(&[found.len(), 3], |p| Ok(found[p[0]][p[1]] as i128))?;
    Ok(vec![Value::Int(table)])
}
