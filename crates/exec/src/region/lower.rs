//! Steps as instructions of a loop.

use rustc_hash::FxHashMap;
use tautomer_loops::{Binary, Builder, Comparison, Program, Type, Unary, Value, functions};
use tautomer_op::{AttrValue, OpDef};
use tautomer_tensor::{DType, Tensor};

use super::Region;
use super::find::tensor;
use crate::plan::{Plan, SlotId, Step};

/// A value of a loop and the element type it stands for: 16-bit floats are widened, and rounded after every step.
#[derive(Debug, Clone, Copy)]
struct Typed {
    value: Value,
    dtype: DType,
}

/// The type in which rows are read and written; truth values are bytes.
pub(super) fn stored(dtype: DType) -> Option<Type> {
    Some(match dtype {
        DType::F32 => Type::F32,
        DType::F64 => Type::F64,
        DType::I8 => Type::I8,
        DType::I16 => Type::I16,
        DType::I32 => Type::I32,
        DType::I64 => Type::I64,
        DType::U8 | DType::Bool => Type::U8,
        DType::U16 | DType::F16 | DType::BF16 => Type::U16,
        DType::U32 => Type::U32,
        DType::U64 => Type::U64,
        _ => return None,
    })
}

fn is_float(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
}

/// Whether a loop can compute a step, according to its operator, its attributes, and the types in the plan.
pub(super) fn is_elementwise(plan: &Plan, def: &'static OpDef, step: &Step) -> bool {
    let [result] = step.results[..] else { return false };
    let is_known = |slot: SlotId| {
        let ty = tensor(plan, slot);
        ty.is_some_and(|ty| ty.shape.is_some() && stored(ty.dtype).is_some())
    };
    if !is_known(result) || !step.operands.iter().all(|slot| slot.is_some_and(is_known)) {
        return false;
    }
    let mut b = Builder::new();
    let mut operands = Vec::new();
    for slot in step.operands.iter().flatten() {
        let Some(ty) = tensor(plan, *slot) else { return false };
        operands.push(input(&mut b, ty.dtype, false));
    }
    let Some(value) = call(&mut b, plan, def, step, &operands) else {
        return false;
    };
    tensor(plan, result).is_some_and(|ty| ty.dtype == value.dtype)
}

/// The program of a region; `uniform` says which inputs have one value for all rows.
pub(super) fn program(plan: &Plan, defs: &[&'static OpDef], region: &Region, uniform: &[bool]) -> Option<Program> {
    let mut b = Builder::new();
    let mut values: FxHashMap<SlotId, Typed> = FxHashMap::default();
    for (&slot, &uniform) in region.inputs.iter().zip(uniform) {
        let value = input(&mut b, tensor(plan, slot)?.dtype, uniform);
        values.insert(slot, value);
    }
    let steps = region.first..region.first + region.count;
    for (step, def) in plan.steps[steps.clone()].iter().zip(&defs[steps]) {
        let operands: Option<Vec<Typed>> = step
            .operands
            .iter()
            .map(|slot| values.get(&(*slot)?).copied())
            .collect();
        let value = call(&mut b, plan, def, step, &operands?)?;
        let value = rounded(&mut b, value);
        values.insert(*step.results.first()?, value);
    }
    for slot in &region.outputs {
        let Typed { value, dtype } = *values.get(slot)?;
        let value = match dtype {
            DType::Bool => {
                let (one, zero) = (b.constant(1u8), b.constant(0u8));
                b.select(value, one, zero)
            }
            DType::F16 => b.to_half(value),
            DType::BF16 => functions::to_bfloat(&mut b, value),
            _ => value,
        };
        b.output(value);
    }
    Some(b.finish())
}

fn input(b: &mut Builder, dtype: DType, uniform: bool) -> Typed {
    let ty = stored(dtype).unwrap_or(Type::U8);
    let value = if uniform { b.uniform(ty) } else { b.input(ty) };
    let value = match dtype {
        DType::Bool => {
            let zero = b.constant(0u8);
            b.compare(Comparison::NotEqual, value, zero)
        }
        DType::F16 => b.from_half(value),
        DType::BF16 => functions::from_bfloat(b, value),
        _ => value,
    };
    Typed { value, dtype }
}

/// The number of 16 bits that a result is rounded to.
fn rounded(b: &mut Builder, Typed { value, dtype }: Typed) -> Typed {
    let value = match dtype {
        DType::F16 => {
            let bits = b.to_half(value);
            b.from_half(bits)
        }
        DType::BF16 => {
            let bits = functions::to_bfloat(b, value);
            functions::from_bfloat(b, bits)
        }
        _ => value,
    };
    Typed { value, dtype }
}

/// The value of a call; `None` if no loop computes it.
fn call(b: &mut Builder, plan: &Plan, def: &'static OpDef, step: &Step, operands: &[Typed]) -> Option<Typed> {
    let first = *operands.first()?;
    let dtype = first.dtype;
    let is = |value: Value| Some(Typed { value, dtype });
    match operands {
        [condition, x, y] if def.name == "where" => {
            let fits = condition.dtype == DType::Bool && x.dtype == y.dtype;
            return fits.then(|| Typed {
                value: b.select(condition.value, x.value, y.value),
                dtype: x.dtype,
            });
        }
        _ if operands.iter().any(|operand| operand.dtype != dtype) => return None,
        _ => {}
    }
    if let ("cast", [_]) = (def.name, operands) {
        return cast(b, def, step, first);
    }
    if dtype == DType::Bool {
        return truth(b, def.name, operands);
    }
    if let [x, y] = operands
        && let Some(value) = comparison(b, def.name, x.value, y.value)
    {
        return Some(Typed {
            value,
            dtype: DType::Bool,
        });
    }
    let x = first.value;
    match (def.name, operands) {
        ("add", [_, y]) => is(b.add(x, y.value)),
        ("sub", [_, y]) => is(b.sub(x, y.value)),
        ("mul", [_, y]) => is(b.mul(x, y.value)),
        ("div", [_, y]) if is_float(dtype) => is(b.div(x, y.value)),
        ("sum", [..]) => is(operands[1..].iter().fold(x, |sum, next| b.add(sum, next.value))),
        ("max", [..]) => is(operands[1..]
            .iter()
            .fold(x, |most, next| extreme(b, Binary::Max, most, next.value))),
        ("min", [..]) => is(operands[1..]
            .iter()
            .fold(x, |least, next| extreme(b, Binary::Min, least, next.value))),
        ("prelu", [_, slope]) if is_float(dtype) => {
            let bent = b.mul(slope.value, x);
            is(below_zero(b, x, bent))
        }
        ("pow", [_, y]) if is_float(dtype) => is(power(b, constant(plan, step.operands[1]), x, y.value)),
        ("neg", [_]) => is(b.neg(x)),
        ("abs", [_]) => is(b.unary(Unary::Abs, x)),
        ("relu", [_]) => {
            let zero = zero(b, x);
            is(extreme(b, Binary::Max, x, zero))
        }
        (_, [_]) if is_float(dtype) => is(function(b, def, step, x)?),
        _ => None,
    }
}

/// A conversion between numbers of 8 and 32 bits.
fn cast(b: &mut Builder, def: &'static OpDef, step: &Step, x: Typed) -> Option<Typed> {
    let AttrValue::DType(dtype) = *def.attr_in(&step.attrs, "to") else {
        return None;
    };
    let value = match (x.dtype, dtype) {
        (DType::U8 | DType::I8, DType::I32 | DType::F32) | (DType::I32, DType::F32) => {
            b.convert(stored(dtype)?, x.value)
        }
        (DType::F32, DType::U8 | DType::I8) => {
            // The integer next to it on the side of zero, of which the low bits stay. From 2^31 on, those are zero, up
            // to the greatest integer of 128 bits, which larger floats become.
            let small = stored(dtype)?;
            let near = b.convert(small, x.value);
            let (bound, most) = (b.constant(2f32.powi(31)), b.constant(2f32.powi(127)));
            let (none, all) = (b.bits(small, 0), b.bits(small, 0xff));
            let size = b.unary(Unary::Abs, x.value);
            let (is_near, is_less) = (b.less(size, bound), b.less(x.value, most));
            let is_nan = b.is_nan(x.value);
            let is_none = b.binary(Binary::Or, is_less, is_nan);
            let far = b.select(is_none, none, all);
            b.select(is_near, near, far)
        }
        _ => return None,
    };
    Some(Typed { value, dtype })
}

fn zero(b: &mut Builder, x: Value) -> Value {
    let ty = b.ty(x);
    b.bits(ty, 0)
}

/// The only element of a value that is part of the plan.
fn constant(plan: &Plan, slot: Option<SlotId>) -> Option<f64> {
    let constant = plan.constants.iter().find(|constant| Some(constant.slot) == slot)?;
    constant.value.to_f64s().filter(|all| all.len() == 1).map(|all| all[0])
}

/// The larger or the smaller number, NaN if either is.
fn extreme(b: &mut Builder, op: Binary, x: Value, y: Value) -> Value {
    let value = b.binary(op, x, y);
    if !b.ty(x).is_float() {
        return value;
    }
    let is_nan = b.is_nan(x);
    b.select(is_nan, x, value)
}

/// `other` where `x` is less than zero, else `x`.
fn below_zero(b: &mut Builder, x: Value, other: Value) -> Value {
    let zero = zero(b, x);
    let negative = b.less(x, zero);
    b.select(negative, other, x)
}

fn truth(b: &mut Builder, name: &str, operands: &[Typed]) -> Option<Typed> {
    let value = match (name, operands) {
        ("and", [x, y]) => b.binary(Binary::And, x.value, y.value),
        ("or", [x, y]) => b.binary(Binary::Or, x.value, y.value),
        ("xor", [x, y]) => b.binary(Binary::Xor, x.value, y.value),
        ("equal", [x, y]) => {
            let differ = b.binary(Binary::Xor, x.value, y.value);
            b.not(differ)
        }
        ("not", [x]) => b.not(x.value),
        _ => return None,
    };
    Some(Typed {
        value,
        dtype: DType::Bool,
    })
}

fn comparison(b: &mut Builder, name: &str, x: Value, y: Value) -> Option<Value> {
    Some(match name {
        "equal" => b.compare(Comparison::Equal, x, y),
        "less" => b.compare(Comparison::Less, x, y),
        "less_or_equal" => b.compare(Comparison::LessOrEqual, x, y),
        "greater" => b.compare(Comparison::Less, y, x),
        "greater_or_equal" => b.compare(Comparison::LessOrEqual, y, x),
        _ => return None,
    })
}

/// Powers; frequent exponents are arithmetic.
fn power(b: &mut Builder, exponent: Option<f64>, x: Value, y: Value) -> Value {
    let ty = b.ty(x);
    match exponent {
        Some(1.0) => x,
        Some(2.0) => b.mul(x, x),
        Some(3.0) => {
            let square = b.mul(x, x);
            b.mul(square, x)
        }
        Some(-1.0) => {
            let one = b.float(ty, 1.0);
            b.div(one, x)
        }
        // Unlike the square root: +0 for -0, and infinity for -infinity.
        Some(0.5) => {
            let (least, most, zero) = (b.float(ty, f64::NEG_INFINITY), b.float(ty, f64::INFINITY), zero(b, x));
            let is_least = b.compare(Comparison::Equal, x, least);
            let sum = b.add(x, zero);
            let root = b.unary(Unary::Sqrt, sum);
            b.select(is_least, most, root)
        }
        _ => functions::pow(b, x, y),
    }
}

/// A number among the attributes.
fn number(def: &OpDef, step: &Step, name: &str) -> Option<f64> {
    match def.attr_in(&step.attrs, name) {
        AttrValue::None => def
            .attrs
            .iter()
            .find(|attr| attr.name == name)?
            .default_value()?
            .as_float(),
        value => value.as_float(),
    }
}

/// A function of one float.
fn function(b: &mut Builder, def: &'static OpDef, step: &Step, x: Value) -> Option<Value> {
    let ty = b.ty(x);
    Some(match def.name {
        "sqrt" => b.unary(Unary::Sqrt, x),
        "floor" => b.unary(Unary::Floor, x),
        "ceil" => b.unary(Unary::Ceil, x),
        "round" => b.unary(Unary::Round, x),
        "reciprocal" => {
            let one = b.float(ty, 1.0);
            b.div(one, x)
        }
        "exp" => functions::exp(b, x),
        "log" => functions::ln(b, x),
        "tanh" => functions::tanh(b, x),
        "sigmoid" => functions::sigmoid(b, x),
        "erf" => functions::erf(b, x, libm::erf),
        "sin" => functions::sin(b, x),
        "cos" => functions::cos(b, x),
        "softsign" => {
            let (one, size) = (b.float(ty, 1.0), b.unary(Unary::Abs, x));
            let sum = b.add(one, size);
            b.div(x, sum)
        }
        "silu" => {
            let part = functions::sigmoid(b, x);
            b.mul(x, part)
        }
        "hard_swish" => {
            let (six, half) = (b.float(ty, 6.0), b.float(ty, 0.5));
            let part = b.div(x, six);
            let part = b.add(part, half);
            let part = between(b, part, 0.0, 1.0);
            b.mul(x, part)
        }
        "hard_sigmoid" => {
            let (slope, offset) = (
                b.float(ty, number(def, step, "alpha")?),
                b.float(ty, number(def, step, "beta")?),
            );
            let line = b.mul(slope, x);
            let line = b.add(line, offset);
            between(b, line, 0.0, 1.0)
        }
        "leaky_relu" => {
            let slope = b.float(ty, number(def, step, "alpha")?);
            let bent = b.mul(slope, x);
            below_zero(b, x, bent)
        }
        "elu" => {
            let (scale, one, power) = (
                b.float(ty, number(def, step, "alpha")?),
                b.float(ty, 1.0),
                functions::exp(b, x),
            );
            let less = b.sub(power, one);
            let bent = b.mul(scale, less);
            below_zero(b, x, bent)
        }
        "gelu" => gelu(b, def, step, x)?,
        "clip" => {
            let limit = |name: &str, none: f64| match def.attr_in(&step.attrs, name) {
                AttrValue::None => Some(none),
                AttrValue::Tensor(value) => only(value),
                value => value.as_float(),
            };
            let (low, high) = (limit("min", f64::NEG_INFINITY)?, limit("max", f64::INFINITY)?);
            between(b, x, low, high)
        }
        _ => return None,
    })
}

fn only(value: &Tensor) -> Option<f64> {
    value.to_f64s().filter(|all| all.len() == 1).map(|all| all[0])
}

fn between(b: &mut Builder, x: Value, low: f64, high: f64) -> Value {
    let ty = b.ty(x);
    let (low, high) = (b.float(ty, low), b.float(ty, high));
    let above = extreme(b, Binary::Max, x, low);
    extreme(b, Binary::Min, above, high)
}

fn gelu(b: &mut Builder, def: &'static OpDef, step: &Step, x: Value) -> Option<Value> {
    let ty = b.ty(x);
    let (half, one) = (b.float(ty, 0.5), b.float(ty, 1.0));
    let inner = match def.attr_in(&step.attrs, "approximate").as_str().unwrap_or_default() {
        "" | "none" => {
            let root = b.float(ty, std::f64::consts::FRAC_1_SQRT_2);
            let scaled = b.mul(x, root);
            functions::erf(b, scaled, libm::erf)
        }
        "tanh" => {
            let (scale, factor) = (b.float(ty, (2.0 / std::f64::consts::PI).sqrt()), b.float(ty, 0.044_715));
            let cube = b.mul(factor, x);
            let cube = b.mul(cube, x);
            let cube = b.mul(cube, x);
            let sum = b.add(x, cube);
            let scaled = b.mul(scale, sum);
            functions::tanh(b, scaled)
        }
        _ => return None,
    };
    let part = b.add(one, inner);
    let halved = b.mul(half, x);
    Some(b.mul(halved, part))
}
