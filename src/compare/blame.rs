//! The rule that made a result wrong.

use crate::graph::{Graph, Workload};
use crate::pipeline::{Engine, Options, optimize};
use crate::rewrite::Step;

use super::extents::likely;
use super::random::{Random, values};
use super::{evaluate, furthest, is_decided_by_reference};

/// The outcome of optimizing with a limited number of applications.
pub(crate) struct Trial {
    /// The largest difference, if it exceeds the allowed one.
    pub(crate) apart: Option<f64>,
    pub(crate) applications: Vec<Step>,
    /// The applications that the result depends on.
    pub(crate) chain: Vec<Step>,
    /// The two sides of each application in `chain`.
    pub(crate) sides: Vec<Option<Graph>>,
}

/// The first application whose two sides have different values, among those that the wrong result depends on.
///
/// Binary search over the number of applications does not work here: an e-graph contains the nodes that a wrong rule
/// made long before they are cheap enough to be extracted.
pub(crate) fn first_of_chain(
    original: &Workload,
    whole: &Trial,
    (runs, seed): (u64, u64),
    allowed: f64,
) -> Option<(usize, Step)> {
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
pub(crate) fn blamed(original: &Workload, options: &Options<'_>, runs: (u64, u64), allowed: f64) -> Option<Step> {
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
