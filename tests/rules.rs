//! Every rule of the library: its examples fire, its counter-examples do not, and both sides agree on random values.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::graph::{Graph, Node, Params, VertexId, Workload, interpret};
use tautomer::lang::parse_rules;
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{Limits, Saturation, encode, saturate};
use tautomer::rule::{Class, Example, ExampleKind, Rule, RuleSet, library, library_files, load_rules};
use tautomer::tensor::{DType, Tensor};

fn rules() -> &'static RuleSet {
    library().unwrap_or_else(|e| panic!("{}", e.render(false)))
}

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

/// A value for an input or parameter: by its name, so that two graphs get the same one.
fn value(graph: &Graph, v: VertexId, seed: u64, special: bool) -> Option<Tensor> {
    let ty = graph.ty(v).as_tensor()?;
    // Symbolic extents are 3.
    let shape: Vec<usize> = ty
        .shape
        .as_ref()?
        .iter()
        .map(|d| d.as_const().map_or(3, |n| n as usize))
        .collect();
    let name = graph.vertex(v).name.as_deref().unwrap_or("");
    let mut state = name.bytes().fold(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let x = (state >> 33) ^ (state >> 47);
        (x & 0xff_ffff) as f64 / f64::from(1u32 << 23) - 1.0
    };
    let n: usize = shape.iter().product();
    if ty.dtype.is_float() {
        let specials = [
            -0.0,
            0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e30,
            -1e30,
            1e-40,
        ];
        let data: Vec<f64> = (0..n)
            .map(|_| {
                let x = next() * 4.0;
                if special {
                    specials[(x.abs() * 1000.0) as usize % specials.len()]
                } else {
                    x
                }
            })
            .collect();
        Tensor::from_f64s(ty.dtype, &shape, &data)
    } else if ty.dtype == DType::Bool {
        let data: Vec<i128> = (0..n).map(|_| i128::from(next() > 0.0)).collect();
        Tensor::from_ints(ty.dtype, &shape, &data)
    } else {
        let signed = Tensor::from_ints(ty.dtype, &[], &[-1]).is_some_and(|t| t.to_ints() == Some(vec![-1]));
        let data: Vec<i128> = (0..n)
            .map(|_| {
                let x = (next() * 9.0) as i128;
                if x == 0 {
                    1
                } else if signed {
                    x
                } else {
                    x.abs()
                }
            })
            .collect();
        Tensor::from_ints(ty.dtype, &shape, &data)
    }
}

fn run(graph: &Graph, seed: u64, special: bool) -> Result<Vec<Tensor>, String> {
    interpret(graph, &|v| {
        matches!(graph.vertex(v).node, Node::Input | Node::Param)
            .then(|| value(graph, v, seed, special))
            .flatten()
    })
    .map_err(|e| e.to_string())
}

/// The first difference of two results.
fn difference(class: Class, a: &Tensor, b: &Tensor) -> Option<String> {
    if a.ty() != b.ty() {
        return Some(format!("{} against {}", a.ty(), b.ty()));
    }
    let (Some(x), Some(y)) = (a.to_f64s(), b.to_f64s()) else {
        return (a != b).then(|| "values differ".to_owned());
    };
    let scale = x
        .iter()
        .filter(|v| v.is_finite())
        .fold(0f64, |m, v| m.max(v.abs()))
        .max(1e-6);
    let unit = match a.dtype() {
        DType::F64 => 1e-12,
        DType::F32 => 2e-5,
        _ => 2e-2,
    };
    let allowed = match class {
        Class::Bitwise => 0.0,
        Class::Real => unit,
        Class::Approx(e) => e.max(unit),
    };
    x.iter()
        .zip(&y)
        .position(|(p, q)| match class {
            Class::Bitwise => !(p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan()),
            _ => !((p - q).abs() <= allowed * scale || p == q || p.is_nan() && q.is_nan()),
        })
        .map(|i| format!("element {i} is {:?} against {:?}", x[i], y[i]))
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

fn applied(saturation: &Saturation) -> usize {
    saturation.rules.iter().map(|r| r.1.applied).sum()
}

/// The rule of an example, with its other direction if it has one.
fn of_example(example: &Example) -> Vec<Arc<Rule>> {
    let reversed = format!("{}-reversed", example.rule);
    rules()
        .rules
        .iter()
        .filter(|r| r.name == example.rule || *r.name == *reversed)
        .cloned()
        .collect()
}

/// Results of both graphs land in the same classes of one e-graph.
fn same_class(source: &Graph, target: &Graph, rules: &[Arc<Rule>]) -> bool {
    let mut both = encode(source);
    let added = tautomer::rewrite::encode_into(&mut both, source, target);
    saturate(&mut both, rules, Limits::default());
    both.roots.len() == added.len()
        && both
            .roots
            .iter()
            .zip(&added)
            .all(|(a, b)| both.egraph.find(*a) == both.egraph.find(*b))
}

#[test]
fn every_rule_is_documented_and_has_examples() {
    let mut problems = Problems::default();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for example in &rules().examples {
        let entry = counts.entry(&example.rule).or_default();
        match example.kind {
            ExampleKind::Becomes(_) => entry.0 += 1,
            ExampleKind::MustNotFire => entry.1 += 1,
        }
    }
    for rule in rules().rules.iter().filter(|r| !r.name.ends_with("-reversed")) {
        let (examples, counter) = counts.get(&*rule.name).copied().unwrap_or_default();
        if rule.doc.trim().is_empty() {
            problems.add(&rule.name, "no documentation");
        }
        if examples == 0 {
            problems.add(&rule.name, "no example");
        }
        if !rule.conditions.is_empty() && counter == 0 {
            problems.add(&rule.name, "conditions, and no counter-example");
        }
    }
    for (name, text) in library_files() {
        for block in text.split("\nrule ").skip(1) {
            let body = block.split("\nexample ").next().unwrap_or("");
            if !body.contains("numerics ") {
                problems.add(name, format!("no class: {}", body.lines().next().unwrap_or("")));
            }
        }
    }
}

#[test]
fn examples_fire_and_their_targets_are_equal() {
    let mut problems = Problems::default();
    for example in &rules().examples {
        let rules = of_example(example);
        let mut encoded = encode(&example.source);
        let report = saturate(&mut encoded, &rules[..1], Limits::default());
        let fired = applied(&report);
        match &example.kind {
            ExampleKind::MustNotFire if fired > 0 => problems.add(&example.rule, "fires on its counter-example"),
            ExampleKind::MustNotFire => {}
            ExampleKind::Becomes(_) if fired == 0 => {
                problems.add(
                    &example.rule,
                    format!("does not fire on its example: {:?}", report.rules[0].1),
                );
            }
            ExampleKind::Becomes(target) => {
                compare(
                    &mut problems,
                    &example.rule,
                    "example",
                    rules[0].class,
                    &example.source,
                    target,
                );
                if !same_class(&example.source, target, &rules[..1]) {
                    problems.add(&example.rule, "the target of the example is not what the rule makes");
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
    for example in &rules().examples {
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
        let file = parse_rules(Arc::new(Source::new(*name, *text))).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let set = load_rules(file).unwrap_or_else(|e| panic!("{}", e.render(false)));
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
    for (i, block) in head.split("```rules\n").skip(1).enumerate() {
        let code = block.split("```").next().unwrap_or("");
        let loaded = parse_rules(Arc::new(Source::new(format!("example {i}"), code))).and_then(load_rules);
        if let Err(e) = loaded {
            panic!("{}", e.render(false));
        }
    }
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
