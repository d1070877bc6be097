//! Runs the stages in order: graph, e-graph, saturation, extraction, graph, folding. Only this module combines them.

mod bodies;
mod format;
mod report;
mod select;
mod watch;
mod why;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashSet;

use crate::diag::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Params, Workload, expand_composites};
use crate::op::{Infer, Op, OpDef, Priced};
use crate::rewrite::{
    CostModel, Explored, FoldReport, Folding, IterationReport, Limits, RuleReport, Step, StopReason, Unroll, Watch,
    add_bodies, batch_symbols, encode_folding, extract_folded, fold_static, graph_cost_by, has_flow, kept_from, loops,
    resolve_flow, saturate_watched, substitute_watched, with_bodies,
};
use crate::rule::{Class, Group, Rule};
use crate::tensor::Type;

pub(crate) use self::format::Format;
pub use self::report::{FiredRule, Outcome, Report};
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

/// Says of a call, from its operands and attributes and from its result, whether something holds.
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
    /// Calls of the input that should not stay: they are replaced wherever rules or bodies of composite operators can,
    /// whatever that costs. All of them have to be forbidden, too.
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
    /// What results are compared by.
    fn cost_model<'a>(&'a self, batch: &'a [Arc<str>]) -> CostModel<'a> {
        CostModel {
            forbidden: self.forbidden,
            illegal: self.illegal.unwrap_or(&|_, _| false),
            micros: self.micros,
            batch,
            fold_all: self.folding.all,
        }
    }
}

/// One round of rewriting and folding.
fn rewrite(workload: Workload, rules: &[Arc<Rule>], options: &Options<'_>) -> Result<Outcome, Diagnostics> {
    let mut clock = Clock {
        last: Instant::now(),
        seconds: Vec::new(),
    };
    let Workload { graph: before, params } = workload;
    let batch = batch_symbols(&before);
    let model = options.cost_model(&batch);
    let rewritten = match options.engine {
        Engine::Saturate => by_saturation(&before, &params, rules, options, &model, &mut clock)?,
        Engine::Substitute => {
            (options.watch)(Event::Stage("substitute"));
            let forbidden =
                |call: &Infer<'_>, result: &Type| (options.forbidden)(call, result) && !(options.expand)(call.def);
            let model = CostModel {
                forbidden: &forbidden,
                ..model
            };
            let watch = Watch {
                progress: &|&done: &usize| (options.watch)(Event::Substitutions(done)),
                cancelled: options.cancelled,
            };
            let limit = options.limits.rewrites;
            let (given, lowered) = match options.illegal {
                Some(illegal) => with_bodies(&before, illegal),
                None => (before.clone(), 0),
            };
            let (graph, done) = substitute_watched(given, rules, limit, &model, options.explore, &watch);
            clock.stage("substitute");
            Rewritten {
                improves: lowered > 0 || !done.steps.is_empty(),
                graph: written_out(&before, graph, options),
                missing: watch::missing_of_rules(&done.rules),
                rules: done.rules,
                applications: done.steps.clone(),
                sides: Vec::new(),
                steps: done.steps,
                explored: done.explored,
                bound: None,
                iterations: done.rounds,
                stop: done.stop,
                egraph: (0, 0),
            }
        }
    };
    not_cancelled(options)?;
    let bytes_before: usize = params.values().map(|t| t.bytes()).sum();
    let mut workload = Workload {
        graph: match rewritten.improves {
            true => rewritten.graph,
            false => before.clone(),
        },
        params,
    };
    same_outputs(&before, &workload.graph)?;
    (options.watch)(Event::Stage("fold"));
    let (fold, refined) = normalized(&mut workload, options);
    clock.stage("fold");
    let cost = (
        graph_cost_by(&before, options.micros),
        graph_cost_by(&workload.graph, options.micros),
    );
    let mut class = Class::Bitwise;
    let mut fired = Vec::new();
    for (rule, report) in rewritten.rules.iter().filter(|(_, r)| r.applied > 0) {
        class = class.weaker(rule.class);
        fired.push(FiredRule {
            name: rule.name.to_string(),
            class: rule.class.to_string(),
            applied: report.applied,
            in_result: 0,
        });
    }
    fired.sort_by(|a, b| b.applied.cmp(&a.applied).then_with(|| a.name.cmp(&b.name)));
    let report = Report {
        vertices: (before.call_count(), workload.graph.call_count()),
        cost,
        bound: rewritten.bound,
        parameter_bytes: (bytes_before, workload.params.values().map(|t| t.bytes()).sum()),
        class: class.to_string(),
        weakest: class,
        rules: fired,
        iterations: rewritten.iterations,
        stop: rewritten.stop.name(),
        egraph: rewritten.egraph,
        matches: rewritten.rules.iter().map(|(_, r)| r.matches).sum(),
        folded: fold.folded,
        unfolded: fold.notes,
        stopped: rewritten
            .rules
            .iter()
            .filter(|(_, report)| report.stopped)
            .map(|(rule, _)| rule.name.to_string())
            .collect(),
        resolved: 0,
        missing: rewritten.missing,
        seconds: clock.seconds,
    };
    // An unchanged graph depends on no applications.
    let (steps, sides) = match rewritten.improves {
        true => (rewritten.steps, rewritten.sides),
        false => Default::default(),
    };
    Ok(Outcome {
        workload,
        steps,
        applications: rewritten.applications,
        sides,
        improved: rewritten.improves,
        in_functions: BTreeMap::new(),
        explored: rewritten.explored.map(Arc::new),
        report,
        settled: match options.engine {
            Engine::Saturate => !rewritten.improves && !refined,
            Engine::Substitute => !refined,
        },
    })
}

/// Computes static values and infers types again from the results, until neither changes anything. Returns what was
/// folded, and whether anything changed.
fn normalized(workload: &mut Workload, options: &Options<'_>) -> (FoldReport, bool) {
    let mut done = FoldReport::default();
    let mut changed = workload.graph.retain_reachable() > 0;
    for _ in 0..MOST_ROUNDS {
        let mut again = false;
        if options.fold {
            let report = fold_static(workload, options.folding);
            again = report.folded > 0;
            done.folded += report.folded;
            done.kept = report.kept;
            done.notes = report.notes;
        }
        if let Some(refined) = workload.graph.refined() {
            workload.graph = refined;
            again = true;
        }
        again |= workload.graph.merge_dimensions();
        changed |= again;
        if !again {
            break;
        }
    }
    let graph = &workload.graph;
    let named = graph.params().iter().chain(graph.inputs());
    let used: FxHashSet<Arc<str>> = named.filter_map(|&v| graph.vertex(v).name.clone()).collect();
    workload.params.retain(|name, _| used.contains(name));
    (done, changed)
}

/// The result of either engine.
struct Rewritten {
    graph: Graph,
    /// True if the graph is changed and better.
    improves: bool,
    rules: Vec<(Arc<Rule>, RuleReport)>,
    steps: Vec<Step>,
    applications: Vec<Step>,
    sides: Vec<Option<Graph>>,
    explored: Option<Explored>,
    bound: Option<f64>,
    iterations: usize,
    stop: StopReason,
    egraph: (usize, usize),
    missing: Vec<Missing>,
}

/// The graph after substitution, with composite operators that rules created and that may not remain replaced by their
/// bodies.
fn written_out(before: &Graph, after: Graph, options: &Options<'_>) -> Graph {
    let own: rustc_hash::FxHashSet<&str> = before
        .ids()
        .filter_map(|v| match before.vertex(v).op() {
            Some(Op::Known(def)) => Some(def.name),
            _ => None,
        })
        .collect();
    let expand = |def: &OpDef| (options.expand)(def) && !own.contains(def.name);
    let mut written = after.clone();
    match expand_composites(&mut written, &expand) {
        Ok(_) => written,
        // The writer of the output format must expand them, or report why it cannot.
        Err(_) => after,
    }
}

fn by_saturation(
    before: &Graph,
    params: &Params,
    rules: &[Arc<Rule>],
    options: &Options<'_>,
    model: &CostModel<'_>,
    clock: &mut Clock,
) -> Result<Rewritten, Diagnostics> {
    let ordered = before.with_params_in_order();
    let before = &ordered;
    let mut encoded = encode_folding(before, model.fold_all);
    if let Some(illegal) = options.illegal {
        add_bodies(&mut encoded, illegal);
    }
    clock.stage("encode");
    (options.watch)(Event::Stage("saturate"));
    let progress = |round: &IterationReport| {
        (options.watch)(Event::Round {
            nodes: round.nodes,
            applied: round.applied,
        });
    };
    let watch = Watch {
        progress: &progress,
        cancelled: options.cancelled,
    };
    let explained = options.explain || options.explore;
    let saturation = saturate_watched(&mut encoded, rules, options.limits, explained, &watch);
    clock.stage("saturate");
    not_cancelled(options)?;
    (options.watch)(Event::Stage("extract"));
    let folding = options.fold.then_some(options.folding);
    let (extraction, graph) = extract_folded(before, &encoded, &saturation, model, params, folding);
    let missing = match options.missing {
        true => watch::missing(kept_from(&encoded, &saturation, model)),
        false => Vec::new(),
    };
    clock.stage("extract");
    let (numbers, steps): (Vec<usize>, Vec<Step>) = if options.explain {
        saturation.steps(before, &encoded, &extraction).into_iter().unzip()
    } else {
        Default::default()
    };
    let applications = if options.explain {
        saturation.applications(before, &encoded)
    } else {
        Vec::new()
    };
    let explored = if options.explore {
        saturation.explored(before, &encoded)
    } else {
        None
    };
    Ok(Rewritten {
        improves: extraction.improves,
        graph,
        sides: numbers.iter().map(|&i| saturation.sides(before, &encoded, i)).collect(),
        steps,
        applications,
        explored,
        bound: Some(extraction.bound),
        iterations: saturation.iterations.len(),
        stop: saturation.stop,
        egraph: saturation.iterations.last().map_or((0, 0), |i| (i.nodes, i.classes)),
        missing,
        rules: saturation.rules,
    })
}

/// An error if the caller has cancelled the work.
fn not_cancelled(options: &Options<'_>) -> Result<(), Diagnostics> {
    match (options.cancelled)() {
        true => Err(Diagnostic::error("T0409", "the optimization was cancelled").into()),
        false => Ok(()),
    }
}

struct Clock {
    last: Instant,
    seconds: Vec<(&'static str, f64)>,
}

impl Clock {
    fn stage(&mut self, name: &'static str) {
        self.seconds.push((name, self.last.elapsed().as_secs_f64()));
        self.last = Instant::now();
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
