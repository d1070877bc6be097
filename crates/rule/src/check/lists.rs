//! Lists as operands in a pattern: each matches a constant with these elements.
//!
//! `one_hot(i, [0.0, 1.0])` is `one_hot(i, list)` with a variable `list: const` and the condition
//! `value(list) == [0.0, 1.0]`, so that code that reads rules sees nothing new.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::pattern::{PatternId, Variable};
use super::Checker;
use super::calls::is_literal;
use super::source::SideState;
use tautomer_diag::Diagnostic;
use tautomer_lang::ast::{Ast, BinaryOp, ExprId, ExprKind, Ident, Item, LetNames, Rule, RuleClass, Side};
use tautomer_lang::format_expr;
use tautomer_op as op;

/// The variable that replaces a list, and its condition.
#[derive(Debug, Clone)]
pub(super) struct ListConstant {
    name: Arc<str>,
    /// The condition that it equals the list.
    pub(super) condition: ExprId,
}

impl ListConstant {
    pub(super) fn variable(&self) -> Variable {
        Variable {
            name: self.name.clone(),
            class: RuleClass::Const,
            ty: None,
            indexed: false,
        }
    }
}

/// A constant for each list of numbers that is an operand on a side of a rule; adds the conditions to the arena.
pub(super) fn constants(ast: &mut Ast, items: &[Item]) -> FxHashMap<ExprId, ListConstant> {
    let mut out = FxHashMap::default();
    for item in items {
        let Item::Rule(rule) = item else { continue };
        let sides = [&rule.source, &rule.target];
        let found: Vec<ExprId> = sides.iter().flat_map(|side| operands(ast, side)).collect();
        if found.is_empty() {
            continue;
        }
        let mut names = names(ast, rule);
        for id in found {
            let number = |n: usize| if n == 1 { "list".to_owned() } else { format!("list{n}") };
            let free = (1..).map(number).find(|name| !names.iter().any(|n| **n == **name));
            let Some(name) = free.map(Arc::<str>::from) else {
                continue;
            };
            names.push(name.clone());
            let span = ast.span(id);
            let variable = ast.push(ExprKind::Name(name.clone()), span);
            let value = ExprKind::Call {
                callee: Ident {
                    name: "value".into(),
                    span,
                },
                quoted: false,
                args: vec![variable],
                attrs: None,
            };
            let lhs = ast.push(value, span);
            let condition = ExprKind::Binary {
                op: BinaryOp::Eq,
                lhs,
                rhs: id,
            };
            let condition = ast.push(condition, span);
            out.insert(id, ListConstant { name, condition });
        }
    }
    out
}

/// The lists of numbers among the operands of a side, in order.
fn operands(ast: &Ast, side: &Side) -> Vec<ExprId> {
    let mut out = Vec::new();
    let mut stack: Vec<ExprId> = side.lets.iter().map(|l| l.value).chain([side.outputs]).collect();
    stack.reverse();
    while let Some(id) = stack.pop() {
        match ast.kind(id) {
            ExprKind::List(items) if !items.is_empty() && items.iter().all(|i| is_number(ast, *i)) => out.push(id),
            ExprKind::Call { callee, args, .. } => {
                // A list in place of an attribute is the attribute.
                let def = op::lookup(callee.as_str());
                let attr = |i: usize| def.and_then(|d| d.operands.get(i)?.attr).is_some();
                let operands = args.iter().enumerate().filter(|(i, _)| !attr(*i));
                stack.extend(operands.map(|(_, arg)| *arg).rev());
            }
            ExprKind::Comprehension { body, .. } => stack.push(*body),
            ExprKind::Tuple(_)
            | ExprKind::Unary { .. }
            | ExprKind::Binary { .. }
            | ExprKind::If { .. }
            | ExprKind::Project { .. }
            | ExprKind::Field { .. } => stack.extend(ast.operands(id).into_iter().rev()),
            _ => {}
        }
    }
    out
}

fn is_number(ast: &Ast, id: ExprId) -> bool {
    is_literal(ast, id) && !matches!(ast.kind(id), ExprKind::List(_) | ExprKind::Bool(_))
}

/// All names of a rule.
fn names(ast: &Ast, rule: &Rule) -> Vec<Arc<str>> {
    let mut out: Vec<Arc<str>> = rule.params.iter().map(|p| p.name.name.clone()).collect();
    let mut stack = rule.conditions.clone();
    for side in [&rule.source, &rule.target] {
        stack.extend(side.lets.iter().map(|l| l.value).chain([side.outputs]));
        for item in &side.lets {
            match &item.names {
                LetNames::One(name) => out.push(name.name.clone()),
                LetNames::Tuple(names) => out.extend(names.iter().map(|n| n.name.clone())),
            }
        }
    }
    while let Some(id) = stack.pop() {
        if let ExprKind::Name(name) = ast.kind(id) {
            out.push(name.clone());
        }
        stack.extend(ast.operands(id));
    }
    out
}

impl Checker<'_> {
    /// The constants for the lists of a side.
    pub(super) fn lists_of(&self, side: &Side) -> Vec<ListConstant> {
        let found = operands(self.ast, side).into_iter();
        found.filter_map(|id| self.lists.get(&id).cloned()).collect()
    }

    /// A list as an operand.
    pub(super) fn list(&mut self, id: ExprId, state: &mut SideState<'_>) -> Option<PatternId> {
        let span = self.ast.span(id);
        if let Some(list) = self.lists.get(&id) {
            let name = list.name.clone();
            return self.variable(&name, None, span, state);
        }
        let text = format_expr(self.ast, id);
        let problem = Diagnostic::error("T0308", "only a list of numbers is allowed as an operand in a pattern");
        self.problems.push(problem.label(span, "").help(format!(
            "declare a constant in its place, `c: const`, and state in a condition that it is `{text}`"
        )));
        None
    }
}
