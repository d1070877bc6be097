//! Parts that forms share: attributes with one name have one symbol, and floating-point types have one proof.

use super::{FREE, Open, Prepared, Scope, Source};
use crate::instance::recipe::{Recipe, Step};
use tautomer_lang::ast::ExprKind;
use tautomer_op::{AttrKind, AttrValue, Formula, Function, OpDef, OpTraits, Semantics};
use tautomer_rule::{AttrPattern, PatternId, PatternNode};
use tautomer_tensor::{DType, Dim};

/// True for operators whose meaning over the real numbers is the same in all floating-point types.
fn is_plain(def: &OpDef) -> bool {
    matches!(def.semantics, Semantics::Primitive(_) | Semantics::Movement(_))
        && def.declared.is_none()
        && !matches!(def.law(), Formula::Function(Function::Conversion | Function::Limits))
        && !def.traits.contains(OpTraits::NONDETERMINISTIC)
        && !def.attrs.iter().any(|attr| matches!(attr.kind, AttrKind::DType))
}

impl Scope<'_> {
    /// True if a proof for one floating-point type is a proof for all: formulas are over the real numbers, and neither
    /// the operators nor the text of the rule look at the type.
    pub(in crate::proof) fn ignores_float_types(&self) -> bool {
        let rule = self.rule;
        let source = rule.source.nodes().all(|(_, node)| match node {
            PatternNode::Call { def, .. } => is_plain(def),
            PatternNode::CallOf { .. } => false,
            _ => true,
        });
        let inside = rule.ast.iter().filter(|(_, expr)| {
            let span = expr.span;
            span.start >= rule.span.start && span.end <= rule.span.end
        });
        source
            && inside.into_iter().all(|(_, expr)| match &expr.kind {
                ExprKind::Call { callee, .. } => {
                    rule.scope.declared(callee.as_str()).is_none()
                        && tautomer_op::lookup(callee.as_str()).is_none_or(is_plain)
                }
                ExprKind::Field { name, .. } => name.as_str() != "dtype",
                _ => true,
            })
    }

    /// The recipe with `f32` instead of another floating-point type, if it has only one.
    pub(in crate::proof) fn with_one_float_type(recipe: &Recipe) -> Recipe {
        let mut out = recipe.clone();
        let mut only: Option<DType> = None;
        for step in &mut out.steps {
            match step {
                Step::Leaf { dtype, .. } | Step::Fill { dtype, .. } if dtype.is_float() => {
                    if only.is_some_and(|other| other != *dtype) {
                        return recipe.clone();
                    }
                    only = Some(std::mem::replace(dtype, DType::F32));
                }
                Step::Const(tensor) if tensor.dtype().is_float() => return recipe.clone(),
                _ => {}
            }
        }
        out
    }

    /// True if the name of an attribute refers to a list with a value for each member.
    pub(super) fn is_of_each_member(&self, bound: &[(PatternId, usize)], open: &Open) -> bool {
        bound.iter().any(|&(at, step)| {
            step == open.step
                && matches!(self.rule.source.node(at), PatternNode::Call { attrs, .. }
                    if matches!(attrs.get(open.attr), Some(AttrPattern::BindEach(_))))
        })
    }

    /// Gives attributes that the pattern binds to one name the symbols of the first: a match has equal values there.
    pub(super) fn share_symbols(&self, out: &mut Prepared) {
        let value = |recipe: &Recipe, step: usize, attr: usize| match &recipe.steps[step] {
            Step::Call { attrs, .. } => attrs[attr].clone(),
            _ => None,
        };
        for (i, open) in out.open.iter().enumerate() {
            let name = open.def.attrs[open.attr].name;
            if !FREE.contains(&name)
                || name == "shape"
                || matches!(open.source, Source::Place(..))
                || self.is_of_each_member(&out.bound, open)
            {
                continue;
            }
            let Some(first) = out.open[..i].iter().find(|o| o.source == open.source) else {
                continue;
            };
            let shared = value(&out.recipe, first.step, first.attr);
            if first.def.attrs[first.attr].name != name || shared != value(&out.recipe, open.step, open.attr) {
                continue;
            }
            let symbol = |k: usize| Dim::symbol(&symbol_name(name, first.step, k));
            let symbols = match shared {
                Some(AttrValue::Int(_)) => AttrValue::Int(symbol(0)),
                Some(AttrValue::Ints(list)) => AttrValue::Ints((0..list.len()).map(symbol).collect()),
                _ => continue,
            };
            if let Step::Call { attrs, .. } = &mut out.recipe.steps[open.step] {
                attrs[open.attr] = Some(symbols);
            }
        }
    }
}

/// The symbol for a part of an attribute of a step.
pub(in crate::proof) fn symbol_name(attr: &str, step: usize, part: usize) -> String {
    format!("{attr}{step}.{part}")
}
