//! Sequences and optional values whose elements are known.

use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, Flow, OpError, known};
use tautomer_tensor::{Dim, Tensor, Type};

use super::{Call, call, flow_of, known_int, side_by_side};

/// A position among `n` elements, counted from the front.
fn position(position: i64, n: usize, at_end: bool) -> Option<usize> {
    let n = n as i64;
    let resolved = if position < 0 {
        position.checked_add(n)?
    } else {
        position
    };
    (0..n + i64::from(at_end))
        .contains(&resolved)
        .then_some(resolved as usize)
}

/// The elements of a sequence that is constructed in this graph.
pub(super) fn elements(graph: &Graph, v: VertexId) -> Option<Vec<VertexId>> {
    // The operations on the sequence, last first.
    let mut changes = Vec::new();
    let mut at = v;
    let mut items = loop {
        let operands = graph.pred(at);
        match flow_of(graph, at)?.1 {
            Flow::Sequence => break operands.to_vec(),
            Flow::Empty => break Vec::new(),
            flow @ (Flow::Insert | Flow::Erase) => {
                let place = operands.get(if flow == Flow::Insert { 2 } else { 1 }).copied();
                let place = place.filter(|&p| !matches!(graph.vertex(p).node, Node::Absent));
                let place = match place {
                    Some(p) => Some(known_int(graph, p)?),
                    None => None,
                };
                changes.push((flow, operands.get(1).copied(), place));
                at = *operands.first()?;
            }
            _ => return None,
        }
    };
    for (flow, value, place) in changes.into_iter().rev() {
        match flow {
            Flow::Insert => {
                let end = i64::try_from(items.len()).ok()?;
                items.insert(position(place.unwrap_or(end), items.len(), true)?, value?);
            }
            _ => {
                items.remove(position(place.unwrap_or(-1), items.len(), false)?);
            }
        }
    }
    Some(items)
}

/// The element of a known sequence at a known position.
pub(super) fn at(graph: &Graph, here: &Call) -> Option<Vec<VertexId>> {
    let items = elements(graph, here.operands[0])?;
    let at = position(known_int(graph, *here.operands.get(1)?)?, items.len(), false)?;
    Some(vec![items[at]])
}

/// A known sequence as one tensor.
pub(super) fn concat(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let items = elements(graph, here.operands[0]).filter(|items| !items.is_empty());
    let (Some(items), AttrValue::Int(Dim::Const(axis))) = (items, here.attr("axis")) else {
        return Ok(None);
    };
    let joined = match (here.attr("new_axis"), items.as_slice()) {
        (AttrValue::Bool(true), _) => side_by_side(graph, &items, *axis)?,
        (_, [one]) => *one,
        _ => call(graph, known::CONCAT, &items, &[("axis", AttrValue::int(*axis))])?,
    };
    Ok(Some(vec![joined]))
}

/// What an optional value contains, or whether it contains anything, where that is known.
pub(super) fn optional(graph: &mut Graph, here: &Call, flow: Flow) -> Option<Vec<VertexId>> {
    let v = *here.operands.first()?;
    let made = flow_of(graph, v).map(|(_, flow)| flow);
    match (flow, made) {
        (Flow::Inside, Some(Flow::Optional)) => Some(vec![*graph.pred(v).first()?]),
        (Flow::Inside, _) if !matches!(graph.ty(v), Type::Optional(_)) => Some(vec![v]),
        (Flow::IsThere, Some(Flow::Optional)) => Some(vec![graph.constant(Tensor::scalar(true))]),
        (Flow::IsThere, Some(Flow::Missing)) => Some(vec![graph.constant(Tensor::scalar(false))]),
        (Flow::IsThere, _) if !matches!(graph.ty(v), Type::Optional(_)) => Some(vec![
            graph.constant(Tensor::scalar(!matches!(graph.ty(v), Type::Absent))),
        ]),
        _ => None,
    }
}
