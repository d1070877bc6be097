//! What operators mean: the checker's own table.

use std::collections::BTreeMap;

use num_traits::One;

use crate::functions::{apply, choose, magnitude, max, min, real};
use crate::poly::Poly;

/// Why the checker stops.
#[derive(Debug, Clone)]
pub(crate) enum Stop {
    /// Element types do not fit, so the expression has no value.
    Invalid(String),
    /// Something that the checker does not know.
    Unknown(String),
    /// The sides differ, or may.
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
    /// The kind of an element type.
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

/// An element of a tensor.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) kind: Kind,
    pub(crate) value: Poly,
    /// The value is that of the formula: an integer has not wrapped around.
    pub(crate) exact: bool,
    /// A number in a rule, which has the element type of the operand beside it.
    pub(crate) literal: bool,
}

impl Element {
    pub(crate) fn new(kind: Kind, value: Poly, exact: bool, literal: bool) -> Element {
        Element {
            kind,
            value,
            exact,
            literal,
        }
    }
}

/// The kind that all operands have; numbers in a rule have that of the others.
fn common(operands: &[Element]) -> Res<Kind> {
    let own = operands.iter().find(|e| !e.literal).or(operands.first());
    let kind = own.map_or(Kind::Float, |e| e.kind);
    let fits = |e: &Element| match (e.literal, kind) {
        (false, _) => e.kind == kind,
        (true, Kind::Float | Kind::Bool) => e.kind == kind,
        (true, _) => e.kind == Kind::Float && e.value.as_number().is_some_and(|n| n.is_integer()),
    };
    if operands.iter().all(fits) {
        Ok(kind)
    } else {
        invalid("element types differ")
    }
}

/// An element of the result of an operator that treats each place alone.
pub(crate) fn call(name: &str, all: &[Element], attrs: &BTreeMap<String, Poly>) -> Res<Element> {
    let arity = match name {
        "sum" | "mean" | "max" | "min" => all.len().max(1),
        "where" => 3,
        "add" | "sub" | "mul" | "div" | "pow" | "and" | "or" | "xor" | "equal" | "greater" | "less"
        | "greater_or_equal" | "less_or_equal" => 2,
        _ if all.len() == 1 => 1,
        _ => return unknown(format!("the operator `{name}`")),
    };
    if all.len() != arity {
        return invalid("the number of operands is wrong");
    }
    // An exponent may have another element type than the power.
    let same = match name {
        "where" => &all[1..],
        "pow" => &all[..1],
        _ => all,
    };
    let kind = common(same)?;
    let v: Vec<Poly> = all.iter().map(|e| e.value.clone()).collect();
    let (float, bool) = (kind == Kind::Float, kind == Kind::Bool);
    let used: &[&str] = match name {
        "clip" => &["min", "max"],
        "hard_sigmoid" => &["alpha", "beta"],
        "leaky_relu" | "elu" | "swish" | "com.microsoft::QuickGelu" => &["alpha"],
        _ => &[],
    };
    if attrs.keys().any(|own| !used.contains(&own.as_str())) || name != "clip" && attrs.len() < used.len() {
        return unknown(format!("other attributes of `{name}`"));
    }
    let given = |attr: &str| attrs.get(attr).cloned().unwrap_or_else(Poly::unknown);
    let made = |kind: Kind, value: Poly, exact: bool| Ok(Element::new(kind, value, exact, false));
    let one = Poly::int(1);
    let all_exact = all.iter().all(|e| e.exact);
    // The order of integers counts only where nothing has wrapped around.
    let compares = matches!(
        name,
        "greater" | "less" | "greater_or_equal" | "less_or_equal" | "equal"
    );
    let ordered = compares || matches!(name, "relu" | "clip") || matches!(name, "max" | "min") && all.len() > 1;
    match (ordered, bool && name != "equal") {
        (true, true) => return invalid("an order of booleans"),
        (true, false) if !float && !all_exact => return unknown("an order of integers that may wrap around"),
        _ => {}
    }
    match name {
        "identity" => return Ok(all[0].clone()),
        "zeros_like" => return made(kind, Poly::zero(), true),
        "ones_like" => return made(kind, one, true),
        "where" if all[0].kind == Kind::Bool => return made(kind, choose(&v[0], &v[1], &v[2]), all_exact),
        "where" => return invalid("a condition that is not a boolean"),
        "greater" => return made(Kind::Bool, v[0].sub(&v[1]).positive(), true),
        "less" => return made(Kind::Bool, v[1].sub(&v[0]).positive(), true),
        "greater_or_equal" => return made(Kind::Bool, one.sub(&v[1].sub(&v[0]).positive()), true),
        "less_or_equal" => return made(Kind::Bool, one.sub(&v[0].sub(&v[1]).positive()), true),
        "equal" => {
            let differ = v[0].sub(&v[1]).positive().add(&v[1].sub(&v[0]).positive());
            return made(Kind::Bool, one.sub(&differ), true);
        }
        "and" | "or" | "xor" | "not" if !bool => return invalid("logic of numbers"),
        "and" => return made(kind, v[0].mul(&v[1]), true),
        "or" => return made(kind, v[0].add(&v[1]).sub(&v[0].mul(&v[1])), true),
        "xor" => return made(kind, v[0].add(&v[1]).sub(&v[0].mul(&v[1])).sub(&v[0].mul(&v[1])), true),
        "not" => return made(kind, one.sub(&v[0]), true),
        _ if bool => return invalid("arithmetic of booleans"),
        _ => {}
    }
    let sum = v.iter().fold(Poly::zero(), |sum, x| sum.add(x));
    let value = match name {
        "add" | "sum" => sum,
        "sub" => v[0].sub(&v[1]),
        "mul" => v[0].mul(&v[1]),
        "neg" => v[0].neg(),
        "div" if float => v[0].mul(&v[1].inverse()),
        "div" if v[1].as_number().is_some_and(|n| n.is_one()) => v[0].clone(),
        "div" => apply("quotient", v),
        "pow" if float => apply("pow", v),
        "pow" => apply("power of integers", v),
        "max" | "min" => {
            let f = if name == "max" { max } else { min };
            return made(kind, v[1..].iter().fold(v[0].clone(), |out, x| f(&out, x)), all_exact);
        }
        "relu" => return made(kind, max(&v[0], &Poly::zero()), true),
        "clip" => {
            let mut out = v[0].clone();
            for (bound, f) in [
                (attrs.get("min"), max as fn(&Poly, &Poly) -> Poly),
                (attrs.get("max"), min),
            ] {
                let Some(bound) = bound else { continue };
                if !float && !bound.as_number().is_some_and(|n| n.is_integer()) {
                    return unknown("a bound of integers that is no whole number");
                }
                out = f(&out, bound);
            }
            return made(kind, out, true);
        }
        "abs" if float => magnitude(&v[0]),
        "abs" if kind == Kind::Signed => apply("abs", v),
        "abs" => return Ok(all[0].clone()),
        _ if !float => return invalid("a function of real numbers, of others"),
        "mean" => sum.mul(&Poly::int(i64::try_from(v.len()).unwrap_or(0)).inverse()),
        "leaky_relu" => choose(&v[0].positive(), &v[0], &v[0].mul(&given("alpha"))),
        "elu" => {
            let below = apply("exp", v.clone()).sub(&one).mul(&given("alpha"));
            choose(&v[0].positive(), &v[0], &below)
        }
        "hard_sigmoid" => {
            let inner = v[0].mul(&given("alpha")).add(&given("beta"));
            max(&Poly::zero(), &min(&one, &inner))
        }
        "swish" | "com.microsoft::QuickGelu" => {
            let gate = real("sigmoid", &v[0].mul(&given("alpha")));
            v[0].mul(&gate.unwrap_or_else(Poly::unknown))
        }
        _ => real(name, &v[0]).ok_or_else(|| Stop::Unknown(format!("the operator `{name}`")))?,
    };
    made(kind, value, float || all_exact && all.len() == 1 && name == "sum")
}
