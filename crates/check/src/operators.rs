//! What operators mean: a table of those that treat each place alone, and a little about calls of others.

use num_traits::One;

use crate::functions::{apply, is_in_order, max};
use crate::poly::{Atom, Attributes, Poly, Shape, flat_place};

/// The operators in this table.
pub(crate) const ELEMENTWISE: &str = " sum mean max min where add sub mul div pow and or not equal greater \
    zeros_like ones_like neg abs reciprocal exp log sqrt erf sin cos tan asin acos atan sinh cosh floor ceil round ";

/// Operators whose results are elements of their first operand at other places, and those that keep row-major order.
const MOVES: &str = " transpose slice gather reshape squeeze unsqueeze flatten ";
const FLAT: &str = " reshape squeeze unsqueeze flatten ";

/// Why the checker stops.
#[derive(Debug, Clone)]
pub(crate) enum Stop {
    /// Element types do not fit, so the expression has no value.
    Invalid(String),
    Unknown(String),
    Wrong(String),
}

pub(crate) type Res<T> = Result<T, Stop>;

fn invalid<T>(why: &str) -> Res<T> {
    Err(Stop::Invalid(why.to_owned()))
}

pub(crate) fn unknown<T>(what: impl Into<String>) -> Res<T> {
    Err(Stop::Unknown(what.into()))
}

/// What element types have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Floating-point numbers, which stand for real numbers.
    Float,
    Signed,
    Unsigned,
    Bool,
}

pub(crate) const KINDS: [Kind; 4] = [Kind::Float, Kind::Signed, Kind::Unsigned, Kind::Bool];

impl Kind {
    pub(crate) fn of(dtype: &str) -> Option<Kind> {
        match dtype {
            "f16" | "bf16" | "f32" | "f64" => Some(Kind::Float),
            "i8" | "i16" | "i32" | "i64" => Some(Kind::Signed),
            "u8" | "u16" | "u32" | "u64" => Some(Kind::Unsigned),
            "bool" => Some(Kind::Bool),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) kind: Kind,
    pub(crate) value: Poly,
    /// The value is that of the formula: an integer has not wrapped around.
    pub(crate) exact: bool,
    /// A number in a rule, which has the element type of the operand beside it.
    pub(crate) literal: bool,
    pub(crate) shape: Shape,
}

impl Element {
    pub(crate) fn new(kind: Kind, value: Poly, exact: bool, shape: Shape) -> Element {
        Element { kind, value, exact, literal: false, shape }
    }
    pub(crate) fn literal(value: Poly, kind: Kind) -> Element {
        Element { kind, value, exact: true, literal: true, shape: Shape::new() }
    }
}

/// The kind that all operands have; numbers in a rule have that of the others.
fn common(operands: &[Element]) -> Res<Kind> {
    let own = operands.iter().find(|e| !e.literal).or(operands.first());
    let kind = own.map_or(Kind::Float, |e| e.kind);
    let is_whole = |e: &Element| e.value.as_number().is_some_and(|n| n.is_integer());
    let adapts = |e: &Element| e.literal && e.kind == Kind::Float && is_whole(e) && kind != Kind::Bool;
    let fits = operands.iter().all(|e| e.kind == kind || adapts(e));
    if fits { Ok(kind) } else { invalid("element types differ") }
}

/// An element of the result of an operator in the table.
pub(crate) fn call(name: &str, all: &[Element]) -> Res<Element> {
    let arity = match name {
        "sum" | "mean" | "max" | "min" => all.len().max(1),
        "where" => 3,
        "add" | "sub" | "mul" | "div" | "pow" | "and" | "or" | "equal" | "greater" => 2,
        _ => 1,
    };
    // An exponent may have another element type than the power.
    let same = match name {
        _ if all.len() != arity => return invalid("the number of operands is wrong"),
        "where" => &all[1..],
        "pow" => &all[..1],
        _ => all,
    };
    let kind = common(same)?;
    let v: Vec<Poly> = all.iter().map(|e| e.value.clone()).collect();
    let (float, bool, one) = (kind == Kind::Float, kind == Kind::Bool, Poly::int(1));
    let exact = all.iter().all(|e| e.exact);
    // The order of integers counts only where nothing has wrapped around.
    let ordered = matches!(name, "greater" | "equal") || matches!(name, "max" | "min") && all.len() > 1;
    if ordered && bool && name != "equal" {
        return invalid("an order of booleans");
    } else if ordered && !float && !exact {
        return unknown("an order of integers that may wrap around");
    }
    let sum = || v.iter().fold(Poly::zero(), |sum, x| sum.add(x));
    let above = |i: usize, j: usize| v[i].sub(&v[j]).positive();
    let not = |p: Poly| one.sub(&p);
    let (kind, value, exact) = match name {
        "zeros_like" => (kind, Poly::zero(), true),
        "ones_like" => (kind, one, true),
        "where" if all[0].kind == Kind::Bool => (kind, v[2].add(&v[0].mul(&v[1].sub(&v[2]))), exact),
        "where" => return invalid("a condition that is not a boolean"),
        "greater" => (Kind::Bool, above(0, 1), true),
        "equal" => (Kind::Bool, not(above(0, 1).add(&above(1, 0))), true),
        "and" | "or" | "not" if !bool => return invalid("logic of numbers"),
        "and" => (kind, v[0].mul(&v[1]), true),
        "or" => (kind, sum().sub(&v[0].mul(&v[1])), true),
        "not" => (kind, not(v[0].clone()), true),
        _ if bool => return invalid("arithmetic of booleans"),
        "max" => (kind, v[1..].iter().fold(v[0].clone(), |out, x| max(&out, x)), exact),
        "min" => (kind, v[1..].iter().fold(v[0].clone(), |out, x| max(&out.neg(), &x.neg()).neg()), exact),
        "abs" if kind == Kind::Unsigned => return Ok(all[0].clone()),
        "sum" => (kind, sum(), float || exact && all.len() == 1),
        _ => {
            let value = match name {
                "add" => sum(),
                "sub" => v[0].sub(&v[1]),
                "mul" => v[0].mul(&v[1]),
                "neg" => v[0].neg(),
                "reciprocal" if float => v[0].inverse(),
                "div" if float => v[0].mul(&v[1].inverse()),
                "div" if v[1].as_number().is_some_and(|n| n.is_one()) => v[0].clone(),
                "div" => apply("quotient", v),
                "pow" if float => apply("pow", v),
                "pow" => apply("power of integers", v),
                "abs" if float => max(&v[0], &v[0].neg()),
                "abs" => apply("abs", v),
                _ if !float => return invalid("a function of real numbers, of others"),
                "mean" => sum().mul(&Poly::int(i64::try_from(v.len()).unwrap_or(0)).inverse()),
                _ => apply(name, v),
            };
            (kind, value, float)
        }
    };
    Ok(Element::new(kind, value, exact, all.iter().flat_map(|e| e.shape.iter().cloned()).collect()))
}

/// An element of the result of another operator: equal if the attributes and the operands are.
pub(crate) fn opaque(name: &str, attributes: Attributes, operands: Vec<Element>) -> Res<Element> {
    let of = |attr: &str| attributes.iter().find(|(own, _)| own == attr).map(|(_, value)| value);
    let kind = match (name, of("to").and_then(Poly::as_atom)) {
        ("shape" | "size" | "argmax" | "argmin" | "matmul_integer" | "conv_integer", _) => Some(Kind::Signed),
        ("cast", Some(Atom::Fun(to, _))) => Kind::of(to),
        ("cast", _) => None,
        _ => operands.first().map(|e| e.kind),
    };
    let Some(kind) = kind else { return unknown(format!("the element type that `{name}` returns")) };
    if attributes.iter().any(|(_, value)| value.unknown) || operands.iter().any(|e| e.value.unknown) {
        return unknown(format!("an operand of `{name}` that is too long"));
    }
    // A sum without its axes is the sum with them, and then without.
    if name.starts_with("reduce_") && of("keepdims").is_some_and(Poly::is_zero) {
        let axes = attributes.iter().filter(|(own, _)| own == "axes").cloned().collect();
        let keep = |(own, value): (String, Poly)| if own == "keepdims" { (own, Poly::int(1)) } else { (own, value) };
        return opaque("squeeze", axes, vec![opaque(name, attributes.into_iter().map(keep).collect(), operands)?]);
    }
    match (name, operands.as_slice()) {
        ("concat", all) if common(all).is_err() => return invalid("element types differ"),
        ("cast", [x]) if x.kind == Kind::Bool => return Ok(Element { kind, ..x.clone() }),
        _ if MOVES.contains(&format!(" {name} ")) => return Ok(moved(name, attributes, operands)),
        _ => {}
    }
    let operands: Vec<_> = operands.into_iter().map(|e| (e.value, e.shape)).collect();
    // Of no declared operator, the shape depends on values.
    let shapes = operands.iter().map(|(_, shape)| (Poly::zero(), shape.clone())).collect();
    let shape = one(&Atom::Call(name.to_owned(), attributes.clone(), shapes));
    Ok(Element::new(kind, Poly::atom(Atom::Call(name.to_owned(), attributes, operands)), true, shape))
}

/// An element of the first operand at another place.
fn moved(name: &str, attributes: Attributes, operands: Vec<Element>) -> Element {
    let mut all = operands.iter().map(|e| (e.value.clone(), e.shape.clone())).collect::<Vec<_>>();
    let x = &operands[0];
    all[0].0 = Poly::zero();
    let is_list = |value: &Poly| matches!(value.as_atom(), Some(Atom::Fun(f, _)) if f == "[]" || f == "term for");
    let explicit = attributes.iter().all(|(_, value)| is_list(value));
    let mut place = Atom::Call(name.to_owned(), attributes, all);
    // Axes that are removed where they were inserted, or inserted where they were removed; or put in order again.
    let back = match (&place, x.shape.first().filter(|_| x.shape.len() == 1)) {
        (Atom::Call(_, here, _), Some(Atom::Call(first, own, inside))) => {
            let turned = first == name && name == "transpose" && explicit && is_in_order(&own[0].1, &here[0].1);
            let squeezed = first != name && [first, name].iter().all(|f| f.ends_with("squeeze")) && own == here;
            (turned || squeezed).then(|| inside[0].1.clone())
        }
        _ => None,
    };
    let shape = back.unwrap_or_else(|| one(&place));
    if FLAT.contains(&format!(" {name} ")) {
        place = flat_place(&x.shape, &shape);
    } else if let ("transpose", true, Atom::Call(.., all)) = (name, explicit, &mut place) {
        // The order has as many axes as the operand, so it does not matter how these were broadcast.
        all.clear();
    }
    Element { value: x.value.moved(&place), shape, literal: false, ..x.clone() }
}

fn one(call: &Atom) -> Shape {
    Shape::from([call.clone()])
}
