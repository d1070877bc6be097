//! Verdicts in the formats that build servers read: SARIF for code review, JUnit for lists of tests.

use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};

use tautomer::formats::escaped;

use super::input::shown;
use super::{Failure, Shell};

/// The format of verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(super) enum Format {
    /// For people
    #[default]
    Text,
    /// The Static Analysis Results Interchange Format, version 2.1.0
    Sarif,
    /// The XML of test runners
    Junit,
}

/// What a verdict means for a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The verdict is as it should be.
    Passed,
    /// It is not.
    Failed,
    /// There is no verdict.
    Error,
}

impl Outcome {
    pub(super) fn of(passed: bool) -> Outcome {
        if passed { Outcome::Passed } else { Outcome::Failed }
    }
}

/// What was checked, and the outcome.
pub(super) struct Finding {
    /// The rule, or the model.
    pub(super) name: String,
    /// The file, and the line in it.
    pub(super) file: String,
    pub(super) line: Option<usize>,
    /// The verdict as one word.
    pub(super) verdict: &'static str,
    pub(super) outcome: Outcome,
    /// The verdict with its evidence.
    pub(super) message: String,
}

impl Format {
    /// The findings as text; `None` for the text that commands print themselves.
    pub(super) fn render(self, findings: &[Finding]) -> Option<String> {
        match self {
            Format::Text => None,
            Format::Sarif => Some(format!("{:#}\n", sarif(findings))),
            Format::Junit => Some(junit(findings)),
        }
    }

    /// If a problem kept a command from its answer about a file, reports the problem in the format as well: a build
    /// server reads nothing else.
    pub(super) fn or_problems<T>(self, file: &Path, found: Result<T, Failure>, shell: &Shell) -> Result<T, Failure> {
        if let Err(Failure::Problems(problems)) = &found {
            let finding = Finding {
                name: shown(file),
                file: shown(file),
                line: None,
                verdict: "error",
                outcome: Outcome::Error,
                message: problems.render(false),
            };
            if let Some(text) = self.render(&[finding]) {
                shell.result(&text)?;
            }
        }
        found
    }
}

fn sarif(findings: &[Finding]) -> Value {
    let mut verdicts: Vec<&str> = findings.iter().map(|f| f.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let kinds: Vec<Value> = verdicts
        .iter()
        .map(|verdict| json!({ "id": verdict, "shortDescription": { "text": format!("verdict: {verdict}") } }))
        .collect();
    let results: Vec<Value> = findings.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "tautomer", "version": env!("CARGO_PKG_VERSION"), "rules": kinds } },
            "invocations": [{ "executionSuccessful": findings.iter().all(|f| f.outcome != Outcome::Error) }],
            "results": results,
        }],
    })
}

fn result(finding: &Finding) -> Value {
    // Code review shows nothing that has no line, and a model has none of its own.
    let place = json!({
        "artifactLocation": { "uri": uri(&finding.file) },
        "region": { "startLine": finding.line.unwrap_or(1) },
    });
    let passed = finding.outcome == Outcome::Passed;
    json!({
        "ruleId": finding.verdict,
        "kind": if passed { "pass" } else { "fail" },
        "level": if passed { "none" } else { "error" },
        "message": { "text": format!("{}: {}", finding.name, finding.message.trim_end()) },
        "locations": [{ "physicalLocation": place }],
    })
}

/// A path as a URI: what is not allowed in one is written as its bytes.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.replace('\\', "/").bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn junit(findings: &[Finding]) -> String {
    let count = |outcome| findings.iter().filter(|f| f.outcome == outcome).count();
    let (failures, errors) = (count(Outcome::Failed), count(Outcome::Error));
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"",
        findings.len()
    );
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite name=\"tautomer verify\" {counts}>\n"
    );
    for finding in findings {
        let (file, name) = (escaped(&finding.file), escaped(&finding.name));
        let message = escaped(finding.message.trim_end());
        out.push_str(&format!("<testcase classname=\"{file}\" name=\"{name}\">\n"));
        let first = message.lines().next().unwrap_or_default();
        let kind = finding.verdict;
        out.push_str(&match finding.outcome {
            Outcome::Passed => format!("<system-out>{message}</system-out>\n"),
            Outcome::Failed => format!("<failure type=\"{kind}\" message=\"{first}\">{message}</failure>\n"),
            Outcome::Error => format!("<error type=\"{kind}\" message=\"{first}\">{message}</error>\n"),
        });
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> [Finding; 2] {
        let finding = |name: &str, passed, message: &str| Finding {
            name: name.to_owned(),
            file: "a/b.rules".to_owned(),
            line: Some(3),
            verdict: if passed { "proved" } else { "refuted" },
            outcome: Outcome::of(passed),
            message: message.to_owned(),
        };
        [
            finding("right", true, "proved"),
            finding("wrong", false, "refuted\n  x < \"y\" & \u{1}z\n"),
        ]
    }

    #[test]
    fn sarif_has_places_and_levels() {
        let found = sarif(&example());
        let results = &found["runs"][0]["results"];
        assert_eq!(results[0]["kind"], "pass");
        assert_eq!(results[1]["level"], "error");
        let place = &results[1]["locations"][0]["physicalLocation"];
        assert_eq!(place["region"]["startLine"], 3);
        assert_eq!(place["artifactLocation"]["uri"], "a/b.rules");
        assert_eq!(uri("a b\\ü.onnx"), "a%20b/%C3%BC.onnx");
    }

    #[test]
    fn junit_counts_failures_and_escapes_text() {
        let found = junit(&example());
        assert!(found.contains("<testsuite name=\"tautomer verify\" tests=\"2\" failures=\"1\""));
        assert!(found.contains("x &lt; &quot;y&quot; &amp; z</failure>"), "{found}");
    }
}
