//! What tests share: random cases that are the same in each run, unless a long run requests others, and data that is not
//! part of the repository.

use std::path::PathBuf;

use proptest::test_runner::{Config, RngSeed};

/// `cases` random cases from a fixed seed.
///
/// With `TAUTOMER_CASES=N` in the environment, `N` cases from a new seed, which a failure prints; this is the long form
/// of every random test.
pub fn random_cases(cases: u32) -> Config {
    let long = std::env::var("TAUTOMER_CASES").ok().and_then(|n| n.parse().ok());
    Config {
        cases: long.unwrap_or(cases),
        rng_seed: if long.is_some() {
            RngSeed::Random
        } else {
            RngSeed::Fixed(7)
        },
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..Config::default()
    }
}

/// A file or directory of `TAUTOMER_TEST_DATA`, the data that is too large for the repository. Without it, a message says
/// that the test is skipped.
///
/// # Panics
/// If the variable names no directory: it is misspelled, and no test with data would run.
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("TAUTOMER_TEST_DATA").filter(|value| !value.is_empty()) else {
        eprintln!("skipped: TAUTOMER_TEST_DATA is not set, and the test needs its {name}");
        return None;
    };
    let folder = PathBuf::from(folder);
    assert!(
        folder.is_dir(),
        "TAUTOMER_TEST_DATA is not a directory: {}",
        folder.display()
    );
    let path = folder.join(name);
    if !path.exists() {
        eprintln!("skipped: TAUTOMER_TEST_DATA has no {name}");
        return None;
    }
    Some(path)
}
