//! `tautomer-check FILE...`: checks certificates of proofs.

use std::{io::Write, process::ExitCode};

use tautomer_check::{Verdict, check};

const USAGE: &str = "Usage: tautomer-check FILE...\n\nChecks what `tautomer verify --certificate FILE` wrote.";

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let mut out = std::io::stdout().lock();
    if files.is_empty() || files.iter().any(|f| f.starts_with('-')) {
        _ = writeln!(out, "{USAGE}");
        return ExitCode::from(if files.iter().any(|f| f == "--help") { 0 } else { 2 });
    }
    let mut counts = [0, 0, 0];
    for file in files {
        let bytes = std::fs::read(&file).inspect_err(|why| {
            counts[1] += 1;
            _ = writeln!(out, "rejected  {file}: cannot be read: {why}");
        });
        for one in bytes.map_or_else(|_| Vec::new(), |bytes| check(&String::from_utf8_lossy(&bytes))) {
            let unknown = matches!(one.verdict, Verdict::NotChecked(_));
            counts[if unknown { 2 } else { usize::from(matches!(one.verdict, Verdict::Rejected(_))) }] += 1;
            _ = writeln!(out, "{one}");
        }
    }
    _ = writeln!(out, "{} accepted, {} rejected, {} not checked", counts[0], counts[1], counts[2]);
    ExitCode::from(u8::from(counts[1] + counts[2] > 0))
}
