//! Programs and models, and their graphs.

use std::collections::HashMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyList};
use tautomer::diag::Diagnostics;
use tautomer::formats::onnx::Bytes;
use tautomer::graph::{Graph, Node, VertexId};
use tautomer::op::Scope;

use crate::lent::{Buffer, Elements};
use crate::problems::{raised, refused};
use crate::rules::RuleSet;
use crate::{arrays, drawn};

/// The operators that rules declare.
fn operators(rules: Option<&RuleSet>) -> Scope {
    rules.map(|rules| rules.inner.operators.clone()).unwrap_or_default()
}

/// A program or a model.
#[pyclass(frozen, module = "tautomer._core")]
pub(crate) struct Model {
    pub(crate) inner: tautomer::Model,
}

#[pymethods]
impl Model {
    /// Reads a file, which may have the operators that the rules declare.
    #[staticmethod]
    #[pyo3(signature = (path, rules=None))]
    fn open(py: Python<'_>, path: PathBuf, rules: Option<&RuleSet>) -> PyResult<Model> {
        let scope = operators(rules);
        let inner = py
            .detach(|| tautomer::Model::open_in(&path, &scope))
            .map_err(|e| raised(py, &e))?;
        Ok(Model { inner })
    }

    /// Reads an ONNX model from memory; `elements` are buffers with the elements of initializers that have none in
    /// `data`, and are copied once.
    #[staticmethod]
    #[pyo3(signature = (data, rules=None, elements=None))]
    fn from_onnx(
        py: Python<'_>,
        data: PyBackedBytes,
        rules: Option<&RuleSet>,
        elements: Option<HashMap<String, Buffer>>,
    ) -> PyResult<Model> {
        let scope = operators(rules);
        let elements = elements.unwrap_or_default().into_iter();
        let elements = elements
            .map(|(name, buffer)| (name, Bytes::from_owner(buffer)))
            .collect();
        let inner = py
            .detach(|| tautomer::Model::from_onnx_parts(data, elements, &scope))
            .map_err(|e| raised(py, &e))?;
        Ok(Model { inner })
    }

    /// Reads the text of a program.
    #[staticmethod]
    #[pyo3(signature = (name, text, rules=None))]
    fn from_text(py: Python<'_>, name: &str, text: &str, rules: Option<&RuleSet>) -> PyResult<Model> {
        let scope = operators(rules);
        let inner = py
            .detach(|| tautomer::Model::from_text_in(name, text, &scope))
            .map_err(|e| raised(py, &e))?;
        Ok(Model { inner })
    }

    /// The bytes of an ONNX file.
    fn to_onnx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        encoded(py, &self.inner)
    }

    /// The bytes of an ONNX file without the elements of initializers that take at least `least` bytes, and buffers
    /// with these by name, which share memory with the model.
    fn to_onnx_parts<'py>(
        &self,
        py: Python<'py>,
        least: usize,
    ) -> PyResult<(Bound<'py, PyBytes>, HashMap<String, Elements>)> {
        let parts = py.detach(|| Ok(self.inner.encodable()?.parts(least)));
        let (bytes, elements) = parts.map_err(|e: Diagnostics| raised(py, &e))?;
        let elements = elements.into_iter().map(|(name, raw)| (name, Elements::new(raw)));
        Ok((PyBytes::new(py, &bytes), elements.collect()))
    }

    /// The text of the program.
    fn to_text(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.to_text())
    }

    /// Writes a file; returns notes.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<String> {
        let notes = py.detach(|| self.inner.write(&path)).map_err(|e| raised(py, &e))?;
        Ok(notes.to_json().to_string())
    }

    /// The graph as DOT.
    fn to_dot(&self) -> String {
        tautomer::formats::to_dot(&self.inner.workload.graph, usize::MAX)
    }

    /// Notes and warnings of reading it, as JSON.
    fn notes(&self) -> String {
        self.inner.notes.to_json().to_string()
    }

    /// The names and types of the inputs.
    fn inputs(&self) -> Vec<(String, String)> {
        self.inner.inputs().map(|(name, ty)| (name, ty.to_string())).collect()
    }

    /// The names and types of the results.
    fn outputs(&self) -> Vec<(String, String)> {
        self.inner.outputs().map(|(name, ty)| (name, ty.to_string())).collect()
    }

    /// The vertices in order of computation: number, kind, name, operator, type, operands, users.
    fn vertices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let graph = &self.inner.workload.graph;
        let order = graph.rpo();
        let place: std::collections::BTreeMap<VertexId, usize> =
            order.iter().enumerate().map(|(i, &v)| (v, i)).collect();
        let out = PyList::empty(py);
        for (i, &v) in order.iter().enumerate() {
            let vertex = graph.vertex(v);
            let item = PyDict::new(py);
            let kind = match &vertex.node {
                Node::Call { .. } => "call",
                Node::Const(_) => "constant",
                Node::Input => "input",
                Node::Param => "parameter",
                _ => "other",
            };
            item.set_item("index", i)?;
            item.set_item("kind", kind)?;
            item.set_item("name", name(graph, v))?;
            item.set_item("op", vertex.op().map(|op| op.name().to_string()))?;
            item.set_item("type", graph.ty(v).to_string())?;
            let operands: Vec<usize> = graph
                .pred(v)
                .into_iter()
                .filter_map(|u| place.get(&u).copied())
                .collect();
            item.set_item("operands", operands)?;
            let users: Vec<usize> = graph.users(v).filter_map(|u| place.get(&u).copied()).collect();
            item.set_item("users", users)?;
            item.set_item(
                "rules",
                vertex.rules.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )?;
            out.append(item)?;
        }
        Ok(out)
    }

    /// The value of a parameter.
    fn param<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.inner.workload.params.get(name).cloned();
        value.map(|value| arrays::array(py, value)).transpose()
    }

    /// The names of the parameters.
    fn params(&self) -> Vec<String> {
        let graph = &self.inner.workload.graph;
        graph.params().iter().filter_map(|&v| name(graph, v)).collect()
    }

    /// Random values for the inputs by name, where inputs get these shapes.
    fn random_inputs<'py>(&self, py: Python<'py>, shapes: Vec<String>, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        let mut model = self.inner.clone();
        model.reshape(&shapes).map_err(|e| raised(py, &e))?;
        drawn::inputs(py, &model, seed)
    }

    /// The number of operator calls.
    fn call_count(&self) -> usize {
        self.inner.workload.graph.call_count()
    }
}

/// The bytes of an ONNX file; what they share with the model is copied once, to where Python has them.
pub(crate) fn encoded<'py>(py: Python<'py>, model: &tautomer::Model) -> PyResult<Bound<'py, PyBytes>> {
    let encodable = py.detach(|| model.encodable()).map_err(|e| raised(py, &e))?;
    PyBytes::new_with(py, encodable.length(), |room| match encodable.write(room) {
        true => Ok(()),
        false => Err(refused(py, "T0407", "the model has another length than its parts")),
    })
}

fn name(graph: &Graph, v: VertexId) -> Option<String> {
    graph.vertex(v).name.as_ref().map(ToString::to_string)
}
