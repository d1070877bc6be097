//! Verdicts in the formats that build servers read: SARIF for code review, JUnit for lists of tests.

use clap::ValueEnum;
use serde_json::{Value, json};

use tautomer::formats::escaped;

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

/// What was checked, and the outcome.
pub(super) struct Finding {
    /// The rule, or the model.
    pub(super) name: String,
    /// The file, and the line in it.
    pub(super) file: String,
    pub(super) line: Option<usize>,
    /// The verdict as one word.
    pub(super) verdict: &'static str,
    /// True if the verdict is as it should be.
    pub(super) passed: bool,
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
            "results": results,
        }],
    })
}

fn result(finding: &Finding) -> Value {
    let mut place = json!({ "artifactLocation": { "uri": finding.file.replace('\\', "/") } });
    if let Some(line) = finding.line {
        place["region"] = json!({ "startLine": line });
    }
    json!({
        "ruleId": finding.verdict,
        "kind": if finding.passed { "pass" } else { "fail" },
        "level": if finding.passed { "none" } else { "error" },
        "message": { "text": format!("{}: {}", finding.name, finding.message.trim_end()) },
        "locations": [{ "physicalLocation": place }],
    })
}

fn junit(findings: &[Finding]) -> String {
    let failures = findings.iter().filter(|f| !f.passed).count();
    let counts = format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\"", findings.len());
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite name=\"tautomer verify\" {counts}>\n"
    );
    for finding in findings {
        let (file, name) = (escaped(&finding.file), escaped(&finding.name));
        let message = escaped(finding.message.trim_end());
        out.push_str(&format!("<testcase classname=\"{file}\" name=\"{name}\">\n"));
        if finding.passed {
            out.push_str(&format!("<system-out>{message}</system-out>\n"));
        } else {
            let first = message.lines().next().unwrap_or_default();
            let kind = finding.verdict;
            out.push_str(&format!(
                "<failure type=\"{kind}\" message=\"{first}\">{message}</failure>\n"
            ));
        }
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
            passed,
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
    }

    #[test]
    fn junit_counts_failures_and_escapes_text() {
        let found = junit(&example());
        assert!(found.contains("<testsuite name=\"tautomer verify\" tests=\"2\" failures=\"1\""));
        assert!(found.contains("x &lt; &quot;y&quot; &amp; z</failure>"), "{found}");
    }
}
