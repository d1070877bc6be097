//! The targets without libFuzzer: seeds with random changes, for a number of seconds. Runs on any toolchain.
//!
//! `cargo run --release --bin mutate -- seeds 60 1` changes the files of `seeds` for 60 seconds, beginning with random
//! number 1. What is about to be tried is written to `mutate.last` first, so that an input that ends the program is kept.

use std::time::{Duration, Instant};

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

fn changed(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 if !bytes.is_empty() => bytes[at] = [0, 1, 2, 7, 127, 128, 255][random.below(7)],
            3 => {
                let end = (at + random.below(16)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            4 => {
                let end = (at + random.below(8)).min(bytes.len());
                bytes.drain(at..end);
            }
            _ => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                let end = (from + random.below(64)).min(other.len());
                bytes.splice(at..at, other[from..end].iter().copied());
            }
        }
    }
    bytes
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let folder = args.get(1).map_or("seeds", String::as_str);
    let seconds = args.get(2).and_then(|s| s.parse().ok()).unwrap_or(10);
    let mut random = Random(args.get(3).and_then(|s| s.parse().ok()).unwrap_or(1).max(1));
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("a folder of seeds").flatten().map(|e| e.path()).collect();
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
