//! The fingerprint of a rule: a hash of everything its verdict depends on, its text and the rows of its operators.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::instance::seeds::examples_of;
use tautomer_diag::Source;
use tautomer_graph::{declaration, to_program};
use tautomer_lang::ast::{Ast, ExprKind, Item, OperatorDecl};
use tautomer_lang::{format_operator, format_program, format_rules, parse_rules};
use tautomer_op::{OpDef, Scope};
use tautomer_rule::{Example, ExampleKind, Rule};

/// 32 hexadecimal digits that change with anything the verdict of the rule depends on: its name, direction and class,
/// its text in canonical form without comments and documentation, and the rows of all operators in it, including those
/// that the bodies of composite operators call.
///
/// The semantics of primitive operators are not included; [`VERIFIER`](crate::VERIFIER) covers them.
///
/// ```
/// # use std::sync::Arc;
/// # use tautomer_diag::Source;
/// # use tautomer_lang::parse_rules;
/// # use tautomer_rule::load_rules;
/// # use tautomer_verify::fingerprint;
/// let of = |text: &str| {
///     let source = Arc::new(Source::new("a.rules", format!("/// Nothing is added.\n{text}")));
///     fingerprint(&load_rules(parse_rules(source).unwrap()).unwrap().rules[0])
/// };
/// let written = of("rule nothing(x) { x + 0 => x numerics real }");
/// assert_eq!(of("// Why?\nrule nothing(x) {\n  (x + 0)   => x\n  numerics real\n}"), written);
/// assert_ne!(of("rule nothing(x) { x - 0 => x numerics real }"), written);
/// ```
pub fn fingerprint(rule: &Rule) -> String {
    let mut text = format!("{}\n{}\n", rule.name, rule.class);
    let source = Arc::new(Source::new("rule", rule.ast.source.slice(rule.span)));
    let mut found = Operators {
        scope: rule.scope.clone(),
        ..Operators::default()
    };
    for variable in &rule.operators {
        found.waiting.extend(&variable.choices);
    }
    match parse_rules(source.clone()) {
        Ok(mut file) => {
            file.comments.clear();
            for item in &mut file.items {
                if let Item::Rule(rule) = item {
                    rule.doc = None;
                }
            }
            found.calls_of(&file.ast);
            text.push_str(&format_rules(&file));
        }
        // Text that does not parse on its own is hashed as it is.
        Err(_) => text.push_str(&source.text),
    }
    for def in found.with_those_of_bodies() {
        text.push_str(&row(def));
    }
    format!("{:032x}", fnv1a(text.as_bytes()))
}

/// 32 hexadecimal digits that change with the examples of the rule, which seed the search for instances.
///
/// ```
/// use tautomer_verify::{examples_fingerprint, shipped_rules};
/// let rules = shipped_rules().unwrap();
/// let of = |i: usize| examples_fingerprint(&rules[i].rule, &rules[i].examples);
/// assert_ne!(of(0), of(1));
/// ```
pub fn examples_fingerprint(rule: &Rule, examples: &[Example]) -> String {
    let mut text = String::new();
    for example in examples_of(rule, examples) {
        text.push_str(&format_program(&to_program(&example.source)));
        if let ExampleKind::Becomes(after) = &example.kind {
            text.push_str("becomes\n");
            text.push_str(&format_program(&to_program(after)));
        }
    }
    format!("{:032x}", fnv1a(text.as_bytes()))
}

/// Operators found whose bodies have not been searched yet.
#[derive(Default)]
struct Operators {
    waiting: Vec<&'static OpDef>,
    /// The declared operators that the rule may mention.
    scope: Scope,
}

impl Operators {
    fn calls_of(&mut self, ast: &Ast) {
        for (_, expr) in ast.iter() {
            let name = match &expr.kind {
                ExprKind::Call { callee, .. } => Some(callee.as_str()),
                ExprKind::Binary { op, .. } => op.operator(),
                ExprKind::Unary { op, .. } => Some(op.operator()),
                _ => None,
            };
            self.waiting.extend(name.and_then(|name| self.scope.find(name, false)));
        }
    }

    /// All operators found, including those that bodies call, sorted by name.
    fn with_those_of_bodies(mut self) -> impl Iterator<Item = &'static OpDef> {
        let mut found = BTreeMap::new();
        while let Some(def) = self.waiting.pop() {
            if found.insert(def.name, def).is_some() {
                continue;
            }
            if let Some(decl) = declaration(def) {
                // What the declared operators that it calls are called elsewhere does not matter.
                self.waiting
                    .extend(def.declared.iter().flat_map(|declared| declared.calls));
                let outer = std::mem::take(&mut self.scope);
                self.calls_of(&decl.ast);
                self.scope = outer;
            }
        }
        found.into_values()
    }
}

/// A row of the operator table, as far as it can be printed.
fn row(def: &OpDef) -> String {
    let mut out = format!("{}(", def.name);
    for operand in def.operands {
        let _ = write!(out, "{} {:?} {:?},", operand.name, operand.kind, operand.attr);
    }
    out.push_str(") {");
    for attr in def.attrs {
        let _ = write!(out, "{} {:?} {:?},", attr.name, attr.kind, attr.default);
    }
    let traits: Vec<_> = def.traits.names().collect();
    let text = match (def.declared, declaration(def)) {
        (Some(declared), _) => declared.text.to_owned(),
        (None, Some(decl)) => body(decl),
        (None, None) => String::new(),
    };
    let _ = writeln!(out, "}} {} {text}", traits.join(" "));
    out
}

/// The body of an operator of the table: the rest of its declaration does not affect its value.
fn body(decl: &OperatorDecl) -> String {
    format_operator(&OperatorDecl {
        doc: None,
        attrs: Vec::new(),
        onnx: None,
        traits: Vec::new(),
        cost: None,
        also: Vec::new(),
        laws: Vec::new(),
        ..decl.clone()
    })
}

/// The 128-bit FNV-1a hash. A collision is no attack: anyone who can choose the text of a rule can choose its verdict
/// as well.
pub(super) fn fnv1a(bytes: &[u8]) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes
        .iter()
        .fold(BASIS, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_rule::load_checked_rules;

    fn of(text: &str) -> String {
        let set = parse_rules(Arc::new(Source::new("a.rules", text))).and_then(load_checked_rules);
        fingerprint(&set.unwrap_or_else(|e| panic!("{}", e.render(false))).rules[0])
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a(b"a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(fnv1a(b"foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }

    #[test]
    fn fingerprints_ignore_layout_and_comments() {
        let base = of("rule a(x, y) { relu(x) + y => y + relu(x) where x.rank == y.rank numerics bitwise }");
        assert_eq!(base.len(), 32);
        let same = [
            "/// Documented.\nrule a(x, y) { relu(x) + y => y + relu(x) where x.rank == y.rank numerics bitwise }",
            "rule a( x,y, ) {\n  // Why not?\n  (relu(x)) + y => y + relu(x)\n  where x.rank == y.rank\n  numerics bitwise\n}",
            "rule b(x) { x * 1 => x }\nrule a(x, y) { relu(x) + y => y + relu(x) where x.rank == y.rank numerics bitwise }",
        ];
        assert_eq!(of(same[0]), base);
        assert_eq!(of(same[1]), base);
        let set = load_checked_rules(parse_rules(Arc::new(Source::new("a.rules", same[2]))).unwrap()).unwrap();
        assert_eq!(fingerprint(&set.rules[1]), base);
        let others = [
            "rule b(x, y) { relu(x) + y => y + relu(x) where x.rank == y.rank numerics bitwise }",
            "rule a(x, y) { relu(x) + y => y + relu(x) where x.rank == y.rank numerics real }",
            "rule a(x, y) { relu(x) + y => y + relu(x) where x.shape == y.shape numerics bitwise }",
            "rule a(x, y) { relu(x) + y => y + relu(x) numerics bitwise }",
            "rule a(x, y) { relu(x) + y => relu(x) + y where x.rank == y.rank numerics bitwise }",
            "rule a(x: param, y) { relu(x) + y => y + relu(x) where x.rank == y.rank numerics bitwise }",
        ];
        for other in others {
            assert_ne!(of(other), base, "{other}");
        }
    }

    #[test]
    fn both_directions_have_their_own_fingerprints() {
        let text = "rule a(x, y) { -(x * y) <=> -x * y numerics bitwise }";
        let set = load_checked_rules(parse_rules(Arc::new(Source::new("a.rules", text))).unwrap()).unwrap();
        assert_ne!(fingerprint(&set.rules[0]), fingerprint(&set.rules[1]));
    }

    #[test]
    fn fingerprints_cover_operators_of_bodies() {
        let mut found = Operators::default();
        found.waiting.extend(tautomer_op::lookup("silu"));
        let names: Vec<_> = found.with_those_of_bodies().map(|def| def.name).collect();
        assert_eq!(names, ["add", "div", "exp", "mul", "neg", "sigmoid", "silu"]);
    }
}
