//! Wrong rules are refuted, and the built-in rules are not.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::compare::comparer::Comparer;
use crate::compare::finding::Finding;
use crate::instance::legalized;
use crate::instance::mutate::{RuleNumbers, mutated};
use crate::instance::seeds::seeds;
use crate::verdict::lock::Entry;
use crate::verdict::report::Counterexample;
use crate::verdict::shipped::Subject;
use tautomer_diag::Source;
use tautomer_lang::parse_rules;
use tautomer_rule::{RuleSet, composite_rules, library, library_set, load_rules};
use tautomer_tensor::Tensor;

fn load(text: &str) -> RuleSet {
    match parse_rules(Arc::new(Source::new("test.rules", text))).and_then(load_rules) {
        Ok(set) => set,
        Err(problems) => panic!("{}", problems.render(false)),
    }
}

/// Descriptions of refuted rules, and of undecided ones.
fn unsound(reports: &[Report]) -> (Vec<String>, Vec<String>) {
    let mut refuted = Vec::new();
    let mut undecided = Vec::new();
    for report in reports {
        match &report.verdict {
            Verdict::Refuted(example) => refuted.push(format!(
                "{}: {} ({} against {}) output {} at {:?}\n{}{}values {:?}",
                report.rule.name,
                example.fault,
                example.expected,
                example.found,
                example.output,
                example.element,
                tautomer_lang::format_program(&tautomer_graph::to_program(&example.source)),
                tautomer_lang::format_program(&tautomer_graph::to_program(&example.target)),
                example.values,
            )),
            Verdict::Undecided(why) => undecided.push(format!("{}: {why}", report.rule.name)),
            _ => {}
        }
    }
    (refuted, undecided)
}

/// Verifies rules at a few instances; `tautomer verify --built-in` does at as many as their stored verdicts used.
fn check_rules(subjects: &[Subject]) {
    let options = Options {
        instances: 10,
        attempts: 6,
        prove: false,
        patterns: 1 << 12,
        ..Options::default()
    };
    let subjects: Vec<&Subject> = subjects.iter().collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let reports = verify_all(&subjects, &options, threads, |_, report| report, |_| Ok::<(), ()>(())).unwrap();
    let (refuted, undecided) = unsound(&reports);
    assert!(refuted.is_empty(), "{} refuted:\n{}", refuted.len(), refuted.join("\n"));
    let count = undecided.len();
    assert!(undecided.is_empty(), "{count} undecided:\n{}", undecided.join("\n"));
}

fn check_set(set: RuleSet) {
    let subjects: Vec<Subject> = Subject::of(&set.rules, set.examples.into()).collect();
    assert!(subjects.len() > 20);
    check_rules(&subjects);
}

#[test]
fn rules_of_the_library_are_not_refuted() {
    check_set(library().unwrap().clone());
}

#[test]
fn rules_of_bodies_are_not_refuted() {
    let rules = composite_rules().unwrap();
    check_rules(&Subject::of(rules, Arc::new([])).collect::<Vec<_>>());
}

#[test]
fn rules_of_gsl_are_not_refuted() {
    check_set(library_set("gsl").unwrap().unwrap());
}

#[test]
fn rules_of_taso_are_not_refuted() {
    check_set(library_set("taso").unwrap().unwrap());
}

#[test]
fn verdicts_do_not_depend_on_threads() {
    let text = "/// Wrong.\nrule a(x, y) { relu(x + y) => relu(x) + relu(y) numerics real }
        /// Right.\nrule b(x, y) { x * y => y * x numerics bitwise }
        /// Wrong.\nrule c(x, y) { matmul(x, y) => matmul(y, x) numerics real }
        /// Right.\nrule d(x, y, z) { (x + y) + z => x + (y + z) numerics real }";
    let set = load(text);
    let subjects: Vec<Subject> = Subject::of(&set.rules, Arc::new([])).collect();
    let subjects: Vec<&Subject> = subjects.iter().collect();
    let options = Options {
        prove: false,
        ..Options::default()
    };
    let run = |threads| {
        let mut seen = Vec::new();
        let all = verify_all(
            &subjects,
            &options,
            threads,
            |subject, report| format!("{:?}", Entry::new(subject, &report, &options)),
            |entry: &String| {
                seen.push(entry.clone());
                Ok::<(), ()>(())
            },
        );
        (all.unwrap(), seen)
    };
    let (alone, in_order) = run(1);
    assert_eq!(alone.len(), 4);
    assert_eq!(alone, in_order);
    assert_eq!(run(3), (alone.clone(), alone.clone()));
    assert_eq!(run(3), (alone.clone(), alone));
}

#[test]
fn an_error_of_the_caller_ends_the_work() {
    let set = load("/// Right.\nrule b(x, y) { x * y => y * x numerics bitwise }");
    let subject = Subject::of(&set.rules, Arc::new([])).next().unwrap();
    let subjects = vec![&subject; 50];
    let options = Options {
        instances: 2,
        ..Options::default()
    };
    let mut seen = 0;
    let refused = verify_all(
        &subjects,
        &options,
        2,
        |_, report| report.instances,
        |_| {
            seen += 1;
            if seen == 3 { Err("enough") } else { Ok(()) }
        },
    );
    assert_eq!((refused, seen), (Err("enough"), 3));
}

/// Rules that are wrong somewhere, each with the faults that may be reported.
const WRONG: &[(&str, &[Fault], &str)] = &[
    (
        "shifts of which the condition admits one pair besides the obvious one",
        &[Fault::Values],
        "rule r(x) {
           roll(roll(x) {shifts = [k], axes = [0]}) {shifts = [j], axes = [0]} => roll(x) {shifts = [1], axes = [0]}
           where k * (j + 1) == 1 numerics bitwise
         }",
    ),
    (
        "constants of which the condition admits few pairs",
        &[Fault::Values],
        "rule r(x, c: const, d: const) {
           x * c + d => x + d where c.size == 1, d.size == 1, value(c) * (value(d) + 1) == 1 numerics real
         }",
    ),
    (
        "product of matrices commutes",
        &[Fault::Types, Fault::Values],
        "rule r(a, b) { matmul(a, b) => matmul(b, a) numerics real }",
    ),
    (
        "relu of a sum",
        &[Fault::Types, Fault::Values],
        "rule r(a, b) { relu(a + b) => relu(a) + relu(b) numerics real }",
    ),
    (
        "sum of convolutions under groups",
        &[Fault::Values],
        "rule r(x, y, w, v) {
           conv(x, w) {..a} + conv(y, v) {..a}
           => conv(concat(x, y) {axis = 1}, concat(w, v) {axis = 1}) {..a}
           numerics real
         }",
    ),
    (
        "convolution of a sum of kernels of other shapes",
        &[Fault::Types, Fault::Values],
        "rule r(x, w, v) { conv(x, w) {..a} + conv(x, v) {..a} => conv(x, w + v) {..a} numerics real }",
    ),
    (
        "permutations composed the wrong way round",
        &[Fault::Types, Fault::Values],
        "rule r(x) {
           transpose(transpose(x) {perm = p}) {perm = q} => transpose(x) {perm = [q[i] for i in p]}
           where x.rank == 3
           numerics bitwise
         }",
    ),
    (
        "parts of a split swapped",
        &[Fault::Types, Fault::Values],
        "rule r(x) {
           let s = split(x) {axis = a, sizes = [m, n], num_outputs = _};
           (s.0, s.1)
           =>
           let t = split(x) {axis = a, sizes = [n, m]};
           (t.1, t.0)
           numerics bitwise
         }",
    ),
    (
        "concatenation commutes",
        &[Fault::Types, Fault::Values],
        "rule r(x, y) { concat(x, y) {axis = a} => concat(y, x) {axis = a} numerics bitwise }",
    ),
    (
        "broadcasting lost with a zero",
        &[Fault::Types, Fault::Values],
        "rule r(x, y) { x * (y * 0) => y * 0 numerics real }",
    ),
    (
        "another epsilon",
        &[Fault::Values],
        "rule r(x, s, b, m, v) {
           batch_normalization(x, s, b, m, v) {..r} => batch_normalization(x, s, b, m, v) {epsilon = 1e-6}
           numerics real
         }",
    ),
    (
        "a class that is too strong: order of additions",
        &[Fault::Bits],
        "rule r(x, y, z) { (x + y) + z => x + (y + z) numerics bitwise }",
    ),
    (
        "a class that is too strong: the sign of zero",
        &[Fault::Bits],
        "rule r(x) { x + 0.0 => x numerics bitwise }",
    ),
    (
        "division of integers",
        &[Fault::Types, Fault::Values],
        "rule r(x, y) { x / y * y => x numerics real }",
    ),
    (
        "mean of means of parts of other sizes",
        &[Fault::Values],
        "rule r(x, y) {
           reduce_mean(concat(x, y) {axis = 0}) {axes = [0], keepdims = true}
           => (reduce_mean(x) {axes = [0], keepdims = true} + reduce_mean(y) {axes = [0], keepdims = true}) / 2.0
           numerics real
         }",
    ),
    (
        "softmax along another axis",
        &[Fault::Types, Fault::Values],
        "rule r(x) { softmax(x) {axis = a} => softmax(x) {axis = 0} numerics real }",
    ),
    (
        "largest of negated numbers",
        &[Fault::Values],
        "rule r(x) { reduce_max(-x) {..a} => -reduce_max(x) {..a} numerics real }",
    ),
    (
        "positions that count from the end of a part",
        &[Fault::Types, Fault::Values],
        "rule r(x: f32[n]) {
           slice(slice(x) {starts = [a], ends = [b], axes = [0], steps = [1]}) {starts = [c], ends = [d], axes = [0], steps = [1]}
           => slice(x) {starts = [a + c], ends = [a + d], axes = [0], steps = [1]}
           where a >= 0, b >= a, b <= x.shape[0], d >= c, d <= b - a numerics bitwise
         }",
    ),
];

#[test]
fn wrong_rules_are_refuted() {
    let mut problems = Vec::new();
    for (what, faults, text) in WRONG {
        let set = load(&format!("/// {what}\n{text}"));
        let options = Options {
            strict: true,
            ..Options::default()
        };
        let report = verify(&set.rules[0], &[], &options);
        match &report.verdict {
            Verdict::Refuted(example) if faults.contains(&example.fault) => {}
            other => problems.push(format!("{what}: {other} after {} attempts", report.attempts)),
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_operator_is_tried_with_other_element_types() {
    // Of all functions, only the sign is wrong, and only for integers.
    let set = load(
        "/// Wrong.\nrule r(x) { for f in unary elementwise: cast(f(x)) {to = t} => f(cast(x) {to = t}) numerics real }",
    );
    let report = verify(&set.rules[0], &[], &Options::default());
    match &report.verdict {
        Verdict::Refuted(example) => assert_eq!(example.fault, Fault::Values),
        other => panic!("{other}"),
    }
}

#[test]
fn counterexamples_run() {
    let set = load("/// Wrong.\nrule r(a, b) { relu(a + b) => relu(a) + relu(b) numerics real }");
    let Verdict::Refuted(example) = verify(&set.rules[0], &[], &Options::default()).verdict else {
        panic!("it is wrong");
    };
    let [source, target] = example.workloads().map(|w| {
        let value = |v| w.params.get(w.graph.vertex(v).name.as_deref()?).cloned();
        tautomer_graph::interpret(&w.graph, &value).unwrap()
    });
    assert_ne!(source, target);
}

#[test]
fn right_rules_are_proved() {
    let text = "/// Products distribute.\nrule r(a, b, c) { matmul(a, b) + matmul(a, c) => matmul(a, b + c) where b.shape == c.shape numerics real }";
    let set = load(text);
    let report = verify(&set.rules[0], &[], &Options::default());
    assert!(
        matches!(&report.verdict, Verdict::ProvedForAll(coverage) | Verdict::ProvedFor(coverage) if coverage.forms >= 4),
        "{}, {:?}",
        report.verdict,
        report.not_proved
    );
}

#[test]
fn counterexamples_are_small_and_the_same_each_time() {
    let set = load("/// Wrong.\nrule r(a, b) { matmul(a, b) => matmul(b, a) numerics real }");
    let run = || match verify(&set.rules[0], &[], &Options::default()).verdict {
        Verdict::Refuted(example) => example,
        other => panic!("{other}"),
    };
    let text = |example: &Counterexample| tautomer_lang::format_program(&tautomer_graph::to_program(&example.source));
    let (first, again) = (run(), run());
    assert_eq!(text(&first), text(&again));
    assert_eq!(first.values, again.values);
    let elements: usize = first.values.values().map(Tensor::len).sum();
    assert!(elements <= 8, "{}", text(&first));
}

/// An instance of a built-in rule, as the way to reach it: the rule, the seed to start from, and a mutation for each
/// number. Fewer mutations give a simpler instance, so failures shrink.
fn instance() -> impl Strategy<Value = (usize, usize, Vec<u64>)> {
    (
        any::<usize>(),
        any::<usize>(),
        prop::collection::vec(any::<u64>(), 0..8),
    )
}

proptest! {
    #![proptest_config(tautomer_testing::random_cases(96))]

    #[test]
    fn rules_of_the_library_hold_at_any_instance((rule, seed, changes) in instance()) {
        let set = library().unwrap();
        let rule = &set.rules[rule % set.rules.len()];
        let trial = Trial::new(rule.clone());
        let numbers = RuleNumbers::of(rule);
        let begin = seeds(rule, &trial, &set.examples);
        prop_assert!(!begin.is_empty(), "{} has no instances", rule.name);
        let mut recipe = begin[seed % begin.len()].clone();
        for number in changes {
            let mut random = Random::part(number, "");
            recipe = legalized(mutated(&recipe, &numbers, &mut random), &mut random);
        }
        let Some(sides) = recipe.sides(&trial) else {
            return Ok(());
        };
        let found = Comparer::new(false, Laws::ALL).compare(rule, &sides, &mut Random::part(1, &rule.name));
        if let Finding::Mismatch(mismatch) = found {
            let (expected, found) = (&mismatch.at.expected, &mismatch.at.found);
            prop_assert!(false, "{}: {expected} against {found} at {recipe:?}", rule.name);
        }
    }
}
