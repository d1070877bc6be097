//! Small terms, and questions about operators and attributes.

use std::rc::Rc;

use super::{Function, Term};
use tautomer_op::{AttrDef, AttrKind, AttrValue, Default as Preset, OpDef, OpTraits, Semantics};
use tautomer_tensor::{DType, Dim};

pub(super) fn value(value: AttrValue) -> Rc<Term> {
    Rc::new(Term::Value(value))
}

pub(super) fn function(function: Function, parts: Vec<Rc<Term>>) -> Rc<Term> {
    Rc::new(Term::Function(function, parts))
}

pub(super) fn boolean(b: bool) -> Rc<Term> {
    value(AttrValue::Bool(b))
}

/// The value of an attribute that is left out.
pub(super) fn preset(declared: &AttrDef) -> Rc<Term> {
    value(match declared.default {
        Preset::None => return Rc::new(Term::Absent),
        Preset::Bool(b) => AttrValue::Bool(b),
        Preset::Float(v) => AttrValue::float(v),
        Preset::Str(s) => AttrValue::str(s),
        Preset::DType(dtype) => AttrValue::DType(dtype),
        Preset::Int(n) => AttrValue::int(n),
        Preset::Ints(list) => AttrValue::ints(list),
        Preset::Required => return Rc::new(Term::Preset),
    })
}

/// A written value, as an attribute of that kind has it.
pub(super) fn written(declared: &AttrDef, term: Rc<Term>) -> Rc<Term> {
    match (&*term, declared.kind) {
        (Term::Value(AttrValue::Int(Dim::Const(n))), AttrKind::Float) => value(AttrValue::float(*n as f64)),
        (Term::Value(AttrValue::None), _) => Rc::new(Term::Absent),
        _ => term,
    }
}

/// True for operators that are functions of their operands and attributes, and nothing else.
pub(super) fn is_function(def: &OpDef) -> bool {
    !def.traits.contains(OpTraits::NONDETERMINISTIC)
        && !matches!(def.semantics, Semantics::Flow(_) | Semantics::Missing)
        && !def.attrs.iter().any(|attr| matches!(attr.kind, AttrKind::Region))
}

pub(super) fn is_axes(declared: &AttrDef) -> bool {
    matches!(declared.kind, AttrKind::Axis(_) | AttrKind::Axes(_))
}

/// True if a term calls an operator.
pub(super) fn has_call(term: &Term) -> bool {
    match term {
        Term::Call(..) | Term::Function(Function::Stage(_), _) => true,
        Term::Tuple(parts) | Term::Function(_, parts) => parts.iter().any(|part| has_call(part)),
        _ => false,
    }
}

/// A part of several values.
pub(super) fn part(term: &Rc<Term>, i: u32) -> Option<Rc<Term>> {
    match &**term {
        Term::Tuple(parts) => parts.get(i as usize).cloned(),
        _ => Some(function(Function::Part(i), vec![term.clone()])),
    }
}

/// A number with an element type.
pub(super) fn typed(number: Rc<Term>, dtype: Option<DType>) -> Rc<Term> {
    match dtype {
        Some(dtype) => function(Function::Typed, vec![number, value(AttrValue::DType(dtype))]),
        None => number,
    }
}

/// A list; of written integers, as attributes have it.
pub(super) fn list(items: Vec<Rc<Term>>) -> Rc<Term> {
    let ints: Option<Vec<Dim>> = items
        .iter()
        .map(|item| match &**item {
            Term::Value(AttrValue::Int(d)) => Some(d.clone()),
            _ => None,
        })
        .collect();
    match ints {
        Some(ints) => value(AttrValue::Ints(ints)),
        None => function(Function::List, items),
    }
}
