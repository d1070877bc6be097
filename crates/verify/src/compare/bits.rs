//! Comparison bit by bit.

use super::data::{self, Data, Values};
use super::element::bit_mismatch;
use super::finding::{Evidence, Fault, Finding, Mismatch};
use super::sides::has_real_inputs;
use crate::instance::random::Random;
use tautomer_graph::VertexId;
use tautomer_rewrite::Sides;
use tautomer_rule::Rule;

/// True if the bits of both sides are equal on all data; `None` if no input is real or nothing can be computed.
pub(crate) fn same_bits(rule: &Rule, sides: &Sides, turn: usize, random: &mut Random) -> Option<bool> {
    let target = sides.target.as_ref().ok()?;
    if !has_real_inputs(sides) {
        return None;
    }
    match compare_bits(rule, sides, target, turn, random) {
        Finding::Agree(_) => Some(true),
        Finding::Mismatch(_) => Some(false),
        _ => None,
    }
}

/// How often each kind of data is drawn where it sets the sizes of results, or consists of texts.
const TIMES: usize = 16;

/// Compares bits on data of each kind; all NaNs count as equal.
pub(super) fn compare_bits(
    rule: &Rule,
    sides: &Sides,
    target: &[VertexId],
    turn: usize,
    random: &mut Random,
) -> Finding {
    let graph = &sides.graph;
    let fault = if has_real_inputs(sides) {
        Fault::Bits
    } else {
        Fault::Values
    };
    // Such rules have few instances, and what shows a difference depends on the data alone.
    let times = if data::sets_sizes(graph) || data::has_texts(graph) {
        TIMES
    } else {
        1
    };
    let kinds = (0..times).flat_map(|_| Data::for_instance(&Data::RULE_BITS, turn));
    Finding::of_kinds(kinds.filter_map(|kind| {
        // The special values may violate what the rule assumes about its values.
        if kind == Data::Special && !rule.assuming.is_empty() {
            return None;
        }
        let values = data::values(graph, kind, random)?;
        Some(compare_bits_at(sides, target, values, fault))
    }))
}

/// Compares bits at the given values.
pub(crate) fn compare_bits_at(sides: &Sides, target: &[VertexId], values: Values, fault: Fault) -> Finding {
    let graph = &sides.graph;
    let (a, b) = data::both_typed(graph, (&sides.source, target), &values);
    let Some(a) = a else {
        return Finding::Unknown;
    };
    let Some(b) = b else {
        return Mismatch::missing_value(values);
    };
    for (output, (x, y)) in a.iter().zip(&b).enumerate() {
        if let Some(at) = bit_mismatch(x, y) {
            return Finding::Mismatch(Box::new(Mismatch {
                fault,
                output,
                at,
                values,
            }));
        }
    }
    Finding::Agree(Evidence::Rounded)
}
