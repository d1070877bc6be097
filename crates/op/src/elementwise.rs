//! Arithmetic, comparison, logic and bitwise operators: elementwise, after broadcasting.

use std::cmp::Ordering;

use ndarray::{ArrayViewD, Axis, IxDyn};

use super::value::shaped;
use super::{
    AttrDef, AttrKind, CostRule, Default, Eval, Formula, Func, Function, Infer, Number, OpDef, OpError, OpTraits,
    Operand, System, Value,
};
use crate::reference;
use tautomer_tensor::{DType, Nd, TensorType, Type};

const AB: &[Operand] = &[Operand::one("a"), Operand::one("b")];
const MANY: &[Operand] = &[Operand::variadic("operands")];
const BINARY: OpTraits = OpTraits::ELEMENTWISE.and(OpTraits::BINARY);
const AC: OpTraits = OpTraits::COMMUTATIVE.and(OpTraits::ASSOCIATIVE);

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("add", "Sum, with broadcasting.")
        .operands(AB)
        .infer(arithmetic)
        .reference(reference!(add))
        .formula(Formula::Function(Function::Sum))
        .traits(BINARY.and(AC))
        .onnx("Add", 7),
    OpDef::new("sub", "Difference, with broadcasting.")
        .aliases(&["subtract"])
        .operands(AB)
        .infer(arithmetic)
        .reference(reference!(sub))
        .formula(Formula::Function(Function::Difference))
        .traits(BINARY)
        .onnx("Sub", 7),
    OpDef::new("mul", "Product, with broadcasting.")
        .aliases(&["multiply"])
        .operands(AB)
        .infer(arithmetic)
        .reference(reference!(mul))
        .formula(Formula::Function(Function::Product))
        .traits(BINARY.and(AC))
        .onnx("Mul", 7),
    OpDef::new(
        "div",
        "Quotient, with broadcasting; integer division rounds towards zero.",
    )
    .aliases(&["divide"])
    .operands(AB)
    .infer(arithmetic)
    .reference(reference!(div))
    .formula(Formula::Function(Function::Quotient))
    .traits(BINARY.and(OpTraits::PARTIAL))
    .cost(CostRule::Elementwise(4.0))
    .onnx("Div", 7),
    OpDef::new(
        "mod",
        "Remainder, with the sign of the divisor, or of the dividend if `fmod` is set.",
    )
    .aliases(&["remainder"])
    .operands(AB)
    .attrs(&[AttrDef::new(
        "fmod",
        AttrKind::Bool,
        Default::Bool(false),
        "whether to use the sign of the dividend",
    )])
    .infer(arithmetic)
    .reference(reference!(modulo))
    .traits(BINARY.and(OpTraits::PARTIAL))
    .cost(CostRule::Elementwise(8.0))
    .onnx("Mod", 10),
    OpDef::new("pow", "`a` to the power of `b`; the result has the type of `a`.")
        .aliases(&["power"])
        .operands(AB)
        .infer(infer_pow)
        .reference(reference!(pow))
        .formula(Formula::Function(Function::Power))
        .traits(BINARY)
        .cost(CostRule::Elementwise(20.0))
        .onnx("Pow", 7),
    OpDef::new(
        "max",
        "Largest of the operands, with broadcasting; NaN if any operand is NaN.",
    )
    .aliases(&["maximum"])
    .operands(MANY)
    .infer(infer_many)
    .reference(reference!(max))
    .traits(OpTraits::ELEMENTWISE.and(AC).and(OpTraits::MONOTONE))
    .onnx("Max", 8),
    OpDef::new(
        "min",
        "Smallest of the operands, with broadcasting; NaN if any operand is NaN.",
    )
    .aliases(&["minimum"])
    .operands(MANY)
    .infer(infer_many)
    .reference(reference!(min))
    .traits(OpTraits::ELEMENTWISE.and(AC).and(OpTraits::MONOTONE))
    .onnx("Min", 8),
    OpDef::new("sum", "Sum of the operands from left to right, with broadcasting.")
        .operands(MANY)
        .infer(infer_many)
        .reference(reference!(sum))
        .formula(Formula::Function(Function::Sum))
        .traits(OpTraits::ELEMENTWISE)
        .onnx("Sum", 8),
    OpDef::new("mean", "Mean of the operands, with broadcasting.")
        .operands(MANY)
        .infer(infer_mean)
        .reference(reference!(mean))
        .formula(Formula::Function(Function::Mean))
        .traits(OpTraits::ELEMENTWISE)
        .onnx("Mean", 8),
    OpDef::new("equal", "True where the operands are equal.")
        .aliases(&["eq"])
        .operands(AB)
        .infer(infer_equal)
        .reference(reference!(equal))
        .traits(BINARY.and(OpTraits::COMPARISON).and(OpTraits::COMMUTATIVE))
        .onnx("Equal", 7),
    OpDef::new("less", "True where `a < b`.")
        .aliases(&["lt"])
        .operands(AB)
        .infer(infer_order)
        .reference(reference!(less))
        .traits(BINARY.and(OpTraits::COMPARISON))
        .onnx("Less", 7),
    OpDef::new("less_or_equal", "True where `a <= b`.")
        .aliases(&["le"])
        .operands(AB)
        .infer(infer_order)
        .reference(reference!(less_or_equal))
        .traits(BINARY.and(OpTraits::COMPARISON))
        .onnx("LessOrEqual", 12),
    OpDef::new("greater", "True where `a > b`.")
        .aliases(&["gt"])
        .operands(AB)
        .infer(infer_order)
        .reference(reference!(greater))
        .traits(BINARY.and(OpTraits::COMPARISON))
        .onnx("Greater", 7),
    OpDef::new("greater_or_equal", "True where `a >= b`.")
        .aliases(&["ge"])
        .operands(AB)
        .infer(infer_order)
        .reference(reference!(greater_or_equal))
        .traits(BINARY.and(OpTraits::COMPARISON))
        .onnx("GreaterOrEqual", 12),
    OpDef::new("and", "True where both operands are true.")
        .aliases(&["logical_and"])
        .operands(AB)
        .infer(logic)
        .reference(reference!(and))
        .traits(BINARY.and(AC))
        .onnx("And", 7),
    OpDef::new("or", "True where at least one operand is true.")
        .aliases(&["logical_or"])
        .operands(AB)
        .infer(logic)
        .reference(reference!(or))
        .traits(BINARY.and(AC))
        .onnx("Or", 7),
    OpDef::new("xor", "True where the operands differ.")
        .aliases(&["logical_xor"])
        .operands(AB)
        .infer(logic)
        .reference(reference!(xor))
        .traits(BINARY.and(AC))
        .onnx("Xor", 7),
    OpDef::new("bitwise_and", "Bits set in both operands.")
        .operands(AB)
        .infer(bits)
        .reference(reference!(bitwise_and))
        .traits(BINARY.and(AC))
        .onnx("BitwiseAnd", 18),
    OpDef::new("bitwise_or", "Bits set in at least one operand.")
        .operands(AB)
        .infer(bits)
        .reference(reference!(bitwise_or))
        .traits(BINARY.and(AC))
        .onnx("BitwiseOr", 18),
    OpDef::new("bitwise_xor", "Bits in which the operands differ.")
        .operands(AB)
        .infer(bits)
        .reference(reference!(bitwise_xor))
        .traits(BINARY.and(AC))
        .onnx("BitwiseXor", 18),
    OpDef::new("where", "`a` where `condition` is true, else `b`, with broadcasting.")
        .aliases(&["select", "if"])
        .operands(&[Operand::one("condition"), Operand::one("a"), Operand::one("b")])
        .infer(infer_where)
        .reference(reference!(select))
        .formula(Formula::Function(Function::Choice))
        .traits(OpTraits::ELEMENTWISE)
        .onnx("Where", 9),
];

fn typed(call: &Infer<'_>, dtype: DType, operands: std::ops::Range<usize>) -> Result<Type, OpError> {
    Ok(TensorType {
        dtype,
        shape: call.broadcast(operands)?,
    }
    .into())
}

fn arithmetic(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, DType::is_number, "a number")?;
    typed(call, dtype, 0..2)
}

fn infer_pow(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    call.expect_dtype(1, DType::is_number, "a number")?;
    typed(call, dtype, 0..2)
}

fn infer_many(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_number, "a number")?;
    for i in 1..call.operands.len() {
        call.same_dtype(0, i)?;
    }
    typed(call, dtype, 0..call.operands.len())
}

fn infer_mean(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    infer_many(call)
}

fn infer_equal(call: &Infer<'_>) -> Result<Type, OpError> {
    call.same_dtype(0, 1)?;
    typed(call, DType::Bool, 0..2)
}

fn infer_order(call: &Infer<'_>) -> Result<Type, OpError> {
    call.same_dtype(0, 1)?;
    call.expect_dtype(0, DType::is_number, "a number")?;
    typed(call, DType::Bool, 0..2)
}

fn logic(call: &Infer<'_>) -> Result<Type, OpError> {
    for i in 0..2 {
        call.expect_dtype(i, |d| d == DType::Bool, "a boolean")?;
    }
    typed(call, DType::Bool, 0..2)
}

fn bits(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, DType::is_int, "an integer")?;
    typed(call, dtype, 0..2)
}

fn infer_where(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d == DType::Bool, "a boolean")?;
    let dtype = call.same_dtype(1, 2)?;
    typed(call, dtype, 0..3)
}

/// Applies `f` elementwise after broadcasting both arrays to `shape`.
pub(super) fn zip<A: Clone, B: Clone, R: Clone>(
    a: &Nd<A>,
    b: &Nd<B>,
    shape: &[usize],
    mut f: impl FnMut(&A, &B) -> Result<R, OpError>,
) -> Result<Nd<R>, OpError> {
    zip_dyn(a, b, shape, &mut f)
}

/// [`zip`], compiled once for each triple of types.
fn zip_dyn<A: Clone, B: Clone, R: Clone>(
    a: &Nd<A>,
    b: &Nd<B>,
    shape: &[usize],
    f: &mut dyn FnMut(&A, &B) -> Result<R, OpError>,
) -> Result<Nd<R>, OpError> {
    let spread = || {
        OpError::new(format!(
            "shapes {:?} and {:?} do not broadcast to {shape:?}",
            a.shape(),
            b.shape()
        ))
    };
    if a.shape() == shape
        && b.shape() == shape
        && let (Some(x), Some(y)) = (a.as_slice(), b.as_slice())
    {
        let out = x.iter().zip(y).map(|(x, y)| f(x, y)).collect::<Result<Vec<R>, _>>();
        return shaped(shape, out?);
    }
    let mut x = a.broadcast(IxDyn(shape)).ok_or_else(spread)?;
    let mut y = b.broadcast(IxDyn(shape)).ok_or_else(spread)?;
    let mut out = Vec::with_capacity(x.len());
    merge_last_axes(&mut x, &mut y);
    for (x, y) in x.rows().into_iter().zip(y.rows()) {
        for (x, y) in x.iter().zip(y) {
            out.push(f(x, y)?);
        }
    }
    shaped(shape, out)
}

/// Makes one axis of the last axes of two arrays of the same shape, as many as both allow. A step along an axis takes
/// less time than a step from one row to the next.
fn merge_last_axes<A, B>(x: &mut ArrayViewD<'_, A>, y: &mut ArrayViewD<'_, B>) {
    let Some(last) = x.ndim().checked_sub(1) else { return };
    for axis in (0..last).rev() {
        let mut merged = x.clone();
        if !merged.merge_axes(Axis(axis), Axis(last)) || !y.merge_axes(Axis(axis), Axis(last)) {
            return;
        }
        *x = merged;
    }
}

type Out<S> = Result<Vec<Value<S>>, OpError>;

/// A binary operator on floating-point numbers and integers, with a function for each.
fn binary<S: System>(
    e: &Eval<'_, S>,
    a: &Value<S>,
    b: &Value<S>,
    shape: &[usize],
    real: &dyn Fn(&S, &S) -> Result<S, OpError>,
    int: &dyn Fn(i128, i128) -> Result<i128, OpError>,
) -> Result<Value<S>, OpError> {
    Ok(match (a, b) {
        (Value::Real(a), Value::Real(b)) => Value::Real(zip(a, b, shape, real)?),
        (Value::Int(a), Value::Int(b)) => {
            let dtype = e.out_dtype();
            Value::Int(zip(a, b, shape, |x, y| Ok(dtype.wrap(int(*x, *y)?)))?)
        }
        _ => return Err(OpError::new("the operands have different element types")),
    })
}

fn pair<S: System>(
    e: &Eval<'_, S>,
    real: &dyn Fn(&S, &S) -> Result<S, OpError>,
    int: &dyn Fn(i128, i128) -> Result<i128, OpError>,
) -> Out<S> {
    Ok(vec![binary(
        e,
        e.operand(0)?,
        e.operand(1)?,
        &e.out_shape(0)?,
        real,
        int,
    )?])
}

fn add<S: System>(e: &Eval<'_, S>) -> Out<S> {
    pair(e, &|a, b| Ok(a.add(b)), &|a, b| Ok(a.wrapping_add(b)))
}

fn sub<S: System>(e: &Eval<'_, S>) -> Out<S> {
    pair(e, &|a, b| Ok(a.sub(b)), &|a, b| Ok(a.wrapping_sub(b)))
}

fn mul<S: System>(e: &Eval<'_, S>) -> Out<S> {
    pair(e, &|a, b| Ok(a.mul(b)), &|a, b| Ok(a.wrapping_mul(b)))
}

fn by_zero() -> OpError {
    OpError::new("integer division by zero")
}

fn div<S: System>(e: &Eval<'_, S>) -> Out<S> {
    pair(e, &|a, b| Ok(a.div(b)?), &|a, b| a.checked_div(b).ok_or_else(by_zero))
}

fn modulo<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let fmod = e.flag("fmod");
    let real = |a: &S, b: &S| -> Result<S, OpError> {
        let rounding = if fmod { Func::Trunc } else { Func::Floor };
        // Machine numbers use the exact remainder.
        if let (true, Ok(x), Ok(y)) = (S::MACHINE, a.to_f64(), b.to_f64()) {
            let r = x % y;
            let r = if !fmod && r != 0.0 && (r < 0.0) != (y < 0.0) {
                r + y
            } else {
                r
            };
            return Ok(S::from_f64(r)?);
        }
        Ok(a.sub(&S::func(rounding, &a.div(b)?, None)?.mul(b)))
    };
    pair(e, &real, &|a, b| {
        let r = a.checked_rem(b).ok_or_else(by_zero)?;
        Ok(if !fmod && r != 0 && (r < 0) != (b < 0) {
            r + b
        } else {
            r
        })
    })
}

fn pow<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let shape = e.out_shape(0)?;
    let as_real = |v: &Value<S>| -> Result<Nd<S>, OpError> {
        match v {
            Value::Real(a) => Ok(a.clone()),
            Value::Int(a) => Ok(a.mapv(S::from_int).into_shared()),
            _ => Err(OpError::new("expected numbers")),
        }
    };
    let (a, b) = (e.operand(0)?, e.operand(1)?);
    Ok(vec![match (a, b) {
        (Value::Real(a), b) => Value::Real(zip(a, &as_real(b)?, &shape, |x, y| {
            Ok(S::func(Func::Pow, x, Some(y))?)
        })?),
        (Value::Int(a), Value::Int(b)) => {
            let dtype = e.out_dtype();
            Value::Int(zip(a, b, &shape, |x, y| Ok(dtype.wrap(int_pow(*x, *y))))?)
        }
        (Value::Int(a), Value::Real(b)) => {
            let dtype = e.out_dtype();
            Value::Int(zip(a, b, &shape, |x, y| {
                Ok(dtype.wrap((*x as f64).powf(y.to_f64()?) as i128))
            })?)
        }
        _ => return Err(OpError::new("expected numbers")),
    }])
}

/// `base` to the power of `exponent`, wrapping; a negative exponent truncates the fraction.
fn int_pow(base: i128, exponent: i128) -> i128 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, e) => {
            if e % 2 == 0 {
                1
            } else {
                -1
            }
        }
        (_, e) if e < 0 => 0,
        (b, e) => b.wrapping_pow(u32::try_from(e).unwrap_or(u32::MAX)),
    }
}

/// Folds the operands from left to right.
fn fold<S: System>(
    e: &Eval<'_, S>,
    real: &dyn Fn(&S, &S) -> Result<S, OpError>,
    int: &dyn Fn(i128, i128) -> Result<i128, OpError>,
) -> Result<Value<S>, OpError> {
    let shape = e.out_shape(0)?;
    let mut acc = match e.operand(0)? {
        Value::Real(a) => Value::Real(zip(a, a, a.shape(), |x, _| Ok(x.clone()))?),
        other => other.clone(),
    };
    for i in 1..e.operands.len() {
        let next = e.operand(i)?;
        let partial = broadcast_shapes(acc.shape(), next.shape())?;
        acc = binary(e, &acc, next, &partial, &real, &int)?;
    }
    // A single operand has that shape already; otherwise broadcasting is complete.
    debug_assert_eq!(acc.shape(), shape);
    Ok(acc)
}

fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Vec<usize>, OpError> {
    let merged = tautomer_tensor::Shape::from(a).broadcast(&tautomer_tensor::Shape::from(b));
    merged
        .ok()
        .and_then(|s| s.to_concrete())
        .ok_or_else(|| OpError::new(format!("shapes {a:?} and {b:?} do not broadcast")))
}

/// The one of two numbers that compares as `want` to the other; NaN if either is NaN.
fn choose<S: Number>(a: &S, b: &S, want: Ordering) -> Result<S, OpError> {
    Ok(match a.order(b)? {
        Some(order) if order == want => a.clone(),
        Some(_) => b.clone(),
        // One of them is NaN: the one that is not equal to itself.
        None => {
            if a.order(a)?.is_none() {
                a.clone()
            } else {
                b.clone()
            }
        }
    })
}

/// The larger of two numbers; NaN if either is NaN.
pub(super) fn larger<S: Number>(a: &S, b: &S) -> Result<S, OpError> {
    choose(a, b, Ordering::Greater)
}

/// The smaller of two numbers; NaN if either is NaN.
pub(super) fn smaller<S: Number>(a: &S, b: &S) -> Result<S, OpError> {
    choose(a, b, Ordering::Less)
}

fn max<S: System>(e: &Eval<'_, S>) -> Out<S> {
    Ok(vec![fold(e, &larger::<S>, &|a, b| Ok(a.max(b)))?])
}

fn min<S: System>(e: &Eval<'_, S>) -> Out<S> {
    Ok(vec![fold(e, &smaller::<S>, &|a, b| Ok(a.min(b)))?])
}

fn sum<S: System>(e: &Eval<'_, S>) -> Out<S> {
    Ok(vec![fold(e, &|a, b| Ok(a.add(b)), &|a, b| Ok(a.wrapping_add(b)))?])
}

fn mean<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let count = S::from_int(e.operands.len() as i128);
    let total = fold(e, &|a, b| Ok(a.add(b)), &|a, _| Ok(a))?;
    let total = total.real()?;
    Ok(vec![Value::Real(zip(total, total, total.shape(), |x, _| {
        Ok(x.div(&count)?)
    })?)])
}

fn compare<S: System>(e: &Eval<'_, S>, holds: &dyn Fn(Ordering) -> bool) -> Out<S> {
    let shape = e.out_shape(0)?;
    let (a, b) = (e.operand(0)?, e.operand(1)?);
    Ok(vec![Value::Bool(match (a, b) {
        (Value::Real(a), Value::Real(b)) => zip(a, b, &shape, |x, y| Ok(x.order(y)?.is_some_and(&holds)))?,
        (Value::Int(a), Value::Int(b)) => zip(a, b, &shape, |x, y| Ok(holds(x.cmp(y))))?,
        (Value::Bool(a), Value::Bool(b)) => zip(a, b, &shape, |x, y| Ok(holds(x.cmp(y))))?,
        (Value::Text(a), Value::Text(b)) => zip(a, b, &shape, |x, y| Ok(holds(x.cmp(y))))?,
        _ => return Err(OpError::new("the operands have different element types")),
    })])
}

fn equal<S: System>(e: &Eval<'_, S>) -> Out<S> {
    compare(e, &|o| o == Ordering::Equal)
}

fn less<S: System>(e: &Eval<'_, S>) -> Out<S> {
    compare(e, &|o| o == Ordering::Less)
}

fn less_or_equal<S: System>(e: &Eval<'_, S>) -> Out<S> {
    compare(e, &|o| o != Ordering::Greater)
}

fn greater<S: System>(e: &Eval<'_, S>) -> Out<S> {
    compare(e, &|o| o == Ordering::Greater)
}

fn greater_or_equal<S: System>(e: &Eval<'_, S>) -> Out<S> {
    compare(e, &|o| o != Ordering::Less)
}

fn truth<S: System>(e: &Eval<'_, S>, f: &dyn Fn(bool, bool) -> bool) -> Out<S> {
    let (a, b) = (e.operand(0)?.bool()?, e.operand(1)?.bool()?);
    Ok(vec![Value::Bool(zip(a, b, &e.out_shape(0)?, |x, y| Ok(f(*x, *y)))?)])
}

fn and<S: System>(e: &Eval<'_, S>) -> Out<S> {
    truth(e, &|a, b| a & b)
}

fn or<S: System>(e: &Eval<'_, S>) -> Out<S> {
    truth(e, &|a, b| a | b)
}

fn xor<S: System>(e: &Eval<'_, S>) -> Out<S> {
    truth(e, &|a, b| a ^ b)
}

fn bitwise<S: System>(e: &Eval<'_, S>, f: &dyn Fn(i128, i128) -> i128) -> Out<S> {
    let (a, b) = (e.operand(0)?.int()?, e.operand(1)?.int()?);
    let dtype = e.out_dtype();
    Ok(vec![Value::Int(zip(a, b, &e.out_shape(0)?, |x, y| {
        Ok(dtype.wrap(f(*x, *y)))
    })?)])
}

fn bitwise_and<S: System>(e: &Eval<'_, S>) -> Out<S> {
    bitwise(e, &|a, b| a & b)
}

fn bitwise_or<S: System>(e: &Eval<'_, S>) -> Out<S> {
    bitwise(e, &|a, b| a | b)
}

fn bitwise_xor<S: System>(e: &Eval<'_, S>) -> Out<S> {
    bitwise(e, &|a, b| a ^ b)
}

fn select<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let shape = e.out_shape(0)?;
    let condition = e.operand(0)?.bool()?;
    fn pick<T: Clone>(c: &Nd<bool>, a: &Nd<T>, b: &Nd<T>, shape: &[usize]) -> Result<Nd<T>, OpError> {
        let both = zip(a, b, shape, |x, y| Ok((x.clone(), y.clone())))?;
        zip(c, &both, shape, |c, (x, y)| Ok(if *c { x.clone() } else { y.clone() }))
    }
    Ok(vec![match (e.operand(1)?, e.operand(2)?) {
        (Value::Real(a), Value::Real(b)) => Value::Real(pick(condition, a, b, &shape)?),
        (Value::Int(a), Value::Int(b)) => Value::Int(pick(condition, a, b, &shape)?),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(pick(condition, a, b, &shape)?),
        (Value::Text(a), Value::Text(b)) => Value::Text(pick(condition, a, b, &shape)?),
        _ => return Err(OpError::new("the branches have different element types")),
    }])
}
