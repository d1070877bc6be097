//! The output of `tautomer optimize` about a run: the summary, calls that the target lacks, expressions left to run
//! time, and the rewrites.

use std::path::Path;

use tautomer::diag::{Diagnostic, Diagnostics};
use tautomer::formats::onnx::count_nodes;
use tautomer::graph::Graph;
use tautomer::op;
use tautomer::page::bytes;
use tautomer::pipeline::{Missing, Report};
use tautomer::rewrite::{Step, batch_symbols};
use tautomer::{Compared, EqualDims, Optimized};

use super::Args;
use crate::cli::input::{self, Kind};
use crate::cli::{Shell, audit, understood, verdicts};

/// How many rules the table shows.
const SHOWN_RULES: usize = 8;

/// Prints what was done.
pub(super) fn print(
    args: &Args,
    optimized: &Optimized,
    sizes: &Sizes,
    unknown: &[(String, usize)],
    seconds: f64,
    shell: &Shell,
) {
    let report = &optimized.report;
    let given = optimized
        .chosen
        .rules
        .iter()
        .map(|rule| rule.name.to_string())
        .collect();
    let assumed = assumed(&optimized.original.workload.graph);
    let on = optimized
        .target()
        .map_or(String::new(), |target| format!(" on {}", target.name));
    shell.say(&table(
        &input::shown(&args.file),
        report,
        sizes,
        &format!("{on}{assumed}"),
        seconds,
    ));
    understood::line(unknown, sizes.nodes.0)
        .iter()
        .for_each(|line| shell.say(line));
    missing_text(&report.missing, given, optimized)
        .iter()
        .for_each(|line| shell.say(line));
    for_target(optimized, shell);
    sizes.text().iter().for_each(|line| shell.say(line));
    if args.explain {
        shell.say(&steps_text(optimized.steps()));
    }
    shell.problems(&unfolded(report));
    if let [first, rest @ ..] = report.stopped.as_slice() {
        let more = match rest.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        shell.say(&format!(
            "`{first}`{more} not searched exhaustively: limit of {} steps reached (`--match-steps` raises it)",
            args.folding.steps()
        ));
    }
    if let Some(check) = &optimized.check {
        shell.say(&check.line(args.check.is_some()));
        if let Compared::Apart { first: Some(first), .. } = &check.verdict {
            shell.say(&format!("the first value that differs is {first}"));
        }
        if check.is_wrong() {
            shell.say(&match &check.rule {
                Some(step) => format!("{} makes it wrong; nothing is written", step.rule),
                None => "nothing is written; `tautomer bisect` looks for the rule that makes it wrong".to_owned(),
            });
        }
    }
    optimized.audit.iter().for_each(|audit| shell.say(&audit::text(audit)));
}

/// Dimensions of inputs that may be equal, and how to say so.
pub(super) fn equal(met: &EqualDims) -> Option<String> {
    let pairs: Vec<String> = (met.pairs.iter().take(SHOWN_SYMBOLS))
        .map(|(name, other)| format!("`{name}` = `{other}`"))
        .collect();
    let more = match met.pairs.len().saturating_sub(SHOWN_SYMBOLS) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let shapes: Vec<String> = met.shapes.iter().map(|shape| format!("--shape {shape}")).collect();
    (!pairs.is_empty()).then(|| {
        format!(
            "the model does not say that {}{more}; where that always holds, more rules apply with `{}`",
            pairs.join(", "),
            shapes.join(" ")
        )
    })
}

/// What became of calls that the target does not have.
fn for_target(optimized: &Optimized, shell: &Shell) {
    let Some(target) = optimized.target() else { return };
    let lowered: Vec<String> = (optimized.lowered().iter())
        .map(|(operator, count)| format!("{operator} {count}"))
        .collect();
    if !lowered.is_empty() {
        shell.say(&format!(
            "replaced, as {} does not have it: {}",
            target.name,
            lowered.join(", ")
        ));
    }
    let left = optimized.illegal();
    let calls: usize = left.iter().map(|item| item.places.len()).sum();
    if calls == 0 {
        return;
    }
    let source = optimized.original.program.as_ref().map(|program| &program.ast.source);
    let problems: Diagnostics = (left.iter())
        .map(|item| item.diagnostic(&target.name, source))
        .collect();
    shell.problems(&problems);
    shell.say(&format!("{} not possible on {}", number(calls, "call"), target.name));
}

/// How many expressions left to run time are listed individually.
const SHOWN_UNFOLDED: usize = 3;

/// Expressions that were not computed ahead of time, and how to have them computed.
fn unfolded(report: &Report) -> Diagnostics {
    let (larger, others): (Vec<_>, Vec<_>) = report.unfolded.iter().partition(|note| note.bytes > 0);
    let mut out: Diagnostics = others
        .iter()
        .take(SHOWN_UNFOLDED)
        .map(|note| {
            let what = format!("`{}` is left to run time: {}", note.value, note.why);
            Diagnostic::warning("T0403", what).help(note.help)
        })
        .collect();
    if let more @ 1.. = others.len().saturating_sub(SHOWN_UNFOLDED) {
        let what = format!("{more} more expressions of parameters are left to run time");
        out.push(Diagnostic::warning("T0403", what).help("`--json` lists all of them"));
    }
    if let [first, rest @ ..] = larger.as_slice() {
        let more = match rest.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let what = format!("`{}`{more} stay as they are: {}", first.value, first.why);
        out.push(
            Diagnostic::warning(
                "T0403",
                what.replace(
                    "stay as they are",
                    if rest.is_empty() {
                        "stays as it is"
                    } else {
                        "stay as they are"
                    },
                ),
            )
            .help(first.help),
        );
    }
    out
}

/// The rewrites that produced the result, one per line.
fn steps_text(steps: &[Step]) -> String {
    if steps.is_empty() {
        return "no rewrite produced this result".to_owned();
    }
    let mut out = format!(
        "{} produced this result, in dataflow order:",
        number(steps.len(), "rewrite")
    );
    let width = steps.iter().map(|s| s.rule.len()).max().unwrap_or(0);
    let digits = steps.len().to_string().len();
    for (i, step) in steps.iter().enumerate() {
        let place = match step.place.as_slice() {
            [] => "at a value made by the rules before".to_owned(),
            places => format!("at {}", places.join(", ")),
        };
        out.push_str(&format!("\n  {:digits$}  {:width$}  {place}", i + 1, step.rule));
    }
    out
}

/// A summary of the run, in a few lines.
fn table(file: &str, report: &Report, sizes: &Sizes, assumed: &str, seconds: f64) -> String {
    let name = Path::new(file)
        .file_name()
        .map_or_else(|| file.to_owned(), |n| n.to_string_lossy().into_owned());
    let mut out = format!(
        "optimized {name}   {} -> {} nodes   estimated {} -> {}{assumed}   {seconds:.2} s   stopped: {}",
        sizes.nodes.0,
        sizes.nodes.1,
        cost(report.cost.0),
        cost(report.cost.1),
        report.stop
    );
    let width = report
        .rules
        .iter()
        .take(SHOWN_RULES)
        .map(|r| r.name.len())
        .max()
        .unwrap_or(0);
    for rule in report.rules.iter().take(SHOWN_RULES) {
        let used = match rule.in_result {
            0 => String::new(),
            n => format!("   in the result: {n}"),
        };
        out.push_str(&format!(
            "\n  {:width$}   {:>5} x   {}{used}",
            rule.name, rule.applied, rule.class
        ));
    }
    if let more @ 1.. = report.rules.len().saturating_sub(SHOWN_RULES) {
        out.push_str(&format!("\n  and {} more", number(more, "rule")));
    }
    out
}

/// Sizes of the model and of the result.
pub(super) struct Sizes {
    /// Node counts as viewers of the file show them; for a program, its calls.
    pub(super) nodes: (usize, usize),
    /// Sizes of the files in bytes, if both are ONNX files.
    files: Option<(u64, u64)>,
    /// Size of the parameters in bytes.
    parameters: (usize, usize),
}

impl Sizes {
    pub(super) fn new(args: &Args, report: &Report, written: Option<&Path>) -> Sizes {
        let own = |path: &Path| !input::is_standard(path) && Kind::of(path, args.from).is_ok_and(|k| k == Kind::Onnx);
        let before = Some(args.file.as_path()).filter(|path| own(path));
        let replaced = before.is_some() && before == written;
        let count = |path: Option<&Path>| path.and_then(count_nodes);
        let bytes = |path: Option<&Path>| Some(std::fs::metadata(path?).ok()?.len());
        Sizes {
            nodes: (
                // An overwritten model can no longer be counted.
                count(before.filter(|_| !replaced)).unwrap_or(report.vertices.0),
                count(written).unwrap_or(report.vertices.1),
            ),
            files: bytes(before.filter(|_| !replaced)).zip(bytes(written)),
            parameters: report.parameter_bytes,
        }
    }

    /// The size change of the files, or else of the parameters; `None` if the parameters are as large as before.
    fn text(&self) -> Option<String> {
        let (what, before, after) = match (self.files, self.parameters) {
            (Some((before, after)), _) => ("file", before, after),
            (None, (before, after)) if before != after => ("parameters", before as u64, after as u64),
            _ => return None,
        };
        let shown = |n: u64| usize::try_from(n).map_or_else(|_| format!("{n} B"), bytes);
        let mut text = format!("{what} {} -> {}", shown(before), shown(after));
        if after > before + before / 20 + GROWTH {
            let grows = if what == "file" {
                "the file grows"
            } else {
                "the parameters grow"
            };
            text.push_str(&format!(
                ": {grows}, as values that were computed from parameters are stored now; `--no-fold` leaves them as they are"
            ));
        }
        Some(text)
    }
}

/// Growth by at most this many bytes is not explained.
const GROWTH: u64 = 4096;

/// The dimensions that the estimate assumes, if any.
fn assumed(graph: &Graph) -> String {
    let symbols: Vec<_> = tautomer::compare::symbols(graph).into_iter().collect();
    let batch = batch_symbols(graph);
    let mut unknown = false;
    for &v in graph.inputs() {
        unknown |= graph.ty(v).as_tensor().is_some_and(|t| t.shape.is_none());
        graph.ty(v).visit_dims(&mut |d| unknown |= d.has_unknown());
    }
    let extent = |name: &std::sync::Arc<str>| if batch.contains(name) { 1 } else { op::ASSUMED_EXTENT };
    let mut all: Vec<String> = symbols
        .iter()
        .map(|name| format!("{name} = {}", extent(name)))
        .collect();
    if unknown {
        all.push(format!("? = {}", op::ASSUMED_EXTENT));
    }
    match all.len() {
        0 => String::new(),
        n => {
            let more = n.saturating_sub(SHOWN_SYMBOLS);
            all.truncate(SHOWN_SYMBOLS);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!(" (assuming {}{more}; --shape sets them)", all.join(", "))
        }
    }
}

/// How many symbolic dimensions the summary lists.
const SHOWN_SYMBOLS: usize = 4;

/// What the result would contain if its format could express it.
fn missing_text(missing: &[Missing], given: Vec<String>, optimized: &Optimized) -> Vec<String> {
    let (opset, target) = (optimized.opset, optimized.target());
    let since = |name: &str| {
        op::lookup(name)
            .and_then(|def| def.onnx)
            .map(|onnx| i64::from(onnx.since))
    };
    // A newer operator set does not help where the target has not got the operator.
    let listed = |name: &str| target.is_none_or(|target| op::lookup(name).is_some_and(|def| target.has(def)));
    let mut newer: std::collections::BTreeMap<i64, Vec<String>> = std::collections::BTreeMap::new();
    let mut never: Vec<&str> = Vec::new();
    for item in missing {
        match (since(&item.operator), opset) {
            (Some(since), Some(opset)) if since > opset && listed(&item.operator) => newer
                .entry(since)
                .or_default()
                .push(format!("`{}` ({})", item.operator, times(item.times))),
            _ => never.extend(item.rules.iter().map(String::as_str)),
        }
    }
    let mut out: Vec<String> = newer
        .into_iter()
        .map(|(since, names)| format!("opset {since} would enable {}: `--opset {since}`", names.join(", ")))
        .collect();
    never.retain(|name| given.iter().any(|rule| rule == name));
    never.sort_unstable();
    never.dedup();
    if !never.is_empty() {
        let format = match opset {
            _ if target.is_some() => target.map_or(String::new(), |target| format!("on target `{}`", target.name)),
            Some(opset) => format!("in ONNX at opset {opset}"),
            None => "in PNNX".to_owned(),
        };
        out.push(format!(
            "{} not used, as their results cannot be expressed {format}: {}",
            match never.len() {
                1 => "1 rule was".to_owned(),
                n => format!("{n} rules were"),
            },
            verdicts::some(&never.iter().map(ToString::to_string).collect::<Vec<_>>())
        ));
    }
    out
}

fn times(n: usize) -> String {
    if n == 1 {
        "once".to_owned()
    } else {
        format!("{n} times")
    }
}

/// `1 rule`, `2 rules`.
fn number(n: usize, what: &str) -> String {
    if n == 1 {
        format!("1 {what}")
    } else {
        format!("{n} {what}s")
    }
}

/// The estimated time, for people.
fn cost(microseconds: f64) -> String {
    match microseconds {
        t if t >= 1e6 => format!("{:.2} s", t / 1e6),
        t if t >= 1e4 => format!("{:.1} ms", t / 1e3),
        t => format!("{t:.2} µs"),
    }
}
