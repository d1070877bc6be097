//! Sequences of values, and optional values. `graph::flow` defines what they compute.

use super::infer::resolve_axis;
use super::{AttrDef, AttrKind, AttrValue, CostRule, Default, Flow, Infer, OpDef, OpError, Operand};
use tautomer_tensor::{DType, Dim, Shape, Tensor, TensorType, Type};

const SEQUENCE: Operand = Operand::one("input_sequence");
const POSITION: Operand = Operand::one("position");
const POSITION_OR_END: Operand = Operand::optional("position");
const INPUT: Operand = Operand::one("input");

/// The operators of this family.
pub(super) const OPS: &[OpDef] = &[
    OpDef::new("sequence_construct", "A sequence of its operands.")
        .operands(&[Operand::variadic("inputs")])
        .infer(infer_construct)
        .flow(Flow::Sequence)
        .cost(CostRule::View)
        .onnx("SequenceConstruct", 11),
    OpDef::new("sequence_empty", "An empty sequence of tensors of an element type.")
        .attrs(&[AttrDef::new(
            "dtype",
            AttrKind::DType,
            Default::DType(DType::F32),
            "the element type of the tensors",
        )])
        .infer(infer_empty)
        .flow(Flow::Empty)
        .cost(CostRule::View)
        .onnx("SequenceEmpty", 11),
    OpDef::new("sequence_at", "The element at a position; -1 is the last.")
        .operands(&[SEQUENCE, POSITION])
        .infer(infer_at)
        .flow(Flow::At)
        .cost(CostRule::View)
        .onnx("SequenceAt", 11),
    OpDef::new(
        "sequence_insert",
        "Inserts an element into a sequence before a position; at the end if it is left out.",
    )
    .operands(&[SEQUENCE, Operand::one("tensor"), POSITION_OR_END])
    .infer(infer_insert)
    .flow(Flow::Insert)
    .cost(CostRule::View)
    .onnx("SequenceInsert", 11),
    OpDef::new(
        "sequence_erase",
        "Removes the element at a position from a sequence; the last if it is left out.",
    )
    .operands(&[SEQUENCE, POSITION_OR_END])
    .infer(infer_erase)
    .flow(Flow::Erase)
    .cost(CostRule::View)
    .onnx("SequenceErase", 11),
    OpDef::new("sequence_length", "The number of elements.")
        .operands(&[SEQUENCE])
        .infer(infer_length)
        .flow(Flow::Length)
        .cost(CostRule::View)
        .onnx("SequenceLength", 11),
    OpDef::new(
        "split_to_sequence",
        "Splits a tensor along an axis into parts of one size, of the sizes in `split`, or of size 1.",
    )
    .operands(&[INPUT, Operand::optional("split")])
    .attrs(&[
        AttrDef::new("axis", AttrKind::Int, Default::Int(0), "the axis to split"),
        AttrDef::new(
            "keepdims",
            AttrKind::Bool,
            Default::Bool(true),
            "whether parts keep the axis if they have size 1 because `split` is left out",
        ),
    ])
    .infer(infer_split)
    .flow(Flow::Split)
    .cost(CostRule::Elementwise(0.0))
    .onnx("SplitToSequence", 11),
    OpDef::new(
        "concat_from_sequence",
        "Concatenates all elements along an axis, or stacks them along a new one.",
    )
    .operands(&[SEQUENCE])
    .attrs(&[
        AttrDef::new("axis", AttrKind::Int, Default::Required, "the axis"),
        AttrDef::new(
            "new_axis",
            AttrKind::Bool,
            Default::Bool(false),
            "whether it is a new axis",
        ),
    ])
    .infer(infer_concat)
    .flow(Flow::Concat)
    .cost(CostRule::Elementwise(0.0))
    .onnx("ConcatFromSequence", 11),
    OpDef::new("optional", "An optional value that is present.")
        .operands(&[INPUT])
        .infer(infer_optional)
        .flow(Flow::Optional)
        .cost(CostRule::View)
        .onnx("Optional", 15),
    OpDef::new("optional_missing", "An optional value that is absent.")
        .attrs(&[
            AttrDef::new(
                "dtype",
                AttrKind::DType,
                Default::DType(DType::F32),
                "the element type of the tensors",
            ),
            AttrDef::new(
                "sequence",
                AttrKind::Bool,
                Default::Bool(false),
                "whether it is a sequence of tensors instead of a tensor",
            ),
        ])
        .infer(infer_missing)
        .flow(Flow::Missing)
        .cost(CostRule::View),
    OpDef::new(
        "optional_get_element",
        "The content of an optional value; any other value is returned as it is.",
    )
    .operands(&[INPUT])
    .infer(infer_inside)
    .flow(Flow::Inside)
    .cost(CostRule::View)
    .onnx("OptionalGetElement", 15),
    OpDef::new(
        "optional_has_element",
        "Whether an optional value is present; other values always are.",
    )
    .operands(&[Operand::optional("input")])
    .infer(infer_is_there)
    .flow(Flow::IsThere)
    .cost(CostRule::View)
    .onnx("OptionalHasElement", 15),
];

/// The type of the elements of operand 0.
fn element<'a>(call: &Infer<'a>) -> Result<&'a Type, OpError> {
    match call.operands.first().map(|o| o.ty) {
        Some(Type::Sequence(item)) => Ok(item),
        Some(other) => Err(OpError::new(format!("expected a sequence, but this is {other}")).at(0)),
        None => Err(OpError::new("operand `input_sequence` is missing")),
    }
}

fn sequence(item: Type) -> Type {
    Type::Sequence(Box::new(item))
}

fn position(call: &Infer<'_>, i: usize) -> Result<(), OpError> {
    let Some(ty) = call.optional(i)? else { return Ok(()) };
    let one = |s: &Shape| s.iter().all(|d| !matches!(d, Dim::Const(n) if *n != 1));
    if !ty.dtype.is_int() || !ty.shape.as_ref().is_none_or(one) {
        return Err(OpError::new(format!("a position must be one integer, but this is {ty}")).at(i));
    }
    Ok(())
}

fn both(call: &Infer<'_>, a: &Type, b: &Type, place: usize) -> Result<Type, OpError> {
    super::branch::join(a, b, &mut || call.unknown())
        .ok_or_else(|| OpError::new(format!("a sequence cannot have elements {a} and {b}")).at(place))
}

fn infer_construct(call: &Infer<'_>) -> Result<Type, OpError> {
    let mut item = Type::from(call.tensor(0)?.clone());
    for i in 1..call.operands.len() {
        item = both(call, &item, call.operands[i].ty, i)?;
    }
    Ok(sequence(item))
}

fn dtype(call: &Infer<'_>) -> DType {
    match call.attr("dtype") {
        AttrValue::DType(dtype) => dtype,
        _ => DType::F32,
    }
}

fn infer_empty(call: &Infer<'_>) -> Result<Type, OpError> {
    Ok(sequence(TensorType::any_rank(dtype(call)).into()))
}

fn infer_at(call: &Infer<'_>) -> Result<Type, OpError> {
    let item = element(call)?.clone();
    position(call, 1)?;
    Ok(again(call, &item))
}

/// The type of an element, with fresh unknown dimensions, since elements may differ in them.
fn again(call: &Infer<'_>, item: &Type) -> Type {
    match item {
        Type::Tensor(t) => TensorType {
            dtype: t.dtype,
            shape: t.shape.as_ref().map(|s| {
                s.iter()
                    .map(|d| if d.has_unknown() { call.unknown() } else { d.clone() })
                    .collect()
            }),
        }
        .into(),
        other => other.clone(),
    }
}

fn infer_insert(call: &Infer<'_>) -> Result<Type, OpError> {
    let item = element(call)?;
    position(call, 2)?;
    let new = Type::from(call.tensor(1)?.clone());
    Ok(sequence(both(call, item, &new, 1)?))
}

fn infer_erase(call: &Infer<'_>) -> Result<Type, OpError> {
    position(call, 1)?;
    Ok(sequence(element(call)?.clone()))
}

fn infer_length(call: &Infer<'_>) -> Result<Type, OpError> {
    element(call)?;
    Ok(Type::tensor(DType::I64, Shape::scalar()))
}

fn infer_split(call: &Infer<'_>) -> Result<Type, OpError> {
    let x = call.tensor(0)?;
    let split = call.optional(1)?;
    let Some(shape) = &x.shape else {
        return Ok(sequence(TensorType::any_rank(x.dtype).into()));
    };
    let axis = match call.attr("axis") {
        AttrValue::Int(Dim::Const(axis)) => resolve_axis(axis, shape.len()).map_err(|e| e.attr("axis"))?,
        _ => 0,
    };
    let mut dims: Vec<Dim> = shape.iter().cloned().collect();
    match split {
        None if call.attr("keepdims") == AttrValue::Bool(false) => {
            dims.remove(axis);
        }
        None => dims[axis] = Dim::Const(1),
        Some(_) => {
            let parts = call.operands[1].value.and_then(Tensor::to_ints);
            let first = parts.as_ref().and_then(|parts| parts.first().copied());
            let even = |n: i128| {
                let whole = dims[axis].as_const().is_some_and(|d| n > 0 && i128::from(d) % n == 0);
                parts
                    .as_ref()
                    .is_some_and(|p| p.iter().all(|&m| m == n) && (p.len() > 1 || whole))
            };
            dims[axis] = match first.filter(|&n| even(n)).and_then(|n| i64::try_from(n).ok()) {
                Some(n) => Dim::Const(n),
                None => call.unknown(),
            };
        }
    }
    Ok(sequence(Type::tensor(x.dtype, dims.into_iter().collect::<Shape>())))
}

fn infer_concat(call: &Infer<'_>) -> Result<Type, OpError> {
    let Type::Tensor(item) = again(call, element(call)?) else {
        return Err(OpError::new("only tensors can be concatenated").at(0));
    };
    let Some(shape) = &item.shape else {
        return Ok(TensorType::any_rank(item.dtype).into());
    };
    let new = call.attr("new_axis") == AttrValue::Bool(true);
    let AttrValue::Int(Dim::Const(axis)) = call.attr("axis") else {
        return Err(OpError::new("the axis is unknown").attr("axis"));
    };
    let axis = resolve_axis(axis, shape.len() + usize::from(new)).map_err(|e| e.attr("axis"))?;
    let mut dims: Vec<Dim> = shape.iter().cloned().collect();
    match new {
        true => dims.insert(axis, call.unknown()),
        false => dims[axis] = call.unknown(),
    }
    Ok(Type::tensor(item.dtype, dims.into_iter().collect::<Shape>()))
}

fn infer_optional(call: &Infer<'_>) -> Result<Type, OpError> {
    match call.operands.first().map(|o| o.ty) {
        Some(ty @ (Type::Tensor(_) | Type::Sequence(_))) => Ok(Type::Optional(Box::new(ty.clone()))),
        Some(other) => Err(OpError::new(format!("{other} cannot be optional")).at(0)),
        None => Err(OpError::new("operand `input` is missing")),
    }
}

fn infer_missing(call: &Infer<'_>) -> Result<Type, OpError> {
    let tensor = TensorType::any_rank(dtype(call)).into();
    Ok(Type::Optional(Box::new(match call.attr("sequence") {
        AttrValue::Bool(true) => sequence(tensor),
        _ => tensor,
    })))
}

fn infer_inside(call: &Infer<'_>) -> Result<Type, OpError> {
    match call.operands.first().map(|o| o.ty) {
        Some(Type::Optional(item)) => Ok((**item).clone()),
        Some(Type::Absent) | None => Err(OpError::new("operand `input` is missing")),
        Some(other) => Ok(other.clone()),
    }
}

fn infer_is_there(_: &Infer<'_>) -> Result<Type, OpError> {
    Ok(Type::tensor(DType::Bool, Shape::scalar()))
}
