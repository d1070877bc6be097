//! Finds the value whose axes the numbers in a list count, so that composed lists stay right when axes are removed.
//!
//! `[p[i] for i in q]` maps the numbers in `q` by `p`. Let `p` order the axes of `x`, and let `q` order the axes of the
//! result. Removing an axis renumbers the axes of each value; the composed list is renumbered with them exactly if
//! every number is looked up in a list whose positions are the axes that the number counts. This module checks that.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind};
use tautomer_op::{AttrValue, AxesRule};
use tautomer_rule::{AttrPattern, PatternId, PatternNode, Rule};

/// The kind of an expression of axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Axes {
    /// A number that counts the axes of a value.
    One(PatternId),
    /// A list of such numbers, at positions that mean nothing.
    List(PatternId),
    /// A list with a number for each axis of another value: its positions count the axes of `of`.
    Order { of: PatternId, numbers: PatternId },
}

/// The source's facts about the names of axes.
pub(super) struct Numbering<'a> {
    rule: &'a Rule,
    names: FxHashMap<Arc<str>, Axes>,
    /// Calls that remove the axes in a list: the result, the operand, the name of the list.
    removed: Vec<(PatternId, PatternId, Arc<str>)>,
    /// Results that have as many axes as their operand, with it.
    as_many: Vec<(PatternId, PatternId)>,
}

impl<'a> Numbering<'a> {
    pub(super) fn of(rule: &'a Rule) -> Numbering<'a> {
        let mut out = Numbering {
            rule,
            names: FxHashMap::default(),
            removed: Vec::new(),
            as_many: Vec::new(),
        };
        for (at, node) in rule.source.nodes() {
            let PatternNode::Call {
                def, operands, attrs, ..
            } = node
            else {
                continue;
            };
            let Some(operand) = operands.first().map(|item| item.vertex()) else {
                continue;
            };
            let attr = |name: &str| def.attr_index(name).and_then(|i| attrs.get(i));
            let rule = def.axes_rule();
            if rule == AxesRule::Permuted {
                out.as_many.push((at, operand));
            }
            if let (AxesRule::Permuted, Some(AttrPattern::Bind(name))) = (rule, attr("perm")) {
                let order = Axes::Order {
                    of: at,
                    numbers: operand,
                };
                out.names.insert(name.clone(), order);
            }
            let reduces = rule == AxesRule::Reduced;
            if let (true, Some(AttrPattern::Bind(name))) = (reduces || rule == AxesRule::Removed, attr("axes")) {
                out.names.insert(name.clone(), Axes::List(operand));
                let kept = attr("keepdims");
                if !reduces || matches!(kept, Some(AttrPattern::Value(AttrValue::Bool(false)))) {
                    out.removed.push((at, operand, name.clone()));
                }
            }
        }
        out
    }

    /// True if the attribute of a call on a variable counts the axes of that variable, or orders them.
    pub(super) fn is_natural(&self, callee: &str, args: &[ExprId], value: ExprId, is_result: bool) -> bool {
        let variable = args.first().and_then(|&arg| self.variable(arg));
        let Some(x) = variable else { return false };
        let Some(rule) = self.rule.scope.find(callee, false).map(|def| def.axes_rule()) else {
            return false;
        };
        match self.axes(value, None) {
            Some(Axes::List(numbers)) => numbers == x && matches!(rule, AxesRule::Reduced | AxesRule::Removed),
            // The axes of the target are those of the source.
            Some(Axes::Order { of, numbers }) => {
                let root = self.rule.source.outputs.first().map(|o| o.vertex());
                numbers == x && rule == AxesRule::Permuted && is_result && root == Some(of)
            }
            _ => false,
        }
    }

    /// True for `p == range(x.rank)`, where `p` orders the axes of `x`: then it still does after an axis is removed.
    pub(super) fn is_in_order(&self, lhs: ExprId, rhs: ExprId) -> bool {
        let ast = &self.rule.ast;
        let (Some(Axes::Order { numbers, .. }), ExprKind::Call { callee, args, .. }) =
            (self.axes(lhs, None), ast.kind(rhs))
        else {
            return false;
        };
        let [rank] = args.as_slice() else { return false };
        matches!(ast.kind(*rank), ExprKind::Field { base, name }
            if callee.as_str() == "range" && name.as_str() == "rank" && self.variable(*base) == Some(numbers))
    }

    /// True for `l == sorted(l)`, where `l` has numbers of axes: then it is still sorted after an axis is removed.
    pub(super) fn is_sorted(&self, lhs: ExprId, rhs: ExprId) -> bool {
        let ast = &self.rule.ast;
        let text = |id: ExprId| {
            let span = ast.span(id);
            ast.source.text.get(span.start as usize..span.end as usize)
        };
        let ExprKind::Call { callee, args, .. } = ast.kind(rhs) else {
            return false;
        };
        let ("sorted", [inner]) = (callee.as_str(), args.as_slice()) else {
            return false;
        };
        let is_same = text(lhs).is_some_and(|own| !own.trim().is_empty() && text(*inner) == Some(own));
        is_same && matches!(self.axes(lhs, None), Some(Axes::List(_) | Axes::Order { .. }))
    }

    /// The vertex of the pattern that a variable is.
    fn variable(&self, id: ExprId) -> Option<PatternId> {
        let ExprKind::Name(name) = self.rule.ast.kind(id) else {
            return None;
        };
        let mut own = self.rule.source.nodes().filter(|(_, node)| match node {
            PatternNode::Variable(i) => self.rule.variables[*i].name == *name,
            _ => false,
        });
        let (at, _) = own.next()?;
        own.next().is_none().then_some(at)
    }

    /// The kind of an expression, if `bound` is the variable of the comprehension around it.
    fn axes(&self, id: ExprId, bound: Option<(&str, Axes)>) -> Option<Axes> {
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Name(name) => match bound {
                Some((own, axes)) if *own == **name => Some(axes),
                _ => self.names.get(name).copied(),
            },
            ExprKind::List(items) => match items.as_slice() {
                [item] if matches!(ast.kind(*item), ExprKind::Comprehension { .. }) => self.axes(*item, bound),
                _ => None,
            },
            ExprKind::Call { callee, args, .. } if callee.as_str() == "sorted" => match args.as_slice() {
                [arg] => Some(Axes::List(self.listed(*arg, bound)?)),
                _ => None,
            },
            ExprKind::Binary {
                op: BinaryOp::Concat,
                lhs,
                rhs,
            } => {
                let (a, b) = (self.listed(*lhs, bound)?, self.listed(*rhs, bound)?);
                (a == b).then_some(Axes::List(a))
            }
            ExprKind::Index { base, index } => match (self.axes(*base, bound)?, self.axes(*index, bound)?) {
                (Axes::Order { of, numbers }, Axes::One(i)) if of == i => Some(Axes::One(numbers)),
                _ => None,
            },
            ExprKind::Comprehension { body, var, iter, cond } => {
                let from = match cond {
                    Some(cond) => self.remaining(var.as_str(), *iter, *cond)?,
                    None => self.axes(*iter, bound)?,
                };
                let (Axes::List(number) | Axes::Order { numbers: number, .. }) = from else {
                    return None;
                };
                let Axes::One(numbers) = self.axes(*body, Some((var.as_str(), Axes::One(number))))? else {
                    return None;
                };
                Some(match from {
                    Axes::Order { of, .. } => Axes::Order { of, numbers },
                    _ => Axes::List(numbers),
                })
            }
            _ => None,
        }
    }

    /// The value whose axes a list counts.
    fn listed(&self, id: ExprId, bound: Option<(&str, Axes)>) -> Option<PatternId> {
        match self.axes(id, bound)? {
            Axes::List(numbers) | Axes::Order { numbers, .. } => Some(numbers),
            Axes::One(_) => None,
        }
    }

    /// `i` in `for i in range(x.rank) if (i in j) == false`, where a call removes the axes `j` of `x`, or of a value
    /// with as many axes: the numbers that the axes of its result have there.
    fn remaining(&self, var: &str, iter: ExprId, cond: ExprId) -> Option<Axes> {
        let ast = &self.rule.ast;
        let own = |id: ExprId| matches!(ast.kind(id), ExprKind::Name(name) if **name == *var);
        let ExprKind::Call { callee, args, .. } = ast.kind(iter) else {
            return None;
        };
        let [rank] = args.as_slice() else { return None };
        let ExprKind::Field { base, name } = ast.kind(*rank) else {
            return None;
        };
        if callee.as_str() != "range" || name.as_str() != "rank" {
            return None;
        }
        let x = self.variable(*base)?;
        let ExprKind::Binary {
            op: BinaryOp::Eq,
            lhs,
            rhs,
        } = ast.kind(cond)
        else {
            return None;
        };
        let ExprKind::Binary {
            op: BinaryOp::In,
            lhs: number,
            rhs: list,
        } = ast.kind(*lhs)
        else {
            return None;
        };
        let ExprKind::Name(list) = ast.kind(*list) else {
            return None;
        };
        if !own(*number) || !matches!(ast.kind(*rhs), ExprKind::Bool(false)) {
            return None;
        }
        let (of, numbers, _) = self
            .removed
            .iter()
            .find(|(_, operand, name)| name == list && (*operand == x || self.as_many.contains(&(*operand, x))))?;
        Some(Axes::Order {
            of: *of,
            numbers: *numbers,
        })
    }
}
