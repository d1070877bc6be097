//! Stored verdicts: lock files beside the rules, and how commands use them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};

use tautomer::diag::{Diagnostic, Source};
use tautomer::pipeline::{Options, select_rules};
use tautomer::rule::{Rule, library_files};
use tautomer::verify::{
    Entry, LOCK_NAME, Level, Lock, Subject, VERIFIER, examples_fingerprint, fingerprint, is_shipped, place_of,
    shipped_verdict,
};

use super::{Done, Failure, Shell, output};

/// How many rules a message names.
const SHOWN: usize = 5;

/// The weakest verdict of the rules that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Least {
    /// Proved for all that the rule admits
    ProvedAll,
    /// Proved, perhaps only for a part of it
    Proved,
    /// Tested or proved
    Tested,
    /// Any verdict, or none
    Any,
}

impl Least {
    fn level(self) -> Option<Level> {
        match self {
            Least::ProvedAll => Some(Level::ProvedAll),
            Least::Proved => Some(Level::Proved),
            Least::Tested => Some(Level::Tested),
            Least::Any => None,
        }
    }
}

/// The locks of the directories that contain rules, read on first use.
#[derive(Default)]
pub(super) struct Locks {
    folders: BTreeMap<PathBuf, Held>,
}

/// A lock and its pending changes.
struct Held {
    lock: Lock,
    put: Vec<Entry>,
    dropped: Vec<Entry>,
}

/// Reads the lock of a directory, and its text; both are empty if there is none.
fn read(folder: &Path) -> Result<(String, Lock), Failure> {
    let path = folder.join(LOCK_NAME);
    let broken = |why: String| -> Failure {
        Diagnostic::error("T0322", format!("{}: {why}", path.display()))
            .help("delete it; `tautomer verify FILE --lock` recreates it")
            .into()
    };
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let lock = Lock::parse(&text).map_err(broken)?;
            Ok((text, lock))
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok((String::new(), Lock::default())),
        Err(e) => Err(broken(e.to_string())),
    }
}

/// Waits until no other process is changing the lock of a directory; the exclusion lasts while the returned value
/// exists.
fn alone_in(folder: &Path) -> std::io::Result<std::fs::File> {
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    // Writing replaces the lock file itself, so another file has to be locked.
    let held = if cfg!(unix) {
        std::fs::File::open(folder)?
    } else {
        std::fs::File::create(folder.join(format!("{LOCK_NAME}.guard")))?
    };
    held.lock()?;
    Ok(held)
}

/// The directory of a rule source, and the name of its file there.
fn place(source: &str) -> (PathBuf, String) {
    if source.starts_with('<') {
        let (folder, file) = place_of(source);
        return (folder.into(), file.to_owned());
    }
    let path = Path::new(source);
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    (path.parent().unwrap_or(Path::new("")).to_owned(), file)
}

impl Locks {
    fn folder(&mut self, folder: &Path) -> Result<&mut Held, Failure> {
        if !self.folders.contains_key(folder) {
            let held = Held {
                lock: read(folder)?.1,
                put: Vec::new(),
                dropped: Vec::new(),
            };
            self.folders.insert(folder.to_owned(), held);
        }
        match self.folders.get_mut(folder) {
            Some(held) => Ok(held),
            None => Err(Failure::new("T0322", folder.display().to_string())),
        }
    }

    /// The lock entry for a rule, whether current or not.
    fn beside(&mut self, rule: &Rule) -> Result<Option<&Entry>, Failure> {
        let (folder, file) = place(&rule.ast.source.name);
        Ok(self.folder(&folder)?.lock.get(&file, &rule.name))
    }

    /// The current verdict of a rule, from the lock beside it or from the built-in locks.
    pub(super) fn verdict(&mut self, rule: &Rule) -> Result<Option<Entry>, Failure> {
        if let Some(shipped) = shipped_verdict(rule) {
            return Ok(Some(shipped.clone()));
        }
        let kept = self.beside(rule)?;
        Ok(kept.filter(|e| e.is_current(&fingerprint(rule))).cloned())
    }

    /// The entry of a rule that need not be checked again. Refuted rules are checked again, for their counterexamples.
    pub(super) fn kept(
        &mut self,
        subject: &Subject,
        options: &tautomer::verify::Options,
    ) -> Result<Option<Entry>, Failure> {
        let Subject { rule, examples, .. } = subject;
        let examples = examples_fingerprint(rule, examples);
        let kept = self.beside(rule)?.filter(|e| e.covers(options, &examples));
        Ok(kept
            .filter(|e| e.verdict != Level::Refuted && e.is_current(&fingerprint(rule)))
            .cloned())
    }

    /// Stores an entry for a rule of `source` in its lock.
    pub(super) fn keep(&mut self, source: &str, mut entry: Entry) -> Done {
        let (folder, file) = place(source);
        entry.file = file;
        let held = self.folder(&folder)?;
        if held.lock.insert(entry.clone()).as_ref() != Some(&entry) {
            held.put.push(entry);
        }
        Ok(())
    }

    /// Entries for rules no longer in the sources of `subjects`, and for files that no longer exist.
    fn idle(&self, subjects: &[Subject]) -> Vec<(PathBuf, Entry)> {
        let mut rules: BTreeMap<(PathBuf, String), BTreeSet<&str>> = BTreeMap::new();
        for subject in subjects {
            rules
                .entry(place(&subject.source))
                .or_default()
                .insert(&subject.rule.name);
        }
        let mut out = Vec::new();
        for (folder, held) in &self.folders {
            for entry in held.lock.entries() {
                let gone = match rules.get(&(folder.clone(), entry.file.clone())) {
                    Some(names) => !names.contains(&*entry.rule),
                    None => entry.file.ends_with(".rules") && !folder.join(&entry.file).exists(),
                };
                if gone {
                    out.push((folder.clone(), entry.clone()));
                }
            }
        }
        out
    }

    /// Drops the entries of rules that no longer exist.
    pub(super) fn prune(&mut self, subjects: &[Subject]) {
        for (folder, gone) in self.idle(subjects) {
            if let Some(held) = self.folders.get_mut(&folder) {
                held.lock.retain(|entry| *entry != gone);
                held.dropped.push(gone);
            }
        }
    }

    /// Writes the changed locks, keeping what other processes have written since they were read.
    pub(super) fn write(&self, shell: &Shell) -> Done {
        for (folder, held) in &self.folders {
            if held.put.is_empty() && held.dropped.is_empty() {
                continue;
            }
            let path = folder.join(LOCK_NAME);
            let failed = |e: std::io::Error| Failure::new("T0401", format!("{}: {e}", path.display()));
            let alone = alone_in(folder).map_err(failed)?;
            let (before, mut lock) = read(folder)?;
            for entry in &held.put {
                lock.insert(entry.clone());
            }
            lock.retain(|entry| !held.dropped.contains(entry));
            let text = lock.to_string();
            if text != before {
                output::write_text(&path, &text)?;
                shell.detail(&format!("{} is written", path.display()));
            }
            drop(alone);
        }
        Ok(())
    }
}

/// A progress line on the terminal; nothing if standard error is not a terminal.
pub(super) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(super) fn new(shell: &Shell) -> Progress {
        Progress {
            terminal: !shell.quiet && std::io::stderr().is_terminal(),
        }
    }

    /// Replaces the line.
    pub(super) fn show(&self, text: &str) {
        if self.terminal {
            // Nothing can be done if standard error cannot be written.
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K{text}");
        }
    }

    /// Clears the line.
    pub(super) fn clear(&self) {
        self.show("");
    }
}

/// Whether a rule source is an unchanged file on disk, so that a lock can be beside it. Rules that are in no file are
/// located with the built-in ones.
fn is_here(source: &Source) -> bool {
    let same = |name: &str, text: &str| std::fs::read_to_string(name).is_ok_and(|here| here == text);
    if source.name.starts_with('<') && is_shipped(source) {
        return library_files().first().is_some_and(|(name, text)| same(name, text));
    }
    same(&source.name, &source.text)
}

/// Rejects rules that cannot have a lock file beside them.
pub(super) fn has_places(subjects: &[Subject]) -> Done {
    let mut seen = BTreeSet::new();
    for subject in subjects.iter().filter(|s| seen.insert(&s.source)) {
        if !is_here(&subject.rule.ast.source) {
            return Err(Diagnostic::error(
                "T0402",
                format!("{}: not a file here, so no lock file can be beside it", subject.source),
            )
            .help("verdicts of the rules that come with the tool are built in: `tautomer rules list` shows them")
            .into());
        }
    }
    Ok(())
}

/// Implements `--check-lock`.
pub(super) fn check(subjects: &[Subject], whole: bool, least_budget: Option<usize>, shell: &Shell) -> Done {
    let mut locks = Locks::default();
    let mut stale: Vec<(String, String, String)> = Vec::new();
    let mut refuted = 0;
    let mut here: BTreeMap<&str, bool> = BTreeMap::new();
    for subject in subjects {
        let source = &subject.rule.ast.source;
        let entry = if *here.entry(&source.name).or_insert_with(|| is_here(source)) {
            locks.beside(&subject.rule)?.cloned()
        } else {
            shipped_verdict(&subject.rule).cloned()
        };
        let why = match entry {
            None => "it has no verdict".to_owned(),
            Some(e) if e.verifier != VERIFIER => format!("its verdict is of version {} of the verifier", e.verifier),
            Some(e) if e.hash != fingerprint(&subject.rule) => "it has changed".to_owned(),
            Some(e) if e.examples != examples_fingerprint(&subject.rule, &subject.examples) => {
                "its examples have changed".to_owned()
            }
            Some(e) if least_budget.is_some_and(|n| e.budget < n) => {
                format!("it was checked at {} instances", e.budget)
            }
            Some(e) => {
                refuted += usize::from(e.verdict == Level::Refuted);
                continue;
            }
        };
        stale.push((subject.source.clone(), subject.rule.name.to_string(), why));
    }
    let current = subjects.len() - stale.len();
    if whole {
        let gone = locks.idle(subjects).into_iter();
        stale.extend(gone.map(|(folder, e)| {
            let source = folder.join(&e.file).display().to_string();
            (source, e.rule, "it no longer exists".to_owned())
        }));
    }
    if shell.json {
        let stale: Vec<Value> = stale
            .iter()
            .map(|(file, rule, why)| json!({ "file": file, "rule": rule, "why": why }))
            .collect();
        shell.json(json!({ "current": current, "refuted": refuted, "stale": stale }))?;
    } else {
        for (source, rule, why) in &stale {
            shell.result(&format!("{source}: {rule}: {why}\n"))?;
        }
    }
    shell.say(&format!(
        "{current} current verdicts, {refuted} refuted, {} stale",
        stale.len()
    ));
    if stale.is_empty() && refuted == 0 {
        Ok(())
    } else {
        Err(Failure::No)
    }
}

/// The rules that are used, chosen by their verdicts.
pub(super) struct Chosen {
    /// The rules.
    pub(super) rules: Vec<Arc<Rule>>,
    /// The rules without a current verdict.
    pub(super) without: Vec<String>,
    /// The refuted rules.
    pub(super) refuted: Vec<String>,
    /// The rules excluded because of their verdicts.
    pub(super) left_out: Vec<String>,
    /// What is known about each rule that has a verdict.
    pub(super) entries: BTreeMap<String, Entry>,
}

impl Chosen {
    /// As data.
    pub(super) fn json(&self) -> Value {
        json!({ "without": self.without, "refuted": self.refuted, "left_out": self.left_out })
    }
}

/// Excludes rules with a weaker verdict than required, warns about rules without one, and rejects refuted ones.
pub(super) fn choose(
    options: &Options<'_>,
    least: Least,
    allow_refuted: bool,
    shell: &Shell,
) -> Result<Chosen, Failure> {
    let mut locks = Locks::default();
    let mut files = BTreeSet::new();
    let mut out = Chosen {
        rules: Vec::new(),
        without: Vec::new(),
        refuted: Vec::new(),
        left_out: Vec::new(),
        entries: BTreeMap::new(),
    };
    for rule in select_rules(options)? {
        let entry = locks.verdict(&rule)?;
        let level = entry.as_ref().map(|e| e.verdict);
        out.entries.extend(entry.map(|e| (rule.name.to_string(), e)));
        if least
            .level()
            .is_some_and(|least| level.is_none_or(|level| level < least))
        {
            out.left_out.push(rule.name.to_string());
            continue;
        }
        match level {
            None => out.without.push(rule.name.to_string()),
            Some(Level::Refuted) => out.refuted.push(rule.name.to_string()),
            Some(_) => {}
        }
        if level.is_none_or(|level| level == Level::Refuted) {
            files.insert(rule.ast.source.name.clone());
        }
        out.rules.push(rule);
    }
    let files = files.into_iter().collect::<Vec<_>>().join(" ");
    if !out.refuted.is_empty() && !allow_refuted {
        return Err(Diagnostic::error(
            "T0321",
            format!("{} refuted: {}", are(&out.refuted), some(&out.refuted)),
        )
        .help(format!("`tautomer verify {files}` shows a counterexample"))
        .help("`--verdict tested` excludes refuted rules, `--allow-refuted` applies them")
        .into());
    }
    if !out.left_out.is_empty() {
        let left = match out.left_out.len() {
            1 => "1 rule is".to_owned(),
            n => format!("{n} rules are"),
        };
        shell.say(&format!(
            "{left} excluded, lacking the required verdict: {}",
            some(&out.left_out)
        ));
    }
    if !out.without.is_empty() && !shell.quiet {
        let have = if out.without.len() == 1 {
            "1 rule has".to_owned()
        } else {
            format!("{} rules have", out.without.len())
        };
        let warning = Diagnostic::warning("T0320", format!("{have} no current verdict: {}", some(&out.without)));
        shell.problems(
            &warning
                .help(format!(
                    "`tautomer verify {files} --lock` checks them and keeps the verdicts"
                ))
                .into(),
        );
    }
    Ok(out)
}

/// The verdict of a rule, if it is weaker than required.
pub(super) fn lesser(options: &Options<'_>, name: &str, least: Least) -> Result<Option<String>, Failure> {
    let (Some(least), Some(rule)) = (
        least.level(),
        select_rules(options)?.into_iter().find(|rule| &*rule.name == name),
    ) else {
        return Ok(None);
    };
    let level = Locks::default().verdict(&rule)?.map(|entry| entry.verdict);
    Ok(match level {
        None => Some("not known".to_owned()),
        Some(level) if level < least => Some(format!("`{level}`")),
        Some(_) => None,
    })
}

fn are(names: &[String]) -> String {
    if names.len() == 1 {
        "1 rule is".to_owned()
    } else {
        format!("{} rules are", names.len())
    }
}

/// The first few names.
pub(super) fn some(names: &[String]) -> String {
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 {
        format!("{shown}, and {more} more")
    } else {
        shown
    }
}
