//! Both sides over exact number systems: fields, fields in which functions have laws, rational numbers.

use super::data::{self, Data, Results, Values};
use super::judge::{Apart, Differing, Fault, Ground, other_elements, shown};
use super::random::Random;
use crate::graph::VertexId;
use crate::op::{Exact, Field, Law, Lawful, Laws, System, Trace, Value, under};
use crate::rewrite::Sides;
use crate::rule::Class;

/// Points of the field at each instance.
const POINTS: u32 = 2;

/// Binary digits of fields with laws in which each element must agree.
const DIGITS: u32 = 60;

/// Points of the fields with laws at each instance, at most.
const LAWFUL_POINTS: usize = 12;

/// What exact numbers say of both sides.
pub(super) enum Exactly {
    /// They are equal, and why.
    Same(Ground),
    /// They are not, at these values.
    Apart(Box<Apart>),
    /// Nothing.
    Unknown,
}

/// Laws of functions for exact numbers, and what came of them at the instances of a rule so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assumed {
    /// Laws that may be assumed.
    pub(super) laws: Laws,
    /// Those that instances needed.
    needed: Laws,
    /// Instances at which exact numbers said nothing, since the last one at which they did.
    fruitless: u32,
}

impl Assumed {
    /// Nothing is needed so far.
    pub(super) const fn new(laws: Laws) -> Assumed {
        Assumed {
            laws,
            needed: Laws::NONE,
            fruitless: 0,
        }
    }
}

/// Instances at which laws or an order are tried in vain before that ends.
const FRUITLESS: u32 = 8;

/// Both sides over exact numbers, the ones that assume least first.
pub(super) fn exactly(
    class: Class,
    sides: &Sides,
    target: &[VertexId],
    assumed: &mut Assumed,
    random: &mut Random,
) -> Exactly {
    let real = data::leaves(&sides.graph).all(|v| sides.graph.ty(v).as_tensor().is_some_and(|t| t.dtype.is_float()));
    let field = in_field(sides, target, random);
    if let Some(Some(error)) = field {
        // Elements that are no real numbers are the same at every point.
        return Exactly::Same(if real {
            Ground::Field {
                error: Some(error),
                laws: Laws::NONE,
            }
        } else {
            Ground::Exact(Laws::NONE)
        });
    }
    if assumed.fruitless >= FRUITLESS {
        return Exactly::Unknown;
    }
    let Assumed { laws, needed, .. } = *assumed;
    let lawful = Lawfully {
        sides,
        target,
        random: random.clone(),
    };
    let in_lawful = || with_laws(laws, needed, |laws| lawful.agree(laws));
    // Where the field knows no order, rational numbers do.
    let mut found = if field.is_some() { in_lawful() } else { None };
    let unordered = found.is_some_and(|(trace, _)| !trace.ordered && real);
    if !unordered {
        random.next();
        match in_rationals(class, sides, target, (laws, needed), random) {
            Ok(exact) => found = exact.or(found),
            Err(apart) => return Exactly::Apart(apart),
        }
    }
    if found.is_none() && field.is_none() {
        found = in_lawful();
    }
    let Some((trace, lacking)) = found else {
        assumed.fruitless += 1;
        return Exactly::Unknown;
    };
    assumed.fruitless = 0;
    assumed.needed = needed.or(lacking);
    let laws = trace.laws.and(assumed.needed);
    Exactly::Same(if unordered {
        Ground::Field { error: None, laws }
    } else {
        Ground::Exact(laws)
    })
}

/// Whether the sides agree over the rational numbers, on data of each kind.
///
/// # Errors
/// Where they certainly do not.
fn in_rationals(
    class: Class,
    sides: &Sides,
    target: &[VertexId],
    (laws, needed): (Laws, Laws),
    random: &mut Random,
) -> Result<Option<(Trace, Laws)>, Box<Apart>> {
    let mut all = Vec::new();
    for kind in Data::EXACT {
        all.extend(data::values(&sides.graph, kind, random));
    }
    let mut apart = None;
    let exact = with_laws(laws, needed, |laws| {
        let mut trace = Trace::default();
        let mut computed = false;
        for values in &all {
            match at(sides, target, laws, values) {
                At::Same(found) => (trace, computed) = (trace.and(found), true),
                At::Apart(found, difference) => {
                    let certain = found.unknown == 0 && !found.rounded && !matches!(class, Class::Approx(_));
                    if certain && apart.is_none() {
                        apart = Some((difference, values.clone()));
                    }
                    return None;
                }
                At::Nothing => {}
            }
        }
        computed.then_some(trace)
    });
    match apart {
        Some(((output, (element, source, target)), values)) => Err(Box::new(Apart {
            fault: Fault::Values,
            output,
            element,
            source,
            target,
            values,
        })),
        None => Ok(exact),
    }
}

/// What both sides came across, if they agree where the laws of `first` may be assumed, or else those of `laws`; then
/// also which of the latter that takes.
fn with_laws(laws: Laws, first: Laws, mut agree: impl FnMut(Laws) -> Option<Trace>) -> Option<(Trace, Laws)> {
    let first = first.and(laws);
    if let Some(trace) = agree(first) {
        return Some((trace, Laws::NONE));
    }
    if first == laws {
        return None;
    }
    let mut trace = agree(laws)?;
    let mut needed = trace.laws;
    let mut assumed: Vec<Law> = needed.iter().collect();
    // Those that others imply are the later ones.
    assumed.reverse();
    for law in assumed {
        if let Some(fewer) = agree(needed.without(law)) {
            (needed, trace) = (needed.without(law), fewer);
        }
    }
    Some((trace, needed))
}

/// Whether the sides are equal at random points of the field, and how surely; nothing, if they have no meaning there.
fn in_field(sides: &Sides, target: &[VertexId], random: &mut Random) -> Option<Option<u32>> {
    let graph = &sides.graph;
    let (mut degree, mut unknown) = (0, 0);
    for point in 0..POINTS {
        let kind = if point == 0 { Data::Balanced } else { Data::Ties };
        let values = data::values(graph, kind, random)?;
        let points = data::points(graph, &values, || data::variable(random))?;
        let run = |roots: &[VertexId]| data::over::<Field>(graph, roots, &|v| points.get(&v).cloned());
        let ((a, b), trace) = under(Laws::NONE, || (run(&sides.source), run(target)));
        let (a, b) = (a?, b?);
        let Some(pairs) = pairs(sides, &a, &b) else {
            return Some(None);
        };
        if pairs.iter().any(|(a, b)| a.is_defined() && a != b) {
            return Some(None);
        }
        degree = pairs.iter().map(|(a, b)| a.degree(b)).fold(degree, u32::max);
        // Arguments are compared as well.
        let inner = a.inner.iter().chain(&b.inner).filter_map(|v| v.real().ok()).flatten();
        if trace.unknown > 0 {
            degree = inner.map(|x| x.degree(x)).fold(degree, u32::max);
        }
        unknown = trace.unknown.max(unknown);
    }
    Some(Some(Field::error(degree, unknown, POINTS)))
}

/// Both sides over fields in which functions have laws.
struct Lawfully<'a> {
    sides: &'a Sides,
    target: &'a [VertexId],
    /// Where the points begin.
    random: Random,
}

impl Lawfully<'_> {
    /// What the evaluation came across, if the sides agree and every element was compared.
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
            let run = |roots: &[VertexId]| data::over::<Lawful>(graph, roots, &|v| points.get(&v).cloned());
            let (found, trace) = under(laws, || Some((run(&self.sides.source)?, run(self.target)?)));
            let (a, b) = found?;
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

/// The real elements of the outputs side by side; nothing, if others differ.
fn pairs<'a, S: System>(sides: &Sides, a: &'a Results<S>, b: &'a Results<S>) -> Option<Vec<(&'a S, &'a S)>> {
    let mut out = Vec::new();
    for (output, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        if x.shape() != y.shape() {
            return None;
        }
        match (x, y) {
            (Value::Real(x), Value::Real(y)) => out.extend(x.iter().zip(y.iter())),
            _ if other_elements(sides, output, x, y).is_some() => return None,
            _ => {}
        }
    }
    Some(out)
}

/// What the rational numbers say at some values.
enum At {
    Same(Trace),
    /// Which output differs, and where.
    Apart(Trace, (usize, Differing)),
    Nothing,
}

fn at(sides: &Sides, target: &[VertexId], laws: Laws, values: &Values) -> At {
    let graph = &sides.graph;
    let leaf = |v: VertexId| Value::<Exact>::from_tensor(values.get(&v)?).ok();
    let points: rustc_hash::FxHashMap<VertexId, Value<Exact>> =
        data::leaves(graph).filter_map(|v| Some((v, leaf(v)?))).collect();
    let run = |roots: &[VertexId]| data::over::<Exact>(graph, roots, &|v| points.get(&v).cloned());
    let ((a, b), trace) = under(laws, || (run(&sides.source), run(target)));
    let (Some(a), Some(b)) = (a, b) else { return At::Nothing };
    // Whole numbers and truth values do not show that they were made of what is no real number.
    let reals = |r: &Results<Exact>| {
        r.inner
            .iter()
            .filter_map(|v| v.real().ok())
            .flatten()
            .all(Exact::is_finite)
    };
    let defined = reals(&a) && reals(&b);
    let mut seen = false;
    for (output, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        let apart = match (x, y) {
            (Value::Real(x), Value::Real(y)) if x.shape() == y.shape() => {
                seen |= x.is_empty() || x.iter().any(Exact::is_finite);
                // Where the source is not a real number, nothing is said.
                let differs = |(p, q): (&Exact, &Exact)| p.is_finite() && p != q;
                let place = x.iter().zip(y.iter()).position(differs);
                if place.and_then(|i| y.iter().nth(i)).is_some_and(Exact::is_undefined) {
                    return At::Nothing;
                }
                place.map(|i| shown(x.shape(), i, x.iter().nth(i), y.iter().nth(i)))
            }
            _ if !defined => None,
            _ => {
                seen = true;
                other_elements(sides, output, x, y)
            }
        };
        if let Some(difference) = apart {
            return At::Apart(trace, (output, difference));
        }
    }
    if seen { At::Same(trace) } else { At::Nothing }
}
