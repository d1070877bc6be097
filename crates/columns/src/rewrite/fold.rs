//! Parts of a program without columns, computed once, by the functions that compute columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef};

use crate::eval::{one_row, value_of};
use crate::options::Options;
use crate::program::{Kind, Literal, NodeId, Program};
use crate::types::Type;

/// The program with a literal in place of every largest part that has no columns and does not fail, and the results among
/// its nodes.
pub(super) fn fold(program: &Program, roots: &[NodeId], options: &Options) -> (Program, Vec<NodeId>) {
    let mut out = Program::default();
    let mut moved: Vec<NodeId> = Vec::with_capacity(program.nodes().len());
    for node in program.nodes() {
        let kind = node.kind.map(|id| moved[id.index()]);
        let literal = value(&out, &kind, node.ty, options);
        let kind = literal.map_or(kind, Kind::Literal);
        moved.push(out.add(kind, node.ty, node.span, &node.source));
    }
    (out, roots.iter().map(|root| moved[root.index()]).collect())
}

/// The value of a call of literals.
fn value(program: &Program, kind: &Kind, ty: Type, options: &Options) -> Option<Literal> {
    match kind {
        Kind::Field(_) | Kind::Literal(_) => return None,
        Kind::Call(function, args) if !function.pure_function || args.is_empty() => return None,
        _ => {}
    }
    let mut all = true;
    let mut alone = Program::default();
    let kind = kind.map(|id| {
        let node = program.get(id);
        all &= matches!(node.kind, Kind::Literal(_));
        id
    });
    if !all {
        return None;
    }
    let mut place = None;
    let kind = kind.map(|id| {
        let node = program.get(id);
        place = Some((node.span, Arc::clone(&node.source)));
        alone.add(node.kind.clone(), node.ty, node.span, &node.source)
    });
    let (span, source) = place?;
    let root = alone.add(kind, ty, span, &source);
    literal(&value_of(&alone, root, options, &one_row())?, ty)
}

fn literal(array: &ArrayRef, ty: Type) -> Option<Literal> {
    if array.is_null(0) {
        return Some(Literal::Null);
    }
    macro_rules! integer {
        ($array:ty) => {
            Literal::Int(array.as_primitive_opt::<$array>()?.value(0).into())
        };
    }
    Some(match ty {
        Type::Bool => Literal::Bool(array.as_boolean_opt()?.value(0)),
        Type::Int8 => integer!(Int8Type),
        Type::Int16 => integer!(Int16Type),
        Type::Int32 => integer!(Int32Type),
        Type::Int64 => integer!(Int64Type),
        Type::UInt8 => integer!(UInt8Type),
        Type::UInt16 => integer!(UInt16Type),
        Type::UInt32 => integer!(UInt32Type),
        Type::UInt64 => integer!(UInt64Type),
        Type::Float32 => Literal::Float(f64::from(array.as_primitive_opt::<Float32Type>()?.value(0)).to_bits()),
        Type::Float64 => Literal::Float(array.as_primitive_opt::<Float64Type>()?.value(0).to_bits()),
        _ => return None,
    })
}
