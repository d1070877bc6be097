//! Element types that a condition lists, one by one.

use tautomer_graph::Graph;
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind};
use tautomer_op::{AttrKind, Op, OpDef, OperandKind};
use tautomer_rule::Rule;
use tautomer_tensor::{DType, Shape, TensorType};

/// Limit on the combinations of element types that are tried.
const COMBINATIONS: usize = 32;

/// Something that has an element type, or is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    Variable(usize),
    /// A name that an attribute of the source is bound to.
    Name(String),
}

/// All combinations of the element types of variables and names that conditions list: `x.dtype in [u8, i8]`; `None`
/// if there are none, or too many. Wherever the rule applies, one of them is what its variables have.
pub(super) fn listed(rule: &Rule) -> Option<Vec<Vec<(Typed, DType)>>> {
    let mut waiting = rule.conditions.clone();
    let mut out: Vec<Vec<(Typed, DType)>> = vec![Vec::new()];
    while let Some(id) = waiting.pop() {
        match rule.ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::And,
                lhs,
                rhs,
            } => waiting.extend([*lhs, *rhs]),
            _ => {
                let Some((typed, types)) = list(rule, id) else {
                    continue;
                };
                // A second list of the same says less than both.
                if out[0].iter().any(|(own, _)| *own == typed) {
                    continue;
                }
                let mut next = Vec::new();
                for own in &out {
                    next.extend(
                        types
                            .iter()
                            .map(|dtype| [own.as_slice(), &[(typed.clone(), *dtype)]].concat()),
                    );
                }
                out = next;
                if out.is_empty() || out.len() > COMBINATIONS {
                    return None;
                }
            }
        }
    }
    (out.len() > 1).then_some(out)
}

/// What has one of the element types, and these: `x.dtype in [u8, i8]`, `t in [u8, i8]`.
fn list(rule: &Rule, id: ExprId) -> Option<(Typed, Vec<DType>)> {
    let ast = &rule.ast;
    let ExprKind::Binary {
        op: BinaryOp::In,
        lhs,
        rhs,
    } = ast.kind(id)
    else {
        return None;
    };
    let ExprKind::List(items) = ast.kind(*rhs) else {
        return None;
    };
    let typed = match ast.kind(*lhs) {
        ExprKind::Name(name) if rule.variable(name).is_none() => Typed::Name(name.to_string()),
        ExprKind::Field { base, name } if name.as_str() == "dtype" => match ast.kind(*base) {
            ExprKind::Name(variable) => Typed::Variable(rule.variable(variable)?),
            _ => return None,
        },
        _ => return None,
    };
    let one = |item: &ExprId| match ast.kind(*item) {
        ExprKind::Name(name) => name.parse().ok(),
        _ => None,
    };
    let types: Option<Vec<DType>> = items.iter().map(one).collect();
    Some((typed, types?))
}

/// True if the result of an operator with one operand has the element type of that operand, whichever inference
/// accepts.
pub(super) fn keeps_type(def: &'static OpDef) -> bool {
    if def.attrs.iter().any(|attr| matches!(attr.kind, AttrKind::DType)) {
        return false;
    }
    let result = |dtype: DType| {
        let mut graph = Graph::new();
        let x = graph.input("x", TensorType::new(dtype, Shape::from_iter([])));
        let y = graph.call(Op::Known(def), &[x], &[]).ok()?;
        Some(graph.ty(y).as_tensor().map(|ty| ty.dtype))
    };
    let mut all = DType::ALL
        .into_iter()
        .filter_map(|dtype| Some((dtype, result(dtype)?)))
        .peekable();
    all.peek().is_some() && all.all(|(dtype, result)| result == Some(dtype))
}

/// True if this operand of an operator is always of a floating-point type, whatever the types of the others are.
pub(super) fn takes_floats_at(def: &'static OpDef, at: usize) -> bool {
    let takes = |own: DType, others: DType| {
        let mut graph = Graph::new();
        let given = |i: usize, kind: OperandKind| i <= at || kind == OperandKind::One;
        let operands: Vec<_> = (def.operands.iter().enumerate())
            .filter(|(i, operand)| given(*i, operand.kind))
            .map(|(i, _)| {
                let dtype = if i == at { own } else { others };
                graph.input(&format!("x{i}"), TensorType::any_rank(dtype))
            })
            .collect();
        graph.call(Op::Known(def), &operands, &[]).is_ok()
    };
    let is_refused = |own: &DType| DType::ALL.into_iter().all(|others| !takes(*own, others));
    let all = DType::ALL.into_iter();
    takes(DType::F32, DType::F32) && all.filter(|dtype| !dtype.is_float()).all(|dtype| is_refused(&dtype))
}

/// True if the operand and the result of an operator with one operand are always of a floating-point type.
pub(super) fn takes_floats_alone(def: &'static OpDef) -> bool {
    let takes = |dtype: DType| {
        let mut graph = Graph::new();
        let x = graph.input("x", TensorType::new(dtype, Shape::from_iter([])));
        graph.call(Op::Known(def), &[x], &[]).is_ok()
    };
    keeps_type(def) && DType::ALL.into_iter().all(|dtype| dtype.is_float() || !takes(dtype))
}
