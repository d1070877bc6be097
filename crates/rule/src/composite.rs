//! Rules derived from the bodies of composite operators: a body written out equals the operator.

use std::sync::{Arc, OnceLock};

use super::Rule;
use super::check::{load_checked_rules, load_checked_rules_in};
use tautomer_diag::{Diagnostics, Source};
use tautomer_graph::declaration;
use tautomer_lang::ast::{ExprKind, LetNames, OperatorDecl};
use tautomer_lang::{format_expr, parse_rules};
use tautomer_op::{AttrKind, OpDef, OperandKind, Scope, table};

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
    if !def.attrs.is_empty() || def.operands.iter().any(|o| o.kind != OperandKind::One) {
        return None;
    }
    let pattern = pattern(declaration(def)?)?;
    let operands: Vec<&str> = def.operands.iter().map(|o| o.name).collect();
    let operands = operands.join(", ");
    Some(format!(
        "/// {}\nrule {}-written-out({operands}) {{ {pattern} => {}({operands}) numerics real }}\n",
        def.doc,
        def.name.replace('_', "-"),
        def.name
    ))
}

/// The body of a declaration, if it is a pattern: it does not depend on types, and has one result.
fn pattern(decl: &OperatorDecl) -> Option<String> {
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

/// A rule for each declared operator in `scope` whose body is a pattern: the rule replaces the body by a call of the
/// operator. In the pattern, an attribute that is a number matches any constant.
///
/// Operators whose body depends on types, on other attributes or on which operands are given have no such rule.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// use tautomer_rule::{load_rules, recognition_rules};
///
/// let text = "operator \"a::Scaled\"(x) {by: float = 2.0} { relu(x) * by }";
/// let set = load_rules(parse_rules(Arc::new(Source::new("a.ops", text))).unwrap()).unwrap();
/// let rules = recognition_rules(&set.operators);
/// assert_eq!(&*rules[0].name, "a-Scaled-written-out");
/// ```
pub fn recognition_rules(scope: &Scope) -> Vec<Arc<Rule>> {
    let mut seen: Vec<&'static OpDef> = Vec::new();
    let mut out = Vec::new();
    for (_, def) in scope.iter() {
        if seen.iter().any(|known| std::ptr::eq(*known, def)) {
            continue;
        }
        seen.push(def);
        let Some(text) = recognition_text(def) else { continue };
        let source = Arc::new(Source::new(format!("{BODY_OF}{}>", def.name), text));
        // A body may be no pattern for more reasons than are seen here, such as an operand that it does not use.
        if let Ok(set) = parse_rules(source).and_then(|file| load_checked_rules_in(file, scope)) {
            out.extend(set.rules);
        }
    }
    out
}

/// How the sources of recognition rules are named.
const BODY_OF: &str = "<body of ";

/// Whether a text is the body of a declared operator from which [`recognition_rules`] made a rule.
pub fn is_body(source: &Source) -> bool {
    source.name.starts_with(BODY_OF)
}

fn recognition_text(def: &'static OpDef) -> Option<String> {
    if def.operands.iter().any(|o| o.kind != OperandKind::One) || def.attrs.iter().any(|a| a.kind != AttrKind::Float) {
        return None;
    }
    let pattern = pattern(declaration(def)?)?;
    let mut params: Vec<String> = def.operands.iter().map(|o| o.name.to_owned()).collect();
    let operands = params.join(", ");
    params.extend(def.attrs.iter().map(|a| format!("{}: const", a.name)));
    let attrs: Vec<String> = def.attrs.iter().map(|a| format!("{0} = value({0})", a.name)).collect();
    let attrs = match attrs.is_empty() {
        true => String::new(),
        false => format!(" {{{}}}", attrs.join(", ")),
    };
    let name: String = def
        .name
        .chars()
        .map(|c| if c.is_alphanumeric() { c } else { '-' })
        .collect();
    let name = name
        .split('-')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("-");
    let single: Vec<String> = def.attrs.iter().map(|a| format!("{}.size == 1", a.name)).collect();
    let conditions = match single.is_empty() {
        true => String::new(),
        false => format!("\nwhere {}", single.join(", ")),
    };
    let doc = def.doc.lines().next().unwrap_or("What the operator computes.");
    Some(format!(
        "/// {doc}\nrule {name}-written-out({}) {{\n{pattern}\n=> \"{}\"({operands}){attrs}{conditions}\nnumerics real\n}}\n",
        params.join(", "),
        def.name,
    ))
}
