//! The property tests of users, on the rules and operators that come with the tool.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;

use proptest::prelude::*;
use tautomer::rule::library;
use tautomer::testing::{Graphs, assert_equal, instances};
use tautomer::verify::{GraphOptions, GraphVerdict};
use tautomer::{Options, optimize_model, verify_models};

/// One rule in so many of the library; the long form of random tests takes all of them, for minutes.
const EVERY: usize = 24;

#[test]
fn rules_rewrite_their_instances_to_equal_graphs() {
    let set = library().unwrap();
    let is_long = std::env::var_os("TAUTOMER_CASES").is_some();
    let rules = set.rules.iter().filter(|rule| rule.assuming.is_empty());
    let (mut tried, fired) = (0, Cell::new(0));
    let (drawn, compared) = (Cell::new(0), Cell::new(0));
    let mut problems = Vec::new();
    for rule in rules.step_by(if is_long { 1 } else { EVERY }) {
        tried += 1;
        let options = Options::default().only([&*rule.name]).check(0);
        let test = || {
            let applied = Cell::new(false);
            proptest!(tautomer_testing::random_cases(4), |(case in instances(rule, &set.examples))| {
                let after = optimize_model(case.model.clone(), &options).unwrap();
                let is_named = after.report.rules.iter().any(|fired| fired.name == *rule.name);
                applied.set(applied.get() || is_named);
                // Constant indices may be out of range, and then there is nothing to compare.
                let verdict = verify_models(&case.model, &after.model, &GraphOptions::default()).verdict;
                if !matches!(verdict, GraphVerdict::Undecided(_)) {
                    assert_equal(&case.model, &after.model);
                    compared.set(compared.get() + 1);
                }
                drawn.set(drawn.get() + 1);
            });
            fired.set(fired.get() + usize::from(applied.get()));
        };
        if let Err(why) = std::panic::catch_unwind(AssertUnwindSafe(test)) {
            let why = why.downcast_ref::<String>().map_or("", String::as_str);
            problems.push(format!("{}: {why}", rule.name));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(
        10 * compared.get() > 9 * drawn.get(),
        "{} of {}",
        compared.get(),
        drawn.get()
    );
    // Some apply only where values are static or costs say so.
    assert!(tried > 10 && 2 * fired.get() > tried, "{} of {tried}", fired.get());
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
