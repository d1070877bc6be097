//! Runs the stages in order: graph, e-graph, saturation, extraction, graph, folding. Only this module combines them.

mod bodies;
mod format;
mod report;
mod round;
mod select;
mod watch;
mod why;

use std::sync::Arc;
use std::time::Instant;

use crate::diag::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Workload};
use crate::op::{Infer, OpDef, Priced};
use crate::rewrite::{CostModel, Folding, Limits, Unroll, graph_cost_by, has_flow, loops, resolve_flow};
use crate::rule::{Class, Group, Rule};
use crate::tensor::Type;

pub(crate) use self::format::Format;
pub use self::report::{FiredRule, Outcome, Report};
use self::round::rewrite;
pub use self::select::select_rules;
pub use self::watch::{Event, Missing};
pub use self::why::{WhyNot, why_not};

/// The maximum number of times a graph is rewritten; each time except the last lowers its cost.
const MOST_ROUNDS: usize = 12;

/// The maximum number of loops that are tried one by one.
const MOST_LOOPS: usize = 8;

/// The maximum number of times control flow is examined again because something around or inside it has changed.
const MOST_FLOW_ROUNDS: usize = 4;

/// Rewrites a workload into an equal one that costs no more.
///
/// # Errors
/// If the rules cannot be loaded, or a selected rule does not exist.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer::{diag::Source, graph::*, lang::parse_program, pipeline::*};
/// let source = Arc::new(Source::new("example", "fn main(x: f32[8]) { relu(x + 0.0) }"));
/// let graph = build_program(&parse_program(source).unwrap(), &BuildOptions::default()).unwrap();
/// let outcome = optimize(Workload { graph, params: Params::default() }, &Options::default()).unwrap();
/// assert_eq!(outcome.report.vertices, (2, 1));
/// ```
pub fn optimize(mut workload: Workload, options: &Options<'_>) -> Result<Outcome, Diagnostics> {
    let rules = select_rules(options)?;
    if !has_flow(&workload.graph) {
        let mut outcome = settle(workload, &rules, options)?;
        outcome.count_rules();
        return Ok(outcome);
    }
    let before = workload.graph.clone();
    let clock = Instant::now();
    let mut resolved = resolve_flow(&mut workload.graph, Unroll::Once);
    let seconds = clock.elapsed().as_secs_f64();
    let mut outcome = settle(workload, &rules, options)?;
    outcome.report.seconds.insert(0, ("resolve", seconds));
    // The results of one stage may allow more in another.
    for _ in 0..MOST_FLOW_ROUNDS {
        let mut changed = false;
        loop {
            let again = resolve_flow(&mut outcome.workload.graph, Unroll::Once);
            if again == 0 {
                break;
            }
            (resolved, changed) = (resolved + again, true);
            outcome.settle_again(&rules, options)?;
        }
        let again = unroll(&mut outcome, &rules, options)?;
        (resolved, changed) = (resolved + again, changed | (again > 0));
        let clock = Instant::now();
        let rebuilt = bodies::optimize_bodies(&mut outcome, options)?;
        let seconds = clock.elapsed().as_secs_f64();
        outcome.report.seconds.push(("functions", seconds));
        if rebuilt {
            changed = true;
            outcome.settle_again(&rules, options)?;
        }
        if !changed {
            break;
        }
    }
    same_outputs(&before, &outcome.workload.graph)?;
    let after = &outcome.workload.graph;
    outcome.report.resolved = resolved;
    outcome.report.vertices = (before.call_count(), after.call_count());
    outcome.report.cost = (
        graph_cost_by(&before, options.micros),
        graph_cost_by(after, options.micros),
    );
    outcome.count_rules();
    Ok(outcome)
}

/// Unrolls loops where the result costs less and has no more calls: all of them, or else one by one. Returns how many
/// were removed.
fn unroll(outcome: &mut Outcome, rules: &[Arc<Rule>], options: &Options<'_>) -> Result<usize, Diagnostics> {
    let mut gone = 0;
    let loops = loops(&outcome.workload.graph);
    let one_by_one = loops.iter().take(MOST_LOOPS).map(|&v| Unroll::Only(v));
    let tries = std::iter::once(Unroll::Few).chain(one_by_one.filter(|_| loops.len() > 1));
    for unroll in tries {
        let mut trial = outcome.workload.clone();
        let resolved = resolve_flow(&mut trial.graph, unroll);
        if resolved == 0 {
            // Loops that cannot be unrolled together cannot be unrolled one by one either.
            if unroll == Unroll::Few {
                break;
            }
            continue;
        }
        let remaining = outcome.remaining(options);
        let more = settle(trial, rules, &remaining)?;
        let (old, new) = (&outcome.workload.graph, &more.workload.graph);
        if graph_cost_by(new, options.micros) < graph_cost_by(old, options.micros)
            && new.call_count() <= old.call_count()
        {
            outcome.add(more);
            gone += resolved;
            // The others are tried in the next round.
            break;
        }
    }
    Ok(gone)
}

/// Rewrites and folds until neither changes anything: rules use the results of folding, and may match a rebuilt graph
/// differently. A round is accepted only if it lowers the cost of the graph, so a graph that is the result of this
/// function is returned unchanged.
fn settle(workload: Workload, rules: &[Arc<Rule>], options: &Options<'_>) -> Result<Outcome, Diagnostics> {
    let mut outcome = rewrite(workload, rules, options)?;
    for _ in 1..MOST_ROUNDS {
        if outcome.settled {
            break;
        }
        outcome.settle_once(rules, options)?;
    }
    Ok(outcome)
}

impl Outcome {
    /// Settles the graph once more and adds the results.
    fn settle_again(&mut self, rules: &[Arc<Rule>], options: &Options<'_>) -> Result<(), Diagnostics> {
        for _ in 0..MOST_ROUNDS {
            self.settle_once(rules, options)?;
            if self.settled {
                break;
            }
        }
        Ok(())
    }

    fn settle_once(&mut self, rules: &[Arc<Rule>], options: &Options<'_>) -> Result<(), Diagnostics> {
        let remaining = self.remaining(options);
        let more = rewrite(std::mem::take(&mut self.workload), rules, &remaining)?;
        self.add(more);
        Ok(())
    }

    /// The options with the remaining number of applications as their limit.
    fn remaining<'a>(&self, options: &Options<'a>) -> Options<'a> {
        let mut remaining = options.clone();
        let done = self.report.rules.iter().map(|rule| rule.applied).sum();
        remaining.limits.rewrites = options.limits.rewrites.map(|most| most.saturating_sub(done));
        remaining
    }
}

/// How rules are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// By equality saturation: all forms are kept, and the cheapest of all equal graphs is chosen.
    #[default]
    Saturate,
    /// By substitution in the graph: each match is replaced, until there are none.
    Substitute,
}

/// A predicate on a call, given its operands and attributes and the type of its result.
pub type CallTest<'a> = &'a dyn Fn(&Infer<'_>, &Type) -> bool;

/// The options of an optimization.
#[derive(Clone)]
pub struct Options<'a> {
    /// How rules are applied.
    pub engine: Engine,
    /// The rules; `None` for the built-in library and the rules derived from composite operators.
    pub rules: Option<Vec<Arc<Rule>>>,
    /// The weakest class of equality allowed.
    pub class: Class,
    /// Facts about values that are known to hold; rules that assume other facts are excluded.
    pub assume: Vec<String>,
    /// Sets of rules, whose names may be given in place of their members.
    pub groups: Vec<Group>,
    /// If given, only these rules are used, by name.
    pub only: Option<Vec<String>>,
    /// Rules that are not used, by name.
    pub skip: Vec<String>,
    /// When to stop.
    pub limits: Limits,
    /// Calls that the result may contain only where the input has them; decided from operands, attributes and result.
    pub forbidden: CallTest<'a>,
    /// Calls of the input that should not stay: they are replaced wherever rules or bodies of composite operators
    /// allow, whatever that costs. All of them have to be forbidden, too.
    pub illegal: Option<CallTest<'a>>,
    /// The time that a call takes, in microseconds.
    pub micros: &'a dyn Fn(&Priced<'_>) -> f64,
    /// Composite operators that substitution may create although they are forbidden; those left at the end are replaced
    /// by their bodies.
    pub expand: &'a dyn Fn(&OpDef) -> bool,
    /// If true, determines which forbidden operators a better result would have, for [`Report::missing`].
    pub missing: bool,
    /// Called to report progress.
    pub watch: &'a dyn Fn(Event),
    /// Asked again and again; if true, the optimization ends with an error.
    pub cancelled: &'a dyn Fn() -> bool,
    /// If true, keeps the applications that the result depends on, for [`Outcome::steps`].
    pub explain: bool,
    /// If true, keeps everything that the engine explored, for [`Outcome::explored`].
    pub explore: bool,
    /// If true, computes values that depend only on parameters and constants.
    pub fold: bool,
    /// The limits of folding, and whether it may make the parameters larger.
    pub folding: Folding,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            engine: Engine::default(),
            rules: None,
            class: Class::Real,
            assume: Vec::new(),
            groups: Vec::new(),
            only: None,
            skip: Vec::new(),
            limits: Limits::default(),
            forbidden: &|_, _| false,
            illegal: None,
            micros: &|call| call.cost.micros(),
            expand: &|_| false,
            missing: false,
            watch: &|_| {},
            cancelled: &|| false,
            explain: false,
            explore: false,
            fold: true,
            folding: Folding::default(),
        }
    }
}

impl Options<'_> {
    /// The cost model by which results are compared.
    fn cost_model<'a>(&'a self, batch: &'a [Arc<str>]) -> CostModel<'a> {
        CostModel {
            forbidden: self.forbidden,
            illegal: self.illegal.unwrap_or(&|_, _| false),
            micros: self.micros,
            batch,
            fold_all: self.folding.all,
        }
    }

    /// True for calls whose bodies rules match as well: those that should not stay, and those of operators of a runtime,
    /// which the model has or an earlier round made before all types were known.
    fn sees_through(&self, call: &Infer<'_>, result: &Type) -> bool {
        call.def.foreign().is_some() || self.illegal.is_some_and(|illegal| illegal(call, result))
    }
}

/// Rewriting never changes the number or the types of the results.
fn same_outputs(before: &Graph, after: &Graph) -> Result<(), Diagnostics> {
    let types = |g: &Graph| -> Vec<String> { g.outputs().iter().map(|o| g.ty(o.vertex).to_string()).collect() };
    let (old, new) = (types(before), types(after));
    let admitted = before.outputs().len() == after.outputs().len()
        && before
            .outputs()
            .iter()
            .zip(after.outputs())
            .all(|(a, b)| before.ty(a.vertex).admits(after.ty(b.vertex)));
    if admitted {
        return Ok(());
    }
    Err(Diagnostic::error(
        "T0309",
        format!(
            "rewriting changed the types of the results from ({}) to ({})",
            old.join(", "),
            new.join(", ")
        ),
    )
    .help("a rule is wrong; `--skip-rules` excludes rules")
    .into())
}
