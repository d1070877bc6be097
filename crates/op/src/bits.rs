//! Operators on the bits of elements: shifts, and reinterpretation as another type.

use half::{bf16, f16};

use super::common::{Out, map, typed};
use super::elementwise::zip;
use super::{AttrDef, AttrKind, Default, Eval, Infer, OpDef, OpError, OpTraits, Operand, System, Value};
use crate::reference;
use tautomer_tensor::{DType, TensorType, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "bit_shift",
        "Shifts the bits of `a` by `b` places, filling with zeros, with broadcasting.",
    )
    .operands(&[Operand::one("a"), Operand::one("b")])
    .attrs(&[AttrDef::new(
        "direction",
        AttrKind::OneOf(&["LEFT", "RIGHT"]),
        Default::Required,
        "left is towards higher bits, right towards lower bits",
    )])
    .infer(infer_shift)
    .reference(reference!(shift))
    .traits(OpTraits::ELEMENTWISE.and(OpTraits::BINARY))
    .onnx("BitShift", 11),
    OpDef::new(
        "bit_cast",
        "Reinterprets the bits of each element as a type of the same width.",
    )
    .operands(&[Operand::one("x")])
    .attrs(&[AttrDef::new(
        "to",
        AttrKind::DType,
        Default::Required,
        "the element type of the result",
    )])
    .infer(infer_cast)
    .reference(reference!(cast))
    .traits(OpTraits::ELEMENTWISE.and(OpTraits::UNARY))
    .onnx("BitCast", 26),
];

fn infer_shift(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, |d| d.is_int() && !d.is_signed(), "an unsigned integer")?;
    let shape = call.broadcast(0..2)?;
    Ok(TensorType { dtype, shape }.into())
}

fn shift<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let dtype = e.out_dtype();
    let (left, width) = (e.text("direction") == "LEFT", dtype.size() as i128 * 8);
    let shifted = |a: &i128, b: &i128| match b {
        0.. if *b < width && left => dtype.wrap(a << b),
        0.. if *b < width => a >> b,
        _ => 0,
    };
    let (a, b) = (e.operand(0)?.int()?, e.operand(1)?.int()?);
    Ok(vec![Value::Int(zip(a, b, &e.out_shape(0)?, |a, b| Ok(shifted(a, b)))?)])
}

fn infer_cast(call: &Infer<'_>) -> Result<Type, OpError> {
    let plain = |d: DType| d.is_number() || d == DType::Bool;
    let from = call.expect_dtype(0, plain, "a number or a boolean")?;
    let to = call
        .dtype("to")
        .filter(|&d| plain(d))
        .ok_or_else(|| OpError::new("`to` must be a type of numbers or booleans").attr("to"))?;
    if from.size() != to.size() {
        let (from_bits, to_bits) = (8 * from.size(), 8 * to.size());
        return Err(OpError::new(format!("{from} has {from_bits} bits, but {to} has {to_bits}")).attr("to"));
    }
    Ok(typed(to, call.tensor(0)?.shape.clone()))
}

/// The bits of a number of type `dtype`.
fn bits_of(x: f64, dtype: DType) -> i128 {
    match dtype {
        DType::F16 => f16::from_f64(x).to_bits().into(),
        DType::BF16 => bf16::from_f64(x).to_bits().into(),
        DType::F32 => (x as f32).to_bits().into(),
        _ => x.to_bits().into(),
    }
}

/// The number of type `dtype` that has these bits.
fn number_of(bits: i128, dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f16::from_bits(bits as u16).to_f64(),
        DType::BF16 => bf16::from_bits(bits as u16).to_f64(),
        DType::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits as u64),
    }
}

fn cast<S: System>(e: &Eval<'_, S>) -> Out<S> {
    let to = e.out_dtype();
    let from = e.dtype(0).unwrap_or(to);
    let bits = match e.operand(0)? {
        Value::Real(a) => map(a, |x| Ok(bits_of(x.to_f64()?, from)))?,
        Value::Int(a) => a.clone(),
        Value::Bool(a) => map(a, |x| Ok(i128::from(*x)))?,
        _ => return Err(OpError::new("expected numbers")),
    };
    Ok(vec![if to.is_float() {
        Value::Real(map(&bits, |x| Ok(S::from_f64(number_of(*x, to))?))?)
    } else if to == DType::Bool {
        Value::Bool(map(&bits, |x| Ok(*x != 0))?)
    } else {
        Value::Int(map(&bits, |x| Ok(to.wrap(*x)))?)
    }])
}
