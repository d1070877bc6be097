//! What the conditions of a rule say about ranks and axes.

use std::sync::Arc;

use super::super::super::scope::calls;
use super::{Looked, Text, has};
use tautomer_graph::term::Reads;
use tautomer_lang::ast::{BinaryOp, Each, ExprId, ExprKind};
use tautomer_rule::Rule;

impl Text {
    /// True if an expression asks about ranks, axes or sizes.
    pub(super) fn asks(&self, rule: &Rule, id: ExprId) -> bool {
        let own = |n: &str| {
            matches!(n, "rank" | "shape" | "size")
                || [&self.lists, &self.single, &self.orders]
                    .into_iter()
                    .any(|names| has(names, n))
        };
        rule.ast.mentions(id, &own) || calls(&rule.ast, id, &|f| f.reads == Reads::Ranks || f.name == "range")
    }

    /// Reads a condition that has to stay true when axes are removed.
    pub(super) fn condition(&mut self, rule: &Rule, id: ExprId) -> Option<()> {
        if !self.asks(rule, id) {
            return Some(());
        }
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Binary {
                op: BinaryOp::And | BinaryOp::Or,
                lhs,
                rhs,
            } => {
                self.condition(rule, *lhs)?;
                self.condition(rule, *rhs)
            }
            ExprKind::Call { callee, args, .. } if callee.as_str() == "broadcasts" => {
                let [a, b] = args.as_slice() else { return None };
                match (self.variable(rule, *a), self.variable(rule, *b)) {
                    (Some(a), Some(b)) => self.tied.push((a, b)),
                    _ => {
                        self.sizes(rule, *a)?;
                        self.sizes(rule, *b)?;
                    }
                }
                Some(())
            }
            // Two truths about ranks are equal before and after, if both stay as they are.
            ExprKind::Binary {
                op: BinaryOp::Eq | BinaryOp::Ne,
                lhs,
                rhs,
            } if self.steady(rule, *lhs) && self.steady(rule, *rhs) => Some(()),
            ExprKind::Binary { op, lhs, rhs } => self.comparison(rule, *op, *lhs, *rhs),
            ExprKind::Call { callee, args, .. } if callee.as_str() == "all" => {
                let [arg] = args.as_slice() else { return None };
                self.each_listed(rule, *arg)
            }
            _ => None,
        }
    }

    /// Reads a comparison of a rank with a number, which is as true as before if so many axes stay that the rank is on
    /// the same side of the number; false if it is something else.
    pub(super) fn steady(&mut self, rule: &Rule, id: ExprId) -> bool {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let ExprKind::Binary { op, lhs, rhs } = rule.ast.kind(id) else {
            return false;
        };
        let (Some(name), ExprKind::Int { value, .. }) = (self.field(rule, *lhs, "rank"), rule.ast.kind(*rhs)) else {
            return false;
        };
        let Ok(n) = usize::try_from(*value) else { return false };
        self.largest = self.largest.max(n + 1);
        self.looked.push((name, Looked::Last(n + 1)));
        matches!(op, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// Reads `x.shape[i] == 1 for i in k`, which two axes that become one keep true.
    pub(super) fn each_listed(&mut self, rule: &Rule, id: ExprId) -> Option<()> {
        let ast = &rule.ast;
        let Each { body, var, iter } = ast.each(id)?;
        let (ExprKind::Binary { op, lhs, rhs }, true) = (ast.kind(body), self.list(rule, iter)) else {
            return None;
        };
        let (ExprKind::Index { base, index }, BinaryOp::Eq) = (ast.kind(*lhs), op) else {
            return None;
        };
        // Two axes become one, whose dimension is the product.
        let is_one = matches!(ast.kind(*rhs), ExprKind::Int { value: 1, .. });
        let is_own = matches!(ast.kind(*index), ExprKind::Name(name) if **name == *var);
        let name = self.field(rule, *base, "shape").filter(|_| is_own && is_one)?;
        self.looked.push((name, Looked::Numbered));
        Some(())
    }

    pub(super) fn comparison(&mut self, rule: &Rule, op: BinaryOp, lhs: ExprId, rhs: ExprId) -> Option<()> {
        use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
        let field = |id: ExprId, name: &str| self.field(rule, id, name);
        let int = |id: ExprId| match rule.ast.kind(id) {
            ExprKind::Int { value, .. } => usize::try_from(*value).ok(),
            _ => None,
        };
        // The number of parts.
        if let ExprKind::Call { callee, args, .. } = rule.ast.kind(lhs)
            && callee.as_str() == "len"
            && let [arg] = args.as_slice()
            && self.has_parts(rule, *arg)
        {
            return int(rhs).map(|_| ());
        }
        // Bounds of the number of listed axes: one axis of each kind stays.
        if let (ExprKind::Call { callee, args, .. }, Some(n)) = (rule.ast.kind(lhs), int(rhs))
            && callee.as_str() == "len"
            && let [arg] = args.as_slice()
            && matches!(rule.ast.kind(*arg), ExprKind::Name(name) if has(&self.lists, name))
        {
            return matches!((op, n), (Gt | Ne | Eq, 0) | (Ge, 1)).then_some(());
        }
        // Shapes from the same axis on.
        if let (Some((a, n)), Some((b, m))) = (self.rest(rule, lhs), self.rest(rule, rhs)) {
            self.largest = self.largest.max(n);
            self.looked.push((a.clone(), Looked::First(n)));
            self.looked.push((b.clone(), Looked::First(n)));
            self.tied.push((a, b));
            return (op == Eq && n == m).then_some(());
        }
        // Whole shapes.
        if let (Some(a), Some(b)) = (field(lhs, "shape"), field(rhs, "shape")) {
            self.tied.push((a, b));
            return (op == Eq).then_some(());
        }
        if let (Some(a), Some(b)) = (field(lhs, "rank"), field(rhs, "rank")) {
            self.tied.push((a, b));
            return matches!(op, Eq | Le | Ge).then_some(());
        }
        if field(lhs, "size").is_some() && int(rhs) == Some(1) && op == Eq {
            return Some(());
        }
        // A rank, or the least or largest of several, and a number.
        if let Some(n) = int(rhs) {
            let ranks: Option<Vec<Arc<str>>> = match rule.ast.kind(lhs) {
                ExprKind::Call { callee, args, .. } if matches!(callee.as_str(), "min" | "max") => {
                    args.iter().map(|&arg| field(arg, "rank")).collect()
                }
                _ => field(lhs, "rank").map(|name| vec![name]),
            };
            if let Some(ranks) = ranks {
                let keep = match op {
                    Lt | Le => 0,
                    Eq | Ge => n,
                    Gt | Ne => n + 1,
                    _ => return None,
                };
                self.largest = self.largest.max(n + 1);
                self.looked
                    .extend(ranks.into_iter().map(|name| (name, Looked::Last(keep))));
                return Some(());
            }
        }
        if matches!(op, Eq | Ne | Lt | Le | Gt | Ge) {
            self.sizes(rule, lhs)?;
            return self.sizes(rule, rhs);
        }
        None
    }

    /// True for the name of a list with the sizes of parts.
    pub(super) fn has_parts(&self, rule: &Rule, id: ExprId) -> bool {
        matches!(rule.ast.kind(id), ExprKind::Name(name) if has(&self.parts, name))
    }

    /// Arithmetic over dimensions of variables.
    pub(super) fn sizes(&mut self, rule: &Rule, id: ExprId) -> Option<()> {
        let ast = &rule.ast;
        match ast.kind(id) {
            ExprKind::Int { .. } => Some(()),
            ExprKind::List(items) => items.iter().try_for_each(|&item| self.sizes(rule, item)),
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem,
                lhs,
                rhs,
            } => {
                self.sizes(rule, *lhs)?;
                self.sizes(rule, *rhs)
            }
            // The size of a part.
            ExprKind::Index { base, index } if self.has_parts(rule, *base) => {
                matches!(ast.kind(*index), ExprKind::Int { .. }).then_some(())
            }
            ExprKind::Index { base, index } => {
                let name = self.field(rule, *base, "shape")?;
                let looked = match ast.kind(*index) {
                    ExprKind::Name(axis) if has(&self.single, axis) => Looked::Numbered,
                    ExprKind::Int { value, .. } if *value >= 0 => Looked::First(usize::try_from(*value).ok()? + 1),
                    ExprKind::Int { value, .. } => Looked::Last(usize::try_from(-*value).ok()?),
                    ExprKind::Binary {
                        op: BinaryOp::Sub,
                        lhs,
                        rhs,
                    } if self.field(rule, *lhs, "rank").as_ref() == Some(&name) => match ast.kind(*rhs) {
                        ExprKind::Int { value, .. } => Looked::Last(usize::try_from(*value).ok()?),
                        _ => return None,
                    },
                    _ => return None,
                };
                if let Looked::First(n) | Looked::Last(n) = looked {
                    self.largest = self.largest.max(n);
                }
                self.looked.push((name, looked));
                Some(())
            }
            ExprKind::Field { base, .. } => {
                let name = self.variable(rule, *base)?;
                (self.field(rule, id, "size").is_some() || self.field(rule, id, "shape").is_some())
                    .then(|| self.looked.push((name, Looked::All)))
            }
            ExprKind::Name(_) => {
                let name = self.variable(rule, id)?;
                self.looked.push((name, Looked::All));
                Some(())
            }
            _ => None,
        }
    }

    /// The variables in `x.shape == y.shape` and in `x.shape[1..] == y.shape[1..]`, and from which axis on.
    pub(super) fn equal_shapes(&self, rule: &Rule, id: ExprId) -> Option<(Arc<str>, Arc<str>, usize)> {
        let ExprKind::Binary {
            op: BinaryOp::Eq,
            lhs,
            rhs,
        } = *rule.ast.kind(id)
        else {
            return None;
        };
        let side = |id: ExprId| match self.field(rule, id, "shape") {
            Some(name) => Some((name, 0)),
            None => self.rest(rule, id),
        };
        let ((a, n), (b, m)) = (side(lhs)?, side(rhs)?);
        (n == m).then_some((a, b, n))
    }

    /// The variable and the axis in `x.shape[1..]`.
    pub(super) fn rest(&self, rule: &Rule, id: ExprId) -> Option<(Arc<str>, usize)> {
        let ExprKind::Slice {
            base,
            start: Some(start),
            end: None,
        } = rule.ast.kind(id)
        else {
            return None;
        };
        let ExprKind::Int { value, .. } = rule.ast.kind(*start) else {
            return None;
        };
        Some((self.field(rule, *base, "shape")?, usize::try_from(*value).ok()?))
    }

    /// The variable of the rule that an expression is.
    pub(super) fn variable(&self, rule: &Rule, id: ExprId) -> Option<Arc<str>> {
        match rule.ast.kind(id) {
            ExprKind::Name(name) => rule.variable(name).map(|_| name.clone()),
            _ => None,
        }
    }

    /// The variable of which an expression is this field.
    pub(super) fn field(&self, rule: &Rule, id: ExprId, wanted: &str) -> Option<Arc<str>> {
        match rule.ast.kind(id) {
            ExprKind::Field { base, name } if name.as_str() == wanted => self.variable(rule, *base),
            _ => None,
        }
    }
}
