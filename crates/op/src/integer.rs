//! Types, normal forms and work of products and convolutions of small integers with zero points.

use super::common::typed;
use super::{AttrValue, Fact, Infer, OpError, cost::elements};
use tautomer_tensor::{DType, Dim, Type};

const SMALL: [DType; 2] = [DType::U8, DType::I8];

/// The type that the floating-point operator `op` infers for operands `i` and `j` with the attributes of this call.
fn through(call: &Infer<'_>, op: &str, i: usize, j: usize, dtype: DType) -> Result<Type, OpError> {
    for at in [i, j] {
        call.expect_dtype(at, |d| SMALL.contains(&d), "u8 or i8")?;
    }
    if !SMALL.contains(&dtype) && dtype != DType::I32 {
        return Err(OpError::new(format!("the result is {dtype}, but must be u8 or i8")));
    }
    let def = super::lookup(op).ok_or_else(|| OpError::new("an operator is missing"))?;
    let types = [i, j].map(|at| {
        call.operands[at]
            .ty
            .as_tensor()
            .map(|t| typed(DType::F32, t.shape.clone()))
    });
    let [Some(a), Some(b)] = types else {
        return Err(OpError::new("an operand is missing"));
    };
    let facts = [Fact::of(&a), Fact::of(&b)];
    let attrs: Vec<AttrValue> = def.attrs.iter().map(|a| call.attr(a.name)).collect();
    let ty = (def.infer)(&Infer {
        def,
        operands: &facts,
        attrs: &attrs,
        fresh: call.fresh,
    })
    .map_err(|error| OpError {
        operand: error.operand.map(|at| if at == 0 { i } else { j }),
        other: error.other.map(|at| if at == 0 { i } else { j }),
        ..error
    })?;
    Ok(typed(dtype, ty.as_tensor().and_then(|t| t.shape.clone())))
}

fn product(call: &Infer<'_>, i: usize, j: usize, dtype: DType) -> Result<Type, OpError> {
    if call.def.operands.len() == 4 {
        for (at, zero) in [(i, 2), (j, 3)] {
            if call.optional(zero)?.is_some() {
                call.same_dtype(at, zero)?;
            }
        }
    } else {
        for (at, zero) in [(i, 2), (j, 5)] {
            call.same_dtype(at, zero)?;
        }
        for at in [1, 4, 6] {
            call.expect_dtype(at, DType::is_float, "a floating-point number")?;
        }
        call.same_dtype(1, 4)?;
        call.same_dtype(1, 6)?;
    }
    through(call, "matmul", i, j, dtype)
}

fn conv(call: &Infer<'_>, i: usize, j: usize, dtype: DType) -> Result<Type, OpError> {
    if call.def.operands.len() > 4 {
        for at in [1, 4, 6] {
            call.expect_dtype(at, |d| d == DType::F32, "f32")?;
        }
        if call.optional(8)?.is_some() {
            call.expect_dtype(8, |d| d == DType::I32, "i32")?;
            per_channel(call, 8, j, false)?;
        }
        for at in [1, 2, 6, 7] {
            one_element(call, at)?;
        }
        per_channel(call, 4, j, true)?;
        per_channel(call, 5, j, true)?;
    } else {
        one_element(call, 2)?;
        per_channel(call, 3, j, true)?;
    }
    through(call, "conv", i, j, dtype)
}

/// Checks that a scale or a zero point is for a whole tensor.
fn one_element(call: &Infer<'_>, at: usize) -> Result<(), OpError> {
    let Some(operand) = call.optional(at)? else {
        return Ok(());
    };
    let Some(shape) = &operand.shape else { return Ok(()) };
    if shape.len() > 1 || shape.iter().any(|d| d.as_const().is_some_and(|n| n != 1)) {
        let name = call.def.operand(at).map_or("", |o| o.name);
        return Err(OpError::new(format!("`{name}` must have one element, but is {operand}")).at(at));
    }
    Ok(())
}

/// Checks that an operand has one element for each output channel of the weights, or one for all of them.
fn per_channel(call: &Infer<'_>, at: usize, j: usize, or_one: bool) -> Result<(), OpError> {
    let (Some(operand), Some(weights)) = (call.optional(at)?, call.shape(j)?) else {
        return Ok(());
    };
    let Some(shape) = &operand.shape else { return Ok(()) };
    let channels = weights.iter().next().and_then(Dim::as_const);
    let fits = |d: &Dim| {
        d.as_const()
            .is_none_or(|n| or_one && n == 1 || channels.is_none_or(|channels| n == channels))
    };
    let fits = shape.len() == 1 && shape.iter().all(fits) || or_one && shape.is_empty();
    match fits {
        true => Ok(()),
        false => Err(OpError::new(format!(
            "`{}` must have one element{} for each output channel, but is {operand}",
            call.def.operand(at).map_or("", |o| o.name),
            if or_one { ", or one" } else { "" }
        ))
        .at(at)
        .and(j)),
    }
}

/// Fills in attributes as for a convolution of floating-point operands.
fn canonical(call: &Infer<'_>, attrs: &mut [AttrValue], i: usize, j: usize) -> Result<(), OpError> {
    let Some((def, complete)) = super::lookup("conv").and_then(|def| Some((def, def.canonical?))) else {
        return Ok(());
    };
    let operands = [call.operands[i], call.operands[j]];
    complete(
        &Infer {
            def,
            operands: &operands,
            attrs: call.attrs,
            fresh: call.fresh,
        },
        attrs,
    )
}

fn result_elements(result: &Type) -> f64 {
    result.as_tensor().map_or(1.0, |t| elements(t.shape.as_ref()))
}

pub(super) fn product_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let inner = call
        .shape(0)
        .ok()
        .flatten()
        .and_then(|a| a.last().map(super::cost::extent));
    2.0 * result_elements(result) * inner.unwrap_or(32.0)
}

pub(super) fn conv_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let weights = if call.def.operands.len() > 4 { 3 } else { 1 };
    let kernel: f64 = match call.shape(weights) {
        Ok(Some(w)) => w.iter().skip(1).map(super::cost::extent).product(),
        _ => 32.0,
    };
    2.0 * result_elements(result) * kernel
}

/// The operations of a convolution of quantized numbers and of the steps after it.
pub(super) fn quantized_conv_flops(call: &Infer<'_>, result: &Type) -> f64 {
    conv_flops(call, result) + quantized_steps(call) * result_elements(result)
}

/// The operations of a product of quantized numbers and of the steps after it.
pub(super) fn quantized_product_flops(call: &Infer<'_>, result: &Type) -> f64 {
    product_flops(call, result) + quantized_steps(call) * result_elements(result)
}

/// How many operations a call makes for each element of its result after the sum: an activation, and rounding.
fn quantized_steps(call: &Infer<'_>) -> f64 {
    let rounds = call.operands.get(7).is_some_and(|operand| *operand.ty != Type::Absent);
    f64::from(u8::from(!call.attr("activation").is_none())) + if rounds { 4.0 } else { 0.0 }
}

/// A product of small integers in i32.
pub(super) fn infer_product(call: &Infer<'_>) -> Result<Type, OpError> {
    product(call, 0, 1, DType::I32)
}

/// A product of quantized numbers: of the type of the last zero point.
pub(super) fn infer_quantized_product(call: &Infer<'_>) -> Result<Type, OpError> {
    product(call, 0, 3, call.tensor(7)?.dtype)
}

/// A convolution of small integers in i32.
pub(super) fn infer_conv(call: &Infer<'_>) -> Result<Type, OpError> {
    conv(call, 0, 1, DType::I32)
}

/// A convolution of quantized numbers: of the type of the last zero point.
pub(super) fn infer_quantized_conv(call: &Infer<'_>) -> Result<Type, OpError> {
    conv(call, 0, 3, call.tensor(7)?.dtype)
}

/// The normal form of the attributes of [`infer_conv`].
pub(super) fn canonical_conv(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    canonical(call, attrs, 0, 1)
}

/// The normal form of the attributes of [`infer_quantized_conv`].
pub(super) fn canonical_quantized_conv(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    canonical(call, attrs, 0, 3)
}

/// The type of a product with weights in blocks.
pub(crate) fn infer_nbits(call: &Infer<'_>) -> Result<Type, OpError> {
    let dtype = call.expect_dtype(0, DType::is_float, "a floating-point number")?;
    call.expect_dtype(1, |d| d == DType::U8, "u8")?;
    call.same_dtype(0, 2)?;
    let (bits, block) = (call.const_int("bits").unwrap_or(4), call.const_int("block_size"));
    if bits != 4 && bits != 8 {
        return Err(OpError::new(format!("`bits` must be 4 or 8, but is {bits}")).attr("bits"));
    }
    if let Some(block) = block
        && (block < 1 || block * bits % 8 != 0)
    {
        return Err(OpError::new(format!("a block of {block} weights does not fill bytes")).attr("block_size"));
    }
    if let Some(zeros) = call.optional(3)?
        && zeros.dtype != DType::U8
        && zeros.dtype != dtype
    {
        return Err(OpError::new(format!("`zero_points` must be u8 or {dtype}, but is {zeros}")).at(3));
    }
    if call.optional(4)?.is_some() {
        call.same_dtype(0, 4)?;
    }
    let (Some(a), Some(b)) = (call.shape(0)?, call.shape(1)?) else {
        return Ok(typed(dtype, None));
    };
    let ([outer @ .., inner], [columns, blocks, bytes]) = (&a[..], &b[..]) else {
        return Err(OpError::new("`a` must have an axis, and `b` three").at(0).and(1));
    };
    if let (Some(block), Some(bytes)) = (block, bytes.as_const())
        && bytes * 8 != block * bits
    {
        let message = format!("a block of `b` has {bytes} bytes, but {block} weights of {bits} bits");
        return Err(OpError::new(message).at(1));
    }
    if let (Some(block), Some(inner), Some(blocks)) = (block, inner.as_const(), blocks.as_const())
        && (inner > blocks * block || inner <= (blocks - 1) * block)
    {
        let message = format!("rows of `a` have {inner} elements, which {blocks} blocks of {block} weights do not fit");
        return Err(OpError::new(message).at(0).and(1));
    }
    if let (Some(columns), Some(blocks)) = (columns.as_const(), blocks.as_const()) {
        let zeros = match call.optional(3)? {
            Some(zeros) if zeros.dtype == DType::U8 => (blocks * bits + 7) / 8,
            _ => blocks,
        };
        for (at, each) in [(2, blocks), (3, zeros), (4, 1)] {
            has_elements(call, at, columns * each)?;
        }
    }
    Ok(typed(dtype, Some(outer.iter().chain([columns]).cloned().collect())))
}

/// Checks that an operand, if it is given, has this many elements.
fn has_elements(call: &Infer<'_>, at: usize, count: i64) -> Result<(), OpError> {
    let Some(operand) = call.optional(at)? else {
        return Ok(());
    };
    let shape = operand.shape.as_ref();
    let found: Option<i64> = shape.and_then(|shape| shape.iter().map(Dim::as_const).product());
    match found {
        Some(found) if found != count => {
            let name = call.def.operand(at).map_or("", |o| o.name);
            Err(OpError::new(format!("`{name}` must have {count} elements, but is {operand}")).at(at))
        }
        _ => Ok(()),
    }
}
