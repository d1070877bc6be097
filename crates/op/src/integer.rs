//! Products and convolutions of small integers with zero points.

use super::common::typed;
use super::quantize::{saturated, wide};
use super::window::{AUTO_PAD, DILATIONS, PADS, STRIDES};
use super::{
    AttrDef, AttrKind, AttrValue, CostRule, Default, Fact, Infer, OpDef, OpError, Operand, conv::GROUP, cost::elements,
};
use tautomer_tensor::{DType, Dim, Type};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "matmul_integer",
        "Matrix product in i32 of small integers minus their zero points.",
    )
    .operands(&[
        Operand::one("a"),
        Operand::one("b"),
        Operand::optional("a_zero_point"),
        Operand::optional("b_zero_point"),
    ])
    .infer(|call| product(call, 0, 1, DType::I32))
    .body(
        "fn (a, b, a_zero_point, b_zero_point) {
           let ai = cast(a) {to = i32};
           let bi = cast(b) {to = i32};
           let x = when not given(a_zero_point) { ai } else {
             let z = cast(a_zero_point) {to = i32};
             ai - when z.rank == 1 and a.rank > 1 { unsqueeze(z) {axes = [1]} } else { z }
           };
           let y = when given(b_zero_point) { bi - cast(b_zero_point) {to = i32} } else { bi };
           matmul(x, y)
         }",
    )
    .cost(CostRule::Flops(product_flops))
    .onnx("MatMulInteger", 10),
    OpDef::new(
        "qlinear_matmul",
        "Matrix product of quantized numbers, with a quantized result.",
    )
    .operands(&[
        Operand::one("a"),
        Operand::one("a_scale"),
        Operand::one("a_zero_point"),
        Operand::one("b"),
        Operand::one("b_scale"),
        Operand::one("b_zero_point"),
        Operand::one("y_scale"),
        Operand::one("y_zero_point"),
    ])
    .infer(|call| product(call, 0, 3, call.tensor(7)?.dtype))
    .body(concat!(
        "fn (a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point) {
           let sum = cast(matmul_integer(a, b, a_zero_point, b_zero_point)) {to = f32};
           let left = when a_scale.rank == 1 and a.rank > 1 { unsqueeze(a_scale) {axes = [1]} } else { a_scale };
           let down = when y_scale.rank == 1 and a.rank > 1 { unsqueeze(y_scale) {axes = [1]} } else { y_scale };
           let zero = when y_zero_point.rank == 1 and a.rank > 1 {
             unsqueeze(y_zero_point) {axes = [1]}
           } else { y_zero_point };
           let scale = left * b_scale / down;\n",
        wide!("factor", "scale"),
        "let y = round(sum * factor) + cast(zero) {to = f32};\n",
        saturated!("y", "y_zero_point.dtype"),
        "}"
    ))
    .cost(CostRule::Flops(product_flops))
    .onnx("QLinearMatMul", 10),
    OpDef::new(
        "matmul_nbits",
        "Matrix product with weights of 4 or 8 bits in blocks along the axis that is summed over, with a scale and a zero \
         point for each block; in `b[n, blocks, bytes]`, the lower bits of a byte come first.",
    )
    .operands(&[
        Operand::one("a"),
        Operand::one("b"),
        Operand::one("scales"),
        Operand::optional("zero_points"),
        Operand::optional("bias"),
    ])
    .attrs(&[
        AttrDef::new("bits", AttrKind::Int, Default::Int(4), "the bits of a weight: 4 or 8"),
        AttrDef::new("block_size", AttrKind::Int, Default::Required, "the weights of a block"),
    ])
    .infer(nbits)
    .body(
        "fn (a, b, scales, zero_points, bias) {
           let digits = when bits == 8 { b } else {
             let pairs = unsqueeze(b) {axes = [3]};
             concat(bitwise_and(pairs, 15), bit_shift(pairs, 4u8) {direction = \"RIGHT\"}) {axis = 3}
           };
           let q = cast(reshape(digits) {shape = [b.shape[0], b.shape[1], block_size]}) {to = a.dtype};
           let zero = when not given(zero_points) { when bits == 8 { 128.0 } else { 8.0 } } else {
             when zero_points.dtype == a.dtype { reshape(zero_points) {shape = [b.shape[0], b.shape[1], 1]} } else {
               let bytes = when bits == 8 { zero_points } else {
                 let z = reshape(zero_points) {shape = [b.shape[0], (b.shape[1] + 1) / 2, 1]};
                 concat(bitwise_and(z, 15), bit_shift(z, 4u8) {direction = \"RIGHT\"}) {axis = 2}
               };
               let flat = reshape(bytes) {shape = [b.shape[0], -1]};
               unsqueeze(
                 cast(slice(flat) {starts = [0], ends = [b.shape[1]], axes = [1]}) {to = a.dtype}
               ) {axes = [2]}
             }
           };
           let w = reshape(
             (q - zero) * reshape(scales) {shape = [b.shape[0], b.shape[1], 1]}
           ) {shape = [b.shape[0], b.shape[1] * block_size]};
           let y = matmul(
             a, transpose(slice(w) {starts = [0], ends = [a.shape[a.rank - 1]], axes = [1]}) {perm = [1, 0]}
           );
           when given(bias) { y + bias } else { y }
         }",
    )
    .cost(CostRule::Flops(product_flops)),
    OpDef::new(
        "conv_integer",
        "Convolution in i32 of small integers minus their zero points.",
    )
    .operands(&[
        Operand::one("x"),
        Operand::one("w"),
        Operand::optional("x_zero_point"),
        Operand::optional("w_zero_point"),
    ])
    .attrs(&[AUTO_PAD, STRIDES, PADS, DILATIONS, GROUP])
    .infer(|call| conv(call, 0, 1, DType::I32))
    .canonical(|call, attrs| canonical(call, attrs, 0, 1))
    // Sums of products of 17-bit numbers are exact in double precision.
    .body(
        "fn (x, w, x_zero_point, w_zero_point) {
           let xd = cast(x) {to = f64};
           let wd = cast(w) {to = f64};
           let xz = when not given(x_zero_point) { xd } else {
             xd - when x_zero_point.rank == 1 {
               reshape(cast(x_zero_point) {to = f64}) {shape = []}
             } else { cast(x_zero_point) {to = f64} }
           };
           let wz = when not given(w_zero_point) { wd } else {
             wd - when w_zero_point.rank == 1 {
               reshape(cast(w_zero_point) {to = f64}) {shape = [-1] ++ [1 for i in range(1, w.rank)]}
             } else { cast(w_zero_point) {to = f64} }
           };
           cast(conv(xz, wz) {
             auto_pad = auto_pad, strides = strides, pads = pads, dilations = dilations, group = group
           }) {to = i32}
         }",
    )
    .cost(CostRule::Flops(conv_flops))
    .onnx("ConvInteger", 10),
    OpDef::new("qlinear_conv", "Convolution of quantized numbers, with a quantized result.")
        .operands(&[
            Operand::one("x"),
            Operand::one("x_scale"),
            Operand::one("x_zero_point"),
            Operand::one("w"),
            Operand::one("w_scale"),
            Operand::one("w_zero_point"),
            Operand::one("y_scale"),
            Operand::one("y_zero_point"),
            Operand::optional("b"),
        ])
        .attrs(&[AUTO_PAD, STRIDES, PADS, DILATIONS, GROUP])
        .infer(|call| conv(call, 0, 3, call.tensor(7)?.dtype))
        .canonical(|call, attrs| canonical(call, attrs, 0, 3))
        .body(concat!(
            "fn (x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, b) {
               let raw = conv_integer(x, w, x_zero_point, w_zero_point) {
                 auto_pad = auto_pad, strides = strides, pads = pads, dilations = dilations, group = group
               };
               let sum = when given(b) { raw + reshape(b) {shape = [-1] ++ [1 for i in range(2, x.rank)]} } else { raw };
               let each = when w_scale.rank == 1 {
                 reshape(w_scale) {shape = [-1] ++ [1 for i in range(2, x.rank)]}
               } else { w_scale };
               let factor = x_scale * each / y_scale;
               let y = round(cast(sum) {to = f32} * factor) + cast(y_zero_point) {to = f32};\n",
            saturated!("y", "y_zero_point.dtype"),
            "}"
        ))
        .cost(CostRule::Flops(conv_flops))
        .onnx("QLinearConv", 10),
];

/// The type of a product with weights in blocks.
fn nbits(call: &Infer<'_>) -> Result<Type, OpError> {
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

/// Checks that an operand, if it is given, has so many elements.
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

fn product_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let inner = call
        .shape(0)
        .ok()
        .flatten()
        .and_then(|a| a.last().map(super::cost::extent));
    2.0 * result_elements(result) * inner.unwrap_or(32.0)
}

fn conv_flops(call: &Infer<'_>, result: &Type) -> f64 {
    let weights = if call.def.operands.len() > 4 { 3 } else { 1 };
    let kernel: f64 = match call.shape(weights) {
        Ok(Some(w)) => w.iter().skip(1).map(super::cost::extent).product(),
        _ => 32.0,
    };
    2.0 * result_elements(result) * kernel
}
