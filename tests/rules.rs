//! Every rule file under `rules/`: examples fire, counter-examples do not, each condition has a counter-example of its
//! own, and both sides agree on random values.

#[path = "rules/values.rs"]
mod values;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tautomer::diag::Source;
use tautomer::graph::{Graph, Params, Workload};
use tautomer::lang::{format_expr, parse_rules};
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{CostModel, Encoded, Limits, encode, encode_into, saturate, substitute};
use tautomer::rule::{Class, Example, ExampleKind, Rule, RuleSet, library, library_files, load_rules};

use values::{difference, run};

/// A rule file.
struct RulesFile {
    name: String,
    text: String,
    set: RuleSet,
}

fn parse(name: &str, text: &str) -> RuleSet {
    parse_rules(Arc::new(Source::new(name, text)))
        .and_then(load_rules)
        .unwrap_or_else(|e| panic!("{}", e.render(false)))
}

/// All files below the folder, in order of their names.
fn walk(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, out);
        } else if path.extension().is_some_and(|suffix| suffix == "rules") {
            out.push(path);
        }
    }
}

/// Every rule file of the repository, whether built in or not, and the blocks of the document beside them.
fn files() -> &'static [RulesFile] {
    static FILES: OnceLock<Vec<RulesFile>> = OnceLock::new();
    FILES.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths = Vec::new();
        walk(&root.join("rules"), &mut paths);
        let load = |path: &std::path::PathBuf| {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let text = std::fs::read_to_string(path).unwrap();
            let set = parse(&name, &text);
            RulesFile { name, text, set }
        };
        let readme = std::fs::read_to_string(root.join("rules/README.md")).unwrap();
        let blocks = readme.split("```rules\n").skip(1).enumerate().map(|(i, block)| {
            let text = block.split("```").next().unwrap_or_default().to_owned();
            let name = format!("rules/README.md, block {}", i + 1);
            let set = parse(&name, &text);
            RulesFile { name, text, set }
        });
        paths.iter().map(load).chain(blocks).collect()
    })
}

impl RulesFile {
    /// The rules as they are written: each with its directions, the forward one first.
    fn rules(&self) -> Vec<&[Arc<Rule>]> {
        self.set
            .rules
            .chunk_by(|a, b| *b.name == *format!("{}-reversed", a.name))
            .collect()
    }

    /// The rule of an example.
    fn of_example(&self, example: &Example) -> &[Arc<Rule>] {
        self.rules().into_iter().find(|r| r[0].name == example.rule).unwrap()
    }

    fn examples_of(&self, rule: &Rule) -> impl Iterator<Item = &Example> {
        self.set.examples.iter().filter(|e| e.rule == rule.name)
    }
}

/// How many substitutions an example takes at most.
const MOST_STEPS: usize = 20;

/// Problems of all rules, reported together.
#[derive(Default)]
struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, rule: &str, message: impl std::fmt::Display) {
        self.0.push(format!("{rule}: {message}"));
    }
}

impl Drop for Problems {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.0.is_empty() {
            panic!("{} problems\n{}", self.0.len(), self.0.join("\n"));
        }
    }
}

fn compare(problems: &mut Problems, rule: &str, what: &str, class: Class, a: &Graph, b: &Graph) {
    for seed in 1..=4 {
        for special in [false, true] {
            if special && class != Class::Bitwise {
                continue;
            }
            match (run(a, seed, special), run(b, seed, special)) {
                (Ok(x), Ok(y)) => {
                    if x.len() != y.len() {
                        problems.add(rule, format!("{what}: {} results against {}", x.len(), y.len()));
                    }
                    if let Some(d) = x.iter().zip(&y).find_map(|(x, y)| difference(class, x, y)) {
                        problems.add(rule, format!("{what}, seed {seed}, special {special}: {d}"));
                        return;
                    }
                }
                // Types with symbols are compared in the e-graph alone.
                (Err(e), _) | (_, Err(e)) if e.contains("is not known") => return,
                (x, y) => {
                    problems.add(rule, format!("{what}: {:?} {:?}", x.err(), y.err()));
                    return;
                }
            }
        }
    }
}

/// Rules by which what a rule makes may differ from what its example says: axes that are none, shapes at hand.
fn identities() -> &'static [Arc<Rule>] {
    let file = files().iter().find(|f| f.name == "rules/identity.rules").unwrap();
    &file.set.rules
}

/// True if the results of both graphs are values of the same classes after saturation by the rules.
fn same_classes(a: &Graph, b: &Graph, rules: &[Arc<Rule>]) -> (usize, bool) {
    let mut encoded = encode(a);
    let wanted = encode_into(&mut encoded, a, b);
    let report = saturate(&mut encoded, rules, Limits::default());
    let same = |encoded: &Encoded| {
        let equal = |(a, b): (&_, &_)| encoded.egraph.find(*a) == encoded.egraph.find(*b);
        wanted.len() == encoded.roots.len() && encoded.roots.iter().zip(&wanted).all(equal)
    };
    if !same(&encoded) {
        saturate(&mut encoded, identities(), Limits::default());
    }
    (report.rules.iter().map(|r| r.1.applied).sum(), same(&encoded))
}

/// What the rule does to the program: applications, and whether the results are then those of `target`.
///
/// By saturation, and where that has nothing to do or another choice, by substitution: calls that look alike are one
/// value from the start in an e-graph, and a group of any size takes in the calls of `target`.
fn fire(rule: &Arc<Rule>, source: &Graph, target: Option<&Graph>) -> (usize, bool) {
    let rules = std::slice::from_ref(rule);
    let (applied, same) = same_classes(source, target.unwrap_or(source), rules);
    if applied > 0 && same {
        return (applied, true);
    }
    let (made, report) = substitute(source.clone(), rules, Some(MOST_STEPS), &CostModel::default());
    let same = target.is_none_or(|target| same_classes(&made, target, &[]).1);
    (applied + report.steps.len(), same)
}

#[test]
fn every_rule_is_documented_and_has_examples() {
    let mut problems = Problems::default();
    let built_in = |file: &&RulesFile| library_files().iter().any(|(name, _)| *name == file.name);
    let mut names = std::collections::BTreeMap::new();
    for (file, rule) in files()
        .iter()
        .filter(built_in)
        .flat_map(|f| f.set.rules.iter().map(move |r| (f, r)))
    {
        if let Some(before) = names.insert(&rule.name, &file.name) {
            problems.add(&rule.name, format!("in {before} and in {}", file.name));
        }
    }
    for file in files() {
        for directions in file.rules() {
            if directions[0].doc.trim().is_empty() {
                problems.add(&directions[0].name, "no documentation");
            }
            for rule in directions {
                let shown = |example: &Example| match &example.kind {
                    ExampleKind::Becomes(target) => matches!(fire(rule, &example.source, Some(target)), (1.., true)),
                    ExampleKind::MustNotFire => false,
                };
                if !file.examples_of(&directions[0]).any(shown) {
                    problems.add(&rule.name, "no example");
                }
            }
        }
        let blocks = file.text.split("\nrule ").skip(1);
        for block in blocks.filter(|_| built_in(&file)) {
            let body = block.split("\nexample ").next().unwrap_or("");
            if !body.contains("numerics ") {
                problems.add(&file.name, format!("no class: {}", body.lines().next().unwrap_or("")));
            }
        }
    }
}

#[test]
fn examples_fire_and_their_targets_are_equal() {
    let mut problems = Problems::default();
    for file in files() {
        for example in &file.set.examples {
            let directions = file.of_example(example);
            match &example.kind {
                ExampleKind::MustNotFire => {
                    for rule in directions {
                        if fire(rule, &example.source, None).0 > 0 {
                            problems.add(&rule.name, "fires on its counter-example");
                        }
                    }
                }
                ExampleKind::Becomes(target) => {
                    let outcomes: Vec<_> = directions
                        .iter()
                        .map(|rule| fire(rule, &example.source, Some(target)))
                        .collect();
                    if outcomes.iter().all(|o| o.0 == 0) {
                        problems.add(&example.rule, "does not fire on its example");
                    } else if !outcomes.iter().any(|o| matches!(o, (1.., true))) {
                        problems.add(&example.rule, "the target of the example is not what the rule makes");
                    }
                    let class = directions[0].class;
                    compare(&mut problems, &example.rule, "example", class, &example.source, target);
                }
            }
        }
    }
}

/// True if a match of the rule gets past the conditions, whether or not its target has a type.
fn gets_past_conditions(rule: &Rule, graph: &Graph) -> bool {
    let limits = Limits {
        iterations: 1,
        rewrites: Some(1),
        ..Limits::default()
    };
    let rules = [Arc::new(rule.clone())];
    let report = saturate(&mut encode(graph), &rules, limits);
    report.rules.iter().any(|(_, r)| r.applied + r.refused > 0)
        || !substitute(graph.clone(), &rules, Some(1), &CostModel::default()).1.steps.is_empty()
}

#[test]
fn each_condition_has_a_program_that_fails_it_alone() {
    let mut problems = Problems::default();
    for file in files() {
        for directions in file.rules() {
            let programs: Vec<&Graph> = file
                .examples_of(&directions[0])
                .filter(|e| matches!(e.kind, ExampleKind::MustNotFire))
                .map(|e| &e.source)
                .collect();
            for (i, &condition) in directions[0].conditions.iter().enumerate() {
                let fails_alone = |rule: &Arc<Rule>| {
                    let mut without = Rule::clone(rule);
                    without.conditions.remove(i);
                    programs
                        .iter()
                        .any(|program| gets_past_conditions(&without, program) && !gets_past_conditions(rule, program))
                };
                if !directions.iter().any(fails_alone) {
                    let text = format_expr(&directions[0].ast, condition);
                    problems.add(&directions[0].name, format!("no counter-example fails `{text}` alone"));
                }
            }
        }
    }
}

#[test]
fn all_rules_together_keep_the_examples_equal() {
    let mut problems = Problems::default();
    let limits = Limits {
        nodes: 5_000,
        ..Limits::default()
    };
    let library = library().unwrap_or_else(|e| panic!("{}", e.render(false)));
    for example in &library.examples {
        let options = Options {
            limits,
            fold: false,
            class: Class::Approx(1e-2),
            ..Options::default()
        };
        let workload = Workload {
            graph: example.source.clone(),
            params: Params::default(),
        };
        match optimize(workload, &options) {
            Ok(out) => {
                if out.report.stop == "node limit" {
                    problems.add(&example.rule, format!("node limit: {:?}", out.report.egraph));
                }
                if out.report.cost.1 > out.report.cost.0 * (1.0 + 1e-9) {
                    problems.add(&example.rule, format!("the cost grows: {:?}", out.report.cost));
                }
                let fired: String = out.report.rules.iter().fold(String::new(), |mut s, r| {
                    let _ = write!(s, " {}", r.name);
                    s
                });
                compare(
                    &mut problems,
                    &example.rule,
                    &format!("all rules ({})", fired.trim()),
                    Class::Approx(1e-3),
                    &example.source,
                    &out.workload.graph,
                );
            }
            Err(e) => problems.add(&example.rule, e.render(false)),
        }
    }
}

/// The table of the library in `rules/README.md`.
fn table() -> String {
    let mut out = String::new();
    for (name, text) in library_files() {
        let set = parse(name, text);
        let _ = write!(
            out,
            "\n### `{name}`\n\n| rule | algebra | class |\n| --- | --- | --- |\n"
        );
        for rule in set.rules.iter().filter(|r| !r.name.ends_with("-reversed")) {
            let doc = rule.doc.trim().replace('\n', " ").replace('|', "\\|");
            let assuming = rule
                .assuming
                .iter()
                .fold(String::new(), |s, a| format!("{s}, assuming `{a}`"));
            let _ = writeln!(out, "| `{}` | {doc} | {}{assuming} |", rule.name, rule.class);
        }
    }
    out
}

#[test]
fn readme_is_current() {
    const BEGIN: &str = "<!-- table of the library -->\n";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/README.md");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let head = text.split(BEGIN).next().unwrap_or("");
    let wanted = format!("{head}{BEGIN}{}", table());
    if std::env::var_os("UPDATE_RULES_README").is_some() {
        std::fs::write(path, wanted).unwrap_or_else(|e| panic!("{e}"));
    } else {
        assert!(
            text == wanted,
            "rules/README.md is stale: run the test with UPDATE_RULES_README=1"
        );
    }
}

/// The part of a document below a heading, up to the next one of that level or above.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let (level, _) = heading.split_once(' ').unwrap();
    let from = text
        .find(&format!("\n{heading}\n"))
        .unwrap_or_else(|| panic!("no `{heading}`"))
        + heading.len()
        + 2;
    let rest = &text[from..];
    let ends = |n: &usize| rest.find(&format!("\n{} ", "#".repeat(*n)));
    let end = (1..=level.len()).filter_map(|n| ends(&n)).min().unwrap_or(rest.len());
    &rest[..end]
}

#[test]
fn each_point_has_a_worked_example() {
    let text = include_str!("../rules/README.md");
    for point in ["Naming", "Class", "Conditions", "Direction", "Growth", "Families"] {
        let part = section(text, &format!("### {point}"));
        assert!(
            part.contains("```rules\n") && part.contains("\nexample "),
            "`{point}` has no worked example"
        );
    }
}

#[test]
fn passes_of_other_tools_have_rules_or_reasons() {
    let names: Vec<&str> = files().iter().flat_map(|f| &f.set.rules).map(|r| &*r.name).collect();
    let part = section(include_str!("../rules/README.md"), "## What other tools rewrite");
    let rows: Vec<&str> = part
        .lines()
        .filter(|l| l.starts_with("| ") && !l.starts_with("| pass") && !l.starts_with("| ---"))
        .collect();
    assert!(rows.len() > 90, "{} passes", rows.len());
    for row in rows {
        let answer = row.split('|').nth(2).unwrap_or_default().trim();
        assert!(!answer.is_empty(), "neither rule nor reason: {row}");
        for name in answer.split('`').skip(1).step_by(2).filter(|name| name.contains('-')) {
            assert!(names.contains(&name), "there is no rule `{name}`: {row}");
        }
    }
}
