//! Wrong programs: every message as a snapshot.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use tautomer::diag::{Diagnostics, Source};
use tautomer::graph::{BuildOptions, build_program};
use tautomer::lang::{parse_program, parse_rules};
use tautomer::rule::load_rules;

fn problems(name: &str, text: &str) -> Diagnostics {
    let built = parse_program(Arc::new(Source::new(name, text)))
        .and_then(|program| build_program(&program, &BuildOptions::default()));
    match built {
        Ok(_) => panic!("{name} has no problem"),
        Err(problems) => problems,
    }
}

#[test]
fn messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/fail");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 30);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = problems(&name, &text);
        assert!(
            found.iter().all(|p| tautomer::diag::explain(p.code).is_some()),
            "{found}"
        );
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/fail", omit_expression => true }, {
            insta::assert_snapshot!(stem, found.render(false));
        });
    }
}

#[test]
fn nesting_beyond_the_limit() {
    let text = format!("fn main(x: f32[2]) {{ {}x{} }}", "(".repeat(20_001), ")".repeat(20_001));
    let found = problems("deep.taut", &text);
    let first = found.iter().next().unwrap();
    assert_eq!(
        (first.code, first.message.as_str()),
        ("T0601", "brackets are nested 20002 deep")
    );
}

#[test]
fn functions_that_double() {
    let mut text = String::from("fn f0(x: f32[2]) { x + x }\n");
    for i in 1..40 {
        text.push_str(&format!("fn f{i}(x: f32[2]) {{ f{0}(f{0}(x)) }}\n", i - 1));
    }
    text.push_str("fn main(x: f32[2]) { f39(x) }\n");
    let program = parse_program(Arc::new(Source::new("doubling.taut", text))).unwrap();
    let options = BuildOptions {
        max_vertices: 1000,
        ..BuildOptions::default()
    };
    let found = build_program(&program, &options).unwrap_err();
    assert!(found.iter().all(|p| p.code == "T0603"), "{found}");
}

#[test]
fn messages_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    file("scale.taut", b"fn main(x: f32[2], param w: f32[2]) { x * w }\n");
    file("broken.npy", b"\x93NUMPY\x01\x00\x10");
    file("text.npy", b"1, 2\n");
    file("latin.taut", b"// caf\xe9\n");
    let mut out = String::new();
    for args in [
        "run scale.taut --input broken.npy",
        "run scale.taut --input text.npy",
        "run scale.taut --input missing.npy",
        "run scale.taut --input brokn.npy",
        "run scale.taut",
        "run scale.taut --input y=text.npy",
        "check latin.taut",
        "check scale.tuat",
        "check scal.taut",
        "check README",
        "run some.rules",
        "explain T0110",
        "optimize scale.taut --skip-rules nothing",
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_tautomer"))
            .args(args.split(' '))
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2), "{args}");
        assert!(done.stdout.is_empty(), "{args}");
        out.push_str(&format!(
            "$ tautomer {args}\n{}\n",
            String::from_utf8(done.stderr).unwrap()
        ));
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/fail", omit_expression => true }, {
        insta::assert_snapshot!("command", out);
    });
}

fn rule_problems(name: &str, text: &str) -> Diagnostics {
    match parse_rules(Arc::new(Source::new(name, text))).and_then(load_rules) {
        Ok(_) => Diagnostics::new(),
        Err(problems) => problems,
    }
}

#[test]
fn messages_about_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/fail-rules");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 30);
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let found = rule_problems(&name, &text);
        assert!(found.has_errors(), "{name} has no problem");
        assert!(
            found.iter().all(|p| tautomer::diag::explain(p.code).is_some()),
            "{found}"
        );
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        insta::with_settings!({ prepend_module_to_snapshot => false, snapshot_path => "snapshots/fail-rules", omit_expression => true }, {
            insta::assert_snapshot!(stem, found.render(false));
        });
    }
}

#[test]
fn patterns_beyond_the_limit() {
    let text = format!(
        "/// Deep.\nrule deep(x) {{ {}x{} => x }}",
        "abs(".repeat(300),
        ")".repeat(300)
    );
    let found = rule_problems("deep.rules", &text);
    let first = found.iter().next().unwrap();
    assert_eq!(
        (first.code, first.message.as_str()),
        ("T0604", "a pattern may be nested 200 deep")
    );
    assert_eq!(found.len(), 1, "{found}");
}
