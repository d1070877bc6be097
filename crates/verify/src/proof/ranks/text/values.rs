//! What the values in a rule depend on: attributes of its target, lists in its conditions.

use rustc_hash::FxHashSet;

use super::super::numbering::Numbering;
use super::{Looked, Text, has, is_axes, is_plain};
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind};
use tautomer_rule::Rule;

impl Text {
    /// Reads an expression of the target.
    pub(super) fn value(&mut self, rule: &Rule, id: ExprId, numbering: &Numbering<'_>) -> Option<()> {
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Call {
                callee, args, attrs, ..
            } => {
                for &arg in args {
                    self.value(rule, arg, numbering)?;
                }
                if rule.scope.declared(callee.as_str()).is_some() {
                    return None;
                }
                let def = tautomer_op::lookup(callee.as_str());
                let variable = rule.operators.iter().find(|own| *own.name == *callee.as_str());
                if let Some(variable) = variable
                    && attrs.as_ref().is_none_or(|a| a.rest.is_none())
                {
                    for declared in variable.choices.iter().flat_map(|def| def.attrs) {
                        self.preset(declared.kind, declared.default);
                    }
                }
                let entries = attrs.iter().flat_map(|a| &a.entries);
                let mut given: FxHashSet<&str> = FxHashSet::default();
                for entry in entries {
                    given.insert(entry.name.as_str());
                    let declared = def.and_then(|def| def.attrs.iter().find(|d| d.name == entry.name.as_str()));
                    let axes = declared.is_none_or(|d| is_axes(d.kind));
                    let is_result = id == rule.target.result;
                    let is_natural = axes && numbering.is_natural(callee.as_str(), args, entry.value, is_result);
                    if is_natural && !self.axes(rule, entry.value) {
                        self.natural = true;
                        continue;
                    }
                    self.unnatural |= axes && !is_natural;
                    // A written number, word or element type is no axis.
                    let is_plain = declared.is_some_and(|d| is_plain(d.kind)) && !self.asks(rule, entry.value);
                    if !is_plain {
                        self.attribute(rule, entry.value, axes);
                    }
                }
                if let Some(def) = def
                    && attrs.as_ref().is_none_or(|a| a.rest.is_none())
                {
                    for declared in def.attrs.iter().filter(|d| !given.contains(d.name)) {
                        self.preset(declared.kind, declared.default);
                    }
                }
                Some(())
            }
            ExprKind::When { .. } | ExprKind::If { .. } | ExprKind::Comprehension { .. } => None,
            ExprKind::Field { .. } | ExprKind::Index { .. } | ExprKind::Slice { .. } | ExprKind::Range { .. } => {
                self.everything = true;
                Some(())
            }
            _ => ast
                .operands(id)
                .into_iter()
                .try_for_each(|part| self.value(rule, part, numbering)),
        }
    }

    /// Reads the value of an attribute, which is an axis or a list of axes if `axes`.
    pub(super) fn attribute(&mut self, rule: &Rule, id: ExprId, axes: bool) {
        if !self.asks(rule, id) {
            self.numbers(rule, id);
            // An axis that is a number of another kind.
            self.everything |= axes && rule.ast.mentions(id, &|_| true);
            return;
        }
        if axes && (self.axes(rule, id) || self.counts_from_rank(rule, id)) {
            return;
        }
        // Where no axis of the variables that it looks at is taken away, it has the same value.
        let ast = &rule.ast;
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            match ast.kind(id) {
                ExprKind::Name(name) => {
                    if rule.variable(name).is_some() {
                        self.looked.push((name.clone(), Looked::All));
                    } else {
                        self.everything = true;
                    }
                }
                ExprKind::Index { .. } if self.sizes(rule, id).is_some() => {}
                _ => waiting.extend(ast.operands(id)),
            }
        }
    }

    /// Reads `x.rank - 1`, alone or in a list: an axis that is counted from the end, as long as the value with that axis
    /// loses the same axes as `x`.
    pub(super) fn counts_from_rank(&mut self, rule: &Rule, id: ExprId) -> bool {
        let ast = &rule.ast;
        let id = match ast.kind(id) {
            ExprKind::List(items) => match items.as_slice() {
                [item] => *item,
                _ => return false,
            },
            _ => id,
        };
        let (rank, less) = match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Sub,
                lhs,
                rhs,
            } => match ast.kind(*rhs) {
                ExprKind::Int { value, .. } => (*lhs, *value),
                _ => return false,
            },
            _ => (id, 0),
        };
        let (Some(name), Ok(less)) = (self.field(rule, rank, "rank"), usize::try_from(less)) else {
            return false;
        };
        self.largest = self.largest.max(less + 1);
        self.counted.push((name, less));
        true
    }

    pub(super) fn numbers(&mut self, rule: &Rule, id: ExprId) {
        match rule.ast.kind(id) {
            ExprKind::Int { value, .. } => self.number(i64::try_from(*value).unwrap_or(0)),
            ExprKind::Name(_) | ExprKind::Bool(_) | ExprKind::Str(_) | ExprKind::Float { .. } => {}
            ExprKind::List(items) => items.iter().for_each(|&item| self.numbers(rule, item)),
            // The number itself may be another one.
            _ => {
                self.from_front.any = true;
                self.from_end.any = true;
                let parts = rule.ast.operands(id);
                parts.into_iter().for_each(|part| self.numbers(rule, part));
            }
        }
    }

    /// True for axes that are passed on, and unions and differences of lists: whatever the axes are, removing an axis
    /// from the lists removes it from the value.
    pub(super) fn axes(&self, rule: &Rule, id: ExprId) -> bool {
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Name(name) => [&self.lists, &self.single, &self.orders]
                .into_iter()
                .any(|names| has(names, name)),
            ExprKind::List(items) => {
                items.len() == 1
                    && items.iter().all(|&item| match ast.kind(item) {
                        ExprKind::Name(name) => has(&self.single, name),
                        ExprKind::Comprehension { .. } => self.filtered(rule, item),
                        _ => false,
                    })
            }
            ExprKind::Comprehension { .. } => self.filtered(rule, id),
            ExprKind::Call { callee, args, .. } => {
                callee.as_str() == "sorted" && matches!(args.as_slice(), [arg] if self.list(rule, *arg))
            }
            ExprKind::Binary {
                op: BinaryOp::Concat,
                lhs,
                rhs,
            } => self.list(rule, *lhs) && self.list(rule, *rhs),
            _ => false,
        }
    }

    /// True for lists of axes that are no orders.
    pub(super) fn list(&self, rule: &Rule, id: ExprId) -> bool {
        !matches!(rule.ast.kind(id), ExprKind::Name(name) if !has(&self.lists, name)) && self.axes(rule, id)
    }

    /// `i for i in k if i in j` and `i for i in k if (i in j) == false`.
    pub(super) fn filtered(&self, rule: &Rule, id: ExprId) -> bool {
        let ast = &rule.ast;
        let ExprKind::Comprehension { body, var, iter, cond } = ast.kind(id) else {
            return false;
        };
        let own = |id: ExprId| matches!(ast.kind(id), ExprKind::Name(name) if **name == *var.as_str());
        let member = |id: ExprId| {
            matches!(ast.kind(id), ExprKind::Binary { op: BinaryOp::In, lhs, rhs }
                if own(*lhs) && self.list(rule, *rhs))
        };
        let condition = |id: ExprId| match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::Eq,
                lhs,
                rhs,
            } => member(*lhs) && matches!(ast.kind(*rhs), ExprKind::Bool(_)),
            _ => member(id),
        };
        own(*body) && self.list(rule, *iter) && cond.is_none_or(condition)
    }
}
