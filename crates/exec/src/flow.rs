//! Steps that call functions or hold values other than tensors.

use super::bind::Symbols;
use super::error::RunError;
use super::plan::{Plan, Step};
use super::precision::Precision;
use super::request::{Inputs, Request};
use super::run::{Executor, Mode};
use tautomer_graph::{Datum, Meter, Params, Weights, datum_bytes, evaluate_flow, first_collected, region_graph};
use tautomer_op::{AttrValue, Flow, OpError};
use tautomer_tensor::{Tensor, Type};

/// Executors of the functions that a step calls, indexed by attribute.
pub(super) fn functions(step: &Step, mode: Mode, precision: Precision) -> Result<Vec<Option<Executor>>, RunError> {
    if step.attrs.iter().all(|attr| attr.region().is_none()) {
        return Ok(Vec::new());
    }
    let compiled = step.attrs.iter().map(|attr| {
        let Some(region) = attr.region() else { return Ok(None) };
        region.check().map_err(RunError::Broken)?;
        let plan = Plan::compile(&region_graph(region)).map_err(|e| RunError::Broken(e.to_string()))?;
        Executor::new(plan.in_precision(precision), mode).map(Some)
    });
    compiled.collect()
}

/// The results of step `i`.
pub(super) fn run(
    executor: &Executor,
    i: usize,
    flow: Flow,
    operands: &[Datum<Tensor>],
    (symbols, threads): (&Symbols, usize),
    meter: Option<&Meter>,
) -> Result<Vec<Datum<Tensor>>, OpError> {
    let step = &executor.plan().steps[i];
    let slots = &executor.plan().slots;
    let types: Vec<Type> = step
        .operands
        .iter()
        .zip(operands)
        .map(|(slot, value)| match value {
            Datum::One(value) => value.ty().into(),
            _ => slot.map_or(Type::Absent, |s| slots[s].ty.clone()),
        })
        .collect();
    let attrs: Vec<AttrValue> = step.attrs.clone();
    if let Some(meter) = meter {
        meter.spend(Weights::KERNELS.call)?;
    }
    let def = executor.def(i);
    let mut collected = 0u64;
    let results = evaluate_flow(def, flow, operands, &types, &attrs, &mut |place, given| {
        let function = executor.function(i, place);
        let function = function.ok_or_else(|| OpError::new("there is no function to call"))?;
        if let Some(meter) = meter {
            meter.spend(Weights::KERNELS.call)?;
        }
        let params = Params::new();
        let request = Request {
            outer: Some(symbols),
            threads,
            ..Request::of(&params)
        };
        let results = function.steps(Inputs::Data(given), request, meter);
        let results = results.map_err(|e| OpError::new(e.to_string()))?;
        if let Some(meter) = meter {
            let kept = results.iter().skip(first_collected(def, &attrs, results.len()));
            let bytes = kept.map(datum_bytes).sum();
            meter.hold(bytes);
            collected = collected.saturating_add(bytes);
            meter.room(0.0)?;
        }
        Ok(results)
    });
    if let Some(meter) = meter {
        meter.release(collected);
    }
    results
}
