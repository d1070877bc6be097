//! The reference interpreter: every vertex by the reference semantics of its operator, over any number system.

use rustc_hash::FxHashMap;

use super::composite::inline;
use super::{Graph, Node, VertexId};
use crate::op::{AttrValue, Op, OpDef, OpError, Semantics, System, Value, evaluate, evaluate_tensors};
use crate::tensor::{Tensor, Type};

/// Why a graph could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterpretError {
    /// A call failed.
    #[error("`{op}` at vertex {}: {error}", vertex.index())]
    Call {
        /// The vertex.
        vertex: VertexId,
        /// The operator.
        op: String,
        /// Why.
        error: OpError,
    },
    /// An input or parameter has no value.
    #[error("`{0}` has no value")]
    Missing(String),
}

/// What values are while a graph is evaluated.
trait Domain {
    type T: Clone;
    fn constant(value: &Tensor) -> Result<Self::T, OpError>;
    fn call(
        def: &'static OpDef,
        operands: &[Option<Self::T>],
        types: &[Type],
        attrs: &[AttrValue],
    ) -> Result<Vec<Self::T>, OpError>;
    fn ty(value: &Self::T, declared: &Type) -> Type;
}

/// Typed tensors.
struct Machine;

impl Domain for Machine {
    type T = Tensor;
    fn constant(value: &Tensor) -> Result<Tensor, OpError> {
        Ok(value.clone())
    }
    fn call(
        def: &'static OpDef,
        operands: &[Option<Tensor>],
        _: &[Type],
        attrs: &[AttrValue],
    ) -> Result<Vec<Tensor>, OpError> {
        evaluate_tensors(def, operands, attrs)
    }
    fn ty(value: &Tensor, _: &Type) -> Type {
        value.ty().into()
    }
}

/// Values over the number system `S`.
struct Over<S>(std::marker::PhantomData<S>);

impl<S: System> Domain for Over<S> {
    type T = Value<S>;
    fn constant(value: &Tensor) -> Result<Value<S>, OpError> {
        Value::from_tensor(value)
    }
    fn call(
        def: &'static OpDef,
        operands: &[Option<Value<S>>],
        types: &[Type],
        attrs: &[AttrValue],
    ) -> Result<Vec<Value<S>>, OpError> {
        let operands: Vec<Value<S>> = operands.iter().map(|o| o.clone().unwrap_or(Value::Absent)).collect();
        evaluate(def, &operands, types, attrs).map(|(values, _)| values)
    }
    fn ty(value: &Value<S>, declared: &Type) -> Type {
        let Type::Tensor(t) = declared else {
            return declared.clone();
        };
        Type::tensor(t.dtype, crate::tensor::Shape::from(value.shape()))
    }
}

/// The results of `graph` for the given values of inputs and parameters.
///
/// # Errors
/// If a value is missing, or if a call cannot be evaluated: an opaque operator, operands that do not fit.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::parse_program, tensor::Tensor};
/// let source = Arc::new(Source::new("example", "fn main(x: f32[2]) { x * 2 + 1 }"));
/// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
/// let out = interpret(&graph, &|_| Some(Tensor::vector(vec![1.0f32, 2.0])));
/// assert_eq!(out.unwrap(), [Tensor::vector(vec![3.0f32, 5.0])]);
/// ```
pub fn interpret(graph: &Graph, value: &dyn Fn(VertexId) -> Option<Tensor>) -> Result<Vec<Tensor>, InterpretError> {
    run::<Machine>(
        graph,
        value,
        &graph.outputs().iter().map(|o| o.vertex).collect::<Vec<_>>(),
    )
}

/// The values of some vertices; see [`interpret`].
///
/// # Errors
/// As [`interpret`].
pub fn interpret_vertices(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<Tensor>,
    roots: &[VertexId],
) -> Result<Vec<Tensor>, InterpretError> {
    run::<Machine>(graph, value, roots)
}

/// The results of `graph` over the number system `S`; see [`interpret`].
///
/// # Errors
/// As [`interpret`], and if `S` has no meaning for a function of the graph.
pub fn interpret_over<S: System>(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<Value<S>>,
) -> Result<Vec<Value<S>>, InterpretError> {
    run::<Over<S>>(
        graph,
        value,
        &graph.outputs().iter().map(|o| o.vertex).collect::<Vec<_>>(),
    )
}

/// The value of one call, composites through their bodies.
///
/// # Errors
/// If the operator is opaque or the operands do not fit.
pub fn evaluate_call(op: &Op, operands: &[Option<Tensor>], attrs: &[AttrValue]) -> Result<Vec<Tensor>, OpError> {
    let types: Vec<Type> = operands
        .iter()
        .map(|o| o.as_ref().map_or(Type::Absent, |t| t.ty().into()))
        .collect();
    call::<Machine>(op, operands, &types, attrs)
}

/// The value of one call over the number system `S`, composites through their bodies; `types` are those of the
/// operands, with every extent known.
///
/// # Errors
/// As [`evaluate_call`], and if `S` has no meaning for a function of the operator.
pub fn evaluate_call_over<S: System>(
    op: &Op,
    operands: &[Option<Value<S>>],
    types: &[Type],
    attrs: &[AttrValue],
) -> Result<Vec<Value<S>>, OpError> {
    call::<Over<S>>(op, operands, types, attrs)
}

fn call<D: Domain>(
    op: &Op,
    operands: &[Option<D::T>],
    types: &[Type],
    attrs: &[AttrValue],
) -> Result<Vec<D::T>, OpError> {
    let Op::Known(def) = op else {
        return Err(OpError::new(format!(
            "`{}` is not in the operator table: it cannot be executed",
            op.name()
        )));
    };
    if matches!(def.semantics, Semantics::Primitive(_)) {
        return D::call(def, operands, types, attrs);
    }
    let mut body = Graph::new();
    let inputs: Vec<VertexId> = types
        .iter()
        .map(|ty| {
            if *ty == Type::Absent {
                body.absent()
            } else {
                body.input("", ty.clone())
            }
        })
        .collect();
    let root = inline(&mut body, def, &inputs, attrs)?;
    let by_vertex: FxHashMap<VertexId, D::T> = inputs
        .iter()
        .zip(operands)
        .filter_map(|(v, o)| Some((*v, o.clone()?)))
        .collect();
    let roots = match body.ty(root) {
        Type::Tuple(items) => (0..items.len())
            .map(|i| body.project(root, i))
            .collect::<Result<Vec<_>, _>>()?,
        _ => vec![root],
    };
    run::<D>(&body, &|v| by_vertex.get(&v).cloned(), &roots).map_err(|e| OpError::new(e.to_string()))
}

enum Slot<T> {
    One(T),
    Many(Vec<T>),
    Absent,
}

fn run<D: Domain>(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<D::T>,
    roots: &[VertexId],
) -> Result<Vec<D::T>, InterpretError> {
    let order = graph.rpo_from(roots.iter().copied());
    let mut uses: FxHashMap<VertexId, usize> = FxHashMap::default();
    for &v in &order {
        for u in graph.pred(v) {
            *uses.entry(u).or_default() += 1;
        }
    }
    for root in roots {
        *uses.entry(*root).or_default() += 1;
    }
    let mut slots: FxHashMap<VertexId, Slot<D::T>> = FxHashMap::default();
    for v in order {
        let vertex = graph.vertex(v);
        let operands = graph.pred(v);
        let failed = |op: &str, error: OpError| InterpretError::Call {
            vertex: v,
            op: op.to_owned(),
            error,
        };
        let slot = match &vertex.node {
            Node::Input | Node::Param => {
                let name = vertex.name.as_deref().unwrap_or("?");
                Slot::One(value(v).ok_or_else(|| InterpretError::Missing(name.to_owned()))?)
            }
            Node::Const(tensor) => Slot::One(D::constant(tensor).map_err(|e| failed("constant", e))?),
            Node::Absent => Slot::Absent,
            Node::Tuple => {
                let items = operands.iter().filter_map(|u| match slots.get(u) {
                    Some(Slot::One(t)) => Some(t.clone()),
                    _ => None,
                });
                Slot::Many(items.collect())
            }
            Node::Proj(i) => match slots.get(&operands[0]) {
                Some(Slot::Many(items)) if (*i as usize) < items.len() => Slot::One(items[*i as usize].clone()),
                _ => return Err(failed("projection", OpError::new("there is no such element"))),
            },
            Node::Call { op, attrs } => {
                let mut types = Vec::with_capacity(operands.len());
                let mut values = Vec::with_capacity(operands.len());
                for u in &operands {
                    match slots.get(u) {
                        Some(Slot::One(t)) => {
                            types.push(D::ty(t, graph.ty(*u)));
                            values.push(Some(t.clone()));
                        }
                        _ => {
                            types.push(Type::Absent);
                            values.push(None);
                        }
                    }
                }
                let mut results = call::<D>(op, &values, &types, attrs).map_err(|e| failed(&op.name(), e))?;
                match &vertex.ty {
                    Type::Tuple(_) => Slot::Many(results),
                    _ => Slot::One(
                        results
                            .pop()
                            .ok_or_else(|| failed(&op.name(), OpError::new("no result")))?,
                    ),
                }
            }
        };
        slots.insert(v, slot);
        // Values are dropped after their last use.
        for u in operands {
            if let Some(left) = uses.get_mut(&u) {
                *left -= 1;
                if *left == 0 {
                    slots.remove(&u);
                }
            }
        }
    }
    roots
        .iter()
        .map(|v| match slots.get(v) {
            Some(Slot::One(t)) => Ok(t.clone()),
            _ => Err(InterpretError::Missing(format!("result {}", v.index()))),
        })
        .collect()
}
