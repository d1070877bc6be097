//! The variables that operators along windows take as images, in the source or in the target.

use super::axes::slides;
use super::text::Text;
use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind, LetNames};
use tautomer_op::{AxesRule, Formula, OpDef};
use tautomer_rule::{Item, PatternNode, Rule};

/// The variables that an operator takes as an image or as a kernel wherever the rule applies, and those that it takes as
/// vectors.
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
    // Where another value stands there, the target has no type.
    let target = &rule.target;
    let mut waiting: Vec<ExprId> = target.lets.iter().map(|l| l.value).chain([target.result]).collect();
    while let Some(id) = waiting.pop() {
        match rule.ast.kind(id) {
            ExprKind::When { .. } | ExprKind::If { .. } | ExprKind::Comprehension { .. } => continue,
            ExprKind::Call { callee, args, .. } if rule.scope.declared(callee.as_str()).is_none() => {
                for (place, &arg) in args.iter().enumerate() {
                    if let ExprKind::Name(name) = rule.ast.kind(arg)
                        && tautomer_op::lookup(callee.as_str()).and_then(|def| place_of(def, place)) == Some(true)
                        && !target.lets.iter().any(|l| defines(&l.names, name))
                        && let Some(i) = rule.variable(name)
                    {
                        images.push(i);
                    }
                }
            }
            _ => {}
        }
        waiting.extend(rule.ast.operands(id));
    }
    (images, vectors)
}

fn defines(names: &LetNames, name: &str) -> bool {
    match names {
        LetNames::One(own) => own.as_str() == name,
        LetNames::Tuple(all) => all.iter().any(|own| own.as_str() == name),
    }
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
