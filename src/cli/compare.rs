//! Comparison of two workloads on random inputs.

use tautomer::graph::{Graph, Workload};
use tautomer::op::Op;
use tautomer::rewrite::graph_cost;
use tautomer::rule::Class;
use tautomer::tensor::{DType, Tensor};

use super::Failure;
use super::extents::{Extents, likely};
use super::random::{Random, difference, spread, tell, values};
use super::run::evaluate;

/// What a comparison on random inputs found.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The runs show a difference, or none.
    Apart {
        /// The largest difference, relative to the scale of the result.
        most: f64,
        /// Some results were one number throughout, or no number, whatever inputs were tried: they say little.
        blind: bool,
    },
    /// The original itself does not run: it calls an operator without a definition, or no size of its symbolic
    /// dimensions suits it.
    Unchecked(String),
}

/// The largest difference between the results of two workloads on random inputs, so many from that seed, where at most
/// `allowed` is wanted.
pub(super) fn compare(
    before: &Workload,
    after: &Workload,
    (n, seed): (u64, u64),
    allowed: f64,
) -> Result<Verdict, Failure> {
    let opaque = before
        .graph
        .rpo()
        .into_iter()
        .find_map(|v| match before.graph.vertex(v).op() {
            Some(op @ Op::Opaque(_)) => Some(op.name()),
            _ => None,
        });
    if let Some(name) = opaque {
        return Ok(Verdict::Unchecked(format!("`{name}` has no definition")));
    }
    let (mut most, mut blind) = (0.0f64, false);
    for run in 0..n {
        let mut last = None;
        let mut random = Random::new(seed.wrapping_add(run).wrapping_mul(0x2545_f491_4f6c_dd1d));
        for extents in likely(&before.graph, &before.params, &mut random) {
            let Some((mut inputs, params)) = values(&before.graph, &before.params, &mut random, &extents) else {
                last.get_or_insert_with(|| Failure::new("T0406", "there are no random values for its inputs"));
                continue;
            };
            let first = Workload {
                graph: before.graph.clone(),
                params: params.clone(),
            };
            match evaluate(&first, &inputs, false) {
                Err(e) => last = Some(e),
                Ok(mut old) => {
                    if !tell(&old) {
                        let other = telling(&first, &inputs, &extents, &mut random);
                        blind |= other.is_none();
                        (inputs, old) = other.unwrap_or((inputs, old));
                    }
                    let mut second = after.clone();
                    for (name, value) in params {
                        second.params.entry(name).or_insert(value);
                    }
                    let mut apart = furthest(&old, &evaluate(&second, &inputs, false)?);
                    if apart > 0.0 && is_decided_by_reference(allowed, &before.graph, &extents) {
                        apart = furthest(&evaluate(&first, &inputs, true)?, &evaluate(&second, &inputs, true)?);
                    }
                    most = most.max(apart);
                    last = None;
                    break;
                }
            }
        }
        match last {
            Some(Failure::Problems(problems)) => {
                let why = problems.iter().next().map(|p| p.message.clone());
                return Ok(Verdict::Unchecked(why.unwrap_or_default()));
            }
            Some(failure) => return Err(failure),
            None => {}
        }
    }
    Ok(Verdict::Apart { most, blind })
}

/// Inputs of other magnitudes on which the results tell inputs apart, and those results.
fn telling(
    workload: &Workload,
    inputs: &[Tensor],
    extents: &Extents,
    random: &mut Random,
) -> Option<(Vec<Tensor>, Vec<Tensor>)> {
    let bound = workload.graph.with_symbols(&|name| extents.get(name).copied()).ok()?;
    let tries = (SOUGHT / graph_cost(&bound).max(1.0)).clamp(1.0, MOST_TRIES) as u32;
    (0..tries).find_map(|_| {
        let inputs = spread(inputs, random);
        let results = evaluate(workload, &inputs, false).ok()?;
        tell(&results).then_some((inputs, results))
    })
}

/// How far results may lie apart: what the class allows, and rounding in the narrowest type that occurs.
pub(super) fn tolerance(class: Class, workload: &Workload) -> f64 {
    let graph = &workload.graph;
    let narrow = |dtype: DType| {
        graph
            .ids()
            .any(|v| graph.ty(v).as_tensor().is_some_and(|t| t.dtype == dtype))
    };
    let rounding = if narrow(DType::BF16) {
        5e-2
    } else if narrow(DType::F16) {
        1e-2
    } else {
        1e-4
    };
    match class {
        Class::Bitwise => 0.0,
        Class::Real => rounding,
        Class::Approx(e) => e + rounding,
    }
}

/// Estimated microseconds up to which the reference semantics decides; it takes a thousand times as long.
const DECIDED: f64 = 2e4;

/// Whether results that differ are computed again by the reference semantics: kernels round in ways of their own, and where
/// no difference is allowed, bits are those of the reference.
pub(super) fn is_decided_by_reference(allowed: f64, graph: &Graph, extents: &Extents) -> bool {
    let bound = || graph.with_symbols(&|name| extents.get(name).copied());
    allowed == 0.0 && bound().is_ok_and(|graph| graph_cost(&graph) <= DECIDED)
}

/// Estimated microseconds of runs in search of inputs that tell something, and how many there are at most.
const SOUGHT: f64 = 1e6;
const MOST_TRIES: f64 = 30.0;

/// How far two lists of results lie apart.
pub(super) fn furthest(old: &[Tensor], new: &[Tensor]) -> f64 {
    let apart = old.iter().zip(new).map(|(a, b)| difference(a, b)).fold(0.0, f64::max);
    if old.len() == new.len() { apart } else { f64::INFINITY }
}
