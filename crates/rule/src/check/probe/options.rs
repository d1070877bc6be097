//! The operands and attributes to try.

use super::Mode;
use crate::Rule;
use tautomer_lang::ast::{Ast, BinaryOp, ExprId, ExprKind, TypeKind, UnaryOp};
use tautomer_op::{AttrDef, AttrKind, AttrValue, Real};
use tautomer_tensor::{DType, DTypeClass, Dim, Shape, Tensor, TensorType};

/// The dimension used where nothing is known.
const SIDE: i64 = 4;

/// Shapes to try, likely ones first.
const SHAPES: &[&[i64]] = &[
    &[SIDE, SIDE],
    &[SIDE, SIDE, SIDE, SIDE],
    &[SIDE],
    &[],
    &[SIDE, SIDE, SIDE],
    &[SIDE, SIDE, 1, 1],
    &[1],
    &[SIDE, 1, 1],
    &[1, SIDE],
    &[SIDE, 1],
    &[1, 1],
    &[1, SIDE, 1, 1],
    &[SIDE, SIDE, 1],
    &[1, SIDE, SIDE, SIDE],
    &[SIDE, SIDE, SIDE, SIDE, SIDE],
    &[2],
];

/// The number of shapes to try with element types other than `f32`.
const OTHER_SHAPES: usize = 4;

/// The elements of constants to try.
const NUMBERS: &[f64] = &[2.0, 1.0, 0.0, 0.5, 3.0, -1.0, 4.0];

/// Dimensions that a name may stand for.
pub(super) const EXTENTS: &[i64] = &[SIDE, 1, 2, 3];

/// Numbers of members to try.
pub(super) const COUNTS: &[u32] = &[2, 3, 1];

/// Element types to try with shapes.
const DTYPES: &[DType] = &[DType::F32, DType::I64, DType::Bool, DType::I32, DType::F64, DType::U8];

/// The narrow type that represents all of them, since operators treat them alike.
const NARROW: DType = DType::I4;

/// Every element type except the other narrow ones, common ones first.
fn all_dtypes() -> Vec<DType> {
    let alike = |d: DType| d.class() == DTypeClass::Narrow && d != NARROW;
    let others = DType::ALL.iter().filter(|&&d| !DTYPES.contains(&d) && !alike(d));
    DTYPES.iter().chain(others).copied().collect()
}

/// Element types to try with shapes: those in use, and others that the rule declares.
fn usual_dtypes(rule: &Rule) -> Vec<DType> {
    let mut out = DTYPES.to_vec();
    for variable in &rule.variables {
        if let Some(TypeKind::Tensor { dtype: Some(d), .. }) = variable.ty.as_ref().map(|t| &t.kind)
            && !out.contains(&d.dtype)
        {
            out.push(d.dtype);
        }
    }
    out
}

/// The types that a value without a declared type may have.
pub(super) fn types(rule: &Rule, mode: Mode) -> Vec<TensorType> {
    if mode == Mode::AnyShape {
        return all_dtypes().into_iter().map(TensorType::any_rank).collect();
    }
    let dtypes = usual_dtypes(rule);
    let of = |d: DType, shapes: &[&[i64]]| -> Vec<TensorType> { shapes.iter().map(|s| tensor(d, s)).collect() };
    let mut out = of(dtypes[0], SHAPES);
    for &dtype in &dtypes[1..] {
        out.extend(of(dtype, &SHAPES[..OTHER_SHAPES]));
    }
    out
}

/// The types of any rank with that element type, or with any element type.
pub(super) fn types_of(rule: &Rule, mode: Mode, dtype: Option<DType>) -> Vec<TensorType> {
    match dtype {
        None => types(rule, mode),
        Some(d) if mode == Mode::AnyShape => vec![TensorType::any_rank(d)],
        Some(d) => SHAPES.iter().map(|s| tensor(d, s)).collect(),
    }
}

/// The element types of a declared shape.
pub(super) fn dtypes(rule: &Rule, mode: Mode, declared: Option<DType>) -> Vec<DType> {
    match (declared, mode) {
        (Some(d), _) => vec![d],
        (None, Mode::AnyShape) => all_dtypes(),
        (None, Mode::Shapes) => usual_dtypes(rule),
    }
}

fn tensor(dtype: DType, shape: &[i64]) -> TensorType {
    TensorType::new(dtype, shape.iter().map(|&n| Dim::from(n)).collect::<Shape>())
}

/// Constants of a type, if all of its dimensions are known.
pub(super) fn constants(ty: &TensorType) -> Vec<Tensor> {
    let Some(shape) = ty.shape.as_ref().and_then(Shape::to_concrete) else {
        return Vec::new();
    };
    NUMBERS
        .iter()
        .filter_map(|&number| filled(ty.dtype, &shape, number))
        .collect()
}

/// The numbers that a condition says a constant consists of, as in `value(c) == [0.0, 1.0]`.
pub fn given_list(rule: &Rule, constant: &str) -> Option<Vec<f64>> {
    let ast = &rule.ast;
    let is_constant = |id: ExprId| match ast.kind(id) {
        ExprKind::Call { callee, args, .. } => {
            callee.as_str() == "value"
                && matches!(args.as_slice(), [arg] if matches!(ast.kind(*arg), ExprKind::Name(n) if **n == *constant))
        }
        _ => false,
    };
    rule.conditions.iter().find_map(|id| match ast.kind(*id) {
        ExprKind::Binary {
            op: BinaryOp::Eq,
            lhs,
            rhs,
        } if is_constant(*lhs) => match ast.kind(*rhs) {
            ExprKind::List(items) => items.iter().map(|item| number(ast, *item)).collect(),
            _ => None,
        },
        _ => None,
    })
}

/// A literal number, possibly negated.
fn number(ast: &Ast, id: ExprId) -> Option<f64> {
    match ast.kind(id) {
        ExprKind::Int { value, .. } => Some(*value as f64),
        ExprKind::Float { value, .. } => Some(*value),
        ExprKind::Unary {
            op: UnaryOp::Neg,
            operand,
        } => Some(-number(ast, *operand)?),
        _ => None,
    }
}

/// A vector of these numbers; `None` if the element type cannot represent them.
pub(super) fn vector(dtype: DType, numbers: &[f64]) -> Option<Tensor> {
    if dtype.is_float() {
        return Tensor::from_f64s(dtype, &[numbers.len()], numbers);
    }
    let whole: Option<Vec<i128>> = numbers
        .iter()
        .map(|x| (x.fract() == 0.0).then_some(*x as i128))
        .collect();
    Tensor::from_ints(dtype, &[numbers.len()], &whole?)
}

/// A tensor filled with one number; `None` if the element type cannot represent it.
pub(super) fn filled(dtype: DType, shape: &[usize], number: f64) -> Option<Tensor> {
    let n = shape.iter().product();
    if dtype.is_float() {
        Tensor::from_f64s(dtype, shape, &vec![number; n])
    } else if number.fract() == 0.0 {
        Tensor::from_ints(dtype, shape, &vec![number as i128; n])
    } else {
        None
    }
}

/// Values of an attribute to try; `None` omits it.
pub(super) fn attributes(attr: &AttrDef) -> Vec<Option<AttrValue>> {
    let ints = |lists: &[&[i64]]| -> Vec<AttrValue> { lists.iter().map(|l| AttrValue::ints(l)).collect() };
    let values: Vec<AttrValue> = match attr.kind {
        AttrKind::Bool => vec![AttrValue::Bool(false), AttrValue::Bool(true)],
        AttrKind::Int => [1, 2, 0, 4].map(AttrValue::int).to_vec(),
        AttrKind::Axis(_) => [0, 1, -1, 2].map(AttrValue::int).to_vec(),
        AttrKind::Axes(_) => ints(&[&[0], &[1], &[0, 1], &[2, 3], &[-1], &[1, 0], &[0, 2, 3, 1], &[]]),
        AttrKind::Ints => ints(&[
            &[SIDE, SIDE],
            &[1, 1],
            &[0, 0, 0, 0],
            &[2, 2],
            &[SIDE],
            &[1],
            &[SIDE * SIDE],
            &[SIDE, 1],
            &[1, 0],
            &[0, 1],
            &[0, 2, 3, 1],
            &[0, 3, 1, 2],
            &[1, 1, 1, 1],
            &[2, 2, 2],
            &[0, 0, 0, 0, 0, 0],
            &[0, 0],
            &[2],
            &[0, 0, 0, 0, 0, 0, 0, 0],
            &[SIDE, SIDE, SIDE, SIDE],
            &[0],
            &[],
        ]),
        AttrKind::Float => [1.0, 0.5, 0.0, 2.0].map(AttrValue::float).to_vec(),
        AttrKind::OneOf(all) => all.iter().map(|s| AttrValue::str(s)).collect(),
        AttrKind::DType => DType::ALL.iter().map(|&d| AttrValue::DType(d)).collect(),
        AttrKind::Tensor => vec![
            AttrValue::Tensor(Tensor::scalar(1f32)),
            AttrValue::Tensor(Tensor::scalar(1i64)),
        ],
        AttrKind::Region => Vec::new(),
        AttrKind::Floats => [&[][..], &[1.0, 1.0, 2.0, 2.0], &[1.0, 1.0, 2.0], &[2.0, 2.0], &[2.0]]
            .map(|list: &[f64]| AttrValue::Floats(list.iter().map(|x| Real(*x)).collect()))
            .to_vec(),
        AttrKind::Strs => vec![AttrValue::Strs(Vec::new())],
        AttrKind::Str => vec![AttrValue::str(if attr.name == "equation" { "ij,jk->ik" } else { "" })],
    };
    let left_out = attr.default_value().is_some().then_some(None);
    left_out.into_iter().chain(values.into_iter().map(Some)).collect()
}
