//! Rule files, directories and named sets, as commands take them.

use std::process::Command;

use crate::command::{SCALE, folder, run};

#[test]
fn rules_are_listed_shown_and_tested() {
    let dir = folder(&[]);
    let list = run(dir.path(), "rules list --json").json();
    let name = list["rules"][0]["name"].as_str().unwrap().to_owned();
    let shown = run(dir.path(), &format!("rules show {name}"));
    assert!(
        shown.code == 0 && shown.out.contains(&format!("rule {name}")),
        "{}",
        shown.err
    );
    assert_eq!(run(dir.path(), "rules check").code, 0);
    assert_eq!(run(dir.path(), "rules show no-such-rule").code, 2);
    let tested = run(dir.path(), "rules test");
    assert_eq!(tested.code, 0, "{}", tested.out);
}

#[test]
fn wrong_rules_are_refuted_with_programs_that_run() {
    let rules = "/// Right.\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }\n\
                 /// Wrong.\nrule sum(x, y) { relu(x + y) => relu(x) + relu(y) numerics real }\n";
    let dir = folder(&[("a.rules", rules)]);
    let done = run(dir.path(), "verify a.rules --save found --json");
    let report = done.json();
    assert_eq!(done.code, 1);
    assert_eq!(
        (&report["refuted"], &report["rules"][1]["verdict"]),
        (&1.into(), &"refuted".into())
    );
    let sides = ["source", "target"].map(|side| run(dir.path(), &format!("run found/sum-{side}.taut")));
    assert!(sides.iter().all(|side| side.code == 0), "{}", sides[0].err);
    assert_ne!(sides[0].out, sides[1].out);
    let right = run(dir.path(), "verify a.rules --rule twice");
    assert!(
        right.code == 0 && right.out.starts_with("twice  proved (all sizes"),
        "{}",
        right.out
    );
}

#[test]
fn rule_files_use_others() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("more")).unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    file(
        "all.rules",
        "use \"more/zero.rules\";\n/// Nothing.\nrule one(x) { x * 1 => x numerics bitwise }\n",
    );
    file(
        "more/zero.rules",
        "use \"../all.rules\";\nrule zero(x) { x + 0 => x }\n",
    );
    let run = |args: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tautomer"))
            .args(args)
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let listed = String::from_utf8(run(&["rules", "list", "all.rules", "all.rules"]).stdout).unwrap();
    let names: Vec<&str> = listed.lines().filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(names, ["zero", "one"]);
    let checked = run(&["rules", "check", "all.rules"]);
    let said = String::from_utf8(checked.stderr).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{said}");
    assert!(
        said.contains("warning[T0310]: the rule `zero` has no documentation"),
        "{said}"
    );
}

#[test]
fn all_broken_rule_files_are_reported() {
    let dir = folder(&[
        ("a.taut", SCALE),
        ("a.rules", "rule a(x) { x + => x }"),
        ("b.rules", "rule b(x) { nothing(x) => x }"),
    ]);
    for command in ["verify", "rules list", "rules check", "optimize a.taut"] {
        let files = ["missing.rules", "a.rules", "gone.rules"];
        let named = if command.starts_with("optimize") {
            " --rules "
        } else {
            " "
        };
        let done = run(dir.path(), &format!("{command}{named}{}", files.join(named)));
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{command}: {}", done.err);
        for problem in [
            "missing.rules: no such file",
            "gone.rules: no such file",
            "--> a.rules:1:17",
        ] {
            assert!(done.err.contains(problem), "{command}: {}", done.err);
        }
        let done = run(dir.path(), &format!("{command}{named}a.rules{named}b.rules"));
        for problem in ["--> a.rules:1:17", "--> b.rules:1:13"] {
            assert!(done.err.contains(problem), "{command}: {}", done.err);
        }
    }
}

#[test]
fn sets_that_come_with_the_tool_have_names() {
    let dir = folder(&[("a.taut", "fn main(x: f32[2, 3]) { x * zeros_like(x) }")]);
    let by_set = run(dir.path(), "optimize a.taut --rules gsl --only-rules b1 --no-fold -v");
    assert!(by_set.err.contains("zeros-like"), "{}", by_set.err);
    let without = run(dir.path(), "optimize a.taut --only-rules b1");
    assert_eq!(without.code, 2, "{}", without.err);
}

#[test]
fn named_sets_win_over_directories_and_no_rules_are_an_error() {
    let rule = "/// Twice.\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }\n";
    let dir = folder(&[
        ("a.taut", "fn main(x: f32[2, 3]) { relu(relu(x * zeros_like(x))) }"),
        ("mine.rules", rule),
        ("again.rules", rule),
        ("none.rules", "// Nothing yet.\n"),
    ]);
    for name in ["gsl", "empty"] {
        std::fs::create_dir(dir.path().join(name)).unwrap();
    }
    let set = run(dir.path(), "optimize a.taut --rules gsl --only-rules b1 --no-fold");
    assert!(set.err.contains("zeros-like"), "{}", set.err);
    for (rules, problem) in [
        ("./gsl", "./gsl: there are no rule files in this directory"),
        ("empty", "empty: there are no rule files in this directory"),
        ("none.rules", "there are no rules in none.rules"),
        ("a.taut", "a.taut: a program is not a rule file"),
    ] {
        let done = run(dir.path(), &format!("optimize a.taut --rules {rules}"));
        assert_eq!(done.code, 2, "{rules}: {}", done.err);
        assert!(done.err.contains(problem), "{rules}: {}", done.err);
        assert!(done.err.contains("`built-in`"), "{rules}: {}", done.err);
    }
    let both = run(
        dir.path(),
        "optimize a.taut --rules mine.rules --rules built-in --allow-refuted",
    );
    assert!(both.err.contains("  twice "), "{}", both.err);
    assert!(!both.err.contains("rules of the same name"), "{}", both.err);
    let twice = run(dir.path(), "optimize a.taut --rules mine.rules --rules again.rules");
    assert!(
        twice.err.contains("two files have rules of the same name")
            && twice.err.contains("`twice` in mine.rules and again.rules"),
        "{}",
        twice.err
    );
}
