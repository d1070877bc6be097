//! Decides whether a rule applies at some ranks, whatever the dimensions are.

use std::rc::Rc;
use std::sync::Arc;

use super::super::case::Case;
use super::super::conditions::{self, Named};
use super::super::facts::Facts;
use super::super::form::Form;
use super::super::scope::Scope;
use crate::instance::recipe::{Recipe, Step};
use crate::proof::EFFORT;
use crate::proof::case::Stop;
use crate::proof::cases::{check_source, complete_types};
use crate::proof::facts::Effort;
use crate::proof::level::AtLevel;

use tautomer_graph::{Graph, Node, VertexId};
use tautomer_lang::ast::{Ast, Dims, ExprId, ExprKind, TypeExpr, TypeKind};
use tautomer_rewrite::{Sides, Trial};
use tautomer_rule::{AttrPattern, PatternNode, Rule};
use tautomer_tensor::assume;

/// Limit on the cases in which a match is looked for.
const MATCHES: usize = 60;

/// The rule with only those of its conditions that depend on nothing but ranks; `None` if it has none, or if the types
/// of its variables have dimensions.
pub(super) fn by_rank(scope: &Scope<'_>) -> Option<Arc<Rule>> {
    let mut rule = (*scope.relaxed).clone();
    let listed = |ty: &TypeExpr| {
        matches!(
            ty.kind,
            TypeKind::Tensor {
                dims: Dims::List(_),
                ..
            }
        )
    };
    let computed = rule.source.nodes().any(|(_, node)| {
        matches!(node, PatternNode::Call { attrs, .. } if attrs.iter().any(|a| matches!(a, AttrPattern::Computed(_))))
    });
    if computed || rule.variables.iter().any(|v| v.ty.as_ref().is_some_and(listed)) {
        return None;
    }
    let ast = rule.ast.clone();
    let mut conditions = std::mem::take(&mut rule.conditions);
    conditions.retain(|&id| asks_for_ranks_alone(&ast, id));
    rule.conditions = conditions;
    (!rule.conditions.is_empty()).then(|| Arc::new(rule))
}

fn asks_for_ranks_alone(ast: &Ast, id: ExprId) -> bool {
    match ast.kind(id) {
        ExprKind::Int { .. } => true,
        ExprKind::List(items) => items.iter().all(|&item| asks_for_ranks_alone(ast, item)),
        ExprKind::Field { base, name } => name.as_str() == "rank" && matches!(ast.kind(*base), ExprKind::Name(_)),
        ExprKind::Call { callee, args, .. } => {
            matches!(callee.as_str(), "min" | "max") && args.iter().all(|&arg| asks_for_ranks_alone(ast, arg))
        }
        ExprKind::Binary { lhs, rhs, .. } => asks_for_ranks_alone(ast, *lhs) && asks_for_ranks_alone(ast, *rhs),
        _ => false,
    }
}

/// A match and the leaves of its source.
pub(super) type Example = (Sides, Vec<VertexId>);

/// Like [`example`], where the conditions on the named variables and axes hold.
pub(super) fn example_of(
    recipe: &Recipe,
    at: &AtLevel<'_>,
    named: &Named,
    ranked: Option<&Trial>,
) -> Option<Option<Example>> {
    let form = Form::of(recipe);
    let effort = Rc::new(Effort::of(EFFORT / 20));
    let cases = conditions::cases(at.scope.rule(), named, &form, form.facts(effort, Rc::from([])));
    if cases.is_empty() {
        return Some(None);
    }
    example_in(recipe, at.trial, ranked, cases)
}

/// Both sides at some dimensions; `Some(None)` if the rule matches at none, `None` if that is not known.
pub(super) fn example(recipe: &Recipe, trial: &Trial, ranked: Option<&Trial>) -> Option<Option<Example>> {
    let effort = Rc::new(Effort::of(EFFORT / 20));
    let facts = Form::of(recipe).facts(effort, Rc::from([]));
    example_in(recipe, trial, ranked, vec![facts])
}

fn example_in(
    recipe: &Recipe,
    trial: &Trial,
    ranked: Option<&Trial>,
    mut waiting: Vec<Facts>,
) -> Option<Option<Example>> {
    let own = |graph: &Graph| -> Vec<VertexId> {
        let is_leaf = |v: &VertexId| matches!(graph.vertex(*v).node, Node::Input | Node::Param | Node::Const(_));
        graph.ids().filter(is_leaf).collect()
    };
    let mut refused = None;
    for n in [1, 2] {
        let mut recipe = recipe.clone();
        for step in &mut recipe.steps {
            if let Step::Leaf { shape, .. } | Step::Fill { shape, .. } = step {
                shape.fill(n);
            }
        }
        if let Ok((graph, roots)) = recipe.build() {
            let leaves = own(&graph);
            // Conditions on ranks that fail at some dimensions fail at all.
            if ranked.is_some_and(|trial| trial.sides(graph.clone(), Some(&roots)).is_none()) {
                return Some(None);
            }
            if let Some(sides) = trial.sides(graph, Some(&roots)) {
                if sides.target.is_ok() {
                    return Some(Some((sides, leaves)));
                }
                refused = Some((sides, leaves));
            }
        }
    }
    let form = Form::of(recipe);
    let mut visited = 0;
    while let Some(facts) = waiting.pop() {
        visited += 1;
        if visited > MATCHES || facts.effort.is_spent() {
            return None;
        }
        if facts.is_empty() {
            continue;
        }
        let case = Rc::new(Case::new(facts));
        let outcome = (|| {
            let (mut graph, roots) = form.build(&case).ok_or(Stop::Empty)?;
            let leaves = own(&graph);
            check_source(graph.clone(), &case)?;
            complete_types(&mut graph, &case)?;
            let sides = assume::under(case.clone(), || trial.sides(graph, Some(&roots)));
            case.stopped()?;
            Ok((sides.ok_or(Stop::Empty)?, leaves))
        })();
        waiting.extend(case.take_aside());
        match outcome {
            Ok((sides, leaves)) if sides.target.is_ok() => return Some(Some((sides, leaves))),
            Ok(found) => refused = Some(found),
            Err(Stop::Divided | Stop::Empty) => {}
            Err(Stop::Open(_)) => return None,
        }
    }
    Some(refused)
}
