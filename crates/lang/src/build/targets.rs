//! Targets.

use std::sync::Arc;

use tautomer_diag::{Diagnostics, Span};

use super::super::ast::*;
use super::super::literal;
use super::super::syntax::{Pair, Rule};
use super::Builder;

impl<'s> Builder<'s> {
    /// A whole file of targets.
    pub(in super::super) fn target_file(mut self, pair: Pair<'s>) -> Result<TargetFile, Diagnostics> {
        let mut targets = Vec::new();
        for part in pair.into_inner() {
            if part.as_rule() == Rule::target_decl {
                targets.extend(self.target(part));
            }
        }
        let comments = self.remaining_comments();
        self.problems.into_result(TargetFile {
            comments,
            ast: Arc::new(self.ast),
            targets,
        })
    }

    fn target(&mut self, pair: Pair<'s>) -> Option<TargetDecl> {
        let span = self.span(&pair);
        let doc = self.doc(span.start);
        let (mut name, mut clauses) = (None, Vec::new());
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::item_name => name = Some(self.ident(&part)),
                Rule::target_clause => {
                    let Some(clause) = part.into_inner().next() else {
                        continue;
                    };
                    let span = self.span(&clause);
                    if let Some(kind) = self.target_clause(clause) {
                        clauses.push(TargetClause { kind, span });
                    }
                }
                _ => {}
            }
        }
        Some(TargetDecl {
            doc,
            name: name?,
            clauses,
            span,
        })
    }

    fn target_clause(&mut self, pair: Pair<'s>) -> Option<TargetClauseKind> {
        let rule = pair.as_rule();
        let parts: Vec<Pair<'s>> = pair.into_inner().collect();
        Some(match rule {
            Rule::extends_clause => {
                let is_path = parts.iter().any(|part| part.as_rule() == Rule::string);
                TargetClauseKind::Extends {
                    name: self.words(parts).pop()?,
                    is_path,
                }
            }
            Rule::format_clause => TargetClauseKind::Format(self.words(parts).pop()?),
            Rule::opset_clause => TargetClauseKind::Opset(self.words(parts).pop()?),
            Rule::operators_clause => TargetClauseKind::Operators(self.words(parts)),
            Rule::rules_clause => TargetClauseKind::Rules(self.words(parts)),
            Rule::kernels_clause => TargetClauseKind::Kernels(self.words(parts).pop()?),
            Rule::static_clause => TargetClauseKind::Static,
            Rule::only_clause => TargetClauseKind::Only(self.op_refs(parts)),
            Rule::allow_clause => TargetClauseKind::Allow(self.op_refs(parts)),
            Rule::deny_clause => TargetClauseKind::Deny(self.op_refs(parts)),
            Rule::types_clause => TargetClauseKind::Types {
                operators: self.for_operators(&parts),
                names: self.words(parts),
            },
            Rule::limit_clause => TargetClauseKind::Where {
                operators: self.for_operators(&parts),
                conditions: (parts.into_iter())
                    .filter(|part| part.as_rule() == Rule::expr)
                    .map(|part| self.expr(part))
                    .collect(),
            },
            Rule::machine_clause => {
                let values = parts.into_iter().filter(|part| part.as_rule() == Rule::machine_value);
                TargetClauseKind::Machine(values.filter_map(|part| self.machine_value(part)).collect())
            }
            Rule::price_clause => {
                let number = parts.iter().find(|part| part.as_rule() == Rule::number)?;
                let (factor, factor_span) = (self.real(number)?, self.span(number));
                TargetClauseKind::Cost {
                    operators: self.op_refs(parts),
                    factor,
                    factor_span,
                }
            }
            _ => return None,
        })
    }

    /// The names, strings and numbers among the parts of a clause, as written.
    fn words(&mut self, parts: Vec<Pair<'s>>) -> Vec<Ident> {
        let mut out = Vec::new();
        for part in parts {
            match part.as_rule() {
                Rule::string => out.push(Ident {
                    name: self.text(&part).into(),
                    span: self.span(&part),
                }),
                Rule::label | Rule::item_name | Rule::number => out.push(self.ident(&part)),
                _ => {}
            }
        }
        out
    }

    fn op_refs(&mut self, parts: Vec<Pair<'s>>) -> Vec<OpRef> {
        let refs = parts.into_iter().filter(|part| part.as_rule() == Rule::op_ref);
        refs.filter_map(|part| {
            let inner: Vec<Pair<'s>> = part.into_inner().collect();
            let quoted = inner.iter().any(|part| part.as_rule() == Rule::string);
            Some(OpRef {
                name: self.words(inner).pop()?,
                quoted,
            })
        })
        .collect()
    }

    fn for_operators(&mut self, parts: &[Pair<'s>]) -> Vec<OpRef> {
        let found = parts.iter().find(|part| part.as_rule() == Rule::for_operators);
        found.map_or_else(Vec::new, |part| self.op_refs(part.clone().into_inner().collect()))
    }

    fn machine_value(&mut self, pair: Pair<'s>) -> Option<(Ident, f64)> {
        let (mut name, mut value) = (None, None);
        for part in pair.into_inner() {
            match part.as_rule() {
                Rule::label => name = Some(self.ident(&part)),
                Rule::number => value = self.real(&part),
                _ => {}
            }
        }
        Some((name?, value?))
    }

    /// The value of a number.
    pub(super) fn real(&mut self, pair: &Pair<'s>) -> Option<f64> {
        let span: Span = self.span(pair);
        match literal::number(pair.as_str(), span) {
            Ok(ExprKind::Float { value, .. }) => Some(value),
            Ok(ExprKind::Int { value, .. }) => Some(value as f64),
            Ok(_) => None,
            Err(problem) => {
                self.report(problem);
                None
            }
        }
    }
}
