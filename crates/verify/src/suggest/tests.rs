//! Suggestions for small pairs of programs.

use std::sync::Arc;

use super::{Suggestions, Unsuggested, suggest};
use crate::graphs::Options as GraphOptions;
use crate::verdict::level::Level;
use crate::verdict::options::Options;
use tautomer_diag::Source;
use tautomer_graph::{BuildOptions, Params, Workload, build_program};
use tautomer_lang::parse_program;
use tautomer_rule::Class;

fn workload(text: &str) -> Workload {
    let program = parse_program(Arc::new(Source::new("test", text))).unwrap();
    let graph = build_program(&program, &BuildOptions::default()).unwrap();
    Workload {
        graph,
        params: Params::default(),
    }
}

fn suggested(original: &str, optimized: &str) -> Suggestions {
    let options = GraphOptions::default();
    let scope = Default::default();
    let (a, b) = (workload(original), workload(optimized));
    suggest(&a, &b, &scope, &options, &Options::default(), &mut |_| true).unwrap()
}

/// The rules without their examples.
fn rules(found: &Suggestions) -> Vec<&str> {
    let rule = |text: &'_ str| text.find("\nexample").unwrap_or(text.len());
    found.rules.iter().map(|r| r.text[..rule(&r.text)].trim_end()).collect()
}

#[test]
fn equal_models_have_nothing_to_suggest() {
    let text = "fn main(x: f32[n, 3]) { tanh(relu(x)) }";
    let found = suggested(text, text);
    assert!(found.rules.is_empty() && found.left.is_empty(), "{found:?}");
}

/// Equal changes are looked for once; a search that is stopped has the rules found until then.
#[test]
fn a_search_stops_when_it_is_told_to() {
    let (a, b) = (
        workload(
            "fn main(x: f32[n, 4]) { abs(x - x) + tanh(max(x, 0.0)) + exp(max(abs(x), 0.0)) + x * 1.0 * 2.0 * 3.0 }",
        ),
        workload("fn main(x: f32[n, 4]) { abs(x - x) + tanh(relu(x)) + exp(relu(abs(x))) + x * 6.0 }"),
    );
    let until = |limit: usize| {
        let mut seen = Vec::new();
        let mut each = |sought: &super::Sought<'_>| {
            seen.push((sought.done, sought.rules.len()));
            sought.searched < limit
        };
        let scope = Default::default();
        let found = suggest(&a, &b, &scope, &GraphOptions::default(), &Options::default(), &mut each).unwrap();
        (found, seen)
    };
    let (all, seen) = until(usize::MAX);
    assert!(all.rules.len() >= 2 && all.untried == 0, "{all:?}");
    assert_eq!(seen.last(), Some(&(seen.len() - 1, all.rules.len())));
    let (some, seen) = until(1);
    assert_eq!(some.rules.len(), 1, "{some:?}");
    assert_eq!(some.rules[0].text, all.rules[0].text);
    assert!(some.untried > 0 && seen.last().unwrap().1 == 1, "{seen:?}");
}

#[test]
fn different_models_are_refused() {
    let (a, b) = (
        workload("fn main(x: f32[2]) { relu(x) }"),
        workload("fn main(x: f32[2]) { abs(x) }"),
    );
    let scope = Default::default();
    let found = suggest(
        &a,
        &b,
        &scope,
        &GraphOptions::default(),
        &Options::default(),
        &mut |_| true,
    );
    assert!(matches!(found, Err(Unsuggested::NotEqual(_))), "{found:?}");
}

/// The rule is cut down to what differs; what is around it stays out, and the number that both sides share is open.
#[test]
fn a_rule_has_only_what_differs() {
    let found = suggested(
        "fn main(x: f32[n, 3], y: f32[3]) { tanh((x + y) * 3.0 + (x + y) * 5.0) }",
        "fn main(x: f32[n, 3], y: f32[3]) { tanh((x + y) * 8.0) }",
    );
    assert_eq!(
        rules(&found),
        ["/// Replaces 3 calls by 1 call.\nrule mul-from-add(x) { x * 3 + x * 5 => x * 8 numerics real }"]
    );
    assert!(
        found.rules[0].report.verdict.level() >= Level::Proved,
        "{}",
        found.rules[0].report.verdict
    );
}

/// Attributes that both sides share become variables, and so do numbers.
#[test]
fn attributes_and_numbers_are_left_open() {
    let found = suggested(
        "fn main(x: f32[4, 3, 5]) { relu(transpose(abs(x) * 2.0) {perm = [2, 0, 1]}) }",
        "fn main(x: f32[4, 3, 5]) { relu(transpose(abs(x)) {perm = [2, 0, 1]} * 2.0) }",
    );
    let rule = rules(&found)[0];
    assert!(rule.contains("perm = perm"), "{rule}");
}

/// Equal regions are one rule with several places.
#[test]
fn equal_layers_give_one_rule() {
    let (before, after) = ("tanh(max(min(_, 6.0), 0.0))", "tanh(clip(_) {min = 0.0, max = 6.0})");
    let program = |body: &str| {
        let lets: String = (1..4)
            .map(|i| {
                let last = if i == 1 {
                    "x".to_owned()
                } else {
                    format!("(y{} - x)", i - 1)
                };
                format!("let y{i} = {} * 1.5; ", body.replace('_', &last))
            })
            .collect();
        format!("fn main(x: f32[2, 3]) {{ {lets} y3 }}")
    };
    let found = suggested(&program(before), &program(after));
    assert_eq!(found.rules.len(), 1, "{:?}", rules(&found));
    assert_eq!(found.rules[0].places.len(), 3);
}

/// What was computed ahead of time is not in the original, and the message says so.
#[test]
fn a_constant_of_the_optimized_model_is_named() {
    let found = suggested(
        "fn main(x: f32[2, 3]) { let c: f32[3] = [1.0, 2.0, 3.0]; let d: f32[3] = [4.0, 5.0, 7.0]; x * c * d }",
        "fn main(x: f32[2, 3]) { let e: f32[3] = [4.0, 10.0, 21.0]; x * e }",
    );
    assert!(found.rules.is_empty());
    assert!(
        found.left[0].why.contains("f32[3] that was computed ahead of time"),
        "{}",
        found.left[0].why
    );
}

/// An approximation is suggested if the class admits it.
#[test]
fn the_class_may_be_approximate() {
    let (a, b) = (
        workload("fn main(x: f32[8]) { relu(x * 0.5 * (1.0 + erf(x * 0.70710677))) }"),
        workload("fn main(x: f32[8]) { relu(gelu(x)) }"),
    );
    let options = GraphOptions {
        class: Class::Approx(1e-3),
        ..GraphOptions::default()
    };
    let scope = Default::default();
    let found = suggest(&a, &b, &scope, &options, &Options::default(), &mut |_| true).unwrap();
    assert!(rules(&found)[0].contains("=> gelu(x)"), "{:?}", rules(&found));
}

/// A rule says what makes two values equal, also where that lies below the values that both models compute.
#[test]
fn a_region_reaches_to_what_makes_it_true() {
    let found = suggested(
        "fn main(x: f32[2, 3]) { tanh(relu(relu(x))) }",
        "fn main(x: f32[2, 3]) { tanh(relu(x)) }",
    );
    assert!(rules(&found)[0].contains("relu(relu(x)) => relu(x)"), "{found:?}");
}
