//! `tautomer verify`: are rules correct?

mod row;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::json;

use tautomer::op::Laws;
use tautomer::rule::library_set_files;
use tautomer::rule_files;
use tautomer::verify::{
    CERTIFICATE_HEAD, Counterexample, Entry, Level, Options, Repair, Report, Subject, VERIFIER, Verdict, certificate,
    repair_all, shipped_rules, verdict_table, verify_all,
};

use super::findings::{Finding, Format, Outcome};
use super::verdicts::{self, Locks, Progress};
use super::{Done, Failure, Shell, counted, operators, output, validate};
pub(super) use row::numbers;
use row::{Row, repair_text};

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

/// A certificate that the checker accepts, or else why it does not. A formula that the checker does not find equal to
/// its own, since it reads numbers of the rule exactly, is left out; and what the prover treats position by position may
/// be a call for the checker.
fn accepted(own: String) -> Result<String, String> {
    let plain: String = own
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("element "))
        .collect();
    let calls = plain.replace("\nlift elementwise\n", "\nlift calls\n");
    let mut why = String::new();
    for own in [own, plain, calls] {
        let checked = tautomer_check::check(&format!("{CERTIFICATE_HEAD}{own}"));
        why = match checked.into_iter().next().map(|one| one.verdict) {
            Some(tautomer_check::Verdict::Accepted(_)) => return Ok(own),
            Some(tautomer_check::Verdict::NotChecked(what)) => format!("the checker stops: {what}"),
            // The line is that of a certificate which is not written.
            Some(tautomer_check::Verdict::Rejected(why)) => {
                let why = why.split_once(": ").map_or(why.as_str(), |(_, why)| why);
                format!("the checker finds no proof: {why}")
            }
            None => "the certificate is empty".to_owned(),
        };
    }
    Err(why)
}

/// Writes the certificates of the rules that have one, and says which rules have none.
fn certificates(path: &Path, subjects: &[Subject], rows: &[Row], shell: &Shell) -> Done {
    let mut text = CERTIFICATE_HEAD.to_owned();
    let (mut written, mut proved) = (0, 0);
    let mut without: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (subject, row) in subjects.iter().zip(rows) {
        let Row::Tried(report, _) = row else { continue };
        proved += usize::from(report.verdict.level() == Level::ProvedAll);
        match certificate(&subject.rule, &report.verdict).and_then(accepted) {
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
