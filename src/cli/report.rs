//! `optimize --report`: what was done, as one page of HTML that needs nothing beside it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rustc_hash::{FxHashMap, FxHashSet};

use tautomer::formats::{Drawing, Part, Shape};
use tautomer::graph::{Graph, Node, VertexId, Workload};
use tautomer::pipeline::{Outcome, Report};
use tautomer::rule::Class;

use super::optimize::Verdict;

/// The most regions that are drawn.
const DRAWN: usize = 60;

/// The most boxes of a picture.
const BOXES: usize = 40;

/// What a page is made of.
pub(super) struct Page<'a> {
    /// The file that was optimized.
    pub(super) file: &'a str,
    /// Before.
    pub(super) original: &'a Workload,
    /// After, with what the result rests on.
    pub(super) outcome: &'a Outcome,
    /// Comparison on random inputs: how many runs, and what they say.
    pub(super) check: Option<(u64, &'a Verdict)>,
    /// The largest difference that is allowed, relative to the scale of the result.
    pub(super) allowed: f64,
    /// The weakest class that was allowed.
    pub(super) class: Class,
    /// Verdicts of rules, by name.
    pub(super) verdicts: &'a dyn Fn(&str) -> String,
}

impl Page<'_> {
    /// The page.
    pub(super) fn html(&self) -> String {
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
        out.push_str("</body>\n</html>\n");
        out
    }

    fn summary(&self, out: &mut String, report: &Report) {
        let check = match &self.check {
            None => "not compared".to_owned(),
            Some((_, Verdict::Unchecked(why))) => format!("not compared: {why}"),
            Some((runs, Verdict::Apart(most))) => format!(
                "{most:.2e} of the scale in {runs} {}, {:.0e} allowed",
                if *runs == 1 { "run" } else { "runs" },
                self.allowed
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
        let (before, after) = report.vertices;
        let number = change(before as f64, after as f64);
        row(out, "operator calls", before.to_string(), after.to_string(), number);
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
            "values on the way",
            shown(before),
            shown(after),
            number.unwrap_or_default(),
        );
        out.push_str("</table>\n<dl>\n");
        let equal = format!("as {} allowed, {} used", self.class, report.class);
        for (name, value) in [
            ("largest difference", check),
            ("equality", equal),
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
                "<tr><th>{link}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"text\">{}</td></tr>",
                rule.applied,
                rule.in_result,
                escaped(&rule.class),
                escaped(&(self.verdicts)(&rule.name))
            );
        }
        out.push_str("</table>\n");
    }

    /// One picture for each rule that the result rests on: where it was applied first.
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
        out.push_str("<h2>Changed regions</h2>\n<p>The first place of each rule that the result rests on.</p>\n");
        for name in order.into_iter().take(DRAWN) {
            let all = &places[name];
            let at = self.outcome.steps[all[0]].place.join(", ");
            let times = if all.len() == 1 {
                String::new()
            } else {
                format!(", {} times in all", all.len())
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

/// Both sides of an application: what the one computes that the other does not.
fn picture(sides: &Graph) -> Option<String> {
    let outputs: Vec<VertexId> = sides.outputs().iter().map(|o| o.vertex).collect();
    let (source, target) = outputs.split_at(outputs.len() / 2);
    let (before, after) = (reached(sides, source), reached(sides, target));
    let parts = vec![
        part(sides, "before", source, &before, &after),
        part(sides, "after", target, &after, &before),
    ];
    if parts.iter().any(|p| p.boxes.len() > BOXES) {
        return None;
    }
    let title = String::new();
    Some(Drawing { title, parts }.to_svg())
}

fn reached(graph: &Graph, roots: &[VertexId]) -> FxHashSet<VertexId> {
    let mut found: FxHashSet<VertexId> = FxHashSet::default();
    let mut waiting = roots.to_vec();
    while let Some(v) = waiting.pop() {
        if found.insert(v) {
            waiting.extend(graph.pred(v).iter().copied());
        }
    }
    found
}

fn part(
    graph: &Graph,
    title: &str,
    roots: &[VertexId],
    mine: &FxHashSet<VertexId>,
    theirs: &FxHashSet<VertexId>,
) -> Part {
    let own = |v: VertexId| (mine.contains(&v) && !theirs.contains(&v)) || roots.contains(&v);
    let mut part = Part::new(title);
    let mut boxes: FxHashMap<VertexId, usize> = FxHashMap::default();
    for v in graph.rpo() {
        if !own(v) {
            continue;
        }
        let shared = theirs.contains(&v);
        let operands: Vec<VertexId> = if shared {
            Vec::new()
        } else {
            graph.pred(v).iter().copied().collect()
        };
        for u in &operands {
            boxes.entry(*u).or_insert_with(|| {
                let (lines, shape) = label(graph, *u, true);
                part.add(lines, shape)
            });
        }
        let this = *boxes.entry(v).or_insert_with(|| {
            let (lines, shape) = label(graph, v, shared);
            part.add(lines, shape)
        });
        for u in operands {
            part.connect(boxes[&u], this, "");
        }
    }
    part
}

/// What stands in a box; `outside` is a value that both sides take.
fn label(graph: &Graph, v: VertexId, outside: bool) -> (Vec<String>, Shape) {
    let vertex = graph.vertex(v);
    let ty = vertex.ty.to_string();
    let name = vertex.name.as_ref().map(ToString::to_string);
    match &vertex.node {
        Node::Input | Node::Param => (vec![name.unwrap_or_default(), ty], Shape::Value),
        Node::Const(_) => (vec!["constant".to_owned(), ty], Shape::Constant),
        Node::Call { op, .. } if outside => (vec![name.unwrap_or_else(|| op.name().to_string()), ty], Shape::Value),
        Node::Call { op, .. } => (vec![op.name().to_string(), ty], Shape::Call),
        Node::Absent => (vec!["none".to_owned()], Shape::Plain),
        Node::Tuple => (vec!["tuple".to_owned()], Shape::Plain),
        Node::Proj(i) => (vec![format!("output {i}"), ty], Shape::Plain),
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

/// The bytes of all results of calls together, if every extent is known.
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

fn bytes(n: usize) -> String {
    match n {
        0..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
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
h3 { margin-bottom: 0; font-family: monospace; }
</style>
";
