//! Wrong rules that hold nearly everywhere are refuted with any seed: `tests/data/wrong.rules` has one for each way to
//! be missed, and `tests/data/unreached.rules` those of which a part is out of reach. The rules of `tests/data/true.rules`
//! are proved.
//!
//! Release builds try three seeds, and `TAUTOMER_WRONG_SEEDS=10` tries ten. With `TAUTOMER_TEST_DATA`, the files of its directory
//! `attack` are tried as well.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use tautomer::diag::Source;
use tautomer::lang::parse_rules;
use tautomer::rule::{Rule, load_rules};
use tautomer::verify::{Level, Options, Report, verify};

/// The number of seeds.
fn seeds() -> u64 {
    let usual = if cfg!(debug_assertions) { 1 } else { 3 };
    std::env::var("TAUTOMER_WRONG_SEEDS").map_or(usual, |n| n.parse().expect("a number of seeds"))
}

/// The rules of a file, each with its name for messages.
fn load(path: &Path) -> Vec<Arc<Rule>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let set = parse_rules(Arc::new(Source::new(path.display().to_string(), text))).and_then(load_rules);
    set.unwrap_or_else(|e| panic!("{}", e.render(false))).rules
}

/// The rules that `is_right` does not accept, with their verdicts, at any seed.
fn others(rules: &[Arc<Rule>], is_right: &(dyn Fn(&Rule, &Report) -> bool + Sync)) -> Vec<String> {
    let wrong = |(rule, seed): (&Arc<Rule>, u64)| {
        let options = Options {
            seed,
            shrinking: 0,
            ..Options::default()
        };
        let report = verify(rule, &[], &options);
        (!is_right(rule, &report)).then(|| format!("{} at seed {seed}: {}", rule.name, report.verdict))
    };
    let all = rules
        .par_iter()
        .flat_map_iter(|rule| (0..seeds()).map(move |seed| (rule, seed)));
    all.filter_map(wrong).collect()
}

#[test]
fn wrong_rules_are_refuted_with_any_seed() {
    let rules = load(Path::new("tests/data/wrong.rules"));
    assert!(rules.len() > 30);
    let missed = others(&rules, &|_, report| report.verdict.level() == Level::Refuted);
    assert!(missed.is_empty(), "not refuted:\n{}", missed.join("\n"));
}

#[test]
fn true_rules_are_proved_with_any_seed() {
    let rules = load(Path::new("tests/data/true.rules"));
    assert!(rules.len() > 30);
    let missed = others(&rules, &|_, report| report.verdict.level() == Level::ProvedAll);
    assert!(missed.is_empty(), "not proved in full:\n{}", missed.join("\n"));
}

#[test]
fn what_is_out_of_reach_is_said() {
    let rules = load(Path::new("tests/data/unreached.rules"));
    let says = |rule: &Rule, report: &Report| {
        let text = report.verdict.to_string();
        let part = match &*rule.name {
            "large-size" => "where `x.size == 1000003` holds",
            "large-arm" => "where `x.shape[0] == 1000003` holds",
            "never-built" => "the target cannot be built at any of the",
            other => panic!("no expectation for {other}"),
        };
        report.verdict.level() == Level::Undecided && text.contains(part)
    };
    let others = others(&rules, &says);
    assert!(others.is_empty(), "{}", others.join("\n"));
}

/// Rules collected from outside; a part of one may be out of reach, but none is taken to be right.
#[test]
fn collected_wrong_rules_are_not_accepted() {
    let Some(folder) = tautomer_testing::shared_data("attack") else {
        return;
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    let rules: Vec<Arc<Rule>> = files.iter().flat_map(|file| load(file)).collect();
    let is_wrong = |_: &Rule, report: &Report| matches!(report.verdict.level(), Level::Refuted | Level::Undecided);
    let accepted = others(&rules, &is_wrong);
    assert!(accepted.is_empty(), "accepted:\n{}", accepted.join("\n"));
}
