//! Steps that the kernel of an earlier step can do as it writes its result: adding a value, and clamping.

use std::cell::Cell;

use super::kernels::Operand;
use super::plan::{Plan, SlotId, Step};
use tautomer_op::{AttrValue, OpDef};
use tautomer_tensor::{DType, Tensor};

/// Steps that can be fused into the kernel of an earlier step, since nothing else uses its result.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    /// The value that is added to the result.
    pub(super) add: Option<SlotId>,
    /// Smaller sums become this.
    pub(super) low: f32,
    /// Larger sums become this.
    pub(super) high: f32,
    /// The steps that do this, in order.
    pub(super) steps: Vec<usize>,
}

/// An addition and limits that a kernel may apply to its result before it returns it.
pub struct Finishing<'a> {
    /// Added first; a kernel that adds it has checked its type.
    pub(super) add: Option<Operand<'a>>,
    /// Smaller sums become this; a NaN stays.
    pub(super) low: f32,
    /// Larger sums become this; a NaN stays.
    pub(super) high: f32,
    /// The kernel has done it.
    pub(super) done: Cell<bool>,
}

/// Operators whose kernels can finish their results.
const FIRST: [&str; 4] = ["conv", "dense", "gemm", "matmul"];

/// For each step, the later steps that its kernel may do.
pub(super) fn tails(plan: &Plan, defs: &[&'static OpDef]) -> Vec<Option<Tail>> {
    let uses = Uses::of(plan);
    let of = |(i, step): (usize, &Step)| {
        let [mut last] = step.results[..] else { return None };
        if !FIRST.contains(&defs[i].name) || !is_f32(plan, last) {
            return None;
        }
        let mut tail = Tail {
            add: None,
            low: f32::NEG_INFINITY,
            high: f32::INFINITY,
            steps: Vec::new(),
        };
        if let Some(j) = uses.only(last)
            && let Some(other) = added(plan, defs[j], j, last)
            // A view has a step of its own, later than what it is a view of.
            && plan.slots[other].born.is_none_or(|born| born < i)
        {
            (tail.add, last) = (Some(other), plan.steps[j].results[0]);
            tail.steps.push(j);
        }
        if let Some(j) = uses.only(last)
            && let Some((low, high)) = limits(plan, defs[j], j)
        {
            (tail.low, tail.high) = (low, high);
            tail.steps.push(j);
        }
        (!tail.steps.is_empty()).then_some(tail)
    };
    plan.steps.iter().enumerate().map(of).collect()
}

/// How often each slot is read, and by which step last.
struct Uses(Vec<(usize, usize)>);

impl Uses {
    fn of(plan: &Plan) -> Uses {
        let mut uses = vec![(0, 0); plan.slots.len()];
        for (i, step) in plan.steps.iter().enumerate() {
            for &slot in step.operands.iter().flatten() {
                uses[slot] = (uses[slot].0 + 1, i);
            }
        }
        for port in &plan.outputs {
            uses[port.slot].0 += 2;
        }
        Uses(uses)
    }

    /// The step that reads a slot, if it is the only one and reads it once.
    fn only(&self, slot: SlotId) -> Option<usize> {
        (self.0[slot].0 == 1).then_some(self.0[slot].1)
    }
}

fn is_f32(plan: &Plan, slot: SlotId) -> bool {
    let ty = plan.slots[slot].ty.as_tensor();
    ty.is_some_and(|ty| ty.dtype == DType::F32)
}

/// The slot of the value that step `j` adds to the value in `slot`.
fn added(plan: &Plan, def: &OpDef, j: usize, slot: SlotId) -> Option<SlotId> {
    let operands = &plan.steps[j].operands[..];
    let other = match operands {
        [Some(a), Some(b)] if *a == slot => *b,
        [Some(a), Some(b)] if *b == slot => *a,
        _ => return None,
    };
    let is_sum = matches!(def.name, "add" | "sum");
    (is_sum && is_f32(plan, other) && plan.steps[j].results.len() == 1).then_some(other)
}

/// The limits that step `j` puts on its first operand.
fn limits(plan: &Plan, def: &OpDef, j: usize) -> Option<(f32, f32)> {
    let step = &plan.steps[j];
    match def.name {
        "relu" => Some((0.0, f32::INFINITY)),
        "clip" => {
            let limit = |name: &str, place: usize, none: f32| -> Option<f32> {
                let one = |t: &Tensor| t.to_f64s().filter(|v| v.len() == 1).map(|v| v[0] as f32);
                if let Some(slot) = step.operands.get(place).copied().flatten() {
                    return one(&plan.constants.iter().find(|c| c.slot == slot)?.value);
                }
                match def.attr_in(&step.attrs, name) {
                    AttrValue::None => Some(none),
                    AttrValue::Float(v) => Some(v.0 as f32),
                    AttrValue::Tensor(t) => one(t),
                    _ => None,
                }
            };
            let (low, high) = (limit("min", 1, f32::NEG_INFINITY)?, limit("max", 2, f32::INFINITY)?);
            (!low.is_nan() && !high.is_nan()).then_some((low, high))
        }
        _ => None,
    }
}
