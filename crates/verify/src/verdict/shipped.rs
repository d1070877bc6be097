//! The built-in rules with their verdicts.

use std::sync::{Arc, LazyLock, OnceLock};

use rustc_hash::FxHashMap;

use super::level::Level;
use super::lock::{Entry, Lock, levels_of};
use tautomer_diag::{Diagnostics, Source};
use tautomer_rule::{
    Example, Rule, composite_rules, library, library_files, library_set, library_set_files, operator_files, shipped,
};

/// A rule with its examples.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The name of the source text that contains the rule, usually a path.
    pub source: String,
    /// The rule.
    pub rule: Arc<Rule>,
    /// The examples in that source text.
    pub examples: Arc<[Example]>,
}

impl Subject {
    /// Rules with the examples of the same source text.
    pub fn of(rules: &[Arc<Rule>], examples: Arc<[Example]>) -> impl Iterator<Item = Subject> {
        rules.iter().map(move |rule| Subject {
            source: rule.ast.source.name.clone(),
            rule: rule.clone(),
            examples: examples.clone(),
        })
    }
}

/// All built-in rules: the library, the rules derived from the bodies of composite operators, and the sets.
///
/// # Errors
/// Problems in the files; the tests ensure that there are none.
///
/// ```
/// let shipped = tautomer_verify::shipped_rules().unwrap();
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

/// The directory of the lock for a source text, and the file name in its entries: those of its path, or the library's
/// directory for rules that are in no file.
pub fn place_of(source: &str) -> (&str, &str) {
    if source.starts_with('<') {
        return ("rules", source);
    }
    source.rsplit_once('/').unwrap_or(("", source))
}

/// The directories of the built-in rules, each with its lock.
pub fn shipped_locks() -> impl Iterator<Item = (&'static str, &'static Lock)> {
    LOCKS.iter().map(|held| (held.folder(), held.lock()))
}

static LOCKS: LazyLock<[Held; 5]> = LazyLock::new(|| {
    [
        shipped!("rules/verdicts.lock"),
        shipped!("rules/gsl/verdicts.lock"),
        shipped!("rules/taso/verdicts.lock"),
        shipped!("rules/onnxruntime/verdicts.lock"),
        shipped!("rules/lower/verdicts.lock"),
    ]
    .map(|(path, text)| Held {
        path,
        text,
        parsed: OnceLock::new(),
        levels: OnceLock::new(),
    })
});

/// The lock of one directory, which is parsed when it is first needed.
struct Held {
    path: &'static str,
    text: &'static str,
    parsed: OnceLock<Lock>,
    levels: OnceLock<Levels>,
}

/// The levels of the rules in a lock, by file and rule.
type Levels = FxHashMap<(&'static str, &'static str), Level>;

impl Held {
    fn folder(&self) -> &'static str {
        place_of(self.path).0
    }

    /// The lock; empty if it cannot be parsed, which the tests rule out.
    fn lock(&self) -> &Lock {
        self.parsed.get_or_init(|| Lock::parse(self.text).unwrap_or_default())
    }

    /// The levels in the lock. Programs read them when they start, and the evidence only if they show it.
    fn levels(&self) -> &Levels {
        self.levels
            .get_or_init(|| levels_of(self.text).unwrap_or_default().into_iter().collect())
    }

    /// The lock of the directory that contains an unmodified built-in rule, and the name of its file there.
    fn of(rule: &Rule) -> Option<(&'static Held, &str)> {
        let source = &*rule.ast.source;
        if !is_shipped(source) {
            return None;
        }
        let (folder, file) = place_of(&source.name);
        let held = LOCKS.iter().find(|held| held.folder() == folder)?;
        Some((held, file))
    }
}

/// The verdict of an unmodified built-in rule; `None` for other rules.
///
/// ```
/// use tautomer_rule::library;
/// use tautomer_verify::{Level, shipped_verdict};
/// let rule = &library().unwrap().rules[0];
/// assert!(shipped_verdict(rule).unwrap().verdict >= Level::Tested);
/// ```
pub fn shipped_verdict(rule: &Rule) -> Option<&'static Entry> {
    let (held, file) = Held::of(rule)?;
    held.lock().get(file, &rule.name)
}

/// The level of [`shipped_verdict`], in a fraction of its time.
///
/// ```
/// use tautomer_rule::library;
/// use tautomer_verify::{Level, shipped_level};
/// let rule = &library().unwrap().rules[0];
/// assert!(shipped_level(rule).unwrap() >= Level::Tested);
/// ```
pub fn shipped_level(rule: &Rule) -> Option<Level> {
    let (held, file) = Held::of(rule)?;
    held.levels().get(&(file, &*rule.name)).copied()
}

/// True if a source text is an unmodified built-in rule file.
pub fn is_shipped(source: &Source) -> bool {
    let sets = library_set_files().iter().flat_map(|(_, files)| files.iter());
    let composite = || composite_rules().ok()?.first().map(|rule| &rule.ast.source);
    library_files()
        .iter()
        .chain(sets)
        .chain(operator_files())
        .any(|&(name, text)| source.is(name, text))
        || composite().is_some_and(|own| source.is(&own.name, &own.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_the_entries() {
        for held in &*LOCKS {
            assert_eq!(held.levels().len(), held.lock().entries().count(), "{}", held.path);
            for entry in held.lock().entries() {
                let level = held.levels().get(&(&*entry.file, &*entry.rule));
                assert_eq!(level, Some(&entry.verdict), "{}", entry.rule);
            }
        }
        for subject in shipped_rules().unwrap() {
            let verdict = shipped_verdict(&subject.rule).map(|entry| entry.verdict);
            assert_eq!(shipped_level(&subject.rule), verdict, "{}", subject.rule.name);
        }
    }
}
