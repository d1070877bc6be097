//! Every rule file under `rules/`: examples match, counterexamples do not, each condition has its own counterexample,
//! and both sides agree on random values.

mod files;
mod readme;

use std::fmt::Write as _;
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{BuildOptions, Graph, Params, Workload, build_program, expand_composites, to_program};
use tautomer::lang::ast::RuleClass;
use tautomer::lang::{format_expr, format_program, parse_program};
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{CostModel, Encoded, Limits, encode, encode_into, saturate, substitute};
use tautomer::rule::{Class, Example, ExampleKind, Rule, composite_rules, library, library_files};
use tautomer::verify::{AuditOptions, audit};

use crate::values::{difference, run};
use files::{RulesFile, files};

/// The maximum number of substitutions in an example.
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
                // Types with symbols are compared only in the e-graph.
                (Err(e), _) | (_, Err(e)) if e.contains("is unknown") => return,
                (x, y) => {
                    problems.add(rule, format!("{what}: {:?} {:?}", x.err(), y.err()));
                    return;
                }
            }
        }
    }
}

/// Rules by which the result of a rule may differ from its example: empty lists of axes, known shapes.
fn identities() -> &'static [Arc<Rule>] {
    let file = files().iter().find(|f| f.name == "rules/identity.rules").unwrap();
    &file.set.rules
}

/// True if the results of both graphs are in the same classes after saturation with the rules.
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

/// Applies the rule to the program: the number of applications, and whether the results are then those of `target`.
///
/// By saturation, and where saturation has nothing to do or makes another choice, by substitution: in an e-graph,
/// identical calls are one value from the start, and a group of any size also includes the calls of `target`.
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

/// True if the conditions hold for some match of the rule, whether or not its target has a type.
fn gets_past_conditions(rule: &Rule, graph: &Graph) -> bool {
    let limits = Limits {
        iterations: 1,
        rewrites: Some(1),
        ..Limits::default()
    };
    let rules = [Arc::new(rule.clone())];
    let report = saturate(&mut encode(graph), &rules, limits);
    report.rules.iter().any(|(_, r)| r.applied + r.refused > 0)
        || !substitute(graph.clone(), &rules, Some(1), &CostModel::default())
            .1
            .steps
            .is_empty()
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
    let (mut enodes, mut unchecked) = (0, 0);
    for example in &library.examples {
        let options = Options {
            limits,
            fold: false,
            class: Class::Approx(1e-2),
            explore: true,
            ..Options::default()
        };
        let workload = Workload {
            graph: example.source.clone(),
            params: Params::default(),
        };
        match optimize(workload, &options) {
            Ok(out) => {
                let explored = out.explored.expect("what was explored is kept");
                let approximate = out.report.class.starts_with("approx");
                let audited = AuditOptions {
                    shapes: 1,
                    class: if approximate { Class::Approx(1e-2) } else { Class::Real },
                    ..AuditOptions::default()
                };
                let audit = audit(&example.source, &Params::default(), &explored, &audited);
                enodes += audit.enodes;
                unchecked += audit.unchecked;
                if let Some(fault) = &audit.fault {
                    problems.add(&example.rule, format!("{audit} {fault:#?}"));
                }
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
    assert!(
        20 * unchecked <= enodes,
        "{unchecked} of {enodes} e-nodes are unchecked"
    );
}

/// The program with one of its parameters turned into an input, for each of them, and with all of them turned into
/// inputs.
fn with_more_inputs(graph: &Graph) -> Vec<Graph> {
    let text = format_program(&to_program(graph));
    let one = |(at, word): (usize, &str)| format!("{}{}", &text[..at], &text[at + word.len()..]);
    let texts = text
        .match_indices("param ")
        .map(one)
        .chain([text.replace("param ", "")]);
    let build = |text: String| {
        let program = parse_program(Arc::new(Source::new("example", text))).ok()?;
        build_program(&program, &BuildOptions::default()).ok()
    };
    texts.filter_map(build).collect()
}

#[test]
fn each_static_variable_has_a_reason() {
    let mut problems = Problems::default();
    for file in files() {
        for directions in file.rules() {
            let becomes = |e: &&Example| matches!(e.kind, ExampleKind::Becomes(_));
            let examples = file.examples_of(&directions[0]).filter(becomes);
            let programs: Vec<Graph> = examples.flat_map(|e| with_more_inputs(&e.source)).collect();
            for (i, variable) in directions[0].variables.iter().enumerate() {
                let needed = |rule: &Arc<Rule>| {
                    let mut without = Rule::clone(rule);
                    without.variables[i].class = RuleClass::Any;
                    programs
                        .iter()
                        .any(|program| gets_past_conditions(&without, program) && !gets_past_conditions(rule, program))
                };
                if variable.class == RuleClass::Param && !directions.iter().any(needed) {
                    problems.add(
                        &directions[0].name,
                        format!("nothing changes if `{}` is any value", variable.name),
                    );
                }
            }
        }
    }
}

#[test]
fn every_body_is_recognised() {
    let rules = composite_rules().unwrap_or_else(|e| panic!("{}", e.render(false)));
    assert!(rules.len() >= 3, "{rules:?}");
    for rule in rules {
        let name = rule.name.strip_suffix("-written-out").unwrap().replace('-', "_");
        let names: Vec<&str> = rule.variables.iter().map(|v| &*v.name).collect();
        let inputs: Vec<String> = names.iter().map(|n| format!("{n}: f32[2, 3, 4, 5]")).collect();
        let text = format!("fn main({}) {{ {name}({}) }}", inputs.join(", "), names.join(", "));
        let program = parse_program(Arc::new(Source::new("body", text))).unwrap();
        let mut graph = build_program(&program, &BuildOptions::default()).unwrap();
        expand_composites(&mut graph, &|def| def.name == name).unwrap();
        let report = saturate(&mut encode(&graph), std::slice::from_ref(rule), Limits::default());
        assert!(
            report.rules[0].1.applied > 0,
            "{} does not recognise its body",
            rule.name
        );
    }
}
