//! The rules that come with the tool, with their verdicts.

use std::sync::{Arc, OnceLock};

use super::{Entry, Lock};
use crate::diag::{Diagnostics, Source};
use crate::rule::{Example, Rule, composite_rules, library, library_files, library_set, library_set_files};

/// The locks of the folders of built-in rules.
const LOCKS: &[(&str, &str)] = &[
    ("rules", include_str!("../../rules/verdicts.lock")),
    ("rules/gsl", include_str!("../../rules/gsl/verdicts.lock")),
    ("rules/taso", include_str!("../../rules/taso/verdicts.lock")),
];

/// A rule with its examples.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The name of the text that the rule stands in, mostly a path.
    pub source: String,
    /// The rule.
    pub rule: Arc<Rule>,
    /// The examples of that text.
    pub examples: Arc<[Example]>,
}

impl Subject {
    /// Rules with the examples that stand in the same text.
    pub fn of(rules: &[Arc<Rule>], examples: Arc<[Example]>) -> impl Iterator<Item = Subject> {
        rules.iter().map(move |rule| Subject {
            source: rule.ast.source.name.clone(),
            rule: rule.clone(),
            examples: examples.clone(),
        })
    }
}

/// All rules that come with the tool: the library, those of the bodies of composite operators, the sets.
///
/// # Errors
/// Problems of the files; tests keep them free of any.
///
/// ```
/// let shipped = tautomer::verify::shipped_rules().unwrap();
/// assert!(shipped.iter().any(|subject| subject.source == "rules/gsl/conv.rules"));
/// ```
pub fn shipped_rules() -> Result<Vec<Subject>, Diagnostics> {
    let library = library().map_err(Clone::clone)?;
    let composite = composite_rules().map_err(Clone::clone)?;
    let mut out: Vec<Subject> = Subject::of(&library.rules, library.examples.as_slice().into()).collect();
    out.extend(Subject::of(composite, Arc::new([])));
    for (name, _) in library_set_files() {
        let set = library_set(name).unwrap_or_else(|| Ok(Default::default()))?;
        out.extend(Subject::of(&set.rules, set.examples.into()));
    }
    Ok(out)
}

/// The folder and the name of the lock's entries for a text: those of its path; the library's folder for rules that are
/// in no file.
pub fn place_of(source: &str) -> (&str, &str) {
    if source.starts_with('<') {
        return ("rules", source);
    }
    source.rsplit_once('/').unwrap_or(("", source))
}

/// The locks of the rules that come with the tool, by folder; empty where one cannot be read, which tests exclude.
pub fn shipped_locks() -> &'static [(&'static str, Lock)] {
    static READ: OnceLock<Vec<(&'static str, Lock)>> = OnceLock::new();
    READ.get_or_init(|| {
        LOCKS
            .iter()
            .map(|(folder, text)| (*folder, Lock::parse(text).unwrap_or_default()))
            .collect()
    })
}

/// The verdict of a rule that comes with the tool, unchanged; nothing for other rules.
///
/// ```
/// use tautomer::{rule::library, verify::{Level, shipped_verdict}};
/// let rule = &library().unwrap().rules[0];
/// assert!(shipped_verdict(rule).unwrap().verdict >= Level::Tested);
/// ```
pub fn shipped_verdict(rule: &Rule) -> Option<&'static Entry> {
    let source = &*rule.ast.source;
    if !is_shipped(source) {
        return None;
    }
    let (folder, file) = place_of(&source.name);
    let (_, lock) = shipped_locks().iter().find(|(name, _)| *name == folder)?;
    lock.get(file, &rule.name)
}

/// Whether a text of rules comes with the tool and is unchanged.
pub fn is_shipped(source: &Source) -> bool {
    let sets = library_set_files().iter().flat_map(|(_, files)| files.iter());
    let composite = || composite_rules().ok()?.first().map(|rule| &rule.ast.source);
    library_files()
        .iter()
        .chain(sets)
        .any(|&(name, text)| name == source.name && text == source.text)
        || composite().is_some_and(|own| own.name == source.name && own.text == source.text)
}
