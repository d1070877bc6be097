//! Operators that pass elements on: unchanged, converted to another element type, or clamped.

use super::common::{Out, map, same, same_float, set, to_int, typed};
use super::elementwise::{larger, smaller};
use super::{
    AttrDef, AttrKind, AttrValue, CostRule, Default, Eval, Formula, Function, Infer, OpDef, OpError, OpTraits, Operand,
    System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, DTypeClass, Nd, Type, largest_narrow};

const X: Operand = Operand::one("x");
const UNARY: OpTraits = OpTraits::ELEMENTWISE.and(OpTraits::UNARY);
const SATURATE: AttrDef = AttrDef::new(
    "saturate",
    AttrKind::Bool,
    Default::Bool(true),
    "only for conversion to 8-bit floating-point types: whether values out of range become the largest one",
);

const ROUND: AttrDef = AttrDef::new(
    "round_mode",
    AttrKind::OneOf(&["up", "down", "nearest"]),
    Default::Str("up"),
    "only for conversion to powers of two: how to round",
);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("identity", "The operand itself.")
        .operands(&[X])
        .infer(same)
        .reference(reference!(identity))
        .formula(Formula::Function(Function::Same))
        .traits(
            UNARY
                .and(OpTraits::MOVEMENT)
                .and(OpTraits::LINEAR)
                .and(OpTraits::IDEMPOTENT)
                .and(OpTraits::INVOLUTION),
        )
        .cost(CostRule::View)
        .onnx("Identity", 1),
    OpDef::new(
        "cast",
        "Converts elements to another type: floating-point numbers are truncated towards zero, integers wrap.",
    )
    .operands(&[X])
    .attrs(&[
        AttrDef::new(
            "to",
            AttrKind::DType,
            Default::Required,
            "the element type of the result",
        ),
        SATURATE,
        ROUND,
    ])
    .infer(infer_cast)
    .canonical(canonical_cast)
    .reference(reference!(cast))
    .formula(Formula::Function(Function::Conversion))
    .traits(UNARY.and(OpTraits::IDEMPOTENT))
    .onnx("Cast", 6),
    OpDef::new(
        "cast_like",
        "Converts elements to the element type of the second operand.",
    )
    .operands(&[X, Operand::one("target")])
    .attrs(&[SATURATE, ROUND])
    .infer(infer_cast_like)
    .canonical(canonical_cast)
    .reference(reference!(cast))
    .formula(Formula::Function(Function::Conversion))
    .traits(OpTraits::ELEMENTWISE)
    .onnx("CastLike", 15),
    OpDef::new("clip", "Clamps elements to bounds, each of which may be left out.")
        .aliases(&["clamp"])
        .operands(&[X, Operand::attr("min"), Operand::attr("max")])
        .attrs(&[
            AttrDef::new("min", AttrKind::Float, Default::None, "the lower bound"),
            AttrDef::new("max", AttrKind::Float, Default::None, "the upper bound"),
        ])
        .infer(infer_clip)
        .reference(reference!(clip))
        .formula(Formula::Function(Function::Limits))
        .traits(OpTraits::ELEMENTWISE.and(OpTraits::MONOTONE).and(OpTraits::IDEMPOTENT))
        .cost(CostRule::Elementwise(2.0))
        .onnx("Clip", 6),
    OpDef::new("dropout", "The operand itself: elements are dropped only in training.")
        .operands(&[X, Operand::attr("ratio"), Operand::attr("training_mode")])
        .attrs(&[
            AttrDef::new(
                "ratio",
                AttrKind::Float,
                Default::Float(0.5),
                "fraction of elements dropped in training",
            ),
            AttrDef::new("training_mode", AttrKind::Bool, Default::Bool(false), "must be false"),
            AttrDef::new("seed", AttrKind::Int, Default::None, "seed for training"),
        ])
        .infer(infer_dropout)
        .reference(reference!(identity))
        .formula(Formula::Function(Function::Same))
        .traits(OpTraits::LINEAR)
        .cost(CostRule::View)
        .onnx("Dropout", 7),
];

fn identity<S: System>(e: &Eval<'_, S>) -> Out<S> {
    Ok(vec![e.operand(0)?.clone()])
}

fn infer_dropout(call: &Infer<'_>) -> Result<Type, OpError> {
    if call.flag("training_mode") || call.is_dynamic("training_mode") {
        return Err(OpError::new("dropout in training is not supported").attr("training_mode"));
    }
    same_float(call)
}

/// True for the element types that conversions support.
fn convertible(dtype: DType) -> bool {
    dtype.is_number() || matches!(dtype.class(), DTypeClass::Narrow) || matches!(dtype, DType::Bool | DType::Utf8)
}

fn cast_to(call: &Infer<'_>, to: DType) -> Result<Type, OpError> {
    call.expect_dtype(0, convertible, "a number, a boolean or a string")?;
    if !convertible(to) {
        return Err(OpError::new(format!("conversion to {to} is not supported")));
    }
    Ok(typed(to, call.tensor(0)?.shape.clone()))
}

fn infer_cast(call: &Infer<'_>) -> Result<Type, OpError> {
    let to = call
        .dtype("to")
        .ok_or_else(|| OpError::new("`to` must be an element type").attr("to"))?;
    cast_to(call, to)
}

fn infer_cast_like(call: &Infer<'_>) -> Result<Type, OpError> {
    cast_to(call, call.tensor(1)?.dtype)
}

/// Resets the attributes that matter only for conversions to narrow types where the target is another type.
fn canonical_cast(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let to = match call.def.operands.len() {
        1 => call.dtype("to"),
        _ => Some(call.tensor(1)?.dtype),
    };
    if to.is_some_and(|to| largest_narrow(to).is_none()) {
        set(call, attrs, "saturate", AttrValue::Bool(true));
    }
    if to.is_some_and(|to| to != DType::F8E8M0) {
        set(call, attrs, "round_mode", AttrValue::str("up"));
    }
    Ok(())
}

/// The number that a string represents.
fn parsed(text: &str) -> Result<f64, OpError> {
    text.trim()
        .parse()
        .map_err(|_| OpError::new(format!("{text:?} is not a number")))
}

fn cast<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let x = e.operand(0)?;
    let to = e.out_dtype();
    let truth = |x: &bool| i128::from(*x);
    Ok(vec![if to.holds_floats() {
        let real = match x {
            Value::Real(a) => a.clone(),
            Value::Int(a) => map(a, |x| Ok(S::from_int(*x)))?,
            Value::Bool(a) => map(a, |x| Ok(S::from_int(truth(x))))?,
            Value::Text(a) => map(a, |x| Ok(S::from_f64(parsed(x)?)?))?,
            Value::Absent => return Err(OpError::new("an operand is missing")),
        };
        Value::Real(narrowed(e, real)?)
    } else if to.holds_ints() {
        Value::Int(match x {
            Value::Real(a) => map(a, |x| Ok(to.wrap(to_int(x)?)))?,
            Value::Int(a) => map(a, |x| Ok(to.wrap(*x)))?,
            Value::Bool(a) => map(a, |x| Ok(truth(x)))?,
            Value::Text(a) => map(a, |x| match x.trim().parse::<i128>() {
                Ok(n) => Ok(to.wrap(n)),
                Err(_) => Ok(to.wrap(parsed(x)? as i128)),
            })?,
            Value::Absent => return Err(OpError::new("an operand is missing")),
        })
    } else if to == DType::Bool {
        Value::Bool(match x {
            Value::Real(a) => map(a, |x| Ok(x.to_f64()? != 0.0))?,
            Value::Int(a) => map(a, |x| Ok(*x != 0))?,
            Value::Bool(a) => a.clone(),
            Value::Text(a) => map(a, |x| Ok(parsed(x)? != 0.0))?,
            Value::Absent => return Err(OpError::new("an operand is missing")),
        })
    } else {
        let narrow = e.dtype(0) != Some(DType::F64);
        Value::Text(match x {
            Value::Real(a) => map(a, |x| number_text(x.to_f64()?, narrow))?,
            Value::Int(a) => map(a, |x| Ok(x.to_string()))?,
            Value::Bool(a) => map(a, |x| Ok(if *x { "1" } else { "0" }.to_owned()))?,
            Value::Text(a) => a.clone(),
            Value::Absent => return Err(OpError::new("an operand is missing")),
        })
    }])
}

/// Numbers about to be stored in a type of few bits: with `saturate`, those beyond the largest value become it.
fn narrowed<S: System>(e: &Eval<'_, S>, real: Nd<S>) -> Result<Nd<S>, OpError> {
    let to = e.out_dtype();
    let Some(most) = largest_narrow(to) else {
        return Ok(real);
    };
    let (saturate, round) = (e.flag("saturate") || to == DType::F4E2M1, e.text("round_mode"));
    map(&real, |x| {
        let mut x = x.to_f64()?;
        if saturate && !x.is_nan() {
            x = x.clamp(-most, most);
        }
        if to == DType::F8E8M0 && x.is_finite() {
            let (below, rest) = (x.abs().log2().floor(), x.abs() / x.abs().log2().floor().exp2());
            x = match round {
                "up" if rest > 1.0 => (below + 1.0).exp2(),
                "nearest" if rest >= 1.5 => (below + 1.0).exp2(),
                _ => below.exp2(),
            };
        }
        Ok(S::from_f64(x)?)
    })
}

/// The shortest string that reads back as the same number.
fn number_text(x: f64, narrow: bool) -> Result<String, OpError> {
    Ok(match x {
        f64::INFINITY => "INF".into(),
        f64::NEG_INFINITY => "-INF".into(),
        _ if x.is_nan() => "NaN".into(),
        _ if narrow => (x as f32).to_string(),
        _ => x.to_string(),
    })
}

fn infer_clip(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_number, "a number")?;
    let dtype = call.tensor(0)?.dtype;
    for name in ["min", "max"] {
        if let Some(i) = call.attr_operand(name) {
            call.same_dtype(0, i)?;
        }
        // Rounded bounds of integers could cross though the bounds themselves do not: 0.1 to 0.9 becomes 1 to 0.
        let fractional = |bound: &f64| bound.is_nan() || (bound.is_finite() && bound.fract() != 0.0);
        if let Some(bound) = call
            .float(name)
            .filter(|bound| !dtype.holds_floats() && fractional(bound))
        {
            let problem = format!("`{name}` must be an integer for elements of type {dtype}, but is {bound}");
            return Err(OpError::new(problem).attr(name));
        }
        // Every element would become a number that the type does not have.
        if let (Some(bound), Some((least, most))) = (call.float(name), dtype.int_range())
            && (if name == "min" {
                bound > most as f64
            } else {
                bound < least as f64
            })
        {
            let problem = format!("`{name}` is {bound}, but elements of type {dtype} are {least} to {most}");
            return Err(OpError::new(problem).attr(name));
        }
    }
    same(call)
}

/// The bound at operand `i`, else that of the attribute.
fn bound<T: Clone>(given: Option<&Nd<T>>, attr: Option<T>) -> Result<Option<T>, OpError> {
    match given {
        Some(a) if a.len() != 1 => Err(OpError::new("a bound must be one number")),
        Some(a) => Ok(a.first().cloned()),
        None => Ok(attr),
    }
}

fn clip<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let attr = |name: &str| e.float(name);
    Ok(vec![match e.operand(0)? {
        Value::Real(a) => {
            let bound = |i: usize, name: &str| {
                let given = e.optional(i).map(Value::real).transpose()?;
                bound(given, attr(name).map(S::from_f64).transpose()?)
            };
            let (min, max) = (bound(1, "min")?, bound(2, "max")?);
            Value::Real(map(a, |x| {
                let low = min.as_ref().map_or(Ok(x.clone()), |min| larger(x, min))?;
                max.as_ref().map_or(Ok(low.clone()), |max| smaller(&low, max))
            })?)
        }
        Value::Int(a) => {
            let bound = |i: usize, name: &str| {
                let given = e.optional(i).map(Value::int).transpose()?;
                bound(given, attr(name).map(|x| x as i128))
            };
            let (min, max) = (bound(1, "min")?, bound(2, "max")?);
            let dtype = e.out_dtype();
            Value::Int(map(a, |x| {
                Ok(dtype.wrap((*x).max(min.unwrap_or(i128::MIN)).min(max.unwrap_or(i128::MAX))))
            })?)
        }
        _ => return Err(OpError::new("expected numbers")),
    }])
}
