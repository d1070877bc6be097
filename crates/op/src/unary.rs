//! Functions of one number, applied elementwise.

use std::cmp::Ordering;

use super::common::{Out, map, same_float, typed};
use super::reduce::magnitude;
use super::{
    AttrDef, AttrKind, CostRule, Default, Eval, Formula, Func, Function, Infer, OpDef, OpError, OpTraits, Operand,
    Reference, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Type};

const X: &[Operand] = &[Operand::one("x")];
const UNARY: OpTraits = OpTraits::ELEMENTWISE.and(OpTraits::UNARY);
const MONOTONE: OpTraits = UNARY.and(OpTraits::MONOTONE);
const ROUNDING: OpTraits = MONOTONE.and(OpTraits::IDEMPOTENT);

/// A function of floating-point numbers.
const fn float(
    name: &'static str,
    doc: &'static str,
    (onnx, since): (&'static str, u32),
    reference: Reference,
    (traits, cost): (OpTraits, f64),
) -> OpDef {
    OpDef::new(name, doc)
        .operands(X)
        .infer(same_float)
        .reference(reference)
        .traits(traits)
        .cost(CostRule::Elementwise(cost))
        .onnx(onnx, since)
}

macro_rules! function {
    ($func:ident) => {{
        fn apply<S: System>(e: &Eval<'_, S>) -> Out<S> {
            real(e, &|x| Ok(S::func(Func::$func, x, None)?))
        }
        reference!(apply)
    }};
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("neg", "`-x`.")
        .aliases(&["negative"])
        .operands(X)
        .infer(infer_number)
        .reference(reference!(neg))
        .formula(Formula::Function(Function::Negation))
        .traits(UNARY.and(OpTraits::INVOLUTION).and(OpTraits::LINEAR))
        .onnx("Neg", 6),
    OpDef::new("abs", "The absolute value.")
        .operands(X)
        .infer(infer_number)
        .reference(reference!(abs))
        .traits(UNARY.and(OpTraits::IDEMPOTENT))
        .onnx("Abs", 6),
    OpDef::new("sign", "-1, 0 or 1; NaN for NaN.")
        .operands(X)
        .infer(infer_number)
        .reference(reference!(sign))
        .traits(MONOTONE.and(OpTraits::IDEMPOTENT))
        .onnx("Sign", 9),
    float(
        "reciprocal",
        "`1 / x`.",
        ("Reciprocal", 6),
        reference!(reciprocal),
        (UNARY, 4.0),
    )
    .formula(Formula::Function(Function::Inverse)),
    float(
        "exp",
        "e to the power of `x`.",
        ("Exp", 6),
        function!(Exp),
        (MONOTONE, 10.0),
    ),
    float(
        "log",
        "The natural logarithm.",
        ("Log", 6),
        function!(Log),
        (MONOTONE, 10.0),
    ),
    float(
        "sqrt",
        "The square root.",
        ("Sqrt", 6),
        function!(Sqrt),
        (MONOTONE, 4.0),
    ),
    float("sin", "The sine.", ("Sin", 7), function!(Sin), (UNARY, 15.0)),
    float("cos", "The cosine.", ("Cos", 7), function!(Cos), (UNARY, 15.0)),
    float("tan", "The tangent.", ("Tan", 7), function!(Tan), (UNARY, 20.0)),
    float(
        "asin",
        "The inverse sine.",
        ("Asin", 7),
        function!(Asin),
        (MONOTONE, 20.0),
    ),
    float(
        "acos",
        "The inverse cosine.",
        ("Acos", 7),
        function!(Acos),
        (UNARY, 20.0),
    ),
    float(
        "atan",
        "The inverse tangent.",
        ("Atan", 7),
        function!(Atan),
        (MONOTONE, 20.0),
    ),
    float(
        "sinh",
        "The hyperbolic sine.",
        ("Sinh", 9),
        function!(Sinh),
        (MONOTONE, 20.0),
    ),
    float(
        "cosh",
        "The hyperbolic cosine.",
        ("Cosh", 9),
        function!(Cosh),
        (UNARY, 20.0),
    ),
    float(
        "tanh",
        "The hyperbolic tangent.",
        ("Tanh", 6),
        function!(Tanh),
        (MONOTONE, 15.0),
    ),
    float(
        "asinh",
        "The inverse hyperbolic sine.",
        ("Asinh", 9),
        function!(Asinh),
        (MONOTONE, 20.0),
    ),
    float(
        "acosh",
        "The inverse hyperbolic cosine.",
        ("Acosh", 9),
        function!(Acosh),
        (MONOTONE, 20.0),
    ),
    float(
        "atanh",
        "The inverse hyperbolic tangent.",
        ("Atanh", 9),
        function!(Atanh),
        (MONOTONE, 20.0),
    ),
    float(
        "erf",
        "The error function.",
        ("Erf", 9),
        function!(Erf),
        (MONOTONE, 15.0),
    ),
    float(
        "floor",
        "The largest integer not greater than `x`.",
        ("Floor", 6),
        function!(Floor),
        (ROUNDING, 1.0),
    ),
    float(
        "ceil",
        "The smallest integer not less than `x`.",
        ("Ceil", 6),
        function!(Ceil),
        (ROUNDING, 1.0),
    ),
    float(
        "round",
        "The nearest integer; ties go to the even one.",
        ("Round", 11),
        function!(Round),
        (ROUNDING, 1.0),
    ),
    float(
        "relu",
        "`x` where it is positive, else 0.",
        ("Relu", 6),
        reference!(relu),
        (ROUNDING, 1.0),
    )
    .infer(infer_number),
    OpDef::new("not", "True where `x` is false.")
        .aliases(&["logical_not"])
        .operands(X)
        .infer(infer_not)
        .reference(reference!(not))
        .traits(UNARY.and(OpTraits::INVOLUTION))
        .onnx("Not", 1),
    OpDef::new("bitwise_not", "The bits of `x` inverted.")
        .operands(X)
        .infer(infer_bits)
        .reference(reference!(bitwise_not))
        .traits(UNARY.and(OpTraits::INVOLUTION))
        .onnx("BitwiseNot", 18),
    OpDef::new("is_nan", "True where `x` is NaN.")
        .aliases(&["isnan"])
        .operands(X)
        .infer(infer_predicate)
        .reference(reference!(is_nan))
        .traits(UNARY)
        .onnx("IsNaN", 9),
    OpDef::new("is_inf", "True where `x` is infinite.")
        .aliases(&["isinf"])
        .operands(X)
        .attrs(&[
            AttrDef::new(
                "detect_negative",
                AttrKind::Bool,
                Default::Bool(true),
                "whether negative infinity counts",
            ),
            AttrDef::new(
                "detect_positive",
                AttrKind::Bool,
                Default::Bool(true),
                "whether positive infinity counts",
            ),
        ])
        .infer(infer_predicate)
        .reference(reference!(is_inf))
        .traits(UNARY)
        .onnx("IsInf", 10),
];

fn infer_number(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_number, "a number")?;
    Ok(call.tensor(0)?.clone().into())
}

fn infer_not(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d == DType::Bool, "a boolean")?;
    Ok(call.tensor(0)?.clone().into())
}

fn infer_bits(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_int, "an integer")?;
    Ok(call.tensor(0)?.clone().into())
}

fn infer_predicate(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    Ok(typed(DType::Bool, call.tensor(0)?.shape.clone()))
}

/// `f` of every number.
fn real<S: System>(e: &Eval<'_, S>, f: &dyn Fn(&S) -> Result<S, OpError>) -> Out<S> {
    Ok(vec![Value::Real(map(e.operand(0)?.real()?, f)?)])
}

/// A function over numbers and integers.
fn number<S: System>(
    e: &Eval<'_, S>,
    on_real: &dyn Fn(&S) -> Result<S, OpError>,
    on_int: &dyn Fn(i128) -> i128,
) -> Out<S> {
    let dtype = e.out_dtype();
    Ok(vec![match e.operand(0)? {
        Value::Real(a) => Value::Real(map(a, on_real)?),
        Value::Int(a) => Value::Int(map(a, |x| Ok(dtype.wrap(on_int(*x))))?),
        _ => return Err(OpError::new("expected numbers")),
    }])
}

fn neg<S: System>(e: &Eval<'_, S>) -> Out<S> {
    number(e, &|x| Ok(x.neg()), &i128::wrapping_neg)
}

fn abs<S: System>(e: &Eval<'_, S>) -> Out<S> {
    number(e, &magnitude, &i128::wrapping_abs)
}

fn sign<S: System>(e: &Eval<'_, S>) -> Out<S> {
    number(
        e,
        &|x| {
            Ok(match x.order(&S::zero())? {
                Some(Ordering::Greater) => S::one(),
                Some(Ordering::Less) => S::one().neg(),
                Some(Ordering::Equal) => S::zero(),
                None => x.clone(),
            })
        },
        &i128::signum,
    )
}

fn reciprocal<S: System>(e: &Eval<'_, S>) -> Out<S> {
    real(e, &|x| Ok(S::one().div(x)?))
}

/// Values that are not positive become 0; NaN stays.
fn relu<S: System>(e: &Eval<'_, S>) -> Out<S> {
    number(
        e,
        &|x| {
            Ok(match x.order(&S::zero())? {
                Some(Ordering::Greater) | None => x.clone(),
                Some(_) => S::zero(),
            })
        },
        &|x| x.max(0),
    )
}

fn not<S: System>(e: &Eval<'_, S>) -> Out<S> {
    Ok(vec![Value::Bool(map(e.operand(0)?.bool()?, |x| Ok(!x))?)])
}

fn bitwise_not<S: System>(e: &Eval<'_, S>) -> Out<S> {
    number(e, &|x| Ok(x.clone()), &|x| !x)
}

fn is_nan<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let holds = |x: &S| Ok(x.is_not_a_number()?);
    Ok(vec![Value::Bool(map(e.operand(0)?.real()?, holds)?)])
}

fn is_inf<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let (negative, positive) = (e.flag("detect_negative"), e.flag("detect_positive"));
    let holds = |x: &S| {
        let x = x.to_f64()?;
        Ok(x == f64::INFINITY && positive || x == f64::NEG_INFINITY && negative)
    };
    Ok(vec![Value::Bool(map(e.operand(0)?.real()?, holds)?)])
}
