//! Comparison over exact number systems: fields, fields in which functions obey laws, rational numbers.

use super::data::{self, Data, Results, Values};
use super::element::ElementMismatch;
use super::finding::{Evidence, Fault, Mismatch, Promise};
use super::sides::output_mismatch;
use crate::instance::random::Random;
use tautomer_graph::VertexId;
use tautomer_op::{Exact, Field, Law, Lawful, Laws, Number, Trace, Value, under};
use tautomer_rewrite::Sides;
use tautomer_rule::Class;

/// How many points of the field are tried at each instance.
const POINTS: u32 = 2;

/// The number of bits, summed over fields with laws and over points, in which each element must agree.
const DIGITS: u32 = 60;

/// Limit on the points of the fields with laws at each instance.
const LAWFUL_POINTS: usize = 12;

/// The result of comparing both sides over exact numbers.
pub(super) enum ExactResult {
    /// They are equal, with the evidence.
    Same(Evidence),
    /// They differ, at these values.
    Mismatch(Box<Mismatch>),
    /// Inconclusive.
    Unknown,
}

/// Laws of functions for exact numbers, and how useful they were at the instances of a rule so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct AssumedLaws {
    /// The laws that may be assumed.
    allowed: Laws,
    /// The laws that instances needed.
    needed: Laws,
    /// How many instances in a row were inconclusive over exact numbers.
    fruitless: u32,
}

/// An agreement over numbers in which functions obey laws.
#[derive(Debug, Clone, Copy)]
struct Agreement {
    trace: Trace,
    /// The laws that it needs, if those that earlier instances needed do not suffice.
    laws: Laws,
}

impl AssumedLaws {
    /// The initial state: no law is needed.
    pub(super) const fn new(allowed: Laws) -> AssumedLaws {
        AssumedLaws {
            allowed,
            needed: Laws::NONE,
            fruitless: 0,
        }
    }

    /// The agreement under the laws that earlier instances needed; else under as few of the allowed laws as possible.
    fn agreement(self, mut agree: impl FnMut(Laws) -> Option<Trace>) -> Option<Agreement> {
        let first = self.needed.and(self.allowed);
        if let Some(trace) = agree(first) {
            let laws = Laws::NONE;
            return Some(Agreement { trace, laws });
        }
        if first == self.allowed {
            return None;
        }
        let mut trace = agree(self.allowed)?;
        let mut laws = trace.laws;
        let mut assumed: Vec<Law> = laws.iter().collect();
        // Laws that others imply come later, so those are dropped first.
        assumed.reverse();
        for law in assumed {
            if let Some(fewer) = agree(laws.without(law)) {
                (laws, trace) = (laws.without(law), fewer);
            }
        }
        Some(Agreement { trace, laws })
    }
}

/// After this many inconclusive instances in a row, only the plain field is tried.
const FRUITLESS: u32 = 8;

/// Compares both sides over exact numbers, starting with the systems that assume least.
pub(super) fn compare_exactly(
    promise: Promise,
    sides: &Sides,
    target: &[VertexId],
    assumed: &mut AssumedLaws,
    turn: usize,
    random: &mut Random,
) -> ExactResult {
    let real = data::leaves(&sides.graph).all(|v| sides.graph.ty(v).as_tensor().is_some_and(|t| t.dtype.is_float()));
    let field = in_field(sides, target, random);
    if let Some(Some(error)) = field {
        // Elements that are not real do not vary between points, so they are only tested.
        return ExactResult::Same(if real {
            Evidence::Field {
                error: Some(error),
                laws: Laws::NONE,
            }
        } else {
            Evidence::Exact(Laws::NONE)
        });
    }
    if assumed.fruitless >= FRUITLESS {
        return ExactResult::Unknown;
    }
    let lawful = Lawfully {
        sides,
        target,
        random: random.clone(),
    };
    let before = *assumed;
    let in_lawful = || before.agreement(|laws| lawful.agree(laws));
    // The field has no order; the rational numbers do.
    let mut found = if field.is_some() { in_lawful() } else { None };
    let unordered = found.is_some_and(|found| !found.trace.ordered && real);
    if !unordered {
        random.next();
        match in_rationals(promise, sides, target, before, turn, random) {
            Ok(exact) => found = exact.or(found),
            Err(mismatch) => return ExactResult::Mismatch(mismatch),
        }
    }
    if found.is_none() && field.is_none() {
        found = in_lawful();
    }
    let Some(found) = found else {
        assumed.fruitless += 1;
        return ExactResult::Unknown;
    };
    assumed.fruitless = 0;
    assumed.needed = before.needed.or(found.laws);
    let laws = found.trace.laws.and(assumed.needed);
    ExactResult::Same(if unordered {
        Evidence::Field { error: None, laws }
    } else {
        Evidence::Exact(laws)
    })
}

/// True if the sides agree over the rational numbers, on data of each kind; `None` if that is inconclusive.
///
/// # Errors
/// A difference that is certain.
fn in_rationals(
    promise: Promise,
    sides: &Sides,
    target: &[VertexId],
    assumed: AssumedLaws,
    turn: usize,
    random: &mut Random,
) -> Result<Option<Agreement>, Box<Mismatch>> {
    let mut all = Vec::new();
    for kind in Data::for_instance(&Data::EXACT, turn) {
        all.extend(data::values(&sides.graph, kind, random));
    }
    let mut mismatch = None;
    let exact = assumed.agreement(|laws| {
        let mut trace = Trace::default();
        let mut computed = false;
        for values in &all {
            match in_rationals_at(promise, sides, target, laws, values) {
                RationalResult::Same(found) => (trace, computed) = (trace.and(found), true),
                RationalResult::Mismatch { trace, output, at } => {
                    let certain = trace.unknown == 0
                        && !trace.depends_on_rounding()
                        && !matches!(promise.class, Class::Approx(_));
                    if certain && mismatch.is_none() {
                        mismatch = Some(Box::new(Mismatch {
                            fault: Fault::Values,
                            output,
                            at,
                            values: values.clone(),
                        }));
                    }
                    return None;
                }
                RationalResult::Undefined => {}
            }
        }
        computed.then_some(trace)
    });
    mismatch.map_or(Ok(exact), Err)
}

/// Whether the sides are equal at random points of the field, and the probability of error; `None` if they are
/// undefined there.
fn in_field(sides: &Sides, target: &[VertexId], random: &mut Random) -> Option<Option<u32>> {
    let graph = &sides.graph;
    let (mut degree, mut unknown) = (0, 0);
    for point in 0..POINTS {
        let kind = if point == 0 { Data::Balanced } else { Data::Ties };
        let values = data::values(graph, kind, random)?;
        let points = data::points(graph, &values, || data::variable(random))?;
        let leaf = |v: VertexId| points.get(&v).cloned();
        let ((a, b), trace) = under(Laws::NONE, || {
            data::both_over::<Field>(graph, (&sides.source, target), &leaf)
        });
        let (a, b) = (a?, b?);
        let Some(pairs) = pairs(sides, &a, &b) else {
            return Some(None);
        };
        if pairs.iter().any(|(a, b)| a.is_defined() && a != b) {
            return Some(None);
        }
        degree = pairs.iter().map(|(a, b)| a.degree(b)).fold(degree, u32::max);
        // Equal arguments of uninterpreted functions also rest on the field, so their degrees count.
        let inner = a.inner.iter().chain(&b.inner).filter_map(|v| v.real().ok()).flatten();
        if trace.unknown > 0 {
            degree = inner.map(|x| x.degree(x)).fold(degree, u32::max);
        }
        unknown = trace.unknown.max(unknown);
    }
    Some(Some(Field::error(degree, unknown, POINTS)))
}

/// Both sides over fields in which functions obey laws.
struct Lawfully<'a> {
    sides: &'a Sides,
    target: &'a [VertexId],
    /// The generator of the points.
    random: Random,
}

impl Lawfully<'_> {
    /// The trace of the evaluation, if the sides agree and every element was compared.
    fn agree(&self, laws: Laws) -> Option<Trace> {
        let graph = &self.sides.graph;
        let mut random = self.random.clone();
        let mut all = Trace::default();
        let mut digits: Vec<u32> = Vec::new();
        for point in 0..LAWFUL_POINTS {
            let values = data::values(graph, Data::Balanced, &mut random)?;
            let points = data::points(graph, &values, || {
                if point % 2 == 0 {
                    Lawful::positive(|| random.next())
                } else {
                    Lawful::variable(|| random.next())
                }
            })?;
            let leaf = |v: VertexId| points.get(&v).cloned();
            let sides = (self.sides.source.as_slice(), self.target);
            let ((a, b), trace) = under(laws, || data::both_chosen::<Lawful>(graph, sides, &leaf));
            let (a, b) = (a?, b?);
            all = all.and(trace);
            let pairs = pairs(self.sides, &a, &b)?;
            digits.resize(pairs.len(), 0);
            for ((a, b), digits) in pairs.iter().zip(&mut digits) {
                let fields = a.agreement(b)?;
                if a.is_defined() && !b.is_defined() {
                    return None;
                }
                *digits = digits.saturating_add(if a.is_defined() { fields * Lawful::BITS } else { DIGITS });
            }
            if point > 0 && digits.iter().all(|d| *d >= DIGITS) {
                return Some(all);
            }
        }
        None
    }
}

/// The real elements of the outputs, paired; `None` if shapes or other elements differ.
fn pairs<'a, S: Number>(sides: &Sides, a: &'a Results<S>, b: &'a Results<S>) -> Option<Vec<(&'a S, &'a S)>> {
    let mut out = Vec::new();
    for (output, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        if x.shape() != y.shape() {
            return None;
        }
        match (x, y) {
            (Value::Real(x), Value::Real(y)) => out.extend(x.iter().zip(y.iter())),
            _ if output_mismatch(sides, output, x, y).is_some() => return None,
            _ => {}
        }
    }
    Some(out)
}

/// The result of comparing over the rational numbers at given values.
enum RationalResult {
    Same(Trace),
    /// The output that differs, and where.
    Mismatch {
        trace: Trace,
        output: usize,
        at: ElementMismatch,
    },
    Undefined,
}

/// True if the sides are known to differ over the rational numbers at given values.
pub(super) fn differ_at(promise: Promise, sides: &Sides, target: &[VertexId], values: &Values) -> bool {
    let found = in_rationals_at(promise, sides, target, Laws::ALL, values);
    matches!(found, RationalResult::Mismatch { trace, .. } if trace.unknown == 0)
}

/// Compares over the rational numbers at given values.
fn in_rationals_at(
    promise: Promise,
    sides: &Sides,
    target: &[VertexId],
    laws: Laws,
    values: &Values,
) -> RationalResult {
    let graph = &sides.graph;
    let leaf = |v: VertexId| Value::<Exact>::from_tensor(values.get(&v)?).ok();
    let points: rustc_hash::FxHashMap<VertexId, Value<Exact>> =
        data::leaves(graph).filter_map(|v| Some((v, leaf(v)?))).collect();
    let leaf = |v: VertexId| points.get(&v).cloned();
    let ((a, b), trace) = under(laws, || {
        data::both_chosen::<Exact>(graph, (&sides.source, target), &leaf)
    });
    let (Some(a), Some(b)) = (a, b) else {
        return RationalResult::Undefined;
    };
    let counts = |x: &Exact| x.is_finite() || promise.infinity && !x.is_undefined();
    // Integer and boolean results can hide that they came from infinity or NaN.
    let reals = |r: &Results<Exact>| r.inner.iter().filter_map(|v| v.real().ok()).flatten().all(counts);
    let defined = reals(&a) && reals(&b);
    let mut seen = false;
    for (output, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        let mismatch = match (x, y) {
            (Value::Real(x), Value::Real(y)) if x.shape() == y.shape() => {
                seen |= x.is_empty() || x.iter().any(counts);
                // A rule promises nothing where the source is infinite or NaN, unless it writes infinity itself.
                let differs = |(p, q): (&Exact, &Exact)| counts(p) && p != q;
                let place = x.iter().zip(y.iter()).position(differs);
                if place.and_then(|i| y.iter().nth(i)).is_some_and(Exact::is_undefined) {
                    return RationalResult::Undefined;
                }
                place.map(|i| ElementMismatch::at(x.shape(), i, x.iter().nth(i), y.iter().nth(i)))
            }
            _ if !defined => None,
            _ => {
                seen = true;
                output_mismatch(sides, output, x, y)
            }
        };
        if let Some(at) = mismatch {
            return RationalResult::Mismatch { trace, output, at };
        }
    }
    if seen {
        RationalResult::Same(trace)
    } else {
        RationalResult::Undefined
    }
}
