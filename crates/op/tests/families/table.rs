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

#[test]
fn every_body_is_one_function() {
    for op in table() {
        let Some(body) = op.composite_body() else { continue };
        let source = Arc::new(tautomer_diag::Source::new(op.name, body));
        let program = tautomer_lang::parse_program(source).unwrap_or_else(|problems| {
            panic!(
                "{}: {:?}",
                op.name,
                problems.iter().map(|d| &d.message).collect::<Vec<_>>()
            )
        });
        assert_eq!(program.functions.len(), 1, "{}", op.name);
        assert_eq!(program.functions[0].params.len(), op.operands.len(), "{}", op.name);
    }
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
