//! Running a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::error::RunError;
use super::kernels::{self, Call, Kernel};
use super::plan::{Plan, Port, Step};
use crate::graph::{Params, evaluate_call};
use crate::op::{AttrValue, Op, OpDef, OpError, lookup};
use crate::tensor::{Dim, Tensor};

/// What computes the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// A kernel where there is one, else the reference semantics.
    #[default]
    Kernels,
    /// The reference semantics alone.
    Reference,
}

/// Called after every step with its place, what it is, and its results.
pub type Observer<'a> = &'a mut dyn FnMut(usize, &Step, &[Tensor]);

/// Runs one plan, any number of times.
///
/// ```
/// use tautomer::exec::{Executor, Mode, Plan};
/// use tautomer::graph::{Graph, Params};
/// use tautomer::op::{Op, lookup};
/// use tautomer::tensor::{DType, Dim, Shape, Tensor, Type};
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
    defs: Vec<&'static OpDef>,
}

impl Executor {
    /// An executor of `plan`, on one thread.
    ///
    /// # Errors
    /// If the plan calls an operator that the table does not define, or does not hold together.
    pub fn new(plan: Plan, mode: Mode) -> Result<Executor, RunError> {
        let defs = plan
            .steps
            .iter()
            .map(|step| lookup(&step.op).ok_or_else(|| RunError::Opaque { op: step.op.clone() }))
            .collect::<Result<Vec<_>, _>>()?;
        plan.check().map_err(RunError::Broken)?;
        Ok(Executor {
            plan,
            mode,
            threads: 1,
            defs,
        })
    }

    /// Lets kernels use up to `threads` threads.
    pub fn threads(mut self, threads: usize) -> Executor {
        self.threads = threads.max(1);
        self
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
    /// As [`run`](Executor::run), and if a name is not that of an input.
    pub fn run_named(&self, inputs: &Params, params: &Params) -> Result<Vec<Tensor>, RunError> {
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
            .map(|port| self.named("input", port, inputs).cloned())
            .collect::<Result<Vec<_>, _>>()?;
        self.run(&ordered, params)
    }

    /// Runs the plan and shows the results of every step to `observer`.
    ///
    /// # Errors
    /// As [`run`](Executor::run).
    pub fn run_observed(
        &self,
        inputs: &[Tensor],
        params: &Params,
        observer: Observer<'_>,
    ) -> Result<Vec<Tensor>, RunError> {
        let plan = &self.plan;
        if inputs.len() != plan.inputs.len() {
            return Err(RunError::Count {
                expected: plan.inputs.len(),
                given: inputs.len(),
            });
        }
        let mut values: Vec<Option<Tensor>> = vec![None; plan.slots.len()];
        let mut given: Vec<(&'static str, &Port, &Tensor)> = Vec::with_capacity(inputs.len() + plan.params.len());
        given.extend(
            plan.inputs
                .iter()
                .zip(inputs)
                .map(|(port, value)| ("input", port, value)),
        );
        for port in &plan.params {
            given.push(("parameter", port, self.named("parameter", port, params)?));
        }
        let symbols = self.bind(&given)?;
        for (_, port, value) in given {
            values[port.slot] = Some(value.clone());
        }
        for constant in &plan.constants {
            values[constant.slot] = Some(constant.value.clone());
        }
        for (i, step) in plan.steps.iter().enumerate() {
            let operands: Vec<Option<Tensor>> = step
                .operands
                .iter()
                .map(|slot| slot.and_then(|s| values[s].clone()))
                .collect();
            let results = self
                .step(self.defs[i], step, &operands, &symbols)
                .map_err(|source| RunError::Step {
                    step: i,
                    op: step.op.clone(),
                    operands: types_of(&operands),
                    source: source.into(),
                })?;
            if results.len() < step.results.len() {
                return Err(RunError::Broken(format!("step {i} has {} results", results.len())));
            }
            observer(i, step, &results);
            drop(operands);
            for (&slot, value) in step.results.iter().zip(results) {
                values[slot] = Some(value);
            }
            for &slot in &step.frees {
                values[slot] = None;
            }
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
        values.get(&name).ok_or_else(|| RunError::Missing {
            what,
            name,
            expected: self.plan.slots[port.slot].ty.clone().into(),
        })
    }

    fn step(
        &self,
        def: &'static OpDef,
        step: &Step,
        operands: &[Option<Tensor>],
        symbols: &Symbols,
    ) -> Result<Vec<Tensor>, OpError> {
        let bound: Vec<AttrValue>;
        let attrs = if symbols.is_empty() {
            &step.attrs
        } else {
            bound = step.attrs.iter().map(|a| bind_attr(a, symbols)).collect();
            &bound
        };
        if self.mode == Mode::Kernels {
            let dtype = operands.first().and_then(|o| o.as_ref().map(Tensor::dtype));
            let fits = |kernel: &&Kernel| kernel.dtype.is_none() || kernel.dtype == dtype;
            let mut kernels = kernels::of(def.name).iter().filter(fits).peekable();
            if kernels.peek().is_some() {
                let call = Call::new(def, operands, attrs, self.threads)?;
                for kernel in kernels {
                    if let Some(results) = (kernel.run)(&call)? {
                        return Ok(results);
                    }
                }
            }
        }
        evaluate_call(&Op::Known(def), operands, attrs)
    }

    /// Checks the types of inputs and parameters, and finds the value of every symbolic dimension.
    fn bind(&self, given: &[(&'static str, &Port, &Tensor)]) -> Result<Symbols, RunError> {
        let mut symbols = Symbols::new();
        let mismatch = |what, port: &Port, value: &Tensor| RunError::Type {
            what,
            name: port.name.clone().unwrap_or_default(),
            expected: self.plan.slots[port.slot].ty.clone().into(),
            given: value.ty().into(),
        };
        let name = |port: &Port| port.name.clone().unwrap_or_default();
        for &(what, port, value) in given {
            let expected = &self.plan.slots[port.slot].ty;
            let shape = expected.shape.as_ref();
            if expected.dtype != value.dtype() || shape.is_some_and(|s| s.len() != value.shape().len()) {
                return Err(mismatch(what, port, value));
            }
            for (dim, &extent) in shape.into_iter().flat_map(|s| s.iter()).zip(value.shape()) {
                let Some(symbol) = dim.as_symbol() else { continue };
                let extent = i64::try_from(extent).unwrap_or(i64::MAX);
                match symbols.get(symbol) {
                    None => {
                        symbols.insert(symbol.into(), (extent, name(port)));
                    }
                    Some((first, _)) if *first == extent => {}
                    Some((first, place)) => {
                        return Err(RunError::Symbol {
                            symbol: symbol.into(),
                            first: *first,
                            first_place: place.clone(),
                            second: extent,
                            second_place: name(port),
                        });
                    }
                }
            }
        }
        // With every symbol known, the extents that are expressions.
        for &(what, port, value) in given {
            let shape = self.plan.slots[port.slot].ty.shape.iter().flat_map(|s| s.iter());
            for (dim, &extent) in shape.zip(value.shape()) {
                if bind_dim(dim, &symbols)
                    .as_const()
                    .is_some_and(|d| usize::try_from(d) != Ok(extent))
                {
                    return Err(mismatch(what, port, value));
                }
            }
        }
        Ok(symbols)
    }
}

/// Values of the symbolic dimensions, each with the name of the input that gave it.
type Symbols = BTreeMap<Arc<str>, (i64, Arc<str>)>;

fn bind_dim(dim: &Dim, symbols: &Symbols) -> Dim {
    match dim {
        Dim::Const(_) => dim.clone(),
        _ => dim.bind(&|s| symbols.get(s).map(|(value, _)| *value)),
    }
}

fn bind_attr(value: &AttrValue, symbols: &Symbols) -> AttrValue {
    match value {
        AttrValue::Int(d) => AttrValue::Int(bind_dim(d, symbols)),
        AttrValue::Ints(list) => AttrValue::Ints(list.iter().map(|d| bind_dim(d, symbols)).collect()),
        other => other.clone(),
    }
}

fn types_of(operands: &[Option<Tensor>]) -> String {
    let types: Vec<String> = operands
        .iter()
        .map(|o| o.as_ref().map_or_else(|| "_".into(), |t| t.ty().to_string()))
        .collect();
    types.join(", ")
}
