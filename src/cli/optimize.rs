//! `tautomer optimize`: an equivalent computation that costs less.

mod summary;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};

use tautomer::diag::Diagnostic;
use tautomer::optimize::optimize_unjudged;
use tautomer::pipeline::Engine;
use tautomer::rewrite::{Limits, Step};
use tautomer::rule::{Class, RuleSet};
use tautomer::rule_files::{self, Examples};
use tautomer::{Check, Compared, Options, Target};

use super::input::{self, Kind, Model};
use super::limits::{CheckArgs, FoldArgs};
use super::progress::Progress;
use super::verdicts::{self, Least};
use super::{Done, Failure, Shell, audit, calibrate, operators, output, understood};

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Where to write the result (.taut, .onnx or .pnnx.param); by default, a program is printed
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The shape of an input: a number, a name, a sum such as `n+1`, or `?` for each axis, as in `x=1,3,h,w`; may be repeated, once for each
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

    /// Rule files, directories of rule files, or sets that come with the tool (`gsl`, `taso`, `onnxruntime`), to use besides the
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
const SHOWS: &str = "Inspecting the run";

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
    let sizes = summary::Sizes::new(args, &optimized.report, written);
    let unknown = understood::not_understood(&optimized.original.workload.graph);
    let seconds = clock.elapsed().as_secs_f64();
    let met = if shell.quiet && !shell.json {
        Default::default()
    } else {
        optimized.original.equal_dims()
    };
    if !shell.quiet {
        summary::print(args, &optimized, &sizes, &unknown, seconds, shell);
        summary::equal(&met).iter().for_each(|line| shell.say(line));
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
            "equal_dims": { "pairs": met.pairs, "shapes": met.shapes },
            "not_understood": unknown.iter().cloned().collect::<BTreeMap<String, usize>>(),
        }))?;
    }
    let failed = wrong || !left.is_empty();
    // The program ends here: to free each rule and graph would take longer than to write some results.
    std::mem::forget(optimized);
    match failed {
        true => Err(Failure::No),
        false => Ok(()),
    }
}

impl Args {
    /// The target, whose operators may occur in the model.
    fn target(&self, shell: &Shell) -> Result<Option<Target>, Failure> {
        let Some(written) = &self.target else { return Ok(None) };
        let target = calibrate::find(written)?;
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
    let (set, warnings) = rule_files::read(files, alone, Examples::Skipped, &operators::scope()?)?;
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
