//! A report of a run as one self-contained HTML page: `optimize --report`.

mod evidence;
mod picture;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::formats::escaped;
use crate::graph::{Graph, Workload};
use crate::pipeline::{Outcome, Report};
use crate::rule::{Class, Rule};
use crate::verify::Entry;

use crate::compare::Compared;
use picture::picture;

/// The maximum number of regions drawn.
const DRAWN: usize = 60;

/// The contents of a page.
pub(crate) struct Page<'a> {
    /// The file that was optimized.
    pub(crate) file: &'a str,
    /// The original.
    pub(crate) original: &'a Workload,
    /// The result, with the rewrites that it depends on.
    pub(crate) outcome: &'a Outcome,
    /// Node counts before and after, as in the summary.
    pub(crate) nodes: (usize, usize),
    /// The comparison on random inputs: the number of runs, and the verdict.
    pub(crate) check: Option<(u64, &'a Compared)>,
    /// The largest allowed difference, relative to the scale of the result.
    pub(crate) allowed: f64,
    /// The weakest allowed class.
    pub(crate) class: Class,
    /// The rules used.
    pub(crate) rules: &'a [Arc<Rule>],
    /// Verdicts of rules, by name.
    pub(crate) verdicts: &'a BTreeMap<String, Entry>,
}

impl Page<'_> {
    /// The page.
    pub(crate) fn html(&self) -> String {
        let report = &self.outcome.report;
        let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        let _ = writeln!(
            out,
            "<title>{} optimized</title>\n{STYLE}</head>\n<body>",
            escaped(self.file)
        );
        let _ = writeln!(out, "<h1>{}</h1>", escaped(self.file));
        self.summary(&mut out, report);
        self.operators(&mut out);
        self.rules(&mut out, report);
        self.regions(&mut out);
        self.verdicts(&mut out, report);
        out.push_str("</body>\n</html>\n");
        out
    }

    fn summary(&self, out: &mut String, report: &Report) {
        let check = match &self.check {
            None => "not compared".to_owned(),
            Some((_, Compared::Unchecked(why))) => format!("not compared: {why}"),
            Some((_, Compared::Apart { most, blind, runs, .. })) => format!(
                "{most:.2e} of the scale in {runs} {}, {:.0e} allowed{}",
                if *runs == 1 { "run" } else { "runs" },
                self.allowed,
                if *blind {
                    ", inconclusive: outputs are constant or NaN"
                } else {
                    ""
                }
            ),
        };
        let change = |before: f64, after: f64| {
            if before > 0.0 {
                format!("{:+.1} %", (after / before - 1.0) * 100.0)
            } else {
                String::new()
            }
        };
        let row = |out: &mut String, name: &str, before: String, after: String, change: String| {
            let _ = writeln!(
                out,
                "<tr><th>{name}</th><td>{before}</td><td>{after}</td><td>{change}</td></tr>"
            );
        };
        out.push_str("<table>\n<tr><th></th><th>before</th><th>after</th><th>change</th></tr>\n");
        let (before, after) = self.nodes;
        let number = change(before as f64, after as f64);
        row(out, "nodes", before.to_string(), after.to_string(), number);
        let (before, after) = report.cost;
        let text = |v: f64| format!("{v:.1} µs");
        row(
            out,
            "estimated time of a run",
            text(before),
            text(after),
            change(before, after),
        );
        let (before, after) = report.parameter_bytes;
        let number = change(before as f64, after as f64);
        row(out, "parameters", bytes(before), bytes(after), number);
        let (before, after) = (values(&self.original.graph), values(&self.outcome.workload.graph));
        let shown = |v: Option<usize>| v.map_or_else(|| "depends on the inputs".to_owned(), bytes);
        let number = before.zip(after).map(|(b, a)| change(b as f64, a as f64));
        row(
            out,
            "activations",
            shown(before),
            shown(after),
            number.unwrap_or_default(),
        );
        out.push_str("</table>\n<dl>\n");
        let equal = format!("{} required, {} used", self.class, report.class);
        for (name, value) in [
            ("largest difference", check),
            ("accuracy", equal),
            ("stopped", report.stop.to_owned()),
            ("rounds", report.iterations.to_string()),
            ("computed ahead of time", format!("{} values", report.folded)),
        ] {
            let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escaped(&value));
        }
        out.push_str("</dl>\n");
    }

    /// How often each operator occurs.
    fn operators(&self, out: &mut String) {
        let (before, after) = (counts(&self.original.graph), counts(&self.outcome.workload.graph));
        let names: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        out.push_str("<h2>Operators</h2>\n<table>\n<tr><th>operator</th><th>before</th><th>after</th></tr>\n");
        for name in names {
            let count = |counts: &BTreeMap<String, usize>| counts.get(name).copied().unwrap_or(0);
            let (b, a) = (count(&before), count(&after));
            let mark = if b == a { "" } else { " class=\"changed\"" };
            let _ = writeln!(out, "<tr{mark}><th>{}</th><td>{b}</td><td>{a}</td></tr>", escaped(name));
        }
        out.push_str("</table>\n");
    }

    fn rules(&self, out: &mut String, report: &Report) {
        out.push_str("<h2>Rules</h2>\n");
        if report.rules.is_empty() {
            out.push_str("<p>No rule was applied.</p>\n");
            return;
        }
        out.push_str(
            "<table>\n<tr><th>rule</th><th>applied</th><th>in the result</th><th>class</th><th>verdict</th></tr>\n",
        );
        let drawn: FxHashSet<&str> = self.outcome.steps.iter().map(|s| &*s.rule).collect();
        for rule in &report.rules {
            let name = escaped(&rule.name);
            let link = if drawn.contains(rule.name.as_str()) {
                format!("<a href=\"#{name}\">{name}</a>")
            } else {
                name.clone()
            };
            let _ = writeln!(
                out,
                "<tr><th>{link}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"text\"><a href=\"#{}\">{}</a></td></tr>",
                rule.applied,
                rule.in_result,
                escaped(&rule.class),
                evidence::anchor(&rule.name),
                escaped(self.verdicts.get(&rule.name).map_or("none", |entry| &entry.says))
            );
        }
        out.push_str("</table>\n");
    }

    /// A section for each applied rule, with the evidence for its verdict.
    fn verdicts(&self, out: &mut String, report: &Report) {
        if report.rules.is_empty() {
            return;
        }
        out.push_str("<h2>Verdicts</h2>\n");
        for fired in &report.rules {
            if let Some(rule) = self.rules.iter().find(|r| *r.name == *fired.name) {
                evidence::section(out, rule, self.verdicts.get(&fired.name));
            }
        }
    }

    /// A picture for each rule that the result depends on, at its first application.
    fn regions(&self, out: &mut String) {
        let mut places: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        let mut order: Vec<&str> = Vec::new();
        for (i, step) in self.outcome.steps.iter().enumerate() {
            let all = places.entry(&*step.rule).or_default();
            if all.is_empty() {
                order.push(&*step.rule);
            }
            all.push(i);
        }
        if order.is_empty() {
            return;
        }
        out.push_str("<h2>Changed regions</h2>\n<p>The first place of each rule that the result depends on.</p>\n");
        for name in order.into_iter().take(DRAWN) {
            let all = &places[name];
            let at = self.outcome.steps[all[0]].place.join(", ");
            let times = if all.len() == 1 {
                String::new()
            } else {
                format!(
                    ", the first of {} rewrites by this rule that the result depends on",
                    all.len()
                )
            };
            let place = if at.is_empty() {
                "at a value made by the rules before".to_owned()
            } else {
                format!("at {at}")
            };
            let _ = writeln!(
                out,
                "<h3 id=\"{0}\">{0}</h3>\n<p>{1}{times}</p>",
                escaped(name),
                escaped(&place)
            );
            let sides = all
                .iter()
                .find_map(|&i| self.outcome.sides.get(i).and_then(Option::as_ref));
            if let Some(picture) = sides.and_then(picture) {
                let _ = writeln!(out, "<div class=\"picture\">{picture}</div>");
            }
        }
    }
}

fn counts(graph: &Graph) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for v in graph.rpo() {
        if let Some(op) = graph.vertex(v).op() {
            *counts.entry(op.name().to_string()).or_insert(0) += 1;
        }
    }
    counts
}

/// The total bytes of the results of all calls, if every dimension is known.
fn values(graph: &Graph) -> Option<usize> {
    let mut sum = 0usize;
    for v in graph.rpo() {
        if let (Some(_), Some(ty)) = (graph.vertex(v).op(), graph.ty(v).as_tensor()) {
            let extents = ty.shape.as_ref()?.iter().map(|d| usize::try_from(d.as_const()?).ok());
            let elements = extents.collect::<Option<Vec<usize>>>()?.into_iter().product::<usize>();
            sum = sum.saturating_add(elements.saturating_mul(ty.dtype.size()));
        }
    }
    Some(sum)
}

/// A number of bytes, for people.
pub(crate) fn bytes(n: usize) -> String {
    match n {
        0..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

const STYLE: &str = "<style>
body { font-family: sans-serif; margin: 2em auto; max-width: 70em; color: #222; }
table { border-collapse: collapse; margin: 1em 0; }
th, td { padding: .2em .8em; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td.text { text-align: left; font-weight: normal; }
tr.changed td { font-weight: bold; }
dt { float: left; clear: left; width: 14em; color: #555; }
dd { margin: 0 0 .2em 14em; }
.picture { overflow-x: auto; }
pre { background: #f6f6f6; padding: .5em; overflow-x: auto; }
h3 { margin-bottom: 0; font-family: monospace; }
</style>
";
