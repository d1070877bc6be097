//! What the fuzz targets do, on their seeds and on some hundred changed ones; `TAUTOMER_CASES` asks for more.

#[path = "../../fuzz/lib.rs"]
#[expect(unreachable_pub, reason = "it is a library of its own")]
mod fuzz;

use std::path::Path;

use self::fuzz::{Random, changed, read, round_trip};

fn seeds() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    files
        .iter()
        .map(|path| (name(path), std::fs::read(path).unwrap()))
        .collect()
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
    let cases = std::env::var("TAUTOMER_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(400);
    let seeds: Vec<Vec<u8>> = seeds().into_iter().map(|(_, bytes)| bytes).collect();
    let (mut models, mut written) = (0, 0);
    for case in 0..cases {
        let bytes = changed(&seeds, &mut Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(case + 1)));
        let tried = std::panic::catch_unwind(|| (read(&bytes), round_trip(&bytes)));
        let (is_model, back) = tried.unwrap_or_else(|_| panic!("case {case}: {bytes:?}"));
        models += u64::from(is_model);
        written += u64::from(back);
    }
    // Not all of them are refused at once.
    assert!(
        models * 20 > cases && written * 40 > cases,
        "{models} and {written} of {cases}"
    );
}
