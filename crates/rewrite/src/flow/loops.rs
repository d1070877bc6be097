//! Loops, scans and maps that end after a few calls.

use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{AttrValue, OpError, Region, known};
use tautomer_tensor::{Dim, Tensor, Type};

use super::sequence::elements;
use super::{Call, Unroll, call, inline, known_int, side_by_side};

/// The maximum number of copies of a function that replace a loop,
const MOST_CALLS: i64 = 16;

/// and the maximum number of operator calls in all copies.
const MOST_VERTICES: usize = 256;

/// True if this many calls of a function are better than a loop.
fn worth(calls: i64, region: &Region, unroll: Unroll) -> bool {
    calls == 1
        || unroll == Unroll::Few
            && (0..=MOST_CALLS).contains(&calls)
            && (calls as usize).saturating_mul(region.call_count()) <= MOST_VERTICES
}

/// A loop with a known number of rounds, round after round.
pub(super) fn repeat(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let region = here.function("body")?;
    let given = |graph: &Graph, i: usize| {
        let v = *here.operands.get(i)?;
        (!matches!(graph.vertex(v).node, Node::Absent)).then_some(v)
    };
    let carried = here.count("carried");
    let values = here.operands.get(2..).unwrap_or_default();
    let mut state = values.get(..carried).unwrap_or_default().to_vec();
    let captured = values.get(carried..).unwrap_or_default();
    let begins = match given(graph, 1) {
        None => true,
        Some(v) => match known_int(graph, v) {
            Some(0) => return Ok((region.outputs.len() == carried + 1).then_some(state)),
            Some(_) => true,
            None => false,
        },
    };
    let Some(trips) = given(graph, 0).and_then(|v| known_int(graph, v)) else {
        return Ok(None);
    };
    let trips = trips.max(0);
    if trips == 0 {
        return Ok((region.outputs.len() == carried + 1).then_some(state));
    }
    // With one call, the condition it returns does not matter.
    let goes_on = trips == 1 || tautomer_op::always_true(&region);
    if !begins || !goes_on || !worth(trips, &region, here.unroll) {
        return Ok(None);
    }
    let ranks: Vec<usize> = region
        .input_types()
        .take(2)
        .map(|ty| ty.as_tensor().and_then(|t| t.rank()).unwrap_or(0).min(1))
        .collect();
    let scalar = |graph: &mut Graph, input: usize, value: Tensor| {
        let shape = vec![1; ranks.get(input).copied().unwrap_or(0)];
        graph.constant(value.reshaped(&shape).unwrap_or(value))
    };
    let mut collected: Vec<Vec<VertexId>> = vec![Vec::new(); region.outputs.len() - carried - 1];
    for i in 0..trips {
        let mut operands = vec![
            scalar(graph, 0, Tensor::scalar(i)),
            scalar(graph, 1, Tensor::scalar(true)),
        ];
        operands.extend(&state);
        operands.extend(captured);
        let Some(results) = inline(graph, &region, &operands)? else {
            return Ok(None);
        };
        state = results[1..=carried].to_vec();
        for (list, v) in collected.iter_mut().zip(&results[carried + 1..]) {
            list.push(*v);
        }
    }
    for list in collected {
        state.push(side_by_side(graph, &list, 0)?);
    }
    Ok(Some(state))
}

/// A scan over a known number of slices, slice after slice.
pub(super) fn scan(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let region = here.function("body")?;
    let (carried, scanned) = (here.count("carried"), here.count("scanned"));
    if carried + scanned > here.operands.len() {
        return Ok(None);
    }
    let (axes, backwards) = (here.numbers("input_axes"), here.numbers("input_directions"));
    let mut sources = Vec::new();
    let mut slices = None;
    for (k, &v) in here.operands[carried..carried + scanned].iter().enumerate() {
        let shape = graph.ty(v).as_tensor().and_then(|t| t.shape.as_ref());
        let Some(shape) = shape else { return Ok(None) };
        let axis = axes.get(k).copied().unwrap_or(0);
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
        slices = slices.or(shape.get(axis as usize).and_then(Dim::as_const));
        sources.push((v, axis, backwards.get(k) == Some(&1)));
    }
    let Some(slices) = slices.filter(|&n| n > 0 && worth(n, &region, here.unroll)) else {
        return Ok(None);
    };
    let mut state = here.operands[..carried].to_vec();
    let mut collected: Vec<Vec<VertexId>> = vec![Vec::new(); region.outputs.len().saturating_sub(carried)];
    for i in 0..slices {
        let mut operands = state.clone();
        for &(v, axis, backwards) in &sources {
            let at = if backwards { slices - 1 - i } else { i };
            let index = graph.constant(Tensor::scalar(at));
            operands.push(call(
                graph,
                known::GATHER,
                &[v, index],
                &[("axis", AttrValue::int(axis))],
            )?);
        }
        operands.extend(&here.operands[carried + scanned..]);
        let Some(results) = inline(graph, &region, &operands)? else {
            return Ok(None);
        };
        state = results[..carried].to_vec();
        for (list, v) in collected.iter_mut().zip(&results[carried..]) {
            list.push(*v);
        }
    }
    let (axes, backwards) = (here.numbers("output_axes"), here.numbers("output_directions"));
    for (k, mut list) in collected.into_iter().enumerate() {
        if backwards.get(k) == Some(&1) {
            list.reverse();
        }
        state.push(side_by_side(graph, &list, axes.get(k).copied().unwrap_or(0))?);
    }
    Ok(Some(state))
}

/// A function called for each element of a known sequence.
pub(super) fn map(graph: &mut Graph, here: &Call) -> Result<Option<Vec<VertexId>>, OpError> {
    let region = here.function("body")?;
    let mapped = here.count("mapped").min(here.operands.len());
    let mut lists: Vec<Option<Vec<VertexId>>> = Vec::new();
    let mut n: Option<usize> = None;
    for (i, &v) in here.operands.iter().enumerate() {
        let is_sequence = i < mapped && matches!(graph.ty(v), Type::Sequence(_));
        let items = if is_sequence { elements(graph, v) } else { None };
        if is_sequence {
            let Some(items) = &items else { return Ok(None) };
            if n.is_some_and(|n| n != items.len()) {
                return Ok(None);
            }
            n = Some(items.len());
        }
        lists.push(items);
    }
    let Some(n) = n.filter(|&n| n > 0 && worth(n as i64, &region, here.unroll)) else {
        return Ok(None);
    };
    let mut results: Vec<Vec<VertexId>> = vec![Vec::new(); region.outputs.len()];
    for k in 0..n {
        let operands = here
            .operands
            .iter()
            .zip(&lists)
            .map(|(&v, list)| list.as_ref().map_or(v, |items| items[k]));
        let operands: Vec<VertexId> = operands.collect();
        let Some(made) = inline(graph, &region, &operands)? else {
            return Ok(None);
        };
        for (list, v) in results.iter_mut().zip(made) {
            list.push(v);
        }
    }
    let results = results
        .iter()
        .map(|items| call(graph, known::SEQUENCE_CONSTRUCT, items, &[]));
    results.collect::<Result<_, _>>().map(Some)
}
