//! Rules with any number of members, such as products of one value with several matrices: a proof with two members and
//! one with three are a proof with any number.
//!
//! The source of such a rule is one value for each member, and the target a `split` of a value in which the members
//! are joined by `concat`. Take output `i` of more than three. Join the members before it, and those after it: that
//! leaves at most three members, and the same joined value, split at the same places before and after output `i`. So
//! the rule is right about that output if it is right about three members, or two where `i` is the first or the last.
//!
//! That needs a rule that applies to the joined members. This module checks that: the source computes its value from a
//! member in such a way that it has a type for joined members if it has one for each ([`Reader::grows`]); the
//! conditions are about each member, and hold for joined ones too ([`Reader::condition`]); and the target looks at
//! members in no other way than to join and to split them ([`Reader::target`]).

mod few;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use tautomer_diag::Source;
use tautomer_lang::ast::{Ast, BinaryOp, Each, ExprId, ExprKind, Item, LetNames, Rule as Written, RuleClass, Side};
use tautomer_lang::parse_rules;
use tautomer_op::{AxesRule, Formula, OpDef, OpTraits, Products, ShapeRule};
use tautomer_rule::{AttrPattern, PatternNode, Rule, load_checked_rules};

/// The rule with two members and with three in place of any number; `None` if these do not stand for all.
pub(super) fn with_few(rule: &Rule) -> Option<[Arc<Rule>; 2]> {
    let binds_each = rule.source.nodes().any(|(_, node)| {
        matches!(node, PatternNode::Call { attrs, .. }
            if attrs.iter().any(|a| matches!(a, AttrPattern::BindEach(_))))
    });
    let is_declared = rule.ast.iter().any(|(_, expr)| {
        matches!(&expr.kind, ExprKind::Call { callee, .. } if rule.scope.declared(callee.as_str()).is_some())
    });
    if rule.source.families.is_empty() || binds_each || is_declared || !rule.operators.is_empty() {
        return None;
    }
    let span = rule.span;
    let text = rule.ast.source.text.get(span.start as usize..span.end as usize)?;
    let text = format!("/// Members.\n{text}");
    let file = parse_rules(Arc::new(Source::new("members.rules", &text))).ok()?;
    let [Item::Rule(written)] = file.items.as_slice() else {
        return None;
    };
    let reader = Reader::of(&file.ast, &text, written)?;
    let with = |n: usize| {
        let text = reader.with(n)?;
        let set = load_checked_rules(parse_rules(Arc::new(Source::new("members.rules", &text))).ok()?).ok()?;
        set.rules.first().cloned()
    };
    Some([with(2)?, with(3)?])
}

/// The members of one name.
struct Family {
    /// The axis along which the target joins them.
    axis: i64,
}

struct Reader<'a> {
    ast: &'a Ast,
    text: &'a str,
    rule: &'a Written,
    /// The name of the number of members.
    count: &'a str,
    families: BTreeMap<&'a str, Family>,
}

impl<'a> Reader<'a> {
    /// Reads a rule; `None` if few members do not stand for all.
    fn of(ast: &'a Ast, text: &'a str, rule: &'a Written) -> Option<Reader<'a>> {
        if rule.both_ways || !rule.ops.is_empty() || !rule.assuming.is_empty() || !rule.source.lets.is_empty() {
            return None;
        }
        let (body, var, count) = each(ast, rule.source.outputs)?;
        let mut out = Reader {
            ast,
            text,
            rule,
            count,
            families: BTreeMap::new(),
        };
        let members = rule.params.iter().filter(|param| param.index.is_some());
        for param in members {
            if param.ty.is_some() || param.class == RuleClass::Const {
                return None;
            }
            out.families.insert(&param.name.name, Family { axis: i64::MAX });
        }
        out.grows(body, var)?;
        if out.families.values().any(|family| family.axis == i64::MAX) {
            return None;
        }
        rule.conditions.iter().try_for_each(|&id| out.condition(id))?;
        // With one member, there is nothing to join.
        if !rule.conditions.iter().any(|&id| out.is_of_number(id)) {
            return None;
        }
        out.target(&rule.target)?;
        Some(out)
    }

    /// The family of `w[i]`.
    fn member(&self, id: ExprId, var: &str) -> Option<&'a str> {
        let ExprKind::Index { base, index } = self.ast.kind(id) else {
            return None;
        };
        let (ExprKind::Name(name), ExprKind::Name(own)) = (self.ast.kind(*base), self.ast.kind(*index)) else {
            return None;
        };
        (**own == *var).then(|| self.families.get_key_value(&**name).map(|(name, _)| *name))?
    }

    /// True if an expression depends on a member or on their number.
    fn mentions(&self, id: ExprId, var: &str) -> bool {
        let own = |n: &str| n == self.count || n == var || self.families.contains_key(n);
        self.ast.mentions(id, &own)
    }

    /// Joins the members of a family along an axis.
    fn join(&mut self, name: &'a str, axis: i64) -> Option<()> {
        let family = self.families.get_mut(name)?;
        (family.axis == i64::MAX || family.axis == axis).then(|| family.axis = axis)
    }

    /// Reads a value that is computed from a member, and that has a type for members joined along their axes if it has
    /// one for each of them: the axis of the member becomes one of the value.
    fn grows(&mut self, id: ExprId, var: &str) -> Option<()> {
        match self.ast.kind(id) {
            // Alternatives.
            ExprKind::Binary {
                op: BinaryOp::BitOr,
                lhs,
                rhs,
            } => {
                self.grows(*lhs, var)?;
                self.grows(*rhs, var)
            }
            // A vector that is added to the columns of a product.
            ExprKind::Binary {
                op: BinaryOp::Add,
                lhs,
                rhs,
            } => {
                let (value, vector) = match (self.member(*lhs, var), self.member(*rhs, var)) {
                    (None, Some(vector)) => (*lhs, vector),
                    (Some(vector), None) => (*rhs, vector),
                    _ => return None,
                };
                let product = self.columns(value, var)?;
                self.join(vector, 0)?;
                self.fits(vector, product, 1).then_some(())
            }
            ExprKind::Call {
                callee, quoted, args, ..
            } => {
                let def = tautomer_op::lookup(callee.as_str()).filter(|_| !quoted)?;
                if self.attributes(id, var)? {
                    return None;
                }
                match (def.law(), args.as_slice()) {
                    (Formula::Product(Products::Matrices), _) => self.columns(id, var).map(|_| ()),
                    (Formula::Product(Products::Convolution), [x, kernel, rest @ ..]) => {
                        let kernel = self.member(*kernel, var).filter(|_| !self.mentions(*x, var))?;
                        let is_one = |id: ExprId| matches!(self.ast.kind(id), ExprKind::Int { value: 1, .. });
                        if !is_one(self.attribute(id, "group")?) || rest.len() > 1 {
                            return None;
                        }
                        self.join(kernel, 0)?;
                        // An operand with an entry for each kernel.
                        let bias = rest.first().map(|&bias| self.member(bias, var));
                        bias.map_or(Some(()), |bias| self.join(bias?, 0))
                    }
                    (Formula::Product(Products::Gemm), [x, weights, rest @ ..]) => {
                        let weights = self.member(*weights, var).filter(|_| !self.mentions(*x, var))?;
                        let axis = match self.ast.kind(self.attribute(id, "transB")?) {
                            ExprKind::Bool(transposed) => i64::from(!transposed),
                            _ => return None,
                        };
                        self.join(weights, axis)?;
                        match rest {
                            [] => Some(()),
                            [bias] => {
                                let bias = self.member(*bias, var)?;
                                self.join(bias, 0)?;
                                self.fits(bias, weights, axis).then_some(())
                            }
                            _ => None,
                        }
                    }
                    (_, [x, weights]) if def.axes_rule() == AxesRule::Rows => {
                        let weights = self.member(*weights, var).filter(|_| !self.mentions(*x, var))?;
                        self.join(weights, 0)
                    }
                    (_, [x]) if is_any_shape(def) => self.grows(*x, var),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// The matrix of `matmul(x, w[i])`, whose columns are those of the product.
    fn columns(&mut self, id: ExprId, var: &str) -> Option<&'a str> {
        let ExprKind::Call {
            callee, quoted, args, ..
        } = self.ast.kind(id)
        else {
            return None;
        };
        let def = tautomer_op::lookup(callee.as_str()).filter(|_| !quoted)?;
        let [x, weights] = args.as_slice() else { return None };
        let weights = self.member(*weights, var).filter(|_| !self.mentions(*x, var))?;
        if def.law() != Formula::Product(Products::Matrices) || !self.has_rank(weights, 2) {
            return None;
        }
        self.join(weights, 1)?;
        Some(weights)
    }

    /// The value of an attribute of a call.
    fn attribute(&self, id: ExprId, name: &str) -> Option<ExprId> {
        let ExprKind::Call { attrs: Some(attrs), .. } = self.ast.kind(id) else {
            return None;
        };
        let entry = attrs.entries.iter().find(|entry| entry.name.as_str() == name)?;
        Some(entry.value)
    }

    /// Whether an attribute of a call depends on a member.
    fn attributes(&self, id: ExprId, var: &str) -> Option<bool> {
        let ExprKind::Call { attrs, .. } = self.ast.kind(id) else {
            return None;
        };
        let mut entries = attrs.iter().flat_map(|attrs| &attrs.entries);
        Some(entries.any(|entry| self.mentions(entry.value, var)))
    }

    /// The bodies of the conditions `all(… for i in 0..n)`, with the name of the index.
    fn of_each(&self) -> impl Iterator<Item = (ExprId, &'a str)> + '_ {
        let (ast, count) = (self.ast, self.count);
        self.rule
            .conditions
            .iter()
            .filter_map(move |&id| of_all(ast, id, count))
    }

    /// True if a condition says that each member has this rank.
    fn has_rank(&self, family: &str, rank: i128) -> bool {
        self.of_each().any(|(body, var)| {
            matches!(self.ast.kind(body), ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs }
                if self.field(*lhs, var, "rank") == Some(family)
                    && matches!(self.ast.kind(*rhs), ExprKind::Int { value, .. } if *value == rank))
        })
    }

    /// True if conditions say that each vector has as many entries as a matrix has along an axis.
    fn fits(&self, vector: &str, matrix: &str, axis: i64) -> bool {
        let is_tied = self.of_each().any(|(body, var)| {
            matches!(self.ast.kind(body), ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs }
                if self.extent(*lhs, var) == Some((vector, 0)) && self.extent(*rhs, var) == Some((matrix, axis)))
        });
        is_tied && self.has_rank(vector, 1)
    }

    /// The family of `w[i].rank`.
    fn field(&self, id: ExprId, var: &str, wanted: &str) -> Option<&'a str> {
        match self.ast.kind(id) {
            ExprKind::Field { base, name } if name.as_str() == wanted => self.member(*base, var),
            _ => None,
        }
    }

    /// The family and the axis of `w[i].shape[0]`.
    fn extent(&self, id: ExprId, var: &str) -> Option<(&'a str, i64)> {
        let ExprKind::Index { base, index } = self.ast.kind(id) else {
            return None;
        };
        Some((self.field(*base, var, "shape")?, self.int(*index)?))
    }

    fn int(&self, id: ExprId) -> Option<i64> {
        match self.ast.kind(id) {
            ExprKind::Int { value, suffix: None } => i64::try_from(*value).ok(),
            _ => None,
        }
    }

    /// True if a condition is about the number of members alone, and holds for two of them and more.
    fn is_of_number(&self, id: ExprId) -> bool {
        let ExprKind::Binary { op, lhs, rhs } = self.ast.kind(id) else {
            return false;
        };
        let own = matches!(self.ast.kind(*lhs), ExprKind::Name(name) if **name == *self.count);
        own && matches!((op, self.int(*rhs)), (BinaryOp::Gt, Some(1)) | (BinaryOp::Ge, Some(2)))
    }

    /// Reads a condition that holds for joined members if it does for each.
    fn condition(&self, id: ExprId) -> Option<()> {
        if !self.mentions(id, self.count) || self.is_of_number(id) {
            return Some(());
        }
        let (body, var) = of_all(self.ast, id, self.count)?;
        let ExprKind::Binary {
            op: BinaryOp::Eq,
            lhs,
            rhs,
        } = self.ast.kind(body)
        else {
            return None;
        };
        // Joined members have the rank of each.
        if self.field(*lhs, var, "rank").is_some() {
            return self.int(*rhs).map(|_| ());
        }
        // Along the axes along which members are joined, dimensions are sums.
        if let (Some((a, k)), Some((b, l))) = (self.extent(*lhs, var), self.extent(*rhs, var)) {
            return (self.families[a].axis == k && self.families[b].axis == l).then_some(());
        }
        // Along other axes, they are those of the first member.
        let from = |id: ExprId| match self.ast.kind(id) {
            ExprKind::Slice {
                base,
                start: Some(start),
                end: None,
            } => Some((*base, self.int(*start)?)),
            _ => None,
        };
        let ((a, k), (b, l)) = (from(*lhs)?, from(*rhs)?);
        let family = self.field(a, var, "shape")?;
        let ExprKind::Field { base, name } = self.ast.kind(b) else {
            return None;
        };
        let ExprKind::Index { base, index } = self.ast.kind(*base) else {
            return None;
        };
        let is_first = name.as_str() == "shape"
            && matches!(self.ast.kind(*base), ExprKind::Name(own) if **own == *family)
            && self.int(*index) == Some(0);
        let axis = self.families[family].axis;
        (is_first && k == l && axis >= 0 && axis < k).then_some(())
    }

    /// Reads a target that joins all members and splits a value that is computed from them.
    fn target(&self, target: &Side) -> Option<()> {
        let (body, var, count) = each(self.ast, target.outputs)?;
        let ExprKind::Field { base, name } = self.ast.kind(body) else {
            return None;
        };
        let ExprKind::Name(parts) = self.ast.kind(*base) else {
            return None;
        };
        if count != self.count || name.as_str() != var {
            return None;
        }
        let (last, others) = target.lets.split_last()?;
        let is_parts = matches!(&last.names, LetNames::One(own) if *own.name == **parts);
        let ExprKind::Call {
            callee,
            quoted,
            args,
            attrs: Some(attrs),
        } = self.ast.kind(last.value)
        else {
            return None;
        };
        let def = tautomer_op::lookup(callee.as_str()).filter(|_| !quoted)?;
        let ([value], true, true) = (args.as_slice(), is_parts, def.shapes == ShapeRule::Split) else {
            return None;
        };
        if attrs.rest.is_some() {
            return None;
        }
        for entry in &attrs.entries {
            match entry.name.as_str() {
                "sizes" => self.sizes(entry.value)?,
                _ if self.mentions(entry.value, self.count) => return None,
                _ => {}
            }
        }
        self.joined(*value)?;
        others.iter().try_for_each(|definition| self.joined(definition.value))
    }

    /// Reads `[w[i].shape[1] for i in 0..n]`, the dimensions along which the members of a family are joined.
    fn sizes(&self, id: ExprId) -> Option<()> {
        let ExprKind::List(items) = self.ast.kind(id) else {
            return None;
        };
        let [one] = items.as_slice() else { return None };
        let (body, var, count) = each(self.ast, *one)?;
        let (family, axis) = self.extent(body, var)?;
        (count == self.count && self.families[family].axis == axis).then_some(())
    }

    /// Reads a value that depends on members only as far as it joins them.
    fn joined(&self, id: ExprId) -> Option<()> {
        if !self.mentions(id, self.count) {
            return Some(());
        }
        if let ExprKind::Call {
            callee,
            quoted,
            args,
            attrs,
        } = self.ast.kind(id)
            && let Some(def) = tautomer_op::lookup(callee.as_str()).filter(|_| !quoted)
            && def.shapes == ShapeRule::Concat
            && let [one] = args.as_slice()
            && let Some((body, var, count)) = each(self.ast, *one)
        {
            let axis = self.attribute(id, "axis").and_then(|axis| self.int(axis))?;
            let family = self.member(body, var)?;
            let is_alone = attrs
                .as_ref()
                .is_none_or(|attrs| attrs.rest.is_none() && attrs.entries.len() == 1);
            return (count == self.count && self.families[family].axis == axis && is_alone).then_some(());
        }
        match self.ast.kind(id) {
            ExprKind::Call { .. } | ExprKind::Unary { .. } | ExprKind::Binary { .. } => {
                self.ast.operands(id).into_iter().try_for_each(|part| self.joined(part))
            }
            _ => None,
        }
    }
}

/// The body, the index and the name of the number in `… for i in 0..n`.
fn each(ast: &Ast, id: ExprId) -> Option<(ExprId, &str, &str)> {
    let Each { body, var, iter } = ast.each(id)?;
    let ExprKind::Range {
        start: Some(start),
        end: Some(end),
    } = ast.kind(iter)
    else {
        return None;
    };
    let (ExprKind::Int { value: 0, .. }, ExprKind::Name(count)) = (ast.kind(*start), ast.kind(*end)) else {
        return None;
    };
    Some((body, var, count))
}

/// The body and the index of `all(… for i in 0..n)`.
fn of_all<'a>(ast: &'a Ast, id: ExprId, count: &str) -> Option<(ExprId, &'a str)> {
    let ExprKind::Call { callee, args, .. } = ast.kind(id) else {
        return None;
    };
    let ("all", [one]) = (callee.as_str(), args.as_slice()) else {
        return None;
    };
    let (body, var, own) = each(ast, *one)?;
    (own == count).then_some((body, var))
}

/// True for operators on one value that accept all shapes of the same rank.
fn is_any_shape(def: &OpDef) -> bool {
    def.traits.contains(OpTraits::ELEMENTWISE) || def.axes_rule() == AxesRule::Permuted
}
