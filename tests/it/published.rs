//! Rules as they were published, without the conditions that they have here: a verdict for each, a counterexample for
//! the wrong ones, and a condition under which nothing refutes them. The documents of the sets contain tables of them.
//!
//! `TAUTOMER_WRITE_TABLES=1 cargo test --test it published::` rewrites the tables with what the search finds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use tautomer::diag::Source;
use tautomer::formats::taso::import_rules;
use tautomer::graph::to_program;
use tautomer::lang::{format_expr, format_program, parse_rules};
use tautomer::rule::{Rule, library_set, load_rules};
use tautomer::verify::{Counterexample, Fault, Options, Verdict, repair, verify};

const BEGIN: &str = "<!-- as published -->\n";
const END: &str = "<!-- end of the table of published rules -->\n";

/// The text in place of a repair.
const NONE: &str = "none found";

/// Published rules of a set for which the search for a repair finds none.
const UNREPAIRED: usize = 1;

/// A published rule is wrong where the types of its sides differ, as nothing says that the rule is not meant to apply
/// there.
fn options() -> Options {
    Options {
        // A variable operator has about forty choices, and the instances should include those for which the rule fails.
        instances: 300,
        strict: true,
        prove: false,
        ..Options::default()
    }
}

/// The same, for verdicts alone.
fn quick() -> Options {
    Options {
        shrinking: 0,
        ..options()
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn load(name: &str, text: &str) -> Vec<Arc<Rule>> {
    let set = parse_rules(Arc::new(Source::new(name, text))).and_then(load_rules);
    set.unwrap_or_else(|e| panic!("{}", e.render(false))).rules
}

/// The text of a rule with one more condition, or with an attribute removed from a rest, as a repair describes it.
fn repaired(rule: &Rule, change: &str) -> String {
    let mut text = rule.ast.source.text[rule.span.range()].to_owned();
    if let Some((one, other)) = change.split_once(" in place of ") {
        return text.replace(other.trim_matches('`'), one.trim_matches('`'));
    }
    let (attributes, conditions) = match change.split_once("where ") {
        Some((before, conditions)) => (before.trim_end_matches([' ', ',']), conditions),
        None => (change, ""),
    };
    for part in attributes.split("`, ").filter(|p| !p.is_empty()) {
        let (attr, rest) = part.split_once(" beside ").expect("an attribute beside a rest");
        let rest = rest.trim_matches('`');
        text = text.replace(rest, &format!("{}, {rest}", attr.trim_matches(['{', '}'])));
    }
    if !conditions.is_empty() {
        let class = text.rfind("numerics").unwrap_or_else(|| text.rfind('}').unwrap());
        let sign = if rule.conditions.is_empty() { "where" } else { "," };
        text = format!("{} {sign} {conditions} {}", text[..class].trim_end(), &text[class..]);
    }
    text
}

fn fault(example: &Counterexample) -> &'static str {
    match example.fault {
        Fault::Types => "type",
        _ => "value",
    }
}

/// A counterexample in one line: the source, and the difference.
fn line(example: &Counterexample) -> String {
    let text = format_program(&to_program(&example.source));
    let text: Vec<&str> = text.lines().map(str::trim).collect();
    let text = text.join(" ").replace("( ", "(").replace(", )", ")").replace(" )", ")");
    let text = text.trim_start_matches("fn main");
    format!(
        "`{}`: {} against {}",
        text.replace('|', "or"),
        example.expected,
        example.found
    )
}

/// Rows of the table: rule, difference, counterexample, repair, conditions here.
fn table(rules: &[Arc<Rule>], shipped: &BTreeMap<String, String>) -> String {
    let row = |rule: &Arc<Rule>| {
        let Verdict::Refuted(example) = verify(rule, &[], &options()).verdict else {
            return None;
        };
        let repair = repair(rule, &[], &options()).map_or_else(|| NONE.to_owned(), |r| r.change);
        let own = shipped.get(&*rule.name).map_or("–", String::as_str);
        let cells = [
            fault(&example).to_owned(),
            line(&example),
            format!("`` {repair} ``"),
            own.to_owned(),
        ];
        Some(format!(
            "| `{}` | {} |\n",
            rule.name,
            cells.map(|c| c.replace(" | ", " or ")).join(" | ")
        ))
    };
    let rows: String = rules.par_iter().filter_map(row).collect();
    let head = "| published | differs in | at | nothing refutes it with | conditions here |\n| --- | --- | --- | --- | --- |\n";
    format!("{head}{rows}")
}

/// The conditions of the rules of a set, by rule name.
fn conditions(set: &str) -> BTreeMap<String, String> {
    let rules = library_set(set).unwrap().unwrap().rules;
    let text = |rule: &Rule| {
        let all: Vec<String> = rule
            .conditions
            .iter()
            .map(|&c| format!("`` {} ``", format_expr(&rule.ast, c)))
            .collect();
        if all.is_empty() {
            "–".to_owned()
        } else {
            all.join(", ")
        }
    };
    rules.iter().map(|r| (r.name.to_string(), text(r))).collect()
}

/// Compares the table of a document with verdicts, or rewrites it.
#[expect(clippy::print_stdout, reason = "the numbers are what the test is for")]
fn check(document: &Path, rules: &[Arc<Rule>], shipped: &BTreeMap<String, String>) {
    let text = std::fs::read_to_string(document).unwrap();
    let (head, rest) = text.split_once(BEGIN).expect("a table of published rules");
    let (old, tail) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("TAUTOMER_WRITE_TABLES").is_some() {
        let new = table(rules, shipped);
        std::fs::write(document, format!("{head}{BEGIN}\n{new}\n{END}{tail}")).unwrap();
        return;
    }
    let rows: BTreeMap<String, Vec<&str>> = old
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches(['|', ' ']).split(" | ").collect();
            (cells[0].trim_matches('`').to_owned(), cells)
        })
        .collect();
    let problem = |rule: &Arc<Rule>| -> Option<String> {
        let verdict = verify(rule, &[], &quick()).verdict;
        let row = rows.get(&*rule.name);
        match (&verdict, row) {
            (Verdict::Refuted(found), None) => {
                let at = format_program(&to_program(&found.source));
                return Some(format!(
                    "{} is refuted and has no row: {} at\n{at}",
                    rule.name, found.fault
                ));
            }
            (Verdict::Refuted(_), Some(_)) | (_, None) => {}
            (_, Some(_)) => return Some(format!("{} has a row, and is not refuted: {verdict}", rule.name)),
        }
        let cells = row?;
        if Some(&cells[4]) != shipped.get(&*rule.name).map(String::as_str).or(Some("–")).as_ref() {
            return Some(format!("{} has other conditions: {}", rule.name, cells[4]));
        }
        let change = cells[3].trim_start_matches("`` ").trim_end_matches(" ``");
        if change == NONE {
            return None;
        }
        let text = format!("/// Repaired.\n{}", repaired(rule, change));
        let fixed = load(&rule.name, &text);
        let verdict = verify(&fixed[0], &[], &quick()).verdict;
        match verdict {
            Verdict::Refuted(_) | Verdict::Undecided(_) => Some(format!("{} with {change}: {verdict}", rule.name)),
            _ => None,
        }
    };
    let problems: Vec<String> = rules.par_iter().filter_map(problem).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    let without = rows.values().filter(|cells| cells[3].contains(NONE)).count();
    println!(
        "{} of {} published rules are refuted, {without} of them without a repair",
        rows.len(),
        rules.len()
    );
    assert!(without <= UNREPAIRED, "{without} of {} have no repair", rows.len());
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "takes minutes without optimization; `.ci/run` runs it in release"
)]
fn rules_of_taso_as_published() {
    let Some(path) = tautomer_testing::shared_data("taso/graph_subst.pb") else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let imported = import_rules("graph_subst.pb", &bytes, "taso").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let rules = load("graph_subst.rules", &imported.text);
    check(&root().join("rules/taso/README.md"), &rules, &conditions("taso"));
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "takes minutes without optimization; `.ci/run` runs it in release"
)]
fn rules_of_gsl_as_published() {
    let text = include_str!("../data/gsl-published.rules");
    let rules = load("gsl-published.rules", text);
    // A comment names the rules here that correspond to the published one.
    let mut shipped = BTreeMap::new();
    let conditions = conditions("gsl");
    for rule in &rules {
        let (_, names) = rule.doc.rsplit_once("Here").expect("the names of the rules here");
        let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
        let all: Vec<&str> = names
            .iter()
            .filter_map(|n| conditions.get(*n))
            .map(String::as_str)
            .collect();
        assert_eq!(all.len(), names.len(), "{}: {names:?}", rule.name);
        shipped.insert(rule.name.to_string(), all.join("; "));
    }
    check(&root().join("rules/gsl/README.md"), &rules, &shipped);
}
