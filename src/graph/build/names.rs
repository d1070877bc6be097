//! What names stand for: in frames of functions, as symbols, as element types.

use std::sync::Arc;

use super::{Builder, Val};
use crate::diag::{Diagnostic, Span, did_you_mean};
use crate::graph::sink::Sink;
use crate::graph::term::{Scope, Term};
use crate::tensor::{Dim, Tensor, Type};

impl<'a, K: Sink> Builder<'a, K> {
    pub(super) fn resolve(&mut self, name: &Arc<str>, span: Span) -> Val<K::V> {
        if let Some(value) = self.lookup(name) {
            return value;
        }
        match Scope::name(self, name) {
            Some(term) => Some(term),
            None if &**name == "none" => Some(Term::None),
            None => match name.parse() {
                Ok(dtype) => Some(Term::DType(dtype)),
                Err(()) => {
                    let names = self.names();
                    let close = did_you_mean(name, names.iter().map(String::as_str)).map(str::to_owned);
                    let problem =
                        Diagnostic::error("T0104", format!("unknown name `{name}`")).label(span, "not defined here");
                    self.report(match close {
                        Some(close) => problem.help(format!("did you mean `{close}`?")),
                        None => problem.help("define it above with `let`, or make it an input of the function"),
                    });
                    None
                }
            },
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Val<K::V>> {
        self.frames.last()?.names.get(name)?.last().cloned()
    }
}

impl<K: Sink> Scope for Builder<'_, K> {
    type V = K::V;

    fn name(&self, name: &str) -> Option<Term<K::V>> {
        match self.lookup(name) {
            Some(value) => value,
            None => self.symbols.contains(name).then(|| Term::Int(Dim::symbol(name))),
        }
    }

    fn indexed(&self, name: &str, index: i64) -> Option<Term<K::V>> {
        // Borrowed: a family may have any number of members, and each is asked for.
        match self.frames.last()?.names.get(name)?.last()?.as_ref()? {
            Term::List(items) => items.get(usize::try_from(index).ok()?).cloned(),
            _ => None,
        }
    }

    fn ty(&self, v: &K::V) -> Type {
        self.sink.ty(v)
    }

    fn constant(&self, v: &K::V) -> Option<Tensor> {
        self.sink.value(v)
    }

    fn is_static(&self, v: &K::V) -> bool {
        self.sink.is_static(v)
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .frames
            .last()
            .map(|f| f.names.keys().map(|k| k.to_string()).collect())
            .unwrap_or_default();
        names.extend(self.symbols.iter().map(|s| s.to_string()));
        names.sort();
        names
    }
}
