//! The targets without libFuzzer: seeds with random changes, for a number of seconds. Runs on any toolchain.
//!
//! `cargo run --release --bin mutate -- seeds 60 1` changes the files of `seeds` for 60 seconds, beginning with random
//! number 1. What is about to be tried is written to `mutate.last` first, so that an input that ends the program is kept.

use std::time::{Duration, Instant};

use tautomer_fuzz::{Random, changed};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let folder = args.get(1).map_or("seeds", String::as_str);
    let seconds = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(10);
    let mut random = Random(args.get(3).and_then(|s| s.parse().ok()).unwrap_or(1).max(1));
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("a folder of seeds")
        .flatten()
        .map(|e| e.path())
        .collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().filter_map(|f| std::fs::read(f).ok()).collect();
    let (start, mut tried, mut read, mut written) = (Instant::now(), 0u64, 0u64, 0u64);
    while start.elapsed() < Duration::from_secs(seconds) {
        let bytes = changed(&seeds, &mut random);
        std::fs::write("mutate.last", &bytes).expect("the current folder can be written");
        tried += 1;
        if tautomer_fuzz::read(&bytes) {
            read += 1;
            written += u64::from(tautomer_fuzz::round_trip(&bytes));
        }
    }
    println!("{tried} tried, {read} read as models, {written} written and read again");
}
