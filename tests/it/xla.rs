//! Rewrites of XLA's algebraic simplifier as rules: they load, each of those that TensorRight lists has a row in
//! `tests/xla/README.md`, and none is refuted.
//!
//! In release builds all are verified and compared with the table of verdicts there, which
//! `TAUTOMER_WRITE_TABLES=1 cargo test --release --test it xla::` rewrites.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rayon::prelude::*;
use tautomer::diag::Source;
use tautomer::lang::{format_rules, parse_rules};
use tautomer::rule::{RuleSet, load_checked_rules, load_rules};
use tautomer::verify::{Level, Options, Report, Verdict, verify};

const BEGIN: &str = "<!-- verdicts -->\n";
const END: &str = "<!-- end of the verdicts -->\n";

/// The rules that TensorRight lists: the family, and the first and the last number.
const LISTED: &[(&str, u32, u32)] = &[
    ("add", 1, 4),
    ("broadcast", 1, 8),
    ("clamp", 1, 3),
    ("compare", 1, 6),
    ("concat", 1, 7),
    ("conv", 0, 3),
    ("divmod", 1, 8),
    ("dot", 1, 6),
    ("dyslice", 1, 6),
    ("dyupslice", 1, 4),
    ("iota", 1, 1),
    ("logical", 1, 11),
    ("max", 1, 2),
    ("mul", 1, 10),
    ("not", 1, 2),
    ("pad", 1, 4),
    ("reduce", 1, 8),
    ("relabel", 1, 2),
    ("reverse", 1, 4),
    ("select", 1, 4),
    ("slice", 1, 13),
    ("sub", 0, 2),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xla")
}

fn readme() -> String {
    std::fs::read_to_string(folder().join("README.md")).unwrap()
}

/// The files with their text, in order.
fn files() -> Vec<(String, String)> {
    ["elementwise", "movement", "reduction"]
        .map(|name| {
            let path = folder().join(format!("{name}.rules"));
            (format!("{name}.rules"), std::fs::read_to_string(path).unwrap())
        })
        .to_vec()
}

fn all() -> RuleSet {
    let mut out = RuleSet::default();
    for (name, text) in files() {
        let file = parse_rules(Arc::new(Source::new(name, text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
        out.extend(load_checked_rules(file).unwrap_or_else(|e| panic!("{}", e.render(false))));
    }
    out
}

#[test]
fn rules_are_formatted_and_none_warns() {
    for (name, text) in files() {
        let file = parse_rules(Arc::new(Source::new(&*name, &*text))).unwrap();
        assert_eq!(format_rules(&file), text, "{name}");
        // Trying all rules on operands takes long without optimization; `examples_fire` does it too.
        if !cfg!(debug_assertions) {
            let set = load_rules(file).unwrap_or_else(|e| panic!("{}", e.render(false)));
            assert!(set.warnings.is_empty(), "{}", set.warnings.render(false));
        }
    }
}

#[test]
fn every_listed_rule_is_there_or_has_a_reason() {
    let rules = all().rules;
    let documented: BTreeSet<&str> = rules.iter().filter_map(|r| r.doc.split(':').next()).collect();
    let text = readme();
    let (mut there, mut left_out) = (0, 0);
    for (family, first, last) in LISTED {
        for n in *first..=*last {
            let has_rule = documented.contains(format!("TensorRight {family} {n}").as_str());
            let has_reason = text.contains(&format!("| {family} {n} | "));
            assert!(
                has_rule != has_reason,
                "{family} {n}: a rule {has_rule}, a reason {has_reason}"
            );
            there += usize::from(has_rule);
            left_out += usize::from(has_reason);
        }
    }
    assert_eq!((there, left_out), (118, 2));
    let origin = |doc: &str| doc.starts_with("TensorRight ") || doc.starts_with("Handle");
    let without: Vec<_> = rules.iter().filter(|r| !origin(&r.doc)).map(|r| &r.name).collect();
    assert!(without.is_empty(), "without a source: {without:?}");
}

#[test]
fn examples_fire() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tautomer"));
    let paths = files().into_iter().map(|(name, _)| folder().join(name));
    let out = command.args(["rules", "test"]).args(paths).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
}

#[test]
fn a_sample_is_not_refuted() {
    let set = all();
    let options = Options {
        instances: 6,
        patterns: 1 << 8,
        prove: false,
        ..Options::default()
    };
    for rule in set.rules.iter().step_by(40) {
        let report = verify(rule, &set.examples, &options);
        assert!(
            report.verdict.level() > Level::Undecided,
            "{}: {}",
            rule.name,
            report.verdict
        );
    }
}

/// The verdicts in the table, by rule name.
fn recorded(text: &str) -> BTreeMap<String, Level> {
    let (_, table) = text.split_once(BEGIN).expect("a table of verdicts");
    let (table, _) = table.split_once(END).expect("the end of the table");
    let row = |line: &str| {
        let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
        let name = cells.first()?.strip_prefix('`')?.strip_suffix('`')?;
        Some((name.to_owned(), Level::by_word(cells.get(1)?)?))
    };
    table.lines().filter_map(row).collect()
}

#[test]
fn every_rule_has_a_verdict_in_the_table() {
    let names: BTreeSet<String> = all().rules.iter().map(|r| r.name.to_string()).collect();
    let table = recorded(&readme());
    assert_eq!(table.keys().cloned().collect::<BTreeSet<_>>(), names);
    assert!(!table.values().any(|level| *level == Level::Refuted));
}

/// The reports on all rules, computed on all cores, in order.
fn reports(set: &RuleSet) -> Vec<Report> {
    let report = |rule| verify(rule, &set.examples, &Options::default());
    set.rules.par_iter().map(report).collect()
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "takes minutes without optimization; `.ci/run` runs it in release"
)]
#[expect(clippy::print_stdout, reason = "the numbers are what the test is for")]
fn no_rule_is_refuted_and_no_verdict_is_weaker() {
    let set = all();
    let reports = reports(&set);
    let mut counts: BTreeMap<Level, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    let text = readme();
    let before = recorded(&text);
    let mut rows = String::from("| rule | verdict | not proved for everything because |\n| --- | --- | --- |\n");
    for report in &reports {
        let (name, level) = (&*report.rule.name, report.verdict.level());
        *counts.entry(level).or_default() += 1;
        if matches!(report.verdict, Verdict::Refuted(_)) {
            problems.push(format!("{name} is refuted"));
        }
        if before.get(name).is_some_and(|old| level < *old) {
            problems.push(format!("{name}: {level} in place of {}", before[name]));
        }
        let why = report.not_proved.clone().unwrap_or_else(|| report.verdict.to_string());
        let why = if level == Level::ProvedAll {
            ""
        } else {
            why.lines().next().unwrap_or("")
        };
        let short: String = why.replace('|', "or").chars().take(70).collect();
        rows.push_str(&format!("| `{name}` | {level} | {short} |\n"));
    }
    for (level, n) in counts.iter().rev() {
        println!("{n} of {} are {level}", reports.len());
    }
    if std::env::var_os("TAUTOMER_WRITE_TABLES").is_some() {
        let (head, rest) = text.split_once(BEGIN).unwrap();
        let (_, tail) = rest.split_once(END).unwrap();
        std::fs::write(
            folder().join("README.md"),
            format!("{head}{BEGIN}\n{rows}\n{END}{tail}"),
        )
        .unwrap();
        return;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
