//! Data for the leaves of an instance, and what both sides make of it.

use rustc_hash::FxHashMap;

use super::random::Random;
use crate::graph::{Graph, VertexId, interpret_over, interpret_vertices};
use crate::op::{Field, System, Value};
use crate::tensor::{DType, Shape, Tensor};

/// How data is distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// Around zero, few numbers twice.
    Balanced,
    /// Greater than zero.
    Positive,
    /// Whole numbers around zero, many of them twice.
    Ties,
    /// Beyond the bounds of what saturates.
    Large,
    /// Close to zero, where a small constant matters.
    Small,
    /// Both zeros, and little else.
    Zeros,
    /// Both zeros, infinities, what is no number, the largest and the smallest numbers.
    Special,
}

impl Data {
    /// The ones that say something of real functions.
    pub(super) const REAL: [Data; 5] = [Data::Balanced, Data::Positive, Data::Ties, Data::Small, Data::Large];
    /// The ones that say something of bits.
    pub(super) const BITS: [Data; 5] = [Data::Balanced, Data::Special, Data::Zeros, Data::Ties, Data::Positive];
}

/// The values of the leaves of a graph.
pub(super) type Values = FxHashMap<VertexId, Tensor>;

/// The inputs and parameters, in order.
pub(super) fn leaves(graph: &Graph) -> impl Iterator<Item = VertexId> + '_ {
    graph.inputs().iter().chain(graph.params()).copied()
}

/// The extents of a value.
pub(super) fn shape_of(graph: &Graph, v: VertexId) -> Option<(DType, Vec<usize>)> {
    let ty = graph.ty(v).as_tensor()?;
    Some((ty.dtype, ty.shape.as_ref().and_then(Shape::to_concrete)?))
}

/// Values for all leaves.
pub(super) fn values(graph: &Graph, data: Data, random: &mut Random) -> Option<Values> {
    // Where extents depend on data, integers stay small.
    let extents_are_known = graph.ids().all(|v| {
        let mut known = true;
        graph.ty(v).visit_dims(&mut |d| known &= d.as_const().is_some());
        known
    });
    leaves(graph)
        .map(|v| {
            let (dtype, shape) = shape_of(graph, v)?;
            let data = if extents_are_known || dtype.is_float() {
                data
            } else {
                Data::Balanced
            };
            Some((v, tensor(dtype, &shape, data, random)?))
        })
        .collect()
}

/// Random elements.
pub(super) fn tensor(dtype: DType, shape: &[usize], data: Data, random: &mut Random) -> Option<Tensor> {
    let n = shape.iter().product();
    if dtype.is_float() {
        let numbers: Vec<f64> = (0..n).map(|_| number(data, random)).collect();
        return Tensor::from_f64s(dtype, shape, &numbers);
    }
    if dtype == DType::Utf8 {
        return Tensor::new::<String>(shape, (0..n).map(|_| format!("text {}", random.below(3))).collect());
    }
    let whole = |random: &mut Random| match (dtype, data) {
        (DType::Bool, _) => random.below(2) as i128,
        (_, Data::Positive) => 1 + random.below(3) as i128,
        (_, Data::Balanced) => random.below(2) as i128,
        (_, Data::Large | Data::Special) => match (random.below(4), dtype.int_range()) {
            (0, Some((least, _))) => least,
            (1, Some((_, most))) => most,
            _ => random.below(200) as i128 - 100,
        },
        _ if dtype.is_signed() => random.below(7) as i128 - 3,
        _ => random.below(4) as i128,
    };
    let numbers: Vec<i128> = (0..n).map(|_| whole(random)).collect();
    Tensor::from_ints(dtype, shape, &numbers)
}

fn number(data: Data, random: &mut Random) -> f64 {
    // Multiples of a power of two: exact in every element type but the narrowest.
    let eighths = |random: &mut Random, n: usize| (random.below(n) as f64 + 1.0) / 8.0;
    let sign = if random.chance(1, 2) { 1.0 } else { -1.0 };
    match data {
        Data::Balanced => sign * eighths(random, 24),
        Data::Positive => eighths(random, 24),
        Data::Ties => random.below(5) as f64 - 2.0,
        Data::Large => sign * eighths(random, 96),
        Data::Small => eighths(random, 8) / 1024.0,
        Data::Zeros if random.chance(4, 5) => sign * 0.0,
        Data::Zeros => sign,
        Data::Special => match random.below(12) {
            0 => 0.0,
            1 => -0.0,
            2 => f64::INFINITY,
            3 => f64::NEG_INFINITY,
            4 => f64::NAN,
            5 => f64::from(f32::MAX),
            6 => f64::from(f32::MIN_POSITIVE) / 4.0,
            7 => sign,
            _ => sign * eighths(random, 24) / 3.0,
        },
    }
}

/// Results over a number system, and all values on the way there.
pub(super) struct Results<S> {
    pub(super) outputs: Vec<Value<S>>,
    pub(super) inner: Vec<Value<S>>,
}

/// The values of `roots` over a number system; nothing, where it has no meaning for a function.
pub(super) fn over<S: System>(
    graph: &Graph,
    roots: &[VertexId],
    value: &dyn Fn(VertexId) -> Option<Value<S>>,
) -> Option<Results<S>> {
    let mut all = graph.clone();
    all.clear_outputs();
    for &root in roots {
        all.output(root, None);
    }
    for v in graph.rpo_from(roots.iter().copied()) {
        if graph.ty(v).as_tensor().is_some() {
            all.output(v, None);
        }
    }
    let mut outputs = interpret_over::<S>(&all, value).ok()?;
    let inner = outputs.split_off(roots.len());
    Some(Results { outputs, inner })
}

/// Results with the element types that the graph says.
pub(super) fn typed(graph: &Graph, roots: &[VertexId], values: &Values) -> Option<Vec<Tensor>> {
    interpret_vertices(graph, &|v| values.get(&v).cloned(), roots).ok()
}

/// Results in double precision.
pub(super) fn double(graph: &Graph, roots: &[VertexId], values: &Values) -> Option<Results<f64>> {
    over::<f64>(graph, roots, &|v| Value::from_tensor(values.get(&v)?).ok())
}

/// Points of the field for the leaves with real elements; the others keep theirs.
pub(super) fn points(graph: &Graph, values: &Values, random: &mut Random) -> Option<FxHashMap<VertexId, Value<Field>>> {
    leaves(graph)
        .map(|v| Some((v, point(values.get(&v)?, random)?)))
        .collect()
}

/// A point of the field for each element, if they are real; else the tensor as it is.
pub(super) fn point(tensor: &Tensor, random: &mut Random) -> Option<Value<Field>> {
    if !tensor.dtype().is_float() {
        return Value::from_tensor(tensor).ok();
    }
    let numbers = (0..tensor.len()).map(|_| Field::new(i128::from(random.next() >> 3)));
    let array = ndarray::ArcArray::from_shape_vec(ndarray::IxDyn(tensor.shape()), numbers.collect()).ok()?;
    Some(Value::Real(array))
}
