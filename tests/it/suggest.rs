//! `tautomer suggest`: rules of the differences between two models.

use crate::command;

const ORIGINAL: &str = "fn main(x: f32[n, 4]) {\n  let a = tanh(max(min(x, 6.0), 0.0));\n  \
    let b = tanh(max(min(a + x, 6.0), 0.0));\n  a * b\n}\n";

const OPTIMIZED: &str = "fn main(x: f32[n, 4]) {\n  let a = tanh(clip(x) {min = 0.0, max = 6.0});\n  \
    let b = tanh(clip(a + x) {min = 0.0, max = 6.0});\n  a * b\n}\n";

/// What is suggested is a rule file whose examples pass, and which does to the original what the other tool did.
#[test]
fn suggested_rules_do_what_the_other_tool_did() {
    let folder = command::folder(&[("a.taut", ORIGINAL), ("b.taut", OPTIMIZED)]);
    let ran = command::run(folder.path(), "suggest a.taut b.taut -o new.rules");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("1 rule for 2 differences"), "{}", ran.err);
    let text = std::fs::read_to_string(folder.path().join("new.rules")).unwrap();
    assert!(text.contains("rule clip-from-max("), "{text}");
    let ran = command::run(folder.path(), "rules test new.rules");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = command::run(
        folder.path(),
        "optimize a.taut --rules new.rules --no-built-in -o c.taut",
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    let found = std::fs::read_to_string(folder.path().join("c.taut")).unwrap();
    assert_eq!(found.matches("clip(").count(), 2, "{found}");
}

/// A search has a limit, and what it found is on standard output.
#[test]
fn a_search_can_be_limited() {
    let original = "fn main(x: f32[n, 4]) { tanh(max(x, 0.0)) + x * 2.0 * 3.0 }\n";
    let optimized = "fn main(x: f32[n, 4]) { tanh(relu(x)) + x * 6.0 }\n";
    let folder = command::folder(&[("a.taut", original), ("b.taut", optimized)]);
    let all = command::run(folder.path(), "suggest a.taut b.taut");
    assert_eq!(
        (all.code, all.out.matches("\nrule ").count()),
        (0, 2),
        "{}{}",
        all.out,
        all.err
    );
    let one = command::run(folder.path(), "suggest a.taut b.taut --limit 1");
    assert_eq!(
        (one.code, one.out.matches("\nrule ").count()),
        (0, 1),
        "{}{}",
        one.out,
        one.err
    );
    assert!(all.out.starts_with(&one.out), "{}", one.out);
    assert!(one.err.contains("1 difference not looked at"), "{}", one.err);
    let none = command::run(folder.path(), "suggest a.taut b.taut --limit 0");
    assert_eq!(none.code, 1, "{}", none.err);
    assert!(none.err.contains("2 differences not looked at"), "{}", none.err);
}

/// Differences without a rule are listed with the reason, and the answer is no.
#[test]
fn what_has_no_rule_is_told() {
    let original = "fn main(x: f32[3]) {\n  let c: f32[3] = [1.0, 2.0, 3.0];\n  relu(x * c * 2.0)\n}\n";
    let optimized = "fn main(x: f32[3]) {\n  let c: f32[3] = [2.0, 4.0, 6.0];\n  relu(x * c)\n}\n";
    let folder = command::folder(&[("a.taut", original), ("b.taut", optimized)]);
    let ran = command::run(folder.path(), "suggest a.taut b.taut");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(
        ran.err
            .contains("holds a constant f32[3] that was computed ahead of time"),
        "{}",
        ran.err
    );
}

/// Rules are made of equal models alone.
#[test]
fn models_that_differ_are_refused() {
    let folder = command::folder(&[
        ("a.taut", "fn main(x: f32[3]) { relu(x) }\n"),
        ("b.taut", "fn main(x: f32[3]) { abs(x) }\n"),
    ]);
    let ran = command::run(folder.path(), "suggest a.taut b.taut");
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("rules are suggested for equal models"), "{}", ran.err);
}
