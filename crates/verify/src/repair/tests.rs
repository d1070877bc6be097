//! Conditions that make wrong rules right are found.

use std::sync::Arc;

use super::*;
use tautomer_rule::load_rules;

#[test]
fn wrong_rules_are_repaired() {
    let cases = [
        (
            "rule r(x, w, v) { conv(x, w) {..a} + conv(x, v) {..a} => conv(x, w + v) {..a} numerics real }",
            ["where w.shape[1..] == v.shape[1..]"].as_slice(),
        ),
        (
            "rule r(x, y, w, v) {
               conv(x, w) {..a} + conv(y, v) {..a} => conv(concat(x, y) {axis = 1}, concat(w, v) {axis = 1}) {..a}
               where x.shape == y.shape, w.shape == v.shape
               numerics real
             }",
            // Two ways to say that there is one group; which keeps more depends on the instances.
            &["where x.shape[1] == w.shape[1]", "{group = 1} beside `..a`"],
        ),
    ];
    for (text, changes) in cases {
        let source = Arc::new(Source::new("test.rules", format!("/// Wrong.\n{text}")));
        let set = parse_rules(source)
            .and_then(load_rules)
            .unwrap_or_else(|e| panic!("{}", e.render(false)));
        let options = Options {
            strict: true,
            ..Options::default()
        };
        let found = repair(&set.rules[0], &[], &options);
        let change = found.as_ref().map(|r| &*r.change);
        assert!(
            change.is_some_and(|change| changes.contains(&change)),
            "{text}: {change:?}"
        );
    }
}
