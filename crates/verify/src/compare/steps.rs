//! The numbers at which integer and boolean results change, found by bisection.
//!
//! Where a comparison, a rounding, or a branch decides a result, two sides may disagree in a narrow interval alone:
//! `exp(x) > 100` and `x > 4.6053` differ between 4.60517 and 4.6053. One operand is moved between numbers at which the
//! results of a side differ until the place of the change is known. An error in the place then shows on one side of it,
//! at some distance that is smaller than the error.

use super::data::{self, Data, Values};
use crate::instance::random::Random;
use tautomer_graph::{Graph, VertexId};
use tautomer_op::{Bounded, Value};
use tautomer_tensor::Tensor;

/// How many numbers are tried for changes between neighbours.
const NUMBERS: usize = 10;

/// How often an interval is halved.
const HALVINGS: usize = 40;

/// Distances from the place of a change, relative to it.
const ASIDE: [i32; 5] = [-7, -11, -14, -17, -20];

/// Limit on the changes that are followed.
const CHANGES: usize = 2;

/// How often a leaf is chosen and moved.
const LEAVES: usize = 2;

/// Values of the leaves beside the numbers at which a result of either side changes.
pub(super) fn beside(graph: &Graph, sides: (&[VertexId], &[VertexId]), random: &mut Random) -> Vec<Values> {
    let moved = |_| moved(graph, sides, random).unwrap_or_default();
    (0..LEAVES).flat_map(moved).collect()
}

/// One number for all elements of each real leaf: near those in the graph, or any.
fn uniform(graph: &Graph, random: &mut Random) -> Option<Values> {
    match random.chance(1, 2) {
        true => data::uniform_near(graph, random),
        false => data::values(graph, Data::Uniform, random),
    }
}

/// One real leaf beside the places where a result changes while all others stay.
fn moved(graph: &Graph, sides: (&[VertexId], &[VertexId]), random: &mut Random) -> Option<Vec<Values>> {
    let base = uniform(graph, random).or_else(|| data::values(graph, Data::Uniform, random))?;
    let real: Vec<VertexId> = data::leaves(graph)
        .filter(|v| base.get(v).is_some_and(|t| t.dtype().is_float() && !t.is_empty()))
        .collect();
    let leaf = random.pick(&real)?;
    let with = |number: f64| -> Option<Values> {
        let old = base.get(&leaf)?;
        let mut values = base.clone();
        let tensor = Tensor::from_f64s(old.dtype(), old.shape(), &vec![number; old.len()])?;
        values.insert(leaf, tensor);
        Some(values)
    };
    let results = |number: f64| -> Option<Vec<i128>> {
        let values = with(number)?;
        let (a, b) = data::both_bounded(graph, sides, &values);
        let outputs = [a?.outputs, b?.outputs].concat();
        Some(outputs.iter().flat_map(discrete).collect())
    };
    let mut numbers: Vec<f64> = Vec::new();
    for _ in 0..NUMBERS {
        let drawn = uniform(graph, random);
        numbers.extend(drawn.and_then(|v| v.get(&leaf)?.to_f64s()?.first().copied()));
    }
    numbers.retain(|x| x.is_finite());
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let known: Vec<(f64, Option<Vec<i128>>)> = numbers.into_iter().map(|x| (x, results(x))).collect();
    let mut out = Vec::new();
    let changes = known.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    for pair in changes.take(CHANGES) {
        let ((mut low, first), (mut high, _)) = (pair[0].clone(), pair[1].clone());
        for _ in 0..HALVINGS {
            let middle = low + (high - low) / 2.0;
            if results(middle) == first {
                low = middle;
            } else {
                high = middle;
            }
        }
        for exponent in ASIDE {
            let distance = 2f64.powi(exponent) * low.abs().max(high.abs());
            out.extend([low - distance, high + distance].into_iter().filter_map(with));
        }
    }
    Some(out)
}

/// The elements of a result that is not real.
fn discrete(value: &Value<Bounded>) -> Vec<i128> {
    match value {
        Value::Int(a) => a.iter().copied().collect(),
        Value::Bool(a) => a.iter().map(|x| i128::from(*x)).collect(),
        _ => Vec::new(),
    }
}
