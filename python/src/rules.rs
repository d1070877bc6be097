//! Rule sets.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyInterruptedError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use tautomer::diag::{Diagnostics, Source};
use tautomer::graph::to_program;
use tautomer::lang::{format_program, format_rules, parse_rules};
use tautomer::rule::is_body;
use tautomer::verify::{Options, Report, Subject, Verdict, verify_all};

use crate::drawn::Instances;
use crate::interrupt::interruptible;
use crate::problems::raised;

/// A checked set of rules.
#[pyclass(frozen, module = "tautomer._core")]
pub(crate) struct RuleSet {
    pub(crate) inner: tautomer::rule::RuleSet,
    warnings: Diagnostics,
}

impl RuleSet {
    /// The rules without those that recognize what a declared operator computes, which no file contains.
    fn written(&self) -> impl Iterator<Item = &Arc<tautomer::rule::Rule>> {
        self.inner.rules.iter().filter(|rule| !is_body(&rule.ast.source))
    }
}

#[pymethods]
impl RuleSet {
    /// Reads files, directories, and sets that come with the tool.
    #[staticmethod]
    fn read(py: Python<'_>, files: Vec<PathBuf>) -> PyResult<RuleSet> {
        let (inner, warnings) = py.detach(|| tautomer::read_rules(&files)).map_err(|e| raised(py, &e))?;
        Ok(RuleSet { inner, warnings })
    }

    /// Reads the text of a rule file.
    #[staticmethod]
    fn parse(py: Python<'_>, name: &str, text: &str) -> PyResult<RuleSet> {
        let (inner, warnings) = py
            .detach(|| tautomer::rules_of_text(name, text))
            .map_err(|e| raised(py, &e))?;
        Ok(RuleSet { inner, warnings })
    }

    /// Both sets.
    fn joined(&self, other: &RuleSet) -> RuleSet {
        let (mut inner, mut warnings) = (self.inner.clone(), self.warnings.clone());
        inner.extend(other.inner.clone());
        warnings.extend(other.warnings.clone());
        RuleSet { inner, warnings }
    }

    /// The rules: name, class, documentation.
    fn rules(&self) -> Vec<(String, String, String)> {
        let of = |rule: &Arc<tautomer::rule::Rule>| (rule.name.to_string(), rule.class.to_string(), rule.doc.clone());
        self.written().map(of).collect()
    }

    /// The text of a rule as it is written.
    fn text(&self, name: &str) -> Option<String> {
        let rule = self.written().find(|rule| &*rule.name == name)?;
        Some(rule.ast.source.slice(rule.span).trim().to_owned())
    }

    /// Warnings, as JSON.
    fn warnings(&self) -> String {
        self.warnings.to_json().to_string()
    }

    /// Stored verdicts by rule, as JSON.
    fn verdicts(&self, py: Python<'_>) -> PyResult<String> {
        let mut out = serde_json::Map::new();
        for rule in self.written() {
            let entry = tautomer::stored_verdict(rule).map_err(|e| raised(py, &e))?;
            let found = entry.map(|entry| json!({ "verdict": entry.verdict, "says": entry.says }));
            out.insert(rule.name.to_string(), found.unwrap_or(Value::Null));
        }
        Ok(Value::Object(out).to_string())
    }

    /// Up to `most` graphs that a rule matches, the smallest ones first.
    fn instances(&self, py: Python<'_>, rule: &str, most: usize) -> Option<Instances> {
        let rule = self.written().find(|one| &*one.name == rule)?;
        let graphs = py.detach(|| tautomer::verify::instances(rule, &self.inner.examples, most));
        Some(Instances { graphs })
    }

    /// Tries to prove or refute each rule; as JSON.
    #[pyo3(signature = (instances, seed, threads, progress))]
    fn verify(
        &self,
        py: Python<'_>,
        instances: Option<usize>,
        seed: u64,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        let written: Vec<Arc<tautomer::rule::Rule>> = self.written().cloned().collect();
        let subjects: Vec<Subject> = Subject::of(&written, self.inner.examples.clone().into()).collect();
        let own = Options::default();
        let options = Options {
            seed,
            instances: instances.unwrap_or(own.instances),
            ..own
        };
        let all = subjects.len();
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let work = move || {
            let subjects: Vec<&Subject> = subjects.iter().collect();
            let mut done = 0;
            let each = |_: &Value| {
                done += 1;
                if asked.load(Ordering::Relaxed) {
                    return Err(PyInterruptedError::new_err("the work was interrupted"));
                }
                let Some(told) = &progress else { return Ok(()) };
                Python::attach(|py| told.call1(py, ("verify", done, all)).map(|_| ()))
            };
            let finish = |_: &Subject, report: Report| data(&report);
            verify_all(&subjects, &options, threads, finish, each)
        };
        let found = interruptible(py, work, || stop.store(true, Ordering::Relaxed))??;
        Ok(Value::Array(found).to_string())
    }
}

/// A verdict as data; a counterexample as two programs that can be run.
fn data(report: &Report) -> Value {
    let mut out = json!({
        "rule": report.rule.name, "class": report.rule.class.to_string(), "verdict": report.verdict.level(),
        "says": report.verdict.to_string(), "instances": report.instances,
    });
    if let Verdict::Refuted(example) = &report.verdict {
        let values: serde_json::Map<String, Value> = example
            .values
            .iter()
            .map(|(name, v)| (name.to_string(), json!(v.to_f64s())))
            .collect();
        out["counterexample"] = json!({
            "source": format_program(&to_program(&example.source)),
            "target": format_program(&to_program(&example.target)),
            "values": values, "output": example.output, "element": example.element,
            "expected": example.expected, "found": example.found,
        });
    }
    out
}

/// The canonical form of the text of a rule file.
#[pyfunction]
pub(crate) fn format_rule_text(py: Python<'_>, name: &str, text: &str) -> PyResult<String> {
    let file = parse_rules(Arc::new(Source::new(name, text))).map_err(|e| raised(py, &e))?;
    Ok(format_rules(&file))
}
