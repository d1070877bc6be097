//! How commands use stored verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};

use clap::ValueEnum;
use serde_json::{Value, json};

use tautomer::diag::Diagnostic;
use tautomer::locks::{Chosen, is_here};
use tautomer::verify::{Level, Subject, VERIFIER, examples_fingerprint, fingerprint, shipped_verdict};

use super::{Done, Failure, Shell};

pub(super) use tautomer::locks::{Locks, some};

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
    pub(super) fn level(self) -> Option<Level> {
        match self {
            Least::ProvedAll => Some(Level::ProvedAll),
            Least::Proved => Some(Level::Proved),
            Least::Tested => Some(Level::Tested),
            Least::Any => None,
        }
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

/// Says which rules are left out and which have no verdict.
pub(super) fn tell(chosen: &Chosen, shell: &Shell) {
    if !chosen.left_out.is_empty() {
        let left = match chosen.left_out.len() {
            1 => "1 rule is".to_owned(),
            n => format!("{n} rules are"),
        };
        let some = some(&chosen.left_out);
        shell.say(&format!("{left} excluded, lacking the required verdict: {some}"));
    }
    if !shell.quiet {
        shell.problems(&chosen.warnings());
    }
}
