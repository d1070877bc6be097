//! The plan of a graph: steps in order of execution, slots for values, and where each value lives.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::memory::Memory;
use super::precision::Precision;
use super::region::{self, Region};
use tautomer_op::AttrValue;
use tautomer_tensor::{Tensor, Type};

/// A slot of a plan: its index in [`Plan::slots`].
pub type SlotId = usize;

/// Which steps to compute, in which order, and where the values live. It is plain data, which can be printed, stored
/// and read back.
///
/// ```
/// use tautomer_exec::Plan;
/// use tautomer_graph::Graph;
/// use tautomer_op::{Op, lookup};
/// use tautomer_tensor::{DType, Type};
///
/// let mut g = Graph::new();
/// let x = g.input("x", Type::tensor(DType::F32, [2, 3]));
/// let y = g.call(Op::Known(lookup("add").unwrap()), &[x, x], &[]).unwrap();
/// let z = g.call(Op::Known(lookup("mul").unwrap()), &[y, y], &[]).unwrap();
/// g.output(z, Some("z"));
///
/// let plan = Plan::compile(&g).unwrap();
/// assert_eq!(plan.steps.len(), 2);
/// assert_eq!(plan.steps[1].frees, [plan.steps[0].results[0]]);
/// let text = serde_json::to_string(&plan).unwrap();
/// assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Plan {
    /// The name of the graph.
    pub name: String,
    /// Every value, in order of first appearance.
    pub slots: Vec<Slot>,
    /// The inputs of each run, in order.
    pub inputs: Vec<Port>,
    /// Parameters of the model, in order.
    pub params: Vec<Port>,
    /// Values that are part of the graph.
    pub constants: Vec<Constant>,
    /// The calls, each after those it depends on.
    pub steps: Vec<Step>,
    /// Successive steps that one loop computes, in order.
    #[serde(default)]
    pub regions: Vec<Region>,
    /// The results, in order; a tuple becomes one port for each of its elements.
    pub outputs: Vec<Port>,
    /// The memory that a run takes.
    pub memory: Memory,
    /// The numbers that products may be computed with, also in functions that steps call.
    #[serde(default, skip_serializing_if = "Precision::is_full")]
    pub precision: Precision,
}

/// The place of one value during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// The type of its value: a tensor, a sequence, or an optional value.
    pub ty: Type,
    /// The number of bytes of its elements, if every dimension is known.
    pub bytes: Option<u64>,
    /// The first of its bytes in the arena, or in the memory of `output`, if a step computes it, every dimension is
    /// known, and it is not a value within a region.
    pub offset: Option<u64>,
    /// The output in whose memory it is; `None` for the arena.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<usize>,
    /// The slot whose elements it shows, or some of them.
    pub view_of: Option<SlotId>,
    /// The step that computes it; `None` for inputs, parameters and constants.
    pub born: Option<usize>,
    /// The last step that reads it or one of its views; `None` if it is an output, or if nothing reads it.
    pub dies: Option<usize>,
}

/// A value that enters or leaves a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Its name; outputs may have none.
    pub name: Option<Arc<str>>,
    /// Its slot.
    pub slot: SlotId,
}

/// A value that is part of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// Its slot.
    pub slot: SlotId,
    /// The value.
    pub value: Tensor,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The operator's name in the table.
    pub op: String,
    /// Attribute values, in declared order.
    pub attrs: Vec<AttrValue>,
    /// The operands; `None` where one is left out.
    pub operands: Vec<Option<SlotId>>,
    /// The slots of the results.
    pub results: Vec<SlotId>,
    /// Slots that no later step and no output needs.
    pub frees: Vec<SlotId>,
    /// The name of the value in the graph, if it has one.
    pub name: Option<Arc<str>>,
    /// The numbers that its products may be computed with.
    #[serde(default, skip_serializing_if = "Precision::is_full")]
    pub precision: Precision,
}

/// Steps with fewer operations, and fewer bytes of results, are not worth dividing; tests divide small ones too.
const LARGE: u64 = if cfg!(test) { 1 } else { 1 << 19 };

impl Plan {
    /// True if every dimension is known, so that the places of values are known.
    pub fn is_static(&self) -> bool {
        self.slots.iter().all(|s| s.bytes.is_some())
    }

    /// True if a step may be worth dividing among threads, as far as dimensions are known.
    pub(super) fn has_large_steps(&self) -> bool {
        let is_large = |&slot: &SlotId| self.slots[slot].bytes.is_none_or(|bytes| bytes >= LARGE);
        let is_long = |i: usize| self.flops(i).is_none_or(|flops| flops >= LARGE as f64);
        let mut steps = self.steps.iter().enumerate();
        steps.any(|(i, step)| step.results.iter().any(is_large) || is_long(i))
    }

    /// Checks that all slots exist, and that regions are of steps; a compiled plan always passes.
    pub(super) fn check(&self) -> Result<(), String> {
        let n = self.slots.len();
        let ports = [&self.inputs, &self.params, &self.outputs].into_iter().flatten();
        let named = ports
            .map(|port| port.slot)
            .chain(self.constants.iter().map(|c| c.slot))
            .chain(
                self.regions
                    .iter()
                    .flat_map(|region| region.inputs.iter().chain(&region.outputs).copied()),
            )
            .chain(self.steps.iter().flat_map(|step| {
                let operands = step.operands.iter().copied().flatten();
                operands
                    .chain(step.results.iter().copied())
                    .chain(step.frees.iter().copied())
            }));
        match named.into_iter().find(|&slot| slot >= n) {
            Some(slot) => Err(format!("slot %{slot} of {n}")),
            None => region::check(self),
        }
    }

    /// The slot that owns the elements shown by `slot`.
    pub fn owner(&self, mut slot: SlotId) -> SlotId {
        // A view names an earlier slot; the bound avoids an endless loop in a plan that was read from elsewhere.
        for _ in 0..self.slots.len() {
            match self.slots.get(slot).and_then(|s| s.view_of) {
                Some(of) if of < slot => slot = of,
                _ => break,
            }
        }
        slot
    }
}
