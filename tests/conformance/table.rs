//! The list of failing tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::case::Failure;

/// Longer reasons are truncated.
const LONGEST: usize = 160;

const HEAD: &str = "\
# Tests of ONNX that fail: name, first mode that fails, reason. Written by tests/conformance.rs with
# TAUTOMER_WRITE_TABLES=1; a test that fails and is not here is an error, and so is one that is here and passes.
";

/// Mode and reason of a failure, as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    mode: String,
    reason: String,
}

impl From<&Failure> for Line {
    fn from(failure: &Failure) -> Line {
        let words: Vec<&str> = failure.reason.split_whitespace().collect();
        Line {
            mode: failure.mode.name().to_owned(),
            reason: words.join(" ").chars().take(LONGEST).collect(),
        }
    }
}

/// Failures by test name.
pub(crate) struct Failures(BTreeMap<String, Line>);

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/expected_failures.txt")
}

impl Failures {
    /// The list as committed.
    pub(crate) fn read() -> Result<Failures, String> {
        let text = std::fs::read_to_string(path()).map_err(|e| format!("{}: {e}", path().display()))?;
        let mut failures = BTreeMap::new();
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let parts: Vec<&str> = line.splitn(3, "  ").collect();
            let [name, mode, reason] = parts[..] else {
                return Err(format!("{line:?} has no name, mode and reason"));
            };
            let line = Line {
                mode: mode.to_owned(),
                reason: reason.to_owned(),
            };
            failures.insert(name.to_owned(), line);
        }
        Ok(Failures(failures))
    }

    /// Reports an error if the test does not end as listed.
    pub(crate) fn verdict(&self, name: &str, failure: Option<&Failure>) -> Result<(), String> {
        match (self.0.get(name), failure) {
            (None, None) => Ok(()),
            (Some(line), Some(failure)) if line.mode == failure.mode.name() => Ok(()),
            (None, Some(failure)) => Err(format!("{}: {}", failure.mode.name(), failure.reason)),
            (Some(line), Some(failure)) => Err(format!(
                "it fails {}, and is listed as failing {}: {}",
                failure.mode.name(),
                line.mode,
                failure.reason
            )),
            (Some(_), None) => Err("it passes: remove it from tests/conformance/expected_failures.txt".to_owned()),
        }
    }

    /// Listed names that are no tests.
    pub(crate) fn unknown(&self, known: &[String]) -> Vec<&str> {
        let names = self.0.keys().map(String::as_str);
        names.filter(|name| !known.iter().any(|k| k == name)).collect()
    }

    /// Writes the list with the outcomes of the tests that ran; the others in `known` are kept.
    pub(crate) fn rewritten(
        &self,
        outcomes: impl Iterator<Item = (String, Option<Line>)>,
        known: &[String],
    ) -> Result<(), String> {
        let mut lines = self.0.clone();
        lines.retain(|name, _| known.contains(name));
        for (name, line) in outcomes {
            match line {
                Some(line) => lines.insert(name, line),
                None => lines.remove(&name),
            };
        }
        let body: String = lines
            .iter()
            .map(|(name, line)| format!("{name}  {}  {}\n", line.mode, line.reason))
            .collect();
        std::fs::write(path(), format!("{HEAD}{body}")).map_err(|e| e.to_string())
    }
}
