//! Stored verdicts: lock files next to the rules, and which rules they allow to be used.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::diag::{Diagnostic, Diagnostics, Source};
use crate::model::{failed, write_text};
use crate::pipeline::{Options, select_rules};
use crate::rule::{Rule, is_body, library_files};
use crate::verify::{
    Entry, LOCK_NAME, Level, Lock, Subject, examples_fingerprint, fingerprint, is_shipped, place_of, shipped_level,
    shipped_verdict,
};

/// How many rules a message names.
const SHOWN: usize = 5;

/// The rules that are used, chosen by their verdicts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chosen {
    /// The rules.
    pub(crate) rules: Vec<Arc<Rule>>,
    /// The rules without a current verdict.
    pub(crate) without: Vec<String>,
    /// The refuted rules.
    pub(crate) refuted: Vec<String>,
    /// The rules excluded because of their verdicts.
    pub(crate) left_out: Vec<String>,
    /// The verdicts of rules that do not come with the tool.
    own: BTreeMap<String, Entry>,
    /// The files of rules without a current verdict.
    files: String,
}

impl Chosen {
    /// The information about each rule that is used and has a verdict.
    pub(crate) fn entries(&self) -> BTreeMap<String, Entry> {
        let shipped = |rule: &Arc<Rule>| Some((rule.name.to_string(), shipped_verdict(rule)?.clone()));
        let mut out = self.own.clone();
        out.extend(self.rules.iter().filter_map(shipped));
        out
    }

    /// As data.
    pub(crate) fn json(&self) -> Value {
        json!({ "without": self.without, "refuted": self.refuted, "left_out": self.left_out })
    }

    /// A warning about rules without a current verdict.
    pub(crate) fn warnings(&self) -> Diagnostics {
        if self.without.is_empty() {
            return Diagnostics::new();
        }
        let have = match self.without.len() {
            1 => "1 rule has".to_owned(),
            n => format!("{n} rules have"),
        };
        let warning = Diagnostic::warning("T0320", format!("{have} no current verdict: {}", some(&self.without)));
        let help = format!(
            "`tautomer verify {} --lock` checks them and keeps the verdicts",
            self.files
        );
        warning.help(help).into()
    }
}

/// Excludes rules with a weaker verdict than required, and rejects refuted ones.
pub(crate) fn choose(options: &Options<'_>, least: Option<Level>, allow_refuted: bool) -> Result<Chosen, Diagnostics> {
    let mut locks = Locks::default();
    let mut files = BTreeSet::new();
    let mut out = Chosen::default();
    for rule in select_rules(options)? {
        let level = match shipped_level(&rule) {
            Some(level) => Some(level),
            None => {
                let entry = locks.verdict(&rule)?;
                let level = entry.as_ref().map(|e| e.verdict);
                out.own.extend(entry.map(|e| (rule.name.to_string(), e)));
                level
            }
        };
        if least.is_some_and(|least| level.is_none_or(|level| level < least)) {
            out.left_out.push(rule.name.to_string());
            continue;
        }
        match level {
            // The body of a declared operator is what the operator computes.
            None if is_body(&rule.ast.source) => {}
            None => out.without.push(rule.name.to_string()),
            Some(Level::Refuted) => out.refuted.push(rule.name.to_string()),
            Some(_) => {}
        }
        if level.is_none_or(|level| level == Level::Refuted) && !is_body(&rule.ast.source) {
            files.insert(rule.ast.source.name.clone());
        }
        out.rules.push(rule);
    }
    out.files = files.into_iter().collect::<Vec<_>>().join(" ");
    if !out.refuted.is_empty() && !allow_refuted {
        let are = match out.refuted.len() {
            1 => "1 rule is".to_owned(),
            n => format!("{n} rules are"),
        };
        return Err(
            Diagnostic::error("T0321", format!("{are} refuted: {}", some(&out.refuted)))
                .help(format!("`tautomer verify {}` shows a counterexample", out.files))
                .help("`--verdict tested` excludes refuted rules, `--allow-refuted` applies them")
                .into(),
        );
    }
    Ok(out)
}

/// The verdict of a rule, if it is weaker than required.
pub(crate) fn lesser(options: &Options<'_>, name: &str, least: Option<Level>) -> Result<Option<String>, Diagnostics> {
    let (Some(least), Some(rule)) = (
        least,
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

/// The first few names.
pub(crate) fn some(names: &[String]) -> String {
    let more = names.len().saturating_sub(SHOWN);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 {
        format!("{shown}, and {more} more")
    } else {
        shown
    }
}

/// The current verdict of a rule, from the lock next to its file or from those that come with the tool.
///
/// # Errors
/// The lock cannot be read.
pub fn stored_verdict(rule: &Rule) -> Result<Option<Entry>, Diagnostics> {
    Locks::default().verdict(rule)
}

/// The locks of the directories that contain rules, read on first use.
#[derive(Default)]
pub(crate) struct Locks {
    folders: BTreeMap<PathBuf, Held>,
}

/// A lock and its pending changes.
struct Held {
    lock: Lock,
    put: Vec<Entry>,
    dropped: Vec<Entry>,
}

/// Reads the lock of a directory, and its text; both are empty if there is none.
fn read(folder: &Path) -> Result<(String, Lock), Diagnostics> {
    let path = folder.join(LOCK_NAME);
    let broken = |why: String| -> Diagnostics {
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
    fn folder(&mut self, folder: &Path) -> Result<&mut Held, Diagnostics> {
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
            None => Err(failed("T0322", folder.display().to_string())),
        }
    }

    /// The lock entry for a rule, whether current or not.
    pub(crate) fn beside(&mut self, rule: &Rule) -> Result<Option<&Entry>, Diagnostics> {
        let (folder, file) = place(&rule.ast.source.name);
        Ok(self.folder(&folder)?.lock.get(&file, &rule.name))
    }

    /// The current verdict of a rule, from the lock next to it or from the built-in locks.
    pub(crate) fn verdict(&mut self, rule: &Rule) -> Result<Option<Entry>, Diagnostics> {
        if let Some(shipped) = shipped_verdict(rule) {
            return Ok(Some(shipped.clone()));
        }
        let kept = self.beside(rule)?;
        Ok(kept.filter(|e| e.is_current(&fingerprint(rule))).cloned())
    }

    /// The entry of a rule that need not be checked again. Refuted rules are checked again, for their counterexamples.
    pub(crate) fn kept(
        &mut self,
        subject: &Subject,
        options: &crate::verify::Options,
    ) -> Result<Option<Entry>, Diagnostics> {
        let Subject { rule, examples, .. } = subject;
        let examples = examples_fingerprint(rule, examples);
        let kept = self.beside(rule)?.filter(|e| e.covers(options, &examples));
        Ok(kept
            .filter(|e| e.verdict != Level::Refuted && e.is_current(&fingerprint(rule)))
            .cloned())
    }

    /// Stores an entry for a rule of `source` in its lock.
    pub(crate) fn keep(&mut self, source: &str, mut entry: Entry) -> Result<(), Diagnostics> {
        let (folder, file) = place(source);
        entry.file = file;
        let held = self.folder(&folder)?;
        if held.lock.insert(entry.clone()).as_ref() != Some(&entry) {
            held.put.push(entry);
        }
        Ok(())
    }

    /// Entries for rules no longer in the sources of `subjects`, and for files that no longer exist.
    pub(crate) fn idle(&self, subjects: &[Subject]) -> Vec<(PathBuf, Entry)> {
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
    pub(crate) fn prune(&mut self, subjects: &[Subject]) {
        for (folder, gone) in self.idle(subjects) {
            if let Some(held) = self.folders.get_mut(&folder) {
                held.lock.retain(|entry| *entry != gone);
                held.dropped.push(gone);
            }
        }
    }

    /// Writes the changed locks, keeping what other processes have written since they were read; returns their paths.
    pub(crate) fn write(&self) -> Result<Vec<PathBuf>, Diagnostics> {
        let mut written = Vec::new();
        for (folder, held) in &self.folders {
            if held.put.is_empty() && held.dropped.is_empty() {
                continue;
            }
            let path = folder.join(LOCK_NAME);
            let unwritable = |e: std::io::Error| failed("T0401", format!("{}: {e}", path.display()));
            let alone = alone_in(folder).map_err(unwritable)?;
            let (before, mut lock) = read(folder)?;
            for entry in &held.put {
                lock.insert(entry.clone());
            }
            lock.retain(|entry| !held.dropped.contains(entry));
            let text = lock.to_string();
            if text != before {
                write_text(&path, &text)?;
                written.push(path);
            }
            drop(alone);
        }
        Ok(written)
    }
}

/// Whether a rule source is an unchanged file on disk, so that a lock can be next to it. Rules that are in no file are
/// located with the built-in ones.
pub(crate) fn is_here(source: &Source) -> bool {
    let same = |name: &str, text: &str| std::fs::read_to_string(name).is_ok_and(|here| here == text);
    if source.name.starts_with('<') && is_shipped(source) {
        return library_files().first().is_some_and(|(name, text)| same(name, text));
    }
    same(&source.name, &source.text)
}
