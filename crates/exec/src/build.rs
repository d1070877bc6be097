//! Compiling a graph into a plan.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::error::PlanError;
use super::plan::{Constant, Plan, Port, Slot, SlotId, Step};
use super::precision::Precision;
use super::{fixed, kernels, memory, region};
use tautomer_graph::{Graph, Node, VertexId, expand_calls};
use tautomer_op::{Op, OpDef, lookup};
use tautomer_tensor::Type;

/// The slots that hold the value of a vertex.
#[derive(Clone)]
enum Held {
    Absent,
    One(SlotId),
    Many(Arc<[Held]>),
}

impl Plan {
    /// The plan of a graph. Calls of composite operators without a kernel for their element type are replaced by their
    /// bodies.
    ///
    /// # Errors
    /// If it calls an operator without a definition, or has a tuple where only a tensor is possible.
    pub fn compile(graph: &Graph) -> Result<Plan, PlanError> {
        let is_slow = |graph: &Graph, v: VertexId, def: &OpDef| {
            let operands = graph.pred(v);
            let first = operands
                .first()
                .and_then(|&u| graph.ty(u).as_tensor())
                .map(|ty| ty.dtype);
            def.composite_body().is_some() && !kernels::may_run(def.name, first)
        };
        let def_of = |v: VertexId| graph.vertex(v).op().and_then(Op::def);
        if graph.ids().any(|v| def_of(v).is_some_and(|def| is_slow(graph, v, def))) {
            let mut expanded = graph.clone();
            // A body that cannot be typed yet, because a rank is unknown, stays a call; its operands are better known
            // at run time.
            if expand_calls(&mut expanded, &is_slow).is_ok() {
                return Plan::compile_flat(&expanded);
            }
        }
        Plan::compile_flat(graph)
    }

    /// The same plan with products in this precision: says of each step whether it computes in it, which for sizes that
    /// are not known is decided when it runs.
    #[must_use]
    pub fn in_precision(mut self, precision: Precision) -> Plan {
        self.precision = precision;
        let (once, fixed) = fixed::of(&self);
        for (i, once) in once.into_iter().enumerate() {
            self.steps[i].precision = match precision {
                // What is computed once need not be fast.
                Precision::Bf16 if !once && self.may_be_in_bf16(i, &fixed) => precision,
                _ => Precision::F32,
            };
        }
        self
    }

    fn may_be_in_bf16(&self, i: usize, fixed: &[bool]) -> bool {
        let step = &self.steps[i];
        let Some(def) = lookup(&step.op) else { return false };
        let is_fixed = |slot: &Option<SlotId>| slot.is_some_and(|slot| fixed[self.owner(slot)]);
        let is_fixed: Vec<bool> = step.operands.iter().map(is_fixed).collect();
        let ty = |slot: &Option<SlotId>| slot.map_or(Type::Absent, |slot| self.slots[slot].ty.clone());
        let types: Vec<Type> = step.operands.iter().map(ty).collect();
        kernels::may_be_in_bf16(def, &types, &step.attrs, is_fixed)
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
        plan.regions = region::find(&plan);
        memory::assign(&mut plan);
        Ok(plan)
    }
}

struct Builder<'g> {
    graph: &'g Graph,
    plan: Plan,
    held: FxHashMap<VertexId, Held>,
}

impl Builder<'_> {
    fn slot(&mut self, ty: Type, born: Option<usize>, view_of: Option<SlotId>) -> SlotId {
        let bytes = ty.as_tensor().and_then(|ty| {
            let shape = ty.shape.as_ref()?;
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
            output: None,
            view_of,
            born,
            dies: None,
        });
        self.plan.slots.len() - 1
    }

    /// The type of a value that gets its own slot.
    fn held_type(&self, v: VertexId, ty: &Type, place: &str) -> Result<Type, PlanError> {
        match ty {
            Type::Tensor(_) | Type::Sequence(_) | Type::Optional(_) => Ok(ty.clone()),
            Type::Absent => Err(PlanError::Absent { vertex: v }),
            Type::Tuple(_) => Err(PlanError::Tuple {
                place: place.into(),
                ty: ty.clone(),
                vertex: v,
            }),
        }
    }

    fn port(&mut self, v: VertexId, place: &str) -> Result<Port, PlanError> {
        let ty = self.held_type(v, self.graph.ty(v), place)?;
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
                let slot = self.slot(value.ty().into(), None, None);
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
                            let ty = self.held_type(v, ty, "a result")?;
                            slots.push(self.slot(ty, born, None));
                        }
                        (Held::Many(slots.iter().map(|&s| Held::One(s)).collect()), slots)
                    }
                    single => {
                        let ty = self.held_type(v, single, "a result")?;
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
                    precision: Precision::F32,
                });
                held
            }
        })
    }

    fn output(&mut self, v: VertexId, name: Option<Arc<str>>, held: &Held) -> Result<(), PlanError> {
        // Flattens nested tuples; the stack holds what is still to be visited.
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
