//! Name resolution: in function frames, as symbols, and as element types.

use std::sync::Arc;

use super::{Builder, Val};
use crate::sink::ValueId;
use crate::term::{OpenId, Scope, Term};
use tautomer_diag::{Diagnostic, Span, did_you_mean};
use tautomer_tensor::{Dim, Tensor, Type};

impl<'a> Builder<'a> {
    pub(super) fn resolve(&mut self, name: &Arc<str>, span: Span) -> Val {
        if let Some(value) = self.lookup(name) {
            return value;
        }
        match Scope::name(self, name) {
            Some(term) => Some(term),
            None if &**name == "none" => Some(Term::None),
            None => match name.parse() {
                Ok(dtype) => Some(Term::DType(dtype)),
                Err(()) => {
                    let close = self.close_name(name);
                    let problem =
                        Diagnostic::error("T0104", format!("unknown name `{name}`")).label(span, "not defined here");
                    self.report(match close {
                        Some(close) => problem.help(format!("did you mean `{close}`?")),
                        None if self.script.is_some() => problem.help(format!(
                            "give it a value, `{name} = …`, or declare an input: `{name}: f32[n]`"
                        )),
                        None => problem.help("define it above with `let`, or make it an input of the function"),
                    });
                    None
                }
            },
        }
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Val> {
        if let Some(value) = self.frames.last()?.names.get(name).and_then(|all| all.last()) {
            return Some(value.clone());
        }
        let script = self.script.as_ref().filter(|_| self.frames.len() == 1)?;
        Some((*script.names.get(name)?).map(Term::Value))
    }

    /// The name that an unknown one is probably a misspelling of.
    fn close_name(&mut self, name: &str) -> Option<String> {
        if !self.budget.compare(self.name_count()) {
            return None;
        }
        let names = self.names();
        did_you_mean(name, names.iter().map(String::as_str)).map(str::to_owned)
    }
}

impl Scope for Builder<'_> {
    fn name(&self, name: &str) -> Option<Term> {
        match self.lookup(name) {
            Some(value) => value,
            None => self.symbols.contains(name).then(|| Term::Int(Dim::symbol(name))),
        }
    }

    fn is_faulty(&self, name: &str) -> bool {
        matches!(self.lookup(name), Some(None))
    }

    fn indexed(&self, name: &str, index: i64) -> Option<Term> {
        // Borrowed, since a family may have any number of members, and each is looked up.
        match self.frames.last()?.names.get(name)?.last()?.as_ref()? {
            Term::List(items) => items.get(usize::try_from(index).ok()?).cloned(),
            _ => None,
        }
    }

    fn ty(&self, v: ValueId) -> Type {
        self.sink.ty(v).clone()
    }

    fn constant(&self, v: ValueId) -> Option<Tensor> {
        self.sink.value(v)
    }

    fn open_type(&self, open: OpenId) -> Option<Type> {
        Some(self.type_of_open(open))
    }

    fn is_static(&self, v: ValueId) -> bool {
        self.sink.is_static(v)
    }

    fn name_count(&self) -> usize {
        let script = self.script.as_ref().map_or(0, |script| script.names.len());
        script + self.symbols.len() + self.frames.last().map_or(0, |f| f.names.len())
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .frames
            .last()
            .map(|f| f.names.keys().map(|k| k.to_string()).collect())
            .unwrap_or_default();
        names.extend(self.symbols.iter().map(|s| s.to_string()));
        if let Some(script) = &self.script {
            names.extend(script.names.oldest_first().iter().map(|(name, _)| (*name).to_owned()));
        }
        names.sort();
        names
    }
}
