//! The input of a run, and the memory that it takes.

use std::sync::PoisonError;

use smallvec::SmallVec;

use super::bind::Symbols;
use super::error::RunError;
use super::kernels::{self, Arena, Extents, Regions};
use super::layout::Layout;
use super::plan::{Plan, Port};
use super::run::{Executor, Observer};
use super::walk::Walk;
use tautomer_graph::{Datum, Meter, Params};
use tautomer_tensor::{Tensor, Type};

/// The inputs of a run.
pub(super) enum Inputs<'a> {
    Tensors(&'a [Tensor]),
    Data(Vec<Datum<Tensor>>),
}

impl Inputs<'_> {
    fn len(&self) -> usize {
        match self {
            Inputs::Tensors(tensors) => tensors.len(),
            Inputs::Data(data) => data.len(),
        }
    }

    fn take(&mut self, i: usize) -> Datum<Tensor> {
        match self {
            Inputs::Tensors(tensors) => Datum::One(tensors[i].clone()),
            Inputs::Data(data) => std::mem::replace(&mut data[i], Datum::Absent),
        }
    }
}

/// The function to call after each step, if any.
pub(super) enum Watch<'r> {
    Nothing,
    /// Called with the results of each step; none of them is then in memory that is reused.
    Results(Observer<'r>),
    /// Called with the index of each step that was computed.
    Steps(&'r mut (dyn FnMut(usize) + Send)),
}

/// Everything that a run is given except its inputs.
pub(super) struct Request<'r> {
    pub(super) params: &'r Params,
    /// Symbolic dimensions that are already known.
    pub(super) outer: Option<&'r Symbols>,
    pub(super) watch: Watch<'r>,
    /// The tensors to write results to.
    pub(super) into: Option<&'r mut [Tensor]>,
    /// How many threads kernels may use.
    pub(super) threads: usize,
}

impl<'r> Request<'r> {
    /// A run with these parameters on the calling thread, and nothing else.
    pub(super) fn of(params: &'r Params) -> Request<'r> {
        Request {
            params,
            outer: None,
            watch: Watch::Nothing,
            into: None,
            threads: 1,
        }
    }
}

/// The resources of a run that a later one can reuse.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    arena: Option<Arena>,
    values: Vec<Held>,
    is_done: Vec<bool>,
}

/// The value of a slot.
#[derive(Debug, Default)]
pub(super) enum Held {
    /// It has not been computed, or is no longer needed.
    #[default]
    Nothing,
    Datum(Datum<Tensor>),
    /// It is at its place in the layout of the run.
    Placed,
}

impl Executor {
    /// Runs the steps, and counts the resources they take if there is a meter. Returns the results of the plan, or none
    /// if they are written to given tensors.
    pub(super) fn steps(
        &self,
        inputs: Inputs<'_>,
        request: Request<'_>,
        meter: Option<&Meter>,
    ) -> Result<Vec<Datum<Tensor>>, RunError> {
        self.buffers.begin();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = idle.pop().unwrap_or_default();
        drop(idle);
        let results = self.in_workspace(inputs, request, meter, &mut workspace);
        // Results of unknown size that were copied to given tensors, and what an error has left.
        for held in workspace.values.drain(..) {
            if let Held::Datum(Datum::One(value)) = held {
                self.buffers.recycle(value);
            }
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(workspace);
        results
    }

    fn in_workspace(
        &self,
        mut inputs: Inputs<'_>,
        request: Request<'_>,
        meter: Option<&Meter>,
        workspace: &mut Workspace,
    ) -> Result<Vec<Datum<Tensor>>, RunError> {
        let Workspace { arena, values, is_done } = workspace;
        let symbols = self.given(&mut inputs, &request, values)?;
        // A run that counts what it takes, or is compared, makes every value anew.
        let makes_all = meter.is_some() || matches!(request.watch, Watch::Results(_));
        let layout = if makes_all { None } else { self.layout(&symbols) };
        let mut fresh = Vec::new();
        let is_into = request.into.is_some();
        let outputs = match request.into {
            Some(given) => given,
            None => {
                fresh = fresh_outputs(self.plan(), layout.as_deref());
                &mut fresh[..]
            }
        };
        let bytes = layout.as_ref().map_or(0, |layout| layout.arena);
        if arena.as_ref().is_none_or(|arena| arena.bytes() < bytes) {
            // Only one of them is there at a time.
            *arena = None;
            *arena = Some(Arena::new(bytes));
        }
        is_done.clear();
        is_done.resize(self.plan().steps.len(), false);
        let types: SmallVec<[_; 8]> = outputs.iter().map(|t| (t.dtype(), Extents::from(t.shape()))).collect();
        let mut walk = Walk {
            executor: self,
            plan: self.plan(),
            layout: layout.as_deref(),
            memory: Regions::new(arena.as_mut(), outputs),
            symbols: &symbols,
            meter,
            watch: request.watch,
            threads: request.threads,
            values,
            is_done,
            held: vec![0; if meter.is_some() { self.plan().slots.len() } else { 0 }],
        };
        for i in 0..walk.plan.steps.len() {
            walk.step(i)?;
        }
        walk.end();
        if is_into {
            return walk.store(&types).map(|()| Vec::new());
        }
        let results = walk.results()?;
        drop(walk);
        // What is left out was written to the tensor made for it.
        let result = |(result, tensor): (Option<_>, _)| result.unwrap_or(Datum::One(tensor));
        Ok(results.into_iter().zip(fresh).map(result).collect())
    }

    /// Puts the values that a run is given in their slots, and finds those of symbols.
    fn given(
        &self,
        inputs: &mut Inputs<'_>,
        request: &Request<'_>,
        values: &mut Vec<Held>,
    ) -> Result<Symbols, RunError> {
        let plan = self.plan();
        if inputs.len() != plan.inputs.len() {
            return Err(RunError::Count {
                expected: plan.inputs.len(),
                given: inputs.len(),
            });
        }
        values.clear();
        values.resize_with(plan.slots.len(), Held::default);
        for (i, port) in plan.inputs.iter().enumerate() {
            let value = inputs.take(i);
            let value = match (value, &plan.slots[port.slot].ty) {
                (value @ Datum::One(_), Type::Tensor(_))
                | (value @ Datum::List(_), Type::Sequence(_) | Type::Optional(_)) => value,
                // A tensor can be given for an optional value.
                (value @ Datum::One(_), Type::Optional(_)) => Datum::List(vec![value]),
                _ => return Err(self.missing("input", port)),
            };
            values[port.slot] = Held::Datum(value);
        }
        for port in &plan.params {
            values[port.slot] = Held::Datum(Datum::One(self.named("parameter", port, request.params)?.clone()));
        }
        let inputs = plan.inputs.iter().map(|port| ("input", port));
        let given = inputs.chain(plan.params.iter().map(|port| ("parameter", port)));
        let tensors = given.filter_map(|(what, port)| match &values[port.slot] {
            Held::Datum(Datum::One(value)) => Some((what, port, value)),
            _ => None,
        });
        let none = Symbols::new();
        let symbols = self.bind(tensors, request.outer.unwrap_or(&none))?;
        for constant in &plan.constants {
            values[constant.slot] = Held::Datum(Datum::One(constant.value.clone()));
        }
        Ok(symbols)
    }
}

/// A tensor for each output that is written where it is wanted; one without elements for the others.
fn fresh_outputs(plan: &Plan, layout: Option<&Layout>) -> Vec<Tensor> {
    let place = |(k, port): (usize, &Port)| {
        let place = layout?.places[port.slot]
            .as_ref()
            .filter(|place| place.region == k + 1)?;
        kernels::zeros(place.dtype, &place.shape)
    };
    let outputs = plan.outputs.iter().enumerate().map(place);
    outputs
        .map(|tensor| tensor.unwrap_or_else(|| Tensor::vector::<u8>(Vec::new())))
        .collect()
}
