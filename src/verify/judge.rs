//! Both sides of a rule at one instance: types, then values over number systems.

use std::fmt;

use super::data::{self, Data, Results, Values};
use super::random::Random;
use crate::graph::{Graph, VertexId};
use crate::op::{Field, Value};
use crate::rewrite::Sides;
use crate::rule::{Class, Rule};
use crate::tensor::{DType, Tensor, Type};

/// How far apart, relative to the scale of a result, two real results may lie. Rules have constants that exporters
/// rounded to a few digits.
const TOLERANCE: f64 = 2e-6;

/// Rounding of these constants and in double precision, relative to the largest number on the way to a result.
const ROUNDING: f64 = 3e-7;

/// Points of the field at each instance.
const POINTS: usize = 2;

/// What is wrong at an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An output of the target has another type.
    Types,
    /// The values differ by more than the class allows.
    Values,
    /// The values are equal in the reals, and their bits are not.
    Bits,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Types => "the sides differ in type",
            Fault::Values => "the sides differ in value",
            Fault::Bits => "the sides are equal in the reals, and their bits differ",
        })
    }
}

/// Where the sides differ.
#[derive(Debug, Clone)]
pub(super) struct Apart {
    pub(super) fault: Fault,
    /// Which output.
    pub(super) output: usize,
    /// Which element of it, by axes.
    pub(super) element: Option<Vec<usize>>,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) values: Values,
}

/// What an agreement rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// Both sides are the same polynomials of real numbers.
    Field,
    /// Elements are no real numbers, and are the same on all data.
    Whole,
    /// They are equal up to rounding on all data.
    Data,
}

/// What an instance says.
pub(super) enum Finding {
    /// The sides agree.
    Agree(Ground),
    /// The target has no type here, or another one: no engine applies the rule.
    Refused(String),
    /// Nothing could be computed.
    Unknown,
    /// They do not agree.
    Apart(Box<Apart>),
}

/// Compares the sides of an instance; other types are a fault if `strict`.
pub(super) fn judge(rule: &Rule, sides: &Sides, strict: bool, random: &mut Random) -> Finding {
    let target = match &sides.target {
        Ok(target) => target,
        Err(problems) => {
            let reason = problems.iter().next().map_or_else(String::new, |p| p.message.clone());
            return Finding::Refused(reason);
        }
    };
    if !sides.types_agree() {
        let apart = types(sides, target);
        return if strict {
            Finding::Apart(Box::new(apart))
        } else {
            Finding::Refused(format!("it would be {} instead of {}", apart.target, apart.source))
        };
    }
    let graph = &sides.graph;
    let whole = is_whole(sides);
    // Elements that are no real numbers are the same at every point.
    let all_real = data::leaves(graph).all(|v| graph.ty(v).as_tensor().is_some_and(|t| t.dtype.is_float()));
    let ground = |field| {
        if all_real && field == Some(true) {
            Ground::Field
        } else {
            Ground::Data
        }
    };
    if whole {
        return match in_bits(rule, sides, target, random) {
            Finding::Agree(_) => Finding::Agree(Ground::Whole),
            other => other,
        };
    }
    let field = in_field(sides, target, random);
    let real = in_reals(rule.class, sides, target, random);
    if matches!(real, Finding::Apart(_)) {
        return real;
    }
    let in_bits = if rule.class == Class::Bitwise {
        in_bits(rule, sides, target, random)
    } else {
        Finding::Unknown
    };
    // Where the field alone says that the sides differ, constants are rounded: they are equal but for that.
    match in_bits {
        Finding::Apart(_) => in_bits,
        Finding::Agree(_) => Finding::Agree(ground(field)),
        _ if field == Some(true) || matches!(real, Finding::Agree(_)) => Finding::Agree(ground(field)),
        _ => Finding::Unknown,
    }
}

/// What is wrong where no engine applies the rule.
pub(super) fn untyped(sides: &Sides) -> Apart {
    match &sides.target {
        Ok(target) => types(sides, target),
        Err(problems) => Apart {
            fault: Fault::Types,
            output: 0,
            element: None,
            source: sides.source.first().map_or_else(String::new, |v| sides.graph.ty(*v).to_string()),
            target: problems.iter().next().map_or_else(String::new, |p| format!("nothing: {}", p.message)),
            values: Values::default(),
        },
    }
}

fn types(sides: &Sides, target: &[VertexId]) -> Apart {
    let ty = |v: &VertexId| sides.graph.ty(*v);
    let differs = |(a, b): (&VertexId, &VertexId)| ty(a) != ty(b);
    let output = sides.source.iter().zip(target).position(differs).unwrap_or(0);
    let text = |list: &[VertexId]| list.get(output).map_or_else(String::new, |v| ty(v).to_string());
    Apart {
        fault: Fault::Types,
        output,
        element: None,
        source: text(&sides.source),
        target: text(target),
        values: Values::default(),
    }
}

/// Whether the sides are equal at random points of the field; nothing, if they are not defined there.
fn in_field(sides: &Sides, target: &[VertexId], random: &mut Random) -> Option<bool> {
    let graph = &sides.graph;
    for point in 0..POINTS {
        let kind = if point == 0 { Data::Balanced } else { Data::Ties };
        let values = data::values(graph, kind, random)?;
        let points = data::points(graph, &values, random)?;
        let run = |roots: &[VertexId]| data::over::<Field>(graph, roots, &|v| points.get(&v).cloned());
        let (a, b) = (run(&sides.source)?, run(target)?);
        if a.outputs != b.outputs {
            return Some(false);
        }
    }
    Some(true)
}

/// Compares in double precision.
fn in_reals(class: Class, sides: &Sides, target: &[VertexId], random: &mut Random) -> Finding {
    let graph = &sides.graph;
    let mut computed = false;
    for kind in Data::REAL {
        let Some(values) = data::values(graph, kind, random) else {
            continue;
        };
        match at(class, sides, target, kind, values) {
            Finding::Apart(apart) => return Finding::Apart(apart),
            Finding::Agree(_) => computed = true,
            _ => {}
        }
    }
    if computed {
        Finding::Agree(Ground::Data)
    } else {
        Finding::Unknown
    }
}

/// Compares in double precision on some values.
fn at(class: Class, sides: &Sides, target: &[VertexId], kind: Data, values: Values) -> Finding {
    let graph = &sides.graph;
    let Some(a) = data::double(graph, &sides.source, &values) else {
        return Finding::Unknown;
    };
    let Some(b) = data::double(graph, target, &values) else {
        return lacking(values);
    };
    let magnitude = magnitude(&a).max(magnitude(&b)).max(1e-3);
    // Whole numbers and truth values do not show that they were made of what is no real number, or of what is different
    // but for rounding.
    let defined = kind != Data::Large
        && a.inner
            .iter()
            .filter_map(|v| v.real().ok())
            .all(|x| x.iter().all(|n| n.is_finite()));
    for (output, (x, y)) in a.outputs.iter().zip(&b.outputs).enumerate() {
        if !defined && x.real().is_err() {
            continue;
        }
        let dtype = match graph.ty(sides.source[output]) {
            Type::Tensor(t) => t.dtype,
            _ => DType::F32,
        };
        if let Some((element, x, y)) = differing(class, x, y, dtype, magnitude, kind) {
            return Finding::Apart(Box::new(Apart {
                fault: Fault::Values,
                output,
                element,
                source: x,
                target: y,
                values,
            }));
        }
    }
    Finding::Agree(Ground::Data)
}

fn lacking(values: Values) -> Finding {
    Finding::Apart(Box::new(Apart {
        fault: Fault::Values,
        output: 0,
        element: None,
        source: "a value".to_owned(),
        target: "nothing: it cannot be computed".to_owned(),
        values,
    }))
}

fn magnitude(results: &Results<f64>) -> f64 {
    let values = results.inner.iter().chain(&results.outputs);
    let numbers = values.filter_map(|v| v.real().ok()).flat_map(|a| a.iter().copied());
    numbers
        .filter(|x| x.is_finite())
        .fold(0.0, |most, x| f64::max(most, x.abs()))
}

type Differing = (Option<Vec<usize>>, String, String);

/// The first element that differs.
fn differing(
    class: Class,
    a: &Value<f64>,
    b: &Value<f64>,
    dtype: DType,
    magnitude: f64,
    kind: Data,
) -> Option<Differing> {
    if a.shape() != b.shape() {
        return Some((None, format!("shape {:?}", a.shape()), format!("shape {:?}", b.shape())));
    }
    match (a, b) {
        (Value::Real(x), Value::Real(y)) => {
            let allowed = match class {
                Class::Approx(e) => e.max(TOLERANCE),
                _ => TOLERANCE,
            };
            let numbers = x.iter().chain(y.iter()).filter(|v| v.is_finite());
            let scale = numbers.fold(0.0, |most, v| f64::max(most, v.abs()));
            let bound = allowed * scale + ROUNDING * magnitude;
            let apart = |(p, q): (&f64, &f64)| {
                // Where the source is not a real number, nothing is said; and a target may overflow.
                p.is_finite()
                    && if q.is_finite() {
                        (p - q).abs() > bound
                    } else {
                        kind != Data::Large
                    }
            };
            let at = x.iter().zip(y.iter()).position(apart)?;
            Some(shown(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        (Value::Int(x), Value::Int(y)) => {
            let at = x
                .iter()
                .zip(y.iter())
                .position(|(p, q)| dtype.wrap(*p) != dtype.wrap(*q))?;
            Some(shown(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        (Value::Bool(x), Value::Bool(y)) => {
            let at = x.iter().zip(y.iter()).position(|(p, q)| p != q)?;
            Some(shown(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        (Value::Text(x), Value::Text(y)) => {
            let at = x.iter().zip(y.iter()).position(|(p, q)| p != q)?;
            Some(shown(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        _ => Some((None, "one kind of value".to_owned(), "another".to_owned())),
    }
}

fn shown<T: fmt::Debug>(shape: &[usize], at: usize, a: Option<&T>, b: Option<&T>) -> Differing {
    let text = |v: Option<&T>| v.map_or_else(String::new, |v| format!("{v:?}"));
    (Some(index(shape, at)), text(a), text(b))
}

/// The axes' places of an element.
fn index(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (place, extent) in out.iter_mut().zip(shape).rev() {
        (*place, at) = (at % extent.max(&1), at / extent.max(&1));
    }
    out
}

/// The same fault on other values, if it is one there too.
pub(super) fn again(rule: &Rule, sides: &Sides, fault: Fault, values: Values) -> Option<Box<Apart>> {
    let target = sides.target.as_ref().ok()?;
    let found = match fault {
        Fault::Types => return None,
        Fault::Values => match at(rule.class, sides, target, Data::Balanced, values.clone()) {
            Finding::Apart(apart) => Finding::Apart(apart),
            _ if is_whole(sides) => bits_at(sides, target, values, fault),
            other => other,
        },
        Fault::Bits => bits_at(sides, target, values, fault),
    };
    match found {
        Finding::Apart(apart) => Some(apart),
        _ => None,
    }
}

/// True if no leaf has real elements.
fn is_whole(sides: &Sides) -> bool {
    let graph = &sides.graph;
    !data::leaves(graph).any(|v| graph.ty(v).as_tensor().is_some_and(|t| t.dtype.is_float()))
}

/// True if the bits of both sides are the same on all data; nothing, if they are whole numbers or cannot be computed.
pub(super) fn same_bits(rule: &Rule, sides: &Sides, random: &mut Random) -> Option<bool> {
    let target = sides.target.as_ref().ok()?;
    if is_whole(sides) {
        return None;
    }
    match in_bits(rule, sides, target, random) {
        Finding::Agree(_) => Some(true),
        Finding::Apart(_) => Some(false),
        _ => None,
    }
}

/// Compares bits, what is no number aside.
fn in_bits(rule: &Rule, sides: &Sides, target: &[VertexId], random: &mut Random) -> Finding {
    let graph = &sides.graph;
    let whole = is_whole(sides);
    let mut computed = false;
    for kind in Data::BITS {
        // What a rule assumes of its values, it assumes of special ones.
        if kind == Data::Special && !rule.assuming.is_empty() {
            continue;
        }
        let Some(values) = data::values(graph, kind, random) else {
            continue;
        };
        let fault = if whole { Fault::Values } else { Fault::Bits };
        match bits_at(sides, target, values, fault) {
            Finding::Apart(apart) => return Finding::Apart(apart),
            Finding::Agree(_) => computed = true,
            _ => {}
        }
    }
    if computed {
        Finding::Agree(Ground::Data)
    } else {
        Finding::Unknown
    }
}

/// Compares bits on some values.
fn bits_at(sides: &Sides, target: &[VertexId], values: Values, fault: Fault) -> Finding {
    let graph = &sides.graph;
    let Some(a) = data::typed(graph, &sides.source, &values) else {
        return Finding::Unknown;
    };
    let Some(b) = data::typed(graph, target, &values) else {
        return lacking(values);
    };
    for (output, (x, y)) in a.iter().zip(&b).enumerate() {
        if let Some((element, p, q)) = other_bits(x, y) {
            return Finding::Apart(Box::new(Apart {
                fault,
                output,
                element,
                source: p,
                target: q,
                values,
            }));
        }
    }
    Finding::Agree(Ground::Data)
}

/// The first element with other bits.
fn other_bits(a: &Tensor, b: &Tensor) -> Option<Differing> {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return Some((None, a.ty().to_string(), b.ty().to_string()));
    }
    if let (true, Some(x), Some(y)) = (a.dtype().is_float(), a.to_f64s(), b.to_f64s()) {
        let same = |(p, q): (&f64, &f64)| p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan();
        let at = x.iter().zip(&y).position(|pair| !same(pair))?;
        return Some(shown(a.shape(), at, x.get(at), y.get(at)));
    }
    match (a.to_ints(), b.to_ints()) {
        (Some(x), Some(y)) => {
            let at = x.iter().zip(&y).position(|(p, q)| p != q)?;
            Some(shown(a.shape(), at, x.get(at), y.get(at)))
        }
        _ => (!a.same_bits(b)).then(|| (None, "a tensor".to_owned(), "another".to_owned())),
    }
}

/// The graph of one side, as a program of its own.
pub(super) fn side(graph: &Graph, roots: &[VertexId]) -> Graph {
    let mut graph = graph.clone();
    graph.clear_outputs();
    for &root in roots {
        graph.output(root, None);
    }
    graph.retain_reachable();
    graph
}
