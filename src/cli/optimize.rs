//! `tautomer optimize`: an equivalent computation that costs less.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use tautomer::diag::{Diagnostic, Diagnostics};
use tautomer::formats::onnx::count_nodes;
use tautomer::graph::Graph;
use tautomer::op;
use tautomer::optimize::optimize_unjudged;
use tautomer::page::bytes;
use tautomer::pipeline::{Engine, Missing, Report};
use tautomer::rewrite::{Limits, Step, batch_symbols};
use tautomer::rule::{Class, RuleSet};
use tautomer::rule_files;
use tautomer::{Check, Compared, Optimized, Options, Target};

use super::input::{self, Kind, Model};
use super::limits::{CheckArgs, FoldArgs};
use super::progress::Progress;
use super::verdicts::{self, Least};
use super::{Done, Failure, Shell, audit, operators, output, understood};

/// How many rules the table shows.
const SHOWN_RULES: usize = 8;

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the result (.taut, .onnx or .pnnx.param); by default, a program is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The shape of an input: a number, a name or `?` for each axis, as in `x=1,3,h,w`; may be repeated, once for each
    /// input
    #[arg(long = "shape", value_name = "[NAME=]DIMS")]
    shapes: Vec<String>,
    /// Values for the parameters of a program (.safetensors or .npz) [default: the .safetensors file beside it]
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The file type, regardless of its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
    /// Write the model for this ONNX operator set, whose operators may be more general than those of its own
    #[arg(long, value_name = "N")]
    opset: Option<i64>,
    /// Make the result for this target (`tautomer targets list`, or a file): with its operators, rules and costs
    #[arg(long, value_name = "NAME|FILE")]
    target: Option<String>,

    /// Rule files, directories of rule files, or sets that come with the tool (`gsl`, `taso`), to use besides the
    /// built-in rules; may be repeated
    #[arg(long, value_name = "FILE", help_heading = RULES)]
    rules: Vec<PathBuf>,
    /// Use the rules of `--rules` alone
    #[arg(long, requires = "rules", help_heading = RULES)]
    no_built_in: bool,
    /// Use only these rules or sets, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES", help_heading = RULES)]
    only_rules: Vec<String>,
    /// Exclude these rules or sets, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAMES", help_heading = RULES)]
    skip_rules: Vec<String>,
    /// How close the result must be: `bitwise`, `real`, or `approx(e)` with a relative error
    #[arg(long, value_parser = parse_class, default_value = "real", help_heading = RULES)]
    class: Class,
    /// Use only rules with at least this verdict
    #[arg(long, value_enum, default_value = "any", value_name = "LEVEL", help_heading = RULES)]
    verdict: Least,
    /// Apply rules that are known to be wrong, too
    #[arg(long, help_heading = RULES)]
    allow_refuted: bool,
    /// A fact that holds, such as `finite(x)`, for rules that assume it; may be repeated
    #[arg(long, value_name = "FACT", help_heading = RULES)]
    assume: Vec<String>,

    /// How rules are applied
    #[arg(long, value_enum, default_value = "saturate", value_name = "ENGINE", help_heading = WORK)]
    engine: EngineName,
    /// Stop after N rewrites [default: no limit for saturate; 1000 plus 20 for each node for substitute]
    #[arg(long, value_name = "N", help_heading = WORK)]
    max_rewrites: Option<usize>,
    /// Stop when the e-graph has N nodes, or four times as many as the graph, whichever is larger
    #[arg(long, value_name = "N", default_value_t = Limits::default().nodes, help_heading = WORK)]
    node_limit: usize,
    /// Stop after N rounds of searching all rules
    #[arg(long, value_name = "N", default_value_t = Limits::default().iterations, help_heading = WORK)]
    iter_limit: usize,
    /// Do not precompute values that depend only on parameters and constants
    #[arg(long, help_heading = WORK)]
    no_fold: bool,
    #[command(flatten, next_help_heading = WORK)]
    folding: FoldArgs,

    /// Run input and result on N random inputs (3 if N is omitted) and compare; a wrong result is not written [default:
    /// 1]
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "3", value_parser = parse_runs,
        help_heading = CHECKS)]
    check: Option<u64>,
    #[command(flatten, next_help_heading = CHECKS)]
    checking: CheckArgs,
    /// Do not compare input and result on random inputs
    #[arg(long, conflicts_with = "check", help_heading = CHECKS)]
    no_check: bool,
    /// Compute everything that the rules made, and name the rule that made two different values equal
    #[arg(long, help_heading = CHECKS)]
    audit: bool,
    /// Random seed for the inputs
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = CHECKS)]
    seed: u64,

    /// Show the rewrites that produced the result, in dataflow order
    #[arg(long, help_heading = SHOWS)]
    explain: bool,
    /// Explain why a rule does not apply, instead of optimizing
    #[arg(long, value_name = "RULE", help_heading = SHOWS)]
    why_not: Option<String>,
    /// Write a report of the run to this file, as one HTML page
    #[arg(long, value_name = "FILE", help_heading = SHOWS)]
    report: Option<PathBuf>,
}

const RULES: &str = "Rules";
const WORK: &str = "Rewriting";
const CHECKS: &str = "Checking the result";
const SHOWS: &str = "Looking at what was done";

const EXAMPLES: &str = "\
Examples:
  tautomer optimize model.onnx -o smaller.onnx
  tautomer optimize model.onnx --shape input=1,3,224,224 --opset 23 -o smaller.onnx
  tautomer optimize model.onnx --target onnxruntime -o smaller.onnx
  tautomer optimize model.onnx --rules my.rules -o smaller.onnx
  tautomer optimize model.onnx --why-not gelu-by-erf";

/// The number of runs that `--check` asks for.
fn parse_runs(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let what = if Path::new(text).extension().is_some() {
            "a file"
        } else {
            "text"
        };
        format!(
            "this is {what}, and `--check` takes a number of runs: write `--check=3`, or put `--check` after the file"
        )
    })
}

/// The engines, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EngineName {
    /// By equality saturation: the cheapest of all graphs found equal
    Saturate,
    /// By substitution: matches are replaced until none is left
    Substitute,
}

impl From<EngineName> for Engine {
    fn from(name: EngineName) -> Engine {
        match name {
            EngineName::Saturate => Engine::Saturate,
            EngineName::Substitute => Engine::Substitute,
        }
    }
}

/// `bitwise`, `real`, `approx(1e-3)`.
pub(super) fn parse_class(text: &str) -> Result<Class, String> {
    text.parse()
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let clock = Instant::now();
    let progress = Arc::new(Progress::new(shell, "reading"));
    let target = match &args.output {
        Some(path) if !input::is_standard(path) => Some(output::destination(path)?),
        _ => None,
    };
    args.report.as_deref().map_or(Ok(()), output::has_folder)?;
    // The operators that the rule files declare may occur in the model, so these files are read first.
    let options = args.options(target, shell)?;
    let model = input::read(&args.file, args.from, args.params.as_deref(), shell)?;
    let told = progress.clone();
    let options = options.progress(move |event| told.event(event));
    if let Some(rule) = &args.why_not {
        return why_not(&model, &options, rule, shell);
    }
    let optimized = optimize_unjudged(model, &options)?;
    drop(options);
    verdicts::tell(&optimized.chosen, shell);
    // A wrong result is not written.
    let wrong = !optimized.is_right();
    let left = optimized.illegal();
    let file = input::shown(&args.file);
    // The summary counts the nodes of the written file, so a model is written first.
    let is_model = target == Some(Kind::Onnx) && !wrong;
    if is_model {
        progress.stage("writing");
        write(args, &optimized.model, shell)?;
    }
    drop(progress);
    let written = args.output.as_deref().filter(|_| is_model);
    let sizes = Sizes::new(args, &optimized.report, written);
    let unknown = understood::not_understood(&optimized.original.workload.graph);
    let seconds = clock.elapsed().as_secs_f64();
    if !shell.quiet {
        summary(args, &optimized, &sizes, &unknown, seconds, shell);
    }
    if let Some(path) = &args.report {
        output::write_text(path, &optimized.page(&file, sizes.nodes))?;
    }
    if !wrong && !is_model {
        write(args, &optimized.model, shell)?;
    }
    if shell.json {
        let report = serde_json::to_value(&optimized.report).unwrap_or(Value::Null);
        let written = args.output.as_ref().filter(|_| !wrong).map(|p| p.display().to_string());
        shell.json(json!({
            "file": file, "output": written, "seconds": seconds, "nodes": sizes.nodes, "report": report,
            "check": optimized.check.as_ref().map(|check| check_json(check, args.seed)),
            "steps": args.explain.then(|| steps_json(optimized.steps())),
            "audit": optimized.audit.as_ref().map(audit::data), "verdicts": optimized.chosen.json(),
            "target": optimized.target().map(|target| json!({
                "name": *target.name, "illegal": left, "lowered": optimized.lowered(),
            })),
            "not_understood": unknown.iter().cloned().collect::<BTreeMap<String, usize>>(),
        }))?;
    }
    if wrong || !left.is_empty() {
        return Err(Failure::No);
    }
    Ok(())
}

impl Args {
    /// The target, whose operators may occur in the model.
    fn target(&self, shell: &Shell) -> Result<Option<Target>, Failure> {
        let Some(written) = &self.target else { return Ok(None) };
        let target = Target::find(written, &operators::scope()?)?;
        operators::add(target.operators())?;
        shell.detail(&format!("target {}", target.name));
        Ok(Some(target))
    }

    /// The options of the library; `result` is the format of the written result.
    fn options(&self, result: Option<Kind>, shell: &Shell) -> Result<Options, Failure> {
        let named = |names: &[String]| names.iter().map(|n| n.trim().to_owned()).collect::<Vec<_>>();
        let mut options = Options::default();
        options.engine = self.engine.into();
        options.target = self.target(shell)?.map(Arc::new);
        options.rules = match &options.target {
            // The rules of the target are those that it names; further ones add to them.
            Some(target) if !self.rules.is_empty() && !self.no_built_in => {
                let all: Vec<PathBuf> = target.rule_paths().into_iter().chain(self.rules.clone()).collect();
                read_rules(&all, true, shell)?
            }
            _ => read_rules(&self.rules, self.no_built_in, shell)?,
        };
        options.class = self.class;
        options.verdict = self.verdict.level();
        options.allow_refuted = self.allow_refuted;
        options.assume = self.assume.clone();
        options.only = (!self.only_rules.is_empty()).then(|| named(&self.only_rules));
        options.skip = named(&self.skip_rules);
        options.limits = Limits {
            iterations: self.iter_limit,
            nodes: self.node_limit,
            rewrites: self.max_rewrites,
            steps: self.folding.steps(),
            ..Limits::default()
        };
        options.fold = !self.no_fold;
        options.folding = self.folding.folding();
        options.shapes = self.shapes.clone();
        options.opset = self.opset;
        options.result = result;
        options.check = if self.no_check { 0 } else { self.check.unwrap_or(1) };
        options.allowance = self.checking.allowance();
        options.seed = self.seed;
        options.audit = self.audit;
        options.explain = self.explain || self.report.is_some();
        options.missing = !shell.quiet || shell.json;
        Ok(options)
    }
}

/// Prints what was done.
fn summary(
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

/// The comparison as JSON.
fn check_json(check: &Check, seed: u64) -> Value {
    match &check.verdict {
        Compared::Apart {
            most,
            blind,
            runs,
            unstable,
            first,
            ..
        } => {
            let most = if most.is_finite() { json!(most) } else { json!("inf") };
            json!({
                "runs": runs, "seed": seed, "difference": most, "allowed": check.allowed, "ok": !check.is_wrong(),
                "blind": blind, "rule": check.rule.as_ref().map(|step| step.rule.to_string()), "first": first,
                "unstable": unstable.map_or(0, |(n, _)| n),
            })
        }
        Compared::Unchecked(why) => json!({ "runs": 0, "seed": seed, "unchecked": why }),
    }
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

fn steps_json(steps: &[Step]) -> Vec<Value> {
    steps
        .iter()
        .map(|s| json!({ "rule": s.rule, "place": s.place }))
        .collect()
}

/// Answers `--why-not`.
fn why_not(model: &Model, options: &Options, rule: &str, shell: &Shell) -> Done {
    let found = tautomer::why_not(model, options, rule)?;
    if shell.json {
        return shell.json(json!({ "why_not": found }));
    }
    let mut text = match &found.place {
        Some(place) => format!("{rule}, nearest at {place}: {}\n", found.answer),
        None => format!("{rule}: {}\n", found.answer),
    };
    for (written, value) in &found.values {
        text.push_str(&format!("  {written} = {value}\n"));
    }
    for hint in &found.hints {
        text.push_str(&format!("  {hint}\n"));
    }
    shell.result(&text)
}

/// The rules of the given files, with their sets; `None` without files.
pub(super) fn read_rules(files: &[PathBuf], alone: bool, shell: &Shell) -> Result<Option<RuleSet>, Failure> {
    if files.is_empty() {
        return Ok(None);
    }
    let (set, warnings) = rule_files::read(files, alone, &operators::scope()?)?;
    if !shell.quiet {
        shell.problems(&warnings);
    }
    operators::add(&set.operators)?;
    Ok(Some(set))
}

fn write(args: &Args, model: &Model, shell: &Shell) -> Done {
    match &args.output {
        Some(path) if !input::is_standard(path) => {
            let notes = model.write(path)?;
            if !shell.quiet {
                shell.problems(&notes);
            }
            Ok(())
        }
        None if shell.json => Ok(()),
        _ if shell.json => Err(Diagnostic::error(
            "T0402",
            "the report and the result cannot both go to standard output",
        )
        .help("write the result to a file: `-o result.taut`")
        .into()),
        None if model.kind == Kind::Onnx => {
            shell.say("nothing is written: `-o result.onnx` writes the result");
            Ok(())
        }
        _ => shell.result(&model.to_text()),
    }
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
struct Sizes {
    /// Node counts as viewers of the file show them; for a program, its calls.
    nodes: (usize, usize),
    /// Sizes of the files in bytes, if both are ONNX files.
    files: Option<(u64, u64)>,
    /// Size of the parameters in bytes.
    parameters: (usize, usize),
}

impl Sizes {
    fn new(args: &Args, report: &Report, written: Option<&Path>) -> Sizes {
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
