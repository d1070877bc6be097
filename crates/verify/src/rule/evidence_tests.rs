//! Tests of the evidence for verdicts, and of the class that is decided.

use std::sync::Arc;

use super::*;
use tautomer_diag::Source;
use tautomer_lang::parse_rules;
use tautomer_op::Law;
use tautomer_rule::{Class, RuleSet, load_rules};
use tautomer_tensor::DType;

fn load(text: &str) -> RuleSet {
    match parse_rules(Arc::new(Source::new("test.rules", format!("/// Test.\nrule {text}")))).and_then(load_rules) {
        Ok(set) => set,
        Err(problems) => panic!("{}", problems.render(false)),
    }
}

fn options() -> Options {
    Options {
        instances: 30,
        patterns: 1 << 13,
        prove: false,
        ..Options::default()
    }
}

/// The verdict from instances alone, without a proof for all sizes.
fn by_instances(text: &str, laws: Laws) -> Verdict {
    let set = load(text);
    let options = Options { laws, ..options() };
    let trial = Trial::new(set.rules[0].clone());
    let mut random = Random::part(0, "test");
    let mut search = Search::new(&set.rules[0], &trial, &options);
    match search.search(Seeds::of(&set.rules[0], &trial, &[]), &options, &mut random) {
        None => search.evidence.verdict(),
        Some(found) => Verdict::Refuted(Box::new(counterexample(found))),
    }
}

fn report(text: &str) -> Report {
    verify(&load(text).rules[0], &[], &options())
}

#[test]
fn polynomials_are_decided_but_for_a_stated_error() {
    let verdict = by_instances(
        "r(a, b) { (a + b) * (a - b) => a * a - b * b where a.dtype == f32 numerics real }",
        Laws::ALL,
    );
    let Verdict::Proved {
        error: Some(error),
        laws,
        ..
    } = verdict
    else {
        panic!("{verdict}")
    };
    assert!(error > 200 && laws.is_empty(), "{error}");
    let text = "r(a, b) { exp(a) * exp(b) + exp(a) => exp(a) * (exp(b) + 1.0) numerics real }";
    let verdict = by_instances(text, Laws::NONE);
    assert!(
        matches!(verdict, Verdict::Proved { error: Some(100..), .. }),
        "{verdict}"
    );
}

#[test]
fn verdicts_name_the_laws_that_were_needed() {
    let cases = [
        (
            "r(x, y) { exp(x) * exp(y) => exp(x + y) numerics real }",
            &[Law::ExpSum][..],
        ),
        ("r(x) { log(exp(x)) => x numerics real }", &[Law::LogExp]),
        (
            "r(x, y) { log(exp(x) * exp(y)) => x + y numerics real }",
            &[Law::ExpSum, Law::LogExp],
        ),
        (
            "r(x) { sqrt(x) * sqrt(x) * sqrt(x) => x * sqrt(x) numerics real }",
            &[Law::SqrtSquare],
        ),
        ("r(x) { sin(-x) => -sin(x) numerics real }", &[Law::Odd]),
        ("r(x) { cos(-x) => cos(x) numerics real }", &[Law::Even]),
        (
            "r(x) { sinh(x) + cosh(x) => exp(x) numerics real }",
            &[Law::HyperbolicExp],
        ),
        (
            "r(x) { 2.0 / (1.0 + exp(-2.0 * x)) - 1.0 => tanh(x) numerics real }",
            &[Law::ExpSum, Law::HyperbolicExp],
        ),
    ];
    for (text, expected) in cases {
        let all: Laws = expected.iter().fold(Laws::NONE, |laws, law| laws.with(*law));
        let verdict = by_instances(text, Laws::ALL);
        assert!(
            matches!(&verdict, Verdict::Proved { laws, error: None, .. } if *laws == all),
            "{text}: {verdict}"
        );
        // Without one of the laws, only double precision remains.
        for law in expected {
            let verdict = by_instances(text, Laws::ALL.without(*law));
            let compared = matches!(&verdict, Verdict::Tested { instances, exact, .. } if exact < instances);
            // Other laws may imply the missing one.
            let otherwise = matches!(&verdict, Verdict::Proved { laws, .. } if !laws.contains(*law));
            assert!(compared || otherwise, "{text} without {}: {verdict}", law.name());
        }
        let verdict = by_instances(text, Laws::NONE);
        assert!(
            // Instances without elements are exact with no laws.
            matches!(&verdict, Verdict::Tested { instances, exact, laws } if exact < instances && laws.is_empty()),
            "{text}: {verdict}"
        );
    }
}

#[test]
fn an_order_is_decided_over_rational_numbers() {
    for text in [
        "r(x) { relu(x * 2.0) => relu(x) * 2.0 numerics real }",
        "r(x, y) { max(x, y) + min(x, y) => x + y where x.dtype == f32 numerics real }",
        "r(x) { relu(x) - relu(-x) => x where x.dtype in [f16, f32] numerics real }",
        "r(x) { abs(x) * abs(x) => x * x where x.dtype == f32 numerics real }",
        "r(x) { relu(exp(x)) => exp(x) numerics real }",
    ] {
        let verdict = by_instances(text, Laws::ALL);
        assert!(
            matches!(&verdict, Verdict::Tested { instances, exact, .. } if instances == exact),
            "{text}: {verdict}"
        );
    }
    let verdict = by_instances("r(x) { relu(exp(x)) => exp(x) numerics real }", Laws::NONE);
    assert!(
        matches!(verdict, Verdict::Tested { instances, exact, .. } if exact < instances / 2),
        "{verdict}"
    );
}

#[test]
fn small_differences_are_beyond_the_bounds() {
    for text in [
        "r(x) { relu(x) => relu(x) * 1.000001 where x.dtype == f32 numerics real }",
        "r(x) { tanh(x) + 0.00000001 => tanh(x) numerics real }",
        "r(x) { exp(x) / 1.0000009 => exp(x) numerics real }",
    ] {
        let verdict = by_instances(text, Laws::ALL);
        assert!(
            matches!(&verdict, Verdict::Refuted(e) if e.fault == Fault::Values),
            "{text}: {verdict}"
        );
    }
}

#[test]
fn classes_that_are_too_strong_are_refuted_by_bits() {
    for text in [
        "r(x) { x / 3.0 => x * 0.33333334 where x.dtype in [f16, f32] numerics bitwise }",
        "r(x) { (x + 1.0) - 1.0 => x where x.dtype in [f16, f32] numerics bitwise }",
        "r(x) { x * 0.0 => x - x where x.dtype in [f16, f32] numerics bitwise }",
        "r(x) { (x * 2.0) * 0.5 => x where x.dtype in [f16, f32] numerics bitwise }",
        "r(x, y) { max(x, y) => max(y, x) where x.dtype in [f16, f32] numerics bitwise }",
        "r(x) { sqrt(x) => pow(x, 0.5) numerics bitwise }",
    ] {
        let report = report(text);
        match &report.verdict {
            Verdict::Refuted(example) if example.fault == Fault::Bits => {
                assert!(example.expected.contains("0x"), "{text}: {}", example.expected);
            }
            other => panic!("{text}: {other}"),
        }
    }
}

#[test]
fn bits_are_decided_on_all_numbers_of_narrow_types() {
    let set = load("r(x) { x / 2.0 => x * 0.5 where x.dtype in [f16, bf16, f32] numerics bitwise }");
    let options = Options {
        patterns: 1 << 16,
        ..options()
    };
    let report = verify(&set.rules[0], &[], &options);
    let decided = report.class.as_ref().unwrap();
    assert_eq!(decided.class, Class::Bitwise);
    assert!(decided.is_exhaustive());
    let f16 = decided.sweeps.iter().find(|s| s.dtype == DType::F16).unwrap();
    assert_eq!((f16.values, f16.exhaustive), (65536, true));
    assert!(decided.to_string().contains("all 65536 of f16"), "{decided}");
    assert_eq!(report.stronger_class(), None);
}

#[test]
fn stronger_classes_are_reported() {
    let classes = |text: &str| {
        let report = report(text);
        assert!(
            !matches!(report.verdict, Verdict::Refuted(_)),
            "{text}: {}",
            report.verdict
        );
        (report.stronger_class(), report.class.unwrap().class)
    };
    let twice = "r(x) { -(-x) => x where x.dtype in [f16, f32] numerics";
    assert_eq!(classes(&format!("{twice} real }}")).0, Some(Class::Bitwise));
    assert_eq!(classes(&format!("{twice} bitwise }}")).0, None);
    let sum = "r(x, y, z) { (x + y) + z => x + (y + z) where x.dtype == f32 numerics";
    assert_eq!(classes(&format!("{sum} approx(0.01) }}")).0, Some(Class::Real));
    let scaled = "r(x) { relu(x) => relu(x) * 1.001 where x.dtype == f32 numerics approx(0.01) }";
    match classes(scaled).1 {
        Class::Approx(e) => assert!((0.0005..0.0015).contains(&e), "{e}"),
        other => panic!("{other}"),
    }
}

#[test]
fn approximations_are_measured() {
    let text = "r(x) { relu(x) => relu(x) * 1.1 where x.dtype == f32 numerics approx(0.01) }";
    assert!(matches!(report(text).verdict, Verdict::Refuted(_)));
}
