//! Data for the leaves of an instance, and evaluation of both sides on it.

use rustc_hash::FxHashMap;

use crate::instance::random::Random;
use tautomer_graph::{Graph, Node, VertexId, interpret_over, interpret_vertices};
use tautomer_op::{AttrValue, Bounded, Field, Number, System, Value};
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
    /// Of many magnitudes with few digits, so that sums of their products stay small fractions.
    Powers,
    /// Close to the numbers in the graph, on either side of them.
    Near,
    /// Zeros of both signs, infinities, NaN, the largest and the smallest numbers.
    Special,
}

impl Data {
    /// The kinds for comparing the real functions of whole graphs.
    pub(crate) const GRAPH_REAL: [Data; 5] = [Data::Balanced, Data::Positive, Data::Ties, Data::Small, Data::Large];
    /// The kinds for comparing the real functions of a rule, which may change behaviour at the numbers it contains.
    pub(crate) const RULE_REAL: [Data; 7] = [
        Data::Balanced,
        Data::Positive,
        Data::Ties,
        Data::Small,
        Data::Large,
        Data::Wide,
        Data::Near,
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
    /// The kinds for comparing integers and the bits of a rule.
    pub(crate) const RULE_BITS: [Data; 7] = [
        Data::Balanced,
        Data::Special,
        Data::Zeros,
        Data::Ties,
        Data::Positive,
        Data::Wide,
        Data::Near,
    ];

    /// The kinds that the instance of that number is compared on: all of them for the first instances, then every other
    /// one in turn.
    pub(crate) fn for_instance(kinds: &[Data], turn: usize) -> impl Iterator<Item = Data> + '_ {
        let kept = move |(i, _): &(usize, &Data)| turn < THOROUGH || (i + turn).is_multiple_of(2);
        kinds.iter().enumerate().filter(kept).map(|(_, kind)| *kind)
    }

    /// True where numbers are so large that one side may overflow while the other does not.
    pub(crate) const fn is_lenient(self) -> bool {
        matches!(self, Data::Large | Data::Wide | Data::Powers | Data::Near)
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
            Data::Special => "special",
        }
    }
}

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

/// Values for all leaves.
pub(crate) fn values(graph: &Graph, data: Data, random: &mut Random) -> Option<Values> {
    // Where dimensions depend on data, integers stay small.
    let extents_are_known = graph.ids().all(|v| {
        let mut known = true;
        graph.ty(v).visit_dims(&mut |d| known &= d.as_const().is_some());
        known
    });
    let near = if data == Data::Near { anchors(graph) } else { Vec::new() };
    if data == Data::Near && near.is_empty() {
        return None;
    }
    leaves(graph)
        .map(|v| {
            let (dtype, shape) = shape_of(graph, v)?;
            let data = if extents_are_known || dtype.is_float() {
                data
            } else {
                Data::Balanced
            };
            if data == Data::Near && dtype != DType::Bool && dtype != DType::Utf8 {
                return Some((v, close_to(&near, dtype, &shape, random)?));
            }
            Some((v, tensor(dtype, &shape, data, random)?))
        })
        .collect()
}

/// Limit on the numbers of a graph that data is drawn close to.
const ANCHORS: usize = 24;

/// The numbers in a graph, from constants and attributes.
fn anchors(graph: &Graph) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::new();
    for v in graph.ids() {
        match &graph.vertex(v).node {
            Node::Const(tensor) => out.extend(tensor.first().and_then(|t| match t.to_f64s() {
                Some(list) => list.first().copied(),
                None => t.to_ints()?.first().map(|&n| n as f64),
            })),
            Node::Call { attrs, .. } => out.extend(attrs.iter().filter_map(AttrValue::as_float)),
            _ => {}
        }
    }
    out.retain(|x| x.is_finite() && *x != 0.0);
    out.sort_by(f64::total_cmp);
    out.dedup();
    out.truncate(ANCHORS);
    out
}

/// True if the number does not become infinite in that type.
fn is_finite_in(dtype: DType, number: f64) -> bool {
    let rounded = Tensor::from_f64s(dtype, &[], &[number]).and_then(|t| t.to_f64s());
    rounded.is_none_or(|list| list.iter().all(|x| x.is_finite()))
}

/// Elements on either side of the given numbers, their negations, their doubles and their halves.
fn close_to(near: &[f64], dtype: DType, shape: &[usize], random: &mut Random) -> Option<Tensor> {
    let n: usize = shape.iter().product();
    let near: Vec<f64> = near.iter().copied().filter(|x| is_finite_in(dtype, *x)).collect();
    let mut one = || {
        let anchor = random.pick(&near).unwrap_or(1.0);
        let times = random.pick(&[1.0, -1.0, 1.0, 2.0, -2.0, 0.5]).unwrap_or(1.0);
        let aside = random.pick(&[0.0, 1.0, -1.0, 0.125, -0.125]).unwrap_or(0.0);
        let number = anchor * times + aside;
        // Twice the largest number of a type overflows; infinities belong to `Special`.
        if is_finite_in(dtype, number) { number } else { anchor }
    };
    let numbers: Vec<f64> = (0..n).map(|_| one()).collect();
    if dtype.is_float() {
        return Tensor::from_f64s(dtype, shape, &numbers);
    }
    let (least, most) = dtype.int_range()?;
    let whole: Vec<i128> = numbers.iter().map(|x| (x.round() as i128).clamp(least, most)).collect();
    Tensor::from_ints(dtype, shape, &whole)
}

/// Random elements.
pub(crate) fn tensor(dtype: DType, shape: &[usize], data: Data, random: &mut Random) -> Option<Tensor> {
    let n = shape.iter().product();
    if dtype.is_float() {
        let corners = if data == Data::Special {
            corners(dtype)
        } else {
            Vec::new()
        };
        let numbers: Vec<f64> = (0..n).map(|_| number(data, &corners, random)).collect();
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
        (_, Data::Wide | Data::Powers) => {
            // With any number of binary digits.
            let (least, most) = dtype.int_range().unwrap_or((-8, 8));
            let digits = random.below(1 + (128 - most.leading_zeros()) as usize) as u32;
            let size = i128::from(random.next()) & ((1i128 << digits) - 1);
            let size = if random.chance(1, 2) { size } else { -size };
            size.clamp(least, most)
        }
        _ if dtype.is_signed() => random.below(7) as i128 - 3,
        _ => random.below(4) as i128,
    };
    let numbers: Vec<i128> = (0..n).map(|_| whole(random)).collect();
    Tensor::from_ints(dtype, shape, &numbers)
}

fn number(data: Data, corners: &[f64], random: &mut Random) -> f64 {
    // Multiples of a power of two are exact in all but the narrowest element types.
    let eighths = |random: &mut Random, n: usize| (random.below(n) as f64 + 1.0) / 8.0;
    let sign = if random.chance(1, 2) { 1.0 } else { -1.0 };
    match data {
        Data::Balanced => sign * eighths(random, 24),
        Data::Positive => eighths(random, 24),
        Data::Ties => random.below(5) as f64 - 2.0,
        Data::Large => sign * eighths(random, 96),
        Data::Small => eighths(random, 8) / 1024.0,
        Data::Powers => sign * (1.0 + random.below(7) as f64) * 2f64.powi(random.below(23) as i32 - 11),
        Data::Wide => {
            let exponent = random.below(41) as i32 - 20;
            sign * (1.0 + random.below(1 << 20) as f64 / f64::from(1 << 20)) * 2f64.powi(exponent)
        }
        Data::Near => sign * eighths(random, 24),
        Data::Zeros if random.chance(4, 5) => sign * 0.0,
        Data::Zeros => sign,
        Data::Special if random.chance(2, 3) => random.pick(corners).unwrap_or(0.0),
        Data::Special => sign * eighths(random, 24) / 3.0,
    }
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

/// Results in the element types of the graph.
pub(crate) fn typed(graph: &Graph, roots: &[VertexId], values: &Values) -> Option<Vec<Tensor>> {
    interpret_vertices(graph, &|v| values.get(&v).cloned(), roots).ok()
}

/// Results in double precision with error bounds; the leaves are exact.
pub(crate) fn bounded(graph: &Graph, roots: &[VertexId], values: &Values) -> Option<Results<Bounded>> {
    let leaf = |v: VertexId| {
        let tensor = values.get(&v)?;
        if !tensor.dtype().is_float() {
            return Value::from_tensor(tensor).ok();
        }
        let numbers = tensor.to_f64s()?.into_iter().map(Bounded::exact);
        real(tensor, numbers.collect())
    };
    over::<Bounded>(graph, roots, &leaf)
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

/// The corner cases of an element type, at which bits are likely to differ: zeros, the smallest and the largest
/// numbers, infinities, NaN, the neighbours of 1, and rounding ties.
pub(crate) fn corners(dtype: DType) -> Vec<f64> {
    // Exponents of the least normal and of the largest number, and bits of the mantissa.
    let (least, most, digits) = match dtype {
        DType::F16 => (-14, 15, 10),
        DType::BF16 => (-126, 127, 7),
        DType::F64 => (-1022, 1023, 52),
        _ => (-126, 127, 23),
    };
    let power = |e: i32| 2f64.powi(e);
    let unit = power(-digits);
    let positive = [
        0.0,
        power(least) * unit,
        power(least) * (1.0 - unit),
        power(least),
        power(least) * (1.0 + unit),
        power(least / 2),
        0.5,
        1.0 - unit / 2.0,
        1.0,
        1.0 + unit,
        1.5,
        2.0,
        2.5,
        3.0,
        power(digits) + 1.0,
        power(most / 2),
        power(most) * (2.0 - unit),
        f64::INFINITY,
    ];
    let mut out: Vec<f64> = positive.into_iter().flat_map(|x| [x, -x]).collect();
    out.push(f64::NAN);
    out
}
