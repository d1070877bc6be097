//! The results of a workload: by kernels, by the reference semantics, in double precision.

use std::borrow::Cow;

use crate::diag::Diagnostics;
use crate::exec::{Executor, Mode, Observer, Plan};
use crate::graph::{Graph, Meter, Output, VertexId, Workload, interpret, interpret_over};
use crate::model::failed;
use crate::op::Value;
use crate::tensor::{DType, Tensor};

use super::extents::decided;

/// The results of a workload for inputs in order.
pub(crate) fn evaluate(workload: &Workload, inputs: &[Tensor], reference: bool) -> Result<Vec<Tensor>, Diagnostics> {
    let graph = &workload.graph;
    if reference {
        return by_reference(workload, inputs);
    }
    let failed = |message: String| failed("T0406", message);
    let plan = Plan::compile(graph).map_err(|e| failed(e.to_string()))?;
    let executor = Executor::new(plan, Mode::Kernels).map_err(|e| failed(e.to_string()))?;
    executor
        .run(inputs, &workload.params)
        .map_err(|e| failed(e.to_string()))
}

/// Computes the results of a workload with kernels, and fails if it exceeds the limits of `meter`; `observer` sees each
/// named value.
pub(crate) fn evaluate_within(
    workload: &Workload,
    inputs: &[Tensor],
    meter: &Meter,
    observer: &mut (dyn FnMut(&str, &str, &Tensor) + Send),
) -> Result<Vec<Tensor>, String> {
    let plan = Plan::compile(&workload.graph).map_err(|e| e.to_string())?;
    let executor = Executor::new(plan, Mode::Kernels).map_err(|e| e.to_string())?;
    let observer: Observer<'_> = &mut |_, step, results| {
        if let (Some(name), [value]) = (&step.name, results) {
            observer(name, &step.op, value);
        }
    };
    executor
        .run_within(inputs, &workload.params, meter, observer)
        .map_err(|e| e.to_string())
}

/// The results by the reference semantics.
fn by_reference(workload: &Workload, inputs: &[Tensor]) -> Result<Vec<Tensor>, Diagnostics> {
    let graph = bound(workload, inputs);
    let leaf = |v: VertexId| given(&graph, workload, inputs, v).cloned();
    interpret(&graph, &leaf).map_err(|e| failed("T0406", e.to_string()))
}

/// The results in double precision by the reference semantics, if possible.
pub(crate) fn in_double(workload: &Workload, inputs: &[Tensor]) -> Option<Vec<Tensor>> {
    let graph = bound(workload, inputs);
    let leaf = |v: VertexId| Value::<f64>::from_tensor(given(&graph, workload, inputs, v)?).ok();
    let results = interpret_over::<f64>(&graph, &leaf).ok()?;
    let one = |(result, output): (Value<f64>, &Output)| {
        let dtype = graph.ty(output.vertex).as_tensor()?.dtype;
        result
            .into_tensor(if dtype.is_float() { DType::F64 } else { dtype })
            .ok()
    };
    results.into_iter().zip(graph.outputs()).map(one).collect()
}

/// The graph with its symbols bound to the sizes of the given values; unchanged if they do not fit, which the
/// interpreter reports.
fn bound<'a>(workload: &'a Workload, inputs: &[Tensor]) -> Cow<'a, Graph> {
    let graph = &workload.graph;
    let extents = decided(graph, &|v| given(graph, workload, inputs, v));
    let bound = graph.with_symbols(&|name| extents.get(name).copied());
    bound.map_or(Cow::Borrowed(graph), Cow::Owned)
}

/// The value of an input or parameter of `graph`, which is that of the workload, perhaps with its symbols bound.
fn given<'a>(graph: &Graph, workload: &'a Workload, inputs: &'a [Tensor], v: VertexId) -> Option<&'a Tensor> {
    match graph.inputs().iter().position(|&u| u == v) {
        Some(i) => inputs.get(i),
        None => workload.params.get(graph.vertex(v).name.as_deref()?),
    }
}
