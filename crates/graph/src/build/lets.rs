//! Definitions by `let`: names for values and tuple elements, with their declared types.

use std::sync::Arc;

use super::{Builder, Val};
use crate::literal::{self, Wanted};
use crate::sink::ValueId;
use crate::term::{self, Term};
use tautomer_diag::{Diagnostic, Span};
use tautomer_lang::ast::{Let, LetNames};
use tautomer_tensor::Type;

impl<'a> Builder<'a> {
    pub(super) fn bind_let(&mut self, item: &'a Let, value: Val) {
        let value = match (value, self.ascribed.remove(&item.value)) {
            (Some(term), Some(declared)) => self.ascribe(term, &declared, item),
            // A literal with a declared type is one vertex, no matter how often it is used.
            (Some(Term::Tensor(t)), None) => Some(Term::Value(self.sink.constant(t))),
            (value, _) => value,
        };
        match &item.names {
            LetNames::One(name) => {
                self.name_value(&value, &name.name);
                self.bind(&name.name, value);
            }
            LetNames::Tuple(names) => {
                let count = match &value {
                    Some(Term::Value(v)) => match self.sink.ty(*v) {
                        Type::Tuple(items) => Some(items.len()),
                        _ => None,
                    },
                    _ => None,
                };
                for (i, name) in names.iter().enumerate() {
                    let part = value.as_ref().and_then(|value| self.part(value, i, item, count));
                    self.name_value(&part, &name.name);
                    self.bind(&name.name, part);
                }
            }
        }
    }

    /// Element `i` of the value named by `item`, which has `count` elements if it is a tuple. A wrong number of names
    /// is reported at the first element.
    fn part(&mut self, value: &Term, i: usize, item: &'a Let, count: Option<usize>) -> Val {
        let names = match &item.names {
            LetNames::One(_) => 1,
            LetNames::Tuple(names) => names.len(),
        };
        match value {
            Term::Value(v) if !self.has_room_for_element(*v, i, item.span) => None,
            Term::Value(v) => match self.sink.project(*v, i) {
                Ok(part) if count == Some(names) => Some(Term::Value(part)),
                _ if i > 0 => None,
                _ => {
                    let ty = self.sink.ty(*v);
                    self.wrong_names(names, &format!("a value of type {ty}"), item);
                    None
                }
            },
            Term::List(items) if items.len() == names => items.get(i).cloned(),
            Term::Open(id) if self.members_of_open(*id).is_some_and(|items| items.len() == names) => {
                self.members_of_open(*id)?.get(i).cloned()
            }
            Term::Open(id) if i == 0 => {
                let what = match self.members_of_open(*id) {
                    Some(items) => format!("a tuple of {}", items.len()),
                    None => format!("a value of type {}", self.type_of_open(*id)),
                };
                self.wrong_names(names, &what, item);
                None
            }
            other => {
                if i == 0 {
                    let what = term::kind(other);
                    self.report(Diagnostic::error("T0204", format!("{names} names for {what}")).label(item.span, ""));
                }
                None
            }
        }
    }

    fn wrong_names(&mut self, names: usize, what: &str, item: &Let) {
        self.report(
            Diagnostic::error("T0204", format!("{names} names for {what}"))
                .label(item.span, "")
                .help("the number of names on the left must equal the number of elements of the tuple"),
        );
    }

    /// Values keep the names given by the outermost function.
    fn name_value(&mut self, value: &Val, name: &Arc<str>) {
        if let Some(Term::Value(v)) = value
            && self.frames.len() == 1
            && !self.fold_terms
        {
            self.sink.name(*v, name);
        }
    }

    fn ascribe(&mut self, term: Term, declared: &Type, item: &Let) -> Val {
        let span = item.ty.as_ref().map_or(item.span, |t| t.span);
        let v = match &term {
            Term::Value(v) => *v,
            Term::Open(_) => {
                let at = self.ast.span(item.value);
                let term = self.coerced(term, declared, at)?;
                self.vertex(term, at)?
            }
            literal => {
                let wanted = declared.as_tensor().map_or(Wanted::Any, |t| Wanted::Exactly(t.dtype));
                let built = literal::tensor(literal, wanted).and_then(|t| {
                    match declared.as_tensor().and_then(|d| d.shape.as_ref()?.to_concrete()) {
                        // `[]` does not give the inner dimensions; the declaration does.
                        Some(shape) if t.is_empty() => {
                            t.reshaped(&shape).ok_or_else(|| format!("no elements for {declared}"))
                        }
                        _ => Ok(t),
                    }
                });
                match built {
                    Ok(t) => self.sink.constant(t),
                    Err(message) => {
                        self.report(Diagnostic::error("T0203", message).label(self.ast.span(item.value), ""));
                        return None;
                    }
                }
            }
        };
        self.admitted(v, declared, self.ast.span(item.value), span)
            .map(Term::Value)
    }

    /// A value with the type declared at `place`; literals take its element type.
    pub(crate) fn ascribed(&mut self, term: Term, declared: &Type, at: Span, place: Span) -> Option<ValueId> {
        let term = self.coerced(term, declared, at)?;
        let v = self.vertex(term, at)?;
        self.admitted(v, declared, at, place)
    }

    fn admitted(&mut self, v: ValueId, declared: &Type, at: Span, place: Span) -> Option<ValueId> {
        let actual = self.sink.ty(v);
        if declared.admits(actual) {
            return Some(v);
        }
        self.report(
            Diagnostic::error("T0204", format!("declared as {declared}, and the value is {actual}"))
                .label(at, format!("this is {actual}"))
                .secondary(place, "declared here"),
        );
        None
    }
}
