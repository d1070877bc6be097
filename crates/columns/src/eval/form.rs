//! What a loop computes for a node, if one can.

use std::sync::Arc;

use tautomer_loops::{Comparison, Function};

use super::lane::{Lane, Scalar};
use crate::function::{Nulls, Real};
use crate::options::{FloatOrder, Options, Overflow};
use crate::program::{Kind, Literal, NodeId, Program};
use crate::types::{Type, TypeSet};

/// The most members that each row is compared with in turn.
const MAX_MEMBERS: usize = 8;

/// A function of one float, in whose type it is computed.
#[derive(Debug, Clone, Copy)]
pub(super) enum One {
    Negative,
    Abs,
    Sqrt,
    Floor,
    Ceil,
    Trunc,
    Even,
    /// As a double, and rounded.
    Exp,
    Ln,
    Sin,
    Cos,
    Tanh,
    /// Any other, of doubles.
    Other(Function),
}

/// An operation on two numbers of one type that has a result for all of them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Two {
    /// Integers wrap.
    Add,
    Subtract,
    Multiply,
    /// Floats.
    Divide,
    And,
    Or,
    Xor,
    /// `a` unless `b` is greater, or `a` is NaN.
    Greatest,
    Least,
    /// Any other, of doubles.
    Other(Function),
}

/// An operation on bits whose result is null where an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bitwise {
    And,
    Or,
    Xor,
    Same,
}

/// What a loop computes.
#[derive(Debug, Clone)]
pub(super) enum Form {
    One(One),
    Two(Two),
    /// To the type of the node.
    Convert,
    Compare {
        how: Comparison,
        opposite: bool,
        swapped: bool,
        /// In an order in which NaN has a place.
        total: bool,
    },
    /// Membership, and whether null is a member.
    Member(Arc<[Scalar]>, bool),
    Bits(Bitwise),
    Not,
    /// Kleene's `and`, or `or`.
    Connective(bool),
    Select,
}

/// Integers, and whether the remainder is wanted: the only operation of a loop that can fail.
pub(super) fn quotient(program: &Program, id: NodeId, options: &Options) -> Option<(Lane, bool)> {
    let node = program.get(id);
    let Kind::Call(function, args) = &node.kind else {
        return None;
    };
    let [a, b] = args[..] else { return None };
    let ty = program.get(a).ty;
    let fits = matches!(ty, Type::Int32 | Type::Int64) && ty == program.get(b).ty && ty == node.ty;
    if !fits || options.overflow != Overflow::Wrap {
        return None;
    }
    match function.name() {
        "divide" | "div" => Some((Lane::of(ty)?, false)),
        "mod" => Some((Lane::of(ty)?, true)),
        _ => None,
    }
}

/// What a loop computes for a node; `None` if it is computed in another way.
pub(super) fn form(program: &Program, id: NodeId, options: &Options) -> Option<Form> {
    let node = program.get(id);
    let ty_of = |id: NodeId| program.get(id).ty;
    let wraps = options.overflow == Overflow::Wrap;
    let number = |ty: Type| TypeSet::NUMBERS.has(ty) && Lane::of(ty).is_some();
    let converts = |from: Type| from != node.ty && number(from) && number(node.ty) && (wraps || node.ty.is_float());
    Some(match &node.kind {
        Kind::Call(function, args) => match *args.as_slice() {
            [a] => {
                let ty = ty_of(a);
                match function.name() {
                    "not" => Form::Not,
                    "castINT" | "castBIGINT" | "castFLOAT4" | "castFLOAT8" if converts(ty) => Form::Convert,
                    _ if !ty.is_float() || ty != node.ty || function.nulls != Nulls::Strict => return None,
                    name => Form::One(one(name, function.real, ty)?),
                }
            }
            [a, b] if ty_of(a) == ty_of(b) => pair(ty_of(a), node.ty, function, options)?,
            _ => return None,
        },
        Kind::Cast(of) if converts(ty_of(*of)) => Form::Convert,
        Kind::If(_) if Lane::of(node.ty).is_some() || node.ty == Type::Bool => Form::Select,
        Kind::And(_) => Form::Connective(true),
        Kind::Or(_) => Form::Connective(false),
        Kind::In(of, members) => Form::Member(few(Lane::of(ty_of(*of))?, members)?, members.contains(&Literal::Null)),
        _ => return None,
    })
}

fn one(name: &str, real: Option<Real>, ty: Type) -> Option<One> {
    Some(match (name, real) {
        ("negative", _) => One::Negative,
        ("abs", _) => One::Abs,
        ("sqrt", _) => One::Sqrt,
        ("exp", _) => One::Exp,
        ("ln" | "log", _) => One::Ln,
        ("sin", _) => One::Sin,
        ("cos", _) => One::Cos,
        ("tanh", _) => One::Tanh,
        ("floor", _) => One::Floor,
        ("ceil", _) => One::Ceil,
        ("truncate", _) => One::Trunc,
        ("bround", _) => One::Even,
        (_, Some(Real::One(f))) if ty == Type::Float64 => One::Other(Function::One(f)),
        _ => return None,
    })
}

/// A function of two values of one type.
fn pair(ty: Type, result: Type, function: &crate::function::Function, options: &Options) -> Option<Form> {
    let name = function.name();
    if ty == Type::Bool {
        return Some(Form::Bits(match name {
            "equal" => Bitwise::Same,
            "not_equal" | "bitwise_xor" => Bitwise::Xor,
            "bitwise_and" => Bitwise::And,
            "bitwise_or" => Bitwise::Or,
            _ => return None,
        }));
    }
    Lane::of(ty)?;
    let total = ty.is_float() && options.float_order == FloatOrder::Total;
    let compare = |how, opposite, swapped| {
        Some(Form::Compare {
            how,
            opposite,
            swapped,
            total,
        })
    };
    let two = |two| Some(Form::Two(two));
    let integer = TypeSet::INTEGERS.has(ty);
    let adds = ty.is_float() || integer && options.overflow == Overflow::Wrap;
    match name {
        "equal" => compare(Comparison::Equal, false, false),
        "not_equal" => compare(Comparison::Equal, true, false),
        "less_than" => compare(Comparison::Less, false, false),
        "less_than_or_equal_to" => compare(Comparison::LessOrEqual, false, false),
        "greater_than" => compare(Comparison::Less, false, true),
        "greater_than_or_equal_to" => compare(Comparison::LessOrEqual, false, true),
        _ if !TypeSet::NUMBERS.has(ty) || result != ty => None,
        "greatest" => two(Two::Greatest),
        "least" => two(Two::Least),
        "add" if adds => two(Two::Add),
        "subtract" if adds => two(Two::Subtract),
        "multiply" if adds => two(Two::Multiply),
        "divide" if ty.is_float() => two(Two::Divide),
        "bitwise_and" if integer => two(Two::And),
        "bitwise_or" if integer => two(Two::Or),
        "bitwise_xor" if integer => two(Two::Xor),
        _ => match function.real {
            Some(Real::Two(f)) if ty == Type::Float64 => two(Two::Other(Function::Two(f))),
            _ => None,
        },
    }
}

/// The members of a short list that values of a lane can be equal to.
fn few(lane: Lane, members: &[Literal]) -> Option<Arc<[Scalar]>> {
    if members.len() > MAX_MEMBERS {
        return None;
    }
    let each = members.iter().filter_map(|member| match (lane, member) {
        (_, Literal::Null) => None,
        (_, Literal::Int(value)) => Some(integer(lane, *value)),
        (Lane::F64, Literal::Float(bits)) => Some(Some(Scalar::F64(f64::from_bits(*bits)))),
        (Lane::F32, Literal::Float(bits)) => {
            let wide = f64::from_bits(*bits);
            // A number that no `f32` has is equal to none of them.
            (f64::from(wide as f32) == wide).then_some(Some(Scalar::F32(wide as f32)))
        }
        _ => Some(None),
    });
    each.collect()
}

/// An integer in a lane of integers that has it.
fn integer(lane: Lane, value: i128) -> Option<Scalar> {
    match lane {
        Lane::I8 => value.try_into().ok().map(Scalar::I8),
        Lane::I16 => value.try_into().ok().map(Scalar::I16),
        Lane::I32 => value.try_into().ok().map(Scalar::I32),
        Lane::I64 => value.try_into().ok().map(Scalar::I64),
        Lane::U8 => value.try_into().ok().map(Scalar::U8),
        Lane::U16 => value.try_into().ok().map(Scalar::U16),
        Lane::U32 => value.try_into().ok().map(Scalar::U32),
        Lane::U64 => value.try_into().ok().map(Scalar::U64),
        Lane::F32 | Lane::F64 => None,
    }
}
