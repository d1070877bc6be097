//! Data for the leaves of an instance, and evaluation of both sides on it.

use rustc_hash::FxHashMap;

use super::draw::{Around, anchors, close_to, indices, infinite, is_finite_in, sized, tensor_with, ties};
use super::texts::{texts, words};
use crate::instance::random::Random;
use tautomer_graph::{Graph, Node, VertexId, interpret_vertices, interpret_vertices_over};
use tautomer_op::{AttrValue, Bounded, Choosable, Chosen, Field, Number, Op, System, Value, choosing};

pub(crate) use super::draw::{corners, tensor};
use tautomer_tensor::{DType, Shape, Tensor};

/// Kinds of data, by distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Data {
    /// Around zero, with few duplicates.
    Balanced,
    /// Greater than zero.
    Positive,
    /// Small integers around zero, with many duplicates.
    Ties,
    /// Beyond the range in which saturating functions vary.
    Large,
    /// Close to zero, where a small constant matters.
    Small,
    /// Mostly zeros of both signs.
    Zeros,
    /// Of all magnitudes, from tiny to huge.
    Wide,
    /// Close to one magnitude, which may be any that the element type has, far beyond `Wide`; integers at the limits of
    /// their type, at powers of two, and where squares and small multiples overflow.
    Extreme,
    /// Of many magnitudes with few digits, so that sums of their products stay small fractions.
    Powers,
    /// Close to the numbers in the graph, on either side of them.
    Near,
    /// Zeros of both signs, infinities, NaN, the largest and the smallest numbers.
    Special,
    /// One number of many digits for all elements of a tensor, so that none is near a step where others are not.
    Uniform,
}

impl Data {
    /// The kinds for comparing the real functions of whole graphs.
    pub(crate) const GRAPH_REAL: [Data; 5] = [Data::Balanced, Data::Positive, Data::Ties, Data::Small, Data::Large];
    /// The kinds for comparing the real functions of a rule, which may change behaviour at the numbers it contains.
    pub(crate) const RULE_REAL: [Data; 8] = [
        Data::Balanced,
        Data::Positive,
        Data::Ties,
        Data::Small,
        Data::Large,
        Data::Wide,
        Data::Near,
        Data::Extreme,
    ];
    /// The kinds for exact numbers.
    pub(crate) const EXACT: [Data; 7] = [
        Data::Ties,
        Data::Balanced,
        Data::Positive,
        Data::Large,
        Data::Zeros,
        Data::Powers,
        Data::Near,
    ];
    /// The kinds for comparing the bits of whole graphs.
    pub(crate) const GRAPH_BITS: [Data; 5] = [Data::Balanced, Data::Special, Data::Zeros, Data::Ties, Data::Positive];
    /// The kinds for comparing integers and the bits of a rule. Which of several zeros an operator takes shows only if
    /// nothing else is larger, or smaller, and the zeros in two places have other signs, so zeros are drawn three times.
    pub(crate) const RULE_BITS: [Data; 10] = [
        Data::Balanced,
        Data::Special,
        Data::Zeros,
        Data::Ties,
        Data::Positive,
        Data::Zeros,
        Data::Wide,
        Data::Near,
        Data::Zeros,
        Data::Extreme,
    ];

    /// The kinds that the instance of that number is compared on: all of them for the first instances, then every other
    /// one in turn.
    pub(crate) fn for_instance(kinds: &[Data], turn: usize) -> impl Iterator<Item = Data> + '_ {
        let kept = move |(i, _): &(usize, &Data)| turn < THOROUGH || (i + turn).is_multiple_of(2);
        kinds.iter().enumerate().filter(kept).map(|(_, kind)| *kind)
    }

    /// True where numbers are so large that one side may overflow while the other does not.
    pub(crate) const fn is_lenient(self) -> bool {
        matches!(
            self,
            Data::Large | Data::Wide | Data::Powers | Data::Near | Data::Extreme
        )
    }

    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Data::Balanced => "balanced",
            Data::Positive => "positive",
            Data::Ties => "ties",
            Data::Large => "large",
            Data::Small => "small",
            Data::Zeros => "zeros",
            Data::Wide => "wide",
            Data::Powers => "powers",
            Data::Near => "near",
            Data::Extreme => "extreme",
            Data::Special => "special",
            Data::Uniform => "uniform",
        }
    }
}

/// The most floating-point numbers that may say how large a result is.
const FEW: usize = 8;

/// Instances that are compared on every kind of data.
const THOROUGH: usize = 40;

/// The values of the leaves of a graph.
pub(crate) type Values = FxHashMap<VertexId, Tensor>;

/// The inputs, then the parameters, in order.
pub(crate) fn leaves(graph: &Graph) -> impl Iterator<Item = VertexId> + '_ {
    graph.inputs().iter().chain(graph.params()).copied()
}

/// The element type and the concrete shape of a value.
pub(crate) fn shape_of(graph: &Graph, v: VertexId) -> Option<(DType, Vec<usize>)> {
    let ty = graph.ty(v).as_tensor()?;
    Some((ty.dtype, ty.shape.as_ref().and_then(Shape::to_concrete)?))
}

/// True if no dimension depends on data.
pub(super) fn extents_are_known(graph: &Graph) -> bool {
    graph.ids().all(|v| is_known(graph, v))
}

/// Operators that select elements: their results are no larger than their operands, whatever the numbers are.
const SELECTING: [&str; 3] = ["non_zero", "compress", "unique"];

/// True if dimensions depend on data only in that some elements are selected.
fn extents_are_bounded(graph: &Graph) -> bool {
    graph.ids().all(|v| {
        let selects = match &graph.vertex(v).node {
            Node::Call { op, .. } => matches!(op, Op::Known(def) if SELECTING.contains(&def.name)),
            _ => false,
        };
        let mut operands = graph.pred(v).into_iter();
        selects || is_known(graph, v) || operands.any(|u| !is_known(graph, u))
    })
}

/// True if the sizes of results depend on the numbers in leaves.
pub(super) fn sets_sizes(graph: &Graph) -> bool {
    !extents_are_known(graph) && !extents_are_bounded(graph)
}

/// True if a leaf has texts.
pub(super) fn has_texts(graph: &Graph) -> bool {
    leaves(graph).any(|v| graph.ty(v).as_tensor().is_some_and(|ty| ty.dtype == DType::Utf8))
}

fn is_known(graph: &Graph, v: VertexId) -> bool {
    let mut known = true;
    graph.ty(v).visit_dims(&mut |d| known &= d.as_const().is_some());
    known
}

/// Values for all leaves.
pub(crate) fn values(graph: &Graph, data: Data, random: &mut Random) -> Option<Values> {
    // Where dimensions depend on data, integers stay small.
    let extents_are_known = !sets_sizes(graph);
    let near = if data == Data::Near { anchors(graph) } else { Vec::new() };
    if data == Data::Near && near.is_empty() {
        return None;
    }
    let extents: Vec<usize> = leaves(graph)
        .filter_map(|v| shape_of(graph, v))
        .flat_map(|(_, shape)| shape)
        .filter(|n| *n > 0)
        .collect();
    let around = match random.clone().below(12) {
        0 if !extents_are_known => Around::Least,
        1 if !extents_are_known => Around::Most,
        2 if !extents_are_known => Around::Ends,
        _ => Around::Zero,
    };
    leaves(graph)
        .map(|v| {
            let (dtype, shape) = shape_of(graph, v)?;
            if dtype == DType::Utf8 {
                return Some((v, texts(&words(graph), &shape, data, random)?));
            }
            let may_be_indices = data == Data::Small || data == Data::Positive && random.chance(1, 2);
            if may_be_indices && extents_are_known && dtype.int_range().is_some() && dtype != DType::Bool {
                return Some((v, indices(&extents, dtype, &shape, random)?));
            }
            // A few numbers may be bounds of a range or factors of sizes, and large ones make results of many elements.
            if !extents_are_known && (!dtype.is_float() || shape.len() < 2 && shape.iter().product::<usize>() <= FEW) {
                return Some((v, sized(dtype, &shape, around, random)?));
            }
            if data == Data::Near && dtype != DType::Bool {
                return Some((v, close_to(&near, dtype, &shape, random)?));
            }
            let special = match data {
                Data::Special if dtype.is_float() => [ties(graph, dtype), infinite(graph)].concat(),
                _ => Vec::new(),
            };
            Some((v, tensor_with(dtype, &shape, data, &special, random)?))
        })
        .collect()
}

/// Values for all leaves: one number near those in the graph for all elements of a real leaf. `None` if the graph has no
/// numbers.
pub(super) fn uniform_near(graph: &Graph, random: &mut Random) -> Option<Values> {
    let near = anchors(graph);
    if near.is_empty() {
        return None;
    }
    leaves(graph)
        .map(|v| {
            let (dtype, shape) = shape_of(graph, v)?;
            if !dtype.is_float() {
                return Some((v, tensor(dtype, &shape, Data::Balanced, random)?));
            }
            let number = *close_to(&near, dtype, &[], random)?.to_f64s()?.first()?;
            let n = shape.iter().product();
            Some((v, Tensor::from_f64s(dtype, &shape, &vec![number; n])?))
        })
        .collect()
}

/// True if an attribute of a call below `roots` is a finite number that the element type of the result does not have.
pub(super) fn has_infinite_number(graph: &Graph, roots: &[VertexId]) -> bool {
    let overflows = |v: VertexId| {
        let (Node::Call { attrs, .. }, Some(ty)) = (&graph.vertex(v).node, graph.ty(v).as_tensor()) else {
            return false;
        };
        let numbers = attrs.iter().filter_map(AttrValue::as_float).filter(|x| x.is_finite());
        ty.dtype.is_float() && numbers.into_iter().any(|x| !is_finite_in(ty.dtype, x))
    };
    let inner = tensors_below(graph, roots);
    roots.iter().chain(&inner).any(|v| overflows(*v))
}

/// Results over a number system, with all intermediate values.
pub(crate) struct Results<S> {
    pub(crate) outputs: Vec<Value<S>>,
    pub(crate) inner: Vec<Value<S>>,
}

/// The values of `roots` over a number system; `None` where it does not define a function.
pub(crate) fn over<S: System>(
    graph: &Graph,
    roots: &[VertexId],
    value: &dyn Fn(VertexId) -> Option<Value<S>>,
) -> Option<Results<S>> {
    let inner = tensors_below(graph, roots);
    let all: Vec<VertexId> = roots.iter().chain(&inner).copied().collect();
    let mut outputs = interpret_vertices_over::<S>(graph, value, &all).ok()?;
    let inner = outputs.split_off(roots.len());
    Some(Results { outputs, inner })
}

/// The values of both sides, as computed by [`over`]; shared parts are computed once.
pub(super) fn both_over<S: System>(
    graph: &Graph,
    (source, target): (&[VertexId], &[VertexId]),
    value: &dyn Fn(VertexId) -> Option<Value<S>>,
) -> (Option<Results<S>>, Option<Results<S>>) {
    let parts = [
        source.to_vec(),
        tensors_below(graph, source),
        target.to_vec(),
        tensors_below(graph, target),
    ];
    let Ok(mut outputs) = interpret_vertices_over::<S>(graph, value, &parts.concat()) else {
        // Which side has no values matters.
        return (over(graph, source, value), over(graph, target, value));
    };
    let mut last = |part: &[VertexId]| outputs.split_off(outputs.len() - part.len());
    let (inner, outputs) = (last(&parts[3]), last(&parts[2]));
    let target = Results { outputs, inner };
    let (inner, outputs) = (last(&parts[1]), last(&parts[0]));
    (Some(Results { outputs, inner }), Some(target))
}

/// The vertices that `roots` depend on and whose values are tensors.
fn tensors_below(graph: &Graph, roots: &[VertexId]) -> Vec<VertexId> {
    let mut all = graph.rpo_from(roots.iter().copied());
    all.retain(|v| graph.ty(*v).as_tensor().is_some());
    all
}

/// Results in the element types of the graph.
pub(crate) fn typed(graph: &Graph, roots: &[VertexId], values: &Values) -> Option<Vec<Tensor>> {
    interpret_vertices(graph, &|v| values.get(&v).cloned(), roots).ok()
}

/// The results of both sides in the element types of the graph; shared parts are computed once.
pub(super) fn both_typed(
    graph: &Graph,
    (source, target): (&[VertexId], &[VertexId]),
    values: &Values,
) -> (Option<Vec<Tensor>>, Option<Vec<Tensor>>) {
    match typed(graph, &[source, target].concat(), values) {
        Some(mut all) => {
            let second = all.split_off(source.len());
            (Some(all), Some(second))
        }
        // Which side has no values matters.
        None => (typed(graph, source, values), typed(graph, target, values)),
    }
}

/// [`both_over`] a number system that is chosen while it runs.
pub(super) fn both_chosen<S: Choosable>(
    graph: &Graph,
    sides: (&[VertexId], &[VertexId]),
    value: &dyn Fn(VertexId) -> Option<Value<S>>,
) -> (Option<Results<S>>, Option<Results<S>>) {
    let value = |v: VertexId| converted(&value(v)?, |x: &S| Some(x.clone().into_chosen()));
    let (source, target) = choosing::<S, _>(|| both_over::<Chosen>(graph, sides, &value));
    (source.and_then(Results::of_chosen), target.and_then(Results::of_chosen))
}

impl<S: Choosable> Results<S> {
    fn of_chosen(results: Results<Chosen>) -> Option<Results<S>> {
        let one = |value: &Value<Chosen>| converted(value, |x| S::of_chosen(x).cloned());
        let all = |values: Vec<Value<Chosen>>| values.iter().map(one).collect::<Option<Vec<_>>>();
        Some(Results {
            outputs: all(results.outputs)?,
            inner: all(results.inner)?,
        })
    }
}

/// The value with other numbers; `None` if there is none for some number.
fn converted<S: Number, T: Number>(value: &Value<S>, number: impl Fn(&S) -> Option<T>) -> Option<Value<T>> {
    Some(match value {
        Value::Real(a) => {
            let numbers = a.iter().map(number).collect::<Option<Vec<_>>>()?;
            Value::Real(ndarray::ArcArray::from_shape_vec(a.raw_dim(), numbers).ok()?)
        }
        Value::Int(a) => Value::Int(a.clone()),
        Value::Bool(a) => Value::Bool(a.clone()),
        Value::Text(a) => Value::Text(a.clone()),
        Value::Absent => Value::Absent,
    })
}

/// Results of both sides in double precision with error bounds; the leaves are exact.
pub(super) fn both_bounded(
    graph: &Graph,
    sides: (&[VertexId], &[VertexId]),
    values: &Values,
) -> (Option<Results<Bounded>>, Option<Results<Bounded>>) {
    both_chosen::<Bounded>(graph, sides, &|v| exactly(values.get(&v)?))
}

/// A tensor whose real elements are exact.
fn exactly(tensor: &Tensor) -> Option<Value<Bounded>> {
    if !tensor.dtype().is_float() {
        return Value::from_tensor(tensor).ok();
    }
    let numbers = tensor.to_f64s()?.into_iter().map(Bounded::exact);
    real(tensor, numbers.collect())
}

/// Points for the leaves with real elements; other leaves keep their values.
pub(crate) fn points<S: Number>(
    graph: &Graph,
    values: &Values,
    mut point: impl FnMut() -> S,
) -> Option<FxHashMap<VertexId, Value<S>>> {
    leaves(graph)
        .map(|v| Some((v, at_points(values.get(&v)?, &mut point)?)))
        .collect()
}

/// A point for each element of a real tensor; other tensors as they are.
fn at_points<S: Number>(tensor: &Tensor, mut point: impl FnMut() -> S) -> Option<Value<S>> {
    if !tensor.dtype().is_float() {
        return Value::from_tensor(tensor).ok();
    }
    real(tensor, (0..tensor.len()).map(|_| point()).collect())
}

/// A random variable of the field.
pub(crate) fn variable(random: &mut Random) -> Field {
    Field::variable(random.next() >> 3, random.next() >> 3)
}

/// A random variable of the field for each element of a real tensor; other tensors as they are.
pub(crate) fn variables(tensor: &Tensor, random: &mut Random) -> Option<Value<Field>> {
    at_points(tensor, || variable(random))
}

/// A value with the shape of a tensor and the given real elements.
fn real<S: Number>(tensor: &Tensor, elements: Vec<S>) -> Option<Value<S>> {
    let array = ndarray::ArcArray::from_shape_vec(ndarray::IxDyn(tensor.shape()), elements);
    array.ok().map(Value::Real)
}
