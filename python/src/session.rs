//! Running models.

use std::sync::Arc;

use pyo3::prelude::*;
use tautomer::exec::{Executor, Mode, Plan};
use tautomer::graph::Params;

use crate::arrays::{self, Given};
use crate::model::Model;
use crate::optimize::class;
use crate::problems::refused;

/// A model with its plan, ready to run.
#[pyclass(frozen, module = "tautomer._core")]
pub(crate) struct Session {
    executor: Executor,
    params: Arc<Params>,
}

#[pymethods]
impl Session {
    #[new]
    fn new(py: Python<'_>, model: &Model, threads: usize, reference: bool, numerics: &str) -> PyResult<Session> {
        if let Some(first) = model.inner.missing_params().first() {
            return Err(refused(py, "T0404", format!("parameter `{first}` has no value")));
        }
        let class = class(py, numerics)?;
        let mode = if reference { Mode::Reference } else { Mode::Kernels };
        let executor = py.detach(|| {
            let graph = &model.inner.workload.graph;
            let lowered = match mode {
                Mode::Kernels => Some(tautomer::lower_within(graph, class).map_err(|problems| problems.to_string())?),
                Mode::Reference => None,
            };
            let plan = Plan::compile(lowered.as_ref().unwrap_or(graph)).map_err(|e| e.to_string())?;
            let plan = plan.in_precision(tautomer::precision(class));
            Executor::new(plan, mode).map_err(|e| e.to_string())
        });
        let executor = executor.map_err(|why| refused(py, "T0406", why))?;
        Ok(Session {
            executor: if threads > 0 {
                executor.threads(threads)
            } else {
                executor
            },
            params: Arc::new(model.inner.workload.params.clone()),
        })
    }

    /// The results for inputs in order.
    fn run<'py>(&self, py: Python<'py>, inputs: Vec<Bound<'py, PyAny>>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let given = inputs.iter().map(arrays::given).collect::<PyResult<Vec<_>>>()?;
        let tensors: Vec<_> = given.iter().map(Given::tensor).collect();
        let results = py.detach(move || self.executor.run(&tensors, &self.params));
        let results = results.map_err(|e| refused(py, "T0406", e.to_string()))?;
        // What shares the elements of an input is copied here, as the input goes back after that.
        results.into_iter().map(|tensor| arrays::array(py, tensor)).collect()
    }
}
