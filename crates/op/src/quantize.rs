//! Conversion between floating-point numbers and small integers, with a scale and a zero point for a whole tensor, for
//! each position of an axis, or for each block of positions.

use super::common::{set, typed};
use super::{AttrDef, AttrKind, AttrValue, CostRule, Default, Infer, OpDef, OpError, Operand};
use tautomer_tensor::{DType, DTypeClass, Dim, Shape, Type};

const AXIS: AttrDef = AttrDef::new(
    "axis",
    AttrKind::Int,
    Default::Int(1),
    "the axis with a scale for each position or block; unused if there is a single scale",
);
const BLOCK: AttrDef = AttrDef::new(
    "block_size",
    AttrKind::Int,
    Default::Int(0),
    "the number of positions of the axis that share a scale; 0 for no blocks",
);

/// Binds `$name` to the operand `$operand`, reshaped so that it broadcasts to `x`.
macro_rules! spread {
    ($name:literal, $operand:literal) => {
        concat!(
            "let ",
            $name,
            " = when block_size > 0 and ",
            $operand,
            ".rank == x.rank and x.rank > 0 {
               let blocks = reshape(expand(unsqueeze(",
            $operand,
            ") {axes = [axis + 1]}) {
                 shape = ",
            $operand,
            ".shape[..axis + 1] ++ [block_size] ++ ",
            $operand,
            ".shape[axis + 1..]
               }) {
                 shape = ",
            $operand,
            ".shape[..axis] ++ [",
            $operand,
            ".shape[axis] * block_size] ++ ",
            $operand,
            ".shape[axis + 1..]
               };
               when blocks.shape[axis] == x.shape[axis] { blocks } else {
                 slice(blocks) {starts = [0], ends = [x.shape[axis]], axes = [axis]}
               }
             } else {
               when ",
            $operand,
            ".rank == 1 {
                 when ",
            $operand,
            ".shape[0] == 1 { reshape(",
            $operand,
            ") {shape = []} } else {
                   reshape(",
            $operand,
            ") {shape = [",
            $operand,
            ".shape[0]] ++ [1 for i in range(axis + 1, x.rank)]}
                 }
               } else { ",
            $operand,
            " }
             };\n"
        )
    };
}

/// Binds `$name` to the value `$from` as `f32`.
macro_rules! wide {
    ($name:literal, $from:literal) => {
        concat!(
            "let ",
            $name,
            " = when ",
            $from,
            ".dtype == f32 { ",
            $from,
            " } else { cast(",
            $from,
            ") {to = f32} };\n"
        )
    };
}

/// The integral number `$y` clamped to the range of the integer type `$dtype` and converted to it.
macro_rules! saturated {
    ($y:literal, $dtype:literal) => {
        concat!(
            "when ",
            $dtype,
            " == u8 { ",
            "cast(min(max(",
            $y,
            ", 0.0), 255.0)) {to = u8}",
            " } else {
             when ",
            $dtype,
            " == i8 { ",
            "cast(min(max(",
            $y,
            ", -128.0), 127.0)) {to = i8}",
            " } else {
             when ",
            $dtype,
            " == u16 { ",
            "cast(min(max(",
            $y,
            ", 0.0), 65535.0)) {to = u16}",
            " } else {
             when ",
            $dtype,
            " == i16 { ",
            "cast(min(max(",
            $y,
            ", -32768.0), 32767.0)) {to = i16}",
            " } else {
             when ",
            $dtype,
            " == u4 { ",
            "cast(min(max(",
            $y,
            ", 0.0), 15.0)) {to = u4}",
            " } else {
             when ",
            $dtype,
            " == i4 { ",
            "cast(min(max(",
            $y,
            ", -8.0), 7.0)) {to = i4}",
            " } else {
             when ",
            $dtype,
            " == u2 { ",
            "cast(min(max(",
            $y,
            ", 0.0), 3.0)) {to = u2}",
            " } else {
             ",
            "cast(min(max(",
            $y,
            ", -2.0), 1.0)) {to = i2}",
            " } } } } } } }"
        )
    };
}
pub(super) use {saturated, wide};

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new(
        "quantize_linear",
        "`x / scale`, rounded, plus the zero point, clamped to the range of the integer type.",
    )
    .operands(&[
        Operand::one("x"),
        Operand::one("scale"),
        Operand::optional("zero_point"),
    ])
    .attrs(&[
        AXIS,
        BLOCK,
        AttrDef::new(
            "output_dtype",
            AttrKind::DType,
            Default::None,
            "element type of the result; by default that of the zero point, or u8",
        ),
        AttrDef::new(
            "precision",
            AttrKind::DType,
            Default::None,
            "element type of the division; that of the scale if left out",
        ),
        AttrDef::new(
            "saturate",
            AttrKind::Bool,
            Default::Bool(true),
            "for 8-bit floats: whether values out of range become the largest one",
        ),
    ])
    .canonical(canonical_quantize)
    .infer(infer_quantize)
    .body(concat!(
        "fn (x, scale, zero_point) {\n",
        spread!("s", "scale"),
        "let sp = when given(precision) {
           when s.dtype == precision { s } else { cast(s) {to = precision} }
         } else { s };
         let xp = when x.dtype == sp.dtype { x } else { cast(x) {to = sp.dtype} };
         let q = xp / sp;
         let r = when output_dtype in [f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1] { q } else { round(q) };\n",
        wide!("y", "r"),
        "let shifted = when given(zero_point) {\n",
        spread!("z", "zero_point"),
        "  y + cast(z) {to = f32}
         } else { y };
         when output_dtype in [f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f4e2m1] {
           cast(shifted) {to = output_dtype, saturate = saturate}
         } else {\n",
        saturated!("shifted", "output_dtype"),
        "}}"
    ))
    .cost(CostRule::Elementwise(4.0))
    .onnx("QuantizeLinear", 10),
    OpDef::new(
        "dequantize_linear",
        "The difference of `x` and the zero point, times the scale.",
    )
    .operands(&[
        Operand::one("x"),
        Operand::one("scale"),
        Operand::optional("zero_point"),
    ])
    .attrs(&[
        AXIS,
        BLOCK,
        AttrDef::new(
            "output_dtype",
            AttrKind::DType,
            Default::None,
            "element type of the result; that of the scale if left out",
        ),
    ])
    .canonical(canonical_dequantize)
    .infer(infer_dequantize)
    .unpacks()
    .body(concat!(
        "fn (x, scale, zero_point) {\n",
        spread!("s", "scale"),
        wide!("sw", "s"),
        wide!("xw", "x"),
        "let d = when given(zero_point) {\n",
        spread!("z", "zero_point"),
        "  xw - cast(z) {to = f32}
         } else { xw };
         let y = d * sw;
         when output_dtype == f32 { y } else { cast(y) {to = output_dtype} }
         }"
    ))
    .cost(CostRule::Elementwise(2.0))
    .onnx("DequantizeLinear", 10),
    OpDef::new(
        "dynamic_quantize_linear",
        "The elements quantized to u8 over their range extended to 0, the scale, and the zero point.",
    )
    .operands(&[Operand::one("x")])
    .infer(infer_dynamic)
    .body(concat!(
        "fn (x) {
           let high = max(reduce_max(x) {keepdims = false}, 0.0);
           let low = min(reduce_min(x) {keepdims = false}, 0.0);
           let scale = where(high == low, 1.0, high - low) / 255.0;
           let zero = round(min(max(-low / scale, 0.0), 255.0));
           let y = round(x / scale) + zero;
           (",
        saturated!("y", "u8"),
        ", scale, cast(zero) {to = u8})
         }"
    ))
    .cost(CostRule::PerInput(6.0))
    .onnx("DynamicQuantizeLinear", 11),
];

/// Counts the axis from the front where it has a meaning, and leaves it alone where it does not.
fn canonical_axis(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let (Some(x), Some(scale)) = (call.tensor(0)?.rank(), call.shape(1)?) else {
        return Ok(());
    };
    let one = scale.is_empty() || (scale.len() == 1 && scale[0] == Dim::Const(1));
    let axis = if one { 1 } else { call.axis("axis", x)? as i64 };
    set(call, attrs, "axis", AttrValue::int(axis));
    Ok(())
}

fn canonical_quantize(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    let named = call.dtype("output_dtype");
    let zero = call.optional(2)?.map(|t| t.dtype);
    if let (Some(named), Some(zero)) = (named, zero)
        && named != zero
    {
        return Err(
            OpError::new(format!("`output_dtype` is {named}, but the zero point is {zero}"))
                .at(2)
                .attr("output_dtype"),
        );
    }
    let dtype = zero.or(named).unwrap_or(DType::U8);
    set(call, attrs, "output_dtype", AttrValue::DType(dtype));
    canonical_axis(call, attrs)
}

fn canonical_dequantize(call: &Infer<'_>, attrs: &mut [AttrValue]) -> Result<(), OpError> {
    if call.dtype("output_dtype").is_none() {
        set(call, attrs, "output_dtype", AttrValue::DType(call.tensor(1)?.dtype));
    }
    canonical_axis(call, attrs)
}

/// True for a scalar or a vector of one element, which models use for each other.
fn is_single(shape: &Shape) -> bool {
    shape.len() <= 1 && shape.size() == Dim::Const(1)
}

/// Checks the shape of the scale, and that the zero point has the same.
fn scales(call: &Infer<'_>) -> Result<(), OpError> {
    call.expect_dtype(1, DType::is_float, "a floating-point number")?;
    let (x, scale) = (call.tensor(0)?, call.tensor(1)?);
    if let Some(zero) = call.optional(2)?
        && let (Some(a), Some(b)) = (&scale.shape, &zero.shape)
        && a.len() != b.len()
        && !(is_single(a) && is_single(b))
    {
        return Err(
            OpError::new(format!("the scale is {scale}, but the zero point is {zero}"))
                .at(1)
                .and(2),
        );
    }
    let (Some(whole), Some(given)) = (&x.shape, &scale.shape) else {
        return Ok(());
    };
    let block = call.const_int("block_size").unwrap_or(0);
    if block < 0 {
        return Err(OpError::new(format!("`block_size` must not be negative, but is {block}")).attr("block_size"));
    }
    let wrong = |why: &str| {
        Err(OpError::new(format!("the scale {scale} {why} of `x`, {x}"))
            .at(1)
            .and(0))
    };
    let differ = |a: &Dim, b: &Dim| matches!((a, b), (Dim::Const(a), Dim::Const(b)) if a != b);
    if given.is_empty() || (given.len() == 1 && given[0] == Dim::Const(1)) {
        return Ok(());
    }
    let axis = call.axis("axis", whole.len())?;
    if block > 0 {
        let blocks = |n: i64| Dim::Const(n / block + i64::from(n % block != 0));
        let expected: Shape = whole
            .iter()
            .enumerate()
            .map(|(i, d)| match d.as_const() {
                Some(n) if i == axis => blocks(n),
                None if i == axis => given.get(i).cloned().unwrap_or(Dim::Const(0)),
                _ => d.clone(),
            })
            .collect();
        if given.len() != whole.len() || given.iter().zip(expected.iter()).any(|(a, b)| differ(a, b)) {
            return wrong("does not have one number for each block");
        }
    } else if given.len() != 1 || differ(&given[0], &whole[axis]) {
        return wrong("does not have one number for each position of an axis");
    }
    Ok(())
}

/// True for the types that numbers can be quantized to.
fn small(dtype: DType) -> bool {
    let narrow = dtype.class() == DTypeClass::Narrow && dtype != DType::F8E8M0;
    narrow || matches!(dtype, DType::U8 | DType::I8 | DType::U16 | DType::I16)
}

fn infer_quantize(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d.is_float() || d == DType::I32, "a number")?;
    scales(call)?;
    let dtype = call.dtype("output_dtype").unwrap_or(DType::U8);
    if !small(dtype) {
        return Err(OpError::new(format!("the result is {dtype}, but must have 16 bits or less")).attr("output_dtype"));
    }
    if let Some(precision) = call.dtype("precision")
        && !precision.is_float()
    {
        return Err(OpError::new(format!(
            "`precision` is {precision}, which is not a floating-point type"
        ))
        .attr("precision"));
    }
    Ok(typed(dtype, call.shape(0)?.cloned()))
}

fn infer_dequantize(call: &Infer<'_>) -> Result<Type, OpError> {
    let ok = |d: DType| small(d) || d == DType::I32;
    call.expect_dtype(0, ok, "a small integer or i32")?;
    if call.optional(2)?.is_some() {
        call.same_dtype(0, 2)?;
    }
    scales(call)?;
    let dtype = call.dtype("output_dtype").unwrap_or(call.tensor(1)?.dtype);
    if !dtype.is_float() {
        return Err(
            OpError::new(format!("the result is {dtype}, which is not a floating-point type")).attr("output_dtype"),
        );
    }
    Ok(typed(dtype, call.shape(0)?.cloned()))
}

fn infer_dynamic(call: &Infer<'_>) -> Result<Type, OpError> {
    call.expect_dtype(0, |d| d == DType::F32, "f32")?;
    let scalar = || Some(Shape::from(&[] as &[usize]));
    Ok(Type::Tuple(vec![
        typed(DType::U8, call.shape(0)?.cloned()),
        typed(DType::F32, scalar()),
        typed(DType::U8, scalar()),
    ]))
}
