//! Entries 0 and -1 in the shape of a `reshape`.
//!
//! Inference writes the dimension in place of such an entry. Where it does not know the dimension, the entry stays, and
//! the matcher, the conditions and the target see 0 or -1 in place of the dimension. So a form in which the entries are
//! dimensions is proved again with each of them written as 0, or one as -1.

use super::EFFORT;
use super::conditions::Named;
use super::level::AtLevel;
use super::scope::{Prepared, Source};
use crate::instance::recipe::Step;

use tautomer_lang::ast::{BinaryOp, ExprId, ExprKind};
use tautomer_op::{AttrValue, ShapeRule};
use tautomer_rule::{PatternNode, Rule};

/// Limit on the forms with such entries.
const FORMS: usize = 2000;

/// An entry of a shape in a form: the step, the attribute, the entry, and 0 or -1.
type Entry = (usize, usize, usize, i64);

impl AtLevel<'_> {
    /// True if the rule is proved with 0 and -1 in all open shapes of `reshape`, which have fixed lengths.
    pub(super) fn exhausts_written_shapes(&self, forms: &[Prepared]) -> bool {
        let rule = self.scope.rule();
        let given = self.given(EFFORT, false);
        // Each form is tried with its ranks alone.
        let fixed = (0..rule.variables.len()).all(|i| self.scope.pinned(i).is_some());
        if !fixed && forms.iter().any(|prepared| prepared.open.iter().any(is_open_shape)) {
            return false;
        }
        let mut tried = 0;
        for prepared in forms {
            let mut all: Vec<Vec<Entry>> = vec![Vec::new()];
            let mut sources: Vec<&Source> = Vec::new();
            for open in prepared.open.iter().filter(|open| is_open_shape(open)) {
                if sources.contains(&&open.source) {
                    continue;
                }
                sources.push(&open.source);
                let own = prepared.open.iter().filter(|other| other.source == open.source);
                let places: Vec<(usize, usize)> = own.map(|other| (other.step, other.attr)).collect();
                let Step::Call { attrs, .. } = &prepared.recipe.steps[open.step] else {
                    return false;
                };
                let Some(AttrValue::Ints(list)) = &attrs[open.attr] else {
                    return false;
                };
                let is_known = |&(step, _): &(usize, usize)| self.reshapes_a_variable(prepared, step);
                if !has_fixed_length(rule, &open.source) || !places.iter().all(is_known) {
                    return false;
                }
                let lists = written(list.len());
                if all.len() * lists.len() > FORMS {
                    return false;
                }
                let longer = |before: &Vec<Entry>| {
                    let with = |list: &Vec<(usize, i64)>| {
                        let entries = places.iter().flat_map(|&(step, attr)| {
                            list.iter().map(move |&(entry, number)| (step, attr, entry, number))
                        });
                        before.iter().copied().chain(entries).collect()
                    };
                    lists.iter().map(with).collect::<Vec<_>>()
                };
                all = all.iter().flat_map(longer).collect();
            }
            tried += all.len();
            if tried > FORMS {
                return false;
            }
            let (named, form) = (Named::of(self.scope, prepared), prepared.form());
            let is_proved = |entries: &Vec<Entry>| {
                entries.is_empty() || self.prove_form(&named, &form.with_written(entries), &given).is_ok()
            };
            if !all.iter().all(is_proved) {
                return false;
            }
        }
        true
    }

    /// True if a step changes the shape of a value that a variable matches.
    fn reshapes_a_variable(&self, prepared: &Prepared, step: usize) -> bool {
        let Step::Call { operands, .. } = &prepared.recipe.steps[step] else {
            return false;
        };
        operands.first().is_some_and(|operand| {
            prepared.bound.iter().any(|&(at, own)| {
                own == *operand && matches!(self.scope.rule().source.node(at), PatternNode::Variable(_))
            })
        })
    }
}

/// True for the shape of a `reshape` that the pattern leaves open.
fn is_open_shape(open: &super::scope::Open) -> bool {
    open.def.shapes == ShapeRule::Reshape && open.def.attrs[open.attr].name == "shape" && !open.fixed_length
}

/// The entries of a list of this length that are written as 0, and the one as -1, in all combinations.
fn written(n: usize) -> Vec<Vec<(usize, i64)>> {
    let mut out: Vec<Vec<(usize, i64)>> = vec![Vec::new()];
    for entry in 0..n {
        let each = |list: &Vec<(usize, i64)>| {
            let with = |number: i64| list.iter().copied().chain([(entry, number)]).collect();
            let mut each = vec![list.clone(), with(0)];
            if list.iter().all(|(_, number)| *number == 0) {
                each.push(with(-1));
            }
            each
        };
        out = out.iter().flat_map(each).collect();
    }
    out
}

/// True if a condition says that a list has as many entries as a written one, or how many it has.
pub(super) fn has_fixed_length(rule: &Rule, source: &Source) -> bool {
    let Source::Name(name) = source else { return false };
    let ast = &rule.ast;
    let is_own = |id: ExprId| matches!(ast.kind(id), ExprKind::Name(own) if own == name);
    let is_list = |id: ExprId| {
        matches!(ast.kind(id), ExprKind::List(items)
            if !items.iter().any(|&item| matches!(ast.kind(item), ExprKind::Comprehension { .. })))
    };
    let is_length = |id: ExprId| {
        matches!(ast.kind(id), ExprKind::Call { callee, args, .. } if callee.as_str() == "len"
            && matches!(args.as_slice(), [arg] if is_own(*arg)))
    };
    rule.conditions.iter().any(|&condition| {
        matches!(ast.kind(condition), ExprKind::Binary { op: BinaryOp::Eq, lhs, rhs }
            if is_own(*lhs) && is_list(*rhs)
                || is_length(*lhs) && matches!(ast.kind(*rhs), ExprKind::Int { .. }))
    })
}
