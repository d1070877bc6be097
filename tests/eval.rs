//! `tautomer eval` and `tautomer check --schema`, as a user runs them: `cargo test --features eval --test eval`.

use std::path::Path;
use std::process::{Command, Output};

fn tautomer(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tautomer"))
        .current_dir(folder)
        .args(args)
        .output()
        .expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).replace('\r', "")
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("data.csv"),
        "x,y,z\n1,0.5,true\n2,0.25,false\n,8.0,true\n4,,\n",
    )
    .unwrap();
    folder
}

#[test]
fn expressions_without_a_table() {
    let folder = folder();
    let out = tautomer(folder.path(), &["eval", "-q", "2 ** 10", "half: f64 = 1 / 2.0"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(text(&out.stdout), "2 ** 10,half\n1024,0.5\n");
}

#[test]
fn tables_of_every_kind_hold_the_same() {
    let folder = folder();
    let expression = "r = if(z, cast(x, f64), y * 1000.0)";
    let wanted = "x,r\n1,1.0\n2,250.0\n,\n4,\n";
    let mut input = "data.csv".to_owned();
    for kind in ["arrow", "parquet", "csv"] {
        let output = format!("out.{kind}");
        let all = ["eval", "x", "y", "z", "--input", input.as_str(), "-o", output.as_str()];
        let out = tautomer(folder.path(), &all);
        assert!(out.status.success(), "{}", text(&out.stderr));
        assert!(
            text(&out.stderr).contains("x: Int64, y: Float64, z: Boolean -> "),
            "{}",
            text(&out.stderr)
        );
        let out = tautomer(folder.path(), &["eval", "-q", "x", expression, "--input", &output]);
        assert_eq!(text(&out.stdout), wanted, "{}", text(&out.stderr));
        input = output;
    }
}

#[test]
fn filters_and_options() {
    let folder = folder();
    let filtered = ["eval", "-q", "x", "--filter", "y < 1", "--input", "data.csv"];
    let out = tautomer(folder.path(), &filtered);
    assert_eq!(text(&out.stdout), "x\n1\n2\n");
    let out = tautomer(
        folder.path(),
        &["eval", "-q", "y ^ 2", "--caret-is-power", "--input", "data.csv"],
    );
    assert_eq!(text(&out.stdout).lines().nth(1), Some("0.25"));
    let out = tautomer(
        folder.path(),
        &["eval", "-q", "x + y", "--promote", "--input", "data.csv"],
    );
    assert_eq!(text(&out.stdout).lines().nth(1), Some("1.5"));
    let null = [
        "eval",
        "-q",
        "1i64 / (x - 2)",
        "--division-by-zero",
        "null",
        "--input",
        "data.csv",
    ];
    assert_eq!(
        text(&tautomer(folder.path(), &null).stdout),
        "1i64 / (x - 2)\n-1\n\"\"\n\"\"\n0\n"
    );
}

/// Each argument is an expression, even with a semicolon or a comment at its end.
#[test]
fn expressions_may_end_with_a_semicolon_or_a_comment() {
    let folder = folder();
    let out = tautomer(folder.path(), &["eval", "-q", "a = 1;", "b = 2 // two", "c = 3"]);
    assert_eq!(text(&out.stdout), "a,b,c\n1,2,3\n", "{}", text(&out.stderr));
    let out = tautomer(folder.path(), &["eval", "-q", "-2", "--input", "data.csv", "--", "-x"]);
    assert_eq!(text(&out.stdout).lines().nth(1), Some("-2,-1"), "{}", text(&out.stderr));
}

#[test]
fn problems_leave_no_file() {
    let folder = folder();
    let filtered = ["eval", "8i64 / (x - 4)", "--filter", "x > 2", "--input", "data.csv"];
    let out = tautomer(folder.path(), &filtered);
    assert!(
        text(&out.stderr).contains("row 3: division by zero"),
        "{}",
        text(&out.stderr)
    );
    let failing = ["eval", "1i64 / (x - 2)", "--input", "data.csv", "-o", "out.parquet"];
    let out = tautomer(folder.path(), &failing);
    assert_eq!(out.status.code(), Some(2));
    let message = text(&out.stderr);
    for part in ["T0707", "row 1: division by zero", "x = 2"] {
        assert!(message.contains(part), "{part} in\n{message}");
    }
    assert!(!folder.path().join("out.parquet").exists());
    let out = tautomer(folder.path(), &["eval", "x + y", "--input", "data.csv"]);
    assert!(text(&out.stderr).contains("T0702"), "{}", text(&out.stderr));
    let out = tautomer(folder.path(), &["eval", "x", "--input", "data.txt"]);
    assert!(text(&out.stderr).contains("T0402"), "{}", text(&out.stderr));
}

#[test]
fn check_prints_types() {
    let folder = folder();
    let good = ["check", "--schema", "x: i32, z: bool", "r = if(z, x, 0)", "sin(x)"];
    let out = tautomer(folder.path(), &good);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert_eq!(text(&out.stdout), "r: i32\nsin(x): f64\n");
    let out = tautomer(folder.path(), &["check", "--schema", "x: i32", "x + 2.5"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("expression:1:1"), "{}", text(&out.stderr));
}

#[test]
fn functions_are_listed() {
    let folder = folder();
    let out = tautomer(folder.path(), &["eval", "--functions"]);
    assert!(text(&out.stdout).contains("castFLOAT8\n"));
}

#[test]
fn rules_rewrite_expressions() {
    let folder = folder();
    let explain = |args: &[&str]| {
        let mut all = vec!["eval", "-q", "--explain"];
        all.extend(args);
        tautomer(folder.path(), &all)
    };
    let out = explain(&["r = y / 8 > 1 and y / 8 > 2", "--schema", "y: f64"]);
    let shown = text(&out.stdout);
    assert!(
        shown.starts_with("r: y / 8 > 1 and y / 8 > 2\n  => y * 0.125 > 2\n  by "),
        "{shown}{}",
        text(&out.stderr)
    );
    assert!(shown.contains("above-both"), "{shown}");

    let rule = "/// A product of roots.\nrule roots(x, y) { sqrt(x) * sqrt(y) => sqrt(x * y) numerics real }\n";
    std::fs::write(folder.path().join("my.rules"), rule).unwrap();
    let own = ["sqrt(y) * sqrt(y + 1)", "--rules", "my.rules", "--no-built-in"];
    let out = explain(&[&own[..], &["--schema", "y: f64", "--class", "real"]].concat());
    assert!(
        text(&out.stdout).contains("=> sqrt(y * (y + 1))\n  by roots; calls: 4 -> 3\n"),
        "{}",
        text(&out.stdout)
    );
    // The class of the rule is weaker than the default.
    let out = explain(&[&own[..], &["--schema", "y: f64"]].concat());
    assert!(text(&out.stdout).contains("by no rule"), "{}", text(&out.stdout));

    // Values and nulls are those of the expression as written, and names are kept.
    let computed = [
        "eval",
        "-q",
        "x * 1 - x",
        "y / 8 > 0.01 and y / 8 > 0.05",
        "--input",
        "data.csv",
    ];
    let before = tautomer(folder.path(), &computed);
    let after = tautomer(folder.path(), &[&computed[..], &["--rewrite"]].concat());
    assert!(
        before.status.success() && after.status.success(),
        "{}",
        text(&after.stderr)
    );
    assert_eq!(text(&before.stdout), text(&after.stdout));

    // Problems have their place.
    std::fs::write(
        folder.path().join("bad.rules"),
        "rule bad(x) { sqrd(x) => x numerics real }\n",
    )
    .unwrap();
    let out = tautomer(folder.path(), &["eval", "-q", "1", "--rules", "bad.rules"]);
    assert!(!out.status.success());
    assert!(text(&out.stderr).contains("bad.rules:1:15"), "{}", text(&out.stderr));
}
