//! The property tests of users, on the rules and operators that come with the tool.

use std::cell::Cell;

use proptest::prelude::*;
use tautomer::rule::library;
use tautomer::testing::{Graphs, assert_equal, instances};
use tautomer::{Options, optimize_model};

/// One rule in so many of the library, as all of them take minutes.
const EVERY: usize = 24;

#[test]
fn rules_rewrite_their_instances_to_equal_graphs() {
    let set = library().unwrap();
    let rules = set.rules.iter().filter(|rule| rule.assuming.is_empty());
    let (mut tried, mut fired) = (0, 0);
    for rule in rules.step_by(EVERY) {
        tried += 1;
        let options = Options::default().only([&*rule.name]).check(0);
        let strategy = instances(rule, &set.examples);
        let applied = Cell::new(false);
        proptest!(tautomer_testing::random_cases(4), |(case in strategy)| {
            let after = optimize_model(case.model.clone(), &options).unwrap();
            let is_named = after.report.rules.iter().any(|fired| fired.name == *rule.name);
            applied.set(applied.get() || is_named);
            assert_equal(&case.model, &after.model);
        });
        fired += usize::from(applied.get());
    }
    // Some apply only where values are static or costs say so.
    assert!(tried > 10 && 2 * fired > tried, "{fired} of {tried}");
}

const OPERATORS: [&str; 18] = [
    "conv",
    "conv_transpose",
    "max_pool",
    "average_pool",
    "batch_normalization",
    "layer_normalization",
    "relu",
    "add",
    "mul",
    "concat",
    "split",
    "transpose",
    "reshape",
    "slice",
    "pad",
    "reduce_mean",
    "where",
    "softmax",
];

proptest! {
    #![proptest_config(tautomer_testing::random_cases(60))]

    #[test]
    fn networks_of_any_operators_stay_equal(case in Graphs::default().operators(OPERATORS).ranks([2, 4]).most(8).workloads()) {
        let after = optimize_model(case.model.clone(), &Options::default().check(0)).unwrap();
        assert_equal(&case.model, &after.model);
    }
}
