//! Questions about a rewrite on the command line: which engine, what the result depends on, why a rule does not apply,
//! which application changes a result.

use crate::command::{self, Ran};

const PROGRAM: &str = "fn main(x: f32[4], param w: f32[4]) {\n  let h = relu(relu(x + 0.0));\n  let y = neg(neg(h * w));\n  y + relu(neg(x))\n}\n";

const RULES: &str = "/// Twice.\nrule relu-twice(x) { relu(relu(x)) => relu(x) numerics bitwise }\n\
    /// Twice.\nrule neg-twice(x) { neg(neg(x)) => x where x.rank == 1 numerics bitwise }\n\
    /// Not true.\nrule wrong(x) { relu(neg(x)) => relu(x) where x.rank < 3 }\n\
    /// Of another rank.\nrule matrices(x, y) { x * y => y * x where x.rank == 2, y.rank == 2 }\n\
    /// Of equal factors.\nrule square(x) { x * x => pow(x, 2.0) }\n\
    /// Only static.\nrule static-negation(x: param) { neg(x) => x * -1 }\n\
    ruleset twice { relu-twice, neg-twice }\n";

fn run(args: &str) -> Ran {
    let folder = crate::command::folder(&[("a.taut", PROGRAM), ("a.rules", RULES)]);
    crate::command::run(folder.path(), args)
}

#[test]
fn both_engines_explain_their_result() {
    for engine in ["saturate", "substitute"] {
        let ran = run(&format!(
            "optimize a.taut --rules a.rules --no-built-in --only-rules twice --engine {engine} --explain --check"
        ));
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.err.contains("2 rewrites produced this result"), "{}", ran.err);
        assert!(ran.err.contains("relu-twice  at h"), "{}", ran.err);
        assert!(ran.err.contains("neg-twice   at y"), "{}", ran.err);
        let report = run(&format!(
            "optimize a.taut --rules a.rules --no-built-in --only-rules twice --engine {engine} --explain --json"
        ))
        .json();
        assert_eq!(report["steps"][0]["rule"], "relu-twice");
        assert_eq!(report["steps"][0]["place"][0], "h");
    }
}

#[test]
fn the_number_of_applications_has_a_limit() {
    for engine in ["saturate", "substitute"] {
        let report = run(&format!(
            "optimize a.taut --rules a.rules --no-built-in --only-rules twice --engine {engine} --max-rewrites 1 --json"
        ))
        .json();
        let rules = report["report"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), 1, "{rules:?}");
        assert_eq!(report["report"]["stop"], "rewrite limit");
    }
}

#[test]
fn a_rule_that_does_not_apply_has_a_reason() {
    for engine in ["saturate", "substitute"] {
        let why = |rule: &str| {
            let ran = run(&format!(
                "optimize a.taut --rules a.rules --no-built-in --engine {engine} --skip-rules wrong --why-not {rule}"
            ));
            assert_eq!(ran.code, 0, "{}", ran.err);
            ran.out
        };
        let condition = why("matrices");
        assert!(
            condition.contains("the condition `x.rank == 2` does not hold"),
            "{condition}"
        );
        assert!(condition.contains("  x.rank = 1"), "{condition}");
        let value = why("square");
        assert!(
            value.contains("`x` stands for one value in the source, and w is a second one"),
            "{value}"
        );
        let class = why("static-negation");
        assert!(class.contains("depends only on parameters and constants"), "{class}");
        assert!(why("wrong").contains("left out by name"));
        assert!(why("neg-twice").contains("is applied"));
    }
    let class = run("optimize a.taut --rules a.rules --no-built-in --class bitwise --why-not matrices");
    assert!(
        class.out.contains("`real`, and only `bitwise` is allowed"),
        "{}",
        class.out
    );
    let unknown = run("optimize a.taut --rules a.rules --no-built-in --why-not matrice");
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("did you mean `matrices`?"), "{}", unknown.err);
    let whole = run("optimize a.taut --rules a.rules --no-built-in --why-not matrices --json").json();
    assert_eq!(whole["why_not"]["values"][0][0], "x.rank");
}

#[test]
fn reasons_are_the_real_ones() {
    let rules = "/// Scaled.\nrule scaled(x, s: const) { relu(x) * s => relu(x * s) where value(s) > 0 numerics real }\n\
        /// Other types.\nrule typed(x) { neg(x) => cast(x) {to = f64} numerics real }\n\
        /// Dear.\nrule dear(x) { neg(x) => -(-(-(x))) numerics real }\n\
        /// Assumed.\nrule assumed(x, y) { (x * y) / y => x assuming nonzero(y) numerics real }\n\
        /// Divided.\nrule divided(x, y) { relu(x / y) => relu(x) / y numerics real }\n\
        /// Nested.\nrule nested(x) { relu(neg(x)) => neg(x) numerics real }\n";
    let program = "fn main(x: f32[4], param w: f32[4]) { (2.0 * relu(x), neg(x), relu(x * w)) }";
    let folder = command::folder(&[("a.taut", program), ("a.rules", rules)]);
    let why = |options: &str, rule: &str| {
        let ran = command::run(
            folder.path(),
            &format!("optimize a.taut --rules a.rules --no-built-in {options} --why-not {rule}"),
        );
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    for engine in ["--engine saturate", "--engine substitute"] {
        let swapped = why(engine, "scaled");
        assert!(
            swapped.contains("with the operands of `mul` exchanged: the rule `mul-commutes` does that"),
            "{swapped}"
        );
        let typed = why(engine, "typed");
        assert!(
            typed.contains("and is not applied: its target is f64[4] there, and the source f32[4]"),
            "{typed}"
        );
        let assumed = why(engine, "assumed");
        assert!(assumed.contains("pass `--assume 'nonzero(y)'`"), "{assumed}");
        let operator = why(engine, "divided");
        assert!(operator.contains("the graph has no `div`"), "{operator}");
        let nested = why(engine, "nested");
        assert!(nested.contains("the source has `neg` where the graph has"), "{nested}");
        let skipped = why(&format!("{engine} --skip-rules dear"), "dear");
        assert!(skipped.contains("`--skip-rules` has it"), "{skipped}");
        let verdict = why(&format!("{engine} --verdict tested"), "dear");
        assert!(verdict.contains("its verdict is not known"), "{verdict}");
    }
    let dear = why("--engine saturate", "dear");
    assert!(dear.contains("what it makes does not cost less"), "{dear}");
    let ran = command::run(folder.path(), "optimize a.taut --why-not gelu-by-erf");
    assert!(
        ran.out.contains("the graph has no `add` and no `erf` and no `div`"),
        "{}",
        ran.out
    );
}

#[test]
fn an_example_that_does_not_fire_says_why() {
    let rules = "/// Of matrices.\nrule matrices(x) { relu(relu(x)) => relu(x) where x.rank == 2 numerics bitwise }\n\
        example matrices { fn (x: f32[3]) { exp(relu(relu(x))) } => fn (x: f32[3]) { exp(relu(x)) } }\n";
    let folder = command::folder(&[("a.rules", rules)]);
    let ran = command::run(folder.path(), "rules test a.rules");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let all = format!("{}{}", ran.out, ran.err);
    assert!(
        all.contains("does not fire on its example: nearest at relu #")
            && all.contains("the condition `x.rank == 2` does not hold; x.rank = 1"),
        "{all}"
    );
}

#[test]
fn bisect_finds_the_application_that_changes_a_result() {
    for engine in ["saturate", "substitute"] {
        let ran = run(&format!(
            "bisect a.taut --rules a.rules --no-built-in --engine {engine}"
        ));
        assert_eq!(ran.code, 1, "{}{}", ran.out, ran.err);
        assert!(ran.out.contains("changes a result: wrong at relu #"), "{}", ran.out);
        let report = run(&format!(
            "bisect a.taut --rules a.rules --no-built-in --engine {engine} --json"
        ));
        assert_eq!(report.json()["first"]["rule"], "wrong");
    }
    let fine = run("bisect a.taut");
    assert_eq!(
        (fine.code, fine.out.starts_with("none of ")),
        (0, true),
        "{}{}",
        fine.out,
        fine.err
    );
}
