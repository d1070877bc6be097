//! The saturation loop: searches all rules, applies the matches and rebuilds, until nothing changes or a limit is
//! reached.
//!
//! Limits are counts, so that a run gives the same result on every machine.

mod changes;
mod run;
mod threads;

use std::collections::BTreeMap;
use std::sync::Arc;

use egg::Id;
use rustc_hash::FxHashMap;

use super::EGraph;
use super::encode::Encoded;
use super::enode::ENode;
use super::explain::{History, Step};
use super::explored::Explored;
use super::extract::Extraction;
use super::matching::MOST_STEPS;
use run::run;
use tautomer_graph::Graph;
use tautomer_rule::Rule;

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of rounds, each of which searches for all rules.
    pub iterations: usize,
    /// The maximum number of e-nodes, including those of the graph; at least four times the size of the graph is always
    /// allowed.
    pub nodes: usize,
    /// The maximum number of matches of one rule in one round; a rule with more is suspended for some rounds, and may
    /// then have twice as many.
    pub matches: usize,
    /// The number of rounds in which rules with several outputs are searched, unless all others are parts of the first.
    /// Their results match again, so that the e-graph grows quadratically in each round.
    pub multi_output_rounds: usize,
    /// The maximum total number of applications; `None` for no limit.
    pub rewrites: Option<usize>,
    /// The maximum total number of search steps for one rule, in addition to a hundred for each e-node in each round; a
    /// rule that has used them up is no longer searched for.
    pub steps: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            iterations: 16,
            nodes: 20_000,
            matches: 2_000,
            multi_output_rounds: 1,
            rewrites: None,
            steps: MOST_STEPS,
        }
    }
}

/// The reason why saturation stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// No rule changes anything.
    Saturated,
    /// No match is left to substitute.
    FixedPoint,
    /// The limit on rounds was reached.
    Iterations,
    /// The limit on e-nodes was reached.
    Nodes,
    /// The limit on applications was reached.
    Rewrites,
    /// The caller asked for it.
    Cancelled,
}

impl StopReason {
    /// The reason in words.
    pub fn name(self) -> &'static str {
        match self {
            StopReason::Saturated => "saturated",
            StopReason::FixedPoint => "fixed point",
            StopReason::Iterations => "iteration limit",
            StopReason::Nodes => "node limit",
            StopReason::Rewrites => "rewrite limit",
            StopReason::Cancelled => "cancelled",
        }
    }
}

/// The effects of one rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleReport {
    /// The number of candidates found.
    pub matches: usize,
    /// The number of applications that merged two classes.
    pub applied: usize,
    /// The number of candidates whose target has no type or a different one.
    pub refused: usize,
    /// The number of candidates whose two sides were already equal.
    pub idle: usize,
    /// Substitution: the number of places where the result would depend on itself.
    pub circular: usize,
    /// Substitution: the number of places where the target does not cost less and the rule could be undone.
    pub dearer: usize,
    /// Substitution: operators of the target that the result may not contain, with the number of places that needed
    /// them.
    pub forbidden: BTreeMap<&'static str, usize>,
    /// The number of rounds in which it was suspended because it had found too many matches.
    pub rested: usize,
    /// True if its search exceeded the limit on steps and was not completed.
    pub stopped: bool,
}

/// The effects of one round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationReport {
    /// The number of e-nodes afterwards.
    pub nodes: usize,
    /// The number of classes afterwards.
    pub classes: usize,
    /// The number of applications.
    pub applied: usize,
}

/// The outcome of saturation.
pub struct Saturation {
    /// The rules, in order, with the effects of each.
    pub rules: Vec<(Arc<Rule>, RuleReport)>,
    /// The rounds.
    pub iterations: Vec<IterationReport>,
    /// The reason why it stopped.
    pub stop: StopReason,
    /// The rule that created an e-node, as an index into `rules`.
    created_by: FxHashMap<ENode, u32>,
    /// The applications, if they were recorded.
    pub(super) history: Option<History>,
}

impl Saturation {
    /// The number of candidates of all rules.
    pub fn matches(&self) -> usize {
        self.rules.iter().map(|(_, r)| r.matches).sum()
    }

    /// The two sides of an application: a graph whose results are the outputs of the match, then those of the target,
    /// each computed in the form it had when it was found. Inputs and parameters are those of `graph`.
    pub fn sides(&self, graph: &Graph, encoded: &Encoded, application: usize) -> Option<Graph> {
        self.history.as_ref()?.sides(graph, encoded, application)
    }

    /// Everything that saturation explored; `None` unless [`saturate_explained`] ran.
    pub fn explored(&self, graph: &Graph, encoded: &Encoded) -> Option<Explored> {
        let rules: Vec<Arc<Rule>> = self.rules.iter().map(|(rule, _)| rule.clone()).collect();
        Some(self.history.as_ref()?.explored(graph, encoded, &rules))
    }

    /// All applications, in order; empty unless [`saturate_explained`] ran.
    pub fn applications(&self, graph: &Graph, encoded: &Encoded) -> Vec<Step> {
        let rules: Vec<Arc<Rule>> = self.rules.iter().map(|(rule, _)| rule.clone()).collect();
        let history = self.history.as_ref();
        history.map_or_else(Vec::new, |h| h.applications(graph, encoded, &rules))
    }

    /// The applications that an extraction depends on, with their numbers, from inputs to results; empty unless
    /// [`saturate_explained`] ran.
    pub fn steps(&self, graph: &Graph, encoded: &Encoded, extraction: &Extraction) -> Vec<(usize, Step)> {
        let rules: Vec<Arc<Rule>> = self.rules.iter().map(|(rule, _)| rule.clone()).collect();
        let history = self.history.as_ref();
        history.map_or_else(Vec::new, |h| h.steps(graph, encoded, extraction, &rules))
    }

    /// The rule that first created the e-node, if it was not part of the original graph.
    pub fn creator(&self, enode: &ENode) -> Option<&Arc<Rule>> {
        self.created_by.get(enode).map(|&i| &self.rules[i as usize].0)
    }
}

/// Saturates the e-graph of `encoded` with `rules`.
pub fn saturate(encoded: &mut Encoded, rules: &[Arc<Rule>], limits: Limits) -> Saturation {
    run(encoded, rules, limits, None, &Watch::default(), &mut Everything)
}

/// Like [`saturate`], but records every application, so that a result can be explained.
pub fn saturate_explained(encoded: &mut Encoded, rules: &[Arc<Rule>], limits: Limits) -> Saturation {
    run(
        encoded,
        rules,
        limits,
        Some(History::default()),
        &Watch::default(),
        &mut Everything,
    )
}

/// Decides which matches are applied, beyond the conditions of the rules. It is needed where values have properties
/// that types do not show, such as nulls.
pub trait Guard {
    /// New e-nodes with their classes, each after its operands.
    fn created(&mut self, egraph: &EGraph, created: &[(ENode, Id)]);

    /// True if the two classes, a match and its target, may be made equal.
    fn allows(&mut self, egraph: &EGraph, found: Id, target: Id) -> bool;
}

/// Allows everything.
struct Everything;

impl Guard for Everything {
    fn created(&mut self, _: &EGraph, _: &[(ENode, Id)]) {}

    fn allows(&mut self, _: &EGraph, _: Id, _: Id) -> bool {
        true
    }
}

/// Like [`saturate`] or, if `explained`, [`saturate_explained`], but `guard` has to allow each application.
pub fn saturate_guarded(
    encoded: &mut Encoded,
    rules: &[Arc<Rule>],
    limits: Limits,
    explained: bool,
    guard: &mut dyn Guard,
) -> Saturation {
    let history = explained.then(History::default);
    run(encoded, rules, limits, history, &Watch::default(), guard)
}

/// Lets a caller follow the work of an engine and stop it.
pub struct Watch<'a, R> {
    /// Called after each round of saturation, or each substitution.
    pub progress: &'a dyn Fn(&R),
    /// Called repeatedly; if it returns true, the engine stops at once.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl<R> Default for Watch<'_, R> {
    fn default() -> Self {
        Watch {
            progress: &|_| {},
            cancelled: &|| false,
        }
    }
}

/// Like [`saturate`] or, if `explained`, [`saturate_explained`], but `watch` follows the rounds and may stop them.
pub fn saturate_watched(
    encoded: &mut Encoded,
    rules: &[Arc<Rule>],
    limits: Limits,
    explained: bool,
    watch: &Watch<'_, IterationReport>,
) -> Saturation {
    let history = explained.then(History::default);
    run(encoded, rules, limits, history, watch, &mut Everything)
}
