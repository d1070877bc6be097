//! The stages in order: graph, e-graph, saturation, extraction, graph, folding. Nothing else calls two of them.

mod bodies;
mod report;
mod select;
mod why;

use std::sync::Arc;
use std::time::Instant;

use crate::diag::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Workload};
use crate::op::OpDef;
use crate::rewrite::{
    CostModel, Explored, FoldReport, Limits, RuleReport, Step, StopReason, Unroll, batch_symbols, decode, encode,
    extract, fold_static, graph_cost, has_flow, resolve_flow, saturate, saturate_explained, substitute,
    substitute_explored,
};
use crate::rule::{Class, Group, Rule};

pub use self::report::{FiredRule, Outcome, Report};
pub use self::select::select_rules;
pub use self::why::{WhyNot, why_not};

/// How often a graph is rewritten again because control flow in it was decided.
const MOST_ROUNDS: usize = 3;

/// Rewrites a workload into an equal one that costs no more.
///
/// # Errors
/// If the rules cannot be loaded, a selected rule does not exist, or an expression of parameters cannot be computed.
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
    if !has_flow(&workload.graph) {
        return rewrite(workload, options);
    }
    let before = workload.graph.clone();
    let clock = Instant::now();
    let mut resolved = resolve_flow(&mut workload.graph, Unroll::Once);
    let seconds = clock.elapsed().as_secs_f64();
    let mut outcome = rewrite(workload, options)?;
    outcome.report.seconds.insert(0, ("resolve", seconds));
    // What folding finds out may decide more.
    for _ in 0..MOST_ROUNDS {
        let again = resolve_flow(&mut outcome.workload.graph, Unroll::Once);
        if again == 0 {
            break;
        }
        resolved += again;
        let more = rewrite(std::mem::take(&mut outcome.workload), options)?;
        outcome.add(more);
    }
    // Loops are written out where that costs less.
    let mut unrolled = outcome.workload.clone();
    let again = resolve_flow(&mut unrolled.graph, Unroll::Few);
    if again > 0 {
        let more = rewrite(unrolled, options)?;
        if graph_cost(&more.workload.graph) < graph_cost(&outcome.workload.graph) {
            resolved += again;
            outcome.add(more);
        }
    }
    let clock = Instant::now();
    bodies::optimize_bodies(&mut outcome, options)?;
    outcome
        .report
        .seconds
        .push(("functions", clock.elapsed().as_secs_f64()));
    same_outputs(&before, &outcome.workload.graph)?;
    let after = &outcome.workload.graph;
    outcome.report.resolved = resolved;
    outcome.report.vertices = (before.call_count(), after.call_count());
    outcome.report.cost = (graph_cost(&before), graph_cost(after));
    Ok(outcome)
}

/// How rules are applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// By equality saturation: nothing is lost, the cheapest of all equal graphs is taken.
    #[default]
    Saturate,
    /// By substitution on the graph: each match is replaced, until there is none.
    Substitute,
}

/// What an optimisation may do.
#[derive(Clone)]
pub struct Options<'a> {
    /// How rules are applied.
    pub engine: Engine,
    /// The rules; `None` for the built-in library and the rules that composite operators give.
    pub rules: Option<Vec<Arc<Rule>>>,
    /// The weakest class of equality allowed.
    pub class: Class,
    /// Facts about values that are known to hold; a rule that assumes others is left out.
    pub assume: Vec<String>,
    /// Sets of rules, which may be named instead of their members.
    pub groups: Vec<Group>,
    /// Only these rules, by name.
    pub only: Option<Vec<String>>,
    /// Not these rules, by name.
    pub skip: Vec<String>,
    /// When to stop.
    pub limits: Limits,
    /// Operators that the result may contain only where the input has them.
    pub forbidden: &'a dyn Fn(&OpDef) -> bool,
    /// Keep what the result rests on, for [`Outcome::steps`].
    pub explain: bool,
    /// Keep everything that the engine looked at, for [`Outcome::explored`].
    pub explore: bool,
    /// Compute what depends on parameters and constants alone.
    pub fold: bool,
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
            forbidden: &|_| false,
            explain: false,
            explore: false,
            fold: true,
        }
    }
}

/// One round of rewriting and folding.
fn rewrite(mut workload: Workload, options: &Options<'_>) -> Result<Outcome, Diagnostics> {
    let rules = select_rules(options)?;
    let mut clock = Clock {
        last: Instant::now(),
        seconds: Vec::new(),
    };
    let before = workload.graph;
    let batch = batch_symbols(&before);
    let model = CostModel {
        forbidden: options.forbidden,
        batch: &batch,
    };
    let rewritten = match options.engine {
        Engine::Saturate => by_saturation(&before, &rules, options, &model, &mut clock),
        Engine::Substitute => {
            let engine = if options.explore {
                substitute_explored
            } else {
                substitute
            };
            let (graph, done) = engine(before.clone(), &rules, options.limits.rewrites, &model);
            clock.stage("substitute");
            Rewritten {
                graph,
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
    workload.graph = rewritten.graph;
    same_outputs(&before, &workload.graph)?;
    let bytes_before: usize = workload.params.values().map(|t| t.bytes()).sum();
    let fold = if options.fold {
        fold(&mut workload)?
    } else {
        FoldReport::default()
    };
    clock.stage("fold");
    let cost = (graph_cost(&before), graph_cost(&workload.graph));
    let mut in_result: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for v in workload.graph.ids() {
        for rule in &workload.graph.vertex(v).rules {
            *in_result.entry(rule).or_default() += 1;
        }
    }
    let mut class = Class::Bitwise;
    let mut fired = Vec::new();
    for (rule, report) in rewritten.rules.iter().filter(|(_, r)| r.applied > 0) {
        class = class.weaker(rule.class);
        fired.push(FiredRule {
            name: rule.name.to_string(),
            class: rule.class.to_string(),
            applied: report.applied,
            in_result: in_result.get(&*rule.name).copied().unwrap_or(0),
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
        resolved: 0,
        seconds: clock.seconds,
    };
    Ok(Outcome {
        workload,
        steps: rewritten.steps,
        applications: rewritten.applications,
        sides: rewritten.sides,
        explored: rewritten.explored.map(Arc::new),
        report,
    })
}

/// What either engine gives.
struct Rewritten {
    graph: Graph,
    rules: Vec<(Arc<Rule>, RuleReport)>,
    steps: Vec<Step>,
    applications: Vec<Step>,
    sides: Vec<Option<Graph>>,
    explored: Option<Explored>,
    bound: Option<f64>,
    iterations: usize,
    stop: StopReason,
    egraph: (usize, usize),
}

fn by_saturation(
    before: &Graph,
    rules: &[Arc<Rule>],
    options: &Options<'_>,
    model: &CostModel<'_>,
    clock: &mut Clock,
) -> Rewritten {
    let mut encoded = encode(before);
    clock.stage("encode");
    let saturation = if options.explain || options.explore {
        saturate_explained(&mut encoded, rules, options.limits)
    } else {
        saturate(&mut encoded, rules, options.limits)
    };
    clock.stage("saturate");
    let extraction = extract(&encoded, model);
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
    Rewritten {
        graph: decode(before, &encoded, &extraction, &saturation),
        sides: numbers.iter().map(|&i| saturation.sides(before, &encoded, i)).collect(),
        steps,
        applications,
        explored,
        bound: Some(extraction.bound),
        iterations: saturation.iterations.len(),
        stop: saturation.stop,
        egraph: saturation.iterations.last().map_or((0, 0), |i| (i.nodes, i.classes)),
        rules: saturation.rules,
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

fn fold(workload: &mut Workload) -> Result<FoldReport, Diagnostics> {
    fold_static(workload).map_err(|e| {
        Diagnostic::error("T0403", format!("an expression of parameters cannot be computed: {e}"))
            .help("check the values of the parameters, or keep the expression with `--no-fold`")
            .into()
    })
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
    .help("this is a defect of a rule; `--skip-rules` leaves rules out")
    .into())
}
