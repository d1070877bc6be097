//! Inlining of calls of functions of the program.

use super::work::Task;
use super::{Builder, Frame, Val};
use crate::literal::Wanted;
use crate::term::Term;
use tautomer_diag::{Diagnostic, Span};
use tautomer_lang::ast::{ExprId, Function};

impl<'a> Builder<'a> {
    /// Schedules the body of a function, with its parameters bound to operands.
    pub(super) fn enter(
        &mut self,
        function: &'a Function,
        args: Vec<Term>,
        ids: &[ExprId],
        span: Span,
        tasks: &mut Vec<Task<'a>>,
        values: &mut Vec<Val>,
    ) {
        let name = function.name.as_ref().map(|n| n.name.clone()).unwrap_or_default();
        if args.len() != function.params.len() {
            let problem = wrong_count(&format!("`{name}` takes"), function.params.len(), args.len());
            self.report(
                problem
                    .label(span, "")
                    .secondary(function.name.as_ref().map_or(function.span, |n| n.span), "defined here"),
            );
            values.push(None);
            return;
        }
        if let Some(begin) = self.frames.iter().position(|f| f.function.as_ref() == Some(&name)) {
            let between = self.frames.iter().skip(begin + 1);
            let through: Vec<String> = between
                .filter_map(|f| Some(format!("`{}`", f.function.as_ref()?)))
                .collect();
            let through = match through.is_empty() {
                true => String::new(),
                false => format!(" through {}", through.join(", ")),
            };
            let problem = Diagnostic::error("T0107", format!("`{name}` calls itself{through}"));
            self.report(
                problem
                    .label(span, "")
                    .help("functions are inlined, so a call may not lead back to its own function"),
            );
            values.push(None);
            return;
        }
        let mut frame = Frame::of(Some(name.clone()));
        for ((param, arg), &id) in function.params.iter().zip(args).zip(ids) {
            let declared = param.ty.as_ref().and_then(|t| self.declared_type(t));
            let at = self.ast.span(id);
            let value = match &declared {
                Some(declared) => {
                    let wanted = declared.as_tensor().map_or(Wanted::Any, |t| Wanted::Exactly(t.dtype));
                    let arg = self.coerced(arg, declared, at);
                    arg.and_then(|arg| self.vertex_as(arg, wanted, at)).map(Term::Value)
                }
                None => self.undeclared(arg, at),
            };
            if let (Some(Term::Value(v)), Some(declared)) = (&value, &declared) {
                let actual = self.sink.ty(*v);
                if !declared.admits(actual) {
                    self.report(
                        Diagnostic::error(
                            "T0204",
                            format!("`{}` of `{name}` is {declared}, but {actual} is given", param.name.name),
                        )
                        .label(self.ast.span(id), format!("this is {actual}"))
                        .secondary(param.span, "declared here"),
                    );
                }
            }
            frame.names.entry(param.name.name.clone()).or_default().push(value);
        }
        self.frames.push(frame);
        tasks.push(Task::PopFrame);
        tasks.extend(function.result.as_ref().map(Task::Result));
        tasks.push(Task::Block(&function.body));
    }
}

/// A problem about a wrong number of operands; `what` begins the message, as in "`f` takes".
pub(super) fn wrong_count(what: &str, wanted: usize, given: usize) -> Diagnostic {
    let plural = if wanted == 1 { "" } else { "s" };
    let are = if given == 1 { "is" } else { "are" };
    Diagnostic::error(
        "T0102",
        format!("{what} {wanted} operand{plural}, but {given} {are} given"),
    )
}
