//! Runs the targets without libFuzzer: seeds with random changes, for a number of seconds. Works on any toolchain.
//!
//! `cargo run --release --bin mutate -- scripts seeds-text 60 1` changes the files of `seeds-text` for 60 seconds,
//! starting with random seed 1, and passes each to the target `scripts`. Every input is first written to `mutate.last`,
//! so that an input that crashes the program is kept.

use std::time::{Duration, Instant};

use tautomer_fuzz::{Random, TARGETS};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    let target = args
        .get(1)
        .and_then(|name| TARGETS.iter().find(|target| target.name == name));
    let (Some(target), Some(folder)) = (target, args.get(2)) else {
        eprintln!(
            "mutate TARGET DIR [SECONDS [FIRST]]; the targets are {}",
            names.join(", ")
        );
        std::process::exit(2);
    };
    let seconds = args.get(3).and_then(|s| s.parse().ok()).unwrap_or(10);
    let mut random = Random(args.get(4).and_then(|s| s.parse().ok()).unwrap_or(1).max(1));
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a directory of seeds")
        .flatten()
        .map(|e| e.path())
        .collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().filter_map(|f| std::fs::read(f).ok()).collect();
    let (start, mut tried, mut used) = (Instant::now(), 0u64, 0u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        let bytes = (target.change)(&seeds, &mut random);
        std::fs::write("mutate.last", &bytes).expect("the current directory can be written");
        tried += 1;
        used += u64::from((target.run)(&bytes));
    }
    println!("{}: {tried} tried, {used} usable", target.name);
}
