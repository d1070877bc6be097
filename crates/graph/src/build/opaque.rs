//! Calls of opaque operators.

use std::sync::Arc;

use super::functions::wrong_count;
use super::{Builder, Val};
use crate::literal;
use crate::sink::ValueId;
use crate::term::Term;
use tautomer_diag::{Diagnostic, Span};
use tautomer_lang::ast::ExprId;
use tautomer_op::{AttrValue, OpaqueOp};

impl Builder<'_> {
    pub(super) fn opaque(
        &mut self,
        id: ExprId,
        callee: &Arc<str>,
        args: Vec<Term>,
        given: Vec<(Arc<str>, AttrValue, Span)>,
        span: Span,
    ) -> Val {
        let declared = self.declared(callee);
        let result = match (self.ascribed.get(&id).cloned(), declared) {
            (Some(ty), _) => ty,
            (None, Some(decl)) => {
                if decl.params.len() != args.len() {
                    let problem = wrong_count(&format!("`{callee}` is declared with"), decl.params.len(), args.len());
                    self.report(problem.label(span, "").secondary(decl.span, "declared here"));
                    return None;
                }
                self.declared_type(&decl.result)?
            }
            (None, None) => {
                self.report(
                    Diagnostic::error("T0101", format!("`{callee}` is not declared"))
                        .label(span, "its type is not known")
                        .help(format!("declare it: `opaque \"{callee}\"(x: f32[..]) -> f32[..];`, or give the result a type: `let y: f32[..] = …;`")),
                );
                return None;
            }
        };
        let operands: Vec<ValueId> = args.into_iter().map(|t| self.vertex(t, span)).collect::<Option<_>>()?;
        let (domain, name) = callee.rsplit_once("::").unwrap_or(("", callee));
        let op = OpaqueOp {
            domain: domain.to_owned(),
            name: name.to_owned(),
            attr_names: given.iter().map(|(n, ..)| n.clone()).collect(),
            result,
        };
        let attrs = given.into_iter().map(|(_, v, _)| literal::foreign(v)).collect();
        match self.sink.opaque(op, &operands, attrs) {
            Ok(v) => {
                self.sink.place(v, span);
                Some(Term::Value(v))
            }
            Err(e) => {
                self.report(Diagnostic::error(e.code, e.message).label(span, ""));
                None
            }
        }
    }
}
