//! Random models for property tests, by the same definition as the feature `testing` of the library has.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tautomer::graph::{Graph, Workload};
use tautomer::op::lookup;
use tautomer::tensor::DType;
use tautomer::verify::{Decision, Growth};

use crate::arrays;
use crate::model::Model;
use crate::problems::refused;

/// A model with random values for its parameters, and for its inputs by name.
type Drawn<'py> = (Model, Bound<'py, PyDict>);

/// The graph for these decisions, each of which is a call, with values from the seed.
#[pyfunction]
pub(crate) fn grown<'py>(
    py: Python<'py>,
    operators: Vec<String>,
    dtype: &str,
    shape: Vec<usize>,
    decisions: Vec<Decision>,
    seed: u64,
) -> PyResult<Drawn<'py>> {
    let known =
        |name: &String| lookup(name).ok_or_else(|| refused(py, "T0101", format!("there is no operator `{name}`")));
    let operators = operators.iter().map(known).collect::<PyResult<Vec<_>>>()?;
    let dtype: DType = dtype
        .parse()
        .map_err(|_| refused(py, "T0407", format!("there is no element type `{dtype}`")))?;
    let growth = Growth {
        operators: &operators,
        dtype,
        shape: &shape,
    };
    let graph = py.detach(|| growth.graph(&decisions));
    with_values(py, graph, seed)
}

/// Graphs that a rule matches.
#[pyclass(frozen, module = "tautomer._core")]
pub(crate) struct Instances {
    pub(crate) graphs: Vec<Graph>,
}

#[pymethods]
impl Instances {
    /// How many there are.
    fn count(&self) -> usize {
        self.graphs.len()
    }

    /// One of them, with values from the seed.
    fn draw<'py>(&self, py: Python<'py>, place: usize, seed: u64) -> PyResult<Drawn<'py>> {
        let graph = self.graphs.get(place).cloned();
        with_values(
            py,
            graph.ok_or_else(|| refused(py, "T0407", "there is no such instance"))?,
            seed,
        )
    }
}

/// The graph as a model, with values from the seed.
fn with_values(py: Python<'_>, graph: Graph, seed: u64) -> PyResult<Drawn<'_>> {
    let params = tautomer::random_values(&graph, seed)
        .map(|(_, params)| params)
        .unwrap_or_default();
    let inner = tautomer::Model::of_workload(Workload { graph, params });
    let values = inputs(py, &inner, seed)?;
    Ok((Model { inner }, values))
}

/// Values of the inputs by name, from the seed.
pub(crate) fn inputs<'py>(py: Python<'py>, model: &tautomer::Model, seed: u64) -> PyResult<Bound<'py, PyDict>> {
    let Some((inputs, _)) = tautomer::random_values(&model.workload.graph, seed) else {
        return Err(refused(
            py,
            "T0407",
            "the model has inputs that are no tensors, or are too large",
        ));
    };
    let values = PyDict::new(py);
    for ((name, _), value) in model.inputs().zip(inputs) {
        values.set_item(name, arrays::array(py, value)?)?;
    }
    Ok(values)
}
