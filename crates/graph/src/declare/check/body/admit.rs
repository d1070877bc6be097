//! The operands that the conditions of a declaration admit: which of them are given, and their element types and ranks.

use tautomer_lang::ast::{Dims, ExprId, ExprKind, TypeKind};
use tautomer_tensor::{DType, Dim, TensorType, Type};

use super::super::super::body::bind_operands;
use super::{Body, DTYPES, EXTENT};
use crate::build::Builder;
use crate::{Graph, VertexId};

/// The ranks that an operand may be given so that the conditions hold.
const RANKS: std::ops::Range<usize> = 0..6;

/// The maximum number of types of operands that are compared with the conditions.
const MOST_COMPARED: usize = 2000;

/// A condition and what it asks about operands.
struct Asks {
    condition: ExprId,
    /// The position of the last operand that it mentions.
    last: usize,
    /// Whether it asks for element types or ranks, and not just for what is given.
    types: bool,
}

/// The conditions that ask only whether operands are given, and for element types and ranks.
fn questions(body: &Body<'_>) -> impl Iterator<Item = Asks> {
    body.decl
        .conditions
        .iter()
        .filter_map(|&condition| asks(body, condition))
}

fn asks(body: &Body<'_>, condition: ExprId) -> Option<Asks> {
    let ast = &*body.decl.ast;
    let operand = |id: ExprId| match ast.kind(id) {
        ExprKind::Name(name) => body.decl.operands.iter().position(|o| o.name.as_str() == &**name),
        _ => None,
    };
    let mut last = None;
    let mut types = false;
    let mut stack = vec![condition];
    while let Some(id) = stack.pop() {
        let asked = match ast.kind(id) {
            ExprKind::Call { callee, args, .. } if callee.as_str() == "given" => {
                args.first().copied().and_then(operand)
            }
            ExprKind::Field { base, name } if matches!(name.as_str(), "rank" | "dtype") => {
                let asked = operand(*base);
                types |= asked.is_some();
                asked
            }
            ExprKind::Name(_) if operand(id).is_some() => return None,
            _ => None,
        };
        match asked {
            Some(at) => last = last.max(Some(at)),
            None => stack.extend(ast.operands(id)),
        }
    }
    last.map(|last| Asks { condition, last, types })
}

/// The conditions that depend on which operands are given and not on their types: `given(scale)`.
pub(super) fn on_presence(body: &Body<'_>) -> Vec<ExprId> {
    let asked = questions(body).filter(|asks| !asks.types);
    asked.map(|asks| asks.condition).collect()
}

/// False if one of these conditions is known not to hold for calls with these operands.
pub(super) fn allowed(body: &Body<'_>, conditions: &[ExprId], given: &[bool]) -> bool {
    let unranked = || TensorType {
        dtype: DType::F32,
        shape: None,
    };
    let ty = |&is_given: &bool| match is_given {
        true => unranked().into(),
        false => Type::Absent,
    };
    let types: Vec<Type> = given.iter().map(ty).collect();
    conditions.iter().all(|&condition| may_hold(body, condition, &types))
}

/// False if the condition is known not to hold for operands of these types.
fn may_hold(body: &Body<'_>, condition: ExprId, types: &[Type]) -> bool {
    let mut graph = Graph::new();
    let mut vertices: Vec<VertexId> = Vec::new();
    for ty in types {
        vertices.push(match ty {
            Type::Absent => graph.absent(),
            ty => graph.input("", ty.clone()),
        });
    }
    let names: Vec<_> = body.decl.operands.iter().map(|o| o.name.name.clone()).collect();
    let mut builder = Builder::new(&body.decl.ast, &mut graph);
    builder.fold_terms = true;
    let values = body.values();
    bind_operands(&mut builder, (body.operands, body.attrs), &names, &vertices, &values);
    !matches!(builder.condition(condition), Ok(false))
}

/// These types of operands, with element types and ranks changed where the declaration leaves them open, so that the
/// conditions hold; as they are if no others are found.
pub(super) fn types(body: &Body<'_>, types: Vec<Type>) -> Vec<Type> {
    let questions: Vec<Asks> = questions(body).filter(|asks| asks.types).collect();
    if questions.is_empty() {
        return types;
    }
    let candidates: Vec<Vec<Type>> = (0..types.len()).map(|i| candidates(body, i, &types[i])).collect();
    let mut chosen = vec![0; types.len()];
    let mut current = types.clone();
    let mut at = 0;
    for _ in 0..MOST_COMPARED {
        if at == types.len() {
            return current;
        }
        current[at] = candidates[at][chosen[at]].clone();
        let mut asked = questions.iter().filter(|asks| asks.last == at);
        if asked.all(|asks| may_hold(body, asks.condition, &current)) {
            at += 1;
            continue;
        }
        // The next candidate, or that of an operand before.
        chosen[at] += 1;
        while chosen[at] == candidates[at].len() {
            chosen[at] = 0;
            let Some(before) = at.checked_sub(1) else { return types };
            at = before;
            chosen[at] += 1;
        }
    }
    types
}

/// The types to try for an operand, beginning with the present one.
fn candidates(body: &Body<'_>, i: usize, present: &Type) -> Vec<Type> {
    let mut out = vec![present.clone()];
    let Type::Tensor(tensor) = present else { return out };
    let (open_dtype, open_rank) = match body.decl.operands[i].ty.as_ref().map(|ty| &ty.kind) {
        None => (true, true),
        Some(TypeKind::Tensor { dtype, dims }) => (dtype.is_none(), matches!(dims, Dims::AnyRank)),
        Some(_) => return out,
    };
    let mut shapes = vec![tensor.shape.clone()];
    if open_rank && tensor.shape.is_some() {
        shapes.extend(RANKS.map(|rank| Some((0..rank).map(|_| Dim::Const(EXTENT)).collect())));
    }
    let mut dtypes = vec![tensor.dtype];
    if open_dtype {
        dtypes.push(DType::F32);
        dtypes.extend(DTYPES);
    }
    for shape in shapes {
        for &dtype in &dtypes {
            let shape = shape.clone();
            let ty = Type::from(TensorType { dtype, shape });
            if !out.contains(&ty) {
                out.push(ty);
            }
        }
    }
    out
}
