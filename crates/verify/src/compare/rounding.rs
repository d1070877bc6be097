//! Comparison of rules of the class `approx` that convert to an element type with fewer digits.
//!
//! Over the reals such a conversion is the identity, but here its rounding counts: the relative error that the rule
//! declares is that of the numbers computed.

use super::data::{self, Data, Values};
use super::element::ElementMismatch;
use super::finding::{Evidence, Fault, Finding, Mismatch};
use crate::instance::random::Random;
use tautomer_graph::{Graph, Node, VertexId};
use tautomer_op::{Formula, Function, Op};
use tautomer_rewrite::Sides;
use tautomer_tensor::{DType, Tensor};

/// In addition to the declared error, a result may be off by this many units in the last place of its element type.
const UNITS: f64 = 64.0;

/// Compares the numbers computed in the element types of the graph, if it has such a conversion.
pub(super) fn compare_rounded(
    error: f64,
    sides: &Sides,
    target: &[VertexId],
    turn: usize,
    random: &mut Random,
) -> Finding {
    let graph = &sides.graph;
    if !graph.ids().any(|v| narrows(graph, v)) {
        return Finding::Unknown;
    }
    Finding::of_kinds(Data::for_instance(&Data::RULE_REAL, turn).filter_map(|kind| {
        let values = data::values(graph, kind, random)?;
        Some(compare_at(error, sides, target, kind, values))
    }))
}

fn compare_at(error: f64, sides: &Sides, target: &[VertexId], kind: Data, values: Values) -> Finding {
    let (source, target) = (
        data::typed(&sides.graph, &sides.source, &values),
        data::typed(&sides.graph, target, &values),
    );
    let (Some(source), Some(target)) = (source, target) else {
        return Finding::Unknown;
    };
    for (output, (x, y)) in source.iter().zip(&target).enumerate() {
        if let Some(at) = mismatch(error, x, y, kind) {
            return Finding::Mismatch(Box::new(Mismatch {
                fault: Fault::Values,
                output,
                at,
                values,
            }));
        }
    }
    Finding::Agree(Evidence::Rounded)
}

fn mismatch(error: f64, x: &Tensor, y: &Tensor, kind: Data) -> Option<ElementMismatch> {
    if !x.dtype().is_float() {
        return None;
    }
    let (all, others) = (x.to_f64s()?, y.to_f64s()?);
    let finite = all.iter().chain(&others).filter(|n| n.is_finite());
    let scale = finite.fold(0.0f64, |most, n| most.max(n.abs()));
    let allowed = (error + UNITS * unit(x.dtype())) * scale;
    let differs = |(p, q): &(&f64, &f64)| match (p.is_finite(), q.is_finite()) {
        (true, true) => (*p - *q).abs() > allowed,
        // Of large numbers, one side may overflow while the other does not.
        (true, false) => !kind.is_lenient(),
        (false, _) => false,
    };
    let place = all.iter().zip(&others).position(|pair| differs(&pair))?;
    Some(ElementMismatch::at(x.shape(), place, all.get(place), others.get(place)))
}

/// The distance of 1 from the next larger number.
fn unit(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F16 => half::f16::EPSILON.to_f64(),
        _ => half::bf16::EPSILON.to_f64(),
    }
}

/// True for a conversion between floating-point types that loses digits.
fn narrows(graph: &Graph, v: VertexId) -> bool {
    let Node::Call { op: Op::Known(def), .. } = &graph.vertex(v).node else {
        return false;
    };
    let dtype = |v: VertexId| graph.ty(v).as_tensor().map(|t| t.dtype);
    let operand = graph.pred(v).into_iter().next().and_then(dtype);
    match (def.law(), operand, dtype(v)) {
        (Formula::Function(Function::Conversion), Some(from), Some(to)) => {
            from.is_float() && to.is_float() && unit(from) < unit(to)
        }
        _ => false,
    }
}
