use std::sync::Arc;

use super::*;
use tautomer_diag::Source;
use tautomer_graph::{BuildOptions, VertexId, Workload, build_program, interpret};
use tautomer_lang::{parse_program, parse_rules};
use tautomer_rewrite::{CostModel, Limits as RunLimits, encode, saturate_explained, substitute_explored};
use tautomer_rule::{Rule, composite_rules, library, load_rules};
use tautomer_tensor::Tensor;

fn workload(text: &str) -> Workload {
    let program = parse_program(Arc::new(Source::new("test", text))).unwrap();
    let graph = build_program(&program, &BuildOptions::default()).unwrap_or_else(|e| panic!("{}", e.render(false)));
    Workload {
        graph,
        params: Params::default(),
    }
}

fn rules(text: &str) -> Vec<Arc<Rule>> {
    let set = parse_rules(Arc::new(Source::new("test.rules", text))).and_then(load_rules);
    set.unwrap_or_else(|e| panic!("{}", e.render(false))).rules
}

fn all_rules() -> Vec<Arc<Rule>> {
    let rules = library().unwrap().rules.iter().chain(composite_rules().unwrap());
    rules.filter(|r| r.assuming.is_empty()).cloned().collect()
}

/// The terms that both engines explore.
fn explored(graph: &Graph, rules: &[Arc<Rule>]) -> [Explored; 2] {
    let mut encoded = encode(graph);
    let limits = RunLimits {
        nodes: 2_000,
        ..RunLimits::default()
    };
    let saturation = saturate_explained(&mut encoded, rules, limits);
    let (_, done) = substitute_explored(graph.clone(), rules, None, &CostModel::default());
    [saturation.explored(graph, &encoded).unwrap(), done.explored.unwrap()]
}

fn audits(text: &str, rules: &[Arc<Rule>]) -> [Audit; 2] {
    let workload = workload(text);
    explored(&workload.graph, rules)
        .map(|explored| audit(&workload.graph, &workload.params, &explored, &Options::default()))
}

const PROGRAMS: [&str; 5] = [
    "fn main(x: f32[n, 8], param w: f32[8, 4], param b: f32[4]) { softmax(gelu(matmul(x, w) + b + 0.0)) }",
    "fn main(x: f32[2, 3, 6, 6], param w: f32[4, 3, 3, 3], param v: f32[4, 3, 3, 3]) {
       relu(relu(conv2d(x, w) + conv2d(x, v))) }",
    "fn main(x: f32[n, 6], y: f32[n, m]) { let s = split(x) {axis = 1, sizes = [2, 4]};
       concat(-(-s.1), s.0, y * 2.0 * 3.0) {axis = 1} }",
    "fn main(x: f32[n, 64, h, w]) { let s = reduce_mean(x) {axes = [2, 3], keepdims = false};
       x * reshape(s) {shape = [n, 64, 1, 1]} }",
    "fn main(i: i64[n], x: f32[n, 4]) { gather(transpose(transpose(x)), i * 1) {axis = 0} }",
];

#[test]
fn every_class_of_the_library_has_one_value() {
    let rules = all_rules();
    for program in PROGRAMS {
        for (engine, audit) in ["saturate", "substitute"].iter().zip(audits(program, &rules)) {
            assert!(audit.is_right(), "{engine}: {audit} {:?}\n{program}", audit.fault);
            assert_eq!(audit.unchecked, 0, "{engine}: {audit}\n{program}");
            assert!(audit.field > 0 && audit.classes <= audit.enodes);
        }
    }
}

#[test]
fn symbols_are_bound_several_times() {
    let [audit, _] = audits(PROGRAMS[2], &all_rules());
    assert_eq!(audit.shapes.len(), 3);
    assert_eq!(audit.shapes[0], "n = 2, m = 3");
    let [audit, _] = audits(PROGRAMS[1], &[]);
    assert_eq!(audit.shapes, [String::new()]);
}

/// Wrong rules, each with a program to which it is applied among correct ones.
const WRONG: [(&str, &str); 7] = [
    (
        "rule wrong(x) { relu(x) => x numerics real }",
        "fn main(x: f32[n]) { relu(x * 1.0) + 0.0 }",
    ),
    (
        "rule wrong(x, y) { x - y => y - x numerics real }",
        "fn main(x: f32[3], y: f32[3]) { relu(relu(x - y)) }",
    ),
    (
        "rule wrong(x) { -(-x) => -x numerics real }",
        "fn main(x: f32[3]) { -(-(x + 0.0)) }",
    ),
    (
        "rule wrong(x) { transpose(x) {perm = [1, 0]} => x numerics real }",
        "fn main(x: f32[n, n]) { transpose(relu(x)) * 1.0 }",
    ),
    (
        "rule wrong(x) { let s = split(x) {axis = k, sizes = z, ..r}; concat(s.1, s.0) {axis = k} => x numerics real }",
        "fn main(x: f32[4, n]) { let s = split(x) {axis = 0, sizes = [1, 3]}; relu(concat(s.1, s.0) {axis = 0}) }",
    ),
    (
        "rule wrong(x, a, b) { matmul(matmul(x, a), b) => matmul(x, matmul(b, a)) numerics real }",
        "fn main(x: f32[n, 3], a: f32[3, 3], b: f32[3, 3]) { relu(matmul(matmul(x, a), b)) }",
    ),
    (
        "rule wrong(x) { max(x, 1.0) => max(x, 1.5) numerics real }",
        "fn main(x: f32[8]) { max(x * 1.0, 1.0) }",
    ),
];

#[test]
fn a_wrong_rule_is_named() {
    for (wrong, program) in WRONG {
        let mut all = all_rules();
        all.extend(rules(&format!("/// Wrong.\n{wrong}")));
        let workload = workload(program);
        for (i, explored) in explored(&workload.graph, &all).iter().enumerate() {
            // Substitution may end before it applies the rule.
            if !explored.unions.iter().any(|u| &*u.step.rule == "wrong") {
                assert_eq!(i, 1, "{wrong}");
                continue;
            }
            let audit = audit(&workload.graph, &workload.params, explored, &Options::default());
            let fault = audit.fault.unwrap_or_else(|| panic!("nothing is found: {wrong}"));
            let step = fault.step.unwrap_or_else(|| panic!("nobody is blamed: {wrong}"));
            assert_eq!(&*step.rule, "wrong", "{}\n{}", fault.left, fault.right);
        }
    }
}

#[test]
fn a_fault_shows_both_terms_and_an_element() {
    let wrong = rules("/// Wrong.\nrule wrong(x, y) { relu(x) + relu(y) => relu(x + y) numerics real }");
    let [audit, _] = audits(
        "fn main(a: f32[n, 2], b: f32[n, 2]) { let h = tanh(a); relu(h) + relu(b) }",
        &wrong,
    );
    let fault = audit.fault.unwrap();
    assert_eq!(
        fault.left,
        "fn main(h: f32[n, 2], b: f32[n, 2]) {\n  relu(h) + relu(b)\n}\n"
    );
    assert_eq!(fault.right, "fn main(h: f32[n, 2], b: f32[n, 2]) {\n  relu(h + b)\n}\n");
    assert_eq!(
        (fault.shapes.as_str(), fault.element.map(|e| e.len())),
        ("n = 2", Some(2))
    );
    assert_ne!(fault.expected, fault.found);
    assert_eq!(audit.broken, 1);
}

#[test]
fn calls_without_a_definition_may_have_any_value() {
    let program = "opaque mystery(x: f32[4, 2]) -> f32[4, 2];\nfn main(x: f32[4, 2]) { relu(relu(mystery(x * 1.0))) }";
    let [audit, _] = audits(program, &all_rules());
    assert!(audit.is_right() && audit.free == 1 && audit.unchecked == 0, "{audit}");
    assert!(
        audit.to_string().contains("without a definition 1, unchecked 0"),
        "{audit}"
    );
}

#[test]
fn a_budget_leaves_the_rest_unchecked() {
    let workload = workload("fn main(x: f32[64, 64], y: f32[64, 64]) { relu(matmul(x * 1.0, y)) }");
    let [explored, _] = explored(&workload.graph, &all_rules());
    let options = Options {
        limits: Limits {
            operations: 100_000,
            ..Options::default().limits
        },
        ..Options::default()
    };
    let report = audit(&workload.graph, &workload.params, &explored, &options);
    assert!(
        report.is_right() && report.unchecked >= 2 && report.over_budget >= 1,
        "{report}"
    );
    assert!(report.field > 0, "{report}");
    // With a machine, larger calls are computed too.
    let machine = |graph: &Graph, inputs: &[Tensor]| {
        let place = |v: VertexId| graph.inputs().iter().position(|&u| u == v);
        interpret(graph, &|v| inputs.get(place(v)?).cloned()).map_err(|e| e.to_string())
    };
    let options = Options {
        machine: Some(&machine),
        ..options
    };
    let report = audit(&workload.graph, &workload.params, &explored, &options);
    assert!(
        report.is_right() && report.single == 2 && report.unchecked == 0,
        "{report}"
    );
    assert!(report.to_string().contains(", f32 "), "{report}");
}
