//! One round: rewriting by one of the engines, then folding.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashSet;

use super::{Engine, Event, FiredRule, MOST_ROUNDS, Missing, Options, Outcome, Report, same_outputs, watch};
use crate::diag::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Params, Workload, expand_composites};
use crate::op::{Infer, Op, OpDef};
use crate::rewrite::{
    CostModel, Explored, FoldReport, IterationReport, Prices, RuleReport, Step, StopReason, Watch, add_bodies,
    batch_symbols, encode_folding, extract_folded, fold_static, graph_cost_by, kept_from, saturate_watched,
    substitute_watched, with_bodies,
};
use crate::rule::{Class, Rule};
use crate::tensor::Type;

/// One round of rewriting and folding.
pub(super) fn rewrite(workload: Workload, rules: &[Arc<Rule>], options: &Options<'_>) -> Result<Outcome, Diagnostics> {
    let mut clock = Clock {
        last: Instant::now(),
        seconds: Vec::new(),
    };
    let Workload { graph: before, params } = workload;
    let batch = batch_symbols(&before);
    let model = options.cost_model(&batch);
    let rewritten = match options.engine {
        Engine::Saturate => by_saturation(&before, &params, rules, options, &model, &mut clock)?,
        Engine::Substitute => by_substitution(&before, rules, options, &model, &mut clock),
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
    let (fired, class) = fired(&rewritten.rules);
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

/// The rules that were applied, most often applied first, with the weakest of their classes.
fn fired(rules: &[(Arc<Rule>, RuleReport)]) -> (Vec<FiredRule>, Class) {
    let mut class = Class::Bitwise;
    let mut fired = Vec::new();
    for (rule, report) in rules.iter().filter(|(_, r)| r.applied > 0) {
        class = class.weaker(rule.class);
        fired.push(FiredRule {
            name: rule.name.to_string(),
            class: rule.class.to_string(),
            applied: report.applied,
            in_result: 0,
        });
    }
    fired.sort_by(|a, b| b.applied.cmp(&a.applied).then_with(|| a.name.cmp(&b.name)));
    (fired, class)
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
    add_bodies(&mut encoded, &|call, ty| options.sees_through(call, ty));
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
    let prices = Prices::new(&encoded, model);
    let (extraction, graph) = extract_folded(before, &prices, &saturation, params, folding);
    let missing = match options.missing {
        true => watch::missing(kept_from(&prices, &saturation)),
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

fn by_substitution(
    before: &Graph,
    rules: &[Arc<Rule>],
    options: &Options<'_>,
    model: &CostModel<'_>,
    clock: &mut Clock,
) -> Rewritten {
    (options.watch)(Event::Stage("substitute"));
    let forbidden = |call: &Infer<'_>, result: &Type| (options.forbidden)(call, result) && !(options.expand)(call.def);
    let model = CostModel {
        forbidden: &forbidden,
        ..*model
    };
    let watch = Watch {
        progress: &|&done: &usize| (options.watch)(Event::Substitutions(done)),
        cancelled: options.cancelled,
    };
    let limit = options.limits.rewrites;
    let (given, lowered) = match options.illegal {
        Some(illegal) => with_bodies(before, illegal),
        None => (before.clone(), 0),
    };
    let (graph, done) = substitute_watched(given, rules, limit, &model, options.explore, &watch);
    clock.stage("substitute");
    Rewritten {
        improves: lowered > 0 || !done.steps.is_empty(),
        graph: written_out(before, graph, options),
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
