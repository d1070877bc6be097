//! `tautomer optimize`: an equivalent computation that costs less.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use clap::ValueEnum as _;
use tautomer::diag::{Diagnostic, Diagnostics};
use tautomer::formats::onnx::{OnnxInfo, Target, count_nodes, raise_opset};
use tautomer::formats::pnnx;
use tautomer::graph::{Graph, Workload, body_operators};
use tautomer::op::{self, Infer, OpDef};
use tautomer::pipeline::{self, Engine, Event, Missing, Options, Report, optimize};
use tautomer::rewrite::{Limits, Step, batch_symbols};
use tautomer::rule::{Class, RuleSet};
use tautomer::tensor::Type;

use super::bisect::blamed;
use super::compare::{self, Comparing, Verdict, tolerance};
use super::input::{self, Kind, Loaded};
use super::limits::{CheckArgs, FoldArgs};
use super::progress::Progress;
use super::report::{self, Page};
use super::verdicts::{self, Least};
use super::{Done, Failure, Shell, audit, output, rule_files, understood};

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

    /// Rule files, directories of rule files, or sets that come with the tool (`gsl`, `taso`, `built-in`), to use
    /// instead of the built-in rules; may be repeated: `--rules my.rules --rules built-in` uses both
    #[arg(long, value_name = "FILE", help_heading = RULES)]
    rules: Vec<PathBuf>,
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
  tautomer optimize model.onnx --rules my.rules --rules built-in -o smaller.onnx
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
    let text = text.trim();
    match text {
        "bitwise" => return Ok(Class::Bitwise),
        "real" => return Ok(Class::Real),
        _ => {}
    }
    let bound = text.strip_prefix("approx(").and_then(|rest| rest.strip_suffix(')'));
    match bound.map(|digits| digits.trim().parse::<f64>()) {
        Some(Ok(e)) if e >= 0.0 && e.is_finite() => Ok(Class::Approx(e)),
        _ => Err("expected `bitwise`, `real` or `approx(e)` with a nonnegative number".to_owned()),
    }
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let clock = Instant::now();
    let progress = Progress::new(shell, "reading");
    let target = match &args.output {
        Some(path) if !input::is_standard(path) => Some(output::destination(path)?),
        _ => None,
    };
    args.report.as_deref().map_or(Ok(()), output::has_folder)?;
    let mut loaded = Loaded::read(&args.file, args.from, args.params.as_deref(), shell)?;
    loaded.reshape(&args.shapes)?;
    let given = read_rules(&args.rules, shell)?;
    let to_onnx = target == Some(Kind::Onnx) || (target.is_none() && loaded.info.is_some());
    if let (Some(opset), true) = (args.opset, to_onnx) {
        let info = loaded.info.get_or_insert_default();
        raise_opset(&loaded.workload.graph, info, opset)?;
    }
    // Rewrites may not introduce what the result format cannot express; what is already in the graph may stay.
    let to_pnnx = target == Some(Kind::Pnnx);
    let own = OnnxInfo::default();
    let info = loaded.info.as_ref().unwrap_or(&own);
    let opset = info.opset();
    let as_onnx = to_onnx.then(|| Target::new(&loaded.workload.graph, info));
    let forbidden = |call: &Infer<'_>, result: &Type| {
        as_onnx.as_ref().is_some_and(|target| !target.allows(call, result)) || to_pnnx && !pnnx::has_form(call.def)
    };
    // Substitution may pass through operators that no ONNX operator set has, if their bodies can be written.
    let in_onnx = |def: &OpDef| def.onnx.is_some_and(|onnx| i64::from(onnx.since) <= opset);
    let expand =
        |def: &OpDef| to_onnx && def.onnx.is_none() && op::lookup(def.name).is_some_and(|d| has_body(d, &in_onnx));
    let watch = |event: Event| progress.event(event);
    let defaults = Limits::default();
    let named = |names: &[String]| names.iter().map(|n| n.trim().to_owned()).collect::<Vec<_>>();
    let mut options = Options {
        engine: args.engine.into(),
        groups: given.as_ref().map_or_else(Vec::new, |set| set.groups.clone()),
        rules: given.map(|set| set.rules),
        class: args.class,
        assume: args.assume.clone(),
        only: (!args.only_rules.is_empty()).then(|| named(&args.only_rules)),
        skip: named(&args.skip_rules),
        limits: Limits {
            iterations: args.iter_limit,
            nodes: args.node_limit,
            rewrites: args.max_rewrites,
            steps: args.folding.steps(),
            ..defaults
        },
        forbidden: &forbidden,
        expand: &expand,
        missing: !shell.quiet || shell.json,
        watch: &watch,
        explain: args.explain || args.report.is_some(),
        explore: args.audit,
        fold: !args.no_fold,
        folding: args.folding.folding(),
    };
    if let Some(rule) = &args.why_not {
        return why_not(
            &loaded.workload,
            &options,
            rule,
            (args, to_onnx.then_some(opset)),
            shell,
        );
    }
    let chosen = verdicts::choose(&options, args.verdict, args.allow_refuted, shell)?;
    options.rules = Some(chosen.rules.clone());
    (options.only, options.skip) = (None, Vec::new());
    let original = loaded.workload.clone();
    let outcome = optimize(loaded.workload, &options)?;
    progress.stage("comparing with the original");
    let runs = if args.no_check { 0 } else { args.check.unwrap_or(1) };
    let allowed = tolerance(args.class, &original);
    let verdict = match runs {
        0 => None,
        n => {
            let how = Comparing {
                runs: (n, args.seed),
                allowed,
                allowance: args.checking.allowance(),
                // Substitution does not record what each of its steps depends on.
                blamed: &|| {
                    let by_saturation = matches!(args.engine, EngineName::Saturate);
                    by_saturation.then(|| blamed(&original, &options, (n, args.seed), allowed).is_some())
                },
            };
            Some(compare::compare(&original, &outcome.workload, &how)?)
        }
    };
    if args.audit {
        progress.stage("auditing");
    }
    let audit = audit::of(&original, &outcome, args.class, !args.assume.is_empty(), args.seed);
    // A wrong result is not written.
    let differs = matches!(verdict, Some(Verdict::Apart { wrong: true, .. }));
    let blamed = differs
        .then(|| blamed(&original, &options, (runs, args.seed), allowed))
        .flatten();
    let wrong = differs || audit.as_ref().is_some_and(|audit| !audit.is_right());
    let file = input::shown(&args.file);
    // The summary counts the nodes of the written file, so a model is written first.
    let is_model = target == Some(Kind::Onnx) && !wrong;
    if is_model {
        progress.stage("writing");
        write(args, &outcome.workload, loaded.info.as_ref(), shell)?;
    }
    drop(progress);
    let written = args.output.as_deref().filter(|_| is_model);
    let sizes = Sizes::new(args, &outcome.report, written);
    let unknown = understood::not_understood(&original.graph);
    let seconds = clock.elapsed().as_secs_f64();
    if !shell.quiet {
        let given = chosen.rules.iter().map(|rule| rule.name.to_string()).collect();
        shell.say(&table(
            &file,
            &outcome.report,
            &sizes,
            &assumed(&original.graph),
            seconds,
        ));
        understood::line(&unknown, sizes.nodes.0)
            .iter()
            .for_each(|line| shell.say(line));
        missing_text(&outcome.report.missing, given, to_onnx.then_some(opset))
            .iter()
            .for_each(|line| shell.say(line));
        sizes.text().iter().for_each(|line| shell.say(line));
        if args.explain {
            shell.say(&steps_text(&outcome.steps));
        }
        shell.problems(&unfolded(&outcome.report));
        if let [first, rest @ ..] = outcome.report.stopped.as_slice() {
            let more = match rest.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            shell.say(&format!(
                "`{first}`{more} not searched exhaustively: limit of {} steps reached (`--match-steps` raises it)",
                args.folding.steps()
            ));
        }
        if let Some(verdict) = &verdict {
            shell.say(&compare::line(verdict, allowed, args.check.is_some()));
            if let Verdict::Apart { first: Some(first), .. } = verdict {
                shell.say(&format!("the first value that differs is {first}"));
            }
        }
        if differs {
            shell.say(&match &blamed {
                Some(step) => format!("{} makes it wrong; nothing is written", step.rule),
                None => "nothing is written; `tautomer bisect` looks for the rule that makes it wrong".to_owned(),
            });
        }
        audit.iter().for_each(|audit| shell.say(&audit::text(audit)));
    }
    if let Some(path) = &args.report {
        let page = Page {
            file: &file,
            original: &original,
            outcome: &outcome,
            nodes: sizes.nodes,
            check: verdict.as_ref().map(|verdict| (runs, verdict)),
            allowed,
            class: args.class,
            rules: &chosen.rules,
            verdicts: &chosen.entries,
        };
        output::write_text(path, &page.html())?;
    }
    if !wrong && !is_model {
        write(args, &outcome.workload, loaded.info.as_ref(), shell)?;
    }
    if shell.json {
        let report = serde_json::to_value(&outcome.report).unwrap_or(Value::Null);
        let check = verdict.map(|verdict| match verdict {
            Verdict::Apart {
                most,
                blind,
                runs,
                unstable,
                first,
                ..
            } => {
                let most = if most.is_finite() { json!(most) } else { json!("inf") };
                json!({
                    "runs": runs, "seed": args.seed, "difference": most, "allowed": allowed, "ok": !differs, "blind": blind,
                    "rule": blamed.as_ref().map(|step| step.rule.to_string()), "first": first,
                    "unstable": unstable.map_or(0, |(n, _)| n),
                })
            }
            Verdict::Unchecked(why) => json!({ "runs": 0, "seed": args.seed, "unchecked": why }),
        });
        let written = args.output.as_ref().filter(|_| !wrong).map(|p| p.display().to_string());
        shell.json(json!({
            "file": file, "output": written, "seconds": seconds, "nodes": sizes.nodes, "report": report, "check": check,
            "steps": args.explain.then(|| steps_json(&outcome.steps)), "audit": audit.as_ref().map(audit::data),
            "verdicts": chosen.json(),
            "not_understood": unknown.iter().cloned().collect::<BTreeMap<String, usize>>(),
        }))?;
    }
    if wrong { Err(Failure::No) } else { Ok(()) }
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
fn why_not(
    workload: &Workload,
    options: &Options<'_>,
    rule: &str,
    (args, opset): (&Args, Option<i64>),
    shell: &Shell,
) -> Done {
    let mut found = pipeline::why_not(&workload.graph, options, rule)?;
    if let Some(verdict) = verdicts::lesser(options, rule, args.verdict)? {
        let level = args
            .verdict
            .to_possible_value()
            .map_or_else(String::new, |v| v.get_name().to_owned());
        found.answer = format!("it is left out: its verdict is {verdict}, and `--verdict {level}` requires more");
        found.hints.clear();
    }
    for name in &found.forbidden {
        found
            .hints
            .push(match (op::lookup(name).and_then(|def| def.onnx), opset) {
                (Some(onnx), Some(opset)) if i64::from(onnx.since) > opset => format!(
                    "ONNX has `{name}` from operator set {} on, and the model is written for {opset}: `--opset {}`",
                    onnx.since, onnx.since
                ),
                (None, Some(_)) => {
                    format!("`{name}` cannot be expressed in ONNX: write the result as .taut, or leave the format open")
                }
                _ => format!("the format of the result has no `{name}`"),
            });
    }
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
pub(super) fn read_rules(files: &[PathBuf], shell: &Shell) -> Result<Option<RuleSet>, Failure> {
    if files.is_empty() {
        return Ok(None);
    }
    rule_files::read(files, shell).map(Some)
}

fn write(args: &Args, workload: &Workload, info: Option<&OnnxInfo>, shell: &Shell) -> Done {
    match &args.output {
        Some(path) if !input::is_standard(path) => {
            let notes = output::write_workload(path, workload, info)?;
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
        None if info.is_some() => {
            shell.say("nothing is written: `-o result.onnx` writes the result");
            Ok(())
        }
        _ => shell.result(&output::program_text(workload).0),
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
        let shown = |n: u64| usize::try_from(n).map_or_else(|_| format!("{n} B"), report::bytes);
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
    let symbols: Vec<_> = super::extents::symbols(graph).into_iter().collect();
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
fn missing_text(missing: &[Missing], given: Vec<String>, opset: Option<i64>) -> Vec<String> {
    let since = |name: &str| {
        op::lookup(name)
            .and_then(|def| def.onnx)
            .map(|onnx| i64::from(onnx.since))
    };
    let mut newer: std::collections::BTreeMap<i64, Vec<String>> = std::collections::BTreeMap::new();
    let mut never: Vec<&str> = Vec::new();
    for item in missing {
        match (since(&item.operator), opset) {
            (Some(since), Some(opset)) if since > opset => {
                newer
                    .entry(since)
                    .or_default()
                    .push(format!("`{}` ({})", item.operator, times(item.times)))
            }
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
            Some(opset) => format!("ONNX at opset {opset}"),
            None => "PNNX".to_owned(),
        };
        out.push(format!(
            "{} not used, as their results cannot be expressed in {format}: {}",
            match never.len() {
                1 => "1 rule was".to_owned(),
                n => format!("{n} rules were"),
            },
            verdicts::some(&never.iter().map(ToString::to_string).collect::<Vec<_>>())
        ));
    }
    out
}

/// True if `def` is a composite operator whose body uses only operators for which `known` holds, or other such
/// composites.
fn has_body(def: &'static OpDef, known: &dyn Fn(&OpDef) -> bool) -> bool {
    let mut seen: Vec<&str> = vec![def.name];
    let mut stack = vec![def];
    while let Some(def) = stack.pop() {
        let Ok(parts) = body_operators(def) else { return false };
        for part in parts.into_iter().filter(|part| !known(part)) {
            if !seen.contains(&part.name) {
                seen.push(part.name);
                stack.push(part);
            }
        }
    }
    true
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
