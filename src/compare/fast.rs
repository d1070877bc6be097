//! Results computed by kernels, in the form that the verifier needs.

use crate::Model;
use crate::exec::Estimate;
use crate::graph::{Allowance, Excess, Graph, Meter, Params, Workload};
use crate::op::Scope;
use crate::tensor::Tensor;
use crate::verify::{GraphOptions, GraphReport, Options, Sought, Suggestions, Unsuggested, suggest, verify_graphs};

use super::evaluate_within;

/// Checks whether a model is equal to its original: by proof if possible, otherwise on data that the kernels compute.
///
/// ```
/// use tautomer::{Model, verify::GraphVerdict, verify_models};
/// let a = Model::from_text("a", "fn main(x: f32[n]) { relu(relu(x)) }")?;
/// let b = Model::from_text("b", "fn main(x: f32[n]) { relu(x) }")?;
/// let report = verify_models(&a, &b, &Default::default());
/// assert!(matches!(report.verdict, GraphVerdict::Proved(_)), "{}", report.verdict);
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn verify_models(original: &Model, optimized: &Model, options: &GraphOptions<'_>) -> GraphReport {
    let options = GraphOptions {
        machine: Some(&fast),
        ..options.clone()
    };
    verify_graphs(&original.workload, &optimized.workload, &options)
}

/// Rules that turn one model into another that computes the same; see [`suggest`]. `scope` holds the declared operators
/// that the models mention; `each` is called after each difference, and stops the search if it returns `false`.
///
/// ```
/// use tautomer::{Model, suggest_rules};
/// let a = Model::from_text("a", "fn main(x: f32[n]) { tanh(max(x, 0.0)) }")?;
/// let b = Model::from_text("b", "fn main(x: f32[n]) { tanh(relu(x)) }")?;
/// let found = suggest_rules(&a, &b, &Default::default(), &Default::default(), &Default::default(), &mut |_| true);
/// assert!(found.unwrap().rules[0].text.contains("max(x, 0) => relu(x)"));
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
///
/// # Errors
/// If the models differ, or their values cannot be computed.
pub fn suggest_rules(
    original: &Model,
    optimized: &Model,
    scope: &Scope,
    graph_options: &GraphOptions<'_>,
    options: &Options,
    each: &mut dyn FnMut(&Sought<'_>) -> bool,
) -> Result<Suggestions, Unsuggested> {
    let graph_options = GraphOptions {
        machine: Some(&fast),
        ..graph_options.clone()
    };
    suggest(
        &original.workload,
        &optimized.workload,
        scope,
        &graph_options,
        options,
        each,
    )
}

/// The results of a graph, computed by the kernels.
pub(crate) fn fast(graph: &Graph, inputs: &[Tensor]) -> Result<Vec<Tensor>, String> {
    let workload = Workload {
        graph: graph.clone(),
        params: Params::default(),
    };
    let words = |excess: Excess| format!("one run of the kernels would take {excess}");
    if let Some(excess) = Estimate::of(graph).excess(ALLOWANCE) {
        return Err(words(excess));
    }
    let meter = Meter::new(ALLOWANCE);
    let results = evaluate_within(&workload, inputs, &meter, &mut |_, _, _| {});
    results.map_err(|why| meter.excess().map_or(why, words))
}

/// Default limits on one run of the kernels.
pub(crate) const ALLOWANCE: Allowance = Allowance {
    bytes: 800_000_000,
    operations: 1_000_000_000_000,
};
