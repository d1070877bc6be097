//! Attributes of calls, including functions that operators call.

use std::sync::Arc;

use super::Builder;
use crate::graph_region;
use crate::literal::{self, Wanted};
use crate::program::{self, Within};
use crate::term::{self, Term};
use tautomer_diag::{Diagnostic, Diagnostics, Span};
use tautomer_lang::ast::{Attrs, ExprId, ExprKind, Function};
use tautomer_op::{AttrValue, Region};

/// The maximum nesting depth of calls among functions passed to operators.
const MAX_FUNCTION_NESTING: usize = 32;

impl<'a> Builder<'a> {
    pub(super) fn attributes(&mut self, attrs: Option<&Attrs>) -> Option<Vec<(Arc<str>, AttrValue, Span)>> {
        let Some(attrs) = attrs else { return Some(Vec::new()) };
        let mut out: Vec<(Arc<str>, AttrValue, Span)> = Vec::with_capacity(attrs.entries.len());
        let mut ok = true;
        if let Some(rest) = &attrs.rest {
            match self.frames.last().and_then(|f| f.rests.get(&rest.name)) {
                Some(bound) => out.extend(bound.iter().map(|(n, v)| (n.clone(), v.clone(), rest.span))),
                None => {
                    self.report(
                        Diagnostic::error("T0104", format!("`..{}` is not bound", rest.name))
                            .label(rest.span, "")
                            .help("`..name` takes over the attributes that the source of a rule binds"),
                    );
                    ok = false;
                }
            }
        }
        let inherited = out.len();
        for entry in &attrs.entries {
            if out[inherited..].iter().any(|(n, ..)| *n == entry.name.name) {
                self.report(
                    Diagnostic::error("T0103", format!("attribute `{}` is given twice", entry.name.name))
                        .label(entry.name.span, ""),
                );
                ok = false;
                continue;
            }
            if let Some(function) = self.function_name(entry.value) {
                match self.function_value(function, self.ast.span(entry.value)) {
                    Some(region) => {
                        out.retain(|(n, ..)| *n != entry.name.name);
                        let span = entry.name.span.to(self.ast.span(entry.value));
                        out.push((entry.name.name.clone(), AttrValue::Region(region), span));
                    }
                    None => ok = false,
                }
                continue;
            }
            let Some(value) = self.term(entry.value) else {
                ok = false;
                continue;
            };
            let value = match value {
                Term::Open(id) => self.literal_of_open(id).cloned().unwrap_or(value),
                value => value,
            };
            let attr = term::to_attr(&value)
                .or_else(|| literal::tensor(&value, Wanted::Any).ok().map(AttrValue::Tensor))
                .or_else(|| {
                    // A constant of the graph may be given in place of its value.
                    match &value {
                        Term::Value(v) => self.sink.value(*v).map(AttrValue::Tensor),
                        _ => None,
                    }
                });
            match attr {
                Some(attr) => {
                    out.retain(|(n, ..)| *n != entry.name.name);
                    out.push((
                        entry.name.name.clone(),
                        attr,
                        entry.name.span.to(self.ast.span(entry.value)),
                    ));
                }
                None => {
                    tautomer_tensor::assume::left_open();
                    self.report(
                        Diagnostic::error(
                            "T0103",
                            format!(
                                "attribute `{}` needs a constant, not {}",
                                entry.name.name,
                                term::kind(&value)
                            ),
                        )
                        .label(self.ast.span(entry.value), "known only at run time")
                        .help("attributes consist of literals, dimensions and constants"),
                    );
                    ok = false;
                }
            }
        }
        ok.then_some(out)
    }

    /// The function that an expression names, if the name refers only to a function.
    fn function_name(&self, id: ExprId) -> Option<&'a Function> {
        match self.ast.kind(id) {
            ExprKind::Name(name) if self.lookup(name).is_none() => self.function(name),
            _ => None,
        }
    }

    /// A function as a value.
    fn function_value(&mut self, function: &'a Function, span: Span) -> Option<Arc<Region>> {
        let name = function.name.as_ref().map(|n| n.name.clone()).unwrap_or_default();
        let mut path: Vec<Arc<str>> = self.path.clone();
        path.extend(self.frames.iter().filter_map(|f| f.function.clone()));
        let problem = if path.contains(&name) {
            Some(("T0107", format!("`{name}` calls itself")))
        } else if path.len() >= MAX_FUNCTION_NESTING {
            Some((
                "T0601",
                format!("functions call each other more than {MAX_FUNCTION_NESTING} deep"),
            ))
        } else {
            None
        };
        if let Some((code, message)) = problem {
            self.report(Diagnostic::error(code, message).label(span, ""));
            return None;
        }
        path.push(name);
        let within = Within {
            path,
            symbols: self.symbols.iter().cloned().collect(),
            scope: self.scope.clone(),
        };
        let mut problems = Diagnostics::new();
        let graph = program::function_graph(
            self.ast,
            function,
            self.items.as_ref(),
            within,
            &mut self.budget,
            &mut problems,
        );
        let failed = problems.has_errors();
        self.problems.extend(problems);
        graph.filter(|_| !failed).map(|graph| Arc::new(graph_region(&graph)))
    }
}
