//! Running a plan.

use std::sync::{Arc, Mutex};

use indexmap::IndexMap;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::awake::while_awake;
use super::bind::Symbols;
use super::divided::Divided;
use super::error::RunError;
use super::kernels::{Buffers, Kept};
use super::layout::{Layout, Layouts};
use super::plan::{Plan, Port, Step};
use super::precision::Precision;
use super::region::Ready;
use super::request::{Inputs, Request, Watch, Workspace};
use super::{fixed, flow};
use tautomer_graph::{Datum, Meter, Params};
use tautomer_op::{OpDef, lookup};
use tautomer_tensor::Tensor;

/// How steps are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// With a kernel if there is one, otherwise with the reference semantics.
    #[default]
    Kernels,
    /// Only with the reference semantics.
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
    plan: Arc<Plan>,
    pub(super) mode: Mode,
    pub(super) threads: usize,
    /// The threads, if there is more than one.
    pool: Option<Arc<ThreadPool>>,
    /// What is known about how long runs take on them.
    divided: Arc<Divided>,
    pub(super) defs: Vec<&'static OpDef>,
    /// The functions that each step calls, indexed by attribute.
    functions: Vec<Vec<Option<Executor>>>,
    /// The data that each step keeps from one run to the next.
    pub(super) kept: Vec<Arc<Kept>>,
    /// For each step, whether its results depend only on parameters and constants.
    pub(super) fixed: Arc<[bool]>,
    /// For each step, the region that begins with it.
    pub(super) regions: Arc<[Option<Ready>]>,
    /// The memory that steps have freed.
    pub(super) buffers: Arc<Buffers>,
    /// The places of values, if every dimension is known.
    layout: Option<Arc<Layout>>,
    /// The places for given values of symbols.
    layouts: Arc<Layouts>,
    /// The memory of runs that have ended.
    pub(super) idle: Arc<Mutex<Vec<Workspace>>>,
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
            .map(|step| flow::functions(step, mode, plan.precision))
            .collect::<Result<Vec<_>, _>>()?;
        let (fixed, slots) = fixed::of(&plan);
        let is_fixed = |slot: &Option<_>| slot.is_some_and(|slot| slots[plan.owner(slot)]);
        let kept = |step: &Step| Arc::new(Kept::new(step.operands.iter().map(is_fixed).collect()));
        let kept = plan.steps.iter().map(kept).collect();
        // The plan may come from elsewhere, so the places in it are checked.
        let layout = (mode == Mode::Kernels && plan.is_static()).then(|| Layout::of_plan(&plan));
        let layout = layout.transpose().map_err(RunError::Broken)?.map(Arc::new);
        let mut regions: Vec<Option<Ready>> = plan.steps.iter().map(|_| None).collect();
        for region in &plan.regions {
            regions[region.first] = Some(Ready::new(region.clone()));
        }
        Ok(Executor {
            regions: regions.into(),
            functions,
            kept,
            fixed: fixed.into(),
            buffers: Arc::default(),
            mode,
            threads: 1,
            pool: None,
            divided: Arc::default(),
            defs,
            layout,
            layouts: Arc::default(),
            idle: Arc::default(),
            plan: Arc::new(plan),
        })
    }

    /// Lets kernels use up to `threads` threads, which belong to this executor, or as many as the system grants.
    /// Results do not depend on their number.
    pub fn threads(self, threads: usize) -> Executor {
        // Without threads of its own, the kernels run on the calling one, as they do if no step is worth dividing.
        let is_divided = threads > 1 && (self.calls_functions() || self.plan.has_large_steps());
        let pool = is_divided.then(|| ThreadPoolBuilder::new().num_threads(threads).build());
        let pool = pool.and_then(Result::ok).map(Arc::new);
        self.with_pool(pool)
    }

    fn calls_functions(&self) -> bool {
        self.functions.iter().flatten().any(Option::is_some)
    }

    fn with_pool(mut self, pool: Option<Arc<ThreadPool>>) -> Executor {
        self.threads = pool.as_ref().map_or(1, |pool| pool.current_num_threads());
        for function in self.functions.iter_mut().flatten() {
            *function = function.take().map(|f| f.with_pool(pool.clone()));
        }
        self.pool = pool;
        self.divided = Arc::default();
        self
    }

    /// True if step `i` was last computed by the reference semantics, because no kernel accepted the call.
    pub fn is_by_reference(&self, i: usize) -> bool {
        self.kept.get(i).is_some_and(|kept| kept.is_declined())
    }

    /// The numbers that step `i` last computed its products with.
    pub fn precision(&self, i: usize) -> Precision {
        self.kept.get(i).map_or(Precision::F32, |kept| kept.precision())
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
        self.tensors(self.on_threads(Inputs::Tensors(inputs), Request::of(params))?)
    }

    /// Runs the plan on inputs in order, and writes results to the given tensors. If nothing else refers to their
    /// elements, these are overwritten, and a second run of a plan in which every dimension is known allocates nothing.
    ///
    /// ```
    /// use tautomer_exec::{Executor, Mode, Plan};
    /// use tautomer_graph::{Graph, Params};
    /// use tautomer_op::{Op, lookup};
    /// use tautomer_tensor::{DType, Tensor, Type};
    ///
    /// let mut g = Graph::new();
    /// let x = g.input("x", Type::tensor(DType::F32, [2]));
    /// let y = g.call(Op::Known(lookup("add").unwrap()), &[x, x], &[]).unwrap();
    /// g.output(y, None);
    ///
    /// let executor = Executor::new(Plan::compile(&g).unwrap(), Mode::Kernels).unwrap();
    /// let mut out = [Tensor::vector(vec![0.0f32; 2])];
    /// executor.run_into(&[Tensor::vector(vec![1.0f32, 2.0])], &Params::new(), &mut out).unwrap();
    /// assert_eq!(out, [Tensor::vector(vec![2.0f32, 4.0])]);
    /// ```
    ///
    /// # Errors
    /// Same as for [`run`](Executor::run); also if a tensor has another type than the result.
    pub fn run_into(&self, inputs: &[Tensor], params: &Params, outputs: &mut [Tensor]) -> Result<(), RunError> {
        let request = Request {
            into: Some(outputs),
            ..Request::of(params)
        };
        self.on_threads(Inputs::Tensors(inputs), request).map(drop)
    }

    /// Runs the plan and calls `after` with the index of every step that was computed, after it.
    ///
    /// # Errors
    /// Same as for [`run`](Executor::run).
    pub fn run_timed(
        &self,
        inputs: &[Tensor],
        params: &Params,
        after: &mut (dyn FnMut(usize) + Send),
    ) -> Result<Vec<Tensor>, RunError> {
        let request = Request {
            watch: Watch::Steps(after),
            ..Request::of(params)
        };
        self.tensors(self.on_threads(Inputs::Tensors(inputs), request)?)
    }

    /// Runs the plan on inputs by name.
    ///
    /// # Errors
    /// Same as for [`run`](Executor::run); also if a name is not that of an input.
    pub fn run_named(&self, inputs: &Params, params: &Params) -> Result<Vec<Tensor>, RunError> {
        let inputs = inputs
            .iter()
            .map(|(name, value)| (name.clone(), Datum::One(value.clone())));
        self.tensors(self.run_data(&inputs.collect(), params)?)
    }

    /// Runs the plan on inputs by name; inputs and results may be of any type.
    ///
    /// # Errors
    /// Same as for [`run_named`](Executor::run_named).
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
        self.on_threads(Inputs::Data(ordered), Request::of(params))
    }

    /// Runs the plan and passes the results of every step to `observer`.
    ///
    /// # Errors
    /// Same as for [`run`](Executor::run).
    pub fn run_observed(
        &self,
        inputs: &[Tensor],
        params: &Params,
        observer: Observer<'_>,
    ) -> Result<Vec<Tensor>, RunError> {
        let request = Request {
            watch: Watch::Results(observer),
            ..Request::of(params)
        };
        self.tensors(self.on_threads(Inputs::Tensors(inputs), request)?)
    }

    /// Runs the plan within the limits of `meter`, and passes the results of every step to `observer`.
    ///
    /// # Errors
    /// Same as for [`run`](Executor::run); also if a limit is exceeded.
    pub fn run_within(
        &self,
        inputs: &[Tensor],
        params: &Params,
        meter: &Meter,
        observer: Observer<'_>,
    ) -> Result<Vec<Tensor>, RunError> {
        let request = Request {
            watch: Watch::Results(observer),
            ..Request::of(params)
        };
        self.tensors(self.steps(Inputs::Tensors(inputs), request, Some(meter))?)
    }

    /// The places of the values of a run, given the values of symbols; `None` if kernels are not used.
    pub(super) fn layout(&self, symbols: &Symbols) -> Option<Arc<Layout>> {
        match (&self.layout, self.mode) {
            (Some(layout), _) => Some(layout.clone()),
            (None, Mode::Kernels) => Some(self.layouts.get(&self.plan, &self.fixed, symbols)),
            (None, Mode::Reference) => None,
        }
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

    /// Runs the steps on the threads of the executor, or on the calling one where that takes less time.
    fn on_threads(&self, inputs: Inputs<'_>, request: Request<'_>) -> Result<Vec<Datum<Tensor>>, RunError> {
        let Some(pool) = &self.pool else {
            return self.steps(inputs, request, None);
        };
        let is_timed = matches!(request.watch, Watch::Nothing);
        self.divided.run(is_timed, |is_divided| {
            if !is_divided {
                return self.steps(inputs, request, None);
            }
            let threads = self.threads;
            let request = Request { threads, ..request };
            pool.install(|| while_awake(threads, || self.steps(inputs, request, None)))
        })
    }

    /// The value of a parameter.
    pub(super) fn named<'v>(
        &self,
        what: &'static str,
        port: &Port,
        values: &'v Params,
    ) -> Result<&'v Tensor, RunError> {
        let value = port.name.as_ref().and_then(|name| values.get(name));
        value.ok_or_else(|| self.missing(what, port))
    }

    pub(super) fn missing(&self, what: &'static str, port: &Port) -> RunError {
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
}
