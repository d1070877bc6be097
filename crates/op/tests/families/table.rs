//! The table as a whole.

use std::collections::HashSet;
use std::sync::Arc;

use tautomer_op::{CostRule, Formula, Semantics, table};

#[test]
fn names_and_aliases_are_unique() {
    let mut seen = HashSet::new();
    for op in table() {
        for name in op.names() {
            assert!(seen.insert(name), "{name} is defined twice");
        }
    }
}

/// Rows are made of declarations when the crate is built; reading them again finds the same.
#[test]
fn every_body_is_the_one_of_its_declaration() {
    let mut count = 0;
    for op in table() {
        let Some(text) = op.composite_body() else { continue };
        count += 1;
        let source = Arc::new(tautomer_diag::Source::new(op.name, text));
        let program = tautomer_lang::parse_program(source).unwrap_or_else(|e| panic!("{}", e.render(false)));
        let [decl] = program.operators.as_slice() else {
            panic!("{}: {text}", op.name);
        };
        assert_eq!(decl.name.as_str(), op.name);
        let (operands, attrs) = (decl.operands.iter(), decl.attrs.iter());
        assert!(
            operands.map(|o| o.name.as_str()).eq(op.operands.iter().map(|o| o.name)),
            "{text}"
        );
        assert!(
            attrs.map(|a| a.name.as_str()).eq(op.attrs.iter().map(|a| a.name)),
            "{text}"
        );
        assert_eq!(tautomer_graph::declaration(op).unwrap().name.as_str(), op.name);
        assert!(op.attrs.iter().all(|attr| !attr.doc.is_empty()), "{}", op.name);
    }
    assert!(count >= 68);
}

/// A proof would otherwise have to know the operator by its name.
#[test]
fn every_primitive_states_its_formula() {
    for op in table().filter(|op| matches!(op.semantics, Semantics::Primitive(_))) {
        assert_ne!(
            op.law(),
            Formula::Unstated,
            "there is no proof law for `{}`: state what an element of its result is with `.formula(…)` in its row, or \
             `Formula::Whole` if proofs know no formula",
            op.name
        );
    }
}

/// Proofs take an operator that moves elements at no cost for one that keeps their order.
#[test]
fn movement_without_cost_keeps_the_order_of_elements() {
    let views: Vec<&str> = table()
        .filter(|op| op.moves().is_some() && matches!(op.cost, CostRule::View))
        .map(|op| op.name)
        .collect();
    assert_eq!(views, ["reshape", "squeeze", "unsqueeze", "flatten"]);
}

#[test]
fn every_row_is_complete() {
    for op in table() {
        assert!(!op.doc.is_empty(), "{} has no doc line", op.name);
        assert!(op.is_complete(), "{} lacks inference or semantics", op.name);
        for operand in op.operands {
            if let Some(attr) = operand.attr {
                assert!(
                    op.attr_index(attr).is_some(),
                    "{}: operand for unknown attribute {attr}",
                    op.name
                );
            }
        }
    }
}
