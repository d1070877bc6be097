//! The rules of GSL: all 38 are present, no longer than published, both engines prove programs equal with them, and the
//! versions published without their conditions are wrong.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{Graph, Params, Workload};
use tautomer::lang::{ast::Item, format_rules, parse_rules};
use tautomer::pipeline::{Engine, Options, optimize};
use tautomer::rewrite::{CostModel, Limits, substitute};
use tautomer::rule::{Class, ExampleKind, Rule, RuleSet, library_set, library_set_files, load_rules};

use crate::values::{difference, run};

/// Lines of the rules in GSL, and of the passes of TVM with which B compares. Those of B are published with the rules,
/// those of A are counted the same way: the body of the function without blank lines and comments.
const PUBLISHED: &[(&str, usize, Option<usize>)] = &[
    ("a1", 4, None),
    ("a2", 5, None),
    ("a3", 7, None),
    ("a4", 9, None),
    ("a5", 10, None),
    ("a6", 12, None),
    ("a7", 11, None),
    ("a8", 14, None),
    ("a9", 11, None),
    ("a10", 9, None),
    ("a11", 6, None),
    ("a12", 7, None),
    ("a13", 8, None),
    ("a14", 9, None),
    ("a15", 19, None),
    ("a16", 25, None),
    ("a17", 29, None),
    ("a18", 8, None),
    ("a19", 17, None),
    ("b1", 4, Some(8)),
    ("b2", 4, Some(8)),
    ("b3", 5, Some(9)),
    ("b4", 5, Some(14)),
    ("b5", 5, Some(9)),
    ("b6", 4, Some(9)),
    ("b7", 13, Some(46)),
    ("b8", 14, Some(35)),
    ("b9", 12, Some(38)),
    ("b10", 21, Some(56)),
    ("b11", 8, Some(23)),
    ("b12", 14, Some(28)),
    ("b13", 16, Some(22)),
    ("b14", 23, Some(41)),
    ("b15", 18, Some(25)),
    ("b16", 4, Some(6)),
    ("b17", 23, Some(98)),
    ("b18", 17, Some(76)),
    ("b19", 17, Some(66)),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn set() -> RuleSet {
    library_set("gsl")
        .unwrap()
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// The rules with a number, such as `b7`.
fn members<'a>(set: &'a RuleSet, number: &str) -> Vec<&'a Arc<Rule>> {
    let group = set.groups.iter().find(|group| &*group.name == number);
    let names = &group.unwrap_or_else(|| panic!("there is no {number}")).members;
    let find = |name: &Arc<str>| set.rules.iter().find(|r| r.name == *name);
    // A longer number that starts with this one is counted separately.
    let is_rule = |name: &&Arc<str>| set.groups.iter().all(|group| group.name != **name);
    names
        .iter()
        .filter(is_rule)
        .map(|name| find(name).unwrap_or_else(|| panic!("there is no {name}")))
        .collect()
}

/// The number of lines of a rule in canonical form, without documentation and blank lines.
fn lines(rule: &str) -> usize {
    let files = &library_set_files().iter().find(|(name, _)| *name == "gsl").unwrap().1;
    let head = format!("rule {rule}");
    for (name, text) in files {
        let file = parse_rules(Arc::new(Source::new(*name, *text))).unwrap();
        if !file
            .items
            .iter()
            .any(|item| matches!(item, Item::Rule(r) if r.name.as_str() == rule))
        {
            continue;
        }
        let printed = format_rules(&file);
        let begins = |line: &&str| {
            line.strip_prefix(&head)
                .is_some_and(|rest| rest.starts_with(['(', ' ']))
        };
        let body: Vec<&str> = printed.lines().skip_while(|line| !begins(line)).collect();
        let end = body
            .iter()
            .position(|line| line.ends_with('}') && !line.starts_with(' '))
            .unwrap();
        return body[..=end].iter().filter(|line| !line.trim().is_empty()).count();
    }
    panic!("there is no rule {rule}");
}

#[test]
fn all_rules_are_there() {
    let set = set();
    let mut named: Vec<&str> = PUBLISHED
        .iter()
        .map(|(number, ..)| *number)
        .chain(["onnx"])
        .flat_map(|number| members(&set, number))
        .map(|rule| &*rule.name)
        .collect();
    named.sort_unstable();
    named.dedup();
    let mut all: Vec<&str> = set.rules.iter().map(|rule| &*rule.name).collect();
    all.sort_unstable();
    assert_eq!(named, all);
    assert_eq!(PUBLISHED.len(), 38);
}

#[test]
fn rules_are_no_longer_than_published() {
    let set = set();
    let mut table = String::from("| | rules | lines | GSL | TVM |\n| --- | --- | --: | --: | --: |\n");
    let mut longer = Vec::new();
    let mut sums = (0, 0, 0);
    for (number, gsl, tvm) in PUBLISHED {
        let rules = members(&set, number);
        let ours: usize = rules.iter().map(|rule| lines(&rule.name)).sum();
        let names: Vec<String> = rules.iter().map(|rule| format!("`{}`", rule.name)).collect();
        let tvm_lines = tvm.map_or_else(String::new, |n| n.to_string());
        let _ = writeln!(
            table,
            "| {} | {} | {ours} | {gsl} | {tvm_lines} |",
            number.to_uppercase(),
            names.join(", ")
        );
        sums = (sums.0 + ours, sums.1 + gsl, sums.2 + tvm.unwrap_or(0));
        if ours > *gsl {
            longer.push(format!("{number}: {ours} lines, and {gsl} in GSL"));
        }
    }
    let _ = writeln!(table, "| | all | {} | {} | {} |", sums.0, sums.1, sums.2);
    assert!(longer.is_empty(), "{longer:?}");

    const BEGIN: &str = "<!-- table -->\n";
    const END: &str = "<!-- end of the table -->\n";
    let path = root().join("rules/gsl/README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let wanted = format!("{head}{BEGIN}\n{table}\n{END}{tail}");
    if std::env::var_os("UPDATE_RULES_README").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert!(
            text == wanted,
            "rules/gsl/README.md is stale: run the test with UPDATE_RULES_README=1"
        );
    }
}

/// The outcome of running two graphs on random values.
enum Compared {
    /// The results are equal.
    Equal,
    /// The results differ.
    Apart(String),
    /// A graph has a symbol where values need a number, or the first graph cannot take the values.
    NoValues,
}

fn compare(class: Class, a: &Graph, b: &Graph) -> Compared {
    for seed in 1..=3 {
        let Ok(x) = run(a, seed, false) else {
            return Compared::NoValues;
        };
        let how = match run(b, seed, false) {
            Ok(y) if x.len() == y.len() => x.iter().zip(&y).find_map(|(x, y)| difference(class, x, y)),
            Ok(y) => Some(format!("{} results against {}", x.len(), y.len())),
            Err(e) if e.contains("is unknown") => return Compared::NoValues,
            Err(e) => Some(e),
        };
        if let Some(how) = how {
            return Compared::Apart(how);
        }
    }
    Compared::Equal
}

#[test]
fn both_engines_keep_programs_equal() {
    let set = set();
    let mut problems = Vec::new();
    for engine in [Engine::Saturate, Engine::Substitute] {
        let mut compared: Vec<&str> = Vec::new();
        for example in &set.examples {
            let rule = set.rules.iter().find(|rule| rule.name == example.rule).unwrap();
            for rules in [vec![rule.clone()], set.rules.clone()] {
                let what = format!("{} by {engine:?} with {} rules", rule.name, rules.len());
                let options = Options {
                    engine,
                    rules: Some(rules),
                    limits: Limits {
                        nodes: 2000,
                        ..Limits::default()
                    },
                    fold: false,
                    ..Options::default()
                };
                let workload = Workload {
                    graph: example.source.clone(),
                    params: Params::default(),
                };
                let out = match optimize(workload, &options) {
                    Ok(out) => out,
                    Err(e) => {
                        problems.push(format!("{what}: {}", e.render(false)));
                        continue;
                    }
                };
                if out.report.stop == "rewrite limit" {
                    problems.push(format!("{what}: has no end"));
                }
                match compare(Class::Real, &example.source, &out.workload.graph) {
                    Compared::Equal if matches!(example.kind, ExampleKind::Becomes(_)) => compared.push(&rule.name),
                    Compared::Equal | Compared::NoValues => {}
                    Compared::Apart(how) => problems.push(format!("{what}: {how}")),
                }
            }
        }
        for rule in set.rules.iter().filter(|rule| !compared.contains(&&*rule.name)) {
            problems.push(format!("{}: no example has values by {engine:?}", rule.name));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn rules_are_wrong_without_their_conditions() {
    let path: PathBuf = root().join("tests/data/gsl-weakened.rules");
    let text = std::fs::read_to_string(&path).unwrap();
    let set = parse_rules(Arc::new(Source::new("gsl-weakened.rules", text)))
        .and_then(load_rules)
        .unwrap_or_else(|e| panic!("{}", e.render(false)));
    let mut problems = Vec::new();
    for rule in &set.rules {
        let programs = set
            .examples
            .iter()
            .filter(|e| e.rule == rule.name && matches!(e.kind, ExampleKind::MustNotFire));
        let mut count = 0;
        for (i, example) in programs.enumerate() {
            count += 1;
            let rules = std::slice::from_ref(rule);
            let (made, report) = substitute(example.source.clone(), rules, Some(1), &CostModel::default());
            if report.steps.is_empty() {
                problems.push(format!("{} does not fire on program {i}", rule.name));
            } else if !matches!(compare(Class::Approx(1e-3), &example.source, &made), Compared::Apart(_)) {
                problems.push(format!("{} is right on program {i}", rule.name));
            }
        }
        assert!(count > 0, "{} has no program", rule.name);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
