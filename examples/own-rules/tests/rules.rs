//! Every rule is right, and graphs that the rules rewrite keep their results.

use std::sync::Arc;

use proptest::prelude::*;
use tautomer::rule::Rule;
use tautomer::testing::{Graphs, assert_equal, assert_rule, instances};
use tautomer::{Model, Options, optimize_model, read_rules};

fn rules() -> tautomer::rule::RuleSet {
    let (rules, warnings) = read_rules(&["my.rules".into()]).unwrap();
    assert!(warnings.is_empty(), "{warnings}");
    rules
}

fn rule(name: &str) -> Arc<Rule> {
    rules().rules.into_iter().find(|rule| &*rule.name == name).unwrap()
}

#[test]
fn every_rule_is_right() {
    rules().rules.iter().for_each(assert_rule);
}

#[test]
fn the_rules_are_used() {
    let model = Model::from_text("example", "fn main(x: f32[n]) { max(x * 2.0 * 3.0, -(x * 2.0 * 3.0)) }").unwrap();
    let optimized = optimize_model(model, &Options::default().rules(rules())).unwrap();
    let fired: Vec<&str> = optimized.report.rules.iter().map(|rule| rule.name.as_str()).collect();
    assert!(fired.contains(&"scale-of-scale") && fired.contains(&"abs-by-max"), "{fired:?}");
}

#[test]
fn the_operator_of_ours_is_rewritten_and_written() {
    let rules = rules();
    let text = "fn main(x: f32[n]) { scale(-x) {by = 2.0} }";
    let model = Model::from_text_in("example", text, &rules.operators).unwrap();
    let optimized = optimize_model(model, &Options::default().rules(rules).check(3)).unwrap();
    assert!(optimized.model.to_text().contains("scale(x) {by = -2.0}"));
    // As a node `Scale` of the domain `com.example`.
    let bytes = optimized.model.to_onnx().unwrap();
    assert!(bytes.windows(11).any(|window| window == b"com.example"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn optimized_graphs_are_equal(case in Graphs::default().operators(["mul", "max", "neg", "add"]).most(6).workloads()) {
        let options = Options::default().rules(rules()).check(0);
        let after = optimize_model(case.model.clone(), &options).unwrap().model;
        assert_equal(&case.model, &after);
    }

    #[test]
    fn the_rule_about_magnitudes_fires_wherever_it_matches(case in instances(&rule("abs-by-max"), &rules().examples)) {
        let optimized = optimize_model(case.model.clone(), &Options::default().rules(rules()).check(0)).unwrap();
        prop_assert!(optimized.model.to_text().contains("abs("), "{}", optimized.model.to_text());
        assert_equal(&case.model, &optimized.model);
    }
}
