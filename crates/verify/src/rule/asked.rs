//! What the text of a rule says about element types and attributes.

use tautomer_diag::Span;
use tautomer_lang::ast::ExprKind;
use tautomer_op::{AttrKind, AttrValue, OpDef};
use tautomer_rule::{AttrPattern, PatternNode, Rule};
use tautomer_tensor::DType;

/// The element types that the text of a rule names.
pub(super) fn named_types(rule: &Rule) -> Vec<DType> {
    let mut out: Vec<DType> = Vec::new();
    let mut add = |dtype: DType| {
        if !out.contains(&dtype) {
            out.push(dtype);
        }
    };
    for (_, node) in rule.source.nodes() {
        if let PatternNode::Call { attrs, .. } = node {
            for attr in attrs {
                if let AttrPattern::Value(AttrValue::DType(dtype)) = attr {
                    add(*dtype);
                }
            }
        }
    }
    let inside = |span: Span| span.start >= rule.span.start && span.end <= rule.span.end;
    for (_, expr) in rule.ast.iter().filter(|(_, expr)| inside(expr.span)) {
        if let ExprKind::Name(name) = &expr.kind
            && let Ok(dtype) = name.parse()
        {
            add(dtype);
        }
    }
    out
}

/// True if conditions or attributes of the source ask for element types.
pub(super) fn asks_for_types(rule: &Rule) -> bool {
    let computed = rule.source.nodes().flat_map(|(_, node)| match node {
        PatternNode::Call { attrs, .. } => attrs.as_slice(),
        _ => &[],
    });
    let computed = computed.filter_map(|attr| match attr {
        AttrPattern::Computed(id) => Some(*id),
        _ => None,
    });
    rule.conditions
        .iter()
        .copied()
        .chain(computed)
        .any(|id| rule.ast.mentions(id, &|name| name == "dtype"))
}

/// True if the source computes that attribute of such an operator.
pub(super) fn computes(rule: &Rule, def: &OpDef, attr: usize) -> bool {
    rule.source.nodes().any(|(_, node)| match node {
        PatternNode::Call { def: own, attrs, .. } => {
            std::ptr::eq(*own, def) && matches!(attrs.get(attr), Some(AttrPattern::Computed(_)))
        }
        _ => false,
    })
}

/// True if the source leaves an attribute open that is an element type.
pub(super) fn has_open_type(rule: &Rule) -> bool {
    rule.source.nodes().any(|(_, node)| match node {
        PatternNode::Call { def, attrs, .. } => def.attrs.iter().zip(attrs).any(|(declared, attr)| {
            let is_open = matches!(attr, AttrPattern::Bind(_) | AttrPattern::Rest(_) | AttrPattern::Any);
            matches!(declared.kind, AttrKind::DType) && is_open
        }),
        _ => false,
    })
}
