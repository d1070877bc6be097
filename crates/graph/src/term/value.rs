//! Conversions of terms to attributes, tensors and text.

use super::Term;
use tautomer_op::{AttrValue, Real};
use tautomer_tensor::{DType, Tensor, assume};

impl Term {
    /// The cost of working with the term: the elements of lists and nested lists, the length of a string, the terms of
    /// a symbolic integer.
    pub(super) fn weight(&self) -> usize {
        match self {
            Term::List(items) => items.iter().map(|item| 1 + item.weight()).sum(),
            Term::Str(text) => text.len() / 16,
            Term::Int(dim) => dim.term_count() / 4,
            _ => 0,
        }
    }
}

/// The attribute value of a term; `None` for values of the graph and mixed lists.
pub fn to_attr(term: &Term) -> Option<AttrValue> {
    Some(match term {
        Term::None => AttrValue::None,
        Term::Int(d) => AttrValue::Int(d.clone()),
        Term::Float(v) => AttrValue::float(*v),
        Term::Bool(b) => AttrValue::Bool(*b),
        Term::Str(s) => AttrValue::Str(s.clone()),
        Term::DType(d) => AttrValue::DType(*d),
        Term::Tensor(t) => AttrValue::Tensor(t.clone()),
        Term::Foreign(v) => v.clone(),
        Term::Value(_) | Term::Open(_) | Term::Wide(_) => return None,
        Term::List(items) => {
            if let Some(dims) = items
                .iter()
                .map(|t| if let Term::Int(d) = t { Some(d.clone()) } else { None })
                .collect()
            {
                AttrValue::Ints(dims)
            } else if let Some(reals) = items.iter().map(|t| float(t).map(Real)).collect() {
                AttrValue::Floats(reals)
            } else {
                let text = |t: &Term| if let Term::Str(s) = t { Some(s.clone()) } else { None };
                AttrValue::Strs(items.iter().map(text).collect::<Option<_>>()?)
            }
        }
    })
}

/// The term of an attribute value.
pub fn from_attr(value: &AttrValue) -> Term {
    match value {
        AttrValue::None => Term::None,
        AttrValue::Bool(b) => Term::Bool(*b),
        AttrValue::Int(d) => Term::Int(d.clone()),
        AttrValue::Ints(list) => Term::List(list.iter().cloned().map(Term::Int).collect()),
        AttrValue::Float(v) => Term::Float(v.0),
        AttrValue::Floats(list) => Term::List(list.iter().map(|v| Term::Float(v.0)).collect()),
        AttrValue::Str(s) => Term::Str(s.clone()),
        AttrValue::Strs(list) => Term::List(list.iter().cloned().map(Term::Str).collect()),
        AttrValue::DType(d) => Term::DType(*d),
        AttrValue::Tensor(t) => Term::Tensor(t.clone()),
        foreign @ (AttrValue::Foreign { .. } | AttrValue::Region(_)) => Term::Foreign(foreign.clone()),
    }
}

/// A description of the kind of term, for messages.
pub fn kind(term: &Term) -> &'static str {
    match term {
        Term::Int(_) | Term::Wide(_) => "an integer",
        Term::Float(_) => "a number",
        Term::Bool(_) => "a boolean",
        Term::Str(_) => "a string",
        Term::DType(_) => "an element type",
        Term::List(_) => "a list",
        Term::None => "nothing",
        Term::Tensor(_) => "a typed number",
        Term::Foreign(_) => "a foreign value",
        Term::Value(_) | Term::Open(_) => "a tensor",
    }
}

pub(super) fn float(term: &Term) -> Option<f64> {
    match term {
        Term::Float(v) => Some(*v),
        Term::Int(d) => d.as_const().map(|v| v as f64).or_else(|| {
            assume::left_open();
            None
        }),
        Term::Wide(v) => Some(*v as f64),
        Term::Tensor(t) if t.len() == 1 => t.to_f64s().map(|v| v[0]),
        _ => None,
    }
}

/// A list of scalars as a term; a scalar if there is one element, independent of the rank.
pub(super) fn from_tensor(tensor: &Tensor) -> Option<Term> {
    let items: Vec<Term> = if tensor.dtype() == DType::Bool {
        tensor.to_ints()?.into_iter().map(|x| Term::Bool(x != 0)).collect()
    } else if tensor.dtype().is_float() {
        tensor.to_f64s()?.into_iter().map(Term::Float).collect()
    } else {
        tensor
            .to_ints()?
            .into_iter()
            .map(|x| i64::try_from(x).map(|x| Term::Int(x.into())).ok())
            .collect::<Option<_>>()?
    };
    match tensor.shape().len() {
        _ if items.len() == 1 => items.into_iter().next(),
        1 => Some(Term::List(items)),
        _ => None,
    }
}

/// The letters of a string, each as a separate string.
pub(super) fn letters(text: &str) -> Vec<Term> {
    text.chars().map(|c| Term::Str(c.to_string().into())).collect()
}

/// Letters joined to one string.
pub(super) fn joined(letters: &[Term]) -> Term {
    let text: String = letters
        .iter()
        .filter_map(|t| if let Term::Str(s) = t { Some(&**s) } else { None })
        .collect();
    Term::Str(text.into())
}
