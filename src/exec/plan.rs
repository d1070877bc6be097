//! The plan of a graph: steps in order of execution, slots for values, and where each value lives.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::kernels;
use super::memory::{self, Memory};
use crate::graph::{Graph, Node, VertexId, expand_composites};
use crate::op::{AttrValue, Op, OpDef};
use crate::tensor::{Tensor, TensorType, Type};

/// Names a slot of one plan: its place in [`Plan::slots`].
pub type SlotId = usize;

/// What to compute, in which order, and where the values live. Plain data: it can be printed, stored and read back.
///
/// ```
/// use tautomer::exec::Plan;
/// use tautomer::graph::Graph;
/// use tautomer::op::{Op, lookup};
/// use tautomer::tensor::{DType, Type};
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
    /// What is given at each run, in order.
    pub inputs: Vec<Port>,
    /// Parameters of the model, in order.
    pub params: Vec<Port>,
    /// Values that are part of the graph.
    pub constants: Vec<Constant>,
    /// The calls, each after those it depends on.
    pub steps: Vec<Step>,
    /// The results, in order; a tuple gives one for each of its elements.
    pub outputs: Vec<Port>,
    /// How much memory a run takes.
    pub memory: Memory,
}

/// The place of one tensor during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slot {
    /// What it holds.
    pub ty: TensorType,
    /// Bytes of its elements, if every extent is known.
    pub bytes: Option<u64>,
    /// Its first byte in the arena, if it is computed by a step, owns its elements, and every extent is known.
    pub offset: Option<u64>,
    /// The slot whose elements it shows under another shape.
    pub view_of: Option<SlotId>,
    /// The step that computes it; `None` if it is given.
    pub born: Option<usize>,
    /// The last step that reads it, its views included; `None` if it is an output, or if nothing reads it.
    pub dies: Option<usize>,
}

/// A value that enters or leaves a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Port {
    /// Its name; outputs may have none.
    pub name: Option<Arc<str>>,
    /// Where it is.
    pub slot: SlotId,
}

/// A value that is part of the graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constant {
    /// Where it is.
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
    /// Where the results go.
    pub results: Vec<SlotId>,
    /// Slots no later step and no output needs.
    pub frees: Vec<SlotId>,
    /// The name of the value in the graph, if it has one.
    pub name: Option<Arc<str>>,
}

/// Why a graph has no plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// An operator that the table does not define.
    #[error("`{op}` cannot be executed: it has no definition")]
    Opaque {
        /// Its name.
        op: String,
        /// Where it is called.
        vertex: VertexId,
    },
    /// A tuple where a tensor is needed.
    #[error("{place} is a tuple ({ty}), and only tensors can stand there")]
    Tuple {
        /// Where.
        place: String,
        /// Its type.
        ty: Type,
        /// The vertex.
        vertex: VertexId,
    },
    /// An operand that was left out stands for a value.
    #[error("a value is left out where one is needed")]
    Absent {
        /// The vertex that needs it.
        vertex: VertexId,
    },
}

/// The slots that hold the value of a vertex.
#[derive(Clone)]
enum Held {
    Absent,
    One(SlotId),
    Many(Arc<[Held]>),
}

impl Plan {
    /// The plan of a graph. Composite operators without a kernel are replaced by their bodies.
    ///
    /// # Errors
    /// If it calls an operator without a definition, or has a tuple where only a tensor can stand.
    pub fn compile(graph: &Graph) -> Result<Plan, PlanError> {
        let slow = |def: &OpDef| def.composite_body().is_some() && kernels::of(def.name).is_empty();
        let is_slow = |v: VertexId| graph.vertex(v).op().and_then(Op::def).is_some_and(slow);
        if graph.ids().any(is_slow) {
            let mut expanded = graph.clone();
            // A body that does not type yet, for want of a rank, stays a call; its operands tell more in a run.
            if expand_composites(&mut expanded, &slow).is_ok() {
                return Plan::compile_flat(&expanded);
            }
        }
        Plan::compile_flat(graph)
    }

    fn compile_flat(graph: &Graph) -> Result<Plan, PlanError> {
        let mut builder = Builder {
            graph,
            plan: Plan {
                name: graph.name.clone(),
                ..Plan::default()
            },
            held: FxHashMap::default(),
        };
        for &v in graph.inputs() {
            let port = builder.port(v, "an input")?;
            builder.plan.inputs.push(port);
        }
        for &v in graph.params() {
            let port = builder.port(v, "a parameter")?;
            builder.plan.params.push(port);
        }
        for v in graph.rpo() {
            if !builder.held.contains_key(&v) {
                let held = builder.vertex(v)?;
                builder.held.insert(v, held);
            }
        }
        for output in graph.outputs() {
            let held = builder.held[&output.vertex].clone();
            builder.output(output.vertex, output.name.clone(), &held)?;
        }
        let mut plan = builder.plan;
        memory::assign(&mut plan);
        Ok(plan)
    }

    /// True if every extent is known, so that every value has a place in the arena.
    pub fn is_static(&self) -> bool {
        self.slots.iter().all(|s| s.bytes.is_some())
    }

    /// Checks that every slot named exists; a compiled plan passes.
    pub(super) fn check(&self) -> Result<(), String> {
        let n = self.slots.len();
        let ports = [&self.inputs, &self.params, &self.outputs].into_iter().flatten();
        let named = ports
            .map(|port| port.slot)
            .chain(self.constants.iter().map(|c| c.slot))
            .chain(self.steps.iter().flat_map(|step| {
                let operands = step.operands.iter().copied().flatten();
                operands
                    .chain(step.results.iter().copied())
                    .chain(step.frees.iter().copied())
            }));
        match named.into_iter().find(|&slot| slot >= n) {
            Some(slot) => Err(format!("slot %{slot} of {n}")),
            None => Ok(()),
        }
    }

    /// The slot that owns the elements `slot` shows.
    pub fn owner(&self, mut slot: SlotId) -> SlotId {
        // A view names an earlier slot; the bound keeps a plan that was read from elsewhere from looping.
        for _ in 0..self.slots.len() {
            match self.slots.get(slot).and_then(|s| s.view_of) {
                Some(of) if of < slot => slot = of,
                _ => break,
            }
        }
        slot
    }
}

struct Builder<'g> {
    graph: &'g Graph,
    plan: Plan,
    held: FxHashMap<VertexId, Held>,
}

impl Builder<'_> {
    fn slot(&mut self, ty: TensorType, born: Option<usize>, view_of: Option<SlotId>) -> SlotId {
        let bytes = ty.shape.as_ref().and_then(|shape| {
            let mut bytes = ty.dtype.size() as u64;
            for extent in shape.iter() {
                bytes = bytes.checked_mul(u64::try_from(extent.as_const()?).ok()?)?;
            }
            Some(bytes)
        });
        self.plan.slots.push(Slot {
            ty,
            bytes,
            offset: None,
            view_of,
            born,
            dies: None,
        });
        self.plan.slots.len() - 1
    }

    fn tensor_type(&self, v: VertexId, ty: &Type, place: &str) -> Result<TensorType, PlanError> {
        match ty {
            Type::Tensor(ty) => Ok(ty.clone()),
            Type::Absent => Err(PlanError::Absent { vertex: v }),
            Type::Tuple(_) => Err(PlanError::Tuple {
                place: place.into(),
                ty: ty.clone(),
                vertex: v,
            }),
        }
    }

    fn port(&mut self, v: VertexId, place: &str) -> Result<Port, PlanError> {
        let ty = self.tensor_type(v, self.graph.ty(v), place)?;
        let slot = self.slot(ty, None, None);
        self.held.insert(v, Held::One(slot));
        Ok(Port {
            name: self.graph.vertex(v).name.clone(),
            slot,
        })
    }

    fn vertex(&mut self, v: VertexId) -> Result<Held, PlanError> {
        let vertex = self.graph.vertex(v);
        let operands: Vec<Held> = self.graph.pred(v).iter().map(|u| self.held[u].clone()).collect();
        Ok(match &vertex.node {
            Node::Input | Node::Param => {
                let port = self.port(v, "an input")?;
                let held = Held::One(port.slot);
                match vertex.node {
                    Node::Param => self.plan.params.push(port),
                    _ => self.plan.inputs.push(port),
                }
                held
            }
            Node::Const(value) => {
                let slot = self.slot(value.ty(), None, None);
                self.plan.constants.push(Constant {
                    slot,
                    value: value.clone(),
                });
                Held::One(slot)
            }
            Node::Absent => Held::Absent,
            Node::Tuple => Held::Many(operands.into()),
            Node::Proj(i) => match operands.first() {
                Some(Held::Many(items)) => items.get(*i as usize).cloned().ok_or(PlanError::Absent { vertex: v })?,
                _ => return Err(PlanError::Absent { vertex: v }),
            },
            Node::Call {
                op: op @ Op::Opaque(_), ..
            } => {
                return Err(PlanError::Opaque {
                    op: op.name(),
                    vertex: v,
                });
            }
            Node::Call { op, attrs } => {
                let operands = operands
                    .iter()
                    .enumerate()
                    .map(|(i, held)| match held {
                        Held::Absent => Ok(None),
                        Held::One(slot) => Ok(Some(*slot)),
                        Held::Many(_) => Err(PlanError::Tuple {
                            place: format!("operand {i} of `{}`", op.name()),
                            ty: self.graph.ty(self.graph.pred(v)[i]).clone(),
                            vertex: v,
                        }),
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                let born = Some(self.plan.steps.len());
                let view_of = operands
                    .first()
                    .copied()
                    .flatten()
                    .filter(|_| kernels::is_view(&op.name()));
                let (held, results) = match &vertex.ty {
                    Type::Tuple(items) => {
                        let mut slots = Vec::with_capacity(items.len());
                        for ty in items {
                            let ty = self.tensor_type(v, ty, "a result")?;
                            slots.push(self.slot(ty, born, None));
                        }
                        (Held::Many(slots.iter().map(|&s| Held::One(s)).collect()), slots)
                    }
                    single => {
                        let ty = self.tensor_type(v, single, "a result")?;
                        let slot = self.slot(ty, born, view_of);
                        (Held::One(slot), vec![slot])
                    }
                };
                self.plan.steps.push(Step {
                    op: op.name(),
                    attrs: attrs.to_vec(),
                    operands,
                    results,
                    frees: Vec::new(),
                    name: vertex.name.clone(),
                });
                held
            }
        })
    }

    fn output(&mut self, v: VertexId, name: Option<Arc<str>>, held: &Held) -> Result<(), PlanError> {
        // Tuples inside tuples, with a stack of what is still to come.
        let mut stack = vec![(name, held)];
        while let Some((name, held)) = stack.pop() {
            match held {
                Held::Absent => return Err(PlanError::Absent { vertex: v }),
                Held::One(slot) => self.plan.outputs.push(Port { name, slot: *slot }),
                Held::Many(items) => stack.extend(items.iter().enumerate().rev().map(|(i, item)| {
                    let name = name.as_ref().map(|n| Arc::from(format!("{n}.{i}")));
                    (name, item)
                })),
            }
        }
        Ok(())
    }
}
