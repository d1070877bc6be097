//! Tracks which parts of a rule the instances reach: both sides of each comparison in its conditions, and both branches
//! of each `when` in its target.

use std::sync::Arc;

use crate::instance::recipe::Recipe;
use crate::verdict::report::Reached;
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind, UnaryOp};
use tautomer_lang::format_expr;
use tautomer_rewrite::Trial;
use tautomer_rule::Rule;

/// Limit on the instances outside the conditions that are looked at.
const OUTSIDE: usize = 200;

/// How close the sides of a comparison of reals are at its boundary, relative to the larger one.
const CLOSE: f64 = 1e-3;

/// The parts of a rule, and how often each was reached.
pub(super) struct Parts {
    atoms: Vec<Atom>,
    /// The expressions to evaluate at each match.
    watched: Vec<ExprId>,
    /// A trial of the rule without its conditions, and how often it may still be asked.
    free: Trial,
    left: usize,
}

/// A condition that is not composed of others.
struct Atom {
    reached: Reached,
    /// Its index among the watched expressions, and the indices of a comparison's sides.
    at: usize,
    sides: Option<(usize, usize)>,
}

impl Parts {
    pub(super) fn of(rule: &Rule) -> Parts {
        let mut free = rule.clone();
        free.conditions.clear();
        let mut parts = Parts {
            atoms: Vec::new(),
            watched: Vec::new(),
            free: Trial::new(Arc::new(free)),
            left: OUTSIDE,
        };
        for &condition in &rule.conditions {
            parts.add(rule, condition, false);
        }
        let mut stack: Vec<ExprId> = rule.target.lets.iter().map(|l| l.value).collect();
        stack.push(rule.target.result);
        while let Some(next) = stack.pop() {
            if let ExprKind::When { cond, .. } = rule.ast.kind(next) {
                parts.add(rule, *cond, true);
            }
            stack.extend(rule.ast.operands(next));
        }
        let watched = parts.watched.clone();
        parts.free = parts.free.watching(watched);
        parts
    }

    fn add(&mut self, rule: &Rule, condition: ExprId, in_target: bool) {
        let mut stack = vec![condition];
        while let Some(next) = stack.pop() {
            let sides = match rule.ast.kind(next) {
                ExprKind::Binary { op, lhs, rhs } => match op {
                    BinaryOp::And | BinaryOp::Or => {
                        stack.extend([*rhs, *lhs]);
                        continue;
                    }
                    BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => Some((*lhs, *rhs)),
                    _ => None,
                },
                ExprKind::Unary {
                    op: UnaryOp::Not,
                    operand,
                } => {
                    stack.push(*operand);
                    continue;
                }
                _ => None,
            };
            let mut watch = |e: ExprId| {
                self.watched.push(e);
                self.watched.len() - 1
            };
            self.atoms.push(Atom {
                at: watch(next),
                sides: sides.map(|(a, b)| (watch(a), watch(b))),
                reached: Reached {
                    condition: format_expr(&rule.ast, next),
                    in_target,
                    compares: sides.is_some(),
                    holds: 0,
                    fails: 0,
                    boundary: 0,
                },
            });
        }
    }

    /// The expressions whose values [`Self::compared`] takes.
    pub(super) fn watched(&self) -> Vec<ExprId> {
        self.watched.clone()
    }

    /// Counts an instance at which the sides were compared.
    pub(super) fn compared(&mut self, values: &[Option<f64>]) {
        for atom in &mut self.atoms {
            let value = |at: usize| values.get(at).copied().flatten();
            match value(atom.at) {
                Some(holds) if holds != 0.0 => atom.reached.holds += 1,
                Some(_) => atom.reached.fails += 1,
                None => continue,
            }
            if let Some((Some(a), Some(b))) = atom.sides.map(|(a, b)| (value(a), value(b))) {
                let whole = a.fract() == 0.0 && b.fract() == 0.0;
                let close = if whole { 1.0 } else { CLOSE * a.abs().max(b.abs()) };
                atom.reached.boundary += usize::from((a - b).abs() <= close);
            }
        }
    }

    /// Counts an instance that the rule does not match, if its conditions are the reason.
    pub(super) fn rejected(&mut self, recipe: &Recipe) {
        let is_open = |atom: &Atom| !atom.reached.in_target && atom.reached.fails == 0;
        if self.left == 0 || !self.atoms.iter().any(is_open) {
            return;
        }
        self.left -= 1;
        let Some(sides) = recipe.sides(&self.free) else { return };
        for atom in self.atoms.iter_mut().filter(|atom| !atom.reached.in_target) {
            let fails = sides.watched.get(atom.at).copied().flatten() == Some(0.0);
            atom.reached.fails += usize::from(fails);
        }
    }

    /// The parts that were reached, in the order of the rule's text.
    pub(super) fn reached(&self) -> Vec<Reached> {
        self.atoms.iter().map(|atom| atom.reached.clone()).collect()
    }

    /// A branch of the target that no comparison reached.
    pub(super) fn missed(&self) -> Option<String> {
        let parts = self.atoms.iter().map(|atom| &atom.reached);
        parts.filter(|part| part.in_target).find_map(|part| {
            let what = match (part.holds, part.fails) {
                (0, 1..) => "holds",
                (1.., 0) => "does not hold",
                _ => return None,
            };
            Some(format!("`{}` {what}", part.condition))
        })
    }
}
