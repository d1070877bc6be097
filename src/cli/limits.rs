//! Options that limit folding and comparison.

use tautomer::graph::Allowance;
use tautomer::rewrite::{Folding, Limits};

#[derive(clap::Args)]
pub(super) struct FoldArgs {
    /// Also precompute values that make the file larger, such as weights that are stored in fewer bits
    #[arg(long)]
    fold_all: bool,
    /// Memory limit for precomputing values, such as `2G`, in addition to eight times the parameters
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "268M")]
    max_fold_bytes: u64,
    /// Operation limit for precomputing values, such as `1e10`, in addition to 16 for each byte of the parameters
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "1e9")]
    max_fold_operations: u64,
    /// Step limit for the search for one rule, such as `1e8`, in addition to what follows from the size of the graph
    #[arg(long, value_name = "N", value_parser = parse_count)]
    match_steps: Option<u64>,
}

impl FoldArgs {
    /// The step limit of matching.
    pub(super) fn steps(&self) -> usize {
        self.match_steps
            .map_or(Limits::default().steps, |n| usize::try_from(n).unwrap_or(usize::MAX))
    }

    pub(super) fn folding(&self) -> Folding {
        Folding {
            all: self.fold_all,
            bytes: self.max_fold_bytes,
            operations: self.max_fold_operations,
        }
    }
}

#[derive(clap::Args)]
pub(super) struct CheckArgs {
    /// Memory limit for one comparison of input and result, such as `48G`
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "800M")]
    check_memory: u64,
    /// Operation limit for one run when input and result are compared, such as `1e13`
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "1e12")]
    check_operations: u64,
}

impl CheckArgs {
    pub(super) fn allowance(&self) -> Allowance {
        Allowance {
            bytes: self.check_memory,
            operations: self.check_operations,
        }
    }
}

/// A number of bytes: `1000000`, `48G`, `512Mi`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let text = text.trim().trim_end_matches(['B', 'b']);
    let units: [(&str, f64); 8] = [
        ("ki", 1024.0),
        ("mi", 1048576.0),
        ("gi", 1073741824.0),
        ("ti", 1099511627776.0),
        ("k", 1e3),
        ("m", 1e6),
        ("g", 1e9),
        ("t", 1e12),
    ];
    let lower = text.to_ascii_lowercase();
    let found = units
        .iter()
        .find_map(|(name, unit)| Some((lower.strip_suffix(name)?, *unit)));
    let (digits, unit) = found.unwrap_or((&lower, 1.0));
    whole(digits, unit).ok_or_else(|| "expected a number of bytes such as `800M` or `48G`".to_owned())
}

/// A number: `1000000` or `1e6`.
fn parse_count(text: &str) -> Result<u64, String> {
    whole(text.trim(), 1.0).ok_or_else(|| "expected a number such as `1e12`".to_owned())
}

fn whole(digits: &str, unit: f64) -> Option<u64> {
    let number = digits.trim().parse::<f64>().ok()? * unit;
    (number.is_finite() && number >= 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(parse_bytes("48G"), Ok(48_000_000_000));
        assert_eq!(parse_bytes("1.5 kB"), Ok(1500));
        assert_eq!(parse_bytes("2MiB"), Ok(2 << 20));
        assert_eq!(parse_bytes("17"), Ok(17));
        assert_eq!(parse_count("1e12"), Ok(1_000_000_000_000));
        for wrong in ["", "many", "-1", "inf", "G"] {
            assert!(parse_bytes(wrong).is_err() && parse_count(wrong).is_err(), "{wrong}");
        }
    }
}
