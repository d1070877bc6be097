//! The syntax trees that release builds contain are those of the texts; debug builds parse the texts.

use std::sync::Arc;

use tautomer::diag::Source;
use tautomer::lang::{parse_rules_without_examples, parse_targets};
use tautomer::rule::{library_files, library_set_files, operator_files, table_files, target_files};
use tautomer::rule::{shipped_rule_file, shipped_target_file};

#[test]
fn trees_of_the_build_are_those_of_the_texts() {
    let sets = library_set_files().iter().flat_map(|(_, files)| files);
    for &(name, text) in library_files()
        .iter()
        .chain(sets)
        .chain(operator_files())
        .chain(table_files())
    {
        let source = Arc::new(Source::new(name, text));
        let file = shipped_rule_file(source.clone()).unwrap();
        let parsed = parse_rules_without_examples(source).unwrap();
        assert_eq!(file.to_bytes().unwrap(), parsed.to_bytes().unwrap(), "{name}");
    }
    for &(name, text) in target_files() {
        let source = Arc::new(Source::new(name, text));
        let file = shipped_target_file(source.clone()).unwrap();
        let parsed = parse_targets(source).unwrap();
        assert_eq!(file.to_bytes().unwrap(), parsed.to_bytes().unwrap(), "{name}");
    }
}
