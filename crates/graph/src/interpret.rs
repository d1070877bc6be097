//! The reference interpreter: evaluates every vertex by the reference semantics of its operator, over any number
//! system.

use rustc_hash::FxHashMap;

use super::body::Body;
use super::flow::{self, Datum, FlowCall};
use super::meter::{Meter, Weights, datum_bytes, first_collected};
use super::{Graph, Node, Operands, VertexId, region_graph};
use tautomer_op::{AttrValue, Flow, Op, OpDef, OpError, Region, Semantics, System, Value, evaluate, evaluate_tensors};
use tautomer_tensor::{Tensor, Type};

/// The reason why a graph could not be evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterpretError {
    /// A call failed.
    #[error("`{op}` at node {}: {error}", vertex.index())]
    Call {
        /// The vertex.
        vertex: VertexId,
        /// The operator.
        op: String,
        /// The reason.
        error: OpError,
    },
    /// An input or parameter has no value.
    #[error("`{0}` has no value")]
    Missing(String),
}

/// The representation of tensors during evaluation.
pub(crate) trait Domain: Sized {
    type T: Clone;
    fn constant(value: &Tensor) -> Result<Self::T, OpError>;
    fn call(
        def: &'static OpDef,
        operands: Vec<Option<Self::T>>,
        types: &[Type],
        attrs: &[AttrValue],
    ) -> Result<Vec<Self::T>, OpError>;
    fn ty(value: &Self::T, declared: &Type) -> Type;
    fn shape(value: &Self::T) -> Vec<usize>;
    /// The elements of an integer tensor, or of a boolean tensor as 0 and 1.
    fn ints(value: &Self::T) -> Result<Vec<i64>, OpError>;
    /// The value as a typed tensor, if it is one.
    fn tensor(_: &Self::T) -> Option<&Tensor> {
        None
    }
    /// The number of bytes counted for a value.
    fn bytes(_: &Datum<Self::T>) -> u64 {
        0
    }
}

fn narrow(values: Vec<i128>) -> Result<Vec<i64>, OpError> {
    let narrow = values.into_iter().map(i64::try_from).collect::<Result<_, _>>();
    narrow.map_err(|_| OpError::new("an integer does not fit 64 bits"))
}

/// Typed tensors.
pub(crate) struct Machine;

impl Domain for Machine {
    type T = Tensor;
    fn constant(value: &Tensor) -> Result<Tensor, OpError> {
        Ok(value.clone())
    }
    fn call(
        def: &'static OpDef,
        operands: Vec<Option<Tensor>>,
        _: &[Type],
        attrs: &[AttrValue],
    ) -> Result<Vec<Tensor>, OpError> {
        evaluate_tensors(def, &operands, attrs)
    }
    fn ty(value: &Tensor, _: &Type) -> Type {
        value.ty().into()
    }
    fn shape(value: &Tensor) -> Vec<usize> {
        value.shape().to_vec()
    }
    fn ints(value: &Tensor) -> Result<Vec<i64>, OpError> {
        narrow(value.to_ints().ok_or_else(|| OpError::new("expected integers"))?)
    }
    fn tensor(value: &Tensor) -> Option<&Tensor> {
        Some(value)
    }
    fn bytes(value: &Datum<Tensor>) -> u64 {
        datum_bytes(value)
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
        operands: Vec<Option<Value<S>>>,
        types: &[Type],
        attrs: &[AttrValue],
    ) -> Result<Vec<Value<S>>, OpError> {
        let operands: Vec<Value<S>> = operands.into_iter().map(|o| o.unwrap_or(Value::Absent)).collect();
        evaluate(def, &operands, types, attrs).map(|(values, _)| values)
    }
    fn ty(value: &Value<S>, declared: &Type) -> Type {
        let Type::Tensor(t) = declared else {
            return declared.clone();
        };
        Type::tensor(t.dtype, tautomer_tensor::Shape::from(value.shape()))
    }
    fn shape(value: &Value<S>) -> Vec<usize> {
        value.shape().to_vec()
    }
    fn ints(value: &Value<S>) -> Result<Vec<i64>, OpError> {
        match value {
            Value::Int(a) => narrow(a.iter().copied().collect()),
            Value::Bool(a) => Ok(a.iter().map(|&b| i64::from(b)).collect()),
            _ => Err(OpError::new("expected integers")),
        }
    }
}

/// The results of `graph` for the given values of inputs and parameters.
///
/// # Errors
/// If a value is missing, or if a call cannot be evaluated: an opaque operator, operands that do not fit.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_graph::*;
/// # use tautomer_lang::parse_program;
/// # use tautomer_tensor::Tensor;
/// let source = Arc::new(Source::new("example", "fn main(x: f32[2]) { x * 2 + 1 }"));
/// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
/// let out = interpret(&graph, &|_| Some(Tensor::vector(vec![1.0f32, 2.0])));
/// assert_eq!(out.unwrap(), [Tensor::vector(vec![3.0f32, 5.0])]);
/// ```
pub fn interpret(graph: &Graph, value: &dyn Fn(VertexId) -> Option<Tensor>) -> Result<Vec<Tensor>, InterpretError> {
    let roots: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    run_tensors::<Machine>(graph, value, &roots)
}

/// The results of `graph`, which may have any type; see [`interpret`].
///
/// # Errors
/// Same as for [`interpret`].
pub fn interpret_data(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<Datum<Tensor>>,
) -> Result<Vec<Datum<Tensor>>, InterpretError> {
    let roots: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    run::<Machine>(graph, value, &roots, None)
}

/// The values of some vertices; see [`interpret`].
///
/// # Errors
/// Same as for [`interpret`].
pub fn interpret_vertices(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<Tensor>,
    roots: &[VertexId],
) -> Result<Vec<Tensor>, InterpretError> {
    run_tensors::<Machine>(graph, value, roots)
}

/// The value of one call, as by [`evaluate_call`], within the limits of `meter`.
///
/// # Errors
/// Same as for [`evaluate_call`]; also if it exceeds the limits.
pub fn evaluate_within(
    op: &Op,
    operands: &[Option<Tensor>],
    attrs: &[AttrValue],
    meter: &Meter,
) -> Result<Vec<Tensor>, OpError> {
    let types: Vec<Type> = operands
        .iter()
        .map(|o| o.as_ref().map_or(Type::Absent, |t| t.ty().into()))
        .collect();
    tensors(call::<Machine>(op, &data(operands), &types, attrs, Some(meter))?)
}

/// The results of `graph` over the number system `S`; see [`interpret`].
///
/// # Errors
/// Same as for [`interpret`]; also if `S` does not define a function of the graph.
pub fn interpret_over<S: System>(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<Value<S>>,
) -> Result<Vec<Value<S>>, InterpretError> {
    let roots: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    run_tensors::<Over<S>>(graph, value, &roots)
}

/// The values of some vertices over the number system `S`; see [`interpret_over`].
///
/// # Errors
/// Same as for [`interpret_over`].
#[doc(hidden)]
pub fn interpret_vertices_over<S: System>(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<Value<S>>,
    roots: &[VertexId],
) -> Result<Vec<Value<S>>, InterpretError> {
    run_tensors::<Over<S>>(graph, value, roots)
}

/// The value of one call; composite operators are evaluated through their bodies.
///
/// # Errors
/// If the operator is opaque or the operands do not fit.
pub fn evaluate_call(op: &Op, operands: &[Option<Tensor>], attrs: &[AttrValue]) -> Result<Vec<Tensor>, OpError> {
    let types: Vec<Type> = operands
        .iter()
        .map(|o| o.as_ref().map_or(Type::Absent, |t| t.ty().into()))
        .collect();
    tensors(call::<Machine>(op, &data(operands), &types, attrs, None)?)
}

/// The value of one call whose operands and results may have any type; `types` are those of the operands.
///
/// # Errors
/// Same as for [`evaluate_call`].
pub fn evaluate_data(
    op: &Op,
    operands: &[Datum<Tensor>],
    types: &[Type],
    attrs: &[AttrValue],
) -> Result<Vec<Datum<Tensor>>, OpError> {
    call::<Machine>(op, operands, types, attrs, None)
}

/// The value of one call over the number system `S`; composite operators are evaluated through their bodies. `types`
/// are those of the operands, with every dimension known.
///
/// # Errors
/// Same as for [`evaluate_call`]; also if `S` does not define a function of the operator.
pub fn evaluate_call_over<S: System>(
    op: &Op,
    operands: &[Option<Value<S>>],
    types: &[Type],
    attrs: &[AttrValue],
) -> Result<Vec<Value<S>>, OpError> {
    tensors(call::<Over<S>>(op, &data(operands), types, attrs, None)?)
}

fn data<T: Clone>(operands: &[Option<T>]) -> Vec<Datum<T>> {
    operands
        .iter()
        .map(|o| o.clone().map_or(Datum::Absent, Datum::One))
        .collect()
}

fn tensors<T>(results: Vec<Datum<T>>) -> Result<Vec<T>, OpError> {
    let one = |result: Datum<T>| match result {
        Datum::One(value) => Ok(value),
        _ => Err(OpError::new("a result is not a tensor")),
    };
    results.into_iter().map(one).collect()
}

/// The results of a call of control flow on typed tensors. Its functions are called by `body`, which is passed the
/// index of the attribute.
///
/// # Errors
/// If operands do not fit, or a function fails.
pub fn evaluate_flow(
    def: &'static OpDef,
    which: Flow,
    operands: &[Datum<Tensor>],
    types: &[Type],
    attrs: &[AttrValue],
    body: flow::Caller<'_, Tensor>,
) -> Result<Vec<Datum<Tensor>>, OpError> {
    let call = FlowCall::<Machine> {
        def,
        operands,
        types,
        attrs,
    };
    flow::evaluate(which, &call, body)
}

/// The results of a function for these values.
fn call_region<D: Domain>(
    region: &Region,
    given: Vec<Datum<D::T>>,
    meter: Option<&Meter>,
) -> Result<Vec<Datum<D::T>>, OpError> {
    let graph = region_graph(region);
    let by_vertex: FxHashMap<VertexId, Datum<D::T>> = graph.inputs().iter().copied().zip(given).collect();
    let roots: Vec<VertexId> = graph.outputs().iter().map(|o| o.vertex).collect();
    run::<D>(&graph, &|v| by_vertex.get(&v).cloned(), &roots, meter).map_err(|e| OpError::new(e.to_string()))
}

fn call<D: Domain>(
    op: &Op,
    operands: &[Datum<D::T>],
    types: &[Type],
    attrs: &[AttrValue],
    meter: Option<&Meter>,
) -> Result<Vec<Datum<D::T>>, OpError> {
    let Op::Known(def) = op else {
        return Err(OpError::new(format!(
            "`{}` is not in the operator table: it cannot be executed",
            op.name()
        )));
    };
    if let Some(meter) = meter {
        let tensors: Vec<Option<&Tensor>> = operands.iter().map(|o| o.one().and_then(D::tensor)).collect();
        meter.call(def, &tensors, types, attrs, Weights::REFERENCE)?;
    }
    if let Semantics::Flow(flow) = def.semantics {
        let call = FlowCall::<D> {
            def,
            operands,
            types,
            attrs,
        };
        let mut collected = 0u64;
        let body = &mut |place: usize, given| match attrs.get(place).and_then(AttrValue::region) {
            Some(region) => {
                let results = call_region::<D>(region, given, meter)?;
                if let Some(meter) = meter {
                    let kept = results.iter().skip(first_collected(def, attrs, results.len()));
                    let bytes = kept.map(D::bytes).sum();
                    meter.hold(bytes);
                    collected = collected.saturating_add(bytes);
                    meter.room(0.0)?;
                }
                Ok(results)
            }
            None => Err(OpError::new("there is no function to call")),
        };
        let results = flow::evaluate(flow, &call, body);
        if let Some(meter) = meter {
            meter.release(collected);
        }
        return results;
    }
    if def.is_primitive() {
        let operands: Vec<Option<D::T>> = operands.iter().map(|o| o.one().cloned()).collect();
        return Ok(D::call(def, operands, types, attrs)?
            .into_iter()
            .map(Datum::One)
            .collect());
    }
    let body = Body::of(def, types, attrs)?;
    let given = body.inputs.iter().copied().zip(operands.iter().cloned());
    let by_vertex: FxHashMap<VertexId, Datum<D::T>> = given.collect();
    run::<D>(&body.graph, &|v| by_vertex.get(&v).cloned(), &body.roots, meter).map_err(|e| OpError::new(e.to_string()))
}

fn run_tensors<D: Domain>(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<D::T>,
    roots: &[VertexId],
) -> Result<Vec<D::T>, InterpretError> {
    let results = run::<D>(graph, &|v| value(v).map(Datum::One), roots, None)?;
    let one = |(v, result): (&VertexId, Datum<D::T>)| match result {
        Datum::One(value) => Ok(value),
        _ => Err(InterpretError::Missing(format!("result {}", v.index()))),
    };
    roots.iter().zip(results).map(one).collect()
}

fn run<D: Domain>(
    graph: &Graph,
    value: &dyn Fn(VertexId) -> Option<Datum<D::T>>,
    roots: &[VertexId],
    meter: Option<&Meter>,
) -> Result<Vec<Datum<D::T>>, InterpretError> {
    let order = graph.rpo_from(roots.iter().copied());
    let order: Vec<(VertexId, Operands)> = order.into_iter().map(|v| (v, graph.pred(v))).collect();
    let places = order.iter().map(|(v, _)| v.index() + 1).max().unwrap_or(0);
    let mut uses = vec![0usize; places];
    for u in order.iter().flat_map(|(_, operands)| operands).chain(roots) {
        uses[u.index()] += 1;
    }
    let mut slots: Vec<Option<Datum<D::T>>> = vec![None; places];
    // The counted bytes of computed values.
    let mut held: FxHashMap<VertexId, u64> = FxHashMap::default();
    for (v, operands) in order {
        let vertex = graph.vertex(v);
        let failed = |op: &str, error: OpError| InterpretError::Call {
            vertex: v,
            op: op.to_owned(),
            error,
        };
        let slot = match &vertex.node {
            Node::Input | Node::Param => {
                let name = vertex.name.as_deref().unwrap_or("?");
                value(v).ok_or_else(|| InterpretError::Missing(name.to_owned()))?
            }
            Node::Const(tensor) => Datum::One(D::constant(tensor).map_err(|e| failed("constant", e))?),
            Node::Absent => Datum::Absent,
            Node::Tuple => {
                let items = operands.iter().filter_map(|u| slots[u.index()].clone());
                Datum::List(items.collect())
            }
            Node::Proj(i) => match &slots[operands[0].index()] {
                Some(Datum::List(items)) if (*i as usize) < items.len() => items[*i as usize].clone(),
                _ => return Err(failed("projection", OpError::new("there is no such element"))),
            },
            Node::Call { op, attrs } => {
                let mut types = Vec::with_capacity(operands.len());
                let mut values = Vec::with_capacity(operands.len());
                for u in &operands {
                    let value = slots[u.index()].clone().unwrap_or(Datum::Absent);
                    types.push(match &value {
                        Datum::One(t) => D::ty(t, graph.ty(*u)),
                        Datum::List(_) => graph.ty(*u).clone(),
                        Datum::Absent => Type::Absent,
                    });
                    values.push(value);
                }
                let mut results = call::<D>(op, &values, &types, attrs, meter).map_err(|e| failed(&op.name(), e))?;
                match &vertex.ty {
                    Type::Tuple(_) => Datum::List(results),
                    _ => results
                        .pop()
                        .ok_or_else(|| failed(&op.name(), OpError::new("no result")))?,
                }
            }
        };
        if let (Some(meter), Node::Call { .. }) = (meter, &vertex.node) {
            let bytes = D::bytes(&slot);
            meter.hold(bytes);
            held.insert(v, bytes);
        }
        slots[v.index()] = Some(slot);
        // Values are dropped after their last use.
        for u in operands {
            let left = &mut uses[u.index()];
            *left -= 1;
            if *left == 0 {
                slots[u.index()] = None;
                if let (Some(meter), Some(bytes)) = (meter, held.remove(&u)) {
                    meter.release(bytes);
                }
            }
        }
    }
    // The remaining values are the results, which the caller counts.
    if let Some(meter) = meter {
        held.values().for_each(|bytes| meter.release(*bytes));
    }
    roots
        .iter()
        .map(|v| match &slots[v.index()] {
            Some(value @ (Datum::One(_) | Datum::List(_))) => Ok(value.clone()),
            _ => Err(InterpretError::Missing(format!("result {}", v.index()))),
        })
        .collect()
}
