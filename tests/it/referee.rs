//! The referee of the examples: exit codes, and reports that build servers read.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tautomer::Model;

/// A folder with models: an original, one that is equal, one that differs, and a damaged one.
fn models(folder: &Path) {
    let texts = [
        ("original", "fn main(x: f32[3]) { relu(relu(x)) }"),
        ("equal", "fn main(x: f32[3]) { relu(x) }"),
        ("other", "fn main(x: f32[3]) { abs(x) }"),
    ];
    for (name, text) in texts {
        let model = Model::from_text(name, text).unwrap();
        model.write(folder.join(format!("{name}.onnx"))).unwrap();
    }
    std::fs::write(folder.join("damaged.onnx"), b"no model").unwrap();
}

/// The exit code and what is printed, with the pairs of `original` and these.
fn referee(folder: &Path, optimized: &[&str]) -> (i32, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/referee/referee.sh");
    let program = PathBuf::from(env!("CARGO_BIN_EXE_tautomer"));
    let path = std::env::var("PATH").unwrap_or_default();
    let done = Command::new(script)
        .arg("results")
        .args(optimized.iter().map(|name| format!("original.onnx={name}.onnx")))
        .env("PATH", format!("{}:{path}", program.parent().unwrap().display()))
        .current_dir(folder)
        .output()
        .unwrap();
    (done.status.code().unwrap(), String::from_utf8(done.stdout).unwrap())
}

#[cfg(unix)]
#[test]
fn the_referee_reports_each_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path();
    models(folder);
    assert_eq!(referee(folder, &["equal"]), (0, "equal.onnx: equal\n".to_owned()));
    let (code, told) = referee(folder, &["equal", "other"]);
    assert_eq!((code, told.as_str()), (1, "equal.onnx: equal\nother.onnx: differs\n"));
    let (code, told) = referee(folder, &["other", "damaged", "equal"]);
    assert_eq!(code, 2);
    assert!(told.contains("damaged.onnx: not compared\n"), "{told}");
    for (name, kind, level, successful) in [
        ("equal", "pass", "none", true),
        ("other", "fail", "error", true),
        ("damaged", "fail", "error", false),
    ] {
        let text = std::fs::read_to_string(folder.join(format!("results/{name}.onnx.sarif"))).unwrap();
        let sarif: Value = serde_json::from_str(&text).unwrap();
        let run = &sarif["runs"][0];
        let result = &run["results"][0];
        assert_eq!(
            (&result["kind"], &result["level"]),
            (&kind.into(), &level.into()),
            "{name}"
        );
        assert_eq!(run["invocations"][0]["executionSuccessful"], successful, "{name}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], format!("{name}.onnx"));
        assert_eq!(place["region"]["startLine"], 1);
    }
    let junit = |name: &str| std::fs::read_to_string(folder.join(format!("results/{name}.onnx.xml"))).unwrap();
    assert!(
        junit("equal").contains("failures=\"0\" errors=\"0\""),
        "{}",
        junit("equal")
    );
    assert!(
        junit("other").contains("<failure type=\"refuted\""),
        "{}",
        junit("other")
    );
    let damaged = junit("damaged");
    assert!(
        damaged.contains("errors=\"1\"") && damaged.contains("<error type=\"error\""),
        "{damaged}"
    );
}
