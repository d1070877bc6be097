//! The rules of composite operators as text. The build script uses this file as well, so it reads declarations alone.

use tautomer_lang::ast::{ExprKind, Item, LetNames, Mark, OperatorDecl};
use tautomer_lang::format_expr;

/// The name of the text.
pub(crate) const NAME: &str = "<bodies of composite operators>";

/// One rule for each operator of the items whose body is a pattern: `{body} => name(operands)`. Operators with
/// attributes are omitted, since a number in the body cannot be bound to an attribute, and so are those with operands
/// that may be left out or are many.
pub(crate) fn rule_texts(items: &[Item]) -> String {
    let operators = items.iter().filter_map(|item| match item {
        Item::Operator(decl) => rule_text(decl),
        _ => None,
    });
    operators.collect()
}

fn rule_text(decl: &OperatorDecl) -> Option<String> {
    if !decl.attrs.is_empty() || decl.operands.iter().any(|o| o.mark != Mark::One) {
        return None;
    }
    let pattern = pattern(decl)?;
    let operands: Vec<&str> = decl.operands.iter().map(|o| &*o.name.name).collect();
    let operands = operands.join(", ");
    let name = decl.name.as_str();
    Some(format!(
        "/// {}\nrule {}-written-out({operands}) {{ {pattern} => {name}({operands}) numerics real }}\n",
        decl.doc.as_deref().unwrap_or_default(),
        name.replace('_', "-"),
    ))
}

/// The body of a declaration, if it is a pattern: it does not depend on types, and has one result.
pub(crate) fn pattern(decl: &OperatorDecl) -> Option<String> {
    let body = decl.body.as_ref()?;
    let plain = decl.ast.iter().all(|(_, expr)| {
        !matches!(
            expr.kind,
            ExprKind::When { .. } | ExprKind::If { .. } | ExprKind::Comprehension { .. } | ExprKind::Field { .. }
        )
    });
    // A tuple is a pattern of several results, all of which would have to be there.
    if !plain || matches!(decl.ast.kind(body.result), ExprKind::Tuple(_)) {
        return None;
    }
    let mut out = String::new();
    for item in &body.lets {
        let LetNames::One(name) = &item.names else { return None };
        out.push_str(&format!(
            "let {} = {};\n",
            name.name,
            format_expr(&decl.ast, item.value)
        ));
    }
    out.push_str(&format_expr(&decl.ast, body.result));
    Some(out)
}
