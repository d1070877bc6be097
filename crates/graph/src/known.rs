//! Values that follow from constants and known dimensions.

use rustc_hash::FxHashMap;

use super::{Graph, Node, Vertex, VertexId, evaluate_call};
use tautomer_op::{AttrValue, Formula, Made, Op, is_pure};
use tautomer_tensor::{Dim, Tensor, Type};

/// The maximum number of elements of a value that is computed.
const LARGEST: usize = 4096;

/// The maximum number of vertices that are visited.
const FARTHEST: usize = 512;

/// The value of `v`, if it follows from constants and known dimensions in a few small steps.
///
/// ```
/// use tautomer_graph::{Graph, known_value};
/// use tautomer_op::{Op, lookup};
/// use tautomer_tensor::{DType, Tensor, Type};
///
/// let mut g = Graph::new();
/// let x = g.input("x", Type::tensor(DType::F32, [2, 3]));
/// let s = g.call(Op::Known(lookup("shape").unwrap()), &[x], &[]).unwrap();
/// let n = g.call(Op::Known(lookup("reduce_prod").unwrap()), &[s], &[]).unwrap();
/// assert_eq!(known_value(&g, n), Some(Tensor::vector(vec![6i64])));
/// assert_eq!(known_value(&g, x), None);
/// ```
pub fn known_value(graph: &Graph, v: VertexId) -> Option<Tensor> {
    let mut known: FxHashMap<VertexId, Option<Tensor>> = FxHashMap::default();
    let mut stack = vec![v];
    let mut seen = 0;
    while let Some(&at) = stack.last() {
        if known.contains_key(&at) {
            stack.pop();
            continue;
        }
        let vertex = graph.vertex(at);
        if let Some(value) = integers(vertex) {
            known.insert(at, Some(value));
            continue;
        }
        let (op, attrs) = match &vertex.node {
            Node::Const(value) => {
                let value = Some(value.clone()).filter(|t| t.len() <= LARGEST)?;
                known.insert(at, Some(value));
                continue;
            }
            Node::Absent => {
                known.insert(at, None);
                continue;
            }
            Node::Call { op, attrs } if is_pure(op, attrs) && matches!(vertex.ty, Type::Tensor(_)) => (op, attrs),
            _ => return None,
        };
        let operands = graph.pred(at);
        if let Some(value) = extents(graph, op, attrs, operands.first().copied()) {
            known.insert(at, Some(value));
            continue;
        }
        if attrs.iter().any(|a| a.region().is_some()) {
            return None;
        }
        let waiting: Vec<VertexId> = operands.iter().copied().filter(|u| !known.contains_key(u)).collect();
        if !waiting.is_empty() {
            seen += waiting.len();
            if seen > FARTHEST {
                return None;
            }
            stack.extend(waiting);
            continue;
        }
        let values: Vec<Option<Tensor>> = operands.iter().map(|u| known[u].clone()).collect();
        let small = vertex.ty.as_tensor().and_then(|t| t.shape.as_ref()?.to_concrete());
        if small.is_some_and(|s| s.iter().fold(1usize, |n, &d| n.saturating_mul(d)) > LARGEST) {
            return None;
        }
        let value = evaluate_call(op, &values, attrs).ok()?.into_iter().next()?;
        known.insert(at, Some(value).filter(|t| t.len() <= LARGEST));
        known[&at].as_ref()?;
    }
    known.remove(&v).flatten()
}

/// The value of integers that follow from dimensions, if these are known.
fn integers(vertex: &Vertex) -> Option<Tensor> {
    let ints: Option<Vec<i128>> = vertex
        .ints
        .as_ref()?
        .iter()
        .map(|d| d.as_const().map(i128::from))
        .collect();
    let ty = vertex.ty.as_tensor()?;
    Tensor::from_ints(ty.dtype, &ty.shape.as_ref()?.to_concrete()?, &ints?)
}

/// The value of `shape` and `size` where the dimensions are known.
fn extents(graph: &Graph, op: &Op, attrs: &[AttrValue], operand: Option<VertexId>) -> Option<Tensor> {
    let shape = graph.ty(operand?).as_tensor()?.shape.as_ref()?;
    let constants = |dims: &[Dim]| dims.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>();
    let def = op.def()?;
    let Formula::Made(made) = def.law() else { return None };
    match made {
        Made::Count => constants(shape)?
            .iter()
            .try_fold(1i64, |n, &d| n.checked_mul(d))
            .map(Tensor::scalar),
        Made::Extents => {
            let n = shape.len() as i64;
            let bound = |name: &str, default: i64| match def.attr_index(name).and_then(|i| attrs.get(i)) {
                Some(AttrValue::Int(d)) => d.as_const().map(|d| if d < 0 { d + n } else { d }.clamp(0, n)),
                _ => Some(default),
            };
            let (start, end) = (bound("start", 0)?, bound("end", n)?);
            constants(shape.get(start as usize..end.max(start) as usize)?).map(Tensor::vector)
        }
        _ => None,
    }
}
