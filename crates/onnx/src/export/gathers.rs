//! Operators that move elements and have no counterpart in ONNX, written as gathers with constant indices.

use tautomer_graph::{Graph, VertexId};
use tautomer_op::movement::{Group, Halt, Known, Map, Places, ReadPlaces};
use tautomer_op::{AttrValue, Attrs, Op, OpDef, OpError, known, lookup};
use tautomer_tensor::{Dim, Tensor};

/// A call of an operator that moves elements as calls of `gather` and `gather_nd`, which read its axes one after the
/// other.
///
/// # Errors
/// If elements of a result do not come from one operand, or the size of an axis along which they move is unknown.
pub(super) fn gathered(
    graph: &mut Graph,
    v: VertexId,
    def: &'static OpDef,
    attrs: &Attrs,
) -> Result<VertexId, OpError> {
    let operands = graph.pred(v);
    let shape = |v: &VertexId| Some(graph.ty(*v).as_tensor()?.shape.as_ref()?.to_vec());
    let shapes: Vec<Option<Vec<Dim>>> = operands.iter().map(shape).collect();
    let movement = def
        .moves()
        .ok_or_else(|| OpError::new("it does not only move elements"))?;
    let made = movement(&Places {
        def,
        attrs,
        operands: &shapes,
        results: None,
        decide: &Known,
    });
    let maps = match made {
        Ok(maps) => maps,
        Err(Halt::Unknown(what)) => return Err(OpError::new(what)),
        Err(halt) => return Err(halt.into()),
    };
    let [map] = maps.as_slice() else {
        return Err(OpError::new("it has several results"));
    };
    let reads = map.reads(&shapes)?;
    let operand = operands[reads.operand];
    match reads.places {
        ReadPlaces::Flat(positions) => {
            let all = reshaped(graph, operand, &[Dim::Const(-1)])?;
            let indices = graph.constant(Tensor::vector(positions));
            let row = call(graph, known::GATHER, &[all, indices], &[("axis", AttrValue::int(0))])?;
            reshaped(graph, row, &map.shape)
        }
        ReadPlaces::Groups(groups) => by_groups(graph, operand, map, groups),
    }
}

/// An axis of the value while some axes have been read.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    Operand(usize),
    Result(usize),
}

fn by_groups(graph: &mut Graph, operand: VertexId, map: &Map, groups: Vec<Group>) -> Result<VertexId, OpError> {
    let rank: usize = groups.iter().map(|group| group.from.len()).sum();
    let mut axes: Vec<Axis> = (0..rank).map(Axis::Operand).collect();
    let mut value = operand;
    for Group { from, to, indices } in groups {
        let read = |axis: &Axis| matches!(axis, Axis::Operand(a) if from.contains(a));
        let results = || to.iter().copied().map(Axis::Result);
        let Some(indices) = indices else {
            for axis in axes.iter_mut().filter(|axis| read(axis)) {
                *axis = Axis::Result(to[0]);
            }
            continue;
        };
        let mut sizes: Vec<usize> = Vec::with_capacity(to.len() + 1);
        for &axis in &to {
            let known = map.shape[axis].as_const().and_then(|n| usize::try_from(n).ok());
            sizes.push(known.ok_or_else(|| OpError::new(format!("the dimension {} is unknown", map.shape[axis])))?);
        }
        if from.len() > 1 {
            sizes.push(from.len());
        }
        let indices =
            Tensor::new(&sizes, indices).ok_or_else(|| OpError::new("its indices do not fill their shape"))?;
        let indices = graph.constant(indices);
        if let [_] = from.as_slice() {
            let at = axes.iter().position(read).unwrap_or(0);
            value = call(
                graph,
                known::GATHER,
                &[value, indices],
                &[("axis", AttrValue::int(at as i64))],
            )?;
            axes.splice(at..=at, results());
        } else {
            let first = from.iter().copied().map(Axis::Operand);
            let order: Vec<Axis> = first.chain(axes.iter().copied().filter(|axis| !read(axis))).collect();
            let front = transposed(graph, value, &axes, &order)?;
            value = call(graph, known::GATHER_ND, &[front, indices], &[])?;
            axes = results().chain(order.into_iter().skip(from.len())).collect();
        }
    }
    let order: Vec<Axis> = (0..map.shape.len()).map(Axis::Result).collect();
    transposed(graph, value, &axes, &order)
}

/// A value whose axes are `axes` with its axes in another order.
fn transposed(graph: &mut Graph, value: VertexId, axes: &[Axis], order: &[Axis]) -> Result<VertexId, OpError> {
    if axes == order {
        return Ok(value);
    }
    let place = |axis| axes.iter().position(|known| known == axis).map(|i| i as i64);
    let perm: Option<Vec<i64>> = order.iter().map(place).collect();
    let perm = perm.ok_or_else(|| OpError::new("an axis is missing"))?;
    call(graph, known::TRANSPOSE, &[value], &[("perm", AttrValue::ints(&perm))])
}

fn reshaped(graph: &mut Graph, value: VertexId, shape: &[Dim]) -> Result<VertexId, OpError> {
    call(
        graph,
        known::RESHAPE,
        &[value],
        &[("shape", AttrValue::Ints(shape.to_vec()))],
    )
}

fn call(graph: &mut Graph, op: &str, operands: &[VertexId], attrs: &[(&str, AttrValue)]) -> Result<VertexId, OpError> {
    let def = lookup(op).ok_or_else(|| OpError::new(format!("there is no operator `{op}`")))?;
    graph.call(Op::Known(def), operands, attrs)
}
