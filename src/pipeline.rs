//! The stages in order: graph, e-graph, saturation, extraction, graph, folding. Nothing else calls two of them.

use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use crate::diag::{Diagnostic, Diagnostics};
use crate::graph::{Graph, Workload};
use crate::op::OpDef;
use crate::rewrite::{
    CostModel, FoldReport, Limits, StopReason, decode, encode, extract, fold_static, graph_cost, saturate,
};
use crate::rule::{Class, Rule, composite_rules, library};

/// What an optimisation may do.
pub struct Options<'a> {
    /// The rules; `None` for the built-in library and the rules that composite operators give.
    pub rules: Option<Vec<Arc<Rule>>>,
    /// The weakest class of equality allowed.
    pub class: Class,
    /// Facts about values that are known to hold; a rule that assumes others is left out.
    pub assume: Vec<String>,
    /// Only these rules, by name.
    pub only: Option<Vec<String>>,
    /// Not these rules, by name.
    pub skip: Vec<String>,
    /// When to stop.
    pub limits: Limits,
    /// Operators that the result may contain only where the input has them.
    pub forbidden: &'a dyn Fn(&OpDef) -> bool,
    /// Compute what depends on parameters and constants alone.
    pub fold: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            rules: None,
            class: Class::Real,
            assume: Vec::new(),
            only: None,
            skip: Vec::new(),
            limits: Limits::default(),
            forbidden: &|_| false,
            fold: true,
        }
    }
}

/// An optimised workload and how it came about.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The result.
    pub workload: Workload,
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
    /// No choice of e-nodes costs less than this.
    pub bound: f64,
    /// Bytes of the parameters, before and after.
    pub parameter_bytes: (usize, usize),
    /// The weakest class of equality of the rules that were applied.
    pub class: String,
    /// Rules that were applied, most applications first.
    pub rules: Vec<FiredRule>,
    /// Rounds of saturation.
    pub iterations: usize,
    /// Why saturation stopped.
    pub stop: &'static str,
    /// E-nodes and classes at the end.
    pub egraph: (usize, usize),
    /// Candidates examined.
    pub matches: usize,
    /// Values computed ahead of time.
    pub folded: usize,
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
    let rules = select_rules(options)?;
    let mut clock = Clock {
        last: Instant::now(),
        seconds: Vec::new(),
    };
    let before = workload.graph;
    let mut encoded = encode(&before);
    clock.stage("encode");
    let saturation = saturate(&mut encoded, &rules, options.limits);
    clock.stage("saturate");
    let extraction = extract(
        &encoded,
        &CostModel {
            forbidden: options.forbidden,
        },
    );
    clock.stage("extract");
    workload.graph = decode(&before, &encoded, &extraction, &saturation);
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
    for (rule, report) in saturation.rules.iter().filter(|(_, r)| r.applied > 0) {
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
        bound: extraction.bound,
        parameter_bytes: (bytes_before, workload.params.values().map(|t| t.bytes()).sum()),
        class: class.to_string(),
        rules: fired,
        iterations: saturation.iterations.len(),
        stop: saturation.stop.name(),
        egraph: saturation.iterations.last().map_or((0, 0), |i| (i.nodes, i.classes)),
        matches: saturation.matches(),
        folded: fold.folded,
        seconds: clock.seconds,
    };
    Ok(Outcome { workload, report })
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

/// The rules that `options` selects, in order.
///
/// # Errors
/// If the library does not load, or a name is unknown.
pub fn select_rules(options: &Options<'_>) -> Result<Vec<Arc<Rule>>, Diagnostics> {
    let all = match &options.rules {
        Some(rules) => rules.clone(),
        None => {
            let written = &library().map_err(Clone::clone)?.rules;
            let derived = composite_rules().map_err(Clone::clone)?;
            written.iter().chain(derived).cloned().collect()
        }
    };
    let mut problems = Diagnostics::new();
    for name in options.only.iter().flatten().chain(&options.skip) {
        if !all.iter().any(|r| &*r.name == name.as_str()) {
            let problem = Diagnostic::error("T0307", format!("there is no rule `{name}`"));
            problems.push(match crate::diag::did_you_mean(name, all.iter().map(|r| &*r.name)) {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help("`tautomer rules list` shows all rules"),
            });
        }
    }
    let selected = all
        .into_iter()
        .filter(|r| options.class.allows(r.class))
        .filter(|r| r.assuming.iter().all(|fact| options.assume.contains(fact)))
        .filter(|r| {
            options
                .only
                .as_ref()
                .is_none_or(|only| only.iter().any(|n| **n == *r.name))
        })
        .filter(|r| !options.skip.iter().any(|n| **n == *r.name))
        .collect();
    problems.into_result(selected)
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
