//! Comparison in double precision, with error bounds propagated through the computation.

use super::data::{self, Data, Results, Values};
use super::element::ElementMismatch;
use super::exact;
use super::finding::{Evidence, Fault, Finding, Mismatch, Promise};
use super::sides::output_mismatch;
use super::steps;
use crate::instance::random::Random;
use tautomer_graph::VertexId;
use tautomer_op::{Bounded, Laws, Value, under};
use tautomer_rewrite::Sides;
use tautomer_rule::Class;
use tautomer_tensor::Nd;

/// The allowed difference where a branch depends on rounding, relative to the scale of the result.
const TOLERANCE: f64 = 2e-6;

/// The same, relative to the largest intermediate value.
const ROUNDING: f64 = 3e-7;

/// How often results that are integers are compared where all elements of an operand are equal.
const UNIFORM: usize = 3;

/// Instances at which such results are compared beside the numbers at which they change.
const STEPPED: usize = 24;

/// A difference below this may come from underflow, which the bounds do not cover.
const UNDERFLOW: f64 = 1e-290;

/// Measurements of comparisons in double precision.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    /// The largest bound within which results agreed, relative to the largest element of the result.
    pub(crate) loose: f64,
    /// The largest difference beyond the bounds, relative to the largest element of the result.
    pub(crate) error: f64,
}

impl Measured {
    /// Takes the maximum of both.
    pub(super) fn add(&mut self, other: Measured) {
        self.loose = self.loose.max(other.loose);
        self.error = self.error.max(other.error);
    }
}

/// Compares on data of each kind.
pub(super) fn compare_in_f64(
    promise: Promise,
    sides: &Sides,
    target: &[VertexId],
    measured: &mut Measured,
    turn: usize,
    random: &mut Random,
) -> Finding {
    let graph = &sides.graph;
    // What is drawn ahead changes nothing that is drawn after it.
    let mut ahead = random.clone();
    let mut compare = |kind: Data, random: &mut Random| {
        let values = data::values(graph, kind, random)?;
        Some(compare_in_f64_at(promise, sides, target, kind, values, measured))
    };
    let kinds = Data::for_instance(&Data::RULE_REAL, turn);
    let found = Finding::of_kinds(kinds.filter_map(|kind| compare(kind, random)));
    // Of results that are integers, nothing is known if rounding decides one of them.
    let is_discrete = |v: &VertexId| graph.ty(*v).as_tensor().is_some_and(|ty| !ty.dtype.is_float());
    if matches!(found, Finding::Mismatch(_)) || !sides.source.iter().any(is_discrete) {
        return found;
    }
    let uniform = Finding::of_kinds(
        [Data::Uniform; UNIFORM]
            .into_iter()
            .filter_map(|kind| compare(kind, &mut ahead)),
    );
    if matches!(uniform, Finding::Mismatch(_)) {
        return uniform;
    }
    let mut near: Vec<Values> = (0..UNIFORM)
        .filter_map(|_| data::uniform_near(graph, &mut ahead))
        .collect();
    if turn < STEPPED {
        near.extend(steps::beside(graph, (&sides.source, target), &mut ahead));
    }
    let compare_near = |values| compare_in_f64_at(promise, sides, target, Data::Near, values, &mut Measured::default());
    let near = Finding::of_kinds(near.into_iter().map(compare_near));
    if matches!(near, Finding::Mismatch(_)) {
        near
    } else {
        found
    }
}

/// Compares at the given values.
pub(super) fn compare_in_f64_at(
    promise: Promise,
    sides: &Sides,
    target: &[VertexId],
    kind: Data,
    values: Values,
    measured: &mut Measured,
) -> Finding {
    let graph = &sides.graph;
    let ((a, b), trace) = under(Laws::NONE, || {
        data::both_bounded(graph, (&sides.source, target), &values)
    });
    let Some(a) = a else { return Finding::Unknown };
    let Some(b) = b else {
        return Mismatch::missing_value(values);
    };
    // The bounds do not cover a branch that depends on rounding.
    let slack = if trace.unsure {
        Some(magnitude(&a).max(magnitude(&b)).max(1e-3))
    } else {
        None
    };
    // Where infinity counts, it must not come from overflow.
    let infinite = promise.infinity && !kind.is_lenient();
    // Integer and boolean results can hide that they came from infinity or NaN, or from numbers that differ only by
    // rounding. Among large numbers, the target may overflow where the source does not.
    let finite = |results: &Results<Bounded>| {
        let inner = results.inner.iter().filter_map(|v| v.real().ok()).flatten();
        inner
            .into_iter()
            .all(|x| x.value.is_finite() || infinite && x.value.is_infinite())
    };
    let defined = finite(&a) && (!kind.is_lenient() || finite(&b));
    // Without an infinity, no NaN comes from overflow.
    let lenient = kind.is_lenient() && has_infinity(&b);
    let mut is_compared = false;
    for (output, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        let mismatch = match (x, y) {
            (Value::Real(x), Value::Real(y)) if x.shape() == y.shape() => {
                let counts = |p: &Bounded| p.value.is_finite() || infinite && p.value.is_infinite();
                is_compared |= x.is_empty() || x.iter().any(counts);
                mismatch_of_infinities(x, y, infinite)
                    .or_else(|| mismatch_beyond_bounds(promise.class, x, y, lenient, slack, measured))
            }
            _ if !defined || trace.unsure => None,
            _ => {
                is_compared = true;
                output_mismatch(sides, output, x, y)
            }
        };
        if let Some(at) = mismatch {
            // Rounding alone decides a step that it is close to.
            if trace.unsure && !exact::differ_at(promise, sides, target, &values) {
                return Finding::Unknown;
            }
            return Finding::Mismatch(Box::new(Mismatch {
                fault: Fault::Values,
                output,
                at,
                values,
            }));
        }
    }
    if is_compared {
        Finding::Agree(Evidence::Rounded)
    } else {
        Finding::Unknown
    }
}

/// The first elements of which that of the source is infinite and the other is not the same, if infinities count.
fn mismatch_of_infinities(x: &Nd<Bounded>, y: &Nd<Bounded>, count: bool) -> Option<ElementMismatch> {
    let differ = |(p, q): (&Bounded, &Bounded)| p.value.is_infinite() && p.value != q.value;
    let place = x.iter().zip(y.iter()).position(differ).filter(|_| count)?;
    let number = |n: Option<&Bounded>| n.map(|n| n.value);
    let (p, q) = (number(x.iter().nth(place)), number(y.iter().nth(place)));
    Some(ElementMismatch::at(x.shape(), place, p.as_ref(), q.as_ref()))
}

/// True if a value on the way is infinite.
fn has_infinity(results: &Results<Bounded>) -> bool {
    let values = results.inner.iter().chain(&results.outputs);
    let mut numbers = values.filter_map(|v| v.real().ok()).flatten();
    numbers.any(|x| x.value.is_infinite())
}

fn magnitude(results: &Results<Bounded>) -> f64 {
    let values = results.inner.iter().chain(&results.outputs);
    largest(values.filter_map(|v| v.real().ok()).flatten())
}

fn largest<'a>(numbers: impl Iterator<Item = &'a Bounded>) -> f64 {
    let finite = numbers.map(|x| x.value.abs()).filter(|x| x.is_finite());
    finite.fold(0.0, f64::max)
}

/// The first elements that differ by more than the class and the bounds allow.
fn mismatch_beyond_bounds(
    class: Class,
    x: &Nd<Bounded>,
    y: &Nd<Bounded>,
    lenient: bool,
    slack: Option<f64>,
    measured: &mut Measured,
) -> Option<ElementMismatch> {
    let scale = largest(x.iter().chain(y.iter()));
    let allowed = match class {
        Class::Approx(e) => e * scale,
        _ => 0.0,
    };
    let slack = slack.map_or(0.0, |magnitude| TOLERANCE * scale + ROUNDING * magnitude);
    let mut found = Measured::default();
    let mut place = None;
    for (i, (p, q)) in x.iter().zip(y.iter()).enumerate() {
        // A rule promises nothing where the source is infinite or NaN; and on lenient data a target may overflow.
        if !p.value.is_finite() {
            continue;
        }
        if !q.value.is_finite() {
            if !lenient && slack == 0.0 && p.error.is_finite() {
                place = Some(i);
                break;
            }
            continue;
        }
        let (distance, bound) = ((p.value - q.value).abs(), p.error + q.error + slack + UNDERFLOW);
        if distance > bound + allowed {
            place = Some(i);
            break;
        }
        if distance > bound && scale > 0.0 {
            found.error = found.error.max(distance / scale);
        }
        // Relative to the largest element, so that a large value here means that the comparison was weak.
        if bound.is_finite() && scale > 0.0 {
            found.loose = found.loose.max(bound / scale);
        }
    }
    match place {
        Some(i) => {
            let text = |n: Option<&Bounded>| n.map(|n| n.value);
            let (p, q) = (text(x.iter().nth(i)), text(y.iter().nth(i)));
            Some(ElementMismatch::at(x.shape(), i, p.as_ref(), q.as_ref()))
        }
        None => {
            measured.add(found);
            None
        }
    }
}
