//! Stored verdicts: `verify --lock`, `--check-lock`, `--table`, and how `optimize` and `rules list` use them.

use std::path::Path;

use serde_json::Value;
use tautomer::verify::VERIFIER;

use crate::command::{Ran, run};

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap()
}

const RIGHT: &str = "/// Twice is once.\nrule twice(x) { relu(relu(x)) => relu(x) numerics bitwise }\n\n\
                     /// The order of factors.\nrule swap(x, y) { x * y => y * x numerics bitwise }\n";

const WRONG: &str = "/// Not at all.\nrule sum(x, y) { relu(x + y) => relu(x) + relu(y) numerics real }\n";

const PROGRAM: &str = "fn main(x: f32[4], y: f32[4]) { relu(relu(x + y)) }\n";

/// The line for a rule in a lock.
fn line<'a>(lock: &'a str, rule: &str) -> &'a str {
    let wanted = format!("\"rule\":\"{rule}\"");
    lock.lines()
        .find(|l| l.contains(&wanted))
        .unwrap_or_else(|| panic!("no `{rule}` in\n{lock}"))
}

#[test]
fn only_what_changed_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "a.rules", RIGHT);
    let first = run(folder, "verify a.rules --lock --budget 8");
    assert_eq!(first.code, 0, "{}", first.err);
    assert!(first.err.contains("0 of 2 verdicts from the lock"), "{}", first.err);
    let lock = read(folder, "verdicts.lock");
    assert_eq!(lock.lines().count(), 3, "{lock}");

    // The same rules in other words.
    let other = "// Comments.\nrule twice(x) {\n  relu((relu(x))) => relu(x) numerics bitwise\n}\n\
                 rule swap(x,y) { x*y => y*x numerics bitwise } // More.\n";
    write(folder, "a.rules", other);
    let again = run(folder, "verify a.rules --lock --budget 5");
    assert!(again.err.contains("2 of 2 verdicts from the lock"), "{}", again.err);
    assert_eq!((&again.out, read(folder, "verdicts.lock")), (&first.out, lock.clone()));

    // More instances, and a forced check of everything, which finds the same.
    let more = run(folder, "verify a.rules --lock --budget 9");
    assert!(more.err.contains("0 of 2 verdicts from the lock"), "{}", more.err);
    let forced = run(folder, "verify a.rules --lock --force --budget 8");
    assert!(forced.err.contains("0 of 2 verdicts from the lock"), "{}", forced.err);
    assert_eq!(read(folder, "verdicts.lock"), lock);

    // One rule changes its class, and one is removed.
    write(
        folder,
        "a.rules",
        &RIGHT.replace("relu(x) numerics bitwise", "relu(x) numerics real"),
    );
    let one = run(folder, "verify a.rules --lock --budget 8");
    assert!(one.err.contains("1 of 2 verdicts from the lock"), "{}", one.err);
    let changed = read(folder, "verdicts.lock");
    assert_eq!(line(&changed, "swap"), line(&lock, "swap"));
    assert_ne!(line(&changed, "twice"), line(&lock, "twice"));
    write(folder, "a.rules", RIGHT.split("\n\n").nth(1).unwrap());
    run(folder, "verify a.rules --lock --budget 8");
    assert_eq!(read(folder, "verdicts.lock").lines().count(), 2);
}

#[test]
fn a_folder_has_one_lock() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let parts: Vec<&str> = RIGHT.split("\n\n").collect();
    write(folder, "set/b.rules", parts[0]);
    write(folder, "set/a.rules", &format!("use \"b.rules\";\n{}", parts[1]));
    write(folder, "set/more/c.rules", WRONG);
    let done = run(folder, "verify set --lock --budget 4 -v");
    assert_eq!(done.code, 1);
    let names: Vec<&str> = done
        .out
        .lines()
        .filter(|l| !l.starts_with(' '))
        .map(|l| &l[..5])
        .collect();
    assert_eq!(names, ["twice", "swap ", "sum  "], "{}", done.out);
    let lock = read(folder, "set/verdicts.lock");
    assert!(line(&lock, "swap").starts_with("{\"file\":\"a.rules\"") && line(&lock, "twice").contains("b.rules"));
    assert_eq!(read(folder, "set/more/verdicts.lock").lines().count(), 2);
    assert!(!done.err.contains('\u{1b}'), "progress without a terminal");

    // One rule, and one file, leave the verdicts of the others unchanged.
    assert_eq!(run(folder, "verify set/a.rules --lock --rule swap --budget 4").code, 0);
    assert_eq!(read(folder, "set/verdicts.lock"), lock);
    // A removed file takes its verdicts with it.
    std::fs::remove_file(folder.join("set/b.rules")).unwrap();
    write(folder, "set/a.rules", parts[1]);
    assert_eq!(run(folder, "verify set/a.rules --lock --budget 4").code, 0);
    assert_eq!(read(folder, "set/verdicts.lock").lines().count(), 2);
}

#[test]
fn without_lock_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "a.rules", RIGHT);
    assert_eq!(run(folder, "verify a.rules --budget 4").code, 0);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
    for (args, code, part) in [
        (
            "verify a.rules --check-lock",
            1,
            "0 current verdicts, 0 refuted, 2 stale",
        ),
        ("verify a.rules --force", 2, "--lock"),
        ("verify gsl --lock --budget 1", 2, "not a file here"),
        ("verify gsl --check-lock", 0, "0 stale"),
        ("verify --check-lock", 0, "0 stale"),
        ("verify --built-in a.rules", 2, "cannot be used with"),
    ] {
        let done = run(folder, args);
        assert_eq!(done.code, code, "{args}: {}{}", done.out, done.err);
        assert!(done.err.contains(part), "{args}: {}", done.err);
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1);
}

#[test]
fn a_stale_lock_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "a.rules", &format!("{RIGHT}{WRONG}"));
    assert_eq!(run(folder, "verify a.rules --lock --budget 4").code, 1);
    // Refuted rules are never accepted, and are checked again for their counterexamples.
    let refuted = run(folder, "verify a.rules --check-lock");
    assert_eq!((refuted.code, refuted.out.as_str()), (1, ""));
    assert!(
        refuted.err.contains("3 current verdicts, 1 refuted, 0 stale"),
        "{}",
        refuted.err
    );
    let again = run(folder, "verify a.rules --lock --budget 4 --save found");
    assert_eq!(again.code, 1);
    assert!(again.err.contains("2 of 3 verdicts from the lock"), "{}", again.err);
    assert!(folder.join("found/sum-source.taut").is_file());

    let lock = read(folder, "verdicts.lock");
    write(folder, "a.rules", &RIGHT.replace("x * y => y * x", "x + y => y + x"));
    write(
        folder,
        "verdicts.lock",
        &lock.replace(
            line(&lock, "twice"),
            &line(&lock, "twice").replace(&format!("\"verifier\":{VERIFIER}"), "\"verifier\":0"),
        ),
    );
    let stale = run(folder, "verify a.rules --check-lock");
    assert_eq!(stale.code, 1);
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("stale_lock", format!("{}{}", stale.out, stale.err));
    });
    let json = run(folder, "verify a.rules --check-lock --json").json();
    assert_eq!(
        (json["stale"].as_array().unwrap().len(), &json["schema"]),
        (3, &1.into())
    );

    write(folder, "verdicts.lock", &format!("{lock}<<<<<<< ours\n"));
    for args in [
        "verify a.rules --check-lock",
        "verify a.rules --lock",
        "optimize p.taut --rules a.rules --no-built-in",
    ] {
        write(folder, "p.taut", PROGRAM);
        let broken = run(folder, args);
        assert_eq!(broken.code, 2, "{args}");
        assert!(
            broken.err.contains("error[T0322]: verdicts.lock: line 5:"),
            "{args}: {}",
            broken.err
        );
    }
}

#[test]
fn reports_depend_on_the_seed_alone() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "a.rules", &format!("{RIGHT}{WRONG}"));
    let report = |args: &str| {
        let done = run(folder, &format!("verify a.rules --budget 12 --json {args}"));
        assert_eq!((done.code, &done.json()["schema"]), (1, &1.into()), "{}", done.err);
        done.out
    };
    let first = report("--seed 5 --threads 1");
    assert_eq!(report("--seed 5 --threads 1"), first);
    assert_eq!(report("--seed 5 --threads 3"), first);
    assert_ne!(report("--seed 6 --threads 3"), first);
}

#[test]
fn verdicts_decide_which_rules_take_part() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "a.rules", &format!("{RIGHT}{WRONG}"));
    write(folder, "p.taut", PROGRAM);
    let rules = |args: &str| {
        run(
            folder,
            &format!("optimize p.taut --rules a.rules --no-built-in -o out.taut {args}"),
        )
    };
    let names = |done: &Ran| -> Vec<String> {
        let json = done.json();
        let fired = json["report"]["rules"].as_array().unwrap();
        fired.iter().map(|r| r["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut said = String::new();
    let mut note = |done: &Ran| {
        // The line with the time comes after the problems.
        let problems = done.err.split("optimized").next().unwrap_or_default();
        said.push_str(&format!("exit {}\n{problems}\n", done.code));
    };

    let unknown = rules("");
    note(&unknown);
    assert_eq!(unknown.code, 0);
    let only = rules("--only-rules twice --quiet");
    assert_eq!((only.code, only.err.as_str()), (0, ""));
    let none = rules("--verdict tested --json");
    assert!(none.code == 0 && names(&none).is_empty(), "{}", none.out);
    assert_eq!(none.json()["verdicts"]["left_out"].as_array().unwrap().len(), 3);

    assert_eq!(run(folder, "verify a.rules --lock --budget 4").code, 1);
    note(&rules(""));
    let tested = rules("--verdict tested --json");
    note(&tested);
    assert_eq!(names(&tested), ["twice"]);
    let allowed = rules("--allow-refuted --json");
    assert_eq!(allowed.code, 0);
    assert!(names(&allowed).contains(&"sum".to_owned()), "{}", allowed.out);
    assert_eq!(allowed.json()["verdicts"]["refuted"][0], "sum");
    // A rule that is not used anyway rejects nothing.
    note(&rules("--skip-rules sum"));
    note(&rules("--class bitwise"));

    // A changed rule no longer has a verdict; a long list of names is truncated.
    write(
        folder,
        "a.rules",
        &format!("{RIGHT}{}", WRONG.replace("relu(x) + relu(y)", "relu(y) + relu(x)")),
    );
    note(&rules(""));
    let many: String = (0..9)
        .map(|i| format!("/// Twice.\nrule r{i}(x) {{ x * 1 => x }}\n"))
        .collect();
    write(folder, "a.rules", &many);
    note(&rules(""));
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("optimize_verdicts", said);
    });
}

#[test]
fn rules_that_come_with_the_tool_have_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "p.taut", PROGRAM);
    for set in ["", "--rules gsl", "--rules taso"] {
        let done = run(
            folder,
            &format!("optimize p.taut --verdict tested -o out.taut {set} --json"),
        );
        assert_eq!(done.code, 0, "{}", done.err);
        assert!(!done.err.contains("T0320"), "{}", done.err);
        assert_eq!(done.json()["verdicts"]["left_out"], serde_json::json!([]));
    }
    let list = run(folder, "rules list --json").json();
    let rules = list["rules"].as_array().unwrap();
    assert!(rules.iter().all(|r| r["verdict"].is_string() && r["says"].is_string()));
    write(folder, "a.rules", RIGHT);
    assert_eq!(run(folder, "rules list a.rules").out.matches("  -  ").count(), 2);
    assert_eq!(
        run(folder, "rules list a.rules --json").json()["rules"][0]["verdict"],
        Value::Null
    );
    assert_eq!(run(folder, "verify a.rules --lock --budget 4").code, 0);
    let listed = run(folder, "rules list a.rules").out;
    assert!(!listed.contains("  -  "), "{listed}");
}

#[test]
fn both_directions_have_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let text = "/// The opposite of a product.\nrule a(x, y) { -(x * y) <=> -x * y numerics bitwise }\n";
    write(folder, "a.rules", text);
    assert_eq!(run(folder, "verify a.rules --lock --budget 4").code, 0);
    let lock = read(folder, "verdicts.lock");
    assert_ne!(line(&lock, "a"), line(&lock, "a-reversed"));
    let page = run(folder, "rules show a a.rules").out;
    assert!(
        page.contains("verdict      a: ") && page.contains("\n               a-reversed: "),
        "{page}"
    );
    let again = run(folder, "verify a.rules --lock --budget 4");
    assert!(again.err.contains("2 of 2 verdicts from the lock"), "{}", again.err);
}

#[test]
fn the_table_is_the_same_from_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "a.rules", &format!("{RIGHT}{WRONG}"));
    let printed = run(folder, "verify a.rules --budget 4 --table");
    assert_eq!(printed.code, 1);
    assert!(printed.out.contains("| all | 3 |") && printed.out.contains("| `sum` | real | refuted |"));
    run(folder, "verify a.rules --budget 4 --lock");
    let written = run(folder, "verify a.rules --budget 4 --lock --table -o table.md");
    assert_eq!((written.code, written.out.as_str()), (1, ""));
    assert_eq!(read(folder, "table.md"), printed.out);
}

/// Each process adds its verdicts to those written by others in the meantime.
#[test]
fn processes_that_write_one_lock_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let rule = |i: usize| format!("/// Number {i}.\nrule r{i}(x) {{ relu(relu(x)) => relu(x) numerics bitwise }}\n");
    for round in 0..3 {
        let count = 6;
        for i in 0..count {
            write(folder, &format!("r{i}.rules"), &rule(i));
        }
        let _ = std::fs::remove_file(folder.join("verdicts.lock"));
        let codes: Vec<i32> = std::thread::scope(|scope| {
            let begun: Vec<_> = (0..count)
                .map(|i| scope.spawn(move || run(folder, &format!("verify r{i}.rules --lock --budget 2")).code))
                .collect();
            begun.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(codes, vec![0; count]);
        let lock = read(folder, "verdicts.lock");
        for i in 0..count {
            assert!(
                line(&lock, &format!("r{i}")).contains("proved"),
                "round {round}: {lock}"
            );
        }
    }
}

#[test]
fn counterexamples_come_before_repairs_and_repairs_may_be_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(
        folder,
        "a.rules",
        "/// Right for one group.\nrule r(x, y) { x - y => y - x numerics real }\n/// Not at all.\nrule s(x, y) { relu(x + y) => relu(x) + relu(y) numerics real }\n",
    );
    let without = run(folder, "verify a.rules --budget 20 --no-repair");
    assert_eq!(without.code, 1);
    assert!(!without.out.contains("nothing refutes it"), "{}", without.out);
    let with = run(folder, "verify a.rules --budget 20");
    assert!(with.out.starts_with(&without.out), "{}{}", without.out, with.out);
}

#[test]
fn build_servers_read_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    write(folder, "a.rules", RIGHT);
    write(folder, "b.rules", WRONG);
    let sarif = run(folder, "verify a.rules b.rules --budget 8 --format sarif");
    assert_eq!(sarif.code, 1, "{}", sarif.err);
    let found: Value = serde_json::from_str(&sarif.out).unwrap();
    let results = found["runs"][0]["results"].as_array().unwrap();
    let levels: Vec<&str> = results.iter().map(|r| r["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["none", "none", "error"]);
    let place = &results[2]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "b.rules");
    assert_eq!(place["region"]["startLine"], 2);

    write(folder, "one.taut", "fn main(x: f32[3]) { relu(relu(x)) }\n");
    write(folder, "two.taut", "fn main(x: f32[3]) { relu(x) }\n");
    write(folder, "three.taut", "fn main(x: f32[3]) { abs(x) }\n");
    let equal = run(folder, "verify one.taut two.taut --format junit");
    assert_eq!(equal.code, 0, "{}", equal.err);
    assert!(equal.out.contains("tests=\"1\" failures=\"0\""), "{}", equal.out);
    let differ = run(folder, "verify one.taut three.taut --format junit");
    assert_eq!(differ.code, 1, "{}", differ.err);
    assert!(differ.out.contains("<failure type=\"refuted\""), "{}", differ.out);
}

#[test]
fn the_example_of_own_rules_has_current_verdicts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/own-rules");
    let ran = run(&folder, "verify my.rules --check-lock");
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// What the prover writes now is what the checker reads, so that the format of one cannot change without the other.
#[test]
fn certificates_are_accepted_by_the_checker() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    let moved = "/// It moves elements.\nrule turned(x: [a, b]) { transpose(transpose(x) {perm = [1, 0]}) {perm = [1, 0]} => x numerics bitwise }\n";
    let summed = "/// It sums twice.\nrule summed(x: [a, b]) { reduce_sum(reduce_sum(x) {axes = [1], keepdims = true}) {axes = [0], keepdims = true} => reduce_sum(x) {axes = [0, 1], keepdims = true} numerics real }\n";
    let fused = "/// It calls an operator that has a body.\nrule fused(x, w) { relu(conv(x, w) {..a}) => fused_conv(x, w) {..a, activation = \"relu\"} where x.dtype == f32 numerics bitwise }\n";
    write(
        folder,
        "a.rules",
        &format!("{RIGHT}\n{moved}\n{summed}\n{fused}\n{WRONG}"),
    );
    let ran = run(folder, "verify a.rules --no-repair --certificate a.cert");
    assert_eq!(ran.code, 1, "{}", ran.out);
    let text = read(folder, "a.cert");
    let found = tautomer_check::check(&text);
    let names: Vec<&str> = found.iter().map(|one| one.rule.as_str()).collect();
    assert_eq!(names, ["twice", "swap", "turned", "fused"], "{text}");
    for one in &found {
        assert!(matches!(one.verdict, tautomer_check::Verdict::Accepted(_)), "{one}");
    }
    assert!(ran.err.contains("no certificate for 2 rules"), "{}", ran.err);
    assert!(
        ran.err.contains("summed: the checker finds no proof: the sides differ"),
        "{}",
        ran.err
    );
    // Another rule under the same certificate.
    let other = text.replace("relu(relu(x)) => relu(x)", "relu(relu(x)) => x");
    assert!(
        tautomer_check::check(&other)
            .iter()
            .any(|one| matches!(one.verdict, tautomer_check::Verdict::Rejected(_)))
    );
}
