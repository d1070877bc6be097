//! Runs the fuzz targets on their seeds and on a few hundred mutated ones; `TAUTOMER_CASES` sets their number.

#[path = "../../fuzz/lib.rs"]
#[expect(unreachable_pub, reason = "it is a library of its own")]
mod fuzz;

use std::path::Path;

use self::fuzz::{Random, TARGETS, arrays, changed, changed_words, pnnx, read, round_trip, rules, scripts, text};

fn seeds_of(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files
        .iter()
        .map(|path| (name(path), std::fs::read(path).unwrap()))
        .collect()
}

fn seeds() -> Vec<(String, Vec<u8>)> {
    seeds_of("fuzz/seeds")
}

fn cases() -> u64 {
    std::env::var("TAUTOMER_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(400)
}

#[test]
fn every_target_has_a_file_and_takes_any_bytes() {
    for target in TARGETS {
        let name = format!("fuzz/fuzz_targets/{}.rs", target.name);
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&name).is_file(), "{name}");
        let changed = (target.change)(&[b"a b\n\xff c".to_vec()], &mut Random(1));
        let tried = std::panic::catch_unwind(|| (target.run)(&changed));
        assert!(tried.is_ok(), "{name}");
    }
}

#[test]
fn changed_texts_are_scripts_or_refused() {
    let seeds: Vec<Vec<u8>> = seeds_of("fuzz/seeds-text").into_iter().map(|(_, text)| text).collect();
    let mut computed = 0;
    for case in 0..cases() {
        let text = changed(&seeds, &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case + 7)));
        let tried = std::panic::catch_unwind(|| scripts(&text));
        let done = tried.unwrap_or_else(|_| panic!("case {case}: {}", String::from_utf8_lossy(&text)));
        computed += u64::from(done);
    }
    assert!(computed * 20 > cases(), "{computed} of {}", cases());
}

#[test]
fn changed_texts_are_parsed_or_refused() {
    let seeds: Vec<Vec<u8>> = seeds_of("fuzz/seeds-text").into_iter().map(|(_, text)| text).collect();
    let mut parsed = 0;
    for case in 0..cases() {
        let bytes = changed(&seeds, &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case + 11)));
        let changed = String::from_utf8_lossy(&bytes);
        let tried = std::panic::catch_unwind(|| text(&changed));
        parsed += u64::from(tried.unwrap_or_else(|_| panic!("case {case}: {changed}")));
    }
    assert!(parsed * 20 > cases(), "{parsed} of {}", cases());
}

#[test]
fn changed_arrays_are_read_or_refused() {
    let seeds: Vec<Vec<u8>> = seeds_of("fuzz/seeds-arrays")
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    let read = seeds.iter().filter(|bytes| arrays(bytes)).count();
    // The others hold element types or values that are refused.
    assert!(2 * read > seeds.len(), "{read} of {} seeds are read", seeds.len());
    for case in 0..cases() {
        let bytes = changed(&seeds, &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case + 13)));
        let tried = std::panic::catch_unwind(|| arrays(&bytes));
        assert!(tried.is_ok(), "case {case}: {bytes:?}");
    }
}

#[test]
fn seeds_are_read_and_written() {
    let seeds = seeds();
    assert!(seeds.len() > 5);
    for (name, bytes) in seeds {
        assert!(read(&bytes) && round_trip(&bytes), "{name}");
    }
}

#[test]
fn changed_seeds_are_models_or_refused() {
    let cases = cases();
    let seeds: Vec<Vec<u8>> = seeds().into_iter().map(|(_, bytes)| bytes).collect();
    let (mut models, mut written) = (0, 0);
    for case in 0..cases {
        let bytes = changed(&seeds, &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case + 1)));
        let tried = std::panic::catch_unwind(|| (read(&bytes), round_trip(&bytes)));
        let (is_model, back) = tried.unwrap_or_else(|_| panic!("case {case}: {bytes:?}"));
        models += u64::from(is_model);
        written += u64::from(back);
    }
    // Not all of them are rejected immediately.
    assert!(
        models * 20 > cases && written * 40 > cases,
        "{models} and {written} of {cases}"
    );
}

#[test]
fn seeds_of_pnnx_are_read_and_written() {
    let seeds = seeds_of("fuzz/seeds-pnnx");
    assert!(seeds.len() > 5);
    for (name, bytes) in seeds {
        assert_eq!(pnnx(&bytes), (true, true), "{name}");
    }
}

#[test]
fn changed_seeds_of_pnnx_are_models_or_refused() {
    let cases = cases();
    let seeds: Vec<Vec<u8>> = seeds_of("fuzz/seeds-pnnx")
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    let (mut models, mut written) = (0, 0);
    for case in 0..cases {
        let bytes = changed_words(&seeds, &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case + 1)));
        let (is_model, back) = std::panic::catch_unwind(|| pnnx(&bytes))
            .unwrap_or_else(|_| panic!("case {case}:\n{}", String::from_utf8_lossy(&bytes)));
        models += u64::from(is_model);
        written += u64::from(back);
    }
    assert!(
        models * 10 > cases && written * 10 > cases,
        "{models} and {written} of {cases}"
    );
}

#[test]
fn changed_rules_have_verdicts_or_messages() {
    let cases = cases().div_ceil(6);
    let seeds = seeds_of("fuzz/seeds-rules");
    for (name, seed) in &seeds {
        assert!(rules(&String::from_utf8_lossy(seed)), "{name}");
    }
    let seeds: Vec<Vec<u8>> = seeds.into_iter().map(|(_, text)| text).collect();
    let mut loaded = 0;
    for case in 0..cases {
        let bytes = changed(&seeds, &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case + 1)));
        let text = String::from_utf8_lossy(&bytes);
        let tried = std::panic::catch_unwind(|| rules(&text));
        loaded += u64::from(tried.unwrap_or_else(|_| panic!("case {case}: {text}")));
    }
    // Not all of them are rejected immediately.
    assert!(loaded * 20 > cases, "{loaded} of {cases}");
}
