//! The tests that come with ONNX: single operators and small models with inputs and results, each run as is, optimized,
//! and optimized, exported and imported again.
//!
//! `TAUTOMER_CONFORMANCE` is the directory with the tests, `onnx/backend/test/data` of the wheel of onnx 1.22.0;
//! `tests/conformance/run.sh` downloads it. Without it, nothing is tested, and a message says so.
//! `cargo test --test conformance -- lstm` runs the tests whose names contain `lstm`.
//!
//! Failures are recorded in `tests/conformance/expected_failures.txt`: a test that fails without being listed is an
//! error, and so is a listed test that passes. `TAUTOMER_WRITE_TABLES=1` rewrites the list.

#![allow(
    clippy::print_stdout,
    reason = "a test program says on its output how many tests passed"
)]

#[path = "conformance/case.rs"]
mod case;
#[path = "conformance/kind.rs"]
mod kind;
#[path = "conformance/table.rs"]
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, FormatSetting, Trial};

use case::{Case, Failure, Mode};
use table::{Failures, Line};

/// The directories of the suite, as it groups its tests.
const FOLDERS: [&str; 4] = ["node", "simple", "pytorch-converted", "pytorch-operator"];

/// The outcome of a test.
struct Outcome {
    folder: &'static str,
    plain: bool,
    failure: Option<Failure>,
}

fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    let Some(data) = std::env::var_os("TAUTOMER_CONFORMANCE").map(PathBuf::from) else {
        println!(
            "NOT TESTED: TAUTOMER_CONFORMANCE names no folder of tests; `tests/conformance/run.sh` fetches them and runs all"
        );
        return ExitCode::SUCCESS;
    };
    let cases = match cases(&data) {
        Ok(cases) => cases,
        Err(why) => {
            println!("{why}");
            return ExitCode::FAILURE;
        }
    };
    if args.filter.is_none() && args.format.is_none() {
        args.format = Some(FormatSetting::Terse);
    }
    let write = std::env::var_os("TAUTOMER_WRITE_TABLES").is_some();
    let expected = match Failures::read() {
        Ok(expected) => Arc::new(expected),
        Err(why) => {
            println!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let outcomes: Arc<Mutex<BTreeMap<String, Outcome>>> = Arc::default();
    let known: Vec<String> = cases.iter().map(Case::name).collect();
    let trials = cases
        .into_iter()
        .map(|case| {
            let (expected, outcomes) = (expected.clone(), outcomes.clone());
            Trial::test(case.name(), move || {
                let failure = case.run();
                let verdict = expected.verdict(&case.name(), failure.as_ref());
                let outcome = Outcome {
                    folder: case.folder,
                    plain: case.is_plain(),
                    failure,
                };
                outcomes
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .insert(case.name(), outcome);
                if write { Ok(()) } else { verdict.map_err(Failed::from) }
            })
        })
        .collect();
    // A panic of a test is caught as its result; the message it prints is not needed.
    std::panic::set_hook(Box::new(|_| {}));
    let conclusion = libtest_mimic::run(&args, trials);
    let outcomes = outcomes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if outcomes.is_empty() {
        return conclusion.exit_code();
    }
    summary(&outcomes);
    if write {
        let lines = outcomes
            .iter()
            .map(|(name, outcome)| (name.clone(), outcome.failure.as_ref().map(Line::from)));
        if let Err(why) = expected.rewritten(lines, &known) {
            println!("{why}");
            return ExitCode::FAILURE;
        }
    }
    let gone = expected.unknown(&known);
    if !write && !gone.is_empty() {
        println!("listed and not in the suite: {}", gone.join(", "));
        return ExitCode::FAILURE;
    }
    conclusion.exit_code()
}

/// All tests in the directory, sorted by name.
fn cases(data: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for folder in FOLDERS {
        let path = data.join(folder);
        let entries = std::fs::read_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        for entry in entries {
            let path = entry.map_err(|e| e.to_string())?.path();
            if path.join("model.onnx").is_file() {
                cases.push(Case { folder, path });
            }
        }
    }
    cases.sort_by_key(Case::name);
    Ok(cases)
}

/// Prints how many tests passed.
fn summary(outcomes: &BTreeMap<String, Outcome>) {
    let passed = |outcome: &Outcome, mode: Mode| outcome.failure.as_ref().is_none_or(|f| f.mode > mode);
    let row = |title: &str, of: &dyn Fn(&Outcome) -> bool| {
        let all: Vec<&Outcome> = outcomes.values().filter(|o| of(o)).collect();
        if all.is_empty() {
            return;
        }
        let count = |mode| all.iter().filter(|o| passed(o, mode)).count();
        println!(
            "{title:<20}{:>6}{:>12}{:>12}{:>12}",
            all.len(),
            count(Mode::AsItIs),
            count(Mode::Optimized),
            count(Mode::Reimported)
        );
    };
    println!(
        "{:<20}{:>6}{:>12}{:>12}{:>12}",
        "passed", "of", "as it is", "optimized", "reimported"
    );
    for folder in FOLDERS {
        row(folder, &|o| o.folder == folder);
    }
    row("node, plain types", &|o| o.folder == "node" && o.plain);
}
