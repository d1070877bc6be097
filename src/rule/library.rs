//! The rules that come with the tool.

use std::sync::{Arc, OnceLock};

use super::{RuleSet, load_rules};
use crate::diag::{Diagnostics, Source};
use crate::lang::parse_rules;

/// The rule files of the library, by name.
const FILES: &[(&str, &str)] = &[
    ("rules/identity.rules", include_str!("../../rules/identity.rules")),
    ("rules/algebra.rules", include_str!("../../rules/algebra.rules")),
    ("rules/layout.rules", include_str!("../../rules/layout.rules")),
    ("rules/reduce.rules", include_str!("../../rules/reduce.rules")),
    ("rules/matmul.rules", include_str!("../../rules/matmul.rules")),
    ("rules/conv.rules", include_str!("../../rules/conv.rules")),
    ("rules/activation.rules", include_str!("../../rules/activation.rules")),
    ("rules/norm.rules", include_str!("../../rules/norm.rules")),
];

/// Names and texts of the rule files that are built in.
pub fn library_files() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// The rules of TASO, with the conditions they need. They are no part of the library: most of them go either way, and
/// the library has what gains.
const TASO: &[(&str, &str)] = &[
    ("rules/taso/matmul.rules", include_str!("../../rules/taso/matmul.rules")),
    (
        "rules/taso/elementwise.rules",
        include_str!("../../rules/taso/elementwise.rules"),
    ),
    ("rules/taso/concat.rules", include_str!("../../rules/taso/concat.rules")),
    ("rules/taso/conv.rules", include_str!("../../rules/taso/conv.rules")),
];

/// Names and texts of the files of a rule set that is shipped beside the library; there is one, `taso`.
///
/// ```
/// assert!(tautomer::rule::rule_set_files("taso").is_some_and(|files| files.len() == 4));
/// ```
pub fn rule_set_files(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    (name == "taso").then_some(TASO)
}

/// The built-in rules.
///
/// # Errors
/// Problems of the files; the tests of the library keep them free of any.
///
/// ```
/// assert!(!tautomer::rule::library().unwrap().rules.is_empty());
/// ```
pub fn library() -> Result<&'static RuleSet, &'static Diagnostics> {
    static LIBRARY: OnceLock<Result<RuleSet, Diagnostics>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| {
            let mut all = RuleSet::default();
            let mut problems = Diagnostics::new();
            for (name, text) in FILES {
                match parse_rules(Arc::new(Source::new(*name, *text))).and_then(load_rules) {
                    Ok(set) => all.extend(set),
                    Err(found) => problems.extend(found),
                }
            }
            problems.into_result(all)
        })
        .as_ref()
}
