//! `tautomer bisect`: the first rule application that changes a result.

use std::path::PathBuf;

use serde_json::json;

use tautomer::compare::{Compared, Comparing, Trial, compare, first_of_chain, tolerance};
use tautomer::graph::Workload;
use tautomer::pipeline::{Options, optimize};
use tautomer::rewrite::{Limits, Step};
use tautomer::rule::Class;

use super::input::{self, Kind};
use super::limits::CheckArgs;
use super::optimize::{EngineName, parse_class, read_rules};
use super::{Done, Failure, Shell};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Rule files, or names of sets that come with the tool, to use besides the built-in rules
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
    /// Use the rules of `--rules` alone
    #[arg(long, requires = "rules")]
    no_built_in: bool,
    /// How rules are applied
    #[arg(long, value_enum, default_value = "saturate", value_name = "ENGINE")]
    engine: EngineName,
    /// How close the results must be: `bitwise`, `real`, or `approx(e)` with a relative error
    #[arg(long, value_parser = parse_class, default_value = "real")]
    class: Class,
    /// Facts that hold, such as `finite(x)`; rules that assume others are excluded
    #[arg(long, value_name = "FACT")]
    assume: Vec<String>,
    /// Compare on N random inputs
    #[arg(long, value_name = "N", default_value_t = 3)]
    runs: u64,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Values for the parameters of a program (.safetensors or .npz)
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
    /// The file type, regardless of its suffix
    #[arg(long, value_enum, value_name = "KIND")]
    from: Option<Kind>,
    #[command(flatten)]
    limits: CheckArgs,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let given = read_rules(&args.rules, args.no_built_in, shell)?;
    let loaded = input::read(&args.file, args.from, args.params.as_deref(), shell)?;
    let allowed = tolerance(args.class, &loaded.workload);
    let trial = |limit: Option<usize>| -> Result<Trial, Failure> {
        let options = Options {
            engine: args.engine.into(),
            rules: given.as_ref().map(|set| set.rules.clone()),
            groups: given.as_ref().map_or_else(Vec::new, |set| set.groups.clone()),
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
            chain: outcome.steps,
            sides: outcome.sides,
        })
    };
    let whole = trial(None)?;
    let total = whole.applications.len();
    let Some(most) = whole.apart else {
        if shell.json {
            return shell.json(json!({ "applications": total, "first": null }));
        }
        return shell.result(&format!("none of {total} applications changes a result\n"));
    };
    let step = match args.engine {
        EngineName::Substitute => first_step(total, whole, &trial)?,
        EngineName::Saturate => first_of_chain(&loaded.workload, &whole, (args.runs, args.seed), allowed),
    };
    let (rule, place) = match &step {
        Some((_, step)) => (step.rule.to_string(), step.place.join(", ")),
        None => ("folding".to_owned(), String::new()),
    };
    let number = step.map(|(number, _)| number);
    if shell.json {
        let most = if most.is_finite() { json!(most) } else { json!("inf") };
        shell.json(json!({
            "applications": total,
            "first": { "number": number, "rule": rule, "place": place, "difference": most, "allowed": allowed },
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
            "{which}{rule}{at}\nlargest difference {most:.2e} of the scale, allowed {allowed:.0e}\n"
        ))?;
    }
    Err(Failure::No)
}

type Run<'a> = dyn Fn(Option<usize>) -> Result<Trial, Failure> + 'a;

/// Finds the first substitution with which the result is wrong by binary search.
fn first_step(total: usize, whole: Trial, trial: &Run<'_>) -> Result<Option<(usize, Step)>, Failure> {
    let (mut good, mut bad, mut found) = (0, total, whole);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let next = trial(Some(middle))?;
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

/// The largest difference on random inputs, if it exceeds what is allowed.
fn difference(before: &Workload, after: &Workload, args: &Args, allowed: f64) -> Result<Option<f64>, Failure> {
    let how = Comparing {
        runs: (args.runs, args.seed),
        allowed,
        allowance: args.limits.allowance(),
        blamed: &|| None,
        cancelled: &|| false,
    };
    match compare(before, after, &how)? {
        Compared::Apart { most, wrong, .. } => Ok(wrong.then_some(most)),
        Compared::Unchecked(why) => Err(Failure::new(
            "T0406",
            format!("{}: nothing can be compared: {why}", input::shown(&args.file)),
        )),
    }
}
