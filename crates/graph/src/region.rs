//! Conversion of functions that operators call to graphs and back.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::sink::{Sink, ValueId};
use super::{Graph, Node, Operands, Vertex, VertexId};
use tautomer_op::{AttrValue, Item, Op, OpError, Region, RegionStep};

/// The function that a graph computes. Its parameters become inputs after the others, and unused inputs are kept.
///
/// ```
/// use tautomer_graph::{Graph, graph_region, region_graph, same_graph};
/// use tautomer_op::{Op, lookup};
/// use tautomer_tensor::{DType, Type};
///
/// let mut g = Graph::new();
/// let x = g.input("x", Type::tensor(DType::F32, [3]));
/// let y = g.call(Op::Known(lookup("add").unwrap()), &[x, x], &[]).unwrap();
/// g.output(y, None);
/// let region = graph_region(&g);
/// assert_eq!((region.inputs, region.call_count()), (1, 1));
/// assert_eq!(same_graph(&g, &region_graph(&region)), Ok(()));
/// ```
pub fn graph_region(graph: &Graph) -> Region {
    let mut places: FxHashMap<VertexId, usize> = FxHashMap::default();
    let mut items = Vec::new();
    let leaves: Vec<VertexId> = graph.inputs().iter().chain(graph.params()).copied().collect();
    for v in leaves.iter().copied().chain(graph.rpo()) {
        if places.contains_key(&v) {
            continue;
        }
        let vertex = graph.vertex(v);
        let operands: Vec<usize> = graph.pred(v).iter().map(|u| places[u]).collect();
        let step = match &vertex.node {
            Node::Input | Node::Param => RegionStep::Input,
            Node::Const(value) => RegionStep::Const(AttrValue::Tensor(value.clone())),
            Node::Absent => RegionStep::Absent,
            Node::Call { op, attrs } => RegionStep::Call {
                op: op.clone(),
                attrs: attrs.to_vec(),
                operands,
            },
            Node::Tuple => RegionStep::Tuple(operands),
            Node::Proj(i) => RegionStep::Proj(operands.first().copied().unwrap_or(0), *i),
        };
        places.insert(v, items.len());
        items.push(Item {
            step,
            ty: vertex.ty.clone(),
            name: vertex.name.clone(),
            rules: vertex.rules.clone(),
        });
    }
    Region {
        name: graph.name.clone(),
        items,
        inputs: leaves.len(),
        outputs: graph
            .outputs()
            .iter()
            .map(|o| (places[&o.vertex], o.name.clone()))
            .collect(),
    }
}

/// The graph of a function; all its inputs are inputs of the graph.
pub fn region_graph(region: &Region) -> Graph {
    let mut graph = Graph::new();
    graph.name.clone_from(&region.name);
    let mut next = 0;
    for item in &region.items {
        item.ty.visit_dims(&mut |d| {
            d.visit_atoms(&mut |atom| {
                if let tautomer_tensor::Atom::Unknown(id) = atom
                    && !atom.is_too_large()
                {
                    next = next.max(id.saturating_add(1));
                }
            });
        });
    }
    graph.reserve_unknown(next);
    let mut made: Vec<VertexId> = Vec::with_capacity(region.items.len());
    for item in &region.items {
        let at = |places: &[usize]| -> Operands { places.iter().map(|&i| made[i]).collect() };
        let v = match &item.step {
            RegionStep::Input => graph.input(item.name.as_deref().unwrap_or_default(), item.ty.clone()),
            RegionStep::Const(AttrValue::Tensor(value)) => graph.constant(value.clone()),
            RegionStep::Const(_) | RegionStep::Absent => graph.absent(),
            RegionStep::Call { op, attrs, operands } => {
                graph.call_typed(op.clone(), &at(operands), attrs.clone().into(), item.ty.clone())
            }
            RegionStep::Tuple(items) => graph.tuple(&at(items)),
            RegionStep::Proj(tuple, i) => graph.push(Vertex::new(Node::Proj(*i), item.ty.clone()), &at(&[*tuple])),
        };
        let vertex = graph.vertex_mut(v);
        vertex.name.clone_from(&item.name);
        vertex.rules.clone_from(&item.rules);
        made.push(v);
    }
    for (i, name) in &region.outputs {
        graph.output(made[*i], name.as_deref());
    }
    graph
}

/// Builds the results of a function called with `operands` in place of the call; every call is typed again. Names are
/// mapped by `name`, so that they can be kept distinct from existing ones.
///
/// # Errors
/// If a call does not fit its operands.
pub fn inline_region(
    sink: &mut dyn Sink,
    region: &Region,
    operands: &[ValueId],
    name: &dyn Fn(&Arc<str>) -> Option<Arc<str>>,
) -> Result<Vec<ValueId>, OpError> {
    if operands.len() != region.inputs {
        let message = format!(
            "a function of {} values is called with {}",
            region.inputs,
            operands.len()
        );
        return Err(OpError::new(message));
    }
    let mut made: Vec<ValueId> = operands.to_vec();
    for item in &region.items[region.inputs..] {
        let at = |places: &[usize]| -> Vec<ValueId> { places.iter().map(|&i| made[i]).collect() };
        let v = match &item.step {
            RegionStep::Input => return Err(OpError::new("a function has an input in the wrong place")),
            RegionStep::Const(AttrValue::Tensor(value)) => sink.constant(value.clone()),
            RegionStep::Const(_) | RegionStep::Absent => sink.absent(),
            RegionStep::Call { op, attrs, operands } => match op {
                Op::Known(def) => {
                    let given = def.attrs.iter().zip(attrs).filter(|(_, value)| !value.is_none());
                    let given: Vec<(&str, AttrValue)> = given.map(|(a, value)| (a.name, value.clone())).collect();
                    sink.call(op.clone(), &at(operands), &given)?
                }
                Op::Opaque(opaque) => sink.opaque((**opaque).clone(), &at(operands), attrs.clone())?,
            },
            RegionStep::Tuple(items) => sink.tuple(&at(items)),
            RegionStep::Proj(tuple, i) => sink.project(made[*tuple], *i as usize)?,
        };
        if let Some(name) = item.name.as_ref().and_then(name) {
            sink.name(v, &name);
        }
        made.push(v);
    }
    Ok(region.outputs.iter().map(|(i, _)| made[*i]).collect())
}
