//! The names in a target's clauses: operators, element types, words, and values in conditions.

use std::collections::BTreeSet;

use super::{Checker, Draft, ExprId, File, Ident, Limit, OpRef};
use crate::diag::{Diagnostic, did_you_mean};
use crate::graph::term;
use crate::lang::ast::ExprKind;
use crate::op::{self, OpDef};
use crate::target::legal::Names;
use crate::tensor::{DType, Shape, TensorType, Type};

/// Ranks for which a condition is tried.
const RANKS: std::ops::Range<usize> = 0..7;

impl Checker<'_> {
    /// The value of a word.
    pub(super) fn word<T: Copy>(&mut self, file: &File, word: &Ident, what: &str, known: &[(&str, T)]) -> Option<T> {
        let found = known.iter().find(|(name, _)| *name == word.as_str());
        if found.is_none() {
            let problem = Diagnostic::error("T0331", format!("there is no {what} `{}`", word.as_str()));
            let problem = problem.label(word.span, "");
            let names: Vec<String> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
            let close = did_you_mean(word.as_str(), known.iter().map(|(name, _)| *name));
            self.report(
                file,
                match close {
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => problem.help(format!("write {}", names.join(", "))),
                },
            );
        }
        found.map(|(_, value)| *value)
    }

    pub(super) fn dtype(&mut self, file: &File, name: &Ident) -> Option<DType> {
        if let Ok(dtype) = name.as_str().parse() {
            return Some(dtype);
        }
        let names: Vec<String> = DType::ALL.iter().map(ToString::to_string).collect();
        let problem = Diagnostic::error("T0331", format!("there is no element type `{}`", name.as_str()));
        let problem = problem.label(name.span, "");
        self.report(
            file,
            match did_you_mean(name.as_str(), names.iter().map(String::as_str)) {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help(format!("element types are {}", names.join(", "))),
            },
        );
        None
    }

    /// Operators that the target has; they are checked against its format later.
    pub(super) fn listed(&mut self, draft: &mut Draft<'_>, operators: &[OpRef]) -> BTreeSet<&'static str> {
        let found = self.operators(draft, operators);
        for (def, span) in &found {
            draft.named.push((def, *span));
            if def.declared.is_some() {
                draft.target.declared.insert(def.name);
            }
        }
        found.into_iter().map(|(def, _)| def.name).collect()
    }

    pub(super) fn operators(
        &mut self,
        draft: &Draft<'_>,
        operators: &[OpRef],
    ) -> Vec<(&'static OpDef, crate::diag::Span)> {
        let scope = &draft.target.scope;
        let mut out = Vec::new();
        for operator in operators {
            let (name, span) = (operator.name.as_str(), operator.name.span);
            if let Some(def) = scope.find(name, operator.quoted) {
                out.push((def, span));
                continue;
            }
            let problem = Diagnostic::error("T0331", format!("there is no operator `{name}`")).label(span, "");
            let mut known: Vec<String> = scope.iter().map(|(name, _)| name.to_owned()).collect();
            if !operator.quoted {
                known.extend(op::table().flat_map(|def| def.names()).map(str::to_owned));
            }
            let close: Option<&str> = match op::lookup_onnx(name) {
                Some(def) => Some(def.name),
                None => did_you_mean(name, known.iter().map(String::as_str)),
            };
            self.report(
                draft.file,
                match close {
                    Some(close) if close.contains("::") => problem.help(format!("did you mean \"{close}\"?")),
                    Some(close) => problem.help(format!("did you mean `{close}`?")),
                    None => {
                        problem.help("`tautomer ops list` shows all; `operators \"mine.ops\"` adds those of a file")
                    }
                },
            );
        }
        out
    }

    pub(super) fn limits(&mut self, draft: &mut Draft<'_>, conditions: &[ExprId], operators: &[OpRef]) {
        let found = self.operators(draft, operators);
        for &condition in conditions {
            let right = match operators.is_empty() {
                true => {
                    self.names_are_known(
                        draft.file,
                        condition,
                        &["x"],
                        "a condition is on `x`, any operand or result",
                    ) && self.has_a_value(draft.file, condition)
                }
                false => found.iter().all(|(def, _)| {
                    let names: Vec<&str> = def
                        .operands
                        .iter()
                        .map(|o| o.name)
                        .chain(def.attrs.iter().map(|a| a.name))
                        .collect();
                    let known = names
                        .iter()
                        .map(|name| format!("`{name}`"))
                        .collect::<Vec<_>>()
                        .join(", ");
                    let help = format!("operands and attributes of `{}` are {known}", def.name);
                    self.names_are_known(draft.file, condition, &names, &help)
                }),
            };
            if right {
                draft.target.limits.push(Limit {
                    ast: draft.file.parsed.ast.clone(),
                    condition,
                    operators: (!operators.is_empty()).then(|| found.iter().map(|(def, _)| def.name).collect()),
                });
            }
        }
    }

    fn names_are_known(&mut self, file: &File, condition: ExprId, known: &[&str], help: &str) -> bool {
        let ast = &file.parsed.ast;
        let mut bound: Vec<&str> = Vec::new();
        let mut wrong = Vec::new();
        let mut stack = vec![condition];
        while let Some(id) = stack.pop() {
            match ast.kind(id) {
                ExprKind::Name(name) => wrong.push((id, &**name)),
                ExprKind::Comprehension { var, .. } => bound.push(var.as_str()),
                _ => {}
            }
            stack.extend(ast.operands(id));
        }
        wrong.retain(|(_, name)| {
            let is_dtype = name.parse::<DType>().is_ok();
            !known.contains(name) && !bound.contains(name) && !is_dtype
        });
        for (id, name) in &wrong {
            let problem = Diagnostic::error("T0331", format!("there is no `{name}` here")).label(ast.span(*id), "");
            let problem = match did_you_mean(name, known.iter().copied()) {
                Some(close) => problem.help(format!("did you mean `{close}`?")),
                None => problem.help(help),
            };
            self.report(file, problem);
        }
        wrong.is_empty()
    }

    /// Tries a condition on tensors of several ranks: it must have a value for one of them.
    fn has_a_value(&mut self, file: &File, condition: ExprId) -> bool {
        let ast = &file.parsed.ast;
        let mut last = None;
        for rank in RANKS {
            let ty: Type = TensorType {
                dtype: DType::F32,
                shape: Some(Shape::from([2usize; RANKS.end].split_at(rank).0)),
            }
            .into();
            match term::condition(ast, condition, &Names::of_value(&ty)) {
                Ok(_) => return true,
                Err(problem) => last = Some(problem),
            }
        }
        if let Some(wrong) = last {
            let problem = Diagnostic::error("T0332", wrong.message).label(wrong.span, "");
            let fields = "what is known of a value is `x.rank`, `x.shape`, `x.size` and `x.dtype`".to_owned();
            // A wrong field has a help of its own.
            let help = wrong.help.filter(|help| help.contains(".rank")).unwrap_or(fields);
            self.report(file, problem.help(help));
        }
        false
    }
}
