//! Where calls can fail: a target must have a value wherever the source has one.
//!
//! Random integers seldom divide by zero or leave the range of an index, and a source that does is of no use, since it
//! fails as well. A target fails alone where it computes what the source does not need: elements that are sliced away
//! afterwards, or one number for an expansion to no elements. So one leaf at a time gets the numbers at which calls fail.

use super::data::{self, Data};
use super::finding::Mismatch;
use crate::instance::random::Random;
use tautomer_graph::VertexId;
use tautomer_rewrite::Sides;
use tautomer_tensor::{DType, Tensor};

/// Looks for integers at which the source has a value and the target has none.
pub(super) fn compare_failures(
    sides: &Sides,
    target: &[VertexId],
    turn: usize,
    random: &mut Random,
) -> Option<Box<Mismatch>> {
    let graph = &sides.graph;
    let kind = if turn.is_multiple_of(2) {
        Data::Positive
    } else {
        Data::Small
    };
    let mut base = None;
    for v in data::leaves(graph) {
        let Some((dtype, shape)) = data::shape_of(graph, v) else {
            continue;
        };
        let size: usize = shape.iter().product();
        let Some((_, most)) = dtype.int_range().filter(|_| dtype != DType::Bool && size > 0) else {
            continue;
        };
        if base.is_none() {
            base = Some(data::values(graph, kind, random)?);
        }
        // No axis is as long as the largest number; but it must not become the length of one.
        let numbers = [0, most];
        let count = if data::extents_are_known(graph) { 2 } else { 1 };
        for number in &numbers[..count] {
            let mut values = base.clone()?;
            values.insert(v, Tensor::from_ints(dtype, &shape, &vec![*number; size])?);
            if let (Some(_), None) = data::both_typed(graph, (&sides.source, target), &values) {
                return Mismatch::missing_value(values).mismatch();
            }
        }
    }
    None
}
