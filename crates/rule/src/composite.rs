//! Rules derived from the bodies of composite operators: a body written out equals the operator.

use std::sync::{Arc, OnceLock};

use super::Rule;
use super::check::load_checked_rules;
use tautomer_diag::{Diagnostics, Source};
use tautomer_lang::parse_rules;
use tautomer_op::{OpDef, OperandKind, table};

/// One rule for each composite operator whose body is a pattern: `{body} => name(operands)`.
///
/// Operators with attributes are omitted, since a number in the body cannot be bound to an attribute, and so are those
/// whose body depends on which operands are given.
///
/// # Errors
/// Problems of the generated rules; a test checks that there are none.
///
/// ```
/// let rules = tautomer_rule::composite_rules().unwrap();
/// assert!(rules.iter().any(|rule| &*rule.name == "silu-written-out"));
/// ```
pub fn composite_rules() -> Result<&'static [Arc<Rule>], &'static Diagnostics> {
    static RULES: OnceLock<Result<Vec<Arc<Rule>>, Diagnostics>> = OnceLock::new();
    RULES
        .get_or_init(|| {
            let text: String = table().filter_map(rule_text).collect();
            let file = parse_rules(Arc::new(Source::new("<bodies of composite operators>", text)))?;
            Ok(load_checked_rules(file)?.rules)
        })
        .as_ref()
        .map(Vec::as_slice)
}

fn rule_text(def: &'static OpDef) -> Option<String> {
    let body = def.composite_body()?;
    let fixed = def.operands.iter().all(|o| o.kind == OperandKind::One);
    let pattern = !["when", "for ", ".shape", ".rank"]
        .iter()
        .any(|word| body.contains(word));
    if !def.attrs.is_empty() || !fixed || !pattern {
        return None;
    }
    let (head, rest) = body.split_once('{')?;
    let inner = rest.trim_end().strip_suffix('}')?.trim();
    let operands = head.split_once('(')?.1.split_once(')')?.0.trim();
    Some(format!(
        "/// {}\nrule {}-written-out({operands}) {{ {inner} => {}({operands}) numerics real }}\n",
        def.doc,
        def.name.replace('_', "-"),
        def.name
    ))
}
