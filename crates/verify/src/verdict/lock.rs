//! Lock files: verdicts stored next to the rules, one line of JSON for each rule.
//!
//! There is one lock in each directory of rule files, named [`LOCK_NAME`], so moving a rule to another file of the
//! directory leaves no stale lock behind. Lines are sorted by file and rule and contain no timestamps, so a lock
//! changes only where a verdict does.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::fingerprint::{examples_fingerprint, fingerprint};
use super::level::Level;
use super::options::Options;
use super::report::{Report, Verdict};
use super::shipped::{Subject, place_of};
use crate::proof::Coverage;
use tautomer_op::Laws;

/// The name of the lock file in a directory.
pub const LOCK_NAME: &str = "verdicts.lock";

/// The version of the verifier; a verdict of another version is out of date. Increment it with every change to the
/// verifier, or to the semantics of an operator, that may change a verdict.
pub const VERIFIER: u32 = 36;

/// The version of the lock file format.
const FORMAT: u32 = 1;

/// The verdict of a rule and the evidence for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The rule file, without its directory; the name of the source for rules that are in no file.
    pub file: String,
    /// The rule; the backward direction of a `<=>` rule has a separate entry.
    pub rule: String,
    /// The class that the rule declares.
    pub class: String,
    /// The confidence level of the verdict.
    pub verdict: Level,
    /// The verdict as text, with its numbers.
    pub says: String,
    /// Instances that were compared.
    pub instances: usize,
    /// How many of them each number system decided.
    pub systems: BTreeMap<String, usize>,
    /// The forms of the source that were proved for all sizes, and the cases they were divided into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Forms>,
    /// Instances where the target has no type or a different type.
    pub refused: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// Instances that were asked for.
    pub budget: usize,
    /// Mutations that were allowed for each instance.
    pub attempts: usize,
    /// Whether a difference in type counted as an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// The laws of functions that were allowed, by name; `None` for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub laws: Option<String>,
    /// How many numbers of an element type to compare bits on; 0 if the lock does not say.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub patterns: u64,
    /// Whether to compare bits on all numbers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exhaustive: bool,
    /// Whether the proof for all sizes was skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_proof: bool,
    /// The version of the verifier.
    pub verifier: u32,
    /// The [`fingerprint`] of the rule that the verdict is about.
    pub hash: String,
    /// The [`examples_fingerprint`] of the rule, whose examples seeded the search for instances.
    pub examples: String,
}

/// The coverage of a proof for all sizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forms {
    /// Combinations of ranks, axes, permutations and members, with all dimensions symbolic.
    pub forms: usize,
    /// The cases these were divided into.
    pub cases: usize,
}

impl Entry {
    /// The entry for a report on a rule.
    pub fn new(subject: &Subject, report: &Report, options: &Options) -> Entry {
        Entry {
            file: place_of(&subject.source).1.to_owned(),
            rule: report.rule.name.to_string(),
            class: report.rule.class.to_string(),
            verdict: report.verdict.level(),
            says: report.verdict.to_string(),
            instances: report.instances,
            systems: report
                .systems
                .iter()
                .map(|(name, n)| ((*name).to_owned(), *n))
                .collect(),
            proof: match &report.verdict {
                Verdict::ProvedForAll(Coverage { forms, cases, .. })
                | Verdict::ProvedFor(Coverage { forms, cases, .. }) => Some(Forms {
                    forms: *forms,
                    cases: *cases,
                }),
                _ => None,
            },
            refused: report.refused,
            seed: options.seed,
            budget: options.instances,
            attempts: options.attempts,
            strict: options.strict,
            laws: allowed(options.laws),
            patterns: options.patterns,
            exhaustive: options.exhaustive,
            without_proof: !options.prove,
            verifier: VERIFIER,
            hash: fingerprint(&report.rule),
            examples: examples_fingerprint(&report.rule, &subject.examples),
        }
    }

    /// Whether the verdict is about the rule with this fingerprint and by this version of the verifier.
    pub fn is_current(&self, hash: &str) -> bool {
        self.hash == hash && self.verifier == VERIFIER
    }

    /// Whether a search with `options` from these examples would try no more than the one that led to this verdict.
    pub fn covers(&self, options: &Options, examples: &str) -> bool {
        self.examples == examples
            && self.budget >= options.instances
            && self.attempts >= options.attempts
            && self.strict == options.strict
            && self.laws == allowed(options.laws)
            && (self.exhaustive || !options.exhaustive && self.patterns >= options.patterns)
            && !(self.without_proof && options.prove)
    }
}

/// Whether the count is 0, and is not written.
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The names of the laws that may be assumed; `None` for all.
fn allowed(laws: Laws) -> Option<String> {
    (laws != Laws::ALL).then(|| laws.to_string())
}

/// The verdicts of the rules in a directory.
///
/// ```
/// use tautomer_verify::Lock;
/// let lock = Lock::parse(&Lock::default().to_string())?;
/// assert_eq!(lock.entries().count(), 0);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    entries: BTreeMap<(String, String), Entry>,
}

/// The first line of a lock.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    lock: u32,
}

/// The part of an entry that decides whether a rule is used; the names are those in the text.
#[derive(Deserialize)]
struct Brief<'a> {
    file: &'a str,
    rule: &'a str,
    verdict: Level,
}

/// The file, the rule and the level of each entry in the text of a lock, without the other fields. The names of files
/// and rules must not contain what JSON escapes.
pub(super) fn levels_of(text: &str) -> serde_json::Result<Vec<((&str, &str), Level)>> {
    let brief = |line| {
        let Brief { file, rule, verdict } = serde_json::from_str(line)?;
        Ok(((file, rule), verdict))
    };
    text.lines().skip(1).map(brief).collect()
}

impl Lock {
    /// Parses the text of a lock.
    ///
    /// # Errors
    /// The problem, and its line.
    pub fn parse(text: &str) -> Result<Lock, String> {
        let mut lines = text.lines().enumerate();
        let head = lines.next().map(|(_, line)| serde_json::from_str::<Head>(line));
        match head {
            Some(Ok(Head { lock: FORMAT })) => {}
            Some(Ok(Head { lock })) => return Err(format!("unsupported format {lock}, expected {FORMAT}")),
            _ => return Err(format!("its first line is not `{{\"lock\":{FORMAT}}}`")),
        }
        let mut out = Lock::default();
        for (i, line) in lines {
            let entry: Entry = serde_json::from_str(line).map_err(|e| {
                let text = e.to_string();
                let what = text.rfind(" at line").map_or(&*text, |at| &text[..at]);
                format!("line {}: {what}", i + 1)
            })?;
            if let Some(before) = out.insert(entry) {
                return Err(format!("line {}: the rule `{}` has two entries", i + 1, before.rule));
            }
        }
        Ok(out)
    }

    /// The entry of a rule.
    pub fn get(&self, file: &str, rule: &str) -> Option<&Entry> {
        self.entries.get(&(file.to_owned(), rule.to_owned()))
    }

    /// Replaces the entry of the same rule, which is returned.
    pub fn insert(&mut self, entry: Entry) -> Option<Entry> {
        self.entries.insert((entry.file.clone(), entry.rule.clone()), entry)
    }

    /// Keeps only the entries for which `keep` returns true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Entry) -> bool) {
        self.entries.retain(|_, entry| keep(entry));
    }

    /// All entries, sorted by file and rule.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }
}

impl fmt::Display for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |line: serde_json::Result<String>| line.map_err(|_| fmt::Error);
        writeln!(f, "{}", line(serde_json::to_string(&Head { lock: FORMAT }))?)?;
        for entry in self.entries.values() {
            writeln!(f, "{}", line(serde_json::to_string(entry))?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tautomer_op::Law;

    fn entry(file: &str, rule: &str) -> Entry {
        Entry {
            file: file.to_owned(),
            rule: rule.to_owned(),
            class: "real".to_owned(),
            verdict: Level::ProvedAll,
            says: "proved (all sizes, ranks 0-4)".to_owned(),
            instances: 100,
            systems: [("field".to_owned(), 98), ("f64".to_owned(), 2)].into(),
            proof: Some(Forms { forms: 7, cases: 20 }),
            refused: 3,
            seed: 0,
            budget: 100,
            attempts: 10,
            strict: false,
            laws: None,
            patterns: 4096,
            exhaustive: false,
            without_proof: false,
            verifier: VERIFIER,
            hash: "0123".to_owned(),
            examples: "4567".to_owned(),
        }
    }

    #[test]
    fn locks_are_sorted_and_read_back() {
        let mut lock = Lock::default();
        for (file, rule) in [("b.rules", "a"), ("a.rules", "b"), ("a.rules", "a")] {
            lock.insert(entry(file, rule));
        }
        let text = lock.to_string();
        let names: Vec<_> = lock.entries().map(|e| format!("{} {}", e.file, e.rule)).collect();
        assert_eq!(names, ["a.rules a", "a.rules b", "b.rules a"]);
        assert_eq!(text.lines().count(), 4);
        assert_eq!(
            text.lines().nth(1),
            Some(
                r#"{"file":"a.rules","rule":"a","class":"real","verdict":"proved-all","says":"proved (all sizes, ranks 0-4)","instances":100,"systems":{"f64":2,"field":98},"proof":{"forms":7,"cases":20},"refused":3,"seed":0,"budget":100,"attempts":10,"patterns":4096,"verifier":36,"hash":"0123","examples":"4567"}"#
            )
        );
        assert_eq!(Lock::parse(&text), Ok(lock));
    }

    #[test]
    fn errors_in_locks_name_the_line() {
        let good = {
            let mut lock = Lock::default();
            lock.insert(entry("a.rules", "a"));
            lock.to_string()
        };
        let twice = format!("{good}{}\n", good.lines().nth(1).unwrap_or_default());
        for (text, part) in [
            ("", "first line"),
            ("{\"lock\":99}\n", "unsupported format 99"),
            (&*good.replace("\"seed\":0,", ""), "line 2: missing field `seed`"),
            (
                &*good.replace("proved-all", "certain"),
                "line 2: unknown variant `certain`",
            ),
            (&*format!("{good}<<<<<<< ours\n"), "line 3"),
            (&*twice, "line 3: the rule `a` has two entries"),
        ] {
            let problem = Lock::parse(text).expect_err(text);
            assert!(problem.contains(part), "{problem}");
        }
    }

    #[test]
    fn an_entry_covers_searches_that_try_no_more() {
        let kept = entry("a.rules", "a");
        let options = Options {
            instances: 100,
            attempts: 10,
            patterns: 4096,
            ..Options::default()
        };
        let with = |change: &dyn Fn(&mut Options)| {
            let mut other = options.clone();
            change(&mut other);
            kept.covers(&other, "4567")
        };
        assert!(with(&|_| {}) && with(&|o| o.instances = 10) && with(&|o| o.seed = 7));
        assert!(!with(&|o| o.instances = 101) && !with(&|o| o.attempts = 11) && !with(&|o| o.strict = true));
        assert!(!with(&|o| o.patterns = 4097) && !with(&|o| o.exhaustive = true));
        assert!(!with(&|o| o.laws = Laws::NONE) && !with(&|o| o.laws = Laws::ALL.without(Law::ExpSum)));
        assert!(!kept.covers(&options, "4568"));
        let other = |change: &dyn Fn(&mut Entry), of: &dyn Fn(&mut Options)| {
            let (mut kept, mut options) = (kept.clone(), options.clone());
            change(&mut kept);
            of(&mut options);
            kept.covers(&options, "4567")
        };
        let without_proof = |e: &mut Entry| e.without_proof = true;
        assert!(with(&|o| o.prove = false) && !other(&without_proof, &|_| {}));
        assert!(other(&without_proof, &|o| o.prove = false));
        assert!(other(&|e| e.exhaustive = true, &|o| o.exhaustive = true));
        let without_laws = |e: &mut Entry| e.laws = allowed(Laws::NONE);
        assert!(!other(&without_laws, &|_| {}) && other(&without_laws, &|o| o.laws = Laws::NONE));
        assert!(kept.is_current("0123") && !kept.is_current("0124"));
    }
}
