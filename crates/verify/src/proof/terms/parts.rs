//! Small terms, and questions about operators and attributes.

use std::rc::Rc;

use super::{Function, Term};
use tautomer_lang::ast::Function as Body;
use tautomer_op::{AttrDef, AttrKind, AttrValue, Default as Preset, OpDef, OpTraits, OperandKind, Semantics};
use tautomer_rule::{AttrPattern, ListItem};
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

/// The names in the body of an operator, with what they stand for in a call with these operands and attributes.
pub(super) fn parameters(
    def: &OpDef,
    body: &Body,
    operands: &[Rc<Term>],
    attrs: &[Rc<Term>],
) -> Option<Vec<(String, Rc<Term>)>> {
    let attrs = def.attrs.iter().zip(attrs);
    let mut out: Vec<(String, Rc<Term>)> = attrs.map(|(d, attr)| (d.name.to_owned(), attr.clone())).collect();
    for (i, param) in body.params.iter().enumerate() {
        if def.operands.get(i).is_none_or(|o| o.kind == OperandKind::Variadic) {
            return None;
        }
        let operand = operands.get(i).cloned().unwrap_or_else(|| Rc::new(Term::Absent));
        out.push((param.name.name.to_string(), operand));
    }
    Some(out)
}

/// True if a call that the pattern matches has the attribute exactly as the pattern says.
pub(super) fn is_exact(def: &OpDef, declared: &AttrDef, pattern: &AttrPattern) -> bool {
    let at_front = |d: &Dim| d.as_const().is_none_or(|n| n >= 0);
    match pattern {
        AttrPattern::Bind(_) | AttrPattern::Rest(_) | AttrPattern::Any => true,
        AttrPattern::Value(AttrValue::Int(d)) if is_axes(declared) => at_front(d),
        AttrPattern::Value(AttrValue::Ints(list)) if is_axes(declared) => list.iter().all(at_front),
        AttrPattern::Value(_) => true,
        AttrPattern::List(items) => items.iter().all(|item| !matches!(item, ListItem::Int(n) if *n < 0)),
        AttrPattern::Default => {
            !is_axes(declared)
                && declared.default != Preset::None
                && (def.canonical.is_none()
                    || matches!(declared.default, Preset::Bool(_) | Preset::Float(_) | Preset::Str(_)))
        }
        AttrPattern::Computed(_) | AttrPattern::BindEach(_) => false,
    }
}
