//! Names that `let` gives, to values and to elements of tuples, with the types that were declared.

use std::sync::Arc;

use super::{Builder, Val};
use crate::diag::Diagnostic;
use crate::graph::literal::{self, Wanted};
use crate::graph::sink::Sink;
use crate::graph::term::{self, Term};
use crate::lang::ast::{Let, LetNames};
use crate::tensor::Type;

impl<'a, K: Sink> Builder<'a, K> {
    pub(super) fn bind_let(&mut self, item: &'a Let, value: Val<K::V>) {
        let value = match (value, self.ascribed.remove(&item.value)) {
            (Some(term), Some(declared)) => self.ascribe(term, &declared, item),
            // A literal that was given a type is one vertex, however often it is used.
            (Some(Term::Tensor(t)), None) => Some(Term::Value(self.sink.constant(t))),
            (value, _) => value,
        };
        match &item.names {
            LetNames::One(name) => {
                self.name_value(&value, &name.name);
                self.bind(&name.name, value);
            }
            LetNames::Tuple(names) => {
                for (i, name) in names.iter().enumerate() {
                    let part = value.as_ref().and_then(|value| self.part(value, i, item, names.len()));
                    self.name_value(&part, &name.name);
                    self.bind(&name.name, part);
                }
            }
        }
    }

    /// Element `i` of what gets `names` names; that their number is wrong is told at the first.
    fn part(&mut self, value: &Term<K::V>, i: usize, item: &'a Let, names: usize) -> Val<K::V> {
        match value {
            Term::Value(v) => {
                let count = match self.sink.ty(v) {
                    Type::Tuple(items) => Some(items.len()),
                    _ => None,
                };
                match self.sink.project(v, i) {
                    Ok(part) if count == Some(names) => Some(Term::Value(part)),
                    _ if i > 0 => None,
                    _ => {
                        let ty = self.sink.ty(v);
                        self.report(
                            Diagnostic::error("T0204", format!("{names} names for a value of type {ty}"))
                                .label(item.span, "")
                                .help("the names on the left must be as many as the elements of the tuple"),
                        );
                        None
                    }
                }
            }
            Term::List(items) if items.len() == names => items.get(i).cloned(),
            other => {
                if i == 0 {
                    let what = term::kind(other);
                    self.report(Diagnostic::error("T0204", format!("{names} names for {what}")).label(item.span, ""));
                }
                None
            }
        }
    }

    /// Values keep the names that the outermost function gives them.
    fn name_value(&mut self, value: &Val<K::V>, name: &Arc<str>) {
        if let Some(Term::Value(v)) = value
            && self.frames.len() == 1
            && !self.fold_terms
        {
            self.sink.name(v, name);
        }
    }

    fn ascribe(&mut self, term: Term<K::V>, declared: &Type, item: &Let) -> Val<K::V> {
        let span = item.ty.as_ref().map_or(item.span, |t| t.span);
        let v = match &term {
            Term::Value(v) => v.clone(),
            literal => {
                let wanted = declared.as_tensor().map_or(Wanted::Any, |t| Wanted::Exactly(t.dtype));
                let built = literal::tensor(literal, wanted).and_then(|t| {
                    match declared.as_tensor().and_then(|d| d.shape.as_ref()?.to_concrete()) {
                        // `[]` says nothing of the inner extents; the declaration does.
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
        let actual = self.sink.ty(&v);
        if !declared.admits(&actual) {
            self.report(
                Diagnostic::error("T0204", format!("declared as {declared}, and the value is {actual}"))
                    .label(self.ast.span(item.value), format!("this is {actual}"))
                    .secondary(span, "declared here"),
            );
            return None;
        }
        Some(Term::Value(v))
    }
}
