//! What was done, as the stages tell it.

use std::sync::Arc;

use serde::Serialize;

use crate::graph::{Graph, Workload};
use crate::rewrite::{Explored, Step, StopReason};
use crate::rule::Class;

/// An optimised workload and how it came about.
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
    /// With [`Options::explore`](super::Options::explore): every term that the engine made, and what rules made equal.
    pub explored: Option<Arc<Explored>>,
    /// What happened.
    pub report: Report,
}

impl Outcome {
    /// Takes over what a further round came to.
    pub(super) fn add(&mut self, more: Outcome) {
        self.workload = more.workload;
        self.steps.extend(more.steps);
        self.applications.extend(more.applications);
        self.sides.extend(more.sides);
        self.report.add(&more.report);
        self.report.bound = more.report.bound;
        self.report.parameter_bytes.1 = more.report.parameter_bytes.1;
        self.report.stop = more.report.stop;
        self.report.egraph = more.report.egraph;
    }
}

/// What an optimisation did.
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
    /// Calls of control flow that were decided ahead of time.
    pub resolved: usize,
    /// Seconds spent in each stage.
    pub seconds: Vec<(&'static str, f64)>,
}

impl Report {
    /// True if saturation ran until nothing changed any more.
    pub fn is_saturated(&self) -> bool {
        self.stop == StopReason::Saturated.name()
    }

    /// Adds the rules, rounds and matches of another run.
    pub(super) fn add(&mut self, more: &Report) {
        for rule in &more.rules {
            match self.rules.iter_mut().find(|r| r.name == rule.name) {
                Some(same) => {
                    same.applied += rule.applied;
                    same.in_result += rule.in_result;
                }
                None => self.rules.push(rule.clone()),
            }
        }
        self.rules
            .sort_by(|a, b| b.applied.cmp(&a.applied).then_with(|| a.name.cmp(&b.name)));
        self.weakest = self.weakest.weaker(more.weakest);
        self.class = self.weakest.to_string();
        self.iterations += more.iterations;
        self.matches += more.matches;
        self.folded += more.folded;
        for (stage, seconds) in &more.seconds {
            match self.seconds.iter_mut().find(|(name, _)| name == stage) {
                Some((_, sum)) => *sum += seconds,
                None => self.seconds.push((stage, *seconds)),
            }
        }
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
