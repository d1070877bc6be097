//! Reports of the stages.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::watch::{Missing, add_missing};
use crate::graph::{Graph, Workload};
use crate::rewrite::{Explored, FoldNote, Step, StopReason};
use crate::rule::Class;

/// An optimized workload and how it was produced.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result.
    pub workload: Workload,
    /// With [`Options::explain`](super::Options::explain): the applications that the result rests on, from inputs to results; for substitution
    /// all of them, in order.
    pub steps: Vec<Step>,
    /// With [`Options::explain`](super::Options::explain): all applications, in order.
    pub applications: Vec<Step>,
    /// With [`Options::explain`](super::Options::explain), for saturation: a graph for each of `steps` that computes both sides of it: the
    /// outputs of the match, then those of the target.
    pub sides: Vec<Option<Graph>>,
    /// With [`Options::explore`](super::Options::explore): every term that the engine made, and which terms rules made
    /// equal.
    pub explored: Option<Arc<Explored>>,
    /// The report.
    pub report: Report,
    /// True if the last round made the graph cheaper.
    pub(super) improved: bool,
    /// True if the last round changed nothing.
    pub(super) settled: bool,
    /// How many calls of functions in the result each rule made.
    pub(super) in_functions: BTreeMap<String, usize>,
}

impl Outcome {
    /// Takes over the result of a further round. If that round improved nothing, none of its applications are kept,
    /// since nothing rests on them.
    pub(super) fn add(&mut self, more: Outcome) {
        self.workload = more.workload;
        self.settled = more.settled;
        if !more.improved {
            self.report.add_times(&more.report);
            self.report.add_unfolded(&more.report);
            self.report.missing.clone_from(&more.report.missing);
            self.report.folded += more.report.folded;
            self.report.parameter_bytes.1 = more.report.parameter_bytes.1;
            self.report.vertices.1 = more.report.vertices.1;
            self.report.cost.1 = more.report.cost.1;
            return;
        }
        self.steps.extend(more.steps);
        self.applications.extend(more.applications);
        self.sides.extend(more.sides);
        self.report.add(&more.report);
        // What an earlier round could not have, a later one may have found another way to.
        self.report.missing.clone_from(&more.report.missing);
        self.report.bound = more.report.bound;
        self.report.parameter_bytes.1 = more.report.parameter_bytes.1;
        self.report.stop = more.report.stop;
        self.report.egraph = more.report.egraph;
        self.report.vertices.1 = more.report.vertices.1;
        self.report.cost.1 = more.report.cost.1;
    }
}

impl Outcome {
    /// Counts again how many calls in the result each rule made.
    pub(super) fn count_rules(&mut self) {
        let mut counts = self.in_functions.clone();
        let graph = &self.workload.graph;
        for rule in graph.ids().flat_map(|v| &graph.vertex(v).rules) {
            *counts.entry(rule.to_string()).or_default() += 1;
        }
        for rule in &mut self.report.rules {
            rule.in_result = counts.get(&rule.name).copied().unwrap_or(0);
        }
    }
}

/// A summary of an optimization.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Operator calls before and after.
    pub vertices: (usize, usize),
    /// Estimated time of one run in microseconds, before and after.
    pub cost: (f64, f64),
    /// No choice of e-nodes costs less than this; nothing for substitution.
    pub bound: Option<f64>,
    /// Bytes of the parameters, before and after.
    pub parameter_bytes: (usize, usize),
    /// The weakest class of equality of the rules that were applied.
    pub class: String,
    #[serde(skip)]
    pub(super) weakest: Class,
    /// Rules that were applied, most applications first.
    pub rules: Vec<FiredRule>,
    /// Rounds.
    pub iterations: usize,
    /// Why rewriting stopped.
    pub stop: &'static str,
    /// E-nodes and classes at the end; none for substitution.
    pub egraph: (usize, usize),
    /// Candidates examined.
    pub matches: usize,
    /// Values computed ahead of time.
    pub folded: usize,
    /// Expressions of parameters and constants that are left to run time, and why.
    pub unfolded: Vec<FoldNote>,
    /// Rules whose search took more steps than it may.
    pub stopped: Vec<String>,
    /// Calls of control flow that were decided ahead of time.
    pub resolved: usize,
    /// With [`Options::missing`](super::Options::missing), and for substitution always: operators that the result may
    /// not contain, and how often it would contain them.
    pub missing: Vec<Missing>,
    /// Seconds spent in each stage.
    pub seconds: Vec<(&'static str, f64)>,
}

impl Report {
    /// True if saturation ran until nothing changed any more.
    pub fn is_saturated(&self) -> bool {
        self.stop == StopReason::Saturated.name()
    }

    fn add_unfolded(&mut self, more: &Report) {
        for note in &more.unfolded {
            if !self.unfolded.iter().any(|known| known.value == note.value) {
                self.unfolded.push(note.clone());
            }
        }
    }

    fn add_times(&mut self, more: &Report) {
        for (stage, seconds) in &more.seconds {
            match self.seconds.iter_mut().find(|(name, _)| name == stage) {
                Some((_, sum)) => *sum += seconds,
                None => self.seconds.push((stage, *seconds)),
            }
        }
    }

    /// Adds the rules, rounds and matches of another run.
    pub(super) fn add(&mut self, more: &Report) {
        for rule in &more.rules {
            match self.rules.iter_mut().find(|r| r.name == rule.name) {
                Some(same) => same.applied += rule.applied,
                None => self.rules.push(rule.clone()),
            }
        }
        self.rules
            .sort_by(|a, b| b.applied.cmp(&a.applied).then_with(|| a.name.cmp(&b.name)));
        add_missing(&mut self.missing, &more.missing);
        self.weakest = self.weakest.weaker(more.weakest);
        self.class = self.weakest.to_string();
        self.iterations += more.iterations;
        self.matches += more.matches;
        self.folded += more.folded;
        for rule in &more.stopped {
            if !self.stopped.contains(rule) {
                self.stopped.push(rule.clone());
            }
        }
        self.add_unfolded(more);
        self.add_times(more);
    }
}

/// A rule that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FiredRule {
    /// Its name.
    pub name: String,
    /// How equal its sides are.
    pub class: String,
    /// Applications.
    pub applied: usize,
    /// Vertices of the result that it made.
    pub in_result: usize,
}
