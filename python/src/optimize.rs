//! Optimizing and comparing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict, PyTuple};
use serde_json::{Value, json};
use tautomer::op::Priced;
use tautomer::pipeline::{Engine, Event};
use tautomer::rule::Class;
use tautomer::verify::{GraphOptions, GraphVerdict, Level};
use tautomer::{Compared, Kind, Options, Target};

use crate::arrays;
use crate::interrupt::{TICK, interruptible};
use crate::model::{Model, encoded};
use crate::problems::{raised, refused};
use crate::rules::RuleSet;

/// The progress callback and the check for Ctrl-C; the first exception that either raises ends the work.
#[derive(Default)]
struct Watcher {
    progress: Option<Py<PyAny>>,
    raised: Mutex<Option<PyErr>>,
    stopped: AtomicBool,
    looked: Mutex<Option<Instant>>,
    prices: Mutex<HashMap<String, f64>>,
}

impl Watcher {
    /// Notes an exception, which ends the work.
    fn keep(&self, result: PyResult<()>) {
        if let Err(error) = result
            && let Ok(mut raised) = self.raised.lock()
        {
            raised.get_or_insert(error);
            self.stopped.store(true, Ordering::Relaxed);
        }
    }

    /// The exception that ended the work, if there was one.
    fn ended(&self) -> PyResult<()> {
        let error = self.raised.lock().ok().and_then(|mut raised| raised.take());
        self.stopped.store(false, Ordering::Relaxed);
        error.map_or(Ok(()), Err)
    }

    fn told(&self, event: Event) {
        let Some(progress) = &self.progress else { return };
        let (stage, count) = match event {
            Event::Stage(stage) => (stage, None),
            Event::Round { nodes, .. } => ("saturate", Some(nodes)),
            Event::Substitutions(done) => ("substitute", Some(done)),
        };
        self.keep(Python::attach(|py| {
            progress.call1(py, (stage, count, None::<usize>)).map(|_| ())
        }));
    }

    fn is_cancelled(&self) -> bool {
        let due = match self.looked.lock() {
            Ok(mut looked) => {
                let due = looked.is_none_or(|last| last.elapsed() >= TICK);
                if due {
                    *looked = Some(Instant::now());
                }
                due
            }
            Err(_) => true,
        };
        if due {
            self.keep(Python::attach(|py| py.check_signals()));
        }
        self.stopped.load(Ordering::Relaxed)
    }
}

/// The price of a call by a function of Python, which is called once for each operator with its types and attributes.
fn price(watcher: &Watcher, cost: &Py<PyAny>, call: &Priced<'_>) -> f64 {
    // An exception ends the work; until then, any price will do.
    if watcher.stopped.load(Ordering::Relaxed) {
        return call.cost.micros();
    }
    let operator = call.op.name();
    let operands: Vec<String> = call.operands.iter().map(|operand| operand.ty.to_string()).collect();
    let result = call.result.to_string();
    let named = |i: usize| call.op.def().and_then(|def| def.attrs.get(i)).map(|attr| attr.name);
    let attributes = call.attrs.iter().enumerate();
    let attributes: Vec<(&str, String)> = attributes
        .filter_map(|(i, value)| Some((named(i)?, value.to_string())))
        .collect();
    let key = format!("{operator} {operands:?} {result} {attributes:?}");
    if let Ok(prices) = watcher.prices.lock()
        && let Some(known) = prices.get(&key)
    {
        return *known;
    }
    let told = Python::attach(|py| -> PyResult<f64> {
        let given = PyDict::new(py);
        given.set_item("operator", operator)?;
        given.set_item("operands", PyTuple::new(py, operands)?)?;
        given.set_item("result", result)?;
        given.set_item("attributes", attributes.into_py_dict(py)?)?;
        given.set_item("flops", call.cost.flops)?;
        given.set_item("bytes", call.cost.bytes)?;
        given.set_item("micros", call.cost.micros())?;
        cost.call1(py, (given,))?.extract(py)
    });
    let found = match told {
        Ok(found) if found >= 0.0 => found,
        Ok(found) => {
            let why = format!("the price of a call is {found}: it is a time in microseconds, at least 0");
            watcher.keep(Err(PyValueError::new_err(why)));
            return call.cost.micros();
        }
        Err(error) => {
            watcher.keep(Err(error));
            return call.cost.micros();
        }
    };
    if let Ok(mut prices) = watcher.prices.lock() {
        prices.insert(key, found);
    }
    found
}

/// Options from a dictionary, as Python prepared it.
fn options(py: Python<'_>, given: &Bound<'_, PyDict>, rules: Option<&RuleSet>) -> PyResult<Options> {
    let mut out = Options::default();
    out.rules = rules.map(|rules| rules.inner.clone());
    for (key, value) in given {
        let key: String = key.extract()?;
        match key.as_str() {
            "engine" => {
                out.engine = match value.extract::<String>()?.as_str() {
                    "substitute" => Engine::Substitute,
                    _ => Engine::Saturate,
                }
            }
            "numerics" => out.class = class(py, &value.extract::<String>()?)?,
            "verdict" => out.verdict = Some(level(py, &value.extract::<String>()?)?),
            "allow_refuted" => out.allow_refuted = value.extract()?,
            "assume" => out.assume = value.extract()?,
            "only" => out.only = Some(value.extract()?),
            "skip" => out.skip = value.extract()?,
            "shapes" => out.shapes = value.extract()?,
            "target" => {
                let written: String = value.extract()?;
                let mut scope = tautomer::built_in_operators();
                if let Some(rules) = &out.rules {
                    scope.extend(&rules.operators);
                }
                let target = Target::find(&written, &scope).map_err(|e| raised(py, &e))?;
                out.target = Some(Arc::new(target));
            }
            "opset" => out.opset = Some(value.extract()?),
            "check" => out.check = value.extract()?,
            "seed" => out.seed = value.extract()?,
            "audit" => out.audit = value.extract()?,
            "explain" => out.explain = value.extract()?,
            "fold" => out.fold = value.extract()?,
            "nodes" => out.limits.nodes = value.extract()?,
            "iterations" => out.limits.iterations = value.extract()?,
            "rewrites" => out.limits.rewrites = Some(value.extract()?),
            "result" => {
                out.result = match value.extract::<String>()?.as_str() {
                    "onnx" => Some(Kind::Onnx),
                    "pnnx" => Some(Kind::Pnnx),
                    _ => Some(Kind::Taut),
                }
            }
            _ => return Err(refused(py, "T0407", format!("there is no option `{key}`"))),
        }
    }
    Ok(out)
}

/// `bitwise`, `real`, `approx(1e-3)`.
pub(crate) fn class(py: Python<'_>, text: &str) -> PyResult<Class> {
    text.parse()
        .map_err(|why: String| refused(py, "T0407", format!("numerics `{text}`: {why}")))
}

fn level(py: Python<'_>, text: &str) -> PyResult<Level> {
    let known = Level::ALL.into_iter().find(|level| level.word() == text);
    known.ok_or_else(|| {
        let words: Vec<&str> = Level::ALL.iter().map(|level| level.word()).collect();
        refused(py, "T0407", format!("verdict `{text}`: known are {}", words.join(", ")))
    })
}

/// The result of an optimization.
#[pyclass(frozen, module = "tautomer._core")]
pub(crate) struct Optimized {
    inner: tautomer::Optimized,
    /// Has the exceptions that a cost model of Python raises.
    watcher: Arc<Watcher>,
}

#[pymethods]
impl Optimized {
    /// The optimized model.
    fn model(&self) -> Model {
        Model {
            inner: self.inner.model.clone(),
        }
    }

    /// Its bytes as an ONNX file.
    fn to_onnx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        encoded(py, &self.inner.model)
    }

    /// What was done, as JSON.
    fn report(&self) -> String {
        let mut report = serde_json::to_value(&self.inner.report).unwrap_or(Value::Null);
        report["check"] = match &self.inner.check {
            None => Value::Null,
            Some(check) => match &check.verdict {
                Compared::Apart { most, runs, .. } => json!({
                    "difference": if most.is_finite() { json!(most) } else { json!("inf") },
                    "runs": runs, "allowed": check.allowed, "says": check.line(true),
                }),
                Compared::Unchecked(why) => json!({ "runs": 0, "unchecked": why, "says": check.line(true) }),
            },
        };
        report["audit"] = match &self.inner.audit {
            None => Value::Null,
            Some(audit) => json!({
                "ok": audit.is_right(), "enodes": audit.enodes, "classes": audit.classes,
                "unchecked": audit.unchecked, "says": audit.to_string(),
            }),
        };
        report["operators"] = json!([
            operators(&self.inner.original.workload.graph),
            operators(&self.inner.model.workload.graph),
        ]);
        report["target"] = match self.inner.target() {
            None => Value::Null,
            Some(target) => json!({
                "name": *target.name, "illegal": self.inner.illegal(), "lowered": self.inner.lowered(),
            }),
        };
        report["warnings"] = self.inner.warnings.to_json();
        report.to_string()
    }

    /// The rewrites that produced the result: rule and places.
    fn steps(&self) -> Vec<(String, Vec<String>)> {
        let steps = self.inner.steps().iter();
        steps.map(|step| (step.rule.to_string(), step.place.clone())).collect()
    }

    /// Why a rule does not show in the result, as JSON.
    fn why_not(&self, py: Python<'_>, rule: &str) -> PyResult<String> {
        let found = py.detach(|| self.inner.why_not(rule));
        self.watcher.ended()?;
        let found = found.map_err(|e| raised(py, &e))?;
        Ok(serde_json::to_value(&found).unwrap_or(Value::Null).to_string())
    }

    /// The report as one page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.inner.html())
    }
}

/// How often each operator occurs.
fn operators(graph: &tautomer::graph::Graph) -> Value {
    let mut counts: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for v in graph.ids() {
        if let Some(op) = graph.vertex(v).op() {
            *counts.entry(op.name().to_string()).or_default() += 1;
        }
    }
    json!(counts)
}

/// Optimizes a model.
#[pyfunction]
#[pyo3(signature = (model, rules, given, progress, cost=None))]
pub(crate) fn optimize(
    py: Python<'_>,
    model: &Model,
    rules: Option<&RuleSet>,
    given: &Bound<'_, PyDict>,
    progress: Option<Py<PyAny>>,
    cost: Option<Py<PyAny>>,
) -> PyResult<Optimized> {
    let watcher = Arc::new(Watcher {
        progress,
        ..Watcher::default()
    });
    let (told, asked) = (watcher.clone(), watcher.clone());
    let mut options = options(py, given, rules)?
        .progress(move |event| told.told(event))
        .cancel_when(move || asked.is_cancelled());
    if let Some(cost) = cost {
        let asked = watcher.clone();
        options = options.cost(move |call| price(&asked, &cost, call));
    }
    let model = model.inner.clone();
    let found = py.detach(|| tautomer::optimize_model(model, &options));
    watcher.ended()?;
    let inner = found.map_err(|e| raised(py, &e))?;
    Ok(Optimized { inner, watcher })
}

/// Compares a model with its original: a verdict as JSON, and the inputs at which they differ.
#[pyfunction]
pub(crate) fn verify<'py>(
    py: Python<'py>,
    original: &Model,
    optimized: &Model,
    numerics: &str,
    seed: u64,
    shapes: usize,
) -> PyResult<(String, Bound<'py, PyDict>)> {
    let class = class(py, numerics)?;
    let (original, optimized) = (original.inner.clone(), optimized.inner.clone());
    let work = move || {
        let options = GraphOptions {
            seed,
            shapes,
            class,
            ..GraphOptions::default()
        };
        tautomer::verify_models(&original, &optimized, &options)
    };
    let report = interruptible(py, work, || {})?;
    let word = match &report.verdict {
        GraphVerdict::Proved(_) | GraphVerdict::ProvedAt { .. } => "proved",
        GraphVerdict::Tested { .. } => "tested",
        GraphVerdict::Refuted(_) => "differs",
        GraphVerdict::Undecided(_) => "undecided",
    };
    let mut out = json!({
        "verdict": word, "says": report.verdict.to_string(), "shapes": report.shapes, "notes": report.notes,
    });
    let values = PyDict::new(py);
    if let GraphVerdict::Refuted(difference) = &report.verdict {
        out["difference"] = json!({
            "what": difference.what, "output": difference.output, "element": difference.element,
            "expected": difference.expected, "found": difference.found, "shapes": difference.shapes,
            "first": difference.first.as_ref().map(|first| json!({
                "value": first.value, "operator": first.operator, "counterpart": first.counterpart,
            })),
        });
        for (name, value) in &difference.values {
            values.set_item(name.to_string(), arrays::array(py, value.clone())?)?;
        }
    }
    Ok((out.to_string(), values))
}
