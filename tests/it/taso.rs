//! The rules of TASO: the published file can be converted, and the set in `rules/taso` is correct: examples, a
//! counterexample for each condition, and random instances of every rule, computed with the reference semantics.

mod random;

use std::collections::BTreeSet;
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::formats::taso::import_rules;
use tautomer::graph::{Graph, Node, VertexId, interpret};
use tautomer::lang::ast::{Ast, Item, LetNames, Side};
use tautomer::lang::{format_expr, format_rules, parse_rules};
use tautomer::rewrite::{Limits, RuleReport, encode, encode_into, saturate};
use tautomer::rule::{Class, Example, ExampleKind, Rule, RuleSet, library_set_files, load_rules};
use tautomer::tensor::{Dim, Tensor};

use self::random::{Random, instance, program};

/// A rule with the text of its sides, for making programs from it.
struct Loaded {
    rule: Arc<Rule>,
    source: String,
    target: String,
    examples: Vec<Example>,
}

fn load(name: &str, text: &str) -> Vec<Loaded> {
    let file = parse_rules(Arc::new(Source::new(name, text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
    let sides: Vec<(Arc<str>, String, String)> = file
        .items
        .iter()
        .filter_map(|item| match item {
            Item::Rule(rule) => {
                let source = lets(&file.ast, &rule.source);
                let target = format!("{source}{}", side(&file.ast, &rule.target));
                Some((rule.name.name.clone(), side(&file.ast, &rule.source), target))
            }
            _ => None,
        })
        .collect();
    let RuleSet { rules, examples, .. } = load_rules(file).unwrap_or_else(|e| panic!("{}", e.render(false)));
    rules
        .into_iter()
        .zip(sides)
        .map(|(rule, (name, source, target))| Loaded {
            examples: examples.iter().filter(|e| e.rule == name).cloned().collect(),
            rule,
            source,
            target,
        })
        .collect()
}

fn lets(ast: &Ast, side: &Side) -> String {
    let one = |item: &tautomer::lang::ast::Let| match &item.names {
        LetNames::One(name) => format!("let {} = {}; ", name.name, format_expr(ast, item.value)),
        LetNames::Tuple(_) => panic!("a name for each value"),
    };
    side.lets.iter().map(one).collect()
}

fn side(ast: &Ast, side: &Side) -> String {
    lets(ast, side) + &format_expr(ast, side.outputs)
}

fn files() -> &'static [(&'static str, &'static str)] {
    &library_set_files().iter().find(|(name, _)| *name == "taso").unwrap().1
}

fn all() -> Vec<Loaded> {
    files().iter().flat_map(|(name, text)| load(name, text)).collect()
}

/// The number of a rule in TASO's file.
fn number(name: &str) -> usize {
    name.split('-').nth(1).and_then(|n| n.parse().ok()).unwrap()
}

/// Values of the outputs for inputs determined by their names; `odd` inputs include zeros of both signs, infinities and
/// NaN.
fn values(graph: &Graph, seed: u64, odd: bool) -> Option<Vec<Tensor>> {
    let value = |v: VertexId| {
        if !matches!(graph.vertex(v).node, Node::Input | Node::Param) {
            return None;
        }
        let ty = graph.ty(v).as_tensor()?;
        let shape = ty.shape.as_ref()?.to_concrete()?;
        let name = graph.vertex(v).name.as_deref().unwrap_or("");
        let mut random = Random(name.bytes().fold(seed, |h, b| h.wrapping_mul(31) + u64::from(b)));
        // With integers, sums and products are exact, so the sides either agree or do not.
        let odd_ones = [-0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e30, -1e30, 1.5];
        let mut number = || {
            if odd {
                random.of(&odd_ones)
            } else {
                random.below(11) as f64 - 5.0
            }
        };
        let data: Vec<f64> = (0..shape.iter().product()).map(|_| number()).collect();
        Tensor::from_f64s(ty.dtype, &shape, &data)
    };
    interpret(graph, &value).ok()
}

/// True if there are values and they are the same; bit by bit for rules that promise it, except for NaN payloads.
fn agree(rule: &Rule, a: &Graph, b: &Graph, seed: u64) -> bool {
    let bits = |graph: &Graph| -> Option<Vec<(String, Vec<u64>)>> {
        let odd = rule.class == Class::Bitwise && seed.is_multiple_of(2);
        let outputs = values(graph, seed, odd)?;
        let one = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
        let zero = |x: f64| if odd { x } else { x + 0.0 };
        let all = |t: &Tensor| {
            Some((
                t.ty().to_string(),
                t.to_f64s()?.into_iter().map(|x| one(zero(x))).collect(),
            ))
        };
        outputs.iter().map(all).collect()
    };
    let (a, b) = (bits(a), bits(b));
    a.is_some() && a == b
}

fn report(graph: &Graph, rule: &Arc<Rule>) -> RuleReport {
    let limits = Limits {
        iterations: 1,
        ..Limits::default()
    };
    let report = saturate(&mut encode(graph), std::slice::from_ref(rule), limits);
    report.rules[0].1.clone()
}

/// The rule with all conditions except this one.
fn without(rule: &Rule, condition: usize) -> Arc<Rule> {
    let mut rule = rule.clone();
    rule.conditions.remove(condition);
    Arc::new(rule)
}

#[test]
fn published_rules_convert_and_load() {
    let Some(path) = tautomer_testing::shared_data("taso/graph_subst.pb") else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let rules = import_rules("graph_subst.pb", &bytes, "taso").unwrap_or_else(|e| panic!("{}", e.render(false)));
    let left_out =
        [&rules.saying_nothing, &rules.repeated].map(|names| names.iter().map(|n| number(n)).collect::<Vec<_>>());
    assert_eq!(left_out, [vec![63, 64, 65, 66], vec![91, 105, 117, 128, 130, 131]]);
    let refused: Vec<usize> = rules.refused.iter().map(|(name, _)| number(name)).collect();
    assert_eq!(refused, [70, 81, 95, 120]);
    let published = load("graph_subst.rules", &rules.text);
    assert_eq!((rules.written, published.len()), (119, 119));
    let parsed = parse_rules(Arc::new(Source::new("graph_subst.rules", rules.text.as_str()))).unwrap();
    assert_eq!(format_rules(&parsed), rules.text);
    // These are the shipped rules.
    let names: BTreeSet<&str> = published.iter().map(|r| &*r.rule.name).collect();
    for shipped in all() {
        assert!(names.contains(&*shipped.rule.name), "{}", shipped.rule.name);
    }
    // A truncated file is either rejected or ends between two rules.
    for cut in (0..bytes.len()).step_by(97) {
        if let Ok(part) = import_rules("graph_subst.pb", &bytes[..cut], "taso") {
            assert!(part.written < 119);
        }
    }
}

#[test]
fn the_command_writes_rules_and_says_what_became_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tautomer"));
        let out = command.args(args).current_dir(folder.path()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (out.status.code(), text(out.stdout), text(out.stderr))
    };
    let lines = "(relu (relu ?a))=>(relu ?a)\n(relu (relu ?b))=>(relu ?b)\n(conv2d 1 1 0 2 ?x ?w)=>(relu (conv2d 1 1 0 0 ?x ?w))\n";
    std::fs::write(path("r.txt"), lines).unwrap();
    let (code, out, err) = run(&["rules", "import", "r.txt", "-o", "r.rules"]);
    assert_eq!((code, out.as_str()), (Some(0), ""));
    assert_eq!(err, "3 rules: 1 written, 1 trivial, 1 duplicates, 0 not expressible\n");
    let written = std::fs::read_to_string(path("r.rules")).unwrap();
    assert!(written.contains("rule taso-0-relu-of-relu(x1) {"), "{written}");
    assert_eq!(run(&["rules", "check", "r.rules"]).0, Some(0));
    assert_eq!(run(&["rules", "import", "r.txt"]).1, written);
    let (_, json, _) = run(&["rules", "import", "r.txt", "--json", "--prefix", "mine"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["written"], &json["repeated"][0]),
        (&1.into(), &"mine-1-relu-of-relu".into())
    );
    // A rejected file leaves the old one unchanged.
    std::fs::write(path("r.txt"), "(relu ?a)=>(relu ?a\n").unwrap();
    let (code, _, err) = run(&["rules", "import", "r.txt", "-o", "r.rules"]);
    assert!(code == Some(2) && err.contains("r.txt:1:12"), "{err}");
    assert_eq!(std::fs::read_to_string(path("r.rules")).unwrap(), written);
    std::fs::write(path("r.pb"), b"\x0a\x05ab").unwrap();
    let (code, _, err) = run(&["rules", "import", "r.pb"]);
    assert!(
        code == Some(2) && err.contains("r.pb: byte 0: rule 0 has 5 bytes, but 2 are left"),
        "{err}"
    );
    assert_eq!(run(&["rules", "import", "none.pb"]).0, Some(2));
    assert_eq!(run(&["rules", "import", "r.txt", "--prefix", "1x"]).0, Some(2));
}

#[test]
fn every_published_rule_has_a_row() {
    let readme = include_str!("../../rules/taso/README.md");
    let names: BTreeSet<String> = all().iter().map(|r| r.rule.name.to_string()).collect();
    let mut seen = BTreeSet::new();
    let mut numbers = Vec::new();
    for row in readme.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = row.split(" | ").map(|cell| cell.trim_matches(['|', ' '])).collect();
        let Ok(n) = cells[0].parse::<usize>() else { continue };
        numbers.push(n);
        let name = cells[1].trim_matches('`');
        assert_eq!(name != "–", names.contains(name), "{row}");
        if name != "–" {
            assert_eq!(cells[2].starts_with("the same"), number(name) != n, "{row}");
            seen.insert(name.to_owned());
        }
    }
    assert_eq!(numbers, (0..133).collect::<Vec<_>>());
    assert_eq!(seen, names);
}

#[test]
fn files_are_formatted_and_documented() {
    for (name, text) in files() {
        let file = parse_rules(Arc::new(Source::new(*name, *text))).unwrap();
        assert_eq!(format_rules(&file), *text, "{name}");
    }
    for Loaded { rule, .. } in all() {
        assert!(
            rule.doc.contains(&format!("TASO {}", number(&rule.name))),
            "{}",
            rule.name
        );
        assert!(matches!(rule.class, Class::Bitwise | Class::Real), "{}", rule.name);
    }
}

#[test]
fn examples_fire_and_agree() {
    for Loaded { rule, examples, .. } in all() {
        let mut fired = 0;
        for example in &examples {
            let applied = report(&example.source, &rule).applied;
            let ExampleKind::Becomes(target) = &example.kind else {
                assert_eq!(applied, 0, "{} fires on its counter-example", rule.name);
                continue;
            };
            assert!(applied > 0, "{} does not fire on its example", rule.name);
            fired += 1;
            let mut both = encode(&example.source);
            let added = encode_into(&mut both, &example.source, target);
            saturate(&mut both, std::slice::from_ref(&rule), Limits::default());
            let same = both
                .roots
                .iter()
                .zip(&added)
                .all(|(a, b)| both.egraph.find(*a) == both.egraph.find(*b));
            assert!(same, "{}: its example shows another target", rule.name);
            for seed in 1..4 {
                assert!(
                    agree(&rule, &example.source, target, seed),
                    "{}: the example is wrong",
                    rule.name
                );
            }
        }
        assert!(fired > 0, "{} has no example", rule.name);
    }
}

#[test]
fn every_condition_is_needed() {
    let mut missing = Vec::new();
    for Loaded { rule, examples, .. } in all() {
        for i in 0..rule.conditions.len() {
            let looser = without(&rule, i);
            // Without the condition the rule fires; or, on operands with unknown ranks or dimensions, it would, if engines
            // did not try which types these may have.
            let shown = examples.iter().any(|example| {
                let graph = &example.source;
                let is_open = |v: &VertexId| {
                    let shape = graph.ty(*v).as_tensor().map(|ty| ty.shape.as_ref());
                    shape.is_some_and(|shape| shape.is_none_or(|dims| dims.iter().any(Dim::has_unknown)))
                };
                let found = report(graph, &looser);
                let fires = found.applied > 0 || found.refused > 0 && graph.inputs().iter().any(is_open);
                matches!(example.kind, ExampleKind::MustNotFire) && fires
            });
            if !shown {
                missing.push(format!(
                    "{}: `{}`",
                    rule.name,
                    format_expr(&rule.ast, rule.conditions[i])
                ));
            }
        }
    }
    assert!(missing.is_empty(), "no counter-example needs\n{}", missing.join("\n"));
}

/// Every rule matches random instances that satisfy its conditions; the target then has a type, and the same value.
#[test]
fn random_instances_agree() {
    const WANTED: usize = 12;
    for loaded in all() {
        let rule = &loaded.rule;
        let mut random = Random(number(&rule.name) as u64 + 1);
        let mut agreed = 0;
        for _ in 0..6000 {
            let (shapes, attrs) = instance(&loaded, &mut random);
            let Some(source) = program(&loaded, &loaded.source, &shapes, &attrs) else {
                continue;
            };
            if report(&source, rule).applied == 0 {
                continue;
            }
            let target = program(&loaded, &loaded.target, &shapes, &attrs);
            let target = target.unwrap_or_else(|| panic!("{}: the target of {shapes:?} has no type", rule.name));
            for seed in 1..3 {
                assert!(
                    agree(rule, &source, &target, seed),
                    "{}: wrong for {shapes:?} {attrs:?}",
                    rule.name
                );
            }
            agreed += 1;
            if agreed == WANTED {
                break;
            }
        }
        assert_eq!(agreed, WANTED, "{}: too few instances", rule.name);
    }
}
