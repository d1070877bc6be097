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
    /// What the result rests on.
    chain: Vec<Step>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let loaded = Loaded::read(&args.file, args.from, args.params.as_deref(), shell)?;
    let (rules, groups) = read_rules(&args.rules)?;
    let allowed = tolerance(args.class, &loaded.workload);
    let trial = |limit: Option<usize>, skip: &[String]| -> Result<Trial, Failure> {
        let options = Options {
            engine: args.engine.into(),
            rules: rules.clone(),
            groups: groups.clone(),
            class: args.class,
            assume: args.assume.clone(),
            skip: skip.to_vec(),
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
            chain: outcome.steps,
        })
    };
    let whole = trial(None, &[])?;
    let total = whole.applications.len();
    let Some(apart) = whole.apart else {
        if shell.json {
            return shell.json(json!({ "applications": total, "first": null }));
        }
        return shell.result(&format!("none of {total} applications changes a result\n"));
    };
    let step = match args.engine {
        EngineName::Substitute => first_step(total, whole, &trial)?,
        EngineName::Saturate => first_of_chain(whole, &trial)?,
    };
    let (rule, place) = match &step {
        Some((_, step)) => (step.rule.to_string(), step.place.join(", ")),
        None => ("folding".to_owned(), String::new()),
    };
    let number = step.map(|(number, _)| number);
    if shell.json {
        let apart = if apart.is_finite() { json!(apart) } else { json!("inf") };
        shell.json(json!({
            "applications": total,
            "first": { "number": number, "rule": rule, "place": place, "difference": apart, "allowed": allowed },
        }))?;
    } else {
        let at = if place.is_empty() {
            String::new()
        } else {
            format!(" at {place}")
        };
        let which = number.map_or_else(String::new, |n| {
            format!("application {n} of {total} changes a result: ")
        });
        shell.result(&format!(
            "{which}{rule}{at}\nlargest difference {apart:.2e} of the scale, allowed {allowed:.0e}\n"
        ))?;
    }
    Err(Failure::No)
}

type Run<'a> = dyn Fn(Option<usize>, &[String]) -> Result<Trial, Failure> + 'a;

/// The first substitution with which the result is wrong, by halving their number.
fn first_step(total: usize, whole: Trial, trial: &Run<'_>) -> Result<Option<(usize, Step)>, Failure> {
    let (mut good, mut bad, mut found) = (0, total, whole);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let next = trial(Some(middle), &[])?;
        if next.apart.is_some() {
            (bad, found) = (middle, next);
        } else {
            good = middle;
        }
    }
    Ok(found
        .applications
        .into_iter()
        .nth(bad.wrapping_sub(1))
        .map(|step| (bad, step)))
}

/// The first application that the wrong result rests on, of the rule without which the result is right.
///
/// Halving the number of applications would say little here: an e-graph holds what a wrong rule made long before it is
/// cheap enough to be taken.
fn first_of_chain(whole: Trial, trial: &Run<'_>) -> Result<Option<(usize, Step)>, Failure> {
    let mut rules: Vec<String> = Vec::new();
    for step in &whole.chain {
        if !rules.iter().any(|r| **r == *step.rule) {
            rules.push(step.rule.to_string());
        }
    }
    let mut guilty = None;
    for rule in &rules {
        if trial(None, std::slice::from_ref(rule))?.apart.is_none() {
            guilty = Some(rule);
            break;
        }
    }
    if guilty.is_none() {
        // Several are wrong: leave out more and more of them.
        let mut skip: Vec<String> = Vec::new();
        for rule in &rules {
            skip.push(rule.clone());
            if trial(None, &skip)?.apart.is_none() {
                guilty = Some(rule);
                break;
            }
        }
    }
    let step = whole
        .chain
        .into_iter()
        .find(|s| guilty.is_some_and(|rule| **rule == *s.rule));
    Ok(step.map(|step| {
        let place = whole.applications.iter().position(|a| *a == step);
        (place.map_or(0, |i| i + 1), step)
    }))
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
