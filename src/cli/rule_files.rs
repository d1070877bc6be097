//! Reading rule files: folders, sets that come with the tool, files that use others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tautomer::diag::{Diagnostics, Source};
use tautomer::lang::parse_rules;
use tautomer::rule::{RuleSet, library_set_files, load_checked_rules, load_rules};
use tautomer::verify::is_shipped;

use super::Failure;
use super::input::{kept, source, unreadable};

/// The texts of rule files and of those that they use, each once, a used file before its user; of a folder all rule
/// files in it. What is no file may be the name of a set that comes with the tool. All files that cannot be read are
/// reported, and with them what does not parse.
pub(super) fn sources(files: &[PathBuf]) -> Result<Vec<Arc<Source>>, Failure> {
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
        let named = |(name, _): &&(&str, _)| Path::new(name) == path && !path.exists();
        if let Some((_, set)) = library_set_files().iter().find(named) {
            out.extend(set.iter().map(|(name, text)| Arc::new(Source::new(*name, *text))));
            continue;
        }
        if path.is_dir() {
            if let Some(files) = kept(files_in(&path), &mut unreadable)? {
                stack.extend(files.into_iter().rev().map(Visit::Enter));
            }
            continue;
        }
        let Some(text) = kept(source(&path), &mut unreadable)? else {
            continue;
        };
        stack.push(Visit::Leave(text.clone()));
        match parse_rules(text) {
            Ok(file) => {
                let folder = path.parent().unwrap_or(Path::new(""));
                stack.extend(file.uses.iter().rev().map(|u| Visit::Enter(folder.join(&*u.path))));
            }
            // Whoever loads the file reports it, if loading comes to pass.
            Err(found) => malformed.extend(found),
        }
    }
    if unreadable.is_empty() {
        return Ok(out);
    }
    unreadable.extend(malformed);
    Err(unreadable.into())
}

/// The rules of texts as one set, the problems of all of them collected.
pub(super) fn load(sources: Vec<Arc<Source>>) -> Result<RuleSet, Diagnostics> {
    let mut all = RuleSet::default();
    load_each(sources)?.into_iter().for_each(|set| all.extend(set));
    Ok(all)
}

/// The rules of each text, the problems of all of them collected.
pub(super) fn load_each(sources: Vec<Arc<Source>>) -> Result<Vec<RuleSet>, Diagnostics> {
    let mut sets = Vec::new();
    let mut problems = Diagnostics::new();
    for source in sources {
        // What comes with the tool has been checked.
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

/// The rule files of a folder and of those in it, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
        entries.push(entry.map_err(|e| unreadable(folder, &e))?.path());
    }
    // Files of a folder stand before those of the folders in it.
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
