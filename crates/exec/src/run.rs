//! Running a plan.

use std::cell::Cell;
use std::sync::Arc;

use indexmap::IndexMap;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::bind::{Given, Symbols, bind_attr};
use super::error::RunError;
use super::estimate::weights;
use super::flow;
use super::join::{self, Finishing, Tail};
use super::kernels::{self, Buffers, Context, Kept};
use super::plan::{Plan, Port, SlotId, Step};
use super::region::Ready;
use tautomer_graph::{Datum, Meter, Params, Weights, datum_bytes, evaluate_call};
use tautomer_op::{AttrValue, Op, OpDef, OpError, Semantics, is_pure, lookup};
use tautomer_tensor::{Dim, Tensor, Type};

/// How steps are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// By a kernel if there is one, otherwise by the reference semantics.
    #[default]
    Kernels,
    /// By the reference semantics alone.
    Reference,
}

/// Called after every step with its index, the step, and its results.
pub type Observer<'a> = &'a mut (dyn FnMut(usize, &Step, &[Tensor]) + Send);

/// Runs one plan any number of times.
///
/// ```
/// use tautomer_exec::{Executor, Mode, Plan};
/// use tautomer_graph::{Graph, Params};
/// use tautomer_op::{Op, lookup};
/// use tautomer_tensor::{DType, Dim, Shape, Tensor, Type};
///
/// let mut g = Graph::new();
/// let shape: Shape = [Dim::symbol("n")].into_iter().collect();
/// let x = g.input("x", Type::tensor(DType::F32, shape));
/// let y = g.call(Op::Known(lookup("add").unwrap()), &[x, x], &[]).unwrap();
/// g.output(y, None);
///
/// let executor = Executor::new(Plan::compile(&g).unwrap(), Mode::Kernels).unwrap();
/// let out = executor.run(&[Tensor::vector(vec![1.0f32, 2.0])], &Params::new()).unwrap();
/// assert_eq!(out, [Tensor::vector(vec![2.0f32, 4.0])]);
/// ```
#[derive(Clone)]
pub struct Executor {
    plan: Plan,
    mode: Mode,
    threads: usize,
    /// The threads, if there is more than one.
    pool: Option<Arc<ThreadPool>>,
    defs: Vec<&'static OpDef>,
    /// The functions that each step calls, indexed by attribute.
    functions: Vec<Vec<Option<Executor>>>,
    /// What each step keeps from one run to the next.
    kept: Vec<Arc<Kept>>,
    /// For each step, whether its results depend on parameters and constants alone.
    fixed: Vec<bool>,
    /// For each step, the later steps that its kernel may do.
    tails: Arc<[Option<Tail>]>,
    /// For each step, the region that begins with it.
    regions: Arc<[Option<Ready>]>,
    /// The memory that steps have freed.
    buffers: Arc<Buffers>,
}

impl Executor {
    /// An executor of `plan`, on one thread.
    ///
    /// # Errors
    /// If the plan calls an operator that the table does not define, or is inconsistent.
    pub fn new(plan: Plan, mode: Mode) -> Result<Executor, RunError> {
        let defs = plan
            .steps
            .iter()
            .map(|step| lookup(&step.op).ok_or_else(|| RunError::Opaque { op: step.op.clone() }))
            .collect::<Result<Vec<_>, _>>()?;
        plan.check().map_err(RunError::Broken)?;
        let functions = plan
            .steps
            .iter()
            .map(|step| flow::functions(step, mode))
            .collect::<Result<Vec<_>, _>>()?;
        let (kept, fixed) = kept(&plan, &defs);
        let buffers = Arc::new(Buffers::default());
        let tails = join::tails(&plan, &defs).into();
        let mut regions: Vec<Option<Ready>> = plan.steps.iter().map(|_| None).collect();
        for region in &plan.regions {
            regions[region.first] = Some(Ready::new(region.clone()));
        }
        Ok(Executor {
            plan,
            regions: regions.into(),
            functions,
            kept,
            fixed,
            tails,
            buffers,
            mode,
            threads: 1,
            pool: None,
            defs,
        })
    }

    /// Lets kernels use up to `threads` threads of its own, or as many as the system grants. Results do not depend on
    /// their number.
    pub fn threads(self, threads: usize) -> Executor {
        // Without threads of its own, the kernels run on the calling one.
        let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        let pool = pool.and_then(Result::ok).map(Arc::new);
        self.with_pool(pool)
    }

    fn with_pool(mut self, pool: Option<Arc<ThreadPool>>) -> Executor {
        self.threads = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
        for function in self.functions.iter_mut().flatten() {
            *function = function.take().map(|f| f.with_pool(pool.clone()));
        }
        self.pool = pool;
        self
    }

    /// True if step `i` was last computed by the reference semantics, because no kernel accepted the call.
    pub fn is_by_reference(&self, i: usize) -> bool {
        self.kept.get(i).is_some_and(|kept| kept.is_declined())
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs the plan on inputs in order.
    ///
    /// # Errors
    /// If inputs or parameters are missing or have the wrong type, if they disagree about a symbolic dimension, or if
    /// a step fails.
    pub fn run(&self, inputs: &[Tensor], params: &Params) -> Result<Vec<Tensor>, RunError> {
        self.run_observed(inputs, params, &mut |_, _, _| {})
    }

    /// Runs the plan on inputs by name.
    ///
    /// # Errors
    /// As for [`run`](Executor::run), and if a name is not that of an input.
    pub fn run_named(&self, inputs: &Params, params: &Params) -> Result<Vec<Tensor>, RunError> {
        let inputs = inputs
            .iter()
            .map(|(name, value)| (name.clone(), Datum::One(value.clone())));
        self.tensors(self.run_data(&inputs.collect(), params)?)
    }

    /// Runs the plan on inputs by name; inputs and results may be of any type.
    ///
    /// # Errors
    /// As for [`run_named`](Executor::run_named).
    pub fn run_data(
        &self,
        inputs: &IndexMap<Arc<str>, Datum<Tensor>>,
        params: &Params,
    ) -> Result<Vec<Datum<Tensor>>, RunError> {
        let known = |name: &str| self.plan.inputs.iter().any(|p| p.name.as_deref() == Some(name));
        if let Some(name) = inputs.keys().find(|name| !known(name)) {
            let names: Vec<_> = self.plan.inputs.iter().filter_map(|p| p.name.as_deref()).collect();
            return Err(RunError::Unknown {
                name: name.clone(),
                known: names.join(", "),
            });
        }
        let ordered = self
            .plan
            .inputs
            .iter()
            .map(|port| {
                let value = port.name.as_ref().and_then(|name| inputs.get(name)).cloned();
                // An input may have a default value that a caller can replace.
                let default = || port.name.as_ref().and_then(|name| params.get(name)).cloned();
                value
                    .or_else(|| default().map(Datum::One))
                    .ok_or_else(|| self.missing("input", port))
            })
            .collect::<Result<Vec<_>, _>>()?;
        self.on_threads(ordered, params, &mut |_, _, _| {})
    }

    /// Runs the plan and passes the results of every step to `observer`.
    ///
    /// # Errors
    /// As for [`run`](Executor::run).
    pub fn run_observed(
        &self,
        inputs: &[Tensor],
        params: &Params,
        observer: Observer<'_>,
    ) -> Result<Vec<Tensor>, RunError> {
        let inputs = inputs.iter().cloned().map(Datum::One).collect();
        self.tensors(self.on_threads(inputs, params, observer)?)
    }

    /// Runs the plan within the limits of `meter`, and passes the results of every step to `observer`.
    ///
    /// # Errors
    /// As for [`run`](Executor::run), and if a limit is exceeded.
    pub fn run_within(
        &self,
        inputs: &[Tensor],
        params: &Params,
        meter: &Meter,
        observer: Observer<'_>,
    ) -> Result<Vec<Tensor>, RunError> {
        let inputs = inputs.iter().cloned().map(Datum::One).collect();
        self.tensors(self.steps(inputs, params, &Symbols::new(), observer, Some(meter))?)
    }

    fn tensors(&self, results: Vec<Datum<Tensor>>) -> Result<Vec<Tensor>, RunError> {
        let one = |(port, value): (&Port, Datum<Tensor>)| match value {
            Datum::One(value) => Ok(value),
            _ => Err(RunError::NoTensor {
                name: port.name.clone().unwrap_or_default(),
                ty: self.plan.slots[port.slot].ty.clone().into(),
            }),
        };
        self.plan.outputs.iter().zip(results).map(one).collect()
    }

    /// Runs the steps on the threads of the executor.
    fn on_threads(
        &self,
        inputs: Vec<Datum<Tensor>>,
        params: &Params,
        observer: Observer<'_>,
    ) -> Result<Vec<Datum<Tensor>>, RunError> {
        let run = || self.steps(inputs, params, &Symbols::new(), observer, None);
        match &self.pool {
            Some(pool) => pool.install(run),
            None => run(),
        }
    }

    /// Runs the steps; `outer` holds symbolic dimensions that are already known.
    pub(super) fn steps(
        &self,
        inputs: Vec<Datum<Tensor>>,
        params: &Params,
        outer: &Symbols,
        observer: Observer<'_>,
        meter: Option<&Meter>,
    ) -> Result<Vec<Datum<Tensor>>, RunError> {
        let plan = &self.plan;
        self.buffers.begin();
        // The bytes counted for each computed value.
        let mut held: Vec<u64> = vec![0; if meter.is_some() { plan.slots.len() } else { 0 }];
        if inputs.len() != plan.inputs.len() {
            return Err(RunError::Count {
                expected: plan.inputs.len(),
                given: inputs.len(),
            });
        }
        let mut values: Vec<Option<Datum<Tensor>>> = vec![None; plan.slots.len()];
        let mut given: Vec<Given<'_>> = Vec::with_capacity(inputs.len() + plan.params.len());
        for (port, value) in plan.inputs.iter().zip(&inputs) {
            match (value, &plan.slots[port.slot].ty) {
                (Datum::One(value), Type::Tensor(_)) => given.push(("input", port, value)),
                (Datum::List(_), Type::Sequence(_) | Type::Optional(_)) => {}
                // A tensor can be given for an optional value; it is wrapped below.
                (Datum::One(_), Type::Optional(_)) => {}
                _ => return Err(self.missing("input", port)),
            }
        }
        for port in &plan.params {
            given.push(("parameter", port, self.named("parameter", port, params)?));
        }
        let symbols = self.bind(&given, outer)?;
        for (_, port, value) in given.iter().filter(|(what, ..)| *what == "parameter") {
            values[port.slot] = Some(Datum::One((*value).clone()));
        }
        for (port, value) in plan.inputs.iter().zip(inputs) {
            let wrap = matches!((&value, &plan.slots[port.slot].ty), (Datum::One(_), Type::Optional(_)));
            values[port.slot] = Some(if wrap { Datum::List(vec![value]) } else { value });
        }
        for constant in &plan.constants {
            values[constant.slot] = Some(Datum::One(constant.value.clone()));
        }
        // Steps that the kernel of an earlier one has done.
        let mut is_done = vec![false; plan.steps.len()];
        for (i, step) in plan.steps.iter().enumerate() {
            let failed = |operands: String, source: OpError| RunError::Step {
                step: i,
                op: step.op.clone(),
                operands,
                source: source.into(),
            };
            if let (Some(ready), None, Mode::Kernels) = (&self.regions[i], meter, self.mode) {
                let tensor = |s: SlotId| values[s].as_ref().and_then(Datum::one).cloned();
                if let Some(results) = ready.run(plan, &self.defs, tensor, &self.buffers) {
                    let region = i..i + ready.region.count;
                    let (slots, tensors): (Vec<SlotId>, Vec<Tensor>) = results.into_iter().unzip();
                    observer(region.end - 1, &plan.steps[region.end - 1], &tensors);
                    for (slot, value) in slots.into_iter().zip(tensors) {
                        values[slot] = Some(Datum::One(value));
                    }
                    region.for_each(|step| is_done[step] = true);
                }
            }
            let mut slots = &step.results;
            let results: Vec<Datum<Tensor>> = if is_done[i] {
                slots = const { &Vec::new() };
                Vec::new()
            } else if let Semantics::Flow(which) = self.defs[i].semantics {
                let operands: Vec<Datum<Tensor>> = step
                    .operands
                    .iter()
                    .map(|slot| slot.and_then(|s| values[s].clone()).unwrap_or(Datum::Absent))
                    .collect();
                flow::run(self, i, which, &operands, &symbols, meter).map_err(|e| failed(String::new(), e))?
            } else {
                let tensor = |s: usize| values[s].as_ref().and_then(Datum::one).cloned();
                let operands: Vec<Option<Tensor>> = step.operands.iter().map(|slot| slot.and_then(tensor)).collect();
                let results = match meter {
                    Some(meter) => self.count(meter, self.defs[i], step, &operands, &symbols),
                    None => Ok(()),
                };
                // A run that counts what it takes, or is compared, makes every value.
                let tail = self.tails[i].as_ref().filter(|_| meter.is_none() && !self.fixed[i]);
                let finishing = tail.and_then(|tail| {
                    let add = tail.add.map(tensor);
                    // If the value to add is not a tensor, the step that adds it runs by itself and reports the error.
                    (!matches!(add, Some(None))).then(|| Finishing {
                        add: add.flatten(),
                        low: tail.low,
                        high: tail.high,
                        done: Cell::new(false),
                    })
                });
                let run = || {
                    self.step(
                        self.defs[i],
                        step,
                        &operands,
                        &symbols,
                        &self.kept[i],
                        finishing.as_ref(),
                    )
                };
                let results = results.and_then(|()| match self.fixed[i] {
                    true => self.kept[i].results(&operands, run),
                    false => run(),
                });
                let results = results.map_err(|source| failed(types_of(&operands), source))?;
                observer(i, step, &results);
                if let (Some(tail), Some(true)) = (tail, finishing.map(|f| f.done.get())) {
                    for &j in &tail.steps {
                        is_done[j] = true;
                        slots = &plan.steps[j].results;
                    }
                }
                results.into_iter().map(Datum::One).collect()
            };
            if results.len() < slots.len() {
                return Err(RunError::Broken(format!("step {i} has {} results", results.len())));
            }
            for (&slot, value) in slots.iter().zip(results) {
                if let (Some(meter), None) = (meter, plan.slots[slot].view_of) {
                    held[slot] = datum_bytes(&value);
                    meter.hold(held[slot]);
                }
                values[slot] = Some(value);
            }
            for &slot in &step.frees {
                if let Some(Datum::One(value)) = values[slot].take() {
                    self.buffers.recycle(value);
                }
                if let Some(meter) = meter {
                    meter.release(std::mem::take(&mut held[slot]));
                }
            }
        }
        // Only the results are left, and the caller counts those.
        if let Some(meter) = meter {
            held.iter().for_each(|bytes| meter.release(*bytes));
        }
        plan.outputs
            .iter()
            .map(|port| {
                values[port.slot]
                    .clone()
                    .ok_or_else(|| RunError::Broken(format!("output %{} has no value", port.slot)))
            })
            .collect()
    }

    fn named<'v>(&self, what: &'static str, port: &Port, values: &'v Params) -> Result<&'v Tensor, RunError> {
        let name = port.name.clone().unwrap_or_default();
        values.get(&name).ok_or_else(|| self.missing(what, port))
    }

    fn missing(&self, what: &'static str, port: &Port) -> RunError {
        RunError::Missing {
            what,
            name: port.name.clone().unwrap_or_default(),
            expected: self.plan.slots[port.slot].ty.clone().into(),
        }
    }

    /// The operator of step `i`.
    pub(super) fn def(&self, i: usize) -> &'static OpDef {
        self.defs[i]
    }

    /// The function in attribute `place` of step `i`.
    pub(super) fn function(&self, i: usize, place: usize) -> Option<&Executor> {
        self.functions.get(i)?.get(place)?.as_ref()
    }

    /// Counts a step before it runs.
    fn count(
        &self,
        meter: &Meter,
        def: &'static OpDef,
        step: &Step,
        operands: &[Option<Tensor>],
        symbols: &Symbols,
    ) -> Result<(), OpError> {
        let types: Vec<Type> = operands
            .iter()
            .map(|o| o.as_ref().map_or(Type::Absent, |t| t.ty().into()))
            .collect();
        let values: Vec<Option<&Tensor>> = operands.iter().map(Option::as_ref).collect();
        let attrs: Vec<AttrValue> = step.attrs.iter().map(|a| bind_attr(a, symbols)).collect();
        let weights = match self.mode {
            Mode::Kernels => weights(def, values.first().copied().flatten().map(Tensor::dtype)),
            Mode::Reference => Weights::SLOW,
        };
        meter.call(def, &values, &types, &attrs, weights)
    }

    fn step(
        &self,
        def: &'static OpDef,
        step: &Step,
        operands: &[Option<Tensor>],
        symbols: &Symbols,
        kept: &Kept,
        finishing: Option<&Finishing>,
    ) -> Result<Vec<Tensor>, OpError> {
        let bound: Vec<AttrValue>;
        let attrs = if symbols.is_empty() {
            &step.attrs
        } else {
            bound = step.attrs.iter().map(|a| bind_attr(a, symbols)).collect();
            &bound
        };
        let context = Context {
            threads: self.threads,
            kept: Some(kept),
            buffers: Some(&self.buffers),
            finishing,
        };
        if self.mode == Mode::Kernels {
            let results = kernels::run(def, operands, attrs, context)?;
            kept.set_declined(results.is_none());
            if let Some(results) = results {
                return Ok(results);
            }
        }
        evaluate_call(&Op::Known(def), operands, attrs)
    }
}

/// What each step may keep from one run to the next, and whether all its results are the same in every run.
pub(super) fn kept(plan: &Plan, defs: &[&'static OpDef]) -> (Vec<Arc<Kept>>, Vec<bool>) {
    let mut is_fixed = vec![false; plan.slots.len()];
    let params = plan.params.iter().map(|port| port.slot);
    for slot in params.chain(plan.constants.iter().map(|constant| constant.slot)) {
        is_fixed[slot] = true;
    }
    let mut kept = Vec::with_capacity(plan.steps.len());
    let mut fixed = Vec::with_capacity(plan.steps.len());
    for (step, def) in plan.steps.iter().zip(defs) {
        let operands = step
            .operands
            .iter()
            .map(|slot| slot.is_some_and(|s| is_fixed[plan.owner(s)]));
        let operands: Vec<bool> = operands.collect();
        let known = |(slot, fixed): (&Option<_>, &bool)| slot.is_none() || *fixed;
        let all = step.operands.iter().zip(&operands).all(known)
            && !matches!(def.semantics, Semantics::Flow(_))
            && is_pure(&Op::Known(def), &step.attrs)
            && !step.attrs.iter().any(is_symbolic);
        for &slot in step.results.iter().filter(|_| all) {
            is_fixed[slot] = true;
        }
        kept.push(Arc::new(Kept::new(operands)));
        fixed.push(all);
    }
    (kept, fixed)
}

/// True if an attribute depends on symbols.
fn is_symbolic(value: &AttrValue) -> bool {
    let open = |d: &Dim| d.as_const().is_none();
    match value {
        AttrValue::Int(d) => open(d),
        AttrValue::Ints(list) => list.iter().any(open),
        _ => false,
    }
}

fn types_of(operands: &[Option<Tensor>]) -> String {
    let types: Vec<String> = operands
        .iter()
        .map(|o| o.as_ref().map_or_else(|| "_".into(), |t| t.ty().to_string()))
        .collect();
    types.join(", ")
}
