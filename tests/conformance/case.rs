//! One test of the suite: a model, inputs, and the expected results.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;

use prost::Message;
use tautomer::diag::{Diagnostics, Severity};
use tautomer::exec::{Executor, Mode as Execution, Plan};
use tautomer::formats::onnx::proto::{GraphProto, ModelProto, ValueInfoProto};
use tautomer::formats::onnx::{decode_model, export, import, read_value_file};
use tautomer::graph::{Datum, Workload};
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::Limits;
use tautomer::tensor::Tensor;

use super::kind;

/// Results agree if they differ by at most this, relative to the expected value,
const RELATIVE: f64 = 1e-3;
/// plus this.
const ABSOLUTE: f64 = 1e-5;

/// What is done with the model before it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// Nothing.
    AsItIs,
    /// It was optimized.
    Optimized,
    /// It was optimized, exported, and imported again.
    Reimported,
}

impl Mode {
    /// Its name in the list of failures.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Mode::AsItIs => "as-it-is",
            Mode::Optimized => "optimized",
            Mode::Reimported => "reimported",
        }
    }
}

/// The first mode that fails, and the reason; later modes build on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) mode: Mode,
    pub(crate) reason: String,
}

/// A test of the suite.
pub(crate) struct Case {
    pub(crate) folder: &'static str,
    pub(crate) path: PathBuf,
}

/// One set of inputs and results.
struct Data {
    inputs: Values,
    expected: Vec<Datum<Tensor>>,
}

/// Values by name.
type Values = IndexMap<Arc<str>, Datum<Tensor>>;

impl Case {
    /// The name of its directory, which is unique in the suite.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// True if it belongs to the plain subset.
    pub(crate) fn is_plain(&self) -> bool {
        self.model().is_ok_and(|model| kind::is_plain(&model))
    }

    /// Runs it in all modes.
    pub(crate) fn run(&self) -> Option<Failure> {
        let mut mode = Mode::AsItIs;
        let caught = catch_unwind(AssertUnwindSafe(|| self.run_modes(&mut mode)));
        let reason = match caught {
            Ok(Ok(())) => return None,
            Ok(Err(reason)) => reason,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                format!("panic: {}", text.unwrap_or("without a text"))
            }
        };
        Some(Failure { mode, reason })
    }

    fn model(&self) -> Result<ModelProto, String> {
        let bytes = std::fs::read(self.path.join("model.onnx")).map_err(|e| e.to_string())?;
        decode_model(bytes.into()).map_err(|e| e.to_string())
    }

    fn run_modes(&self, mode: &mut Mode) -> Result<(), String> {
        let model = self.model()?;
        let graph = model.graph.clone().ok_or("the model has no graph")?;
        let sets = self.data(&graph)?;
        let random = kind::is_random(&self.name(), &graph);
        let agree = |workload: &Workload| {
            let run = |data: &Data| compare(&data.expected, &execute(workload, &data.inputs)?, random);
            sets.iter().try_for_each(run)
        };
        let imported = import(model, Some(&self.path)).map_err(|e| first_error(&e))?;
        agree(&imported.workload)?;
        *mode = Mode::Optimized;
        let options = Options {
            limits: Limits {
                iterations: 6,
                nodes: 2_000,
                ..Limits::default()
            },
            ..Options::default()
        };
        let outcome = optimize(imported.workload, &options).map_err(|e| first_error(&e))?;
        agree(&outcome.workload)?;
        *mode = Mode::Reimported;
        let Workload { graph, params } = &outcome.workload;
        let exported = export(graph, params, &imported.info).map_err(|e| first_error(&e))?;
        let bytes = exported.model.encode_to_vec();
        let again = decode_model(bytes.into()).map_err(|e| e.to_string())?;
        agree(&import(again, None).map_err(|e| first_error(&e))?.workload)
    }

    fn data(&self, graph: &GraphProto) -> Result<Vec<Data>, String> {
        let mut sets = Vec::new();
        for i in 0.. {
            let folder = self.path.join(format!("test_data_set_{i}"));
            if !folder.is_dir() {
                break;
            }
            let inputs = read(&folder, "input", &graph.input)?
                .into_iter()
                .zip(&graph.input)
                .map(|(tensor, port)| (port.name.as_deref().unwrap_or_default().into(), tensor))
                .collect();
            let expected = read(&folder, "output", &graph.output)?;
            sets.push(Data { inputs, expected });
        }
        if sets.is_empty() {
            return Err("the test has no data".to_owned());
        }
        Ok(sets)
    }
}

/// The files `input_0.pb`, `input_1.pb` and so on, or the corresponding output files.
fn read(folder: &Path, what: &str, ports: &[ValueInfoProto]) -> Result<Vec<Datum<Tensor>>, String> {
    let mut tensors = Vec::new();
    for (i, port) in ports.iter().enumerate() {
        let file = folder.join(format!("{what}_{i}.pb"));
        if !file.is_file() {
            break;
        }
        let ty = port.r#type.clone().unwrap_or_default();
        let bytes = std::fs::read(&file).map_err(|e| e.to_string())?;
        tensors.push(read_value_file(&bytes, &ty, Some(folder)).map_err(|e| format!("{what} {i}: {e}"))?);
    }
    Ok(tensors)
}

fn first_error(problems: &Diagnostics) -> String {
    let error = problems.iter().find(|d| d.severity == Severity::Error);
    error.map_or_else(|| "refused".to_owned(), |d| d.message.clone())
}

fn execute(workload: &Workload, inputs: &Values) -> Result<Vec<Datum<Tensor>>, String> {
    let graph = &workload.graph;
    let plan = Plan::compile(graph).map_err(|e| e.to_string())?;
    let executor = Executor::new(plan, Execution::Kernels).map_err(|e| e.to_string())?;
    let used: BTreeMap<&str, ()> = graph
        .inputs()
        .iter()
        .filter_map(|&v| Some((graph.vertex(v).name.as_deref()?, ())))
        .collect();
    let inputs = inputs
        .iter()
        .filter(|(name, _)| used.contains_key(&***name))
        .map(|(name, tensor)| (name.clone(), tensor.clone()))
        .collect();
    executor.run_data(&inputs, &workload.params).map_err(|e| e.to_string())
}

fn compare(expected: &[Datum<Tensor>], actual: &[Datum<Tensor>], random: bool) -> Result<(), String> {
    if expected.len() != actual.len() {
        return Err(format!("{} results, and {} expected", actual.len(), expected.len()));
    }
    for (i, (e, a)) in expected.iter().zip(actual).enumerate() {
        let (e, a) = match (e, a) {
            (Datum::One(e), Datum::One(a)) => (e, a),
            (Datum::List(e), Datum::List(a)) => {
                compare(e, a, random).map_err(|why| format!("result {i}: {why}"))?;
                continue;
            }
            _ => return Err(format!("result {i} is of another kind")),
        };
        if e.ty() != a.ty() {
            return Err(format!("result {i} is {} instead of {}", a.ty(), e.ty()));
        }
        if !random && let Some(at) = differs(e, a) {
            return Err(format!("result {i} differs at element {at}"));
        }
    }
    Ok(())
}

/// The first element that differs from the expected one: integers, booleans and strings must agree exactly, and NaN
/// agrees with NaN.
fn differs(expected: &Tensor, actual: &Tensor) -> Option<usize> {
    if !expected.dtype().holds_floats() {
        return (expected != actual)
            .then(|| {
                let (e, a) = (expected.to_ints()?, actual.to_ints()?);
                e.iter().zip(&a).position(|(e, a)| e != a)
            })
            .map(|at| at.unwrap_or(0));
    }
    let (e, a) = (expected.to_f64s()?, actual.to_f64s()?);
    let close = |e: f64, a: f64| e == a || (e.is_nan() && a.is_nan()) || (e - a).abs() <= ABSOLUTE + RELATIVE * e.abs();
    e.iter()
        .zip(&a)
        .position(|(&e, &a)| !(close(e, a) && (e.is_finite() || e.is_nan() || e == a)))
}
