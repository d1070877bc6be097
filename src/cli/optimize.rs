//! `tautomer optimize`: an equal computation that costs less.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use tautomer::diag::Diagnostic;
use tautomer::formats::onnx::{OnnxInfo, raise_opset};
use tautomer::formats::pnnx;
use tautomer::graph::Workload;
use tautomer::op::OpDef;
use tautomer::pipeline::{self, Engine, Options, Report, optimize};
use tautomer::rewrite::{Limits, Step};
use tautomer::rule::{Class, RuleSet};

use super::bisect::blamed;
use super::compare::{Verdict, compare, tolerance};
use super::input::{self, Kind, Loaded};
use super::report::Page;
use super::verdicts::{self, Least};
use super::{Done, Failure, Shell, audit, output, rule_files};

/// Rules that the table shows.
const SHOWN_RULES: usize = 8;

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the result (.taut, .onnx or .pnnx.param); without it, a program is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Rule files to use instead of the built-in rules, or the name of a set that comes with the tool: `gsl`, `taso`
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// How equal the result must be: `bitwise`, `real`, or `approx(e)` with a relative error
    #[arg(long, value_parser = parse_class, default_value = "real")]
    class: Class,
    /// Use only rules that are at least so sure
    #[arg(long, value_enum, default_value = "any", value_name = "LEVEL")]
    verdict: Least,
    /// Apply rules that are known to be wrong
    #[arg(long)]
    allow_refuted: bool,
    /// Facts that hold, such as `finite(x)`; rules that assume others are left out
    #[arg(long, value_name = "FACT")]
    assume: Vec<String>,
    /// Use only these rules
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only_rules: Vec<String>,
    /// Leave these rules out
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    skip_rules: Vec<String>,
    /// How rules are applied
    #[arg(long, value_enum, default_value = "saturate", value_name = "ENGINE")]
    engine: EngineName,
    /// Apply rules at most this often
    #[arg(long, value_name = "N")]
    max_rewrites: Option<usize>,
    /// Stop when the e-graph has this many nodes
    #[arg(long, value_name = "N")]
    node_limit: Option<usize>,
    /// Stop after this many rounds
    #[arg(long, value_name = "N")]
    iter_limit: Option<usize>,
    /// Write the model in this operator set, whose operators may say more than those of its own
    #[arg(long, value_name = "N")]
    opset: Option<i64>,
    /// Show the rule applications that the result rests on
    #[arg(long)]
    explain: bool,
    /// Say why a rule does not apply, instead of optimising
    #[arg(long, value_name = "RULE")]
    why_not: Option<String>,
    /// Do not compute ahead of time what depends on parameters and constants alone
    #[arg(long)]
    no_fold: bool,
    /// Run input and result on N random inputs and compare; a result that is wrong is not written
    #[arg(long, value_name = "N", num_args = 0..=1, default_value_t = 1, default_missing_value = "3")]
    check: u64,
    /// Do not run input and result
    #[arg(long, conflicts_with = "check")]
    no_check: bool,
    /// Compute everything that the engine made, and name the rule that made two different values equal
    #[arg(long)]
    audit: bool,
    /// Write what was done into this file, as one page of HTML
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Where the random numbers begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Values of the parameters of a program (.safetensors or .npz)
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The shape of an input: a number, a name or `?` for each axis, as in `x=1,3,h,w`
    #[arg(long = "shape", value_name = "[NAME=]EXTENTS")]
    shapes: Vec<String>,
    /// What the file is, whatever its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
}

/// How rules are applied, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum EngineName {
    /// By equality saturation: the cheapest of all graphs found equal
    Saturate,
    /// By substitution: each match is replaced, until there is none
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
        _ => Err("expected `bitwise`, `real` or `approx(e)` with a number that is not negative".to_owned()),
    }
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let clock = Instant::now();
    let target = match &args.output {
        Some(path) if !input::is_standard(path) => Some(output::destination(path)?),
        _ => None,
    };
    args.report.as_deref().map_or(Ok(()), output::has_folder)?;
    let mut loaded = Loaded::read(&args.file, args.from, args.params.as_deref(), shell)?;
    loaded.reshape(&args.shapes)?;
    let given = read_rules(&args.rules)?;
    let to_onnx = target == Some(Kind::Onnx) || (target.is_none() && loaded.info.is_some());
    if let (Some(opset), true) = (args.opset, to_onnx) {
        let info = loaded.info.get_or_insert_default();
        raise_opset(&loaded.workload.graph, info, opset)?;
    }
    let opset = loaded
        .info
        .as_ref()
        .map_or_else(|| OnnxInfo::default().opset(), OnnxInfo::opset);
    // What the format of the result has no form for stays out, unless it is there already.
    let to_pnnx = target == Some(Kind::Pnnx);
    let forbidden = |def: &OpDef| {
        to_onnx && def.onnx.is_none_or(|onnx| i64::from(onnx.since) > opset) || to_pnnx && !pnnx::has_form(def)
    };
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
            iterations: args.iter_limit.unwrap_or(defaults.iterations),
            nodes: args.node_limit.unwrap_or(defaults.nodes),
            rewrites: args.max_rewrites,
            ..defaults
        },
        forbidden: &forbidden,
        explain: args.explain || args.report.is_some(),
        explore: args.audit,
        fold: !args.no_fold,
    };
    if let Some(rule) = &args.why_not {
        return why_not(&loaded.workload, &options, rule, shell);
    }
    let chosen = verdicts::choose(&options, args.verdict, args.allow_refuted, shell)?;
    options.rules = Some(chosen.rules.clone());
    (options.only, options.skip) = (None, Vec::new());
    let original = loaded.workload.clone();
    let outcome = optimize(loaded.workload, &options)?;
    let seconds = clock.elapsed().as_secs_f64();
    let runs = if args.no_check { 0 } else { args.check };
    let allowed = tolerance(args.class, &original);
    let verdict = match runs {
        0 => None,
        n => Some(compare(&original, &outcome.workload, (n, args.seed), allowed)?),
    };
    let audit = audit::of(&original, &outcome, args.class, !args.assume.is_empty(), args.seed);
    // A result that is wrong is not written.
    let differs = matches!(verdict, Some(Verdict::Apart { most, .. }) if most > allowed);
    let blamed = differs
        .then(|| blamed(&original, &options, (runs, args.seed), allowed))
        .flatten();
    let wrong = differs || audit.as_ref().is_some_and(|audit| !audit.is_right());
    let file = input::shown(&args.file);
    if !shell.quiet {
        shell.say(&table(&file, &outcome.report, seconds));
        if args.explain {
            shell.say(&steps_text(&outcome.steps));
        }
        match &verdict {
            Some(Verdict::Apart { most, blind }) => {
                let judged = match (differs, blind) {
                    (true, _) => "too large",
                    (false, false) => "fine",
                    (false, true) => "which says little: on random inputs the results are one number, or none",
                };
                let plural = if runs == 1 { "run" } else { "runs" };
                shell.say(&format!(
                    "largest difference in {runs} {plural}: {most:.2e} of the scale, {judged}"
                ));
            }
            Some(Verdict::Unchecked(why)) => shell.say(&format!("not checked: the original does not run here: {why}")),
            None => {}
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
            check: verdict.as_ref().map(|verdict| (runs, verdict)),
            allowed,
            class: args.class,
            rules: &chosen.rules,
            verdicts: &chosen.entries,
        };
        output::write_text(path, &page.html())?;
    }
    if !wrong {
        write(args, &outcome.workload, loaded.info.as_ref(), shell)?;
    }
    if shell.json {
        let report = serde_json::to_value(&outcome.report).unwrap_or(Value::Null);
        let check = verdict.map(|verdict| match verdict {
            Verdict::Apart { most, blind } => {
                let most = if most.is_finite() { json!(most) } else { json!("inf") };
                json!({
                    "runs": runs, "seed": args.seed, "difference": most, "allowed": allowed, "ok": !differs, "blind": blind,
                    "rule": blamed.as_ref().map(|step| step.rule.to_string()),
                })
            }
            Verdict::Unchecked(why) => json!({ "runs": 0, "seed": args.seed, "unchecked": why }),
        });
        let written = args.output.as_ref().filter(|_| !wrong).map(|p| p.display().to_string());
        shell.json(json!({
            "file": file, "output": written, "seconds": seconds, "report": report, "check": check,
            "steps": args.explain.then(|| steps_json(&outcome.steps)), "audit": audit.as_ref().map(audit::data),
            "verdicts": chosen.json(),
        }))?;
    }
    if wrong { Err(Failure::No) } else { Ok(()) }
}

/// The chain of applications, one line each.
fn steps_text(steps: &[Step]) -> String {
    if steps.is_empty() {
        return "the result rests on no rule".to_owned();
    }
    let mut out = format!(
        "the result rests on {} applications, from inputs to results:",
        steps.len()
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
fn why_not(workload: &Workload, options: &Options<'_>, rule: &str, shell: &Shell) -> Done {
    let found = pipeline::why_not(&workload.graph, options, rule)?;
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
    shell.result(&text)
}

/// The rules of files, with their sets; nothing without files.
pub(super) fn read_rules(files: &[PathBuf]) -> Result<Option<RuleSet>, Failure> {
    if files.is_empty() {
        return Ok(None);
    }
    Ok(Some(rule_files::load(rule_files::sources(files)?)?))
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

/// What was done, in a few lines.
fn table(file: &str, report: &Report, seconds: f64) -> String {
    let name = Path::new(file)
        .file_name()
        .map_or_else(|| file.to_owned(), |n| n.to_string_lossy().into_owned());
    let mut out = format!(
        "optimised {name}   {} -> {} vertices   cost {} -> {}   {seconds:.2} s   stopped: {}",
        report.vertices.0,
        report.vertices.1,
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
        out.push_str(&format!("\n  and {more} more rules"));
    }
    out
}

fn cost(microseconds: f64) -> String {
    if (0.01..1e4).contains(&microseconds) {
        format!("{microseconds:.2}")
    } else {
        format!("{microseconds:.2e}")
    }
}
