//! The stages in order: graph, e-graph, saturation, extraction, graph, folding. Nothing else calls two of them.

mod bodies;

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::diag::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Workload};
use crate::op::OpDef;
use crate::rewrite::{
    CostModel, Explored, FoldReport, Limits, RuleReport, Step, StopReason, Unroll, decode, encode, extract,
    fold_static, graph_cost, has_flow, nearest_in_egraph, nearest_in_graph, resolve_flow, saturate, saturate_explained,
    substitute, substitute_explored,
};
use crate::rule::{Class, Group, Rule, composite_rules, library};

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

/// An optimised workload and how it came about.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result.
    pub workload: Workload,
    /// With [`Options::explain`]: the applications that the result rests on, from inputs to results; for substitution
    /// all of them, in order.
    pub steps: Vec<Step>,
    /// With [`Options::explain`]: all applications, in order.
    pub applications: Vec<Step>,
    /// With [`Options::explain`], for saturation: a graph for each of `steps` that computes both sides of it: the
    /// outputs of the match, then those of the target.
    pub sides: Vec<Option<Graph>>,
    /// With [`Options::explore`]: every term that the engine made, and what rules made equal.
    pub explored: Option<Arc<Explored>>,
    /// What happened.
    pub report: Report,
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
    weakest: Class,
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

/// How often a graph is rewritten again because control flow in it was decided.
const MOST_ROUNDS: usize = 3;

impl Outcome {
    /// Takes over what a further round came to.
    fn add(&mut self, more: Outcome) {
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

impl Report {
    /// Adds the rules, rounds and matches of another run.
    fn add(&mut self, more: &Report) {
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

/// One round of rewriting and folding.
fn rewrite(mut workload: Workload, options: &Options<'_>) -> Result<Outcome, Diagnostics> {
    let rules = select_rules(options)?;
    let mut clock = Clock {
        last: Instant::now(),
        seconds: Vec::new(),
    };
    let before = workload.graph;
    let model = CostModel {
        forbidden: options.forbidden,
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

impl Report {
    /// True if saturation ran until nothing changed any more.
    pub fn is_saturated(&self) -> bool {
        self.stop == StopReason::Saturated.name()
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

/// Why a rule does not apply, or what became of it where it does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WhyNot {
    /// The rule.
    pub rule: String,
    /// The answer in one sentence.
    pub answer: String,
    /// The value at which its source begins, where it came nearest.
    pub place: Option<String>,
    /// Parts of the condition that does not hold, as written and as they are.
    pub values: Vec<(String, String)>,
}

/// Says of a rule why it is not applied to a graph, or why the result does not show it.
///
/// # Errors
/// As [`optimize`], and if there is no such rule.
pub fn why_not(graph: &Graph, options: &Options<'_>, name: &str) -> Result<WhyNot, Diagnostics> {
    let everything = Options {
        class: Class::Approx(f64::INFINITY),
        only: Some(vec![name.to_owned()]),
        skip: Vec::new(),
        rules: options.rules.clone(),
        assume: Vec::new(),
        ..Options::default()
    };
    let all = every_rule(&everything)?;
    select_rules(&Options {
        assume: all.iter().flat_map(|r| r.assuming.clone()).collect(),
        ..everything
    })?;
    let selected = select_rules(options)?;
    let mut out = WhyNot {
        rule: name.to_owned(),
        answer: String::new(),
        place: None,
        values: Vec::new(),
    };
    let Some(rule) = selected.iter().find(|r| &*r.name == name) else {
        let left_out = all.iter().find(|r| &*r.name == name);
        out.answer = match left_out {
            Some(rule) if !options.class.allows(rule.class) => {
                format!(
                    "it is left out: its sides are equal as `{}`, and only `{}` is allowed",
                    rule.class, options.class
                )
            }
            Some(rule) if !rule.assuming.iter().all(|fact| options.assume.contains(fact)) => {
                format!(
                    "it is left out: it assumes {}, which nobody said holds",
                    rule.assuming.join(", ")
                )
            }
            _ => "it is left out by name".to_owned(),
        };
        return Ok(out);
    };
    let model = CostModel {
        forbidden: options.forbidden,
    };
    let (applied, used, nearest) = match options.engine {
        Engine::Substitute => {
            let (after, done) = substitute(graph.clone(), &selected, options.limits.rewrites, &model);
            let count = done
                .rules
                .iter()
                .find(|(r, _)| Arc::ptr_eq(r, rule))
                .map_or(0, |(_, r)| r.applied);
            let before = nearest_in_graph(graph, rule);
            (
                count,
                count,
                if before.matches > 0 {
                    before
                } else {
                    nearest_in_graph(&after, rule)
                },
            )
        }
        Engine::Saturate => {
            let mut encoded = encode(graph);
            let saturation = saturate_explained(&mut encoded, &selected, options.limits);
            let found = saturation.rules.iter().find(|(r, _)| Arc::ptr_eq(r, rule));
            let steps = saturation.steps(graph, &encoded, &extract(&encoded, &model));
            (
                found.map_or(0, |(_, r)| r.applied),
                steps.iter().filter(|(_, s)| s.rule == rule.name).count(),
                nearest_in_egraph(graph, &encoded, rule),
            )
        }
    };
    out.place = nearest.place;
    out.values = nearest.values;
    out.answer = match (applied, nearest.matches) {
        (0, 0) => nearest.why,
        (0, n) => format!(
            "it matches in {n} places and is not applied: its target has no type there, the same value already, or it was \
             refused by a limit"
        ),
        (n, _) if used == 0 => {
            format!(
                "it is applied {} and the result rests on none: what it makes does not cost less",
                times(n)
            )
        }
        (n, _) => format!("it is applied {}, and the result rests on {used} of them", times(n)),
    };
    Ok(out)
}

fn times(n: usize) -> String {
    if n == 1 {
        "once".to_owned()
    } else {
        format!("{n} times")
    }
}

/// The rules that `options` selects, in order.
///
/// # Errors
/// If the library does not load, or a name is unknown.
pub fn select_rules(options: &Options<'_>) -> Result<Vec<Arc<Rule>>, Diagnostics> {
    let all = every_rule(options)?;
    let mut problems = Diagnostics::new();
    let mut members = |names: &[String]| -> Vec<String> {
        let mut out = Vec::new();
        let mut stack: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        let mut seen = std::collections::BTreeSet::new();
        while let Some(name) = stack.pop() {
            if !seen.insert(name.to_owned()) {
                continue;
            }
            if let Some(group) = options.groups.iter().find(|g| &*g.name == name) {
                stack.extend(group.members.iter().rev().map(|m| &**m));
                continue;
            }
            // The name of an equality stands for both directions.
            let found: Vec<String> = all
                .iter()
                .filter(|r| &*r.name == name || (r.both_ways && r.name.strip_suffix("-reversed") == Some(name)))
                .map(|r| r.name.to_string())
                .collect();
            if found.is_empty() {
                let known = all
                    .iter()
                    .map(|r| &*r.name)
                    .chain(options.groups.iter().map(|g| &*g.name));
                let problem = Diagnostic::error("T0307", format!("there is no rule `{name}`"));
                problems.push(match crate::diag::did_you_mean(name, known) {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help("`tautomer rules list` shows all rules"),
                });
            }
            out.extend(found);
        }
        out
    };
    let only = options.only.as_ref().map(|names| members(names));
    let skip = members(&options.skip);
    let selected = all
        .iter()
        .filter(|r| options.class.allows(r.class))
        .filter(|r| r.assuming.iter().all(|fact| options.assume.contains(fact)))
        .filter(|r| only.as_ref().is_none_or(|only| only.iter().any(|n| **n == *r.name)))
        .filter(|r| !skip.iter().any(|n| **n == *r.name))
        .cloned()
        .collect();
    problems.into_result(selected)
}

/// The rules to select from.
fn every_rule(options: &Options<'_>) -> Result<Vec<Arc<Rule>>, Diagnostics> {
    if let Some(rules) = &options.rules {
        return Ok(rules.clone());
    }
    let written = &library().map_err(Clone::clone)?.rules;
    let derived = composite_rules().map_err(Clone::clone)?;
    Ok(written.iter().chain(derived).cloned().collect())
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
