//! Reading rule files: directories, sets that come with the tool, files that use other files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diag::{Diagnostic, Diagnostics, Source};
use crate::lang::parse_rules;
use crate::rule::{RuleSet, composite_rules, library_files, library_set_files, load_checked_rules, load_rules};
use crate::verify::is_shipped;

use crate::model::{Kind, kept, source, unreadable};

/// The sources of rule files and of the files they use, each once, a used file before its user; for a directory, all
/// rule files in it. The name of a set that comes with the tool always means that set: a directory of that name has to
/// be written as `./gsl`. All unreadable files and all syntax errors are reported together.
pub(crate) fn sources(files: &[PathBuf]) -> Result<Vec<Arc<Source>>, Diagnostics> {
    enum Visit {
        Enter(PathBuf),
        Leave(Arc<Source>),
    }
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    let mut unreadable = Diagnostics::new();
    let mut malformed = Diagnostics::new();
    let mut stack: Vec<Visit> = files.iter().rev().cloned().map(Visit::Enter).collect();
    while let Some(visit) = stack.pop() {
        let path = match visit {
            Visit::Enter(path) => path,
            Visit::Leave(source) => {
                out.push(source);
                continue;
            }
        };
        if !seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
            continue;
        }
        if let Some(set) = named_set(&path) {
            out.extend(set.iter().map(|(name, text)| Arc::new(Source::new(*name, *text))));
            continue;
        }
        if path.is_dir() {
            if let Some(files) = kept(files_in(&path), &mut unreadable) {
                if files.is_empty() {
                    unreadable.push(
                        Diagnostic::error(
                            "T0402",
                            format!("{}: there are no rule files in this directory", path.display()),
                        )
                        .help(format!("rule files end in `.rules`; {}", known_sets())),
                    );
                }
                stack.extend(files.into_iter().rev().map(Visit::Enter));
            }
            continue;
        }
        if let Some(kind) = Kind::of_suffix(&path).filter(|kind| *kind != Kind::Rules) {
            let what = match kind {
                Kind::Taut => "a program",
                _ => "a model",
            };
            unreadable.push(
                Diagnostic::error("T0402", format!("{}: {what} is not a rule file", path.display())).help(format!(
                    "give rule files (`.rules`) or directories of them; {}",
                    known_sets()
                )),
            );
            continue;
        }
        let Some(text) = kept(source(&path), &mut unreadable) else {
            continue;
        };
        stack.push(Visit::Leave(text.clone()));
        match parse_rules(text) {
            Ok(file) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                stack.extend(file.uses.iter().rev().map(|u| Visit::Enter(folder.join(&*u.path))));
            }
            // If loading happens, it reports this file.
            Err(found) => malformed.extend(found),
        }
    }
    if unreadable.is_empty() {
        return Ok(out);
    }
    unreadable.extend(malformed);
    Err(unreadable)
}

/// The name of the built-in rules among the sets.
const BUILT_IN: &str = "built-in";

/// The files of the set with that name.
fn named_set(path: &Path) -> Option<&'static [(&'static str, &'static str)]> {
    if path == Path::new(BUILT_IN) {
        return Some(library_files());
    }
    let mut sets = library_set_files().iter();
    sets.find(|(name, _)| Path::new(name) == path)
        .map(|(_, files)| files.as_slice())
}

/// The names of the sets, for messages.
fn known_sets() -> String {
    let names = library_set_files().iter().map(|(name, _)| *name).chain([BUILT_IN]);
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    format!("the sets that come with the tool are {}", names.join(", "))
}

/// The rules of files, directories and sets that come with the tool (`built-in`, `gsl`, `taso`), to be used together,
/// with warnings.
///
/// # Errors
/// A file cannot be read, or a rule is invalid; all problems together.
///
/// ```
/// let (rules, warnings) = tautomer::read_rules(&["gsl".into()])?;
/// assert!(rules.rules.len() > 10 && warnings.is_empty());
/// # Ok::<(), tautomer::diag::Diagnostics>(())
/// ```
pub fn read_rules(files: &[PathBuf]) -> Result<(RuleSet, Diagnostics), Diagnostics> {
    let mut all = RuleSet::default();
    let mut places: BTreeMap<Arc<str>, Arc<Source>> = BTreeMap::new();
    let mut twice: Vec<String> = Vec::new();
    for set in load_each(sources(files)?)? {
        for rule in &set.rules {
            let own = &rule.ast.source;
            match places.get(&rule.name) {
                // Sets that come with the tool share rules on purpose.
                Some(first) if is_shipped(first) && is_shipped(own) => {}
                Some(first) => twice.push(format!("`{}` in {} and {}", rule.name, first.name, own.name)),
                None => {
                    places.insert(rule.name.clone(), own.clone());
                }
            }
        }
        all.extend(set);
    }
    if files.iter().any(|path| path == Path::new(BUILT_IN)) {
        all.rules
            .extend(composite_rules().map_err(Clone::clone)?.iter().cloned());
    }
    if all.rules.is_empty() {
        let names: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        return Err(
            Diagnostic::error("T0402", format!("there are no rules in {}", names.join(", ")))
                .help(known_sets())
                .into(),
        );
    }
    let mut warnings = Diagnostics::new();
    if !twice.is_empty() {
        let warning = Diagnostic::warning("T0306", "two files have rules of the same name");
        let warning = twice.into_iter().fold(warning, Diagnostic::note);
        warnings.push(
            warning.help("all of them are used; rules are reported, selected and skipped by name, so rename one"),
        );
    }
    Ok((all, warnings))
}

/// The rules of the sources as one set, or the problems of all of them.
pub(crate) fn load(sources: Vec<Arc<Source>>) -> Result<RuleSet, Diagnostics> {
    let mut all = RuleSet::default();
    load_each(sources)?.into_iter().for_each(|set| all.extend(set));
    Ok(all)
}

/// The rules of each source, or the problems of all of them.
pub(crate) fn load_each(sources: Vec<Arc<Source>>) -> Result<Vec<RuleSet>, Diagnostics> {
    let mut sets = Vec::new();
    let mut problems = Diagnostics::new();
    for source in sources {
        // Sets that come with the tool have already been checked.
        let load = if is_shipped(&source) {
            load_checked_rules
        } else {
            load_rules
        };
        match parse_rules(source).and_then(load) {
            Ok(set) => sets.push(set),
            Err(found) => problems.extend(found),
        }
    }
    if problems.has_errors() { Err(problems) } else { Ok(sets) }
}

/// The rule files of a directory and its subdirectories, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Diagnostics> {
    let mut out = Vec::new();
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
        entries.push(entry.map_err(|e| unreadable(folder, &e))?.path());
    }
    // Files of a directory come before those of its subdirectories.
    entries.sort_by_key(|path| (path.is_dir(), path.clone()));
    for path in entries {
        let hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_link = path.symlink_metadata().is_ok_and(|m| m.is_symlink());
        if path.is_dir() && !hidden && !is_link || path.extension().is_some_and(|suffix| suffix == "rules") {
            out.push(path);
        }
    }
    Ok(out)
}
