//! Warnings about rules that say nothing new.

use super::{compare_files, compare_rules};
use crate::rule::{composite_rules, library};

#[test]
fn the_library_says_nothing_twice() {
    let mut rules = library().unwrap().rules.clone();
    let found = compare_rules(&rules);
    assert!(found.is_empty(), "{}", found.render(false));
    // Bodies of operators that the library has written out itself are found again, and have the same names.
    rules.extend(composite_rules().unwrap().iter().cloned());
    let found = compare_files(&rules);
    assert!(!found.is_empty());
    for problem in found.iter() {
        let names: Vec<&str> = problem.message.split('`').collect();
        assert_eq!(names[1], names[3], "{}", problem.message);
    }
}
