//! Comparison of both sides of a rule at one instance: types, then values over number systems.

use std::fmt;

use super::bounds::{Measured, at, in_reals};
use super::data::{self, Data, Values};
use super::numbers::{Assumed, Exactly, exactly};
use super::random::Random;
use tautomer_graph::{Graph, VertexId};
use tautomer_op::{Laws, Value};
use tautomer_rewrite::Sides;
use tautomer_rule::{Class, Rule};
use tautomer_tensor::{DType, Tensor, Type};

/// The kind of error at an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An output of the target has a different type.
    Types,
    /// The values differ by more than the class allows.
    Values,
    /// The values are equal over the reals, but their bits differ.
    Bits,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Types => "the sides differ in type",
            Fault::Values => "the sides differ in value",
            Fault::Bits => "the sides are equal over the reals, but their bits differ",
        })
    }
}

/// Where the sides differ.
#[derive(Debug, Clone)]
pub(super) struct Apart {
    pub(super) fault: Fault,
    /// The index of the output.
    pub(super) output: usize,
    /// The multi-index of the element.
    pub(super) element: Option<Vec<usize>>,
    pub(super) source: String,
    pub(super) target: String,
    pub(super) values: Values,
}

/// The evidence for an agreement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// Both sides are the same polynomials over real numbers and functions that obey the laws; `error` is `n` if the
    /// probability that they are not is below `2^-n`, where that is known.
    Field { error: Option<u32>, laws: Laws },
    /// They are equal at exact numbers, assuming the laws.
    Exact(Laws),
    /// No input has real elements, and the results are equal on all data.
    Whole,
    /// They are equal up to rounding on all data.
    Data,
}

impl Ground {
    /// The number system that decided, in one word.
    pub(super) const fn system(self) -> &'static str {
        match self {
            Ground::Field { .. } => "field",
            Ground::Exact(_) => "exact",
            Ground::Whole => "bits",
            Ground::Data => "f64",
        }
    }
}

/// What comparisons assume, and what they have measured so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    /// A difference in type is a fault.
    pub(super) strict: bool,
    /// Laws of functions.
    pub(super) assumed: Assumed,
    /// Measurements of comparisons with bounds so far.
    pub(super) measured: Measured,
    /// Instances that were compared before.
    pub(super) turn: usize,
}

impl Terms {
    /// The initial terms.
    pub(super) fn new(strict: bool, laws: Laws) -> Terms {
        Terms {
            strict,
            assumed: Assumed::new(laws),
            measured: Measured::default(),
            turn: 0,
        }
    }
}

/// The result of comparing the sides at an instance.
pub(super) enum Finding {
    /// The sides agree.
    Agree(Ground),
    /// The target has no type here or a different one, so no engine applies the rule; and why.
    Refused(String),
    /// Nothing could be computed.
    Unknown,
    /// The sides differ.
    Apart(Box<Apart>),
}

impl Finding {
    /// The combined finding for several kinds of data; the first difference ends the comparison.
    pub(super) fn of_kinds(kinds: impl Iterator<Item = Finding>) -> Finding {
        let mut computed = false;
        for finding in kinds {
            match finding {
                Finding::Apart(_) => return finding,
                Finding::Agree(_) => computed = true,
                Finding::Refused(_) | Finding::Unknown => {}
            }
        }
        match computed {
            true => Finding::Agree(Ground::Data),
            false => Finding::Unknown,
        }
    }
}

/// Compares the sides of an instance under all laws; a difference in type is a fault if `strict`.
pub(super) fn judge(rule: &Rule, sides: &Sides, strict: bool, random: &mut Random) -> Finding {
    examine(rule, sides, &mut Terms::new(strict, Laws::ALL), random)
}

/// Compares the sides of an instance.
pub(super) fn examine(rule: &Rule, sides: &Sides, terms: &mut Terms, random: &mut Random) -> Finding {
    if let Some(parts) = in_parts(sides) {
        return examine(rule, &parts, terms, random);
    }
    let target = match &sides.target {
        Ok(target) => target,
        Err(problems) => {
            let reason = problems.iter().next().map_or_else(String::new, |p| p.message.clone());
            return Finding::Refused(reason);
        }
    };
    if !sides.types_agree() {
        let apart = types(sides, target);
        return if terms.strict {
            Finding::Apart(Box::new(apart))
        } else {
            Finding::Refused(format!(
                "the target has type {} instead of {}",
                apart.target, apart.source
            ))
        };
    }
    let turn = terms.turn;
    terms.turn += 1;
    if is_whole(sides) {
        return match in_bits(rule, sides, target, turn, random) {
            Finding::Agree(_) => Finding::Agree(Ground::Whole),
            other => other,
        };
    }
    let exact = exactly(rule.class, sides, target, &mut terms.assumed, turn, random);
    let real = in_reals(rule.class, sides, target, &mut terms.measured, turn, random);
    if matches!(real, Finding::Apart(_)) {
        return real;
    }
    let ground = match exact {
        Exactly::Apart(apart) => return Finding::Apart(apart),
        Exactly::Same(ground) => Some(ground),
        // A difference in the fields alone comes from rounded constants: in double precision the sides are equal.
        Exactly::Unknown => matches!(real, Finding::Agree(_)).then_some(Ground::Data),
    };
    if rule.class == Class::Bitwise {
        match in_bits(rule, sides, target, turn, random) {
            Finding::Apart(apart) => return Finding::Apart(apart),
            Finding::Agree(_) => return Finding::Agree(ground.unwrap_or(Ground::Data)),
            _ => {}
        }
    }
    ground.map_or(Finding::Unknown, Finding::Agree)
}

/// The sides with each element of a tuple output as an output of its own, if any output is a tuple.
fn in_parts(sides: &Sides) -> Option<Sides> {
    let target = sides.target.as_ref().ok()?;
    let count = |v: VertexId| match sides.graph.ty(v) {
        Type::Tuple(items) => Some(items.len()),
        _ => None,
    };
    if sides.source.iter().all(|v| count(*v).is_none()) || !sides.types_agree() {
        return None;
    }
    let mut graph = sides.graph.clone();
    let (mut source, mut parts) = (Vec::new(), Vec::new());
    for (&a, &b) in sides.source.iter().zip(target) {
        for i in 0..count(a).unwrap_or(0) {
            source.push(graph.project(a, i).ok()?);
            parts.push(graph.project(b, i).ok()?);
        }
        if count(a).is_none() {
            source.push(a);
            parts.push(b);
        }
    }
    Some(Sides {
        graph,
        source,
        inputs: sides.inputs.clone(),
        bound: sides.bound.clone(),
        target: Ok(parts),
    })
}

/// The difference in type at an instance where no engine applies the rule.
pub(super) fn untyped(sides: &Sides) -> Apart {
    match &sides.target {
        Ok(target) => types(sides, target),
        Err(problems) => Apart {
            fault: Fault::Types,
            output: 0,
            element: None,
            source: sides
                .source
                .first()
                .map_or_else(String::new, |v| sides.graph.ty(*v).to_string()),
            target: problems
                .iter()
                .next()
                .map_or_else(String::new, |p| format!("nothing: {}", p.message)),
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

/// The finding for a target that has no value.
pub(super) fn lacking(values: Values) -> Finding {
    Finding::Apart(Box::new(Apart {
        fault: Fault::Values,
        output: 0,
        element: None,
        source: "a value".to_owned(),
        target: "nothing: it cannot be computed".to_owned(),
        values,
    }))
}

/// The index of the element that differs, and the values of both sides there.
pub(super) type Differing = (Option<Vec<usize>>, String, String);

/// The first element that differs, in values that are not real.
pub(super) fn other_elements<S: std::fmt::Debug>(
    sides: &Sides,
    output: usize,
    a: &Value<S>,
    b: &Value<S>,
) -> Option<Differing> {
    let dtype = match sides.source.get(output).map(|v| sides.graph.ty(*v)) {
        Some(Type::Tensor(t)) => t.dtype,
        _ => DType::F32,
    };
    other_whole(dtype, a, b)
}

/// The first element that differs, in values of that element type, which is not real.
pub(super) fn other_whole<S: std::fmt::Debug>(dtype: DType, a: &Value<S>, b: &Value<S>) -> Option<Differing> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) if x.shape() == y.shape() => {
            let differs = |(p, q): (&i128, &i128)| dtype.wrap(*p) != dtype.wrap(*q);
            let at = x.iter().zip(y.iter()).position(differs)?;
            Some(shown(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        (Value::Bool(x), Value::Bool(y)) if x.shape() == y.shape() => {
            let at = x.iter().zip(y.iter()).position(|(p, q)| p != q)?;
            Some(shown(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        (Value::Text(x), Value::Text(y)) if x.shape() == y.shape() => {
            let at = x.iter().zip(y.iter()).position(|(p, q)| p != q)?;
            Some(shown(x.shape(), at, x.iter().nth(at), y.iter().nth(at)))
        }
        _ => Some((
            None,
            "a value".to_owned(),
            "one of a different kind or shape".to_owned(),
        )),
    }
}

/// An element as its number system prints it.
struct Written<'a, T>(&'a T);

impl<T: fmt::Debug> fmt::Display for Written<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// A shape as types print it.
pub(super) fn extents(shape: &[usize]) -> String {
    let all: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", all.join(", "))
}

/// An element that differs, formatted.
pub(super) fn shown<T: fmt::Debug>(shape: &[usize], at: usize, a: Option<&T>, b: Option<&T>) -> Differing {
    let text = |v: Option<&T>| v.map_or_else(String::new, |v| Written(v).to_string());
    (Some(index(shape, at)), text(a), text(b))
}

/// The multi-index of an element at a row-major position.
fn index(shape: &[usize], mut at: usize) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (place, extent) in out.iter_mut().zip(shape).rev() {
        (*place, at) = (at % extent.max(&1), at / extent.max(&1));
    }
    out
}

/// The same fault at other values, if it occurs there too.
pub(super) fn again(rule: &Rule, sides: &Sides, fault: Fault, values: Values) -> Option<Box<Apart>> {
    let target = sides.target.as_ref().ok()?;
    let found = match fault {
        Fault::Types => return None,
        Fault::Values => match at(
            rule.class,
            sides,
            target,
            Data::Balanced,
            values.clone(),
            &mut Measured::default(),
        ) {
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
pub(super) fn is_whole(sides: &Sides) -> bool {
    let graph = &sides.graph;
    !data::leaves(graph).any(|v| graph.ty(v).as_tensor().is_some_and(|t| t.dtype.is_float()))
}

/// Whether the bits of both sides are equal on all data; `None` if no input is real or nothing can be computed.
pub(super) fn same_bits(rule: &Rule, sides: &Sides, turn: usize, random: &mut Random) -> Option<bool> {
    let target = sides.target.as_ref().ok()?;
    if is_whole(sides) {
        return None;
    }
    match in_bits(rule, sides, target, turn, random) {
        Finding::Agree(_) => Some(true),
        Finding::Apart(_) => Some(false),
        _ => None,
    }
}

/// Compares bits; all NaNs count as equal.
fn in_bits(rule: &Rule, sides: &Sides, target: &[VertexId], turn: usize, random: &mut Random) -> Finding {
    let graph = &sides.graph;
    let fault = if is_whole(sides) { Fault::Values } else { Fault::Bits };
    Finding::of_kinds(Data::for_instance(&Data::WHOLE, turn).filter_map(|kind| {
        // The special values may violate what the rule assumes about its values.
        if kind == Data::Special && !rule.assuming.is_empty() {
            return None;
        }
        let values = data::values(graph, kind, random)?;
        Some(bits_at(sides, target, values, fault))
    }))
}

/// Compares bits at the given values.
pub(super) fn bits_at(sides: &Sides, target: &[VertexId], values: Values, fault: Fault) -> Finding {
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

/// The first element whose bits differ.
pub(super) fn other_bits(a: &Tensor, b: &Tensor) -> Option<Differing> {
    if a.dtype() != b.dtype() || a.shape() != b.shape() {
        return Some((None, a.ty().to_string(), b.ty().to_string()));
    }
    if let (true, Some(x), Some(y)) = (a.dtype().is_float(), a.to_f64s(), b.to_f64s()) {
        let same = |(p, q): (&f64, &f64)| p.to_bits() == q.to_bits() || p.is_nan() && q.is_nan();
        let at = x.iter().zip(&y).position(|pair| !same(pair))?;
        let text = |v: &[f64]| v.get(at).map_or_else(String::new, |v| with_bits(a.dtype(), *v));
        return Some((Some(index(a.shape(), at)), text(&x), text(&y)));
    }
    match (a.to_ints(), b.to_ints()) {
        (Some(x), Some(y)) => {
            let at = x.iter().zip(&y).position(|(p, q)| p != q)?;
            Some(shown(a.shape(), at, x.get(at), y.get(at)))
        }
        _ => (!a.same_bits(b)).then(|| (None, "a tensor".to_owned(), "a different tensor".to_owned())),
    }
}

/// A number, and its bits in that element type.
fn with_bits(dtype: DType, value: f64) -> String {
    match dtype {
        DType::F16 => format!("{} (0x{:04x})", Written(&value), half::f16::from_f64(value).to_bits()),
        DType::BF16 => format!("{} (0x{:04x})", Written(&value), half::bf16::from_f64(value).to_bits()),
        DType::F32 => format!("{} (0x{:08x})", Written(&value), (value as f32).to_bits()),
        _ => format!("{} (0x{:016x})", Written(&value), value.to_bits()),
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
