//! Functions of one or two numbers that libraries provide and ONNX expresses with several operators.
//!
//! Where the obvious formula loses digits, a formula in double precision that does not is used.

use super::common::same_float;
use super::{CostRule, Infer, OpDef, OpError, OpTraits, Operand};
use tautomer_tensor::{DType, TensorType, Type};

const X: &[Operand] = &[Operand::one("x")];
const AB: &[Operand] = &[Operand::one("a"), Operand::one("b")];
const UNARY: OpTraits = OpTraits::ELEMENTWISE.and(OpTraits::UNARY);
const BINARY: OpTraits = OpTraits::ELEMENTWISE.and(OpTraits::BINARY);

const fn unary(name: &'static str, doc: &'static str, body: &'static str) -> OpDef {
    OpDef::new(name, doc)
        .operands(X)
        .infer(same_float)
        .body(body)
        .traits(UNARY)
        .cost(CostRule::Elementwise(25.0))
}

const fn binary(name: &'static str, doc: &'static str, body: &'static str) -> OpDef {
    OpDef::new(name, doc)
        .operands(AB)
        .infer(infer_float)
        .body(body)
        .traits(BINARY)
        .cost(CostRule::Elementwise(40.0))
}

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    unary(
        "expm1",
        "`exp(x) - 1`, precise near 0.",
        "fn (x) {
           let y = when x.dtype == f64 { x } else { cast(x) {to = f64} };
           let u = exp(y);
           let d = u - 1.0;
           let r = where(d == 0.0, y, where(d == -1.0, d, where(u == inf, u, d * y / log(u))));
           when x.dtype == f64 { r } else { cast(r) {to = x.dtype} }
         }",
    )
    .traits(UNARY.and(OpTraits::MONOTONE)),
    unary(
        "log1p",
        "`log(1 + x)`, precise near 0.",
        "fn (x) {
           let y = when x.dtype == f64 { x } else { cast(x) {to = f64} };
           let u = y + 1.0;
           let d = u - 1.0;
           let r = where(d == 0.0, y, where(u == inf, u, log(u) * y / d));
           when x.dtype == f64 { r } else { cast(r) {to = x.dtype} }
         }",
    )
    .traits(UNARY.and(OpTraits::MONOTONE)),
    unary(
        "log10",
        "The base-10 logarithm.",
        "fn (x) {
           let y = when x.dtype == f64 { x } else { cast(x) {to = f64} };
           let r = log(y) / 2.302585092994046;
           when x.dtype == f64 { r } else { cast(r) {to = x.dtype} }
         }",
    )
    .traits(UNARY.and(OpTraits::MONOTONE)),
    unary(
        "trunc",
        "The integer part: `x` rounded towards zero.",
        "fn (x) { where(x < 0.0, ceil(x), floor(x)) }",
    )
    .traits(UNARY.and(OpTraits::MONOTONE).and(OpTraits::IDEMPOTENT))
    .cost(CostRule::Elementwise(2.0)),
    binary(
        "atan2",
        "The angle of the point with y coordinate `a` and x coordinate `b`, with broadcasting.",
        "fn (a, b) {
           let y = when a.dtype == f64 { a } else { cast(a) {to = f64} };
           let x = when b.dtype == f64 { b } else { cast(b) {to = f64} };
           let equal = where(x == 0.0, 0.0f64, 0.7853981633974483f64);
           let angle = where(abs(y) == abs(x), equal, atan(abs(y) / abs(x)));
           let side = where(x < 0.0 or 1.0 / x < 0.0, 3.141592653589793 - angle, angle);
           let r = where(y < 0.0 or 1.0 / y < 0.0, -side, side);
           when a.dtype == f64 { r } else { cast(r) {to = a.dtype} }
         }",
    ),
    binary(
        "logaddexp",
        "The logarithm of the sum of exponentials, with broadcasting.",
        "fn (a, b) {
           let x = when a.dtype == f64 { a } else { cast(a) {to = f64} };
           let y = when b.dtype == f64 { b } else { cast(b) {to = f64} };
           let m = max(x, y);
           let r = where(x == y, m + 0.6931471805599453, m + log1p(exp(-abs(x - y))));
           when a.dtype == f64 { r } else { cast(r) {to = a.dtype} }
         }",
    ),
    binary(
        "floor_mod",
        "The remainder of `mod`, computed from the one with the sign of the dividend, with broadcasting.",
        "fn (a, b) {
           let m = mod(a, b) {fmod = true};
           where(not (m == 0) and not ((m < 0) == (b < 0)), m + b, m)
         }",
    )
    .infer(infer_number)
    .cost(CostRule::Elementwise(20.0)),
    binary(
        "floor_divide",
        "The quotient rounded down, with broadcasting; for floats as in Python, if the remainder is exact.",
        "fn (a, b) {
           let m = mod(a, b) {fmod = true};
           let other = m != 0 and (m < 0) != (b < 0);
           when a.dtype in [i8, i16, i32, i64, u8, u16, u32, u64] {
             let q = a / b;
             where(other, q - 1, q)
           } else {
             let q = (a - m) / b;
             let d = where(other, q - 1.0, q);
             let f = floor(d);
             let whole = where(d - f > 0.5, f + 1.0, f);
             where(b == 0.0, a / b, where(d == 0.0, 0.0 * clip(a / b, -1.0, 1.0), whole))
           }
         }",
    )
    .infer(infer_number)
    .cost(CostRule::Elementwise(20.0)),
];

fn infer_float(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    infer_number(call)
}

fn infer_number(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.same_dtype(0, 1)?;
    call.expect_dtype(0, DType::is_number, "a number")?;
    let shape = call.broadcast(0..2)?;
    Ok(TensorType { dtype, shape }.into())
}
