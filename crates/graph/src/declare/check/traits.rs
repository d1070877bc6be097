//! Properties of a declaration, and whether its body has them.

use tautomer_diag::{Diagnostic, did_you_mean};
use tautomer_lang::ast::{ExprKind, Mark};
use tautomer_op::OpTraits;

use super::{Checker, invalid};
use crate::term::term_function;

impl Checker<'_> {
    pub(super) fn traits(&mut self) -> OpTraits {
        let mut out = OpTraits::NONE;
        for word in &self.decl.traits {
            match OpTraits::by_name(word.as_str()) {
                Some(found) => out = out.and(found),
                None => {
                    let problem = Diagnostic::error("T0308", format!("`{}` is no property of operators", word.name))
                        .label(word.span, "");
                    let all: Vec<&str> = OpTraits::all_names().collect();
                    self.problems
                        .push(match did_you_mean(word.as_str(), OpTraits::all_names()) {
                            Some(close) => problem.help(format!("did you mean `{close}`?")),
                            None => problem.help(format!("the properties are {}", all.join(", "))),
                        });
                }
            }
        }
        out
    }

    /// Properties of an operator with a body follow from the body, or are proved as rules.
    pub(super) fn traits_of_body(&mut self) {
        let decl = self.decl;
        let count = |n: usize| decl.operands.len() == n && decl.operands.iter().all(|o| o.mark == Mark::One);
        for word in &decl.traits {
            let Some(one) = OpTraits::by_name(word.as_str()) else {
                continue;
            };
            let problem = match word.as_str() {
                "unary" if !count(1) => Some("`unary` operators have one operand".to_owned()),
                "binary" if !count(2) => Some("`binary` operators have two operands".to_owned()),
                "unary" | "binary" => None,
                "elementwise" => self
                    .body_call_that_is_not(one)
                    .map(|name| format!("the body is not elementwise: it calls `{name}`")),
                "nondeterministic" => None,
                _ if decl.body.is_some() => Some(format!("`{word}` is not seen from the body", word = word.name)),
                _ => None,
            };
            if let Some(problem) = problem {
                let help = match word.as_str() {
                    "unary" | "binary" | "elementwise" => "remove this property",
                    _ => "state it as a rule, which is verified: `rule … { f(a, b) => f(b, a) }`",
                };
                self.problems.push(invalid(problem).label(word.span, "").help(help));
            }
        }
    }

    /// The name of an operator that the body calls and that lacks a property.
    fn body_call_that_is_not(&self, wanted: OpTraits) -> Option<String> {
        self.decl.body.as_ref()?;
        self.decl.ast.iter().find_map(|(_, expr)| {
            let name = match &expr.kind {
                ExprKind::Call { callee, .. } if term_function(callee.as_str()).is_none() => callee.as_str(),
                ExprKind::Binary { op, .. } => op.operator()?,
                ExprKind::Unary { op, .. } => op.operator(),
                _ => return None,
            };
            let def = tautomer_op::lookup(name)?;
            (!def.traits.contains(wanted)).then(|| name.to_owned())
        })
    }
}
