//! Numbers that a proof treats as symbols: attributes and constants whose value the rule passes through.
//!
//! A number may be passed to a call of the target, as an attribute or as an operand, and conditions may bound it, as
//! long as they look at nothing else: then they decide whether the rule applies, and nothing about what it does. In the
//! proof the number is a token, which represents every number, including those that satisfy the conditions.

use super::{Prepared, Scope, Source, WHOLE, calls, dtypes, looks_at_operands};
use crate::instance::recipe::Step;
use tautomer_graph::term::{Reads, term_function};
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind, LetNames, RuleClass};
use tautomer_op::{AttrKind, AttrValue};
use tautomer_rule::{PatternId, PatternNode};

impl Scope<'_> {
    /// The numbers in attributes that the rule only passes through, by their places among the open attributes, with their
    /// tokens.
    pub(super) fn tokens_of(&self, prepared: &Prepared, second: bool) -> Vec<(usize, f64)> {
        let mut given: Vec<&Source> = Vec::new();
        let real = dtypes(&prepared.recipe).iter().any(|dtype| dtype.is_float());
        let mut out = Vec::new();
        for (place, open) in prepared.open.iter().enumerate() {
            if !matches!(open.def.attrs[open.attr].kind, AttrKind::Float)
                || !self.hands_on(&open.source)
                || self.is_of_each_member(&prepared.bound, open)
            {
                continue;
            }
            let at = given.iter().position(|s| **s == open.source).unwrap_or_else(|| {
                given.push(&open.source);
                given.len() - 1
            });
            if let Some(&token) = self.numbers(second).get(at) {
                out.push((place, if real { token } else { token * WHOLE }));
            }
        }
        out
    }

    /// Turns numbers that the rule only passes through into tokens.
    pub(super) fn make_tokens(&self, out: &mut Prepared, second: bool) {
        let tokens = self.tokens_of(out, second);
        let mut sources: Vec<&Source> = tokens.iter().map(|&(place, _)| &out.open[place].source).collect();
        sources.sort();
        sources.dedup();
        for (place, token) in &tokens {
            let open = &out.open[*place];
            // An omitted attribute without a default is not a number.
            let filled = out.filled[open.step].get(open.attr).and_then(AttrValue::as_float);
            if let Step::Call { attrs, .. } = &mut out.recipe.steps[open.step]
                && filled.is_some()
            {
                attrs[open.attr] = Some(AttrValue::float(*token));
            }
        }
        // Constants whose value the rule passes through.
        let attributes = sources.len();
        for (i, variable) in self.rule.variables.iter().enumerate() {
            if variable.class != RuleClass::Const || !self.valued[i] || !self.passes_value(&variable.name) {
                continue;
            }
            let Some(&token) = self.numbers(second).get(attributes + i) else {
                continue;
            };
            for &(at, step) in &out.bound {
                let is_own =
                    |at: PatternId| matches!(self.rule.source.node(at), PatternNode::Variable(own) if *own == i);
                // Nothing else in the pattern may look at the same constant.
                let alone = out.bound.iter().all(|&(other, s)| s != step || is_own(other));
                if is_own(at)
                    && alone
                    && let Step::Fill { dtype, value, .. } = &mut out.recipe.steps[step]
                    && dtype.is_float()
                {
                    *value = token;
                }
            }
        }
    }

    /// True if the rule passes an attribute on and looks at it in no other way.
    pub(super) fn hands_on(&self, source: &Source) -> bool {
        let name = match source {
            Source::Name(name) => name,
            Source::Rest(name, _) => {
                let named = |id: ExprId| self.rule.ast.mentions(id, &|n| n == &**name);
                return !self.rule.conditions.iter().any(|&c| named(c))
                    && !self.has_computed(&named)
                    && self.target().into_iter().all(|id| !named(id));
            }
            Source::Place(..) => return true,
        };
        let ast = &self.rule.ast;
        let number = |id: ExprId| matches!(ast.kind(id), ExprKind::Name(own) if own == name);
        self.passes(&number, &|id| ast.mentions(id, &|n| n == &**name))
    }

    /// True if the rule passes `value(name)` on, and looks at the elements of the constant in no other way.
    pub(super) fn passes_value(&self, name: &str) -> bool {
        let ast = &self.rule.ast;
        let inside = |id: ExprId| self.is_value_of(id, name);
        let all = self.rule.conditions.iter().copied().chain(self.target());
        let named = |id: ExprId| ast.mentions(id, &|n| n == name);
        let all_plain = all.into_iter().all(|id| !self.looks_otherwise(id, name));
        all_plain
            && !self.has_computed(&named)
            && self.passes(&inside, &|id| {
                let mut waiting = vec![id];
                while let Some(id) = waiting.pop() {
                    if inside(id) {
                        return true;
                    }
                    waiting.extend(ast.operands(id));
                }
                false
            })
    }

    /// True if an expression looks at the elements of a constant other than by `value(name)`.
    fn looks_otherwise(&self, id: ExprId, name: &str) -> bool {
        let ast = &self.rule.ast;
        let is_name = |id: ExprId| matches!(ast.kind(id), ExprKind::Name(own) if **own == *name);
        let own = match ast.kind(id) {
            ExprKind::Call { callee, .. } => {
                let looks = term_function(callee.as_str()).is_some_and(looks_at_operands);
                looks && !self.is_value_of(id, name) && ast.mentions(id, &|n| n == name)
            }
            ExprKind::Index { base, .. } | ExprKind::Slice { base, .. } => is_name(*base),
            ExprKind::Comprehension { iter, .. } => is_name(*iter),
            _ => false,
        };
        own || ast
            .operands(id)
            .into_iter()
            .any(|part| self.looks_otherwise(part, name))
    }

    fn passes(&self, number: &dyn Fn(ExprId) -> bool, mentions: &dyn Fn(ExprId) -> bool) -> bool {
        let conditions = &self.rule.conditions;
        conditions.iter().all(|&c| !mentions(c) || self.is_about(c, number))
            && !self.has_computed(mentions)
            && self
                .target()
                .into_iter()
                .all(|id| self.only_passed(id, false, number, mentions))
    }

    /// True if an expression depends only on the number.
    fn is_about(&self, id: ExprId, number: &dyn Fn(ExprId) -> bool) -> bool {
        let ast = &self.rule.ast;
        match ast.kind(id) {
            _ if number(id) => true,
            ExprKind::Int { .. } | ExprKind::Float { .. } => true,
            ExprKind::Binary { op, .. } if *op == BinaryOp::In => false,
            ExprKind::Binary { .. } | ExprKind::Unary { .. } => {
                ast.operands(id).into_iter().all(|part| self.is_about(part, number))
            }
            ExprKind::Call { callee, args, .. } => {
                callee.as_str() == "abs" && args.iter().all(|&arg| self.is_about(arg, number))
            }
            _ => false,
        }
    }

    /// True if the number occurs in an expression of the target only as an attribute or as an operand of tensors;
    /// `allowed` if this expression is one.
    fn only_passed(
        &self,
        id: ExprId,
        allowed: bool,
        number: &dyn Fn(ExprId) -> bool,
        mentions: &dyn Fn(ExprId) -> bool,
    ) -> bool {
        if number(id) {
            return allowed;
        }
        if !mentions(id) {
            return true;
        }
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Call { args, attrs, .. } => {
                let beside = args.iter().any(|&arg| self.is_tensor(arg));
                let mut entries = attrs.iter().flat_map(|a| &a.entries);
                args.iter().all(|&arg| self.only_passed(arg, beside, number, mentions))
                    && entries.all(|entry| number(entry.value) || !mentions(entry.value))
            }
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div,
                lhs,
                rhs,
            } => {
                self.only_passed(*lhs, self.is_tensor(*rhs), number, mentions)
                    && self.only_passed(*rhs, self.is_tensor(*lhs), number, mentions)
            }
            _ => ast
                .operands(id)
                .into_iter()
                .all(|part| self.only_passed(part, false, number, mentions)),
        }
    }

    /// True if an expression of the target is certainly a tensor, so that a number next to it becomes a constant.
    pub(super) fn is_tensor(&self, id: ExprId) -> bool {
        let ast = &self.rule.ast;
        match ast.kind(id) {
            ExprKind::Name(name) => {
                self.rule.variable(name).is_some()
                    || self.rule.target.lets.iter().any(|l| {
                        let own = matches!(&l.names, LetNames::One(own) if own.as_str() == &**name);
                        own && self.is_tensor(l.value)
                    })
            }
            ExprKind::Call { callee, args, .. } => {
                // Functions of numbers may have the name of an operator.
                tautomer_op::lookup(callee.as_str()).is_some()
                    && args.iter().any(|&arg| self.is_tensor(arg))
                    && !calls(ast, id, &|f| matches!(f.reads, Reads::Elements | Reads::Ranks))
            }
            ExprKind::Binary {
                op: BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div,
                lhs,
                rhs,
            } => self.is_tensor(*lhs) || self.is_tensor(*rhs),
            _ => false,
        }
    }

    /// True if a condition keeps an expression within one part in a million of a literal.
    pub(in crate::proof) fn is_near_one_number(&self, is_it: &dyn Fn(ExprId) -> bool) -> bool {
        let ast = &self.rule.ast;
        let literal = |id: ExprId| match ast.kind(id) {
            ExprKind::Float { value, .. } => Some(*value),
            ExprKind::Int { value, .. } => Some(*value as f64),
            _ => None,
        };
        self.rule.conditions.iter().any(|&condition| {
            let ExprKind::Binary {
                op: BinaryOp::Lt | BinaryOp::Le,
                lhs,
                rhs,
            } = ast.kind(condition)
            else {
                return false;
            };
            let (Some(distance), ExprKind::Call { callee, args, .. }) = (literal(*rhs), ast.kind(*lhs)) else {
                return false;
            };
            let [arg] = args.as_slice() else { return false };
            let ExprKind::Binary {
                op: BinaryOp::Sub,
                lhs: own,
                rhs: center,
            } = ast.kind(*arg)
            else {
                return false;
            };
            callee.as_str() == "abs"
                && is_it(*own)
                && literal(*center).is_some_and(|center| distance <= NEAR * center.abs())
        })
    }
}

/// The largest difference between numbers that a proof assumes to be equal, since constants are rounded.
const NEAR: f64 = 1e-6;
