//! The variables that operators along windows take as images.

use super::axes::slides;
use super::text::Text;
use tautomer_lang::ast::{BinaryOp, ExprKind};
use tautomer_op::{AxesRule, Formula, OpDef};
use tautomer_rule::{Item, PatternNode, Rule};

/// The variables that an operator takes as an image or as a kernel, and those that it takes as vectors.
pub(super) fn places(rule: &Rule) -> (Vec<usize>, Vec<usize>) {
    let (mut images, mut vectors) = (Vec::new(), Vec::new());
    for (_, node) in rule.source.nodes() {
        let PatternNode::Call { def, operands, .. } = node else {
            continue;
        };
        for (place, item) in operands.iter().enumerate() {
            match (rule.source.node(item.vertex()), place_of(def, place)) {
                (PatternNode::Variable(i), Some(true)) => images.push(*i),
                (PatternNode::Variable(i), Some(false)) => vectors.push(*i),
                (PatternNode::Call { def, operands, .. }, Some(true)) if def.axes_rule() == AxesRule::Broadcast => {
                    images.extend(longest(rule, operands));
                }
                _ => {}
            }
        }
    }
    (images, vectors)
}

/// The operand with the most axes, according to the conditions; the result of a function of elements has as many.
fn longest(rule: &Rule, operands: &[Item]) -> Option<usize> {
    let variable = |item: &Item| match rule.source.node(item.vertex()) {
        PatternNode::Variable(i) => Some(*i),
        _ => None,
    };
    let all: Vec<usize> = operands.iter().map(variable).collect::<Option<_>>()?;
    let text = Text::of(rule, Vec::new())?;
    let is_shorter = |a: usize, b: usize| {
        let (a, b) = (&*rule.variables[a].name, &*rule.variables[b].name);
        rule.conditions.iter().any(|&condition| match rule.ast.kind(condition) {
            ExprKind::Binary {
                op: BinaryOp::Le,
                lhs,
                rhs,
            } => text.field(*lhs, "rank") == Some(a) && text.field(*rhs, "rank") == Some(b),
            _ => false,
        })
    };
    all.iter()
        .copied()
        .find(|&long| all.iter().all(|&other| other == long || is_shorter(other, long)))
}

/// True if the operand at a place is an image or a kernel, false if it is a vector.
fn place_of(def: &OpDef, place: usize) -> Option<bool> {
    match def.law() {
        _ if !slides(def) => (def.axes_rule() == AxesRule::Channels && place > 0).then_some(false),
        Formula::Window(_) => (place == 0).then_some(true),
        _ => Some(place < 2),
    }
}
