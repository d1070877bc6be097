//! `tautomer bisect`: the first rule application that changes a result.

use std::path::PathBuf;

use serde_json::json;

use tautomer::graph::Workload;
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{Limits, Step};
use tautomer::rule::Class;

use super::input::{self, Kind, Loaded};
use super::optimize::{EngineName, Verdict, compare, parse_class, read_rules, tolerance};
use super::{Done, Failure, Shell};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Rule files, or names of sets that come with the tool, to use instead of the built-in rules
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// How rules are applied
    #[arg(long, value_enum, default_value = "saturate", value_name = "ENGINE")]
    engine: EngineName,
    /// How equal the results must be: `bitwise`, `real`, or `approx(e)` with a relative error
    #[arg(long, value_parser = parse_class, default_value = "real")]
    class: Class,
    /// Facts that hold, such as `finite(x)`; rules that assume others are left out
    #[arg(long, value_name = "FACT")]
    assume: Vec<String>,
    /// Compare on this many random inputs
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u64,
    /// Where the random numbers begin
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Values of the parameters of a program (.safetensors or .npz)
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// What the file is, whatever its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
}

/// What an optimisation with a limit of applications gives.
struct Trial {
    /// The largest difference, if it is too large.
    apart: Option<f64>,
    applications: Vec<Step>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let loaded = Loaded::read(&args.file, args.from, args.params.as_deref(), shell)?;
    let (rules, groups) = read_rules(&args.rules)?;
    let allowed = tolerance(args.class, &loaded.workload);
    let trial = |limit: Option<usize>| -> Result<Trial, Failure> {
        let options = Options {
            engine: args.engine.into(),
            rules: rules.clone(),
            groups: groups.clone(),
            class: args.class,
            assume: args.assume.clone(),
            limits: Limits {
                rewrites: limit,
                ..Limits::default()
            },
            explain: true,
            ..Options::default()
        };
        let outcome = optimize(loaded.workload.clone(), &options)?;
        Ok(Trial {
            apart: difference(&loaded.workload, &outcome.workload, args, allowed)?,
            applications: outcome.applications,
        })
    };
    let whole = trial(None)?;
    let total = whole.applications.len();
    let Some(_) = whole.apart else {
        if shell.json {
            return shell.json(json!({ "applications": total, "first": null }));
        }
        return shell.result(&format!("none of {total} applications changes a result\n"));
    };
    // `good` applications leave the results alone, `bad` ones do not.
    let (mut good, mut bad, mut found) = (0, total, whole);
    let mut tried = 1;
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let next = trial(Some(middle))?;
        tried += 1;
        if next.apart.is_some() {
            (bad, found) = (middle, next);
        } else {
            good = middle;
        }
    }
    let apart = found.apart.unwrap_or(f64::INFINITY);
    let (rule, place) = match found.applications.get(bad - 1) {
        Some(step) => (step.rule.to_string(), step.place.join(", ")),
        None => ("folding".to_owned(), String::new()),
    };
    if shell.json {
        let apart = if apart.is_finite() { json!(apart) } else { json!("inf") };
        shell.json(json!({
            "applications": total, "tried": tried,
            "first": { "number": bad, "rule": rule, "place": place, "difference": apart, "allowed": allowed },
        }))?;
    } else {
        let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
        shell.result(&format!(
            "application {bad} of {total} changes a result: {rule}{at}\n\
             largest difference {apart:.2e} of the scale, allowed {allowed:.0e}; {tried} runs of the optimiser\n"
        ))?;
    }
    Err(Failure::No)
}

/// The largest difference on random inputs, if it is too large.
fn difference(before: &Workload, after: &Workload, args: &Args, allowed: f64) -> Result<Option<f64>, Failure> {
    match compare(before, after, args.runs, args.seed)? {
        Verdict::Apart(most) => Ok((most > allowed).then_some(most)),
        Verdict::Unchecked(why) => Err(Failure::new(
            "T0406",
            format!("{}: the original does not run here: {why}", input::shown(&args.file)),
        )),
    }
}
