//! The arms of a condition with `or`, and the members of a list that a condition names, one by one: a rule that holds
//! where the first arm does may be wrong where only the second does, and few random instances get there.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::asked::named_types;
use super::search::Search;
use crate::compare::finding::{Fault, WrongInstance};
use crate::instance::mutate::RuleNumbers;
use crate::instance::probe;
use crate::instance::random::Random;
use crate::instance::recipe::Recipe;
use crate::instance::seeds::Seeds;
use crate::verdict::options::Options;
use tautomer_diag::Span;
use tautomer_lang::ast::{BinaryOp, DTypeName, Dims, ExprId, ExprKind, TypeExpr, TypeKind, UnaryOp};
use tautomer_lang::format_expr;
use tautomer_rewrite::Trial;
use tautomer_rule::{Class, Example, Rule};
use tautomer_tensor::DType;

/// Limit on the arms of a rule.
const ARMS: usize = 12;

/// Limits on the instances of the rule that others are made from, on those that a search begins with, and on sizes that
/// the rule names.
const KNOWN: usize = 6;
const CLOSE: usize = 12;
const LARGEST: f64 = 64.0;

/// What a search of each arm found.
#[derive(Default)]
pub(super) struct Arms {
    /// An instance at which the rule is wrong.
    pub(super) wrong: Option<WrongInstance>,
    /// An arm of an `or` that holds at no instance.
    pub(super) missed: Option<String>,
    /// The number of instances at which sides were compared, and by which numbers.
    pub(super) instances: usize,
    pub(super) systems: BTreeMap<&'static str, usize>,
}

/// Searches each arm of each condition for an instance at which no other arm of the condition holds. `known` are
/// instances of the rule.
pub(super) fn search(rule: &Arc<Rule>, examples: &[Example], known: &[Recipe], options: &Options) -> Arms {
    let mut out = Arms::default();
    let (types, numbers) = (named_types(rule), RuleNumbers::of(rule).named());
    let sizes: Vec<i64> = numbers.iter().filter(|n| **n <= LARGEST).map(|n| *n as i64).collect();
    let mut nearby: Option<Vec<Recipe>> = None;
    for (i, arm) in arms_of(rule).into_iter().take(ARMS).enumerate() {
        let mut random = Random::part(options.seed, &format!("{} arm {i}", rule.name));
        // Other arms may hold wherever this one does.
        let ways: &[bool] = if arm.others.is_empty() {
            &[false]
        } else {
            &[true, false]
        };
        for &alone in ways {
            let own = Arc::new(arm.rule(rule, alone));
            let trial = Trial::new(own.clone());
            let mut search = Search::new(&own, &trial, options);
            let nearby = nearby.get_or_insert_with(|| {
                let all = known.iter().take(KNOWN);
                all.flat_map(|recipe| [vec![recipe.clone()], probe::nearby(recipe, &types, &sizes)].concat())
                    .collect()
            });
            let close = nearby
                .iter()
                .filter(|recipe| recipe.sides(&trial).is_some())
                .take(CLOSE);
            let seeds = Seeds::of(&own, &trial, examples).chain(close.cloned());
            let found = search.search(seeds, options, &mut random);
            let tried = search.report.instances + search.report.refused;
            out.instances += search.report.instances;
            for (system, count) in &search.report.systems {
                *out.systems.entry(system).or_default() += count;
            }
            // That engines rarely apply an arm says nothing about the rule.
            out.wrong = found.filter(|found| options.strict || found.mismatch.fault != Fault::Types);
            if out.wrong.is_some() {
                return out;
            }
            if tried > 0 {
                break;
            }
            // A number of a list is a value of a symbol, of which never all are tried.
            if !alone && matches!(arm.holds, Holds::Arm(_)) {
                out.missed.get_or_insert_with(|| format!("`{}` holds", arm.text(rule)));
            }
        }
    }
    out
}

/// One arm of an `or`, or one member of a list.
struct Arm {
    /// The condition that it is part of, as an index.
    condition: usize,
    /// What that requires in addition.
    beside: Vec<ExprId>,
    holds: Holds,
    others: Vec<ExprId>,
}

#[derive(Clone, Copy)]
enum Holds {
    Arm(ExprId),
    /// The first is the second.
    Member(ExprId, ExprId),
}

impl Arm {
    /// The rule where the arm holds, and alone if that is asked for.
    fn rule(&self, rule: &Rule, alone: bool) -> Rule {
        let mut out = rule.clone();
        let mut own = self.beside.clone();
        match self.holds {
            Holds::Arm(id) => {
                let first = own.len();
                flatten(rule, id, BinaryOp::And, &mut own);
                for part in &own[first..] {
                    let ExprKind::Binary { op, lhs, rhs } = rule.ast.kind(*part) else {
                        continue;
                    };
                    match (op, rule.ast.kind(*rhs)) {
                        (BinaryOp::Eq, _) => declare(&mut out, *lhs, *rhs),
                        (BinaryOp::In, ExprKind::List(all)) => {
                            all.iter().take(1).for_each(|one| declare(&mut out, *lhs, *one))
                        }
                        _ => {}
                    }
                }
            }
            Holds::Member(lhs, rhs) => {
                declare(&mut out, lhs, rhs);
                let op = BinaryOp::Eq;
                own.push(Arc::make_mut(&mut out.ast).make(ExprKind::Binary { op, lhs, rhs }));
            }
        }
        if alone {
            let ast = Arc::make_mut(&mut out.ast);
            let op = UnaryOp::Not;
            own.extend(
                self.others
                    .iter()
                    .map(|&operand| ast.make(ExprKind::Unary { op, operand })),
            );
        }
        out.conditions.splice(self.condition..=self.condition, own);
        out
    }

    fn text(&self, rule: &Rule) -> String {
        match self.holds {
            Holds::Arm(id) => format_expr(&rule.ast, id),
            Holds::Member(lhs, rhs) => format!("{} == {}", format_expr(&rule.ast, lhs), format_expr(&rule.ast, rhs)),
        }
    }
}

fn arms_of(rule: &Rule) -> Vec<Arm> {
    let mut out = Vec::new();
    for (condition, &id) in rule.conditions.iter().enumerate() {
        let mut parts = Vec::new();
        flatten(rule, id, BinaryOp::And, &mut parts);
        for (i, part) in parts.iter().enumerate() {
            let without = |all: &[ExprId], i: usize| [&all[..i], &all[i + 1..]].concat();
            let arm = |holds, others| Arm {
                condition,
                beside: without(&parts, i),
                holds,
                others,
            };
            let mut arms = Vec::new();
            flatten(rule, *part, BinaryOp::Or, &mut arms);
            if arms.len() > 1 {
                out.extend((0..arms.len()).map(|j| arm(Holds::Arm(arms[j]), without(&arms, j))));
            }
            out.extend(members(rule, *part).into_iter().map(|holds| arm(holds, Vec::new())));
        }
    }
    out
}

/// The members of the list in `x in [a, b]`. Over the real numbers, one floating-point type is like another.
fn members(rule: &Rule, id: ExprId) -> Vec<Holds> {
    let ExprKind::Binary {
        op: BinaryOp::In,
        lhs,
        rhs,
    } = rule.ast.kind(id)
    else {
        return Vec::new();
    };
    let ExprKind::List(all) = rule.ast.kind(*rhs) else {
        return Vec::new();
    };
    let counts =
        |id: &&ExprId| rule.class == Class::Bitwise || !dtype_of(rule, **id).is_some_and(|dtype| dtype.is_float());
    let members = all.iter().filter(counts).map(|member| Holds::Member(*lhs, *member));
    members.filter(|_| all.len() > 1).collect()
}

/// The variable `x` in `x.dtype`.
fn typed(rule: &Rule, id: ExprId) -> Option<usize> {
    match rule.ast.kind(id) {
        ExprKind::Field { base, name } if name.as_str() == "dtype" => match rule.ast.kind(*base) {
            ExprKind::Name(variable) => rule.variable(variable),
            _ => None,
        },
        _ => None,
    }
}

fn dtype_of(rule: &Rule, id: ExprId) -> Option<DType> {
    match rule.ast.kind(id) {
        ExprKind::Name(name) => name.parse().ok(),
        _ => None,
    }
}

/// Declares the element type of a variable that has to be the second, so that instances begin with it.
fn declare(rule: &mut Rule, lhs: ExprId, rhs: ExprId) {
    let (Some(variable), Some(dtype)) = (typed(rule, lhs), dtype_of(rule, rhs)) else {
        return;
    };
    let ty = &mut rule.variables[variable].ty;
    let span = Span::default();
    let name = DTypeName { dtype, span };
    let any = || TypeKind::Tensor {
        dtype: None,
        dims: Dims::AnyRank,
    };
    let ty = ty.get_or_insert_with(|| TypeExpr { kind: any(), span });
    if let TypeKind::Tensor { dtype, .. } = &mut ty.kind {
        dtype.get_or_insert(name);
    }
}

/// The operands of nested calls of one operator.
fn flatten(rule: &Rule, id: ExprId, by: BinaryOp, out: &mut Vec<ExprId>) {
    match rule.ast.kind(id) {
        ExprKind::Binary { op, lhs, rhs } if *op == by => {
            flatten(rule, *lhs, by, out);
            flatten(rule, *rhs, by, out);
        }
        _ => out.push(id),
    }
}
