//! Rules derived from the bodies of composite operators: a body written out equals the operator.

mod text;

use std::sync::{Arc, OnceLock};

use super::Rule;
use super::check::load_checked_rules_in;
use super::library::{load_shipped_rules, table_files};
use tautomer_diag::{Diagnostics, Source};
use tautomer_graph::declaration;
use tautomer_lang::parse_rules;
use tautomer_op::{AttrKind, OpDef, OperandKind, Scope};
use text::{pattern, rule_texts};

/// One rule for each composite operator of the table whose body is a pattern: `{body} => name(operands)`.
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
            let source = Source::of_program(text::NAME, composite_text()?);
            Ok(load_shipped_rules(Arc::new(source), &Scope::default())?.rules)
        })
        .as_ref()
        .map(Vec::as_slice)
}

/// The rules of composite operators. Release builds have them from the build script.
fn composite_text() -> Result<&'static str, Diagnostics> {
    if !cfg!(debug_assertions) {
        return Ok(include_str!(concat!(env!("OUT_DIR"), "/composite.rules")));
    }
    static WRITTEN: OnceLock<String> = OnceLock::new();
    let mut text = String::new();
    for &(name, operators) in table_files() {
        let file = parse_rules(Arc::new(Source::of_program(name, operators)))?;
        text.push_str(&rule_texts(&file.items));
    }
    Ok(WRITTEN.get_or_init(|| text))
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

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_op::table;

    #[test]
    fn the_rules_are_those_of_the_table() {
        let written: Vec<&'static OpDef> = table()
            .filter(|def| def.attrs.is_empty() && def.operands.iter().all(|o| o.kind == OperandKind::One))
            .filter(|def| declaration(def).and_then(pattern).is_some())
            .collect();
        let rules = composite_rules().unwrap();
        let names: Vec<&str> = rules.iter().map(|rule| &*rule.name).collect();
        let of_table: Vec<String> = written
            .iter()
            .map(|def| format!("{}-written-out", def.name.replace('_', "-")))
            .collect();
        assert_eq!(names, of_table);
        assert!(rules.iter().zip(written).all(|(rule, def)| rule.doc == def.doc));
    }
}
