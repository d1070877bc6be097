//! `tautomer verify`: are rules true?

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use tautomer::diag::Diagnostics;
use tautomer::graph::to_program;
use tautomer::lang::{format_program, parse_rules};
use tautomer::rule::{RuleSet, load_rules};
use tautomer::verify::{Counterexample, Options, Repair, Report, Verdict, repair, verify};

use super::{Done, Failure, Shell, output, rules};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Rule files, or names of sets that come with the tool; without any, the built-in rules
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Try this rule alone; may be given several times
    #[arg(long, value_name = "NAME")]
    rule: Vec<String>,
    /// Instances of each rule
    #[arg(long, value_name = "N", default_value_t = Options::default().instances)]
    budget: usize,
    /// Where the random choices begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// A rule is wrong where its target has another type than its source, although no engine applies it there
    #[arg(long)]
    strict: bool,
    /// Write both sides of each counterexample into this folder, as programs with values
    #[arg(long, value_name = "FOLDER")]
    save: Option<PathBuf>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let set = load(args)?;
    let options = Options {
        seed: args.seed,
        instances: args.budget,
        strict: args.strict,
        ..Options::default()
    };
    let start = Instant::now();
    let mut reports = Vec::new();
    let width = set.rules.iter().map(|r| r.name.chars().count()).max().unwrap_or(0);
    for rule in &set.rules {
        let report = verify(rule, &set.examples, &options);
        let repair = match &report.verdict {
            Verdict::Refuted(example) => {
                if let Some(folder) = &args.save {
                    save(folder, &rule.name, example, shell)?;
                }
                repair(rule, &set.examples, &options)
            }
            _ => None,
        };
        if !shell.json {
            shell.result(&text(&report, repair.as_ref(), width, shell.verbose))?;
        }
        reports.push((report, repair));
    }
    let count = |word: &str| reports.iter().filter(|(r, _)| kind(&r.verdict) == word).count();
    let refuted = count("refuted");
    let seconds = start.elapsed().as_secs_f64();
    let instances: usize = reports.iter().map(|(r, _)| r.instances).sum();
    if shell.json {
        shell.json(json!({
            "rules": reports.iter().map(|(r, repair)| data(r, repair.as_ref())).collect::<Vec<_>>(),
            "proved_for_all_sizes": count("proved for all sizes"),
            "proved": count("proved"),
            "tested": count("tested"),
            "refuted": refuted,
            "undecided": count("undecided"),
            "instances": instances,
        }))?;
    }
    shell.say(&format!(
        "{} rules: {} proved for all sizes, {} at the shapes that were tried, {} tested, {refuted} refuted, {} undecided",
        reports.len(),
        count("proved for all sizes"),
        count("proved"),
        count("tested"),
        count("undecided"),
    ));
    shell.detail(&format!(
        "{instances} instances in {seconds:.1} s: {:.0} each second",
        instances as f64 / seconds.max(1e-9)
    ));
    if refuted > 0 { Err(Failure::No) } else { Ok(()) }
}

fn load(args: &Args) -> Result<RuleSet, Failure> {
    let mut all = RuleSet::default();
    let mut problems = Diagnostics::new();
    for source in rules::sources(&args.files)? {
        match parse_rules(source).and_then(load_rules) {
            Ok(set) => all.extend(set),
            Err(found) => problems.extend(found),
        }
    }
    if problems.has_errors() {
        return Err(problems.into());
    }
    if let Some(name) = args.rule.iter().find(|n| all.rules.iter().all(|r| *r.name != ***n)) {
        return Err(Failure::new("T0307", format!("there is no rule `{name}`")));
    }
    if !args.rule.is_empty() {
        all.rules.retain(|r| args.rule.iter().any(|n| **n == *r.name));
    }
    Ok(all)
}

fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::ProvedForAll(_) => "proved for all sizes",
        Verdict::Proved { .. } => "proved",
        Verdict::Tested { .. } => "tested",
        Verdict::Refuted(_) => "refuted",
        Verdict::Undecided(_) => "undecided",
    }
}

fn text(report: &Report, repair: Option<&Repair>, width: usize, verbose: bool) -> String {
    let mut out = format!("{:width$}  {}\n", report.rule.name, report.verdict);
    if report.refused > 0 {
        let why = report.refusal.as_deref().unwrap_or_default();
        out.push_str(&format!(
            "  not applied at {} more instances, for the type of the target: {why}\n",
            report.refused
        ));
    }
    if let (Some(why), true) = (&report.not_proved, verbose) {
        out.push_str(&format!("  not proved for all sizes: {why}\n"));
    }
    if let Verdict::Refuted(example) = &report.verdict {
        let lines = |title: &str, text: &str| -> String {
            let lines: String = text.lines().map(|l| format!("    {l}\n")).collect();
            format!("  {title}:\n{lines}")
        };
        out.push_str(&lines("source", &format_program(&to_program(&example.source))));
        out.push_str(&lines("target", &format_program(&to_program(&example.target))));
        for (name, value) in &example.values {
            out.push_str(&format!("  {name} = {}\n", numbers(value)));
        }
        let at = place(example);
        out.push_str(&format!(
            "  {at}: {} in the source, {} in the target\n",
            example.expected, example.found
        ));
    }
    if let Some(Repair { change, text, kept, of }) = repair {
        let lines: String = text.lines().map(|l| format!("    {l}\n")).collect();
        out.push_str(&format!(
            "  nothing refutes it with {change}, under which {kept} of {of} right instances are left:\n{lines}"
        ));
    }
    out
}

/// Writes both sides as programs with their values.
fn save(folder: &Path, name: &str, example: &Counterexample, shell: &Shell) -> Done {
    let failed = |e: std::io::Error| Failure::new("T0401", format!("{}: {e}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (side, workload) in ["source", "target"].iter().zip(example.workloads()) {
        let path = folder.join(format!("{name}-{side}.taut"));
        output::write_workload(&path, &workload, None)?;
        shell.detail(&format!("{} is written", path.display()));
    }
    Ok(())
}

fn place(example: &Counterexample) -> String {
    let element = example
        .element
        .as_ref()
        .map_or_else(String::new, |e| format!(" at {e:?}"));
    format!("output {}{element}", example.output)
}

/// The elements of a tensor in row-major order.
fn numbers(value: &tautomer::tensor::Tensor) -> String {
    const SHOWN: usize = 24;
    let list = |all: Vec<String>| {
        let more = if all.len() > SHOWN { ", …" } else { "" };
        format!("[{}{more}]", all[..all.len().min(SHOWN)].join(", "))
    };
    let elements = match (value.dtype().is_float(), value.to_f64s(), value.to_ints()) {
        (true, Some(v), _) => list(v.iter().map(|x| format!("{x:?}")).collect()),
        (_, _, Some(v)) => list(v.iter().map(ToString::to_string).collect()),
        _ => String::new(),
    };
    format!("{}: {elements}", value.ty())
}

fn data(report: &Report, repair: Option<&Repair>) -> Value {
    let mut out = json!({
        "rule": report.rule.name,
        "class": report.rule.class.to_string(),
        "verdict": kind(&report.verdict),
        "says": report.verdict.to_string(),
        "instances": report.instances,
        "refused": report.refused,
        "attempts": report.attempts,
        "same_bits": report.same_bits,
        "not_proved": report.not_proved,
        "repair": repair.map(|r| json!({ "change": r.change, "rule": r.text, "kept": r.kept, "of": r.of })),
    });
    if let Verdict::Refuted(example) = &report.verdict {
        let values: serde_json::Map<String, Value> = example
            .values
            .iter()
            .map(|(name, v)| (name.to_string(), json!(numbers(v))))
            .collect();
        out["counterexample"] = json!({
            "source": format_program(&to_program(&example.source)),
            "target": format_program(&to_program(&example.target)),
            "values": values,
            "output": example.output,
            "element": example.element,
            "expected": example.expected,
            "found": example.found,
        });
    }
    out
}
