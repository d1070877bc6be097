//! `tautomer verify`: are rules correct?

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use tautomer::graph::to_program;
use tautomer::lang::format_program;
use tautomer::op::Laws;
use tautomer::rule::library_set_files;
use tautomer::rule_files;
use tautomer::verify::{
    CERTIFICATE_HEAD, Counterexample, Entry, Level, Options, Reached, Repair, Report, Subject, VERIFIER, Verdict,
    certificate, repair_all, shipped_rules, verdict_table, verify_all,
};

use super::findings::{Finding, Format, Outcome};
use super::verdicts::{self, Locks, Progress};
use super::{Done, Failure, Shell, counted, operators, output, validate};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Rule files, directories of rule files, or names of sets that come with the tool; by default, the built-in rules.
    /// Or two programs or models: checks whether the second, made from the first, is equal to it
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// All rules that come with the tool: the built-in ones and the sets
    #[arg(long, conflicts_with = "files")]
    built_in: bool,
    /// Check only this rule; may be repeated
    #[arg(long, value_name = "NAME")]
    rule: Vec<String>,
    /// Instances of each rule [default: 100]
    #[arg(long, value_name = "N")]
    budget: Option<usize>,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Fail also if a rule is undecided
    #[arg(long)]
    strict: bool,
    /// Treat a rule as wrong where its target has another type than its source, although no engine applies it there
    #[arg(long)]
    strict_types: bool,
    /// Laws of functions that may be assumed at instances, such as exp-sum,sqrt-square [default: all]
    #[arg(long, value_name = "LAWS", conflicts_with = "no_laws")]
    laws: Option<Laws>,
    /// Assume nothing about functions except that equal arguments give equal values
    #[arg(long)]
    no_laws: bool,
    /// Compare rules with one operand bit by bit on all f32 numbers
    #[arg(long)]
    exhaustive: bool,
    /// Keep the verdicts in a lock file beside the rules; rules with a current verdict there are not checked again
    #[arg(long)]
    lock: bool,
    /// With `--lock`: check all rules again
    #[arg(long, requires = "lock")]
    force: bool,
    /// Check nothing; fail if the lock beside the rules is stale, or a rule is refuted there
    #[arg(long, conflicts_with_all = ["lock", "save", "table"])]
    check_lock: bool,
    /// Print the verdicts as a table in Markdown
    #[arg(long, conflicts_with = "json")]
    table: bool,
    /// Where to write the table
    #[arg(long, short, value_name = "FILE", requires = "table")]
    output: Option<PathBuf>,
    /// Write a certificate of each rule that is `proved-all`, which `tautomer-check FILE` checks without this tool
    #[arg(long, value_name = "FILE", conflicts_with_all = ["lock", "check_lock", "no_laws", "laws"])]
    certificate: Option<PathBuf>,
    /// How verdicts are printed on standard output
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT", conflicts_with_all = ["json", "table"])]
    format: Format,
    /// Write both sides of each counterexample to this directory, as programs with values
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    /// Do not look for conditions under which refuted rules are correct
    #[arg(long)]
    no_repair: bool,
    /// How many rules are checked in parallel; the verdicts do not depend on it [default: one for each core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    graphs: validate::GraphArgs,
}

/// The outcome for a rule.
enum Row {
    /// It was checked.
    Tried(Box<Report>, Option<Repair>),
    /// Its verdict was kept in the lock.
    Kept(Box<Entry>),
}

impl Row {
    fn level(&self) -> Level {
        match self {
            Row::Tried(report, _) => report.verdict.level(),
            Row::Kept(entry) => entry.verdict,
        }
    }

    fn text(&self, width: usize, verbose: bool) -> String {
        match self {
            Row::Tried(report, _) => text(report, width, verbose),
            Row::Kept(entry) => format!("{:width$}  {}\n", entry.rule, entry.says),
        }
    }

    fn json(&self) -> Value {
        match self {
            Row::Tried(report, repair) => data(report, repair.as_ref()),
            Row::Kept(entry) => json!({
                "rule": entry.rule,
                "class": entry.class,
                "verdict": entry.verdict,
                "says": entry.says,
                "instances": entry.instances,
                "systems": entry.systems,
                "refused": entry.refused,
                "kept": true,
            }),
        }
    }
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    args.output.as_deref().map_or(Ok(()), output::has_folder)?;
    args.certificate.as_deref().map_or(Ok(()), output::has_folder)?;
    if let Some(files) = validate::graphs(&args.files)? {
        if args.lock || args.check_lock || args.table || args.certificate.is_some() {
            let what = "`--lock`, `--check-lock`, `--table` and `--certificate` are for rules, and graphs are given";
            return Err(Failure::new("T0402", what.to_owned()));
        }
        let save = args.save.as_deref();
        return validate::run(files, &args.graphs, args.format, (args.seed, save), shell);
    }
    let file = args.files.first().map_or(Path::new(""), PathBuf::as_path);
    let subjects = args.format.or_problems(file, load(args), shell)?;
    if args.check_lock {
        return verdicts::check(&subjects, args.rule.is_empty(), args.budget, shell);
    }
    let options = Options {
        seed: args.seed,
        instances: budget(args),
        strict: args.strict_types,
        laws: if args.no_laws {
            Laws::NONE
        } else {
            args.laws.unwrap_or(Laws::ALL)
        },
        exhaustive: args.exhaustive,
        ..Options::default()
    };
    let mut locks = Locks::default();
    if args.lock {
        verdicts::has_places(&subjects)?;
    }
    let mut rows: Vec<Option<Row>> = Vec::with_capacity(subjects.len());
    for subject in &subjects {
        let kept = if args.lock {
            locks.kept(subject, &options)?
        } else {
            None
        };
        rows.push(kept.filter(|_| !args.force).map(|entry| Row::Kept(Box::new(entry))));
    }
    let start = Instant::now();
    let rows = tried(args, &subjects, rows, &options, shell)?;
    let seconds = start.elapsed().as_secs_f64();
    let entries = subjects.iter().zip(&rows).map(|(subject, row)| match row {
        Row::Tried(report, _) => Entry::new(subject, report, &options),
        Row::Kept(entry) => Entry::clone(entry),
    });
    let entries: Vec<Entry> = entries.collect();
    if args.lock {
        for (subject, entry) in subjects.iter().zip(&entries) {
            locks.keep(&subject.source, entry.clone())?;
        }
        if args.rule.is_empty() {
            locks.prune(&subjects);
        }
        for path in locks.write()? {
            shell.detail(&format!("{} is written", path.display()));
        }
    }
    if args.table {
        let named: Vec<(&str, &Entry)> = subjects.iter().map(|s| &*s.source).zip(&entries).collect();
        match &args.output {
            Some(path) => output::write_text(path, &verdict_table(&named))?,
            None => shell.result(&verdict_table(&named))?,
        }
    }
    if let Some(text) = args.format.render(&findings(args, &subjects, &rows)) {
        shell.result(&text)?;
    }
    if let Some(path) = &args.certificate {
        certificates(path, &subjects, &rows, shell)?;
    }
    summary(args, &rows, seconds, shell)
}

/// Writes the certificates of the rules that have one, and says which rules have none.
fn certificates(path: &Path, subjects: &[Subject], rows: &[Row], shell: &Shell) -> Done {
    let mut text = CERTIFICATE_HEAD.to_owned();
    let (mut written, mut proved) = (0, 0);
    let mut without: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (subject, row) in subjects.iter().zip(rows) {
        let Row::Tried(report, _) = row else { continue };
        proved += usize::from(report.verdict.level() == Level::ProvedAll);
        match certificate(&subject.rule, &report.verdict) {
            Ok(own) => {
                written += 1;
                text.push_str(&own);
            }
            Err(why) => without.entry(why).or_default().push(&subject.rule.name),
        }
    }
    output::write_text(path, &text)?;
    shell.say(&format!(
        "{}: certificates of {written} of {} that are proved for everything they admit",
        path.display(),
        counted(proved, "rule")
    ));
    let missing: usize = without.values().map(Vec::len).sum();
    if missing > 0 {
        shell.say(&format!("no certificate for {}:", counted(missing, "rule")));
    }
    for (why, names) in without {
        shell.say(&format!("  {}: {why}", names.join(", ")));
    }
    Ok(())
}

/// The verdicts with the places of their rules.
fn findings(args: &Args, subjects: &[Subject], rows: &[Row]) -> Vec<Finding> {
    let one = |(subject, row): (&Subject, &Row)| Finding {
        name: subject.rule.name.to_string(),
        file: subject.source.clone(),
        line: Some(subject.rule.ast.source.line_column(subject.rule.name_span.start).0),
        verdict: row.level().word(),
        outcome: Outcome::of(row.level() != Level::Refuted && !(args.strict && row.level() == Level::Undecided)),
        message: row.text(0, false),
    };
    subjects.iter().zip(rows).map(one).collect()
}

/// Checks the rules that have no row yet, and prints all rows in order.
fn tried(
    args: &Args,
    subjects: &[Subject],
    rows: Vec<Option<Row>>,
    options: &Options,
    shell: &Shell,
) -> Result<Vec<Row>, Failure> {
    let silent = shell.json || args.table || args.format != Format::Text;
    let width = subjects.iter().map(|s| s.rule.name.chars().count()).max().unwrap_or(0);
    let open: Vec<&Subject> = subjects
        .iter()
        .zip(&rows)
        .filter(|(_, row)| row.is_none())
        .map(|(s, _)| s)
        .collect();
    let progress = Progress::new(shell);
    let print = |row: &Row| {
        if silent {
            Ok(())
        } else {
            shell.result(&row.text(width, shell.verbose))
        }
    };
    let finish = |_: &Subject, report: Report| Row::Tried(Box::new(report), None);
    // Kept rows are printed together with the next checked rule, so that rows stay in order.
    let mut at = 0;
    let mut each = |row: &Row| {
        progress.clear();
        while let Some(kept) = rows.get(at).and_then(Option::as_ref) {
            print(kept)?;
            at += 1;
        }
        at += 1;
        print(row)?;
        if let (Row::Tried(report, _), Some(folder)) = (row, &args.save)
            && let Verdict::Refuted(example) = &report.verdict
        {
            save(folder, &report.rule.name, example, shell)?;
        }
        progress.show(&format!("{at} of {} rules", rows.len()));
        Ok::<(), Failure>(())
    };
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.threads.unwrap_or_else(cores);
    let mut found = verify_all(&open, options, threads, finish, &mut each)?;
    progress.clear();
    for kept in rows.get(at..).unwrap_or_default().iter().flatten() {
        print(kept)?;
    }
    if !args.no_repair && !args.table && args.format == Format::Text {
        repairs(&open, &mut found, options, threads, shell)?;
    }
    let mut found = found.into_iter();
    Ok(rows
        .into_iter()
        .filter_map(|row| row.or_else(|| found.next()))
        .collect())
}

/// Looks for repairs of refuted rules, once all verdicts are known.
fn repairs(open: &[&Subject], found: &mut [Row], options: &Options, threads: usize, shell: &Shell) -> Done {
    let refuted: Vec<usize> = (0..found.len())
        .filter(|&i| found[i].level() == Level::Refuted)
        .collect();
    let subjects: Vec<&Subject> = refuted.iter().map(|&i| open[i]).collect();
    let progress = Progress::new(shell);
    let mut done = 0;
    let show = |done: usize| progress.show(&format!("repairs: {done} of {} refuted rules", subjects.len()));
    if !subjects.is_empty() {
        show(0);
    }
    let each = |repair: &Option<Repair>| {
        progress.clear();
        let name = &subjects[done].rule.name;
        done += 1;
        if let (Some(repair), false) = (repair, shell.json) {
            shell.result(&repair_text(name, repair))?;
        }
        show(done);
        Ok::<(), Failure>(())
    };
    let all = repair_all(&subjects, options, threads, each)?;
    progress.clear();
    for (i, repair) in refuted.into_iter().zip(all) {
        if let Row::Tried(_, place) = &mut found[i] {
            *place = repair;
        }
    }
    Ok(())
}

fn repair_text(name: &str, repair: &Repair) -> String {
    let Repair { change, text, kept, of } = repair;
    let lines: String = text.lines().map(|l| format!("    {l}\n")).collect();
    let share = (100 * kept).checked_div(*of).unwrap_or(0);
    format!(
        "{name}: with {change} nothing refutes it; {share} % of the instances at which it held remain ({kept} of \
         {of}):\n{lines}"
    )
}

/// Prints the report as JSON, or how many rules have which verdict.
fn summary(args: &Args, rows: &[Row], seconds: f64, shell: &Shell) -> Done {
    let count = |level: Level| rows.iter().filter(|row| row.level() == level).count();
    let kept = rows.iter().filter(|row| matches!(row, Row::Kept(_))).count();
    let instances: usize = rows
        .iter()
        .map(|row| match row {
            Row::Tried(report, _) => report.instances,
            Row::Kept(_) => 0,
        })
        .sum();
    if shell.json {
        let mut report = json!({
            "rules": rows.iter().map(Row::json).collect::<Vec<_>>(),
            "kept": kept,
            "instances": instances,
            "seed": args.seed,
            "budget": budget(args),
            "verifier": VERIFIER,
        });
        for level in Level::ALL {
            report[level.word().replace('-', "_")] = json!(count(level));
        }
        shell.json(report)?;
    }
    let counts: Vec<String> = Level::ALL
        .iter()
        .map(|&level| format!("{} {}", count(level), level.phrase()))
        .collect();
    shell.say(&format!("{}: {}", counted(rows.len(), "rule"), counts.join(", ")));
    if args.lock {
        shell.say(&format!("{kept} of {} verdicts from the lock", rows.len()));
    }
    if kept < rows.len() {
        shell.say(&format!(
            "{instances} instances in {seconds:.1} s: {:.0} each second",
            instances as f64 / seconds.max(1e-9)
        ));
    }
    if count(Level::Refuted) > 0 || args.strict && count(Level::Undecided) > 0 {
        Err(Failure::No)
    } else {
        Ok(())
    }
}

/// Instances of each rule.
fn budget(args: &Args) -> usize {
    args.budget.unwrap_or(Options::default().instances)
}

/// The rules that are asked for, with the examples of their files.
fn load(args: &Args) -> Result<Vec<Subject>, Failure> {
    let mut all = Vec::new();
    if args.files.is_empty() {
        all = shipped_rules()?;
        let in_set = |source: &str| {
            library_set_files()
                .iter()
                .any(|(_, files)| files.iter().any(|(name, _)| *name == source))
        };
        all.retain(|subject| args.built_in || !in_set(&subject.source));
    } else {
        for set in operators::load_each(rule_files::sources(&args.files)?)? {
            all.extend(Subject::of(&set.rules, set.examples.into()));
        }
    }
    if let Some(name) = args.rule.iter().find(|n| all.iter().all(|s| *s.rule.name != ***n)) {
        return Err(Failure::new("T0307", format!("there is no rule `{name}`")));
    }
    if !args.rule.is_empty() {
        all.retain(|s| args.rule.iter().any(|n| **n == *s.rule.name));
    }
    Ok(all)
}

/// The laws that a verdict depends on.
fn laws(verdict: &Verdict) -> Laws {
    match verdict {
        Verdict::Proved { laws, .. } | Verdict::Tested { laws, .. } => *laws,
        _ => Laws::NONE,
    }
}

fn text(report: &Report, width: usize, verbose: bool) -> String {
    let mut out = format!("{:width$}  {}\n", report.rule.name, report.verdict);
    if report.refused > 0 {
        let why = report.refusal.as_deref().unwrap_or_default();
        out.push_str(&format!(
            "  at {} more instances the target has another type, or none, so no engine applies the rule; at the first: \
             {why}\n",
            report.refused
        ));
    }
    if let (Some(why), true) = (&report.not_proved, verbose) {
        out.push_str(&format!("  not proved for all sizes: {why}\n"));
    }
    if verbose && !report.reached.is_empty() {
        for reached in &report.reached {
            let place = if reached.in_target { "target" } else { "condition" };
            out.push_str(&format!("  {place}: {reached}\n"));
        }
    }
    if let Some(class) = report.stronger_class() {
        let rests = report.class.as_ref().map_or_else(String::new, ToString::to_string);
        out.push_str(&format!(
            "  it could declare `numerics {class}`: no checked instance contradicts it ({rests})\n"
        ));
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
pub(super) fn numbers(value: &tautomer::tensor::Tensor) -> String {
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

fn reached(part: &Reached) -> Value {
    json!({
        "condition": part.condition,
        "in_target": part.in_target,
        "holds": part.holds,
        "fails": part.fails,
        "boundary": part.compares.then_some(part.boundary),
    })
}

fn data(report: &Report, repair: Option<&Repair>) -> Value {
    let mut out = json!({
        "rule": report.rule.name,
        "class": report.rule.class.to_string(),
        "verdict": report.verdict.level(),
        "says": report.verdict.to_string(),
        "instances": report.instances,
        "systems": report.systems,
        "refused": report.refused,
        "reached": report.reached.iter().map(reached).collect::<Vec<_>>(),
        "attempts": report.attempts,
        "laws": laws(&report.verdict).iter().map(|l| l.name()).collect::<Vec<_>>(),
        "decided_class": report.class.as_ref().map(ToString::to_string),
        "stronger_class": report.stronger_class().map(|c| c.to_string()),
        "bounds": report.loose,
        "error": report.error,
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
