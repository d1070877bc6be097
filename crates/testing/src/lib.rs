//! Configuration of random tests: the same cases in each run, unless a long run requests others.

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
