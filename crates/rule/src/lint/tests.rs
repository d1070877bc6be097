//! Warnings about redundant rules.

use std::sync::Arc;

use super::{compare_files, compare_rules};
use crate::{composite_rules, library, load_rules};
use tautomer_diag::Source;
use tautomer_lang::parse_rules;

#[test]
fn the_library_says_nothing_twice() {
    let mut rules = library().unwrap().rules.clone();
    let found = compare_rules(&rules);
    assert!(found.is_empty(), "{}", found.render(false));
    // Rules for operator bodies that the library also contains are reported as duplicates, and have the same names.
    rules.extend(composite_rules().unwrap().iter().cloned());
    let found = compare_files(&rules);
    assert!(!found.is_empty());
    for problem in found.iter() {
        let names: Vec<&str> = problem.message.split('`').collect();
        assert_eq!(names[1], names[3], "{}", problem.message);
    }
}

#[test]
fn rules_are_compared_with_those_of_their_shape() {
    let text: String = (0..50)
        .map(|i| format!("/// {i}.\nrule r{i}(x) {{ relu(x * {i}) => relu(x) * {i} numerics real }}\n"))
        .collect();
    let source = Arc::new(Source::new("test", text.as_str()));
    let rules = load_rules(parse_rules(source).unwrap()).unwrap().rules;
    let mut terms = super::Terms::default();
    let sides: Vec<super::Sides> = rules.iter().map(|r| super::Sides::new(&mut terms, r)).collect();
    let mut shapes = super::Shapes::default();
    for (i, side) in sides.iter().enumerate() {
        shapes.add(&terms, side.source[0], i);
    }
    for (i, side) in sides.iter().enumerate() {
        assert_eq!(super::candidates(&terms, side, &shapes), [i]);
    }
}
