//! A graph that is ready to run: its plan, its parameters, and its threads.

use indexmap::IndexMap;
use std::sync::Arc;

use super::error::{PlanError, RunError};
use super::plan::{Plan, Port};
use super::precision::Precision;
use super::run::{Executor, Mode};
use tautomer_graph::{Graph, Params};
use tautomer_tensor::Tensor;

/// The options of a [`Session`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How steps are computed.
    pub mode: Mode,
    /// The number of threads; with 1, each run uses the thread that calls it.
    pub threads: usize,
    /// The numbers that products may be computed with.
    pub precision: Precision,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            mode: Mode::Kernels,
            threads: 1,
            precision: Precision::F32,
        }
    }
}

/// The reason why a graph cannot be made ready to run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// It has no plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Its plan cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Runs one graph as given, with its parameters, any number of times, on any number of threads at once. Concurrent runs
/// have separate memory, which later runs reuse.
///
/// ```
/// use tautomer_exec::{Options, Session};
/// use tautomer_graph::{Graph, Params};
/// use tautomer_op::{Op, lookup};
/// use tautomer_tensor::{DType, Tensor, Type};
///
/// let mut g = Graph::new();
/// let x = g.input("x", Type::tensor(DType::F32, [2]));
/// let y = g.call(Op::Known(lookup("add").unwrap()), &[x, x], &[]).unwrap();
/// g.output(y, Some("y"));
///
/// let session = Session::new(&g, Params::new(), Options::default()).unwrap();
/// let inputs = Params::from_iter([("x".into(), Tensor::vector(vec![1.0f32, 2.0]))]);
/// let results = session.run(&inputs).unwrap();
/// assert_eq!(results["y"], Tensor::vector(vec![2.0f32, 4.0]));
/// ```
#[derive(Clone)]
pub struct Session {
    executor: Executor,
    params: Arc<Params>,
}

impl Session {
    /// A session for a graph with these values of its parameters.
    ///
    /// # Errors
    /// If the graph has no plan, or calls an operator that the table does not define.
    pub fn new(graph: &Graph, params: Params, options: Options) -> Result<Session, SessionError> {
        let plan = Plan::compile(graph)?.in_precision(options.precision);
        let executor = Executor::new(plan, options.mode)?;
        Ok(Session {
            executor: executor.threads(options.threads),
            params: Arc::new(params),
        })
    }

    /// The executor that runs the plan.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// The names of the inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &str> {
        self.executor.plan().inputs.iter().map(name)
    }

    /// The names of the outputs, in order; empty for those without one.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.executor.plan().outputs.iter().map(name)
    }

    /// Results by name for inputs by name. The name of an output without one is its number.
    ///
    /// # Errors
    /// If inputs or parameters are missing or have the wrong type, if a name is not that of an input, or if a step fails.
    pub fn run(&self, inputs: &Params) -> Result<IndexMap<Arc<str>, Tensor>, RunError> {
        let results = self.executor.run_named(inputs, &self.params)?;
        let ports = self.executor.plan().outputs.iter().enumerate();
        let named = |((k, port), result): ((usize, &Port), Tensor)| {
            (port.name.clone().unwrap_or_else(|| k.to_string().into()), result)
        };
        Ok(ports.zip(results).map(named).collect())
    }

    /// Results for inputs in order, in the tensors given; see [`Executor::run_into`].
    ///
    /// # Errors
    /// Same as for [`run`](Session::run); also if a tensor has another type than the result.
    pub fn run_into(&self, inputs: &[Tensor], outputs: &mut [Tensor]) -> Result<(), RunError> {
        self.executor.run_into(inputs, &self.params, outputs)
    }
}

fn name(port: &Port) -> &str {
    port.name.as_deref().unwrap_or_default()
}
