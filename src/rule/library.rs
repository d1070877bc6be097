//! The rules shipped with the tool.

use std::sync::{Arc, OnceLock};

use super::RuleSet;
use super::check::load_checked_rules;
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
    ("rules/strided.rules", include_str!("../../rules/strided.rules")),
    ("rules/einsum.rules", include_str!("../../rules/einsum.rules")),
    ("rules/attention.rules", include_str!("../../rules/attention.rules")),
];

/// Optional sets of rules shipped with the tool, used only on request: their names and files.
const SETS: &[(&str, &[(&str, &str)])] = &[
    (
        "gsl",
        &[
            ("rules/gsl/onnx.rules", include_str!("../../rules/gsl/onnx.rules")),
            (
                "rules/gsl/transpose.rules",
                include_str!("../../rules/gsl/transpose.rules"),
            ),
            ("rules/gsl/concat.rules", include_str!("../../rules/gsl/concat.rules")),
            ("rules/gsl/conv.rules", include_str!("../../rules/gsl/conv.rules")),
            (
                "rules/gsl/parallel.rules",
                include_str!("../../rules/gsl/parallel.rules"),
            ),
            (
                "rules/gsl/elementwise.rules",
                include_str!("../../rules/gsl/elementwise.rules"),
            ),
            ("rules/gsl/like.rules", include_str!("../../rules/gsl/like.rules")),
            ("rules/gsl/lower.rules", include_str!("../../rules/gsl/lower.rules")),
            ("rules/gsl/gsl.rules", include_str!("../../rules/gsl/gsl.rules")),
        ],
    ),
    (
        "taso",
        &[
            ("rules/taso/matmul.rules", include_str!("../../rules/taso/matmul.rules")),
            (
                "rules/taso/elementwise.rules",
                include_str!("../../rules/taso/elementwise.rules"),
            ),
            ("rules/taso/concat.rules", include_str!("../../rules/taso/concat.rules")),
            ("rules/taso/conv.rules", include_str!("../../rules/taso/conv.rules")),
        ],
    ),
];

/// Names and texts of the rule files that are built in.
pub fn library_files() -> &'static [(&'static str, &'static str)] {
    FILES
}

/// The built-in rules.
///
/// # Errors
/// Problems of the files; the tests of the library check that there are none.
///
/// ```
/// assert!(!tautomer::rule::library().unwrap().rules.is_empty());
/// ```
pub fn library() -> Result<&'static RuleSet, &'static Diagnostics> {
    static LIBRARY: OnceLock<Result<RuleSet, Diagnostics>> = OnceLock::new();
    LIBRARY.get_or_init(|| load(FILES)).as_ref()
}

/// Names of the sets that [`library_set`] knows, with the names and texts of their files.
pub fn library_set_files() -> &'static [(&'static str, &'static [(&'static str, &'static str)])] {
    SETS
}

/// The shipped set of that name, which is not part of the [`library`].
///
/// # Errors
/// Problems of the files; the tests of the sets check that there are none.
///
/// ```
/// let set = tautomer::rule::library_set("gsl").unwrap().unwrap();
/// assert!(set.groups.iter().any(|group| &*group.name == "gsl"));
/// ```
pub fn library_set(name: &str) -> Option<Result<RuleSet, Diagnostics>> {
    SETS.iter().find(|(set, _)| *set == name).map(|(_, files)| load(files))
}

fn load(files: &[(&'static str, &'static str)]) -> Result<RuleSet, Diagnostics> {
    let mut all = RuleSet::default();
    let mut problems = Diagnostics::new();
    for (name, text) in files {
        match parse_rules(Arc::new(Source::new(*name, *text))).and_then(load_checked_rules) {
            Ok(set) => all.extend(set),
            Err(found) => problems.extend(found),
        }
    }
    problems.into_result(all)
}
