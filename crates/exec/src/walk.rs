//! One run of a plan: its steps in order, and where their values are.

use smallvec::SmallVec;

use super::bind::{Symbols, bind_attr};
use super::error::RunError;
use super::estimate::weights;
use super::flow;
use super::kernels::{self, Context, Each, Extents, Operand, Place, Regions, Results, Value};
use super::layout::Layout;
use super::place::Relation;
use super::plan::{Plan, Port, SlotId, Step};
use super::request::{Held, Watch};
use super::run::{Executor, Mode};
use tautomer_graph::{Datum, Meter, Weights, datum_bytes, evaluate_call};
use tautomer_op::{AttrValue, Flow, Op, OpDef, OpError, Semantics};
use tautomer_tensor::{DType, Tensor, Type};

/// Debug builds poison the places of dead values in plans with at most this many slots, since each slot is compared
/// with all others.
const POISONED: usize = 4096;

/// A run of a plan.
pub(super) struct Walk<'r, 'w> {
    pub(super) executor: &'r Executor,
    pub(super) plan: &'r Plan,
    pub(super) layout: Option<&'r Layout>,
    pub(super) memory: Regions<'r>,
    pub(super) symbols: &'r Symbols,
    pub(super) meter: Option<&'r Meter>,
    pub(super) watch: Watch<'w>,
    pub(super) threads: usize,
    pub(super) values: &'r mut [Held],
    /// Steps that were done together with an earlier one.
    pub(super) is_done: &'r mut [bool],
    /// The number of bytes counted for each computed value.
    pub(super) held: Vec<u64>,
}

impl<'r> Walk<'r, '_> {
    /// The place of a slot in the layout.
    fn place(&self, slot: SlotId) -> Option<&'r Place> {
        self.layout?.places[slot].as_ref()
    }

    /// The place of a slot, if its value is there.
    fn placed(&self, slot: SlotId) -> Option<&'r Place> {
        match self.values[slot] {
            Held::Placed => self.place(slot),
            _ => None,
        }
    }

    /// Computes step `i`, and frees the values that it is the last to read.
    pub(super) fn step(&mut self, i: usize) -> Result<(), RunError> {
        let step = &self.plan.steps[i];
        if !self.is_done[i] && self.region(i) {
            if let Watch::Steps(after) = &mut self.watch {
                after(i);
            }
        } else if !self.is_done[i] && !self.moves(i, step) {
            let failed = |(operands, source): (String, OpError)| RunError::Step {
                step: i,
                op: step.op.clone(),
                operands,
                source: source.into(),
            };
            match self.executor.def(i).semantics {
                Semantics::Flow(which) => self.flow(i, step, which).map_err(failed)?,
                _ => self.compute(i, step).map_err(failed)?,
            }
            if let Watch::Steps(after) = &mut self.watch {
                after(i);
            }
        }
        if let Some(slot) = step
            .results
            .iter()
            .find(|&&slot| !self.is_done[i] && self.is_nothing(slot))
        {
            return Err(RunError::Broken(format!("step {i} does not compute %{slot}")));
        }
        for &slot in &step.frees {
            self.free(slot);
        }
        Ok(())
    }

    fn is_nothing(&self, slot: SlotId) -> bool {
        matches!(self.values[slot], Held::Nothing)
    }

    fn free(&mut self, slot: SlotId) {
        match std::mem::take(&mut self.values[slot]) {
            Held::Datum(Datum::One(value)) => self.executor.buffers.recycle(value),
            Held::Placed if cfg!(debug_assertions) && self.values.len() <= POISONED => {
                // Whoever reads it later is wrong, and shall see that.
                let place = self.place(slot);
                let shares = |other: SlotId| self.placed(other).zip(place).is_some_and(|(a, b)| a.overlaps(b));
                if let Some(place) = place.filter(|_| !(0..self.values.len()).any(shares)) {
                    self.memory.poison(place);
                }
            }
            _ => {}
        }
        if let Some(meter) = self.meter {
            meter.release(std::mem::take(&mut self.held[slot]));
        }
    }

    /// True if step `i` is the first of a region, whose steps are now done.
    fn region(&mut self, i: usize) -> bool {
        let executor = self.executor;
        let Some(ready) = &executor.regions[i] else {
            return false;
        };
        let steps = i..i + ready.region.count;
        // A run that counts what it takes, or is compared, makes every value.
        let makes_all = self.meter.is_some() || matches!(self.watch, Watch::Results(_));
        if makes_all || executor.mode != Mode::Kernels {
            return false;
        }
        let operands: Each<Operand<'_>> = ready.region.inputs.iter().map(|&slot| self.operand(slot)).collect();
        let places: Each<Option<&Place>> = ready.region.outputs.iter().map(|&slot| self.place(slot)).collect();
        let context = Context {
            threads: self.threads,
            buffers: Some(&executor.buffers),
            memory: self.layout.map(|_| self.memory.memory()),
            results: &places,
            ..Context::default()
        };
        let Some(results) = ready.run(self.plan, &executor.defs, &operands, context) else {
            return false;
        };
        drop(operands);
        for (&slot, value) in ready.region.outputs.iter().zip(results) {
            self.values[slot] = match value {
                Value::Tensor(tensor) => Held::Datum(Datum::One(tensor)),
                Value::Placed(_) => Held::Placed,
            };
        }
        executor.kept[steps.clone()]
            .iter()
            .for_each(|kept| kept.set_declined(false));
        self.is_done[steps].fill(true);
        true
    }

    /// True if step `i` only moves elements, and they are now where they belong.
    fn moves(&mut self, i: usize, step: &'r Step) -> bool {
        let Some(layout) = self.layout else { return false };
        let moved = match &layout.relations[i] {
            Relation::Computes => None,
            Relation::Shows(_) => self.shows(step),
            Relation::Joins(starts) => self.joins(step, starts),
        };
        if moved.is_some() {
            for &slot in &step.results {
                self.values[slot] = Held::Placed;
            }
        }
        moved.is_some()
    }

    /// Results that show elements of the first operand, if that is in memory.
    fn shows(&self, step: &Step) -> Option<()> {
        self.placed((*step.operands.first()?)?)?;
        step.results
            .iter()
            .all(|&slot| self.place(slot).is_some())
            .then_some(())
    }

    /// Copies the parts of a concatenation that are not in their places.
    fn joins(&mut self, step: &Step, starts: &[usize]) -> Option<()> {
        let to = self.place(*step.results.first()?)?;
        for (part, &start) in step.operands.iter().zip(starts) {
            let part = (*part)?;
            match &self.values[part] {
                Held::Placed => {
                    let from = self.place(part)?;
                    if from.region != to.region || from.start != to.start + start {
                        self.memory.copy(from, &from.at(to.region, to.start + start))?;
                    }
                }
                Held::Datum(Datum::One(value)) => {
                    let place = Place {
                        dtype: value.dtype(),
                        shape: Extents::from(value.shape()),
                        bytes: value.bytes(),
                        ..to.clone()
                    };
                    self.memory.store(value, &place.at(to.region, to.start + start))?;
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn flow(&mut self, i: usize, step: &Step, which: Flow) -> Result<(), (String, OpError)> {
        let operand = |slot: &Option<SlotId>| match slot {
            None => Datum::Absent,
            Some(slot) => match (&self.values[*slot], self.placed(*slot)) {
                (Held::Datum(value), _) => value.clone(),
                (_, Some(place)) => self.memory.load(place).map_or(Datum::Absent, Datum::One),
                _ => Datum::Absent,
            },
        };
        let operands: Vec<Datum<Tensor>> = step.operands.iter().map(operand).collect();
        let results = flow::run(
            self.executor,
            i,
            which,
            &operands,
            (self.symbols, self.threads),
            self.meter,
        );
        let results = results.map_err(|source| (String::new(), source))?;
        for (&slot, value) in step.results.iter().zip(results) {
            self.hold(slot, Held::Datum(value));
        }
        Ok(())
    }

    fn hold(&mut self, slot: SlotId, value: Held) {
        if let (Some(meter), None, Held::Datum(value)) = (self.meter, self.plan.slots[slot].view_of, &value) {
            self.held[slot] = datum_bytes(value);
            meter.hold(self.held[slot]);
        }
        self.values[slot] = value;
    }

    /// The value of a slot as an operand.
    fn operand(&self, slot: SlotId) -> Operand<'_> {
        match &self.values[slot] {
            Held::Datum(Datum::One(value)) => Operand::Tensor(value),
            Held::Placed => self.place(slot).map_or(Operand::Absent, Operand::Placed),
            _ => Operand::Absent,
        }
    }

    fn compute(&mut self, i: usize, step: &'r Step) -> Result<(), (String, OpError)> {
        let executor = self.executor;
        let def = executor.def(i);
        let operands = step
            .operands
            .iter()
            .map(|slot| slot.map_or(Operand::Absent, |s| self.operand(s)));
        let operands: SmallVec<[Operand<'_>; 8]> = operands.collect();
        let failed = |source| (types_of(&operands), source);
        if let Some(meter) = self.meter {
            self.count(meter, def, step, &operands).map_err(failed)?;
        }
        let places: SmallVec<[Option<&Place>; 4]> = step.results.iter().map(|&slot| self.place(slot)).collect();
        let run = || self.call(i, step, &operands, &places);
        let results = match executor.fixed[i] {
            true => executor.kept[i].results(&operands, run),
            false => run(),
        };
        let results = results.map_err(failed)?;
        drop(operands);
        self.observe(i, step, &results);
        for (k, (&slot, value)) in step.results.iter().zip(results).enumerate() {
            match value {
                Value::Tensor(tensor) => self.hold(slot, Held::Datum(Datum::One(tensor))),
                Value::Placed(at) if at == k && self.place(slot).is_some() => self.hold(slot, Held::Placed),
                Value::Placed(_) => {}
            }
        }
        Ok(())
    }

    fn observe(&mut self, i: usize, step: &Step, results: &Results) {
        if let Watch::Results(observer) = &mut self.watch {
            let tensor = |value: &Value| match value {
                Value::Tensor(tensor) => Some(tensor.clone()),
                Value::Placed(_) => None,
            };
            let results: Vec<Tensor> = results.iter().filter_map(tensor).collect();
            observer(i, step, &results);
        }
    }

    /// The results of step `i`, by a kernel or by the reference semantics.
    fn call(
        &self,
        i: usize,
        step: &Step,
        operands: &[Operand<'_>],
        places: &[Option<&Place>],
    ) -> Result<Results, OpError> {
        let (executor, def) = (self.executor, self.executor.def(i));
        let bound: Vec<AttrValue>;
        let attrs = if self.symbols.is_empty() {
            &step.attrs
        } else {
            bound = step.attrs.iter().map(|a| bind_attr(a, self.symbols)).collect();
            &bound
        };
        let kept = &executor.kept[i];
        if executor.mode == Mode::Kernels {
            let context = Context {
                threads: self.threads,
                kept: Some(kept),
                buffers: Some(&executor.buffers),
                memory: self.layout.map(|_| self.memory.memory()),
                results: places,
                precision: step.precision,
            };
            let results = kernels::run(def, operands, attrs, context)?;
            kept.set_declined(results.is_none());
            if let Some(results) = results {
                return Ok(results);
            }
        }
        let tensor = |operand: &Operand<'_>| match operand {
            Operand::Absent => Ok(None),
            Operand::Tensor(tensor) => Ok(Some((*tensor).clone())),
            Operand::Placed(place) => {
                let value = self.memory.load(place).map(Some);
                value.ok_or_else(|| OpError::new("an operand is not in the memory of the run"))
            }
        };
        let operands = operands.iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
        Ok(evaluate_call(&Op::Known(def), &operands, attrs)?
            .into_iter()
            .map(Value::Tensor)
            .collect())
    }

    /// Counts a step before it runs.
    fn count(&self, meter: &Meter, def: &'static OpDef, step: &Step, operands: &[Operand<'_>]) -> Result<(), OpError> {
        let types: Vec<Type> = operands.iter().map(type_of).collect();
        let values: Vec<Option<&Tensor>> = operands.iter().map(Operand::tensor).collect();
        let attrs: Vec<AttrValue> = step.attrs.iter().map(|a| bind_attr(a, self.symbols)).collect();
        let weights = match self.executor.mode {
            Mode::Kernels => weights(def, operands.first().and_then(Operand::dtype)),
            Mode::Reference => Weights::SLOW,
        };
        meter.call(def, &values, &types, &attrs, weights)
    }

    /// Only the results are left, and the caller counts those.
    pub(super) fn end(&self) {
        if let Some(meter) = self.meter {
            self.held.iter().for_each(|bytes| meter.release(*bytes));
        }
    }

    /// The values of outputs; `None` for those that are in the memory of their outputs.
    pub(super) fn results(&self) -> Result<Vec<Option<Datum<Tensor>>>, RunError> {
        let result = |(k, port): (usize, &Port)| match &self.values[port.slot] {
            Held::Datum(value) => Ok(Some(value.clone())),
            Held::Placed => match self.place(port.slot) {
                Some(place) if place.region == k + 1 => Ok(None),
                Some(place) => Ok(self.memory.load(place).map(Datum::One)),
                None => Err(no_value(port)),
            },
            Held::Nothing => Err(no_value(port)),
        };
        self.plan.outputs.iter().enumerate().map(result).collect()
    }

    /// Copies the values of outputs that are elsewhere to the memory of the outputs, which have these types.
    pub(super) fn store(&mut self, types: &[(DType, Extents)]) -> Result<(), RunError> {
        if types.len() != self.plan.outputs.len() {
            return Err(RunError::Outputs {
                expected: self.plan.outputs.len(),
                given: types.len(),
            });
        }
        for (k, (port, (dtype, shape))) in self.plan.outputs.iter().zip(types).enumerate() {
            let to = Place::whole(*dtype, shape.clone(), k + 1);
            let (stored, given) = match &self.values[port.slot] {
                Held::Datum(Datum::One(value)) => (self.memory.store(value, &to), value.ty()),
                Held::Placed => {
                    let place = self.place(port.slot).ok_or_else(|| no_value(port))?;
                    let same = place.dtype == to.dtype && place.shape == to.shape;
                    let is_there = same && place.region == to.region;
                    let stored = if is_there {
                        Some(())
                    } else {
                        self.memory.copy(place, &to).filter(|()| same)
                    };
                    (stored, place.ty())
                }
                _ => return Err(no_value(port)),
            };
            stored.ok_or_else(|| RunError::Type {
                what: "output",
                name: port.name.clone().unwrap_or_default(),
                expected: Box::new(given.into()),
                given: Box::new(to.ty().into()),
            })?;
        }
        Ok(())
    }
}

fn no_value(port: &Port) -> RunError {
    RunError::Broken(format!("output %{} has no value", port.slot))
}

fn type_of(operand: &Operand<'_>) -> Type {
    operand.ty().map_or(Type::Absent, Type::from)
}

fn types_of(operands: &[Operand<'_>]) -> String {
    let ty = |operand: &Operand<'_>| operand.ty().map_or_else(|| "_".into(), |ty| ty.to_string());
    let types: Vec<String> = operands.iter().map(ty).collect();
    types.join(", ")
}
