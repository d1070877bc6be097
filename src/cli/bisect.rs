//! `tautomer bisect`: the first rule application that changes a result.

use std::path::PathBuf;

use serde_json::json;

use tautomer::graph::{Graph, Workload};
use tautomer::pipeline::{Engine, Options, optimize};
use tautomer::rewrite::{Limits, Step};
use tautomer::rule::Class;

use super::compare::{Comparing, Verdict, compare, furthest, is_decided_by_reference, tolerance};
use super::extents::likely;
use super::input::{self, Kind, Loaded};
use super::limits::CheckArgs;
use super::optimize::{EngineName, parse_class, read_rules};
use super::random::{Random, values};
use super::run::evaluate;
use super::{Done, Failure, Shell};

#[derive(clap::Args)]
pub(super) struct Args {
    /// A program (.taut) or model (.onnx, .pnnx.param); `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Rule files, or names of sets that come with the tool, to use instead of the built-in rules
    #[arg(long, value_name = "FILE")]
    rules: Vec<PathBuf>,
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

/// The outcome of optimizing with a limited number of applications.
struct Trial {
    /// The largest difference, if it exceeds what is allowed.
    apart: Option<f64>,
    applications: Vec<Step>,
    /// The applications that the result depends on.
    chain: Vec<Step>,
    /// The two sides of each application in `chain`.
    sides: Vec<Option<Graph>>,
}

pub(super) fn run(args: &Args, shell: &Shell) -> Done {
    let loaded = Loaded::read(&args.file, args.from, args.params.as_deref(), shell)?;
    let given = read_rules(&args.rules, shell)?;
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

/// The first application whose two sides have different values, among those that the wrong result depends on.
///
/// Binary search over the number of applications does not work here: an e-graph contains what a wrong rule made long
/// before it is cheap enough to be extracted.
fn first_of_chain(original: &Workload, whole: &Trial, (runs, seed): (u64, u64), allowed: f64) -> Option<(usize, Step)> {
    let number = |step: &Step| whole.applications.iter().position(|a| a == step).map_or(0, |i| i + 1);
    let mut wrong: Vec<(usize, Step)> = Vec::new();
    for (step, sides) in whole.chain.iter().zip(&whole.sides) {
        let differs = sides
            .as_ref()
            .is_some_and(|sides| (0..runs).any(|run| sides_differ(original, sides, seed.wrapping_add(run), allowed)));
        if differs {
            wrong.push((number(step), step.clone()));
        }
    }
    wrong.into_iter().min_by_key(|(number, _)| *number)
}

/// The rule that made a result of saturation wrong, if it can be found.
pub(super) fn blamed(original: &Workload, options: &Options<'_>, runs: (u64, u64), allowed: f64) -> Option<Step> {
    if !matches!(options.engine, Engine::Saturate) {
        return None;
    }
    let options = Options {
        explain: true,
        explore: false,
        ..options.clone()
    };
    let outcome = optimize(original.clone(), &options).ok()?;
    let whole = Trial {
        apart: None,
        applications: outcome.applications,
        chain: outcome.steps,
        sides: outcome.sides,
    };
    first_of_chain(original, &whole, runs, allowed).map(|(_, step)| step)
}

/// True if the first half of the results of `sides` differs from the second on some random input.
fn sides_differ(original: &Workload, sides: &Graph, seed: u64, allowed: f64) -> bool {
    let mut random = Random::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    for extents in likely(&original.graph, &original.params, &mut random) {
        let Some((inputs, params)) = values(&original.graph, &original.params, &mut random, &extents) else {
            continue;
        };
        let workload = Workload {
            graph: sides.clone(),
            params,
        };
        let between = |reference: bool| {
            let results = evaluate(&workload, &inputs, reference).ok()?;
            let (source, target) = results.split_at(results.len() / 2);
            Some(furthest(source, target))
        };
        if let Some(by_kernels) = between(false) {
            let exactly = by_kernels > allowed && is_decided_by_reference(allowed, &original.graph, &extents);
            let found = if exactly { between(true) } else { None };
            return found.unwrap_or(by_kernels) > allowed;
        }
    }
    false
}

/// The largest difference on random inputs, if it exceeds what is allowed.
fn difference(before: &Workload, after: &Workload, args: &Args, allowed: f64) -> Result<Option<f64>, Failure> {
    let how = Comparing {
        runs: (args.runs, args.seed),
        allowed,
        allowance: args.limits.allowance(),
        blamed: &|| None,
    };
    match compare(before, after, &how)? {
        Verdict::Apart { most, wrong, .. } => Ok(wrong.then_some(most)),
        Verdict::Unchecked(why) => Err(Failure::new(
            "T0406",
            format!("{}: nothing can be compared: {why}", input::shown(&args.file)),
        )),
    }
}
